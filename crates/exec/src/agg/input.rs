//! The rows that an aggregate takes in: those whose filter is true and whose argument is not NULL.

use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::column::{Column, Data, Scalar, Span, Strings};
use crate::error::ExecError;

/// To which group each row belongs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Groups<'a> {
    /// All rows to group 0.
    One,
    /// A group a row.
    Of(&'a [u32]),
}

impl Groups<'_> {
    /// The groups of some rows.
    pub fn gather(self, rows: &[u32]) -> Vec<u32> {
        match self {
            Self::One => vec![0; rows.len()],
            Self::Of(groups) => rows.iter().map(|&row| groups[row as usize]).collect(),
        }
    }
}

/// The rows to take in; `None` for all.
pub(super) fn pick(
    arg: Option<&Column>,
    filter: Option<&Column>,
    rows: usize,
) -> Result<Option<Vec<u32>>, ExecError> {
    let mut keep: Option<Vec<bool>> = None;
    if let Some(filter) = filter {
        match &filter.data {
            Data::Const(Scalar::Bool(true)) => {}
            Data::Const(Scalar::Bool(false) | Scalar::Null) => return Ok(Some(Vec::new())),
            Data::Bool(values) => keep = Some(values[..rows].to_vec()),
            _ => return Err(ExecError::Unsupported),
        }
        if let (Some(keep), Some(nulls)) = (&mut keep, &filter.nulls) {
            keep.iter_mut().zip(&nulls[..rows]).for_each(|(keep, null)| *keep &= !null);
        }
    }
    match arg {
        Some(Column { data: Data::Const(Scalar::Null), .. }) => return Ok(Some(Vec::new())),
        Some(Column { data: Data::Const(_), .. }) | None => {}
        Some(Column { nulls: Some(nulls), .. }) => match &mut keep {
            Some(keep) => {
                keep.iter_mut().zip(&nulls[..rows]).for_each(|(keep, null)| *keep &= !null);
            }
            None => keep = Some(nulls[..rows].iter().map(|null| !null).collect()),
        },
        Some(_) => {}
    }
    let Some(keep) = keep else {
        return Ok(None);
    };
    if !keep.contains(&false) {
        return Ok(None);
    }
    // Written without a branch a row: every row is noted, the next overwrites it if it is not kept.
    let mut picked = vec![0; rows];
    let mut count = 0;
    for (row, keep) in keep.into_iter().enumerate() {
        picked[count] = row as u32;
        count += usize::from(keep);
    }
    picked.truncate(count);
    Ok(Some(picked))
}

/// The rows `picked` of an argument with a value a row: without NULLs, and not as a constant.
pub(super) fn dense(arg: &Column, picked: Option<&[u32]>, rows: usize) -> Column {
    let column = match picked {
        None => arg.clone(),
        Some(picked) => arg.gather(picked),
    };
    let len = picked.map_or(rows, <[u32]>::len);
    let data = match column.data {
        Data::Const(Scalar::Bool(value)) => Data::Bool(Arc::new(vec![value; len])),
        Data::Const(Scalar::Int(value)) => Data::Int(Arc::new(vec![value; len])),
        Data::Const(Scalar::Float(value)) => Data::Float(Arc::new(vec![value; len])),
        Data::Const(Scalar::Decimal(value, scale)) => {
            Data::Decimal(Arc::new(vec![value; len]), scale)
        }
        Data::Const(Scalar::Bytes(bytes)) => {
            let span = Span { start: 0, len: bytes.len() as u32 };
            Data::Bytes(Strings {
                spans: Arc::new(vec![span; len]),
                data: Buffer::from_vec(bytes.to_vec()),
            })
        }
        other => other,
    };
    Column::new(data, len)
}
