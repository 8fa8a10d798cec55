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
    /// Row of the current block's offset 1, in a row group.
    first_row: u32,
}

/// Chooses the next block (`scan_sample_next_block`).
///
/// # Safety
/// `scan` came from `begin`, `node` is the executor's sample scan.
pub unsafe fn sample_next_block(
    scan: pg_sys::TableScanDesc,
    node: *mut pg_sys::SampleScanState,
) -> bool {
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
        state.set_snapshot((*scan).rs_snapshot);
        state.load_step(block);
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
            let Ok(index) = state.rows.binary_search(&state.sample_row(offset)) else { continue };
            if state.emit(index, slot) {
                super::count(state.rel, |counts| counts.count_returned());
                return true;
            }
        }
    }
}

impl super::ScanState {
    fn total_steps(&self) -> u32 {
        self.units.iter().map(|unit| unit.steps(self.step_rows)).sum()
    }

    /// Loads step `step`, counted over all units.
    fn load_step(&mut self, mut step: u32) {
        for unit in 0..self.units.len() {
            let steps = self.units[unit].steps(self.step_rows);
            if step >= steps {
                step -= steps;
                continue;
            }
            self.load(unit, step);
            match &self.units[unit] {
                // Sampling methods draw from all line pointers or rows, visible or not.
                super::Unit::Pages { .. } if self.group.is_none() => {
                    self.sample.first_row = 0;
                    // SAFETY: the loaded page is pinned.
                    self.sample.max_offset = self.reader.as_ref().map_or(0, |reader| unsafe {
                        let page: ports::Page = reader.page();
                        if page::is_column_page(page) { 0 } else { heap::max_offset(page) }
                    });
                }
                super::Unit::Pages { .. } => {
                    // A page that was moved meanwhile: its rows are consecutive in their group.
                    self.sample.first_row = self.rows.first().copied().unwrap_or(0);
                    self.sample.max_offset = self.rows.len() as u16;
                }
                super::Unit::Group(group) => {
                    self.sample.first_row = step * self.step_rows;
                    let rows = (group.rows() - self.sample.first_row).min(self.step_rows);
                    self.sample.max_offset = rows as u16;
                }
            }
            return;
        }
    }

    /// The row that an offset of the loaded step names.
    fn sample_row(&self, offset: u16) -> u32 {
        if self.group.is_some() {
            self.sample.first_row + u32::from(offset) - 1
        } else {
            u32::from(offset)
        }
    }
}
