//! Small changes of a page as generic WAL records.
//!
//! `GenericXLogFinish` finds out what changed by comparing whole pages. Where the change is known, the same record is made
//! without that: for each fragment its offset, its length and its bytes (applyPageRedo in
//! src/backend/access/transam/generic_xlog.c reads just that).

use crate::ports::{self, BLCKSZ};
use pgrx::pg_sys;

/// `REGBUF_STANDARD`: the page's hole may be left out of a full image.
const REGBUF_STANDARD: u8 = 0x08;

/// Overwrites bytes of a page, at offsets from its start, and logs them.
///
/// # Safety
/// `buffer` is a pinned, exclusively locked buffer of `rel`; the fragments lie inside the page and outside of its header.
pub unsafe fn write_fragments(
    rel: pg_sys::Relation,
    buffer: pg_sys::Buffer,
    fragments: &[(usize, &[u8])],
) {
    let mut delta = Vec::with_capacity(64);
    for (offset, bytes) in fragments {
        debug_assert!(*offset >= ports::PAGE_HEADER && offset + bytes.len() <= BLCKSZ);
        delta.extend_from_slice(&(*offset as u16).to_ne_bytes());
        delta.extend_from_slice(&(bytes.len() as u16).to_ne_bytes());
        delta.extend_from_slice(bytes);
    }
    // SAFETY: the critical section keeps the change and its record together; everything it needs is allocated before.
    unsafe {
        let page = ports::buffer_page(buffer);
        pg_sys::CritSectionCount += 1;
        for (offset, bytes) in fragments {
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), page.add(*offset), bytes.len());
        }
        pg_sys::MarkBufferDirty(buffer);
        if ports::RelationNeedsWAL(rel) {
            pg_sys::XLogBeginInsert();
            pg_sys::XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
            pg_sys::XLogRegisterBufData(0, delta.as_mut_ptr().cast(), delta.len() as _);
            let lsn = pg_sys::XLogInsert(pg_sys::RmgrIds::RM_GENERIC_ID as u8, 0);
            (*page.cast::<pg_sys::PageHeaderData>()).pd_lsn =
                pg_sys::PageXLogRecPtr { xlogid: (lsn >> 32) as u32, xrecoff: lsn as u32 };
        }
        pg_sys::CritSectionCount -= 1;
    }
}
