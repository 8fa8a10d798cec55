//! Rows of a ColumnarScan whose filters met a value that kernels cannot hold: PostgreSQL filters them.

use super::scan::store;
use super::state::NodeState;
use crate::exec::run::Run;
use crate::exec::translate::values;
use columnar_exec::datum::DatumColumn;
use columnar_exec::pipeline::RowBlock;
use pgrx::pg_sys;
use std::sync::atomic::Ordering;

/// What the filters read of the rows of a block.
pub struct Unfiltered {
    /// With the attribute of each.
    columns: Vec<(usize, DatumColumn)>,
}

impl Unfiltered {
    /// Of a block, unless its rows were filtered.
    pub fn of(node: *mut NodeState, block: &mut RowBlock) -> Option<Self> {
        // SAFETY: the node is running.
        let setup = unsafe { &NodeState::inner(node).setup };
        let columns = block.unfiltered.take()?.into_iter().map(|(column, values)| {
            let datums = values::datum_column(&values, &setup.held[column]);
            (setup.requests[column].attribute, datums)
        });
        Some(Self { columns: columns.collect() })
    }

    /// Stores what the filters read of a row.
    ///
    /// # Safety
    /// `slot` is the node's scan slot; the block lives as long as its row.
    pub unsafe fn fill(&self, slot: *mut pg_sys::TupleTableSlot, row: usize) {
        // SAFETY: as the caller's.
        unsafe {
            for (attribute, column) in &self.columns {
                (*slot).tts_values.add(*attribute).write(column.words[row].into());
                let is_null = column.nulls.as_ref().is_some_and(|nulls| nulls[row]);
                (*slot).tts_isnull.add(*attribute).write(is_null);
            }
        }
    }

    /// Whether the row in the slot passes all filters of the plan.
    ///
    /// # Safety
    /// `slot` is the node's scan slot, with a row of the block.
    pub unsafe fn passes(
        &self,
        node: *mut NodeState,
        run: &Run,
        slot: *mut pg_sys::TupleTableSlot,
    ) -> bool {
        // SAFETY: as the caller's; the memory of a row is free before the row is handed out.
        unsafe {
            let econtext = (*node).css.ss.ps.ps_ExprContext;
            store(slot);
            (*econtext).ecxt_scantuple = slot;
            let filter = NodeState::inner(node).setup.whole_filter;
            let passes = pg_sys::ExecQual(filter, econtext);
            pg_sys::MemoryContextReset((*econtext).ecxt_per_tuple_memory);
            if let (false, Some(removed)) = (passes, run.pipeline().removed.first()) {
                removed.fetch_add(1, Ordering::Relaxed);
            }
            passes
        }
    }

    /// Forgets values that go with the block.
    ///
    /// # Safety
    /// `slot` is the node's scan slot, whose row is not used any more.
    pub unsafe fn clear(&self, slot: *mut pg_sys::TupleTableSlot) {
        // SAFETY: as the caller's.
        unsafe {
            for (attribute, _) in &self.columns {
                (*slot).tts_values.add(*attribute).write(pg_sys::Datum::null());
                (*slot).tts_isnull.add(*attribute).write(true);
            }
        }
    }
}
