//! The three arms of a query: heap, columnar vectorized, columnar not vectorized.
//!
//! All run in one session, so that they see the same snapshot and the same uncommitted rows. In an open transaction each
//! runs in a savepoint that is rolled back; without one, a batch is a transaction of its own.

use std::collections::BTreeSet;

use crate::compare::{Verdict, judge};
use crate::query::Query;
use crate::session::Outcome;
use crate::world::World;

/// An arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    Heap,
    Vectorized,
    Plain,
}

impl Arm {
    /// Its name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Vectorized => "columnar, enable_vectorized = on",
            Self::Plain => "columnar, enable_vectorized = off",
        }
    }
}

/// Plans without what differs from run to run.
const EXPLAIN: &str = "EXPLAIN (COSTS OFF)";

/// Runs one arm.
pub fn run(world: &mut World, query: &Query, dropped: &BTreeSet<u32>, arm: Arm) -> Outcome {
    batch(world, &query.batch(dropped, arm != Arm::Heap, None), arm)
}

/// Runs the vectorized arm with its plan; the plan comes first.
pub fn explained(world: &mut World, query: &Query) -> (Option<String>, Outcome) {
    let dropped = BTreeSet::new();
    match batch(world, &query.batch(&dropped, true, Some(EXPLAIN)), Arm::Vectorized) {
        Outcome::Done(mut sets) if !sets.is_empty() => {
            let plan = Outcome::Done(vec![sets.remove(0)]).first_fields().join("\n");
            (Some(plan), Outcome::Done(sets))
        }
        other => (None, other),
    }
}

/// The plan of the columnar arm in full, for a report.
pub fn plan(world: &mut World, query: &Query, dropped: &BTreeSet<u32>, arm: Arm) -> String {
    // Only the plan: the query itself may be the one that fails.
    let text = query.batch(dropped, true, Some("EXPLAIN (VERBOSE, COSTS OFF)"));
    let explain = match &query.wrapper {
        crate::query::Wrapper::Prepared { .. } => {
            text.split("; ").take(3).collect::<Vec<_>>().join("; ")
        }
        _ => {
            let select = crate::table::on_side(&query.select(dropped), true);
            match query.wrapper {
                crate::query::Wrapper::Role => {
                    format!(
                        "SET ROLE oracle_user; EXPLAIN (VERBOSE, COSTS OFF) {select}; RESET ROLE"
                    )
                }
                _ => format!("EXPLAIN (VERBOSE, COSTS OFF) {select}"),
            }
        }
    };
    match batch(world, &explain, arm) {
        done @ Outcome::Done(_) => done.first_fields().join("\n"),
        other => other.brief(),
    }
}

fn batch(world: &mut World, text: &str, arm: Arm) -> Outcome {
    let vectorized = match arm {
        Arm::Heap => "",
        Arm::Vectorized => "SET pgcolumnar.enable_vectorized = on; ",
        Arm::Plain => "SET pgcolumnar.enable_vectorized = off; ",
    };
    if !world.main_open {
        return world.main.run(&format!("{vectorized}{text}"));
    }
    let outcome = world.main.run(&format!(
        "SAVEPOINT oracle_q; {vectorized}{text}; ROLLBACK TO SAVEPOINT oracle_q; RELEASE SAVEPOINT oracle_q"
    ));
    if let Outcome::Failed { .. } = outcome
        && let lost @ Outcome::Lost(_) =
            world.main.run("ROLLBACK TO SAVEPOINT oracle_q; RELEASE SAVEPOINT oracle_q")
    {
        return lost;
    }
    outcome
}

/// A difference between heap and an arm.
#[derive(Debug)]
pub struct Difference {
    pub arm: Arm,
    pub what: String,
}

/// Runs heap and one arm without the parts in `dropped`; the difference if there is one.
pub fn differs(
    world: &mut World,
    query: &Query,
    dropped: &BTreeSet<u32>,
    arm: Arm,
) -> Option<String> {
    let rules = query.rules(dropped);
    let heap = run(world, query, dropped, Arm::Heap);
    let other = run(world, query, dropped, arm);
    match judge(&heap, &other, &rules) {
        Verdict::Different(what) => Some(what),
        _ => None,
    }
}
