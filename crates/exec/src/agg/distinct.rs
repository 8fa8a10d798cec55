//! The values that a distinct aggregate took in: each once a group.

use super::encode::numbers;
use super::input::Groups;
use super::spec::ValueType;
use super::table::KeyTable;
use crate::column::Column;
use crate::error::ExecError;

/// Pairs of a group and a value; where there are no keys, values.
#[derive(Debug)]
pub(super) struct DistinctSet {
    /// The pairs.
    pub table: KeyTable,
    /// Which key of the table is the value.
    pub value: usize,
    found: Vec<u32>,
}

impl DistinctSet {
    /// No pairs.
    pub fn new(grouped: bool, kind: ValueType) -> Self {
        let table =
            if grouped { KeyTable::new(&[ValueType::Int, kind]) } else { KeyTable::new(&[kind]) };
        Self { table, value: usize::from(grouped), found: Vec::new() }
    }

    /// Bytes allocated.
    pub fn memory_size(&self) -> usize {
        self.table.memory_size() + self.found.capacity() * size_of::<u32>()
    }

    /// Adds pairs and gives the rows whose pair is new.
    pub fn insert(
        &mut self,
        groups: Groups<'_>,
        values: &Column,
        rows: usize,
    ) -> Result<Vec<u32>, ExecError> {
        let before = self.table.len();
        match groups {
            Groups::One => {
                self.table.find(std::slice::from_ref(values), rows, &mut self.found)?;
            }
            Groups::Of(groups) => {
                let columns = [numbers(groups), values.clone()];
                self.table.find(&columns, rows, &mut self.found)?;
            }
        }
        Ok(first_of_each(&self.found, before))
    }

    /// Adds pairs of another set, whose group `g` is `remap[g]` here. Gives the rows whose pair is new and the groups of
    /// these.
    pub fn insert_rows(
        &mut self,
        other: &Self,
        places: &[u32],
        remap: Option<&[u32]>,
    ) -> Result<(Vec<u32>, Vec<u32>), ExecError> {
        let before = self.table.len();
        self.found.clear();
        let rows = &other.table.rows;
        let all = places.iter().map(|&place| place as usize);
        self.table.find_rows(rows, all, remap, &mut self.found)?;
        let new: Vec<u32> =
            first_of_each(&self.found, before).iter().map(|&at| places[at as usize]).collect();
        let group = |&place: &u32| match remap {
            Some(remap) => remap[rows.word(place as usize, 0) as usize],
            None => 0,
        };
        let groups = new.iter().map(group).collect();
        Ok((new, groups))
    }
}

/// The rows at which numbers from `next` on come for the first time. Numbers are given out in order.
fn first_of_each(numbers: &[u32], mut next: usize) -> Vec<u32> {
    let mut rows = Vec::new();
    for (row, &number) in numbers.iter().enumerate() {
        if number as usize == next {
            rows.push(row as u32);
            next += 1;
        }
    }
    rows
}
