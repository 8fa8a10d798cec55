//! States that take little room while the values that came in are small.
//!
//! A sum of integers needs 128 bits, and the average of floats raises where its sum of squared differences overflows, though
//! nothing else needs that sum. Both matter only for values that hardly any table has. So the largest value is noted, over
//! all groups, and the narrow form of the states is kept while that value times the rows that came in is below a limit.

use std::sync::Arc;

use super::cells::{Cell, Cells};
use super::input::Groups;
use super::moments::MomentsFloat;
use super::sums::{AvgInt, SumInt, Wide, float_overflow};
use super::wire::{Reader, damaged, put_bool, put_float, put_signed};
use crate::column::Data;
use crate::error::ExecError;

/// A narrow form of a state.
pub(super) trait Narrow: Cell {
    /// The form for values of any size.
    type Wide: Cell<Value = Self::Value>;
    /// The narrow form does while the largest value times the number of rows is at most this.
    const LIMIT: f64;

    /// What is not below the size of any finite value.
    fn largest(values: &[Self::Value]) -> f64;

    /// The other form.
    fn widen(&self) -> Self::Wide;
}

/// Cells that are narrow until a value is too large.
#[derive(Debug)]
pub(super) struct Narrowed<N: Narrow> {
    form: Form<N>,
    /// The largest value, without its sign.
    largest: f64,
    /// Values taken in, over all groups.
    rows: f64,
}

#[derive(Debug)]
enum Form<N: Narrow> {
    Narrow(Cells<N>),
    Wide(Cells<N::Wide>),
}

impl<N: Narrow> Narrowed<N> {
    /// No groups.
    pub fn new() -> Self {
        Self { form: Form::Narrow(Cells::new()), largest: 0.0, rows: 0.0 }
    }

    /// Bytes allocated.
    pub fn memory_size(&self) -> usize {
        match &self.form {
            Form::Narrow(cells) => cells.memory_size(),
            Form::Wide(cells) => cells.memory_size(),
        }
    }

    /// As [`Cells::memory_ahead`]. Widening is left out, as it happens once.
    pub fn memory_ahead(&self, more: usize) -> usize {
        match &self.form {
            Form::Narrow(cells) => cells.memory_ahead(more),
            Form::Wide(cells) => cells.memory_ahead(more),
        }
    }

    /// As [`Cells::is_complete`].
    pub fn is_complete(&self) -> bool {
        match &self.form {
            Form::Narrow(cells) => cells.is_complete(),
            Form::Wide(cells) => cells.is_complete(),
        }
    }

    /// As [`Cells::grow`].
    pub fn grow(&mut self, groups: usize, complete: bool) -> Result<(), ExecError> {
        match &mut self.form {
            Form::Narrow(cells) => cells.grow(groups, complete),
            Form::Wide(cells) => cells.grow(groups, complete),
        }
    }

    /// Takes account of values that are to come.
    fn expect(&mut self, largest: f64, rows: f64) -> Result<(), ExecError> {
        self.largest = self.largest.max(largest);
        self.rows += rows;
        if let Form::Narrow(cells) = &self.form
            && self.largest * self.rows > N::LIMIT
        {
            self.form = Form::Wide(cells.convert(N::widen)?);
        }
        Ok(())
    }

    /// As [`Cells::update`].
    pub fn update(&mut self, groups: Groups<'_>, values: &[N::Value]) -> Result<(), ExecError> {
        if let Form::Narrow(_) = self.form {
            self.expect(N::largest(values), values.len() as f64)?;
        }
        match &mut self.form {
            Form::Narrow(cells) => cells.update(groups, values),
            Form::Wide(cells) => cells.update(groups, values),
        }
    }

    /// As [`Cells::merge`].
    pub fn merge(&mut self, other: &Self, from: &[u32], to: &[u32]) -> Result<(), ExecError> {
        self.expect(other.largest, other.rows)?;
        if let (Form::Narrow(cells), Form::Wide(_)) = (&self.form, &other.form) {
            self.form = Form::Wide(cells.convert(N::widen)?);
        }
        match (&mut self.form, &other.form) {
            (Form::Narrow(cells), Form::Narrow(other)) => cells.merge(other, from, to),
            (Form::Wide(cells), Form::Wide(other)) => cells.merge(other, from, to),
            (Form::Wide(cells), Form::Narrow(other)) => {
                cells.merge(&other.convert(N::widen)?, from, to)
            }
            (Form::Narrow(_), Form::Wide(_)) => unreachable!("was widened above"),
        }
    }

    /// As [`Cells::output`].
    pub fn output(&self, from: usize, to: usize, scale: u8) -> Vec<(Data, Option<Vec<bool>>)> {
        match &self.form {
            Form::Narrow(cells) => cells.output(from, to, scale),
            Form::Wide(cells) => cells.output(from, to, scale),
        }
    }

    /// As [`Cells::write`].
    pub fn write(&self, groups: &[u32], out: &mut Vec<u8>) {
        put_float(self.largest, out);
        put_float(self.rows, out);
        put_bool(matches!(self.form, Form::Wide(_)), out);
        match &self.form {
            Form::Narrow(cells) => cells.write(groups, out),
            Form::Wide(cells) => cells.write(groups, out),
        }
    }

    /// As [`Cells::read`].
    pub fn read(&mut self, reader: &mut Reader<'_>, groups: usize) -> Result<(), ExecError> {
        (self.largest, self.rows) = (reader.float()?, reader.float()?);
        if !(self.largest.is_finite() && self.rows.is_finite()) {
            return Err(damaged());
        }
        if reader.bool()? {
            self.form = Form::Wide(Cells::new());
        }
        match &mut self.form {
            Form::Narrow(cells) => cells.read(reader, groups),
            Form::Wide(cells) => cells.read(reader, groups),
        }
    }
}

/// A narrow form of a sum of integers.
pub(super) trait NarrowInt: Narrow {
    /// A narrow state, where `i64` holds the sum.
    fn of_sum(sum: i64, count: i64) -> Self;

    /// A state of any size.
    fn wide_of_sum(sum: i128, count: i64) -> Self::Wide;
}

impl<N: NarrowInt> Narrowed<N> {
    /// One group that took in integers of which the sum is known. The largest of them is not, but their mean does for it:
    /// all that is asked of the largest is that as many of that size make up the sum.
    pub fn summed(sum: i128, count: u64) -> Self {
        let rows = count.max(1) as f64;
        let largest = (sum.unsigned_abs() as f64 / rows).ceil() + 1.0;
        let form = match i64::try_from(sum) {
            Ok(sum) if largest * rows <= N::LIMIT => {
                Form::Narrow(Cells::one(N::of_sum(sum, count as i64)))
            }
            _ => Form::Wide(Cells::one(N::wide_of_sum(sum, count as i64))),
        };
        Self { form, largest, rows }
    }
}

impl NarrowInt for NarrowSum {
    fn of_sum(sum: i64, _: i64) -> Self {
        Self(sum)
    }

    fn wide_of_sum(sum: i128, _: i64) -> SumInt {
        SumInt(Wide::new(sum))
    }
}

impl NarrowInt for NarrowAvg {
    fn of_sum(sum: i64, count: i64) -> Self {
        Self { sum, count }
    }

    fn wide_of_sum(sum: i128, count: i64) -> AvgInt {
        AvgInt { sum: Wide::new(sum), count }
    }
}

/// Half of what `i64` holds, since the size of a value is rounded.
const HALF_I64: f64 = (1i64 << 62) as f64;

/// At least the size of each integer, and less than twice that of the largest.
fn largest_int(values: &[i64]) -> f64 {
    values.iter().fold(0, |bits, &value| bits | (value ^ value >> 63)) as f64 + 1.0
}

/// sum() of small integers.
#[derive(Clone, Copy, Debug)]
pub(super) struct NarrowSum(i64);

impl Cell for NarrowSum {
    type Value = i64;
    const EMPTY: Self = Self(0);

    #[inline(always)]
    fn add(&mut self, value: i64) -> bool {
        // Damaged spill files may lie about sizes; a sum that is wrong then is no worse than they are.
        self.0 = self.0.wrapping_add(value);
        true
    }

    fn fold(&mut self, values: &[i64]) -> bool {
        self.add(values.iter().fold(0i64, |sum, &value| sum.wrapping_add(value)))
    }

    fn merge(&mut self, other: &Self) -> bool {
        self.add(other.0)
    }

    fn output(cells: &[Self], _: u8) -> Vec<(Data, bool)> {
        let sums = cells.iter().map(|cell| i128::from(cell.0)).collect();
        vec![(Data::Decimal(Arc::new(sums), 0), true)]
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_signed(self.0, out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ExecError> {
        Ok(Self(reader.signed()?))
    }
}

impl Narrow for NarrowSum {
    type Wide = SumInt;
    const LIMIT: f64 = HALF_I64;

    fn largest(values: &[i64]) -> f64 {
        largest_int(values)
    }

    fn widen(&self) -> SumInt {
        SumInt(Wide::new(i128::from(self.0)))
    }
}

/// avg() of small integers.
#[derive(Clone, Copy, Debug)]
pub(super) struct NarrowAvg {
    sum: i64,
    count: i64,
}

impl Cell for NarrowAvg {
    type Value = i64;
    const EMPTY: Self = Self { sum: 0, count: 0 };
    const COUNTS: bool = true;

    #[inline(always)]
    fn add(&mut self, value: i64) -> bool {
        self.sum = self.sum.wrapping_add(value);
        self.count += 1;
        true
    }

    fn fold(&mut self, values: &[i64]) -> bool {
        self.sum = values.iter().fold(self.sum, |sum, &value| sum.wrapping_add(value));
        self.count += values.len() as i64;
        true
    }

    fn merge(&mut self, other: &Self) -> bool {
        self.sum = self.sum.wrapping_add(other.sum);
        self.count = self.count.wrapping_add(other.count);
        true
    }

    fn has_input(&self) -> bool {
        self.count > 0
    }

    fn output(cells: &[Self], _: u8) -> Vec<(Data, bool)> {
        let sums = cells.iter().map(|cell| i128::from(cell.sum)).collect();
        let counts = cells.iter().map(|cell| cell.count).collect();
        vec![(Data::Decimal(Arc::new(sums), 0), true), (Data::Int(Arc::new(counts)), false)]
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_signed(self.sum, out);
        put_signed(self.count, out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ExecError> {
        Ok(Self { sum: reader.signed()?, count: reader.signed()? })
    }
}

impl Narrow for NarrowAvg {
    type Wide = AvgInt;
    const LIMIT: f64 = HALF_I64;

    fn largest(values: &[i64]) -> f64 {
        largest_int(values)
    }

    fn widen(&self) -> AvgInt {
        AvgInt { sum: Wide::new(i128::from(self.sum)), count: self.count }
    }
}

/// avg() of floats that are so small that neither their sum nor Sxx overflows.
#[derive(Clone, Copy, Debug)]
pub(super) struct NarrowAvgFloat {
    sum: f64,
    count: i64,
}

impl Cell for NarrowAvgFloat {
    type Value = f64;
    const EMPTY: Self = Self { sum: 0.0, count: 0 };
    const COUNTS: bool = true;

    #[inline(always)]
    fn add(&mut self, value: f64) -> bool {
        self.sum += value;
        self.count += 1;
        true
    }

    fn merge(&mut self, other: &Self) -> bool {
        if other.count > 0 {
            self.sum += other.sum;
            self.count = self.count.wrapping_add(other.count);
        }
        true
    }

    fn has_input(&self) -> bool {
        self.count > 0
    }

    fn output(cells: &[Self], _: u8) -> Vec<(Data, bool)> {
        vec![
            (Data::Float(Arc::new(cells.iter().map(|cell| cell.sum).collect())), true),
            (Data::Int(Arc::new(cells.iter().map(|cell| cell.count).collect())), false),
        ]
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_float(self.sum, out);
        put_signed(self.count, out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ExecError> {
        Ok(Self { sum: reader.float()?, count: reader.signed()? })
    }
}

impl Narrow for NarrowAvgFloat {
    type Wide = AvgFloat;
    /// Squares of what float8_accum computes are then far below the largest float, so far that Sxx near that would not
    /// show what it lacks from before it was kept.
    const LIMIT: f64 = 1e140;

    fn largest(values: &[f64]) -> f64 {
        const LANES: usize = 8;
        let (chunks, rest) = values.as_chunks::<LANES>();
        let mut lanes = [0.0f64; LANES];
        for chunk in chunks {
            for (lane, value) in lanes.iter_mut().zip(chunk) {
                let value = value.abs();
                *lane = if value > *lane { value } else { *lane };
            }
        }
        let all = lanes.iter().chain(rest).fold(0.0f64, |most, value| most.max(value.abs()));
        if all.is_finite() {
            return all;
        }
        values.iter().filter(|v| v.is_finite()).fold(0.0f64, |most, value| most.max(value.abs()))
    }

    fn widen(&self) -> AvgFloat {
        // Once a value was not finite, Sxx is NaN for good.
        let sxx = if self.sum.is_finite() { 0.0 } else { f64::NAN };
        AvgFloat(MomentsFloat { n: self.count as f64, sx: self.sum, sxx })
    }
}

/// avg() of floats, which fails where float8_accum does.
#[derive(Clone, Copy, Debug)]
pub(super) struct AvgFloat(MomentsFloat);

impl Cell for AvgFloat {
    type Value = f64;
    const EMPTY: Self = Self(MomentsFloat::EMPTY);
    const COUNTS: bool = true;

    fn add(&mut self, value: f64) -> bool {
        self.0.add(value)
    }

    fn merge(&mut self, other: &Self) -> bool {
        self.0.merge(&other.0)
    }

    fn has_input(&self) -> bool {
        self.0.has_input()
    }

    fn failure() -> ExecError {
        float_overflow()
    }

    fn output(cells: &[Self], _: u8) -> Vec<(Data, bool)> {
        vec![
            (Data::Float(Arc::new(cells.iter().map(|cell| cell.0.sx).collect())), true),
            (Data::Int(Arc::new(cells.iter().map(|cell| cell.0.n as i64).collect())), false),
        ]
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ExecError> {
        Ok(Self(MomentsFloat::read(reader)?))
    }
}
