//! One column out of several, row by row: the results of CASE, COALESCE, GREATEST.

use std::sync::Arc;

use super::Memo;
use super::operand::{Kind, NullMask, Operand, Texts, bools, decimals, floats, ints, kind, texts};
use super::text::StringsBuilder;
use crate::column::{Codes, Column, Data, Scalar, Span, Strings};
use crate::error::ExecError;

/// Where part of a column's rows come from.
#[derive(Debug)]
pub(super) enum Part {
    /// A value for every row.
    All(Column),
    /// Values only for the rows that choose this part, one after the other.
    Chosen(Column),
}

impl Part {
    fn column(&self) -> &Column {
        match self {
            Self::All(column) | Self::Chosen(column) => column,
        }
    }
}

/// The choice of rows that no part gives a value: NULL.
pub(super) const NOTHING: u32 = u32::MAX;

/// The column that in each row has the value of the part chosen there.
pub(super) fn merge(parts: &[Part], choice: &[u32], memo: &mut Memo) -> Result<Column, ExecError> {
    let rows = choice.len();
    for (index, part) in parts.iter().enumerate() {
        if choice.iter().all(|chosen| *chosen == index as u32) {
            return Ok(part.column().clone());
        }
    }
    let mut kinds = parts.iter().filter_map(|part| kind(part.column()));
    let Some(kind) = kinds.next_back() else {
        return Ok(Column::constant(Scalar::Null, rows));
    };
    let data = match kind {
        Kind::Bool => Data::Bool(Arc::new(pick(parts, choice, bools))),
        Kind::Int => Data::Int(Arc::new(pick(parts, choice, ints))),
        Kind::Float => Data::Float(Arc::new(pick(parts, choice, floats))),
        Kind::Decimal => {
            let scale = common_scale(parts)?;
            Data::Decimal(Arc::new(pick(parts, choice, |column| decimals(column).0)), scale)
        }
        Kind::Text => merge_texts(parts, choice, memo)?,
    };
    Ok(Column::with_nulls(data, merge_nulls(parts, choice), rows))
}

/// A column shows one scale; values of different scales keep theirs in PostgreSQL.
fn common_scale(parts: &[Part]) -> Result<u8, ExecError> {
    let columns = parts.iter().map(Part::column).filter(|column| kind(column).is_some());
    let mut scales = columns.map(|column| decimals(column).1);
    let first = scales.next().unwrap_or(0);
    if scales.all(|scale| scale == first) { Ok(first) } else { Err(ExecError::Unsupported) }
}

/// Calls `visit` with each row that chooses part `index` and the row's place in the part.
fn for_each_chosen(part: &Part, index: usize, choice: &[u32], mut visit: impl FnMut(usize, usize)) {
    let chosen = choice.iter().enumerate().filter(|(_, chosen)| **chosen == index as u32);
    match part {
        Part::All(_) => chosen.for_each(|(row, _)| visit(row, row)),
        Part::Chosen(_) => chosen.enumerate().for_each(|(place, (row, _))| visit(row, place)),
    }
}

fn pick<T: Copy + Default>(
    parts: &[Part],
    choice: &[u32],
    values: impl Fn(&Column) -> Operand<'_, T>,
) -> Vec<T> {
    let mut picked = vec![T::default(); choice.len()];
    for (index, part) in parts.iter().enumerate() {
        if kind(part.column()).is_none() {
            continue;
        }
        match (values(part.column()), part) {
            (Operand::Const(value), _) => {
                for (picked, chosen) in picked.iter_mut().zip(choice) {
                    *picked = if *chosen == index as u32 { value } else { *picked };
                }
            }
            (Operand::Slice(values), Part::All(_)) => {
                for ((picked, chosen), value) in picked.iter_mut().zip(choice).zip(values) {
                    *picked = if *chosen == index as u32 { *value } else { *picked };
                }
            }
            (Operand::Slice(values), Part::Chosen(_)) => {
                for_each_chosen(part, index, choice, |row, place| picked[row] = values[place]);
            }
        }
    }
    picked
}

fn merge_nulls(parts: &[Part], choice: &[u32]) -> NullMask {
    let mut nulls: Vec<bool> = choice.iter().map(|chosen| *chosen == NOTHING).collect();
    for (index, part) in parts.iter().enumerate() {
        let column = part.column();
        if column.nulls.is_some() || kind(column).is_none() {
            for_each_chosen(part, index, choice, |row, place| nulls[row] = column.is_null(place));
        }
    }
    nulls.contains(&true).then(|| Arc::new(nulls))
}

/// Strings stay codes where the parts are one dictionary and constants; otherwise they are copied, unless they lie in one
/// buffer already.
fn merge_texts(parts: &[Part], choice: &[u32], memo: &mut Memo) -> Result<Data, ExecError> {
    if let Some(codes) = merge_codes(parts, choice, memo) {
        return Ok(Data::Dict(codes));
    }
    if let Some(strings) = merge_spans(parts, choice) {
        return Ok(Data::Bytes(strings));
    }
    // Where each row's string is; written in the order of rows.
    let mut builder = StringsBuilder::new(choice.len());
    let mut places = vec![0; parts.len()];
    for (row, &chosen) in choice.iter().enumerate() {
        let Some(part) = parts.get(chosen as usize) else {
            builder.push(&[])?;
            continue;
        };
        let place = match part {
            Part::All(_) => row,
            Part::Chosen(_) => {
                places[chosen as usize] += 1;
                places[chosen as usize] - 1
            }
        };
        builder.push(part.column().bytes(place).unwrap_or_default())?;
    }
    Ok(Data::Bytes(builder.finish()))
}

fn merge_codes(parts: &[Part], choice: &[u32], memo: &mut Memo) -> Option<Codes> {
    let mut dictionary = None;
    let mut constants = Vec::new();
    for part in parts {
        match &part.column().data {
            Data::Dict(codes) => {
                let known = dictionary.get_or_insert(&codes.dictionary);
                if known.id != codes.dictionary.id {
                    return None;
                }
            }
            Data::Const(Scalar::Bytes(bytes)) => constants.push(Arc::clone(bytes)),
            Data::Const(Scalar::Null) => {}
            _ => return None,
        }
    }
    // Codes of NULL rows mean something only in a dictionary that holds something.
    let dictionary = dictionary.filter(|dictionary| !dictionary.is_empty())?;
    let (dictionary, added) = memo.extend(dictionary, &constants, choice.len())?;
    let mut merged = vec![0u32; choice.len()];
    let mut added = added.into_iter();
    for (index, part) in parts.iter().enumerate() {
        match &part.column().data {
            Data::Dict(codes) => for_each_chosen(part, index, choice, |row, place| {
                merged[row] = codes.codes[place];
            }),
            Data::Const(Scalar::Bytes(_)) => {
                let code = added.next()?;
                for_each_chosen(part, index, choice, |row, _| merged[row] = code);
            }
            _ => {}
        }
    }
    Some(Codes { codes: Arc::new(merged), dictionary })
}

/// The parts' strings lie in one buffer: parts of one column, and constants that have no bytes.
fn merge_spans(parts: &[Part], choice: &[u32]) -> Option<Strings> {
    let mut data = None;
    for part in parts {
        match &part.column().data {
            Data::Bytes(strings) => {
                let known = data.get_or_insert(&strings.data);
                if known.as_ptr() != strings.data.as_ptr() || known.len() != strings.data.len() {
                    return None;
                }
            }
            Data::Const(Scalar::Null) => {}
            Data::Const(Scalar::Bytes(bytes)) if bytes.is_empty() => {}
            _ => return None,
        }
    }
    let data = data?.clone();
    let mut spans = vec![Span { start: 0, len: 0 }; choice.len()];
    for (index, part) in parts.iter().enumerate() {
        if kind(part.column()).is_some()
            && let Texts::Plain(strings) = texts(part.column())
        {
            for_each_chosen(part, index, choice, |row, place| spans[row] = strings.spans[place]);
        }
    }
    Some(Strings { spans: Arc::new(spans), data })
}

/// A constant, once a row.
pub(super) fn repeat(value: &Scalar, rows: usize) -> Data {
    match value {
        Scalar::Null => Data::Const(Scalar::Null),
        Scalar::Bool(value) => Data::Bool(Arc::new(vec![*value; rows])),
        Scalar::Int(value) => Data::Int(Arc::new(vec![*value; rows])),
        Scalar::Float(value) => Data::Float(Arc::new(vec![*value; rows])),
        Scalar::Decimal(value, scale) => Data::Decimal(Arc::new(vec![*value; rows]), *scale),
        Scalar::Bytes(bytes) => {
            let span = Span { start: 0, len: bytes.len() as u32 };
            let data = arrow_buffer::Buffer::from(bytes.as_ref());
            Data::Bytes(Strings { spans: Arc::new(vec![span; rows]), data })
        }
    }
}
