//! Random statements that add rows: INSERT, INSERT ... SELECT, ON CONFLICT, COPY.

use crate::dml::assignments;
use crate::draw::Draw;
use crate::model::{Column, Table};
use crate::statement::Statement;
use crate::target::predicate;
use crate::value;

/// The values of one row in the order of [`Table::insertable`], as input text.
fn row(draw: &mut Draw, table: &mut Table) -> Vec<Option<String>> {
    let mut row = Vec::new();
    if let Some(key) = table.key {
        let n = if draw.chance(85) {
            table.next_key += 1;
            table.next_key
        } else {
            draw.below(table.next_key + 1)
        };
        row.push(Some(key.kind.text(n)));
    }
    if let Some(reference) = &table.reference {
        row.push(draw.chance(40).then(|| reference.kind.text(draw.below(60))));
    }
    let plain: Vec<Column> = table.plain_columns().cloned().collect();
    row.extend(plain.iter().map(|c| value::text(draw, c.ty, table.profile(c))));
    row
}

/// A VALUES list, each field with its cast.
pub fn values(draw: &mut Draw, table: &mut Table, rows: u64) -> String {
    let mut types: Vec<String> = Vec::new();
    types.extend(table.key.map(|k| k.kind.definition().to_string()));
    types.extend(table.reference.as_ref().map(|r| r.kind.definition().to_string()));
    types.extend(table.plain_columns().map(|c| c.ty.name()));
    let mut out = Vec::new();
    for _ in 0..rows {
        let row = row(draw, table);
        let fields: Vec<String> = row
            .iter()
            .zip(&types)
            .map(|(v, ty)| {
                let ty = ty.trim_end_matches(" COLLATE \"C\"");
                v.as_ref()
                    .map_or_else(|| format!("NULL::{ty}"), |v| format!("{}::{ty}", value::quote(v)))
            })
            .collect();
        out.push(format!("({})", fields.join(", ")));
    }
    out.join(", ")
}

/// INSERT ... VALUES of so many rows.
pub fn insert(draw: &mut Draw, table: &mut Table, rows: u64) -> Statement {
    let returning = if draw.chance(25) { " RETURNING *" } else { "" };
    let columns = table.insertable().join(", ");
    let values = values(draw, table, rows);
    Statement::exact(format!("INSERT INTO @@{} ({columns}) VALUES {values}{returning}", table.name))
}

/// INSERT ... SELECT over generate_series: sizes that stay in memory, fill a vector, fill more than one.
pub fn bulk(draw: &mut Draw, tables: &mut [Table], at: usize, most: u64) -> Statement {
    let rows = (*draw.pick(&[1, 10, 100, 900, 1_100, 5_000, 9_000, 30_000])).min(most);
    let parent = tables[at].reference.as_ref().map(|r| tables[r.parent].name.clone());
    let table = &mut tables[at];
    let first = if draw.chance(85) { table.next_key + 1 } else { draw.below(table.next_key + 1) };
    table.next_key = table.next_key.max(first + rows);
    let mut fields = Vec::new();
    fields.extend(table.key.map(|k| k.kind.expression("g")));
    if let (Some(reference), Some(parent)) = (&table.reference, parent) {
        let wanted = reference.kind.expression("g % 60");
        // The child's own parent table may be named in another form, hence the alias.
        fields.push(format!("(SELECT p.id FROM @@{parent} p WHERE p.id = {wanted})"));
    }
    let plain: Vec<Column> = table.plain_columns().cloned().collect();
    fields.extend(plain.iter().map(|c| value::series(draw, c.ty, table.profile(c), "g")));
    let conflict =
        if table.key.is_some() && draw.chance(15) { " ON CONFLICT DO NOTHING" } else { "" };
    let conflict = if table.key.is_some_and(|k| k.deferrable) { "" } else { conflict };
    Statement::exact(format!(
        "INSERT INTO @@{} ({}) SELECT {} FROM generate_series({first}, {}) g{conflict}",
        table.name,
        table.insertable().join(", "),
        fields.join(", "),
        first + rows - 1
    ))
}

/// COPY FROM STDIN.
pub fn copy(draw: &mut Draw, table: &mut Table, most: u64) -> Statement {
    let rows = draw.weighted(&[(4, 3), (4, 200), (3, 1_500), (2, 12_000), (1, 50_000)]).min(most);
    // Bulk data meets constraints rarely, or no large COPY would ever succeed.
    let mut quiet = table.clone();
    for column in &mut quiet.columns {
        column.profile.wide /= if rows > 1_000 { 20 } else { 1 };
        if column.not_null {
            column.profile.nulls = 0;
        }
    }
    let mut data = String::new();
    for i in 0..rows {
        let mut row = row(draw, &mut quiet);
        if rows > 10
            && let Some(key) = quiet.key
        {
            row[0] = Some(key.kind.text(table.next_key + 1 + i));
            if quiet.reference.is_some() {
                row[1] = None;
            }
        }
        if rows > 100 {
            for (field, column) in row
                .iter_mut()
                .rev()
                .zip(quiet.plain_columns().collect::<Vec<_>>().into_iter().rev())
            {
                if field.as_deref() == Some("-5000") && column.ty == crate::sqltype::SqlType::Domain
                {
                    *field = Some("5000".into());
                }
            }
        }
        let fields: Vec<String> = row.iter().map(|f| value::copy_field(f.as_deref())).collect();
        data += &fields.join("\t");
        data.push('\n');
    }
    table.next_key = quiet.next_key.max(table.next_key + rows + 1);
    let sql = format!("COPY @@{} ({}) FROM STDIN", table.name, table.insertable().join(", "));
    Statement { copy: Some(data), ..Statement::exact(sql) }
}

/// INSERT ... ON CONFLICT of a few rows, some of them present.
pub fn conflict(draw: &mut Draw, table: &mut Table) -> Statement {
    let rows = draw.range(1, 6) as u64;
    let columns = table.insertable().join(", ");
    let saved = table.next_key;
    if draw.chance(60) {
        table.next_key = draw.below(saved + 1);
    }
    let values = values(draw, table, rows);
    table.next_key = table.next_key.max(saved);
    let action = if draw.chance(35) {
        "DO NOTHING".to_string()
    } else {
        let set = assignments(draw, table, true);
        let filter = if draw.chance(25) { " WHERE hashtext(t.id::text) % 2 = 0" } else { "" };
        format!("DO UPDATE SET {set}{filter}")
    };
    let returning = if draw.chance(40) { " RETURNING *" } else { "" };
    Statement::exact(format!(
        "INSERT INTO @@{} AS t ({columns}) VALUES {values} ON CONFLICT (id) {action}{returning}",
        table.name
    ))
}

/// INSERT INTO a table rows read from itself.
pub fn copy_table(draw: &mut Draw, table: &mut Table) -> Statement {
    let plain: Vec<String> = table.plain_columns().map(|c| format!("t.{}", c.name)).collect();
    let mut fields = Vec::new();
    if let Some(key) = table.key {
        let offset = 1 << draw.range(21, 28);
        fields.push(match key.kind {
            crate::model::KeyKind::Int4 | crate::model::KeyKind::Int8 => format!("t.id + {offset}"),
            crate::model::KeyKind::Text => format!("t.id || '{offset}'"),
            crate::model::KeyKind::Uuid => format!("md5(t.id::text || '{offset}')::uuid"),
        });
    }
    fields.extend(table.reference.as_ref().map(|_| "t.ref".to_string()));
    fields.extend(plain);
    let filter = predicate(draw, table);
    Statement::scanning(format!(
        "INSERT INTO @@{0} ({1}) SELECT {2} FROM @@{0} t WHERE {filter}",
        table.name,
        table.insertable().join(", "),
        fields.join(", ")
    ))
}
