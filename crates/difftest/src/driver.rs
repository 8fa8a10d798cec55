//! The run: epochs of fresh tables, and a loop of steps that ends each epoch with a thorough comparison.

use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::compare::{self, DrawnSettings};
use crate::ddl;
use crate::dml::Limits;
use crate::draw::Draw;
use crate::duel::Helpers;
use crate::model::{Change, Server, Table};
use crate::options::Options;
use crate::outcome;
use crate::record::{Failure, Record};
use crate::schema;
use crate::selftest::Injection;
use crate::session::Session;
use crate::sqltype;
use crate::statement::Side;

/// A prepared transaction and what it does to the model when it commits.
pub struct Prepared {
    pub gid: String,
    pub changes: Vec<Change>,
}

/// Everything one epoch works with.
pub struct Driver<'a> {
    pub cluster: &'a Cluster,
    pub options: &'a Options,
    pub record: &'a mut Record,
    pub draw: Draw,
    pub server: Server,
    pub database: String,
    pub tables: Vec<Table>,
    pub sessions: Vec<Session>,
    /// `None` for a moment while the server restarts.
    pub helpers: Option<Helpers>,
    /// Never in a transaction: maintenance and amcheck.
    pub monitor: Option<Session>,
    pub prepared: Vec<Prepared>,
    pub limits: Limits,
    pub drawn: DrawnSettings,
    pub amcheck: bool,
    pub next_name: u64,
    /// A fault to put into the tested side, once, for the self-test.
    pub injection: Option<Injection>,
}

/// Runs epochs until the time or the steps are used up.
pub fn run(
    options: &Options,
    cluster: &Cluster,
    record: &mut Record,
    mut injection: Option<Injection>,
) -> Result<(), Failure> {
    for epoch in 0..options.schemas {
        record.step = epoch;
        Driver::open(options, cluster, record, epoch)?.close()?;
    }
    if options.schemas > 0 {
        return Ok(());
    }
    let end = Instant::now() + Duration::from_secs(options.seconds);
    for epoch in options.first_epoch.. {
        let mut driver = Driver::open(options, cluster, record, epoch)?;
        driver.injection = injection.take();
        let until = driver.record.step + driver.draw.range(150, 500) as u64;
        while Instant::now() < end && driver.record.step < until.min(options.steps) {
            driver.record.step += 1;
            driver.step()?;
            driver.inject()?;
        }
        injection = driver.injection.take();
        driver.close()?;
        if Instant::now() >= end || record.step >= options.steps {
            break;
        }
    }
    Ok(())
}

impl<'a> Driver<'a> {
    /// A new database with the tables of the epoch.
    fn open(
        options: &'a Options,
        cluster: &'a Cluster,
        record: &'a mut Record,
        epoch: u64,
    ) -> Result<Self, Failure> {
        let mut draw = Draw::new(options.seed, epoch + 1);
        let database = format!("epoch{epoch}");
        record.comment(&format!("seed {} epoch {epoch}", options.seed));
        let mut admin = Session::new(0, cluster.connect("postgres")?)?;
        admin.must(record, &format!("CREATE DATABASE {database}"))?;
        let mut monitor = Session::new(0, cluster.connect(&database)?)?;
        let (server, amcheck, drawn) = prepare_database(&mut monitor, record, options)?;
        let count = draw.range(1, 4) as usize;
        let tables = schema::tables(&mut draw, server, count);
        for table in &tables {
            for template in ddl::table_ddl(table, &tables) {
                for side in [Side::Heap, Side::Tested] {
                    monitor.must(record, &side.sql(&template, &options.am))?;
                }
            }
        }
        let rows = *draw.pick(&[2_000, 20_000, 20_000, 80_000]);
        let limits =
            Limits { rows, bulk: rows.min(30_000), copy: rows.min(50_000), major: server.major };
        let mut driver = Self {
            cluster,
            options,
            record,
            draw,
            server,
            database,
            tables,
            sessions: Vec::new(),
            helpers: None,
            monitor: Some(monitor),
            prepared: Vec::new(),
            limits,
            drawn,
            amcheck,
            next_name: 0,
            injection: None,
        };
        driver.connect()?;
        Ok(driver)
    }

    /// (Re)connects every session.
    pub fn connect(&mut self) -> Result<(), Failure> {
        let count = if self.sessions.is_empty() {
            self.draw.range(2, 4) as usize
        } else {
            self.sessions.len()
        };
        self.sessions.clear();
        for number in 1..=count {
            self.sessions.push(Session::new(number, self.cluster.connect(&self.database)?)?);
        }
        self.monitor = Some(Session::new(0, self.cluster.connect(&self.database)?)?);
        self.helpers = Some(Helpers::new(
            self.cluster.connect(&self.database)?,
            self.cluster.connect(&self.database)?,
        )?);
        Ok(())
    }

    /// Applies committed DDL to the model.
    pub fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            change.apply(&mut self.tables);
        }
    }

    /// Names of the deferred constraints, without prefix.
    pub fn deferred(&self) -> Vec<String> {
        let keys = self
            .tables
            .iter()
            .filter(|t| t.key.is_some_and(|k| k.deferrable))
            .map(|t| format!("{}_key", t.name));
        let references = self
            .tables
            .iter()
            .filter(|t| t.reference.as_ref().is_some_and(|r| r.deferrable))
            .map(|t| format!("{}_fk", t.name));
        keys.chain(references).collect()
    }

    /// Compares every table in every plan, and every btree, after all transactions have ended.
    fn close(mut self) -> Result<(), Failure> {
        let deferred = self.deferred();
        for at in 0..self.sessions.len() {
            if self.sessions[at].transaction.is_some() {
                let session = &mut self.sessions[at];
                if self.draw.chance(60) {
                    if let Some(changes) = session.commit(self.record, &deferred, "COMMIT")? {
                        self.apply(&changes);
                    }
                } else {
                    session.rollback(self.record)?;
                }
            }
        }
        while !self.prepared.is_empty() {
            self.resolve_prepared()?;
        }
        let tables = self.tables.clone();
        let Some(mut monitor) = self.monitor.take() else {
            return Ok(());
        };
        for view in &tables {
            compare::thorough(&mut self.draw, &mut monitor, self.record, view, &self.drawn)?;
            if self.amcheck {
                compare::btrees(&mut monitor, self.record, Side::Heap, &view.name)?;
                compare::btrees(&mut monitor, self.record, Side::Tested, &view.name)?;
            }
        }
        let alarms = self.cluster.alarming_lines();
        if !alarms.is_empty() {
            return Err(Failure::new("the server's log has alarming lines", alarms.join("\n")));
        }
        self.sessions.clear();
        self.helpers = None;
        drop(monitor);
        let mut admin = Session::new(0, self.cluster.connect("postgres")?)?;
        admin.must(self.record, &format!("DROP DATABASE {} (FORCE)", self.database))?;
        Ok(())
    }
}

/// Extensions and support objects; what the server can do.
fn prepare_database(
    monitor: &mut Session,
    record: &mut Record,
    options: &Options,
) -> Result<(Server, bool, DrawnSettings), Failure> {
    let version =
        monitor.must(record, "SELECT current_setting('server_version_num')::int4 / 10000")?;
    let major = version.rows().first().and_then(|v| v.parse().ok()).unwrap_or(0);
    let icu = !monitor
        .must(record, "SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu'")?
        .rows()
        .is_empty();
    let mut drawn = options.draw.clone();
    if options.am != "heap" {
        monitor.must(record, &format!("CREATE EXTENSION IF NOT EXISTS {}", options.am))?;
        monitor.must(record, &format!("LOAD '{}'", options.am))?;
        // Every on/off setting of the extension is drawn for each comparison.
        let names = monitor.must(
            record,
            &format!("SELECT name FROM pg_settings WHERE name LIKE '{}.%' AND vartype = 'bool' AND context IN ('user', 'superuser')", options.am),
        )?;
        for name in names.rows() {
            if !drawn.iter().any(|(n, _)| n == name) {
                drawn.push((name.clone(), vec!["on".into(), "off".into()]));
            }
        }
    }
    let amcheck =
        outcome::execute(&mut monitor.client, "CREATE EXTENSION IF NOT EXISTS amcheck", None)
            .is_done();
    for sql in sqltype::SUPPORT_OBJECTS {
        if icu || !sql.contains("icu") {
            monitor.must(record, sql)?;
        }
    }
    if options.refuses_brin {
        assert_brin_refused(monitor, record, &options.am)?;
    }
    let brin = !options.refuses_brin;
    Ok((Server { major, icu, brin }, amcheck, drawn))
}

/// The refusal that `--refuses brin` announces must be real: once BRIN works, it has to be tested.
fn assert_brin_refused(
    monitor: &mut Session,
    record: &mut Record,
    am: &str,
) -> Result<(), Failure> {
    monitor.must(record, &format!("CREATE TABLE dt_brin (a int4) USING {am}"))?;
    let outcome = monitor.run(record, "CREATE INDEX ON dt_brin USING brin (a)", None)?;
    if outcome.state() != "0A000" {
        return Err(Failure::new(
            "BRIN is not refused, yet --refuses brin says so",
            outcome.brief(),
        ));
    }
    monitor.must(record, "DROP TABLE dt_brin").map(|_| ())
}
