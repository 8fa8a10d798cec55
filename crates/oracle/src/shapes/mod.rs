//! The shapes of queries, and what they share: sources, outputs, filters.
//!
//! Every shape gives an answer that does not depend on where rows lie: a multiset, or a sequence in an order that is
//! total over what is output.

mod basic;
mod group;
mod join;
mod nested;
mod order;
mod sets;
mod wrapped;

use std::rc::Rc;

use difftest::draw::Draw;

use crate::predicate;
use crate::query::{Part, Query};
use crate::scalar::{Col, Scope};
use crate::table::Table;
use crate::types::{Class, Ty, canonical};
use crate::values::word;

type Shape = fn(&mut Gen<'_>) -> Query;

const SHAPES: &[(u64, Shape)] = &[
    (14, basic::projection),
    (14, group::ungrouped),
    (16, group::grouped),
    (8, sets::sets),
    (3, sets::top_sets),
    (5, order::distinct),
    (4, order::distinct_on),
    (12, order::top),
    (6, order::top_groups),
    (9, join::join),
    (5, join::semi),
    (4, join::unequal),
    (4, nested::correlated),
    (3, nested::lateral),
    (4, nested::set_operation),
    (4, nested::window),
    (4, nested::common_table),
    (6, wrapped::prepared),
    (4, wrapped::cursor),
    (5, wrapped::guarded),
    (4, basic::system),
    (7, basic::risky),
];

/// Generates one query.
pub struct Gen<'a> {
    pub draw: Draw,
    pub tables: &'a [Table],
    next: u32,
}

/// A table in FROM.
#[derive(Clone, Debug)]
pub struct Source {
    pub scope: Scope,
    pub table: Table,
    /// What comes before SELECT.
    pub with: String,
    /// What stands in FROM.
    pub from: String,
}

/// Draws a query over the tables.
pub fn query(draw: Draw, tables: &[Table]) -> Query {
    let mut generator = Gen { draw, tables, next: 0 };
    let shape = generator.draw.weighted(SHAPES);
    shape(&mut generator)
}

/// The scope of a table under an alias.
pub fn scope(table: &Table, alias: &str) -> Scope {
    let mut cols = vec![
        Col { sql: format!("{alias}.id"), ty: Ty::Int4, wild: false, samples: ids(table) },
        Col { sql: format!("{alias}.k"), ty: Ty::Int4, wild: false, samples: ids(table) },
    ];
    cols.extend(table.columns.iter().map(|c| Col {
        sql: format!("{alias}.{}", c.name),
        ty: c.ty,
        wild: c.profile.wild,
        samples: c.samples.clone(),
    }));
    Scope { alias: alias.into(), cols }
}

fn ids(table: &Table) -> Rc<Vec<String>> {
    Rc::new((0..8).map(|i| (table.rows * i / 16 + 1).to_string()).collect())
}

impl Gen<'_> {
    /// A new id for a part of the query.
    pub fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// The main table most of the time.
    pub fn table(&mut self) -> Table {
        if self.draw.chance(50) {
            self.tables[0].clone()
        } else {
            self.draw.pick(self.tables).clone()
        }
    }

    /// A table as it is, or under a subquery that does not change its columns.
    pub fn source(&mut self, alias: &str) -> Source {
        let table = self.table();
        self.source_of(table, alias)
    }

    /// The same for a given table.
    pub fn source_of(&mut self, table: Table, alias: &str) -> Source {
        let scope = scope(&table, alias);
        let inner = format!("SELECT * FROM @@{} {alias}", table.name);
        let mut with = String::new();
        let from = match self.draw.below(16) {
            0 => format!("({inner} WHERE {}) {alias}", predicate::tree(&mut self.draw, &scope, 1)),
            1 => format!("({inner} OFFSET 0) {alias}"),
            2 => {
                let how = self.draw.pick(&["MATERIALIZED", "NOT MATERIALIZED"]);
                with = format!("WITH w AS {how} ({inner} WHERE {alias}.id % 3 <> 0) ");
                format!("w {alias}")
            }
            _ => format!("@@{} {alias}", table.name),
        };
        Source { scope, table, with, from }
    }

    /// A filter of none to three conjuncts.
    pub fn conjuncts(&mut self, scope: &Scope) -> Vec<Part> {
        let count = self.draw.weighted(&[(2, 0), (5, 1), (3, 2), (1, 3)]);
        (0..count)
            .map(|_| Part::new(self.id(), predicate::tree(&mut self.draw, scope, 2)))
            .collect()
    }

    /// A filter that keeps the answer small.
    pub fn narrow(&mut self, source: &Source) -> Vec<Part> {
        let mut parts = self.conjuncts(&source.scope);
        if source.table.rows > 1_000 && self.draw.chance(75) {
            parts.push(Part::new(0, predicate::share(&mut self.draw, &source.scope.alias, 20)));
        }
        parts
    }

    /// Expressions over one row, compared exactly.
    pub fn expressions(&mut self, scope: &Scope, most: u64) -> Vec<Part> {
        let count = 1 + self.draw.below(most);
        (0..count)
            .map(|_| {
                let value = if self.draw.chance(50) {
                    scope.plain(&mut self.draw)
                } else {
                    scope.value(&mut self.draw)
                };
                Part::new(self.id(), value.sql)
            })
            .collect()
    }

    /// Keys: the expression, its printable form with its class; both under one id.
    pub fn keys(&mut self, scope: &Scope, most: u64) -> Vec<(Part, Part)> {
        let count = 1 + self.draw.below(most);
        (0..count)
            .map(|_| {
                let value = if self.draw.chance(65) {
                    scope.plain(&mut self.draw)
                } else {
                    scope.value(&mut self.draw)
                };
                let id = self.id();
                let output = Part {
                    id,
                    sql: canonical(&value.sql, value.ty),
                    class: value.ty.representative(),
                };
                (Part::new(id, value.sql), output)
            })
            .collect()
    }

    /// ` ASC`, ` DESC`, with NULLS FIRST or LAST or neither.
    pub fn direction(&mut self) -> &'static str {
        word(
            &mut self.draw,
            &["", "", " DESC", " DESC", " NULLS FIRST", " DESC NULLS LAST", " ASC NULLS LAST"],
        )
    }

    /// `LIMIT n`, with OFFSET at times.
    pub fn limit(&mut self) -> String {
        let limit = self.draw.weighted(&[(1, 0), (2, 1), (4, 10), (2, 100), (1, 1_500)]);
        match self.draw.below(6) {
            0 => format!(" LIMIT {limit} OFFSET {}", self.draw.pick(&[1, 7, 200, 100_000])),
            1 => format!(" OFFSET {} LIMIT {limit}", self.draw.pick(&[0, 3])),
            2 => format!(" FETCH FIRST {limit} ROWS ONLY"),
            _ => format!(" LIMIT {limit}"),
        }
    }
}

/// An exact output that is always there.
pub fn fixed(sql: impl Into<String>) -> Part {
    Part { id: 0, sql: sql.into(), class: Class::Exact }
}
