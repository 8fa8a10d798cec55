//! Bitmap scans: the TIDs of one block of the bitmap at a time.

use super::Scan;
use crate::am::{heap, storage::page, tid};
use crate::ports;
use pgrx::pg_sys;

/// Offsets of one block of the bitmap, or all of the block.
struct BitmapBlock<'a> {
    block: u32,
    /// `None`: the bitmap is lossy here.
    offsets: Option<&'a [u16]>,
}

/// Fetches the next row of the bitmap (`scan_bitmap_next_tuple` of PostgreSQL 18).
///
/// # Safety
/// `scan` came from `begin` for a bitmap scan; `slot` is a slot of this access method.
#[cfg(feature = "pg18")]
pub unsafe fn next_tuple(
    scan: pg_sys::TableScanDesc,
    slot: *mut pg_sys::TupleTableSlot,
    recheck: *mut bool,
    lossy_pages: *mut u64,
    exact_pages: *mut u64,
) -> bool {
    // SAFETY: the executor set up the bitmap's iterator in the descriptor.
    unsafe {
        loop {
            if Scan::state(scan).next_bitmap_row(slot) {
                return true;
            }
            let mut result = pg_sys::TBMIterateResult::default();
            if !pg_sys::tbm_iterate(&raw mut (*scan).st.rs_tbmiterator, &raw mut result) {
                Scan::state(scan).end_bitmap();
                pg_sys::ExecClearTuple(slot);
                return false;
            }
            *recheck = result.recheck;
            let mut offsets = [0u16; ports::MAX_HEAP_TUPLES_PER_PAGE];
            let block = if result.lossy {
                *lossy_pages += 1;
                BitmapBlock { block: result.blockno, offsets: None }
            } else {
                *exact_pages += 1;
                let count = pg_sys::tbm_extract_page_tuple(
                    &raw mut result,
                    offsets.as_mut_ptr(),
                    offsets.len() as u32,
                ) as usize;
                BitmapBlock { block: result.blockno, offsets: Some(&offsets[..count]) }
            };
            load(scan, &block);
        }
    }
}

/// Loads the rows of the next block of the bitmap (`scan_bitmap_next_block` before PostgreSQL 18).
///
/// # Safety
/// `scan` came from `begin` for a bitmap scan; `result` is the executor's.
#[cfg(not(feature = "pg18"))]
pub unsafe fn next_block(scan: pg_sys::TableScanDesc, result: *mut pg_sys::TBMIterateResult) -> bool {
    // SAFETY: `ntuples` offsets follow the result; -1 says lossy.
    unsafe {
        let count = (*result).ntuples;
        let offsets = (count >= 0).then(|| (*result).offsets.as_slice(count as usize));
        load(scan, &BitmapBlock { block: (*result).blockno, offsets });
        true
    }
}

/// Fetches the next row of the loaded block (`scan_bitmap_next_tuple` before PostgreSQL 18).
///
/// # Safety
/// As [`next_block`]; `slot` is a slot of this access method.
#[cfg(not(feature = "pg18"))]
pub unsafe fn next_tuple(scan: pg_sys::TableScanDesc, slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: as above.
    unsafe {
        let found = Scan::state(scan).next_bitmap_row(slot);
        if !found {
            pg_sys::ExecClearTuple(slot);
        }
        found
    }
}

unsafe fn load(scan: pg_sys::TableScanDesc, bitmap: &BitmapBlock<'_>) {
    pgrx::check_for_interrupts!();
    // SAFETY: the descriptor is alive; the page is pinned while it is looked at and locked while tuples are judged.
    unsafe {
        let state = Scan::state(scan);
        let snapshot = (*scan).rs_snapshot;
        state.rows.clear();
        state.position = Some(super::Position { unit: 0, step: 0, index: 0 });
        if !tid::is_page_block(bitmap.block) {
            return;
        }
        let physical = tid::physical_block(bitmap.block);
        if physical >= state.blocks {
            // The file may have grown since the scan began; it never shrinks under our lock.
            state.blocks = pg_sys::RelationGetNumberOfBlocksInFork(
                state.rel,
                pg_sys::ForkNumber::MAIN_FORKNUM,
            );
            if physical >= state.blocks {
                return;
            }
        }
        let rel = state.rel;
        let Some(reader) = state.reader.as_mut() else { return };
        reader.set_snapshot(snapshot);
        reader.read(physical);
        let (buffer, pagep) = (reader.buffer(), reader.page());
        if page::is_column_page(pagep) {
            return;
        }
        pg_sys::heap_page_prune_opt(rel, buffer);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        match bitmap.offsets {
            Some(offsets) => {
                for &offset in offsets {
                    let mut ctid = tid::item_pointer(physical, offset);
                    let mut tuple = pg_sys::HeapTupleData::default();
                    if pg_sys::heap_hot_search_buffer(
                        &raw mut ctid,
                        rel,
                        buffer,
                        snapshot,
                        &raw mut tuple,
                        core::ptr::null_mut(),
                        true,
                    ) {
                        state.rows.push(ctid.ip_posid);
                    }
                }
            }
            None => lossy(rel, buffer, pagep, physical, snapshot, &mut state.rows),
        }
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
    }
}

/// Judges every tuple of a page; HOT chains need not be followed since each member is looked at.
unsafe fn lossy(
    rel: pg_sys::Relation,
    buffer: pg_sys::Buffer,
    page: ports::Page,
    block: u32,
    snapshot: pg_sys::Snapshot,
    rows: &mut Vec<u16>,
) {
    // SAFETY: the caller holds the page's share lock.
    unsafe {
        for offset in 1..=heap::max_offset(page) {
            if heap::line_pointer_flags(page, offset) != pg_sys::LP_NORMAL {
                continue;
            }
            let mut tuple = heap::tuple_at(rel, page, block, offset);
            if super::pages::is_stub(tuple.t_data) {
                continue;
            }
            let visible = pg_sys::HeapTupleSatisfiesVisibility(&raw mut tuple, snapshot, buffer);
            if visible {
                rows.push(offset);
                ports::PredicateLockTID(
                    rel,
                    &raw mut tuple.t_self,
                    snapshot,
                    ports::HeapTupleHeaderGetXmin(tuple.t_data),
                );
            }
            pg_sys::HeapCheckForSerializableConflictOut(visible, rel, &raw mut tuple, buffer, snapshot);
        }
    }
}

impl super::ScanState {
    unsafe fn next_bitmap_row(&mut self, slot: *mut pg_sys::TupleTableSlot) -> bool {
        let Some(position) = self.position.as_mut() else { return false };
        let Some(&offset) = self.rows.get(position.index) else { return false };
        position.index += 1;
        let Some(reader) = self.reader.as_ref() else { return false };
        // SAFETY: the page of the loaded rows is pinned.
        unsafe {
            if let Some(info) = super::stat_info(self.rel) {
                (*info).counts_fetched(1);
            }
            reader.store(offset, slot);
        }
        true
    }

    #[cfg(feature = "pg18")]
    fn end_bitmap(&mut self) {
        self.rows.clear();
        self.position = None;
        if let Some(reader) = self.reader.as_mut() {
            reader.release();
        }
    }
}
