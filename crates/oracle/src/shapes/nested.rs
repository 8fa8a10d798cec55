//! Subqueries, set operations, window functions, common table expressions.

use super::{Gen, fixed, scope};
use crate::aggregate;
use crate::predicate;
use crate::query::{Part, Query};
use crate::types::canonical;

/// Correlated scalar subqueries in the outputs and in the filter.
pub fn correlated(g: &mut Gen<'_>) -> Query {
    let (left, right) = (g.table(), g.table());
    let (outer, inner) = (scope(&left, "t"), scope(&right, "u"));
    let at = g.draw.below(left.rows + 1);
    let id = g.id();
    let aggregate = aggregate::draw(&mut g.draw, &inner, id, false);
    let test = predicate::atom(&mut g.draw, &inner);
    let by = *g.draw.pick(&["u.k = t.k", "u.id = t.k", "u.id < t.id AND u.k > t.k"]);
    let mut outputs = vec![
        Part {
            id: g.id(),
            sql: format!(
                "(SELECT {} FROM @@{} u WHERE {by} AND {test})",
                aggregate.sql, right.name
            ),
            class: aggregate.class,
        },
        fixed("t.id"),
    ];
    outputs.extend(g.expressions(&outer, 2));
    let mut filter = g.conjuncts(&outer);
    filter.push(fixed(format!("t.id BETWEEN {at} AND {}", at + 12)));
    if g.draw.chance(40) {
        let test = format!(
            "t.k >= (SELECT min(u.k) FROM @@{} u WHERE u.id = t.k OR u.id = 5)",
            right.name
        );
        filter.push(Part::new(g.id(), test));
    }
    if g.draw.chance(40) {
        // An InitPlan: one value for the whole query.
        let test = format!("t.id <= (SELECT max(u.id) FROM @@{} u)", right.name);
        filter.push(Part::new(g.id(), test));
    }
    Query::new("correlated")
        .sql("SELECT ")
        .outputs(outputs)
        .sql(format!(" FROM @@{} t", left.name))
        .filter(filter)
}

/// LATERAL subqueries, limited and aggregated.
pub fn lateral(g: &mut Gen<'_>) -> Query {
    let (left, right) = (g.table(), g.table());
    let (outer, inner) = (scope(&left, "t"), scope(&right, "u"));
    let at = g.draw.below(left.rows + 1);
    let test = predicate::atom(&mut g.draw, &inner);
    let column = inner.column(&mut g.draw).sql;
    let sub = if g.draw.chance(50) {
        format!(
            "SELECT u.id, {column} AS x FROM @@{} u WHERE u.k = t.k AND {test} ORDER BY u.id LIMIT 2",
            right.name
        )
    } else {
        format!(
            "SELECT count(*) AS id, count({column}) AS x FROM @@{} u WHERE u.id > t.id AND {test}",
            right.name
        )
    };
    let kind = g.draw.pick(&["CROSS JOIN LATERAL ({}) s", "LEFT JOIN LATERAL ({}) s ON true"]);
    let mut outputs = vec![fixed("t.id"), Part::new(g.id(), "s.x"), Part::new(g.id(), "s.id")];
    outputs.extend(g.expressions(&outer, 1));
    let mut filter = g.conjuncts(&outer);
    filter.push(fixed(format!("t.id BETWEEN {at} AND {}", at + 10)));
    Query::new("lateral")
        .sql("SELECT ")
        .outputs(outputs)
        .sql(format!(" FROM @@{} t {}", left.name, kind.replace("{}", &sub)))
        .filter(filter)
}

/// UNION, INTERSECT, EXCEPT of columns of one type.
pub fn set_operation(g: &mut Gen<'_>) -> Query {
    let (left, right) = (g.source("t"), g.table());
    let other = scope(&right, "u");
    let mut columns = Vec::new();
    for _ in 0..g.draw.range(1, 2) {
        let column = left.scope.column(&mut g.draw);
        let same = other.column_where(&mut g.draw, |c| c.ty == column.ty);
        if let Some(same) = same {
            columns.push((column, same));
        }
    }
    if columns.is_empty() {
        columns.push((left.scope.cols[1].clone(), other.cols[1].clone()));
    }
    let list = |of: Vec<&crate::scalar::Col>| {
        of.iter().map(|c| canonical(&c.sql, c.ty)).collect::<Vec<_>>().join(", ")
    };
    let first: Vec<Part> = columns
        .iter()
        .map(|(a, _)| Part { id: 0, sql: canonical(&a.sql, a.ty), class: a.ty.representative() })
        .collect();
    let second = list(columns.iter().map(|(_, b)| b).collect());
    let operation =
        g.draw.pick(&["UNION ALL", "UNION", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]);
    let (a, b) = (g.conjuncts(&left.scope), g.conjuncts(&other));
    let mut query = Query::new("set operation").sql(format!("{}SELECT ", left.with));
    query.pieces.push(crate::query::Piece::Outputs(first));
    query
        .sql(format!(" FROM {}", left.from))
        .filter(a)
        .sql(format!(" {operation} SELECT {second} FROM @@{} u", right.name))
        .filter(b)
}

/// Window functions over an order that is total, or over peers.
pub fn window(g: &mut Gen<'_>) -> Query {
    let source = g.source("t");
    let (partition, order) = (source.scope.plain(&mut g.draw).sql, source.scope.plain(&mut g.draw));
    let value = source.scope.plain(&mut g.draw).sql;
    let direction = g.direction();
    let mut outputs = vec![fixed("t.id")];
    for _ in 0..g.draw.range(1, 2) {
        let sql = match g.draw.below(8) {
            0 => format!("row_number() OVER (PARTITION BY {partition} ORDER BY t.id)"),
            1 => format!("rank() OVER (ORDER BY {}{direction})", order.sql),
            2 => format!(
                "dense_rank() OVER (PARTITION BY {partition} ORDER BY {}{direction})",
                order.sql
            ),
            3 => "sum(t.k) OVER (ORDER BY t.id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)".into(),
            4 => format!("lag({value}, 2) OVER (ORDER BY t.id)"),
            5 => format!("first_value({value}) OVER (PARTITION BY {partition} ORDER BY t.id DESC)"),
            6 => format!("count(*) OVER (PARTITION BY {partition})"),
            _ => format!("count({value}) OVER (ORDER BY {}{direction})", order.sql),
        };
        outputs.push(Part::new(g.id(), sql));
    }
    let filter = g.narrow(&source);
    Query::new("window")
        .sql(format!("{}SELECT ", source.with))
        .outputs(outputs)
        .sql(format!(" FROM {}", source.from))
        .filter(filter)
}

/// A common table expression used twice.
pub fn common_table(g: &mut Gen<'_>) -> Query {
    let table = g.table();
    let scope = scope(&table, "t");
    let how = g.draw.pick(&["", "MATERIALIZED ", "NOT MATERIALIZED "]);
    let test = predicate::tree(&mut g.draw, &scope, 1);
    let value = scope.value(&mut g.draw).sql;
    let id = g.id();
    let aggregate = aggregate::draw(&mut g.draw, &scope, id, false);
    let (body, outputs) = if g.draw.chance(50) {
        (
            format!("SELECT t.id, t.k, {value} AS v FROM @@{} t WHERE {test}", table.name),
            vec![
                Part::new(g.id(), "count(*)"),
                Part::new(g.id(), "count(a.v)"),
                Part::new(g.id(), "max(b.id)"),
            ],
        )
    } else {
        (
            format!(
                "SELECT t.k AS id, t.k, {} AS v FROM @@{} t WHERE {test} GROUP BY t.k",
                aggregate.sql, table.name
            ),
            vec![
                Part::new(g.id(), "a.k"),
                Part::new(g.id(), "b.k"),
                Part { id: g.id(), sql: "a.v".into(), class: aggregate.class },
            ],
        )
    };
    let filter = vec![Part::new(g.id(), "a.id % 3 = 1")];
    Query::new("common table")
        .sql(format!("WITH w AS {how}({body}) SELECT "))
        .outputs(outputs)
        .sql(" FROM w a JOIN w b ON a.id = b.k")
        .filter(filter)
}
