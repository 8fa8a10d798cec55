//! Passes of an aggregation whose states cannot go to files: where they outgrow memory, what was gathered is given up, and the
//! table is scanned again, each time for one grouping set, then for some of its groups.
//!
//! ```text
//! all sets outgrow memory -> the first | the second | ... each handed out as soon as its scan is done
//!                               outgrows memory -> a fourth of its groups | a fourth | ...
//!                                                    outgrows memory -> a sixteenth | ...
//! ```
//! A group is whole after its pass, and all passes see one snapshot, so that results are those of one scan. Aggregates with
//! volatile functions are not repeated, nor are passes of few groups: their states grow, as in core's hashed aggregation.

use super::setup;
use super::state::{self, NodeState};
use columnar_exec::agg::{Aggregator, Pass};
use columnar_exec::pipeline::State;

/// Most passes that one is cut into at once.
const MOST_PARTS: u32 = 16;
/// Fewest.
const LEAST_PARTS: u32 = 4;

/// What a pass takes in.
#[derive(Clone, Copy)]
pub struct Part {
    /// The number of the grouping set; `None` for all sets.
    pub set: Option<usize>,
    /// Which of its groups.
    pub groups: Pass,
}

/// The passes of a run of a node.
pub struct Passes {
    node: *mut NodeState,
    current: Part,
    /// Still to be made, the next one last.
    todo: Vec<Part>,
    /// Whether groups were handed out, so that core's plan can no longer take over.
    committed: bool,
}

impl Passes {
    /// Of a node whose first run has been started.
    pub fn new(node: *mut NodeState) -> Self {
        let current = Part { set: None, groups: Pass::ALL };
        Self { node, current, todo: Vec::new(), committed: false }
    }

    /// Runs the pass that was started, or smaller ones in its place, to its end. `None` where batches cannot hold a value.
    ///
    /// # Safety
    /// The node is running; nothing refers to the groups of the pass before.
    pub unsafe fn gather(&mut self) -> Option<Vec<State>> {
        loop {
            // SAFETY: as the caller's; the reference ends before the run is replaced.
            let outgrown = unsafe {
                let inner = NodeState::inner(self.node);
                inner.totals.passes += 1;
                let run = inner.run.as_mut()?;
                let states = run.gather();
                match run.outgrown {
                    Some(share) => share,
                    None => match self.close(states.as_deref()) {
                        Some(share) => share,
                        None => return states,
                    },
                }
            };
            // As many passes as the whole would need by the share of the table that was read.
            let parts = (1.25 / outgrown.max(0.01)).ceil() as u32;
            let parts = parts.next_power_of_two().clamp(LEAST_PARTS, MOST_PARTS);
            // SAFETY: as the caller's.
            unsafe {
                let sets = NodeState::inner(self.node).setup.sets.len();
                self.split(sets, parts);
                self.start_next();
            }
        }
    }

    /// Puts smaller passes in the place of the current one.
    fn split(&mut self, sets: usize, parts: u32) {
        let Part { set, groups } = self.current;
        match set {
            None if sets > 1 => {
                self.todo.extend((0..sets).rev().map(|set| Part { set: Some(set), groups }));
            }
            _ => {
                let parts = groups.split(parts).rev();
                self.todo.extend(parts.map(|groups| Part { set, groups }));
            }
        }
    }

    /// The number of the first set that the pass takes in.
    pub fn first_set(&self) -> usize {
        self.current.set.unwrap_or(0)
    }

    /// Folds what the aggregates wanted in order. Gives the share of the groups that was done when their results had
    /// outgrown memory, where they may be split.
    unsafe fn close(&mut self, states: Option<&[State]>) -> Option<f64> {
        // SAFETY: as the caller's.
        let inner = unsafe { NodeState::inner(self.node) };
        let (Some(transitions), Some(run)) = (&inner.setup.transitions, &inner.run) else {
            return None;
        };
        // Where PostgreSQL is called there is one worker.
        let Some(State::Aggregate(tables)) = states?.first() else { return None };
        let groups: Vec<usize> = tables.iter().map(Aggregator::groups).collect();
        let calls = run.pipeline().states_elsewhere();
        let splits = calls.is_some_and(|calls| calls.may_split(groups.iter().sum()));
        let limit = splits.then(|| run.limit().bytes);
        // SAFETY: as the caller's.
        unsafe { transitions.borrow_mut().close(&groups, limit) }
    }

    /// Whether there are passes to be made.
    pub fn are_left(&self) -> bool {
        !self.todo.is_empty()
    }

    /// The states of the next pass; `None` when all were made.
    ///
    /// # Safety
    /// As [`Self::gather`].
    pub unsafe fn next(&mut self) -> Option<Vec<State>> {
        // SAFETY: as the caller's.
        unsafe {
            self.committed = true;
            if self.start_next() { self.gather() } else { None }
        }
    }

    unsafe fn start_next(&mut self) -> bool {
        let Some(part) = self.todo.pop() else { return false };
        self.current = part;
        // SAFETY: as the caller's.
        unsafe {
            let inner = NodeState::inner(self.node);
            let replaceable =
                !self.committed && inner.run.as_ref().is_some_and(|run| run.replaceable);
            state::finish(inner);
            if let Some(transitions) = &inner.setup.transitions {
                transitions.borrow_mut().reset();
            }
            inner.setup.part = Some(part);
            let mut run = setup::start(self.node);
            run.replaceable = replaceable;
            NodeState::inner(self.node).run = Some(run);
        }
        true
    }
}
