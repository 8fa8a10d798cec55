//! VACUUM.
//!
//! The same work in the same order as heap's lazy vacuum (src/backend/access/heap/vacuumlazy.c):
//!
//! ```text
//! 1  every row page:   prune, freeze, count; collect LP_DEAD line pointers          prune.rs
//! 2  every index:      delete entries that point at them                            index.rs
//! 3  pages with dead:  LP_DEAD -> LP_UNUSED                                         scan.rs
//!    ... 2 and 3 repeat when the list outgrows maintenance_work_mem
//! 4  row groups:       freeze, merge, move rows                                     hooks.rs
//! 5  index cleanup, truncation of the empty end, pg_class and statistics            index.rs, truncate.rs, driver.rs
//! ```
//!
//! heapam's `heap_vacuum_rel` itself cannot be used: index entries carry external TIDs while it compares physical ones, and
//! it sets visibility map bits by physical block. Per page, heapam's own pruning and freezing are called, so WAL and standby
//! conflicts are heap's.
//!
//! Deviations from heap
//! * Every row page is read: row pages have no visibility map, so there is no skipping and no eager scanning, and a vacuum
//!   that is not aggressive may still advance relfrozenxid.
//! * Indexes are vacuumed one after the other by this backend; PARALLEL is accepted and has no effect. The server's
//!   parallel workers compare physical TIDs.
//! * The metapage and column pages count as pages of the table and are passed over.

mod compact;
mod dead;
mod driver;
#[cfg(any(feature = "pg15", feature = "pg16"))]
mod freeze;
mod groups;
pub mod hooks;
mod index;
mod merge;
pub mod page;
pub mod prune;
mod report;
mod scan;
mod space;
mod truncate;
pub mod versions;

pub use dead::DeadItems;
pub use hooks::{GroupCounts, GroupVacuum, Horizon, NoGroups, Target};
pub use page::{LockedPage, PageLock, for_each_row_page};

use pgrx::pg_sys;

/// Vacuums a table (`relation_vacuum`).
///
/// # Safety
/// As `table_relation_vacuum`: `rel` is open and locked with `ShareUpdateExclusiveLock`, in a transaction of its own.
pub unsafe fn vacuum(
    rel: pg_sys::Relation,
    params: *mut pg_sys::VacuumParams,
    strategy: pg_sys::BufferAccessStrategy,
) {
    // SAFETY: as the caller's.
    unsafe { driver::Vacuum::begin(rel, params, strategy).run() }
}
