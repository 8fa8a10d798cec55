//! What variance and stddev are computed from.

use std::sync::Arc;

use super::cells::Cell;
use super::sums::{NAN, add_decimals, add_floats, float_overflow};
use super::wire::{Reader, put_float, put_signed, put_wide};
use crate::column::Data;
use crate::error::ExecError;

/// N, sum and sum of squares of integers or decimals, exactly.
#[derive(Clone, Copy, Debug)]
pub(super) struct MomentsExact {
    sum: i128,
    squares: i128,
    count: i64,
}

impl Cell for MomentsExact {
    type Value = i128;
    const EMPTY: Self = Self { sum: 0, squares: 0, count: 0 };
    const COUNTS: bool = true;

    #[inline(always)]
    fn add(&mut self, value: i128) -> bool {
        let square = if value == NAN { Some(NAN) } else { value.checked_mul(value) };
        let fine = square.is_some();
        self.merge(&Self { sum: value, squares: square.unwrap_or(NAN), count: 1 }) && fine
    }

    #[inline(always)]
    fn merge(&mut self, other: &Self) -> bool {
        let (sum, sum_fine) = add_decimals(self.sum, other.sum);
        let (squares, squares_fine) = add_decimals(self.squares, other.squares);
        *self = Self { sum, squares, count: self.count.wrapping_add(other.count) };
        sum_fine && squares_fine
    }

    fn has_input(&self) -> bool {
        self.count > 0
    }

    fn output(cells: &[Self], scale: u8) -> Vec<(Data, bool)> {
        let counts = cells.iter().map(|cell| cell.count).collect();
        let sums = cells.iter().map(|cell| cell.sum).collect();
        let squares = cells.iter().map(|cell| cell.squares).collect();
        vec![
            (Data::Int(Arc::new(counts)), false),
            (Data::Decimal(Arc::new(sums), scale), true),
            (Data::Decimal(Arc::new(squares), scale.saturating_mul(2)), true),
        ]
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_signed(self.count, out);
        put_wide(self.sum, out);
        put_wide(self.squares, out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ExecError> {
        let count = reader.signed()?;
        Ok(Self { sum: reader.wide()?, squares: reader.wide()?, count })
    }
}

/// N, Sx and Sxx as float8_accum and float8_combine keep them.
#[derive(Clone, Copy, Debug)]
pub(super) struct MomentsFloat {
    pub n: f64,
    pub sx: f64,
    pub sxx: f64,
}

impl Cell for MomentsFloat {
    type Value = f64;
    const EMPTY: Self = Self { n: 0.0, sx: 0.0, sxx: 0.0 };
    const COUNTS: bool = true;

    #[inline]
    fn add(&mut self, value: f64) -> bool {
        let before = *self;
        self.n += 1.0;
        self.sx += value;
        if before.n > 0.0 {
            let spread = value * self.n - self.sx;
            self.sxx += spread * spread / (self.n * before.n);
            if self.sx.is_infinite() || self.sxx.is_infinite() {
                self.sxx = f64::NAN;
                return before.sx.is_infinite() || value.is_infinite();
            }
        } else if !value.is_finite() {
            self.sxx = f64::NAN;
        }
        true
    }

    fn merge(&mut self, other: &Self) -> bool {
        if other.n == 0.0 {
            return true;
        }
        if self.n == 0.0 {
            *self = *other;
            return true;
        }
        let n = self.n + other.n;
        let (sx, fine) = add_floats(self.sx, other.sx);
        let apart = self.sx / self.n - other.sx / other.n;
        let sxx = self.sxx + other.sxx + self.n * other.n * apart * apart / n;
        let sxx_fine = !sxx.is_infinite() || self.sxx.is_infinite() || other.sxx.is_infinite();
        *self = Self { n, sx, sxx };
        fine && sxx_fine
    }

    fn has_input(&self) -> bool {
        self.n > 0.0
    }

    fn failure() -> ExecError {
        float_overflow()
    }

    fn output(cells: &[Self], _: u8) -> Vec<(Data, bool)> {
        vec![
            (Data::Int(Arc::new(cells.iter().map(|cell| cell.n as i64).collect())), false),
            (Data::Float(Arc::new(cells.iter().map(|cell| cell.sx).collect())), true),
            (Data::Float(Arc::new(cells.iter().map(|cell| cell.sxx).collect())), true),
        ]
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_float(self.n, out);
        put_float(self.sx, out);
        put_float(self.sxx, out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ExecError> {
        Ok(Self { n: reader.float()?, sx: reader.float()?, sxx: reader.float()? })
    }
}
