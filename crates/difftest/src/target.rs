//! Which rows a statement meets: predicates over the alias `t`, and row locks.

use crate::draw::Draw;
use crate::model::{Method, Table};
use crate::statement::Statement;
use crate::value::{self, Profile};

/// A literal of a key that has probably been used.
pub fn key_text(draw: &mut Draw, table: &Table) -> String {
    let n = if draw.chance(50) { draw.below(60) } else { draw.below(table.next_key + 3) };
    table.key.map_or_else(|| n.to_string(), |k| k.kind.literal(n))
}

/// A predicate that meets at most one row of a keyed table.
pub fn single_row(draw: &mut Draw, table: &Table) -> String {
    match table.key {
        Some(_) => format!("t.id = {}", key_text(draw, table)),
        None => column_predicate(draw, table),
    }
}

/// A predicate that meets some rows.
pub fn predicate(draw: &mut Draw, table: &Table) -> String {
    match table.key {
        Some(key) if draw.chance(65) => {
            let first = draw.below(table.next_key + 1);
            let width = *draw.pick(&[1, 8, 70, 1_000]);
            let (low, high) = (key.kind.literal(first), key.kind.literal(first + width));
            match draw.below(4) {
                0 => format!("t.id > {low} AND t.id <= {high} AND hashtext(t.id::text) % 3 = 0"),
                1 => {
                    let keys: Vec<String> =
                        (0..draw.range(1, 12)).map(|_| key_text(draw, table)).collect();
                    format!("t.id IN ({})", keys.join(", "))
                }
                _ => format!("t.id BETWEEN {low} AND {high}"),
            }
        }
        _ => column_predicate(draw, table),
    }
}

/// A predicate over a random column, in operators its type has.
pub fn column_predicate(draw: &mut Draw, table: &Table) -> String {
    if table.columns.is_empty() {
        return "true".into();
    }
    let column = draw.pick(&table.columns);
    let name = format!("t.{}", column.name);
    let profile = Profile { nulls: 0, wide: 0, ..column.profile };
    if column.ty.has_gin() && draw.chance(60) {
        let wanted = if column.ty == crate::sqltype::SqlType::Jsonb {
            format!("'{{\"k\": {}}}'::jsonb", draw.below(50))
        } else {
            format!("ARRAY[{}]::int4[]", draw.below(10))
        };
        return format!("{name} @> {wanted}");
    }
    let v =
        value::literal(draw, column.ty, profile).replace("'-5000'::dt_domain", "'-500'::dt_domain");
    match draw.below(9) {
        0 => format!("{name} IS NULL"),
        1 => format!("{name} IS NOT NULL AND hashtext(t::text) % 11 = 0"),
        2 => format!("{name} < {v}"),
        3 => format!("{name} >= {v}"),
        4 => format!("{name} <> {v} AND hashtext(t::text) % 5 = 0"),
        5 if column.ty.has_like() => format!("{name} LIKE 'w1%'"),
        6 => {
            let w = value::literal(draw, column.ty, profile)
                .replace("'-5000'::dt_domain", "'-500'::dt_domain");
            format!("{name} IN ({v}, {w})")
        }
        _ => format!("{name} = {v}"),
    }
}

/// A predicate that index `at` can serve.
pub fn index_predicate(draw: &mut Draw, table: &Table, at: usize) -> String {
    let index = &table.indexes[at];
    let Some(column) = table.columns.iter().find(|c| c.name == index.columns[0]) else {
        return "true".into();
    };
    let profile = Profile { nulls: 0, wide: 0, ..column.profile };
    let v =
        value::literal(draw, column.ty, profile).replace("'-5000'::dt_domain", "'-500'::dt_domain");
    let name = format!("t.{}", column.name);
    let mut sql = match index.method {
        Method::Gin if column.ty == crate::sqltype::SqlType::Jsonb => {
            format!("{name} @> '{{\"k\": {}}}'", draw.below(50))
        }
        Method::Gin => format!("{name} @> ARRAY[{}]::int4[]", draw.below(10)),
        Method::Hash => format!("{name} = {v}"),
        Method::Brin => format!("{name} >= {v}"),
        Method::Btree => match draw.below(4) {
            0 => format!("{name} IS NULL"),
            1 => format!("{name} IS NOT NULL"),
            2 => format!("{name} <= {v}"),
            _ => format!("{name} = {v}"),
        },
    };
    if let Some(predicate) = &index.predicate {
        sql += &format!(" AND {predicate}");
    }
    sql
}

/// SELECT ... FOR UPDATE and its weaker forms.
pub fn lock(draw: &mut Draw, table: &Table) -> Statement {
    let strength = draw.pick(&["FOR UPDATE", "FOR NO KEY UPDATE", "FOR SHARE", "FOR KEY SHARE"]);
    let wait = draw.pick(&["", " NOWAIT", " SKIP LOCKED", " SKIP LOCKED"]);
    let filter = if draw.chance(50) { single_row(draw, table) } else { predicate(draw, table) };
    Statement::scanning(format!("SELECT * FROM @@{} t WHERE {filter} {strength}{wait}", table.name))
}

/// A query whose answer does not depend on the order of rows.
pub fn query(draw: &mut Draw, table: &Table) -> Statement {
    let filter = predicate(draw, table);
    let name = &table.name;
    let column = if table.columns.is_empty() { None } else { Some(draw.pick(&table.columns)) };
    let Some(column) = column else {
        return Statement::exact(format!("SELECT count(*) FROM @@{name} t"));
    };
    let c = format!("t.{}", column.name);
    match draw.below(7) {
        0 => Statement::exact(format!("SELECT count(*), count({c}), count(DISTINCT {c}) FROM @@{name} t WHERE {filter}")),
        1 if column.ty.has_exact_extremes() => {
            Statement::exact(format!("SELECT min({c}), max({c}), count(*) FROM @@{name} t WHERE {filter}"))
        }
        2 if column.ty.has_exact_sum() => {
            Statement::exact(format!("SELECT sum({c}), count({c}) FROM @@{name} t WHERE {filter}"))
        }
        3 => Statement::exact(format!(
            "SELECT {c}::text COLLATE \"C\", count(*) FROM @@{name} t WHERE {filter} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 40"
        ))
        .ordered(),
        4 => Statement::exact(format!(
            "SELECT t.* FROM @@{name} t WHERE {filter} ORDER BY {c} DESC NULLS LAST, t::text COLLATE \"C\" LIMIT 15"
        ))
        .ordered(),
        5 => Statement::exact(format!(
            "SELECT count(*) FILTER (WHERE {filter}), count(*) FROM @@{name} t WHERE EXISTS (SELECT 1 FROM @@{name} u WHERE u.{0} = {c})",
            column.name
        )),
        _ => Statement::exact(format!("SELECT t.* FROM @@{name} t WHERE {filter} ORDER BY {} LIMIT 50", table.total_order())).ordered(),
    }
}
