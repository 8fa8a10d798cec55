//! Rows of the table fetched by their TIDs into a node's scan slot.

use super::state::NodeState;
use crate::am::{fetch, slot as am_slot};
use pgrx::pg_sys;

/// Fetches rows.
pub struct ByTid {
    /// A slot of the access method, in the query's memory context.
    slot: *mut pg_sys::TupleTableSlot,
}

impl ByTid {
    /// Makes the slot.
    ///
    /// # Safety
    /// `node` is running.
    pub unsafe fn new(node: *mut NodeState) -> Self {
        // SAFETY: as the caller's; the slot lives until `end` or the end of the query.
        unsafe {
            let estate = (*node).css.ss.ps.state;
            let old = pg_sys::MemoryContextSwitchTo((*estate).es_query_cxt);
            let desc = (*(*node).rel).rd_att;
            let slot = pg_sys::MakeSingleTupleTableSlot(desc, am_slot::ops());
            pg_sys::MemoryContextSwitchTo(old);
            Self { slot }
        }
    }

    /// Stores the row of a TID, which the node's snapshot sees, in the scan slot.
    ///
    /// # Safety
    /// The node is running and the slot is its own.
    pub unsafe fn fetch(
        &self,
        node: *mut NodeState,
        mut tid: pg_sys::ItemPointerData,
        slot: *mut pg_sys::TupleTableSlot,
    ) {
        // SAFETY: as the caller's; values of the fetched row live until the next is fetched.
        unsafe {
            let rel = (*node).rel;
            let snapshot = (*(*node).css.ss.ps.state).es_snapshot;
            if !fetch::row_version(rel, &raw mut tid, snapshot, self.slot) {
                lost(rel);
            }
            super::scan::clear(slot);
            let outputs = &NodeState::inner(node).setup.outputs;
            if let Some(last) = outputs.last() {
                let wanted = *last as i32 + 1;
                if i32::from((*self.slot).tts_nvalid) < wanted {
                    pg_sys::slot_getsomeattrs_int(self.slot, wanted);
                }
                for &attribute in outputs {
                    let value = *(*self.slot).tts_values.add(attribute);
                    let is_null = *(*self.slot).tts_isnull.add(attribute);
                    (*slot).tts_values.add(attribute).write(value);
                    (*slot).tts_isnull.add(attribute).write(is_null);
                }
            }
            (*slot).tts_tid = tid;
            (*slot).tts_tableOid = (*rel).rd_id;
            super::scan::store(slot);
        }
    }

    /// Releases the slot.
    ///
    /// # Safety
    /// The row fetched last is not used any more.
    pub unsafe fn end(&mut self) {
        if !self.slot.is_null() {
            // SAFETY: the slot came from `new`.
            unsafe { pg_sys::ExecDropSingleTupleTableSlot(self.slot) };
            self.slot = core::ptr::null_mut();
        }
    }
}

/// A row that the snapshot saw is there for as long as the snapshot is.
unsafe fn lost(rel: pg_sys::Relation) -> ! {
    // SAFETY: the relation is open.
    let table = unsafe { crate::am::relation_name(rel) };
    pgrx::ereport!(
        pgrx::PgLogLevel::ERROR,
        pgrx::PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        format!("a row of table \"{table}\" was found by a scan and not by its TID")
    );
    unreachable!()
}
