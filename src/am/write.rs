//! Where inserted rows go.

use super::heap;
use pgrx::pg_sys;

/// Inserts one row (`tuple_insert`).
///
/// # Safety
/// As `table_tuple_insert`.
pub unsafe fn insert(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    options: i32,
    bulk: *mut pg_sys::BulkInsertStateData,
) {
    // SAFETY: as the caller's.
    unsafe { heap::insert(rel, slot, cid, options, bulk) }
}

/// Inserts several rows (`multi_insert`).
///
/// # Safety
/// As `table_multi_insert`.
pub unsafe fn multi_insert(
    rel: pg_sys::Relation,
    slots: *mut *mut pg_sys::TupleTableSlot,
    count: i32,
    cid: pg_sys::CommandId,
    options: i32,
    bulk: *mut pg_sys::BulkInsertStateData,
) {
    // SAFETY: as the caller's.
    unsafe { heap::multi_insert(rel, slots, count, cid, options, bulk) }
}

/// Ends a bulk insertion (`finish_bulk_insert`).
///
/// # Safety
/// As `table_finish_bulk_insert`.
pub unsafe fn finish_bulk_insert(_rel: pg_sys::Relation, _options: i32) {}
