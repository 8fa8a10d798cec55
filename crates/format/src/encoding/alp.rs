//! Alp: floats that are decimals of few digits, as the integers their digits make.
//!
//! ```text
//! u64 places | u64 exceptions | packed(rows): integers | packed(exceptions): rows, rising
//! | exceptions * bits of a float
//! ```
//!
//! A value is its integer divided by ten to the places. Values of which that is not true to the bit are exceptions: kept
//! as they are, beside an integer that is anything. After Afroozeh, Kuffó and Boncz, "ALP: Adaptive Lossless
//! floating-Point Compression" (2023), which multiplies by a reciprocal instead and so needs a second exponent; a
//! division is rounded once, so every decimal of up to 15 digits is exact, and costs less than unpacking does.

use crate::error::FormatError;
use crate::packed::{self, Packed};
use crate::section::Reader;
use crate::types::ColumnSpec;
use crate::values::{Typed, Values};

/// The most decimal places tried.
pub(crate) const MAX_PLACES: usize = 14;

const POWERS: [f64; MAX_PLACES + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

/// Adding and taking off 1.5 * 2^52 rounds a number below 2^51 to an integer.
const ROUND: f64 = 6_755_399_441_055_744.0;
const LIMIT: f64 = 2_251_799_813_685_248.0;

/// A float type as its bits, the way by-value columns hold it.
pub(crate) trait Float: Typed {
    /// Its value.
    fn float(self) -> f64;
    /// The float nearest to a value.
    fn nearest(value: f64) -> Self;
}

// Types that no float has; they let one function serve all widths.
impl Float for i8 {
    fn float(self) -> f64 {
        f64::from(self)
    }
    fn nearest(value: f64) -> Self {
        value as i8
    }
}

impl Float for i16 {
    fn float(self) -> f64 {
        f64::from(self)
    }
    fn nearest(value: f64) -> Self {
        value as i16
    }
}

impl Float for i32 {
    #[inline(always)]
    fn float(self) -> f64 {
        f64::from(f32::from_bits(self as u32))
    }
    #[inline(always)]
    fn nearest(value: f64) -> Self {
        (value as f32).to_bits() as i32
    }
}

impl Float for i64 {
    #[inline(always)]
    fn float(self) -> f64 {
        f64::from_bits(self as u64)
    }
    #[inline(always)]
    fn nearest(value: f64) -> Self {
        value.to_bits() as i64
    }
}

/// The integer of a float, and whether the float comes back from it.
#[inline(always)]
fn encode<T: Float>(bits: T, power: f64) -> (i64, bool) {
    let scaled = bits.float() * power;
    // False for NaN also.
    let fits = scaled.abs() < LIMIT;
    let rounded = if fits { (scaled + ROUND) - ROUND } else { 0.0 };
    (rounded as i64, fits && T::nearest(rounded / power) == bits)
}

#[inline(always)]
fn decode<T: Float>(integer: i64, power: f64) -> T {
    T::nearest(integer as f64 / power)
}

/// A vector as it would be written.
pub(crate) struct Plan {
    places: usize,
    integers: Vec<i64>,
    exceptions: Vec<u32>,
    min: i64,
    range: u64,
}

/// Values looked at to find the places.
const SAMPLE: usize = 64;

/// Makes integers of at least one float; `None` where more than a sixteenth would be exceptions, unless `forced`.
pub(crate) fn plan<T: Float>(values: &[T], forced: bool) -> Option<Plan> {
    let sample: Vec<T> = values.iter().step_by(values.len().div_ceil(SAMPLE)).copied().collect();
    let (mut places, mut most) = (0, 0);
    for (tried, power) in POWERS.iter().enumerate() {
        let exact = sample.iter().filter(|bits| encode(**bits, *power).1).count();
        if exact > most {
            (places, most) = (tried, exact);
        }
        if exact == sample.len() {
            break;
        }
    }
    if !forced && most * 16 < sample.len() * 14 {
        return None;
    }
    let power = POWERS[places];
    let mut integers = Vec::with_capacity(values.len());
    let mut exceptions = Vec::new();
    let mut last = 0;
    for (row, bits) in values.iter().enumerate() {
        let (integer, exact) = encode(*bits, power);
        if exact {
            last = integer;
        } else {
            if !forced && exceptions.len() * 16 >= values.len() {
                return None;
            }
            exceptions.push(row as u32);
        }
        integers.push(last);
    }
    // The first rows may be exceptions, before there is an integer to repeat; any will do.
    if let Some(first) = first_exact(&exceptions, values.len()) {
        let integer = integers[first];
        integers[..first].fill(integer);
    }
    let min = integers.iter().copied().min().unwrap_or(0);
    let max = integers.iter().copied().max().unwrap_or(0);
    Some(Plan { places, integers, exceptions, min, range: max.wrapping_sub(min) as u64 })
}

fn first_exact(exceptions: &[u32], rows: usize) -> Option<usize> {
    let first = exceptions.iter().enumerate().take_while(|(i, row)| *i == **row as usize).count();
    (first < rows).then_some(first)
}

impl Plan {
    /// The bytes [`Plan::write`] will take, about.
    pub(crate) fn size(&self, width: usize) -> usize {
        16 + packed::size(self.integers.len(), crate::bits::width_of(self.range))
            + packed::HEADER
            + self.exceptions.len() * (width + 2)
    }

    pub(crate) fn write<T: Float>(&self, out: &mut Vec<u8>, values: &[T]) {
        out.extend_from_slice(&(self.places as u64).to_le_bytes());
        out.extend_from_slice(&(self.exceptions.len() as u64).to_le_bytes());
        let integers = &self.integers;
        packed::write(out, integers.len(), self.min as u64, self.range, |i| integers[i] as u64);
        packed::write_u32(out, &self.exceptions);
        let raw: Vec<T> = self.exceptions.iter().map(|row| values[*row as usize]).collect();
        out.extend_from_slice(bytemuck::cast_slice(&raw));
    }
}

/// Integers and exceptions as read.
#[derive(Clone, Debug)]
pub(crate) struct Alp {
    power: f64,
    integers: Packed,
    /// Rows of the exceptions, rising.
    rows: Vec<u32>,
    exceptions: Values,
}

impl Alp {
    pub(crate) fn read(
        spec: ColumnSpec,
        len: usize,
        reader: &mut Reader,
    ) -> Result<Self, FormatError> {
        let places = reader.take_u64("decimal places")?;
        let power = usize::try_from(places).ok().and_then(|p| POWERS.get(p).copied());
        let power = power.ok_or(FormatError::corrupt("too many decimal places", places))?;
        let count = reader.take_u64("a number of exceptions")?;
        if count > len as u64 {
            return Err(FormatError::TooLarge {
                what: "a number of exceptions",
                value: count,
                limit: len as u64,
            });
        }
        let integers = reader.take_packed(len, "integers of floats")?;
        let rows = reader.take_packed(count as usize, "rows of exceptions")?.rising(len as u64)?;
        let exceptions = Values::read(spec, count as usize, reader)?;
        Ok(Self { power, integers, rows, exceptions })
    }

    /// Float `index`.
    #[inline]
    pub(crate) fn get<T: Float>(&self, index: usize) -> T {
        if !self.rows.is_empty()
            && let Ok(found) = self.rows.binary_search(&(index as u32))
        {
            return T::of(&self.exceptions)[found];
        }
        decode(self.integers.get(index) as i64, self.power)
    }

    /// Appends all floats, mapped.
    pub(crate) fn extend_into<T: Float, O>(&self, out: &mut Vec<O>, map: impl Fn(T) -> O) {
        let start = out.len();
        let power = self.power;
        self.integers.extend_into(out, |v| map(decode(v as i64, power)));
        for (row, bits) in self.rows.iter().zip(T::of(&self.exceptions).iter()) {
            out[start + *row as usize] = map(*bits);
        }
    }

    pub(crate) fn memory_size(&self) -> usize {
        self.integers.words().len() * 8 + self.rows.len() * 4 + self.exceptions.memory_size()
    }
}
