//! Scans of a table: a list of units (runs of row pages, row groups), each read in steps (a page, a run of rows).
//!
//! A step is loaded once: which of its rows the snapshot sees is decided then, and rows are handed out from that list in
//! either direction.
//!
//! The units come from the directory as it is when the scan begins. VACUUM may move rows from row pages to a group
//! meanwhile. Each is still read once: a page that turns out to have been moved is read in the group that has its rows
//! now, unless the scan reads a group with those rows anyway.

pub mod analyze;
pub mod bitmap;
pub mod pages;
pub mod parallel;
pub mod rows;
mod sample;
mod tidrange;

use crate::am::group::cache;
use crate::am::group::{Group, visibility};
use crate::am::storage::extent;
use crate::am::{slot, tid, write};
use crate::ports;
use pages::PageReader;
use parallel::ParallelScan;
use pgrx::pg_sys;
use std::rc::Rc;

pub use sample::{sample_next_block, sample_next_tuple};
pub use tidrange::{getnextslot_tidrange, set_tidrange};

/// Rows of a group in one step.
const STEP_ROWS: u32 = 8192;

/// Row pages that are told to the reader before they come.
const PAGES_TOLD: u32 = 1024;

/// A part of the relation that is scanned in one go.
#[derive(Clone, Debug)]
pub enum Unit {
    /// Blocks `first .. first + count`, row pages unless VACUUM moved them.
    Pages {
        first: u32,
        count: u32,
    },
    Group(Rc<Group>),
}

impl Unit {
    /// Rows of a group; row pages are not counted.
    pub fn group_rows(&self) -> u64 {
        match self {
            Self::Pages { .. } => 0,
            Self::Group(group) => group.rows().into(),
        }
    }

    fn steps(&self, step_rows: u32) -> u32 {
        match self {
            Self::Pages { count, .. } => *count,
            Self::Group(group) => group.rows().div_ceil(step_rows),
        }
    }
}

/// The scan descriptor the server sees; the state behind it is dropped with its memory context.
#[repr(C)]
pub struct Scan {
    base: pg_sys::TableScanDescData,
    state: *mut ScanState,
}

/// What a scan remembers between calls.
#[derive(Debug)]
pub struct ScanState {
    pub(crate) rel: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    units: Vec<Unit>,
    /// Groups that are or will be read as units.
    covered: Vec<Rc<Group>>,
    pub(crate) reader: Option<PageReader>,
    position: Option<Position>,
    /// What the rows of the current step are: offsets of the reader's page, or rows of this group.
    pub(crate) group: Option<Rc<Group>>,
    pub(crate) rows: Vec<u32>,
    /// xmax of those rows that have a stub.
    xmaxes: Vec<(u32, pg_sys::TransactionId)>,
    offsets: Vec<u16>,
    /// Blocks of the relation when the scan began.
    pub(crate) blocks: u32,
    step_rows: u32,
    /// Inclusive bounds on external TIDs of a TID range scan.
    tid_range: Option<(u64, u64)>,
    sample: sample::SampleState,
    pub(crate) analyze: analyze::AnalyzeState,
    bitmap: bitmap::BitmapState,
}

/// Where the scan stands: row `index` of step `step` of unit `unit` was handed out last.
#[derive(Clone, Copy, Debug)]
struct Position {
    unit: usize,
    step: u32,
    index: usize,
}

impl Scan {
    /// The state behind a descriptor.
    ///
    /// # Safety
    /// `scan` came from [`begin`] and is not ended; no other reference to its state is alive.
    pub unsafe fn state<'a>(scan: pg_sys::TableScanDesc) -> &'a mut ScanState {
        // SAFETY: `begin` allocated both.
        unsafe { &mut *(*scan.cast::<Self>()).state }
    }
}

/// Starts a scan (`scan_begin`).
///
/// # Safety
/// As `table_beginscan`.
pub unsafe fn begin(
    rel: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    nkeys: i32,
    key: *mut pg_sys::ScanKeyData,
    parallel: pg_sys::ParallelTableScanDesc,
    flags: u32,
) -> pg_sys::TableScanDesc {
    // SAFETY: the descriptor and its state live in the current memory context until `end` or the context's reset.
    unsafe {
        pg_sys::RelationIncrementReferenceCount(rel);
        let scan = pg_sys::palloc0(size_of::<Scan>()).cast::<Scan>();
        (*scan).base.rs_rd = rel;
        (*scan).base.rs_snapshot = snapshot;
        (*scan).base.rs_nkeys = nkeys;
        (*scan).base.rs_flags = flags;
        (*scan).base.rs_parallel = parallel;
        if nkeys > 0 {
            let bytes = nkeys as usize * size_of::<pg_sys::ScanKeyData>();
            let keys = pg_sys::palloc(bytes).cast::<pg_sys::ScanKeyData>();
            if !key.is_null() {
                core::ptr::copy_nonoverlapping(key, keys, nkeys as usize);
            }
            (*scan).base.rs_key = keys;
        }
        let bulk = flags & pg_sys::ScanOptions::SO_ALLOW_STRAT != 0;
        let sampling = flags & pg_sys::ScanOptions::SO_TYPE_SAMPLESCAN != 0;
        let state = ScanState {
            rel,
            snapshot,
            units: Vec::new(),
            covered: Vec::new(),
            reader: Some(PageReader::begin(rel, snapshot, bulk)),
            position: None,
            group: None,
            rows: Vec::new(),
            xmaxes: Vec::new(),
            offsets: Vec::new(),
            blocks: 0,
            step_rows: if sampling { tid::ROWS_PER_BLOCK } else { STEP_ROWS },
            tid_range: None,
            sample: sample::SampleState::default(),
            analyze: analyze::AnalyzeState::default(),
            bitmap: bitmap::BitmapState::default(),
        };
        (*scan).state = pgrx::PgMemoryContexts::CurrentMemoryContext.leak_and_drop_on_delete(state);
        start(scan.cast());
        scan.cast()
    }
}

/// Prepares the units and takes the predicate lock; counts the scan.
unsafe fn start(scan: pg_sys::TableScanDesc) {
    use pg_sys::ScanOptions as Options;
    // SAFETY: `scan` is alive.
    unsafe {
        let state = Scan::state(scan);
        let flags = (*scan).rs_flags;
        state.units.clear();
        state.covered.clear();
        state.group = None;
        state.rows.clear();
        state.position = None;
        state.sample = sample::SampleState::default();
        state.bitmap = bitmap::BitmapState::default();
        if (*scan).rs_parallel.is_null() {
            write::flush(state.rel);
            state.lay_out();
        } else {
            let shared = (*scan).rs_parallel.cast::<ParallelScan>();
            state.blocks = (*shared).blocks;
            state.covered = parallel::groups(state.rel, shared);
        }
        if flags & (Options::SO_TYPE_SEQSCAN | Options::SO_TYPE_SAMPLESCAN) != 0 {
            ports::PredicateLockRelation(state.rel, (*scan).rs_snapshot);
        }
        if flags & Options::SO_TYPE_SEQSCAN != 0 {
            count(state.rel, |counts| counts.count_scan());
        }
    }
}

/// Ends a scan (`scan_end`).
///
/// # Safety
/// `scan` came from [`begin`].
pub unsafe fn end(scan: pg_sys::TableScanDesc) {
    // SAFETY: the state stays allocated (empty) until its context goes.
    unsafe {
        let state = Scan::state(scan);
        if let Some(reader) = state.reader.take() {
            reader.end();
        }
        state.rows = Vec::new();
        state.units = Vec::new();
        state.covered = Vec::new();
        state.group = None;
        let (rel, flags, snapshot) = ((*scan).rs_rd, (*scan).rs_flags, (*scan).rs_snapshot);
        pg_sys::RelationDecrementReferenceCount(rel);
        if flags & pg_sys::ScanOptions::SO_TEMP_SNAPSHOT != 0 {
            pg_sys::UnregisterSnapshot(snapshot);
        }
        if !(*scan).rs_key.is_null() {
            pg_sys::pfree((*scan).rs_key.cast());
        }
    }
}

/// Starts over (`scan_rescan`).
///
/// # Safety
/// `scan` came from [`begin`].
pub unsafe fn rescan(
    scan: pg_sys::TableScanDesc,
    key: *mut pg_sys::ScanKeyData,
    set_params: bool,
    allow_strat: bool,
    allow_pagemode: bool,
) {
    // SAFETY: the descriptor is alive; it has room for `rs_nkeys` keys.
    unsafe {
        if !key.is_null() && (*scan).rs_nkeys > 0 {
            core::ptr::copy_nonoverlapping(key, (*scan).rs_key, (*scan).rs_nkeys as usize);
        }
        if set_params {
            let mut flags = (*scan).rs_flags;
            for (bit, on) in [
                (pg_sys::ScanOptions::SO_ALLOW_STRAT, allow_strat),
                (pg_sys::ScanOptions::SO_ALLOW_PAGEMODE, allow_pagemode),
            ] {
                flags = if on { flags | bit } else { flags & !bit };
            }
            (*scan).rs_flags = flags;
        }
        let state = Scan::state(scan);
        state.set_snapshot((*scan).rs_snapshot);
        state.release();
        start(scan);
    }
}

/// Hands out the next row in a direction (`scan_getnextslot`).
///
/// # Safety
/// `scan` came from [`begin`]; `slot` is a slot of this access method.
pub unsafe fn getnextslot(
    scan: pg_sys::TableScanDesc,
    direction: pg_sys::ScanDirection::Type,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: the descriptor is alive.
    unsafe {
        let state = Scan::state(scan);
        state.set_snapshot((*scan).rs_snapshot);
        let forward = direction >= pg_sys::ScanDirection::ForwardScanDirection;
        let found = if (*scan).rs_parallel.is_null() {
            state.next(forward, slot)
        } else {
            state.next_parallel((*scan).rs_parallel.cast::<ParallelScan>(), slot)
        };
        if found {
            count(state.rel, |counts| counts.count_returned());
        } else {
            state.release();
            pg_sys::ExecClearTuple(slot);
        }
        found
    }
}

/// Hands out the next row of the unit that [`ScanState::set_unit`] set.
///
/// # Safety
/// As [`getnextslot`].
pub unsafe fn next_of_unit(scan: pg_sys::TableScanDesc, slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: the descriptor is alive.
    unsafe {
        let state = Scan::state(scan);
        state.set_snapshot((*scan).rs_snapshot);
        let found = state.next(true, slot);
        if found {
            count(state.rel, |counts| counts.count_returned());
        } else {
            state.release();
            pg_sys::ExecClearTuple(slot);
        }
        found
    }
}

impl ScanState {
    /// The units of a scan that has just begun, for a caller that reads groups itself.
    pub fn take_units(&mut self) -> Vec<Unit> {
        self.position = None;
        core::mem::take(&mut self.units)
    }

    /// The next unit that a parallel scan gives this process; `None` when none is left.
    ///
    /// # Safety
    /// The scan began with `shared`.
    pub unsafe fn claim_unit(&self, shared: pg_sys::ParallelTableScanDesc) -> Option<Unit> {
        // SAFETY: the shared state lives as long as the scan.
        unsafe { parallel::claim(shared.cast(), &self.covered) }
    }

    /// Releases the pages that are held.
    pub fn release(&mut self) {
        if let Some(reader) = self.reader.as_mut() {
            reader.rest();
        }
    }

    /// Makes a unit the only one; its rows come from [`next_of_unit`].
    pub fn set_unit(&mut self, unit: Unit) {
        self.units.clear();
        self.position = None;
        self.units.push(unit);
    }

    fn set_snapshot(&mut self, snapshot: pg_sys::Snapshot) {
        if core::ptr::eq(self.snapshot, snapshot) {
            return;
        }
        self.snapshot = snapshot;
        if let Some(reader) = self.reader.as_mut() {
            // SAFETY: the descriptor's snapshot is alive.
            unsafe { reader.set_snapshot(snapshot) };
        }
    }

    /// Units of a serial scan: runs of row pages, then the groups.
    unsafe fn lay_out(&mut self) {
        // SAFETY: the relation is open. Blocks are counted after the directory is read: a page added since is either
        // new, with rows the snapshot does not see, or found to be moved.
        unsafe {
            let directory = cache::open(self.rel);
            self.blocks =
                pg_sys::RelationGetNumberOfBlocksInFork(self.rel, pg_sys::ForkNumber::MAIN_FORKNUM);
            let Some(directory) = directory else { return };
            for (first, count) in extent::row_page_ranges(&directory.directory, self.blocks) {
                self.units.push(Unit::Pages { first, count });
            }
            for group in &directory.groups {
                if group.rows() > 0 {
                    self.units.push(Unit::Group(group.clone()));
                }
            }
            self.covered.clone_from(&directory.groups);
        }
    }

    /// Moves to the next visible row in a direction and stores it.
    unsafe fn next(&mut self, forward: bool, slot: *mut pg_sys::TupleTableSlot) -> bool {
        if self.units.is_empty() {
            return false;
        }
        // `index` is one before the row to look at when going forward, one behind it when going backward.
        let mut position = match self.position {
            Some(position) => position,
            // A scan that ran off one end starts again from the other, as heap's does.
            None => {
                let unit = if forward { 0 } else { self.units.len() - 1 };
                let last = self.units[unit].steps(self.step_rows) - 1;
                let first = Position { unit, step: if forward { 0 } else { last }, index: 0 };
                self.enter(first, forward)
            }
        };
        loop {
            let next = if forward {
                Some(position.index.wrapping_add(1))
            } else {
                position.index.checked_sub(1)
            };
            match next.filter(|&next| next < self.rows.len()) {
                Some(next) => {
                    position.index = next;
                    // SAFETY: the row belongs to the loaded step.
                    if unsafe { self.emit(next, slot) } {
                        self.position = Some(position);
                        return true;
                    }
                }
                None => match self.step(position, forward) {
                    Some(next) => position = self.enter(next, forward),
                    None => {
                        self.position = None;
                        return false;
                    }
                },
            }
        }
    }

    /// Loads the step of a position and places the index before its first row in the direction.
    fn enter(&mut self, mut position: Position, forward: bool) -> Position {
        if forward && position.step.is_multiple_of(PAGES_TOLD / 2) {
            self.expect_pages(position);
        }
        self.load(position.unit, position.step);
        position.index = if forward { usize::MAX } else { self.rows.len() };
        position
    }

    /// Tells the reader which row pages come, half of [`PAGES_TOLD`] at a time, while it still knows the other half.
    fn expect_pages(&mut self, position: Position) {
        let Unit::Pages { first, count } = self.units[position.unit] else { return };
        let Some(reader) = self.reader.as_mut() else { return };
        let from = if position.step == 0 { 0 } else { position.step + PAGES_TOLD / 2 };
        for step in from..(position.step + PAGES_TOLD).min(count) {
            reader.expect(first + step);
        }
    }

    fn step(&self, mut position: Position, forward: bool) -> Option<Position> {
        if forward {
            position.step += 1;
            if position.step >= self.units[position.unit].steps(self.step_rows) {
                position.unit += 1;
                position.step = 0;
                if position.unit >= self.units.len() {
                    return None;
                }
            }
        } else if position.step > 0 {
            position.step -= 1;
        } else {
            position.unit = position.unit.checked_sub(1)?;
            position.step = self.units[position.unit].steps(self.step_rows) - 1;
        }
        Some(position)
    }

    fn load(&mut self, unit: usize, step: u32) {
        pgrx::check_for_interrupts!();
        self.rows.clear();
        self.xmaxes.clear();
        match &self.units[unit] {
            Unit::Pages { first, .. } => {
                let block = first + step;
                self.load_page(block);
            }
            Unit::Group(group) => {
                let group = group.clone();
                let first = step * self.step_rows;
                // SAFETY: the group belongs to the open relation.
                unsafe {
                    rows::visible_with_xmax(
                        self.rel,
                        &group,
                        first,
                        self.step_rows,
                        self.judging_snapshot(),
                        &mut self.rows,
                        &mut self.xmaxes,
                    );
                }
                self.group = Some(group);
            }
        }
    }

    fn load_page(&mut self, block: u32) {
        self.group = None;
        let Some(reader) = self.reader.as_mut() else { return };
        if reader.load(block, &mut self.offsets) {
            self.rows.extend(self.offsets.iter().map(|&offset| u32::from(offset)));
        } else {
            // SAFETY: the relation is open.
            unsafe { self.load_moved(block) };
        }
    }

    /// Rows of a former row page, in the group they were moved to since the scan began.
    unsafe fn load_moved(&mut self, block: u32) {
        let external = tid::external_block(self.rel, block);
        // SAFETY: the relation is open.
        unsafe {
            let has = |group: &Rc<Group>| {
                group.tid_map(self.rel).is_some_and(|map| map.has_block(external))
            };
            if self.covered.iter().any(has) {
                return;
            }
            let Some(directory) = cache::open(self.rel) else { return };
            let Some(group) = directory.mapped_groups(external).find(|group| has(group)).cloned()
            else {
                return;
            };
            if let Some(map) = group.tid_map(self.rel)
                && let Ok(at) = map.blocks.binary_search_by_key(&external, |b| b.block)
            {
                let (first, count) = (map.blocks[at].first_row, map.blocks[at].offsets.len());
                rows::visible_with_xmax(
                    self.rel,
                    &group,
                    first,
                    count as u32,
                    self.judging_snapshot(),
                    &mut self.rows,
                    &mut self.xmaxes,
                );
            }
            self.group = Some(group);
        }
    }

    /// Snapshots that are not MVCC report through themselves, so each row is judged when it is handed out.
    fn judging_snapshot(&self) -> pg_sys::Snapshot {
        if pages::is_mvcc(self.snapshot) { self.snapshot } else { &raw mut pg_sys::SnapshotAnyData }
    }

    /// Stores a loaded row; false if it is out of range or not visible after all.
    unsafe fn emit(&mut self, index: usize, slot: *mut pg_sys::TupleTableSlot) -> bool {
        let row = self.rows[index];
        // SAFETY: the row belongs to the loaded step, whose page is pinned or whose group is held.
        unsafe {
            let Some(group) = &self.group else {
                let Some(reader) = self.reader.as_ref() else { return false };
                let offset = row as u16;
                let external =
                    tid::to_external(self.rel, &tid::item_pointer(reader.block(), offset));
                if !self.in_range(&external) || !reader.visible(offset) {
                    return false;
                }
                reader.store(offset, slot);
                return true;
            };
            let Some(external) = group.tid_of(self.rel, row) else { return false };
            if !self.in_range(&external) {
                return false;
            }
            if !pages::is_mvcc(self.snapshot) {
                visibility::reset_dirty(self.snapshot);
                let run = group.run(row);
                if !visibility::sees(self.rel, &run, self.snapshot) {
                    return false;
                }
                if let Some(mark) = group.mark(row)
                    && rows::StubReader::new(self.rel, self.snapshot).visible(mark).is_none()
                {
                    return false;
                }
            }
            let known = self.xmaxes.binary_search_by_key(&row, |(row, _)| *row);
            let xmax = known.map_or(pg_sys::InvalidTransactionId, |at| self.xmaxes[at].1);
            slot::store_row(slot, self.rel, group, row, external, xmax);
            true
        }
    }

    fn in_range(&self, tid: &pg_sys::ItemPointerData) -> bool {
        self.tid_range.is_none_or(|(low, high)| (low..=high).contains(&tid::encode(tid)))
    }

    unsafe fn next_parallel(
        &mut self,
        shared: *mut ParallelScan,
        slot: *mut pg_sys::TupleTableSlot,
    ) -> bool {
        loop {
            // SAFETY: the units are this worker's share; the shared state lives as long as the scan.
            unsafe {
                if self.next(true, slot) {
                    return true;
                }
                self.units.clear();
                self.position = None;
                match parallel::claim(shared, &self.covered) {
                    Some(unit) if unit.steps(self.step_rows) > 0 => self.units.push(unit),
                    Some(_) => {}
                    None => return false,
                }
            }
        }
    }
}

/// Counters of the cumulative statistics system for a relation, if they are collected.
///
/// # Safety
/// `rel` is an open relation.
pub(crate) unsafe fn count(rel: pg_sys::Relation, change: impl FnOnce(&mut StatCounts)) {
    // SAFETY: `pgstat_assoc_relation` makes the entry where statistics are on.
    unsafe {
        if (*rel).pgstat_info.is_null() {
            if !(*rel).pgstat_enabled {
                return;
            }
            pg_sys::pgstat_assoc_relation(rel);
        }
        let info = (*rel).pgstat_info.cast::<StatCounts>();
        if !info.is_null() {
            change(&mut *info);
        }
    }
}

/// [`pg_sys::PgStat_TableStatus`] with its counters under one name in every version.
#[repr(transparent)]
pub(crate) struct StatCounts(pg_sys::PgStat_TableStatus);

impl StatCounts {
    #[cfg(feature = "pg15")]
    fn counts(&mut self) -> (&mut i64, &mut i64, &mut i64) {
        let counts = &mut self.0.t_counts;
        (&mut counts.t_numscans, &mut counts.t_tuples_returned, &mut counts.t_tuples_fetched)
    }

    #[cfg(not(feature = "pg15"))]
    fn counts(&mut self) -> (&mut i64, &mut i64, &mut i64) {
        let counts = &mut self.0.counts;
        (&mut counts.numscans, &mut counts.tuples_returned, &mut counts.tuples_fetched)
    }

    /// `pgstat_count_heap_scan`.
    pub(crate) fn count_scan(&mut self) {
        *self.counts().0 += 1;
    }

    /// `pgstat_count_heap_getnext`.
    pub(crate) fn count_returned(&mut self) {
        *self.counts().1 += 1;
    }

    /// As [`Self::count_returned`], of many rows.
    pub(crate) fn count_returned_rows(&mut self, rows: u64) {
        *self.counts().1 += rows as i64;
    }

    /// `pgstat_count_heap_fetch`.
    pub(crate) fn count_fetched(&mut self) {
        *self.counts().2 += 1;
    }
}
