//! VACUUM FULL and CLUSTER: copies a table into a new file, keeping the visibility of each version.
//!
//! The rules are those of heapam_relation_copy_for_cluster (src/backend/access/heap/heapam_handler.c): versions that are dead
//! to everyone are left behind, all others go to row pages of the new file through the server's rewriteheap, which freezes
//! what is old enough and joins update chains again. Rewriteheap works on physical TIDs throughout.
//!
//! ```text
//! row pages in file order ──┐                    ┌─> Copier::keep ──> (sort) ──> rewriteheap
//! rows in index order ──────┴─> Copier::take ────┤
//!                                                └─> Copier::forget (dead)
//! ```
//!
//! Every version passes [`Copier::take`] once with its [`Fate`]; [`Fate::Visible`] says that everyone sees it, which is what a
//! copy into row groups would ask for.

use super::relation_name;
use super::scan::pages::PageReader;
use super::{heap, storage, tid};
use crate::ports;
use core::ptr;
use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};
use pg_sys::HTSV_Result as Verdict;

/// What becomes of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Dead to everyone: left behind.
    Dead,
    /// Committed and not deleted; whether every snapshot sees it depends on its inserter's age only.
    Visible,
    /// Deleted, but some snapshot may see it.
    RecentlyDead,
    /// Written by a transaction that still runs, as a rule this one.
    InProgress,
}

/// The copy of one table.
struct Copier {
    old: pg_sys::Relation,
    new: pg_sys::Relation,
    oldest_xmin: pg_sys::TransactionId,
    xid_cutoff: pg_sys::TransactionId,
    multi_cutoff: pg_sys::MultiXactId,
    /// Begun by the first version that is kept, so that a table without any gets an empty file.
    rewrite: Option<ports::RewriteState>,
    sort: Option<*mut pg_sys::Tuplesortstate>,
    values: Vec<pg_sys::Datum>,
    nulls: Vec<bool>,
    kept: f64,
    vacuumed: f64,
    recently_dead: f64,
}

/// Copies all versions that some snapshot may need (`relation_copy_for_cluster`).
///
/// # Safety
/// As the callback: both relations are open and locked with `AccessExclusiveLock`, `new` is empty.
#[allow(clippy::too_many_arguments)]
pub unsafe fn copy(
    old: pg_sys::Relation,
    new: pg_sys::Relation,
    index: pg_sys::Relation,
    use_sort: bool,
    oldest_xmin: pg_sys::TransactionId,
    xid_cutoff: *mut pg_sys::TransactionId,
    multi_cutoff: *mut pg_sys::MultiXactId,
    num_tuples: *mut f64,
    vacuumed: *mut f64,
    recently_dead: *mut f64,
) {
    // SAFETY: as the caller's.
    unsafe {
        let columns = (*(*new).rd_att).natts as usize;
        let mut copier = Copier {
            old,
            new,
            oldest_xmin,
            xid_cutoff: *xid_cutoff,
            multi_cutoff: *multi_cutoff,
            rewrite: None,
            sort: use_sort.then(|| {
                pg_sys::tuplesort_begin_cluster(
                    (*old).rd_att,
                    index,
                    pg_sys::maintenance_work_mem,
                    ptr::null_mut(),
                    pg_sys::TUPLESORT_NONE as i32,
                )
            }),
            values: vec![pg_sys::Datum::null(); columns],
            nulls: vec![true; columns],
            kept: 0.0,
            vacuumed: 0.0,
            recently_dead: 0.0,
        };
        if index.is_null() || use_sort {
            copier.copy_row_pages();
        } else {
            copier.copy_in_index_order(index);
        }
        copier.write_sorted();
        if let Some(rewrite) = copier.rewrite {
            ports::end_heap_rewrite(rewrite);
        }
        *num_tuples += copier.kept;
        *vacuumed += copier.vacuumed;
        *recently_dead += copier.recently_dead;
    }
}

impl Copier {
    /// Takes the versions in the order of the file.
    unsafe fn copy_row_pages(&mut self) {
        progress(pg_sys::PROGRESS_CLUSTER_PHASE, pg_sys::PROGRESS_CLUSTER_PHASE_SEQ_SCAN_HEAP.into());
        // SAFETY: the relation is open; a pinned page keeps its tuples where they are.
        unsafe {
            let blocks = pg_sys::RelationGetNumberOfBlocksInFork(
                self.old,
                pg_sys::ForkNumber::MAIN_FORKNUM,
            );
            progress(pg_sys::PROGRESS_CLUSTER_TOTAL_HEAP_BLKS, blocks.into());
            let mut reader = PageReader::begin(self.old, &raw mut pg_sys::SnapshotAnyData, true);
            let mut offsets = Vec::with_capacity(ports::MAX_HEAP_TUPLES_PER_PAGE);
            for block in 1..blocks {
                pgrx::check_for_interrupts!();
                if !reader.load(block, &mut offsets) {
                    continue;
                }
                for &offset in &offsets {
                    let mut tuple = heap::tuple_at(self.old, reader.page(), block, offset);
                    let fate = self.judge(&mut tuple, reader.buffer());
                    self.take(&mut tuple, fate);
                }
                progress(pg_sys::PROGRESS_CLUSTER_HEAP_BLKS_SCANNED, i64::from(block) + 1);
            }
            progress(pg_sys::PROGRESS_CLUSTER_HEAP_BLKS_SCANNED, blocks.into());
            reader.end();
        }
    }

    /// Takes the versions in the order of an index.
    unsafe fn copy_in_index_order(&mut self, index: pg_sys::Relation) {
        // SAFETY: both relations are open. A slot of this access method holds a tuple and a pin on its page.
        unsafe {
            progress(
                pg_sys::PROGRESS_CLUSTER_PHASE,
                pg_sys::PROGRESS_CLUSTER_PHASE_INDEX_SCAN_HEAP.into(),
            );
            progress(pg_sys::PROGRESS_CLUSTER_INDEX_RELID, (*index).rd_id.to_u32().into());
            let scan = ports::index_beginscan(self.old, index, &raw mut pg_sys::SnapshotAnyData, 0, 0);
            pg_sys::index_rescan(scan, ptr::null_mut(), 0, ptr::null_mut(), 0);
            let slot = pg_sys::table_slot_create(self.old, ptr::null_mut());
            while pg_sys::index_getnext_slot(
                scan,
                pg_sys::ScanDirection::ForwardScanDirection,
                slot,
            ) {
                pgrx::check_for_interrupts!();
                if (*scan).xs_recheck {
                    ereport!(
                        PgLogLevel::ERROR,
                        PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
                        "CLUSTER does not support lossy index conditions"
                    );
                }
                // Slots of this access method begin with the server's; a row group's row has no tuple on a page.
                let stored = slot.cast::<pg_sys::BufferHeapTupleTableSlot>();
                let tid::RowAddress::Page(physical) = tid::address(&(*slot).tts_tid) else {
                    continue;
                };
                let mut tuple = *(*stored).base.tuple;
                tuple.t_self = physical;
                let buffer = (*stored).buffer;
                let fate = self.judge(&mut tuple, buffer);
                self.take(&mut tuple, fate);
            }
            pg_sys::index_endscan(scan);
            pg_sys::ExecDropSingleTupleTableSlot(slot);
        }
    }

    /// Decides the fate of a version on a pinned page.
    unsafe fn judge(&self, tuple: &mut pg_sys::HeapTupleData, buffer: pg_sys::Buffer) -> Fate {
        // SAFETY: the caller holds the pin; the share lock keeps hint bits and xmax consistent.
        unsafe {
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let verdict = pg_sys::HeapTupleSatisfiesVacuum(tuple, self.oldest_xmin, buffer);
            let fate = match verdict {
                Verdict::HEAPTUPLE_DEAD => Fate::Dead,
                Verdict::HEAPTUPLE_LIVE => Fate::Visible,
                Verdict::HEAPTUPLE_RECENTLY_DEAD => Fate::RecentlyDead,
                Verdict::HEAPTUPLE_INSERT_IN_PROGRESS => {
                    self.expect_own(ports::HeapTupleHeaderGetXmin(tuple.t_data), "insert");
                    Fate::InProgress
                }
                _ => {
                    self.expect_own(ports::HeapTupleHeaderGetUpdateXid(tuple.t_data), "delete");
                    Fate::RecentlyDead
                }
            };
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
            fate
        }
    }

    /// Under the exclusive lock only this transaction can have unfinished work in the table.
    unsafe fn expect_own(&self, xid: pg_sys::TransactionId, what: &str) {
        // SAFETY: the relation is open.
        unsafe {
            if !pg_sys::TransactionIdIsCurrentTransactionId(xid) {
                let name = relation_name(self.old);
                ereport!(
                    PgLogLevel::WARNING,
                    PgSqlErrorCode::ERRCODE_WARNING,
                    format!("concurrent {what} in progress within table \"{name}\"")
                );
            }
        }
    }

    /// Sends a version where its fate demands.
    ///
    /// # Safety
    /// The tuple is readable, under its physical TID.
    unsafe fn take(&mut self, tuple: &mut pg_sys::HeapTupleData, fate: Fate) {
        // SAFETY: as the caller's.
        unsafe {
            match fate {
                Fate::Dead => self.forget(tuple),
                Fate::RecentlyDead => {
                    self.recently_dead += 1.0;
                    self.keep(tuple);
                }
                Fate::Visible | Fate::InProgress => self.keep(tuple),
            }
        }
    }

    /// Leaves a dead version behind; rewriteheap must know, since an older member of its chain may be waiting for it.
    unsafe fn forget(&mut self, tuple: &mut pg_sys::HeapTupleData) {
        self.vacuumed += 1.0;
        // Before the first kept version nothing waits.
        let Some(rewrite) = self.rewrite else { return };
        // SAFETY: the tuple is on a pinned page; its TID is physical.
        if unsafe { ports::rewrite_heap_dead_tuple(rewrite, tuple) } {
            self.vacuumed += 1.0;
            self.recently_dead -= 1.0;
        }
    }

    /// Copies a version, or hands it to the sort.
    unsafe fn keep(&mut self, tuple: &mut pg_sys::HeapTupleData) {
        self.kept += 1.0;
        progress(pg_sys::PROGRESS_CLUSTER_HEAP_TUPLES_SCANNED, self.kept as i64);
        // SAFETY: the sort copies the tuple with its TID.
        unsafe {
            match self.sort {
                Some(sort) => pg_sys::tuplesort_putheaptuple(sort, tuple),
                None => {
                    self.write(tuple);
                    progress(pg_sys::PROGRESS_CLUSTER_HEAP_TUPLES_WRITTEN, self.kept as i64);
                }
            }
        }
    }

    /// Reads the sort back and writes it out.
    unsafe fn write_sorted(&mut self) {
        let Some(sort) = self.sort.take() else { return };
        // SAFETY: the sort was begun by `copy`; a tuple is valid until the next is read.
        unsafe {
            progress(pg_sys::PROGRESS_CLUSTER_PHASE, pg_sys::PROGRESS_CLUSTER_PHASE_SORT_TUPLES.into());
            pg_sys::tuplesort_performsort(sort);
            progress(
                pg_sys::PROGRESS_CLUSTER_PHASE,
                pg_sys::PROGRESS_CLUSTER_PHASE_WRITE_NEW_HEAP.into(),
            );
            let mut written = 0;
            loop {
                pgrx::check_for_interrupts!();
                let tuple = pg_sys::tuplesort_getheaptuple(sort, true);
                if tuple.is_null() {
                    break;
                }
                self.write(tuple);
                written += 1;
                progress(pg_sys::PROGRESS_CLUSTER_HEAP_TUPLES_WRITTEN, written);
            }
            pg_sys::tuplesort_end(sort);
        }
    }

    /// Forms the tuple anew, dropped columns null, and rewrites it (`reform_and_rewrite_tuple`).
    unsafe fn write(&mut self, tuple: pg_sys::HeapTuple) {
        // SAFETY: both descriptors have the same number of columns; rewriteheap copies what it keeps.
        unsafe {
            let rewrite = self.rewrite();
            let (values, nulls) = (self.values.as_mut_ptr(), self.nulls.as_mut_ptr());
            pg_sys::heap_deform_tuple(tuple, (*self.old).rd_att, values, nulls);
            for (i, null) in self.nulls.iter_mut().enumerate() {
                if (*ports::TupleDescAttr((*self.new).rd_att, i)).attisdropped {
                    *null = true;
                }
            }
            let formed = pg_sys::heap_form_tuple((*self.new).rd_att, values, nulls);
            ports::rewrite_heap_tuple(rewrite, tuple, formed);
            pg_sys::heap_freetuple(formed);
        }
    }

    /// The rewrite; it appends to the new file, so the metapage must come first.
    unsafe fn rewrite(&mut self) -> ports::RewriteState {
        let (old, new) = (self.old, self.new);
        let (oldest, xid, multi) = (self.oldest_xmin, self.xid_cutoff, self.multi_cutoff);
        *self.rewrite.get_or_insert_with(|| {
            // SAFETY: both relations are open and locked exclusively.
            unsafe {
                storage::metapage::ensure(new);
                ports::begin_heap_rewrite(old, new, oldest, xid, multi)
            }
        })
    }
}

fn progress(index: u32, value: i64) {
    // SAFETY: writes to this backend's own status entry.
    unsafe { pg_sys::pgstat_progress_update_param(index as i32, value) };
}
