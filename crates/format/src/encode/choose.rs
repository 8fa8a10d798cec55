//! Which encoding a vector of numbers takes.
//!
//! The smallest, except that an encoding must be smaller by a margin to be taken before one that is read faster. The
//! margins are quarters, measured by examples/throughput.rs: plain is a copy, packed about a nanosecond a value, delta
//! about twice that and 64 steps for a single value.

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
