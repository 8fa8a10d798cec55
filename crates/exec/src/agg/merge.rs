//! Merging the groups of several tables, whole or by hash partitions.

use std::sync::Arc;

use super::aggregator::{Aggregate, Aggregator};
use super::distinct::DistinctSet;
use super::encode::hash_row;
use super::hash::partition;
use super::input::Groups;
use super::rows::KeyRows;
use super::table::CHUNK;
use crate::error::ExecError;

/// No group.
const NOWHERE: u32 = u32::MAX;

/// Groups of which the states are merged before the work may end early.
const STEP: usize = 1 << 16;

/// Partitions of which one tells what merging all would come to.
const SAMPLE: usize = 64;

/// One of several partitions.
#[derive(Clone, Copy, Debug)]
struct Part {
    number: usize,
    of: usize,
}

/// The partition of a row of a table.
pub(super) fn partition_of(rows: &KeyRows, place: usize, level: u32, of: usize) -> usize {
    let width = rows.width();
    let words = &rows.words[place * width..(place + 1) * width];
    partition(hash_row(rows, place, words), level, of)
}

impl Aggregator {
    /// Takes in all that another aggregator of the same spec took in.
    ///
    /// If one of the two was closed, the other must be too, or have no distinct aggregates.
    pub fn merge(&mut self, other: Self) -> Result<(), ExecError> {
        self.merge_part(&other, None, &|| Ok(()))
    }

    /// The groups of partition `p` of `n`, a power of two, of several aggregators of one spec.
    ///
    /// Without keys, what partitions is the values of distinct aggregates, and all else is in partition 0: the results
    /// are to be closed and merged with each other. `check` is asked every some thousand groups; its error ends the work.
    pub fn merge_partition(
        parts: &[&Self],
        p: usize,
        n: usize,
        check: &dyn Fn() -> Result<(), ExecError>,
    ) -> Result<Self, ExecError> {
        assert!(n.is_power_of_two() && p < n);
        let first = parts.first().expect("there is an aggregator to merge");
        let mut merged = Self::new(Arc::clone(&first.spec));
        for part in parts {
            merged.merge_part(part, Some(Part { number: p, of: n }), check)?;
        }
        Ok(merged)
    }

    /// The memory that several aggregators of one spec will take about when they are merged, told by a sample of their groups.
    pub fn merged_size(
        parts: &[&Self],
        check: &dyn Fn() -> Result<(), ExecError>,
    ) -> Result<usize, ExecError> {
        let things = |of: &Self| {
            let sets = of.aggregates.iter().flat_map(|aggregate| &aggregate.distinct);
            of.groups() + sets.map(|set| set.table.len()).sum::<usize>()
        };
        let all: usize = parts.iter().map(|part| things(part)).sum();
        let bytes: usize = parts.iter().map(|part| part.memory_size()).sum();
        let merged = things(&Self::merge_partition(parts, 0, SAMPLE, check)?) * SAMPLE;
        Ok((bytes as f64 * (merged as f64 / all.max(1) as f64).min(1.0)) as usize)
    }

    fn merge_part(
        &mut self,
        other: &Self,
        part: Option<Part>,
        check: &dyn Fn() -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        assert_eq!(self.spec, other.spec);
        let mut from = Vec::new();
        let mut to = Vec::new();
        if self.is_grouped() {
            for start in (0..other.groups()).step_by(CHUNK) {
                check()?;
                let end = other.groups().min(start + CHUNK);
                let before = from.len();
                let rows = &other.table.rows;
                from.extend((start..end).filter_map(|place| {
                    let ours = part.is_none_or(|p| partition_of(rows, place, 0, p.of) == p.number);
                    ours.then_some(place as u32)
                }));
                let places = from[before..].iter().map(|&place| place as usize);
                self.table.find_rows(rows, places, None, &mut to)?;
            }
        } else if part.is_none_or(|part| part.number == 0) {
            from.push(0);
            to.push(0);
        }
        let count = self.groups();
        for (mine, theirs) in self.aggregates.iter_mut().zip(&other.aggregates) {
            // In steps, and once where there is nothing to merge: the groups there are must be known.
            let mut done = 0;
            while done == 0 || done < from.len() {
                check()?;
                let end = from.len().min(done + STEP);
                mine.merge(theirs, &from[done..end], &to[done..end], count)?;
                done = end.max(1);
            }
        }
        let grouped = self.is_grouped();
        let with_sets = self.aggregates.iter().any(|aggregate| aggregate.distinct.is_some());
        if !with_sets {
            return Ok(());
        }
        let mut remap = vec![NOWHERE; other.groups()];
        for (&from, &to) in from.iter().zip(&to) {
            remap[from as usize] = to;
        }
        for (mine, theirs) in self.aggregates.iter_mut().zip(&other.aggregates) {
            let Some(set) = &theirs.distinct else {
                continue;
            };
            let rows = &set.table.rows;
            let mut places = Vec::with_capacity(CHUNK);
            for start in (0..rows.len).step_by(CHUNK) {
                check()?;
                let end = rows.len.min(start + CHUNK);
                places.clear();
                places.extend((start as u32..end as u32).filter(|&place| {
                    let place = place as usize;
                    match part {
                        None => true,
                        Some(_) if grouped => remap[rows.word(place, 0) as usize] != NOWHERE,
                        Some(part) => partition_of(rows, place, 0, part.of) == part.number,
                    }
                }));
                mine.take_pairs(set, &places, grouped.then_some(&remap[..]))?;
            }
        }
        Ok(())
    }
}

impl Aggregate {
    /// Merges states, those of distinct aggregates apart, which come from their pairs.
    pub fn merge(
        &mut self,
        other: &Self,
        from: &[u32],
        to: &[u32],
        groups: usize,
    ) -> Result<(), ExecError> {
        self.state.grow(groups, other.state.is_complete())?;
        match (&self.distinct, &other.distinct) {
            (None, None) => self.state.merge(&other.state, from, to),
            (Some(_), Some(_)) => Ok(()),
            _ => panic!("a closed aggregator was merged with one that is not"),
        }
    }

    /// Takes in pairs of a set, at most [`CHUNK`].
    pub fn take_pairs(
        &mut self,
        other: &DistinctSet,
        places: &[u32],
        remap: Option<&[u32]>,
    ) -> Result<(), ExecError> {
        let (Some(set), false) = (&mut self.distinct, places.is_empty()) else {
            return Ok(());
        };
        let (new, groups) = set.insert_rows(other, places, remap)?;
        let (Some(&first), Some(&last)) = (new.first(), new.last()) else {
            return Ok(());
        };
        let values = other.table.rows.column(other.value, first as usize, last as usize + 1);
        let new: Vec<u32> = new.iter().map(|&place| place - first).collect();
        let values = values.gather(&new);
        let groups = if remap.is_some() { Groups::Of(&groups) } else { Groups::One };
        self.state.update(groups, Some(&values), new.len())
    }
}
