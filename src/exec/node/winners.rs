//! Rows of a ColumnarTopN or ColumnarDistinctOn over a table, fetched by their TIDs. The first rows of an order come in that
//! order; the first rows of groups come in the order of the table, so that each vector is decoded once.

use super::by_tid::ByTid;
use super::core_plan::CorePlan;
use super::methods::Kind;
use super::state::NodeState;
use crate::exec::error;
use crate::exec::run::Run;
use columnar_exec::agg::DistinctOn;
use columnar_exec::phases::{Phase, Stopwatch};
use columnar_exec::pipeline::{State, untag};
use columnar_exec::topn::TopN;
use pgrx::pg_sys;
use std::sync::Arc;

/// Rows being handed out.
pub struct Winners {
    rows: Rows,
}

enum Rows {
    Found(Found),
    /// Core's plan of DISTINCT ON, whose rows have all columns.
    Core(CorePlan),
}

struct Found {
    tids: Vec<pg_sys::ItemPointerData>,
    next: usize,
    fetch: ByTid,
}

impl Winners {
    /// Runs the scan to its end.
    ///
    /// # Safety
    /// `node` is starting with this run.
    pub unsafe fn new(node: *mut NodeState, run: &mut Run) -> Self {
        // SAFETY: as the caller's.
        unsafe {
            let inner = NodeState::inner(node);
            let tags = run.gather().and_then(|states| {
                let pipeline = Arc::clone(run.pipeline());
                let _watch = Stopwatch::start(pipeline.phases.as_ref(), Phase::Merge);
                if (*node).kind == Kind::TopN {
                    return Some(first(states));
                }
                inner.totals.memory = inner.totals.memory.max(run.memory.max(size(&states)));
                first_of_groups(states, run.limit().bytes * run.threads.max(1))
            });
            let tids = match tags {
                Some(tags) => {
                    let tid = |tag: u64| {
                        let (sequence, place) = untag(tag);
                        run.reader.tid(sequence, place)
                    };
                    tags.into_iter().filter_map(tid).collect()
                }
                None if (*node).kind == Kind::TopN => tids_of_core(node),
                None => {
                    inner.totals.left_to_core += 1;
                    return Self { rows: Rows::Core(CorePlan::start(node)) };
                }
            };
            Self { rows: Rows::Found(Found { tids, next: 0, fetch: ByTid::new(node) }) }
        }
    }

    /// Stores the next row in the scan slot.
    ///
    /// # Safety
    /// The node is running and the slot is its own.
    pub unsafe fn next(&mut self, node: *mut NodeState, slot: *mut pg_sys::TupleTableSlot) -> bool {
        match &mut self.rows {
            Rows::Found(found) => {
                let Some(tid) = found.tids.get(found.next) else { return false };
                found.next += 1;
                // SAFETY: as the caller's.
                unsafe { found.fetch.fetch(node, *tid, slot) };
                true
            }
            // SAFETY: as the caller's.
            Rows::Core(plan) => unsafe { next_of_core(plan, node, slot) },
        }
    }

    /// Releases the slot.
    ///
    /// # Safety
    /// The row handed out last is not used any more.
    pub unsafe fn end(&mut self) {
        if let Rows::Found(found) = &mut self.rows {
            // SAFETY: as the caller's.
            unsafe { found.fetch.end() };
        }
    }
}

/// Tags of the first rows, in order.
fn first(states: Vec<State>) -> Vec<u64> {
    let tops = states.into_iter().filter_map(|state| match state {
        State::TopN(top) => Some(top),
        _ => None,
    });
    let merged = tops.reduce(|mut best: TopN, other| {
        best.merge(other);
        best
    });
    merged.map_or(Vec::new(), |best| best.finish().into_iter().map(|(_, tag)| tag).collect())
}

/// Tags of the first rows of all groups, in the order of the table; `None` where the tables do not fit beside the one that
/// they are merged into. They take no more than `limit` bytes by themselves.
fn first_of_groups(states: Vec<State>, limit: usize) -> Option<Vec<u64>> {
    let mut left = size(&states);
    let check = || {
        pgrx::check_for_interrupts!();
        Ok(())
    };
    let mut merged: Option<DistinctOn> = None;
    for state in states {
        let State::DistinctOn(groups) = state else { continue };
        left -= groups.memory_size();
        let Some(all) = &mut merged else {
            merged = Some(groups);
            continue;
        };
        let beside = groups.memory_size() + left;
        match all.merge(groups, &check) {
            Ok(()) => {}
            Err(columnar_exec::ExecError::Unsupported) => return None,
            Err(e) => error::raise_plain(&e),
        }
        if all.memory_size() + beside > limit.saturating_add(limit / 2) {
            return None;
        }
    }
    Some(merged.map_or(Vec::new(), DistinctOn::finish))
}

fn size(states: &[State]) -> usize {
    let size = |state: &State| match state {
        State::DistinctOn(groups) => groups.memory_size(),
        _ => 0,
    };
    states.iter().map(size).sum()
}

/// Stores the next row of core's plan, whose first column is ctid, in the scan slot.
unsafe fn next_of_core(
    plan: &CorePlan,
    node: *mut NodeState,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: as the caller's; the plan's row has all columns of the shape, and lives until its next.
    unsafe {
        super::scan::clear(slot);
        let Some(row) = plan.row() else { return false };
        for (at, &column) in NodeState::inner(node).setup.shape.columns.iter().enumerate() {
            (*slot).tts_values.add(column).write(*(*row).tts_values.add(at + 1));
            (*slot).tts_isnull.add(column).write(*(*row).tts_isnull.add(at + 1));
        }
        (*slot).tts_tid = *(*(*row).tts_values).cast_mut_ptr::<pg_sys::ItemPointerData>();
        (*slot).tts_tableOid = (*(*node).rel).rd_id;
        super::scan::store(slot);
        true
    }
}

/// The first rows, from core's plan.
unsafe fn tids_of_core(node: *mut NodeState) -> Vec<pg_sys::ItemPointerData> {
    // SAFETY: as the caller's; the plan's first column is ctid.
    unsafe {
        let inner = NodeState::inner(node);
        inner.totals.left_to_core += 1;
        let limit = inner.setup.shape.top.as_ref().map_or(0, |top| top.limit as usize);
        let plan = CorePlan::start(node);
        let mut tids = Vec::new();
        while tids.len() < limit
            && let Some(row) = plan.row()
        {
            let tid = (*(*row).tts_values).cast_mut_ptr::<pg_sys::ItemPointerData>();
            tids.push(*tid);
        }
        tids
    }
}
