//! The states of one aggregate: a cell a group.

use super::input::Groups;
use super::memory::{ahead, allocated, grow, reserve};
use super::wire::{Reader, put_bool};
use crate::column::Data;
use crate::error::ExecError;

/// The state of an aggregate in one group.
pub(super) trait Cell: Copy + Send + std::fmt::Debug {
    /// What is taken in.
    type Value: Copy;
    /// The state before the first value.
    const EMPTY: Self;
    /// Whether the cell knows itself if it took in a value.
    const COUNTS: bool = false;

    /// Takes in a value; false if the aggregate fails.
    fn add(&mut self, value: Self::Value) -> bool;

    /// Takes in values in their order; false if the aggregate fails.
    #[inline]
    fn fold(&mut self, values: &[Self::Value]) -> bool {
        values.iter().fold(true, |fine, &value| fine & self.add(value))
    }

    /// Takes in the values that another cell took in; false if the aggregate fails.
    fn merge(&mut self, other: &Self) -> bool;

    /// Whether a value was taken in. Asked if [`Self::COUNTS`].
    fn has_input(&self) -> bool {
        true
    }

    /// What is raised where the aggregate fails.
    fn failure() -> ExecError {
        ExecError::Unsupported
    }

    /// Result columns, and whether each is NULL where no value was taken in.
    fn output(cells: &[Self], scale: u8) -> Vec<(Data, bool)>;

    /// Writes to a spill file.
    fn write(&self, out: &mut Vec<u8>);

    /// Reads what was written.
    fn read(reader: &mut Reader<'_>) -> Result<Self, ExecError>;
}

/// Cells of all groups.
#[derive(Debug)]
pub(super) struct Cells<C> {
    cells: Vec<C>,
    /// Whether a group took in a value; `None` while all did. Not used if the cells know themselves.
    seen: Option<Vec<bool>>,
}

impl<C: Cell> Cells<C> {
    /// No groups.
    pub fn new() -> Self {
        Self { cells: Vec::new(), seen: None }
    }

    /// One group, which took in a value.
    pub fn one(cell: C) -> Self {
        Self { cells: vec![cell], seen: None }
    }

    /// The same states in another form.
    pub fn convert<D: Cell>(&self, form: impl Fn(&C) -> D) -> Result<Cells<D>, ExecError> {
        let mut cells = Vec::new();
        reserve(&mut cells, self.cells.len())?;
        cells.extend(self.cells.iter().map(form));
        Ok(Cells { cells, seen: self.seen.clone() })
    }

    /// Bytes allocated.
    pub fn memory_size(&self) -> usize {
        allocated(&self.cells) + self.seen.as_ref().map_or(0, allocated)
    }

    /// Bytes beyond those that `more` groups need.
    pub fn memory_ahead(&self, more: usize) -> usize {
        ahead(&self.cells, more) + self.seen.as_ref().map_or(0, |seen| ahead(seen, more))
    }

    /// Whether all groups took in a value, as far as that is known without looking at the cells.
    pub fn is_complete(&self) -> bool {
        self.seen.is_none()
    }

    /// Adds groups up to `groups`. If not `complete`, groups may be left without a value by what comes next.
    pub fn grow(&mut self, groups: usize, complete: bool) -> Result<(), ExecError> {
        if !C::COUNTS {
            if !complete && self.seen.is_none() {
                let mut seen = Vec::new();
                grow(&mut seen, self.cells.len(), true)?;
                self.seen = Some(seen);
            }
            if let Some(seen) = &mut self.seen {
                grow(seen, groups, false)?;
            }
        }
        grow(&mut self.cells, groups, C::EMPTY)
    }

    /// Takes in a value a row.
    #[inline]
    pub fn update(&mut self, groups: Groups<'_>, values: &[C::Value]) -> Result<(), ExecError> {
        let mut fine = true;
        match groups {
            Groups::One => {
                fine = self.cells[0].fold(values);
                if let (Some(seen), false) = (&mut self.seen, values.is_empty()) {
                    seen[0] = true;
                }
            }
            Groups::Of(groups) => {
                for (&group, &value) in groups.iter().zip(values) {
                    fine &= self.cells[group as usize].add(value);
                }
                if let Some(seen) = &mut self.seen {
                    groups.iter().for_each(|&group| seen[group as usize] = true);
                }
            }
        }
        if fine { Ok(()) } else { Err(C::failure()) }
    }

    /// Merges the groups `from` of other cells into the groups `to`.
    pub fn merge(&mut self, other: &Self, from: &[u32], to: &[u32]) -> Result<(), ExecError> {
        let mut fine = true;
        for (&from, &to) in from.iter().zip(to) {
            if other.has_input(from as usize) {
                fine &= self.cells[to as usize].merge(&other.cells[from as usize]);
                if let Some(seen) = &mut self.seen {
                    seen[to as usize] = true;
                }
            }
        }
        if fine { Ok(()) } else { Err(C::failure()) }
    }

    /// Whether a group took in a value.
    #[inline]
    pub fn has_input(&self, group: usize) -> bool {
        if C::COUNTS {
            self.cells[group].has_input()
        } else {
            self.seen.as_ref().is_none_or(|seen| seen[group])
        }
    }

    /// Result columns of some groups, and which of their rows are NULL.
    pub fn output(&self, from: usize, to: usize, scale: u8) -> Vec<(Data, Option<Vec<bool>>)> {
        let nulls: Vec<bool> = (from..to).map(|group| !self.has_input(group)).collect();
        let nulls = nulls.contains(&true).then_some(nulls);
        C::output(&self.cells[from..to], scale)
            .into_iter()
            .map(|(data, nullable)| (data, nulls.clone().filter(|_| nullable)))
            .collect()
    }

    /// Writes some groups to a spill file.
    pub fn write(&self, groups: &[u32], out: &mut Vec<u8>) {
        put_bool(self.seen.is_some(), out);
        for &group in groups {
            if let Some(seen) = &self.seen {
                put_bool(seen[group as usize], out);
            }
            self.cells[group as usize].write(out);
        }
    }

    /// Reads groups into what was empty.
    pub fn read(&mut self, reader: &mut Reader<'_>, groups: usize) -> Result<(), ExecError> {
        let with_seen = reader.bool()?;
        self.grow(0, !with_seen)?;
        for _ in 0..groups {
            if with_seen {
                let seen = reader.bool()?;
                if let Some(list) = &mut self.seen {
                    list.push(seen);
                }
            }
            self.cells.push(C::read(reader)?);
        }
        Ok(())
    }
}
