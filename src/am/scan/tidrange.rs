//! TID range scans: a sequential scan over the units that can hold TIDs of the range.

use super::{Scan, getnextslot};
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
