//! The size of a table's file.

use pgrx::pg_sys;

/// Pages of the main fork, as the system tells.
///
/// # Safety
/// `rel` is an open relation.
pub unsafe fn blocks(rel: pg_sys::Relation) -> u32 {
    // SAFETY: as the caller's.
    unsafe { pg_sys::RelationGetNumberOfBlocksInFork(rel, pg_sys::ForkNumber::MAIN_FORKNUM) }
}

/// Whether the main fork has a page; asks the system only where this is not known. A file gets shorter under an
/// AccessExclusiveLock alone, and a backend that locks the table afterwards has been told to forget its size.
///
/// # Safety
/// `rel` is an open and locked relation.
pub unsafe fn has_block(rel: pg_sys::Relation, block: u32) -> bool {
    // SAFETY: as the caller's; the server's handle of the file lives as long as the relation names it.
    unsafe {
        let file = (*rel).rd_smgr;
        if !file.is_null() {
            let known = (*file).smgr_cached_nblocks[pg_sys::ForkNumber::MAIN_FORKNUM as usize];
            if known != pg_sys::InvalidBlockNumber && block < known {
                return true;
            }
        }
        block < blocks(rel)
    }
}
