//! TID range scans: a sequential scan over the units that can hold TIDs of the range.

use super::{Scan, ScanState, Unit, getnextslot};
use crate::am::tid;
use pgrx::pg_sys;

/// Sets the inclusive bounds (`scan_set_tidrange`).
///
/// # Safety
/// `scan` came from `begin`; both TIDs are readable.
pub unsafe fn set_tidrange(
    scan: pg_sys::TableScanDesc,
    min: pg_sys::ItemPointer,
    max: pg_sys::ItemPointer,
) {
    // SAFETY: the descriptor is alive.
    unsafe {
        Scan::state(scan).set_range(tid::encode(&*min), tid::encode(&*max));
    }
}

impl ScanState {
    /// Keeps the units that can hold TIDs between two keys (see [`tid::encode`]).
    fn set_range(&mut self, low: u64, high: u64) {
        self.tid_range = Some((low, high));
        self.position = None;
        let mut kept = Vec::new();
        for unit in core::mem::take(&mut self.units) {
            match unit {
                Unit::Pages { first, count } => {
                    for page in first..first + count {
                        let external = u64::from(tid::external_block(self.rel, page));
                        if !(low >> 16..=high >> 16).contains(&external) {
                            continue;
                        }
                        match kept.last_mut() {
                            Some(Unit::Pages { first, count }) if *first + *count == page => {
                                *count += 1
                            }
                            _ => kept.push(Unit::Pages { first: page, count: 1 }),
                        }
                    }
                }
                Unit::Group(group) => {
                    // SAFETY: the group belongs to the open relation.
                    let bounds = unsafe { group.tid_bounds(self.rel) };
                    if bounds.is_some_and(|(first, last)| first <= high && last >= low) {
                        kept.push(Unit::Group(group));
                    }
                }
            }
        }
        self.units = kept;
    }
}

/// Next row within the bounds (`scan_getnextslot_tidrange`).
///
/// # Safety
/// As `getnextslot`.
pub unsafe fn getnextslot_tidrange(
    scan: pg_sys::TableScanDesc,
    direction: pg_sys::ScanDirection::Type,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: the bounds are part of the state.
    unsafe { getnextslot(scan, direction, slot) }
}
