//! Pairs of tables: `h_NAME` is heap, `c_NAME` is columnar, the rows are the same.

use std::rc::Rc;

use difftest::draw::Draw;

use crate::types::{ALL, Ty};
use crate::values::{Profile, series, word};

/// A column beside `id` (unique) and `k` (for joins).
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub ty: Ty,
    pub profile: Profile,
    /// Distinguishes the random numbers of columns.
    pub salt: u64,
    /// Added by ALTER TABLE, with a default, when the table already had rows.
    pub added: bool,
    /// Some of its values, as text.
    pub samples: Rc<Vec<String>>,
}

/// How rows reach the columnar table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    InsertSelect,
    Copy,
}

/// How the columnar table of a pair is partitioned. The heap table is not.
#[derive(Clone, Copy, Debug)]
pub struct Partitions {
    pub count: u64,
    /// By hash of `id` instead of by its ranges.
    pub hash: bool,
    /// The second one is on heap.
    pub heap: bool,
    /// The last one has its columns in reverse.
    pub reversed: bool,
}

/// A pair of tables.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: String,
    /// Rows after the load.
    pub rows: u64,
    pub columns: Vec<Column>,
    /// A column that is dropped before the load, when there are rows already.
    pub dropped: bool,
    pub row_group_rows: u64,
    pub vector_rows: u64,
    pub bulk_threshold: u64,
    pub load: Load,
    pub encoding: &'static str,
    pub indexed: bool,
    pub analyzed: bool,
    /// Rows with id % 5 = 0 are hidden by row level security and by a security barrier view.
    pub guarded: bool,
    pub partitions: Option<Partitions>,
}

impl Table {
    /// Draws a pair.
    pub fn draw(draw: &mut Draw, number: usize, icu: bool) -> Self {
        let rows = match number {
            0 => draw.weighted(&[(10, 2_000), (5, 4_000), (2, 9_000), (1, 20_000)]),
            _ => draw.weighted(&[(1, 0), (3, 60), (4, 600), (4, 2_000), (1, 4_000)]),
        };
        let count = draw.range(6, 14);
        let altered = draw.chance(35);
        let columns = (0..count)
            .map(|i| {
                let ty = loop {
                    let ty = draw.weighted(ALL);
                    if icu || !ty.needs_icu() {
                        break ty;
                    }
                };
                Column {
                    name: format!("c{i}"),
                    ty,
                    profile: Profile::draw(draw),
                    salt: 1_000 * number as u64 + 10 * i as u64,
                    added: altered && draw.chance(25),
                    samples: Rc::default(),
                }
            })
            .collect();
        Self {
            name: format!("t{number}"),
            rows,
            columns,
            dropped: altered,
            row_group_rows: draw.weighted(&[(2, 256), (3, 700), (2, 2_048), (2, 122_880)]),
            vector_rows: draw.weighted(&[(3, 64), (2, 200), (2, 1_024), (1, 8_192)]),
            bulk_threshold: draw.weighted(&[(4, 0), (2, 100), (1, 4_096)]),
            load: if draw.chance(40) { Load::Copy } else { Load::InsertSelect },
            encoding: word(
                draw,
                &[
                    "auto",
                    "auto",
                    "auto",
                    "auto",
                    "plain",
                    "run_length",
                    "dictionary",
                    "bit_packed",
                ],
            ),
            indexed: draw.chance(50),
            analyzed: draw.chance(80),
            guarded: draw.chance(40),
            partitions: draw.chance(30).then(|| Partitions {
                count: draw.range(1, 5) as u64,
                hash: draw.chance(30),
                heap: draw.chance(30),
                reversed: draw.chance(30),
            }),
        }
    }

    /// The names of the columnar tables that hold rows.
    pub fn leaves(&self) -> Vec<String> {
        match self.partitions {
            None => vec![format!("c_{}", self.name)],
            Some(partitions) => (0..partitions.count)
                .filter(|number| !(partitions.heap && *number == 1))
                .map(|number| format!("c_{}_p{number}", self.name))
                .collect(),
        }
    }

    /// How many values `k` has: about two rows share each.
    pub fn key_range(&self) -> u64 {
        (self.rows / 2).max(5)
    }

    /// The columns with their expressions over the row number `g`, comma-separated.
    pub fn select_list(&self, g: &str, all: bool) -> String {
        let mut list = vec![
            format!("({g})::int4"),
            format!(
                "NULLIF((hashint8extended({g}, 5) & 9223372036854775807) % {}, 0)::int4",
                self.key_range()
            ),
        ];
        for column in self.columns.iter().filter(|c| all || !c.added) {
            list.push(series(column.ty, column.profile, column.salt, g));
        }
        list.join(", ")
    }

    /// The names of the columns of [`Table::select_list`].
    pub fn column_list(&self, all: bool) -> String {
        let mut list = vec!["id", "k"];
        list.extend(self.columns.iter().filter(|c| all || !c.added).map(|c| c.name.as_str()));
        list.join(", ")
    }
}

/// A template for one side: `@@` is the prefix of the tables.
pub fn on_side(template: &str, columnar: bool) -> String {
    template.replace("@@", if columnar { "c_" } else { "h_" })
}
