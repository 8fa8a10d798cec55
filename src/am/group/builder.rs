//! Rows on their way into a row group: values column by column, and who inserted them.

use super::head::{self, InsertRun};
use super::types::{self, Attribute};
use columnar_format::ColumnBuilder;
use pgrx::pg_sys;

/// A row whose values take more than this is kept on row pages, where TOAST holds its values.
pub const MAX_ROW_BYTES: usize = 1 << 20;
/// A group is closed when its values take more than this.
pub const MAX_GROUP_BYTES: usize = 64 << 20;

/// Rows collected for one group.
#[derive(Debug)]
pub struct RowBuilder {
    pub attributes: Vec<Attribute>,
    pub columns: Vec<ColumnBuilder>,
    pub runs: Vec<InsertRun>,
    pub rows: u32,
    /// Columns of variable length.
    variable: Vec<usize>,
}

impl RowBuilder {
    /// For rows of a tuple descriptor.
    ///
    /// # Safety
    /// `desc` is a live tuple descriptor.
    pub unsafe fn new(desc: pg_sys::TupleDesc) -> Self {
        // SAFETY: as the caller's.
        let attributes = unsafe { types::attributes(desc) };
        let columns = attributes.iter().map(|a| ColumnBuilder::new(a.spec)).collect();
        let variable = (0..attributes.len()).filter(|&i| attributes[i].is_variable()).collect();
        Self { attributes, columns, runs: Vec::new(), rows: 0, variable }
    }

    /// Memory the values take.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(ColumnBuilder::byte_size).sum()
    }

    /// Whether a row of an inserter still finds room in a group of `limit` rows.
    pub fn has_room(&self, limit: u32, xid: u32, cid: u32) -> bool {
        let same = self.runs.last().is_some_and(|run| run.xid == xid && run.cid == cid);
        self.rows < limit
            && (same || self.runs.len() < head::MAX_RUNS)
            && (!self.rows.is_multiple_of(256) || self.bytes() < MAX_GROUP_BYTES)
    }

    /// Appends a row.
    ///
    /// # Safety
    /// `values` and `nulls` have an entry for each attribute.
    pub unsafe fn push(
        &mut self,
        values: *const pg_sys::Datum,
        nulls: *const bool,
        xid: u32,
        cid: u32,
    ) {
        for (i, attribute) in self.attributes.iter().enumerate() {
            // SAFETY: as the caller's.
            unsafe {
                types::append(&mut self.columns[i], attribute, *values.add(i), *nulls.add(i));
            }
        }
        match self.runs.last_mut() {
            Some(run) if run.xid == xid && run.cid == cid => run.rows += 1,
            _ => self.runs.push(InsertRun { xid, cid, first: self.rows, rows: 1 }),
        }
        self.rows += 1;
    }

    /// Whether the values of a row are too wide for a row group.
    ///
    /// # Safety
    /// `values` and `nulls` have an entry for each attribute.
    pub unsafe fn is_wide(&self, values: *const pg_sys::Datum, nulls: *const bool) -> bool {
        let mut size = 0;
        for &i in &self.variable {
            // SAFETY: as the caller's.
            unsafe {
                if !*nulls.add(i) {
                    size += types::detoasted_size(&self.attributes[i], *values.add(i));
                }
            }
        }
        size > MAX_ROW_BYTES
    }
}
