//! Aggregates: ungrouped, grouped.

use super::Gen;
use crate::aggregate;
use crate::query::{Part, Query};

/// Aggregates over a whole table.
pub fn ungrouped(g: &mut Gen<'_>) -> Query {
    let source = g.source("t");
    let count = g.draw.range(1, 5);
    let aggregates = (0..count)
        .map(|_| {
            let id = g.id();
            aggregate::draw(&mut g.draw, &source.scope, id, source.table.rows <= 2_000)
        })
        .collect();
    // Without a filter, metadata may answer.
    let filter = if g.draw.chance(30) { Vec::new() } else { g.conjuncts(&source.scope) };
    Query::new("ungrouped")
        .sql(format!("{}SELECT ", source.with))
        .outputs(aggregates)
        .sql(format!(" FROM {}", source.from))
        .filter(filter)
}

/// GROUP BY keys and expressions, with HAVING at times.
pub fn grouped(g: &mut Gen<'_>) -> Query {
    let source = g.source("t");
    let most = g.draw.weighted(&[(5, 1), (3, 2), (1, 4)]);
    let (mut keys, mut outputs): (Vec<Part>, Vec<Part>) =
        g.keys(&source.scope, most).into_iter().unzip();
    if g.draw.chance(6) {
        keys.push(Part::new(g.id(), "'constant'::text"));
    }
    if g.draw.chance(15) {
        outputs.remove(0);
    }
    let count = g.draw.range(1, 4);
    for _ in 0..count {
        let id = g.id();
        outputs.push(aggregate::draw(&mut g.draw, &source.scope, id, true));
    }
    let mut having = Vec::new();
    if g.draw.chance(30) {
        let test = format!(
            "{} {} {}",
            aggregate::exact(&mut g.draw, &source.scope),
            g.draw.pick(&[">", "<=", "<>", "="]),
            g.draw.pick(&["0", "1", "2", "10", "100"])
        );
        having.push(Part::new(g.id(), test));
    }
    let filter = g.conjuncts(&source.scope);
    Query::new("grouped")
        .sql(format!("{}SELECT ", source.with))
        .outputs(outputs)
        .sql(format!(" FROM {}", source.from))
        .filter(filter)
        .list(" GROUP BY ", ", ", keys)
        .list(" HAVING ", " AND ", having)
}
