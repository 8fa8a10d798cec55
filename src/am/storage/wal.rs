//! Changes of a page that `GenericXLogFinish` would log too slowly, or with too weak a lock on standbys.
//!
//! `GenericXLogFinish` finds out what changed by comparing whole pages. Where the change is known, the same record is made
//! without that: for each fragment its offset, its length and its bytes (applyPageRedo in
//! src/backend/access/transam/generic_xlog.c reads just that).

use super::page::{self, PageKind};
use crate::ports::{self, BLCKSZ};
use pgrx::pg_sys;

/// `REGBUF_STANDARD`: the page's hole may be left out of a full image.
const REGBUF_STANDARD: u8 = 0x08;
/// `REGBUF_FORCE_IMAGE`: a full image, also where the page is already in the WAL since the last checkpoint.
const REGBUF_FORCE_IMAGE: u8 = 0x01;
/// `XLOG_BTREE_VACUUM` of src/include/access/nbtxlog.h, the same in PostgreSQL 15 to 18.
const XLOG_BTREE_VACUUM: u8 = 0xC0;

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
            set_lsn(page, lsn);
        }
        pg_sys::CritSectionCount -= 1;
    }
}

/// Makes a row page an empty column page, and has standbys wait until nobody there has a pointer into its rows.
///
/// Replay of a generic record takes an exclusive lock, which leaves pinned tuples to be overwritten under their readers.
/// Replay of a btree's VACUUM record takes a cleanup lock; with a full image and no item to delete or update it does
/// nothing but restore the image under that lock (btree_xlog_vacuum in src/backend/access/nbtree/nbtxlog.c). Its
/// wal_consistency_checking masks fields of a btree page's special space, which has the size of a column page's.
///
/// # Safety
/// `buffer` is a buffer of `rel` for which the caller holds the cleanup lock.
pub unsafe fn replace_rows(
    rel: pg_sys::Relation,
    buffer: pg_sys::Buffer,
    kind: PageKind,
    owner: u64,
) {
    // `xl_btree_vacuum`: numbers of deleted and of updated items.
    let mut nothing = [0u16; 2];
    // SAFETY: the critical section keeps the change and its record together; nothing in it allocates but XLogInsert.
    unsafe {
        let page = ports::buffer_page(buffer);
        pg_sys::CritSectionCount += 1;
        page::init(page, kind, owner);
        pg_sys::MarkBufferDirty(buffer);
        if ports::RelationNeedsWAL(rel) {
            pg_sys::XLogBeginInsert();
            pg_sys::XLogRegisterBuffer(0, buffer, REGBUF_STANDARD | REGBUF_FORCE_IMAGE);
            pg_sys::XLogRegisterData(nothing.as_mut_ptr().cast(), size_of_val(&nothing) as _);
            let lsn = pg_sys::XLogInsert(pg_sys::RmgrIds::RM_BTREE_ID as u8, XLOG_BTREE_VACUUM);
            set_lsn(page, lsn);
        }
        pg_sys::CritSectionCount -= 1;
    }
}

/// `PageSetLSN`.
unsafe fn set_lsn(page: ports::Page, lsn: pg_sys::XLogRecPtr) {
    // SAFETY: the header is inside the page, which the caller has locked.
    unsafe {
        (*page.cast::<pg_sys::PageHeaderData>()).pd_lsn =
            pg_sys::PageXLogRecPtr { xlogid: (lsn >> 32) as u32, xrecoff: lsn as u32 };
    }
}
