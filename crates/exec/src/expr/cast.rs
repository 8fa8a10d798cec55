//! Casts between number types.

use super::arith::{float_overflow, float_underflow, integer_name, outside};
use super::operand::{
    Kind, any_null_constant, bools, checked1, decimal_column, decimals, float_column, floats,
    int_column, ints, kind, lend, map1, null_column, union_nulls,
};
use super::{CastTo, NumberKind, decimal};
use crate::column::Column;
use crate::error::ExecError;

/// A cast of a column.
pub(super) fn cast(to: CastTo, arg: &Column) -> Result<Column, ExecError> {
    let rows = arg.len;
    if any_null_constant(&[arg]) {
        return Ok(null_column(rows));
    }
    let nulls = union_nulls(&[arg]);
    match (to, kind(arg)) {
        (CastTo::Int16 | CastTo::Int32 | CastTo::Int64, Some(Kind::Bool)) => {
            Ok(int_column(map1(bools(arg), rows, i64::from), nulls))
        }
        (CastTo::Int64, Some(Kind::Int)) => Ok(arg.clone()),
        (CastTo::Int16 | CastTo::Int32, Some(Kind::Int)) => {
            let number = integer(to);
            // Nothing is computed, so the values are only looked at and shared.
            let check = |value: i64| {
                if outside(number, value) {
                    Err(ExecError::out_of_range(integer_name(number)))
                } else {
                    Ok(())
                }
            };
            checked1(ints(arg), lend(&nulls), rows, |value| ((), outside(number, value)), check)?;
            Ok(arg.clone())
        }
        (CastTo::Int16 | CastTo::Int32 | CastTo::Int64, _) => {
            let number = integer(to);
            // As in FLOAT8_FITS_IN_INT64 the upper limit is excluded. The macros for float4 give the same, for all limits
            // are powers of two.
            let limit = match number {
                NumberKind::Int16 => 32_768.0,
                NumberKind::Int32 => 2_147_483_648.0,
                _ => 9_223_372_036_854_775_808.0,
            };
            let fast = |value: f64| {
                let rounded = value.round_ties_even();
                (rounded as i64, !((rounded >= -limit) & (rounded < limit)))
            };
            let check = |value: f64| {
                if fast(value).1 {
                    Err(ExecError::out_of_range(integer_name(number)))
                } else {
                    Ok(())
                }
            };
            Ok(int_column(checked1(floats(arg), lend(&nulls), rows, fast, check)?, nulls))
        }
        (CastTo::Float64, Some(Kind::Int)) => {
            Ok(float_column(map1(ints(arg), rows, |value| value as f64), nulls))
        }
        (CastTo::Float64, Some(Kind::Decimal)) => {
            let (values, scale) = decimals(arg);
            Ok(float_column(map1(values, rows, |value| decimal::to_float64(value, scale)), nulls))
        }
        (CastTo::Float64, _) => Ok(arg.clone()),
        (CastTo::Float32, Some(Kind::Int)) => {
            Ok(float_column(map1(ints(arg), rows, |value| f64::from(value as f32)), nulls))
        }
        (CastTo::Float32, Some(Kind::Decimal)) => {
            let (values, scale) = decimals(arg);
            let fast = |value: i128| match decimal::to_float32(value, scale) {
                Ok(float) => (f64::from(float), false),
                Err(_) => (0.0, true),
            };
            let check = |value: i128| decimal::to_float32(value, scale).map(drop);
            Ok(float_column(checked1(values, lend(&nulls), rows, fast, check)?, nulls))
        }
        (CastTo::Float32, _) => {
            let fast = |value: f64| {
                let single = value as f32;
                let wrong = (single.is_infinite() & !value.is_infinite())
                    | ((single == 0.0) & (value != 0.0));
                (f64::from(single), wrong)
            };
            let check = |value: f64| match fast(value) {
                (_, false) => Ok(()),
                (0.0, true) => Err(float_underflow()),
                _ => Err(float_overflow()),
            };
            Ok(float_column(checked1(floats(arg), lend(&nulls), rows, fast, check)?, nulls))
        }
        (CastTo::Decimal, _) => Ok(decimal_column(map1(ints(arg), rows, i128::from), 0, nulls)),
    }
}

fn integer(to: CastTo) -> NumberKind {
    match to {
        CastTo::Int16 => NumberKind::Int16,
        CastTo::Int32 => NumberKind::Int32,
        _ => NumberKind::Int64,
    }
}
