//! min, max, bool_and, bool_or and the bitwise aggregates: a value a group.

use std::sync::Arc;

use super::cells::Cell;
use super::wire::{Reader, put_bool, put_float, put_signed, put_wide};
use crate::column::Data;
use crate::error::ExecError;

/// Defines a cell that keeps one value and takes in another by a function of both.
macro_rules! fold_cell {
    ($(#[$doc:meta])* $name:ident, $value:ty, $empty:expr, $fold:expr, $put:path, $get:ident, $data:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name($value);

        impl Cell for $name {
            type Value = $value;
            const EMPTY: Self = Self($empty);

            #[inline(always)]
            fn add(&mut self, value: $value) -> bool {
                self.0 = $fold(self.0, value);
                true
            }

            fn fold(&mut self, values: &[$value]) -> bool {
                self.0 = values.iter().fold(self.0, |kept, &value| $fold(kept, value));
                true
            }

            fn merge(&mut self, other: &Self) -> bool {
                self.add(other.0)
            }

            fn output(cells: &[Self], scale: u8) -> Vec<(Data, bool)> {
                let values = Arc::new(cells.iter().map(|cell| cell.0).collect());
                vec![($data(values, scale), true)]
            }

            fn write(&self, out: &mut Vec<u8>) {
                $put(self.0, out);
            }

            fn read(reader: &mut Reader<'_>) -> Result<Self, ExecError> {
                Ok(Self(reader.$get()?))
            }
        }
    };
}

type Values<T> = Arc<Vec<T>>;

fn ints(values: Values<i64>, _: u8) -> Data {
    Data::Int(values)
}

fn floats(values: Values<f64>, _: u8) -> Data {
    Data::Float(values)
}

fn bools(values: Values<bool>, _: u8) -> Data {
    Data::Bool(values)
}

/// Whether a float is below another, NaN being the largest.
#[inline(always)]
fn below(left: f64, right: f64) -> bool {
    left < right || (right.is_nan() && !left.is_nan())
}

/// As float8smaller: of equal values the second.
#[inline(always)]
fn smaller(kept: f64, value: f64) -> f64 {
    if below(kept, value) { kept } else { value }
}

/// As float8larger: of equal values the second.
#[inline(always)]
fn larger(kept: f64, value: f64) -> f64 {
    if below(value, kept) { kept } else { value }
}

/// A number by which decimals order: NaN, the least integer, comes last.
#[inline(always)]
fn rank(value: i128) -> i128 {
    value.wrapping_sub(1)
}

fold_cell!(
    /// min() of integers.
    MinInt, i64, i64::MAX, i64::min, put_signed, signed, ints
);
fold_cell!(
    /// max() of integers.
    MaxInt, i64, i64::MIN, i64::max, put_signed, signed, ints
);
fold_cell!(
    /// min() of floats.
    MinFloat, f64, f64::NAN, smaller, put_float, float, floats
);
fold_cell!(
    /// max() of floats.
    MaxFloat, f64, f64::NEG_INFINITY, larger, put_float, float, floats
);
fold_cell!(
    /// min() of decimals.
    MinDecimal, i128, i128::MIN,
    |kept, value| if rank(value) < rank(kept) { value } else { kept },
    put_wide, wide, Data::Decimal
);
fold_cell!(
    /// max() of decimals.
    MaxDecimal, i128, i128::MIN + 1,
    |kept, value| if rank(value) > rank(kept) { value } else { kept },
    put_wide, wide, Data::Decimal
);
fold_cell!(
    /// bool_and(), and min() of booleans.
    AllTrue, bool, true, |kept: bool, value: bool| kept & value, put_bool, bool, bools
);
fold_cell!(
    /// bool_or(), and max() of booleans.
    AnyTrue, bool, false, |kept: bool, value: bool| kept | value, put_bool, bool, bools
);
fold_cell!(
    /// bit_and().
    BitAnd, i64, -1, |kept: i64, value: i64| kept & value, put_signed, signed, ints
);
fold_cell!(
    /// bit_or().
    BitOr, i64, 0, |kept: i64, value: i64| kept | value, put_signed, signed, ints
);
fold_cell!(
    /// bit_xor().
    BitXor, i64, 0, |kept: i64, value: i64| kept ^ value, put_signed, signed, ints
);
