//! Comparisons and what is made of them: IS DISTINCT FROM.

use std::cmp::Ordering;
use std::sync::Arc;

use super::CompareOp;
use super::decimal;
use super::operand::{
    Kind, NullMask, Operand, Texts, any_null_constant, bool_column, bools, decimals, floats, ints,
    kind, lend, map2, null_column, texts, union_nulls,
};
use crate::column::{Column, Data, Scalar};

/// A comparison of columns of one kind; NULL where one is.
pub(super) fn compare(op: CompareOp, left: &Column, right: &Column) -> Column {
    let rows = left.len;
    if any_null_constant(&[left, right]) {
        return null_column(rows);
    }
    let nulls = union_nulls(&[left, right]);
    let values = match kind(left) {
        Some(Kind::Bool) => ordered(op, bools(left), bools(right), rows, |value| value),
        Some(Kind::Int) => ordered(op, ints(left), ints(right), rows, |value| value),
        Some(Kind::Float) => compare_floats(op, floats(left), floats(right), rows),
        Some(Kind::Decimal) => compare_decimals(op, left, right),
        Some(Kind::Text) | None => compare_texts(op, texts(left), texts(right), &nulls, rows),
    };
    bool_column(values, nulls)
}

/// Comparison by a key that orders as the values do.
fn ordered<T: Copy, K: PartialOrd>(
    op: CompareOp,
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    rows: usize,
    key: impl Fn(T) -> K,
) -> Vec<bool> {
    match op {
        CompareOp::Eq => map2(a, b, rows, |a, b| key(a) == key(b)),
        CompareOp::Ne => map2(a, b, rows, |a, b| key(a) != key(b)),
        CompareOp::Lt => map2(a, b, rows, |a, b| key(a) < key(b)),
        CompareOp::Le => map2(a, b, rows, |a, b| key(a) <= key(b)),
        CompareOp::Gt => map2(a, b, rows, |a, b| key(a) > key(b)),
        CompareOp::Ge => map2(a, b, rows, |a, b| key(a) >= key(b)),
    }
}

/// float.h: NaN equals NaN and is above all else. Without branches, so that the loops vectorize.
fn compare_floats(
    op: CompareOp,
    a: Operand<'_, f64>,
    b: Operand<'_, f64>,
    rows: usize,
) -> Vec<bool> {
    fn equal(a: f64, b: f64) -> bool {
        (a == b) | (a.is_nan() & b.is_nan())
    }
    fn less(a: f64, b: f64) -> bool {
        (a < b) | (b.is_nan() & !a.is_nan())
    }
    match op {
        CompareOp::Eq => map2(a, b, rows, equal),
        CompareOp::Ne => map2(a, b, rows, |a, b| !equal(a, b)),
        CompareOp::Lt => map2(a, b, rows, less),
        CompareOp::Le => map2(a, b, rows, |a, b| !less(b, a)),
        CompareOp::Gt => map2(a, b, rows, |a, b| less(b, a)),
        CompareOp::Ge => map2(a, b, rows, |a, b| !less(a, b)),
    }
}

fn compare_decimals(op: CompareOp, left: &Column, right: &Column) -> Vec<bool> {
    let ((a, a_scale), (b, b_scale)) = (decimals(left), decimals(right));
    // A constant of fewer places is brought to the column's scale once.
    let (a, a_scale) = decimal::raise_constant(a, a_scale, b_scale);
    let (b, b_scale) = decimal::raise_constant(b, b_scale, a_scale);
    if a_scale == b_scale {
        // NaN is the least integer; less one it wraps around to the greatest, and all others keep their order.
        return ordered(op, a, b, left.len, |value| value.wrapping_sub(1));
    }
    map2(a, b, left.len, |a, b| holds(op, decimal::compare(a, a_scale, b, b_scale)))
}

/// Whether operands in that order satisfy a comparison.
pub(super) fn holds(op: CompareOp, ordering: Ordering) -> bool {
    match op {
        CompareOp::Eq => ordering.is_eq(),
        CompareOp::Ne => ordering.is_ne(),
        CompareOp::Lt => ordering.is_lt(),
        CompareOp::Le => ordering.is_le(),
        CompareOp::Gt => ordering.is_gt(),
        CompareOp::Ge => ordering.is_ge(),
    }
}

fn compare_texts(
    op: CompareOp,
    a: Texts<'_>,
    b: Texts<'_>,
    nulls: &NullMask,
    rows: usize,
) -> Vec<bool> {
    let negated = op == CompareOp::Ne;
    if negated || op == CompareOp::Eq {
        match (a, b) {
            // Lengths alone tell, and those lie side by side.
            (Texts::Plain(strings), Texts::Const([]))
            | (Texts::Const([]), Texts::Plain(strings)) => {
                return strings.spans.iter().map(|span| (span.len == 0) != negated).collect();
            }
            (Texts::Dict(a), Texts::Dict(b)) if a.dictionary.id == b.dictionary.id => {
                return a
                    .codes
                    .iter()
                    .zip(b.codes.iter())
                    .map(|(a, b)| (a == b) != negated)
                    .collect();
            }
            _ => {}
        }
    }
    let nulls = lend(nulls);
    match op {
        CompareOp::Eq => a.map2(b, nulls, rows, false, |a, b| a == b),
        CompareOp::Ne => a.map2(b, nulls, rows, false, |a, b| a != b),
        CompareOp::Lt => a.map2(b, nulls, rows, false, |a, b| a < b),
        CompareOp::Le => a.map2(b, nulls, rows, false, |a, b| a <= b),
        CompareOp::Gt => a.map2(b, nulls, rows, false, |a, b| a > b),
        CompareOp::Ge => a.map2(b, nulls, rows, false, |a, b| a >= b),
    }
}

/// IS DISTINCT FROM, negated or not: never NULL, and NULL is not distinct from NULL.
pub(super) fn distinct(left: &Column, right: &Column, negated: bool) -> Column {
    let rows = left.len;
    if any_null_constant(&[left, right]) {
        let values = (0..rows).map(|row| (left.is_null(row) != right.is_null(row)) != negated);
        return bool_column(values.collect(), None);
    }
    let different = compare(CompareOp::Ne, left, right);
    let Data::Bool(values) = &different.data else {
        return different;
    };
    if different.nulls.is_none() {
        let values = values.iter().map(|different| different != &negated).collect();
        return bool_column(values, None);
    }
    let row = |row: usize| {
        let (a, b) = (left.is_null(row), right.is_null(row));
        (if a | b { a != b } else { values[row] }) != negated
    };
    bool_column((0..rows).map(row).collect(), None)
}

/// NULL where a row of `left` equals that of `right`, otherwise `left`.
pub(super) fn null_if(left: Column, right: &Column) -> Column {
    if any_null_constant(&[&left, right]) {
        return left;
    }
    let equal = compare(CompareOp::Eq, &left, right);
    let Data::Bool(values) = &equal.data else {
        return left;
    };
    let hit = |row: usize| values[row] && !equal.is_null(row);
    if let Data::Const(value) = &left.data {
        let nulls: Vec<bool> = (0..left.len).map(hit).collect();
        return spread(value, left.len, nulls);
    }
    let nulls: Vec<bool> = (0..left.len).map(|row| hit(row) || left.is_null(row)).collect();
    if !nulls.contains(&true) {
        return left;
    }
    Column { data: left.data, nulls: Some(Arc::new(nulls)), len: left.len }
}

/// A constant, NULL in some rows.
fn spread(value: &Scalar, rows: usize, nulls: Vec<bool>) -> Column {
    if !nulls.contains(&true) {
        return Column::constant(value.clone(), rows);
    }
    Column::with_nulls(super::merge::repeat(value, rows), Some(Arc::new(nulls)), rows)
}
