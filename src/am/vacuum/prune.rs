//! One row page of the first pass: pruned and frozen under a cleanup lock, or only looked at.
//!
//! Follows lazy_scan_prune and lazy_scan_noprune (src/backend/access/heap/vacuumlazy.c). From PostgreSQL 17 on
//! `heap_page_prune_and_freeze` does both under one WAL record; before, pruning and freezing have a record each. All
//! records are heapam's own, so a standby resolves conflicts as it does for heap. The visibility map is left alone: its bits
//! go by physical block, which is not how index-only scans see this table.

use super::hooks::{Horizon, Target};
use super::page::LockedPage;
use crate::am::scan::pages;
use pg_sys::HTSV_Result::{
    HEAPTUPLE_DEAD, HEAPTUPLE_DELETE_IN_PROGRESS, HEAPTUPLE_LIVE, HEAPTUPLE_RECENTLY_DEAD,
};
use pgrx::pg_sys;

/// What was found and done on a page.
#[derive(Clone, Debug, Default)]
pub struct PageOutcome {
    /// Versions removed.
    pub deleted: i64,
    /// Versions frozen.
    pub frozen: i64,
    /// Versions that live, stubs left out.
    pub live: i64,
    /// Deleted versions that a snapshot may still see.
    pub recently_dead: i64,
    /// Removable versions left on the page for want of a cleanup lock.
    pub missed_dead: i64,
    /// `LP_DEAD` line pointers on the page afterwards, ascending.
    pub dead: Vec<u16>,
    /// The page holds tuples or redirects, so it cannot be truncated.
    pub has_tuples: bool,
}

/// Prunes and freezes a page that is locked for cleanup.
///
/// `mark_unused_now` lets pruning skip the `LP_DEAD` state (heeded from PostgreSQL 17 on): right only where the table has
/// no indexes and no stubs.
///
/// # Safety
/// The vacuum holds its relation open; `vistest` is the relation's, taken after the cutoffs.
pub unsafe fn prune_and_freeze(
    target: &Target,
    page: &LockedPage,
    vistest: *mut pg_sys::GlobalVisState,
    mark_unused_now: bool,
    horizon: &mut Horizon,
) -> PageOutcome {
    // SAFETY: as the caller's.
    let mut outcome = unsafe { execute(target, page, vistest, mark_unused_now, horizon) };
    for offset in 1..=page.max_offset() {
        match page.flags(offset) {
            pg_sys::LP_DEAD => outcome.dead.push(offset),
            pg_sys::LP_NORMAL | pg_sys::LP_REDIRECT => outcome.has_tuples = true,
            _ => {}
        }
    }
    outcome
}

/// PostgreSQL 17 and later: one call, one record.
#[cfg(any(feature = "pg17", feature = "pg18"))]
unsafe fn execute(
    target: &Target,
    page: &LockedPage,
    vistest: *mut pg_sys::GlobalVisState,
    mark_unused_now: bool,
    horizon: &mut Horizon,
) -> PageOutcome {
    let mut options = pg_sys::HEAP_PAGE_PRUNE_FREEZE;
    if mark_unused_now {
        options |= pg_sys::HEAP_PAGE_PRUNE_MARK_UNUSED_NOW;
    }
    let mut result = core::mem::MaybeUninit::<pg_sys::PruneFreezeResult>::zeroed();
    let mut offset: pg_sys::OffsetNumber = 0;
    // SAFETY: the page is locked for cleanup; the result is plain numbers.
    let result = unsafe {
        pg_sys::heap_page_prune_and_freeze(
            target.rel,
            page.buffer(),
            vistest,
            options as i32,
            target.cutoffs.as_server(),
            result.as_mut_ptr(),
            pg_sys::PruneReason::PRUNE_VACUUM_SCAN,
            &raw mut offset,
            &raw mut horizon.xid,
            &raw mut horizon.multi,
        );
        result.assume_init()
    };
    PageOutcome {
        deleted: i64::from(result.ndeleted),
        frozen: i64::from(result.nfrozen),
        live: i64::from(result.live_tuples),
        recently_dead: i64::from(result.recently_dead_tuples),
        ..PageOutcome::default()
    }
}

/// PostgreSQL 15 and 16: prune, judge what is left, freeze.
///
/// A version may turn dead between pruning and the judgement when its inserter aborts; then the page is pruned again.
#[cfg(any(feature = "pg15", feature = "pg16"))]
unsafe fn execute(
    target: &Target,
    page: &LockedPage,
    vistest: *mut pg_sys::GlobalVisState,
    _mark_unused_now: bool,
    horizon: &mut Horizon,
) -> PageOutcome {
    'again: loop {
        let mut outcome = PageOutcome::default();
        let mut newly_dead = 0;
        let mut location: pg_sys::OffsetNumber = 0;
        // SAFETY: the page is locked for cleanup.
        outcome.deleted = i64::from(unsafe {
            pg_sys::heap_page_prune(
                target.rel,
                page.buffer(),
                target.cutoffs.OldestXmin,
                vistest,
                pg_sys::TransactionId::INVALID,
                0,
                &raw mut newly_dead,
                &raw mut location,
            )
        });
        let mut plan = super::freeze::Plan::new(target, horizon);
        for offset in page.offsets(pg_sys::LP_NORMAL) {
            // SAFETY: a normal line pointer of the locked page.
            unsafe {
                let mut tuple = page.tuple(offset);
                match judge(&mut tuple, target, page) {
                    HEAPTUPLE_DEAD => continue 'again,
                    HEAPTUPLE_LIVE | HEAPTUPLE_DELETE_IN_PROGRESS => outcome.live += 1,
                    HEAPTUPLE_RECENTLY_DEAD => outcome.recently_dead += 1,
                    _ => {}
                }
                plan.add(target, offset, tuple.t_data);
            }
        }
        // SAFETY: the plan was made for this page, which is still locked.
        outcome.frozen = unsafe { plan.execute(target, page, horizon) };
        return outcome;
    }
}

/// Visibility of a version to the vacuum.
///
/// # Safety
/// The tuple lies on the locked page.
unsafe fn judge(
    tuple: &mut pg_sys::HeapTupleData,
    target: &Target,
    page: &LockedPage,
) -> pg_sys::HTSV_Result::Type {
    // SAFETY: as the caller's.
    unsafe { pg_sys::HeapTupleSatisfiesVacuum(tuple, target.cutoffs.OldestXmin, page.buffer()) }
}

/// How many of these stubs count as live versions.
///
/// # Safety
/// `offsets` are line pointers of the locked page.
pub unsafe fn live_stubs(target: &Target, page: &LockedPage, offsets: &[u16]) -> i64 {
    let live = |&&offset: &&u16| {
        // SAFETY: as the caller's; only normal line pointers are judged.
        page.flags(offset) == pg_sys::LP_NORMAL
            && matches!(
                unsafe { judge(&mut page.tuple(offset), target, page) },
                HEAPTUPLE_LIVE | HEAPTUPLE_DELETE_IN_PROGRESS
            )
    };
    offsets.iter().filter(live).count() as i64
}

/// Counts a page's versions without changing it; `None` where an aggressive vacuum must freeze one of them and so needs
/// the cleanup lock.
///
/// # Safety
/// The page is locked at least in share mode.
pub unsafe fn look(
    target: &Target,
    page: &LockedPage,
    horizon: &mut Horizon,
) -> Option<PageOutcome> {
    let mut outcome = PageOutcome::default();
    let mut kept = *horizon;
    for offset in 1..=page.max_offset() {
        match page.flags(offset) {
            pg_sys::LP_DEAD => outcome.dead.push(offset),
            pg_sys::LP_REDIRECT => outcome.has_tuples = true,
            pg_sys::LP_NORMAL => {
                outcome.has_tuples = true;
                let mut tuple = page.tuple(offset);
                // SAFETY: a normal line pointer of the locked page.
                unsafe {
                    let old = super::versions::tuple_should_freeze(
                        tuple.t_data,
                        &target.cutoffs,
                        &mut kept.xid,
                        &mut kept.multi,
                    );
                    if old && target.aggressive {
                        return None;
                    }
                    let stub = i64::from(pages::is_stub(tuple.t_data));
                    match judge(&mut tuple, target, page) {
                        HEAPTUPLE_LIVE | HEAPTUPLE_DELETE_IN_PROGRESS => outcome.live += 1 - stub,
                        HEAPTUPLE_DEAD => outcome.missed_dead += 1,
                        HEAPTUPLE_RECENTLY_DEAD => outcome.recently_dead += 1,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    *horizon = kept;
    Some(outcome)
}
