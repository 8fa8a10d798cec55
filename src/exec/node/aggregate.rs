//! Groups of a ColumnarAgg or ColumnarTopN: what the workers gathered, merged, then a group at a time into the scan slot.

use super::output::Emitter;
use super::setup::{Key, KeySource, Setup};
use super::state::NodeState;
use crate::exec::error;
use crate::exec::plan::shape::Top;
use crate::exec::run::Run;
use crate::exec::spill::Spill;
use crate::exec::translate::finish::Finish;
use crate::threads;
use columnar_exec::ExecError;
use columnar_exec::agg::{AggKind, Aggregator, GroupSpec, TopKey, TopSource};
use columnar_exec::pipeline::{Sink, State};
use columnar_exec::topn::Order;
use core::ptr;
use pgrx::pg_sys;
use std::collections::VecDeque;
use std::sync::Arc;

/// Groups in all workers' tables from which on they are merged by several threads.
const PARALLEL_MERGE: usize = 20_000;
/// Eighths of the memory for groups that tables and the tables they are merged into take at most, for the short time that
/// both are there.
const MERGE_EIGHTHS: usize = 11;
/// Groups that a piece of a spill brings at most, about.
const PIECE_GROUPS: usize = 2048;
/// Partitions of a partition that does not fit into memory.
const SUBPARTITIONS: usize = 16;
/// How deep partitions are cut.
const MAX_LEVEL: u32 = 6;

/// Groups being handed out.
pub struct Groups {
    source: Source,
    emitter: Emitter,
    /// ORDER BY ... LIMIT, when its rows are sorted.
    sorted: Option<Sorted>,
}

/// Tables that are still to be handed out.
struct Source {
    spec: Arc<GroupSpec>,
    tables: VecDeque<Aggregator>,
    spilled: Vec<Level>,
    limit: usize,
}

/// A level of partitions on files.
struct Level {
    spill: Spill,
    next: usize,
    depth: u32,
}

struct Sorted {
    state: *mut pg_sys::Tuplesortstate,
    slot: *mut pg_sys::TupleTableSlot,
}

impl Groups {
    /// Runs the aggregation to its end.
    ///
    /// # Safety
    /// `node` is starting with this run.
    pub unsafe fn new(node: *mut NodeState, run: &mut Run) -> Self {
        // SAFETY: as the caller's.
        unsafe {
            let states = run.gather();
            let inner = NodeState::inner(node);
            inner.totals.memory = states.iter().map(size).sum::<usize>().max(inner.totals.memory);
            let mut source = Source::new(run, states);
            let setup = &inner.setup;
            let finishes = setup.aggregates.iter().map(|a| a.finish).collect();
            let params = run.pipeline().params.clone();
            let emitter = Emitter::new(node, setup.keys.clone(), params, finishes);
            let mut groups = match &setup.shape.top {
                None => return Self { source, emitter, sorted: None },
                Some(top) => {
                    let order = native_order(top, &source.spec, setup);
                    let sorted = sort(node, top, &order, &mut source, emitter);
                    Self {
                        source,
                        emitter: Emitter::new(node, Vec::new(), Vec::new(), Vec::new()),
                        sorted,
                    }
                }
            };
            groups.source.tables.clear();
            groups
        }
    }

    /// Stores the next group in the scan slot.
    ///
    /// # Safety
    /// The slot is the node's scan slot.
    pub unsafe fn next(&mut self, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: as the caller's.
        unsafe {
            if let Some(sorted) = &self.sorted {
                return sorted.next(slot);
            }
            loop {
                if self.emitter.next(slot) {
                    return true;
                }
                match self.source.next() {
                    Some(table) => self.emitter.open(table, None),
                    None => return false,
                }
            }
        }
    }
}

fn size(state: &State) -> usize {
    match state {
        State::Aggregate(groups) => groups.memory_size(),
        _ => 0,
    }
}

/// Brings the tables of all workers together: in partitions, by several threads, where they are large.
fn merge(spec: &GroupSpec, mut tables: Vec<Aggregator>) -> VecDeque<Aggregator> {
    let total: usize = tables.iter().map(Aggregator::groups).sum();
    let bytes: usize = tables.iter().map(Aggregator::memory_size).sum();
    let distinct = spec.aggregates.iter().any(|aggregate| aggregate.distinct.is_some());
    if tables.len() > 1 && (total >= PARALLEL_MERGE || distinct && bytes >= PARALLEL_MERGE * 16) {
        let parts: Vec<&Aggregator> = tables.iter().collect();
        let count = tables.len().next_power_of_two();
        let numbers: Vec<usize> = (0..count).collect();
        let merged = threads::map_while_wanted(&numbers, |&p, wanted| {
            let check = || if wanted.is() { Ok(()) } else { Err(ExecError::Cancelled) };
            let mut table = Aggregator::merge_partition(&parts, p, count, &check)?;
            if spec.keys.is_empty() {
                // One group: the partitions are of the values of DISTINCT aggregates.
                table.close();
            }
            Ok(table)
        });
        tables = merged
            .into_iter()
            .map(|table| table.unwrap_or_else(|e: ExecError| error::raise_plain(&e)))
            .collect();
        if !spec.keys.is_empty() {
            return tables.into();
        }
    }
    tables.sort_by_key(Aggregator::groups);
    let mut all = tables.pop();
    if let Some(all) = &mut all {
        for table in tables {
            all.merge(table).unwrap_or_else(|e| error::raise_plain(&e));
        }
    }
    all.into_iter().collect()
}

impl Source {
    fn new(run: &mut Run, states: Vec<State>) -> Self {
        let Sink::Aggregate { spec, .. } = &run.pipeline().sink else {
            panic!("an aggregating node has another sink");
        };
        let spec = Arc::clone(spec);
        let mut tables: Vec<Aggregator> = states
            .into_iter()
            .filter_map(|state| match state {
                State::Aggregate(table) => Some(table),
                _ => None,
            })
            .collect();
        let limit = run.limit().bytes;
        if run.spill.is_some() || is_merge_too_large(&tables, limit) {
            for table in &mut tables {
                run.spill().write_groups(table, 1);
            }
        }
        if let Some(spill) = run.spill.take() {
            let bytes = spill.bytes;
            let level = Level { spill, next: 0, depth: 1 };
            run.spilled = bytes;
            return Self { spec, tables: VecDeque::new(), spilled: vec![level], limit };
        }
        Self { tables: merge(&spec, tables), spec, spilled: Vec::new(), limit }
    }

    /// The next table.
    fn next(&mut self) -> Option<Aggregator> {
        if let Some(table) = self.tables.pop_front() {
            return Some(table);
        }
        if !self.spec.keys.is_empty() {
            return self.next_spilled();
        }
        // One group: what was spilled are values of DISTINCT aggregates, each partition by itself distinct.
        let mut all = self.next_spilled()?;
        all.close();
        while let Some(mut table) = self.next_spilled() {
            table.close();
            all.merge(table).unwrap_or_else(|e| error::raise_plain(&e));
        }
        Some(all)
    }

    /// The next table from files.
    fn next_spilled(&mut self) -> Option<Aggregator> {
        loop {
            let level = self.spilled.last_mut()?;
            if level.next == level.spill.partitions() {
                self.spilled.pop();
                continue;
            }
            let (partition, depth) = (level.next, level.depth);
            level.next += 1;
            let mut table = Aggregator::new(Arc::clone(&self.spec));
            let mut deeper: Option<Spill> = None;
            let limit = if depth < MAX_LEVEL { self.limit } else { usize::MAX };
            level.spill.read(partition, |bytes| {
                pgrx::check_for_interrupts!();
                table.absorb(bytes).unwrap_or_else(|e| error::raise_plain(&e));
                if table.outgrows(limit, PIECE_GROUPS) && table.groups() >= SUBPARTITIONS {
                    let deeper = deeper.get_or_insert_with(|| Spill::new(SUBPARTITIONS));
                    deeper.write_groups(&mut table, depth + 1);
                }
            });
            match deeper {
                None if table.groups() == 0 => {}
                None => return Some(table),
                Some(mut spill) => {
                    spill.write_groups(&mut table, depth + 1);
                    self.spilled.push(Level { spill, next: 0, depth: depth + 1 });
                }
            }
        }
    }
}

/// Whether tables and what they are merged into would take too much together: then they are merged by way of files.
/// `limit` is the share of each.
fn is_merge_too_large(tables: &[Aggregator], limit: usize) -> bool {
    let most = limit.saturating_mul(tables.len()) / 8 * MERGE_EIGHTHS;
    let bytes: usize = tables.iter().map(Aggregator::memory_size).sum();
    if tables.len() < 2 || bytes * 2 <= most {
        return false;
    }
    let check = || {
        pgrx::check_for_interrupts!();
        Ok(())
    };
    let parts: Vec<&Aggregator> = tables.iter().collect();
    let merged = Aggregator::merged_size(&parts, &check).unwrap_or_else(|e| error::raise_plain(&e));
    bytes + merged > most
}

/// The leading sort keys that can be compared as the tables hold them.
fn native_order(top: &Top, spec: &GroupSpec, setup: &Setup) -> Vec<TopKey> {
    let keys = setup.keys.len();
    let mut order = Vec::new();
    for key in &top.keys {
        let source = if key.column < keys {
            match &setup.keys[key.column] {
                Key { source: KeySource::Table(at), ordered: true, .. } => TopSource::Key(*at),
                // It orders nothing.
                Key { source: KeySource::Constant(_), .. } => continue,
                _ => break,
            }
        } else {
            let at = key.column - keys;
            let comparable = matches!(
                spec.aggregates[at].kind,
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
unsafe fn sort(
    node: *mut NodeState,
    top: &Top,
    order: &[TopKey],
    source: &mut Source,
    mut emitter: Emitter,
) -> Option<Sorted> {
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
        while let Some(table) = source.next() {
            // HAVING may remove any group, so that none can be left out before.
            let first = (having.is_null() && !order.is_empty())
                .then(|| table.top(order, top.limit as usize));
            emitter.open(table, first);
            while emitter.next(slot) {
                if !having.is_null() {
                    (*econtext).ecxt_scantuple = slot;
                    let passes = pg_sys::ExecQual(having, econtext);
                    pg_sys::MemoryContextReset((*econtext).ecxt_per_tuple_memory);
                    if !passes {
                        continue;
                    }
                }
                pg_sys::tuplesort_puttupleslot(state, slot);
            }
        }
        pg_sys::tuplesort_performsort(state);
        emitter.end();
        Some(Sorted { state, slot: sorted_slot })
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
            self.emitter.end();
        }
    }
}
