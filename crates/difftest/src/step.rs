//! One step: which session does what.

use crate::compare;
use crate::crash;
use crate::cursor;
use crate::dml;
use crate::driver::{Driver, Prepared};
use crate::duel;
use crate::maintenance;
use crate::model::Change;
use crate::record::Failure;
use crate::session::Ending;
use crate::statement::{Side, Statement};
use crate::target;

#[derive(Clone, Copy)]
enum Action {
    Begin,
    Write,
    Query,
    Lock,
    Ddl,
    Vacuum,
    Duel,
    DeclareCursor,
    AdvanceCursor,
    Savepoint,
    RollbackTo,
    Release,
    Commit,
    Rollback,
    Prepare,
    ResolvePrepared,
}

impl Driver<'_> {
    /// Runs one step and, often, a comparison.
    pub fn step(&mut self) -> Result<(), Failure> {
        if self.options.crash && self.draw.below(1_000) < 15 {
            self.interrupt()?;
        }
        let at = self.draw.below(self.sessions.len() as u64) as usize;
        let table = self.draw.below(self.tables.len() as u64) as usize;
        let action = self.action(at);
        self.act(action, at, table)?;
        if self.draw.chance(30) {
            self.compare_one()?;
        }
        if self.amcheck && self.draw.chance(2) {
            let name = self.tables[table].name.clone();
            let side = if self.draw.chance(80) { Side::Tested } else { Side::Heap };
            if let Some(monitor) = &mut self.monitor {
                compare::btrees(monitor, self.record, side, &name)?;
            }
        }
        Ok(())
    }

    fn action(&mut self, at: usize) -> Action {
        let session = &self.sessions[at];
        let cursors = if session.cursors.is_empty() { 0 } else { 12 };
        let prepared = if self.prepared.is_empty() { 0 } else { 6 };
        let Some(transaction) = &session.transaction else {
            return self.draw.weighted(&[
                (40, Action::Begin),
                (22, Action::Write),
                (6, Action::Query),
                (5, Action::Ddl),
                (7, Action::Vacuum),
                (10, Action::Duel),
                (1, Action::DeclareCursor),
                (cursors, Action::AdvanceCursor),
                (prepared, Action::ResolvePrepared),
            ]);
        };
        let inside = if transaction.savepoints.is_empty() { 0 } else { 5 };
        let tired = if transaction.steps > 20 { 40 } else { 0 };
        self.draw.weighted(&[
            (45, Action::Write),
            (10, Action::Query),
            (10, Action::Lock),
            (4, Action::Ddl),
            (6, Action::DeclareCursor),
            (cursors, Action::AdvanceCursor),
            (7, Action::Savepoint),
            (inside, Action::RollbackTo),
            (inside / 2, Action::Release),
            (9 + tired, Action::Commit),
            (4 + tired / 4, Action::Rollback),
            (2, Action::Prepare),
        ])
    }

    fn act(&mut self, action: Action, at: usize, table: usize) -> Result<(), Failure> {
        if let Some(transaction) = &mut self.sessions[at].transaction {
            transaction.steps += 1;
        }
        match action {
            Action::Begin => {
                let isolation = self.draw.weighted(&[
                    (10, "READ COMMITTED"),
                    (7, "REPEATABLE READ"),
                    (3, "SERIALIZABLE"),
                    (1, "REPEATABLE READ, READ ONLY"),
                ]);
                let (guarded, tested_first) = (self.draw.chance(65), self.draw.chance(50));
                self.sessions[at].begin(self.record, isolation, guarded, tested_first)
            }
            Action::Write => {
                let mut views: Vec<_> = (0..self.tables.len())
                    .map(|t| self.sessions[at].view(&self.tables, t))
                    .collect();
                let statement = dml::write(&mut self.draw, &mut views, table, self.limits);
                self.tables[table].next_key = views[table].next_key;
                self.pair(at, &statement)
            }
            Action::Query => {
                let view = self.sessions[at].view(&self.tables, table);
                let statement = target::query(&mut self.draw, &view);
                self.pair(at, &statement)
            }
            Action::Lock => {
                let view = self.sessions[at].view(&self.tables, table);
                let statement = target::lock(&mut self.draw, &view);
                self.pair(at, &statement)
            }
            Action::Ddl => {
                let cursors = !self.sessions[at].cursors.is_empty();
                let mut view = self.sessions[at].view(&self.tables, table);
                let statement =
                    maintenance::alter(&mut self.draw, self.server, &mut view, table, cursors);
                self.tables[table].next_object = view.next_object;
                self.pair(at, &statement)
            }
            Action::Vacuum => self.vacuum(at, table),
            Action::Duel => self.duel(at, table),
            Action::DeclareCursor => {
                let view = self.sessions[at].view(&self.tables, table);
                self.next_name += 1;
                cursor::declare(
                    &mut self.draw,
                    &mut self.sessions[at],
                    self.record,
                    &view,
                    table,
                    self.next_name,
                )
            }
            Action::AdvanceCursor => {
                cursor::advance(&mut self.draw, &mut self.sessions[at], self.record, &self.tables)
            }
            Action::Savepoint => self.sessions[at].savepoint(self.record),
            Action::RollbackTo | Action::Release => {
                let depth =
                    self.sessions[at].transaction.as_ref().map_or(0, |t| t.savepoints.len());
                let depth = self.draw.below(depth as u64) as usize;
                self.sessions[at].leave_savepoint(
                    self.record,
                    depth,
                    matches!(action, Action::RollbackTo),
                )
            }
            Action::Commit => {
                let deferred = self.deferred();
                let changes = self.sessions[at].commit(self.record, &deferred, "COMMIT")?;
                self.apply(&changes.unwrap_or_default());
                Ok(())
            }
            Action::Rollback => self.sessions[at].rollback(self.record),
            Action::Prepare => {
                if self.prepared.len() >= 3 {
                    return Ok(());
                }
                self.next_name += 1;
                let gid = format!("dt{}", self.next_name);
                let deferred = self.deferred();
                let how = format!("PREPARE TRANSACTION '{gid}'");
                if let Some(changes) = self.sessions[at].commit(self.record, &deferred, &how)? {
                    self.prepared.push(Prepared { gid, changes });
                }
                Ok(())
            }
            Action::ResolvePrepared => self.resolve_prepared(),
        }
    }

    /// Runs a pair; in autocommit its DDL is committed at once.
    fn pair(&mut self, at: usize, statement: &Statement) -> Result<(), Failure> {
        let autocommit = self.sessions[at].transaction.is_none();
        if let Ending::Same { heap, .. } = self.sessions[at].pair(self.record, statement)?
            && heap.is_done()
            && autocommit
        {
            self.apply(&statement.changes);
        }
        Ok(())
    }

    fn vacuum(&mut self, at: usize, table: usize) -> Result<(), Failure> {
        let quiet =
            self.prepared.is_empty() && self.sessions.iter().all(|s| s.transaction.is_none());
        let mut view = self.tables[table].clone();
        // An open cursor may pin a page that VACUUM must have for itself, and it waits without a limit.
        let pinned = self.sessions.iter().any(|s| s.transaction.is_some() && !s.cursors.is_empty());
        if pinned && !maintenance::lazy_vacuum_never_waits(&view) {
            return Ok(());
        }
        let statement = if pinned {
            maintenance::lazy_vacuum(&view)
        } else {
            maintenance::vacuum(&mut self.draw, self.server, &mut view, table, quiet)
        };
        self.tables[table].next_object = view.next_object;
        let ending = self.sessions[at].pair(self.record, &statement)?;
        if let Ending::Same { heap, .. } = ending {
            match (heap.is_done(), statement.changes.first()) {
                (true, _) => self.apply(&statement.changes),
                // A failed CREATE INDEX CONCURRENTLY leaves an invalid index.
                (false, Some(Change::AddIndex(_, index))) => {
                    let drop =
                        Statement::scanning(format!("DROP INDEX IF EXISTS @@{}", index.name));
                    self.sessions[at].pair(self.record, &drop)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn duel(&mut self, at: usize, table: usize) -> Result<(), Failure> {
        let deferred = self.deferred();
        let view = self.tables[table].clone();
        if let (Some(helpers), Some(monitor)) = (&mut self.helpers, &mut self.monitor) {
            let used = duel::fight(
                &mut self.draw,
                &mut self.sessions[at],
                helpers,
                &mut monitor.client,
                self.record,
                &view,
                &deferred,
                self.limits,
            )?;
            self.tables[table].next_key = self.tables[table].next_key.max(used);
        }
        Ok(())
    }

    /// Commits or rolls back one prepared transaction.
    pub fn resolve_prepared(&mut self) -> Result<(), Failure> {
        let at = self.draw.below(self.prepared.len() as u64) as usize;
        let prepared = self.prepared.remove(at);
        let commit = self.draw.chance(65);
        let verb = if commit { "COMMIT" } else { "ROLLBACK" };
        let sql = format!("{verb} PREPARED '{}'", prepared.gid);
        self.monitor.as_mut().map(|m| m.must(self.record, &sql)).transpose()?;
        if commit {
            self.apply(&prepared.changes);
        }
        Ok(())
    }

    /// Compares one table in one session, and learns how many rows it has.
    fn compare_one(&mut self) -> Result<(), Failure> {
        let table = self.draw.below(self.tables.len() as u64) as usize;
        let at = self.draw.below(self.sessions.len() as u64) as usize;
        let view = self.sessions[at].view(&self.tables, table);
        compare::table(&mut self.draw, &mut self.sessions[at], self.record, &view, &self.drawn)?;
        if self.draw.chance(30) {
            let name = &self.tables[table].name;
            let sql = format!("SELECT count(*) FROM h_{name}");
            if let Some(monitor) = &mut self.monitor
                && let Some(rows) = monitor.run(self.record, &sql, None)?.rows().first()
            {
                self.tables[table].rows = rows.parse().unwrap_or(0);
            }
        }
        Ok(())
    }

    /// Stops or kills the server, reconnects, and compares everything.
    fn interrupt(&mut self) -> Result<(), Failure> {
        let victim = self.draw.below(self.sessions.len() as u64) as usize;
        crash::interrupt(
            &mut self.draw,
            self.cluster,
            &self.database,
            self.record,
            &self.sessions[victim],
            &mut self.tables,
            self.limits,
        )?;
        self.connect()?;
        for table in 0..self.tables.len() {
            let view = self.tables[table].clone();
            if let Some(monitor) = &mut self.monitor {
                compare::table(&mut self.draw, monitor, self.record, &view, &self.drawn)?;
                if self.amcheck {
                    compare::btrees(monitor, self.record, Side::Tested, &view.name)?;
                }
            }
        }
        Ok(())
    }
}
