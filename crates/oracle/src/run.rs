//! The run: epochs of fresh tables, in each a sequence of queries with changes of the contents between them.
//!
//! Chance has one stream for each purpose, so that a query is named by seed, epoch and number alone.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use difftest::draw::Draw;

use crate::arms::{self, Arm, Difference};
use crate::compare::{Verdict, judge};
use crate::load;
use crate::options::Options;
use crate::query::Query;
use crate::session::{Broken, Outcome, Session, clip};
use crate::settings;
use crate::shapes;
use crate::shrink::shrink;
use crate::table::{Table, on_side};
use crate::tally::Tally;
use crate::world::World;

/// Queries between two changes of the contents.
const STRETCH: u64 = 50;
/// Queries under the same settings.
const SAME_SETTINGS: u64 = 8;
/// Time on heap from which on other arms may run into the statement_timeout.
const SLOW: Duration = Duration::from_secs(1);

/// What a stream of chance is for.
#[derive(Clone, Copy)]
enum Purpose {
    Tables,
    Mutation(u64),
    Settings(u64),
    Query(u64),
}

fn stream(options: &Options, epoch: u64, purpose: Purpose) -> Draw {
    let (kind, number) = match purpose {
        Purpose::Tables => (0, 0),
        Purpose::Mutation(n) => (1, n),
        Purpose::Settings(n) => (2, n),
        Purpose::Query(n) => (3, n),
    };
    Draw::new(options.seed, epoch << 32 | number << 2 | kind)
}

/// A run.
pub struct Run<'a> {
    pub options: &'a Options,
    pub tally: Tally,
    began: Instant,
}

/// How an epoch, or a query, ended.
pub enum Ending {
    Finished,
    /// The server broke off; a new epoch may go on.
    Lost,
}

impl<'a> Run<'a> {
    /// A run that has not begun.
    pub fn new(options: &'a Options) -> Self {
        Self { options, tally: Tally::default(), began: Instant::now() }
    }

    /// Seconds since the run was made.
    pub fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn over(&self) -> bool {
        self.tally.queries >= self.options.queries
            || self.began.elapsed() >= Duration::from_secs(self.options.seconds)
    }

    /// Runs epochs until time or queries are used up.
    pub fn epochs(&mut self) -> Result<(), Broken> {
        let first = self.options.only.map_or(self.options.first_epoch, |(epoch, _)| epoch);
        for epoch in first.. {
            let mut clock = Instant::now();
            let mut world = self.open(epoch)?;
            self.lap(&mut clock, 3);
            let ending = self.epoch(&mut world, epoch)?;
            match ending {
                Ending::Finished => self.close(world, epoch)?,
                Ending::Lost => self.wait_for_server()?,
            }
            if self.over() || self.options.only.is_some() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// A new database with the tables of the epoch.
    pub fn open(&mut self, epoch: u64) -> Result<World, Broken> {
        let connect = &self.options.connect;
        let database = self.database(epoch);
        let mut admin = Session::open(connect, "postgres")?;
        admin.must(&format!("DROP DATABASE IF EXISTS {database} (FORCE)"))?;
        admin.must(&format!("CREATE DATABASE {database}"))?;
        let mut main = Session::open(connect, &database)?;
        let icu = load::prepare_database(&mut main)?;
        let mut draw = stream(self.options, epoch, Purpose::Tables);
        let mut tables: Vec<Table> =
            (0..self.options.tables).map(|n| Table::draw(&mut draw, n, icu)).collect();
        for table in &mut tables {
            load::make(&mut main, &mut draw, table)?;
        }
        let other = Session::open(connect, &database)?;
        Ok(World::new(main, other, tables))
    }

    fn database(&self, epoch: u64) -> String {
        format!("oracle_{}_{epoch}", self.options.seed)
    }

    /// Drops what the epoch made.
    pub fn close(&mut self, world: World, epoch: u64) -> Result<(), Broken> {
        drop(world);
        let mut admin = Session::open(&self.options.connect, "postgres")?;
        admin.must(&format!("DROP DATABASE IF EXISTS {} (FORCE)", self.database(epoch))).map(|_| ())
    }

    /// The queries of an epoch, or the only one.
    fn epoch(&mut self, world: &mut World, epoch: u64) -> Result<Ending, Broken> {
        for number in 0..self.options.epoch_queries {
            if self.over() {
                break;
            }
            if number > 0 && number.is_multiple_of(STRETCH) {
                let mut draw = stream(self.options, epoch, Purpose::Mutation(number));
                let mut clock = Instant::now();
                let did = match world.mutate(&mut draw) {
                    Ok(did) => did,
                    Err(Broken(why)) => {
                        self.tally.differences += 1;
                        println!(
                            "DIFFERENCE: a change of the contents failed, epoch {epoch}, query {number}: {why}"
                        );
                        return Ok(Ending::Lost);
                    }
                };
                if self.options.show {
                    println!("-- {epoch}:{number} {did}");
                }
                let differing = world.differing_table();
                self.lap(&mut clock, 3);
                if let Some(what) = differing {
                    self.tally.differences += 1;
                    println!(
                        "DIFFERENCE: the tables differ, epoch {epoch}, query {number}, after {did}\n  {what}"
                    );
                }
            }
            let wanted = self.options.only.is_none_or(|(_, only)| only == number);
            if wanted && let Ending::Lost = self.one(world, epoch, number)? {
                return Ok(Ending::Lost);
            }
            if self.options.only.is_some_and(|(_, only)| only <= number) {
                break;
            }
        }
        Ok(Ending::Finished)
    }

    /// One query on all arms.
    pub fn one(&mut self, world: &mut World, epoch: u64, number: u64) -> Result<Ending, Broken> {
        let stretch = number / SAME_SETTINGS;
        let settings = settings::draw(&mut stream(self.options, epoch, Purpose::Settings(stretch)));
        // A transaction that ended took settings with it, so they are put in force after every change too.
        if number.is_multiple_of(SAME_SETTINGS)
            || number.is_multiple_of(STRETCH)
            || self.options.only.is_some()
        {
            world.main.must(&settings)?;
        }
        let draw = stream(self.options, epoch, Purpose::Query(number));
        let query = shapes::query(draw, &world.tables);
        let whole = BTreeSet::new();
        if self.options.show || self.options.only.is_some() {
            println!("-- {epoch}:{number}\n{}", query.batch(&whole, true, None));
        }
        let rules = query.rules(&whole);
        let mut clock = Instant::now();
        let heap = arms::run(world, &query, &whole, Arm::Heap);
        let heap_time = self.lap(&mut clock, 0);
        let (plan, vectorized) = arms::explained(world, &query);
        self.lap(&mut clock, 1);
        let plain = arms::run(world, &query, &whole, Arm::Plain);
        self.lap(&mut clock, 2);
        self.tally.queries += 1;
        self.tally.plan(query.shape, plan.as_deref());
        match &heap {
            Outcome::Done(sets) => {
                self.tally.rows += sets.iter().map(|s| s.len() as u64).sum::<u64>()
            }
            Outcome::Failed { state, message } => self.tally.error(state, message),
            Outcome::Lost(_) => {}
        }
        if self.options.only.is_some() {
            println!(
                "heap: {}\nvectorized: {}\nplain: {}",
                heap.brief(),
                vectorized.brief(),
                plain.brief()
            );
            println!("{}", arms::plan(world, &query, &whole, Arm::Vectorized));
        }
        // Where workers cost nothing, a nested loop may start them anew for each row. A nested loop that is long on heap may take
        // a few times as long elsewhere. What is quick on heap is to end in time.
        let slow = settings.contains("parallel_setup_cost = '0'") || heap_time >= SLOW;
        let verdict = |arm: &Outcome| match arm {
            Outcome::Failed { state, .. } if state == "57014" && slow => Verdict::Inconclusive,
            _ => judge(&heap, arm, &rules),
        };
        let verdicts = [(Arm::Vectorized, verdict(&vectorized)), (Arm::Plain, verdict(&plain))];
        let has = |wanted: &Verdict| verdicts.iter().any(|(_, v)| v == wanted);
        self.tally.equal_errors += u64::from(has(&Verdict::SameError));
        self.tally.free_errors += u64::from(has(&Verdict::FreeError));
        self.tally.inconclusive += u64::from(has(&Verdict::Inconclusive));
        let lost = [&heap, &vectorized, &plain].iter().any(|o| matches!(o, Outcome::Lost(_)));
        let difference = verdicts.into_iter().find_map(|(arm, verdict)| match verdict {
            Verdict::Different(what) => Some(Difference { arm, what }),
            _ => None,
        });
        if let Some(difference) = difference {
            self.tally.differences += 1;
            if self.tally.differences <= self.options.reports && !self.options.self_test {
                self.report(world, &query, (epoch, number), &settings, &difference, lost);
            }
        }
        Ok(if lost { Ending::Lost } else { Ending::Finished })
    }

    /// Adds the time since `clock` to the seconds of `what`.
    fn lap(&mut self, clock: &mut Instant, what: usize) -> Duration {
        let elapsed = clock.elapsed();
        self.tally.seconds[what] += elapsed.as_secs_f64();
        *clock = Instant::now();
        elapsed
    }

    fn report(
        &mut self,
        world: &mut World,
        query: &Query,
        (epoch, number): (u64, u64),
        settings: &str,
        difference: &Difference,
        lost: bool,
    ) {
        let (dropped, what) = if lost {
            (BTreeSet::new(), difference.what.clone())
        } else {
            shrink(world, query, difference.arm, &difference.what)
        };
        let whole = BTreeSet::new();
        println!("DIFFERENCE: {} ({})", difference.arm.name(), query.shape);
        println!(
            "  again: --seed {} --only-query {epoch}:{number}{}",
            self.options.seed,
            self.tables_option()
        );
        println!(
            "  transaction open: {}, of another session: {}",
            world.main_open, world.other_open
        );
        println!("  settings: {settings}");
        println!("  query: {}", clip(&query.batch(&whole, true, None), 6_000));
        if !dropped.is_empty() {
            println!("  shrunk: {}", clip(&query.batch(&dropped, true, None), 6_000));
        }
        println!("  {what}");
        if !lost {
            let plan = arms::plan(world, query, &dropped, difference.arm);
            println!("  plan:\n    {}", clip(&plan, 6_000).replace('\n', "\n    "));
        }
        let text = query.batch(&whole, true, None);
        for table in
            world.tables.iter().filter(|t| text.contains(&on_side(&format!("@@{}", t.name), true)))
        {
            println!(
                "  {}: {} rows, row_group_rows {}, vector_rows {}, bulk_threshold {}, encoding {}, {:?}",
                table.name,
                table.rows,
                table.row_group_rows,
                table.vector_rows,
                table.bulk_threshold,
                table.encoding,
                table.load
            );
        }
    }

    fn tables_option(&self) -> String {
        match self.options.tables {
            4 => String::new(),
            n => format!(" --tables {n}"),
        }
    }

    /// After a crash the server recovers; if it does not come back, the run ends.
    fn wait_for_server(&self) -> Result<(), Broken> {
        let began = Instant::now();
        loop {
            match Session::open(&self.options.connect, "postgres") {
                Ok(_) => return Ok(()),
                Err(broken) if began.elapsed() > Duration::from_secs(60) => return Err(broken),
                Err(_) => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Purpose, stream};
    use crate::options::Options;
    use crate::shapes;
    use crate::table::Table;

    fn options() -> Options {
        Options::parse(["--connect".to_string(), "x".to_string()].into_iter()).expect("valid")
    }

    #[test]
    fn a_query_is_named_by_seed_epoch_and_number() {
        let options = options();
        let queries = || {
            let mut draw = stream(&options, 3, Purpose::Tables);
            let tables: Vec<Table> = (0..3).map(|n| Table::draw(&mut draw, n, true)).collect();
            (0..300)
                .map(|n| {
                    let query = shapes::query(stream(&options, 3, Purpose::Query(n)), &tables);
                    query.batch(&std::collections::BTreeSet::new(), true, None)
                })
                .collect::<Vec<_>>()
        };
        let (first, second) = (queries(), queries());
        assert_eq!(first, second);
        assert!(first.iter().all(|q| !q.contains("@@")));
        let distinct: std::collections::BTreeSet<&String> = first.iter().collect();
        assert!(distinct.len() > 290);
    }

    #[test]
    fn every_shape_is_drawn_and_renders_without_any_part() {
        let options = options();
        let mut draw = stream(&options, 1, Purpose::Tables);
        let tables: Vec<Table> = (0..4).map(|n| Table::draw(&mut draw, n, true)).collect();
        let mut seen = std::collections::BTreeSet::new();
        for n in 0..2_000 {
            let query = shapes::query(stream(&options, 1, Purpose::Query(n)), &tables);
            seen.insert(query.shape);
            let all = query.droppable().into_iter().collect();
            let text = query.batch(&all, false, None);
            assert!(text.contains("SELECT ") && !text.contains("WHERE  AND"), "{text}");
        }
        assert!(seen.len() >= 19, "{seen:?}");
    }
}
