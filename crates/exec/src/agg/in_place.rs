//! Bringing the tables of several threads together where they are, so that no group is inserted anew.
//!
//! Each table is looked up in those before it. A group that one of them has is merged into it there. What is left stays where
//! it is, and is handed out from its own table.

use super::aggregator::Aggregator;
use super::encode::KeyBatch;
use super::memory::reserve;
use super::table::CHUNK;
use crate::error::ExecError;

/// Pairs whose states are merged before the work may end early.
const STEP: usize = 1 << 16;

/// A table, and which of its groups are handed out.
#[derive(Debug)]
pub struct Kept {
    /// The table.
    pub table: Aggregator,
    /// Its groups, ascending; `None` for all.
    pub groups: Option<Vec<u32>>,
}

/// How groups of a table are looked up in another: [`Aggregator::find_in`], by one thread or several.
pub type Find<'a> = dyn Fn(&Aggregator, &Aggregator, &[u32]) -> Result<Found, ExecError> + 'a;

/// Where groups of a table were found in another.
#[derive(Debug, Default)]
pub struct Found {
    /// Groups that both tables have.
    pub from: Vec<u32>,
    /// Their numbers in the other.
    pub to: Vec<u32>,
    /// Groups that the other does not have.
    pub left: Vec<u32>,
}

impl Found {
    /// Adds what was found of groups that come after.
    pub fn append(&mut self, mut later: Self) -> Result<(), ExecError> {
        let lists = [
            (&mut self.from, &mut later.from),
            (&mut self.to, &mut later.to),
            (&mut self.left, &mut later.left),
        ];
        for (mine, theirs) in lists {
            reserve(mine, theirs.len())?;
            mine.append(theirs);
        }
        Ok(())
    }
}

impl From<Aggregator> for Kept {
    fn from(table: Aggregator) -> Self {
        Self { table, groups: None }
    }
}

impl Aggregator {
    /// Brings tables of one spec together, the largest first. `check` is asked every some thousand groups; its error ends
    /// the work.
    pub fn merge_in_place(
        mut tables: Vec<Self>,
        find: &Find<'_>,
        check: &dyn Fn() -> Result<(), ExecError>,
    ) -> Result<Vec<Kept>, ExecError> {
        if tables.iter().any(|table| table.table.rows.nullable) {
            tables.iter_mut().try_for_each(|table| table.table.rows.widen())?;
        }
        tables.sort_by_key(|table| std::cmp::Reverse(table.groups()));
        let mut kept: Vec<Kept> = Vec::with_capacity(tables.len());
        for table in tables {
            let mut left: Option<Vec<u32>> = None;
            for before in &mut kept {
                let groups = match left.take() {
                    Some(groups) => groups,
                    None => table.all_groups()?,
                };
                let found = find(&table, &before.table, &groups)?;
                before.table.merge_found(&table, &found, check)?;
                left = Some(found.left);
            }
            kept.push(Kept { table, groups: left });
        }
        Ok(kept)
    }

    fn all_groups(&self) -> Result<Vec<u32>, ExecError> {
        let mut groups = Vec::new();
        reserve(&mut groups, self.groups())?;
        groups.extend(0..self.groups() as u32);
        Ok(groups)
    }

    /// Whether its groups can be brought together with others where they are: not without keys, nor with sets of distinct
    /// values, which are keyed by group.
    pub fn merges_in_place(&self) -> bool {
        self.is_grouped() && self.aggregates.iter().all(|aggregate| aggregate.distinct.is_none())
    }

    /// Looks groups of this table up in another of the same spec, both with NULL bits or both without. `check` is asked every some thousand groups; its error ends
    /// the work.
    pub fn find_in(
        &self,
        other: &Self,
        groups: &[u32],
        check: &dyn Fn() -> Result<(), ExecError>,
    ) -> Result<Found, ExecError> {
        assert_eq!(self.spec, other.spec);
        let rows = &self.table.rows;
        assert_eq!(rows.nullable, other.table.rows.nullable, "one table has no NULL bits");
        let mut found = Found::default();
        let mut batch = KeyBatch::default();
        let mut numbers = Vec::new();
        for chunk in groups.chunks(CHUNK) {
            check()?;
            let places = chunk.iter().map(|&group| group as usize);
            let sources = batch.copy(&other.table.rows, rows, places, None)?;
            other.table.look_up(&batch, &sources, &mut numbers)?;
            for list in [&mut found.from, &mut found.to, &mut found.left] {
                reserve(list, chunk.len())?;
            }
            for (&group, number) in chunk.iter().zip(&numbers) {
                match number {
                    Some(number) => {
                        found.from.push(group);
                        found.to.push(*number);
                    }
                    None => found.left.push(group),
                }
            }
        }
        Ok(found)
    }

    /// Merges the states of groups of another table into those of the same keys.
    fn merge_found(
        &mut self,
        other: &Self,
        found: &Found,
        check: &dyn Fn() -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        let count = self.groups();
        for (mine, theirs) in self.aggregates.iter_mut().zip(&other.aggregates) {
            for (from, to) in found.from.chunks(STEP).zip(found.to.chunks(STEP)) {
                check()?;
                mine.merge(theirs, from, to, count)?;
            }
        }
        Ok(())
    }
}
