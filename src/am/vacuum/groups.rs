//! The row-group part of VACUUM: dead rows of groups, frozen runs, what became free.

use super::hooks::{GroupCounts, GroupVacuum, Horizon, Target};
use super::space::{self, Unlisted};
use super::{compact, merge};
use crate::am::group::marks::{self, Mark};
use crate::am::group::visibility::{self, InsertStatus};
use crate::am::group::{Group, cache, head, stubs::StubIndex};
use crate::am::scan::analyze::{self, Liveness};
use crate::am::storage::directory::{self, Change, Entry, EntryKind, HAS_TID_MAP, SlotAddress};
use crate::am::storage::extent;
use crate::am::storage::page::PageKind;
use crate::am::tid;
use crate::ports;
use pgrx::pg_sys;
use std::collections::BTreeMap;
use std::rc::Rc;

/// State over one VACUUM.
#[derive(Debug)]
pub struct Groups {
    rel: pg_sys::Relation,
    stubs: StubIndex,
    /// Rows whose stubs are dead and whose index entries go in this round: group and row.
    claimed: Vec<(Rc<Group>, u32)>,
    /// Groups with runs of aborted transactions, to be reported once.
    aborted: Vec<Rc<Group>>,
    /// Reservations whose owner has gone, to be reported once.
    expired: Vec<(SlotAddress, Entry)>,
    /// The rows of `aborted` and `expired` were reported in the current round.
    reported: bool,
    counts: GroupCounts,
    visible_pages: u32,
    /// Extents named by the directory when the vacuum began, ascending: first, end, removable.
    extents: Vec<(u32, u32, bool)>,
    unlisted: Unlisted,
}

impl Groups {
    /// # Safety
    /// `rel` stays open and locked by VACUUM.
    pub unsafe fn new(rel: pg_sys::Relation) -> Self {
        Self {
            rel,
            stubs: StubIndex::default(),
            claimed: Vec::new(),
            aborted: Vec::new(),
            expired: Vec::new(),
            reported: false,
            counts: GroupCounts::default(),
            visible_pages: 0,
            extents: Vec::new(),
            unlisted: Unlisted::default(),
        }
    }

    unsafe fn read_extents(&mut self) {
        // SAFETY: the relation is open.
        unsafe {
            let Some(directory) = cache::open(self.rel) else { return };
            for (_, entry) in &directory.directory.entries {
                let removable = entry.is(EntryKind::Free);
                if entry.extent_pages > 0 {
                    let end = entry.extent + entry.extent_pages;
                    self.extents.push((entry.extent, end, removable));
                }
                if entry.tid_map_pages > 0 {
                    self.extents.push((entry.tid_map, entry.tid_map + entry.tid_map_pages, false));
                }
            }
            self.extents.sort_unstable();
        }
    }

    unsafe fn find_leftovers(&mut self) {
        // SAFETY: the relation is open.
        unsafe {
            let Some(directory) = cache::open(self.rel) else { return };
            for group in &directory.groups {
                group.refresh(self.rel);
                let aborted = |xid| visibility::status(xid) == InsertStatus::Aborted;
                if group.runs().iter().any(|run| run.xid != 0 && aborted(run.xid)) {
                    self.aborted.push(group.clone());
                }
            }
            for (slot, entry) in &directory.directory.entries {
                if entry.is(EntryKind::Reserved)
                    && !pg_sys::TransactionIdIsCurrentTransactionId(entry.xid.into())
                    && !pg_sys::TransactionIdIsInProgress(entry.xid.into())
                {
                    self.expired.push((*slot, *entry));
                }
            }
        }
    }

    /// After index entries are gone: aborted runs lose their xid, expired reservations their entry.
    unsafe fn forget_leftovers(&mut self) {
        // SAFETY: VACUUM is the only one to change runs and foreign reservations.
        unsafe {
            for group in core::mem::take(&mut self.aborted) {
                change_runs(self.rel, &group, |xid| {
                    (visibility::status(xid) == InsertStatus::Aborted).then_some(0)
                });
            }
            for (slot, entry) in core::mem::take(&mut self.expired) {
                let mut change = Change::begin(self.rel);
                if change.get(slot) == entry {
                    change.set(slot, Entry::default());
                }
                change.commit();
            }
        }
    }

    /// Removes groups without a row that anybody could see.
    unsafe fn drop_empty(&self) -> bool {
        // SAFETY: the relation is open.
        unsafe {
            let Some(directory) = cache::open(self.rel) else { return false };
            let mut dropped = false;
            for group in &directory.groups {
                group.refresh(self.rel);
                let aborted = group.runs().iter().all(|run| run.xid == 0);
                let gone = group.mark_count() == group.rows() as usize
                    && group.marks_in(0, group.rows()).iter().all(|(_, m)| *m == Mark::Gone);
                if aborted || gone {
                    dropped |= compact::replace(self.rel, core::slice::from_ref(group), None);
                }
            }
            dropped
        }
    }

    unsafe fn freeze(&self, target: &Target, horizon: &mut Horizon) {
        // SAFETY: the relation is open.
        unsafe {
            let Some(directory) = cache::open(self.rel) else { return };
            let oldest = target.cutoffs.OldestXmin;
            let mut conflict = pg_sys::InvalidTransactionId;
            for group in &directory.groups {
                group.refresh(self.rel);
                let freezable = |xid: u32| {
                    xid > 2
                        && pg_sys::TransactionIdPrecedes(xid.into(), oldest)
                        && visibility::status(xid) == InsertStatus::Committed
                };
                for run in group.runs() {
                    if freezable(run.xid) {
                        if conflict == pg_sys::InvalidTransactionId
                            || pg_sys::TransactionIdPrecedes(conflict, run.xid.into())
                        {
                            conflict = run.xid.into();
                        }
                    } else {
                        horizon.keep_xid(run.xid.into());
                    }
                }
            }
            crate::am::standby::conflict(self.rel, conflict);
            if conflict != pg_sys::InvalidTransactionId {
                for group in &directory.groups {
                    change_runs(self.rel, group, |xid| {
                        let precedes = xid > 2
                            && !pg_sys::TransactionIdPrecedes(conflict, xid.into())
                            && visibility::status(xid) == InsertStatus::Committed;
                        precedes.then_some(pg_sys::FrozenTransactionId.into_inner())
                    });
                }
            }
            for (_, entry) in &directory.directory.entries {
                if entry.is(EntryKind::Reserved) {
                    horizon.keep_xid(entry.xid.into());
                }
            }
        }
    }

    /// Sets visibility map bits and counts rows.
    unsafe fn settle(&mut self, oldest_xmin: pg_sys::TransactionId) {
        self.counts = GroupCounts::default();
        self.visible_pages = 0;
        // SAFETY: the relation is open.
        unsafe {
            let Some(directory) = cache::open(self.rel) else { return };
            for group in &directory.groups {
                group.refresh(self.rel);
                let aborted: u32 =
                    group.runs().iter().filter(|run| run.xid == 0).map(|run| run.rows).sum();
                let mut live = f64::from(group.rows() - aborted);
                if let Some(map) = group.tid_map(self.rel) {
                    live = map.blocks.iter().map(|b| b.offsets.len() as f64).sum();
                }
                for (row, mark) in group.marks_in(0, group.rows()) {
                    if group.run(row).xid == visibility::ABORTED {
                        continue;
                    }
                    let liveness = match mark {
                        Mark::Gone => Liveness::Dead,
                        Mark::Stub { .. } => analyze::judge(self.rel, group, row, oldest_xmin),
                    };
                    if liveness == Liveness::Dead {
                        live -= 1.0;
                    }
                }
                self.counts.live += live;
                if compact::set_visible(self.rel, group) {
                    self.visible_pages += group.entry.extent_pages;
                }
            }
        }
    }
}

/// Rewrites the xids of a group's runs; `change` says what an xid becomes.
unsafe fn change_runs(rel: pg_sys::Relation, group: &Group, change: impl Fn(u32) -> Option<u32>) {
    // SAFETY: the head is exclusively locked; a replaced group needs no change.
    unsafe {
        let buffer = pg_sys::ReadBuffer(rel, group.entry.extent);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
        let state = pg_sys::GenericXLogStart(rel);
        let page: ports::Page = pg_sys::GenericXLogRegisterBuffer(state, buffer, 0).cast();
        let head = head::at(rel, page, group.id);
        let mut changed = false;
        for run in head::runs(head) {
            if let Some(xid) = change(run.xid) {
                changed |= run.xid != xid;
                run.xid = xid;
            }
        }
        if changed {
            (*head).marks_version += 1;
            pg_sys::GenericXLogFinish(state);
        } else {
            pg_sys::GenericXLogAbort(state);
        }
        pg_sys::UnlockReleaseBuffer(buffer);
    }
}

impl GroupVacuum for Groups {
    fn begin(&mut self, target: &Target) {
        // SAFETY: the relation is open and locked by VACUUM.
        unsafe {
            merge::finish_interrupted(self.rel, target.strategy);
            self.stubs = StubIndex::read(self.rel);
            self.find_leftovers();
            self.read_extents();
        }
    }

    fn listed(&self, block: u32) -> Option<bool> {
        let at = self.extents.partition_point(|(first, _, _)| *first <= block).checked_sub(1)?;
        let (_, end, removable) = self.extents[at];
        (block < end).then_some(removable)
    }

    fn unlisted(&mut self, block: u32, kind: u16, owner: u64) {
        self.unlisted.note(block, kind, owner);
    }

    fn may_have_stubs(&self) -> bool {
        !self.stubs.is_empty()
    }

    fn claim_stubs(&mut self, dead: &[u64]) -> Vec<u64> {
        // Rows may have been thawed since VACUUM began.
        // SAFETY: the relation is open.
        self.stubs = unsafe { StubIndex::read(self.rel) };
        let mut claimed = Vec::new();
        for &key in dead {
            if let Some((group, row)) = self.stubs.row(&tid::decode(key)) {
                claimed.push(key);
                self.claimed.push((group.clone(), row));
            }
        }
        claimed
    }

    fn dead_rows(&mut self) -> Vec<u64> {
        let mut dead = Vec::new();
        // SAFETY: the relation is open.
        unsafe {
            for (group, row) in &self.claimed {
                dead.extend(group.tid_of(self.rel, *row).map(|tid| tid::encode(&tid)));
            }
            if !self.reported {
                self.reported = true;
                for group in &self.aborted {
                    for run in group.runs() {
                        if run.xid != 0 && visibility::status(run.xid) == InsertStatus::Aborted {
                            let rows = run.first..run.first + run.rows;
                            dead.extend(
                                rows.filter_map(|row| group.tid_of(self.rel, row))
                                    .map(|tid| tid::encode(&tid)),
                            );
                        }
                    }
                }
                for (_, entry) in &self.expired {
                    let rows = u64::from(entry.row_blocks) * u64::from(tid::ROWS_PER_BLOCK);
                    let first = entry.first_row();
                    dead.extend((first..first + rows).map(|row| tid::encode(&tid::of_row(row))));
                }
            }
        }
        dead.sort_unstable();
        dead.dedup();
        dead
    }

    fn reclaimable(&mut self, stubs: &[u64]) -> Vec<u64> {
        let mut rows: BTreeMap<u32, (Rc<Group>, Vec<u32>)> = BTreeMap::new();
        for (group, row) in core::mem::take(&mut self.claimed) {
            rows.entry(group.id).or_insert_with(|| (group, Vec::new())).1.push(row);
        }
        // SAFETY: the relation is open; index entries of these rows are gone.
        unsafe {
            for (group, mut rows) in rows.into_values() {
                rows.sort_unstable();
                marks::set_gone(self.rel, &group, &rows);
            }
            if self.reported {
                self.forget_leftovers();
            }
        }
        stubs.to_vec()
    }

    fn pages_done(&mut self, target: &Target, horizon: &mut Horizon) -> bool {
        // SAFETY: the relation is open and locked by VACUUM.
        unsafe {
            self.freeze(target, horizon);
            let mut changed = self.drop_empty();
            changed |= self.unlisted.reclaim(self.rel);
            let moved = merge::merge_row_pages(target);
            changed |= moved > 0;
            changed |= compact::compact(self.rel);
            changed |= space::reclaim_empty(target);
            changed |= compact::relocate(self.rel);
            changed |= space::shrink_directory(self.rel);
            self.settle(target.cutoffs.OldestXmin);
            // These were counted on their row pages before.
            self.counts.live -= moved as f64;
            changed
        }
    }

    fn counts(&mut self) -> GroupCounts {
        self.counts
    }

    fn visible_pages(&mut self, _target: &Target) -> (u32, u32) {
        (self.visible_pages, self.visible_pages)
    }

    fn truncation_floor(&mut self, _target: &Target) -> u32 {
        // SAFETY: the relation is open.
        unsafe {
            let Some(directory) = cache::open(self.rel) else { return 0 };
            let mut floor = 0;
            for (_, entry) in &directory.directory.entries {
                if entry.is(EntryKind::Free) {
                    continue;
                }
                floor = floor.max(1).max(entry.extent + entry.extent_pages);
                floor = floor.max(entry.tid_map + entry.tid_map_pages);
            }
            for group in &directory.groups {
                for block in marks::pages(self.rel, group) {
                    floor = floor.max(block + 1);
                }
            }
            if floor > 0 {
                floor = directory.directory.pages.iter().fold(floor, |f, &page| f.max(page + 1));
                if directory::page_map(self.rel).is_some_and(|map| !map.has_room(floor)) {
                    return pg_sys::RelationGetNumberOfBlocksInFork(
                        self.rel,
                        pg_sys::ForkNumber::MAIN_FORKNUM,
                    );
                }
            }
            floor
        }
    }

    fn column_page_removable(&self, block: u32, kind: u16) -> bool {
        if kind == PageKind::Meta as u16 || block == 0 {
            return false;
        }
        // SAFETY: the relation is open.
        let Some(directory) = (unsafe { cache::open(self.rel) }) else { return false };
        let free = directory.directory.entries.iter().any(|(_, entry)| {
            entry.is(EntryKind::Free)
                && (entry.extent..entry.extent + entry.extent_pages).contains(&block)
        });
        free || kind == PageKind::Moved as u16 || kind == PageKind::Free as u16
    }

    fn before_truncate(&mut self, _target: &Target, blocks: u32) -> bool {
        // SAFETY: the relation is exclusively locked.
        unsafe {
            if blocks == 0 {
                return false;
            }
            let Some(directory) = cache::open(self.rel) else { return false };
            for (slot, entry) in &directory.directory.entries {
                if !entry.is(EntryKind::Free) || entry.extent + entry.extent_pages <= blocks {
                    continue;
                }
                let kept = blocks.saturating_sub(entry.extent);
                let rest = Entry { extent_pages: kept, ..*entry };
                let mut change = Change::begin(self.rel);
                change.set(*slot, if kept == 0 { Entry::default() } else { rest });
                change.commit();
            }
            let first = tid::external_block(self.rel, blocks);
            let mapped = |entry: &Entry| entry.flags & HAS_TID_MAP != 0 && entry.tid_high >= first;
            let restart = directory.directory.entries.iter().any(|(_, entry)| mapped(entry));
            if restart {
                extent::restart_row_pages(self.rel, blocks);
            }
            cache::forget(self.rel);
            // Others must hear of the new numbering, at the end of the transaction, before they use the table.
            restart
        }
    }
}
