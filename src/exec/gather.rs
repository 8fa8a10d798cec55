//! Rows of slots to columns: the way of rows on row pages into batches.
#![allow(unsafe_code)]

use super::source::Request;
use crate::am::group::types;
use crate::ports;
use columnar_exec::stored::{ColumnKind, unsigned};
use columnar_exec::{Column, Data, Scalar, Span, Strings, numeric};
use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};
use std::sync::Arc;

/// A batch of strings is closed from this size on.
const FULL_BYTES: usize = 64 << 20;

/// Collects rows.
pub struct Gather {
    columns: Vec<(Request, Values, Vec<bool>, bool)>,
    rows: usize,
    /// Attributes to be read of each slot.
    attributes: i32,
    full: bool,
}

/// Values of one column being collected.
pub enum Values {
    Bool(Vec<bool>),
    Int(Vec<i64>),
    /// Of so many bytes, without sign.
    Unsigned(Vec<i64>, u8),
    Float(Vec<f64>),
    Decimal(Vec<i128>, u8),
    Bytes(Vec<Span>, Vec<u8>),
}

impl Gather {
    /// Of no rows yet.
    pub fn new(requests: &[Request]) -> Self {
        let columns =
            requests.iter().map(|request| (*request, Values::new(request.kind), Vec::new(), false));
        let attributes = requests.iter().map(|r| r.attribute as i32 + 1).max().unwrap_or(0);
        Self { columns: columns.collect(), rows: 0, attributes, full: false }
    }

    /// Rows collected.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether the strings take so much room that no further row should be added.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Adds a slot's row.
    ///
    /// # Safety
    /// `slot` holds a row of the descriptor.
    pub unsafe fn push(&mut self, desc: pg_sys::TupleDesc, slot: *mut pg_sys::TupleTableSlot) {
        // SAFETY: as the caller's; the attributes asked for are read first.
        unsafe {
            if i32::from((*slot).tts_nvalid) < self.attributes {
                pg_sys::slot_getsomeattrs_int(slot, self.attributes);
            }
            for (request, values, nulls, any_null) in &mut self.columns {
                let datum = *(*slot).tts_values.add(request.attribute);
                let is_null = *(*slot).tts_isnull.add(request.attribute);
                nulls.push(is_null);
                *any_null |= is_null;
                let len = (*ports::TupleDescAttr(desc, request.attribute)).attlen;
                self.full |= values.push(len, datum, is_null);
            }
        }
        self.rows += 1;
    }

    /// The number of rows and the columns.
    pub fn finish(self) -> (usize, Vec<Column>) {
        let rows = self.rows;
        let column = |(_, values, nulls, any_null): (Request, Values, Vec<bool>, bool)| {
            Column::with_nulls(values.into_data(), any_null.then(|| Arc::new(nulls)), rows)
        };
        (rows, self.columns.into_iter().map(column).collect())
    }
}

impl Values {
    /// Of no rows yet.
    pub fn new(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Bool => Self::Bool(Vec::new()),
            ColumnKind::Int => Self::Int(Vec::new()),
            ColumnKind::Unsigned(width) => Self::Unsigned(Vec::new(), width),
            ColumnKind::Float => Self::Float(Vec::new()),
            ColumnKind::Decimal(scale) => Self::Decimal(Vec::new(), scale),
            ColumnKind::Bytes => Self::Bytes(Vec::new(), Vec::new()),
        }
    }

    /// The values.
    pub fn into_data(self) -> Data {
        match self {
            Self::Bool(values) => Data::Bool(Arc::new(values)),
            Self::Int(values) | Self::Unsigned(values, _) => Data::Int(Arc::new(values)),
            Self::Float(values) => Data::Float(Arc::new(values)),
            Self::Decimal(values, scale) => Data::Decimal(Arc::new(values), scale),
            Self::Bytes(spans, data) => {
                Data::Bytes(Strings { spans: Arc::new(spans), data: data.into() })
            }
        }
    }

    /// Adds a value of the kind, or NULL.
    pub fn push_scalar(&mut self, value: &Scalar) {
        match (self, value) {
            (Self::Bool(values), Scalar::Bool(v)) => values.push(*v),
            (Self::Bool(values), _) => values.push(false),
            (Self::Int(values) | Self::Unsigned(values, _), Scalar::Int(v)) => values.push(*v),
            (Self::Int(values) | Self::Unsigned(values, _), _) => values.push(0),
            (Self::Float(values), Scalar::Float(v)) => values.push(*v),
            (Self::Float(values), _) => values.push(0.0),
            (Self::Decimal(values, _), Scalar::Decimal(v, _)) => values.push(*v),
            (Self::Decimal(values, _), _) => values.push(0),
            (Self::Bytes(spans, data), value) => {
                let start = data.len() as u32;
                if let Scalar::Bytes(bytes) = value {
                    data.extend_from_slice(bytes);
                }
                spans.push(Span { start, len: data.len() as u32 - start });
            }
        }
    }

    /// Adds a datum of a type of length `len`; returns whether there is no room for more.
    ///
    /// # Safety
    /// `datum` is a value of the kind, or anything if `is_null`.
    pub unsafe fn push(&mut self, len: i16, datum: pg_sys::Datum, is_null: bool) -> bool {
        match self {
            Self::Bool(values) => values.push(!is_null && datum.value() as u8 != 0),
            Self::Int(values) => values.push(if is_null { 0 } else { integer(len, datum) }),
            Self::Unsigned(values, width) => {
                let value = if is_null { 0 } else { datum.value() as i64 };
                values.push(unsigned(value, *width));
            }
            Self::Float(values) => {
                values.push(if is_null { 0.0 } else { float(len, datum) });
            }
            Self::Decimal(values, scale) => {
                let mut value = 0;
                if !is_null {
                    // SAFETY: a value of the attribute's type, not NULL.
                    unsafe { with_bytes(len, datum, |bytes| value = decimal(bytes, *scale)) };
                }
                values.push(value);
            }
            Self::Bytes(spans, data) => {
                let start = data.len() as u32;
                if !is_null {
                    // SAFETY: as above.
                    unsafe { with_bytes(len, datum, |bytes| data.extend_from_slice(bytes)) };
                }
                spans.push(Span { start, len: data.len() as u32 - start });
                return data.len() >= FULL_BYTES;
            }
        }
        false
    }
}

/// An integer passed by value. Functions differ in what they leave in the bytes above it: hashtext() does not extend the sign.
fn integer(len: i16, datum: pg_sys::Datum) -> i64 {
    let word = datum.value();
    match len {
        1 => i64::from(word as i8),
        2 => i64::from(word as i16),
        4 => i64::from(word as i32),
        _ => word as i64,
    }
}

fn float(len: i16, datum: pg_sys::Datum) -> f64 {
    if len == 4 {
        f32::from_bits(datum.value() as u32).into()
    } else {
        f64::from_bits(datum.value() as u64)
    }
}

/// A numeric(p, s) value; one of another scale would break the type's promise.
fn decimal(bytes: &[u8], scale: u8) -> i128 {
    match numeric::decode(bytes) {
        Some((value, found)) if found == scale || value == numeric::NAN => value,
        _ => {
            ereport!(
                PgLogLevel::ERROR,
                PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
                "a numeric value does not have its column's scale"
            );
            unreachable!()
        }
    }
}

/// Calls `take` with the stored form of a by-reference value.
unsafe fn with_bytes(len: i16, datum: pg_sys::Datum, take: impl FnOnce(&[u8])) {
    // SAFETY: as `types::append`.
    unsafe {
        match len {
            -1 => types::with_payload(datum, take),
            -2 => take(core::ffi::CStr::from_ptr(datum.cast_mut_ptr()).to_bytes()),
            len => {
                let pointer = datum.cast_mut_ptr::<u8>().cast_const();
                take(core::slice::from_raw_parts(pointer, len as usize));
            }
        }
    }
}

/// One value as a batch holds it.
///
/// # Safety
/// `datum` is a value of a type of length `len` that fits the kind.
pub unsafe fn scalar(len: i16, kind: ColumnKind, datum: pg_sys::Datum, is_null: bool) -> Scalar {
    if is_null {
        return Scalar::Null;
    }
    match kind {
        ColumnKind::Bool => Scalar::Bool(datum.value() as u8 != 0),
        ColumnKind::Int => Scalar::Int(integer(len, datum)),
        ColumnKind::Unsigned(width) => Scalar::Int(unsigned(datum.value() as i64, width)),
        ColumnKind::Float => Scalar::Float(float(len, datum)),
        ColumnKind::Decimal(scale) => {
            let mut value = 0;
            // SAFETY: as the caller's.
            unsafe { with_bytes(len, datum, |bytes| value = decimal(bytes, scale)) };
            Scalar::Decimal(value, scale)
        }
        ColumnKind::Bytes => {
            let mut value: Arc<[u8]> = Arc::new([]);
            // SAFETY: as the caller's.
            unsafe { with_bytes(len, datum, |bytes| value = bytes.into()) };
            Scalar::Bytes(value)
        }
    }
}
