//! One connection with its open transaction, and how a statement runs on both tables of a pair.
//!
//! Both statements run in the same transaction, so both meet the same locks and the same snapshot. A transaction is
//! drawn *guarded* (every statement in a savepoint, so an error on one side can be compared with the other) or *bare*
//! (no savepoints: heap first, an error ends the transaction; if heap succeeds the other side must).

use std::thread::sleep;
use std::time::Duration;

use postgres::Client;

use crate::cursor::Cursor;
use crate::model::{Change, Table};
use crate::outcome::{self, Outcome};
use crate::record::{Failure, Record};
use crate::statement::{Errors, Rows, Side, Statement};

/// An open transaction.
pub struct Transaction {
    pub guarded: bool,
    /// Guarded only: the tested side goes first.
    pub tested_first: bool,
    /// Savepoints with the number of model changes made before each.
    pub savepoints: Vec<(String, usize)>,
    pub changes: Vec<Change>,
    pub steps: u32,
}

/// A connection.
pub struct Session {
    pub number: usize,
    pub client: Client,
    pub pid: i32,
    pub transaction: Option<Transaction>,
    pub cursors: Vec<Cursor>,
    next_savepoint: u32,
}

/// How a statement pair ended.
pub enum Ending {
    /// Both sides did the same.
    Same { heap: Outcome, tested: Outcome },
    /// The transaction is gone; nothing more to compare.
    Ended,
}

impl Session {
    /// Wraps a fresh connection.
    pub fn new(number: usize, mut client: Client) -> Result<Self, Failure> {
        let pid = client
            .simple_query("SELECT pg_backend_pid()")
            .ok()
            .and_then(|m| {
                m.into_iter().find_map(|m| {
                    if let postgres::SimpleQueryMessage::Row(r) = m {
                        r.get(0)?.parse().ok()
                    } else {
                        None
                    }
                })
            })
            .ok_or_else(|| Failure::new("cannot ask for the backend's pid", number))?;
        Ok(Self { number, client, pid, transaction: None, cursors: Vec::new(), next_savepoint: 0 })
    }

    /// Runs one statement of this session as it stands.
    pub fn run(
        &mut self,
        record: &mut Record,
        sql: &str,
        copy: Option<&str>,
    ) -> Result<Outcome, Failure> {
        record.note(&format!("session {}", self.number), sql, copy);
        let outcome = outcome::execute(&mut self.client, sql, copy);
        match outcome {
            Outcome::Lost(reason) => Err(Failure::new(
                "a connection broke",
                format!("session {}: {sql}\n{reason}", self.number),
            )),
            outcome => Ok(outcome),
        }
    }

    /// Runs a statement that must succeed.
    pub fn must(&mut self, record: &mut Record, sql: &str) -> Result<Outcome, Failure> {
        let outcome = self.run(record, sql, None)?;
        if outcome.is_done() {
            Ok(outcome)
        } else {
            Err(Failure::new("a plain statement failed", format!("{sql}\n{}", outcome.brief())))
        }
    }

    /// The table as this session sees it: committed, then its own DDL.
    pub fn view(&self, tables: &[Table], at: usize) -> Table {
        let mut table = tables[at].clone();
        if let Some(transaction) = &self.transaction {
            for change in transaction.changes.iter().filter(|c| c.table() == at) {
                change.apply_to(&mut table);
            }
        }
        table
    }

    /// Opens a transaction.
    pub fn begin(
        &mut self,
        record: &mut Record,
        isolation: &'static str,
        guarded: bool,
        tested_first: bool,
    ) -> Result<(), Failure> {
        self.must(record, &format!("BEGIN ISOLATION LEVEL {isolation}"))?;
        self.transaction = Some(Transaction {
            guarded,
            tested_first,
            savepoints: Vec::new(),
            changes: Vec::new(),
            steps: 0,
        });
        Ok(())
    }

    /// Rolls back and forgets the transaction.
    pub fn rollback(&mut self, record: &mut Record) -> Result<(), Failure> {
        self.must(record, "ROLLBACK")?;
        self.transaction = None;
        self.cursors.retain(|c| c.committed);
        Ok(())
    }

    /// Commits; the model changes to apply, or `None` when the commit failed and everything was rolled back.
    /// `deferred` are the deferred constraints, checked pair by pair first.
    pub fn commit(
        &mut self,
        record: &mut Record,
        deferred: &[String],
        how: &str,
    ) -> Result<Option<Vec<Change>>, Failure> {
        let guarded = self.transaction.as_ref().is_some_and(|t| t.guarded);
        if guarded {
            for name in deferred {
                let check = Statement::scanning(format!("SET CONSTRAINTS @@{name} IMMEDIATE"));
                if let Ending::Ended = self.pair(record, &check)? {
                    return Ok(None);
                }
            }
        }
        let outcome = self.run(record, how, None)?;
        let Some(transaction) = self.transaction.take() else {
            return Ok(None);
        };
        if outcome.is_done() {
            for cursor in &mut self.cursors {
                cursor.committed = true;
            }
            self.cursors.retain(|c| c.hold);
            return Ok(Some(transaction.changes));
        }
        self.cursors.retain(|c| c.committed);
        let allowed = outcome.is_ssi()
            || outcome.state().starts_with("23")
            || outcome.is_lock_timeout()
            || how.starts_with("PREPARE") && outcome.state() == "0A000";
        let blames_tested =
            matches!(&outcome, Outcome::Failed { message, .. } if message.contains("\"c_"));
        if !allowed || blames_tested && !transaction.tested_first {
            return Err(Failure::new("COMMIT failed", outcome.brief()));
        }
        if how.starts_with("PREPARE") {
            self.run(record, "ROLLBACK", None)?;
        }
        Ok(None)
    }

    /// A savepoint of the driver's own.
    pub fn savepoint(&mut self, record: &mut Record) -> Result<(), Failure> {
        self.next_savepoint += 1;
        let name = format!("s{}", self.next_savepoint);
        self.must(record, &format!("SAVEPOINT {name}"))?;
        if let Some(transaction) = &mut self.transaction {
            transaction.savepoints.push((name, transaction.changes.len()));
        }
        Ok(())
    }

    /// Rolls back to the savepoint at `depth`, or releases it.
    pub fn leave_savepoint(
        &mut self,
        record: &mut Record,
        depth: usize,
        back: bool,
    ) -> Result<(), Failure> {
        let Some(transaction) = &mut self.transaction else {
            return Ok(());
        };
        let (name, changes) = transaction.savepoints[depth].clone();
        if back {
            transaction.savepoints.truncate(depth + 1);
            transaction.changes.truncate(changes);
        } else {
            transaction.savepoints.truncate(depth);
        }
        let verb = if back { "ROLLBACK TO" } else { "RELEASE" };
        self.must(record, &format!("{verb} SAVEPOINT {name}")).map(|_| ())
    }

    /// Runs a statement on both sides and compares what they did.
    pub fn pair(&mut self, record: &mut Record, statement: &Statement) -> Result<Ending, Failure> {
        let (guarded, open, tested_first) =
            self.transaction.as_ref().map_or((false, false, record.step.is_multiple_of(3)), |t| {
                (t.guarded, true, t.guarded && t.tested_first)
            });
        let order =
            if tested_first { [Side::Tested, Side::Heap] } else { [Side::Heap, Side::Tested] };
        let mut outcomes = Vec::new();
        for (place, side) in order.into_iter().enumerate() {
            let outcome = if guarded {
                self.guarded(record, statement, side)?
            } else {
                self.side(record, statement, side)?
            };
            if outcome.is_ssi() {
                record.inconclusive += 1;
                self.rollback_if_open(record)?;
                return Ok(Ending::Ended);
            }
            if open && !guarded && !outcome.is_done() {
                if place == 0 {
                    self.rollback(record)?;
                    return Ok(Ending::Ended);
                }
                if record.autovacuum && outcome.is_lock_timeout() {
                    record.inconclusive += 1;
                    self.rollback(record)?;
                    return Ok(Ending::Ended);
                }
            }
            outcomes.push(outcome);
        }
        if tested_first {
            outcomes.swap(0, 1);
        }
        self.settle_lock_timeouts(record, statement, &mut outcomes, guarded, open)?;
        record.checks += 1;
        let (heap, tested) = (outcomes.swap_remove(0), outcomes.swap_remove(0));
        if let Some(difference) =
            outcome::difference(&heap, &tested, statement.errors, statement.rows)
        {
            return Err(Failure::new(
                "the two sides did not do the same",
                format!("{}\n{difference}", clip(&statement.sql)),
            ));
        }
        if heap.is_done() {
            if let Some(transaction) = &mut self.transaction {
                transaction.changes.extend(statement.changes.iter().cloned());
            }
        } else {
            record.equal_errors += 1;
        }
        Ok(Ending::Same { heap, tested })
    }

    /// Autovacuum may hold a table's lock for a moment: a timeout on one side only is tried again.
    fn settle_lock_timeouts(
        &mut self,
        record: &mut Record,
        statement: &Statement,
        outcomes: &mut [Outcome],
        guarded: bool,
        open: bool,
    ) -> Result<(), Failure> {
        for _ in 0..20 {
            let stuck = match (outcomes[0].is_lock_timeout(), outcomes[1].is_lock_timeout()) {
                (true, false) => Side::Heap,
                (false, true) => Side::Tested,
                _ => return Ok(()),
            };
            if !record.autovacuum || open && !guarded {
                return Ok(());
            }
            sleep(Duration::from_millis(100));
            let again = if guarded {
                self.guarded(record, statement, stuck)?
            } else {
                self.side(record, statement, stuck)?
            };
            outcomes[usize::from(stuck == Side::Tested)] = again;
        }
        Ok(())
    }

    /// One side of a statement.
    pub fn side(
        &mut self,
        record: &mut Record,
        statement: &Statement,
        side: Side,
    ) -> Result<Outcome, Failure> {
        let sql = side.sql(&statement.sql, &record.am);
        self.run(record, &sql, statement.copy.as_deref())
    }

    /// One side of a statement inside a savepoint that an error rolls back.
    fn guarded(
        &mut self,
        record: &mut Record,
        statement: &Statement,
        side: Side,
    ) -> Result<Outcome, Failure> {
        self.must(record, "SAVEPOINT dt")?;
        let outcome = self.side(record, statement, side)?;
        if outcome.is_ssi() {
            return Ok(outcome);
        }
        if !outcome.is_done() {
            self.must(record, "ROLLBACK TO SAVEPOINT dt")?;
        }
        self.must(record, "RELEASE SAVEPOINT dt")?;
        Ok(outcome)
    }

    /// Rolls back if a transaction is open.
    pub fn rollback_if_open(&mut self, record: &mut Record) -> Result<(), Failure> {
        if self.transaction.is_some() { self.rollback(record) } else { Ok(()) }
    }

    /// A query under settings of its own, leaving no trace in the session's transaction.
    pub fn probe(
        &mut self,
        record: &mut Record,
        settings: &[String],
        sql: &str,
    ) -> Result<Outcome, Failure> {
        let open = self.transaction.is_some();
        self.must(record, if open { "SAVEPOINT dt" } else { "BEGIN" })?;
        for setting in settings {
            self.must(record, &format!("SET LOCAL {setting}"))?;
        }
        let outcome = self.run(record, sql, None)?;
        if open {
            if outcome.is_ssi() {
                record.inconclusive += 1;
                self.rollback(record)?;
                return Ok(outcome);
            }
            self.must(record, "ROLLBACK TO SAVEPOINT dt")?;
            self.must(record, "RELEASE SAVEPOINT dt")?;
        } else {
            self.must(record, "ROLLBACK")?;
        }
        Ok(outcome)
    }
}

/// Long statements are cut in a report's headline; they stand in full below it.
pub fn clip(sql: &str) -> String {
    sql.chars().take(1_500).collect()
}

/// Whether two outcomes of queries agree, rows in any order.
pub fn answers_differ(heap: &Outcome, tested: &Outcome) -> Option<String> {
    outcome::difference(heap, tested, Errors::Any, Rows::Unordered)
}
