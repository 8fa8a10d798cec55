//! What the pages of a table are that no directory entry names: row pages, and pages of the storage's own.

use crate::am::heap;
use crate::am::scan::pages;
use crate::am::storage::directory::Snapshot;
use crate::am::storage::extent;
use crate::am::storage::page::{self, PageKind};
use crate::ports;
use pgrx::pg_sys;
use pgrx::pg_sys::HTSV_Result as Verdict;

/// Consecutive pages of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// First block.
    pub first: u32,
    pub pages: u32,
    /// Tuples on row pages, dead or alive; stubs are not counted.
    pub tuples: u64,
    /// Rows that ANALYZE counts as live.
    pub live: u64,
    /// Rows, and line pointers of pruned ones, that ANALYZE counts as dead.
    pub dead: u64,
}

/// All pages outside of extents.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Row pages. A page that was added to the file and never used counts as one.
    pub rows: Vec<Run>,
    /// Column pages that no entry names: of a group that is being written, or left by a crash, or not yet given back.
    pub unlisted: Vec<Run>,
    /// Pages of the metapage, the directory and row marks.
    pub metadata: u32,
}

/// What one page is.
enum Page {
    Rows { tuples: u64, live: u64, dead: u64 },
    Metadata,
    Unlisted,
}

/// Reads all pages outside of the extents that a copy of the directory names.
///
/// # Safety
/// `rel` is an open relation of this access method and the copy is its directory's.
pub unsafe fn survey(rel: pg_sys::Relation, directory: &Snapshot) -> Survey {
    // SAFETY: as the caller's; blocks are read below their number.
    unsafe {
        let fork = pg_sys::ForkNumber::MAIN_FORKNUM;
        let blocks = pg_sys::RelationGetNumberOfBlocksInFork(rel, fork);
        let oldest_xmin = pg_sys::GetOldestNonRemovableTransactionId(rel);
        let strategy = pg_sys::GetAccessStrategy(pg_sys::BufferAccessStrategyType::BAS_BULKREAD);
        let mut found = Survey { metadata: 1 + directory.pages.len() as u32, ..Survey::default() };
        for (first, count) in extent::row_page_ranges(directory, blocks) {
            for block in first..first + count {
                pgrx::check_for_interrupts!();
                match look(rel, block, strategy, oldest_xmin) {
                    Page::Rows { tuples, live, dead } => {
                        let run = extend(&mut found.rows, block);
                        run.tuples += tuples;
                        run.live += live;
                        run.dead += dead;
                    }
                    Page::Unlisted => {
                        extend(&mut found.unlisted, block);
                    }
                    Page::Metadata => found.metadata += 1,
                }
            }
        }
        pg_sys::FreeAccessStrategy(strategy);
        found
    }
}

/// Adds a block to the last run, or to a new one.
fn extend(runs: &mut Vec<Run>, block: u32) -> &mut Run {
    if runs.last().is_none_or(|run| run.first + run.pages != block) {
        runs.push(Run { first: block, ..Run::default() });
    }
    let last = runs.len() - 1;
    runs[last].pages += 1;
    &mut runs[last]
}

unsafe fn look(
    rel: pg_sys::Relation,
    block: u32,
    strategy: pg_sys::BufferAccessStrategy,
    oldest_xmin: pg_sys::TransactionId,
) -> Page {
    // SAFETY: the page is pinned and share-locked while it is looked at.
    unsafe {
        let buffer = pg_sys::ReadBufferExtended(
            rel,
            pg_sys::ForkNumber::MAIN_FORKNUM,
            block,
            pg_sys::ReadBufferMode::RBM_NORMAL,
            strategy,
        );
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let content = ports::buffer_page(buffer);
        let found = match page::identify(content) {
            Some((kind, _)) if is_metadata(kind) => Page::Metadata,
            Some(_) => Page::Unlisted,
            None => count(rel, block, buffer, oldest_xmin),
        };
        pg_sys::UnlockReleaseBuffer(buffer);
        found
    }
}

fn is_metadata(kind: u16) -> bool {
    [PageKind::Meta, PageKind::Directory, PageKind::Marks].iter().any(|&k| k as u16 == kind)
}

/// Counts a row page's tuples as heapam_scan_analyze_next_tuple does.
unsafe fn count(
    rel: pg_sys::Relation,
    block: u32,
    buffer: pg_sys::Buffer,
    oldest_xmin: pg_sys::TransactionId,
) -> Page {
    let (mut tuples, mut live, mut dead) = (0, 0, 0);
    // SAFETY: the page is share-locked.
    unsafe {
        let content = ports::buffer_page(buffer);
        for offset in 1..=heap::max_offset(content) {
            let flags = heap::line_pointer_flags(content, offset);
            if flags == pg_sys::LP_DEAD {
                dead += 1;
            }
            if flags != pg_sys::LP_NORMAL {
                continue;
            }
            let mut tuple = heap::tuple_at(rel, content, block, offset);
            if pages::is_stub(tuple.t_data) {
                continue;
            }
            tuples += 1;
            match pg_sys::HeapTupleSatisfiesVacuum(&raw mut tuple, oldest_xmin, buffer) {
                Verdict::HEAPTUPLE_LIVE => live += 1,
                Verdict::HEAPTUPLE_INSERT_IN_PROGRESS => {
                    let xid = ports::HeapTupleHeaderGetXmin(tuple.t_data);
                    if pg_sys::TransactionIdIsCurrentTransactionId(xid) {
                        live += 1;
                    }
                }
                Verdict::HEAPTUPLE_DELETE_IN_PROGRESS => {
                    let xid = ports::HeapTupleHeaderGetUpdateXid(tuple.t_data);
                    if pg_sys::TransactionIdIsCurrentTransactionId(xid) {
                        dead += 1;
                    } else {
                        live += 1;
                    }
                }
                _ => dead += 1,
            }
        }
    }
    Page::Rows { tuples, live, dead }
}
