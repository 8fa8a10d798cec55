//! Rows of a ColumnarTopN over a table: the first rows of its order, fetched by their TIDs.

use super::by_tid::ByTid;
use super::core_plan::CorePlan;
use super::state::NodeState;
use crate::exec::run::Run;
use columnar_exec::phases::{Phase, Stopwatch};
use columnar_exec::pipeline::{State, untag};
use pgrx::pg_sys;
use std::sync::Arc;

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
        let Some(states) = run.gather() else {
            // SAFETY: as the caller's.
            let tids = unsafe { tids_of_core(node) };
            // SAFETY: as above.
            return Self { tids, next: 0, fetch: unsafe { ByTid::new(node) } };
        };
        let pipeline = Arc::clone(run.pipeline());
        let _watch = Stopwatch::start(pipeline.phases.as_ref(), Phase::Merge);
        let mut best = None;
        for state in states {
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

/// The first rows, from core's plan.
unsafe fn tids_of_core(node: *mut NodeState) -> Vec<pg_sys::ItemPointerData> {
    // SAFETY: as the caller's; the plan's first column is ctid.
    unsafe {
        let inner = NodeState::inner(node);
        inner.totals.left_to_core += 1;
        let limit = inner.setup.shape.top.as_ref().map_or(0, |top| top.limit as usize);
        let plan = CorePlan::start(node);
        let mut tids = Vec::new();
        while tids.len() < limit
            && let Some(row) = plan.row()
        {
            let tid = (*(*row).tts_values).cast_mut_ptr::<pg_sys::ItemPointerData>();
            tids.push(*tid);
        }
        tids
    }
}
