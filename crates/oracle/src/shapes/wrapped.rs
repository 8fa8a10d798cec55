//! Prepared statements, cursors, row level security and security barriers.

use super::{Gen, group, order};
use crate::predicate;
use crate::query::{Part, Query, Wrapper};
use crate::types::Ty;

/// PREPARE with one to three parameters, EXECUTE with several lists of arguments.
pub fn prepared(g: &mut Gen<'_>) -> Query {
    // A plan is made generic at the sixth execution.
    let calls = g.draw.weighted(&[(6, 2), (1, 7)]);
    let mut query = match g.draw.below(3) {
        0 => group::ungrouped(g),
        1 => group::grouped(g),
        _ => super::basic::projection(g),
    };
    // The scope is rebuilt from the table in FROM: every one of these shapes calls it t.
    let Some(table) = self_table(g, &query) else {
        return query;
    };
    let scope = super::scope(&table, "t");
    let mut types = Vec::new();
    let mut lists: Vec<Vec<String>> = vec![Vec::new(); calls];
    let mut tests = Vec::new();
    for number in 1..=g.draw.range(1, 3) as usize {
        let (sql, ty, arguments) = predicate::parameter(&mut g.draw, &scope, number, calls);
        // A type modifier is not allowed where types are named.
        types.push(match ty {
            Ty::Decimal => "numeric",
            Ty::Varchar => "varchar",
            Ty::Char => "bpchar",
            ty => ty.name(),
        });
        tests.push(Part::new(0, sql));
        for (list, argument) in lists.iter_mut().zip(arguments) {
            list.push(argument);
        }
    }
    if !add_conjuncts(&mut query, tests) {
        return query;
    }
    query.shape = "prepared";
    query.wrapper = Wrapper::Prepared {
        types: types.join(", "),
        arguments: lists.into_iter().map(|l| l.join(", ")).collect(),
    };
    query
}

fn self_table(g: &Gen<'_>, query: &Query) -> Option<crate::table::Table> {
    let text = query.select(&std::collections::BTreeSet::new());
    g.tables.iter().find(|t| text.contains(&format!("@@{} t", t.name))).cloned()
}

fn add_conjuncts(query: &mut Query, tests: Vec<Part>) -> bool {
    for piece in &mut query.pieces {
        if let crate::query::Piece::List { before: " WHERE ", parts, .. } = piece {
            parts.extend(tests);
            return true;
        }
    }
    false
}

/// A cursor: over a total order forward and backward by parts; over none, all rows forward and backward.
pub fn cursor(g: &mut Gen<'_>) -> Query {
    if g.draw.chance(50) {
        let mut query = order::top(g);
        query.shape = "cursor";
        query.wrapper = Wrapper::Cursor {
            options: "SCROLL",
            fetches: [
                "FETCH FORWARD 5",
                "FETCH BACKWARD 3",
                "FETCH NEXT",
                "FETCH FORWARD 20",
                "FETCH PRIOR",
                "FETCH ABSOLUTE 4",
                "FETCH RELATIVE -2",
                "MOVE FORWARD ALL",
                "FETCH BACKWARD 4",
                "FETCH LAST",
                "FETCH FIRST",
            ]
            .map(String::from)
            .to_vec(),
        };
        return query;
    }
    let mut query = super::basic::projection(g);
    query.shape = "cursor";
    let (options, fetches): (&str, &[&str]) = match g.draw.below(2) {
        0 => ("SCROLL", &["FETCH FORWARD ALL", "FETCH BACKWARD ALL", "FETCH FORWARD ALL"]),
        _ => ("NO SCROLL", &["MOVE FORWARD 0", "FETCH FORWARD ALL", "FETCH FORWARD 1"]),
    };
    query.wrapper =
        Wrapper::Cursor { options, fetches: fetches.iter().map(|f| (*f).to_string()).collect() };
    query
}

/// A leaky function over rows that a policy or a barrier view hides: were it called for one, it would fail.
pub fn guarded(g: &mut Gen<'_>) -> Query {
    let Some(table) = g.tables.iter().find(|t| t.guarded).cloned() else {
        return super::basic::projection(g);
    };
    let scope = super::scope(&table, "t");
    let mut filter = g.conjuncts(&scope);
    let leak = *g.draw.pick(&[
        "oracle_leak(t.id)",
        "NOT oracle_leak(t.id)",
        "(t.k > 3 AND oracle_leak(t.id))",
    ]);
    filter.insert(0, Part::new(0, leak));
    let barrier = g.draw.chance(50);
    let from =
        if barrier { format!("@@{}_barrier", table.name) } else { format!("@@{}", table.name) };
    let mut outputs = g.expressions(&scope, 3);
    let mut query = Query::new("guarded").sql("SELECT ");
    if g.draw.chance(50) {
        outputs = vec![
            Part::new(g.id(), "count(*)"),
            Part::new(g.id(), "count(DISTINCT oracle_leak(t.id))"),
        ];
    }
    query = query.outputs(outputs).sql(format!(" FROM {from} t")).filter(filter);
    if !barrier {
        query.wrapper = Wrapper::Role;
    }
    query
}
