//! Hashes of keys.
//!
//! A hash has 64 bits. The lower 32 find the slot, from the top down, and tell keys apart there; the upper 32 choose a
//! partition, so that the keys of one partition spread over all slots of a table.

use xxhash_rust::xxh3::xxh3_64;

use super::word;

/// Where the hash of a row starts.
pub(super) const SEED: u64 = 0x51_7c_c1_b7_27_22_0a_95;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
const FINAL: u64 = 0xd6e8_feb8_6659_fd93;
/// Stands for NULL.
pub(super) const NULL: u64 = 0xa076_1d64_78bd_642f;

/// Adds a word to a hash.
#[inline(always)]
pub(super) fn add(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word) * u128::from(MULTIPLIER);
    product as u64 ^ (product >> 64) as u64
}

/// Ends a hash.
#[inline(always)]
pub(super) fn finish(hash: u64) -> u64 {
    let product = hash.wrapping_mul(FINAL);
    product ^ product >> 32
}

/// What a string adds to the hash of a row.
#[inline]
pub(super) fn of_bytes(bytes: &[u8]) -> u64 {
    if bytes.len() <= word::INLINE { word::inline(bytes) } else { xxh3_64(bytes) }
}

/// The partition of a hash, of `partitions` (a power of two). Levels choose independently of each other, so that what is
/// one partition on one level falls apart on the next.
#[inline]
pub(super) fn partition(hash: u64, level: u32, partitions: usize) -> usize {
    let bits = if level == 0 { hash } else { finish(add(hash, u64::from(level))) };
    (bits >> 32) as usize & (partitions - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fullest of 256 buckets by a piece of the hash, for keys of a stride.
    fn fullest(stride: u64, piece: impl Fn(u64) -> usize) -> usize {
        let mut buckets = [0; 256];
        for key in 0..65_536u64 {
            buckets[piece(finish(add(SEED, key.wrapping_mul(stride))))] += 1;
        }
        *buckets.iter().max().unwrap()
    }

    #[test]
    fn regular_keys_spread_over_slots_and_partitions() {
        for stride in [1, 2, 3, 64, 1000, 65_536, 1 << 20, 1 << 32, 86_400_000_000, 1 << 47] {
            let slots = fullest(stride, |hash| (hash as u32 >> 24) as usize);
            let level0 = fullest(stride, |hash| partition(hash, 0, 256));
            let level1 = fullest(stride, |hash| partition(hash, 1, 256));
            for most in [slots, level0, level1] {
                assert!(most < 400, "stride {stride}: {slots} {level0} {level1} of 256 expected");
            }
        }
    }
}
