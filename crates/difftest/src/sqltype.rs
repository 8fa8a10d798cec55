//! The column types of the random tables, and which operations are safe to compare on them.
//!
//! "Safe" means that the answer does not depend on the order in which rows are stored: `min` of a float column
//! may answer 0 or -0, of a numeric one 1.0 or 1.00, so those are left out of the aggregates compared.

/// A collation of a text column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collation {
    /// The database's own.
    Default,
    /// Bytewise.
    C,
    /// ICU root.
    Icu,
    /// ICU, case-insensitive, nondeterministic: `'a' = 'A'`.
    CaseInsensitive,
}

/// A column type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlType {
    Int2,
    Int4,
    Int8,
    /// numeric(10,2)
    Decimal,
    Numeric,
    Float4,
    Float8,
    Text(Collation),
    Varchar(u32, Collation),
    Char(u32),
    Bytea,
    Date,
    Timestamptz,
    Uuid,
    Jsonb,
    IntArray,
    /// `dt_domain`: int4, checked to be above -1000.
    Domain,
    /// `dt_enum`
    Enum,
    /// `dt_pair`: (a int4, b text)
    Composite,
    Bool,
    Interval,
    Inet,
}

/// Objects the tables need, created once per database; the collation is left out on servers without ICU.
pub const SUPPORT_OBJECTS: &[&str] = &[
    "CREATE TYPE dt_enum AS ENUM ('red', 'green', 'blue', 'a very long label of an enum')",
    "CREATE TYPE dt_pair AS (a int4, b text)",
    "CREATE DOMAIN dt_domain AS int4 CHECK (VALUE > -1000)",
    "CREATE COLLATION dt_ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
];

/// Every type a random column may have, with its weight.
pub const ALL: &[(u64, SqlType)] = &[
    (3, SqlType::Int2),
    (6, SqlType::Int4),
    (6, SqlType::Int8),
    (4, SqlType::Decimal),
    (4, SqlType::Numeric),
    (2, SqlType::Float4),
    (4, SqlType::Float8),
    (5, SqlType::Text(Collation::Default)),
    (3, SqlType::Text(Collation::C)),
    (2, SqlType::Text(Collation::Icu)),
    (2, SqlType::Text(Collation::CaseInsensitive)),
    (3, SqlType::Varchar(20, Collation::Default)),
    (1, SqlType::Varchar(2_000, Collation::C)),
    (2, SqlType::Char(6)),
    (3, SqlType::Bytea),
    (4, SqlType::Date),
    (4, SqlType::Timestamptz),
    (3, SqlType::Uuid),
    (4, SqlType::Jsonb),
    (3, SqlType::IntArray),
    (2, SqlType::Domain),
    (3, SqlType::Enum),
    (2, SqlType::Composite),
    (3, SqlType::Bool),
    (3, SqlType::Interval),
    (2, SqlType::Inet),
];

impl SqlType {
    /// The type's name in a cast.
    pub fn name(self) -> String {
        match self {
            Self::Int2 => "int2".into(),
            Self::Int4 => "int4".into(),
            Self::Int8 => "int8".into(),
            Self::Decimal => "numeric(10,2)".into(),
            Self::Numeric => "numeric".into(),
            Self::Float4 => "float4".into(),
            Self::Float8 => "float8".into(),
            Self::Text(_) => "text".into(),
            Self::Varchar(n, _) => format!("varchar({n})"),
            Self::Char(n) => format!("char({n})"),
            Self::Bytea => "bytea".into(),
            Self::Date => "date".into(),
            Self::Timestamptz => "timestamptz".into(),
            Self::Uuid => "uuid".into(),
            Self::Jsonb => "jsonb".into(),
            Self::IntArray => "int4[]".into(),
            Self::Domain => "dt_domain".into(),
            Self::Enum => "dt_enum".into(),
            Self::Composite => "dt_pair".into(),
            Self::Bool => "bool".into(),
            Self::Interval => "interval".into(),
            Self::Inet => "inet".into(),
        }
    }

    /// The type's name in a column definition: with its collation.
    pub fn definition(self) -> String {
        let collation = match self {
            Self::Text(c) | Self::Varchar(_, c) => c,
            _ => Collation::Default,
        };
        let suffix = match collation {
            Collation::Default => "",
            Collation::C => " COLLATE \"C\"",
            Collation::Icu => " COLLATE \"und-x-icu\"",
            Collation::CaseInsensitive => " COLLATE dt_ci",
        };
        format!("{}{suffix}", self.name())
    }

    /// Whether the type needs a server with ICU.
    pub fn needs_icu(self) -> bool {
        matches!(
            self,
            Self::Text(Collation::Icu | Collation::CaseInsensitive)
                | Self::Varchar(_, Collation::Icu | Collation::CaseInsensitive)
        )
    }

    /// Whether a hash index may be built on it.
    pub fn is_hashable(self) -> bool {
        !matches!(self, Self::Composite)
    }

    /// Whether BRIN minmax has an operator class for it.
    pub fn has_brin(self) -> bool {
        !matches!(
            self,
            Self::Jsonb | Self::IntArray | Self::Enum | Self::Composite | Self::Bool | Self::Domain
        )
    }

    /// Whether GIN has a default operator class for it.
    pub fn has_gin(self) -> bool {
        matches!(self, Self::Jsonb | Self::IntArray)
    }

    /// Whether equal values always print alike, and `min`/`max` exist: only then are they compared.
    pub fn has_exact_extremes(self) -> bool {
        matches!(
            self,
            Self::Int2 | Self::Int4 | Self::Int8 | Self::Date | Self::Timestamptz | Self::Enum
        ) || matches!(self, Self::Text(c) | Self::Varchar(_, c) if c != Collation::CaseInsensitive)
    }

    /// Whether `sum` and `avg` give one answer in any order of rows.
    pub fn has_exact_sum(self) -> bool {
        matches!(
            self,
            Self::Int2 | Self::Int4 | Self::Int8 | Self::Decimal | Self::Numeric | Self::Domain
        )
    }

    /// Whether the type is an integer one.
    pub fn is_integer(self) -> bool {
        matches!(self, Self::Int2 | Self::Int4 | Self::Int8)
    }

    /// Whether `LIKE` works on it on every supported version.
    pub fn has_like(self) -> bool {
        matches!(self, Self::Text(c) | Self::Varchar(_, c) if c != Collation::CaseInsensitive)
    }

    /// Whether the type holds text of unbounded length.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text(_))
    }

    /// The expression of an index on it, other than the column itself.
    pub fn index_expression(self, column: &str) -> Option<String> {
        Some(match self {
            Self::Text(_) | Self::Varchar(..) => format!("lower({column})"),
            Self::Int2 | Self::Int4 | Self::Int8 | Self::Domain => format!("({column} % 100)"),
            Self::Decimal | Self::Numeric => format!("abs({column})"),
            Self::Jsonb => format!("({column} ->> 'k')"),
            Self::Date => format!("(extract(year FROM {column}))"),
            Self::Composite => format!("(({column}).a)"),
            _ => return None,
        })
    }
}
