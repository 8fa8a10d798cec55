//! What one pass over a vector of numbers tells.

use crate::encoding::delta::DeltaRange;
use crate::native::Native;

/// Statistics of a vector of numbers, read with sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stats {
    pub(super) min: i64,
    pub(super) max: i64,
    pub(super) runs: usize,
    pub(super) delta: DeltaRange,
}

impl Stats {
    /// Of at least one number.
    pub(super) fn of<T: Native>(values: &[T]) -> Self {
        let (mut min, mut max) = (values[0], values[0]);
        for value in values {
            min = min.min(*value);
            max = max.max(*value);
        }
        let (min, max) = (min.widen(), max.widen());
        let mut runs = 1;
        let (mut least, mut greatest) = (i64::MAX, i64::MIN);
        for pair in values.windows(2) {
            let difference = pair[1].widen().wrapping_sub(pair[0].widen());
            runs += usize::from(difference != 0);
            least = least.min(difference);
            greatest = greatest.max(difference);
        }
        if values.len() == 1 {
            (least, greatest) = (0, 0);
        }
        Self {
            min,
            max,
            runs,
            delta: DeltaRange { min: least, max: greatest, least: min, greatest: max },
        }
    }

    /// The width of the distances from the minimum.
    pub(super) fn range(&self) -> u64 {
        self.max.wrapping_sub(self.min) as u64
    }
}
