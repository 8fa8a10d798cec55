//! Random numbers by key: SplitMix64 (Steele, Lea and Flood, 2014).
//!
//! Integers only, so that every machine draws the same.

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

const fn finish(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A hash of two words; not symmetric.
pub const fn mix(a: u64, b: u64) -> u64 {
    finish(finish(a.wrapping_add(STEP)) ^ b.wrapping_mul(STEP))
}

/// `value * bound / 2^64`: a 64-bit fraction of `bound`.
pub fn scale(value: u64, bound: u64) -> u64 {
    ((u128::from(value) * u128::from(bound)) >> 64) as u64
}

/// The draws that belong to one key.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The draws of `key`; neighbouring keys give unrelated draws.
    pub fn new(key: u64) -> Self {
        Self(finish(key))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        finish(self.0)
    }

    /// 0 to `bound - 1`.
    pub fn below(&mut self, bound: u64) -> u64 {
        scale(self.bits(), bound)
    }

    /// True once in `n` draws.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// 0 to `bound - 1`, small ones more often: the fraction is squared.
    pub fn small(&mut self, bound: u64) -> u64 {
        let bits = self.bits();
        scale(scale(bits, bits), bound)
    }

    /// Zero but once in `n` draws, then 1 to `most`, small ones more often.
    pub fn sparse(&mut self, n: u64, most: u64) -> i64 {
        if self.one_in(n) { self.small(most) as i64 + 1 } else { 0 }
    }

    /// One of `choices`, all alike.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// One of `choices`, the first ones more often.
    pub fn pick_small<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.small(choices.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changing the generator changes every published checksum.
    #[test]
    fn golden() {
        let mut random = Random::new(1);
        assert_eq!([mix(1, 2), mix(2, 1), random.bits(), random.bits()], GOLDEN,);
    }

    const GOLDEN: [u64; 4] = [
        0x7add_a25f_cf93_ee03,
        0x2efa_04c3_c73d_887d,
        0xbfef_8030_ddc2_d772,
        0x5f55_2ce4_82f2_aa47,
    ];

    #[test]
    fn draws_stay_in_range() {
        let mut random = Random::new(7);
        let mut hits = 0;
        for _ in 0..10_000 {
            assert!(random.below(10) < 10);
            assert!(random.small(10) < 10);
            let drawn = random.sparse(100, 5);
            assert!((0..=5).contains(&drawn));
            hits += u32::from(drawn > 0);
        }
        assert!((50..200).contains(&hits), "{hits}");
    }
}
