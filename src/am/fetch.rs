//! Rows by TID: index fetches, row versions, latest TIDs, index deletion.
//!
//! ```text
//! external TID ── row page? ── yes ──> heapam
//!               │ no (moved to a group, or never on one)
//!               └─> write buffer of this transaction ──> directory ──> row group: insert run, mark
//!                                                                       └─ stub ──> heapam, HOT chain and all
//! ```

use super::group::cache::{self, Place};
use super::group::marks::Mark;
use super::group::{Group, visibility};
use super::write::BufferedRow;
use super::{heap, slot, storage, tid, write};
use crate::ports;
use pgrx::pg_sys;
use std::rc::Rc;
use tid::RowAddress;

/// State of index fetches on one relation.
#[repr(C)]
#[derive(Debug)]
pub struct IndexFetch {
    base: pg_sys::IndexFetchTableData,
    /// heapam's own state, for rows on row pages and stubs.
    heap: *mut pg_sys::IndexFetchTableData,
    /// Blocks of the relation when last asked.
    blocks: u32,
}

/// Starts fetching (`index_fetch_begin`).
///
/// # Safety
/// `rel` stays open until [`end`].
pub unsafe fn begin(rel: pg_sys::Relation) -> *mut pg_sys::IndexFetchTableData {
    // SAFETY: both states live in the current memory context.
    unsafe {
        let fetch = pg_sys::palloc0(size_of::<IndexFetch>()).cast::<IndexFetch>();
        (*fetch).base.rel = rel;
        (*fetch).heap = heap::heapam!(index_fetch_begin(rel));
        fetch.cast()
    }
}

/// Releases what is held between fetches (`index_fetch_reset`).
///
/// # Safety
/// `fetch` came from [`begin`].
pub unsafe fn reset(fetch: *mut pg_sys::IndexFetchTableData) {
    // SAFETY: as the caller's.
    unsafe { heap::heapam!(index_fetch_reset((*fetch.cast::<IndexFetch>()).heap)) }
}

/// Ends fetching (`index_fetch_end`).
///
/// # Safety
/// `fetch` came from [`begin`].
pub unsafe fn end(fetch: *mut pg_sys::IndexFetchTableData) {
    // SAFETY: as the caller's.
    unsafe {
        heap::heapam!(index_fetch_end((*fetch.cast::<IndexFetch>()).heap));
        pg_sys::pfree(fetch.cast());
    }
}

/// The arguments of one index fetch.
struct Request {
    fetch: *mut IndexFetch,
    rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
    call_again: *mut bool,
    all_dead: *mut bool,
}

/// Fetches the row an index entry points at (`index_fetch_tuple`); `tid` becomes that of the visible version.
///
/// # Safety
/// As `table_index_fetch_tuple`.
pub unsafe fn fetch(
    fetch: *mut pg_sys::IndexFetchTableData,
    tid: pg_sys::ItemPointer,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
    call_again: *mut bool,
    all_dead: *mut bool,
) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        let fetch = fetch.cast::<IndexFetch>();
        let rel = (*fetch).base.rel;
        let request = Request { fetch, rel, tid, snapshot, slot, call_again, all_dead };
        if let RowAddress::Page(physical) = tid::address(rel, &*tid) {
            let block = tid::block_of(&physical);
            if block >= (*fetch).blocks {
                (*fetch).blocks = storage::size::blocks(rel);
            }
            if block < (*fetch).blocks {
                let continued = *call_again;
                if request.search_page(physical) {
                    if slot::holds_stub(slot) {
                        // The line pointer was reused since the index entry was read. A stub answers to its row's TID only.
                        pg_sys::ExecClearTuple(slot);
                        *call_again = false;
                        return false;
                    }
                    heap::publish_tid(rel, slot);
                    *tid = (*slot).tts_tid;
                    return true;
                }
                let heap = (*fetch).heap.cast::<pg_sys::IndexFetchHeapData>();
                let page = ports::buffer_page((*heap).xs_cbuf);
                if continued || !storage::page::is_column_page(page) {
                    return false;
                }
            }
        } else if let Some(found) = request.search_buffer() {
            return found;
        }
        request.search_directory()
    }
}

impl Request {
    /// Asks heapam for a version of the HOT chain at a physical TID.
    unsafe fn search_page(&self, mut physical: pg_sys::ItemPointerData) -> bool {
        // SAFETY: the block lies inside the relation.
        unsafe {
            slot::as_buffer_slot(self.slot, |slot| {
                heap::heapam!(index_fetch_tuple(
                    (*self.fetch).heap,
                    &raw mut physical,
                    self.snapshot,
                    slot,
                    self.call_again,
                    self.all_dead
                ))
            })
        }
    }

    /// Looks for the row in this transaction's write buffer.
    unsafe fn search_buffer(&self) -> Option<bool> {
        // SAFETY: as `fetch`'s.
        unsafe {
            let number = tid::row_number(&*self.tid)?;
            let BufferedRow::Found(run) = write::fetch(self.rel, number, core::ptr::null_mut())
            else {
                return None;
            };
            *self.call_again = false;
            if !self.all_dead.is_null() {
                *self.all_dead = false;
            }
            visibility::reset_dirty(self.snapshot);
            if !visibility::sees(self.rel, &run, self.snapshot) {
                self.note_aborted(run.xid);
                return Some(false);
            }
            write::fetch(self.rel, number, self.slot);
            Some(true)
        }
    }

    unsafe fn search_directory(&self) -> bool {
        // SAFETY: as `fetch`'s.
        unsafe {
            // heapam found nothing on the former row page; that says nothing of the row.
            if !self.all_dead.is_null() {
                *self.all_dead = false;
            }
            let mut committed = false;
            loop {
                match cache::locate(self.rel, &*self.tid) {
                    Place::Nowhere => {
                        self.dead();
                        return false;
                    }
                    // Rows that their owner committed without writing them do not exist.
                    Place::Reserved(_) if committed => {
                        *self.call_again = false;
                        return false;
                    }
                    Place::Reserved(xid) => match self.reserved(xid) {
                        Some(found) => return found,
                        None => committed = pg_sys::TransactionIdDidCommit(xid),
                    },
                    Place::Group(group, row) => return self.search_group(&group, row),
                }
            }
        }
    }

    /// Rows of an aborted (sub)transaction are dead to everybody.
    unsafe fn note_aborted(&self, xid: u32) {
        // SAFETY: as `fetch`'s.
        unsafe {
            if !self.all_dead.is_null() {
                *self.all_dead = visibility::status(xid) == visibility::InsertStatus::Aborted;
            }
        }
    }

    unsafe fn dead(&self) {
        // SAFETY: as `fetch`'s.
        unsafe {
            *self.call_again = false;
            if !self.all_dead.is_null() {
                *self.all_dead = true;
            }
        }
    }

    /// A row that another transaction has numbered and not written. `None`: look again.
    unsafe fn reserved(&self, xid: pg_sys::TransactionId) -> Option<bool> {
        use pg_sys::SnapshotType as Kind;
        // SAFETY: as `fetch`'s.
        unsafe {
            *self.call_again = false;
            visibility::reset_dirty(self.snapshot);
            // An aborted (sub)transaction's rows went with its buffer; their numbers are given to no other rows.
            if visibility::status(xid.into_inner()) == visibility::InsertStatus::Aborted {
                self.dead();
                return Some(false);
            }
            let kind = (*self.snapshot).snapshot_type;
            let waits = kind == Kind::SNAPSHOT_DIRTY;
            if !waits && kind != Kind::SNAPSHOT_NON_VACUUMABLE {
                return Some(false);
            }
            if !pg_sys::TransactionIdIsInProgress(xid) {
                if pg_sys::TransactionIdDidCommit(xid) {
                    // Written between the look at the directory and now.
                    cache::forget(self.rel);
                    return None;
                }
                return Some(false);
            }
            if waits && pg_sys::InterruptHoldoffCount == 0 {
                // No page lock is held, so the caller may want the row's values, which are not to be had yet.
                pg_sys::XactLockTableWait(
                    xid,
                    self.rel,
                    self.tid,
                    pg_sys::XLTW_Oper::XLTW_InsertIndex,
                );
                cache::forget(self.rel);
                return None;
            }
            if waits {
                (*self.snapshot).xmin = xid;
            }
            pg_sys::ExecStoreAllNullTuple(self.slot);
            (*self.slot).tts_tid = *self.tid;
            Some(true)
        }
    }

    unsafe fn search_group(&self, group: &Rc<Group>, row: u32) -> bool {
        // SAFETY: as `fetch`'s.
        unsafe {
            let run = group.run(row);
            let continued = *self.call_again;
            if !continued {
                visibility::reset_dirty(self.snapshot);
            }
            if !visibility::sees(self.rel, &run, self.snapshot) {
                *self.call_again = false;
                self.note_aborted(run.xid);
                return false;
            }
            match group.mark(row) {
                None => {
                    *self.call_again = false;
                    if continued {
                        return false;
                    }
                    lock_predicate(self.rel, self.tid, self.snapshot, run.xid);
                    self.store(group, row, pg_sys::InvalidTransactionId);
                    true
                }
                Some(Mark::Gone) => {
                    self.dead();
                    false
                }
                Some(Mark::Stub { block, offset }) => {
                    if !self.search_page(tid::item_pointer(block, offset)) {
                        return false;
                    }
                    if slot::holds_stub(self.slot) {
                        lock_predicate(self.rel, self.tid, self.snapshot, run.xid);
                        self.store(group, row, slot::raw_xmax(self.slot));
                    } else if !slot::holds_heap_only(self.slot) {
                        // Not of the stub's chain.
                        pg_sys::ExecClearTuple(self.slot);
                        return false;
                    } else {
                        heap::publish_tid(self.rel, self.slot);
                        *self.tid = (*self.slot).tts_tid;
                    }
                    true
                }
            }
        }
    }

    unsafe fn store(&self, group: &Rc<Group>, row: u32, xmax: pg_sys::TransactionId) {
        // SAFETY: as `fetch`'s.
        unsafe {
            let tid = group.tid_of(self.rel, row).unwrap_or(*self.tid);
            slot::store_row(self.slot, self.rel, group, row, tid, xmax);
            *self.tid = tid;
        }
    }
}

/// Notes a read of one row for serializable transactions.
unsafe fn lock_predicate(
    rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    snapshot: pg_sys::Snapshot,
    xmin: u32,
) {
    // SAFETY: as `fetch`'s.
    unsafe {
        if pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 {
            ports::PredicateLockTID(rel, tid, snapshot, xmin.into());
        }
    }
}

/// Whether a physical block is a row page now.
///
/// # Safety
/// `rel` is an open relation of this access method.
pub unsafe fn is_row_page(rel: pg_sys::Relation, block: u32) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        let Some(buffer) = pin_row_page(rel, block) else { return false };
        pg_sys::ReleaseBuffer(buffer);
        true
    }
}

/// Pins a physical block if it is a row page. It stays one while it is pinned.
///
/// # Safety
/// `rel` is an open relation of this access method.
pub unsafe fn pin_row_page(rel: pg_sys::Relation, block: u32) -> Option<pg_sys::Buffer> {
    // SAFETY: the page is share-locked while its special space is read.
    unsafe {
        if !storage::size::has_block(rel, block) {
            return None;
        }
        let buffer = pg_sys::ReadBuffer(rel, block);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let column = storage::page::is_column_page(ports::buffer_page(buffer));
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
        if column {
            pg_sys::ReleaseBuffer(buffer);
            return None;
        }
        Some(buffer)
    }
}

/// Fetches one row version (`tuple_fetch_row_version`).
///
/// # Safety
/// As `table_tuple_fetch_row_version`.
pub unsafe fn row_version(
    rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        let tid = *tid;
        match tid::address(rel, &tid) {
            RowAddress::Page(physical) => {
                // VACUUM may move the page between the two looks at it; then the row is in a group.
                if is_row_page(rel, tid::block_of(&physical)) {
                    if heap::fetch_row_version(rel, physical, snapshot, slot) {
                        let stub = slot::holds_stub(slot);
                        if stub {
                            pg_sys::ExecClearTuple(slot);
                        }
                        return !stub;
                    }
                    if is_row_page(rel, tid::block_of(&physical)) {
                        return false;
                    }
                }
            }
            RowAddress::Row(number) => {
                if let BufferedRow::Found(run) = write::fetch(rel, number, core::ptr::null_mut()) {
                    visibility::reset_dirty(snapshot);
                    return visibility::sees(rel, &run, snapshot)
                        && write::fetch(rel, number, slot) == BufferedRow::Found(run);
                }
            }
            RowAddress::Moved => {}
        }
        let Place::Group(group, row) = cache::locate(rel, &tid) else { return false };
        version_of_group(rel, &group, row, tid, snapshot, slot)
    }
}

unsafe fn version_of_group(
    rel: pg_sys::Relation,
    group: &Rc<Group>,
    row: u32,
    mut tid: pg_sys::ItemPointerData,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: as `row_version`'s.
    unsafe {
        visibility::reset_dirty(snapshot);
        let run = group.run(row);
        if !visibility::sees(rel, &run, snapshot) {
            return false;
        }
        let mut xmax = pg_sys::InvalidTransactionId;
        match group.mark(row) {
            None => {}
            Some(Mark::Gone) => return false,
            Some(Mark::Stub { block, offset }) => {
                let physical = tid::item_pointer(block, offset);
                if !heap::fetch_row_version(rel, physical, snapshot, slot) {
                    return false;
                }
                if !slot::holds_stub(slot) {
                    return false;
                }
                xmax = slot::raw_xmax(slot);
            }
        }
        lock_predicate(rel, &raw mut tid, snapshot, run.xid);
        slot::store_row(slot, rel, group, row, tid, xmax);
        true
    }
}

/// Whether a TID can name a row of the scanned relation (`tuple_tid_valid`).
///
/// # Safety
/// `scan` is a scan of this access method.
pub unsafe fn tid_valid(scan: pg_sys::TableScanDesc, tid: pg_sys::ItemPointer) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        if (*tid).ip_posid == 0 {
            return false;
        }
        let rel = (*scan).rs_rd;
        if let RowAddress::Page(physical) = tid::address(rel, &*tid)
            && tid::block_of(&physical) < super::scan::Scan::state(scan).blocks
        {
            return true;
        }
        cache::open(rel)
            .is_some_and(|directory| !matches!(directory.find(rel, &*tid), Place::Nowhere))
    }
}

/// Follows update chains to the latest version the snapshot sees (`tuple_get_latest_tid`).
///
/// # Safety
/// As `table_tuple_get_latest_tid`.
pub unsafe fn latest_tid(scan: pg_sys::TableScanDesc, tid: pg_sys::ItemPointer) {
    // SAFETY: heap_get_latest_tid reads rs_rd and rs_snapshot of the descriptor only.
    unsafe {
        let rel = (*scan).rs_rd;
        let mut start = match tid::address(rel, &*tid) {
            RowAddress::Page(physical) if is_row_page(rel, tid::block_of(&physical)) => physical,
            _ => {
                let Some(directory) = cache::open(rel) else { return };
                let Place::Group(group, row) = directory.find(rel, &*tid) else { return };
                group.refresh(rel);
                match group.mark(row) {
                    Some(Mark::Stub { block, offset }) => tid::item_pointer(block, offset),
                    _ => return,
                }
            }
        };
        let stub = start;
        pg_sys::heap_get_latest_tid(scan, &raw mut start);
        if tid::encode(&stub) != tid::encode(&start)
            || matches!(tid::address(rel, &*tid), RowAddress::Page(p) if tid::encode(&p) == tid::encode(&stub))
        {
            *tid = tid::to_external(rel, &start);
        }
    }
}

/// Says which of an index's entries point at rows nobody can see (`index_delete_tuples`).
///
/// # Safety
/// As `table_index_delete_tuples`.
pub unsafe fn index_delete_tuples(
    rel: pg_sys::Relation,
    state: *mut pg_sys::TM_IndexDeleteOp,
) -> pg_sys::TransactionId {
    // SAFETY: `deltids` holds `ndeltids` entries; heapam may reorder and shorten the ones it is given, which come first.
    unsafe {
        let total = (*state).ndeltids as usize;
        let entries = core::slice::from_raw_parts_mut((*state).deltids, total);
        let mut page_rows = Vec::new();
        let mut group_rows = Vec::new();
        for entry in entries.iter() {
            match tid::address(rel, &entry.tid) {
                RowAddress::Page(physical) if is_row_page(rel, tid::block_of(&physical)) => {
                    let mut entry = *entry;
                    entry.tid = physical;
                    page_rows.push(entry);
                }
                _ => group_rows.push(*entry),
            }
        }
        // Rows of groups: only entries the index already knows to be dead are given up here; VACUUM finds the others.
        let statuses = (*state).status;
        group_rows.retain(|entry| (*statuses.add(entry.id as usize)).knowndeletable);
        let mut horizon = pg_sys::InvalidTransactionId;
        let mut kept = 0;
        // heapam expects something to delete, unless the index deletes bottom up.
        let known =
            |entry: &pg_sys::TM_IndexDelete| (*statuses.add(entry.id as usize)).knowndeletable;
        if !page_rows.is_empty() && ((*state).bottomup || page_rows.iter().any(known)) {
            entries[..page_rows.len()].copy_from_slice(&page_rows);
            (*state).ndeltids = page_rows.len() as i32;
            horizon = heap::heapam!(index_delete_tuples(rel, state));
            kept = (*state).ndeltids as usize;
            for entry in &mut entries[..kept] {
                entry.tid = tid::to_external(rel, &entry.tid);
            }
        }
        if !group_rows.is_empty() {
            entries[kept..kept + group_rows.len()].copy_from_slice(&group_rows);
            let next = pg_sys::ReadNextTransactionId();
            // Nothing better is known of them than that everyone running now came later.
            horizon = previous(next);
        }
        (*state).ndeltids = (kept + group_rows.len()) as i32;
        horizon
    }
}

fn previous(xid: pg_sys::TransactionId) -> pg_sys::TransactionId {
    let before = xid.into_inner().wrapping_sub(1);
    before.max(pg_sys::FirstNormalTransactionId.into_inner()).into()
}

/// Judges the version in a slot with another snapshot (`tuple_satisfies_snapshot`).
///
/// # Safety
/// As `table_tuple_satisfies_snapshot`.
pub unsafe fn satisfies_snapshot(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    snapshot: pg_sys::Snapshot,
) -> bool {
    // SAFETY: the slot holds a version of this relation.
    unsafe {
        let tid = (*slot).tts_tid;
        let inner = slot.cast::<pg_sys::BufferHeapTupleTableSlot>();
        if (*inner).buffer != pg_sys::InvalidBuffer as i32 {
            let buffer = (*inner).buffer;
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let visible =
                pg_sys::HeapTupleSatisfiesVisibility((*inner).base.tuple, snapshot, buffer);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
            return visible;
        }
        let mut key = tid;
        let copy = pg_sys::table_slot_create(rel, core::ptr::null_mut());
        let visible = row_version(rel, &raw mut key, snapshot, copy);
        pg_sys::ExecDropSingleTupleTableSlot(copy);
        visible
    }
}
