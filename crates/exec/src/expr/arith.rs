//! Arithmetic of integers and floats, as int.c, int8.c and float.c do it.

use super::decimal;
use super::operand::{
    Nulls, Operand, any_null_constant, checked1, checked2, checked2_once, decimal_column, decimals,
    float_column, floats, int_column, ints, lend, map1, null_column, union_nulls,
};
use super::{ArithOp, NumberKind};
use crate::column::Column;
use crate::error::ExecError;

/// An operation on two columns.
pub(super) fn arith(
    op: ArithOp,
    number: NumberKind,
    left: &Column,
    right: &Column,
) -> Result<Column, ExecError> {
    let rows = left.len;
    if any_null_constant(&[left, right]) {
        return Ok(null_column(rows));
    }
    let nulls = union_nulls(&[left, right]);
    Ok(match number {
        NumberKind::Int16 | NumberKind::Int32 | NumberKind::Int64 => {
            int_column(integers(op, number, ints(left), ints(right), lend(&nulls), rows)?, nulls)
        }
        NumberKind::Float64 => {
            float_column(float64(op, floats(left), floats(right), lend(&nulls), rows)?, nulls)
        }
        NumberKind::Float32 => {
            float_column(float32(op, floats(left), floats(right), lend(&nulls), rows)?, nulls)
        }
        NumberKind::Decimal => {
            let (a, b) = (decimals(left), decimals(right));
            let (values, scale) = decimal::arith(op, a, b, lend(&nulls), rows)?;
            decimal_column(values, scale, nulls)
        }
    })
}

/// PostgreSQL's name of an integer type.
pub(super) fn integer_name(number: NumberKind) -> &'static str {
    match number {
        NumberKind::Int16 => "smallint",
        NumberKind::Int32 => "integer",
        _ => "bigint",
    }
}

/// Whether a value is outside of an integer type.
#[inline]
pub(super) fn outside(number: NumberKind, value: i64) -> bool {
    match number {
        NumberKind::Int16 => value != i64::from(value as i16),
        NumberKind::Int32 => value != i64::from(value as i32),
        _ => false,
    }
}

fn integers(
    op: ArithOp,
    number: NumberKind,
    a: Operand<'_, i64>,
    b: Operand<'_, i64>,
    nulls: Nulls<'_>,
    rows: usize,
) -> Result<Vec<i64>, ExecError> {
    // One loop a type, so that the check of the width is not in it.
    match number {
        NumberKind::Int16 => narrow::<i16>(op, number, a, b, nulls, rows),
        NumberKind::Int32 => narrow::<i32>(op, number, a, b, nulls, rows),
        _ => wide(op, a, b, nulls, rows),
    }
}

/// Types whose sums and products fit in 64 bits.
trait Narrow {
    fn outside(value: i64) -> bool;
}

impl Narrow for i16 {
    #[inline]
    fn outside(value: i64) -> bool {
        value != i64::from(value as i16)
    }
}

impl Narrow for i32 {
    #[inline]
    fn outside(value: i64) -> bool {
        value != i64::from(value as i32)
    }
}

fn narrow<T: Narrow>(
    op: ArithOp,
    number: NumberKind,
    a: Operand<'_, i64>,
    b: Operand<'_, i64>,
    nulls: Nulls<'_>,
    rows: usize,
) -> Result<Vec<i64>, ExecError> {
    fn mark<T: Narrow>(value: i64) -> (i64, bool) {
        (value, T::outside(value))
    }
    let check = |a: i64, b: i64| scalar(op, number, a, b).map(drop);
    match op {
        ArithOp::Add => checked2(a, b, nulls, rows, |a, b| mark::<T>(a.wrapping_add(b)), check),
        ArithOp::Sub => checked2(a, b, nulls, rows, |a, b| mark::<T>(a.wrapping_sub(b)), check),
        ArithOp::Mul => checked2(a, b, nulls, rows, |a, b| mark::<T>(a.wrapping_mul(b)), check),
        ArithOp::Div => {
            let fast = |a: i64, b: i64| {
                let (value, wrong) = divide(a, b);
                (value, wrong | T::outside(value))
            };
            checked2_once(a, b, nulls, rows, fast, check)
        }
        ArithOp::Mod => checked2_once(a, b, nulls, rows, remainder, check),
    }
}

fn wide(
    op: ArithOp,
    a: Operand<'_, i64>,
    b: Operand<'_, i64>,
    nulls: Nulls<'_>,
    rows: usize,
) -> Result<Vec<i64>, ExecError> {
    let check = |a: i64, b: i64| scalar(op, NumberKind::Int64, a, b).map(drop);
    match op {
        ArithOp::Add => checked2(a, b, nulls, rows, i64::overflowing_add, check),
        ArithOp::Sub => checked2(a, b, nulls, rows, i64::overflowing_sub, check),
        ArithOp::Mul => checked2(a, b, nulls, rows, i64::overflowing_mul, check),
        ArithOp::Div => {
            let fast = |a: i64, b: i64| {
                let (value, wrong) = divide(a, b);
                (value, wrong | ((a == i64::MIN) & (b == -1)))
            };
            checked2_once(a, b, nulls, rows, fast, check)
        }
        ArithOp::Mod => checked2_once(a, b, nulls, rows, remainder, check),
    }
}

#[inline]
fn divide(a: i64, b: i64) -> (i64, bool) {
    let zero = b == 0;
    (a.wrapping_div(if zero { 1 } else { b }), zero)
}

#[inline]
fn remainder(a: i64, b: i64) -> (i64, bool) {
    let zero = b == 0;
    (a.wrapping_rem(if zero { 1 } else { b }), zero)
}

/// One pair of integers, with PostgreSQL's errors.
fn scalar(op: ArithOp, number: NumberKind, a: i64, b: i64) -> Result<i64, ExecError> {
    let value = match op {
        ArithOp::Add => a.checked_add(b),
        ArithOp::Sub => a.checked_sub(b),
        ArithOp::Mul => a.checked_mul(b),
        ArithOp::Div | ArithOp::Mod if b == 0 => return Err(ExecError::division_by_zero()),
        ArithOp::Div => a.checked_div(b),
        ArithOp::Mod => Some(a.wrapping_rem(b)),
    };
    value
        .filter(|value| !outside(number, *value))
        .ok_or_else(|| ExecError::out_of_range(integer_name(number)))
}

/// float_overflow_error.
pub(super) fn float_overflow() -> ExecError {
    ExecError::Sql { sqlstate: "22003", message: "value out of range: overflow".to_owned() }
}

/// float_underflow_error.
pub(super) fn float_underflow() -> ExecError {
    ExecError::Sql { sqlstate: "22003", message: "value out of range: underflow".to_owned() }
}

/// The rules of float.h, which are the same for both widths. The values come widened; `$float` is the type in which the
/// operation is done and rounded.
macro_rules! float_kernel {
    ($name:ident, $float:ty) => {
        fn $name(
            op: ArithOp,
            a: Operand<'_, f64>,
            b: Operand<'_, f64>,
            nulls: Nulls<'_>,
            rows: usize,
        ) -> Result<Vec<f64>, ExecError> {
            fn check(op: ArithOp, a: $float, b: $float) -> Result<(), ExecError> {
                let (value, infinity_allowed, zero_allowed) = match op {
                    ArithOp::Add => (a + b, a.is_infinite() || b.is_infinite(), true),
                    ArithOp::Sub => (a - b, a.is_infinite() || b.is_infinite(), true),
                    ArithOp::Mul => {
                        (a * b, a.is_infinite() || b.is_infinite(), a == 0.0 || b == 0.0)
                    }
                    ArithOp::Div | ArithOp::Mod => {
                        if b == 0.0 && !a.is_nan() {
                            return Err(ExecError::division_by_zero());
                        }
                        (a / b, a.is_infinite(), a == 0.0 || b.is_infinite())
                    }
                };
                if value.is_infinite() && !infinity_allowed {
                    return Err(float_overflow());
                }
                if value == 0.0 && !zero_allowed {
                    return Err(float_underflow());
                }
                Ok(())
            }
            let check = |a: f64, b: f64| check(op, a as $float, b as $float);
            let mark = |value: $float, wrong: bool| (f64::from(value), wrong);
            match op {
                ArithOp::Add => checked2(
                    a,
                    b,
                    nulls,
                    rows,
                    |a, b| {
                        let value = a as $float + b as $float;
                        mark(value, value.is_infinite())
                    },
                    check,
                ),
                ArithOp::Sub => checked2(
                    a,
                    b,
                    nulls,
                    rows,
                    |a, b| {
                        let value = a as $float - b as $float;
                        mark(value, value.is_infinite())
                    },
                    check,
                ),
                ArithOp::Mul => checked2(
                    a,
                    b,
                    nulls,
                    rows,
                    |a, b| {
                        let (a, b) = (a as $float, b as $float);
                        let value = a * b;
                        let vanished = (value == 0.0) & (a != 0.0) & (b != 0.0);
                        mark(value, value.is_infinite() | vanished)
                    },
                    check,
                ),
                ArithOp::Div => checked2(
                    a,
                    b,
                    nulls,
                    rows,
                    |a, b| {
                        let (a, b) = (a as $float, b as $float);
                        let value = a / b;
                        let vanished = (value == 0.0) & (a != 0.0);
                        mark(value, value.is_infinite() | vanished | (b == 0.0))
                    },
                    check,
                ),
                ArithOp::Mod => panic!("floats have no remainder"),
            }
        }
    };
}

float_kernel!(float64, f64);
float_kernel!(float32, f32);

/// Unary minus.
pub(super) fn negate(number: NumberKind, arg: &Column) -> Result<Column, ExecError> {
    unary(number, arg, i64::wrapping_neg, |value| -value, i128::wrapping_neg)
}

/// abs().
pub(super) fn abs(number: NumberKind, arg: &Column) -> Result<Column, ExecError> {
    unary(number, arg, i64::wrapping_abs, f64::abs, i128::wrapping_abs)
}

/// The two fail for the least integer alone, which is its own wrapped negative. NaN of numeric is the least i128 and stays.
fn unary(
    number: NumberKind,
    arg: &Column,
    int: impl Fn(i64) -> i64,
    float: impl Fn(f64) -> f64,
    dec: impl Fn(i128) -> i128,
) -> Result<Column, ExecError> {
    let rows = arg.len;
    if any_null_constant(&[arg]) {
        return Ok(null_column(rows));
    }
    let nulls = union_nulls(&[arg]);
    Ok(match number {
        NumberKind::Int16 | NumberKind::Int32 | NumberKind::Int64 => {
            let least = match number {
                NumberKind::Int16 => i64::from(i16::MIN),
                NumberKind::Int32 => i64::from(i32::MIN),
                _ => i64::MIN,
            };
            let check = |value: i64| {
                if value == least {
                    Err(ExecError::out_of_range(integer_name(number)))
                } else {
                    Ok(())
                }
            };
            let fast = |value: i64| (int(value), value == least);
            int_column(checked1(ints(arg), lend(&nulls), rows, fast, check)?, nulls)
        }
        NumberKind::Float32 | NumberKind::Float64 => {
            float_column(map1(floats(arg), rows, float), nulls)
        }
        NumberKind::Decimal => {
            let (values, scale) = decimals(arg);
            decimal_column(map1(values, rows, dec), scale, nulls)
        }
    })
}
