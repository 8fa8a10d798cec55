//! Rows of a ColumnarScan: blocks of datums, a row at a time into the scan slot.

use super::state::NodeState;
use crate::am::scan;
use columnar_exec::pipeline::RowBlock;
use pgrx::pg_sys;

/// Rows being handed out.
pub struct Rows {
    block: Option<RowBlock>,
    next: usize,
}

impl Rows {
    /// None yet.
    pub fn new() -> Self {
        Self { block: None, next: 0 }
    }

    /// Stores the next row in the scan slot.
    ///
    /// # Safety
    /// The node is running and the slot is its own.
    pub unsafe fn next(&mut self, node: *mut NodeState, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: as the caller's; pointers among the datums lead into the block, which stays until the next one is
        // fetched, that is until after the slot's row was used.
        unsafe {
            let inner = NodeState::inner(node);
            let Some(run) = &mut inner.run else { return false };
            while self.block.as_ref().is_none_or(|block| self.next >= block.len) {
                if let Some(block) = self.block.take() {
                    run.reader.forget(block.sequence);
                }
                self.next = 0;
                let Some(block) = run.next_block() else { return false };
                let rel = (*node).rel;
                scan::count(rel, |counts| counts.count_returned_rows(block.len as u64));
                self.block = Some(block);
            }
            let Some(block) = &self.block else { return false };
            let row = self.next;
            self.next += 1;
            clear(slot);
            let (values, nulls) = ((*slot).tts_values, (*slot).tts_isnull);
            for (column, &attribute) in block.columns.iter().zip(&inner.setup.outputs) {
                values.add(attribute).write(pg_sys::Datum::from(column.words[row]));
                nulls.add(attribute).write(column.nulls.as_ref().is_some_and(|nulls| nulls[row]));
            }
            if inner.setup.wants_tid {
                let place = block.places.as_ref().map_or(row as u32, |places| places[row]);
                if let Some(tid) = run.reader.tid(block.sequence, place) {
                    (*slot).tts_tid = tid;
                }
            }
            (*slot).tts_tableOid = (*(*node).rel).rd_id;
            store(slot);
            true
        }
    }
}

/// ExecClearTuple of a virtual slot.
///
/// # Safety
/// `slot` is a live virtual slot.
pub unsafe fn clear(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: as the caller's; a slot that was materialised has memory to free.
    unsafe {
        if u32::from((*slot).tts_flags) & pg_sys::TTS_FLAG_SHOULDFREE != 0 {
            pg_sys::ExecClearTuple(slot);
        }
    }
}

/// ExecStoreVirtualTuple.
///
/// # Safety
/// `slot` is a cleared virtual slot with values for all its attributes.
pub unsafe fn store(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: as the caller's.
    unsafe {
        (*slot).tts_flags &= !(pg_sys::TTS_FLAG_EMPTY as u16);
        (*slot).tts_nvalid = (*(*slot).tts_tupleDescriptor).natts as i16;
    }
}
