//! `pgcolumnar-difftest`: the randomized differential tester.
//!
//! Every step runs the same SQL on a heap table and on its twin of another table access method, in the same session
//! and transaction, and any difference ends the run: outcome, SQLSTATE, row count, returned rows, contents through
//! several plans and from every open snapshot. One thread decides everything, so a seed names a run.
//!
//! ```text
//! options -> cluster -> driver (epochs) -> step -> dml, insert | target | maintenance | cursor | duel | crash
//!                                            |          statements for session::pair
//!                                            +-> compare (contents, plans, amcheck)
//! ```

mod cluster;
mod compare;
mod crash;
mod cursor;
mod ddl;
mod dml;
mod driver;
mod duel;
mod insert;
mod maintenance;
mod model;
mod options;
mod outcome;
mod record;
mod schema;
mod selftest;
mod session;
mod sqltype;
mod statement;
mod step;
mod target;
mod value;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use difftest::draw;

use crate::cluster::Cluster;
use crate::draw::Draw;
use crate::options::Options;
use crate::record::{Failure, Record};

/// A statement that takes longer hangs: no statement_timeout reached it.
const HANG: Duration = Duration::from_secs(300);

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{}\n{}", failure.title, failure.detail);
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<bool, Failure> {
    // Stream 0 of the seed draws the cluster, stream N + 1 the epoch N.
    let cluster = Cluster::create(options, &mut Draw::new(options.seed, 0))?;
    let log = options.replay_log.clone().unwrap_or_else(|| options.workdir.join("replay.sql"));
    let mut record = Record::new(&log, &options.am, cluster.autovacuum)?;
    watch(record.pulse(), options);
    let began = Instant::now();
    let passed = if options.self_test {
        selftest::run(options, &cluster, &mut record)?
    } else {
        match driver::run(options, &cluster, &mut record, None) {
            Ok(()) => true,
            Err(failure) => {
                report(options, &cluster, &mut record, &failure);
                false
            }
        }
    };
    if passed && !options.self_test {
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "seed {}: {} steps in {seconds:.0} s ({:.0} a second), {} comparisons, {} equal errors, {} inconclusive",
            options.seed,
            record.step,
            record.step as f64 / seconds,
            record.checks,
            record.equal_errors,
            record.inconclusive
        );
        println!("{} passed, 0 failed", record.checks);
    }
    drop(cluster);
    if passed && !options.keep {
        std::fs::remove_dir_all(&options.workdir)?;
    }
    Ok(passed)
}

fn report(options: &Options, cluster: &Cluster, record: &mut Record, failure: &Failure) {
    println!("-- the last steps");
    println!("{}", record.recent());
    println!("-- the end of the server's log\n{}", cluster.log_tail());
    println!("FAILED: seed {}, step {}: {}", options.seed, record.step, failure.title);
    println!("{}", failure.detail);
    println!("work directory kept: {}", options.workdir.display());
    println!("{} passed, 1 failed", record.checks);
}

/// Ends the process when no statement has begun for [`HANG`].
fn watch(pulse: Arc<AtomicU64>, options: &Options) {
    let (seed, workdir) = (options.seed, options.workdir.clone());
    std::thread::spawn(move || {
        let mut seen = (pulse.load(Ordering::Relaxed), Instant::now());
        loop {
            std::thread::sleep(Duration::from_secs(5));
            let now = pulse.load(Ordering::Relaxed);
            if now != seen.0 {
                seen = (now, Instant::now());
            } else if seen.1.elapsed() > HANG {
                println!(
                    "FAILED: seed {seed}: a statement hangs; the server is left running in {}",
                    workdir.display()
                );
                println!("0 passed, 1 failed");
                std::process::exit(1);
            }
        }
    });
}
