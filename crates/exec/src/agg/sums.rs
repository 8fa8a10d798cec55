//! Sums and averages.

use std::sync::Arc;

use super::cells::Cell;
use super::wire::{Reader, put_float, put_signed, put_wide};
use crate::column::Data;
use crate::error::ExecError;

/// numeric's NaN.
pub(super) const NAN: i128 = i128::MIN;

/// PostgreSQL's float_overflow_error().
pub(super) fn float_overflow() -> ExecError {
    ExecError::Sql { sqlstate: "22003", message: "value out of range: overflow".to_owned() }
}

/// A sum of 128 bits that is aligned as its halves are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide {
    low: u64,
    high: i64,
}

impl Wide {
    pub const ZERO: Self = Self { low: 0, high: 0 };

    #[inline(always)]
    pub fn get(self) -> i128 {
        i128::from(self.high) << 64 | i128::from(self.low)
    }

    #[inline(always)]
    pub fn new(value: i128) -> Self {
        Self { low: value as u64, high: (value >> 64) as i64 }
    }

    /// Adds; 2^64 integers of 64 bits do not overflow.
    #[inline(always)]
    pub fn plus(self, value: i128) -> Self {
        Self::new(self.get().wrapping_add(value))
    }
}

/// The exact sum of integers.
pub(super) fn sum_of(values: &[i64]) -> i128 {
    // Halves are summed apart, without carries, so that lanes do not depend on each other. The sign is taken out by an
    // offset of 2^63, which makes the upper half positive.
    let mut total = 0i128;
    for chunk in values.chunks(1 << 16) {
        let (mut low, mut high) = (0u64, 0u64);
        for &value in chunk {
            let shifted = value as u64 ^ 1 << 63;
            low += shifted & 0xffff_ffff;
            high += shifted >> 32;
        }
        total += (i128::from(high) << 32) + i128::from(low) - ((chunk.len() as i128) << 63);
    }
    total
}

/// sum() of integers.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumInt(pub Wide);

impl Cell for SumInt {
    type Value = i64;
    const EMPTY: Self = Self(Wide::ZERO);

    #[inline(always)]
    fn add(&mut self, value: i64) -> bool {
        self.0 = self.0.plus(i128::from(value));
        true
    }

    fn fold(&mut self, values: &[i64]) -> bool {
        self.0 = self.0.plus(sum_of(values));
        true
    }

    fn merge(&mut self, other: &Self) -> bool {
        self.0 = self.0.plus(other.0.get());
        true
    }

    fn output(cells: &[Self], _: u8) -> Vec<(Data, bool)> {
        let sums = cells.iter().map(|cell| cell.0.get()).collect();
        vec![(Data::Decimal(Arc::new(sums), 0), true)]
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_wide(self.0.get(), out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ExecError> {
        Ok(Self(Wide::new(reader.wide()?)))
    }
}

/// avg() of integers.
#[derive(Clone, Copy, Debug)]
pub(super) struct AvgInt {
    pub sum: Wide,
    pub count: i64,
}

impl Cell for AvgInt {
    type Value = i64;
    const EMPTY: Self = Self { sum: Wide::ZERO, count: 0 };
    const COUNTS: bool = true;

    #[inline(always)]
    fn add(&mut self, value: i64) -> bool {
        self.sum = self.sum.plus(i128::from(value));
        self.count += 1;
        true
    }

    fn fold(&mut self, values: &[i64]) -> bool {
        self.sum = self.sum.plus(sum_of(values));
        self.count += values.len() as i64;
        true
    }

    fn merge(&mut self, other: &Self) -> bool {
        self.sum = self.sum.plus(other.sum.get());
        self.count = self.count.wrapping_add(other.count);
        true
    }

    fn has_input(&self) -> bool {
        self.count > 0
    }

    fn output(cells: &[Self], _: u8) -> Vec<(Data, bool)> {
        let sums = cells.iter().map(|cell| cell.sum.get()).collect();
        let counts = cells.iter().map(|cell| cell.count).collect();
        vec![(Data::Decimal(Arc::new(sums), 0), true), (Data::Int(Arc::new(counts)), false)]
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_wide(self.sum.get(), out);
        put_signed(self.count, out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ExecError> {
        Ok(Self { sum: Wide::new(reader.wide()?), count: reader.signed()? })
    }
}

/// float8pl; false if it overflows.
#[inline(always)]
pub(super) fn add_floats(sum: f64, value: f64) -> (f64, bool) {
    let total = sum + value;
    (total, !total.is_infinite() || sum.is_infinite() || value.is_infinite())
}

/// sum() of floats. Begins with -0, which leaves a first value as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumFloat(f64);

impl Cell for SumFloat {
    type Value = f64;
    const EMPTY: Self = Self(-0.0);

    #[inline(always)]
    fn add(&mut self, value: f64) -> bool {
        let (sum, fine) = add_floats(self.0, value);
        self.0 = sum;
        fine
    }

    fn fold(&mut self, values: &[f64]) -> bool {
        let sum = values.iter().fold(self.0, |sum, value| sum + value);
        if sum.is_finite() {
            self.0 = sum;
            return true;
        }
        // What is not finite stays so; look which value made it so.
        values.iter().fold(true, |fine, &value| fine & self.add(value))
    }

    fn merge(&mut self, other: &Self) -> bool {
        self.add(other.0)
    }

    fn failure() -> ExecError {
        float_overflow()
    }

    fn output(cells: &[Self], _: u8) -> Vec<(Data, bool)> {
        vec![(Data::Float(Arc::new(cells.iter().map(|cell| cell.0).collect())), true)]
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_float(self.0, out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ExecError> {
        Ok(Self(reader.float()?))
    }
}

/// Adds decimals, of which NaN makes the sum NaN; false if `i128` does not hold the sum.
#[inline(always)]
pub(super) fn add_decimals(sum: i128, value: i128) -> (i128, bool) {
    if sum == NAN || value == NAN {
        return (NAN, true);
    }
    let (total, overflow) = sum.overflowing_add(value);
    (total, !overflow && total != NAN)
}

/// sum() of decimals.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumDecimal(i128);

impl Cell for SumDecimal {
    type Value = i128;
    const EMPTY: Self = Self(0);

    #[inline(always)]
    fn add(&mut self, value: i128) -> bool {
        let (sum, fine) = add_decimals(self.0, value);
        self.0 = sum;
        fine
    }

    fn merge(&mut self, other: &Self) -> bool {
        self.add(other.0)
    }

    fn output(cells: &[Self], scale: u8) -> Vec<(Data, bool)> {
        let sums = cells.iter().map(|cell| cell.0).collect();
        vec![(Data::Decimal(Arc::new(sums), scale), true)]
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_wide(self.0, out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ExecError> {
        Ok(Self(reader.wide()?))
    }
}

/// avg() of decimals.
#[derive(Clone, Copy, Debug)]
pub(super) struct AvgDecimal {
    sum: i128,
    count: i64,
}

impl Cell for AvgDecimal {
    type Value = i128;
    const EMPTY: Self = Self { sum: 0, count: 0 };
    const COUNTS: bool = true;

    #[inline(always)]
    fn add(&mut self, value: i128) -> bool {
        let (sum, fine) = add_decimals(self.sum, value);
        self.sum = sum;
        self.count += 1;
        fine
    }

    fn merge(&mut self, other: &Self) -> bool {
        let (sum, fine) = add_decimals(self.sum, other.sum);
        self.sum = sum;
        self.count = self.count.wrapping_add(other.count);
        fine
    }

    fn has_input(&self) -> bool {
        self.count > 0
    }

    fn output(cells: &[Self], scale: u8) -> Vec<(Data, bool)> {
        let sums = cells.iter().map(|cell| cell.sum).collect();
        let counts = cells.iter().map(|cell| cell.count).collect();
        vec![(Data::Decimal(Arc::new(sums), scale), true), (Data::Int(Arc::new(counts)), false)]
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_wide(self.sum, out);
        put_signed(self.count, out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ExecError> {
        Ok(Self { sum: reader.wide()?, count: reader.signed()? })
    }
}
