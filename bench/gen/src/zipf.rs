//! Zipf's law with exponent 1: rank `k` has the weight `1 / (k + 1)`.
//!
//! Built from additions and divisions alone, which IEEE 754 rounds the same everywhere.

/// Cumulative weights of `n` ranks.
#[derive(Clone, Debug)]
pub struct Zipf {
    /// `upper[k]`: the share of ranks 0 to k, as a 64-bit fraction.
    upper: Vec<u64>,
}

impl Zipf {
    /// Ranks 0 to `n - 1`.
    pub fn new(n: usize) -> Self {
        let total: f64 = (0..n).map(|k| 1.0 / (k + 1) as f64).sum();
        let mut sum = 0.0;
        let upper = (0..n)
            .map(|k| {
                sum += 1.0 / (k + 1) as f64;
                // The cast saturates: the last share may round to 1.
                (sum / total * 18_446_744_073_709_551_616.0) as u64
            })
            .collect();
        Self { upper }
    }

    /// The rank where the 64-bit fraction `bits` falls.
    pub fn rank(&self, bits: u64) -> usize {
        self.upper.partition_point(|&upper| upper <= bits).min(self.upper.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn first_ranks_are_heaviest() {
        let zipf = Zipf::new(1000);
        let mut random = Random::new(1);
        let mut counts = [0_u32; 1000];
        for _ in 0..100_000 {
            counts[zipf.rank(random.bits())] += 1;
        }
        // H(1000) is 7.485.
        assert!((12_900..13_800).contains(&counts[0]), "{}", counts[0]);
        assert!((6_400..7_000).contains(&counts[1]), "{}", counts[1]);
        assert_eq!(zipf.rank(0), 0);
        assert_eq!(zipf.rank(u64::MAX), 999);
    }
}
