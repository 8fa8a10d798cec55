//! The state of a node: set up, run, started over, ended.

use super::core_plan::CorePlan;
use super::methods::Kind;
use super::setup::{self, Setup};
use super::{aggregate, parallel, scan, winners};
use crate::am::slot;
use crate::exec::run::Run;
use crate::exec::source::Reader;
use columnar_exec::phases::PHASES;
use pgrx::pg_sys;
use std::sync::atomic::Ordering;

/// The executor's state of a node; what Rust owns lies behind `inner` and goes with the query's memory context.
#[repr(C)]
pub struct NodeState {
    pub css: pg_sys::CustomScanState,
    pub kind: Kind,
    /// The table.
    pub rel: pg_sys::Relation,
    /// Rows that EvalPlanQual brings, once it does.
    substitute: *mut pg_sys::TupleTableSlot,
    /// What processes share that read parts of the table each; null in a scan of one's own.
    pub shared: *mut parallel::Shared,
    /// Of core's plan for what batches cannot hold, once it was started.
    pub core: *mut pg_sys::PlanState,
    pub inner: *mut Inner,
}

/// What Rust owns.
pub struct Inner {
    pub setup: Setup,
    /// From the first row asked for until the end.
    pub run: Option<Run>,
    /// Of a run that is over, for the next one: a node that is started over for each row of another begins one scan.
    pub reader: Option<Reader>,
    /// Rows or groups being handed out.
    pub output: Output,
    pub totals: Totals,
}

/// What is being handed out.
pub enum Output {
    /// Nothing yet.
    Start,
    Rows(scan::Rows),
    Groups(Box<aggregate::Groups>),
    Winners(winners::Winners),
    /// Nothing any more.
    End,
}

/// For EXPLAIN, over all scans of a node that is started over.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub threads: usize,
    pub removed: Vec<u64>,
    pub spilled: u64,
    pub memory: usize,
    /// Scans of the table, for some of the groups each.
    pub passes: u64,
    /// Times that core's plan did the work.
    pub left_to_core: usize,
    pub counts: crate::exec::source::Counts,
    /// Nanoseconds, in the order of [`columnar_exec::phases::Phase`].
    pub phases: [u64; PHASES],
}

impl NodeState {
    /// # Safety
    /// `node` was set up by [`begin`] and no other reference to its inner state is alive.
    pub unsafe fn inner<'a>(node: *mut Self) -> &'a mut Inner {
        // SAFETY: as the caller's.
        unsafe { &mut *(*node).inner }
    }
}

/// BeginCustomScan.
///
/// # Safety
/// As the callback.
pub unsafe fn begin(node: *mut NodeState, eflags: i32) {
    // SAFETY: the executor has filled the server's part of the state.
    unsafe {
        (*node).rel = (*node).css.ss.ss_currentRelation;
        if (*node).kind != Kind::Scan {
            // WHERE CURRENT OF takes a node with a relation for one whose scan slot holds a row of it.
            (*node).css.ss.ss_currentRelation = core::ptr::null_mut();
        }
        let setup = Setup::new(node, eflags as u32 & pg_sys::EXEC_FLAG_BACKWARD != 0);
        let inner = Inner {
            setup,
            run: None,
            reader: None,
            output: Output::Start,
            totals: Totals::default(),
        };
        let context = (*(*node).css.ss.ps.state).es_query_cxt;
        (*node).inner = pgrx::PgMemoryContexts::For(context).leak_and_drop_on_delete(inner);
    }
}

/// The next row in the scan slot, or an empty slot.
///
/// # Safety
/// As an access method of ExecScan.
pub unsafe fn next(node: *mut NodeState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: as the caller's.
    unsafe {
        let inner = NodeState::inner(node);
        if let Output::Start = inner.output {
            start(node);
        }
        let slot = (*node).css.ss.ss_ScanTupleSlot;
        let found = match &mut inner.output {
            Output::Rows(rows) => rows.next(node, slot),
            Output::Groups(groups) => groups.next(slot),
            Output::Winners(winners) => winners.next(node, slot),
            Output::Start | Output::End => false,
        };
        if !found {
            // A cursor may come back from either end.
            if !matches!(&inner.output, Output::Rows(rows) if rows.scrolls()) {
                inner.release();
                parallel::report(node);
            }
            pg_sys::ExecClearTuple(slot);
        }
        slot
    }
}

unsafe fn start(node: *mut NodeState) {
    // SAFETY: as `next`.
    unsafe {
        let inner = NodeState::inner(node);
        let run = setup::start(node);
        let run = inner.run.insert(run);
        inner.output = match (*node).kind {
            Kind::Scan => Output::Rows(scan::Rows::new(node, inner.setup.scrolls)),
            Kind::TopN
                if (*(*node).css.ss.ps.plan.cast::<pg_sys::CustomScan>())
                    .custom_scan_tlist
                    .is_null() =>
            {
                Output::Winners(winners::Winners::new(node, run))
            }
            Kind::DistinctOn => Output::Winners(winners::Winners::new(node, run)),
            Kind::Aggregate | Kind::TopN => Output::Groups(Box::new(aggregate::Groups::new(node))),
        };
    }
}

impl NodeState {
    /// Lets go of a scan, so that the next begins anew.
    ///
    /// # Safety
    /// As [`Self::inner`]; rows handed out are not used any more.
    pub unsafe fn drop_reader(node: *mut Self) {
        // SAFETY: as the caller's.
        unsafe {
            let inner = Self::inner(node);
            inner.release();
            if let Some(reader) = inner.reader.take() {
                reader.end();
            }
        }
    }

    /// Makes a node as new, after [`begin`].
    ///
    /// # Safety
    /// As [`Self::drop_reader`].
    pub unsafe fn start_over(node: *mut Self) {
        // SAFETY: as the caller's.
        unsafe {
            Self::drop_reader(node);
            Self::inner(node).output = Output::Start;
        }
    }
}

impl Inner {
    /// Stops work and releases what is being handed out.
    unsafe fn release(&mut self) {
        if let Output::Groups(groups) = &mut self.output {
            // SAFETY: the rows handed out are not used any more.
            unsafe { groups.end() };
        }
        if let Output::Rows(rows) = &mut self.output {
            // SAFETY: as above.
            unsafe { rows.end() };
        }
        if let Output::Winners(winners) = &mut self.output {
            // SAFETY: as above.
            unsafe { winners.end() };
        }
        self.output = Output::End;
        finish(self);
    }
}

impl Inner {
    /// Adds the counters of the work so far to the totals.
    pub fn tally(&mut self) {
        let Some(run) = &mut self.run else { return };
        let totals = &mut self.totals;
        totals.threads = totals.threads.max(run.threads);
        let removed = &run.pipeline().removed;
        totals.removed.resize(removed.len(), 0);
        for (sum, count) in totals.removed.iter_mut().zip(removed) {
            *sum += count.swap(0, Ordering::Relaxed);
        }
        if let Some(phases) = &run.pipeline().phases {
            totals.phases.iter_mut().zip(phases.take()).for_each(|(sum, time)| *sum += time);
        }
        totals.spilled += core::mem::take(&mut run.spilled);
        totals.counts.add(&core::mem::take(&mut run.reader.counts));
    }
}

/// Stops work and keeps its counters.
pub fn finish(inner: &mut Inner) {
    inner.tally();
    if let Some(run) = inner.run.take() {
        let mut reader = run.stop();
        reader.pause();
        inner.reader = Some(reader);
    }
}

/// Whether EXPLAIN or the like wants to know how long things take.
///
/// # Safety
/// `node` is running.
pub unsafe fn is_timed(node: *const NodeState) -> bool {
    // SAFETY: what the node counts with lives as long as it.
    unsafe {
        let instrument = (*node).css.ss.ps.instrument;
        !instrument.is_null() && (*instrument).need_timer
    }
}

/// Whether EvalPlanQual brings the rows of a node's table.
///
/// # Safety
/// `node` is running.
pub unsafe fn is_substituted(node: *const NodeState) -> bool {
    // SAFETY: the arrays have an entry for each relation of the range table.
    unsafe {
        let epq = (*(*node).css.ss.ps.state).es_epq_active;
        if epq.is_null() || (*node).kind != Kind::Scan {
            return false;
        }
        let scan = (*node).css.ss.ps.plan.cast::<pg_sys::Scan>();
        let at = (*scan).scanrelid as usize - 1;
        !(*(*epq).relsubs_slot.add(at)).is_null() || !(*(*epq).relsubs_rowmark.add(at)).is_null()
    }
}

/// The slot for such rows.
///
/// # Safety
/// As [`is_substituted`].
pub unsafe fn substitute(node: *mut NodeState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: the slot is one of the executor's, which releases it.
    unsafe {
        if (*node).substitute.is_null() {
            let estate = (*node).css.ss.ps.state;
            let desc = (*(*node).rel).rd_att;
            let old = pg_sys::MemoryContextSwitchTo((*estate).es_query_cxt);
            (*node).substitute =
                pg_sys::ExecAllocTableSlot(&raw mut (*estate).es_tupleTable, desc, slot::ops());
            pg_sys::MemoryContextSwitchTo(old);
        }
        (*node).substitute
    }
}

/// Whether a row that EvalPlanQual fetched passes the filters.
///
/// # Safety
/// As a recheck method of ExecScan.
pub unsafe fn recheck(node: *mut NodeState, slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: the filter was initialised with the node.
    unsafe {
        // The node's expressions take the values of its slots to be there, as they are in a virtual tuple.
        let natts = (*(*slot).tts_tupleDescriptor).natts;
        if i32::from((*slot).tts_nvalid) < natts {
            pg_sys::slot_getsomeattrs_int(slot, natts);
        }
        let filter = NodeState::inner(node).setup.whole_filter;
        if filter.is_null() {
            return true;
        }
        let econtext = (*node).css.ss.ps.ps_ExprContext;
        (*econtext).ecxt_scantuple = slot;
        pg_sys::ExecQual(filter, econtext)
    }
}

/// ReScanCustomScan.
///
/// # Safety
/// As the callback.
pub unsafe fn rescan(node: *mut NodeState) {
    // SAFETY: as the caller's.
    unsafe {
        CorePlan::note_changes(node);
        let inner = NodeState::inner(node);
        inner.release();
        inner.output = Output::Start;
        pg_sys::ExecScanReScan(&raw mut (*node).css.ss);
    }
}

/// EndCustomScan.
///
/// # Safety
/// As the callback.
pub unsafe fn end(node: *mut NodeState) {
    // SAFETY: as the caller's.
    unsafe {
        NodeState::drop_reader(node);
        parallel::report(node);
        NodeState::inner(node).setup.end();
        CorePlan::end(node);
    }
}
