//! Groups of a ColumnarAgg or ColumnarTopN: what the workers gathered, merged, then a group at a time into the scan slot.

use super::core_plan::CorePlan;
use super::keys::{Key, KeySource, OutputSet};
use super::output::Emitter;
use super::passes::Passes;
use super::setup::Setup;
use super::state::NodeState;
use super::tables::{Tables, first_groups};
use super::transition::Shared;
use crate::exec::error;
use crate::exec::plan::shape::Top;
use crate::exec::run::Run;
use crate::exec::translate::finish::Finish;
use columnar_exec::ExecError;
use columnar_exec::agg::{AggKind, Aggregator, Kept, TopKey, TopSource};
use columnar_exec::phases::{Phase, Stopwatch};
use columnar_exec::pipeline::State;
use columnar_exec::topn::Order;
use core::ptr;
use pgrx::pg_sys;
use std::sync::Arc;

/// Groups being handed out.
pub struct Groups {
    source: Source,
    /// ORDER BY ... LIMIT, when its rows are sorted.
    sorted: Option<Sorted>,
}

/// Where groups come from.
enum Source {
    Batches(Box<Batches>),
    /// Batches could not hold a value.
    Core(CorePlan),
}

/// What batches computed.
struct Batches {
    tables: Tables,
    sets: Vec<OutputSet>,
    emitter: Emitter,
    /// Scans that are still to be made.
    passes: Passes,
    node: *mut NodeState,
    /// States of transition functions.
    transitions: Option<Shared>,
}

struct Sorted {
    state: *mut pg_sys::Tuplesortstate,
    slot: *mut pg_sys::TupleTableSlot,
}

impl Groups {
    /// Runs the aggregation to its end.
    ///
    /// # Safety
    /// `node` is starting, with a run.
    pub unsafe fn new(node: *mut NodeState) -> Self {
        // SAFETY: as the caller's.
        unsafe {
            let mut passes = Passes::new(node);
            let states = passes.gather();
            let inner = NodeState::inner(node);
            let Some(run) = inner.run.as_mut() else { panic!("an aggregation has no run") };
            let batches = states.and_then(|states| {
                note_memory(node, &states);
                let open = passes.are_left();
                match merging(run, |run| Tables::new(run, states)) {
                    // Groups would be handed out before it is known whether all sums fit.
                    Ok(mut tables)
                        if run.replaceable
                            && run.pipeline().magnitude.may_outgrow()
                            && (open || tables.merge_later()) =>
                    {
                        tables.clear();
                        None
                    }
                    Ok(tables) => Some(tables),
                    Err(ExecError::Unsupported) if run.replaceable => None,
                    Err(e) => error::raise_plain(&e),
                }
            });
            let setup = &inner.setup;
            let mut source = match batches {
                Some(tables) => {
                    let finishes = setup.aggregates.iter().map(|a| a.finish).collect();
                    let transitions = setup.transitions.clone();
                    let params = run.pipeline().params.clone();
                    let emitter = Emitter::new(node, params, finishes, transitions.clone());
                    let sets = setup.sets.clone();
                    let batches = Batches { tables, sets, emitter, passes, node, transitions };
                    Source::Batches(Box::new(batches))
                }
                None => {
                    inner.totals.left_to_core += 1;
                    Source::Core(CorePlan::start(node))
                }
            };
            let Some(top) = &setup.shape.top else { return Self { source, sorted: None } };
            let sorted = Some(sort(node, top, setup, &mut source));
            source.end();
            Self { source, sorted }
        }
    }

    /// Stores the next group in the scan slot.
    ///
    /// # Safety
    /// The slot is the node's scan slot.
    pub unsafe fn next(&mut self, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: as the caller's.
        unsafe {
            match (&self.sorted, &mut self.source) {
                (Some(sorted), _) => sorted.next(slot),
                (None, Source::Core(plan)) => plan.next(slot),
                (None, Source::Batches(batches)) => batches.next(slot),
            }
        }
    }
}

impl Batches {
    unsafe fn next(&mut self, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: as the caller's.
        unsafe {
            loop {
                if self.emitter.next(slot) {
                    return true;
                }
                match self.next_table() {
                    Some((set, kept)) => {
                        let output = &self.sets[self.passes.first_set() + set];
                        self.emitter.open(set, output, kept);
                    }
                    None => return false,
                }
            }
        }
    }
}

impl Batches {
    /// The next table, with the number of its set among those of its pass; of the next scan where there is none of this.
    unsafe fn next_table(&mut self) -> Option<(usize, Kept)> {
        loop {
            // SAFETY: the node is running, and the groups before were handed out.
            unsafe {
                let run = NodeState::inner(self.node).run.as_mut()?;
                if let Some(next) = merging(run, |_| self.tables.next()) {
                    return Some(next);
                }
                let states = self.passes.next()?;
                note_memory(self.node, &states);
                let run = NodeState::inner(self.node).run.as_mut()?;
                self.tables = merging(run, |run| Tables::new(run, states))
                    .unwrap_or_else(|e| error::raise_plain(&e));
            }
        }
    }
}

/// Has the tables of workers brought together, in time that EXPLAIN tells.
fn merging<T>(run: &mut Run, merge: impl FnOnce(&mut Run) -> T) -> T {
    let pipeline = Arc::clone(run.pipeline());
    let _watch = Stopwatch::start(pipeline.phases.as_ref(), Phase::Merge);
    merge(run)
}

impl Source {
    /// Releases what the server gave and what was not handed out.
    unsafe fn end(&mut self) {
        // SAFETY: as the caller's.
        unsafe {
            if let Self::Batches(batches) = self {
                batches.tables.clear();
                batches.emitter.end();
                if let Some(transitions) = &batches.transitions {
                    transitions.borrow_mut().reset();
                }
            }
        }
    }
}

/// For EXPLAIN.
unsafe fn note_memory(node: *mut NodeState, states: &[State]) {
    // SAFETY: the node is running.
    let inner = unsafe { NodeState::inner(node) };
    let elsewhere = inner.setup.transitions.as_ref().map_or(0, |t| t.borrow().memory_size());
    let before = inner.run.as_ref().map_or(0, |run| run.memory);
    let memory = before.max(states.iter().map(size).sum()) + elsewhere;
    inner.totals.memory = memory.max(inner.totals.memory);
}

fn size(state: &State) -> usize {
    match state {
        State::Aggregate(tables) => tables.iter().map(Aggregator::memory_size).sum(),
        _ => 0,
    }
}

/// The leading sort keys that can be compared as the tables of a grouping set hold them.
fn native_order(top: &Top, set: &OutputSet, setup: &Setup) -> Vec<TopKey> {
    let keys = set.columns.len();
    let mut order = Vec::new();
    for key in &top.keys {
        let source = if key.column < keys {
            match &set.columns[key.column] {
                Key { source: KeySource::Table(at), ordered: true, .. } => TopSource::Key(*at),
                // It orders nothing.
                Key { source: KeySource::Constant(_), .. } => continue,
                _ => break,
            }
        } else {
            let at = key.column - keys;
            let comparable = matches!(
                setup.aggregates[at].spec.kind,
                AggKind::CountStar
                    | AggKind::Count
                    | AggKind::Sum(_)
                    | AggKind::Min(_)
                    | AggKind::Max(_)
            );
            // A float4 sum is rounded when it is handed out, so that ties arise.
            if !comparable || matches!(setup.aggregates[at].finish, Finish::SumFloat4) {
                break;
            }
            TopSource::Output { aggregate: at, column: 0 }
        };
        let ordering = Order { descending: key.descending, nulls_first: key.nulls_first };
        order.push(TopKey { source, order: ordering });
    }
    order
}

/// Sorts the groups that can be among the first, and gives those that pass HAVING.
unsafe fn sort(node: *mut NodeState, top: &Top, setup: &Setup, source: &mut Source) -> Sorted {
    // SAFETY: the node is running; the sort lives in the query's memory context.
    unsafe {
        let css = &raw mut (*node).css;
        let slot = (*css).ss.ss_ScanTupleSlot;
        let desc = (*slot).tts_tupleDescriptor;
        let old = pg_sys::MemoryContextSwitchTo((*(*css).ss.ps.state).es_query_cxt);
        let mut columns: Vec<i16> = top.keys.iter().map(|k| k.column as i16 + 1).collect();
        let mut operators: Vec<pg_sys::Oid> = top.keys.iter().map(|k| k.operator.into()).collect();
        let mut collations: Vec<pg_sys::Oid> =
            top.keys.iter().map(|k| k.collation.into()).collect();
        let mut nulls_first: Vec<bool> = top.keys.iter().map(|k| k.nulls_first).collect();
        let state = pg_sys::tuplesort_begin_heap(
            desc,
            columns.len() as i32,
            columns.as_mut_ptr(),
            operators.as_mut_ptr(),
            collations.as_mut_ptr(),
            nulls_first.as_mut_ptr(),
            pg_sys::work_mem,
            ptr::null_mut(),
            pg_sys::TUPLESORT_ALLOWBOUNDED as i32,
        );
        pg_sys::tuplesort_set_bound(state, i64::from(top.limit));
        let sorted_slot =
            pg_sys::MakeSingleTupleTableSlot(desc, &raw const pg_sys::TTSOpsMinimalTuple);
        pg_sys::MemoryContextSwitchTo(old);
        let having = (*css).ss.ps.qual;
        let econtext = (*css).ss.ps.ps_ExprContext;
        let put = |slot: *mut pg_sys::TupleTableSlot| {
            if !having.is_null() {
                (*econtext).ecxt_scantuple = slot;
                let passes = pg_sys::ExecQual(having, econtext);
                pg_sys::MemoryContextReset((*econtext).ecxt_per_tuple_memory);
                if !passes {
                    return;
                }
            }
            pg_sys::tuplesort_puttupleslot(state, slot);
        };
        match source {
            Source::Core(plan) => {
                while plan.next(slot) {
                    put(slot);
                }
            }
            Source::Batches(batches) => {
                let batches = &mut **batches;
                while let Some((set, mut kept)) = batches.next_table() {
                    let output = &batches.sets[batches.passes.first_set() + set];
                    let order = native_order(top, output, setup);
                    // HAVING may remove any group, so that none can be left out before.
                    if having.is_null() && !order.is_empty() {
                        let first = first_groups(&kept, &order, top.limit as usize);
                        kept.groups = Some(first.unwrap_or_else(|e| error::raise_plain(&e)));
                    }
                    batches.emitter.open(set, output, kept);
                    while batches.emitter.next(slot) {
                        put(slot);
                    }
                }
            }
        }
        pg_sys::tuplesort_performsort(state);
        Sorted { state, slot: sorted_slot }
    }
}

impl Sorted {
    /// Stores the next row in the scan slot.
    unsafe fn next(&self, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: the sort is done; values of the sorted slot live until its next row.
        unsafe {
            super::scan::clear(slot);
            let forward = true;
            let found = pg_sys::tuplesort_gettupleslot(
                self.state,
                forward,
                false,
                self.slot,
                ptr::null_mut(),
            );
            if !found {
                return false;
            }
            let natts = (*(*slot).tts_tupleDescriptor).natts;
            pg_sys::slot_getsomeattrs_int(self.slot, natts);
            let count = natts as usize;
            ptr::copy_nonoverlapping((*self.slot).tts_values, (*slot).tts_values, count);
            ptr::copy_nonoverlapping((*self.slot).tts_isnull, (*slot).tts_isnull, count);
            super::scan::store(slot);
            true
        }
    }

    /// Releases the sort.
    pub unsafe fn end(&self) {
        // SAFETY: both were made by `sort`.
        unsafe {
            pg_sys::ExecDropSingleTupleTableSlot(self.slot);
            pg_sys::tuplesort_end(self.state);
        }
    }
}

impl Groups {
    /// Releases what the server gave.
    ///
    /// # Safety
    /// The node is started over or ends.
    pub unsafe fn end(&mut self) {
        // SAFETY: as the caller's.
        unsafe {
            if let Some(sorted) = self.sorted.take() {
                sorted.end();
            }
            self.source.end();
        }
    }
}
