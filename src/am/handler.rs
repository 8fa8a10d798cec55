//! The table access method routine: one shim per callback over the modules that do the work.

use super::{cluster, estimate, fetch, heap, index_build, modify, scan, vacuum, write};
use crate::ports::{RelFileLocator, UpdateIndexes};
use pgrx::pg_guard;
use pgrx::pg_sys;

/// `pgcolumnar.handler(internal) returns table_am_handler`.
#[unsafe(no_mangle)]
#[pg_guard]
pub extern "C-unwind" fn pgcolumnar_handler(_fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    pg_sys::Datum::from(&raw const ROUTINE.0)
}

/// Calling convention record of [`pgcolumnar_handler`].
#[unsafe(no_mangle)]
pub extern "C" fn pg_finfo_pgcolumnar_handler() -> &'static pg_sys::Pg_finfo_record {
    const V1: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
    &V1
}

struct Routine(pg_sys::TableAmRoutine);

// SAFETY: the routine is constant; it holds function pointers only.
unsafe impl Sync for Routine {}

static ROUTINE: Routine = Routine(pg_sys::TableAmRoutine {
    type_: pg_sys::NodeTag::T_TableAmRoutine,
    slot_callbacks: Some(slot_callbacks),
    scan_begin: Some(scan_begin),
    scan_end: Some(scan_end),
    scan_rescan: Some(scan_rescan),
    scan_getnextslot: Some(scan_getnextslot),
    scan_set_tidrange: Some(scan_set_tidrange),
    scan_getnextslot_tidrange: Some(scan_getnextslot_tidrange),
    parallelscan_estimate: Some(parallelscan_estimate),
    parallelscan_initialize: Some(parallelscan_initialize),
    parallelscan_reinitialize: Some(parallelscan_reinitialize),
    index_fetch_begin: Some(index_fetch_begin),
    index_fetch_reset: Some(index_fetch_reset),
    index_fetch_end: Some(index_fetch_end),
    index_fetch_tuple: Some(index_fetch_tuple),
    tuple_fetch_row_version: Some(tuple_fetch_row_version),
    tuple_tid_valid: Some(tuple_tid_valid),
    tuple_get_latest_tid: Some(tuple_get_latest_tid),
    tuple_satisfies_snapshot: Some(tuple_satisfies_snapshot),
    index_delete_tuples: Some(index_delete_tuples),
    tuple_insert: Some(tuple_insert),
    tuple_insert_speculative: Some(tuple_insert_speculative),
    tuple_complete_speculative: Some(tuple_complete_speculative),
    multi_insert: Some(multi_insert),
    tuple_delete: Some(tuple_delete),
    tuple_update: Some(tuple_update),
    tuple_lock: Some(tuple_lock),
    finish_bulk_insert: Some(finish_bulk_insert),
    #[cfg(feature = "pg15")]
    relation_set_new_filenode: Some(relation_set_new_filelocator),
    #[cfg(not(feature = "pg15"))]
    relation_set_new_filelocator: Some(relation_set_new_filelocator),
    relation_nontransactional_truncate: Some(relation_nontransactional_truncate),
    relation_copy_data: Some(relation_copy_data),
    relation_copy_for_cluster: Some(relation_copy_for_cluster),
    relation_vacuum: Some(relation_vacuum),
    scan_analyze_next_block: Some(scan_analyze_next_block),
    scan_analyze_next_tuple: Some(scan_analyze_next_tuple),
    index_build_range_scan: Some(index_build_range_scan),
    index_validate_scan: Some(index_validate_scan),
    relation_size: Some(relation_size),
    relation_needs_toast_table: Some(relation_needs_toast_table),
    relation_toast_am: Some(relation_toast_am),
    relation_fetch_toast_slice: Some(relation_fetch_toast_slice),
    relation_estimate_size: Some(relation_estimate_size),
    #[cfg(not(feature = "pg18"))]
    scan_bitmap_next_block: Some(scan_bitmap_next_block),
    scan_bitmap_next_tuple: Some(scan_bitmap_next_tuple),
    scan_sample_next_block: Some(scan_sample_next_block),
    scan_sample_next_tuple: Some(scan_sample_next_tuple),
});

/// Defines guarded C callbacks that forward to a function with the same arguments.
macro_rules! shims {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? => $body:expr;)*) => {$(
        unsafe extern "C-unwind" fn $name($($arg: $ty),*) $(-> $ret)? {
            // SAFETY: the server calls the callback with the arguments its contract names; the guard turns a panic
            // into an ERROR.
            #[allow(unused_unsafe, clippy::macro_metavars_in_unsafe)]
            unsafe { pg_sys::panic::pgrx_extern_c_guard(move || $body) }
        }
    )*};
}

type Rel = pg_sys::Relation;
type Slot = *mut pg_sys::TupleTableSlot;
type Desc = pg_sys::TableScanDesc;
type Snap = pg_sys::Snapshot;
type Tid = pg_sys::ItemPointer;
type Bulk = *mut pg_sys::BulkInsertStateData;

shims! {
    fn slot_callbacks(_rel: Rel) -> *const pg_sys::TupleTableSlotOps => super::slot::ops();

    fn scan_begin(rel: Rel, snapshot: Snap, nkeys: i32, key: *mut pg_sys::ScanKeyData, parallel: pg_sys::ParallelTableScanDesc, flags: u32) -> Desc
        => scan::begin(rel, snapshot, nkeys, key, parallel, flags);
    fn scan_end(desc: Desc) => scan::end(desc);
    fn scan_rescan(desc: Desc, key: *mut pg_sys::ScanKeyData, set_params: bool, allow_strat: bool, _allow_sync: bool, allow_pagemode: bool)
        => scan::rescan(desc, key, set_params, allow_strat, allow_pagemode);
    fn scan_getnextslot(desc: Desc, direction: pg_sys::ScanDirection::Type, slot: Slot) -> bool
        => scan::getnextslot(desc, direction, slot);
    fn scan_set_tidrange(desc: Desc, min: Tid, max: Tid) => scan::set_tidrange(desc, min, max);
    fn scan_getnextslot_tidrange(desc: Desc, direction: pg_sys::ScanDirection::Type, slot: Slot) -> bool
        => scan::getnextslot_tidrange(desc, direction, slot);

    fn parallelscan_estimate(_rel: Rel) -> usize => scan::parallel::estimate();
    fn parallelscan_initialize(rel: Rel, shared: pg_sys::ParallelTableScanDesc) -> usize => scan::parallel::initialize(rel, shared);
    fn parallelscan_reinitialize(_rel: Rel, shared: pg_sys::ParallelTableScanDesc) => scan::parallel::reinitialize(shared);

    fn index_fetch_begin(rel: Rel) -> *mut pg_sys::IndexFetchTableData => fetch::begin(rel);
    fn index_fetch_reset(state: *mut pg_sys::IndexFetchTableData) => fetch::reset(state);
    fn index_fetch_end(state: *mut pg_sys::IndexFetchTableData) => fetch::end(state);
    fn index_fetch_tuple(state: *mut pg_sys::IndexFetchTableData, tid: Tid, snapshot: Snap, slot: Slot, call_again: *mut bool, all_dead: *mut bool) -> bool
        => fetch::fetch(state, tid, snapshot, slot, call_again, all_dead);

    fn tuple_fetch_row_version(rel: Rel, tid: Tid, snapshot: Snap, slot: Slot) -> bool => fetch::row_version(rel, tid, snapshot, slot);
    fn tuple_tid_valid(desc: Desc, tid: Tid) -> bool => fetch::tid_valid(desc, tid);
    fn tuple_get_latest_tid(desc: Desc, tid: Tid) => fetch::latest_tid(desc, tid);
    fn tuple_satisfies_snapshot(rel: Rel, slot: Slot, snapshot: Snap) -> bool => fetch::satisfies_snapshot(rel, slot, snapshot);
    fn index_delete_tuples(rel: Rel, state: *mut pg_sys::TM_IndexDeleteOp) -> pg_sys::TransactionId => fetch::index_delete_tuples(rel, state);

    fn tuple_insert(rel: Rel, slot: Slot, cid: pg_sys::CommandId, options: i32, bulk: Bulk) => write::insert(rel, slot, cid, options, bulk);
    fn tuple_insert_speculative(rel: Rel, slot: Slot, cid: pg_sys::CommandId, options: i32, bulk: Bulk, token: u32)
        => heap::insert_speculative(rel, slot, cid, options, bulk, token);
    fn tuple_complete_speculative(rel: Rel, slot: Slot, token: u32, succeeded: bool)
        => heap::complete_speculative(rel, slot, token, succeeded);
    fn multi_insert(rel: Rel, slots: *mut Slot, count: i32, cid: pg_sys::CommandId, options: i32, bulk: Bulk)
        => write::multi_insert(rel, slots, count, cid, options, bulk);
    fn finish_bulk_insert(rel: Rel, options: i32) => write::finish_bulk_insert(rel, options);

    fn tuple_delete(rel: Rel, tid: Tid, cid: pg_sys::CommandId, snapshot: Snap, crosscheck: Snap, wait: bool, tmfd: *mut pg_sys::TM_FailureData, changing_part: bool) -> pg_sys::TM_Result::Type
        => modify::delete(rel, tid, cid, snapshot, crosscheck, wait, tmfd, changing_part);
    fn tuple_update(rel: Rel, tid: Tid, slot: Slot, cid: pg_sys::CommandId, snapshot: Snap, crosscheck: Snap, wait: bool, tmfd: *mut pg_sys::TM_FailureData, lockmode: *mut pg_sys::LockTupleMode::Type, update_indexes: *mut UpdateIndexes) -> pg_sys::TM_Result::Type
        => modify::update(rel, tid, slot, cid, snapshot, crosscheck, wait, tmfd, lockmode, update_indexes);
    fn tuple_lock(rel: Rel, tid: Tid, snapshot: Snap, slot: Slot, cid: pg_sys::CommandId, mode: pg_sys::LockTupleMode::Type, wait_policy: pg_sys::LockWaitPolicy::Type, flags: u8, tmfd: *mut pg_sys::TM_FailureData) -> pg_sys::TM_Result::Type
        => modify::lock(rel, tid, snapshot, slot, cid, mode, wait_policy, flags, tmfd);

    fn relation_set_new_filelocator(rel: Rel, locator: *const RelFileLocator, persistence: core::ffi::c_char, freeze_xid: *mut pg_sys::TransactionId, min_multi: *mut pg_sys::MultiXactId)
        => heap::set_new_filelocator(rel, locator, persistence, freeze_xid, min_multi);
    fn relation_nontransactional_truncate(rel: Rel) => write::truncate(rel);
    fn relation_copy_data(rel: Rel, locator: *const RelFileLocator) => write::copy_data(rel, locator);
    fn relation_copy_for_cluster(old: Rel, new: Rel, index: Rel, use_sort: bool, oldest_xmin: pg_sys::TransactionId, xid_cutoff: *mut pg_sys::TransactionId, multi_cutoff: *mut pg_sys::MultiXactId, num_tuples: *mut f64, vacuumed: *mut f64, recently_dead: *mut f64)
        => cluster::copy(old, new, index, use_sort, oldest_xmin, xid_cutoff, multi_cutoff, num_tuples, vacuumed, recently_dead);
    fn relation_vacuum(rel: Rel, params: *mut pg_sys::VacuumParams, strategy: pg_sys::BufferAccessStrategy)
        => vacuum::vacuum(rel, params, strategy);

    fn scan_analyze_next_tuple(desc: Desc, oldest_xmin: pg_sys::TransactionId, live: *mut f64, dead: *mut f64, slot: Slot) -> bool
        => scan::analyze::next_tuple(desc, oldest_xmin, live, dead, slot);

    fn index_build_range_scan(rel: Rel, index: Rel, info: *mut pg_sys::IndexInfo, _allow_sync: bool, any_visible: bool, progress: bool, _start: pg_sys::BlockNumber, _count: pg_sys::BlockNumber, callback: pg_sys::IndexBuildCallback, state: *mut core::ffi::c_void, desc: Desc) -> f64
        => index_build::range_scan(rel, index, info, any_visible, progress, callback, state, desc);
    fn index_validate_scan(rel: Rel, index: Rel, info: *mut pg_sys::IndexInfo, snapshot: Snap, state: *mut pg_sys::ValidateIndexState)
        => index_build::validate_scan(rel, index, info, snapshot, state);

    fn relation_size(rel: Rel, fork: pg_sys::ForkNumber::Type) -> u64 => heap::relation_size(rel, fork);
    fn relation_needs_toast_table(rel: Rel) -> bool => heap::heapam!(relation_needs_toast_table(rel));
    fn relation_toast_am(_rel: Rel) -> pg_sys::Oid => pg_sys::HEAP_TABLE_AM_OID;
    fn relation_fetch_toast_slice(rel: Rel, value: pg_sys::Oid, size: i32, offset: i32, length: i32, result: *mut pg_sys::varlena)
        => heap::heapam!(relation_fetch_toast_slice(rel, value, size, offset, length, result));
    fn relation_estimate_size(rel: Rel, widths: *mut i32, pages: *mut pg_sys::BlockNumber, tuples: *mut f64, all_visible: *mut f64)
        => estimate::relation_size(rel, widths, pages, tuples, all_visible);

    fn scan_sample_next_block(desc: Desc, node: *mut pg_sys::SampleScanState) -> bool => scan::sample_next_block(desc, node);
    fn scan_sample_next_tuple(desc: Desc, node: *mut pg_sys::SampleScanState, slot: Slot) -> bool => scan::sample_next_tuple(desc, node, slot);
}

#[cfg(any(feature = "pg17", feature = "pg18"))]
shims! {
    fn scan_analyze_next_block(desc: Desc, stream: *mut pg_sys::ReadStream) -> bool => scan::analyze::next_block(desc, stream);
}

#[cfg(not(any(feature = "pg17", feature = "pg18")))]
shims! {
    fn scan_analyze_next_block(desc: Desc, block: pg_sys::BlockNumber, strategy: pg_sys::BufferAccessStrategy) -> bool
        => scan::analyze::next_block(desc, block, strategy);
}

#[cfg(feature = "pg18")]
shims! {
    fn scan_bitmap_next_tuple(desc: Desc, slot: Slot, recheck: *mut bool, lossy: *mut u64, exact: *mut u64) -> bool
        => scan::bitmap::next_tuple(desc, slot, recheck, lossy, exact);
}

#[cfg(not(feature = "pg18"))]
shims! {
    fn scan_bitmap_next_block(desc: Desc, result: *mut pg_sys::TBMIterateResult) -> bool => scan::bitmap::next_block(desc, result);
    fn scan_bitmap_next_tuple(desc: Desc, _result: *mut pg_sys::TBMIterateResult, slot: Slot) -> bool => scan::bitmap::next_tuple(desc, slot);
}
