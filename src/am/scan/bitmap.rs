//! Bitmap scans: the TIDs of one block of the bitmap at a time.
//!
//! A row of a group whose stub began a HOT chain is found through the row's TID, since index entries name that. So on a
//! lossy row page, members of such chains are passed over: they would be found twice.

use super::{Scan, pages};
use crate::am::group::cache::{self, Place};
use crate::am::group::marks::Mark;
use crate::am::group::stubs::StubIndex;
use crate::am::group::{Group, visibility};
use crate::am::{heap, slot, storage::page, tid};
use crate::ports;
use pgrx::pg_sys;
use std::rc::Rc;

/// Offsets of one block of the bitmap, or all of the block.
struct BitmapBlock<'a> {
    block: u32,
    /// `None`: the bitmap is lossy here.
    offsets: Option<&'a [u16]>,
}

/// A visible row of the loaded block.
#[derive(Debug)]
pub(super) enum BitmapRow {
    /// A tuple of the reader's page.
    Page(u16),
    /// A row of a group.
    Row { group: Rc<Group>, row: u32, tid: pg_sys::ItemPointerData, xmax: pg_sys::TransactionId },
    /// A member of a stub's HOT chain, by physical TID.
    Member(pg_sys::ItemPointerData),
}

/// Rows of the loaded block and how many were handed out.
#[derive(Debug, Default)]
pub(super) struct BitmapState {
    rows: Vec<BitmapRow>,
    next: usize,
    /// Read when the bitmap is lossy for the first time.
    stubs: Option<StubIndex>,
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
pub unsafe fn next_block(
    scan: pg_sys::TableScanDesc,
    result: *mut pg_sys::TBMIterateResult,
) -> bool {
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
    // SAFETY: the descriptor is alive.
    unsafe {
        let state = Scan::state(scan);
        state.set_snapshot((*scan).rs_snapshot);
        state.bitmap.rows.clear();
        state.bitmap.next = 0;
        if tid::is_page_block(bitmap.block)
            && let Some(physical) = tid::physical_block(state.rel, bitmap.block)
        {
            if physical >= state.blocks {
                // The file may have grown since the scan began; it never shrinks under our lock.
                state.blocks = pg_sys::RelationGetNumberOfBlocksInFork(
                    state.rel,
                    pg_sys::ForkNumber::MAIN_FORKNUM,
                );
            }
            if physical < state.blocks && state.load_bitmap_page(physical, bitmap.offsets) {
                return;
            }
        }
        state.load_bitmap_groups(bitmap);
    }
}

impl super::ScanState {
    /// Loads a row page; false if it is none.
    unsafe fn load_bitmap_page(&mut self, physical: u32, offsets: Option<&[u16]>) -> bool {
        // SAFETY: the page is pinned while it is looked at and locked while tuples are judged.
        unsafe {
            let Some(reader) = self.reader.as_mut() else { return false };
            reader.read(physical);
            let (buffer, page) = (reader.buffer(), reader.page());
            if page::is_column_page(page) {
                return false;
            }
            pg_sys::heap_page_prune_opt(self.rel, buffer);
            if offsets.is_none() && self.bitmap.stubs.is_none() {
                self.bitmap.stubs = Some(StubIndex::read(self.rel));
            }
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            // VACUUM may have been moving the page's rows when it was pinned. Once it was locked, the pin keeps it as it is.
            if page::is_column_page(page) {
                pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
                return false;
            }
            let BitmapState { rows, stubs, .. } = &mut self.bitmap;
            match offsets {
                Some(offsets) => {
                    for &offset in offsets {
                        let start = tid::item_pointer(physical, offset);
                        // A line pointer that was reused for a stub since the index was read names no row.
                        if offset <= heap::max_offset(page)
                            && heap::line_pointer_flags(page, offset) == pg_sys::LP_NORMAL
                            && pages::is_stub(
                                heap::tuple_at(self.rel, page, physical, offset).t_data,
                            )
                        {
                            continue;
                        }
                        if let Some(found) = search_chain(self.rel, buffer, start, self.snapshot) {
                            rows.push(BitmapRow::Page(found.ip_posid));
                        }
                    }
                }
                None => {
                    let chains = stub_chains(page, physical, stubs.as_ref());
                    lossy_page(self.rel, buffer, page, physical, self.snapshot, &chains, rows);
                }
            }
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
            true
        }
    }

    /// Loads rows of groups that answer to TIDs of the block.
    unsafe fn load_bitmap_groups(&mut self, bitmap: &BitmapBlock<'_>) {
        // SAFETY: the relation is open and the snapshot alive.
        unsafe {
            let Some(directory) = cache::open(self.rel) else { return };
            let all: Vec<u16> = match bitmap.offsets {
                Some(_) => Vec::new(),
                None => (1..=ports::MAX_HEAP_TUPLES_PER_PAGE as u16).collect(),
            };
            let mut refreshed = 0;
            let mut seen = Vec::new();
            for &offset in bitmap.offsets.unwrap_or(&all) {
                let key = tid::item_pointer(bitmap.block, offset);
                let Place::Group(group, row) = directory.find(self.rel, &key) else { continue };
                if refreshed != group.id {
                    group.refresh(self.rel);
                    refreshed = group.id;
                }
                // An alias and the row's own TID name the same row.
                if bitmap.offsets.is_none() && seen.contains(&row) {
                    continue;
                }
                seen.push(row);
                self.load_bitmap_row(group, row, key);
            }
        }
    }

    unsafe fn load_bitmap_row(
        &mut self,
        group: Rc<Group>,
        row: u32,
        mut key: pg_sys::ItemPointerData,
    ) {
        // SAFETY: as `load_bitmap_groups`.
        unsafe {
            let run = group.run(row);
            if !visibility::sees(self.rel, &run, self.snapshot) {
                return;
            }
            let mut xmax = pg_sys::InvalidTransactionId;
            match group.mark(row) {
                None => {}
                Some(Mark::Gone) => return,
                Some(Mark::Stub { block, offset }) => {
                    let start = tid::item_pointer(block, offset);
                    let buffer = pg_sys::ReadBuffer(self.rel, block);
                    pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
                    let found = search_chain(self.rel, buffer, start, self.snapshot);
                    if let Some(found) = found
                        && found.ip_posid == offset
                    {
                        let page = ports::buffer_page(buffer);
                        let tuple = heap::tuple_at(self.rel, page, block, offset);
                        xmax = (*tuple.t_data).t_choice.t_heap.t_xmax;
                    }
                    pg_sys::UnlockReleaseBuffer(buffer);
                    match found {
                        None => return,
                        Some(found) if found.ip_posid != offset => {
                            self.bitmap.rows.push(BitmapRow::Member(found));
                            return;
                        }
                        Some(_) => {}
                    }
                }
            }
            if pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 {
                ports::PredicateLockTID(self.rel, &raw mut key, self.snapshot, run.xid.into());
            }
            let tid = group.tid_of(self.rel, row).unwrap_or(key);
            self.bitmap.rows.push(BitmapRow::Row { group, row, tid, xmax });
        }
    }

    unsafe fn next_bitmap_row(&mut self, slot: *mut pg_sys::TupleTableSlot) -> bool {
        loop {
            let Some(row) = self.bitmap.rows.get(self.bitmap.next) else { return false };
            self.bitmap.next += 1;
            // SAFETY: the page of the loaded rows is pinned, their groups are held.
            unsafe {
                match row {
                    BitmapRow::Page(offset) => match self.reader.as_ref() {
                        Some(reader) => reader.store(*offset, slot),
                        None => return false,
                    },
                    BitmapRow::Row { group, row, tid, xmax } => {
                        slot::store_row(slot, self.rel, group, *row, *tid, *xmax);
                    }
                    BitmapRow::Member(physical) => {
                        if !heap::fetch_row_version(self.rel, *physical, self.snapshot, slot) {
                            continue;
                        }
                    }
                }
                super::count(self.rel, |counts| counts.count_fetched());
            }
            return true;
        }
    }

    #[cfg(feature = "pg18")]
    fn end_bitmap(&mut self) {
        self.bitmap = BitmapState::default();
        if let Some(reader) = self.reader.as_mut() {
            reader.release();
        }
    }
}

/// The visible member of a HOT chain on a share-locked page.
pub(super) unsafe fn search_chain(
    rel: pg_sys::Relation,
    buffer: pg_sys::Buffer,
    mut start: pg_sys::ItemPointerData,
    snapshot: pg_sys::Snapshot,
) -> Option<pg_sys::ItemPointerData> {
    let mut tuple = pg_sys::HeapTupleData::default();
    // SAFETY: the caller holds the page's lock.
    let found = unsafe {
        pg_sys::heap_hot_search_buffer(
            &raw mut start,
            rel,
            buffer,
            snapshot,
            &raw mut tuple,
            core::ptr::null_mut(),
            true,
        )
    };
    found.then_some(start)
}

/// Judges every tuple of a page; HOT chains need not be followed since each member is looked at.
unsafe fn lossy_page(
    rel: pg_sys::Relation,
    buffer: pg_sys::Buffer,
    page: ports::Page,
    block: u32,
    snapshot: pg_sys::Snapshot,
    stub_chains: &[u16],
    rows: &mut Vec<BitmapRow>,
) {
    // SAFETY: the caller holds the page's share lock.
    unsafe {
        for offset in 1..=heap::max_offset(page) {
            if heap::line_pointer_flags(page, offset) != pg_sys::LP_NORMAL {
                continue;
            }
            let mut tuple = heap::tuple_at(rel, page, block, offset);
            if pages::is_stub(tuple.t_data) || stub_chains.contains(&offset) {
                continue;
            }
            let visible = pg_sys::HeapTupleSatisfiesVisibility(&raw mut tuple, snapshot, buffer);
            if visible {
                rows.push(BitmapRow::Page(offset));
                ports::PredicateLockTID(
                    rel,
                    &raw mut tuple.t_self,
                    snapshot,
                    ports::HeapTupleHeaderGetXmin(tuple.t_data),
                );
            }
            pg_sys::HeapCheckForSerializableConflictOut(
                visible,
                rel,
                &raw mut tuple,
                buffer,
                snapshot,
            );
        }
    }
}

/// Offsets of the members of HOT chains whose root is a stub.
unsafe fn stub_chains(page: ports::Page, block: u32, stubs: Option<&StubIndex>) -> Vec<u16> {
    let Some(stubs) = stubs.filter(|stubs| !stubs.is_empty()) else { return Vec::new() };
    let mut roots = [0u16; ports::MAX_HEAP_TUPLES_PER_PAGE];
    // SAFETY: the caller holds the page's lock.
    let last = unsafe {
        pg_sys::heap_get_root_tuples(page.cast(), roots.as_mut_ptr());
        heap::max_offset(page)
    };
    (1..=last)
        .filter(|&offset| {
            let root = roots[usize::from(offset) - 1];
            root != 0 && stubs.row(&tid::item_pointer(block, root)).is_some()
        })
        .collect()
}
