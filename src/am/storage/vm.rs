//! The visibility map of row groups: bits of external blocks, so that core's index-only scans find them.
//!
//! Row pages never have a bit set (heapam would look for it by physical block), external blocks of row groups have one
//! when every snapshot sees all of their rows. The map's pages have the layout of core's (access/visibilitymap.h). They
//! do not have a standard page's hole, which generic WAL records assume, so a changed page is logged as a whole.

use crate::ports::{self, PAGE_HEADER};
use pgrx::pg_sys;

/// Heap blocks a page of the map covers.
const BLOCKS_PER_PAGE: u32 = ((ports::BLCKSZ - PAGE_HEADER) * 4) as u32;
/// All-visible and all-frozen.
const ALL_BITS: u8 = 3;

fn place(block: u32) -> (u32, usize, u8) {
    let within = block % BLOCKS_PER_PAGE;
    (block / BLOCKS_PER_PAGE, PAGE_HEADER + (within / 4) as usize, ((within % 4) * 2) as u8)
}

/// Clears the bits of an external block, if they are set.
///
/// # Safety
/// `rel` is open for writing; the caller holds the lock of the head page of the block's row group.
pub unsafe fn clear(rel: pg_sys::Relation, block: u32) {
    // SAFETY: the map's page is exclusively locked while it is changed and logged.
    unsafe {
        let mut buffer: pg_sys::Buffer = 0;
        let status = pg_sys::visibilitymap_get_status(rel, block, &raw mut buffer);
        if status != 0 {
            change(rel, buffer, &[block], false);
        }
        if buffer != 0 {
            pg_sys::ReleaseBuffer(buffer);
        }
    }
}

/// Sets the bits of external blocks that every snapshot sees whole.
///
/// # Safety
/// As [`clear`]; all rows of the blocks are visible to all.
pub unsafe fn set(rel: pg_sys::Relation, blocks: &[u32]) {
    let mut rest = blocks;
    while let Some(&first) = rest.first() {
        let page = place(first).0;
        let count = rest.partition_point(|&b| place(b).0 == page);
        // SAFETY: visibilitymap_pin extends the map where needed.
        unsafe {
            let mut buffer: pg_sys::Buffer = 0;
            pg_sys::visibilitymap_pin(rel, first, &raw mut buffer);
            change(rel, buffer, &rest[..count], true);
            pg_sys::ReleaseBuffer(buffer);
        }
        rest = &rest[count..];
    }
}

unsafe fn change(rel: pg_sys::Relation, buffer: pg_sys::Buffer, blocks: &[u32], on: bool) {
    // SAFETY: see `clear`; offsets are inside the page.
    unsafe {
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
        let page = ports::buffer_page(buffer);
        let mut changed = false;
        for &block in blocks {
            let (_, byte, shift) = place(block);
            let old = *page.add(byte);
            let new = if on { old | ALL_BITS << shift } else { old & !(ALL_BITS << shift) };
            changed |= new != old;
        }
        if changed {
            pg_sys::CritSectionCount += 1;
            for &block in blocks {
                let (_, byte, shift) = place(block);
                let byte = page.add(byte);
                *byte = if on { *byte | ALL_BITS << shift } else { *byte & !(ALL_BITS << shift) };
            }
            pg_sys::MarkBufferDirty(buffer);
            if ports::RelationNeedsWAL(rel) {
                pg_sys::log_newpage_buffer(buffer, false);
            }
            pg_sys::CritSectionCount -= 1;
        }
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
    }
}
