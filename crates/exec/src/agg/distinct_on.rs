//! DISTINCT ON: of each group the first row of an order, as the keys of that order and a tag of the row.
//!
//! Rows that are equal in the order are told apart by tag, so that the result does not depend on the order in which batches
//! come. The other columns are read for the winners alone, by whoever knows what a tag stands for.

use std::cmp::Ordering;

use super::memory::{allocated, reserve};
use super::spec::KeyType;
use super::table::{CHUNK, KeyTable};
use crate::column::{Column, Data, Scalar};
use crate::error::ExecError;
use crate::topn::{Order, compare_row, compare_scalars};

/// Keeps the first row of each group.
///
/// After an error the contents are of no use.
#[derive(Debug)]
pub struct DistinctOn {
    order: Vec<Order>,
    table: Box<KeyTable>,
    /// Of each group, as many values as the order has keys.
    firsts: Vec<Scalar>,
    /// Of each group.
    tags: Vec<u64>,
    /// Bytes of the strings among `firsts`.
    string_bytes: usize,
    numbers: Vec<u32>,
}

impl DistinctOn {
    /// Without rows; `keys` tell groups apart, of which there is at least one.
    pub fn new(keys: &[KeyType], order: Vec<Order>) -> Self {
        assert!(!keys.is_empty());
        Self {
            order,
            table: Box::new(KeyTable::new(keys)),
            firsts: Vec::new(),
            tags: Vec::new(),
            string_bytes: 0,
            numbers: Vec::new(),
        }
    }

    /// Groups.
    pub fn len(&self) -> usize {
        self.tags.len()
    }

    /// Whether no row has come.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }

    /// Bytes allocated.
    pub fn memory_size(&self) -> usize {
        self.table.memory_size()
            + allocated(&self.firsts)
            + allocated(&self.tags)
            + allocated(&self.numbers)
            + self.string_bytes
    }

    /// Whether groups outgrow `limit` bytes, or would while they take in `rows` rows more.
    pub fn outgrows(&self, limit: usize, rows: usize) -> bool {
        let size = self.memory_size();
        size > limit || size > limit / 2 && size + self.memory_ahead(rows) > limit
    }

    fn memory_ahead(&self, rows: usize) -> usize {
        self.table.memory_ahead(rows)
            + super::memory::ahead(&self.tags, rows)
            + super::memory::ahead(&self.firsts, rows * self.order.len())
    }

    /// Takes in `rows` rows: the keys of their groups, and those of the order. `tag` names a row and is unique.
    pub fn consume(
        &mut self,
        keys: &[Column],
        order_keys: &[Column],
        rows: usize,
        tag: impl Fn(usize) -> u64,
    ) -> Result<(), ExecError> {
        assert_eq!(order_keys.len(), self.order.len());
        order_keys.iter().for_each(|key| assert_eq!(key.len, rows, "a key has other rows"));
        let mut numbers = std::mem::take(&mut self.numbers);
        self.table.find(keys, rows, &mut numbers)?;
        self.make_room()?;
        let width = self.order.len();
        // Most rows lose in the first key, which is seldom anything but an integer.
        let integers = match order_keys.first() {
            Some(Column { data: Data::Int(values), nulls: None, .. }) => Some(&values[..]),
            _ => None,
        };
        let descending = self.order.first().is_some_and(|order| order.descending);
        for (row, &group) in numbers.iter().enumerate() {
            let group = group as usize;
            if group == self.tags.len() {
                self.firsts.extend(order_keys.iter().map(|key| key.get(row)));
                self.tags.push(tag(row));
                let added = &self.firsts[group * width..];
                self.string_bytes += added.iter().map(string_bytes).sum::<usize>();
                continue;
            }
            let first = &self.firsts[group * width..(group + 1) * width];
            if let (Some(values), Some(Scalar::Int(known))) = (integers, first.first()) {
                let value = values[row];
                if if descending { value < *known } else { value > *known } {
                    continue;
                }
            }
            let found = compare_row(order_keys, row, first, &self.order);
            if found.then_with(|| tag(row).cmp(&self.tags[group])) == Ordering::Less {
                let first = &mut self.firsts[group * width..(group + 1) * width];
                for (known, key) in first.iter_mut().zip(order_keys) {
                    self.string_bytes -= string_bytes(known);
                    *known = key.get(row);
                    self.string_bytes += string_bytes(known);
                }
                self.tags[group] = tag(row);
            }
        }
        self.numbers = numbers;
        Ok(())
    }

    /// For the groups that the table knows.
    fn make_room(&mut self) -> Result<(), ExecError> {
        let more = self.table.len() - self.tags.len();
        reserve(&mut self.tags, more)?;
        reserve(&mut self.firsts, more * self.order.len())
    }

    /// Takes in all that another took in. `check` is asked every some thousand groups; its error ends the work.
    pub fn merge(
        &mut self,
        mut other: Self,
        check: &dyn Fn() -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        assert_eq!(self.order, other.order);
        let width = self.order.len();
        let mut numbers = std::mem::take(&mut self.numbers);
        for from in (0..other.len()).step_by(CHUNK) {
            check()?;
            let to = other.len().min(from + CHUNK);
            numbers.clear();
            self.table.find_rows(&other.table.rows, from..to, None, &mut numbers)?;
            self.make_room()?;
            for (theirs, &group) in (from..to).zip(&numbers) {
                let group = group as usize;
                let tag = other.tags[theirs];
                let row = &mut other.firsts[theirs * width..(theirs + 1) * width];
                if group == self.tags.len() {
                    self.string_bytes += row.iter().map(string_bytes).sum::<usize>();
                    self.firsts
                        .extend(row.iter_mut().map(|value| std::mem::replace(value, Scalar::Null)));
                    self.tags.push(tag);
                    continue;
                }
                let first = &mut self.firsts[group * width..(group + 1) * width];
                let found = compare_scalars(row, first, &self.order);
                if found.then(tag.cmp(&self.tags[group])) == Ordering::Less {
                    self.string_bytes += row.iter().map(string_bytes).sum::<usize>();
                    self.string_bytes -= first.iter().map(string_bytes).sum::<usize>();
                    first.swap_with_slice(row);
                    self.tags[group] = tag;
                }
            }
        }
        self.numbers = numbers;
        Ok(())
    }

    /// The tags of the first rows, ascending.
    pub fn finish(self) -> Vec<u64> {
        let mut tags = self.tags;
        tags.sort_unstable();
        tags
    }
}

/// Bytes that a value has allocated.
fn string_bytes(value: &Scalar) -> usize {
    match value {
        Scalar::Bytes(bytes) => bytes.len() + 16,
        _ => 0,
    }
}

#[cfg(test)]
#[path = "distinct_on_tests.rs"]
mod tests;
