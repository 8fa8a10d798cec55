//! Deletes, updates and row locks.

use super::{heap, tid};
use crate::ports::UpdateIndexes;
use pgrx::pg_sys;
use tid::RowAddress;

/// Deletes a row (`tuple_delete`).
///
/// # Safety
/// As `table_tuple_delete`.
#[allow(clippy::too_many_arguments)]
pub unsafe fn delete(
    rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    cid: pg_sys::CommandId,
    snapshot: pg_sys::Snapshot,
    crosscheck: pg_sys::Snapshot,
    wait: bool,
    tmfd: *mut pg_sys::TM_FailureData,
    changing_part: bool,
) -> pg_sys::TM_Result::Type {
    // SAFETY: as the caller's.
    unsafe {
        match tid::address(&*tid) {
            RowAddress::Page(physical) => {
                heap::delete(rel, physical, cid, snapshot, crosscheck, wait, tmfd, changing_part)
            }
            RowAddress::Row(_) => pg_sys::TM_Result::TM_Invisible,
        }
    }
}

/// Updates a row (`tuple_update`).
///
/// # Safety
/// As `table_tuple_update`.
#[allow(clippy::too_many_arguments)]
pub unsafe fn update(
    rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    snapshot: pg_sys::Snapshot,
    crosscheck: pg_sys::Snapshot,
    wait: bool,
    tmfd: *mut pg_sys::TM_FailureData,
    lockmode: *mut pg_sys::LockTupleMode::Type,
    update_indexes: *mut UpdateIndexes,
) -> pg_sys::TM_Result::Type {
    // SAFETY: as the caller's.
    unsafe {
        match tid::address(&*tid) {
            RowAddress::Page(physical) => heap::update(
                rel, physical, slot, cid, snapshot, crosscheck, wait, tmfd, lockmode, update_indexes,
            ),
            RowAddress::Row(_) => pg_sys::TM_Result::TM_Invisible,
        }
    }
}

/// Locks a row and stores its locked version in the slot (`tuple_lock`).
///
/// # Safety
/// As `table_tuple_lock`.
#[allow(clippy::too_many_arguments)]
pub unsafe fn lock(
    rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    mode: pg_sys::LockTupleMode::Type,
    wait_policy: pg_sys::LockWaitPolicy::Type,
    flags: u8,
    tmfd: *mut pg_sys::TM_FailureData,
) -> pg_sys::TM_Result::Type {
    // SAFETY: as the caller's.
    unsafe {
        match tid::address(&*tid) {
            RowAddress::Page(mut physical) => {
                // Some callers pass the slot's own TID. Cleared, the slot tells whether heapam stored a version in it.
                pg_sys::ExecClearTuple(slot);
                let result = heap::lock(
                    rel, &mut physical, snapshot, slot, cid, mode, wait_policy, flags, tmfd,
                );
                let empty = u32::from((*slot).tts_flags) & pg_sys::TTS_FLAG_EMPTY != 0;
                if !empty {
                    heap::publish_tid(slot);
                }
                *tid = tid::to_external(&physical);
                result
            }
            RowAddress::Row(_) => pg_sys::TM_Result::TM_Invisible,
        }
    }
}
