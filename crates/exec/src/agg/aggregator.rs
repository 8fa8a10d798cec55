//! Groups and their states: one aggregator a thread.

use std::sync::Arc;

use super::distinct::DistinctSet;
use super::input::{Groups, dense, pick};
use super::spec::{AggKind, AggSpec, GroupSpec};
use super::state::State;
use super::table::KeyTable;
use crate::column::Column;
use crate::error::ExecError;

/// Groups rows by keys and computes aggregates of each group.
///
/// After an error the contents are of no use.
#[derive(Debug)]
pub struct Aggregator {
    pub(super) spec: Arc<GroupSpec>,
    /// The keys; not used where there are none.
    pub(super) table: Box<KeyTable>,
    pub(super) aggregates: Vec<Aggregate>,
    pub(super) groups: Vec<u32>,
}

/// An aggregate and what it took in.
#[derive(Debug)]
pub(super) struct Aggregate {
    pub spec: AggSpec,
    pub state: State,
    /// What the state took in, if DISTINCT makes a difference and the set was not closed.
    pub distinct: Option<DistinctSet>,
}

impl Aggregate {
    pub fn new(spec: AggSpec, grouped: bool) -> Self {
        let set = spec.distinct.filter(|_| spec.kind.counts_repeats());
        let distinct = set.map(|kind| DistinctSet::new(grouped, kind));
        Self { spec, state: State::new(spec.kind), distinct }
    }

    fn consume(
        &mut self,
        groups: Groups<'_>,
        count: usize,
        arg: Option<&Column>,
        filter: Option<&Column>,
        rows: usize,
    ) -> Result<(), ExecError> {
        let arg = match arg {
            _ if self.spec.kind == AggKind::Transition => return Ok(()),
            _ if self.spec.kind == AggKind::CountStar => None,
            Some(arg) => Some(arg),
            None => return Err(ExecError::Unsupported),
        };
        let picked = pick(arg, filter, rows)?;
        let picked = picked.as_deref();
        self.state.grow(count, picked.is_none())?;
        let rows = picked.map_or(rows, <[u32]>::len);
        if rows == 0 {
            return Ok(());
        }
        let numbers;
        let groups = match (picked, groups) {
            (Some(picked), Groups::Of(_)) => {
                numbers = groups.gather(picked);
                Groups::Of(&numbers)
            }
            _ => groups,
        };
        if self.spec.kind == AggKind::Count && self.distinct.is_none() {
            return self.state.update(groups, None, rows);
        }
        let arg = arg.map(|arg| dense(arg, picked, rows));
        match (&mut self.distinct, arg) {
            (Some(set), Some(values)) => {
                let new = set.insert(groups, &values, rows)?;
                if new.is_empty() {
                    return Ok(());
                }
                let values = values.gather(&new);
                match groups {
                    Groups::One => self.state.update(Groups::One, Some(&values), new.len()),
                    Groups::Of(_) => {
                        let numbers = groups.gather(&new);
                        self.state.update(Groups::Of(&numbers), Some(&values), new.len())
                    }
                }
            }
            (_, arg) => self.state.update(groups, arg.as_ref(), rows),
        }
    }
}

impl Aggregator {
    /// Without rows.
    pub fn new(spec: Arc<GroupSpec>) -> Self {
        let grouped = !spec.keys.is_empty();
        let aggregates = spec.aggregates.iter().map(|&agg| Aggregate::new(agg, grouped)).collect();
        let table = Box::new(KeyTable::new(&spec.keys));
        let mut aggregator = Self { spec, table, aggregates, groups: Vec::new() };
        aggregator.add_only_group();
        aggregator
    }

    /// Without keys there is one group even if no row came.
    pub(super) fn add_only_group(&mut self) {
        if self.spec.keys.is_empty() {
            for aggregate in &mut self.aggregates {
                // A cell is some bytes; if even these are missing the first batch finds out.
                let _ = aggregate.state.grow(1, false);
            }
        }
    }

    /// The spec given to [`Self::new`].
    pub fn spec(&self) -> &Arc<GroupSpec> {
        &self.spec
    }

    /// Whether there are keys.
    pub(super) fn is_grouped(&self) -> bool {
        !self.spec.keys.is_empty()
    }

    /// Takes in `rows` rows. `keys` are their keys, `args` the arguments of the aggregates (`None` for count(*)), `filters`
    /// the conditions of those that are filtered.
    pub fn consume(
        &mut self,
        keys: &[Column],
        args: &[Option<Column>],
        filters: &[Option<Column>],
        rows: usize,
    ) -> Result<(), ExecError> {
        assert_eq!(keys.len(), self.spec.keys.len());
        assert_eq!(args.len(), self.aggregates.len());
        let columns = keys.iter().chain(args.iter().chain(filters).flatten());
        columns.for_each(|column| assert_eq!(column.len, rows, "a column has other rows"));
        if rows == 0 {
            return Ok(());
        }
        let mut numbers = std::mem::take(&mut self.groups);
        let grouped = self.is_grouped();
        if grouped {
            self.table.find(keys, rows, &mut numbers)?;
        }
        let groups = if grouped { Groups::Of(&numbers) } else { Groups::One };
        let count = self.groups();
        for (at, aggregate) in self.aggregates.iter_mut().enumerate() {
            let filter = filters.get(at).and_then(Option::as_ref);
            aggregate.consume(groups, count, args[at].as_ref(), filter, rows)?;
        }
        self.groups = numbers;
        Ok(())
    }

    /// Groups.
    pub fn groups(&self) -> usize {
        if self.is_grouped() { self.table.len() } else { 1 }
    }

    /// Bytes allocated.
    pub fn memory_size(&self) -> usize {
        let aggregates = self.aggregates.iter().map(|aggregate| {
            aggregate.state.memory_size()
                + aggregate.distinct.as_ref().map_or(0, DistinctSet::memory_size)
        });
        self.table.memory_size()
            + self.groups.capacity() * size_of::<u32>()
            + aggregates.sum::<usize>()
    }

    /// Whether groups outgrow `limit` bytes, or would while they take in `rows` rows more. Tables are looked ahead of since a
    /// table that doubles is there twice for a while, which a limit that is told afterwards does not see.
    pub fn outgrows(&self, limit: usize, rows: usize) -> bool {
        let size = self.memory_size();
        // What is far from the limit may double without reaching it.
        size > limit || size > limit / 2 && size + self.memory_ahead(rows) > limit
    }

    /// Bytes beyond those allocated that `rows` rows more need at most, if they are like those so far.
    pub(super) fn memory_ahead(&self, rows: usize) -> usize {
        let groups = if self.is_grouped() { rows } else { 0 };
        let aggregates = self.aggregates.iter().map(|aggregate| {
            let set = &aggregate.distinct;
            aggregate.state.memory_ahead(groups)
                + set.as_ref().map_or(0, |set| set.table.memory_ahead(rows))
        });
        self.table.memory_ahead(groups) + aggregates.sum::<usize>()
    }

    /// Drops the sets of distinct aggregates, whose states are as they should be already. What is merged from now on must
    /// not hold values that were taken in before.
    pub fn close(&mut self) {
        self.aggregates.iter_mut().for_each(|aggregate| aggregate.distinct = None);
    }

    /// A key of the groups `from..to`.
    pub fn key(&self, key: usize, from: usize, to: usize) -> Column {
        self.table.rows.column(key, from, to)
    }

    /// The result columns of an aggregate for the groups `from..to`:
    ///
    /// | Aggregate | Columns |
    /// |---|---|
    /// | count | Int |
    /// | sum | Decimal of scale 0 of integers, Float of floats, Decimal of decimals |
    /// | avg | the sum likewise (NULL where nothing came in), Int count; the division is the caller's |
    /// | min, max, bool and bit aggregates | the value |
    /// | transition | none |
    /// | moments | Int N, the sum likewise, sum of squares (Decimal of twice the scale) or Float Sxx |
    ///
    /// They are NULL where nothing came in, N and counts apart.
    pub fn output(&self, aggregate: usize, from: usize, to: usize) -> Vec<Column> {
        self.aggregates[aggregate].state.output(from, to)
    }
}
