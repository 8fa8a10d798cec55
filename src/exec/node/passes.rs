//! Passes of an aggregation whose states cannot go to files: where they outgrow memory, what was gathered is given up, and the
//! table is scanned again, each time for some of the groups.
//!
//! ```text
//! all groups outgrow memory -> a fourth of them | a fourth | ... each handed out as soon as its scan is done
//!                                outgrows memory -> a sixteenth | ...
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

/// The passes of a run of a node.
pub struct Passes {
    node: *mut NodeState,
    current: Pass,
    /// Still to be made, the next one last.
    todo: Vec<Pass>,
    /// Whether groups were handed out, so that core's plan can no longer take over.
    committed: bool,
}

impl Passes {
    /// Of a node whose first run has been started.
    pub fn new(node: *mut NodeState) -> Self {
        Self { node, current: Pass::ALL, todo: Vec::new(), committed: false }
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
            self.todo.extend(self.current.split(parts).rev());
            // SAFETY: as the caller's.
            unsafe { self.start_next() };
        }
    }

    /// Folds what the aggregates wanted in order. Gives the share of the groups that was done when their results had
    /// outgrown memory, where they may be split.
    unsafe fn close(&mut self, states: Option<&[State]>) -> Option<f64> {
        // SAFETY: as the caller's.
        let inner = unsafe { NodeState::inner(self.node) };
        let (Some(transitions), Some(run)) = (&inner.setup.transitions, &inner.run) else {
            return None;
        };
        let groups = |state: &State| match state {
            State::Aggregate(tables) => tables.iter().map(Aggregator::groups).sum(),
            _ => 0,
        };
        let groups: usize = states?.iter().map(groups).sum();
        let calls = run.pipeline().states_elsewhere();
        let splits = calls.is_some_and(|calls| calls.may_split(groups));
        let limit = splits.then(|| run.limit().bytes);
        // SAFETY: as the caller's.
        unsafe { transitions.borrow_mut().close(groups, limit) }
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
        let Some(pass) = self.todo.pop() else { return false };
        self.current = pass;
        // SAFETY: as the caller's.
        unsafe {
            let inner = NodeState::inner(self.node);
            let replaceable =
                !self.committed && inner.run.as_ref().is_some_and(|run| run.replaceable);
            state::finish(inner);
            if let Some(transitions) = &inner.setup.transitions {
                transitions.borrow_mut().reset();
            }
            inner.setup.pass = Some(pass);
            let mut run = setup::start(self.node);
            run.replaceable = replaceable;
            NodeState::inner(self.node).run = Some(run);
        }
        true
    }
}
