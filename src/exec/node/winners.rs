//! Rows of a ColumnarTopN over a table: the first rows of its order, fetched by their TIDs.

use super::by_tid::ByTid;
use super::state::NodeState;
use crate::exec::run::Run;
use columnar_exec::pipeline::{State, untag};
use pgrx::pg_sys;

/// Rows being handed out.
pub struct Winners {
    tids: Vec<pg_sys::ItemPointerData>,
    next: usize,
    fetch: ByTid,
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
        // SAFETY: as the caller's.
        Self { tids, next: 0, fetch: unsafe { ByTid::new(node) } }
    }

    /// Stores the next row in the scan slot.
    ///
    /// # Safety
    /// The node is running and the slot is its own.
    pub unsafe fn next(&mut self, node: *mut NodeState, slot: *mut pg_sys::TupleTableSlot) -> bool {
        let Some(tid) = self.tids.get(self.next) else { return false };
        self.next += 1;
        // SAFETY: as the caller's.
        unsafe { self.fetch.fetch(node, *tid, slot) };
        true
    }

    /// Releases the slot.
    ///
    /// # Safety
    /// The row handed out last is not used any more.
    pub unsafe fn end(&mut self) {
        // SAFETY: as the caller's.
        unsafe { self.fetch.end() };
    }
}
