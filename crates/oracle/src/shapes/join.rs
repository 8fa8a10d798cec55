//! Joins of two tables.

use super::{Gen, Source, fixed};
use crate::aggregate;
use crate::predicate;
use crate::query::{Part, Query};
use crate::values::word;

/// Two sources whose CTEs do not clash.
fn pair(g: &mut Gen<'_>) -> (Source, Source) {
    let left = g.source("t");
    let table = g.table();
    let scope = super::scope(&table, "u");
    let from = format!("@@{} u", table.name);
    (left, Source { scope, table, with: String::new(), from })
}

/// An equality of which each row meets few others.
fn equality(g: &mut Gen<'_>) -> &'static str {
    word(
        &mut g.draw,
        &[
            "t.k = u.k",
            "t.id = u.id",
            "t.k = u.id",
            "t.id::int8 = u.k",
            "t.id = u.k AND t.k <> u.id",
        ],
    )
}

/// Inner and outer joins by an equality.
pub fn join(g: &mut Gen<'_>) -> Query {
    let (left, right) = pair(g);
    let kind = *g.draw.pick(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
    let mut on = vec![fixed(equality(g))];
    // A full join takes nothing but what can be hashed or merged, unless it is an equality with more.
    if kind != "FULL JOIN" && g.draw.chance(30) {
        let test = predicate::tree(&mut g.draw, &right.scope, 1);
        on.push(Part::new(g.id(), test));
    }
    let mut filter = g.conjuncts(&left.scope);
    if g.draw.chance(40) {
        filter.push(Part::new(g.id(), predicate::tree(&mut g.draw, &right.scope, 1)));
    }
    let mut query = Query::new("join").sql(format!("{}SELECT ", left.with));
    let group = g.draw.chance(25).then(|| g.keys(&right.scope, 1).remove(0));
    let outputs = if group.is_some() || g.draw.chance(50) {
        let mut outputs: Vec<Part> = group.iter().map(|(_, output)| output.clone()).collect();
        for side in [&left, &right] {
            let id = g.id();
            outputs.push(aggregate::draw(&mut g.draw, &side.scope, id, false));
        }
        outputs.push(fixed("count(*)"));
        outputs
    } else {
        if left.table.rows > 2_500 {
            filter.push(fixed(format!("COALESCE(t.id, u.id) % 5 = {}", g.draw.below(5))));
        }
        let mut outputs = g.expressions(&left.scope, 2);
        outputs.extend(g.expressions(&right.scope, 2));
        outputs
    };
    query = query
        .outputs(outputs)
        .sql(format!(" FROM {} {kind} {} ON ", left.from, right.from))
        .list("", " AND ", on)
        .filter(filter);
    match group {
        Some((key, _)) => query.list(" GROUP BY ", ", ", vec![key]),
        None => query,
    }
}

/// Semi and anti joins.
pub fn semi(g: &mut Gen<'_>) -> Query {
    let (left, right) = pair(g);
    let inner = predicate::tree(&mut g.draw, &right.scope, 1);
    let by = equality(g);
    let test = match g.draw.below(6) {
        0 => format!("t.k IN (SELECT u.k FROM {} WHERE {inner})", right.from),
        1 => format!("EXISTS (SELECT 1 FROM {} WHERE {by} AND {inner})", right.from),
        2 | 3 => format!("NOT EXISTS (SELECT 1 FROM {} WHERE {by} AND {inner})", right.from),
        // A subplan that is not hashed reads the table for every row, so it is short.
        4 => format!("t.k NOT IN (SELECT u.k FROM {} WHERE u.id <= 60 AND {inner})", right.from),
        _ => format!("(t.id, t.k) IN (SELECT u.id, u.k FROM {} WHERE {inner})", right.from),
    };
    let mut filter = g.conjuncts(&left.scope);
    if test.contains("NOT IN") {
        filter.push(Part::new(0, "t.id <= 400"));
    }
    filter.push(Part::new(g.id(), test));
    let outputs = if g.draw.chance(50) {
        let id = g.id();
        vec![fixed("count(*)"), aggregate::draw(&mut g.draw, &left.scope, id, false)]
    } else {
        g.expressions(&left.scope, 3)
    };
    Query::new("semi join")
        .sql(format!("{}SELECT ", left.with))
        .outputs(outputs)
        .sql(format!(" FROM {}", left.from))
        .filter(filter)
}

/// Joins by anything but an equality, of few rows.
pub fn unequal(g: &mut Gen<'_>) -> Query {
    let (left, right) = pair(g);
    let kind = g.draw.pick(&["JOIN", "LEFT JOIN"]);
    let at = g.draw.below(left.table.rows + 1);
    let column = left.scope.column(&mut g.draw);
    let same = right.scope.column_where(&mut g.draw, |c| c.ty == column.ty);
    let on = match same {
        Some(other) => {
            format!("{} {} {}", column.sql, g.draw.pick(&["<", ">=", "=", "<>"]), other.sql)
        }
        None => "t.id < u.id".into(),
    };
    let mut outputs = g.expressions(&left.scope, 2);
    outputs.extend(g.expressions(&right.scope, 1));
    let mut filter = g.conjuncts(&left.scope);
    filter.push(fixed(format!("t.id BETWEEN {at} AND {}", at + 12)));
    Query::new("unequal join")
        .sql(format!("{}SELECT ", left.with))
        .outputs(outputs)
        .sql(format!(" FROM {} {kind} {} ON {on} AND u.id % 40 < 2", left.from, right.from))
        .filter(filter)
}
