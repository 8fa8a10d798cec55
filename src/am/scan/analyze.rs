//! Sampling for ANALYZE: physical blocks are drawn by core; a row page yields its tuples.

use super::{Scan, pages};
use crate::am::heap;
use pgrx::pg_sys;

/// Takes the next sampled block (`scan_analyze_next_block`, PostgreSQL 17 and later).
///
/// # Safety
/// `scan` came from `begin`; `stream` yields pinned buffers of the relation.
#[cfg(any(feature = "pg17", feature = "pg18"))]
pub unsafe fn next_block(scan: pg_sys::TableScanDesc, stream: *mut pg_sys::ReadStream) -> bool {
    // SAFETY: heapam's descriptor takes over the stream's pin and its page lock.
    unsafe {
        let Some(reader) = Scan::state(scan).reader.as_ref() else { return false };
        heap::heapam!(scan_analyze_next_block(reader.descriptor().cast(), stream))
    }
}

/// Takes the next sampled block (`scan_analyze_next_block`, before PostgreSQL 17).
///
/// # Safety
/// `scan` came from `begin`; `block` lies inside the relation.
#[cfg(not(any(feature = "pg17", feature = "pg18")))]
pub unsafe fn next_block(
    scan: pg_sys::TableScanDesc,
    block: u32,
    strategy: pg_sys::BufferAccessStrategy,
) -> bool {
    // SAFETY: heapam's descriptor pins and locks the page.
    unsafe {
        let Some(reader) = Scan::state(scan).reader.as_ref() else { return false };
        heap::heapam!(scan_analyze_next_block(reader.descriptor().cast(), block, strategy))
    }
}

/// Hands out the next live row of the sampled block (`scan_analyze_next_tuple`).
///
/// # Safety
/// As [`next_block`]; `slot` is a slot of this access method.
pub unsafe fn next_tuple(
    scan: pg_sys::TableScanDesc,
    oldest_xmin: pg_sys::TransactionId,
    live: *mut f64,
    dead: *mut f64,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: heapam's descriptor holds the page's share lock until it reports the end of the page.
    unsafe {
        let Some(reader) = Scan::state(scan).reader.as_ref() else { return false };
        let descriptor = reader.descriptor().cast();
        while heap::heapam!(scan_analyze_next_tuple(descriptor, oldest_xmin, live, dead, slot)) {
            let tuple = (*slot.cast::<pg_sys::HeapTupleTableSlot>()).tuple;
            if pages::is_stub((*tuple).t_data) {
                *live -= 1.0;
                continue;
            }
            heap::publish_tid(slot);
            return true;
        }
        false
    }
}
