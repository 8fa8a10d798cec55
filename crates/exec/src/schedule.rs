//! The order in which filters are applied: cheapest and most selective first, as measured.
//!
//! The planner orders filters by costs that hardly differ from operator to operator, and does not look at what they remove. So
//! each filter of a run goes first for a batch now and then, where it sees the same rows as the others would. Afterwards the
//! filters are sorted by time a row over the share of rows removed, which makes the total least if they are independent
//! (Hellerstein and Stonebraker, Predicate Migration, 1993).
//!
//! Only filters that can neither fail nor call PostgreSQL change places, and only with neighbours of that kind. What comes
//! before any other filter is thereby the same set as in the plan: a filter that can fail, or tell what it sees, meets exactly
//! the rows that it meets in the plan's order, so that neither errors nor security barriers depend on measurements.

use std::ops::Range;
use std::time::Duration;

use crate::expr::Expr;

/// Batches in the plan's order before the first trials: they pay for what is done once, as of dictionaries.
const BEFORE: usize = 4;
/// Batches from trials to trials, since data change along a table.
const PERIOD: usize = 256;

/// Order and measurements of one worker.
#[derive(Debug)]
pub struct Schedule {
    /// Places of the filters in the plan, in the order of their application.
    order: Vec<usize>,
    /// Neighbours in the plan that may change places.
    runs: Vec<Range<usize>>,
    /// Filters of the longest run.
    longest: usize,
    /// Nanoseconds a row over the share of rows removed, by filter.
    ranks: Vec<f64>,
    batches: usize,
}

impl Schedule {
    /// The plan's order.
    pub fn new(filters: &[Expr]) -> Self {
        let movable: Vec<bool> =
            filters.iter().map(|filter| !filter.can_fail() && !filter.uses_external()).collect();
        let mut runs = Vec::new();
        let mut from = 0;
        for run in movable.chunk_by(|a, b| a == b) {
            if run[0] && run.len() > 1 {
                runs.push(from..from + run.len());
            }
            from += run.len();
        }
        let longest = runs.iter().map(Range::len).max().unwrap_or(0);
        let ranks = vec![f64::INFINITY; filters.len()];
        Self { order: (0..filters.len()).collect(), runs, longest, ranks, batches: 0 }
    }

    /// Orders the filters for the next batch; tells the place of the filter of each run that is to be measured.
    pub fn turn(&mut self) -> Option<usize> {
        if self.runs.is_empty() {
            return None;
        }
        let at = self.batches;
        self.batches += 1;
        let trial = at.checked_sub(BEFORE)? % PERIOD;
        if trial > self.longest {
            return None;
        }
        let measured = trial < self.longest;
        for run in &self.runs {
            let order = &mut self.order[run.clone()];
            if measured {
                order.iter_mut().zip(run.clone()).for_each(|(place, filter)| *place = filter);
                order[..=trial.min(run.len() - 1)].rotate_right(1);
            } else {
                let ranks = &self.ranks;
                order.sort_by(|&a, &b| ranks[a].total_cmp(&ranks[b]).then(a.cmp(&b)));
            }
        }
        measured.then_some(trial)
    }

    /// The filters in their order, by place in the plan; of each whether it leads its run.
    pub fn order(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        let leads = |place| self.runs.iter().any(|run| run.start == place);
        self.order.iter().enumerate().map(move |(place, &filter)| (filter, leads(place)))
    }

    /// Notes what a filter took and left.
    pub fn note(&mut self, filter: usize, time: Duration, rows: usize, left: usize) {
        let removed = (rows - left) as f64;
        // Per row: time / rows over removed / rows.
        self.ranks[filter] =
            if removed > 0.0 { time.as_nanos() as f64 / removed } else { f64::INFINITY };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Scalar;
    use crate::expr::{ArithOp, CompareOp, NumberKind};

    fn safe() -> Expr {
        Expr::IsNotNull(Box::new(Expr::Column(0)))
    }

    fn failing() -> Expr {
        let quotient = Expr::Arith {
            op: ArithOp::Div,
            kind: NumberKind::Int32,
            left: Box::new(Expr::Const(Scalar::Int(1))),
            right: Box::new(Expr::Column(0)),
        };
        let one = Box::new(Expr::Const(Scalar::Int(1)));
        Expr::Compare { op: CompareOp::Eq, left: Box::new(quotient), right: one }
    }

    fn order(schedule: &Schedule) -> Vec<usize> {
        schedule.order().map(|(filter, _)| filter).collect()
    }

    #[test]
    fn each_leads_once_and_then_the_best_order_stays() {
        let mut schedule = Schedule::new(&[safe(), safe(), safe(), failing(), safe(), safe()]);
        for _ in 0..BEFORE {
            assert_eq!(schedule.turn(), None);
            assert_eq!(order(&schedule), [0, 1, 2, 3, 4, 5]);
        }
        let trials = [[0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 5, 4], [2, 0, 1, 3, 5, 4]];
        for (trial, expected) in trials.into_iter().enumerate() {
            assert_eq!(schedule.turn(), Some(trial));
            assert_eq!(order(&schedule), expected);
            let leaders: Vec<usize> =
                schedule.order().filter(|(_, leads)| *leads).map(|(filter, _)| filter).collect();
            assert_eq!(leaders, [expected[0], expected[4]]);
        }
        // Slow and selective, fast and not, fast and selective; the last two remove nothing.
        schedule.note(0, Duration::from_micros(100), 1000, 100);
        schedule.note(1, Duration::from_micros(10), 1000, 999);
        schedule.note(2, Duration::from_micros(10), 1000, 100);
        schedule.note(5, Duration::from_micros(1), 1000, 1000);
        for _ in 0..PERIOD - 3 {
            assert_eq!(schedule.turn(), None);
            assert_eq!(order(&schedule), [2, 0, 1, 3, 4, 5]);
        }
        assert_eq!(schedule.turn(), Some(0));
    }

    #[test]
    fn what_can_fail_stays_where_it_is() {
        let mut schedule = Schedule::new(&[safe(), failing(), safe(), failing()]);
        for _ in 0..2 * PERIOD {
            assert_eq!(schedule.turn(), None);
            assert_eq!(order(&schedule), [0, 1, 2, 3]);
        }
    }
}
