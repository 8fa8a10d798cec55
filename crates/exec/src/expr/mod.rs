//! Expressions and their evaluation over a batch.

mod arith;
mod calendar;
mod cast;
mod choose;
mod compare;
mod decimal;
mod eval;
mod inspect;
mod like;
mod list;
mod logic;
mod memo;
mod merge;
mod operand;
mod regexp;
#[cfg(test)]
mod tests;
mod text;
mod time;

use std::sync::Arc;

pub(crate) use choose::true_rows;
pub use eval::evaluate;
pub use like::LikePattern;
pub use memo::Memo;
pub use regexp::{RegexpOptions, RegexpPattern, RegexpRefusal, RegexpReplacer};
pub(crate) use time::{date_to_timestamp_one, timestamp_to_date_one, trunc_one};

use crate::column::Scalar;

/// An expression over the columns of a batch.
///
/// Operands have the data that the operation wants ([`crate::Data`]); who builds an expression sees to that and casts.
/// Strings compare bytewise: equality under any deterministic collation, order under C alone.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A column of the batch.
    Column(usize),
    /// A constant.
    Const(Scalar),
    /// A value of [`crate::Context::params`]: constant while the scan runs.
    Param(usize),
    /// NOT.
    Not(Box<Expr>),
    /// AND, from left to right: an operand is not evaluated for rows where one before it is false.
    And(Vec<Expr>),
    /// OR, from left to right: an operand is not evaluated for rows where one before it is true.
    Or(Vec<Expr>),
    /// IS NULL.
    IsNull(Box<Expr>),
    /// IS NOT NULL.
    IsNotNull(Box<Expr>),
    /// IS TRUE and IS NOT TRUE, FALSE, UNKNOWN.
    BoolTest { test: BoolTest, arg: Box<Expr> },
    /// Comparison; NULL where an operand is. Both operands hold the same kind of data: Bool, Int, Float (NaN above all, -0
    /// equal to 0), Decimal (any scales), strings.
    Compare { op: CompareOp, left: Box<Expr>, right: Box<Expr> },
    /// IS DISTINCT FROM (IS NOT DISTINCT FROM if `negated`).
    DistinctFrom { left: Box<Expr>, right: Box<Expr>, negated: bool },
    /// `arg = ANY (list)`, or `arg <> ALL (list)` if `negated`. The list may hold NULLs and be empty.
    InList { arg: Box<Expr>, list: Arc<[Scalar]>, negated: bool },
    /// As [`Expr::InList`], of a list that is known when a scan starts and that [`Expr::bind_lists`] puts in then.
    InParam { arg: Box<Expr>, list: usize, negated: bool },
    /// Arithmetic with PostgreSQL's overflow and zero checks.
    Arith { op: ArithOp, kind: NumberKind, left: Box<Expr>, right: Box<Expr> },
    /// Unary minus.
    Negate { kind: NumberKind, arg: Box<Expr> },
    /// abs().
    Abs { kind: NumberKind, arg: Box<Expr> },
    /// Between number types.
    Cast { to: CastTo, arg: Box<Expr> },
    /// LIKE, or NOT LIKE if `negated`.
    Like { arg: Box<Expr>, pattern: Arc<LikePattern>, negated: bool },
    /// `~`, or `!~` if `negated`.
    RegexpMatch { arg: Box<Expr>, pattern: Arc<RegexpPattern>, negated: bool },
    /// regexp_replace() with a constant pattern and replacement.
    RegexpReplace { arg: Box<Expr>, replacer: Arc<RegexpReplacer> },
    /// length() of text in UTF-8: characters.
    CharLength(Box<Expr>),
    /// octet_length(), and length() of text in an encoding of single bytes.
    OctetLength(Box<Expr>),
    /// lower() or upper() of the ASCII letters alone: of text under the collation C.
    AsciiCase { upper: bool, arg: Box<Expr> },
    /// strpos() in UTF-8 under a deterministic collation: characters, from 1; 0 where it is not found.
    StrPos { arg: Box<Expr>, needle: Box<Expr> },
    /// substring(text, start [, count]) in UTF-8: characters from 1.
    Substring { arg: Box<Expr>, start: Box<Expr>, count: Option<Box<Expr>> },
    /// date_trunc() of a timestamp without time zone (or with, where the zone is UTC).
    DateTrunc { unit: TimeUnit, arg: Box<Expr> },
    /// extract() from a timestamp or a date, as Decimal with PostgreSQL's scale. Of an infinite input: NULL, or
    /// [`crate::ExecError::Unsupported`] for the year, ISO year and epoch, which are infinite there, and for the fields of
    /// time, which a date does not have.
    Extract { field: ExtractField, from_date: bool, arg: Box<Expr> },
    /// date to timestamp, with infinities and the range check.
    DateToTimestamp(Box<Expr>),
    /// timestamp to date, with infinities.
    TimestampToDate(Box<Expr>),
    /// date + integer, with infinities and the range check ("date out of range").
    DateAddDays { date: Box<Expr>, days: Box<Expr>, subtract: bool },
    /// date - date: days; infinite dates are an error ("cannot subtract infinite dates").
    DateDiff { left: Box<Expr>, right: Box<Expr> },
    /// CASE: a result is evaluated only for rows whose condition is the first to be true. Without ELSE: NULL.
    Case { whens: Vec<(Expr, Expr)>, otherwise: Option<Box<Expr>> },
    /// COALESCE, from left to right.
    Coalesce(Vec<Expr>),
    /// NULLIF of operands that compare as in [`Expr::Compare`].
    NullIf { left: Box<Expr>, right: Box<Expr> },
    /// GREATEST or LEAST; NULLs are passed over.
    Extreme { greatest: bool, args: Vec<Expr> },
    /// What PostgreSQL evaluates itself.
    External { id: usize, inputs: Vec<Expr> },
}

/// Boolean tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoolTest {
    IsTrue,
    IsNotTrue,
    IsFalse,
    IsNotFalse,
    IsUnknown,
    IsNotUnknown,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Arithmetic operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithOp {
    Add,
    Sub,
    Mul,
    /// Integers truncate towards zero. Not of Decimal.
    Div,
    /// Of integers only.
    Mod,
}

/// The type an arithmetic operation is done in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    /// numeric: scales as PostgreSQL's (sum: the larger; product: the sum). A result beyond i128 is an error of the kernel.
    Decimal,
}

/// Target of a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastTo {
    /// To that integer type, from Int, Float (rounded half to even) or Bool; out of range is an error.
    Int16,
    Int32,
    Int64,
    /// From Int, Float or Decimal.
    Float32,
    Float64,
    /// From Int: scale 0.
    Decimal,
}

/// Units of date_trunc().
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// Fields of extract().
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtractField {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Month,
    Quarter,
    Year,
    /// 0 is Sunday.
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    IsoWeek,
    IsoYear,
    Epoch,
}
