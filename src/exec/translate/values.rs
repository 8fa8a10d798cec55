//! Datums to values of batches and back.

use super::types::{DataClass, ValueType};
use crate::am::group::types::with_payload;
use columnar_exec::datum::DatumColumn;
use columnar_exec::{Column, Data, Scalar, Span, Strings, numeric};
use pgrx::pg_sys::{self, Datum};
use std::sync::Arc;

/// A datum as a value; `None` for a number the type's data cannot hold. Copies made to detoast are freed.
///
/// # Safety
/// `datum` is a value of the type, or anything if `is_null`.
pub unsafe fn scalar_of(datum: Datum, is_null: bool, value: &ValueType) -> Option<Scalar> {
    if is_null {
        return Some(Scalar::Null);
    }
    let word = datum.value() as u64;
    Some(match value {
        ValueType::Bool => Scalar::Bool(word as u8 != 0),
        ValueType::Int { width, unsigned, .. } => Scalar::Int(widen(word, *width, *unsigned)),
        ValueType::Date => Scalar::Int(i64::from(word as i32)),
        ValueType::Timestamp | ValueType::TimestampTz | ValueType::Time => Scalar::Int(word as i64),
        ValueType::Float4 => Scalar::Float(f32::from_bits(word as u32).into()),
        ValueType::Float8 => Scalar::Float(f64::from_bits(word)),
        ValueType::Bytes { fixed: Some(len) } => {
            // SAFETY: a value of fixed length passed by reference.
            let bytes = unsafe {
                core::slice::from_raw_parts(datum.cast_mut_ptr::<u8>(), usize::from(*len))
            };
            Scalar::Bytes(bytes.into())
        }
        ValueType::Decimal { scale } => {
            // SAFETY: the datum points at a varlena.
            let decoded = unsafe { with_payload(datum, numeric::decode) };
            match decoded? {
                (numeric::NAN, _) => Scalar::Decimal(numeric::NAN, *scale),
                (number, found) if found == *scale => Scalar::Decimal(number, *scale),
                _ => return None,
            }
        }
        ValueType::Numeric
        | ValueType::Text
        | ValueType::BpChar { .. }
        | ValueType::Bytes { fixed: None } => {
            // SAFETY: the datum points at a varlena.
            unsafe { with_payload(datum, |bytes| Scalar::Bytes(bytes.into())) }
        }
    })
}

/// An integer passed by value. With sign it is as fetch_att() reads it from a tuple.
pub fn widen(word: u64, width: u8, unsigned: bool) -> i64 {
    match (width, unsigned) {
        (1, _) => i64::from(word as i8),
        (2, _) => i64::from(word as i16),
        (4, false) => i64::from(word as i32),
        (4, true) => i64::from(word as u32),
        _ => word as i64,
    }
}

/// The datum of a row, allocated in `context` where it is passed by reference; `None` for NULL.
///
/// # Safety
/// `context` is a live memory context; the column holds values of the type.
pub unsafe fn datum_of(
    column: &Column,
    row: usize,
    value: &ValueType,
    context: pg_sys::MemoryContext,
) -> Option<Datum> {
    if value.class() == DataClass::Bytes {
        let bytes = column.bytes(row)?;
        // SAFETY: as the caller's.
        return Some(unsafe { bytes_datum(bytes, value, context) });
    }
    // SAFETY: as the caller's.
    unsafe { datum_of_scalar(&column.get(row), value, context) }
}

/// The datum of one value, as [`datum_of`].
///
/// # Safety
/// As [`datum_of`].
pub unsafe fn datum_of_scalar(
    scalar: &Scalar,
    value: &ValueType,
    context: pg_sys::MemoryContext,
) -> Option<Datum> {
    Some(match scalar {
        Scalar::Null => return None,
        Scalar::Bool(v) => Datum::from(*v),
        Scalar::Int(v) => Datum::from(*v),
        Scalar::Float(v) if *value == ValueType::Float4 => Datum::from((*v as f32).to_bits()),
        Scalar::Float(v) => Datum::from(v.to_bits()),
        Scalar::Decimal(number, scale) => {
            let bytes = numeric::encode(*number, *scale);
            // SAFETY: as the caller's.
            unsafe { bytes_datum(&bytes, value, context) }
        }
        // SAFETY: as the caller's.
        Scalar::Bytes(bytes) => unsafe { bytes_datum(bytes, value, context) },
    })
}

/// A value passed by reference.
unsafe fn bytes_datum(bytes: &[u8], value: &ValueType, context: pg_sys::MemoryContext) -> Datum {
    let header = if matches!(value, ValueType::Bytes { fixed: Some(_) }) { 0 } else { 4 };
    // SAFETY: there is room for header and bytes.
    unsafe {
        let to: *mut u8 = pg_sys::MemoryContextAlloc(context, header + bytes.len()).cast();
        if header != 0 {
            to.cast::<u32>().write(((bytes.len() + 4) as u32) << 2);
        }
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(header), bytes.len());
        Datum::from(to)
    }
}

/// A column of decimals as the bytes of numeric; any other as it is.
pub fn encode_decimals(column: &Column) -> Column {
    let data = match &column.data {
        Data::Const(Scalar::Decimal(number, scale)) => {
            Data::Const(Scalar::Bytes(numeric::encode(*number, *scale).into()))
        }
        Data::Decimal(numbers, scale) => {
            let mut bytes = Vec::new();
            let mut spans = Vec::with_capacity(numbers.len());
            for (row, number) in numbers.iter().enumerate() {
                let start = bytes.len() as u32;
                if !column.is_null(row) {
                    bytes.extend_from_slice(&numeric::encode(*number, *scale));
                }
                spans.push(Span { start, len: bytes.len() as u32 - start });
            }
            Data::Bytes(Strings { spans: Arc::new(spans), data: bytes.into() })
        }
        _ => return column.clone(),
    };
    Column { data, nulls: column.nulls.clone(), len: column.len }
}

/// A column laid out as datums.
pub fn datum_column(column: &Column, value: &ValueType) -> DatumColumn {
    match value {
        ValueType::Decimal { .. } => DatumColumn::new(&encode_decimals(column), value.datum_kind()),
        _ => DatumColumn::new(column, value.datum_kind()),
    }
}
