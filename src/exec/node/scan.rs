//! Rows of a ColumnarScan: blocks of datums, a row at a time into the scan slot.
//!
//! Batches run forward. A cursor that may go back has the places of its rows remembered, a few bytes a block and four a row of
//! a block of which filters removed some; rows it comes back to are fetched by their TIDs.

use super::by_tid::ByTid;
use super::state::NodeState;
use super::unfiltered::Unfiltered;
use crate::am::scan;
use crate::exec::run::Run;
use columnar_exec::pipeline::RowBlock;
use pgrx::pg_sys;
use std::sync::Arc;

/// Rows being handed out.
pub struct Rows {
    block: Option<RowBlock>,
    unfiltered: Option<Unfiltered>,
    next: usize,
    history: Option<History>,
}

/// Rows that were handed out, and where a cursor stands among them.
struct History {
    blocks: Vec<Past>,
    /// Rows handed out by batches.
    rows: u64,
    /// The row the cursor is on, from 1; 0 before the first, `rows + 1` behind the last.
    position: u64,
    fetch: ByTid,
}

/// A block that was handed out, in part perhaps.
struct Past {
    /// Rows handed out before it.
    before: u64,
    sequence: u64,
    places: Option<Arc<Vec<u32>>>,
}

impl Rows {
    /// None yet; `scrolls` says that the cursor may go back.
    ///
    /// # Safety
    /// `node` is running.
    pub unsafe fn new(node: *mut NodeState, scrolls: bool) -> Self {
        let history = scrolls.then(|| History {
            blocks: Vec::new(),
            rows: 0,
            position: 0,
            // SAFETY: as the caller's.
            fetch: unsafe { ByTid::new(node) },
        });
        Self { block: None, unfiltered: None, next: 0, history }
    }

    /// Whether rows may be asked for again when all were handed out.
    pub fn scrolls(&self) -> bool {
        self.history.is_some()
    }

    /// Stores the next row in the executor's direction in the scan slot.
    ///
    /// # Safety
    /// The node is running and the slot is its own.
    pub unsafe fn next(&mut self, node: *mut NodeState, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: as the caller's.
        unsafe {
            let inner = NodeState::inner(node);
            let Some(run) = &mut inner.run else { return false };
            let Some(history) = &mut self.history else { return self.forward(node, run, slot) };
            let estate = (*node).css.ss.ps.state;
            if (*estate).es_direction < pg_sys::ScanDirection::NoMovementScanDirection {
                history.position = history.position.saturating_sub(1);
                return history.refetch(node, run, slot);
            }
            if history.position < history.rows {
                history.position += 1;
                return history.refetch(node, run, slot);
            }
            let at_end = history.position > history.rows;
            let found = !at_end && self.forward(node, run, slot);
            let Some(history) = &mut self.history else { return found };
            if found {
                history.rows += 1;
            }
            history.position = history.rows + u64::from(!found);
            found
        }
    }

    /// Stores the next row of the batches.
    unsafe fn forward(
        &mut self,
        node: *mut NodeState,
        run: &mut Run,
        slot: *mut pg_sys::TupleTableSlot,
    ) -> bool {
        // SAFETY: as `next`; pointers among the datums lead into the block, which stays until the next one is fetched, that
        // is until after the slot's row was used.
        unsafe {
            loop {
                while self.block.as_ref().is_none_or(|block| self.next >= block.len) {
                    if !self.next_block(node, run, slot) {
                        return false;
                    }
                }
                let Some(block) = &self.block else { return false };
                let row = self.next;
                clear(slot);
                let setup = &NodeState::inner(node).setup;
                let (values, nulls) = ((*slot).tts_values, (*slot).tts_isnull);
                for (column, &attribute) in block.columns.iter().zip(&setup.outputs) {
                    let is_null = column.nulls.as_ref().is_some_and(|nulls| nulls[row]);
                    values.add(attribute).write(pg_sys::Datum::from(column.words[row]));
                    nulls.add(attribute).write(is_null);
                }
                if setup.wants_tid {
                    let place = block.places.as_ref().map_or(row as u32, |places| places[row]);
                    if let Some(tid) = run.reader.tid(block.sequence, place) {
                        (*slot).tts_tid = tid;
                    }
                }
                (*slot).tts_tableOid = (*(*node).rel).rd_id;
                self.next += 1;
                if let Some(unfiltered) = &self.unfiltered {
                    unfiltered.fill(slot, row);
                    if !unfiltered.passes(node, run, slot) {
                        continue;
                    }
                    if let Some(history) = &mut self.history {
                        history.note(block, row);
                    }
                }
                store(slot);
                return true;
            }
        }
    }

    /// Goes over to the next block; false when there is none.
    unsafe fn next_block(
        &mut self,
        node: *mut NodeState,
        run: &mut Run,
        slot: *mut pg_sys::TupleTableSlot,
    ) -> bool {
        // SAFETY: as `forward`.
        unsafe {
            if let Some(block) = self.block.take()
                && self.history.is_none()
            {
                run.reader.forget(block.sequence);
            }
            if let Some(unfiltered) = self.unfiltered.take() {
                clear(slot);
                unfiltered.clear(slot);
            }
            self.next = 0;
            let Some(mut block) = run.next_block() else { return false };
            self.unfiltered = Unfiltered::of(node, &mut block);
            scan::count((*node).rel, |counts| counts.count_returned_rows(block.len as u64));
            if let (Some(history), None) = (&mut self.history, &self.unfiltered) {
                history.blocks.push(Past {
                    before: history.rows,
                    sequence: block.sequence,
                    places: block.places.clone(),
                });
            }
            self.block = Some(block);
            true
        }
    }

    /// Releases what the server gave.
    ///
    /// # Safety
    /// The row handed out last is not used any more.
    pub unsafe fn end(&mut self) {
        if let Some(history) = &mut self.history {
            // SAFETY: as the caller's.
            unsafe { history.fetch.end() };
        }
    }
}

impl History {
    /// Notes a row of a block of which not all rows are handed out, before it is.
    fn note(&mut self, block: &RowBlock, row: usize) {
        let place = block.places.as_ref().map_or(row as u32, |places| places[row]);
        let places = Some(Arc::new(vec![place]));
        self.blocks.push(Past { before: self.rows, sequence: block.sequence, places });
    }

    /// Stores the row at the position again; false before the first.
    unsafe fn refetch(
        &self,
        node: *mut NodeState,
        run: &Run,
        slot: *mut pg_sys::TupleTableSlot,
    ) -> bool {
        let Some(row) = self.position.checked_sub(1) else { return false };
        let at = self.blocks.partition_point(|past| past.before <= row) - 1;
        let past = &self.blocks[at];
        let index = (row - past.before) as usize;
        let place = past.places.as_ref().map_or(index as u32, |places| places[index]);
        let Some(tid) = run.reader.tid(past.sequence, place) else {
            panic!("the place of a row that was handed out is not known")
        };
        // SAFETY: as the caller's.
        unsafe { self.fetch.fetch(node, tid, slot) };
        true
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
