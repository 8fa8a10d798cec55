//! The seam between the row-page part of VACUUM and the row-group part.
//!
//! The row-page part prunes, freezes and counts row pages, deletes index entries and reclaims line pointers. What it
//! cannot know is which rows of row groups are dead and which line pointers belong to *stubs*. A [`GroupVacuum`] tells it:
//!
//! ```text
//! begin
//! for each row page:  before_prune(stubs) · prune and freeze · stubs_died(those now LP_DEAD)
//! when the list is full, and at the end, one round:
//!     claim_stubs(all LP_DEAD)   -> the stubs among them; the rest are ordinary rows
//!     dead_rows()                -> external TIDs of group rows whose index entries go as well
//!     ... every index is cleaned ...
//!     reclaimable(stubs)         -> the stubs whose line pointers may become unused now
//! pages_done -> freeze groups, merge, move rows; then the horizons and counts are folded
//! truncation_floor · column_page_removable · before_truncate
//! ```
//!
//! A round is left out where index cleanup is off, bypassed or stopped by the failsafe: then no index entry was deleted
//! and nothing is reclaimed.

use super::page::LockedPage;
use super::versions::Cutoffs;
use pgrx::pg_sys;

/// The vacuum a hook takes part in.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The table, open and locked with `ShareUpdateExclusiveLock`.
    pub rel: pg_sys::Relation,
    /// Ages and horizons.
    pub cutoffs: Cutoffs,
    /// Ring of buffers to read through; null when the failsafe is active.
    pub strategy: pg_sys::BufferAccessStrategy,
    /// All transaction ids before `FreezeLimit` must go.
    pub aggressive: bool,
    /// VACUUM VERBOSE.
    pub verbose: bool,
    /// The table has indexes.
    pub has_indexes: bool,
}

/// Oldest ids that stay in the table: the new `relfrozenxid` and `relminmxid`.
#[derive(Clone, Copy, Debug)]
pub struct Horizon {
    /// Transaction id.
    pub xid: pg_sys::TransactionId,
    /// MultiXactId.
    pub multi: pg_sys::MultiXactId,
}

impl Horizon {
    /// Lowers the transaction id to one that stays in the table.
    pub fn keep_xid(&mut self, xid: pg_sys::TransactionId) {
        // SAFETY: compares two numbers.
        if xid.into_inner() > 2 && unsafe { pg_sys::TransactionIdPrecedes(xid, self.xid) } {
            self.xid = xid;
        }
    }
}

/// Rows of row groups.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupCounts {
    /// Rows that are live.
    pub live: f64,
    /// Rows that are deleted but still seen by a snapshot, beyond those with a stub.
    pub recently_dead: f64,
}

/// The row-group part of VACUUM. Every default is right for a table without row groups.
///
/// TIDs are given as [`tid::encode`](crate::am::tid::encode) makes them. All methods run in the vacuum's transaction on the
/// backend's thread; they may raise errors.
pub trait GroupVacuum {
    /// Called before the first row page is read.
    fn begin(&mut self, _target: &Target) {}

    /// Whether a row page may hold stubs, live or dead. Where it may not, the five methods below are not called for pages.
    fn may_have_stubs(&self) -> bool {
        false
    }

    /// Called with the page under a cleanup lock; `stubs` are the normal line pointers that hold stubs.
    fn before_prune(&mut self, _page: &LockedPage, _stubs: &[u16]) {}

    /// Stubs of a page that pruning just turned `LP_DEAD`; the page's cleanup lock is still held.
    fn stubs_died(&mut self, _block: u32, _offsets: &[u16]) {}

    /// Which of these `LP_DEAD` physical TIDs (ascending) belong to stubs. Must know all of them, also those that on-access
    /// pruning made. The result is ascending.
    fn claim_stubs(&mut self, _dead: &[u64]) -> Vec<u64> {
        Vec::new()
    }

    /// External TIDs, ascending, of group rows that are dead to everyone and whose index entries must be deleted. Called at
    /// the start of every round, and once at the end even if no line pointer is dead.
    fn dead_rows(&mut self) -> Vec<u64> {
        Vec::new()
    }

    /// Called after every index has lost the entries of the round, with the stubs claimed in it. Returns those (ascending)
    /// whose line pointers may be made unused, that is: nothing refers to them any more.
    fn reclaimable(&mut self, _stubs: &[u64]) -> Vec<u64> {
        Vec::new()
    }

    /// Called after the last round, before the final index cleanup. Freezes what is in row groups and lowers the horizon
    /// to what stays. Returns true where it emptied row pages or changed the number of blocks, so that the end of the file
    /// is looked at again before truncation.
    fn pages_done(&mut self, _target: &Target, _horizon: &mut Horizon) -> bool {
        false
    }

    /// Rows in row groups. Called after [`GroupVacuum::pages_done`].
    fn counts(&mut self) -> GroupCounts {
        GroupCounts::default()
    }

    /// Blocks whose rows are all visible and all frozen, for `pg_class`.
    fn visible_pages(&mut self, _target: &Target) -> (u32, u32) {
        (0, 0)
    }

    /// Fewest blocks the file may be truncated to: 0 while the directory on the metapage is empty, else past the last
    /// block that must stay. Also asked under `AccessExclusiveLock`, before the file is cut.
    fn truncation_floor(&mut self, _target: &Target) -> u32 {
        0
    }

    /// Whether the directory names a block, so that it need not be read: `Some(true)` if it may be cut off.
    fn listed(&self, _block: u32) -> Option<bool> {
        None
    }

    /// Called with each column page that the directory does not name.
    fn unlisted(&mut self, _block: u32, _kind: u16, _owner: u64) {}

    /// Whether a column page at the end of the file may be cut off.
    fn column_page_removable(&self, _block: u32, _kind: u16) -> bool {
        false
    }

    /// Called under `AccessExclusiveLock` right before the file is cut to `blocks`. Returns whether the lock must be kept
    /// until the transaction ends.
    fn before_truncate(&mut self, _target: &Target, _blocks: u32) -> bool {
        false
    }
}

/// A table without row groups.
#[derive(Debug)]
pub struct NoGroups;

impl GroupVacuum for NoGroups {}

/// The row-group part for a relation.
///
/// # Safety
/// `rel` is an open relation of this access method.
pub unsafe fn group_part(rel: pg_sys::Relation) -> Box<dyn GroupVacuum> {
    // SAFETY: as the caller's.
    Box::new(unsafe { super::groups::Groups::new(rel) })
}
