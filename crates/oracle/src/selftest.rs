//! Proof that the oracle can fail: wrong contents of the columnar tables must be found by the queries alone.

use crate::options::Options;
use crate::run::Run;
use crate::session::Broken;

/// Queries within which a fault must be found.
const WITHIN: u64 = 300;

/// What is wrong with every columnar table, as a template.
const FAULTS: &[(&str, &str)] = &[
    ("a row is missing", "DELETE FROM c_@ WHERE id = (SELECT max(id) FROM c_@)"),
    (
        "a row is there twice",
        "INSERT INTO c_@ SELECT * FROM c_@ WHERE id = (SELECT min(id) FROM c_@)",
    ),
    ("a key is off by one", "UPDATE c_@ SET k = k + 1 WHERE id % 50 = 3"),
    ("NULL is zero", "UPDATE c_@ SET k = 0 WHERE k IS NULL"),
];

/// Puts each fault in and runs queries; the number of faults that were not found.
pub fn run(options: &Options) -> Result<u64, Broken> {
    let mut missed = 0;
    for (round, (name, template)) in FAULTS.iter().enumerate() {
        let mut run = Run::new(options);
        let epoch = 1_000 + round as u64;
        let mut world = run.open(epoch)?;
        for table in &world.tables {
            world.main.must("DROP INDEX IF EXISTS c_@_id".replace('@', &table.name).as_str())?;
            world.main.must(&template.replace('@', &table.name))?;
        }
        let mut number = 0;
        while number < WITHIN && run.tally.differences == 0 {
            run.one(&mut world, epoch, number)?;
            number += 1;
        }
        run.close(world, epoch)?;
        if run.tally.differences == 0 {
            println!("{name}: NOT found in {WITHIN} queries");
            missed += 1;
        } else {
            println!("{name}: found by query {number}");
        }
    }
    println!("self-test: {} passed, {missed} failed", FAULTS.len() as u64 - missed);
    Ok(missed)
}
