//! What bounds and Bloom filters tell about a filter: that no row can satisfy it, or that all do.
//!
//! Every expression is reduced to what it may be in some row ([`Outcomes`] of a condition, [`Range`] of a value).
//! Whatever is not known here may be anything, so the answers err on the side of reading the rows. Errors that a filter
//! would raise for rows that are then not read are not raised; PostgreSQL does not promise them either.

use std::cmp::Ordering;

use columnar_format::{Bound, BoundsOrder, compare_floats};

use crate::column::Scalar;
use crate::expr::{
    BoolTest, CastTo, CompareOp, Expr, LikePattern, date_to_timestamp_one, timestamp_to_date_one,
    trunc_one,
};

/// Bounds of a column over some rows: a vector, a chunk.
#[derive(Clone, Debug)]
pub struct ColumnBounds {
    /// No value is less; `None` if that is not known.
    pub min: Option<Bound>,
    /// No value is greater; `None` if that is not known.
    pub max: Option<Bound>,
    /// Rows that are NULL.
    pub nulls: u32,
    /// All rows.
    pub rows: u32,
    /// How the bounds are ordered.
    pub order: BoundsOrder,
}

/// Whether a row can satisfy a filter. False only if none can, whatever its values within the bounds.
pub fn may_match(
    filter: &Expr,
    bounds: &dyn Fn(usize) -> Option<ColumnBounds>,
    params: &[Scalar],
) -> bool {
    Prune { bounds, holds: &|_, _| true, params }.condition(filter).may_be_true
}

/// As [`may_match`], where `holds` is also asked whether a column may hold a value: false only if it surely does not, as its
/// Bloom filter tells. It is asked for what equalities compare with, where the bounds leave that open.
pub fn may_match_with_blooms(
    filter: &Expr,
    bounds: &dyn Fn(usize) -> Option<ColumnBounds>,
    holds: &dyn Fn(usize, &Scalar) -> bool,
    params: &[Scalar],
) -> bool {
    Prune { bounds, holds, params }.condition(filter).may_be_true
}

/// Whether a filter has an equality that [`may_match_with_blooms`] may look up.
pub fn looks_up(filter: &Expr) -> bool {
    match filter {
        Expr::And(args) | Expr::Or(args) => args.iter().any(looks_up),
        Expr::BoolTest { test: BoolTest::IsTrue, arg } => looks_up(arg),
        Expr::Not(arg) => match &**arg {
            Expr::DistinctFrom { left, right, negated: false } => one_stored(left, right),
            _ => false,
        },
        Expr::Compare { op: CompareOp::Eq, left, right }
        | Expr::DistinctFrom { left, right, negated: true } => one_stored(left, right),
        Expr::InList { arg, list, negated: false } => {
            stored_column(arg).is_some() && list.len() <= MAX_LOOKED_UP
        }
        Expr::Like { arg, pattern, negated: false } => {
            stored_column(arg).is_some() && pattern.is_exact()
        }
        _ => false,
    }
}

/// Whether one of two operands is a column.
fn one_stored(left: &Expr, right: &Expr) -> bool {
    stored_column(left).is_some() != stored_column(right).is_some()
}

/// Whether all rows satisfy a filter: it is neither false nor NULL in any.
pub fn always_true(
    filter: &Expr,
    bounds: &dyn Fn(usize) -> Option<ColumnBounds>,
    params: &[Scalar],
) -> bool {
    let outcomes = Prune { bounds, holds: &|_, _| true, params }.condition(filter);
    !outcomes.may_be_false && !outcomes.may_be_null
}

/// What a condition may be in some row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcomes {
    may_be_true: bool,
    may_be_false: bool,
    may_be_null: bool,
}

impl Outcomes {
    const ANY: Self = Self { may_be_true: true, may_be_false: true, may_be_null: true };
    const NULL: Self = Self { may_be_true: false, may_be_false: false, may_be_null: true };

    fn negate(self) -> Self {
        Self { may_be_true: self.may_be_false, may_be_false: self.may_be_true, ..self }
    }

    /// The outcomes of a test that is never NULL.
    fn known(may_be_true: bool, may_be_false: bool) -> Self {
        Self { may_be_true, may_be_false, may_be_null: false }
    }
}

/// A limit of a range.
#[derive(Clone, Debug)]
enum Point {
    Int(i64),
    Float(f64),
    Bytes(Box<[u8]>),
}

impl Point {
    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => Some(compare_floats(*a, *b)),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

/// What a value may be in some row.
#[derive(Clone, Debug)]
struct Range {
    min: Option<Point>,
    max: Option<Point>,
    may_be_null: bool,
    /// Whether it may be anything but NULL.
    may_be_value: bool,
}

impl Range {
    const ANY: Self = Self { min: None, max: None, may_be_null: true, may_be_value: true };
    const NULL: Self = Self { min: None, max: None, may_be_null: true, may_be_value: false };

    fn point(point: Point) -> Self {
        Self { min: Some(point.clone()), max: Some(point), may_be_null: false, may_be_value: true }
    }

    /// The range of what a function that never falls makes of the values, NULL of NULL. `None` where it fails or is not
    /// defined for the limit.
    fn map(self, f: impl Fn(Point) -> Option<Point>) -> Self {
        Self { min: self.min.and_then(&f), max: self.max.and_then(&f), ..self }
    }
}

/// The most members of a list that are looked up. Of many, Bloom filters are likely to be wrong about one.
const MAX_LOOKED_UP: usize = 64;

/// The column whose stored integers or bytes are the values of an expression.
fn stored_column(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column(column) => Some(*column),
        // Integers change no value. A cast of floats does, and has no filter to be looked up in.
        Expr::Cast { to: CastTo::Int16 | CastTo::Int32 | CastTo::Int64, arg } => stored_column(arg),
        _ => None,
    }
}

/// How limits compare, where both are known and of one kind.
fn order(a: &Option<Point>, b: &Option<Point>) -> Option<Ordering> {
    a.as_ref()?.compare(b.as_ref()?)
}

struct Prune<'a> {
    bounds: &'a dyn Fn(usize) -> Option<ColumnBounds>,
    holds: &'a dyn Fn(usize, &Scalar) -> bool,
    params: &'a [Scalar],
}

impl Prune<'_> {
    fn condition(&self, expr: &Expr) -> Outcomes {
        match expr {
            Expr::Column(_) | Expr::Const(_) | Expr::Param(_) => self.boolean(expr),
            Expr::Not(arg) => match &**arg {
                Expr::DistinctFrom { left, right, negated } => self.distinct(left, right, !negated),
                arg => self.without_look_up().condition(arg).negate(),
            },
            Expr::And(args) => self.all(args, true),
            Expr::Or(args) => self.all(args, false),
            Expr::IsNull(arg) => {
                let range = self.value(arg);
                Outcomes::known(range.may_be_null, range.may_be_value)
            }
            Expr::IsNotNull(arg) => {
                let range = self.value(arg);
                Outcomes::known(range.may_be_value, range.may_be_null)
            }
            Expr::BoolTest { test: BoolTest::IsTrue, arg } => {
                bool_test(BoolTest::IsTrue, self.condition(arg))
            }
            Expr::BoolTest { test, arg } => bool_test(*test, self.without_look_up().condition(arg)),
            Expr::Compare { op: CompareOp::Eq, left, right } => self.equal(left, right),
            Expr::Compare { op, left, right } => {
                compare(*op, &self.value(left), &self.value(right))
            }
            Expr::DistinctFrom { left, right, negated } => self.distinct(left, right, *negated),
            Expr::InList { arg, list, negated } => {
                if *negated {
                    self.without_look_up().in_list(arg, list).negate()
                } else {
                    self.in_list(arg, list)
                }
            }
            Expr::Like { arg, pattern, negated } => {
                if *negated {
                    self.without_look_up().like(arg, pattern).negate()
                } else {
                    self.like(arg, pattern)
                }
            }
            _ => Outcomes::ANY,
        }
    }

    /// For what must be false: there it tells nothing that a value is missing.
    fn without_look_up(&self) -> Self {
        Self { holds: &|_, _| true, ..*self }
    }

    /// IS DISTINCT FROM, or IS NOT if `negated`.
    fn distinct(&self, left: &Expr, right: &Expr, negated: bool) -> Outcomes {
        let equal = match negated {
            true => self.equal(left, right),
            false => self.without_look_up().equal(left, right),
        };
        let (left, right) = (self.value(left), self.value(right));
        let distinct = Outcomes::known(
            equal.may_be_false || left.may_be_null || right.may_be_null,
            equal.may_be_true || (left.may_be_null && right.may_be_null),
        );
        if negated { distinct.negate() } else { distinct }
    }

    fn equal(&self, left: &Expr, right: &Expr) -> Outcomes {
        let outcomes = compare(CompareOp::Eq, &self.value(left), &self.value(right));
        let held = match (stored_column(left), stored_column(right)) {
            (Some(column), None) => self.scalar(right).map(|value| (column, value)),
            (None, Some(column)) => self.scalar(left).map(|value| (column, value)),
            _ => None,
        };
        match held {
            Some((column, value)) => self.if_held(outcomes, column, value),
            None => outcomes,
        }
    }

    /// The outcomes of an equality with a value, given that a column may not hold it.
    fn if_held(&self, outcomes: Outcomes, column: usize, value: &Scalar) -> Outcomes {
        if outcomes.may_be_true && !(self.holds)(column, value) {
            return Outcomes { may_be_true: false, may_be_false: true, ..outcomes };
        }
        outcomes
    }

    /// A value that is the same in all rows.
    fn scalar<'b>(&'b self, expr: &'b Expr) -> Option<&'b Scalar> {
        match expr {
            Expr::Const(value) => Some(value),
            Expr::Param(param) => self.params.get(*param),
            _ => None,
        }
    }

    /// A value that is a condition itself.
    fn boolean(&self, expr: &Expr) -> Outcomes {
        let range = self.value(expr);
        let truth = Range::point(Point::Int(1));
        compare(CompareOp::Eq, &range, &truth)
    }

    /// AND, of which one false operand decides (`conjunction`), or OR, of which one true operand does.
    fn all(&self, args: &[Expr], conjunction: bool) -> Outcomes {
        let mut all = Outcomes::known(true, false);
        for arg in args {
            let outcomes = self.condition(arg);
            let one = if conjunction { outcomes } else { outcomes.negate() };
            all.may_be_true &= one.may_be_true;
            all.may_be_false |= one.may_be_false;
            all.may_be_null |= one.may_be_null;
            // False in every row, whatever else is NULL.
            if !one.may_be_true && !one.may_be_null {
                all = Outcomes::known(false, true);
                break;
            }
        }
        if conjunction { all } else { all.negate() }
    }

    fn in_list(&self, arg: &Expr, list: &[Scalar]) -> Outcomes {
        if list.is_empty() {
            return Outcomes::known(false, true);
        }
        let column = stored_column(arg).filter(|_| list.len() <= MAX_LOOKED_UP);
        let arg = self.value(arg);
        let mut found =
            Outcomes { may_be_true: false, may_be_false: true, may_be_null: arg.may_be_null };
        if !arg.may_be_value {
            return Outcomes { may_be_false: false, ..found };
        }
        for member in list {
            let mut one = compare(CompareOp::Eq, &arg, &constant(member));
            // Once one may be there, the others need not be looked up.
            if let (Some(column), false) = (column, found.may_be_true) {
                one = self.if_held(one, column, member);
            }
            found.may_be_true |= one.may_be_true;
            found.may_be_null |= one.may_be_null;
            // Equal to this member in every row, or at least never false with a NULL among the members.
            found.may_be_false &= one.may_be_false;
        }
        found
    }

    fn like(&self, arg: &Expr, pattern: &LikePattern) -> Outcomes {
        if pattern.is_exact() {
            let value = Expr::Const(Scalar::Bytes(pattern.prefix().into()));
            return self.equal(arg, &value);
        }
        like(&self.value(arg), pattern)
    }

    fn value(&self, expr: &Expr) -> Range {
        match expr {
            Expr::Column(column) => (self.bounds)(*column).map_or(Range::ANY, column_range),
            Expr::Const(value) => constant(value),
            Expr::Param(param) => self.params.get(*param).map_or(Range::ANY, constant),
            // Widening changes no value; narrowing fails where it would.
            Expr::Cast { to: CastTo::Int16 | CastTo::Int32 | CastTo::Int64, arg } => {
                self.value(arg).map(|point| matches!(point, Point::Int(_)).then_some(point))
            }
            Expr::Cast { to: CastTo::Float64, arg } => self.value(arg).map(|point| match point {
                Point::Int(value) => Some(Point::Float(value as f64)),
                Point::Float(value) => Some(Point::Float(value)),
                Point::Bytes(_) => None,
            }),
            Expr::DateTrunc { unit, arg } => self.value(arg).map(|point| match point {
                Point::Int(value) => trunc_one(*unit, value).map(Point::Int),
                _ => None,
            }),
            Expr::DateToTimestamp(arg) => self.value(arg).map(|point| match point {
                Point::Int(value) => date_to_timestamp_one(value).map(Point::Int),
                _ => None,
            }),
            Expr::TimestampToDate(arg) => self.value(arg).map(|point| match point {
                Point::Int(value) => Some(Point::Int(timestamp_to_date_one(value))),
                _ => None,
            }),
            expr if self.is_null_everywhere(expr) => Range::NULL,
            _ => Range::ANY,
        }
    }

    /// Whether an expression is NULL in every row since an operand is.
    fn is_null_everywhere(&self, expr: &Expr) -> bool {
        let null = |expr: &Expr| !self.value(expr).may_be_value;
        match expr {
            Expr::Arith { left, right, .. } | Expr::DateDiff { left, right } => {
                null(left) || null(right)
            }
            Expr::Negate { arg, .. }
            | Expr::Abs { arg, .. }
            | Expr::Cast { arg, .. }
            | Expr::CharLength(arg)
            | Expr::OctetLength(arg)
            | Expr::AsciiCase { arg, .. }
            | Expr::Extract { arg, .. } => null(arg),
            Expr::StrPos { arg, needle } => null(arg) || null(needle),
            Expr::Substring { arg, start, count } => {
                null(arg) || null(start) || count.as_deref().is_some_and(null)
            }
            Expr::DateAddDays { date, days, .. } => null(date) || null(days),
            _ => false,
        }
    }
}

fn column_range(bounds: ColumnBounds) -> Range {
    let (may_be_null, may_be_value) = (bounds.nulls > 0, bounds.nulls < bounds.rows);
    let point = |bound: Option<Bound>| match (bound?, bounds.order) {
        (Bound::Int(value), BoundsOrder::Signed) => Some(Point::Int(value)),
        (Bound::Float(value), BoundsOrder::Float) => Some(Point::Float(value)),
        (Bound::Bytes { bytes, .. }, BoundsOrder::Bytewise) => Some(Point::Bytes(bytes)),
        // Without sign: as kernels compare, with sign, only where no value reaches the sign.
        (Bound::Int(value), BoundsOrder::Unsigned) => Some(Point::Int(value)),
        _ => None,
    };
    let (min, max) = (point(bounds.min), point(bounds.max));
    let signed = bounds.order == BoundsOrder::Unsigned
        && !matches!((&min, &max), (Some(Point::Int(0..)), Some(Point::Int(0..))));
    let (min, max) = if signed { (None, None) } else { (min, max) };
    Range { min, max, may_be_null, may_be_value }
}

fn constant(value: &Scalar) -> Range {
    match value {
        Scalar::Null => Range::NULL,
        Scalar::Bool(value) => Range::point(Point::Int(i64::from(*value))),
        Scalar::Int(value) => Range::point(Point::Int(*value)),
        Scalar::Float(value) => Range::point(Point::Float(*value)),
        Scalar::Bytes(bytes) => Range::point(Point::Bytes(bytes.as_ref().into())),
        Scalar::Decimal(..) => Range { may_be_null: false, ..Range::ANY },
    }
}

fn compare(op: CompareOp, left: &Range, right: &Range) -> Outcomes {
    if !left.may_be_value || !right.may_be_value {
        // Of no rows at all there is no outcome.
        return Outcomes { may_be_null: left.may_be_null || right.may_be_null, ..Outcomes::NULL };
    }
    let lowest = order(&left.min, &right.max);
    let highest = order(&left.max, &right.min);
    let may_be_less = lowest.is_none_or(Ordering::is_lt);
    let may_be_greater = highest.is_none_or(Ordering::is_gt);
    let may_be_equal = lowest.is_none_or(Ordering::is_le) && highest.is_none_or(Ordering::is_ge);
    let (may_be_true, may_be_false) = match op {
        CompareOp::Eq => (may_be_equal, may_be_less || may_be_greater),
        CompareOp::Ne => (may_be_less || may_be_greater, may_be_equal),
        CompareOp::Lt => (may_be_less, may_be_equal || may_be_greater),
        CompareOp::Le => (may_be_less || may_be_equal, may_be_greater),
        CompareOp::Gt => (may_be_greater, may_be_equal || may_be_less),
        CompareOp::Ge => (may_be_greater || may_be_equal, may_be_less),
    };
    Outcomes { may_be_true, may_be_false, may_be_null: left.may_be_null || right.may_be_null }
}

fn like(arg: &Range, pattern: &LikePattern) -> Outcomes {
    if !arg.may_be_value {
        return Outcomes { may_be_null: arg.may_be_null, ..Outcomes::NULL };
    }
    let prefix = pattern.prefix();
    let limit = |limit: &Option<Point>| match limit {
        Some(Point::Bytes(bytes)) => Some(bytes.clone()),
        _ => None,
    };
    let (min, max) = (limit(&arg.min), limit(&arg.max));
    let begins =
        |limit: &Option<Box<[u8]>>| limit.as_ref().is_some_and(|bytes| bytes.starts_with(prefix));
    // Strings that begin with the prefix lie together, from the prefix itself on.
    let above = min.as_ref().is_some_and(|min| min.as_ref() > prefix) && !begins(&min);
    let below = max.as_ref().is_some_and(|max| max.as_ref() < prefix);
    let all_begin = prefix.is_empty() || (begins(&min) && begins(&max));
    Outcomes {
        may_be_true: !above && !below,
        may_be_false: !(pattern.is_prefix() && all_begin),
        may_be_null: arg.may_be_null,
    }
}

fn bool_test(test: BoolTest, arg: Outcomes) -> Outcomes {
    let Outcomes { may_be_true, may_be_false, may_be_null } = arg;
    match test {
        BoolTest::IsTrue => Outcomes::known(may_be_true, may_be_false || may_be_null),
        BoolTest::IsNotTrue => Outcomes::known(may_be_false || may_be_null, may_be_true),
        BoolTest::IsFalse => Outcomes::known(may_be_false, may_be_true || may_be_null),
        BoolTest::IsNotFalse => Outcomes::known(may_be_true || may_be_null, may_be_false),
        BoolTest::IsUnknown => Outcomes::known(may_be_null, may_be_true || may_be_false),
        BoolTest::IsNotUnknown => Outcomes::known(may_be_true || may_be_false, may_be_null),
    }
}

#[cfg(test)]
mod tests;
