//! numeric as scaled integers: `i128::MIN` is NaN, all values of a column have one display scale.
//!
//! numeric.c has no largest value in reach of a table's data, i128 has; what does not fit is an error of the kernel.

use std::cmp::Ordering;

use super::ArithOp;
use super::operand::{Nulls, Operand, checked2_once};
use crate::error::ExecError;

/// NaN.
pub(super) const NAN: i128 = i128::MIN;

/// A result that i128 does not hold.
pub(super) fn overflow() -> ExecError {
    ExecError::Unsupported
}

/// Powers of ten that i128 holds.
const POWERS: [i128; 39] = {
    let mut powers = [1; 39];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// 10 to a power, if i128 holds it.
pub(super) fn power_of_ten(exponent: u8) -> Option<i128> {
    POWERS.get(usize::from(exponent)).copied()
}

/// The integer with `places` more decimal places, if i128 holds it. NaN stays NaN.
pub(super) fn rescale(value: i128, places: u8) -> Option<i128> {
    if value == NAN || value == 0 || places == 0 {
        return Some(value);
    }
    let (raised, wrong) = multiply(value, power_of_ten(places)?);
    // The least integer stands for NaN.
    (!wrong && raised != NAN).then_some(raised)
}

/// A constant of fewer places than the other operand, brought to the other's scale once for all rows.
pub(super) fn raise_constant(
    value: Operand<'_, i128>,
    from: u8,
    to: u8,
) -> (Operand<'_, i128>, u8) {
    match value {
        Operand::Const(value) if from < to => match rescale(value, to - from) {
            Some(raised) => (Operand::Const(raised), to),
            None => (Operand::Const(value), from),
        },
        value => (value, from),
    }
}

/// Order of numeric: NaN equals NaN and is above all else.
pub(super) fn compare(a: i128, a_scale: u8, b: i128, b_scale: u8) -> Ordering {
    match (a == NAN, b == NAN) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // What does not fit after scaling is farther from zero than anything that does.
    if a_scale < b_scale {
        match rescale(a, b_scale - a_scale) {
            Some(a) => a.cmp(&b),
            None => a.cmp(&0),
        }
    } else {
        match rescale(b, a_scale - b_scale) {
            Some(b) => a.cmp(&b),
            None => 0.cmp(&b),
        }
    }
}

/// Sum, difference or product, and its scale.
pub(super) fn arith(
    op: ArithOp,
    (a, a_scale): (Operand<'_, i128>, u8),
    (b, b_scale): (Operand<'_, i128>, u8),
    nulls: Nulls<'_>,
    rows: usize,
) -> Result<(Vec<i128>, u8), ExecError> {
    let exact = |f: &dyn Fn(i128, i128) -> Option<i128>, a: i128, b: i128| {
        if a == NAN || b == NAN || f(a, b).is_some_and(|value| value != NAN) {
            Ok(())
        } else {
            Err(overflow())
        }
    };
    let scale = match op {
        ArithOp::Mul => a_scale.checked_add(b_scale).ok_or(ExecError::Unsupported)?,
        ArithOp::Add | ArithOp::Sub => a_scale.max(b_scale),
        ArithOp::Div | ArithOp::Mod => panic!("no kernel divides numeric"),
    };
    let ((a, a_scale), (b, b_scale)) = match op {
        ArithOp::Mul => ((a, a_scale), (b, b_scale)),
        _ => (raise_constant(a, a_scale, scale), raise_constant(b, b_scale, scale)),
    };
    let (a_raise, b_raise) = match op {
        ArithOp::Mul => (0, 0),
        _ => (scale - a_scale, scale - b_scale),
    };
    let sum = |a: i128, b: i128| rescale(a, a_raise)?.checked_add(rescale(b, b_raise)?);
    let difference = |a: i128, b: i128| rescale(a, a_raise)?.checked_sub(rescale(b, b_raise)?);
    let same_scale = a_raise == 0 && b_raise == 0;
    let values = match op {
        ArithOp::Add if same_scale => {
            let fast = |a: i128, b: i128| settle(a, b, a.overflowing_add(b));
            checked2_once(a, b, nulls, rows, fast, |a, b| exact(&sum, a, b))
        }
        ArithOp::Sub if same_scale => {
            let fast = |a: i128, b: i128| settle(a, b, a.overflowing_sub(b));
            checked2_once(a, b, nulls, rows, fast, |a, b| exact(&difference, a, b))
        }
        ArithOp::Add => {
            let fast = |a: i128, b: i128| settle(a, b, or_wrong(sum(a, b)));
            checked2_once(a, b, nulls, rows, fast, |a, b| exact(&sum, a, b))
        }
        ArithOp::Sub => {
            let fast = |a: i128, b: i128| settle(a, b, or_wrong(difference(a, b)));
            checked2_once(a, b, nulls, rows, fast, |a, b| exact(&difference, a, b))
        }
        _ => {
            let fast = |a: i128, b: i128| settle(a, b, multiply(a, b));
            checked2_once(a, b, nulls, rows, fast, |a, b| exact(&i128::checked_mul, a, b))
        }
    }?;
    Ok((values, scale))
}

/// NaN if an operand is, otherwise the result and whether it is wrong.
fn settle(a: i128, b: i128, (value, wrong): (i128, bool)) -> (i128, bool) {
    if a == NAN || b == NAN { (NAN, false) } else { (value, wrong | (value == NAN)) }
}

fn or_wrong(value: Option<i128>) -> (i128, bool) {
    value.map_or((0, true), |value| (value, false))
}

/// Most factors fit in 64 bits, whose product cannot overflow and takes one instruction.
fn multiply(a: i128, b: i128) -> (i128, bool) {
    let (short_a, short_b) = (a as i64, b as i64);
    if i128::from(short_a) == a && i128::from(short_b) == b {
        (i128::from(short_a) * i128::from(short_b), false)
    } else {
        a.overflowing_mul(b)
    }
}

/// As numeric_out writes it.
pub(super) fn to_text(value: i128, scale: u8) -> String {
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = usize::from(scale) + 1);
    let (whole, places) = digits.split_at(digits.len() - usize::from(scale));
    let sign = if value < 0 { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{places}")
}

/// As numeric_float8: the float nearest to the decimal.
pub(super) fn to_float64(value: i128, scale: u8) -> f64 {
    if value == NAN {
        return f64::NAN;
    }
    // Both are exact, so their quotient is rounded once.
    if value.unsigned_abs() <= 1 << 53 && scale <= 22 {
        return value as f64 / 10f64.powi(i32::from(scale));
    }
    to_text(value, scale).parse().unwrap_or(f64::NAN)
}

/// As numeric_float4.
pub(super) fn to_float32(value: i128, scale: u8) -> Result<f32, ExecError> {
    if value == NAN {
        return Ok(f32::NAN);
    }
    if value.unsigned_abs() <= 1 << 24 && scale <= 10 {
        return Ok(value as f32 / 10f32.powi(i32::from(scale)));
    }
    let text = to_text(value, scale);
    let float: f32 = text.parse().unwrap_or(f32::NAN);
    if float == 0.0 && value != 0 {
        return Err(ExecError::Sql {
            sqlstate: "22003",
            message: format!("\"{text}\" is out of range for type real"),
        });
    }
    Ok(float)
}
