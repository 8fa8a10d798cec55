//! The passes over row pages, and the rounds of index vacuuming between them.

use super::driver::Vacuum;
use super::page::{LockedPage, PageLock};
use super::prune::{self, PageOutcome};
use super::report::{self, ErrorContext, ErrorPhase};
use super::versions::{self, progress};
use crate::ports::BLCKSZ;
use pgrx::pg_sys;

/// Index vacuuming is left out where fewer than this share of pages has dead line pointers.
const BYPASS_THRESHOLD_PAGES: f64 = 0.02;
/// ... and their list is smaller than this.
const BYPASS_LIMIT_BYTES: usize = 32 << 20;
/// Pages between checks of the failsafe (4 GB).
const FAILSAFE_EVERY_PAGES: u32 = ((4u64 << 30) / BLCKSZ as u64) as u32;
/// Pages between updates of the upper levels of the free space map (8 GB), in a one-pass vacuum.
const FSM_EVERY_PAGES: u32 = ((8u64 << 30) / BLCKSZ as u64) as u32;

impl Vacuum {
    /// Reads every page, and vacuums indexes and dead line pointers as often as memory demands (`lazy_scan_heap`).
    ///
    /// # Safety
    /// As [`super::vacuum`].
    pub unsafe fn scan_pages(&mut self, context: &ErrorContext) {
        let (rel, blocks) = (self.target.rel, self.counts.original_pages);
        progress::scan(blocks, versions::work_memory());
        let mut fsm_from = 0;
        self.counts.scanned_pages = blocks.min(1);
        for block in 1..blocks {
            versions::vacuum_delay_point();
            if block % FAILSAFE_EVERY_PAGES == 0 {
                self.check_failsafe();
            }
            // SAFETY: as the caller's.
            unsafe {
                if self.dead.is_full() {
                    self.may_bypass = false;
                    self.round(context);
                    pg_sys::FreeSpaceMapVacuumRange(rel, fsm_from, block);
                    fsm_from = block;
                    progress::phase(pg_sys::PROGRESS_VACUUM_PHASE_SCAN_HEAP);
                }
                progress::scanned(block);
                context.set(ErrorPhase::Scan(Some(block)));
                self.counts.scanned_pages += 1;
                let one_pass_deletes = self.scan_page(block);
                if one_pass_deletes && block - fsm_from >= FSM_EVERY_PAGES {
                    pg_sys::FreeSpaceMapVacuumRange(rel, fsm_from, block);
                    fsm_from = block;
                }
            }
        }
        progress::scanned(blocks);
        // SAFETY: as the caller's.
        unsafe {
            self.round(context);
            if blocks > fsm_from {
                pg_sys::FreeSpaceMapVacuumRange(rel, fsm_from, blocks);
            }
        }
        progress::vacuumed(blocks);
    }

    /// One page of the first pass; returns whether it freed space for good.
    unsafe fn scan_page(&mut self, block: u32) -> bool {
        let (rel, strategy) = (self.target.rel, self.target.strategy);
        if let Some(removable) = self.groups.listed(block) {
            if !removable {
                self.counts.nonempty_pages = block + 1;
            }
            return false;
        }
        // SAFETY: the block was inside the relation when the vacuum began, and only VACUUM truncates.
        unsafe {
            let mut page = LockedPage::read_for_cleanup_or_share(rel, block, strategy);
            if page.is_new() {
                // Left behind by an extension that was not used; offered again, as heap does.
                drop(page);
                if pg_sys::GetRecordedFreeSpace(rel, block) == 0 {
                    let free = BLCKSZ - crate::ports::PAGE_HEADER;
                    pg_sys::RecordPageWithFreeSpace(rel, block, free as _);
                }
                return false;
            }
            if let Some((kind, owner)) = page.column_identity() {
                self.groups.unlisted(block, kind, owner);
                if !self.groups.column_page_removable(block, kind) {
                    self.counts.nonempty_pages = block + 1;
                }
                return false;
            }
            if page.max_offset() == 0 {
                page.release_recording_space();
                return false;
            }
            let one_pass = !self.target.has_indexes
                && !self.groups.may_have_stubs()
                && page.stubs().is_empty();
            let looked = match page.lock() {
                PageLock::Cleanup => None,
                _ => prune::look(&self.target, &page, &mut self.horizon),
            };
            let pruned = looked.is_none();
            let outcome = match looked {
                Some(mut outcome) => {
                    if one_pass && !outcome.dead.is_empty() {
                        outcome.has_tuples = true;
                        outcome.missed_dead += outcome.dead.len() as i64;
                        outcome.dead.clear();
                    }
                    outcome
                }
                None => {
                    if page.lock() != PageLock::Cleanup {
                        page.relock(PageLock::Cleanup);
                    }
                    self.prune_page(&page, one_pass)
                }
            };
            if one_pass {
                page.reclaim(&outcome.dead);
            } else if self.vacuum_indexes && !outcome.dead.is_empty() {
                self.dead.push(block, &outcome.dead);
                progress::dead_items(self.dead.len());
            }
            self.count_page(block, &outcome);
            // A page of the second pass gets its free space recorded there.
            if one_pass || !self.vacuum_indexes || outcome.dead.is_empty() {
                page.release_recording_space();
            }
            one_pass && pruned && outcome.deleted > 0
        }
    }

    unsafe fn prune_page(&mut self, page: &LockedPage, one_pass: bool) -> PageOutcome {
        let stubs = if self.groups.may_have_stubs() { page.stubs() } else { Vec::new() };
        // SAFETY: the page is locked for cleanup.
        unsafe {
            if !stubs.is_empty() {
                self.groups.before_prune(page, &stubs);
            }
            let mut outcome = prune::prune_and_freeze(
                &self.target,
                page,
                self.vistest,
                one_pass,
                &mut self.horizon,
            );
            if !stubs.is_empty() {
                outcome.live -= prune::live_stubs(&self.target, page, &stubs);
                let died: Vec<u16> = stubs
                    .into_iter()
                    .filter(|offset| outcome.dead.binary_search(offset).is_ok())
                    .collect();
                if !died.is_empty() {
                    self.groups.stubs_died(page.block(), &died);
                }
            }
            outcome
        }
    }

    fn count_page(&mut self, block: u32, outcome: &PageOutcome) {
        let counts = &mut self.counts;
        counts.deleted += outcome.deleted;
        counts.frozen += outcome.frozen;
        counts.live += outcome.live;
        counts.recently_dead += outcome.recently_dead;
        counts.missed_dead += outcome.missed_dead;
        counts.dead_items += outcome.dead.len() as i64;
        counts.dead_item_pages += u32::from(!outcome.dead.is_empty());
        counts.missed_dead_pages += u32::from(outcome.missed_dead > 0);
        counts.frozen_pages += u32::from(outcome.frozen > 0);
        if outcome.has_tuples {
            counts.nonempty_pages = block + 1;
        }
    }

    /// One round: index entries of the collected TIDs go, then their line pointers (`lazy_vacuum`).
    unsafe fn round(&mut self, context: &ErrorContext) {
        if !self.vacuum_indexes {
            self.dead.clear();
            return;
        }
        let stubs = if self.groups.may_have_stubs() && !self.dead.pages().is_empty() {
            self.groups.claim_stubs(self.dead.pages())
        } else {
            Vec::new()
        };
        self.dead.set_rows(self.groups.dead_rows());
        if self.dead.is_empty() {
            return;
        }
        if self.may_bypass && self.target.has_indexes && !self.dead.has_rows() {
            let threshold = f64::from(self.counts.original_pages) * BYPASS_THRESHOLD_PAGES;
            if f64::from(self.counts.dead_item_pages) < threshold
                && self.dead.bytes() < BYPASS_LIMIT_BYTES
            {
                self.vacuum_indexes = false;
                self.dead.clear();
                return;
            }
        }
        self.dead.remove(&stubs);
        // SAFETY: as the callers'.
        unsafe {
            let needed = self.target.has_indexes && !self.dead.is_empty();
            if !needed || self.vacuum_all_indexes(context) {
                self.dead.merge(self.groups.reclaimable(&stubs));
                self.reclaim_pages(context);
            }
        }
        self.dead.clear();
        progress::dead_items(0);
    }

    /// Second pass: the line pointers of the round become unused (`lazy_vacuum_heap_rel`).
    unsafe fn reclaim_pages(&mut self, context: &ErrorContext) {
        progress::phase(pg_sys::PROGRESS_VACUUM_PHASE_VACUUM_HEAP);
        let (mut pages, mut items) = (0u32, 0);
        for (block, offsets) in self.dead.by_page() {
            versions::vacuum_delay_point();
            progress::vacuumed(block);
            context.set(ErrorPhase::Reclaim(Some(block)));
            // SAFETY: the first pass collected the block, and only VACUUM truncates.
            unsafe {
                let page = LockedPage::read(
                    self.target.rel,
                    block,
                    self.target.strategy,
                    PageLock::Exclusive,
                );
                items += page.reclaim(&offsets);
                page.release_recording_space();
            }
            pages += 1;
        }
        report::debug(format!(
            "table \"{}\": removed {items} dead item identifiers in {pages} pages",
            self.names.relation
        ));
        context.set(ErrorPhase::Scan(None));
    }
}
