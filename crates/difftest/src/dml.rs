//! Random statements that write rows; those that add them are built in [`crate::insert`].

use crate::draw::Draw;
use crate::insert::{bulk, conflict, copy, copy_table, insert, values};
use crate::model::{Column, Table};
use crate::statement::Statement;
use crate::target::{key_text, predicate, single_row};
use crate::value;

/// Limits of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Rows above which a table is only made smaller.
    pub rows: u64,
    /// Most rows of one INSERT ... SELECT.
    pub bulk: u64,
    /// Most rows of one COPY.
    pub copy: u64,
    /// PostgreSQL's major version.
    pub major: u32,
}

#[derive(Clone, Copy)]
enum Kind {
    Insert,
    InsertMany,
    Bulk,
    Copy,
    Conflict,
    CopyTable,
    UpdateOne,
    UpdateSome,
    UpdateAll,
    UpdateKey,
    UpdateJoin,
    DeleteOne,
    DeleteSome,
    DeleteAll,
    Merge,
    Loop,
}

/// Draws a write to `tables[at]`.
pub fn write(draw: &mut Draw, tables: &mut [Table], at: usize, limits: Limits) -> Statement {
    let full = tables[at].rows > limits.rows;
    let grow = |weight| if full { 0 } else { weight };
    let keyed = |weight| if tables[at].key.is_some() { weight } else { 0 };
    let kind = draw.weighted(&[
        (grow(14), Kind::Insert),
        (grow(10), Kind::InsertMany),
        (grow(8), Kind::Bulk),
        (grow(4), Kind::Copy),
        (keyed(10), Kind::Conflict),
        (grow(2), Kind::CopyTable),
        (16, Kind::UpdateOne),
        (9, Kind::UpdateSome),
        (2, Kind::UpdateAll),
        (keyed(4), Kind::UpdateKey),
        (keyed(3), Kind::UpdateJoin),
        (9, Kind::DeleteOne),
        (5, Kind::DeleteSome),
        (if full { 6 } else { 1 }, Kind::DeleteAll),
        (keyed(7), Kind::Merge),
        (keyed(2), Kind::Loop),
    ]);
    let table = &mut tables[at];
    match kind {
        Kind::Insert => insert(draw, table, 1),
        Kind::InsertMany => {
            let rows = *draw.pick(&[2, 5, 20, 60]);
            insert(draw, table, rows)
        }
        Kind::Bulk => bulk(draw, tables, at, limits.bulk),
        Kind::Copy => copy(draw, table, limits.copy),
        Kind::Conflict => conflict(draw, table),
        Kind::CopyTable => copy_table(draw, table),
        Kind::UpdateOne => update(draw, table, 1),
        Kind::UpdateSome => update(draw, table, 2),
        Kind::UpdateAll => update(draw, table, 3),
        Kind::UpdateKey => update_key(draw, table),
        Kind::UpdateJoin => update_join(draw, tables, at),
        Kind::DeleteOne | Kind::DeleteSome | Kind::DeleteAll => delete(draw, table, kind),
        Kind::Merge => merge(draw, table, limits),
        Kind::Loop => cursor_loop(draw, table),
    }
}

/// Draws a write that meets few rows, for sessions that wait for each other.
pub fn small(draw: &mut Draw, table: &mut Table, limits: Limits) -> Statement {
    let keyed = |weight| if table.key.is_some() { weight } else { 0 };
    match draw.weighted(&[
        (4, 0),
        (6, 1),
        (5, 2),
        (4, 3),
        (keyed(4), 4),
        (keyed(3), 5),
        (keyed(3), 6),
    ]) {
        0 => insert(draw, table, 1),
        1 => update(draw, table, 1),
        2 => update(draw, table, 2),
        3 => delete(draw, table, Kind::DeleteOne),
        4 => conflict(draw, table),
        5 => merge(draw, table, limits),
        _ => update_key(draw, table),
    }
}

/// SET items over the alias `t`. `one`: a single row is updated, so a unique column may take any value; otherwise
/// only a constant, which makes the outcome independent of the order of rows.
pub fn assignments(draw: &mut Draw, table: &Table, one: bool) -> String {
    let plain: Vec<&Column> = table.plain_columns().collect();
    if plain.is_empty() {
        return if table.key.is_some() { "id = t.id".into() } else { "ref = t.ref".into() };
    }
    let mut set: Vec<String> = Vec::new();
    for _ in 0..draw.range(1, 3) {
        let column = draw.pick(&plain);
        let name = &column.name;
        if set.iter().any(|s| s.starts_with(&format!("{name} ="))) {
            continue;
        }
        let profile = table.profile(column);
        let free = one || !table.is_unique(name);
        let expression = match draw.below(10) {
            0 if free && column.ty.is_integer() => format!("t.{name} + 1"),
            1 if free && column.ty.is_text() && !column.not_null => {
                format!("left(t.{name} || 'x', 300)")
            }
            2 if column.default.is_some() => "DEFAULT".to_string(),
            3 | 4 if free && table.key.is_some() => {
                value::series(draw, column.ty, profile, "abs(hashtext(t.id::text)::int8)")
            }
            5 if free => format!("t.{name}"),
            _ => value::literal(draw, column.ty, profile),
        };
        set.push(format!("{name} = {expression}"));
    }
    if one && table.reference.is_some() && draw.chance(25) {
        let kind = table.reference.as_ref().map_or(crate::model::KeyKind::Int8, |r| r.kind);
        set.push(format!("ref = {}", kind.literal(draw.below(60))));
    }
    set.join(", ")
}

fn update(draw: &mut Draw, table: &mut Table, breadth: u32) -> Statement {
    let returning = if breadth < 3 && draw.chance(20) { " RETURNING t.*" } else { "" };
    let one = breadth == 1 && table.key.is_some_and(|k| !k.deferrable);
    let filter = match breadth {
        1 => single_row(draw, table),
        2 => predicate(draw, table),
        _ => "true".into(),
    };
    let set = assignments(draw, table, one);
    let sql = format!("UPDATE @@{} t SET {set} WHERE {filter}{returning}", table.name);
    if one { Statement::exact(sql) } else { Statement::scanning(sql) }
}

/// Moves keys: one key anywhere, or many by a distance no two present keys have.
fn update_key(draw: &mut Draw, table: &mut Table) -> Statement {
    let Some(key) = table.key else {
        return update(draw, table, 1);
    };
    let integer = matches!(key.kind, crate::model::KeyKind::Int8);
    if integer && draw.chance(30) {
        let distance = if key.deferrable { draw.range(1, 5) } else { draw.range(1 << 32, 1 << 44) };
        let filter = predicate(draw, table);
        return Statement::scanning(format!(
            "UPDATE @@{} t SET id = id + {distance} WHERE {filter}",
            table.name
        ));
    }
    let to = key_text(draw, table);
    let filter = single_row(draw, table);
    Statement::exact(format!("UPDATE @@{} t SET id = {to} WHERE {filter}", table.name))
}

/// UPDATE ... FROM or DELETE ... USING another keyed table (or itself).
fn update_join(draw: &mut Draw, tables: &[Table], at: usize) -> Statement {
    let table = &tables[at];
    let kind = table.key.map(|k| k.kind);
    let keyed: Vec<&Table> = tables
        .iter()
        .filter(|t| t.key.is_some_and(|k| !k.deferrable && Some(k.kind) == kind))
        .collect();
    if keyed.is_empty() {
        return Statement::scanning(format!("DELETE FROM @@{} t WHERE false", table.name));
    }
    let other = draw.pick(&keyed);
    let filter = predicate(draw, table);
    if draw.chance(30) {
        return Statement::scanning(format!(
            "DELETE FROM @@{} t USING @@{} s WHERE t.id = s.id AND hashtext(s.id::text) % 5 = 0 AND ({filter})",
            table.name, other.name
        ));
    }
    let set = assignments(draw, table, false);
    Statement::scanning(format!(
        "UPDATE @@{} t SET {set} FROM @@{} s WHERE t.id = s.id AND ({filter})",
        table.name, other.name
    ))
}

fn delete(draw: &mut Draw, table: &mut Table, kind: Kind) -> Statement {
    let filter = match kind {
        Kind::DeleteOne => single_row(draw, table),
        Kind::DeleteAll if draw.chance(50) => "true".into(),
        Kind::DeleteAll => "hashtext(t::text) % 4 <> 0".into(),
        _ => predicate(draw, table),
    };
    let returning =
        if !matches!(kind, Kind::DeleteAll) && draw.chance(20) { " RETURNING t.*" } else { "" };
    Statement::scanning(format!("DELETE FROM @@{} t WHERE {filter}{returning}", table.name))
}

fn merge(draw: &mut Draw, table: &mut Table, limits: Limits) -> Statement {
    let saved = table.next_key;
    if draw.chance(50) {
        table.next_key = draw.below(saved + 1);
    }
    let rows = draw.range(1, 8) as u64;
    let columns = table.insertable();
    let values = values(draw, table, rows);
    table.next_key = table.next_key.max(saved);
    let from: Vec<String> = columns.iter().map(|c| format!("s.{c}")).collect();
    let mut sql = format!(
        "MERGE INTO @@{} t USING (VALUES {values}) s ({}) ON t.id = s.id",
        table.name,
        columns.join(", ")
    );
    let set = assignments(draw, table, false);
    match draw.below(3) {
        0 => {
            sql += &format!(
                " WHEN MATCHED AND hashtext(t.id::text) % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET {set}"
            )
        }
        1 => sql += &format!(" WHEN MATCHED THEN UPDATE SET {set}"),
        _ => sql += " WHEN MATCHED AND s.id IS NULL THEN DO NOTHING WHEN MATCHED THEN DELETE",
    }
    if draw.chance(80) {
        sql += &format!(
            " WHEN NOT MATCHED THEN INSERT ({}) VALUES ({})",
            columns.join(", "),
            from.join(", ")
        );
    }
    if limits.major >= 17 {
        if draw.chance(15) {
            sql += " WHEN NOT MATCHED BY SOURCE AND hashtext(t.id::text) % 97 = 0 THEN DELETE";
        }
        if draw.chance(30) {
            sql += " RETURNING merge_action(), t.*";
        }
    }
    Statement::scanning(sql)
}

/// A PL/pgSQL loop over a cursor that updates or deletes WHERE CURRENT OF.
fn cursor_loop(draw: &mut Draw, table: &mut Table) -> Statement {
    let filter = predicate(draw, table);
    let lock = draw.pick(&["", " FOR UPDATE", " FOR NO KEY UPDATE"]);
    let action = if draw.chance(40) {
        format!("DELETE FROM @@{} WHERE CURRENT OF cur", table.name)
    } else {
        let set = assignments(draw, table, false);
        format!("UPDATE @@{} t SET {set} WHERE CURRENT OF cur", table.name)
    };
    Statement::scanning(format!(
        "DO $do$ DECLARE cur CURSOR FOR SELECT * FROM @@{} t WHERE {filter}{lock}; BEGIN \
         FOR r IN cur LOOP IF hashtext(r.id::text) % 3 <> 0 THEN {action}; END IF; END LOOP; END $do$",
        table.name
    ))
}
