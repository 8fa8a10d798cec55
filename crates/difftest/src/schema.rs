//! Random tables, columns, foreign keys and indexes; [`crate::ddl`] writes them down.

use crate::draw::Draw;
use crate::model::{Column, Index, Key, KeyKind, Method, Reference, Server, Table};
use crate::sqltype::{self, SqlType};
use crate::value::{self, Profile};

/// Draws `count` table pairs.
pub fn tables(draw: &mut Draw, server: Server, count: usize) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for number in 0..count {
        let table = table(draw, server, number, &tables);
        tables.push(table);
    }
    tables
}

fn table(draw: &mut Draw, server: Server, number: usize, earlier: &[Table]) -> Table {
    let key = (!draw.chance(12)).then(|| Key {
        kind: draw.weighted(&[
            (4, KeyKind::Int4),
            (5, KeyKind::Int8),
            (1, KeyKind::Text),
            (1, KeyKind::Uuid),
        ]),
        primary: draw.chance(80),
        deferrable: draw.chance(12),
    });
    let mut table = Table {
        name: format!("t{number}"),
        key,
        reference: None,
        columns: Vec::new(),
        indexes: Vec::new(),
        unlogged: draw.chance(12),
        triggers: draw.chance(25),
        rows: 0,
        next_key: 1,
        next_object: 0,
    };
    if draw.chance(60) {
        table.reference = reference(draw, &table, earlier);
    }
    let columns = draw.weighted(&[(6, 3_u64), (6, 6), (3, 10), (1, 40)]);
    for _ in 0..draw.range(1, columns as i64) {
        let column = column(draw, server, &mut table, true);
        table.columns.push(column);
    }
    if draw.chance(35) {
        generated(draw, server, &mut table);
    }
    if table.triggers {
        // The trigger of `trigger_ddl` assigns to the first plain column.
        table.columns[0].pinned = true;
        table.columns[0].not_null = false;
    }
    for _ in 0..draw.below(5) {
        if let Some(index) = index(draw, server, &mut table) {
            table.indexes.push(index);
        }
    }
    table
}

fn reference(draw: &mut Draw, table: &Table, earlier: &[Table]) -> Option<Reference> {
    let parents: Vec<usize> = (0..earlier.len())
        .filter(|p| {
            earlier[*p].key.is_some_and(|k| !k.deferrable)
                && (table.unlogged || !earlier[*p].unlogged)
        })
        .collect();
    if parents.is_empty() {
        return None;
    }
    let parent = *draw.pick(&parents);
    let on_delete =
        draw.pick(&["", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON DELETE RESTRICT"]);
    let on_update = draw.pick(&["", " ON UPDATE CASCADE", " ON UPDATE SET NULL"]);
    Some(Reference {
        parent,
        kind: earlier[parent].key?.kind,
        actions: format!("{on_delete}{on_update}"),
        deferrable: draw.chance(25),
    })
}

/// Draws a column. `fresh`: the table is still empty, so NOT NULL needs no default.
pub fn column(draw: &mut Draw, server: Server, table: &mut Table, fresh: bool) -> Column {
    let ty = loop {
        let ty = draw.weighted(sqltype::ALL);
        if server.icu || !ty.needs_icu() {
            break ty;
        }
    };
    let profile = Profile {
        nulls: draw.weighted(&[(4, 0), (5, 10), (2, 50), (2, 97)]),
        spread: *draw.pick(&[2, 40, 1_000, 100_000]),
        wide: draw.weighted(&[(6, 0), (2, 20), (1, 300)]),
    };
    let default = draw.chance(if fresh { 25 } else { 50 }).then(|| default(draw, ty, profile));
    let not_null =
        draw.chance(15) && (fresh || default.as_ref().is_some_and(|d| !d.starts_with("NULL")));
    let name = format!("c{}", table.next_object);
    table.next_object += 1;
    Column { name, ty, profile, not_null, default, generated: None, pinned: false }
}

/// A constant default; now and then a stable expression that is constant in a transaction's terms.
fn default(draw: &mut Draw, ty: SqlType, profile: Profile) -> String {
    let profile = Profile { nulls: 5, wide: 0, ..profile };
    value::literal(draw, ty, profile)
}

fn generated(draw: &mut Draw, server: Server, table: &mut Table) {
    let bases: Vec<usize> = (0..table.columns.len())
        .filter(|i| {
            let ty = table.columns[*i].ty;
            ty.is_integer() || ty.is_text() || matches!(ty, SqlType::Numeric | SqlType::IntArray)
        })
        .collect();
    if bases.is_empty() {
        return;
    }
    let base = &mut table.columns[*draw.pick(&bases)];
    base.pinned = true;
    let (ty, expression) = match base.ty {
        SqlType::Numeric => (SqlType::Bool, format!("({} > 10)", base.name)),
        SqlType::IntArray => {
            (SqlType::Int4, format!("coalesce(array_length({}, 1), -1)", base.name))
        }
        ty if ty.is_integer() => (SqlType::Int8, format!("({}::int8 / 3)", base.name)),
        _ => (SqlType::Text(sqltype::Collation::C), format!("left({}, 3)", base.name)),
    };
    let stored = server.major < 18 || draw.chance(60);
    let name = format!("g{}", table.next_object);
    table.next_object += 1;
    let profile = Profile { nulls: 0, spread: 100, wide: 0 };
    let generated = Some((expression, stored));
    table.columns.push(Column {
        name,
        ty,
        profile,
        not_null: false,
        default: None,
        generated,
        pinned: true,
    });
}

/// Draws an index over the table's present columns.
pub fn index(draw: &mut Draw, server: Server, table: &mut Table) -> Option<Index> {
    let method = draw.weighted(&[
        (7, Method::Btree),
        (2, Method::Hash),
        (2, Method::Gin),
        (if server.brin { 2 } else { 0 }, Method::Brin),
    ]);
    let usable: Vec<(String, SqlType)> = table
        .columns
        .iter()
        .filter(|c| c.generated.as_ref().is_none_or(|g| g.1))
        .filter(|c| match method {
            Method::Btree => true,
            Method::Hash => c.ty.is_hashable(),
            Method::Gin => c.ty.has_gin(),
            Method::Brin => c.ty.has_brin(),
        })
        .map(|c| (c.name.clone(), c.ty))
        .collect();
    if usable.is_empty() {
        return None;
    }
    let (column, ty) = draw.pick(&usable).clone();
    let mut columns = vec![column.clone()];
    let mut keys = vec![column.clone()];
    let mut include = None;
    if method == Method::Btree {
        if draw.chance(20)
            && let Some(expression) = ty.index_expression(&column)
        {
            keys[0] = expression;
        } else if draw.chance(25) {
            keys[0] = format!("{column} DESC{}", draw.pick(&["", " NULLS LAST"]));
        }
        if draw.chance(30) {
            let second = draw.pick(&usable).0.clone();
            if !columns.contains(&second) {
                keys.push(second.clone());
                columns.push(second);
            }
        }
        if draw.chance(15) {
            let extra = draw.pick(&usable).0.clone();
            if !columns.contains(&extra) {
                include = Some(extra.clone());
                columns.push(extra);
            }
        }
    }
    let predicate = draw.chance(15).then(|| {
        let other = draw.pick(&usable).0.clone();
        if !columns.contains(&other) {
            columns.push(other.clone());
        }
        format!("{other} IS NOT NULL")
    });
    let generated =
        |name: &String| table.columns.iter().any(|c| c.name == *name && c.generated.is_some());
    let unique = method == Method::Btree && draw.chance(15) && !columns.iter().any(generated);
    let name = format!("{}_i{}", table.name, table.next_object);
    table.next_object += 1;
    let nulls_not_distinct = unique && server.major >= 15 && draw.chance(15);
    Some(Index { name, method, keys, columns, include, predicate, unique, nulls_not_distinct })
}
