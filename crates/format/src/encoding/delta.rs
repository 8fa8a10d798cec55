//! Delta: bit-packed differences of neighbours, with every 64th value kept so that one value needs at most one block.
//!
//! ```text
//! packed(rows): value[i] - value[i-1] (wrapping), for i divisible by 64 the reference | packed(ceil(rows / 64)): value[64 * b]
//! ```

use crate::bits::BLOCK;
use crate::error::FormatError;
use crate::packed::{self, Packed};
use crate::section::Reader;

/// What a writer must know of a run of numbers to pack its differences.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeltaRange {
    /// The least difference.
    pub(crate) min: i64,
    /// The greatest.
    pub(crate) max: i64,
    /// The least number.
    pub(crate) least: i64,
    /// The greatest number.
    pub(crate) greatest: i64,
}

impl DeltaRange {
    fn range(&self) -> u64 {
        self.max.wrapping_sub(self.min) as u64
    }

    fn base_range(&self) -> u64 {
        self.greatest.wrapping_sub(self.least) as u64
    }

    /// The bytes [`write()`] will take.
    pub(crate) fn size(&self, len: usize) -> usize {
        packed::size(len, crate::bits::width_of(self.range()))
            + packed::size(len.div_ceil(BLOCK), crate::bits::width_of(self.base_range()))
    }
}

/// Appends `len` numbers.
pub(crate) fn write(
    out: &mut Vec<u8>,
    len: usize,
    range: &DeltaRange,
    value: impl Fn(usize) -> i64,
) {
    packed::write(out, len, range.min as u64, range.range(), |i| {
        if i.is_multiple_of(BLOCK) {
            range.min as u64
        } else {
            value(i).wrapping_sub(value(i - 1)) as u64
        }
    });
    packed::write(out, len.div_ceil(BLOCK), range.least as u64, range.base_range(), |b| {
        value(b * BLOCK) as u64
    });
}

/// Differences and bases as read.
#[derive(Clone, Debug)]
pub(crate) struct Delta {
    differences: Packed,
    bases: Packed,
}

impl Delta {
    pub(crate) fn read(len: usize, reader: &mut Reader) -> Result<Self, FormatError> {
        let differences = reader.take_packed(len, "differences")?;
        let bases = reader.take_packed(len.div_ceil(BLOCK), "bases of differences")?;
        reader.finish()?;
        Ok(Self { differences, bases })
    }

    /// Number `index`, at the cost of unpacking one block.
    pub(crate) fn get(&self, index: usize) -> i64 {
        let (block, within) = (index / BLOCK, index % BLOCK);
        let base = self.bases.get(block);
        if within == 0 {
            return base as i64;
        }
        // A sequence of equal steps has no bits to unpack; few values are not worth unpacking a block.
        let sum = if self.differences.width() == 0 {
            0
        } else if within <= 16 {
            let first = block * BLOCK + 1;
            (first..first + within)
                .fold(0u64, |sum, i| sum.wrapping_add(self.differences.distance(i)))
        } else {
            let mut unpacked = [0u64; BLOCK];
            self.differences.block(block, &mut unpacked);
            unpacked[1..=within].iter().fold(0u64, |sum, d| sum.wrapping_add(*d))
        };
        base.wrapping_add(sum)
            .wrapping_add(self.differences.reference().wrapping_mul(within as u64)) as i64
    }

    /// Appends all numbers, mapped.
    pub(crate) fn extend_into<T>(&self, out: &mut Vec<T>, map: impl Fn(i64) -> T) {
        out.reserve(self.differences.len());
        let reference = self.differences.reference();
        let mut block = 0;
        self.differences.for_each_block(|differences| {
            // The first difference is 0 beyond the reference, so that the reference is taken off before it is added.
            let mut value =
                self.bases.get(block).wrapping_sub(reference).wrapping_sub(differences[0]);
            out.extend(differences.iter().map(|d| {
                value = value.wrapping_add(reference).wrapping_add(*d);
                map(value as i64)
            }));
            block += 1;
        });
    }

    pub(crate) fn memory_size(&self) -> usize {
        (self.differences.words().len() + self.bases.words().len()) * 8
    }
}
