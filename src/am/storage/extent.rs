//! Extents: runs of column pages that hold the bytes of a row group or a TID map.

use super::directory::{Change, Entry, EntryKind, SlotAddress, Snapshot};
use super::page::{self, PAYLOAD, PageKind};
use super::page_stream::PageStream;
use crate::ports;
use crate::ports::read_stream::{self, NO_BUFFER};
use core::ops::Range;
use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};

/// Adds one page at the end of the file and returns its buffer, exclusively locked and zeroed.
///
/// # Safety
/// `rel` is an open relation of this access method, locked for writing.
pub unsafe fn extend(rel: pg_sys::Relation) -> pg_sys::Buffer {
    // SAFETY: the extension lock keeps extenders apart; P_NEW returns the locked new page.
    unsafe {
        pg_sys::LockRelationForExtension(rel, pg_sys::ExclusiveLock as i32);
        let buffer = new_page(rel);
        pg_sys::UnlockRelationForExtension(rel, pg_sys::ExclusiveLock as i32);
        buffer
    }
}

/// As [`extend`], under an extension lock the caller holds.
///
/// # Safety
/// The caller holds the relation extension lock.
pub unsafe fn new_page(rel: pg_sys::Relation) -> pg_sys::Buffer {
    // SAFETY: the caller holds the extension lock.
    unsafe {
        pg_sys::ReadBufferExtended(
            rel,
            pg_sys::ForkNumber::MAIN_FORKNUM,
            pg_sys::InvalidBlockNumber,
            pg_sys::ReadBufferMode::RBM_ZERO_AND_LOCK,
            core::ptr::null_mut(),
        )
    }
}

/// Pages that `bytes` bytes take.
pub fn pages_for(bytes: usize) -> u32 {
    bytes.div_ceil(PAYLOAD) as u32
}

/// Takes `pages` contiguous pages: a free extent nobody needs any more, or new pages at the end of the file.
///
/// New pages are formatted (as [`PageKind::Free`], owned by this transaction's xid) before their lock is released, so that
/// heapam never takes one for a row page. The directory names the extent as pending until [`settle`] is told that something
/// else does; after a crash or an error VACUUM finds it there.
///
/// # Safety
/// `rel` is an open relation of this access method with a metapage, locked for writing.
pub unsafe fn allocate(rel: pg_sys::Relation, pages: u32) -> u32 {
    // SAFETY: as the caller's.
    unsafe {
        let owner = pg_sys::GetTopTransactionIdIfAny().into_inner();
        if let Some(first) = take_free(rel, pages, owner) {
            return first;
        }
        pg_sys::LockRelationForExtension(rel, pg_sys::ExclusiveLock as i32);
        let mut first = 0;
        for i in 0..pages {
            let buffer = new_page(rel);
            if i == 0 {
                first = pg_sys::BufferGetBlockNumber(buffer);
            }
            // Each page is logged with what is written to it. The last one is logged now as well, so that the file is
            // as long as the directory says wherever recovery ends.
            page::init(ports::buffer_page(buffer), PageKind::Free, owner.into());
            if i + 1 == pages {
                page::log_new(rel, buffer);
            } else {
                pg_sys::MarkBufferDirty(buffer);
            }
            pg_sys::UnlockReleaseBuffer(buffer);
        }
        pg_sys::UnlockRelationForExtension(rel, pg_sys::ExclusiveLock as i32);
        let mut change = Change::begin(rel);
        change.put(pending(first, pages, owner));
        change.commit();
        first
    }
}

fn pending(extent: u32, extent_pages: u32, owner: u32) -> Entry {
    Entry { kind: EntryKind::Pending as u8, xid: owner, extent, extent_pages, ..Entry::default() }
}

/// Takes pending entries out of the directory, by the first pages of their extents, which something else names now.
///
/// # Safety
/// As [`allocate`].
pub unsafe fn settle(rel: pg_sys::Relation, extents: &[u32]) {
    // SAFETY: as the caller's; the entries are this backend's own.
    unsafe {
        for (slot, entry) in super::directory::read(rel).entries {
            if entry.is(EntryKind::Pending) && extents.contains(&entry.extent) {
                let mut change = Change::begin(rel);
                if change.get(slot) == entry {
                    change.set(slot, Entry::default());
                }
                change.commit();
            }
        }
    }
}

/// Takes pages from the smallest free extent that is large enough and that no snapshot can need.
unsafe fn take_free(rel: pg_sys::Relation, pages: u32, owner: u32) -> Option<u32> {
    // SAFETY: as `allocate`.
    unsafe {
        let snapshot = super::directory::read(rel);
        let mut best: Option<(SlotAddress, Entry)> = None;
        for (slot, entry) in &snapshot.entries {
            let fits = entry.is(EntryKind::Free) && entry.extent_pages >= pages;
            let better = best.is_none_or(|(_, b)| entry.extent_pages < b.extent_pages);
            if fits && better && reusable(rel, entry) {
                best = Some((*slot, *entry));
            }
        }
        let (slot, entry) = best?;
        let mut change = Change::begin(rel);
        if change.get(slot) != entry {
            // Somebody else took it meanwhile; the end of the file always has room.
            change.commit();
            return None;
        }
        let rest = Entry {
            extent: entry.extent + pages,
            extent_pages: entry.extent_pages - pages,
            ..entry
        };
        let taken = pending(entry.extent, pages, owner);
        if rest.extent_pages == 0 {
            change.set(slot, taken);
        } else {
            change.set(slot, rest);
            change.put(taken);
        }
        change.commit();
        crate::am::standby::conflict(rel, entry.xid.into());
        Some(entry.extent)
    }
}

/// Numbers row pages from `blocks` on afresh, before the file is cut there, so that they do not answer to TIDs of rows
/// that were moved to groups.
///
/// # Safety
/// `rel` is open with an `AccessExclusiveLock`.
pub unsafe fn restart_row_pages(rel: pg_sys::Relation, blocks: u32) {
    // SAFETY: as the caller's; nobody else has the page map in use.
    unsafe {
        let old = pg_sys::RelationGetNumberOfBlocksInFork(rel, pg_sys::ForkNumber::MAIN_FORKNUM);
        let mut change = Change::begin(rel);
        change.page_map().restart(blocks, old);
        change.commit();
        pg_sys::CacheInvalidateRelcache(rel);
        if !(*rel).rd_amcache.is_null() {
            pg_sys::pfree((*rel).rd_amcache);
            (*rel).rd_amcache = core::ptr::null_mut();
        }
    }
}

/// Whether no running transaction can still read the old contents of a free extent.
///
/// # Safety
/// `rel` is an open relation.
pub unsafe fn reusable(rel: pg_sys::Relation, entry: &Entry) -> bool {
    // SAFETY: the relation decides which horizon applies.
    entry.xid == 0 || unsafe { pg_sys::GlobalVisCheckRemovableXid(rel, entry.xid.into()) }
}

/// A directory entry for an extent that is free once transactions running now are gone.
pub fn free_entry(extent: u32, pages: u32) -> Entry {
    // SAFETY: reads the shared transaction counter.
    let xid = unsafe { pg_sys::ReadNextTransactionId() };
    Entry {
        kind: EntryKind::Free as u8,
        xid: xid.into_inner(),
        extent,
        extent_pages: pages,
        ..Entry::default()
    }
}

/// Writes bytes over the pages of an extent, each page logged as a whole.
///
/// # Safety
/// The extent was allocated by this backend and is not yet known to the directory as anything but its own.
pub unsafe fn write(
    rel: pg_sys::Relation,
    first: u32,
    kind: PageKind,
    owner: u64,
    bytes: &[u8],
    strategy: pg_sys::BufferAccessStrategy,
) {
    for (i, part) in bytes.chunks(PAYLOAD).enumerate() {
        // SAFETY: the page is exclusively locked while it is filled and logged.
        unsafe {
            let buffer = pg_sys::ReadBufferExtended(
                rel,
                pg_sys::ForkNumber::MAIN_FORKNUM,
                first + i as u32,
                pg_sys::ReadBufferMode::RBM_ZERO_AND_LOCK,
                strategy,
            );
            let page = ports::buffer_page(buffer);
            page::init(page, kind, owner);
            core::ptr::copy_nonoverlapping(part.as_ptr(), page::payload(page), part.len());
            page::log_new(rel, buffer);
            pg_sys::UnlockReleaseBuffer(buffer);
        }
    }
}

/// Reads `bytes.len()` bytes from byte `offset` of an extent, checking that its pages are what the directory says. Pages come
/// from `stream` where it is given.
///
/// # Safety
/// `rel` is an open relation of this access method, and the one that `stream` reads.
pub unsafe fn read(
    rel: pg_sys::Relation,
    first: u32,
    kind: PageKind,
    owner: u64,
    offset: usize,
    bytes: &mut [u8],
    mut stream: Option<&mut PageStream>,
) {
    let mut done = 0;
    while done < bytes.len() {
        let at = offset + done;
        let block = first + (at / PAYLOAD) as u32;
        let skip = at % PAYLOAD;
        let len = (PAYLOAD - skip).min(bytes.len() - done);
        // SAFETY: the bytes copied lie inside the payload of a pinned page; column data never changes in place.
        unsafe {
            let mut buffer = NO_BUFFER;
            let page = match &mut stream {
                Some(stream) => stream.lock(block),
                None => {
                    buffer = read_stream::read(rel, core::ptr::null_mut(), block, NO_BUFFER, true);
                    ports::buffer_page(buffer)
                }
            };
            let is_right = page::identify(page) == Some((kind as u16, owner));
            if is_right {
                core::ptr::copy_nonoverlapping(
                    page::payload(page).add(skip),
                    bytes[done..].as_mut_ptr(),
                    len,
                );
            }
            match &mut stream {
                Some(stream) => stream.unlock(),
                None => pg_sys::UnlockReleaseBuffer(buffer),
            }
            if !is_right {
                ereport!(
                    PgLogLevel::ERROR,
                    PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
                    format!(
                        "block {block} of table \"{}\" does not hold the data of row group {owner}",
                        crate::am::relation_name(rel)
                    )
                );
            }
        }
        done += len;
    }
}

/// The blocks that [`read`] reads.
pub fn blocks_of(first: u32, offset: u64, len: u64) -> Range<u32> {
    let (from, until) = (offset / PAYLOAD as u64, (offset + len).div_ceil(PAYLOAD as u64));
    if len == 0 { first..first } else { first + from as u32..first + until as u32 }
}

/// Blocks that hold row pages (or nothing known): all but the extents and pages the directory names, as `(first, count)`.
pub fn row_page_ranges(snapshot: &Snapshot, blocks: u32) -> Vec<(u32, u32)> {
    let mut taken: Vec<(u32, u32)> = vec![(0, 1)];
    taken.extend(snapshot.pages.iter().map(|&block| (block, 1)));
    for (_, entry) in &snapshot.entries {
        if entry.extent_pages > 0 {
            taken.push((entry.extent, entry.extent_pages));
        }
        if entry.tid_map_pages > 0 {
            taken.push((entry.tid_map, entry.tid_map_pages));
        }
    }
    taken.sort_unstable();
    let mut ranges = Vec::new();
    let mut next = 0;
    for (first, count) in taken {
        if first > next {
            ranges.push((next, first.min(blocks) - next));
        }
        next = next.max(first.saturating_add(count));
        if next >= blocks {
            break;
        }
    }
    if next < blocks {
        ranges.push((next, blocks - next));
    }
    ranges
}
