//! The plan of core's nodes that does the work of a ColumnarAgg or ColumnarTopN where batches cannot hold a value.

use super::state::NodeState;
use core::ptr;
use pgrx::pg_sys;

/// The plan at work. Its state is the node's, so that a node that is started over initialises it once.
pub struct CorePlan {
    state: *mut pg_sys::PlanState,
}

impl CorePlan {
    /// Whether a node has such a plan.
    ///
    /// # Safety
    /// `node` is initialised.
    pub unsafe fn is_there(node: *const NodeState) -> bool {
        // SAFETY: as the caller's.
        unsafe { !(*plan_of(node)).custom_plans.is_null() }
    }

    /// Starts it, or starts it over.
    ///
    /// # Safety
    /// `node` is running and has such a plan.
    pub unsafe fn start(node: *mut NodeState) -> Self {
        // SAFETY: as the caller's; what the plan initialises lives in the query's memory context.
        unsafe {
            if !(*node).core.is_null() {
                pg_sys::ExecReScan((*node).core);
                return Self { state: (*node).core };
            }
            let estate = (*node).css.ss.ps.state;
            let old = pg_sys::MemoryContextSwitchTo((*estate).es_query_cxt);
            let plan = (*(*(*plan_of(node)).custom_plans).elements).ptr_value.cast();
            let state = pg_sys::ExecInitNode(plan, estate, 0);
            pg_sys::MemoryContextSwitchTo(old);
            (*node).core = state;
            Self { state }
        }
    }

    /// The next row.
    ///
    /// # Safety
    /// The row before it is not used any more.
    pub unsafe fn row(&self) -> Option<*mut pg_sys::TupleTableSlot> {
        // SAFETY: the plan was started.
        unsafe {
            let run = (*self.state).ExecProcNode.unwrap_or_else(|| panic!("a plan cannot be run"));
            let row = pg_sys::ffi::pg_guard_ffi_boundary(|| run(self.state));
            let empty = row.is_null() || u32::from((*row).tts_flags) & pg_sys::TTS_FLAG_EMPTY != 0;
            if empty {
                return None;
            }
            pg_sys::slot_getsomeattrs(row, (*(*row).tts_tupleDescriptor).natts);
            Some(row)
        }
    }

    /// Stores the next row in the scan slot: the columns that a ColumnarAgg computes.
    ///
    /// # Safety
    /// `slot` is the scan slot of the node that started the plan.
    pub unsafe fn next(&self, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: as the caller's; the plan's rows have no more columns than the slot, and live until its next row.
        unsafe {
            super::scan::clear(slot);
            let Some(row) = self.row() else { return false };
            let count = (*(*row).tts_tupleDescriptor).natts as usize;
            ptr::copy_nonoverlapping((*row).tts_values, (*slot).tts_values, count);
            ptr::copy_nonoverlapping((*row).tts_isnull, (*slot).tts_isnull, count);
            super::scan::store(slot);
            true
        }
    }

    /// Tells the plan of a node that is started over which parameters changed.
    ///
    /// # Safety
    /// `node` is being started over.
    pub unsafe fn note_changes(node: *const NodeState) {
        // SAFETY: as the caller's.
        unsafe {
            if !(*node).core.is_null() {
                pg_sys::UpdateChangedParamSet((*node).core, (*node).css.ss.ps.chgParam);
            }
        }
    }

    /// Ends the plan of a node.
    ///
    /// # Safety
    /// The node ends.
    pub unsafe fn end(node: *mut NodeState) {
        // SAFETY: the state came from `start`; none is left alone.
        unsafe {
            pg_sys::ExecEndNode((*node).core);
            (*node).core = ptr::null_mut();
        }
    }
}

unsafe fn plan_of(node: *const NodeState) -> *const pg_sys::CustomScan {
    // SAFETY: as the caller's.
    unsafe { (*node).css.ss.ps.plan.cast() }
}
