//! TABLESAMPLE: the sampling method picks blocks and offsets, the scan says which of those are visible rows.
//!
//! Blocks are numbered 0, 1, ... over the steps of all units, so that a table of row pages alone is numbered as heap's.

use super::Scan;
use crate::am::{heap, storage::page};
use crate::ports;
use pgrx::pg_sys;

/// Progress of a sample scan.
#[derive(Debug, Default)]
pub struct SampleState {
    /// Block last chosen, when blocks are read in order.
    current: Option<u32>,
    /// Highest offset of the current block.
    max_offset: u16,
}

/// Chooses the next block (`scan_sample_next_block`).
///
/// # Safety
/// `scan` came from `begin`, `node` is the executor's sample scan.
pub unsafe fn sample_next_block(scan: pg_sys::TableScanDesc, node: *mut pg_sys::SampleScanState) -> bool {
    // SAFETY: the descriptor and the node are alive; the method's callbacks are plain C functions.
    unsafe {
        let state = Scan::state(scan);
        let total = state.total_steps();
        if total == 0 {
            return false;
        }
        let block = match (*(*node).tsmroutine).NextSampleBlock {
            Some(next) => next(node, total),
            None => match state.sample.current {
                None => 0,
                Some(last) => last + 1,
            },
        };
        if block == pg_sys::InvalidBlockNumber || block >= total {
            state.sample.current = None;
            return false;
        }
        state.sample.current = Some(block);
        if let Some(reader) = state.reader.as_mut() {
            reader.set_snapshot((*scan).rs_snapshot);
        }
        state.load_step(block);
        state.sample.max_offset = state.max_offset();
        true
    }
}

/// Hands out the next sampled row of the block (`scan_sample_next_tuple`).
///
/// # Safety
/// As [`sample_next_block`]; `slot` is a slot of this access method.
pub unsafe fn sample_next_tuple(
    scan: pg_sys::TableScanDesc,
    node: *mut pg_sys::SampleScanState,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: as above.
    unsafe {
        let state = Scan::state(scan);
        let (Some(block), Some(next)) =
            (state.sample.current, (*(*node).tsmroutine).NextSampleTuple)
        else {
            return false;
        };
        loop {
            pgrx::check_for_interrupts!();
            let offset = next(node, block, state.sample.max_offset);
            if offset == 0 {
                pg_sys::ExecClearTuple(slot);
                return false;
            }
            let Ok(index) = state.rows.binary_search(&offset) else { continue };
            if state.emit_index(index, slot) {
                if let Some(info) = super::stat_info(state.rel) {
                    (*info).counts_returned(1);
                }
                return true;
            }
        }
    }
}

impl super::ScanState {
    fn total_steps(&self) -> u32 {
        self.units.iter().map(super::Unit::steps).sum()
    }

    /// Loads step `step`, counted over all units.
    fn load_step(&mut self, mut step: u32) {
        for unit in 0..self.units.len() {
            let steps = self.units[unit].steps();
            if step < steps {
                self.load(unit, step);
                self.position = Some(super::Position { unit, step, index: 0 });
                return;
            }
            step -= steps;
        }
    }

    /// Highest offset of the loaded step, visible or not: sampling methods draw from all of them.
    fn max_offset(&self) -> u16 {
        match (self.position.map(|p| self.units[p.unit]), self.reader.as_ref()) {
            // SAFETY: the loaded page is pinned.
            (Some(super::Unit::Pages { .. }), Some(reader)) => unsafe {
                let page: ports::Page = reader.page();
                if page::is_column_page(page) { 0 } else { heap::max_offset(page) }
            },
            _ => 0,
        }
    }

    unsafe fn emit_index(&mut self, index: usize, slot: *mut pg_sys::TupleTableSlot) -> bool {
        let Some(mut position) = self.position else { return false };
        position.index = index;
        // SAFETY: the row belongs to the loaded step.
        unsafe { self.emit(position, slot) }
    }

    pub(super) fn set_range(&mut self, low: u64, high: u64) {
        self.tid_range = Some((low, high));
        self.position = None;
    }
}
