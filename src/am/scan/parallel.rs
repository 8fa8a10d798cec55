//! Parallel scans: workers claim row groups and runs of row pages from a counter in shared memory.
//!
//! The leader's view of the directory travels with the counter, since a worker that read the directory itself might see
//! rows in a group that the leader's view has on row pages, or the other way round.

use super::Unit;
use crate::am::group::{Group, cache};
use crate::am::storage::directory::{Entry, SlotAddress};
use crate::am::write;
use core::cell::RefCell;
use core::sync::atomic::{AtomicU64, Ordering};
use pgrx::pg_sys;
use std::rc::Rc;

/// Row pages claimed at a time.
const PAGES_PER_CLAIM: u32 = 64;

/// Groups that fit beside the counter; a longer list gets a segment of its own.
const INLINE_GROUPS: usize = 64;

/// Shared state of a parallel scan.
#[repr(C)]
pub struct ParallelScan {
    base: pg_sys::ParallelTableScanDescData,
    pub blocks: u32,
    groups: u32,
    next: AtomicU64,
    /// Segment with the groups, if they are more than fit here.
    segment: pg_sys::dsm_handle,
    inline: [StoredGroup; INLINE_GROUPS],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct StoredGroup {
    slot_block: u32,
    slot_index: u32,
    entry: Entry,
}

thread_local! {
    /// Segments that this backend made in the running transaction.
    static SEGMENTS: RefCell<Vec<pg_sys::dsm_handle>> = RefCell::default();
}

/// Gives up the segments of parallel scans, at the end of the transaction.
pub fn end_transaction() {
    for handle in SEGMENTS.take() {
        // SAFETY: the mapping is this backend's own.
        unsafe {
            let segment = pg_sys::dsm_find_mapping(handle);
            if !segment.is_null() {
                pg_sys::dsm_detach(segment);
            }
        }
    }
}

unsafe fn current_groups(rel: pg_sys::Relation) -> Vec<StoredGroup> {
    // SAFETY: the relation is open.
    unsafe {
        write::flush(rel);
        let Some(directory) = cache::open(rel) else { return Vec::new() };
        directory
            .groups
            .iter()
            .map(|group| StoredGroup {
                slot_block: group.slot.block,
                slot_index: group.slot.index.into(),
                entry: group.entry,
            })
            .collect()
    }
}

/// Bytes a parallel scan needs in shared memory (`parallelscan_estimate`).
pub fn estimate() -> usize {
    size_of::<ParallelScan>()
}

/// Sets up the shared state (`parallelscan_initialize`).
///
/// # Safety
/// `rel` is an open relation of this access method; `shared` has room for [`estimate`] bytes.
pub unsafe fn initialize(rel: pg_sys::Relation, shared: pg_sys::ParallelTableScanDesc) -> usize {
    // SAFETY: as the caller's.
    unsafe {
        let groups = current_groups(rel);
        let shared = shared.cast::<ParallelScan>();
        #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
        {
            (*shared).base.phs_relid = (*rel).rd_id;
        }
        #[cfg(feature = "pg18")]
        {
            (*shared).base.phs_locator = (*rel).rd_locator;
        }
        (*shared).base.phs_syncscan = false;
        (*shared).blocks =
            pg_sys::RelationGetNumberOfBlocksInFork(rel, pg_sys::ForkNumber::MAIN_FORKNUM);
        (*shared).groups = groups.len() as u32;
        (&raw mut (*shared).next).write(AtomicU64::new(0));
        let stored = if groups.len() <= INLINE_GROUPS {
            (&raw mut (*shared).inline).cast::<StoredGroup>()
        } else {
            // The segment stays mapped here until the transaction ends: no worker of it can come later.
            let segment = pg_sys::dsm_create(size_of_val(groups.as_slice()), 0);
            pg_sys::dsm_pin_mapping(segment);
            (*shared).segment = pg_sys::dsm_segment_handle(segment);
            SEGMENTS.with(|cell| cell.borrow_mut().push((*shared).segment));
            pg_sys::dsm_segment_address(segment).cast()
        };
        core::ptr::copy_nonoverlapping(groups.as_ptr(), stored, groups.len());
    }
    size_of::<ParallelScan>()
}

/// Rewinds the shared state for a rescan (`parallelscan_reinitialize`).
///
/// # Safety
/// `shared` was set up by [`initialize`].
pub unsafe fn reinitialize(shared: pg_sys::ParallelTableScanDesc) {
    // SAFETY: as the caller's.
    unsafe { (*shared.cast::<ParallelScan>()).next.store(0, Ordering::Relaxed) };
}

unsafe fn stored_groups(shared: *mut ParallelScan) -> Vec<StoredGroup> {
    // SAFETY: `initialize` wrote `groups` entries here or in the segment, which this backend may have mapped already.
    unsafe {
        let count = (*shared).groups as usize;
        if count <= INLINE_GROUPS {
            return (&(*shared).inline)[..count].to_vec();
        }
        let handle = (*shared).segment;
        let mapped = pg_sys::dsm_find_mapping(handle);
        let segment = if mapped.is_null() { pg_sys::dsm_attach(handle) } else { mapped };
        if segment.is_null() {
            pgrx::error!("the row groups of a parallel scan are gone");
        }
        let address = pg_sys::dsm_segment_address(segment).cast::<StoredGroup>();
        let groups = core::slice::from_raw_parts(address, count).to_vec();
        if mapped.is_null() {
            pg_sys::dsm_detach(segment);
        }
        groups
    }
}

/// The row groups of a parallel scan, as the leader saw them.
///
/// # Safety
/// `shared` was set up by [`initialize`] for `rel`.
pub unsafe fn groups(rel: pg_sys::Relation, shared: *mut ParallelScan) -> Vec<Rc<Group>> {
    // SAFETY: as the caller's.
    unsafe {
        let known = cache::open(rel);
        stored_groups(shared)
            .iter()
            .map(|group| {
                let cached = known.as_ref().and_then(|d| d.group(group.entry.group));
                cached.filter(|c| c.entry == group.entry).unwrap_or_else(|| {
                    let slot =
                        SlotAddress { block: group.slot_block, index: group.slot_index as u16 };
                    Rc::new(Group::new(slot, group.entry))
                })
            })
            .collect()
    }
}

/// Claims the next part of a parallel scan.
///
/// # Safety
/// `shared` was set up by [`initialize`]; `groups` came from [`groups`].
pub unsafe fn claim(shared: *mut ParallelScan, groups: &[Rc<Group>]) -> Option<Unit> {
    // SAFETY: the shared state lives as long as the scan.
    let (claimed, blocks) =
        unsafe { ((*shared).next.fetch_add(1, Ordering::Relaxed), (*shared).blocks) };
    if let Some(group) = groups.get(claimed as usize) {
        return Some(Unit::Group(group.clone()));
    }
    let first = 1 + (claimed - groups.len() as u64) * u64::from(PAGES_PER_CLAIM);
    if first >= u64::from(blocks) {
        return None;
    }
    let first = first as u32;
    Some(Unit::Pages { first, count: PAGES_PER_CLAIM.min(blocks - first) })
}
