//! Pages that nothing names: left by a crash or an error in a load or in VACUUM itself.
//!
//! | found | what it is | becomes |
//! |---|---|---|
//! | pending entry whose owner has gone | an extent that was being written | free, or forgotten if something names it now |
//! | page of kind Free without an entry | added to the file, then a crash or an error | free once its owner has gone |
//! | any other column page without an entry | the remains of a group or marks page that was replaced | free |
//!
//! Whoever uses pages of a free extent makes it pending first, so a page of another kind that no entry covers belongs to
//! nobody. Readers with an older view of the directory may still be at it, so it is reused only when they are gone.

use super::hooks::Target;
use super::merge::{free, ranges};
use super::page::{LockedPage, PageLock};
use crate::am::group::{Group, cache, marks};
use crate::am::heap;
use crate::am::storage::directory::{self, Change, Entry, EntryKind};
use crate::am::storage::extent;
use crate::am::storage::page::{self, PageKind};
use pgrx::pg_sys;
use std::rc::Rc;

/// Column pages without an entry in the directory, as the pass over the file met them: block, kind, owner.
#[derive(Debug, Default)]
pub(super) struct Unlisted(Vec<(u32, u16, u64)>);

/// Whether a transaction can no longer use what it took; 0 is VACUUM's own.
fn has_gone(xid: u32) -> bool {
    // SAFETY: looks up the state of a transaction.
    xid == 0
        || unsafe {
            !pg_sys::TransactionIdIsCurrentTransactionId(xid.into())
                && !pg_sys::TransactionIdIsInProgress(xid.into())
        }
}

impl Unlisted {
    /// Notes a column page that no entry covered when the vacuum began.
    pub fn note(&mut self, block: u32, kind: u16, owner: u64) {
        self.0.push((block, kind, owner));
    }

    /// Makes what belongs to nobody free. Returns whether there was anything.
    ///
    /// # Safety
    /// `rel` is open and locked by VACUUM.
    pub unsafe fn reclaim(&mut self, rel: pg_sys::Relation) -> bool {
        // SAFETY: as the caller's.
        unsafe {
            let mut found = reclaim_pending(rel);
            if self.0.is_empty() {
                return found;
            }
            let Some(directory) = cache::open(rel) else { return found };
            let chains = marks_pages(rel, &directory.groups);
            let snapshot = &directory.directory;
            let listed = |block: u32| {
                snapshot.pages.contains(&block)
                    || chains.contains(&block)
                    || snapshot.entries.iter().any(|(_, entry)| covers(entry, block))
            };
            let lost = self.0.drain(..).filter(|&(block, kind, owner)| {
                let fixed = kind == PageKind::Meta as u16 || kind == PageKind::Directory as u16;
                let in_use = kind == PageKind::Free as u16 && !has_gone(owner as u32);
                !fixed && !in_use && !listed(block)
            });
            for (first, pages) in ranges(lost.map(|(block, _, _)| block).collect()) {
                free(rel, extent::free_entry(first, pages));
                found = true;
            }
            cache::forget(rel);
            found
        }
    }
}

fn covers(entry: &Entry, block: u32) -> bool {
    let within = |first: u32, pages: u32| (first..first + pages).contains(&block);
    within(entry.extent, entry.extent_pages) || within(entry.tid_map, entry.tid_map_pages)
}

unsafe fn marks_pages(rel: pg_sys::Relation, groups: &[Rc<Group>]) -> Vec<u32> {
    // SAFETY: the relation is open.
    groups.iter().flat_map(|group| unsafe { marks::pages(rel, group) }).collect()
}

/// Pending extents whose owner has gone become free, unless something has come to name them.
unsafe fn reclaim_pending(rel: pg_sys::Relation) -> bool {
    // SAFETY: the relation is open and locked by VACUUM; nobody else changes a pending entry whose owner has gone.
    unsafe {
        let Some(directory) = cache::open(rel) else { return false };
        let pending = directory.directory.entries.iter().filter(|(_, e)| e.is(EntryKind::Pending));
        let gone: Vec<_> = pending.filter(|(_, entry)| has_gone(entry.xid)).copied().collect();
        if gone.is_empty() {
            return false;
        }
        let chains = marks_pages(rel, &directory.groups);
        for (slot, entry) in gone {
            let current = directory::read(rel);
            let named = chains.contains(&entry.extent)
                || current.entries.iter().any(|(other, e)| {
                    *other != slot
                        && (e.extent == entry.extent && e.extent_pages > 0
                            || e.tid_map == entry.extent && e.tid_map_pages > 0)
                });
            let replacement = if named {
                Entry::default()
            } else {
                extent::free_entry(entry.extent, entry.extent_pages)
            };
            let mut change = Change::begin(rel);
            if change.get(slot) == entry {
                change.set(slot, replacement);
            }
            change.commit();
        }
        cache::forget(rel);
        true
    }
}

/// Fewest empty row pages worth turning into free ones.
const MIN_EMPTY: usize = 16;
/// Empty row pages are turned into free ones when they are more than this share of the file.
const EMPTY_SHARE: u32 = 16;

/// Turns empty row pages of a table with row groups into free extents: they lie between other pages and would keep the
/// file from being cut. A few are left for new rows. Returns whether there were enough.
///
/// # Safety
/// `target` is the running vacuum's.
pub(super) unsafe fn reclaim_empty(target: &Target) -> bool {
    // SAFETY: the relation is open and locked by VACUUM.
    unsafe {
        let rel = target.rel;
        let Some(directory) = cache::open(rel) else { return false };
        if directory.groups.is_empty() {
            return false;
        }
        let blocks = pg_sys::RelationGetNumberOfBlocksInFork(rel, pg_sys::ForkNumber::MAIN_FORKNUM);
        let mut empty = Vec::new();
        for (first, count) in extent::row_page_ranges(&directory.directory, blocks) {
            for block in first..first + count {
                super::versions::vacuum_delay_point();
                let page = LockedPage::read(rel, block, target.strategy, PageLock::Share);
                if is_empty(&page) {
                    empty.push(block);
                }
            }
        }
        if empty.len() < MIN_EMPTY || (empty.len() as u32) < blocks / EMPTY_SHARE {
            return false;
        }
        empty.retain(|&block| retire(target, block));
        let found = !empty.is_empty();
        for (first, pages) in ranges(empty) {
            // An empty page has no contents that anybody needs.
            free(rel, Entry { xid: 0, ..extent::free_entry(first, pages) });
        }
        cache::forget(rel);
        found
    }
}

/// Whether a row page has no line pointer in use.
fn is_empty(page: &LockedPage) -> bool {
    !page.is_new()
        && page.column_kind().is_none()
        && (1..=page.max_offset()).all(|offset| {
            // SAFETY: the page is locked.
            unsafe { heap::line_pointer_flags(page.page(), offset) == pg_sys::LP_UNUSED }
        })
}

unsafe fn retire(target: &Target, block: u32) -> bool {
    // SAFETY: the cleanup lock says that nobody is about to use the page.
    unsafe {
        let rel = target.rel;
        let locked = LockedPage::read_for_cleanup_or_share(rel, block, target.strategy);
        if locked.lock() != PageLock::Cleanup || !is_empty(&locked) {
            return false;
        }
        let state = pg_sys::GenericXLogStart(rel);
        let whole = pg_sys::GENERIC_XLOG_FULL_IMAGE as i32;
        let copy = pg_sys::GenericXLogRegisterBuffer(state, locked.buffer(), whole).cast();
        page::init(copy, PageKind::Free, 0);
        pg_sys::GenericXLogFinish(state);
        drop(locked);
        pg_sys::RecordPageWithFreeSpace(rel, block, 0);
        true
    }
}

/// Moves the entries of the last directory pages to free slots before them and gives the pages up, while there is room.
/// Reservations stay where they are: their owners know the slot.
///
/// # Safety
/// `rel` is open and locked by VACUUM.
pub(super) unsafe fn shrink_directory(rel: pg_sys::Relation) -> bool {
    let mut shrunk = false;
    // SAFETY: as the caller's; an entry that its owner changes meanwhile is left alone.
    unsafe {
        loop {
            if cache::open(rel).is_none() {
                return shrunk;
            }
            let snapshot = directory::read(rel);
            let Some((&last, before)) = snapshot.pages.split_last() else { return shrunk };
            let (moving, staying): (Vec<_>, Vec<_>) =
                snapshot.entries.into_iter().partition(|(slot, _)| slot.block == last);
            let room = (before.len() + 1) * directory::ENTRIES_PER_PAGE - staying.len();
            // Some room is left, or the page would be back soon.
            if moving.iter().any(|(_, entry)| entry.is(EntryKind::Reserved))
                || room < moving.len() + directory::ENTRIES_PER_PAGE / 4
            {
                return shrunk;
            }
            for (slot, entry) in &moving {
                let mut change = Change::begin(rel);
                let moved = change.get(*slot) == *entry && change.put_before(*entry, last);
                if moved {
                    change.set(*slot, Entry::default());
                }
                change.commit();
                if !moved {
                    cache::forget(rel);
                    return shrunk;
                }
            }
            let mut change = Change::begin(rel);
            if !change.is_empty_page(last) {
                change.commit();
                cache::forget(rel);
                return shrunk;
            }
            change.unlink_last_page(before.last().copied());
            change.commit();
            free(rel, extent::free_entry(last, 1));
            cache::forget(rel);
            shrunk = true;
        }
    }
}
