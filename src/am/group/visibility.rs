//! Whether a snapshot sees the insertion of a row: what HeapTupleSatisfies* says of a tuple's xmin and cmin.

use super::head::InsertRun;
use crate::ports;
use pgrx::pg_sys;

/// Life of an insertion as VACUUM sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertStatus {
    Committed,
    InProgress,
    /// By this very transaction, which is still running.
    Own,
    Aborted,
}

/// The xid of a run whose transaction aborted and whose rows have lost their index entries.
pub const ABORTED: u32 = 0;

/// State of an inserting transaction.
pub fn status(xid: u32) -> InsertStatus {
    if xid == ABORTED {
        return InsertStatus::Aborted;
    }
    if xid == pg_sys::FrozenTransactionId.into_inner() {
        return InsertStatus::Committed;
    }
    let xid = pg_sys::TransactionId::from(xid);
    // SAFETY: plain look-ups of a transaction's state, in the order heapam asks (heapam_visibility.c).
    unsafe {
        if pg_sys::TransactionIdIsCurrentTransactionId(xid) {
            InsertStatus::Own
        } else if pg_sys::TransactionIdIsInProgress(xid) {
            InsertStatus::InProgress
        } else if pg_sys::TransactionIdDidCommit(xid) {
            InsertStatus::Committed
        } else {
            InsertStatus::Aborted
        }
    }
}

/// Whether a snapshot sees rows that were inserted as a run says. A dirty snapshot learns of a transaction in progress.
///
/// # Safety
/// `rel` is open and `snapshot` alive.
pub unsafe fn sees(rel: pg_sys::Relation, run: &InsertRun, snapshot: pg_sys::Snapshot) -> bool {
    use pg_sys::SnapshotType as Kind;
    if run.xid == pg_sys::FrozenTransactionId.into_inner() {
        return true;
    }
    if run.xid == ABORTED {
        return false;
    }
    let xid = pg_sys::TransactionId::from(run.xid);
    // SAFETY: as the caller's.
    unsafe {
        let kind = (*snapshot).snapshot_type;
        if kind == Kind::SNAPSHOT_ANY {
            return true;
        }
        if kind == Kind::SNAPSHOT_MVCC || kind == Kind::SNAPSHOT_HISTORIC_MVCC {
            let visible = if pg_sys::TransactionIdIsCurrentTransactionId(xid) {
                run.cid < (*snapshot).curcid
            } else {
                !in_mvcc_snapshot(xid, snapshot) && pg_sys::TransactionIdDidCommit(xid)
            };
            if !visible {
                ports::CheckForSerializableConflictOut(rel, xid, snapshot);
            }
            return visible;
        }
        match status(run.xid) {
            InsertStatus::Committed | InsertStatus::Own => true,
            InsertStatus::InProgress if kind == Kind::SNAPSHOT_DIRTY => {
                (*snapshot).xmin = xid;
                true
            }
            InsertStatus::InProgress => kind == Kind::SNAPSHOT_NON_VACUUMABLE,
            InsertStatus::Aborted => false,
        }
    }
}

/// Resets what a dirty snapshot reports, as HeapTupleSatisfiesDirty does before it judges.
///
/// # Safety
/// `snapshot` is alive.
pub unsafe fn reset_dirty(snapshot: pg_sys::Snapshot) {
    // SAFETY: as the caller's.
    unsafe {
        if (*snapshot).snapshot_type == pg_sys::SnapshotType::SNAPSHOT_DIRTY {
            (*snapshot).xmin = pg_sys::InvalidTransactionId;
            (*snapshot).xmax = pg_sys::InvalidTransactionId;
            (*snapshot).speculativeToken = 0;
        }
    }
}

unsafe fn in_mvcc_snapshot(xid: pg_sys::TransactionId, snapshot: pg_sys::Snapshot) -> bool {
    // SAFETY: as `sees`.
    unsafe { pg_sys::XidInMVCCSnapshot(xid, snapshot) }
}
