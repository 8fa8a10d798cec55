//! VACUUM FULL and CLUSTER: copies a table into a new file, keeping the visibility of each version.
//!
//! The rules are those of heapam_relation_copy_for_cluster (src/backend/access/heap/heapam_handler.c): versions that are dead
//! to everyone are left behind, all others go to row pages of the new file through the server's rewriteheap, which freezes
//! what is old enough and joins update chains again. Rewriteheap works on physical TIDs throughout.
//!
//! ```text
//! first pass   versions that are not settled ──────────────────────> rewriteheap ──> row pages
//! second pass  settled ones, in file, index or sort order ─────────> column chunks ──> row groups
//! ```
//!
//! A version is *settled* if it is live and no older version of its row can still be waiting for its new place: it was
//! inserted, or everyone has long seen it. The passes are apart because rewriteheap wants the end of the file for itself.
//! A small table is copied in one pass, onto row pages.

mod columns;

use super::group::builder::RowBuilder;
use super::group::marks::Mark;
use super::group::visibility::{self, InsertStatus};
use super::group::{Group, cache};
use super::relation_name;
use super::scan::pages::PageReader;
use super::{heap, options, slot, standby, storage, tid, write};
use crate::guc;
use crate::ports;
use columns::ColumnsWriter;
use core::ptr;
use pg_sys::HTSV_Result as Verdict;
use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};
use std::rc::Rc;

/// What becomes of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Dead to everyone: left behind.
    Dead,
    /// Live, and it may go to a row group, inserted by this xid (frozen if everyone sees it) and command.
    Settled(u32, u32),
    /// Live or in progress; it keeps its header.
    Kept,
    /// Deleted, but some snapshot may see it.
    RecentlyDead,
}

/// Which versions a pass takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// All of them, onto row pages.
    Everything,
    /// Those that are not settled, onto row pages.
    Unsettled,
    /// Settled ones, into row groups.
    Settled,
}

/// The copy of one table.
struct Copier {
    old: pg_sys::Relation,
    new: pg_sys::Relation,
    oldest_xmin: pg_sys::TransactionId,
    xid_cutoff: pg_sys::TransactionId,
    multi_cutoff: pg_sys::MultiXactId,
    pass: Pass,
    /// Begun by the first version that is kept, so that a table without any gets an empty file.
    rewrite: Option<ports::RewriteState>,
    sort: Option<*mut pg_sys::Tuplesortstate>,
    columns: ColumnsWriter,
    /// Knows the columns of the old table.
    old_rows: RowBuilder,
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
        write::flush(old);
        let columns = (*(*new).rd_att).natts as usize;
        let mut copier = Copier {
            old,
            new,
            oldest_xmin,
            xid_cutoff: *xid_cutoff,
            multi_cutoff: *multi_cutoff,
            pass: Pass::Everything,
            rewrite: None,
            sort: None,
            columns: ColumnsWriter::new(new, options::of(old)),
            old_rows: RowBuilder::new((*old).rd_att),
            values: vec![pg_sys::Datum::null(); columns],
            nulls: vec![true; columns],
            kept: 0.0,
            vacuumed: 0.0,
            recently_dead: 0.0,
        };
        let sorted = use_sort.then_some(index);
        if columns > 0 && copier.is_large() {
            copier.run(Pass::Unsettled, ptr::null_mut(), None);
            // Everyone on a standby is to see what is frozen here.
            standby::conflict(old, before(oldest_xmin));
            copier.run(Pass::Settled, if use_sort { ptr::null_mut() } else { index }, sorted);
            copier.columns.flush();
        } else {
            copier.run(Pass::Everything, if use_sort { ptr::null_mut() } else { index }, sorted);
        }
        *num_tuples += copier.kept;
        *vacuumed += copier.vacuumed;
        *recently_dead += copier.recently_dead;
    }
}

/// The transaction id before another.
fn before(xid: pg_sys::TransactionId) -> pg_sys::TransactionId {
    let previous = xid.into_inner().wrapping_sub(1);
    if previous < pg_sys::FirstNormalTransactionId.into_inner() {
        return u32::MAX.into();
    }
    previous.into()
}

impl Copier {
    /// Whether the table has rows enough for row groups.
    unsafe fn is_large(&self) -> bool {
        // SAFETY: the relation is open; pages are pinned and locked while they are looked at.
        unsafe {
            let threshold = guc::MERGE_THRESHOLD.get() as usize;
            let mut rows = 0;
            if let Some(directory) = cache::open(self.old) {
                rows += directory.groups.iter().map(|group| group.rows() as usize).sum::<usize>();
            }
            let blocks = self.blocks();
            let mut reader = PageReader::begin(self.old, &raw mut pg_sys::SnapshotAnyData, true);
            let mut offsets = Vec::with_capacity(ports::MAX_HEAP_TUPLES_PER_PAGE);
            for block in 1..blocks {
                if rows >= threshold {
                    break;
                }
                pgrx::check_for_interrupts!();
                if reader.load(block, &mut offsets) {
                    rows += offsets.len();
                }
            }
            reader.end();
            rows >= threshold
        }
    }

    unsafe fn blocks(&self) -> u32 {
        // SAFETY: the relation is open.
        unsafe {
            pg_sys::RelationGetNumberOfBlocksInFork(self.old, pg_sys::ForkNumber::MAIN_FORKNUM)
        }
    }

    /// Goes over all versions once, in file order or that of an index, sorting them first if asked.
    unsafe fn run(
        &mut self,
        pass: Pass,
        index: pg_sys::Relation,
        sort_by: Option<pg_sys::Relation>,
    ) {
        self.pass = pass;
        // SAFETY: the relations are open.
        unsafe {
            self.sort = sort_by.map(|index| {
                pg_sys::tuplesort_begin_cluster(
                    (*self.old).rd_att,
                    index,
                    pg_sys::maintenance_work_mem,
                    ptr::null_mut(),
                    pg_sys::TUPLESORT_NONE as i32,
                )
            });
            if index.is_null() {
                self.copy_row_pages();
                self.copy_groups();
            } else {
                self.copy_in_index_order(index);
            }
            self.write_sorted();
            if let Some(rewrite) = self.rewrite.take() {
                ports::end_heap_rewrite(rewrite);
            }
        }
    }

    /// Takes the versions of row pages in the order of the file.
    unsafe fn copy_row_pages(&mut self) {
        progress(
            pg_sys::PROGRESS_CLUSTER_PHASE,
            pg_sys::PROGRESS_CLUSTER_PHASE_SEQ_SCAN_HEAP.into(),
        );
        // SAFETY: the relation is open; a pinned page keeps its tuples where they are.
        unsafe {
            let blocks = self.blocks();
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

    /// Takes the rows of row groups in the order of their TIDs.
    unsafe fn copy_groups(&mut self) {
        // SAFETY: the relation is open.
        unsafe {
            let Some(directory) = cache::open(self.old) else { return };
            let slot = pg_sys::table_slot_create(self.old, ptr::null_mut());
            for group in &directory.groups {
                group.refresh(self.old);
                for row in 0..group.rows() {
                    if row.is_multiple_of(1024) {
                        pgrx::check_for_interrupts!();
                    }
                    self.take_row(group, row, slot);
                }
            }
            pg_sys::ExecDropSingleTupleTableSlot(slot);
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
            let scan =
                ports::index_beginscan(self.old, index, &raw mut pg_sys::SnapshotAnyData, 0, 0);
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
                if let Some((group, row)) = slot::row(slot) {
                    self.take_row(&group, row, slot);
                    continue;
                }
                // Slots of this access method begin with the server's.
                let stored = slot.cast::<pg_sys::BufferHeapTupleTableSlot>();
                let mut tuple = *(*stored).base.tuple;
                let buffer = (*stored).buffer;
                let block = pg_sys::BufferGetBlockNumber(buffer);
                tuple.t_self = tid::item_pointer(block, tuple.t_self.ip_posid);
                let fate = self.judge(&mut tuple, buffer);
                self.take(&mut tuple, fate);
            }
            pg_sys::index_endscan(scan);
            pg_sys::ExecDropSingleTupleTableSlot(slot);
        }
    }

    /// Decides the fate of a version on a pinned page.
    unsafe fn judge(&mut self, tuple: &mut pg_sys::HeapTupleData, buffer: pg_sys::Buffer) -> Fate {
        // SAFETY: the caller holds the pin; the share lock keeps hint bits and xmax consistent.
        unsafe {
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let verdict = pg_sys::HeapTupleSatisfiesVacuum(tuple, self.oldest_xmin, buffer);
            let fate = match verdict {
                Verdict::HEAPTUPLE_DEAD => Fate::Dead,
                Verdict::HEAPTUPLE_LIVE => self.settle(tuple),
                Verdict::HEAPTUPLE_RECENTLY_DEAD => Fate::RecentlyDead,
                Verdict::HEAPTUPLE_INSERT_IN_PROGRESS => {
                    self.expect_own(ports::HeapTupleHeaderGetXmin(tuple.t_data), "insert");
                    Fate::Kept
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

    /// Whether a live version may go to a row group.
    unsafe fn settle(&mut self, tuple: &mut pg_sys::HeapTupleData) -> Fate {
        // SAFETY: the caller holds the page's lock.
        unsafe {
            let infomask = u32::from((*tuple.t_data).t_infomask);
            let xmin = ports::HeapTupleHeaderGetXmin(tuple.t_data);
            let old = pg_sys::TransactionIdPrecedes(xmin, self.oldest_xmin);
            let locked = infomask & pg_sys::HEAP_XMAX_INVALID == 0;
            if locked || (!old && infomask & pg_sys::HEAP_UPDATED != 0) {
                return Fate::Kept;
            }
            if infomask & pg_sys::HEAP_HASEXTERNAL != 0 {
                let (values, nulls) = (self.values.as_mut_ptr(), self.nulls.as_mut_ptr());
                pg_sys::heap_deform_tuple(tuple, (*self.old).rd_att, values, nulls);
                if self.old_rows.is_wide(values, nulls) {
                    return Fate::Kept;
                }
            }
            let frozen = pg_sys::FrozenTransactionId.into_inner();
            Fate::Settled(if old { frozen } else { xmin.into_inner() }, 0)
        }
    }

    /// Decides the fate of a row of a group.
    unsafe fn judge_row(&self, group: &Rc<Group>, row: u32) -> Fate {
        // SAFETY: the relation is open and exclusively locked.
        unsafe {
            let run = group.run(row);
            let frozen = pg_sys::FrozenTransactionId.into_inner();
            let settled = match visibility::status(run.xid) {
                InsertStatus::Aborted => return Fate::Dead,
                InsertStatus::Committed
                    if run.xid == frozen
                        || pg_sys::TransactionIdPrecedes(run.xid.into(), self.oldest_xmin) =>
                {
                    Fate::Settled(frozen, 0)
                }
                InsertStatus::Committed | InsertStatus::Own => Fate::Settled(run.xid, run.cid),
                InsertStatus::InProgress => {
                    self.expect_own(run.xid.into(), "insert");
                    Fate::Settled(run.xid, run.cid)
                }
            };
            let Some(Mark::Stub { block, offset }) = group.mark(row) else {
                return if group.mark(row).is_none() { settled } else { Fate::Dead };
            };
            let buffer = pg_sys::ReadBuffer(self.old, block);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let page = ports::buffer_page(buffer);
            let mut fate = Fate::Dead;
            if offset <= heap::max_offset(page)
                && heap::line_pointer_flags(page, offset) == pg_sys::LP_NORMAL
            {
                let mut tuple = heap::tuple_at(self.old, page, block, offset);
                let status =
                    pg_sys::HeapTupleSatisfiesVacuum(&raw mut tuple, self.oldest_xmin, buffer);
                fate = match status {
                    Verdict::HEAPTUPLE_DEAD => Fate::Dead,
                    // A lock does not outlive the exclusive lock on the table.
                    Verdict::HEAPTUPLE_LIVE => settled,
                    Verdict::HEAPTUPLE_INSERT_IN_PROGRESS => settled,
                    _ => Fate::RecentlyDead,
                };
            }
            pg_sys::UnlockReleaseBuffer(buffer);
            fate
        }
    }

    /// Sends a row of a group where its fate demands.
    unsafe fn take_row(&mut self, group: &Rc<Group>, row: u32, slot: *mut pg_sys::TupleTableSlot) {
        // SAFETY: the group belongs to the open relation; the slot is of this access method.
        unsafe {
            let Some(tid) = group.tid_of(self.old, row) else { return };
            let fate = self.judge_row(group, row);
            let wanted = match fate {
                Fate::Dead => {
                    self.vacuumed += f64::from(u8::from(self.pass != Pass::Settled));
                    false
                }
                Fate::Settled(..) => self.pass != Pass::Unsettled,
                Fate::Kept | Fate::RecentlyDead => self.pass != Pass::Settled,
            };
            if !wanted {
                return;
            }
            let none = pg_sys::InvalidTransactionId;
            slot::store_row(slot, self.old, group, row, tid, none);
            if let Fate::Settled(xid, cid) = fate
                && self.pass == Pass::Settled
                && self.sort.is_none()
            {
                pg_sys::slot_getallattrs(slot);
                self.kept += 1.0;
                self.columns.push((*slot).tts_values, (*slot).tts_isnull, xid, cid);
                return;
            }
            let tuple = pg_sys::ExecCopySlotHeapTuple(slot);
            self.give_header(tuple, group, row);
            self.take(&mut *tuple, fate);
            pg_sys::heap_freetuple(tuple);
        }
    }

    /// Gives a tuple formed of a group's row the header of its stub, or one without xmax.
    unsafe fn give_header(&self, tuple: pg_sys::HeapTuple, group: &Rc<Group>, row: u32) {
        // SAFETY: the tuple is this function's own copy; the stub's page is pinned and locked while it is read.
        unsafe {
            let header = (*tuple).t_data;
            let infomask = u32::from((*header).t_infomask) & !pg_sys::HEAP_XACT_MASK;
            let run = group.run(row);
            let mut visibility = pg_sys::HEAP_XMAX_INVALID;
            if run.xid == pg_sys::FrozenTransactionId.into_inner() {
                visibility |= pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMIN_INVALID;
            }
            (*tuple).t_self = tid::item_pointer(0, 1);
            (*header).t_ctid = (*tuple).t_self;
            (*header).t_choice.t_heap.t_xmin = run.xid.into();
            (*header).t_choice.t_heap.t_xmax = pg_sys::InvalidTransactionId;
            (*header).t_choice.t_heap.t_field3.t_cid = run.cid;
            if let Some(Mark::Stub { block, offset }) = group.mark(row) {
                let buffer = pg_sys::ReadBuffer(self.old, block);
                pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
                let page = ports::buffer_page(buffer);
                if heap::line_pointer_flags(page, offset) == pg_sys::LP_NORMAL {
                    let stub = heap::tuple_at(self.old, page, block, offset);
                    let xmax_bits = pg_sys::HEAP_XACT_MASK
                        & !(pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMIN_INVALID);
                    visibility &= !pg_sys::HEAP_XMAX_INVALID;
                    visibility |= u32::from((*stub.t_data).t_infomask) & xmax_bits;
                    (*tuple).t_self = stub.t_self;
                    (*header).t_ctid = (*stub.t_data).t_ctid;
                    (*header).t_choice.t_heap.t_xmax = (*stub.t_data).t_choice.t_heap.t_xmax;
                    (*header).t_choice.t_heap.t_field3 = (*stub.t_data).t_choice.t_heap.t_field3;
                }
                pg_sys::UnlockReleaseBuffer(buffer);
            }
            (*header).t_infomask = (infomask | visibility) as u16;
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

    /// Sends a version where its fate and the pass demand.
    ///
    /// # Safety
    /// The tuple is readable, under its physical TID.
    unsafe fn take(&mut self, tuple: &mut pg_sys::HeapTupleData, fate: Fate) {
        // SAFETY: as the caller's.
        unsafe {
            match (fate, self.pass) {
                (Fate::Dead | Fate::RecentlyDead | Fate::Kept, Pass::Settled)
                | (Fate::Settled(..), Pass::Unsettled) => {}
                (Fate::Dead, _) => self.forget(tuple),
                (Fate::RecentlyDead, _) => {
                    self.recently_dead += 1.0;
                    self.keep(tuple);
                }
                (Fate::Kept | Fate::Settled(..), _) => self.keep(tuple),
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
            progress(
                pg_sys::PROGRESS_CLUSTER_PHASE,
                pg_sys::PROGRESS_CLUSTER_PHASE_SORT_TUPLES.into(),
            );
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

    /// Writes a settled version to a row group, any other through rewriteheap.
    unsafe fn write(&mut self, tuple: pg_sys::HeapTuple) {
        // SAFETY: both descriptors have the same number of columns.
        unsafe {
            if self.pass != Pass::Settled {
                self.rewrite_tuple(tuple);
                return;
            }
            let header = (*tuple).t_data;
            let mut xmin = ports::HeapTupleHeaderGetXmin(header);
            let mut cid = 0;
            if pg_sys::TransactionIdPrecedes(xmin, self.oldest_xmin) {
                xmin = pg_sys::FrozenTransactionId;
            } else if pg_sys::TransactionIdIsCurrentTransactionId(xmin) {
                cid = (*header).t_choice.t_heap.t_field3.t_cid;
            }
            let (values, nulls) = (self.values.as_mut_ptr(), self.nulls.as_mut_ptr());
            pg_sys::heap_deform_tuple(tuple, (*self.old).rd_att, values, nulls);
            self.columns.push(values, nulls, xmin.into_inner(), cid);
        }
    }

    /// Forms the tuple anew, dropped columns null, and rewrites it (`reform_and_rewrite_tuple`).
    unsafe fn rewrite_tuple(&mut self, tuple: pg_sys::HeapTuple) {
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
