//! Block 0: created by the first insertion, so that an empty table has an empty file, as heap's.

use crate::ports;
use pgrx::pg_sys;

/// Makes sure that block 0 exists, so that heapam's first row page is block 1.
///
/// # Safety
/// `rel` is an open relation of this access method, locked for writing.
pub unsafe fn ensure(rel: pg_sys::Relation) {
    // SAFETY: plain relcache and buffer manager calls on an open relation; the extension lock keeps two creators apart,
    // and the new buffer stays exclusively locked until it is initialised and logged.
    unsafe {
        let smgr = (*rel).rd_smgr;
        if !smgr.is_null() && (*smgr).smgr_targblock != pg_sys::InvalidBlockNumber {
            return;
        }
        if !exists(rel) {
            create(rel);
        }
    }
}

/// Whether block 0 is there and initialised. A crash may leave it all zeroes at the end of an otherwise empty file.
///
/// # Safety
/// `rel` is an open relation of this access method.
pub unsafe fn exists(rel: pg_sys::Relation) -> bool {
    // SAFETY: the page is share-locked while it is looked at.
    unsafe {
        if !super::size::has_block(rel, 0) {
            return false;
        }
        let buffer = pg_sys::ReadBuffer(rel, 0);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let new = super::page::is_new(ports::buffer_page(buffer));
        pg_sys::UnlockReleaseBuffer(buffer);
        !new
    }
}

unsafe fn create(rel: pg_sys::Relation) {
    // SAFETY: see `ensure`.
    unsafe {
        pg_sys::LockRelationForExtension(rel, pg_sys::ExclusiveLock as i32);
        let main = pg_sys::ForkNumber::MAIN_FORKNUM;
        let empty = pg_sys::RelationGetNumberOfBlocksInFork(rel, main) == 0;
        let buffer = if empty {
            super::extent::new_page(rel)
        } else {
            let buffer = pg_sys::ReadBuffer(rel, 0);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
            buffer
        };
        let page = ports::buffer_page(buffer);
        if super::page::is_new(page) {
            super::page::init(page, super::page::PageKind::Meta, 0);
            super::directory::initialise(page);
            super::page::log_new(rel, buffer);
        }
        pg_sys::UnlockReleaseBuffer(buffer);
        pg_sys::UnlockRelationForExtension(rel, pg_sys::ExclusiveLock as i32);
    }
}
