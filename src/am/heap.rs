//! Calls into heapam on row pages, with TIDs translated between physical and external.
//!
//! The server's heap routine does the work: its callbacks know nothing of the table's access method beyond the row pages
//! they are pointed at. `heapam!` calls them through their function pointers without a guard, so an ERROR leaves by longjmp:
//! the frames it passes are plain data without destructors. Where they are not, `guarded_heapam!` is used.

use super::{slot, storage, tid};
use crate::ports;
use core::ptr;
use pgrx::pg_sys;

/// heapam's routine.
pub fn routine() -> &'static pg_sys::TableAmRoutine {
    // SAFETY: the server returns the address of a constant.
    unsafe { &*pg_sys::GetHeapamTableAmRoutine() }
}

/// Calls a callback of heapam's routine.
macro_rules! heapam {
    ($name:ident($($arg:expr),* $(,)?)) => {
        match $crate::am::heap::routine().$name {
            Some(callback) => callback($($arg),*),
            None => pgrx::error!("heapam lacks the callback {}", stringify!($name)),
        }
    };
}
pub(crate) use heapam;

/// Calls a callback of heapam's routine from a frame that has something to clean up: an ERROR comes as a panic.
macro_rules! guarded_heapam {
    ($($call:tt)*) => {
        pg_sys::ffi::pg_guard_ffi_boundary(|| heapam!($($call)*))
    };
}

/// Rewrites the physical TID that heapam left in a slot, and in the tuple the slot holds, to the external one.
///
/// # Safety
/// `slot` holds a heap tuple that heapam just stored or inserted.
pub unsafe fn publish_tid(rel: pg_sys::Relation, slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: heap and buffer heap slots start with a HeapTupleTableSlot.
    unsafe {
        (*slot).tts_tid = tid::to_external(rel, &(*slot).tts_tid);
        set_tuple_tid(slot);
    }
}

/// Gives the heap tuple a slot holds, if any, the slot's TID.
///
/// # Safety
/// `slot` is a live slot.
pub unsafe fn set_tuple_tid(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: heap and buffer heap slots, and ours, start with a HeapTupleTableSlot.
    unsafe {
        if slot::is_ours(slot)
            || core::ptr::eq((*slot).tts_ops, &raw const pg_sys::TTSOpsBufferHeapTuple)
            || core::ptr::eq((*slot).tts_ops, &raw const pg_sys::TTSOpsHeapTuple)
        {
            let tuple = (*slot.cast::<pg_sys::HeapTupleTableSlot>()).tuple;
            if !tuple.is_null() {
                (*tuple).t_self = (*slot).tts_tid;
            }
        }
    }
}

/// Takes back one insertion from the statistics: a stub is no row.
///
/// # Safety
/// `rel` is an open relation into which this transaction just inserted.
pub unsafe fn uncount_insert(rel: pg_sys::Relation) {
    // SAFETY: the counters live as long as the transaction.
    unsafe {
        let info = (*rel).pgstat_info;
        if !info.is_null() && !(*info).trans.is_null() && (*(*info).trans).tuples_inserted > 0 {
            (*(*info).trans).tuples_inserted -= 1;
        }
    }
}

/// Inserts the slot's row on a row page.
///
/// # Safety
/// As `table_tuple_insert`.
pub unsafe fn insert(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    options: i32,
    bistate: *mut pg_sys::BulkInsertStateData,
) {
    // SAFETY: the caller keeps the contract of the callback.
    unsafe {
        storage::metapage::ensure(rel);
        heapam!(tuple_insert(rel, slot, cid, options, bistate));
        publish_tid(rel, slot);
    }
}

/// Inserts a row speculatively (ON CONFLICT).
///
/// # Safety
/// As `table_tuple_insert_speculative`.
pub unsafe fn insert_speculative(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    options: i32,
    bistate: *mut pg_sys::BulkInsertStateData,
    token: u32,
) {
    // SAFETY: the caller keeps the contract of the callback.
    unsafe {
        storage::metapage::ensure(rel);
        heapam!(tuple_insert_speculative(rel, slot, cid, options, bistate, token));
        publish_tid(rel, slot);
    }
}

/// Confirms or kills a speculative insertion.
///
/// # Safety
/// As `table_tuple_complete_speculative`; the slot's TID names a row page.
pub unsafe fn complete_speculative(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    token: u32,
    succeeded: bool,
) {
    // SAFETY: the slot's TID is the external one that `insert_speculative` published.
    unsafe {
        let external = (*slot).tts_tid;
        if let tid::RowAddress::Page(physical) = tid::address(rel, &external) {
            (*slot).tts_tid = physical;
        }
        heapam!(tuple_complete_speculative(rel, slot, token, succeeded));
        (*slot).tts_tid = external;
    }
}

/// Inserts several rows on row pages.
///
/// # Safety
/// As `table_multi_insert`.
pub unsafe fn multi_insert(
    rel: pg_sys::Relation,
    slots: *mut *mut pg_sys::TupleTableSlot,
    count: i32,
    cid: pg_sys::CommandId,
    options: i32,
    bistate: *mut pg_sys::BulkInsertStateData,
) {
    // SAFETY: the caller keeps the contract of the callback.
    unsafe {
        storage::metapage::ensure(rel);
        if options & pg_sys::HEAP_INSERT_FROZEN as i32 != 0 {
            // heap_multi_insert would mark whole pages visible in the map, by physical block.
            for i in 0..count as usize {
                insert(rel, *slots.add(i), cid, options, bistate);
            }
            return;
        }
        heapam!(multi_insert(rel, slots, count, cid, options, bistate));
        for i in 0..count as usize {
            publish_tid(rel, *slots.add(i));
        }
    }
}

/// Deletes the row at a physical TID; the failure data carries external TIDs.
///
/// # Safety
/// As `table_tuple_delete`.
#[allow(clippy::too_many_arguments)]
pub unsafe fn delete(
    rel: pg_sys::Relation,
    mut physical: pg_sys::ItemPointerData,
    cid: pg_sys::CommandId,
    snapshot: pg_sys::Snapshot,
    crosscheck: pg_sys::Snapshot,
    wait: bool,
    tmfd: *mut pg_sys::TM_FailureData,
    changing_part: bool,
) -> pg_sys::TM_Result::Type {
    // SAFETY: the caller keeps the contract of the callback.
    unsafe {
        let result = guarded_heapam!(tuple_delete(
            rel,
            &raw mut physical,
            cid,
            snapshot,
            crosscheck,
            wait,
            tmfd,
            changing_part
        ));
        externalise_failure(rel, result, tmfd);
        result
    }
}

/// Updates the row at a physical TID; the slot gets the new version's external TID.
///
/// # Safety
/// As `table_tuple_update`.
#[allow(clippy::too_many_arguments)]
pub unsafe fn update(
    rel: pg_sys::Relation,
    mut physical: pg_sys::ItemPointerData,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    snapshot: pg_sys::Snapshot,
    crosscheck: pg_sys::Snapshot,
    wait: bool,
    tmfd: *mut pg_sys::TM_FailureData,
    lockmode: *mut pg_sys::LockTupleMode::Type,
    update_indexes: *mut ports::UpdateIndexes,
) -> pg_sys::TM_Result::Type {
    // SAFETY: the caller keeps the contract of the callback.
    unsafe {
        let result = guarded_heapam!(tuple_update(
            rel,
            &raw mut physical,
            slot,
            cid,
            snapshot,
            crosscheck,
            wait,
            tmfd,
            lockmode,
            update_indexes
        ));
        if result == pg_sys::TM_Result::TM_Ok {
            publish_tid(rel, slot);
        }
        externalise_failure(rel, result, tmfd);
        result
    }
}

/// Locks the row at a physical TID and stores its locked version in the slot; `external` is set to that version's TID.
///
/// # Safety
/// As `table_tuple_lock`.
#[allow(clippy::too_many_arguments)]
pub unsafe fn lock(
    rel: pg_sys::Relation,
    physical: &mut pg_sys::ItemPointerData,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    mode: pg_sys::LockTupleMode::Type,
    wait_policy: pg_sys::LockWaitPolicy::Type,
    flags: u8,
    tmfd: *mut pg_sys::TM_FailureData,
) -> pg_sys::TM_Result::Type {
    // SAFETY: the caller keeps the contract of the callback.
    unsafe {
        let result = slot::as_buffer_slot(slot, |slot| {
            guarded_heapam!(tuple_lock(
                rel,
                physical,
                snapshot,
                slot,
                cid,
                mode,
                wait_policy,
                flags,
                tmfd
            ))
        });
        externalise_failure(rel, result, tmfd);
        result
    }
}

/// Fetches the row version at a physical TID if the snapshot sees it.
///
/// # Safety
/// As `table_tuple_fetch_row_version`.
pub unsafe fn fetch_row_version(
    rel: pg_sys::Relation,
    mut physical: pg_sys::ItemPointerData,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: the caller keeps the contract of the callback.
    unsafe {
        let found = slot::as_buffer_slot(slot, |slot| {
            guarded_heapam!(tuple_fetch_row_version(rel, &raw mut physical, snapshot, slot))
        });
        if found {
            publish_tid(rel, slot);
        }
        found
    }
}

/// Whether a result comes with failure data.
pub fn has_failure_data(result: pg_sys::TM_Result::Type) -> bool {
    result == pg_sys::TM_Result::TM_SelfModified
        || result == pg_sys::TM_Result::TM_Updated
        || result == pg_sys::TM_Result::TM_Deleted
        || result == pg_sys::TM_Result::TM_BeingModified
}

/// Turns the TID of the failure data external; it is only defined where the operation did not succeed.
unsafe fn externalise_failure(
    rel: pg_sys::Relation,
    result: pg_sys::TM_Result::Type,
    tmfd: *mut pg_sys::TM_FailureData,
) {
    if !tmfd.is_null() && has_failure_data(result) {
        // SAFETY: heapam fills the failure data for these results.
        unsafe { (*tmfd).ctid = tid::to_external(rel, &(*tmfd).ctid) };
    }
}

/// Builds the header of a heap tuple that lies on a row page.
///
/// # Safety
/// `page` is a locked or pinned row page and `offset` a normal line pointer of it.
pub unsafe fn tuple_at(
    rel: pg_sys::Relation,
    page: ports::Page,
    block: u32,
    offset: u16,
) -> pg_sys::HeapTupleData {
    // SAFETY: the line pointer is normal, so it points at a tuple inside the page.
    unsafe {
        let item = pg_sys::PageGetItemId(page.cast(), offset);
        pg_sys::HeapTupleData {
            t_len: (*item).lp_len(),
            t_self: tid::item_pointer(block, offset),
            t_tableOid: (*rel).rd_id,
            t_data: page.add((*item).lp_off() as usize).cast(),
        }
    }
}

/// Flags of a line pointer.
///
/// # Safety
/// `page` is a locked or pinned row page and `offset` not above its last line pointer.
pub unsafe fn line_pointer_flags(page: ports::Page, offset: u16) -> u32 {
    // SAFETY: inside the line pointer array.
    unsafe { (*pg_sys::PageGetItemId(page.cast(), offset)).lp_flags() }
}

/// Number of line pointers of a row page (none on a column page).
///
/// # Safety
/// `page` is a locked or pinned page.
pub unsafe fn max_offset(page: ports::Page) -> u16 {
    // SAFETY: the header is inside the page.
    unsafe {
        let lower = usize::from((*page.cast::<pg_sys::PageHeaderData>()).pd_lower);
        (lower.saturating_sub(ports::PAGE_HEADER) / size_of::<pg_sys::ItemIdData>()) as u16
    }
}

/// A null scan key.
pub const NO_KEYS: *mut pg_sys::ScanKeyData = ptr::null_mut();

/// Creates the storage of a new relation as heap's (`relation_set_new_filelocator`).
///
/// # Safety
/// As the callback.
pub unsafe fn set_new_filelocator(
    rel: pg_sys::Relation,
    locator: *const ports::RelFileLocator,
    persistence: core::ffi::c_char,
    freeze_xid: *mut pg_sys::TransactionId,
    min_multi: *mut pg_sys::MultiXactId,
) {
    // SAFETY: the caller keeps the contract of the callback.
    unsafe {
        #[cfg(feature = "pg15")]
        heapam!(relation_set_new_filenode(rel, locator, persistence, freeze_xid, min_multi));
        #[cfg(not(feature = "pg15"))]
        heapam!(relation_set_new_filelocator(rel, locator, persistence, freeze_xid, min_multi));
    }
}

/// Bytes of a fork (`relation_size`), as heap reports them.
///
/// # Safety
/// `rel` is an open relation.
pub unsafe fn relation_size(rel: pg_sys::Relation, fork: pg_sys::ForkNumber::Type) -> u64 {
    // SAFETY: as the caller's.
    unsafe { heapam!(relation_size(rel, fork)) }
}
