//! `pgcolumnar-oracle`: random queries on heap, on pgcolumnar vectorized, and on pgcolumnar not vectorized.
//!
//! All three must give the same rows, or the same error. What is random: the tables and how their rows got there, what
//! is uncommitted, the settings, and the queries. Everything follows from the seed.
//!
//! ```text
//! options -> run (epochs) -> table, load            pairs of tables with equal rows
//!                         -> world                  changes, open transactions
//!                         -> settings, shapes       a query: scalar, predicate, risky, aggregate -> query
//!                         -> arms -> compare        three outcomes, one verdict
//!                         -> shrink, tally          a report, the counts
//! ```

mod aggregate;
mod arms;
mod compare;
mod load;
mod options;
mod predicate;
mod query;
mod risky;
mod run;
mod scalar;
mod selftest;
mod session;
mod settings;
mod shapes;
mod shrink;
mod table;
mod tally;
mod types;
mod values;
mod watchdog;
mod world;

use std::process::ExitCode;

use crate::options::Options;
use crate::run::Run;
use crate::session::Broken;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    watchdog::start(options.seed);
    let passed = if options.self_test {
        selftest::run(&options).map(|missed| missed == 0)
    } else {
        Ok(ordinary(&options))
    };
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(Broken(why)) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// A run with its summary; whether it passed.
fn ordinary(options: &Options) -> bool {
    let mut run = Run::new(options);
    let mut failed = 0;
    if let Err(Broken(why)) = run.epochs() {
        println!("FAILED: the run broke off: {why}");
        failed += 1;
    }
    let seconds = run.seconds();
    let tally = &run.tally;
    println!(
        "seed {}: {tally}\n{:.0} queries a second",
        options.seed,
        tally.queries as f64 / seconds.max(0.001)
    );
    if options.require_nodes && tally.with_node == 0 {
        println!("FAILED: no plan had a custom node, and --require-nodes was given");
        failed += 1;
    }
    // More than a few queries without a verdict are a sign that something hangs or is far too slow.
    if tally.inconclusive > 3 + tally.queries / 100 {
        println!("FAILED: too many queries have no verdict");
        failed += 1;
    }
    failed += tally.differences;
    println!("{} passed, {failed} failed", tally.queries.saturating_sub(tally.differences));
    failed == 0
}
