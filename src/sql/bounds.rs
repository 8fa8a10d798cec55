//! Bounds of zone maps as text.
//!
//! A bound that is a stored value is what the column's type prints. A byte string that was cut is no value: its beginning
//! is shown as it is as far as it is text of the server's encoding, other bytes as `\x..`, and an ellipsis follows. An
//! upper bound that was cut ends in a raised byte, so it sorts after every stored value that begins like it.

use crate::am::group::types::{self, Attribute, DatumArena, Layout};
use columnar_format::{Bound, ColumnSpec, PhysicalType, Value};
use core::ffi::{CStr, c_int};
use core::fmt::Write;
use pgrx::pg_sys;

/// Prints the bounds of one column.
#[derive(Clone, Copy, Debug)]
pub struct Printer {
    attribute: Attribute,
    output: pg_sys::Oid,
    is_bytea: bool,
}

/// Memory of the current context.
struct Palloc;

impl DatumArena for Palloc {
    fn allocate(&mut self, len: usize) -> *mut u8 {
        // SAFETY: palloc raises an ERROR where it has no memory, and aligns to 8.
        unsafe { pg_sys::palloc(len.max(1)).cast() }
    }
}

impl Printer {
    /// A printer for a column of a type; none for a dropped one.
    ///
    /// # Safety
    /// `attribute` describes the column of that type.
    pub unsafe fn new(attribute: Attribute, type_id: pg_sys::Oid) -> Option<Self> {
        if !attribute.stored {
            return None;
        }
        let (mut output, mut is_varlena) = (pg_sys::InvalidOid, false);
        // SAFETY: the type exists as long as the open relation has a column of it.
        unsafe { pg_sys::getTypeOutputInfo(type_id, &raw mut output, &raw mut is_varlena) };
        let is_bytea = !matches!(
            type_id,
            pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID | pg_sys::NAMEOID
        );
        Some(Self { attribute, output, is_bytea })
    }

    /// A bound of a chunk as text, in the server's encoding; `None` where there is no bound, or where the column has since
    /// been given a type that is stored or ordered in another way (int to oid rewrites nothing).
    ///
    /// # Safety
    /// Called on the backend's thread; the bound is of a chunk of this column.
    pub unsafe fn print(&self, spec: ColumnSpec, bound: Option<&Bound>) -> Option<Vec<u8>> {
        if spec != self.attribute.spec {
            return None;
        }
        let value = match (bound?, spec.physical) {
            (Bound::Int(value), physical) if physical.is_integer() => Value::Int(*value),
            (Bound::Float(value), PhysicalType::Float32) => Value::Float32(*value as f32),
            (Bound::Float(value), PhysicalType::Float64) => Value::Float64(*value),
            (Bound::Bytes { bytes, exact: true }, PhysicalType::Fixed(len))
                if bytes.len() == usize::from(len) =>
            {
                Value::Bytes(bytes)
            }
            (Bound::Bytes { bytes, exact: true }, PhysicalType::Bytes) => Value::Bytes(bytes),
            (Bound::Bytes { bytes, .. }, _) => return Some(self.prefix(bytes)),
            _ => return None,
        };
        let layout = Layout { len: self.attribute.len };
        let datum = types::to_datum(layout, value, &mut Palloc)?;
        // SAFETY: the datum is laid out as the column's type is.
        unsafe {
            let text = pg_sys::OidOutputFunctionCall(self.output, datum);
            let bytes = CStr::from_ptr(text).to_bytes().to_vec();
            pg_sys::pfree(text.cast());
            Some(bytes)
        }
    }

    fn prefix(&self, bytes: &[u8]) -> Vec<u8> {
        // SAFETY: plain look-ups; the bytes are read up to their length.
        let (encoding, readable) = unsafe {
            let encoding = pg_sys::GetDatabaseEncoding();
            let len = bytes.len() as c_int;
            let readable = match self.is_bytea {
                true => 0,
                false => pg_sys::pg_encoding_verifymbstr(encoding, bytes.as_ptr().cast(), len),
            };
            (encoding, readable.clamp(0, len) as usize)
        };
        let ellipsis = if encoding == pg_sys::pg_enc::PG_UTF8 as c_int { "…" } else { "..." };
        escape(bytes, readable, self.is_bytea, ellipsis)
    }
}

/// The first `readable` bytes as they are, the others in hexadecimal. A binary string has one `\x` in front, as bytea
/// prints it; elsewhere each byte has its own, up to the zeros that pad a name.
fn escape(bytes: &[u8], readable: usize, binary: bool, ellipsis: &str) -> Vec<u8> {
    let (plain, rest) = bytes.split_at(readable);
    let mut tail = String::new();
    if binary {
        tail.push_str("\\x");
    }
    for byte in rest.iter().take_while(|&&byte| binary || byte != 0) {
        let prefix = if binary { "" } else { "\\x" };
        // Writing to a String does not fail.
        let _ = write!(tail, "{prefix}{byte:02x}");
    }
    tail.push_str(ellipsis);
    [plain, tail.as_bytes()].concat()
}
