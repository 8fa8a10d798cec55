//! The groups that may be among the first of an order, so that not all of them are made into rows and sorted.

use super::aggregator::Aggregator;
use super::table::CHUNK;
use crate::column::Column;
use crate::error::ExecError;
use crate::topn::{Order, TopN, compare_row};

/// What groups are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopSource {
    /// A key.
    Key(usize),
    /// A column of [`Aggregator::output`].
    Output {
        /// The aggregate.
        aggregate: usize,
        /// Which of its columns.
        column: usize,
    },
}

/// A key of an order of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopKey {
    /// The value.
    pub source: TopSource,
    /// How it orders.
    pub order: Order,
}

impl Aggregator {
    /// The groups that are not after the `n`th of an order: the first `n` and all that are equal to the last of them. They
    /// come by number, not by the order. `check` is asked every some thousand groups; its error ends the work.
    pub fn top(
        &self,
        order: &[TopKey],
        n: usize,
        check: &dyn Fn() -> Result<(), ExecError>,
    ) -> Result<Vec<u32>, ExecError> {
        let groups = self.groups();
        if n >= groups {
            return Ok((0..groups as u32).collect());
        }
        let orders: Vec<Order> = order.iter().map(|key| key.order).collect();
        let mut first = TopN::new(orders.clone(), n);
        for from in (0..groups).step_by(CHUNK) {
            check()?;
            let to = groups.min(from + CHUNK);
            first.consume(&self.top_columns(order, from, to), to - from, |row| (from + row) as u64);
        }
        let Some(last) = first.threshold() else {
            return Ok(Vec::new());
        };
        let mut top = Vec::new();
        for from in (0..groups).step_by(CHUNK) {
            check()?;
            let to = groups.min(from + CHUNK);
            let keys = self.top_columns(order, from, to);
            let not_after = |&row: &usize| compare_row(&keys, row, &last, &orders).is_le();
            top.extend((0..to - from).filter(not_after).map(|row| (from + row) as u32));
        }
        Ok(top)
    }

    fn top_columns(&self, order: &[TopKey], from: usize, to: usize) -> Vec<Column> {
        let column = |key: &TopKey| match key.source {
            TopSource::Key(key) => self.key(key, from, to),
            TopSource::Output { aggregate, column } => {
                self.output(aggregate, from, to).swap_remove(column)
            }
        };
        order.iter().map(column).collect()
    }
}
