//! Datums to stored values and back: which physical type a column has, and how its bounds are ordered.

use crate::ports;
use columnar_format::{BoundsOrder, ColumnBuilder, ColumnSpec, PhysicalType, Value};
use pgrx::pg_sys;

/// What the storage needs to know of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Bytes of a fixed-length type, -1 for varlena, -2 for a C string.
    pub len: i16,
    pub by_value: bool,
    /// Dropped and virtual generated columns store NULL.
    pub stored: bool,
    pub spec: ColumnSpec,
}

impl Attribute {
    /// Whether values are varlenas.
    pub fn is_variable(&self) -> bool {
        self.stored && self.len == -1
    }
}

/// The attributes of a tuple descriptor.
///
/// # Safety
/// `desc` is a live tuple descriptor.
pub unsafe fn attributes(desc: pg_sys::TupleDesc) -> Vec<Attribute> {
    // SAFETY: `natts` attributes follow the descriptor.
    unsafe {
        (0..(*desc).natts).map(|i| attribute(&*ports::TupleDescAttr(desc, i as usize))).collect()
    }
}

fn attribute(att: &pg_sys::FormData_pg_attribute) -> Attribute {
    let stored = !att.attisdropped && att.attgenerated != b'v' as core::ffi::c_char;
    let physical = match (att.attbyval, att.attlen) {
        (true, 1) if att.atttypid == pg_sys::BOOLOID => PhysicalType::Bool,
        (true, 1) => PhysicalType::Int8,
        (true, 2) => PhysicalType::Int16,
        (true, 4) if att.atttypid == pg_sys::FLOAT4OID => PhysicalType::Float32,
        (true, 4) => PhysicalType::Int32,
        (true, _) if att.atttypid == pg_sys::FLOAT8OID => PhysicalType::Float64,
        (true, _) => PhysicalType::Int64,
        (false, len) if len > 0 => PhysicalType::Fixed(len as u16),
        _ => PhysicalType::Bytes,
    };
    let order = if stored { bounds_order(att.atttypid) } else { BoundsOrder::None };
    Attribute {
        len: att.attlen,
        by_value: att.attbyval,
        stored,
        spec: ColumnSpec { physical, order },
    }
}

/// Types whose btree order is that of their stored form. Text bounds are bytewise and serve equality and prefixes only,
/// under collations that are deterministic.
fn bounds_order(type_id: pg_sys::Oid) -> BoundsOrder {
    match type_id {
        pg_sys::BOOLOID
        | pg_sys::INT2OID
        | pg_sys::INT4OID
        | pg_sys::INT8OID
        | pg_sys::DATEOID
        | pg_sys::TIMEOID
        | pg_sys::TIMESTAMPOID
        | pg_sys::TIMESTAMPTZOID
        | pg_sys::MONEYOID => BoundsOrder::Signed,
        pg_sys::OIDOID => BoundsOrder::Unsigned,
        pg_sys::FLOAT4OID | pg_sys::FLOAT8OID => BoundsOrder::Float,
        pg_sys::TEXTOID
        | pg_sys::VARCHAROID
        | pg_sys::BYTEAOID
        | pg_sys::UUIDOID
        | pg_sys::NAMEOID => BoundsOrder::Bytewise,
        _ => BoundsOrder::None,
    }
}

/// `MaxHeapTupleSize`.
pub const MAX_HEAP_TUPLE: usize = 8160;

/// Bytes a row without NULLs takes on a row page at the least: values of variable length as TOAST pointers.
///
/// # Safety
/// `desc` is a live tuple descriptor.
pub unsafe fn least_heap_size(desc: pg_sys::TupleDesc) -> usize {
    // SAFETY: as the caller's.
    unsafe {
        let natts = (*desc).natts as usize;
        let header = (23 + natts.div_ceil(8)).next_multiple_of(8);
        let mut size = 0usize;
        for i in 0..natts {
            let attribute = &*ports::TupleDescAttr(desc, i);
            if attribute.attisdropped {
                continue;
            }
            let align = match attribute.attalign as u8 {
                b'd' => 8,
                b'i' => 4,
                b's' => 2,
                _ => 1,
            };
            size = if attribute.attlen > 0 {
                size.next_multiple_of(align) + attribute.attlen as usize
            } else {
                size + TOAST_POINTER
            };
        }
        header + size
    }
}

/// Bytes of a TOAST pointer.
const TOAST_POINTER: usize = 18;

/// The payload of a varlena in place: its bytes if it is neither compressed nor stored elsewhere.
///
/// # Safety
/// `pointer` points at a varlena.
pub unsafe fn plain_payload<'a>(pointer: *const u8) -> Option<&'a [u8]> {
    // SAFETY: the first byte tells the header's form (postgres.h, little-endian), which tells the length.
    unsafe {
        let first = *pointer;
        if first & 1 == 1 {
            if first == 1 {
                return None;
            }
            let len = usize::from(first >> 1);
            return Some(core::slice::from_raw_parts(pointer.add(1), len - 1));
        }
        if first & 3 != 0 {
            return None;
        }
        let len = (pointer.cast::<u32>().read_unaligned() >> 2) as usize;
        Some(core::slice::from_raw_parts(pointer.add(4), len - 4))
    }
}

/// Bytes of a by-reference value as it lies in memory; `None` for one that is stored elsewhere or expanded.
///
/// # Safety
/// `datum` is a value of a type of length `len` (-1: varlena, -2: C string), not NULL.
pub unsafe fn stored_size(len: i16, datum: pg_sys::Datum) -> Option<usize> {
    // SAFETY: as the caller's; the header's form is told by its first byte.
    unsafe {
        match len {
            -1 => {
                let pointer: *const u8 = datum.cast_mut_ptr();
                match *pointer {
                    1 => None,
                    first if first & 1 == 1 => Some(usize::from(first >> 1)),
                    _ => Some((pointer.cast::<u32>().read_unaligned() >> 2) as usize),
                }
            }
            -2 => Some(core::ffi::CStr::from_ptr(datum.cast_mut_ptr()).to_bytes_with_nul().len()),
            len => Some(len as usize),
        }
    }
}

/// Bytes a value takes when it is stored in full, for deciding whether a row is too wide for a row group.
///
/// # Safety
/// `datum` is a value of the attribute's type, not NULL.
pub unsafe fn detoasted_size(attribute: &Attribute, datum: pg_sys::Datum) -> usize {
    if attribute.len != -1 {
        return 0;
    }
    // SAFETY: the datum points at a varlena.
    unsafe {
        let pointer: *const u8 = datum.cast_mut_ptr();
        match plain_payload(pointer) {
            Some(bytes) => bytes.len(),
            None => pg_sys::toast_raw_datum_size(datum),
        }
    }
}

/// Appends a datum to a column.
///
/// # Safety
/// `datum` is a value of the attribute's type.
pub unsafe fn append(
    builder: &mut ColumnBuilder,
    attribute: &Attribute,
    datum: pg_sys::Datum,
    is_null: bool,
) {
    if is_null || !attribute.stored {
        builder.push_null();
        return;
    }
    match attribute.spec.physical {
        PhysicalType::Float32 => builder.push_f32(f32::from_bits(datum.value() as u32)),
        PhysicalType::Float64 => builder.push_f64(f64::from_bits(datum.value() as u64)),
        PhysicalType::Fixed(len) => {
            // SAFETY: a by-reference value of fixed length.
            let bytes = unsafe {
                core::slice::from_raw_parts(datum.cast_mut_ptr::<u8>().cast_const(), len.into())
            };
            builder.push_bytes(bytes);
        }
        // SAFETY: the datum points at a varlena or a C string.
        PhysicalType::Bytes => unsafe { append_bytes(builder, attribute, datum) },
        _ => builder.push_i64(datum.value() as i64),
    }
}

unsafe fn append_bytes(builder: &mut ColumnBuilder, attribute: &Attribute, datum: pg_sys::Datum) {
    // SAFETY: as `append`.
    unsafe {
        if attribute.len == -2 {
            builder.push_bytes(core::ffi::CStr::from_ptr(datum.cast_mut_ptr()).to_bytes());
            return;
        }
        with_payload(datum, |bytes| builder.push_bytes(bytes));
    }
}

/// Gives `read` the payload of a varlena, fetched and decompressed where it has to be.
///
/// # Safety
/// `datum` points at a varlena.
pub unsafe fn with_payload<T>(datum: pg_sys::Datum, read: impl FnOnce(&[u8]) -> T) -> T {
    // SAFETY: as the caller's; a detoasted copy lives until it is freed here.
    unsafe {
        let pointer: *mut u8 = datum.cast_mut_ptr();
        if let Some(bytes) = plain_payload(pointer) {
            return read(bytes);
        }
        let copy: *mut u8 = pg_sys::pg_detoast_datum(pointer.cast()).cast();
        let answer = read(plain_payload(copy).unwrap_or(&[]));
        if copy != pointer {
            pg_sys::pfree(copy.cast());
        }
        answer
    }
}

/// How a by-reference value lies in memory.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Bytes of a fixed-length type, -1 for varlena, -2 for a C string.
    pub len: i16,
}

/// Memory that datums of a row point into.
pub trait DatumArena {
    /// Room for `len` bytes, aligned to 8.
    fn allocate(&mut self, len: usize) -> *mut u8;
}

/// Makes a datum of a stored value; `None` is NULL.
pub fn to_datum(
    attribute: Layout,
    value: Value<'_>,
    arena: &mut dyn DatumArena,
) -> Option<pg_sys::Datum> {
    match value {
        Value::Null => None,
        Value::Int(v) => Some(pg_sys::Datum::from(v)),
        Value::Float32(v) => Some(pg_sys::Datum::from(v.to_bits())),
        Value::Float64(v) => Some(pg_sys::Datum::from(v.to_bits())),
        Value::Bytes(bytes) => {
            let header = if attribute.len == -1 { 4 } else { 0 };
            let trailer = usize::from(attribute.len == -2);
            let to = arena.allocate(header + bytes.len() + trailer);
            // SAFETY: the arena gave room for header, bytes and trailer.
            unsafe {
                if header != 0 {
                    to.cast::<u32>().write(((bytes.len() + 4) as u32) << 2);
                }
                core::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(header), bytes.len());
                if trailer != 0 {
                    to.add(bytes.len()).write(0);
                }
            }
            Some(pg_sys::Datum::from(to))
        }
    }
}
