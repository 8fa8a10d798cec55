//! Row pages under a lock.

use crate::am::{heap, scan::pages, storage};
use crate::ports::{self, Page};
use pgrx::pg_sys;

/// How a page is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageLock {
    /// Readers only.
    Share,
    /// This backend alone changes the page.
    Exclusive,
    /// As exclusive, and no other backend holds a pin: tuples may be moved.
    Cleanup,
}

/// A pinned and locked page; unlocked and released when dropped.
#[derive(Debug)]
pub struct LockedPage {
    rel: pg_sys::Relation,
    buffer: pg_sys::Buffer,
    block: u32,
    lock: PageLock,
}

impl LockedPage {
    /// Pins a block and locks it, waiting as long as it takes.
    ///
    /// # Safety
    /// `rel` is open and `block` inside it; `strategy` is null or a valid ring.
    pub unsafe fn read(
        rel: pg_sys::Relation,
        block: u32,
        strategy: pg_sys::BufferAccessStrategy,
        lock: PageLock,
    ) -> Self {
        // SAFETY: as the caller's.
        unsafe {
            let buffer = pin(rel, block, strategy);
            let page = Self { rel, buffer, block, lock };
            page.acquire();
            page
        }
    }

    /// Pins a block and takes the cleanup lock if that needs no waiting, else the share lock.
    ///
    /// # Safety
    /// As [`LockedPage::read`].
    pub unsafe fn read_for_cleanup_or_share(
        rel: pg_sys::Relation,
        block: u32,
        strategy: pg_sys::BufferAccessStrategy,
    ) -> Self {
        // SAFETY: as the caller's.
        unsafe {
            let buffer = pin(rel, block, strategy);
            if pg_sys::ConditionalLockBufferForCleanup(buffer) {
                return Self { rel, buffer, block, lock: PageLock::Cleanup };
            }
            let page = Self { rel, buffer, block, lock: PageLock::Share };
            page.acquire();
            page
        }
    }

    unsafe fn acquire(&self) {
        // SAFETY: the buffer is pinned and not locked by this backend.
        unsafe {
            match self.lock {
                PageLock::Share => {
                    pg_sys::LockBuffer(self.buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
                }
                PageLock::Exclusive => {
                    pg_sys::LockBuffer(self.buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
                }
                PageLock::Cleanup => pg_sys::LockBufferForCleanup(self.buffer),
            }
        }
    }

    /// Gives the lock up and waits for another; the page may change in between.
    pub fn relock(&mut self, lock: PageLock) {
        self.lock = lock;
        // SAFETY: the buffer is pinned and locked by this backend.
        unsafe {
            pg_sys::LockBuffer(self.buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
            self.acquire();
        }
    }

    /// How the page is locked.
    pub fn lock(&self) -> PageLock {
        self.lock
    }

    /// The relation.
    pub fn relation(&self) -> pg_sys::Relation {
        self.rel
    }

    /// The buffer.
    pub fn buffer(&self) -> pg_sys::Buffer {
        self.buffer
    }

    /// Physical block.
    pub fn block(&self) -> u32 {
        self.block
    }

    /// Start of the page.
    pub fn page(&self) -> Page {
        // SAFETY: the buffer is pinned.
        unsafe { ports::buffer_page(self.buffer) }
    }

    /// Kind and owner of a column page.
    pub fn column_identity(&self) -> Option<(u16, u64)> {
        // SAFETY: the page is locked.
        unsafe { storage::page::identify(self.page()) }
    }

    /// Kind of a column page, `None` for a row page, an empty one or a new one.
    pub fn column_kind(&self) -> Option<u16> {
        // SAFETY: the page is locked.
        unsafe { storage::page::identify(self.page()) }.map(|(kind, _)| kind)
    }

    /// `PageIsNew`: all zeroes, never initialised.
    pub fn is_new(&self) -> bool {
        // SAFETY: the header is inside the locked page.
        unsafe { (*self.page().cast::<pg_sys::PageHeaderData>()).pd_upper == 0 }
    }

    /// Number of line pointers.
    pub fn max_offset(&self) -> u16 {
        // SAFETY: the page is locked.
        unsafe { heap::max_offset(self.page()) }
    }

    /// Flags of a line pointer (`LP_*`).
    pub fn flags(&self, offset: u16) -> u32 {
        debug_assert!(offset >= 1 && offset <= self.max_offset());
        // SAFETY: callers pass offsets up to `max_offset`.
        unsafe { heap::line_pointer_flags(self.page(), offset) }
    }

    /// The tuple at a normal line pointer, under its physical TID; valid while the page is pinned.
    pub fn tuple(&self, offset: u16) -> pg_sys::HeapTupleData {
        debug_assert_eq!(self.flags(offset), pg_sys::LP_NORMAL);
        // SAFETY: the page is locked; callers pass normal line pointers.
        unsafe { heap::tuple_at(self.rel, self.page(), self.block, offset) }
    }

    /// Offsets of line pointers with these flags.
    pub fn offsets(&self, flags: u32) -> impl Iterator<Item = u16> + '_ {
        (1..=self.max_offset()).filter(move |&offset| self.flags(offset) == flags)
    }

    /// Offsets of the stubs of the page.
    pub fn stubs(&self) -> Vec<u16> {
        self.offsets(pg_sys::LP_NORMAL)
            // SAFETY: a tuple header on the locked page.
            .filter(|&offset| unsafe { pages::is_stub(self.tuple(offset).t_data) })
            .collect()
    }

    /// Whether any line pointer is in use.
    pub fn has_items(&self) -> bool {
        (1..=self.max_offset()).any(|offset| self.flags(offset) != pg_sys::LP_UNUSED)
    }

    /// Free bytes for a new tuple.
    pub fn free_space(&self) -> usize {
        // SAFETY: an initialised page.
        unsafe { pg_sys::PageGetHeapFreeSpace(self.page().cast()) as usize }
    }

    /// Unlocks and releases the page, then records its free space.
    pub fn release_recording_space(self) {
        let (rel, block, free) = (self.rel, self.block, self.free_space());
        drop(self);
        // SAFETY: the relation is open.
        unsafe { pg_sys::RecordPageWithFreeSpace(rel, block, free as _) };
    }

    /// Makes `LP_DEAD` line pointers unused and drops trailing unused ones (`lazy_vacuum_heap_page`); offsets that are not
    /// `LP_DEAD` are passed over. Returns how many were reclaimed.
    ///
    /// No index entry and no stub's owner may refer to them any more. An exclusive lock is enough: a dead line pointer
    /// has no tuple that a pin could protect. The record is heapam's: a generic one would not pass
    /// `wal_consistency_checking`, which knows of hint bits on heap pages only in heapam's records.
    pub fn reclaim(&self, offsets: &[u16]) -> usize {
        debug_assert!(self.lock != PageLock::Share);
        let max = self.max_offset();
        let mut dead: Vec<u16> = offsets
            .iter()
            .copied()
            .filter(|&offset| offset <= max && self.flags(offset) == pg_sys::LP_DEAD)
            .collect();
        if dead.is_empty() {
            return 0;
        }
        // SAFETY: the buffer is locked exclusively. In the critical section nothing allocates and no Rust code can fail.
        unsafe {
            let page = self.page();
            let log = ports::RelationNeedsWAL(self.rel);
            pg_sys::CritSectionCount += 1;
            for &offset in &dead {
                let item = pg_sys::PageGetItemId(page.cast(), offset);
                (*item).set_lp_flags(pg_sys::LP_UNUSED);
                (*item).set_lp_off(0);
                (*item).set_lp_len(0);
            }
            pg_sys::PageTruncateLinePointerArray(page.cast());
            pg_sys::MarkBufferDirty(self.buffer);
            if log {
                super::versions::log_reclaim(self.rel, self.buffer, &mut dead);
            }
            pg_sys::CritSectionCount -= 1;
        }
        dead.len()
    }
}

impl Drop for LockedPage {
    fn drop(&mut self) {
        // While an error unwinds, the transaction's abort releases locks and pins.
        if !std::thread::panicking() {
            // SAFETY: pinned and locked by this guard.
            unsafe { pg_sys::UnlockReleaseBuffer(self.buffer) };
        }
    }
}

unsafe fn pin(
    rel: pg_sys::Relation,
    block: u32,
    strategy: pg_sys::BufferAccessStrategy,
) -> pg_sys::Buffer {
    // SAFETY: as the caller's.
    unsafe {
        pg_sys::ReadBufferExtended(
            rel,
            pg_sys::ForkNumber::MAIN_FORKNUM,
            block,
            pg_sys::ReadBufferMode::RBM_NORMAL,
            strategy,
        )
    }
}

/// Calls `visit` with every initialised row page of `blocks`, locked as asked, until it returns false.
///
/// # Safety
/// `rel` is open and holds the blocks; `strategy` is null or a valid ring.
pub unsafe fn for_each_row_page(
    rel: pg_sys::Relation,
    blocks: core::ops::Range<u32>,
    strategy: pg_sys::BufferAccessStrategy,
    lock: PageLock,
    mut visit: impl FnMut(LockedPage) -> bool,
) {
    for block in blocks.start.max(1)..blocks.end {
        super::versions::vacuum_delay_point();
        // SAFETY: as the caller's.
        let page = unsafe { LockedPage::read(rel, block, strategy, lock) };
        if !page.is_new() && page.column_kind().is_none() && !visit(page) {
            return;
        }
    }
}
