//! The state of an epoch between queries: its tables, the session under test, and another session.
//!
//! Now and then the contents change: DML in autocommit, or in a transaction that stays open, so that the next queries
//! see rows that are not committed; DML of the other session, which they must not see until it commits, and not even
//! then from an older snapshot. The two sessions change different rows (by `id % 10`), so neither waits for the other.

use difftest::draw::Draw;

use crate::load::{append_sql, update_sql};
use crate::session::{Broken, Session};
use crate::table::{Table, on_side};

/// What exists while queries run.
pub struct World {
    pub main: Session,
    pub other: Session,
    pub tables: Vec<Table>,
    /// The session under test has a transaction open.
    pub main_open: bool,
    pub other_open: bool,
    /// The next unused `id`.
    next_id: u64,
}

/// Rows each session may change.
const MAIN_ROWS: &str = "id % 10 < 7";
const OTHER_ROWS: &str = "id % 10 >= 7";

impl World {
    /// A world without open transactions.
    pub fn new(main: Session, other: Session, tables: Vec<Table>) -> Self {
        Self { main, other, tables, main_open: false, other_open: false, next_id: 1_000_001 }
    }

    /// Changes the contents, or who sees them. Says what it did.
    pub fn mutate(&mut self, draw: &mut Draw) -> Result<String, Broken> {
        let mut did = Vec::new();
        if self.other_open {
            if draw.chance(60) {
                did.push(self.end(draw, false)?);
            }
        } else if draw.chance(60) {
            self.other.must("BEGIN")?;
            self.other_open = true;
            did.push(format!("other session: {}", self.change(draw, false)?));
        }
        if self.main_open {
            if draw.chance(50) {
                did.push(self.end(draw, true)?);
            } else {
                did.push(self.change(draw, true)?);
            }
        } else {
            match draw.below(4) {
                0 => {
                    let at = draw.below(self.tables.len() as u64) as usize;
                    // To cut a file it waits five seconds for the other session, and five for the TOAST table's. Settings are
                    // put in force anew after each change.
                    self.main.must("SET statement_timeout = '60s'")?;
                    for columnar in [false, true] {
                        let vacuum = format!("VACUUM @@{}", self.tables[at].name);
                        self.main.must(&on_side(&vacuum, columnar))?;
                    }
                    did.push(format!("VACUUM {}", self.tables[at].name));
                }
                1 => did.push(self.change(draw, true)?),
                2 => {
                    self.main.must("BEGIN ISOLATION LEVEL REPEATABLE READ")?;
                    self.main.must("SELECT 1 FROM pg_class LIMIT 1")?;
                    self.main_open = true;
                    did.push("BEGIN ISOLATION LEVEL REPEATABLE READ".into());
                }
                _ => {
                    self.main.must("BEGIN")?;
                    self.main_open = true;
                    did.push(format!("BEGIN; {}", self.change(draw, true)?));
                }
            }
        }
        Ok(did.join("; "))
    }

    /// Ends an open transaction.
    fn end(&mut self, draw: &mut Draw, main: bool) -> Result<String, Broken> {
        let how = *draw.pick(&["COMMIT", "COMMIT", "ROLLBACK"]);
        if main {
            self.main.must(how)?;
            self.main_open = false;
            return Ok(how.into());
        }
        self.other.must(how)?;
        self.other_open = false;
        Ok(format!("other session: {how}"))
    }

    /// Inserts, updates and deletes in every table.
    fn change(&mut self, draw: &mut Draw, main: bool) -> Result<String, Broken> {
        let mine = if main { MAIN_ROWS } else { OTHER_ROWS };
        for table in &self.tables {
            let session = if main { &mut self.main } else { &mut self.other };
            let mut templates = vec![
                format!(
                    "DELETE FROM @@{} WHERE id % {} = 3 AND {mine}",
                    table.name,
                    draw.weighted(&[(3, 97), (1, 11)])
                ),
                update_sql(draw, table, mine),
            ];
            if draw.chance(30) {
                templates.clear();
            }
            for template in &templates {
                for columnar in [false, true] {
                    session.must(&on_side(template, columnar))?;
                }
            }
            let (from, to) =
                (self.next_id, self.next_id + draw.weighted(&[(3, 5), (2, 60), (1, 900)]));
            self.next_id = to + 1;
            session.must(&append_sql(table, "h_", from, to, true))?;
            let threshold = draw.pick(&["0", "50", "4096"]);
            session.must(&format!(
                "SET pgcolumnar.bulk_threshold = {threshold};
                 INSERT INTO c_{0} SELECT * FROM h_{0} WHERE id BETWEEN {from} AND {to}",
                table.name
            ))?;
        }
        Ok("insert, update, delete".into())
    }

    /// Whether every pair holds the same rows for the session under test; the name of one that does not.
    pub fn differing_table(&mut self) -> Option<String> {
        for table in &self.tables {
            let digest = |prefix: &str| {
                format!(
                    "SELECT count(*) || ' ' || coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) FROM {prefix}{} t",
                    table.name
                )
            };
            let heap = self.main.run(&digest("h_"));
            let columnar = self.main.run(&digest("c_"));
            if heap.first_fields() != columnar.first_fields() || heap.first_fields().is_empty() {
                return Some(format!(
                    "{}: heap {:?} {}, columnar {:?} {}",
                    table.name,
                    heap.first_fields(),
                    heap.brief(),
                    columnar.first_fields(),
                    columnar.brief()
                ));
            }
        }
        None
    }
}
