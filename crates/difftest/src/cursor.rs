//! Cursors: scrolled, held, locking, and updates WHERE CURRENT OF.

use crate::draw::Draw;
use crate::model::Table;
use crate::outcome::Outcome;
use crate::record::{Failure, Record};
use crate::session::{Ending, Session};
use crate::statement::{Rows, Statement};
use crate::target;

/// What may be done with a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// ORDER BY, SCROLL: every fetch can be compared.
    Scroll,
    /// ORDER BY ... FOR UPDATE: fetches forward, and WHERE CURRENT OF.
    Locking,
    /// At most one row by key, no sort above the scan: WHERE CURRENT OF without a lock.
    Single,
    /// No ORDER BY: counts are compared as it goes, contents when it is drained.
    Unordered,
}

/// A pair of open cursors.
pub struct Cursor {
    /// Without the prefix.
    name: String,
    kind: Kind,
    table: usize,
    pub hold: bool,
    /// The declaring transaction has committed (held cursors only).
    pub committed: bool,
    /// What an unordered cursor has returned so far.
    heap: Vec<String>,
    tested: Vec<String>,
}

/// Declares a cursor on the table `at`.
pub fn declare(
    draw: &mut Draw,
    session: &mut Session,
    record: &mut Record,
    table: &Table,
    at: usize,
    number: u64,
) -> Result<(), Failure> {
    let keyed = table.key.is_some();
    let kind = draw.weighted(&[
        (5, Kind::Scroll),
        (3, Kind::Locking),
        (if keyed { 2 } else { 0 }, Kind::Single),
        (2, Kind::Unordered),
    ]);
    let name = format!("cur{number}");
    let hold = matches!(kind, Kind::Scroll | Kind::Unordered)
        && (session.transaction.is_none() || draw.chance(20));
    if session.transaction.is_none() && !hold {
        return Ok(());
    }
    let with_hold = if hold { " WITH HOLD" } else { "" };
    let filter = if kind == Kind::Single {
        target::single_row(draw, table)
    } else {
        target::predicate(draw, table)
    };
    let order = table.total_order();
    let (scroll, tail) = match kind {
        Kind::Scroll => ("SCROLL", format!(" ORDER BY {order}")),
        Kind::Locking => ("NO SCROLL", format!(" ORDER BY {order} FOR UPDATE")),
        Kind::Single | Kind::Unordered => ("NO SCROLL", String::new()),
    };
    let sql = format!(
        "DECLARE @@{name} {scroll} CURSOR{with_hold} FOR SELECT * FROM @@{} t WHERE {filter}{tail}",
        table.name
    );
    if let Ending::Same { heap, .. } = session.pair(record, &Statement::scanning(sql))?
        && heap.is_done()
    {
        let committed = session.transaction.is_none();
        session.cursors.push(Cursor {
            name,
            kind,
            table: at,
            hold,
            committed,
            heap: Vec::new(),
            tested: Vec::new(),
        });
    }
    Ok(())
}

/// Fetches from, moves, updates through or closes one of the session's cursors.
pub fn advance(
    draw: &mut Draw,
    session: &mut Session,
    record: &mut Record,
    tables: &[Table],
) -> Result<(), Failure> {
    let at = draw.below(session.cursors.len() as u64) as usize;
    let (name, kind, table) = {
        let cursor = &session.cursors[at];
        (cursor.name.clone(), cursor.kind, cursor.table)
    };
    if draw.chance(6) {
        session.cursors.remove(at);
        return session.pair(record, &Statement::exact(format!("CLOSE @@{name}"))).map(|_| ());
    }
    if matches!(kind, Kind::Locking | Kind::Single) && draw.chance(50) {
        let fetch = Statement::scanning(format!("FETCH 1 FROM @@{name}")).ordered();
        if !end(session, record, &name, &fetch)? || session.transaction.is_none() {
            return Ok(());
        }
        let view = session.view(tables, table);
        let sql = if draw.chance(40) || view.key.is_none() {
            format!("DELETE FROM @@{} WHERE CURRENT OF @@{name}", view.name)
        } else {
            // `id` of the same value: a new version of the row without meeting any constraint.
            let column = view.plain_columns().find(|c| c.default.is_some()).map(|c| c.name.clone());
            let set = column.map_or("id = t.id".to_string(), |c| format!("{c} = DEFAULT"));
            format!("UPDATE @@{} t SET {set} WHERE CURRENT OF @@{name}", view.name)
        };
        return session.pair(record, &Statement::scanning(sql)).map(|_| ());
    }
    let count = *draw.pick(&[1, 2, 10, 1_000]);
    if kind == Kind::Unordered {
        return unordered(session, record, &name, count);
    }
    let sql = match if kind == Kind::Scroll { draw.below(8) } else { 0 } {
        0 | 1 => format!("FETCH FORWARD {count} FROM @@{name}"),
        2 | 3 => format!("FETCH BACKWARD {count} FROM @@{name}"),
        4 => format!("FETCH ABSOLUTE {} FROM @@{name}", draw.range(-20, 20)),
        5 => format!(
            "FETCH {} FROM @@{name}",
            draw.pick(&["LAST", "FIRST", "PRIOR", "RELATIVE 0", "ALL"])
        ),
        6 => format!("MOVE FORWARD {count} FROM @@{name}"),
        _ => format!("MOVE ABSOLUTE {} FROM @@{name}", draw.range(0, 30)),
    };
    end(session, record, &name, &Statement::scanning(sql).ordered()).map(|_| ())
}

/// Runs a fetch; a cursor that fails is forgotten. True if both succeeded.
fn end(
    session: &mut Session,
    record: &mut Record,
    name: &str,
    fetch: &Statement,
) -> Result<bool, Failure> {
    let ending = session.pair(record, fetch)?;
    let done = matches!(&ending, Ending::Same { heap, .. } if heap.is_done());
    if !done {
        session.cursors.retain(|c| c.name != name);
    }
    Ok(done)
}

/// Counts agree fetch by fetch; the rows agree once there are no more.
fn unordered(
    session: &mut Session,
    record: &mut Record,
    name: &str,
    count: u64,
) -> Result<(), Failure> {
    let fetch = Statement {
        rows: Rows::Counted,
        ..Statement::scanning(format!("FETCH {count} FROM @@{name}"))
    };
    let Ending::Same { heap, tested } = session.pair(record, &fetch)? else {
        return Ok(());
    };
    let Some(at) = session.cursors.iter().position(|c| c.name == name) else {
        return Ok(());
    };
    if !heap.is_done() {
        session.cursors.remove(at);
        return Ok(());
    }
    let cursor = &mut session.cursors[at];
    cursor.heap.extend(heap.rows().iter().cloned());
    cursor.tested.extend(tested.rows().iter().cloned());
    if (heap.rows().len() as u64) < count {
        let cursor = session.cursors.remove(at);
        let all = |rows: Vec<String>| Outcome::Done { count: rows.len() as u64, rows };
        if let Some(difference) =
            crate::session::answers_differ(&all(cursor.heap), &all(cursor.tested))
        {
            return Err(Failure::new("a cursor read to its end returned other rows", difference));
        }
        return session.pair(record, &Statement::exact(format!("CLOSE @@{name}"))).map(|_| ());
    }
    Ok(())
}
