//! Proof that the tester can fail: faults put into the tested side must be found.

use crate::cluster::Cluster;
use crate::driver::{self, Driver};
use crate::options::Options;
use crate::outcome::Outcome;
use crate::record::{Failure, Record};
use crate::statement::{Side, Statement};

/// Steps before the fault is put in.
const AFTER: u64 = 40;
/// Steps within which it must be found.
const WITHIN: u64 = 400;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// One row more on the tested side.
    WrongRow,
    /// An update that only heap keeps.
    LostUpdate,
    /// A row that only heap locks: another session finds it free on the tested side.
    LostLock,
    /// A unique violation the tested side does not raise.
    LostDuplicate,
}

/// A fault to put in once [`AFTER`] steps have run.
#[derive(Clone, Copy, Debug)]
pub struct Injection {
    pub fault: Fault,
}

/// Runs the ordinary loop once for each fault; true if each was found.
pub fn run(options: &Options, cluster: &Cluster, record: &mut Record) -> Result<bool, Failure> {
    const FAULTS: [Fault; 4] =
        [Fault::WrongRow, Fault::LostUpdate, Fault::LostLock, Fault::LostDuplicate];
    let mut missed = 0;
    for (round, fault) in FAULTS.into_iter().enumerate() {
        record.step = 0;
        record.fault_at = None;
        let mut options = options.clone();
        options.steps = AFTER + WITHIN;
        // Every fault gets tables of its own; the databases of a failed epoch stay behind.
        options.first_epoch = 1_000 * (round as u64 + 1);
        let found = match driver::run(&options, cluster, record, Some(Injection { fault })) {
            Ok(()) => false,
            Err(failure) => {
                let title = failure.title;
                match record.fault_at {
                    Some(at) => println!(
                        "{fault:?}: put in at step {at}, found at step {}: {title}",
                        record.step
                    ),
                    None => println!(
                        "{fault:?}: the run failed before the fault was in: {title}\n{}",
                        failure.detail
                    ),
                }
                record.fault_at.is_some()
            }
        };
        if !found {
            println!("{fault:?}: NOT found");
            missed += 1;
        }
    }
    println!("self-test: {} passed, {missed} failed", FAULTS.len() - missed);
    Ok(missed == 0)
}

impl Driver<'_> {
    /// Puts the fault in when its time has come: one of contents into a random table, to be met by the ordinary
    /// comparisons; one of behaviour into a pair of tables of its own, with a statement that must tell them apart.
    pub fn inject(&mut self) -> Result<(), Failure> {
        let Some(Injection { fault }) = self.injection else {
            return Ok(());
        };
        if self.record.step < AFTER || self.record.fault_at.is_some() {
            return Ok(());
        }
        // An idle server, so that no lock is in the way.
        for at in 0..self.sessions.len() {
            self.sessions[at].rollback_if_open(self.record)?;
        }
        while !self.prepared.is_empty() {
            self.resolve_prepared()?;
        }
        match fault {
            Fault::WrongRow | Fault::LostUpdate => self.inject_contents(fault),
            Fault::LostLock | Fault::LostDuplicate => self.inject_behaviour(fault),
        }
    }

    /// Changes heap alone, which is a row too many, or an update too few, on the tested side. A table without a row
    /// to change is left for another step.
    fn inject_contents(&mut self, fault: Fault) -> Result<(), Failure> {
        let at = self.draw.below(self.tables.len() as u64) as usize;
        let table = self.tables[at].name.clone();
        let Some(column) = self.tables[at].plain_columns().next().map(|c| c.name.clone()) else {
            return Ok(());
        };
        let change = if fault == Fault::WrongRow {
            format!("DELETE FROM h_{table} WHERE ctid = (SELECT min(ctid) FROM h_{table})")
        } else {
            format!(
                "UPDATE h_{table} SET {column} = NULL WHERE ctid = (SELECT min(ctid) FROM h_{table} WHERE {column} IS NOT NULL)"
            )
        };
        let record = &mut *self.record;
        let Some(monitor) = &mut self.monitor else {
            return Ok(());
        };
        // No trigger fires, so nothing but this row changes; what a constraint refuses is left for another step.
        monitor.must(record, "SET session_replication_role = replica")?;
        let outcome = monitor.run(record, &change, None)?;
        monitor.must(record, "RESET session_replication_role")?;
        if matches!(outcome, Outcome::Done { count: 1, .. }) {
            record.fault_at = Some(record.step);
        }
        Ok(())
    }

    /// Makes a pair of tables of which the tested one lacks a row lock or a unique constraint, and tries it.
    fn inject_behaviour(&mut self, fault: Fault) -> Result<(), Failure> {
        let record = &mut *self.record;
        let Some(monitor) = &mut self.monitor else {
            return Ok(());
        };
        let unique = if fault == Fault::LostDuplicate { "" } else { "PRIMARY KEY" };
        for (side, constraint) in [(Side::Heap, "PRIMARY KEY"), (Side::Tested, unique)] {
            monitor.must(
                record,
                &side.sql(
                    &format!("CREATE TABLE @@fault (id int4 {constraint}) USING @AM@"),
                    &self.options.am,
                ),
            )?;
            monitor.must(record, &side.sql("INSERT INTO @@fault VALUES (1)", ""))?;
        }
        let probe = if fault == Fault::LostLock {
            monitor.must(record, "BEGIN")?;
            monitor.must(record, "SELECT * FROM h_fault FOR UPDATE")?;
            Statement::scanning("SELECT * FROM @@fault FOR UPDATE NOWAIT")
        } else {
            Statement::exact("INSERT INTO @@fault VALUES (1)")
        };
        record.fault_at = Some(record.step);
        self.sessions[0].pair(record, &probe).map(|_| ())
    }
}
