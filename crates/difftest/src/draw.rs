//! The only source of chance: a ChaCha8 stream, so that a seed and an epoch name a run on every machine.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Draws from one reproducible stream.
pub struct Draw(ChaCha8Rng);

impl Draw {
    /// The stream `stream` of `seed`; different streams of one seed are independent.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self(rng)
    }

    /// A number in `0..bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.0.random_range(0..bound) }
    }

    /// A number in `low..=high`.
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        self.0.random_range(low..=high)
    }

    /// True in `percent` of 100 draws.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One element; the slice must not be empty.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    /// One element by weight; the weights must not all be zero.
    pub fn weighted<T: Copy>(&mut self, from: &[(u64, T)]) -> T {
        let total = from.iter().map(|(weight, _)| weight).sum();
        let mut left = self.below(total);
        for (weight, item) in from {
            if left < *weight {
                return *item;
            }
            left -= weight;
        }
        unreachable!("a draw below the sum of the weights falls into one of them")
    }
}

#[cfg(test)]
mod tests {
    use super::Draw;

    #[test]
    fn a_seed_names_a_stream() {
        let draw = |seed, stream| {
            let mut draw = Draw::new(seed, stream);
            (0..20).map(|_| draw.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7, 1), draw(7, 1));
        assert_ne!(draw(7, 1), draw(7, 2));
        assert_ne!(draw(7, 1), draw(8, 1));
    }

    #[test]
    fn weights_of_zero_are_never_drawn() {
        let mut draw = Draw::new(1, 0);
        assert!((0..200).all(|_| draw.weighted(&[(0, 'a'), (3, 'b'), (0, 'c')]) == 'b'));
    }
}
