//! DISTINCT, DISTINCT ON, ORDER BY ... LIMIT over rows and over groups.

use super::{Gen, fixed};
use crate::aggregate;
use crate::query::{Part, Query};

/// SELECT DISTINCT.
pub fn distinct(g: &mut Gen<'_>) -> Query {
    let source = g.source("t");
    let outputs: Vec<Part> =
        g.keys(&source.scope, 3).into_iter().map(|(_, output)| output).collect();
    let filter = g.conjuncts(&source.scope);
    Query::new("distinct")
        .sql(format!("{}SELECT DISTINCT ", source.with))
        .outputs(outputs)
        .sql(format!(" FROM {}", source.from))
        .filter(filter)
}

/// SELECT DISTINCT ON the keys, the first row by `id`.
pub fn distinct_on(g: &mut Gen<'_>) -> Query {
    let source = g.source("t");
    let keys: Vec<Part> = g.keys(&source.scope, 2).into_iter().map(|(key, _)| key).collect();
    let directions: Vec<String> =
        keys.iter().map(|k| format!("{}{}", k.sql, g.direction())).collect();
    let on: Vec<&str> = keys.iter().map(|k| k.sql.as_str()).collect();
    let mut outputs = vec![fixed("t.id")];
    outputs.extend(g.expressions(&source.scope, 3));
    let filter = g.conjuncts(&source.scope);
    let last = g.draw.pick(&["", " DESC"]);
    Query::new("distinct on")
        .sql(format!("{}SELECT DISTINCT ON ({}) ", source.with, on.join(", ")))
        .outputs(outputs)
        .sql(format!(" FROM {}", source.from))
        .filter(filter)
        .sql(format!(" ORDER BY {}, t.id{last}", directions.join(", ")))
}

/// ORDER BY keys LIMIT n: with `id` last, or showing the keys alone.
pub fn top(g: &mut Gen<'_>) -> Query {
    let source = g.source("t");
    let keys = g.keys(&source.scope, 3);
    let (mut outputs, mut order) = (Vec::new(), Vec::new());
    for (key, output) in keys {
        order.push(Part::new(key.id, format!("{}{}", key.sql, g.direction())));
        outputs.push(output);
    }
    if g.draw.chance(65) {
        order.push(fixed(g.draw.pick(&["t.id", "t.id DESC"]).to_string()));
        outputs = match g.draw.below(5) {
            0 => vec![Part::new(g.id(), "t.*")],
            1 => vec![Part::new(g.id(), "t")],
            _ => g.expressions(&source.scope, 4),
        };
    } else {
        // Without a key there would be no order to compare by: the first stays.
        let first = order[0].id;
        for part in order.iter_mut().chain(&mut outputs).filter(|p| p.id == first) {
            part.id = 0;
        }
    }
    let filter = g.conjuncts(&source.scope);
    let limit =
        if g.draw.chance(8) && source.table.rows < 3_000 { String::new() } else { g.limit() };
    Query::new("top")
        .sql(format!("{}SELECT ", source.with))
        .outputs(outputs)
        .sql(format!(" FROM {}", source.from))
        .filter(filter)
        .list(" ORDER BY ", ", ", order)
        .sql(limit)
        .ordered()
}

/// The largest groups.
pub fn top_groups(g: &mut Gen<'_>) -> Query {
    let source = g.source("t");
    let keys = g.keys(&source.scope, 2);
    let exact = aggregate::exact(&mut g.draw, &source.scope);
    let mut order = vec![fixed(format!("{exact}{}", g.direction()))];
    let (mut group, mut outputs) = (Vec::new(), Vec::new());
    for (key, output) in keys {
        order.push(Part::new(key.id, format!("{}{}", key.sql, g.direction())));
        group.push(key);
        outputs.push(output);
    }
    // The groups are named by all keys together, so none can go.
    for part in order.iter_mut().chain(&mut group).chain(&mut outputs) {
        part.id = 0;
    }
    outputs.push(fixed(exact));
    for _ in 0..g.draw.below(3) {
        let id = g.id();
        outputs.push(aggregate::draw(&mut g.draw, &source.scope, id, true));
    }
    let (filter, limit) = (g.conjuncts(&source.scope), g.limit());
    Query::new("top groups")
        .sql(format!("{}SELECT ", source.with))
        .outputs(outputs)
        .sql(format!(" FROM {}", source.from))
        .filter(filter)
        .list(" GROUP BY ", ", ", group)
        .list(" ORDER BY ", ", ", order)
        .sql(limit)
        .ordered()
}
