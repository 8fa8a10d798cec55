//! GROUPING SETS, ROLLUP, CUBE: as they come, and the first of an order.

use super::{Gen, Source, fixed};
use crate::aggregate;
use crate::query::{Part, Query};
use crate::values::any_constant;

/// Grouping sets with HAVING at times; the rows in any order.
pub fn sets(g: &mut Gen<'_>) -> Query {
    let source = g.source("t");
    let most = g.draw.weighted(&[(2, 1), (4, 3), (1, 5)]);
    let (keys, mut outputs): (Vec<Part>, Vec<Part>) =
        g.keys(&source.scope, most).into_iter().unzip();
    let group = clause(g, &keys);
    // The sets refer to every key.
    for output in &mut outputs {
        output.id = g.id();
    }
    for _ in 0..g.draw.below(3) {
        let id = g.id();
        outputs.push(Part::new(id, grouping(g, &keys)));
    }
    for _ in 0..g.draw.below(4) {
        let id = g.id();
        outputs.push(aggregate::draw(&mut g.draw, &source.scope, id, false));
    }
    let having = having(g, &source, &keys);
    let filter = g.conjuncts(&source.scope);
    Query::new("grouping sets")
        .sql(format!("{}SELECT ", source.with))
        .outputs(outputs)
        .sql(format!(" FROM {}", source.from))
        .filter(filter)
        .sql(group)
        .list(" HAVING ", " AND ", having)
}

/// The first groups of an order that tells all groups of all sets apart.
pub fn top_sets(g: &mut Gen<'_>) -> Query {
    let source = g.source("t");
    let (keys, mut outputs): (Vec<Part>, Vec<Part>) = g.keys(&source.scope, 3).into_iter().unzip();
    let group = clause(g, &keys);
    let exact = aggregate::exact(&mut g.draw, &source.scope);
    let all = format!("GROUPING({})", list(&keys));
    let mut order = vec![exact.clone(), all.clone()];
    if g.draw.chance(50) {
        order.swap(0, 1);
    }
    order.extend(keys.iter().map(|key| key.sql.clone()));
    if g.draw.chance(30) {
        // A key first, which some sets do not have.
        let at = g.draw.below(keys.len() as u64) as usize + 2;
        let key = order.remove(at);
        order.insert(0, key);
    }
    let order = order.into_iter().map(|sql| fixed(format!("{sql}{}", g.direction()))).collect();
    outputs.iter_mut().for_each(|output| output.id = 0);
    outputs.extend([fixed(exact), fixed(all)]);
    for _ in 0..g.draw.below(3) {
        let id = g.id();
        outputs.push(aggregate::draw(&mut g.draw, &source.scope, id, false));
    }
    let having = if g.draw.chance(30) { having(g, &source, &keys) } else { Vec::new() };
    let (filter, limit) = (g.conjuncts(&source.scope), g.limit());
    Query::new("top of grouping sets")
        .sql(format!("{}SELECT ", source.with))
        .outputs(outputs)
        .sql(format!(" FROM {}", source.from))
        .filter(filter)
        .sql(group)
        .list(" HAVING ", " AND ", having)
        .list(" ORDER BY ", ", ", order)
        .sql(limit)
        .ordered()
}

fn list(keys: &[Part]) -> String {
    keys.iter().map(|key| key.sql.as_str()).collect::<Vec<_>>().join(", ")
}

/// GROUP BY with sets that have every key in some set.
fn clause(g: &mut Gen<'_>, keys: &[Part]) -> String {
    let all = list(keys);
    let first = &keys[0].sql;
    let rest = list(&keys[1..]);
    let sets = match g.draw.below(9) {
        0 | 1 => format!("ROLLUP ({all})"),
        2 => format!("CUBE ({all})"),
        3 if !rest.is_empty() => format!("{first}, ROLLUP ({rest})"),
        4 if !rest.is_empty() => format!("CUBE ({first}), ROLLUP ({rest})"),
        5 => format!("DISTINCT ROLLUP ({all}), ROLLUP ({first})"),
        6 => format!("GROUPING SETS (ROLLUP ({all}), ({first}), ())"),
        7 => format!("GROUPING SETS (({all}), ({first}), ({all}))"),
        _ => {
            let count = g.draw.range(1, 5);
            let mut sets: Vec<Vec<usize>> = (0..count)
                .map(|_| (0..keys.len()).filter(|_| g.draw.chance(45)).collect())
                .collect();
            let missing = (0..keys.len()).filter(|k| !sets.iter().any(|set| set.contains(k)));
            let missing: Vec<usize> = missing.collect();
            sets[0].extend(missing);
            let sets = sets.into_iter().map(|set| {
                let keys: Vec<&str> = set.into_iter().map(|key| keys[key].sql.as_str()).collect();
                format!("({})", keys.join(", "))
            });
            format!("GROUPING SETS ({})", sets.collect::<Vec<_>>().join(", "))
        }
    };
    format!(" GROUP BY {sets}")
}

/// GROUPING of some keys, alone or in an expression.
fn grouping(g: &mut Gen<'_>, keys: &[Part]) -> String {
    let count = 1 + g.draw.below(keys.len() as u64);
    let asked: Vec<&str> = (0..count).map(|_| g.draw.pick(keys).sql.as_str()).collect();
    let call = format!("GROUPING({})", asked.join(", "));
    match g.draw.below(4) {
        0 => format!("{call} * 10 + 1"),
        1 => format!("CASE {call} WHEN 0 THEN 'here' ELSE 'left out' END"),
        _ => call,
    }
}

fn having(g: &mut Gen<'_>, source: &Source, keys: &[Part]) -> Vec<Part> {
    let mut having = Vec::new();
    if g.draw.chance(20) {
        having.push(Part::new(g.id(), format!("count(*) > {}", g.draw.below(4))));
    }
    if g.draw.chance(10) {
        let ty = source.scope.cols[0].ty;
        having.push(Part::new(g.id(), format!("max(t.id) > {}", any_constant(&mut g.draw, ty))));
    }
    if g.draw.chance(12) {
        let asked = g.draw.pick(keys).sql.clone();
        having.push(Part::new(g.id(), format!("GROUPING({asked}) = {}", g.draw.below(2))));
    }
    if g.draw.chance(12) {
        let key = g.draw.pick(keys).sql.clone();
        let test = g.draw.pick(&["IS NULL", "IS NOT NULL"]);
        having.push(Part::new(g.id(), format!("{key} {test}")));
    }
    having
}
