//! A ColumnarScan under Gather: processes that claim row groups and runs of row pages of one table.
//!
//! What they share is a counter, the leader's view of the directory, and counters for EXPLAIN, which a worker adds to when
//! it has no row left. The leader takes them over before the shared memory goes; those of a worker that a LIMIT stopped
//! early may then be missing.

use super::state::{NodeState, Totals};
use crate::am::scan::parallel as table;
use columnar_exec::phases::PHASES;
use core::sync::atomic::{AtomicU64, Ordering};
use pgrx::pg_sys;

/// Counters of [`fields`].
const FIELDS: usize = 13;
/// Counters: those of [`fields`], the time of each phase, then the rows that filters removed.
const COUNTERS: usize = FIELDS + PHASES + 1;

/// What the processes share. The table's part follows it.
#[repr(C, align(64))]
pub struct Shared {
    counters: [AtomicU64; COUNTERS],
}

/// The counters of a scan.
fn fields(totals: &mut Totals) -> impl Iterator<Item = &mut u64> {
    let counts = &mut totals.counts;
    let fields: [&mut u64; FIELDS] = [
        &mut counts.groups,
        &mut counts.groups_skipped,
        &mut counts.groups_skipped_bloom,
        &mut counts.groups_answered,
        &mut counts.vectors,
        &mut counts.vectors_skipped,
        &mut counts.vectors_skipped_bloom,
        &mut counts.vectors_answered,
        &mut counts.vectors_emptied,
        &mut counts.page_rows,
        &mut counts.group_rows,
        &mut counts.bytes,
        &mut totals.spilled,
    ];
    fields.into_iter().chain(&mut totals.phases)
}

/// Bytes of shared memory that a node takes.
pub fn estimate() -> usize {
    size_of::<Shared>() + table::estimate()
}

unsafe fn scan_behind(shared: *mut Shared) -> pg_sys::ParallelTableScanDesc {
    // SAFETY: `estimate` counts both.
    unsafe { shared.add(1).cast() }
}

/// The shared state of a node's table scan; null in a scan of one's own.
///
/// # Safety
/// `node` is running.
pub unsafe fn scan_of(node: *const NodeState) -> pg_sys::ParallelTableScanDesc {
    // SAFETY: as the caller's.
    unsafe {
        if (*node).shared.is_null() { core::ptr::null_mut() } else { scan_behind((*node).shared) }
    }
}

/// Sets the shared state up, in the leader.
///
/// # Safety
/// `node` is initialised and `shared` has room for [`estimate`] bytes.
pub unsafe fn initialize(node: *mut NodeState, shared: *mut Shared) {
    // SAFETY: as the caller's.
    unsafe {
        NodeState::start_over(node);
        shared.write(Shared { counters: [const { AtomicU64::new(0) }; COUNTERS] });
        table::initialize((*node).rel, scan_behind(shared));
        (*node).shared = shared;
    }
}

/// Rewinds the shared state for a rescan, in the leader.
///
/// # Safety
/// [`initialize`] has set it up.
pub unsafe fn reinitialize(node: *mut NodeState) {
    // SAFETY: as the caller's.
    unsafe { table::reinitialize(scan_of(node)) }
}

/// Takes part, in a worker.
///
/// # Safety
/// `node` is initialised and `shared` is what the leader set up.
pub unsafe fn attach(node: *mut NodeState, shared: *mut Shared) {
    // SAFETY: as the caller's.
    unsafe { (*node).shared = shared };
}

/// Adds a worker's counters to those the leader shows; they start again at zero.
///
/// # Safety
/// `node` was initialised; no scan of it is under way.
pub unsafe fn report(node: *mut NodeState) {
    // SAFETY: the shared state is mapped until a worker has ended its plan, and a leader has shut the node down.
    unsafe {
        if (*node).shared.is_null() || pg_sys::ParallelWorkerNumber < 0 {
            return;
        }
        let counters = &(*(*node).shared).counters;
        let totals = &mut NodeState::inner(node).totals;
        for (shared, own) in counters.iter().zip(fields(totals)) {
            shared.fetch_add(core::mem::take(own), Ordering::Relaxed);
        }
        let removed: u64 = totals.removed.iter_mut().map(core::mem::take).sum();
        counters[COUNTERS - 1].fetch_add(removed, Ordering::Relaxed);
    }
}

/// Takes the workers' counters over, in the leader, before the shared memory goes.
///
/// # Safety
/// As ShutdownCustomScan.
pub unsafe fn shut_down(node: *mut NodeState) {
    // SAFETY: as the caller's; the memory is still mapped.
    unsafe {
        let shared = (*node).shared;
        if shared.is_null() || pg_sys::ParallelWorkerNumber >= 0 {
            return;
        }
        NodeState::drop_reader(node);
        (*node).shared = core::ptr::null_mut();
        let counters = &(*shared).counters;
        let inner = NodeState::inner(node);
        let totals = &mut inner.totals;
        for (own, shared) in fields(totals).zip(counters) {
            *own += shared.load(Ordering::Relaxed);
        }
        // A leader that took no part has counted nothing.
        totals.removed.resize(inner.setup.filters.len(), 0);
        if let Some(first) = totals.removed.first_mut() {
            *first += counters[COUNTERS - 1].load(Ordering::Relaxed);
        }
    }
}
