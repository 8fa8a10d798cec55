//! Random DDL and maintenance commands.

use crate::ddl;
use crate::draw::Draw;
use crate::model::{Change, Column, Method, Server, Table};
use crate::schema;
use crate::sqltype::{Collation, SqlType};
use crate::statement::Statement;

/// A command that may run in a transaction. `table` is the session's view of table `at`; `table.next_object`
/// is advanced, the caller keeps it.
///
/// `cursors`: the session has some open. They hold the indexes their plans use, and commands on indexes then fail; a plan
/// is no part of the comparison, so those commands are not drawn.
pub fn alter(
    draw: &mut Draw,
    server: Server,
    table: &mut Table,
    at: usize,
    cursors: bool,
) -> Statement {
    let name = table.name.clone();
    let choice = draw.below(16);
    if cursors && (9..=11).contains(&choice) {
        return analyze(&name);
    }
    match choice {
        0 => Statement::scanning(format!(
            "TRUNCATE @@{name}{}",
            draw.pick(&["", " CASCADE", " RESTART IDENTITY"])
        )),
        1 | 2 => {
            let column = schema::column(draw, server, table, table.rows == 0);
            let sql = format!("ALTER TABLE @@{name} ADD COLUMN {}", ddl::column_ddl(&column));
            Statement::scanning(sql).changing(Change::AddColumn(at, column))
        }
        3 => match movable(draw, table) {
            Some(column) if table.columns.len() > 2 => {
                let sql = format!("ALTER TABLE @@{name} DROP COLUMN {}", column.name);
                Statement::scanning(sql).changing(Change::DropColumn(at, column.name))
            }
            _ => analyze(&name),
        },
        4 | 5 => match movable(draw, table).and_then(|c| Some((alter_type(c.ty)?, c))) {
            Some(((ty, using), column)) => {
                let using = using.replace("{}", &column.name);
                let sql = format!(
                    "ALTER TABLE @@{name} ALTER COLUMN {0} DROP DEFAULT, ALTER COLUMN {0} TYPE {1} USING {using}",
                    column.name,
                    ty.definition()
                );
                Statement::scanning(sql).changing(Change::AlterType(at, column.name, ty))
            }
            None => analyze(&name),
        },
        6..=8 => match schema::index(draw, server, table) {
            Some(index) => {
                let sql = ddl::index_ddl(&name, &index, false);
                Statement::scanning(sql).changing(Change::AddIndex(at, index))
            }
            None => analyze(&name),
        },
        9 if !table.indexes.is_empty() => {
            let index = draw.pick(&table.indexes).name.clone();
            Statement::scanning(format!("DROP INDEX @@{index}"))
                .changing(Change::DropIndex(at, index))
        }
        // Not the TABLE: the lock on the index of its TOAST table would stop batches, which fetch values that heap's
        // comparisons pass over by their length.
        10 => Statement::scanning(match table.indexes.first() {
            Some(index) => format!("REINDEX INDEX @@{}", index.name),
            None => format!("ANALYZE @@{name}"),
        }),
        11 => cluster(draw, table),
        12 => Statement::scanning(format!(
            "LOCK TABLE @@{name} IN {} MODE",
            draw.pick(&["SHARE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ROW EXCLUSIVE"])
        )),
        13 => {
            let unlogged = draw.chance(50);
            let word = if unlogged { "UNLOGGED" } else { "LOGGED" };
            Statement::scanning(format!("ALTER TABLE @@{name} SET {word}"))
                .changing(Change::Persistence(at, unlogged))
        }
        _ => analyze(&name),
    }
}

/// A column no trigger, generated column or key needs.
fn movable(draw: &mut Draw, table: &Table) -> Option<Column> {
    let columns: Vec<&Column> = table.columns.iter().filter(|c| !c.pinned).collect();
    if columns.is_empty() { None } else { Some((*draw.pick(&columns)).clone()) }
}

fn analyze(name: &str) -> Statement {
    Statement::scanning(format!("ANALYZE @@{name}"))
}

fn cluster(draw: &mut Draw, table: &Table) -> Statement {
    let usable: Vec<&str> = table
        .indexes
        .iter()
        .filter(|i| i.method == Method::Btree && i.predicate.is_none())
        .map(|i| i.name.as_str())
        .collect();
    match (usable.is_empty(), table.key) {
        (false, _) => {
            Statement::scanning(format!("CLUSTER @@{} USING @@{}", table.name, draw.pick(&usable)))
        }
        (true, Some(_)) => {
            Statement::scanning(format!("CLUSTER @@{0} USING @@{0}_key", table.name))
        }
        (true, None) => analyze(&table.name),
    }
}

/// The type a column may be changed to, and how.
fn alter_type(from: SqlType) -> Option<(SqlType, &'static str)> {
    Some(match from {
        SqlType::Int2 => (SqlType::Int4, "{}"),
        SqlType::Int4 => (SqlType::Int8, "{}"),
        SqlType::Int8 => (SqlType::Int2, "({} % 1000)::int2"),
        SqlType::Decimal => (SqlType::Numeric, "{}"),
        SqlType::Numeric => (SqlType::Text(Collation::Default), "{}::text"),
        SqlType::Float4 => (SqlType::Float8, "{}"),
        SqlType::Varchar(20, collation) => (SqlType::Varchar(2_000, collation), "{}"),
        SqlType::Varchar(_, collation) => (SqlType::Text(collation), "{}"),
        SqlType::Text(Collation::Default) => (SqlType::Text(Collation::C), "{}"),
        SqlType::Text(Collation::C) => (SqlType::Varchar(20, Collation::C), "left({}, 20)"),
        SqlType::Date => (SqlType::Text(Collation::C), "{}::text"),
        SqlType::Uuid => (SqlType::Text(Collation::C), "{}::text"),
        SqlType::Bool => (SqlType::Int4, "{}::int4"),
        SqlType::Domain => (SqlType::Int4, "{}"),
        SqlType::Char(_) => (SqlType::Text(Collation::Default), "{}"),
        _ => return None,
    })
}

/// Whether a plain VACUUM of the table skips every page an open cursor pins: it does in heap, not in hash indexes,
/// nor in btrees of relations without WAL, whose scans keep their pins.
pub fn lazy_vacuum_never_waits(table: &Table) -> bool {
    !table.unlogged && table.indexes.iter().all(|i| i.method != Method::Hash)
}

/// The VACUUM that [`lazy_vacuum_never_waits`] judges.
pub fn lazy_vacuum(table: &Table) -> Statement {
    Statement::scanning(format!("VACUUM (TRUNCATE off) @@{}", table.name))
}

/// A command that refuses a transaction block. `quiet`: no transaction is open, so CONCURRENTLY can wait for none.
pub fn vacuum(
    draw: &mut Draw,
    server: Server,
    table: &mut Table,
    at: usize,
    quiet: bool,
) -> Statement {
    let name = table.name.clone();
    // Heap tries for five seconds to lock a table it could truncate.
    let truncate = if quiet { "" } else { ", TRUNCATE off" };
    let only_quiet = |weight| if quiet { weight } else { 0 };
    match draw.weighted(&[
        (8, 0),
        (4, 1),
        (3, 2),
        (2, 3),
        (only_quiet(3), 4),
        (only_quiet(2), 5),
        (only_quiet(2), 6),
        (2, 7),
    ]) {
        0 => Statement::scanning(format!("VACUUM (INDEX_CLEANUP auto{truncate}) @@{name}")),
        1 => Statement::scanning(format!("VACUUM (FREEZE, ANALYZE{truncate}) @@{name}")),
        2 => Statement::scanning(format!("VACUUM FULL @@{name}")),
        3 => Statement::scanning(format!(
            "VACUUM (DISABLE_PAGE_SKIPPING, INDEX_CLEANUP on{truncate}) @@{name}"
        )),
        4 => match schema::index(draw, server, table) {
            Some(index) => {
                let sql = ddl::index_ddl(&name, &index, true);
                Statement::scanning(sql).changing(Change::AddIndex(at, index))
            }
            None => Statement::scanning(format!("VACUUM @@{name}")),
        },
        5 => Statement::scanning(format!("REINDEX TABLE CONCURRENTLY @@{name}")),
        6 if !table.indexes.is_empty() => {
            let index = draw.pick(&table.indexes).name.clone();
            Statement::scanning(format!("DROP INDEX CONCURRENTLY @@{index}"))
                .changing(Change::DropIndex(at, index))
        }
        _ => Statement::scanning(format!("ANALYZE @@{name}")),
    }
}
