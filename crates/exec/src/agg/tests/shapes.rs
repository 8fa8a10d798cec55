//! Columns from scalars, in each of the forms that a column may have.

use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::agg::ValueType;
use crate::column::{Codes, Column, Data, Scalar, Span, StringDictionary, Strings};

/// Strings of scalars; NULL is empty.
pub(super) fn strings(values: &[Scalar]) -> Strings {
    let mut data = Vec::new();
    let spans = values
        .iter()
        .map(|value| {
            let bytes: &[u8] = if let Scalar::Bytes(bytes) = value { bytes } else { &[] };
            let span = Span { start: data.len() as u32, len: bytes.len() as u32 };
            data.extend_from_slice(bytes);
            span
        })
        .collect();
    Strings { spans: Arc::new(spans), data: Buffer::from_vec(data) }
}

/// A column of scalars.
pub(super) fn column(kind: ValueType, values: &[Scalar]) -> Column {
    let nulls: Vec<bool> = values.iter().map(|value| *value == Scalar::Null).collect();
    let data = match kind {
        ValueType::Bool => {
            Data::Bool(Arc::new(values.iter().map(|v| matches!(v, Scalar::Bool(true))).collect()))
        }
        ValueType::Int => Data::Int(Arc::new(
            values.iter().map(|v| if let Scalar::Int(v) = v { *v } else { 77 }).collect(),
        )),
        ValueType::Float => Data::Float(Arc::new(
            values.iter().map(|v| if let Scalar::Float(v) = v { *v } else { 7.7 }).collect(),
        )),
        ValueType::Decimal(scale) => Data::Decimal(
            Arc::new(
                values.iter().map(|v| if let Scalar::Decimal(v, _) = v { *v } else { 7 }).collect(),
            ),
            scale,
        ),
        ValueType::Bytes => Data::Bytes(strings(values)),
    };
    let nulls = nulls.contains(&true).then(|| Arc::new(nulls));
    Column::with_nulls(data, nulls, values.len())
}

/// A column of strings as codes, the dictionary being of the values and some others.
pub(super) fn dictionary_column(values: &[Scalar]) -> Column {
    let mut words: Vec<Scalar> =
        values.iter().filter(|value| **value != Scalar::Null).cloned().collect();
    words.push(Scalar::Bytes(b"not used by any row"[..].into()));
    words.sort_by_key(|word| format!("{word:?}"));
    words.dedup();
    words.reverse();
    let code = |value: &Scalar| words.iter().position(|word| word == value).unwrap_or(0) as u32;
    let codes = Arc::new(values.iter().map(code).collect());
    let dictionary = Arc::new(StringDictionary::new(strings(&words)));
    let nulls: Vec<bool> = values.iter().map(|value| *value == Scalar::Null).collect();
    let nulls = nulls.contains(&true).then(|| Arc::new(nulls));
    Column::with_nulls(Data::Dict(Codes { codes, dictionary }), nulls, values.len())
}

pub(super) fn ints(values: &[i64]) -> Column {
    Column::new(Data::Int(Arc::new(values.to_vec())), values.len())
}

pub(super) fn floats(values: &[f64]) -> Column {
    Column::new(Data::Float(Arc::new(values.to_vec())), values.len())
}

pub(super) fn decimals(values: &[i128], scale: u8) -> Column {
    Column::new(Data::Decimal(Arc::new(values.to_vec()), scale), values.len())
}
