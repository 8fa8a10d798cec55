//! Which counter, day and session a row belongs to.
//!
//! A counter's rows follow Zipf's law, its days a weekly rhythm; both are cut out of the row numbers, so that any row
//! can be placed without the ones before it.

use crate::random::{Random, mix};

/// Distinct counters.
pub const COUNTERS: usize = 5_700;
/// 2024-05-01, a Wednesday, in days since 1970-01-01.
pub const FIRST_DAY: i64 = 19_844;
/// Days of the month.
pub const DAYS: usize = 31;

/// Shares no factor with [`COUNTERS`], so that ranks are a permutation.
const RANK_STEP: usize = 2_477;
/// The place of the heaviest counter among the ids.
const HEAVIEST: usize = 1_900;
/// Distance of counter ids, on average.
const ID_STEP: i64 = 17;

/// Rows of a counter on one day, and the session of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// 0 to `COUNTERS - 1`, in order of id.
    pub counter: usize,
    /// All rows of the counter.
    pub counter_rows: u64,
    /// 0 to `DAYS - 1`.
    pub day: usize,
    /// The first row of the counter's day.
    pub first: u64,
    /// One past its last row.
    pub end: u64,
}

/// Where counters and days begin.
#[derive(Debug)]
pub struct Layout {
    seed: u64,
    /// First rows of the counters, then the number of rows.
    first_rows: Vec<u64>,
}

impl Layout {
    /// For a table of `rows` rows.
    pub fn new(rows: u64, seed: u64) -> Self {
        let weight = |counter: usize| 1.0 / (rank(counter) + 1) as f64;
        let total: f64 = (0..COUNTERS).map(weight).sum();
        let mut first_rows = vec![0];
        let mut sum = 0.0;
        for counter in 0..COUNTERS {
            sum += weight(counter);
            first_rows.push(((sum / total * rows as f64) as u64).min(rows));
        }
        first_rows[COUNTERS] = rows;
        Self { seed, first_rows }
    }

    /// The id of a counter; independent of the seed, so that queries can name one.
    pub fn id(counter: usize) -> i64 {
        let counter = counter as u64;
        12 + ID_STEP * counter as i64 + (mix(0xc0, counter) % ID_STEP as u64) as i64
    }

    /// The rows of a counter.
    pub fn counter_rows(&self, counter: usize) -> u64 {
        self.first_rows[counter + 1] - self.first_rows[counter]
    }

    /// Where `row` belongs.
    pub fn place(&self, row: u64) -> Place {
        let counter = self.first_rows.partition_point(|&first| first <= row) - 1;
        let start = self.first_rows[counter];
        let counter_rows = self.counter_rows(counter);
        // The same days would be the busy ones of all small counters without the shift.
        let total = day_weights(DAYS);
        let shift = mix(self.seed ^ 0xda, counter as u64) % total;
        let begins = |day: usize| start + (counter_rows * day_weights(day) + shift) / total;
        let day = (1..DAYS).take_while(|&day| begins(day) <= row).count();
        Place { counter, counter_rows, day, first: begins(day), end: begins(day + 1) }
    }

    /// The first row of the session that `row` of `place` belongs to: four rows on average, some of 64 and more.
    pub fn session(&self, place: &Place, row: u64) -> u64 {
        let mut first = row;
        while first > place.first && !self.begins_session(first) {
            first -= 1;
        }
        first
    }

    fn begins_session(&self, row: u64) -> bool {
        let long = Random::new(mix(self.seed ^ 0x10e6, row >> 6)).one_in(24);
        if long { row & 63 == 0 } else { mix(self.seed ^ 0x5e55, row).is_multiple_of(4) }
    }
}

/// 0 for the counter with most rows.
fn rank(counter: usize) -> usize {
    (counter + COUNTERS - HEAVIEST) * RANK_STEP % COUNTERS
}

/// The counter with most rows.
#[cfg(test)]
pub const fn heaviest() -> usize {
    HEAVIEST
}

/// The sum of the weights of the days before `day`.
fn day_weights(day: usize) -> u64 {
    const SUMS: [u64; DAYS + 1] = {
        let mut sums = [0; DAYS + 1];
        let mut day = 0;
        while day < DAYS {
            // The 1st is a Wednesday; the 1st and the 9th are holidays.
            let weight = match (day + 1, (day + 2) % 7) {
                (1 | 9, _) => 5,
                (_, 5) => 7,
                (_, 6) => 6,
                _ => 10,
            };
            sums[day + 1] = sums[day] + weight;
            day += 1;
        }
        sums
    };
    SUMS[day]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_one_place() {
        let layout = Layout::new(50_000, 3);
        let mut last: Option<Place> = None;
        for row in 0..50_000 {
            let place = layout.place(row);
            assert!((place.first..place.end).contains(&row));
            let session = layout.session(&place, row);
            assert!((place.first..=row).contains(&session));
            if let Some(last) = last.filter(|l| *l != place) {
                assert_eq!((last.end, row), (place.first, row), "days follow one another");
                assert!((last.counter, last.day) < (place.counter, place.day));
            }
            last = Some(place);
        }
    }

    #[test]
    fn counters_are_skewed_and_ids_ascend() {
        let layout = Layout::new(1_000_000, 1);
        let most = (0..COUNTERS).max_by_key(|&c| layout.counter_rows(c)).unwrap();
        assert_eq!(most, heaviest());
        assert!((100_000..115_000).contains(&layout.counter_rows(most)));
        assert!((0..COUNTERS).all(|c| layout.counter_rows(c) > 0));
        assert!((1..COUNTERS).all(|c| Layout::id(c - 1) < Layout::id(c)));
    }
}
