//! The groups that may be among the first of an order, so that not all of them are made into rows and sorted.

use std::ops::Range;

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
    /// The groups of a range that are not after the `n`th of an order: the first `n` and all that are equal to the last of
    /// them. With `among`, ascending, only these are looked at. They come by number, not by the order. `check` is asked every
    /// some thousand groups; its error ends the work.
    pub fn top(
        &self,
        order: &[TopKey],
        n: usize,
        range: Range<usize>,
        among: Option<&[u32]>,
        check: &dyn Fn() -> Result<(), ExecError>,
    ) -> Result<Vec<u32>, ExecError> {
        let among = among.map(|all| within(all, &range));
        let groups = among.map_or(range.len(), <[u32]>::len);
        if n >= groups {
            let all = || range.start as u32..range.end as u32;
            return Ok(among.map_or_else(|| all().collect(), <[u32]>::to_vec));
        }
        let orders: Vec<Order> = order.iter().map(|key| key.order).collect();
        let mut first = TopN::new(orders.clone(), n);
        for chunk in Chunks::new(range.clone(), among) {
            check()?;
            let keys = self.top_columns(order, &chunk);
            first.consume(&keys, chunk.len(), |row| u64::from(chunk.group(row)));
        }
        let Some(last) = first.threshold() else {
            return Ok(Vec::new());
        };
        let mut top = Vec::new();
        for chunk in Chunks::new(range, among) {
            check()?;
            let keys = self.top_columns(order, &chunk);
            let not_after = |&row: &usize| compare_row(&keys, row, &last, &orders).is_le();
            top.extend((0..chunk.len()).filter(not_after).map(|row| chunk.group(row)));
        }
        Ok(top)
    }

    fn top_columns(&self, order: &[TopKey], chunk: &Chunk<'_>) -> Vec<Column> {
        let (from, to) = (chunk.range.start, chunk.range.end);
        let rows: Option<Vec<u32>> =
            chunk.groups.map(|groups| groups.iter().map(|group| group - from as u32).collect());
        let column = |key: &TopKey| {
            let column = match key.source {
                TopSource::Key(key) => self.key(key, from, to),
                TopSource::Output { aggregate, column } => {
                    self.output(aggregate, from, to).swap_remove(column)
                }
            };
            rows.as_ref().map_or_else(|| column.clone(), |rows| column.gather(rows))
        };
        order.iter().map(column).collect()
    }
}

/// The part of ascending groups that lies in a range.
fn within<'a>(groups: &'a [u32], range: &Range<usize>) -> &'a [u32] {
    let before = |end: usize| groups.partition_point(|&group| (group as usize) < end);
    &groups[before(range.start)..before(range.end)]
}

/// Groups that are looked at together.
struct Chunk<'a> {
    range: Range<usize>,
    /// Which of them; `None` for all.
    groups: Option<&'a [u32]>,
}

impl Chunk<'_> {
    fn len(&self) -> usize {
        self.groups.map_or(self.range.len(), <[u32]>::len)
    }

    fn group(&self, row: usize) -> u32 {
        self.groups.map_or_else(|| (self.range.start + row) as u32, |groups| groups[row])
    }
}

/// The chunks of a range that have groups.
struct Chunks<'a> {
    range: Range<usize>,
    groups: Option<&'a [u32]>,
}

impl<'a> Chunks<'a> {
    fn new(range: Range<usize>, groups: Option<&'a [u32]>) -> Self {
        Self { range, groups }
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        if let Some(groups) = self.groups {
            // What lies before the first is passed over.
            self.range.start = *groups.first()? as usize;
        }
        if self.range.is_empty() {
            return None;
        }
        let range = self.range.start..self.range.end.min(self.range.start + CHUNK);
        self.range.start = range.end;
        let groups = self.groups.map(|groups| {
            let part = within(groups, &range);
            self.groups = Some(&groups[part.len()..]);
            part
        });
        Some(Chunk { range, groups })
    }
}
