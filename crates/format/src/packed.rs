//! Bit-packed numbers with a frame of reference, the part that most encodings are made of.
//!
//! ```text
//! u64 width | u64 reference | words_for(len, width) u64: value - reference, packed as in `bits`
//! ```
//!
//! Arithmetic wraps at 64 bits, so i64::MIN..=i64::MAX is a range like any other.

use arrow_buffer::ScalarBuffer;

use crate::bits::{self, BLOCK};
use crate::error::FormatError;

/// Bytes before the packed words.
pub(crate) const HEADER: usize = 16;

/// The bytes `len` numbers of `width` bits take.
pub(crate) fn size(len: usize, width: u8) -> usize {
    HEADER + bits::words_for(len, width) * 8
}

/// Appends `len` numbers, each at least `reference` and at most `reference + range` (both wrapping).
pub(crate) fn write(
    out: &mut Vec<u8>,
    len: usize,
    reference: u64,
    range: u64,
    value: impl Fn(usize) -> u64,
) {
    let width = bits::width_of(range);
    out.extend_from_slice(&u64::from(width).to_le_bytes());
    out.extend_from_slice(&reference.to_le_bytes());
    if width == 0 {
        return;
    }
    out.reserve(bits::words_for(len, width) * 8);
    let mut block = [0u64; BLOCK];
    let mut packed = [0u64; BLOCK];
    let mut start = 0;
    while start + BLOCK <= len {
        for (i, slot) in block.iter_mut().enumerate() {
            *slot = value(start + i).wrapping_sub(reference);
        }
        bits::pack_block(width, &block, &mut packed);
        out.extend_from_slice(bytemuck::cast_slice(&packed[..usize::from(width)]));
        start += BLOCK;
    }
    let rest = len - start;
    if rest > 0 {
        block.fill(0);
        for (i, slot) in block[..rest].iter_mut().enumerate() {
            *slot = value(start + i).wrapping_sub(reference);
        }
        bits::pack_block(width, &block, &mut packed);
        out.extend_from_slice(bytemuck::cast_slice(&packed[..bits::words_for(rest, width)]));
    }
}

/// Appends numbers whose bounds are found here.
pub(crate) fn write_u32(out: &mut Vec<u8>, values: &[u32]) {
    let min = values.iter().copied().min().unwrap_or(0);
    let max = values.iter().copied().max().unwrap_or(0);
    write(out, values.len(), u64::from(min), u64::from(max - min), |i| u64::from(values[i]));
}

/// Bit-packed numbers as read.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    width: u8,
    reference: u64,
    words: ScalarBuffer<u64>,
    len: usize,
}

impl Packed {
    /// `words` must be those of `len` numbers.
    pub(crate) fn new(width: u8, reference: u64, words: ScalarBuffer<u64>, len: usize) -> Self {
        assert_eq!(words.len(), bits::words_for(len, width));
        Self { width, reference, words, len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn width(&self) -> u8 {
        self.width
    }

    pub(crate) fn reference(&self) -> u64 {
        self.reference
    }

    pub(crate) fn words(&self) -> &ScalarBuffer<u64> {
        &self.words
    }

    /// Number `index`, which must be below the length.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        self.reference.wrapping_add(self.distance(index))
    }

    /// Number `index` without the reference added.
    #[inline]
    pub(crate) fn distance(&self, index: usize) -> u64 {
        debug_assert!(index < self.len);
        bits::get(&self.words, self.width, index)
    }

    /// The block that begins at `block * 64`, without the reference added.
    #[inline]
    pub(crate) fn block(&self, block: usize, out: &mut [u64; BLOCK]) {
        let start = block * usize::from(self.width);
        bits::unpack_block(self.width, &self.words[start..], out);
    }

    /// Calls `take` with each block's numbers, the reference not added; the last block may be short.
    #[inline]
    pub(crate) fn for_each_block(&self, mut take: impl FnMut(&[u64])) {
        let mut block = [0u64; BLOCK];
        let mut left = self.len;
        let mut index = 0;
        while left > 0 {
            self.block(index, &mut block);
            let count = left.min(BLOCK);
            take(&block[..count]);
            left -= count;
            index += 1;
        }
    }

    /// Appends all numbers, mapped.
    #[inline]
    pub(crate) fn extend_into<T>(&self, out: &mut Vec<T>, map: impl Fn(u64) -> T) {
        out.reserve(self.len);
        let reference = self.reference;
        self.for_each_block(|block| {
            out.extend(block.iter().map(|v| map(v.wrapping_add(reference))))
        });
    }

    /// All numbers, checked to rise and to be below `limit`, at most 2^32.
    pub(crate) fn rising(&self, limit: u64) -> Result<Vec<u32>, FormatError> {
        let mut out: Vec<u32> = Vec::new();
        out.try_reserve_exact(self.len)
            .map_err(|_| FormatError::OutOfMemory { bytes: self.len as u64 * 4 })?;
        let mut least = 0u64;
        let mut good = true;
        self.for_each_block(|block| {
            for distance in block {
                let value = self.reference.wrapping_add(*distance);
                good &= value >= least && value < limit;
                least = value.saturating_add(1);
                out.push(value as u32);
            }
        });
        if good {
            Ok(out)
        } else {
            Err(FormatError::corrupt("row numbers do not rise or are not the vector's", limit))
        }
    }

    /// The largest number minus the reference.
    pub(crate) fn max_distance(&self) -> u64 {
        let mut max = 0;
        self.for_each_block(|block| max = block.iter().fold(max, |m: u64, v| m.max(*v)));
        max
    }
}
