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
        if pg_sys::RelationGetNumberOfBlocksInFork(rel, pg_sys::ForkNumber::MAIN_FORKNUM) > 0 {
            return;
        }
        create(rel);
    }
}

unsafe fn create(rel: pg_sys::Relation) {
    // SAFETY: see `ensure`.
    unsafe {
        pg_sys::LockRelationForExtension(rel, pg_sys::ExclusiveLock as i32);
        if pg_sys::RelationGetNumberOfBlocksInFork(rel, pg_sys::ForkNumber::MAIN_FORKNUM) == 0 {
            let buffer = pg_sys::ReadBufferExtended(
                rel,
                pg_sys::ForkNumber::MAIN_FORKNUM,
                pg_sys::InvalidBlockNumber,
                pg_sys::ReadBufferMode::RBM_ZERO_AND_LOCK,
                core::ptr::null_mut(),
            );
            super::page::init(ports::buffer_page(buffer), super::page::PageKind::Meta, 0);
            super::directory::initialise(ports::buffer_page(buffer));
            super::page::log_new(rel, buffer);
            pg_sys::UnlockReleaseBuffer(buffer);
        }
        pg_sys::UnlockRelationForExtension(rel, pg_sys::ExclusiveLock as i32);
    }
}
