//! Sequential scans: a list of units (runs of row pages, row groups), each read page by page or vector by vector.
//!
//! A unit's page is loaded once: which of its rows the snapshot sees is decided then, and rows are handed out from that
//! list in either direction.

pub mod pages;
pub mod analyze;
pub mod bitmap;
mod sample;
mod tidrange;

use crate::am::tid;
use crate::ports;
use core::sync::atomic::{AtomicU64, Ordering};
use pages::PageReader;
use pgrx::pg_sys;

pub use sample::{sample_next_block, sample_next_tuple};
pub use tidrange::{getnextslot_tidrange, set_tidrange};

/// Row pages handed to a parallel worker at a time.
const PARALLEL_CHUNK: u32 = 64;

/// A part of the relation that is scanned in one go.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    /// Blocks `first .. first + count`.
    Pages { first: u32, count: u32 },
}

impl Unit {
    fn steps(&self) -> u32 {
        match self {
            Unit::Pages { count, .. } => *count,
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
    units: Vec<Unit>,
    pub(crate) reader: Option<PageReader>,
    position: Option<Position>,
    /// Visible rows of the current step.
    pub(crate) rows: Vec<u16>,
    /// Blocks of the relation when the scan began.
    pub(crate) blocks: u32,
    /// Inclusive bounds on external TIDs of a TID range scan.
    tid_range: Option<(u64, u64)>,
    sample: sample::SampleState,
    /// The scan has handed out all its rows in this direction.
    finished: bool,
}

/// Where the scan stands: `index` rows of step `step` of unit `unit` come before it.
#[derive(Clone, Copy, Debug)]
struct Position {
    unit: usize,
    step: u32,
    index: usize,
}

/// Shared state of a parallel scan.
#[repr(C)]
struct ParallelScan {
    base: pg_sys::ParallelTableScanDescData,
    blocks: u32,
    next: AtomicU64,
}

impl Scan {
    /// The state behind a descriptor.
    ///
    /// # Safety
    /// `scan` came from [`begin`] and is not ended; no other reference to its state is alive.
    pub unsafe fn state<'a>(scan: pg_sys::TableScanDesc) -> &'a mut ScanState {
        // SAFETY: `begin` allocated both.
        unsafe { &mut *(*scan.cast::<Scan>()).state }
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
        let state = ScanState {
            rel,
            units: Vec::new(),
            reader: Some(PageReader::begin(rel, snapshot, bulk)),
            position: None,
            rows: Vec::new(),
            blocks: 0,
            tid_range: None,
            sample: sample::SampleState::default(),
            finished: false,
        };
        (*scan).state = pgrx::PgMemoryContexts::CurrentMemoryContext.leak_and_drop_on_delete(state);
        start(scan.cast());
        scan.cast()
    }
}

/// Prepares the units and takes the predicate lock; counts the scan.
unsafe fn start(scan: pg_sys::TableScanDesc) {
    // SAFETY: `scan` is alive.
    unsafe {
        let state = Scan::state(scan);
        let flags = (*scan).rs_flags;
        state.blocks = pg_sys::RelationGetNumberOfBlocksInFork(
            state.rel,
            pg_sys::ForkNumber::MAIN_FORKNUM,
        );
        state.units.clear();
        if !(*scan).rs_parallel.is_null() {
            state.blocks = (*(*scan).rs_parallel.cast::<ParallelScan>()).blocks;
        } else if state.blocks > 1 {
            state.units.push(Unit::Pages { first: 1, count: state.blocks - 1 });
        }
        state.position = None;
        state.finished = false;
        state.sample = sample::SampleState::default();
        if flags & (pg_sys::ScanOptions::SO_TYPE_SEQSCAN | pg_sys::ScanOptions::SO_TYPE_SAMPLESCAN) != 0
        {
            ports::PredicateLockRelation(state.rel, (*scan).rs_snapshot);
        }
        if flags & pg_sys::ScanOptions::SO_TYPE_SEQSCAN != 0 {
            count_scan(state.rel);
        }
    }
}

/// `pgstat_count_heap_scan`.
unsafe fn count_scan(rel: pg_sys::Relation) {
    // SAFETY: the relcache entry is valid while the relation is open.
    unsafe {
        if let Some(info) = stat_info(rel) {
            (*info).counts_numscans(1);
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
pub unsafe fn rescan(scan: pg_sys::TableScanDesc, key: *mut pg_sys::ScanKeyData, set_params: bool, allow_strat: bool, allow_pagemode: bool) {
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
        if let Some(reader) = state.reader.as_mut() {
            reader.release();
        }
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
        if let Some(reader) = state.reader.as_mut() {
            reader.set_snapshot((*scan).rs_snapshot);
        }
        let forward = direction >= pg_sys::ScanDirection::ForwardScanDirection;
        let found = if (*scan).rs_parallel.is_null() {
            state.next(forward, slot)
        } else {
            state.next_parallel((*scan).rs_parallel.cast::<ParallelScan>(), slot)
        };
        if found {
            if let Some(info) = stat_info(state.rel) {
                (*info).counts_returned(1);
            }
        } else {
            if let Some(reader) = state.reader.as_mut() {
                reader.release();
            }
            pg_sys::ExecClearTuple(slot);
        }
        found
    }
}

impl ScanState {
    /// Moves to the next visible row in a direction and stores it.
    unsafe fn next(&mut self, forward: bool, slot: *mut pg_sys::TupleTableSlot) -> bool {
        if self.units.is_empty() {
            return false;
        }
        let mut position = match self.position {
            Some(position) => position,
            // A scan that ran off one end starts again from the other, as heap's does.
            None if forward => Position { unit: 0, step: 0, index: usize::MAX },
            None => {
                let unit = self.units.len() - 1;
                Position { unit, step: self.units[unit].steps() - 1, index: usize::MAX }
            }
        };
        let mut loaded = self.position.is_some();
        loop {
            if !loaded {
                self.load(position.unit, position.step);
                position.index = if forward { usize::MAX } else { self.rows.len() };
            }
            loop {
                let next = if forward {
                    position.index.wrapping_add(1)
                } else {
                    match position.index.checked_sub(1) {
                        Some(next) if position.index != usize::MAX => next,
                        _ => break,
                    }
                };
                if next >= self.rows.len() {
                    break;
                }
                position.index = next;
                // SAFETY: the row belongs to the loaded step.
                if unsafe { self.emit(position, slot) } {
                    self.position = Some(position);
                    return true;
                }
            }
            match self.step(position, forward) {
                Some(next) => {
                    position = next;
                    loaded = false;
                }
                None => {
                    self.position = None;
                    return false;
                }
            }
        }
    }

    fn step(&self, mut position: Position, forward: bool) -> Option<Position> {
        if forward {
            position.step += 1;
            if position.step >= self.units[position.unit].steps() {
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
            position.step = self.units[position.unit].steps() - 1;
        }
        Some(position)
    }

    fn load(&mut self, unit: usize, step: u32) {
        pgrx::check_for_interrupts!();
        match self.units[unit] {
            Unit::Pages { first, .. } => {
                if let Some(reader) = self.reader.as_mut() {
                    reader.load(first + step, &mut self.rows);
                }
            }
        }
    }

    unsafe fn emit(&mut self, position: Position, slot: *mut pg_sys::TupleTableSlot) -> bool {
        let offset = self.rows[position.index];
        match self.units[position.unit] {
            Unit::Pages { .. } => {
                let Some(reader) = self.reader.as_ref() else { return false };
                if let Some((low, high)) = self.tid_range {
                    let external = tid::to_external(&tid::item_pointer(reader.block(), offset));
                    if !(low..=high).contains(&tid::encode(&external)) {
                        return false;
                    }
                }
                if !reader.visible(offset) {
                    return false;
                }
                // SAFETY: the offset is a tuple of the loaded page.
                unsafe { reader.store(offset, slot) };
                true
            }
        }
    }

    unsafe fn next_parallel(&mut self, shared: *mut ParallelScan, slot: *mut pg_sys::TupleTableSlot) -> bool {
        loop {
            // SAFETY: the units are this worker's share.
            if self.position.is_some() || !self.units.is_empty() {
                if unsafe { self.next(true, slot) } {
                    return true;
                }
                self.units.clear();
                self.position = None;
            }
            if self.blocks < 2 {
                return false;
            }
            // SAFETY: the shared state lives as long as the parallel scan.
            let first = 1 + unsafe { (*shared).next.fetch_add(u64::from(PARALLEL_CHUNK), Ordering::Relaxed) };
            if first >= u64::from(self.blocks) {
                return false;
            }
            let first = first as u32;
            self.units.push(Unit::Pages { first, count: PARALLEL_CHUNK.min(self.blocks - first) });
        }
    }
}

/// Bytes a parallel scan needs in shared memory.
pub fn parallel_estimate() -> usize {
    size_of::<ParallelScan>()
}

/// Sets up the shared state of a parallel scan.
///
/// # Safety
/// `shared` has room for [`parallel_estimate`] bytes.
pub unsafe fn parallel_initialize(rel: pg_sys::Relation, shared: pg_sys::ParallelTableScanDesc) -> usize {
    // SAFETY: as the caller's.
    unsafe {
        let shared = shared.cast::<ParallelScan>();
        #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
        {
            (*shared).base.phs_relid = (*rel).rd_id;
        }
        #[cfg(feature = "pg18")]
        {
            (*shared).base.phs_locator = (*rel).rd_locator;
        }
        (*shared).base.phs_syncscan = false;
        (*shared).blocks = pg_sys::RelationGetNumberOfBlocksInFork(rel, pg_sys::ForkNumber::MAIN_FORKNUM);
        (&raw mut (*shared).next).write(AtomicU64::new(0));
    }
    size_of::<ParallelScan>()
}

/// Rewinds the shared state for a rescan.
///
/// # Safety
/// `shared` was set up by [`parallel_initialize`].
pub unsafe fn parallel_reinitialize(shared: pg_sys::ParallelTableScanDesc) {
    // SAFETY: as the caller's.
    unsafe { (*shared.cast::<ParallelScan>()).next.store(0, Ordering::Relaxed) };
}

/// Counters of the cumulative statistics system for a relation, if they are collected.
///
/// # Safety
/// `rel` is an open relation.
pub(crate) unsafe fn stat_info(rel: pg_sys::Relation) -> Option<*mut StatCounts> {
    // SAFETY: `pgstat_should_count_relation` creates the entry on demand.
    unsafe {
        if (*rel).pgstat_info.is_null() {
            if !(*rel).pgstat_enabled {
                return None;
            }
            pg_sys::pgstat_assoc_relation(rel);
        }
        let info = (*rel).pgstat_info;
        (!info.is_null()).then_some(info.cast())
    }
}

/// [`pg_sys::PgStat_TableStatus`] with its counters under one name in every version.
#[repr(transparent)]
pub(crate) struct StatCounts(pg_sys::PgStat_TableStatus);

impl StatCounts {
    pub(crate) fn counts_numscans(&mut self, n: i64) {
        #[cfg(feature = "pg15")]
        {
            self.0.t_counts.t_numscans += n;
        }
        #[cfg(not(feature = "pg15"))]
        {
            self.0.counts.numscans += n;
        }
    }

    pub(crate) fn counts_returned(&mut self, n: i64) {
        #[cfg(feature = "pg15")]
        {
            self.0.t_counts.t_tuples_returned += n;
        }
        #[cfg(not(feature = "pg15"))]
        {
            self.0.counts.tuples_returned += n;
        }
    }

    pub(crate) fn counts_fetched(&mut self, n: i64) {
        #[cfg(feature = "pg15")]
        {
            self.0.t_counts.t_tuples_fetched += n;
        }
        #[cfg(not(feature = "pg15"))]
        {
            self.0.counts.tuples_fetched += n;
        }
    }
}

/// Blocks of an index build: a range of its own, or its share of a parallel scan.
#[derive(Debug)]
pub struct BlockSource {
    shared: *mut ParallelScan,
    next: u32,
    end: u32,
    blocks: u32,
}

impl BlockSource {
    /// # Safety
    /// `desc`, if not null, is a parallel scan of this access method.
    pub unsafe fn new(desc: pg_sys::TableScanDesc, start: u32, count: u32, blocks: u32) -> Self {
        if desc.is_null() {
            let end = start.saturating_add(count).min(blocks);
            return Self { shared: core::ptr::null_mut(), next: start.max(1), end, blocks };
        }
        // SAFETY: the caller's descriptor is alive.
        let shared = unsafe { (*desc).rs_parallel.cast::<ParallelScan>() };
        if shared.is_null() {
            return Self { shared, next: 1, end: blocks, blocks };
        }
        // SAFETY: the shared state lives as long as the scan.
        let blocks = unsafe { (*shared).blocks };
        Self { shared, next: 0, end: 0, blocks }
    }
}

impl Iterator for BlockSource {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.next >= self.end {
            if self.shared.is_null() {
                return None;
            }
            let chunk = u64::from(PARALLEL_CHUNK);
            // SAFETY: the shared state lives as long as the scan.
            let first = 1 + unsafe { (*self.shared).next.fetch_add(chunk, Ordering::Relaxed) };
            if first >= u64::from(self.blocks) {
                return None;
            }
            self.next = first as u32;
            self.end = (self.next + PARALLEL_CHUNK).min(self.blocks);
        }
        self.next += 1;
        Some(self.next - 1)
    }
}
