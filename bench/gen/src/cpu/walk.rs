//! A random walk whose every step can be computed alone.
//!
//! Anchors stand every 4,096 steps; between two of them midpoints are displaced level by level, as a Brownian bridge is
//! built (Fournier, Fussell and Carpenter, "Computer rendering of stochastic models", CACM 25(6), 1982). The walk moves
//! by about half a point a step and stops at 0 and 100.

use crate::random::mix;

const LEVELS: u32 = 12;
/// Between two anchors, in steps.
const SPAN: u64 = 1 << LEVELS;

/// Deviation of the displacement at each level, in hundredths: 50 / 2 * sqrt(length of the interval).
const DEVIATION: [i64; LEVELS as usize] =
    [1600, 1131, 800, 566, 400, 283, 200, 141, 100, 71, 50, 35];

/// Near normal, deviation 37,837: the sum of four uniform 16-bit numbers, less its mean.
fn bell(bits: u64) -> i64 {
    let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    sum as i64 - 131_070
}

fn anchor(key: u64, index: u64) -> i64 {
    1000 + (mix(key, index << 32) % 7000) as i64
}

/// The walk `key` at step `step`, in hundredths: 0 to 10,000.
pub fn at(key: u64, step: u64) -> i64 {
    let index = step / SPAN;
    let (mut low, mut high) = (index * SPAN, (index + 1) * SPAN);
    let (mut left, mut right) = (anchor(key, index), anchor(key, index + 1));
    for deviation in DEVIATION {
        if step == low {
            break;
        }
        let middle = low.midpoint(high);
        let value = (left + right) / 2 + bell(mix(key, middle)) * deviation / 37_837;
        if step < middle {
            (high, right) = (middle, value);
        } else {
            (low, left) = (middle, value);
        }
    }
    left.clamp(0, 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_do_not_jump() {
        let mut extremes = (10_000, 0);
        let mut highest_jump = 0;
        for step in 0..20_000 {
            let (now, next) = (at(9, step), at(9, step + 1));
            extremes = (extremes.0.min(now), extremes.1.max(now));
            highest_jump = highest_jump.max((now - next).abs());
        }
        assert!(extremes.0 >= 0 && extremes.1 <= 10_000);
        assert!(extremes.1 - extremes.0 > 3_000, "{extremes:?}");
        assert!((50..500).contains(&highest_jump), "{highest_jump}");
    }

    #[test]
    fn few_values_are_above_99() {
        let high = (0..200_000).filter(|&i| at(mix(1, i % 100), i / 100 * 37) > 9_900).count();
        assert!((200..10_000).contains(&high), "{high} of 200,000");
    }
}
