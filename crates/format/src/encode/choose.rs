//! Which encoding a vector of numbers takes.
//!
//! The smallest, except that an encoding must be smaller by a margin to be taken before one that is read faster: a tenth
//! for packed ones (integers, and floats as integers), a quarter for delta, run-length and dictionary. By
//! examples/throughput.rs, plain is not copied at all; packed costs 0.4 ns a value of a whole vector and 2.5 ns for a
//! single one; alp 0.9 and 2.7; delta 0.7 and 38; run-length next to nothing and 6.

use super::stats::Stats;
use crate::bits;
use crate::encoding::run_length;
use crate::options::Encoding;
use crate::packed;

/// An encoding and the bytes it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) encoding: Encoding,
    pub(super) size: usize,
}

/// The encoding of a vector of numbers that has no dictionary.
pub(super) fn without_dictionary(stats: &Stats, rows: usize, width: usize) -> Choice {
    if stats.runs == 1 {
        return Choice { encoding: Encoding::Constant, size: width };
    }
    let plain = rows * width;
    let bit_packed = packed::size(rows, bits::width_of(stats.range()));
    let mut best = Choice { encoding: Encoding::Plain, size: plain };
    if bit_packed * 10 < plain * 9 {
        best = Choice { encoding: Encoding::BitPacked, size: bit_packed };
    }
    let delta = stats.delta.size(rows);
    if delta * 4 < best.size * 3 {
        best = Choice { encoding: Encoding::Delta, size: delta };
    }
    let run_length = run_length::size(stats.runs, rows) + stats.runs * width;
    if run_length * 4 < best.size * 3 {
        best = Choice { encoding: Encoding::RunLength, size: run_length };
    }
    best
}

/// The bytes of a vector's codes.
pub(super) fn codes_size(codes: &[u32]) -> usize {
    let min = codes.iter().copied().min().unwrap_or(0);
    let max = codes.iter().copied().max().unwrap_or(0);
    packed::size(codes.len(), bits::width_of(u64::from(max - min)))
}
