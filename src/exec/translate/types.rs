//! PostgreSQL's types and how batches hold their values.

use columnar_exec::datum::DatumKind;
use columnar_exec::stored::ColumnKind;
use pgrx::pg_sys::{self, Oid};

/// How a column or value of a PostgreSQL type is held in a [`columnar_exec::Column`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    Bool,
    /// Every other type that is passed by value and has no variant of its own. Widened with sign, but for `unsigned`: oid,
    /// as its columns are stored. Enumerations, transaction ids and "char" are equal as their data is, but ordered otherwise.
    Int {
        width: u8,
        unsigned: bool,
        type_id: Oid,
    },
    Float4,
    Float8,
    /// numeric of which every value displays that many decimal places.
    Decimal {
        scale: u8,
    },
    /// numeric of any scale: its stored bytes.
    Numeric,
    Date,
    Timestamp,
    TimestampTz,
    Time,
    /// text and varchar.
    Text,
    /// Padded with blanks to so many characters; `None` where values may differ in that.
    BpChar {
        length: Option<u32>,
    },
    /// Any other type passed by reference: its bytes, without varlena header. `fixed` is the length of those of one length.
    Bytes {
        fixed: Option<u16>,
    },
}

/// Which values of [`columnar_exec::Data`] hold a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataClass {
    Bool,
    Int,
    Float,
    Decimal,
    Bytes,
}

/// Most decimal places of a [`ValueType::Decimal`] column: products of two fit an i128 for values of usual size.
const MAX_COLUMN_SCALE: i32 = 18;
/// Most digits of a [`ValueType::Decimal`] column: a sum of 2^63 values, and a product of two, fit an i128 whatever they are.
const MAX_COLUMN_DIGITS: i32 = 19;
/// Most digits that an i128 holds whatever they are.
pub const MAX_DIGITS: i32 = 38;

impl ValueType {
    /// The variant of data.
    pub fn class(&self) -> DataClass {
        match self {
            Self::Bool => DataClass::Bool,
            Self::Int { .. } | Self::Date | Self::Timestamp | Self::TimestampTz | Self::Time => {
                DataClass::Int
            }
            Self::Float4 | Self::Float8 => DataClass::Float,
            Self::Decimal { .. } => DataClass::Decimal,
            Self::Numeric | Self::Text | Self::BpChar { .. } | Self::Bytes { .. } => {
                DataClass::Bytes
            }
        }
    }

    /// How a stored column of the type is decoded.
    pub fn column_kind(&self) -> ColumnKind {
        match (self, self.class()) {
            (Self::Decimal { scale }, _) => ColumnKind::Decimal(*scale),
            (_, DataClass::Bool) => ColumnKind::Bool,
            (Self::Int { width, unsigned: true, .. }, _) => ColumnKind::Unsigned(*width),
            (_, DataClass::Int) => ColumnKind::Int,
            (_, DataClass::Float) => ColumnKind::Float,
            _ => ColumnKind::Bytes,
        }
    }

    /// How its values are passed once decimals are encoded ([`super::values::encode_decimals`]).
    pub fn datum_kind(&self) -> DatumKind {
        match self {
            Self::Float4 => DatumKind::Float4,
            Self::Float8 => DatumKind::Float8,
            Self::Bytes { fixed: Some(_) } => DatumKind::Fixed,
            Self::Decimal { .. } => DatumKind::Varlena,
            _ if self.class() == DataClass::Bytes => DatumKind::Varlena,
            _ => DatumKind::Integer,
        }
    }
}

/// The type below a domain, with its modifier.
pub fn base_type(type_id: Oid, typmod: i32) -> (Oid, i32) {
    let mut typmod = typmod;
    // SAFETY: reads the system cache; a type that is gone is an ERROR.
    let base = unsafe { pg_sys::getBaseTypeAndTypmod(type_id, &raw mut typmod) };
    (base, typmod)
}

/// How values of a type are held; domains as the type below.
pub fn value_type(type_id: Oid, typmod: i32) -> ValueType {
    let (type_id, typmod) = base_type(type_id, typmod);
    match type_id {
        pg_sys::BOOLOID => ValueType::Bool,
        pg_sys::FLOAT4OID => ValueType::Float4,
        pg_sys::FLOAT8OID => ValueType::Float8,
        pg_sys::NUMERICOID => numeric_type(typmod),
        pg_sys::DATEOID => ValueType::Date,
        pg_sys::TIMESTAMPOID => ValueType::Timestamp,
        pg_sys::TIMESTAMPTZOID => ValueType::TimestampTz,
        pg_sys::TIMEOID => ValueType::Time,
        pg_sys::TEXTOID | pg_sys::VARCHAROID => ValueType::Text,
        pg_sys::BPCHAROID => ValueType::BpChar {
            // VARHDRSZ is counted in.
            length: u32::try_from(typmod - 4).ok().filter(|length| *length > 0),
        },
        _ => other_type(type_id),
    }
}

fn other_type(type_id: Oid) -> ValueType {
    let (mut len, mut by_value) = (0i16, false);
    // SAFETY: reads the system cache into locals.
    unsafe { pg_sys::get_typlenbyval(type_id, &raw mut len, &raw mut by_value) };
    match (by_value, len) {
        (true, len) => {
            ValueType::Int { width: len as u8, unsigned: type_id == pg_sys::OIDOID, type_id }
        }
        (false, len) if len > 0 => ValueType::Bytes { fixed: Some(len as u16) },
        _ => ValueType::Bytes { fixed: None },
    }
}

/// numeric(p,s); a negative scale rounds left of the point and displays none.
fn numeric_type(typmod: i32) -> ValueType {
    // numeric_typmod_precision() and numeric_typmod_scale() of numeric.c.
    let packed = typmod - 4;
    let precision = (packed >> 16) & 0xffff;
    let scale = ((packed & 0x7ff) ^ 1024) - 1024;
    let fits =
        typmod >= 4 && (0..=MAX_COLUMN_SCALE).contains(&scale) && precision <= MAX_COLUMN_DIGITS;
    if fits { ValueType::Decimal { scale: scale as u8 } } else { ValueType::Numeric }
}

/// oid and what displays an oid by name.
pub fn is_oid(type_id: Oid) -> bool {
    matches!(
        type_id,
        pg_sys::OIDOID
            | pg_sys::REGPROCOID
            | pg_sys::REGPROCEDUREOID
            | pg_sys::REGOPEROID
            | pg_sys::REGOPERATOROID
            | pg_sys::REGCLASSOID
            | pg_sys::REGTYPEOID
            | pg_sys::REGROLEOID
            | pg_sys::REGNAMESPACEOID
            | pg_sys::REGCONFIGOID
            | pg_sys::REGDICTIONARYOID
            | pg_sys::REGCOLLATIONOID
    )
}

/// Whether a type is an enumeration: equal where its oids are, ordered otherwise.
pub fn is_enum(type_id: Oid) -> bool {
    // SAFETY: reads the system cache.
    unsafe { pg_sys::get_typtype(type_id) as u8 == b'e' }
}

/// Whether values of a type can be columns: not cstring, internal and other types that never leave an expression.
pub fn is_storable(type_id: Oid) -> bool {
    // SAFETY: reads the system cache.
    type_id == pg_sys::RECORDOID || unsafe { pg_sys::get_typtype(type_id) as u8 != b'p' }
}

/// The name of a type, for messages.
pub fn type_name(type_id: Oid) -> String {
    // SAFETY: format_type_be answers with a palloc'd string for any oid.
    unsafe {
        core::ffi::CStr::from_ptr(pg_sys::format_type_be(type_id)).to_string_lossy().into_owned()
    }
}
