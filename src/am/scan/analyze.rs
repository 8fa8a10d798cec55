//! Sampling for ANALYZE: core draws physical blocks; a row page yields its tuples, a page of column data its share of the
//! group's rows.
//!
//! The pages of a group's data stand for its rows in order: page `i` of `n` for rows `i * rows / n ..`. So a sample of
//! blocks is a sample of rows, and rows per block times blocks is their number.

use super::{Scan, pages};
use crate::am::group::marks::Mark;
use crate::am::group::visibility::{self, InsertStatus};
use crate::am::group::{Group, cache};
use crate::am::storage::page;
use crate::am::{heap, slot};
use crate::ports;
use core::ops::Range;
use pgrx::pg_sys;
use std::rc::Rc;

/// The sampled block.
#[derive(Debug, Default)]
pub enum AnalyzeState {
    /// A row page, in heapam's descriptor.
    #[default]
    Page,
    /// Rows of a group.
    Rows(Rc<Group>, Range<u32>),
    /// A page without rows.
    Nothing,
}

/// Takes the next sampled block (`scan_analyze_next_block`, PostgreSQL 17 and later).
///
/// # Safety
/// `scan` came from `begin`; `stream` yields pinned buffers of the relation.
#[cfg(any(feature = "pg17", feature = "pg18"))]
pub unsafe fn next_block(scan: pg_sys::TableScanDesc, stream: *mut pg_sys::ReadStream) -> bool {
    // SAFETY: heapam's descriptor takes over the stream's pin and its page lock.
    unsafe {
        let state = Scan::state(scan);
        let Some(reader) = state.reader.as_ref() else { return false };
        let descriptor = reader.descriptor();
        if !heap::heapam!(scan_analyze_next_block(descriptor.cast(), stream)) {
            return false;
        }
        state.classify(descriptor);
        true
    }
}

/// Takes the next sampled block (`scan_analyze_next_block`, before PostgreSQL 17).
///
/// # Safety
/// `scan` came from `begin`; `block` lies inside the relation.
#[cfg(not(any(feature = "pg17", feature = "pg18")))]
pub unsafe fn next_block(
    scan: pg_sys::TableScanDesc,
    block: u32,
    strategy: pg_sys::BufferAccessStrategy,
) -> bool {
    // SAFETY: heapam's descriptor pins and locks the page.
    unsafe {
        let state = Scan::state(scan);
        let Some(reader) = state.reader.as_ref() else { return false };
        let descriptor = reader.descriptor();
        if !heap::heapam!(scan_analyze_next_block(descriptor.cast(), block, strategy)) {
            return false;
        }
        state.classify(descriptor);
        true
    }
}

impl super::ScanState {
    /// Finds out what the sampled block holds; only a row page stays locked.
    unsafe fn classify(&mut self, descriptor: *mut pg_sys::HeapScanDescData) {
        // SAFETY: the descriptor holds pin and lock of the sampled block.
        unsafe {
            let buffer = (*descriptor).rs_cbuf;
            if !page::is_column_page(ports::buffer_page(buffer)) {
                self.analyze = AnalyzeState::Page;
                return;
            }
            (*descriptor).rs_cbuf = pg_sys::InvalidBuffer as i32;
            pg_sys::UnlockReleaseBuffer(buffer);
            let block = (*descriptor).rs_cblock;
            self.analyze = AnalyzeState::Nothing;
            let Some(directory) = cache::open(self.rel) else { return };
            for group in &directory.groups {
                let pages = group.entry.extent_pages - 1;
                let first = group.data_page();
                if pages > 0 && (first..first + pages).contains(&block) {
                    let share =
                        |i: u32| (u64::from(i) * u64::from(group.rows()) / u64::from(pages)) as u32;
                    let at = block - first;
                    group.refresh(self.rel);
                    self.analyze = AnalyzeState::Rows(group.clone(), share(at)..share(at + 1));
                    return;
                }
            }
        }
    }

    unsafe fn next_group_row(
        &mut self,
        oldest_xmin: pg_sys::TransactionId,
        live: *mut f64,
        dead: *mut f64,
        slot: *mut pg_sys::TupleTableSlot,
    ) -> bool {
        // SAFETY: the group belongs to the open relation; the counters are the caller's.
        unsafe {
            loop {
                let AnalyzeState::Rows(group, range) = &mut self.analyze else { return false };
                let Some(row) = range.next() else { return false };
                let group = group.clone();
                let Some(tid) = group.tid_of(self.rel, row) else { continue };
                match judge(self.rel, &group, row, oldest_xmin) {
                    Liveness::Live => *live += 1.0,
                    Liveness::Dead => {
                        *dead += 1.0;
                        continue;
                    }
                    Liveness::Uncounted => continue,
                }
                let none = pg_sys::InvalidTransactionId;
                slot::store_row(slot, self.rel, &group, row, tid, none);
                return true;
            }
        }
    }
}

/// How a row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    Live,
    Dead,
    /// Inserted by a transaction that has not ended.
    Uncounted,
}

/// Judges a row of a group as heapam_scan_analyze_next_tuple judges a tuple.
///
/// # Safety
/// `rel` is the group's open relation; the group's marks are read.
pub unsafe fn judge(
    rel: pg_sys::Relation,
    group: &Group,
    row: u32,
    oldest_xmin: pg_sys::TransactionId,
) -> Liveness {
    let run = group.run(row);
    match visibility::status(run.xid) {
        InsertStatus::Aborted => return Liveness::Dead,
        InsertStatus::InProgress => return Liveness::Uncounted,
        InsertStatus::Committed | InsertStatus::Own => {}
    }
    let Some(mark) = group.mark(row) else { return Liveness::Live };
    let Mark::Stub { block, offset } = mark else { return Liveness::Dead };
    // SAFETY: the page is pinned and share-locked while the stub is judged.
    unsafe {
        let buffer = pg_sys::ReadBuffer(rel, block);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let page = ports::buffer_page(buffer);
        let mut liveness = Liveness::Dead;
        if offset <= heap::max_offset(page)
            && heap::line_pointer_flags(page, offset) == pg_sys::LP_NORMAL
        {
            let mut tuple = heap::tuple_at(rel, page, block, offset);
            liveness = match pg_sys::HeapTupleSatisfiesVacuum(&raw mut tuple, oldest_xmin, buffer) {
                pg_sys::HTSV_Result::HEAPTUPLE_LIVE
                | pg_sys::HTSV_Result::HEAPTUPLE_INSERT_IN_PROGRESS => Liveness::Live,
                pg_sys::HTSV_Result::HEAPTUPLE_DELETE_IN_PROGRESS => {
                    let xid = ports::HeapTupleHeaderGetUpdateXid(tuple.t_data);
                    if pg_sys::TransactionIdIsCurrentTransactionId(xid) {
                        Liveness::Dead
                    } else {
                        Liveness::Live
                    }
                }
                _ => Liveness::Dead,
            };
        }
        pg_sys::UnlockReleaseBuffer(buffer);
        liveness
    }
}

/// Hands out the next live row of the sampled block (`scan_analyze_next_tuple`).
///
/// # Safety
/// As [`next_block`]; `slot` is a slot of this access method.
pub unsafe fn next_tuple(
    scan: pg_sys::TableScanDesc,
    oldest_xmin: pg_sys::TransactionId,
    live: *mut f64,
    dead: *mut f64,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: heapam's descriptor holds the page's share lock until it reports the end of the page.
    unsafe {
        let state = Scan::state(scan);
        if !matches!(state.analyze, AnalyzeState::Page) {
            let found = state.next_group_row(oldest_xmin, live, dead, slot);
            if !found {
                pg_sys::ExecClearTuple(slot);
            }
            return found;
        }
        let Some(reader) = state.reader.as_ref() else { return false };
        let descriptor = reader.descriptor().cast();
        while slot::as_buffer_slot(slot, |slot| {
            heap::heapam!(scan_analyze_next_tuple(descriptor, oldest_xmin, live, dead, slot))
        }) {
            let tuple = (*slot.cast::<pg_sys::HeapTupleTableSlot>()).tuple;
            if pages::is_stub((*tuple).t_data) {
                *live -= 1.0;
                continue;
            }
            heap::publish_tid((*scan).rs_rd, slot);
            return true;
        }
        false
    }
}
