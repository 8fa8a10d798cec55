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

use super::merge::{free, ranges};
use crate::am::group::{Group, cache, marks};
use crate::am::storage::directory::{self, Change, Entry, EntryKind};
use crate::am::storage::extent;
use crate::am::storage::page::PageKind;
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
