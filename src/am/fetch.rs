//! Rows by TID: index fetches, row versions, latest TIDs, index deletion.

use super::{heap, tid};
use pgrx::pg_sys;
use tid::RowAddress;

/// State of index fetches on one relation.
#[repr(C)]
#[derive(Debug)]
pub struct IndexFetch {
    base: pg_sys::IndexFetchTableData,
    /// heapam's own state, for rows on row pages.
    heap: *mut pg_sys::IndexFetchTableData,
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

/// Fetches the row an index entry points at (`index_fetch_tuple`); `tid` becomes that of the visible HOT chain member.
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
    // SAFETY: heapam gets a physical TID; results are turned external.
    unsafe {
        match tid::address(&*tid) {
            RowAddress::Page(mut physical) => {
                let state = fetch.cast::<IndexFetch>();
                let found = heap::heapam!(index_fetch_tuple(
                    (*state).heap,
                    &raw mut physical,
                    snapshot,
                    slot,
                    call_again,
                    all_dead
                ));
                if found {
                    *tid = tid::to_external(&physical);
                    heap::publish_tid(slot);
                }
                found
            }
            RowAddress::Row(_) => {
                *call_again = false;
                false
            }
        }
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
        match tid::address(&*tid) {
            RowAddress::Page(physical) => heap::fetch_row_version(rel, physical, snapshot, slot),
            RowAddress::Row(_) => false,
        }
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
        match tid::address(&*tid) {
            RowAddress::Page(physical) => tid::block_of(&physical) < super::scan::Scan::state(scan).blocks,
            RowAddress::Row(_) => false,
        }
    }
}

/// Follows update chains to the latest version the snapshot sees (`tuple_get_latest_tid`).
///
/// # Safety
/// As `table_tuple_get_latest_tid`.
pub unsafe fn latest_tid(scan: pg_sys::TableScanDesc, tid: pg_sys::ItemPointer) {
    // SAFETY: heap_get_latest_tid reads rs_rd and rs_snapshot of the descriptor only.
    unsafe {
        if let RowAddress::Page(mut physical) = tid::address(&*tid) {
            pg_sys::heap_get_latest_tid(scan, &raw mut physical);
            *tid = tid::to_external(&physical);
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
    // SAFETY: `deltids` holds `ndeltids` entries; heapam may reorder and shorten them.
    unsafe {
        let entries = core::slice::from_raw_parts_mut((*state).deltids, (*state).ndeltids as usize);
        for entry in entries.iter_mut() {
            if let RowAddress::Page(physical) = tid::address(&entry.tid) {
                entry.tid = physical;
            }
        }
        let horizon = heap::heapam!(index_delete_tuples(rel, state));
        let entries = core::slice::from_raw_parts_mut((*state).deltids, (*state).ndeltids as usize);
        for entry in entries.iter_mut() {
            entry.tid = tid::to_external(&entry.tid);
        }
        horizon
    }
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
    // SAFETY: the slot holds a tuple of a pinned row page.
    unsafe { heap::heapam!(tuple_satisfies_snapshot(rel, slot, snapshot)) }
}
