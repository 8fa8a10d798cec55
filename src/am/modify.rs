//! Deletes, updates and row locks.
//!
//! A row of a row page is heapam's affair. A row of a row group is thawed first ([`thaw`]); then its stub is. What heapam
//! reports of the stub is reported of the row.

use super::group::thaw::{self, Stub, Target};
use super::{fetch, heap, slot, tid, write};
use crate::ports::{self, UpdateIndexes};
use pgrx::pg_sys;
use tid::RowAddress;

/// A row to change: on a row page, or by its stub.
enum Row {
    Page(PinnedRow),
    Stub(Stub),
    Refused(pg_sys::TM_Result::Type),
}

/// A row page that is pinned, so that VACUUM does not move its rows while heapam is at work on one.
struct PinnedRow {
    physical: pg_sys::ItemPointerData,
    buffer: pg_sys::Buffer,
}

impl PinnedRow {
    /// Pins the page of a physical TID; `None` if it is no row page.
    unsafe fn new(rel: pg_sys::Relation, physical: pg_sys::ItemPointerData) -> Option<Self> {
        // SAFETY: as the callers' of `find`.
        unsafe {
            let buffer = fetch::pin_row_page(rel, tid::block_of(&physical))?;
            Some(Self { physical, buffer })
        }
    }
}

impl Drop for PinnedRow {
    fn drop(&mut self) {
        // While unwinding, the transaction's end releases the pin.
        if !std::thread::panicking() {
            // SAFETY: the pin is ours.
            unsafe { pg_sys::ReleaseBuffer(self.buffer) };
        }
    }
}

unsafe fn find(
    rel: pg_sys::Relation,
    tid: &pg_sys::ItemPointerData,
    cid: pg_sys::CommandId,
) -> Row {
    // SAFETY: as the callers'.
    unsafe {
        if let RowAddress::Page(physical) = tid::address(rel, tid) {
            if let Some(row) = PinnedRow::new(rel, physical) {
                return Row::Page(row);
            }
        } else {
            write::flush(rel);
        }
        match thaw::target(rel, tid, cid) {
            Target::Stub(stub) => {
                let mut key = *tid;
                ports::CheckForSerializableConflictIn(rel, &raw mut key, tid::block_of(tid));
                Row::Stub(stub)
            }
            Target::Refused(result) => Row::Refused(result),
        }
    }
}

/// Where the failure data names the stub, the row is meant.
unsafe fn name_row(
    rel: pg_sys::Relation,
    result: pg_sys::TM_Result::Type,
    tmfd: *mut pg_sys::TM_FailureData,
    stub: &Stub,
    row: &pg_sys::ItemPointerData,
) {
    if tmfd.is_null() || !heap::has_failure_data(result) {
        return;
    }
    // SAFETY: heapam filled the failure data.
    unsafe {
        if tid::encode(&(*tmfd).ctid) == tid::encode(&tid::to_external(rel, &stub.physical)) {
            (*tmfd).ctid = *row;
        }
    }
}

/// Fills the failure data of a row that is refused without asking heapam.
unsafe fn refuse(
    result: pg_sys::TM_Result::Type,
    tmfd: *mut pg_sys::TM_FailureData,
    tid: &pg_sys::ItemPointerData,
) -> pg_sys::TM_Result::Type {
    if !tmfd.is_null() {
        // SAFETY: the caller's failure data.
        unsafe {
            *tmfd = pg_sys::TM_FailureData::default();
            (*tmfd).ctid = *tid;
            (*tmfd).cmax = pg_sys::InvalidCommandId;
        }
    }
    result
}

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
        let tid = *tid;
        let run = |physical| {
            heap::delete(rel, physical, cid, snapshot, crosscheck, wait, tmfd, changing_part)
        };
        match find(rel, &tid, cid) {
            Row::Page(row) => run(row.physical),
            Row::Stub(stub) => {
                let result = run(stub.physical);
                name_row(rel, result, tmfd, &stub, &tid);
                result
            }
            Row::Refused(result) => refuse(result, tmfd, &tid),
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
        let tid = *tid;
        let run = |physical| {
            heap::update(
                rel,
                physical,
                slot,
                cid,
                snapshot,
                crosscheck,
                wait,
                tmfd,
                lockmode,
                update_indexes,
            )
        };
        match find(rel, &tid, cid) {
            Row::Page(row) => run(row.physical),
            Row::Stub(stub) => {
                let result = run(stub.physical);
                name_row(rel, result, tmfd, &stub, &tid);
                result
            }
            Row::Refused(result) => {
                *update_indexes = UpdateIndexes::default();
                refuse(result, tmfd, &tid)
            }
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
    // SAFETY: as the caller's. Some callers pass the slot's own TID, so it is read before the slot is cleared; cleared,
    // the slot tells whether heapam stored a version in it.
    unsafe {
        let row_tid = *tid;
        pg_sys::ExecClearTuple(slot);
        let found = find(rel, &row_tid, cid);
        let (mut physical, stub) = match &found {
            Row::Page(row) => (row.physical, None),
            Row::Stub(stub) => (stub.physical, Some(stub)),
            Row::Refused(result) => {
                *tid = row_tid;
                return refuse(*result, tmfd, &row_tid);
            }
        };
        let result =
            heap::lock(rel, &mut physical, snapshot, slot, cid, mode, wait_policy, flags, tmfd);
        let mut version = tid::to_external(rel, &physical);
        if let Some(stub) = stub {
            name_row(rel, result, tmfd, stub, &row_tid);
            if tid::encode(&physical) == tid::encode(&stub.physical) {
                version = row_tid;
            }
        }
        let empty = u32::from((*slot).tts_flags) & pg_sys::TTS_FLAG_EMPTY != 0;
        if !empty {
            match stub {
                Some(stub) if slot::holds_stub(slot) => {
                    let xmax = slot::raw_xmax(slot);
                    slot::store_row(slot, rel, &stub.group, stub.row, row_tid, xmax);
                }
                _ => heap::publish_tid(rel, slot),
            }
        }
        *tid = version;
        result
    }
}
