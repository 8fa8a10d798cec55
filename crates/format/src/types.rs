//! What a column holds: its physical type, the order of its bounds, and one value of it.

use crate::error::FormatError;

/// How a column's values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PhysicalType {
    /// One byte by value, 0 or 1.
    Bool,
    /// One byte by value.
    Int8,
    /// Two bytes by value.
    Int16,
    /// Four bytes by value.
    Int32,
    /// Eight bytes by value.
    Int64,
    /// IEEE single, compared by its bits when encoded: NaN payloads and -0 are preserved.
    Float32,
    /// IEEE double, compared by its bits when encoded.
    Float64,
    /// That many opaque bytes, at least one.
    Fixed(u16),
    /// Any number of bytes, without a varlena header.
    Bytes,
}

impl PhysicalType {
    /// The bytes of one value, or `None` for [`PhysicalType::Bytes`].
    pub const fn width(self) -> Option<usize> {
        match self {
            Self::Bool | Self::Int8 => Some(1),
            Self::Int16 => Some(2),
            Self::Int32 | Self::Float32 => Some(4),
            Self::Int64 | Self::Float64 => Some(8),
            Self::Fixed(n) => Some(n as usize),
            Self::Bytes => None,
        }
    }

    /// Whether values are integers ([`Value::Int`]); Bool counts as one.
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::Bool | Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64)
    }

    /// Whether values are floats.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    /// Whether values are byte strings ([`Value::Bytes`]).
    pub const fn is_bytes(self) -> bool {
        matches!(self, Self::Fixed(_) | Self::Bytes)
    }

    pub(crate) const fn to_tag(self) -> (u8, u16) {
        match self {
            Self::Bool => (0, 0),
            Self::Int8 => (1, 0),
            Self::Int16 => (2, 0),
            Self::Int32 => (3, 0),
            Self::Int64 => (4, 0),
            Self::Float32 => (5, 0),
            Self::Float64 => (6, 0),
            Self::Fixed(n) => (7, n),
            Self::Bytes => (8, 0),
        }
    }

    pub(crate) fn from_tag(tag: u8, width: u16) -> Result<Self, FormatError> {
        let physical = match tag {
            0 => Self::Bool,
            1 => Self::Int8,
            2 => Self::Int16,
            3 => Self::Int32,
            4 => Self::Int64,
            5 => Self::Float32,
            6 => Self::Float64,
            7 if width > 0 => Self::Fixed(width),
            8 => Self::Bytes,
            _ => return Err(FormatError::corrupt("unknown physical type", tag)),
        };
        if tag != 7 && width != 0 {
            return Err(FormatError::corrupt("a width is given for a type that has none", width));
        }
        Ok(physical)
    }
}

/// How the bounds of a column are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BoundsOrder {
    /// No bounds are kept.
    None = 0,
    /// Integers as they are.
    Signed = 1,
    /// Integers read without sign: oid in Int32, xid8 in Int64.
    Unsigned = 2,
    /// btree's order of floats: NaN above all, -0 equal to +0.
    Float = 3,
    /// memcmp, a prefix before what it begins.
    Bytewise = 4,
}

impl BoundsOrder {
    pub(crate) fn from_tag(tag: u8) -> Result<Self, FormatError> {
        Ok(match tag {
            0 => Self::None,
            1 => Self::Signed,
            2 => Self::Unsigned,
            3 => Self::Float,
            4 => Self::Bytewise,
            _ => return Err(FormatError::corrupt("unknown order of bounds", tag)),
        })
    }
}

/// What a column holds. An order that does not fit the type (Bytewise for an integer) keeps no bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnSpec {
    /// How values are stored.
    pub physical: PhysicalType,
    /// How bounds are ordered. Unsigned also makes integers widen without sign.
    pub order: BoundsOrder,
}

impl ColumnSpec {
    /// The specification of a column.
    pub const fn new(physical: PhysicalType, order: BoundsOrder) -> Self {
        Self { physical, order }
    }

    /// Whether integers widen to 64 bits without sign.
    pub const fn is_unsigned(self) -> bool {
        matches!(self.order, BoundsOrder::Unsigned)
    }
}

/// One value of a column.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// Any integer or Bool, widened to 64 bits: with sign, or without where the column's order is Unsigned.
    Int(i64),
    /// A single.
    Float32(f32),
    /// A double.
    Float64(f64),
    /// A Fixed or Bytes value.
    Bytes(&'a [u8]),
}

impl PartialEq for Value<'_> {
    /// Equality of stored values: floats by their bits, NULL equal to NULL.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float32(a), Value::Float32(b)) => a.to_bits() == b.to_bits(),
            (Value::Float64(a), Value::Float64(b)) => a.to_bits() == b.to_bits(),
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            _ => false,
        }
    }
}

impl Value<'_> {
    /// Whether this is NULL.
    pub const fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}
