//! Two transactions on the same rows, one waiting for the other: EvalPlanQual, waits for an insertion in progress,
//! waits that end in a rollback, deadlocks.
//!
//! A statement that waits cannot share a transaction with its twin (the first wait would end the second's), so the
//! waiting statement runs in two connections of its own, one for each side:
//!
//!     session A:   BEGIN; write h; write c;              [write]         COMMIT or ROLLBACK [TO]
//!     helper h:                             statement h ... waits ...    goes on
//!     helper c:                             statement c ... waits ...    goes on
//!
//! A goes on only when each helper either waits for a lock or has finished, so the interleaving is fixed.

use std::thread::{self, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use postgres::Client;

use crate::dml::{self, Limits};
use crate::draw::Draw;
use crate::model::Table;
use crate::outcome::{self, Outcome};
use crate::record::{Failure, Record};
use crate::session::{Ending, Session, clip};
use crate::statement::{Side, Statement};
use crate::target;

/// How long a helper may take to reach its lock, or to end after the lock is free.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long both may wait for a third transaction after the leader has ended.
const STALEMATE: Duration = Duration::from_millis(60);

/// The two helper connections and their backends.
pub struct Helpers {
    heap: Session,
    tested: Session,
}

impl Helpers {
    /// Two connections, heap's first, that wait for locks without limit.
    pub fn new(mut heap: Client, mut tested: Client) -> Result<Self, Failure> {
        for client in [&mut heap, &mut tested] {
            client
                .simple_query("SET lock_timeout = 0; SET deadlock_timeout = '1s'")
                .map_err(|e| Failure::new("cannot set up a helper connection", e))?;
        }
        Ok(Self { heap: Session::new(100, heap)?, tested: Session::new(101, tested)? })
    }
}

/// One duel on `table`, led by the idle session `leader`. Returns the keys used up.
#[expect(clippy::too_many_arguments, reason = "the parties to the duel and what they may do")]
pub fn fight(
    draw: &mut Draw,
    leader: &mut Session,
    helpers: &mut Helpers,
    monitor: &mut Client,
    record: &mut Record,
    table: &Table,
    deferred: &[String],
    limits: Limits,
) -> Result<u64, Failure> {
    // Both sides of the duel draw their keys from the same few.
    let mut near = table.clone();
    near.next_key = draw.below(12);
    let mut waiting_near = near.clone();
    let isolation = *draw.pick(&["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ"]);
    let guarded = draw.chance(60);
    leader.begin(record, isolation, guarded, draw.chance(50))?;
    let inner = guarded && draw.chance(30);
    if inner {
        leader.savepoint(record)?;
    }
    let first = if draw.chance(25) {
        target::lock(draw, &near)
    } else {
        dml::small(draw, &mut near, limits)
    };
    let waiting = if draw.chance(25) {
        target::lock(draw, &waiting_near)
    } else {
        dml::small(draw, &mut waiting_near, limits)
    };
    let level = *draw.pick(&["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ"]);
    let used = near.next_key.max(waiting_near.next_key);
    if let Ending::Ended = leader.pair(record, &first)? {
        return Ok(used);
    }
    let pids = [helpers.heap.pid, helpers.tested.pid];
    for side in [Side::Heap, Side::Tested] {
        record.note(
            &format!("helper {}", side.prefix()),
            &format!("BEGIN ISOLATION LEVEL {level}"),
            None,
        );
        record.note(
            &format!("helper {} (in the background)", side.prefix()),
            &side.sql(&waiting.sql, &record.am),
            None,
        );
        record.note(&format!("helper {} (in the background)", side.prefix()), "COMMIT", None);
    }
    let am = record.am.clone();
    let (led, heap, tested) = thread::scope(|scope| {
        let heap = &mut helpers.heap.client;
        let tested = &mut helpers.tested.client;
        let left = scope.spawn(|| alone(heap, &waiting, Side::Heap, level, &am));
        let right = scope.spawn(|| alone(tested, &waiting, Side::Tested, level, &am));
        let led = await_blocked(monitor, pids, [&left, &right])
            .and_then(|()| finish(draw, leader, record, &mut near, deferred, inner, limits));
        let began = Instant::now();
        while !(left.is_finished() && right.is_finished()) {
            let stalemate = began.elapsed() > STALEMATE && waiting_pids(monitor, pids).len() == 2;
            if led.is_err() || stalemate || began.elapsed() > PATIENCE {
                for pid in pids {
                    // A helper that has just ended is not there to be cancelled.
                    let _ = monitor.simple_query(&format!("SELECT pg_cancel_backend({pid})"));
                }
                sleep(Duration::from_millis(20));
            }
            sleep(Duration::from_millis(1));
        }
        (led, left.join(), right.join())
    });
    led?;
    let panicked = |_| Failure::new("a helper thread panicked", "");
    let (heap, tested) = (heap.map_err(panicked)?, tested.map_err(panicked)?);
    record.checks += 1;
    if let Some(difference) = outcome::difference(&heap, &tested, waiting.errors, waiting.rows) {
        return Err(Failure::new(
            "a statement that had to wait ended differently",
            format!("{level}: {}\n{difference}", clip(&waiting.sql)),
        ));
    }
    Ok(used)
}

/// The waiting statement on one side, in a transaction of its own.
fn alone(client: &mut Client, statement: &Statement, side: Side, level: &str, am: &str) -> Outcome {
    let begin = outcome::execute(client, &format!("BEGIN ISOLATION LEVEL {level}"), None);
    if !begin.is_done() {
        return begin;
    }
    let outcome =
        outcome::execute(client, &side.sql(&statement.sql, am), statement.copy.as_deref());
    let commit = outcome::execute(client, "COMMIT", None);
    if outcome.is_done() && !commit.is_done() { commit } else { outcome }
}

/// Waits until each helper waits for a lock or has ended.
fn await_blocked(
    monitor: &mut Client,
    pids: [i32; 2],
    threads: [&ScopedJoinHandle<'_, Outcome>; 2],
) -> Result<(), Failure> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let blocked = waiting_pids(monitor, pids);
        let settled =
            |at: usize| threads[at].is_finished() || blocked.contains(&pids[at].to_string());
        if settled(0) && settled(1) {
            return Ok(());
        }
        sleep(Duration::from_millis(2));
    }
    // Neither waiting nor done after so long: the comparison of the outcomes will tell.
    Ok(())
}

/// The helpers that wait for a lock.
fn waiting_pids(monitor: &mut Client, pids: [i32; 2]) -> Vec<String> {
    let sql = format!(
        "SELECT pid FROM pg_stat_activity WHERE pid IN ({}, {}) AND state = 'active' AND wait_event_type = 'Lock'",
        pids[0], pids[1]
    );
    outcome::execute(monitor, &sql, None).rows().to_vec()
}

/// The leader's end: perhaps another write, then what frees the helpers.
fn finish(
    draw: &mut Draw,
    leader: &mut Session,
    record: &mut Record,
    near: &mut Table,
    deferred: &[String],
    inner: bool,
    limits: Limits,
) -> Result<(), Failure> {
    if draw.chance(30) {
        let second = dml::small(draw, near, limits);
        if let Ending::Ended = leader.pair(record, &second)? {
            return Ok(());
        }
    }
    if inner {
        let back = draw.chance(70);
        leader.leave_savepoint(record, 0, back)?;
    }
    if draw.chance(70) {
        leader.commit(record, deferred, "COMMIT").map(|_| ())
    } else {
        leader.rollback(record)
    }
}
