//! Projections and filters over one table, system columns, risky expressions.

use super::Gen;
use crate::compare::Risk;
use crate::predicate;
use crate::query::{Part, Query};
use crate::risky;
use crate::types::Class;

/// SELECT expressions FROM one table WHERE filter.
pub fn projection(g: &mut Gen<'_>) -> Query {
    let source = g.source("t");
    let mut outputs = match g.draw.below(12) {
        0 => vec![Part::new(g.id(), "t.*")],
        1 => vec![Part::new(g.id(), "t")],
        2 => vec![Part::new(g.id(), "t::text"), Part::new(g.id(), "t.id")],
        3 => vec![Part::new(g.id(), "row_to_json(t)::text")],
        _ => g.expressions(&source.scope, 5),
    };
    if g.draw.chance(20) {
        let test = predicate::tree(&mut g.draw, &source.scope, 2);
        outputs.push(Part::new(g.id(), test));
    }
    let mut filter = g.narrow(&source);
    if g.draw.chance(10) {
        // A row looked up by its number, through an index where there is one.
        let id = g.draw.below(source.table.rows + 2);
        filter.push(Part::new(g.id(), format!("t.id = {id}")));
    }
    Query::new("projection")
        .sql(format!("{}SELECT ", source.with))
        .outputs(outputs)
        .sql(format!(" FROM {}", source.from))
        .filter(filter)
}

/// Row identity, without showing it: it differs between the tables of a pair.
pub fn system(g: &mut Gen<'_>) -> Query {
    let table = g.table();
    let scope = super::scope(&table, "t");
    let name = table.name.clone();
    let parts = g.conjuncts(&scope);
    let query = Query::new("system columns");
    // Rows of several partitions have the same places.
    let which = if table.partitions.is_some() { 3 } else { g.draw.below(4) };
    match which {
        0 => query
            .sql("SELECT ")
            .outputs(vec![
                Part::new(g.id(), "count(t.ctid)"),
                Part::new(g.id(), "count(DISTINCT t.ctid)"),
                Part::new(g.id(), "count(DISTINCT t.tableoid)"),
            ])
            .sql(format!(" FROM @@{name} t"))
            .filter(parts),
        1 => {
            let inner = predicate::atom(&mut g.draw, &super::scope(&table, "u"));
            let mut parts = parts;
            parts.push(Part::new(
                0,
                format!(
                    "t.ctid IN (SELECT u.ctid FROM @@{name} u WHERE {inner} AND u.id % 20 = 1)"
                ),
            ));
            query.sql(format!("SELECT t.id, t.k FROM @@{name} t")).filter(parts)
        }
        2 => query
            .sql("SELECT ")
            .outputs(vec![
                Part::new(g.id(), "t.id"),
                Part::new(g.id(), format!("t.tableoid = '@@{name}'::regclass")),
                Part::new(g.id(), "t.ctid IS NOT NULL"),
            ])
            .sql(format!(" FROM @@{name} t"))
            .filter(parts),
        _ => {
            let mut outputs = g.expressions(&scope, 3);
            outputs.push(Part::new(g.id(), "count(t.*) OVER ()"));
            let mut parts = parts;
            parts.push(Part::new(g.id(), "(t IS NOT NULL OR t.id % 9 = 2)"));
            query.sql("SELECT ").outputs(outputs).sql(format!(" FROM @@{name} t")).filter(parts)
        }
    }
}

/// One expression that may raise an error.
pub fn risky(g: &mut Gen<'_>) -> Query {
    let table = g.table();
    let scope = super::scope(&table, "t");
    let from = format!(" FROM @@{} t", table.name);
    let Some(risky) = risky::draw(&mut g.draw, &scope) else {
        return projection(g);
    };
    let (states, expression) = (risky.states, risky.sql);
    let test = format!("{expression} > {}", crate::values::any_constant(&mut g.draw, risky.ty));
    let mut free = false;
    let mut query = Query::new("risky").sql("SELECT ");
    query = match g.draw.below(7) {
        0 | 1 => {
            let mut outputs = vec![Part::new(0, expression)];
            outputs.extend(g.expressions(&scope, 2));
            let filter = g.conjuncts(&scope);
            query.outputs(outputs).sql(from).filter(filter)
        }
        2 | 3 => {
            let outputs = g.expressions(&scope, 2);
            query.outputs(outputs).sql(from).filter(vec![Part::new(0, test)])
        }
        4 => {
            let class = risky.ty.representative();
            let output = Part { id: 0, sql: format!("count({expression})"), class: Class::Exact };
            let other = match risky.ty.has_extremes() && class == Class::Exact {
                true => Part::new(g.id(), format!("count(DISTINCT {expression})")),
                false => Part::new(g.id(), "count(*)"),
            };
            let filter = g.conjuncts(&scope);
            query.outputs(vec![output, other]).sql(from).filter(filter)
        }
        5 => {
            let key = g.keys(&scope, 1).remove(0);
            let (filter, count) = (g.conjuncts(&scope), format!("count({expression})"));
            query.outputs(vec![key.1, Part::new(0, count)]).sql(from).filter(filter).list(
                " GROUP BY ",
                ", ",
                vec![key.0],
            )
        }
        _ => {
            free = true;
            let outputs = g.expressions(&scope, 2);
            let mut filter = g.conjuncts(&scope);
            let at = g.draw.below(filter.len() as u64 + 1) as usize;
            filter.insert(at, Part::new(0, test));
            query.outputs(outputs).sql(from).filter(filter)
        }
    };
    query.risk = Risk { states, free };
    query
}
