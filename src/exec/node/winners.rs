//! Rows of a ColumnarTopN over a table: the first rows of its order, fetched by their TIDs.

use super::state::NodeState;
use crate::am::{fetch, slot as am_slot};
use crate::exec::run::Run;
use columnar_exec::pipeline::{State, untag};
use pgrx::pg_sys;

/// Rows being handed out.
pub struct Winners {
    tids: Vec<pg_sys::ItemPointerData>,
    next: usize,
    slot: *mut pg_sys::TupleTableSlot,
}

impl Winners {
    /// Runs the scan to its end.
    ///
    /// # Safety
    /// `node` is starting with this run.
    pub unsafe fn new(node: *mut NodeState, run: &mut Run) -> Self {
        let mut best = None;
        for state in run.gather() {
            let State::TopN(top) = state else { continue };
            match &mut best {
                None => best = Some(top),
                Some(best) => best.merge(top),
            }
        }
        let ranked = best.map_or(Vec::new(), |best| best.finish());
        let tids = ranked
            .into_iter()
            .filter_map(|(_, tag)| {
                let (sequence, place) = untag(tag);
                run.reader.tid(sequence, place)
            })
            .collect();
        // SAFETY: the slot lives in the query's memory context until `end`.
        let slot = unsafe {
            let estate = (*node).css.ss.ps.state;
            let old = pg_sys::MemoryContextSwitchTo((*estate).es_query_cxt);
            let desc = (*(*node).rel).rd_att;
            let slot = pg_sys::MakeSingleTupleTableSlot(desc, am_slot::ops());
            pg_sys::MemoryContextSwitchTo(old);
            slot
        };
        Self { tids, next: 0, slot }
    }

    /// Stores the next row in the scan slot.
    ///
    /// # Safety
    /// The node is running and the slot is its own.
    pub unsafe fn next(&mut self, node: *mut NodeState, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: as the caller's; values of the fetched row live until the next is fetched.
        unsafe {
            let Some(tid) = self.tids.get_mut(self.next) else { return false };
            self.next += 1;
            let rel = (*node).rel;
            let snapshot = (*(*node).css.ss.ps.state).es_snapshot;
            if !fetch::row_version(rel, tid, snapshot, self.slot) {
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
            (*slot).tts_tid = *tid;
            (*slot).tts_tableOid = (*rel).rd_id;
            super::scan::store(slot);
            true
        }
    }

    /// Releases the slot.
    ///
    /// # Safety
    /// The row handed out last is not used any more.
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
