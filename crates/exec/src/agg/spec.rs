//! What is grouped by and what is computed.

use std::sync::Arc;

/// The kind of data of a key or of the values that an aggregate keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// [`crate::Data::Bool`].
    Bool,
    /// [`crate::Data::Int`].
    Int,
    /// [`crate::Data::Float`]: -0 equals 0, all NaN are equal and the largest.
    Float,
    /// [`crate::Data::Decimal`] of that scale; batches of another scale are refused.
    Decimal(u8),
    /// [`crate::Data::Bytes`] or [`crate::Data::Dict`], compared bytewise.
    Bytes,
}

/// The kind of a key.
pub type KeyType = ValueType;

/// The kind of numbers that are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumType {
    /// Integers, summed exactly.
    Int,
    /// Floats, summed in the order in which they come.
    Float,
    /// Decimals of that scale, summed exactly; a sum beyond `i128` is [`crate::ExecError::Unsupported`].
    Decimal(u8),
}

/// An aggregate function. All but `CountStar` pass over NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggKind {
    /// count(*).
    CountStar,
    /// count(x), x of any type.
    Count,
    /// sum(x).
    Sum(NumType),
    /// Sum and count of x.
    Avg(NumType),
    /// min(x).
    Min(ValueType),
    /// max(x).
    Max(ValueType),
    /// bool_and(x), every(x).
    BoolAnd,
    /// bool_or(x).
    BoolOr,
    /// bit_and(x) of integers.
    BitAnd,
    /// bit_or(x) of integers.
    BitOr,
    /// bit_xor(x) of integers.
    BitXor,
    /// What variance and stddev are computed from: N, sum of x, and sum of x squared; for floats Youngs' and Cramer's N, Sx
    /// and Sxx, as float8_accum.
    Moments(NumType),
    /// Folded elsewhere, by a transition function ([`crate::transition`]): groups are numbered, no state is kept.
    Transition,
}

impl AggKind {
    /// Whether it makes a difference that a value comes more than once.
    pub(super) fn counts_repeats(self) -> bool {
        matches!(
            self,
            Self::CountStar
                | Self::Count
                | Self::Sum(_)
                | Self::Avg(_)
                | Self::BitXor
                | Self::Moments(_)
        )
    }
}

/// An aggregate of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggSpec {
    /// The function.
    pub kind: AggKind,
    /// DISTINCT: of equal values one counts. The type of the values.
    pub distinct: Option<ValueType>,
    /// FILTER: rows whose filter is not true are passed over.
    pub filtered: bool,
}

impl AggSpec {
    /// Without DISTINCT and FILTER.
    pub fn plain(kind: AggKind) -> Self {
        Self { kind, distinct: None, filtered: false }
    }
}

/// Keys and aggregates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// Keys; without any, all rows are one group.
    pub keys: Vec<KeyType>,
    /// Aggregates; without any, the groups are the distinct keys.
    pub aggregates: Vec<AggSpec>,
}

impl GroupSpec {
    /// Shared by the aggregators of all threads.
    pub fn new(keys: Vec<KeyType>, aggregates: Vec<AggSpec>) -> Arc<Self> {
        Arc::new(Self { keys, aggregates })
    }
}
