//! Index builds: every row that some snapshot may see is given to the index, under the TID of its HOT chain's root.
//!
//! The rules for what is indexed, counted and checked for uniqueness are those of heapam_index_build_range_scan
//! (src/backend/access/heap/heapam_handler.c), so that an index over row pages is the one heap would have.

use super::group::marks::Mark;
use super::group::stubs::StubIndex;
use super::group::visibility::{self, InsertStatus};
use super::group::{Group, cache};
pub use super::relation_name;
use super::scan::parallel::{self, ParallelScan};
use super::scan::{Unit, pages, rows};
use super::storage::extent;
use super::{heap, slot, tid, write};
use crate::ports;
use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};
use std::rc::Rc;

/// Rows of one relation offered to an index one at a time.
struct Builder {
    rel: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
    estate: *mut pg_sys::EState,
    econtext: *mut pg_sys::ExprContext,
    predicate: *mut pg_sys::ExprState,
    slot: *mut pg_sys::TupleTableSlot,
    snapshot: pg_sys::Snapshot,
    oldest_xmin: pg_sys::TransactionId,
    any_visible: bool,
    check_unique: bool,
    stubs: StubIndex,
    rows: f64,
}

/// What to do with a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Skip,
    /// Index it; `alive` says whether it takes part in the uniqueness check.
    Index {
        alive: bool,
    },
    /// Wait for a transaction and judge again.
    Wait(pg_sys::TransactionId),
}

impl Builder {
    unsafe fn new(
        rel: pg_sys::Relation,
        index: pg_sys::Relation,
        info: *mut pg_sys::IndexInfo,
        snapshot: pg_sys::Snapshot,
        oldest_xmin: pg_sys::TransactionId,
        any_visible: bool,
    ) -> Self {
        // SAFETY: executor state for index expressions and predicates, freed by `finish`.
        unsafe {
            let estate = pg_sys::CreateExecutorState();
            let econtext = pg_sys::MakePerTupleExprContext(estate);
            let slot = pg_sys::table_slot_create(rel, core::ptr::null_mut());
            (*econtext).ecxt_scantuple = slot;
            let predicate = pg_sys::ExecPrepareQual((*info).ii_Predicate, estate);
            Self {
                rel,
                index,
                info,
                estate,
                econtext,
                predicate,
                slot,
                snapshot,
                oldest_xmin,
                any_visible,
                check_unique: (*info).ii_Unique || !(*info).ii_ExclusionOps.is_null(),
                stubs: StubIndex::read(rel),
                rows: 0.0,
            }
        }
    }

    unsafe fn finish(self) -> f64 {
        // SAFETY: the states made by `new` are not used again.
        unsafe {
            pg_sys::ExecDropSingleTupleTableSlot(self.slot);
            pg_sys::FreeExecutorState(self.estate);
            (*self.info).ii_ExpressionsState = core::ptr::null_mut();
            (*self.info).ii_PredicateState = core::ptr::null_mut();
        }
        self.rows
    }

    /// Computes index values of the slot's row; `None` where the index's predicate rejects it.
    unsafe fn values(&self) -> Option<([pg_sys::Datum; MAX_KEYS], [bool; MAX_KEYS])> {
        // SAFETY: the slot holds the row under test.
        unsafe {
            pg_sys::MemoryContextReset((*self.econtext).ecxt_per_tuple_memory);
            if !self.predicate.is_null() && !pg_sys::ExecQual(self.predicate, self.econtext) {
                return None;
            }
            let mut values = [pg_sys::Datum::null(); MAX_KEYS];
            let mut nulls = [false; MAX_KEYS];
            pg_sys::FormIndexDatum(
                self.info,
                self.slot,
                self.estate,
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
            );
            Some((values, nulls))
        }
    }

    /// Judges a tuple of a page that is share-locked by the caller.
    unsafe fn judge(
        &mut self,
        tuple: &mut pg_sys::HeapTupleData,
        buffer: pg_sys::Buffer,
    ) -> Verdict {
        // SAFETY: the caller holds pin and share lock.
        unsafe {
            let status = pg_sys::HeapTupleSatisfiesVacuum(tuple, self.oldest_xmin, buffer);
            let hot_updated = is_hot_updated(tuple.t_data);
            match status {
                pg_sys::HTSV_Result::HEAPTUPLE_DEAD => Verdict::Skip,
                pg_sys::HTSV_Result::HEAPTUPLE_LIVE => {
                    self.rows += 1.0;
                    Verdict::Index { alive: true }
                }
                pg_sys::HTSV_Result::HEAPTUPLE_RECENTLY_DEAD => self.dead_or_broken(hot_updated),
                pg_sys::HTSV_Result::HEAPTUPLE_INSERT_IN_PROGRESS => {
                    let xid = ports::HeapTupleHeaderGetXmin(tuple.t_data);
                    if self.any_visible || pg_sys::TransactionIdIsCurrentTransactionId(xid) {
                        self.rows += 1.0;
                    } else {
                        self.warn_concurrent("insert");
                        if self.check_unique {
                            return Verdict::Wait(xid);
                        }
                    }
                    Verdict::Index { alive: true }
                }
                _ => {
                    let xid = ports::HeapTupleHeaderGetUpdateXid(tuple.t_data);
                    if self.any_visible {
                        self.rows += 1.0;
                        return Verdict::Index { alive: false };
                    }
                    if pg_sys::TransactionIdIsCurrentTransactionId(xid) {
                        return self.dead_or_broken(hot_updated);
                    }
                    self.warn_concurrent("delete");
                    if self.check_unique || hot_updated {
                        return Verdict::Wait(xid);
                    }
                    self.rows += 1.0;
                    Verdict::Index { alive: false }
                }
            }
        }
    }

    /// A dead version is indexed for older snapshots, unless its HOT chain goes on: then the index is not for those.
    unsafe fn dead_or_broken(&mut self, hot_updated: bool) -> Verdict {
        if hot_updated {
            // SAFETY: the caller's index info.
            unsafe { (*self.info).ii_BrokenHotChain = true };
            Verdict::Skip
        } else {
            Verdict::Index { alive: false }
        }
    }

    unsafe fn warn_concurrent(&self, what: &str) {
        // SAFETY: the relation is open.
        let name = unsafe { relation_name(self.rel) };
        ereport!(
            PgLogLevel::WARNING,
            PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
            format!("concurrent {what} in progress within table \"{name}\"")
        );
    }
}

const MAX_KEYS: usize = pg_sys::INDEX_MAX_KEYS as usize;
const MAX_TUPLES: usize = ports::MAX_HEAP_TUPLES_PER_PAGE;

unsafe fn is_hot_updated(header: pg_sys::HeapTupleHeader) -> bool {
    // SAFETY: a tuple header on a pinned page. HeapTupleHeaderIsHotUpdated also asks for a valid xmax and xmin.
    unsafe {
        let infomask = u32::from((*header).t_infomask);
        u32::from((*header).t_infomask2) & pg_sys::HEAP_HOT_UPDATED != 0
            && infomask & pg_sys::HEAP_XMAX_INVALID == 0
            && infomask & (pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMIN_INVALID)
                != pg_sys::HEAP_XMIN_INVALID
    }
}

unsafe fn is_heap_only(header: pg_sys::HeapTupleHeader) -> bool {
    // SAFETY: a tuple header on a pinned page.
    unsafe { u32::from((*header).t_infomask2) & pg_sys::HEAP_ONLY_TUPLE != 0 }
}

/// Root offsets of the HOT chains of a page.
struct Roots([u16; MAX_TUPLES]);

impl Roots {
    unsafe fn read(buffer: pg_sys::Buffer) -> Self {
        let mut roots = Self([0; MAX_TUPLES]);
        // SAFETY: the buffer is pinned; the share lock keeps the chains as they are.
        unsafe {
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            pg_sys::heap_get_root_tuples(pg_sys::BufferGetPage(buffer), roots.0.as_mut_ptr());
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
        }
        roots
    }

    /// Root of a tuple's chain; looked up afresh for a member that came after the page was first read.
    unsafe fn of(&mut self, builder: &Builder, buffer: pg_sys::Buffer, offset: u16) -> u16 {
        if self.0[usize::from(offset) - 1] == 0 {
            // SAFETY: as `read`.
            *self = unsafe { Self::read(buffer) };
        }
        let root = self.0[usize::from(offset) - 1];
        if root == 0 {
            // SAFETY: the relation is open.
            let name = unsafe { relation_name(builder.rel) };
            ereport!(
                PgLogLevel::ERROR,
                PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
                format!(
                    "failed to find parent tuple for heap-only tuple at offset {offset} in table \"{name}\""
                )
            );
        }
        root
    }
}

/// Gives all rows to an index's build callback (`index_build_range_scan`).
///
/// # Safety
/// As `table_index_build_range_scan`.
#[allow(clippy::too_many_arguments)]
pub unsafe fn range_scan(
    rel: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
    any_visible: bool,
    progress: bool,
    callback: pg_sys::IndexBuildCallback,
    callback_state: *mut core::ffi::c_void,
    desc: pg_sys::TableScanDesc,
) -> f64 {
    // SAFETY: the caller keeps the contract of the callback; snapshots registered here are unregistered here.
    unsafe {
        refuse_unsupported(rel, index);
        let mut oldest_xmin = pg_sys::InvalidTransactionId;
        if !(*info).ii_Concurrent {
            oldest_xmin = pg_sys::GetOldestNonRemovableTransactionId(rel);
        }
        let any = &raw mut pg_sys::SnapshotAnyData;
        let registered = desc.is_null() && (*info).ii_Concurrent;
        let snapshot = if !desc.is_null() {
            (*desc).rs_snapshot
        } else if registered {
            pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot())
        } else {
            any
        };
        let mut builder = Builder::new(rel, index, info, snapshot, oldest_xmin, any_visible);
        let mut work = UnitSource::new(rel, desc);
        report(progress, pg_sys::PROGRESS_SCAN_BLOCKS_TOTAL, work.blocks);
        let mut reader = pages::PageReader::begin(rel, any, true);
        let mut offsets = Vec::with_capacity(MAX_TUPLES);
        let emit = Emit { callback, state: callback_state };
        for unit in work.by_ref() {
            match unit {
                Unit::Pages { first, count } => {
                    for block in first..first + count {
                        pgrx::check_for_interrupts!();
                        if reader.load(block, &mut offsets) {
                            build_page(&mut builder, &reader, &offsets, &emit);
                        }
                        report(progress, pg_sys::PROGRESS_SCAN_BLOCKS_DONE, block + 1);
                    }
                }
                Unit::Group(group) => {
                    build_group(&mut builder, &group, &emit);
                    let done = group.entry.extent + group.entry.extent_pages;
                    report(progress, pg_sys::PROGRESS_SCAN_BLOCKS_DONE, done);
                }
            }
        }
        report(progress, pg_sys::PROGRESS_SCAN_BLOCKS_DONE, work.blocks);
        reader.end();
        if !desc.is_null() {
            super::scan::end(desc);
        }
        if registered {
            pg_sys::UnregisterSnapshot(snapshot);
        }
        builder.finish()
    }
}

fn report(progress: bool, parameter: u32, value: u32) {
    if progress {
        // SAFETY: writes this backend's progress entry.
        unsafe { pg_sys::pgstat_progress_update_param(parameter as i32, i64::from(value)) };
    }
}

/// The index's build callback.
struct Emit {
    callback: pg_sys::IndexBuildCallback,
    state: *mut core::ffi::c_void,
}

impl Emit {
    /// Gives the row in the builder's slot to the index.
    unsafe fn row(&self, builder: &Builder, mut tid: pg_sys::ItemPointerData, alive: bool) {
        // SAFETY: the slot holds the row; the callback copies what it keeps.
        unsafe {
            let Some((mut values, mut nulls)) = builder.values() else { return };
            if let Some(callback) = self.callback {
                callback(
                    builder.index,
                    &raw mut tid,
                    values.as_mut_ptr(),
                    nulls.as_mut_ptr(),
                    alive,
                    self.state,
                );
            }
        }
    }
}

/// The parts of the table an index build reads: all of them, or its share of a parallel scan.
struct UnitSource {
    shared: *mut ParallelScan,
    units: Vec<Unit>,
    groups: Vec<Rc<Group>>,
    blocks: u32,
}

impl UnitSource {
    unsafe fn new(rel: pg_sys::Relation, desc: pg_sys::TableScanDesc) -> Self {
        // SAFETY: the relation is open and locked against VACUUM; `desc`, if any, is a scan of this access method.
        unsafe {
            let blocks =
                pg_sys::RelationGetNumberOfBlocksInFork(rel, pg_sys::ForkNumber::MAIN_FORKNUM);
            let shared = if desc.is_null() {
                core::ptr::null_mut()
            } else {
                (*desc).rs_parallel.cast::<ParallelScan>()
            };
            if !shared.is_null() {
                let groups = parallel::groups(rel, shared);
                return Self { shared, units: Vec::new(), groups, blocks: (*shared).blocks };
            }
            write::flush(rel);
            let mut units = Vec::new();
            if let Some(directory) = cache::open(rel) {
                units.extend(directory.groups.iter().rev().cloned().map(Unit::Group));
                let ranges = extent::row_page_ranges(&directory.directory, blocks);
                units.extend(
                    ranges.into_iter().rev().map(|(first, count)| Unit::Pages { first, count }),
                );
            }
            Self { shared, units, groups: Vec::new(), blocks }
        }
    }
}

impl Iterator for UnitSource {
    type Item = Unit;

    fn next(&mut self) -> Option<Unit> {
        if self.shared.is_null() {
            return self.units.pop();
        }
        // SAFETY: the shared state lives as long as the parallel scan.
        unsafe { parallel::claim(self.shared, &self.groups) }
    }
}

/// Offers the rows of a group.
unsafe fn build_group(builder: &mut Builder, group: &Rc<Group>, emit: &Emit) {
    // SAFETY: the group belongs to the open relation.
    unsafe {
        let rel = builder.rel;
        group.refresh(rel);
        if pages::is_mvcc(builder.snapshot) {
            let mut visible = Vec::new();
            rows::visible(rel, group, 0, group.rows(), builder.snapshot, &mut visible);
            for row in visible {
                pgrx::check_for_interrupts!();
                builder.rows += 1.0;
                builder.offer(group, row, true, emit);
            }
            return;
        }
        for run in group.runs() {
            for row in run.first..run.first + run.rows {
                if row.is_multiple_of(1024) {
                    pgrx::check_for_interrupts!();
                }
                if let Some(alive) = builder.wait_for_verdict(group, row, run.xid) {
                    builder.offer(group, row, alive, emit);
                }
            }
        }
    }
}

impl Builder {
    unsafe fn offer(&mut self, group: &Rc<Group>, row: u32, alive: bool, emit: &Emit) {
        // SAFETY: the group belongs to the open relation.
        unsafe {
            let Some(tid) = group.tid_of(self.rel, row) else { return };
            let none = pg_sys::InvalidTransactionId;
            slot::store_row(self.slot, self.rel, group, row, tid, none);
            emit.row(self, tid, alive);
        }
    }

    /// Judges a row of a group, waiting for transactions where heapam would.
    unsafe fn wait_for_verdict(&mut self, group: &Rc<Group>, row: u32, xid: u32) -> Option<bool> {
        // SAFETY: the group belongs to the open relation.
        unsafe {
            loop {
                match self.judge_row(group, row, xid) {
                    Verdict::Skip => return None,
                    Verdict::Index { alive } => return Some(alive),
                    Verdict::Wait(xid) => {
                        let mut tid = group.tid_of(self.rel, row)?;
                        wait(self.rel, xid, &mut tid);
                    }
                }
            }
        }
    }

    unsafe fn judge_row(&mut self, group: &Rc<Group>, row: u32, xid: u32) -> Verdict {
        match visibility::status(xid) {
            InsertStatus::Aborted => return Verdict::Skip,
            InsertStatus::InProgress => {
                if self.any_visible {
                    self.rows += 1.0;
                } else {
                    // SAFETY: the relation is open.
                    unsafe { self.warn_concurrent("insert") };
                    if self.check_unique {
                        return Verdict::Wait(xid.into());
                    }
                }
                return Verdict::Index { alive: true };
            }
            InsertStatus::Committed | InsertStatus::Own => {}
        }
        match group.mark(row) {
            None => {
                self.rows += 1.0;
                Verdict::Index { alive: true }
            }
            Some(Mark::Gone) => Verdict::Skip,
            // SAFETY: the page is pinned and share-locked while the stub is judged.
            Some(Mark::Stub { block, offset }) => unsafe {
                let buffer = pg_sys::ReadBuffer(self.rel, block);
                pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
                let page = ports::buffer_page(buffer);
                let normal = offset <= heap::max_offset(page)
                    && heap::line_pointer_flags(page, offset) == pg_sys::LP_NORMAL;
                let verdict = if normal {
                    let mut tuple = heap::tuple_at(self.rel, page, block, offset);
                    self.judge(&mut tuple, buffer)
                } else {
                    Verdict::Skip
                };
                pg_sys::UnlockReleaseBuffer(buffer);
                verdict
            },
        }
    }
}

unsafe fn wait(
    rel: pg_sys::Relation,
    xid: pg_sys::TransactionId,
    tid: &mut pg_sys::ItemPointerData,
) {
    // SAFETY: no page lock is held.
    unsafe {
        pg_sys::XactLockTableWait(xid, rel, tid, pg_sys::XLTW_Oper::XLTW_InsertIndexUnique);
    }
    pgrx::check_for_interrupts!();
}

unsafe fn build_page(
    builder: &mut Builder,
    reader: &pages::PageReader,
    offsets: &[u16],
    emit: &Emit,
) {
    // SAFETY: the reader pins the page all along, so no tuple moves.
    unsafe {
        let (buffer, page, block) = (reader.buffer(), reader.page(), reader.block());
        let mut roots = Roots::read(buffer);
        let mvcc = pages::is_mvcc(builder.snapshot);
        for &offset in offsets {
            let alive = loop {
                pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
                let verdict = if heap::line_pointer_flags(page, offset) != pg_sys::LP_NORMAL {
                    Verdict::Skip
                } else {
                    let mut tuple = heap::tuple_at(builder.rel, page, block, offset);
                    if !mvcc {
                        builder.judge(&mut tuple, buffer)
                    } else if pg_sys::HeapTupleSatisfiesVisibility(
                        &raw mut tuple,
                        builder.snapshot,
                        buffer,
                    ) {
                        builder.rows += 1.0;
                        Verdict::Index { alive: true }
                    } else {
                        Verdict::Skip
                    }
                };
                pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
                match verdict {
                    Verdict::Skip => break None,
                    Verdict::Index { alive } => break Some(alive),
                    Verdict::Wait(xid) => {
                        let mut ctid =
                            tid::to_external(builder.rel, &tid::item_pointer(block, offset));
                        wait(builder.rel, xid, &mut ctid);
                    }
                }
            };
            let Some(alive) = alive else { continue };
            let tuple = heap::tuple_at(builder.rel, page, block, offset);
            let root =
                if is_heap_only(tuple.t_data) { roots.of(builder, buffer, offset) } else { offset };
            pages::store_tuple(builder.rel, builder.slot, tuple, buffer);
            let root = tid::item_pointer(block, root);
            let key = builder.stubs.index_tid(builder.rel, &root);
            emit.row(builder, key, alive);
        }
    }
}

/// BRIN numbers its ranges by physical blocks, which TIDs here are not.
unsafe fn refuse_unsupported(rel: pg_sys::Relation, index: pg_sys::Relation) {
    // SAFETY: both relations are open.
    unsafe {
        if (*(*index).rd_rel).relam == pg_sys::BRIN_AM_OID {
            ereport!(
                PgLogLevel::ERROR,
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                format!(
                    "access method \"brin\" is not supported on pgcolumnar table \"{}\"",
                    relation_name(rel)
                ),
                "BRIN numbers its ranges by the blocks of the file, which the TIDs of such a table do not name."
            );
        }
    }
}

/// Adds the rows that a concurrent build missed (`index_validate_scan`).
///
/// # Safety
/// As `table_index_validate_scan`.
pub unsafe fn validate_scan(
    rel: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
    snapshot: pg_sys::Snapshot,
    state: *mut pg_sys::ValidateIndexState,
) {
    // SAFETY: the caller keeps the contract of the callback.
    unsafe {
        let none = pg_sys::InvalidTransactionId;
        let builder = Builder::new(rel, index, info, snapshot, none, false);
        let mut cursor = IndexCursor::new((*state).tuplesort);
        let mut reader = pages::PageReader::begin(rel, snapshot, true);
        let mut offsets = Vec::with_capacity(MAX_TUPLES);
        let inserted = core::cell::Cell::new(0.0);
        let insert = |builder: &Builder, mut key: pg_sys::ItemPointerData| {
            let Some((mut values, mut nulls)) = builder.values() else { return };
            let unique = if (*info).ii_Unique {
                pg_sys::IndexUniqueCheck::UNIQUE_CHECK_YES
            } else {
                pg_sys::IndexUniqueCheck::UNIQUE_CHECK_NO
            };
            pg_sys::index_insert(
                index,
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
                &raw mut key,
                rel,
                unique,
                false,
                info,
            );
            inserted.set(inserted.get() + 1.0);
        };
        for block in blocks_in_order(rel) {
            pgrx::check_for_interrupts!();
            match block {
                OrderedBlock::Page(block) => {
                    if !reader.load(block, &mut offsets) {
                        continue;
                    }
                    let buffer = reader.buffer();
                    let mut roots = Roots::read(buffer);
                    for &offset in &offsets {
                        (*state).htups += 1.0;
                        let tuple = heap::tuple_at(rel, reader.page(), block, offset);
                        let root = if is_heap_only(tuple.t_data) {
                            roots.of(&builder, buffer, offset)
                        } else {
                            offset
                        };
                        let root = tid::item_pointer(block, root);
                        if builder.stubs.row(&root).is_some() {
                            // Known by the TID of its row, which comes later.
                            continue;
                        }
                        let key = tid::to_external(rel, &root);
                        if !cursor.contains(tid::encode(&key)) {
                            pages::store_tuple(builder.rel, builder.slot, tuple, buffer);
                            insert(&builder, key);
                        }
                    }
                }
                OrderedBlock::Rows(group, first, count) => {
                    for (row, member) in rows::versions(rel, &group, first, count, snapshot) {
                        let Some(key) = group.tid_of(rel, row) else { continue };
                        (*state).htups += 1.0;
                        if cursor.contains(tid::encode(&key)) {
                            continue;
                        }
                        match member {
                            None => slot::store_row(builder.slot, rel, &group, row, key, none),
                            Some(member) => {
                                if !heap::fetch_row_version(rel, member, snapshot, builder.slot) {
                                    continue;
                                }
                            }
                        }
                        insert(&builder, key);
                    }
                }
            }
        }
        (*state).tups_inserted += inserted.get();
        reader.end();
        builder.finish();
    }
}

/// Rows of one external block.
enum OrderedBlock {
    Page(u32),
    Rows(Rc<Group>, u32, u32),
}

/// The table's blocks in the order of their external numbers, as the index's TIDs are sorted.
unsafe fn blocks_in_order(rel: pg_sys::Relation) -> Vec<OrderedBlock> {
    // SAFETY: the relation is open and locked against VACUUM.
    unsafe {
        write::flush(rel);
        let Some(directory) = cache::open(rel) else { return Vec::new() };
        let blocks = pg_sys::RelationGetNumberOfBlocksInFork(rel, pg_sys::ForkNumber::MAIN_FORKNUM);
        let mut found = Vec::new();
        for (first, count) in extent::row_page_ranges(&directory.directory, blocks) {
            let pages = first..first + count;
            found.extend(
                pages.map(|page| (tid::external_block(rel, page), OrderedBlock::Page(page))),
            );
        }
        for group in &directory.groups {
            if let Some(map) = group.tid_map(rel) {
                for block in &map.blocks {
                    let count = block.offsets.len() as u32;
                    let rows = OrderedBlock::Rows(group.clone(), block.first_row, count);
                    found.push((block.block, rows));
                }
                continue;
            }
            for (i, first) in (0..group.rows()).step_by(tid::ROWS_PER_BLOCK as usize).enumerate() {
                let external = tid::external_row_block(group.entry.first_row_block + i as u32);
                let rows = OrderedBlock::Rows(group.clone(), first, tid::ROWS_PER_BLOCK);
                found.push((external, rows));
            }
        }
        found.sort_by_key(|(external, _)| *external);
        found.into_iter().map(|(_, block)| block).collect()
    }
}

/// The TIDs an index holds, in ascending order, with a look back within the current block: the roots of a page's HOT
/// chains do not come in the order of its tuples.
struct IndexCursor {
    sort: *mut pg_sys::Tuplesortstate,
    ahead: Option<u64>,
    block: u64,
    seen: Vec<u64>,
    done: bool,
}

impl IndexCursor {
    fn new(sort: *mut pg_sys::Tuplesortstate) -> Self {
        Self { sort, ahead: None, block: u64::MAX, seen: Vec::new(), done: false }
    }

    /// Whether the index holds a TID. Blocks are asked for in ascending order.
    unsafe fn contains(&mut self, key: u64) -> bool {
        if key >> 16 != self.block {
            self.block = key >> 16;
            self.seen.clear();
        }
        while !self.done && self.ahead.is_none_or(|ahead| ahead < key) {
            if let Some(ahead) = self.ahead.filter(|ahead| ahead >> 16 == self.block) {
                self.seen.push(ahead);
            }
            let mut value = pg_sys::Datum::null();
            let mut is_null = false;
            // SAFETY: the sort is the caller's, performed and readable.
            let more = unsafe {
                pg_sys::tuplesort_getdatum(
                    self.sort,
                    true,
                    #[cfg(not(feature = "pg15"))]
                    false,
                    &raw mut value,
                    &raw mut is_null,
                    core::ptr::null_mut(),
                )
            };
            if more {
                self.ahead = Some(value.value() as u64);
            } else {
                self.ahead = None;
                self.done = true;
            }
        }
        self.ahead == Some(key) || self.seen.contains(&key)
    }
}
