//! Leaves parts of a differing query out, one after the other, for as long as it still differs.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::arms::{self, Arm};
use crate::query::Query;
use crate::world::World;

/// Time for the shrinking of one query.
const LONGEST: Duration = Duration::from_secs(20);

/// The parts that can be left out, and the difference that remains.
pub fn shrink(world: &mut World, query: &Query, arm: Arm, what: &str) -> (BTreeSet<u32>, String) {
    let mut what = what.to_string();
    let dropped = reduce(&query.droppable(), |dropped| {
        if let Some(difference) = arms::differs(world, query, dropped, arm) {
            what = difference;
            return true;
        }
        false
    });
    (dropped, what)
}

/// The ids that can be dropped one by one while `holds`.
fn reduce(ids: &[u32], mut holds: impl FnMut(&BTreeSet<u32>) -> bool) -> BTreeSet<u32> {
    let began = Instant::now();
    let mut dropped = BTreeSet::new();
    loop {
        let before = dropped.len();
        for id in ids {
            if dropped.contains(id) || began.elapsed() > LONGEST {
                continue;
            }
            dropped.insert(*id);
            if !holds(&dropped) {
                dropped.remove(id);
            }
        }
        if dropped.len() == before {
            return dropped;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::reduce;

    #[test]
    fn what_matters_stays() {
        // The fault needs part 2, and part 5 or part 6.
        let fault = |d: &std::collections::BTreeSet<u32>| {
            !(d.contains(&2) || d.contains(&5) && d.contains(&6))
        };
        let dropped = reduce(&[1, 2, 3, 4, 5, 6], fault);
        assert_eq!(dropped.into_iter().collect::<Vec<_>>(), [1, 3, 4, 5]);
    }
}
