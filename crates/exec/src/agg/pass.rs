//! Passes over a scan: each takes in the rows of some of the groups, so that states that no file can hold fit into memory.

use super::aggregator::Aggregator;
use super::encode::{self, KeyBatch};
use super::hash::partition;
use super::memory::reserve;
use super::table::CHUNK;
use crate::column::Column;
use crate::error::ExecError;

/// Which groups a pass takes in: those of a partition of the hashes of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The partition.
    pub number: u32,
    /// Of so many, a power of two.
    pub of: u32,
}

impl Pass {
    /// The only pass.
    pub const ALL: Self = Self { number: 0, of: 1 };

    /// Passes that together take in what this one does.
    pub fn split(self, into: u32) -> impl DoubleEndedIterator<Item = Self> {
        (0..into).map(move |part| Self { number: self.number + part * self.of, of: self.of * into })
    }
}

impl Aggregator {
    /// The rows that belong to groups of a pass.
    pub fn rows_of(
        &mut self,
        pass: Pass,
        keys: &[Column],
        rows: usize,
    ) -> Result<Vec<u32>, ExecError> {
        assert!(self.is_grouped() && pass.of.is_power_of_two());
        let table = &mut self.table.rows;
        if keys.iter().any(encode::has_nulls) {
            table.widen()?;
        }
        let mut batch = KeyBatch::default();
        let mut found = Vec::new();
        for from in (0..rows).step_by(CHUNK) {
            // Without interners nothing is added to the table.
            batch.encode(table, None, keys, from, rows.min(from + CHUNK))?;
            reserve(&mut found, batch.rows)?;
            let places = batch.hashes.iter().enumerate();
            let ours = |hash| partition(hash, 0, pass.of as usize) == pass.number as usize;
            found.extend(places.filter(|(_, h)| ours(**h)).map(|(at, _)| (from + at) as u32));
        }
        Ok(found)
    }

    /// The group of each row that was taken in last; `None` where there is one group.
    pub fn last_groups(&self) -> Option<&[u32]> {
        self.is_grouped().then_some(&self.groups[..])
    }
}
