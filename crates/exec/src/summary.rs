//! Aggregates that follow from what is known of chunks and vectors: rows, NULLs, sums, least and greatest values.
//!
//! Qualifies: a pipeline into one group, of count(*), count, sum and avg of integers, min, max, bool_and and bool_or over a
//! column, over an integer column plus or minus constants, or over a constant. Does not qualify: keys, FILTER, DISTINCT
//! where it makes a difference, sums of floats (their result depends on the order) and of numerics (not stored).
//!
//! | Known of the rows | Answers |
//! |---|---|
//! | their number | count(*) |
//! | no NULL among them, or nothing else | count |
//! | they are all rows of the chunk or vector | what its metadata says |
//! | one value throughout | all |

use columnar_format::{Bound, BoundsOrder, ColumnSpec};

use crate::agg::{AggKind, GroupingSet, NumType, Summary};
use crate::column::Scalar;
use crate::expr::{ArithOp, CastTo, Expr, NumberKind};
use crate::pipeline::{Pipeline, Sink};
use crate::stored::{self, ColumnKind};

/// What is known of a column in the rows to be taken in.
#[derive(Clone, Debug)]
pub enum Known<'a> {
    /// Every row has this value.
    Constant(Scalar),
    /// The rows are of this chunk or vector.
    Stored(Stored<'a>),
}

/// What is known of a chunk or vector.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// What the column holds.
    pub spec: ColumnSpec,
    /// Rows stored.
    pub rows: u32,
    /// NULLs among them.
    pub nulls: u32,
    /// As [`columnar_format::ChunkMeta::min`].
    pub min: Option<&'a Bound>,
    /// As [`columnar_format::ChunkMeta::max`].
    pub max: Option<&'a Bound>,
    /// As [`columnar_format::ChunkMeta::sum`].
    pub sum: Option<i128>,
    /// Whether all its rows are taken in.
    pub whole: bool,
}

/// How each aggregate of a pipeline follows from metadata.
#[derive(Clone, Debug)]
pub struct SummaryPlan {
    aggregates: Vec<(Wanted, Input)>,
}

/// What an aggregate wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Count,
    Sum,
    Min,
    Max,
}

/// What it aggregates.
#[derive(Clone, Debug)]
enum Input {
    /// Rows, whatever is in them.
    Rows,
    /// The same value in every row.
    Constant(Scalar),
    Column {
        column: usize,
        kind: ColumnKind,
        shift: Shift,
    },
}

/// What is added to an integer column, step by step.
#[derive(Clone, Debug, Default)]
struct Shift {
    total: i128,
    /// The sum so far at each step, and the least and greatest value that the step's type holds.
    steps: Vec<(i128, i64, i64)>,
}

impl SummaryPlan {
    /// The plan, if every aggregate of the pipeline follows from metadata.
    pub fn of(pipeline: &Pipeline) -> Option<Self> {
        let Sink::Aggregate { sets, keys, args, conditions, .. } = &pipeline.sink else {
            return None;
        };
        let [GroupingSet { spec, .. }] = &sets[..] else { return None };
        if !keys.is_empty() || !spec.keys.is_empty() || conditions.iter().any(Option::is_some) {
            return None;
        }
        let mut aggregates = Vec::with_capacity(args.len());
        for (aggregate, arg) in spec.aggregates.iter().zip(args) {
            let (wanted, repeats) = match aggregate.kind {
                AggKind::CountStar | AggKind::Count => (Wanted::Count, true),
                AggKind::Sum(NumType::Int) | AggKind::Avg(NumType::Int) => (Wanted::Sum, true),
                AggKind::Min(_) | AggKind::BoolAnd => (Wanted::Min, false),
                AggKind::Max(_) | AggKind::BoolOr => (Wanted::Max, false),
                _ => return None,
            };
            if aggregate.filtered || (aggregate.distinct.is_some() && repeats) {
                return None;
            }
            let input = match arg {
                _ if aggregate.kind == AggKind::CountStar => Input::Rows,
                Some(arg) => Input::of(arg, pipeline)?,
                None => return None,
            };
            aggregates.push((wanted, input));
        }
        Some(Self { aggregates })
    }

    /// What `rows` rows come to in each aggregate, if that is known. `known` tells of a column; of one that is not known it
    /// gives `None`.
    pub fn answer<'a>(
        &self,
        rows: u64,
        known: &dyn Fn(usize) -> Option<Known<'a>>,
    ) -> Option<Vec<Summary>> {
        let summary = |(wanted, input): &(Wanted, Input)| match input {
            Input::Rows => Some(Summary::Count(rows)),
            Input::Constant(value) => of_constant(*wanted, value, rows),
            Input::Column { column, kind, shift } => match known(*column)? {
                Known::Constant(value) => of_constant(*wanted, &shift.scalar(value)?, rows),
                Known::Stored(stored) => of_stored(*wanted, &stored, *kind, shift, rows),
            },
        };
        self.aggregates.iter().map(summary).collect()
    }
}

impl Input {
    fn of(expr: &Expr, pipeline: &Pipeline) -> Option<Self> {
        if let Some(value) = constant(expr, pipeline) {
            return Some(Self::Constant(value.clone()));
        }
        let mut shift = Shift::default();
        let column = shift.of(expr, pipeline)?;
        let kind = *pipeline.kinds.get(column)?;
        if !shift.steps.is_empty() && kind != ColumnKind::Int {
            return None;
        }
        Some(Self::Column { column, kind, shift })
    }
}

fn constant<'p>(expr: &'p Expr, pipeline: &'p Pipeline) -> Option<&'p Scalar> {
    match expr {
        Expr::Const(value) => Some(value),
        Expr::Param(param) => pipeline.params.get(*param),
        _ => None,
    }
}

impl Shift {
    /// Takes an expression apart down to its column.
    fn of(&mut self, expr: &Expr, pipeline: &Pipeline) -> Option<usize> {
        let number = |expr: &Expr| match constant(expr, pipeline) {
            Some(Scalar::Int(value)) => Some(i128::from(*value)),
            _ => None,
        };
        match expr {
            Expr::Column(column) => Some(*column),
            Expr::Cast { to, arg } => {
                let (low, high) = match to {
                    CastTo::Int16 => limits(NumberKind::Int16)?,
                    CastTo::Int32 => limits(NumberKind::Int32)?,
                    CastTo::Int64 => limits(NumberKind::Int64)?,
                    _ => return None,
                };
                let column = self.of(arg, pipeline)?;
                self.steps.push((self.total, low, high));
                Some(column)
            }
            Expr::Arith { op, kind, left, right } => {
                let (low, high) = limits(*kind)?;
                let (arg, by) = match (op, number(left), number(right)) {
                    (ArithOp::Add, _, Some(by)) => (left, by),
                    (ArithOp::Add, Some(by), _) => (right, by),
                    (ArithOp::Sub, _, Some(by)) => (left, -by),
                    _ => return None,
                };
                let column = self.of(arg, pipeline)?;
                self.total += by;
                self.steps.push((self.total, low, high));
                Some(column)
            }
            _ => None,
        }
    }

    /// Whether no step fails for values of a range.
    fn fits(&self, min: i64, max: i64) -> bool {
        self.steps.iter().all(|&(by, low, high)| {
            i128::from(min) + by >= low.into() && i128::from(max) + by <= high.into()
        })
    }

    /// A value with all added.
    fn scalar(&self, value: Scalar) -> Option<Scalar> {
        match value {
            value if self.steps.is_empty() => Some(value),
            Scalar::Null => Some(Scalar::Null),
            Scalar::Int(value) if self.fits(value, value) => {
                i64::try_from(i128::from(value) + self.total).ok().map(Scalar::Int)
            }
            _ => None,
        }
    }
}

fn limits(kind: NumberKind) -> Option<(i64, i64)> {
    match kind {
        NumberKind::Int16 => Some((i16::MIN.into(), i16::MAX.into())),
        NumberKind::Int32 => Some((i32::MIN.into(), i32::MAX.into())),
        NumberKind::Int64 => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}

/// Of rows that have all one value.
fn of_constant(wanted: Wanted, value: &Scalar, rows: u64) -> Option<Summary> {
    let none = matches!(value, Scalar::Null) || rows == 0;
    Some(match (wanted, value) {
        (Wanted::Count, _) => Summary::Count(if none { 0 } else { rows }),
        (Wanted::Sum, _) if none => Summary::Sum { sum: 0, count: 0 },
        (Wanted::Sum, Scalar::Int(value)) => {
            Summary::Sum { sum: i128::from(*value) * i128::from(rows), count: rows }
        }
        (Wanted::Sum, _) => return None,
        // Which of equal values is the result depends on the order.
        (Wanted::Min | Wanted::Max, Scalar::Float(value)) if !is_one_of_a_kind(*value) => {
            return None;
        }
        (Wanted::Min | Wanted::Max, _) => Summary::Extreme((!none).then(|| value.clone())),
    })
}

fn of_stored(
    wanted: Wanted,
    stored: &Stored<'_>,
    kind: ColumnKind,
    shift: &Shift,
    rows: u64,
) -> Option<Summary> {
    let values = u64::from(stored.rows.checked_sub(stored.nulls)?);
    if values == 0 {
        return of_constant(wanted, &Scalar::Null, rows);
    }
    let min = || scalar(stored.min?, stored.spec.order, kind);
    let max = || scalar(stored.max?, stored.spec.order, kind);
    if !shift.steps.is_empty() {
        match (min(), max()) {
            (Some(Scalar::Int(min)), Some(Scalar::Int(max))) if shift.fits(min, max) => {}
            _ => return None,
        }
    }
    if wanted == Wanted::Count && (stored.nulls == 0 || stored.whole) {
        return Some(Summary::Count(if stored.whole { values } else { rows }));
    }
    if !stored.whole {
        if stored.nulls > 0 || !matches!(kind, ColumnKind::Int | ColumnKind::Unsigned(_)) {
            return None;
        }
        let value = min().filter(|value| max().as_ref() == Some(value))?;
        return of_constant(wanted, &shift.scalar(value)?, rows);
    }
    match wanted {
        Wanted::Count => None,
        Wanted::Sum => {
            if kind != ColumnKind::Int || stored.spec.is_unsigned() {
                return None;
            }
            let sum = stored.sum? + shift.total * i128::from(values);
            Some(Summary::Sum { sum, count: values })
        }
        Wanted::Min => shift.scalar(min()?).map(|value| Summary::Extreme(Some(value))),
        Wanted::Max => shift.scalar(max()?).map(|value| Summary::Extreme(Some(value))),
    }
}

/// Whether all floats equal to it have its bits: neither zero nor NaN.
fn is_one_of_a_kind(value: f64) -> bool {
    value != 0.0 && !value.is_nan()
}

/// A bound as the value it is; `None` where it is only beyond the values, where another value equal to it may be the result
/// (zeros of either sign, NaN), or where the column was stored as another type, whose order was another.
fn scalar(bound: &Bound, order: BoundsOrder, kind: ColumnKind) -> Option<Scalar> {
    match (bound, order, kind) {
        (Bound::Int(value), BoundsOrder::Signed, ColumnKind::Int) => Some(Scalar::Int(*value)),
        (Bound::Int(value @ (0 | 1)), BoundsOrder::Signed, ColumnKind::Bool) => {
            Some(Scalar::Bool(*value == 1))
        }
        (Bound::Int(value @ 0..), BoundsOrder::Unsigned, ColumnKind::Unsigned(width)) => {
            let same = stored::unsigned(*value, width) == *value;
            same.then_some(Scalar::Int(*value))
        }
        (Bound::Float(value), BoundsOrder::Float, ColumnKind::Float) => {
            is_one_of_a_kind(*value).then_some(Scalar::Float(*value))
        }
        (Bound::Bytes { bytes, exact: true }, BoundsOrder::Bytewise, ColumnKind::Bytes) => {
            Some(Scalar::Bytes(bytes.as_ref().into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
