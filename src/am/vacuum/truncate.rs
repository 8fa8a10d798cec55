//! Truncation of empty pages at the end of the file (`lazy_truncate_heap`).

use super::driver::Vacuum;
use super::page::{LockedPage, PageLock};
use super::report::{self, ErrorContext, ErrorPhase};
use super::versions::progress;
use pgrx::{PgLogLevel, pg_sys};
use std::time::{Duration, Instant};

/// Pages that make truncation worth an exclusive lock ...
const TRUNCATE_MINIMUM: u32 = 1000;
/// ... or this fraction of the table.
const TRUNCATE_FRACTION: u32 = 16;
/// How often waiters are looked for while the lock is held.
const LOCK_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Milliseconds between attempts to take the lock.
const LOCK_WAIT_INTERVAL: i64 = 50;
/// Milliseconds after which truncation is given up.
const LOCK_TIMEOUT: i64 = 5000;

impl Vacuum {
    /// Whether enough pages can be given back (`should_attempt_truncation`).
    pub fn should_truncate(&mut self) -> bool {
        if !self.truncate || self.failsafe {
            return false;
        }
        let kept = self.counts.nonempty_pages.max(self.groups.truncation_floor(&self.target));
        let freeable = self.counts.pages.saturating_sub(kept);
        freeable > 0
            && (freeable >= TRUNCATE_MINIMUM || freeable >= self.counts.pages / TRUNCATE_FRACTION)
    }

    /// Cuts the file, as often as a waiter interrupts it.
    ///
    /// # Safety
    /// As [`super::vacuum`].
    pub unsafe fn truncate_end(&mut self, context: &ErrorContext) {
        progress::phase(pg_sys::PROGRESS_VACUUM_PHASE_TRUNCATE);
        context.set(ErrorPhase::Truncate(self.counts.nonempty_pages));
        let rel = self.target.rel;
        let lock = pg_sys::AccessExclusiveLock as i32;
        loop {
            if !self.lock_for_truncation() {
                self.say(format!(
                    "\"{}\": stopping truncate due to conflicting lock request",
                    self.names.relation
                ));
                return;
            }
            let old = self.counts.pages;
            // SAFETY: the exclusive lock is held; every way out releases it, as heap does before the transaction ends.
            let (new, interrupted) = unsafe {
                let current =
                    pg_sys::RelationGetNumberOfBlocksInFork(rel, pg_sys::ForkNumber::MAIN_FORKNUM);
                // A table that has grown has rows at its end.
                if current != old {
                    pg_sys::UnlockRelation(rel, lock);
                    return;
                }
                let floor =
                    self.counts.nonempty_pages.max(self.groups.truncation_floor(&self.target));
                let (new, interrupted) = self.nonempty_end(floor, true);
                if new >= old {
                    pg_sys::UnlockRelation(rel, lock);
                    return;
                }
                context.set(ErrorPhase::Truncate(new));
                let keep_lock = self.groups.before_truncate(&self.target, new);
                pg_sys::RelationTruncate(rel, new);
                if !keep_lock {
                    pg_sys::UnlockRelation(rel, lock);
                }
                (new, interrupted)
            };
            self.counts.removed_pages += old - new;
            self.counts.pages = new;
            self.say(format!("table \"{}\": truncated {old} to {new} pages", self.names.relation));
            if !interrupted || new <= self.counts.nonempty_pages {
                return;
            }
        }
    }

    /// Last block that must stay, plus one, as of now.
    ///
    /// # Safety
    /// As [`super::vacuum`].
    pub unsafe fn find_nonempty_end(&mut self) -> u32 {
        let floor = self.groups.truncation_floor(&self.target);
        // SAFETY: as the caller's.
        unsafe { self.nonempty_end(floor, false) }.0
    }

    /// Walks back from the end to the first page that must stay (`count_nondeletable_pages`); also says whether a waiter
    /// for the exclusive lock stopped the walk.
    unsafe fn nonempty_end(&self, floor: u32, locked: bool) -> (u32, bool) {
        let mut checked = Instant::now();
        let mut end = self.counts.pages;
        while end > floor {
            if locked && end.is_multiple_of(32) && checked.elapsed() >= LOCK_CHECK_INTERVAL {
                // SAFETY: the relation is open.
                let waiters = unsafe {
                    pg_sys::LockHasWaitersRelation(
                        self.target.rel,
                        pg_sys::AccessExclusiveLock as i32,
                    )
                };
                if waiters {
                    self.say(format!(
                        "table \"{}\": suspending truncate due to conflicting lock request",
                        self.names.relation
                    ));
                    return (end, true);
                }
                checked = Instant::now();
            }
            pgrx::check_for_interrupts!();
            let block = end - 1;
            // SAFETY: the block is inside the relation.
            let page = unsafe {
                LockedPage::read(self.target.rel, block, self.target.strategy, PageLock::Share)
            };
            let removable = match page.column_kind() {
                // The metapage goes only where the floor lets everything go.
                Some(kind) => block == 0 || self.groups.column_page_removable(block, kind),
                // Any line pointer in use counts, a dead one too: its index entries are still there.
                None => page.is_new() || !page.has_items(),
            };
            if !removable {
                return (end, false);
            }
            end -= 1;
        }
        (floor, false)
    }

    /// Takes the exclusive lock if that works within a few seconds.
    fn lock_for_truncation(&self) -> bool {
        let mut waited = 0;
        loop {
            // SAFETY: the relation is open; the latch is this backend's.
            unsafe {
                let lock = pg_sys::AccessExclusiveLock as i32;
                if pg_sys::ConditionalLockRelation(self.target.rel, lock) {
                    return true;
                }
                pgrx::check_for_interrupts!();
                waited += LOCK_WAIT_INTERVAL;
                if waited > LOCK_TIMEOUT {
                    return false;
                }
                pg_sys::WaitLatch(
                    pg_sys::MyLatch,
                    (pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH)
                        as i32,
                    LOCK_WAIT_INTERVAL as _,
                    pg_sys::WaitEventTimeout::WAIT_EVENT_VACUUM_TRUNCATE,
                );
                pg_sys::ResetLatch(pg_sys::MyLatch);
            }
        }
    }

    fn say(&self, message: String) {
        if self.target.verbose {
            report::emit(PgLogLevel::INFO, message);
        } else {
            report::debug(message);
        }
    }
}
