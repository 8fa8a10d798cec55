//! Why an expression is not evaluated in batches, for EXPLAIN VERBOSE.

use columnar_exec::expr::RegexpRefusal;
use std::fmt;

/// What stands against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No kernel computes the function, by its name.
    Function(String),
    /// No kernel works on values of the type.
    Type(String),
    /// Values of one expression display different numbers of decimal places.
    MixedScales,
    /// A volatile function is evaluated once a row and in order.
    Volatile,
    /// A subquery.
    SubPlan,
    /// An aggregate where only scalars are evaluated.
    Aggregate,
    /// A window function.
    WindowFunction,
    /// A function that returns many rows.
    SetReturning,
    /// Equality under the collation is not that of bytes.
    NondeterministicCollation(String),
    /// Order under the collation is not that of bytes.
    CollationOrder(String),
    /// Letters under the collation are not those of ASCII alone.
    CollationCase(String),
    /// The result depends on a time zone that is not UTC.
    TimeZone,
    /// Characters of the server's encoding are not told apart by the kernels.
    Encoding,
    /// A system column.
    SystemColumn,
    /// A column of another table.
    OtherRelation,
    /// A column whose type is not the table's, or that is not stored.
    Column,
    /// The test value of a CASE outside of it.
    CaseTest,
    /// An argument that must be a constant.
    NotConstant,
    /// A constant out of the range of the kernels.
    Constant,
    /// A regular expression that no kernel matches, and why.
    Regexp(RegexpRefusal),
    /// A node of the expression tree, by its name.
    Node(String),
    /// What the step is, or what is below it.
    Shape(&'static str),
    /// An aggregate the batch executor does not fold, by its name and why.
    AggregateFunction(String, &'static str),
    /// As above, because of what it aggregates.
    AggregateOf(String, Box<Refusal>),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function(name) => write!(f, "function {name}"),
            Self::Type(name) => write!(f, "type {name}"),
            Self::MixedScales => f.write_str("numeric values of different scales"),
            Self::Volatile => f.write_str("volatile function"),
            Self::SubPlan => f.write_str("subquery"),
            Self::Aggregate => f.write_str("aggregate"),
            Self::WindowFunction => f.write_str("window function"),
            Self::SetReturning => f.write_str("set-returning function"),
            Self::NondeterministicCollation(name) => {
                write!(f, "nondeterministic collation {name}")
            }
            Self::CollationOrder(name) => write!(f, "order of collation {name}"),
            Self::CollationCase(name) => write!(f, "letter case of collation {name}"),
            Self::TimeZone => f.write_str("time zone"),
            Self::Encoding => f.write_str("server encoding"),
            Self::SystemColumn => f.write_str("system column"),
            Self::OtherRelation => f.write_str("column of another relation"),
            Self::Column => f.write_str("column that is not stored"),
            Self::CaseTest => f.write_str("test value of CASE"),
            Self::NotConstant => f.write_str("argument is not a constant"),
            Self::Constant => f.write_str("constant out of range"),
            Self::Regexp(why) => write!(f, "regular expression: {why}"),
            Self::Node(name) => write!(f, "expression node {name}"),
            Self::Shape(what) => f.write_str(what),
            Self::AggregateOf(name, why) => write!(f, "aggregate {name}: {why}"),
            Self::AggregateFunction(name, why) => write!(f, "aggregate {name}: {why}"),
        }
    }
}
