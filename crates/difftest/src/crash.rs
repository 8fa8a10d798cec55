//! Restarts, immediate stops and kill -9, at rest and in the middle of a statement.

use std::thread::{self, sleep};
use std::time::Duration;

use crate::cluster::{Cluster, Stop};
use crate::dml::{self, Limits};
use crate::draw::Draw;
use crate::model::Table;
use crate::outcome;
use crate::record::{Failure, Record};
use crate::session::Session;
use crate::statement::Side;

/// A way to interrupt the server.
#[derive(Clone, Copy, Debug)]
pub enum Interruption {
    CleanRestart,
    ImmediateStop,
    /// `kill -9` of a backend that waits for its next statement.
    KillIdle,
    /// `kill -9` or an immediate stop while a transaction or a maintenance command runs.
    MidFlight,
}

/// Interrupts the server; every connection is gone afterwards, and the server is up again.
pub fn interrupt(
    draw: &mut Draw,
    cluster: &Cluster,
    database: &str,
    record: &mut Record,
    victim: &Session,
    tables: &mut [Table],
    limits: Limits,
) -> Result<(), Failure> {
    let how = draw.weighted(&[
        (3, Interruption::CleanRestart),
        (3, Interruption::ImmediateStop),
        (3, Interruption::KillIdle),
        (5, Interruption::MidFlight),
    ]);
    match how {
        Interruption::CleanRestart => {
            record.comment("clean restart");
            cluster.stop(Stop::Fast)?;
            cluster.start()
        }
        Interruption::ImmediateStop => {
            record.comment("immediate stop and restart");
            cluster.stop(Stop::Immediate)?;
            cluster.start()
        }
        Interruption::KillIdle => {
            record.comment(&format!("kill -9 of session {}", victim.number));
            cluster.kill(victim.pid)?;
            settle(cluster, database)
        }
        Interruption::MidFlight => mid_flight(draw, cluster, database, record, tables, limits),
    }
}

/// Both sides of a bulk change run in one transaction, so wherever it is cut both keep it or both lose it. A
/// maintenance command runs on the tested side only: it must not change the contents, finished or not.
fn mid_flight(
    draw: &mut Draw,
    cluster: &Cluster,
    database: &str,
    record: &mut Record,
    tables: &mut [Table],
    limits: Limits,
) -> Result<(), Failure> {
    let at = draw.below(tables.len() as u64) as usize;
    let script: Vec<String> = if draw.chance(40) {
        let name = &tables[at].name;
        let command =
            draw.pick(&["VACUUM", "VACUUM FULL", "VACUUM (FREEZE, ANALYZE)", "REINDEX TABLE"]);
        vec![format!("{command} c_{name}")]
    } else {
        let statement = loop {
            let statement = dml::write(draw, tables, at, limits);
            if statement.copy.is_none() {
                break statement;
            }
        };
        let both = |side: Side| side.sql(&statement.sql, &record.am);
        vec!["BEGIN".into(), both(Side::Heap), both(Side::Tested), "COMMIT".into()]
    };
    for sql in &script {
        record.note("the killed backend", sql, None);
    }
    let mut doomed = Session::new(102, cluster.connect(database)?)?;
    let pid = doomed.pid;
    let pause = Duration::from_millis(*draw.pick(&[1, 5, 20, 80, 300]));
    let stop = draw.chance(40);
    record.comment(&format!("{} after {pause:?}", if stop { "immediate stop" } else { "kill -9" }));
    thread::scope(|scope| {
        scope.spawn(move || {
            for sql in &script {
                // It may end by the kill or, if it was quick, by success.
                if !outcome::execute(&mut doomed.client, sql, None).is_done() {
                    break;
                }
            }
            sleep(Duration::from_millis(500));
        });
        sleep(pause);
        if stop {
            cluster.stop(Stop::Immediate)?;
            cluster.start()
        } else {
            cluster.kill(pid)?;
            settle(cluster, database)
        }
    })
}

/// Waits until the postmaster has noticed the kill and recovered: a connection then survives a statement.
fn settle(cluster: &Cluster, database: &str) -> Result<(), Failure> {
    sleep(Duration::from_millis(300));
    for _ in 0..50 {
        let mut client = cluster.connect(database)?;
        sleep(Duration::from_millis(30));
        if outcome::execute(&mut client, "SELECT 1", None).is_done() {
            return Ok(());
        }
    }
    Err(Failure::new("the server did not recover", cluster.log_tail()))
}
