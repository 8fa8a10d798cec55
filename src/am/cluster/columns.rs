//! The row groups of a table's new file.

use crate::am::group::builder::RowBuilder;
use crate::am::group::{cache, writer};
use crate::am::options::TableOptions;
use crate::am::storage;
use crate::am::storage::directory::{self, Change, Entry, EntryKind};
use crate::am::storage::extent;
use pgrx::pg_sys;

/// Collects rows and writes full groups.
pub(super) struct ColumnsWriter {
    rel: pg_sys::Relation,
    options: TableOptions,
    rows: RowBuilder,
}

impl ColumnsWriter {
    /// # Safety
    /// `rel` is open and locked exclusively.
    pub unsafe fn new(rel: pg_sys::Relation, options: TableOptions) -> Self {
        // SAFETY: as the caller's.
        let rows = unsafe { RowBuilder::new((*rel).rd_att) };
        Self { rel, options, rows }
    }

    /// Appends a row inserted by `xid` and `cid`.
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
        // SAFETY: as the caller's.
        unsafe {
            if !self.rows.has_room(self.options.row_group_rows, xid, cid) {
                self.flush();
            }
            self.rows.push(values, nulls, xid, cid);
        }
    }

    /// Writes the rows collected so far as a group.
    ///
    /// # Safety
    /// The relation is still open.
    pub unsafe fn flush(&mut self) {
        // SAFETY: as the caller's.
        unsafe {
            let full = core::mem::replace(&mut self.rows, RowBuilder::new((*self.rel).rd_att));
            if full.rows == 0 {
                return;
            }
            storage::metapage::ensure(self.rel);
            let blocks = directory::row_blocks(full.rows);
            let mut change = Change::begin(self.rel);
            let group = change.next_group();
            let first = change.reserve_row_blocks(blocks);
            change.commit();
            let encoded = writer::encode(&full.columns, full.rows, &self.options);
            let written = writer::write(self.rel, group, &encoded, &full.runs);
            let mut change = Change::begin(self.rel);
            change.put(Entry {
                kind: EntryKind::Columns as u8,
                first_row_block: first,
                row_blocks: blocks,
                ..written
            });
            change.commit();
            extent::settle(self.rel, &[written.extent]);
            cache::forget(self.rel);
        }
    }
}
