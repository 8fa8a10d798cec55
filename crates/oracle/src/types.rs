//! The column types, and how their values may be compared across tables whose rows lie in another order.

/// Collation of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coll {
    /// The database's, which is C.
    Default,
    C,
    /// ICU, deterministic.
    Icu,
    /// ICU, nondeterministic: letters that differ in case only are equal.
    NoCase,
}

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    Int2,
    Int4,
    Int8,
    /// numeric(12,2)
    Decimal,
    Numeric,
    Float4,
    Float8,
    Text(Coll),
    /// varchar(20)
    Varchar,
    /// char(8)
    Char,
    Bool,
    Date,
    Timestamp,
    Timestamptz,
    Interval,
    Uuid,
    Bytea,
    Jsonb,
    IntArray,
    Enum,
}

/// Every type a column may have, with its weight.
pub const ALL: &[(u64, Ty)] = &[
    (2, Ty::Int2),
    (4, Ty::Int4),
    (3, Ty::Int8),
    (2, Ty::Decimal),
    (2, Ty::Numeric),
    (1, Ty::Float4),
    (3, Ty::Float8),
    (4, Ty::Text(Coll::Default)),
    (1, Ty::Text(Coll::C)),
    (1, Ty::Text(Coll::Icu)),
    (1, Ty::Text(Coll::NoCase)),
    (2, Ty::Varchar),
    (1, Ty::Char),
    (2, Ty::Bool),
    (2, Ty::Date),
    (2, Ty::Timestamp),
    (2, Ty::Timestamptz),
    (1, Ty::Interval),
    (1, Ty::Uuid),
    (1, Ty::Bytea),
    (1, Ty::Jsonb),
    (1, Ty::IntArray),
    (1, Ty::Enum),
];

/// How the values of an output column are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// As text.
    Exact,
    /// To a relative 1e-9; -0 equals 0: sums in another order, and representatives of equal values.
    Float,
    /// As numbers of any scale: 1.0 equals 1.00 where either may represent the other.
    Numeric,
}

impl Ty {
    /// Its name in SQL, without a collation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int2 => "int2",
            Self::Int4 => "int4",
            Self::Int8 => "int8",
            Self::Decimal => "numeric(12,2)",
            Self::Numeric => "numeric",
            Self::Float4 => "float4",
            Self::Float8 => "float8",
            Self::Text(_) => "text",
            Self::Varchar => "varchar(20)",
            Self::Char => "char(8)",
            Self::Bool => "bool",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::Timestamptz => "timestamptz",
            Self::Interval => "interval",
            Self::Uuid => "uuid",
            Self::Bytea => "bytea",
            Self::Jsonb => "jsonb",
            Self::IntArray => "int4[]",
            Self::Enum => "oracle_enum",
        }
    }

    /// What follows the type's name in a column definition.
    pub fn collate(self) -> &'static str {
        match self {
            Self::Text(Coll::C) => " COLLATE \"C\"",
            Self::Text(Coll::Icu) => " COLLATE \"und-x-icu\"",
            Self::Text(Coll::NoCase) => " COLLATE oracle_nocase",
            _ => "",
        }
    }

    /// Whether it needs a server with ICU.
    pub fn needs_icu(self) -> bool {
        matches!(self, Self::Text(Coll::Icu | Coll::NoCase))
    }

    /// smallint, int, bigint.
    pub fn is_integer(self) -> bool {
        matches!(self, Self::Int2 | Self::Int4 | Self::Int8)
    }

    /// real, double precision.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float4 | Self::Float8)
    }

    /// text, varchar, char.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text(_) | Self::Varchar | Self::Char)
    }

    /// Whether min() and max() take it on every supported server.
    pub fn has_extremes(self) -> bool {
        !matches!(self, Self::Bool | Self::Uuid | Self::Bytea | Self::Jsonb)
    }

    /// How a representative of equal values, of a group say, is compared.
    pub fn representative(self) -> Class {
        match self {
            Self::Float4 | Self::Float8 => Class::Float,
            Self::Numeric => Class::Numeric,
            _ => Class::Exact,
        }
    }
}

/// An expression that is the same for every value equal to `sql`, up to the class of [`Ty::representative`].
pub fn canonical(sql: &str, ty: Ty) -> String {
    match ty {
        Ty::Interval => format!("justify_interval({sql})"),
        Ty::Text(Coll::NoCase) => format!("lower({sql} COLLATE \"und-x-icu\")"),
        _ => sql.to_string(),
    }
}
