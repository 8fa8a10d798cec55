//! Comparison of contents: whole tables and parts of them, through different plans, from any session's snapshot.

use crate::draw::Draw;
use crate::model::Table;
use crate::outcome::Outcome;
use crate::record::{Failure, Record};
use crate::session::{Session, answers_differ};
use crate::statement::Side;
use crate::target;

/// Plans the tested side is forced into, one after the other.
pub const PLANS: &[&[&str]] = &[
    &[],
    &["enable_seqscan = off", "enable_bitmapscan = off"],
    &["enable_seqscan = off", "enable_indexscan = off", "enable_indexonlyscan = off"],
    &["enable_indexonlyscan = off", "enable_seqscan = off", "enable_bitmapscan = off"],
    &["enable_indexscan = off", "enable_bitmapscan = off", "enable_indexonlyscan = off"],
    &[
        "parallel_setup_cost = 0",
        "parallel_tuple_cost = 0",
        "min_parallel_table_scan_size = 0",
        "max_parallel_workers_per_gather = 2",
    ],
];

/// Settings drawn for every comparison on the tested side: name and choices.
pub type DrawnSettings = Vec<(String, Vec<String>)>;

/// Compares one table in one session, in a drawn form and plan.
pub fn table(
    draw: &mut Draw,
    session: &mut Session,
    record: &mut Record,
    view: &Table,
    drawn: &DrawnSettings,
) -> Result<(), Failure> {
    let plan = draw.below(PLANS.len() as u64) as usize;
    let filter = match draw.below(5) {
        0 | 1 => "true".to_string(),
        2 if view.key.is_some() => {
            let key = view.key.map(|k| k.kind.literal(0)).unwrap_or_default();
            format!("t.id >= {key}")
        }
        3 if !view.indexes.is_empty() => {
            let at = draw.below(view.indexes.len() as u64) as usize;
            target::index_predicate(draw, view, at)
        }
        _ => target::predicate(draw, view),
    };
    let what = if view.key.is_some() && draw.chance(20) { "t.id" } else { "t" };
    check(draw, session, record, &view.name, what, &filter, plan, drawn)?;
    if view.triggers && draw.chance(50) {
        check(draw, session, record, &format!("{}_log", view.name), "t", "true", plan, drawn)?;
    }
    Ok(())
}

/// Compares one table through every plan and every index.
pub fn thorough(
    draw: &mut Draw,
    session: &mut Session,
    record: &mut Record,
    view: &Table,
    drawn: &DrawnSettings,
) -> Result<(), Failure> {
    for plan in 0..PLANS.len() {
        check(draw, session, record, &view.name, "t", "true", plan, drawn)?;
        if let Some(key) = view.key {
            check(
                draw,
                session,
                record,
                &view.name,
                "t.id",
                &format!("t.id >= {}", key.kind.literal(0)),
                plan,
                drawn,
            )?;
        }
        for at in 0..view.indexes.len() {
            let filter = target::index_predicate(draw, view, at);
            check(draw, session, record, &view.name, "t", &filter, plan, drawn)?;
        }
    }
    if view.triggers {
        check(draw, session, record, &format!("{}_log", view.name), "t", "true", 0, drawn)?;
    }
    Ok(())
}

/// One comparison: count and hash of `what` over the rows that satisfy `filter`. Heap answers under default
/// settings, the tested side under plan number `plan` and the drawn settings.
#[expect(clippy::too_many_arguments, reason = "one row of a table of comparisons")]
fn check(
    draw: &mut Draw,
    session: &mut Session,
    record: &mut Record,
    name: &str,
    what: &str,
    filter: &str,
    plan: usize,
    drawn: &DrawnSettings,
) -> Result<(), Failure> {
    let hash = if draw.chance(25) {
        format!("md5(string_agg(md5({what}::text), '' ORDER BY md5({what}::text)))")
    } else {
        // A sum of 64-bit hashes tells multisets apart without a sort.
        format!("sum(hashtextextended({what}::text, 0)::numeric)")
    };
    let query = format!("SELECT count(*), {hash} FROM @@{name} t WHERE {filter}");
    let mut settings: Vec<String> = PLANS[plan].iter().map(|s| (*s).to_string()).collect();
    for (setting, choices) in drawn {
        settings.push(format!("{setting} = '{}'", draw.pick(choices)));
    }
    let heap = session.probe(record, &[], &Side::Heap.sql(&query, ""))?;
    if heap.is_ssi() {
        return Ok(());
    }
    let tested = session.probe(record, &settings, &Side::Tested.sql(&query, ""))?;
    if tested.is_ssi() {
        return Ok(());
    }
    if record.autovacuum && heap.is_lock_timeout() != tested.is_lock_timeout() {
        record.inconclusive += 1;
        return Ok(());
    }
    record.checks += 1;
    let Some(difference) = answers_differ(&heap, &tested) else {
        return Ok(());
    };
    let rows = differing_rows(session, record, name, what, filter, &settings)?;
    Err(Failure::new(
        format!("the contents of {name} differ in session {}", session.number),
        format!(
            "query: {query}\nsettings of the tested side: {settings:?}\nheap:   {:?}\ntested: {:?}\n{difference}\n{rows}",
            heap.rows(),
            tested.rows()
        ),
    ))
}

/// Up to ten rows that only one side has, under the settings that showed the difference.
fn differing_rows(
    session: &mut Session,
    record: &mut Record,
    name: &str,
    what: &str,
    filter: &str,
    settings: &[String],
) -> Result<String, Failure> {
    let mut report = String::new();
    for (only, other, title) in [
        (Side::Heap, Side::Tested, "only in heap"),
        (Side::Tested, Side::Heap, "only in the tested table"),
    ] {
        let part = |side: Side| {
            side.sql(&format!("SELECT {what}::text AS row FROM @@{name} t WHERE {filter}"), "")
        };
        let sql = format!(
            "SELECT left(row, 400) FROM ({} EXCEPT ALL {}) x LIMIT 10",
            part(only),
            part(other)
        );
        let outcome = session.probe(record, settings, &sql)?;
        report += &format!("{title}:\n");
        match outcome {
            Outcome::Done { rows, .. } => {
                report += &rows.iter().map(|r| format!("  {r}\n")).collect::<String>()
            }
            other => report += &format!("  {}\n", other.brief()),
        }
    }
    Ok(report)
}

/// Every valid btree of the table against its heap with amcheck, which also asserts that no row lacks an entry.
pub fn btrees(
    session: &mut Session,
    record: &mut Record,
    side: Side,
    name: &str,
) -> Result<(), Failure> {
    let relation = format!("{}{name}", side.prefix());
    let list = format!(
        "SELECT c.relname, i.indisunique FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam \
         WHERE i.indrelid = '{relation}'::regclass AND a.amname = 'btree' AND i.indisvalid ORDER BY 1"
    );
    let outcome = session.run(record, &list, None)?;
    for row in outcome.rows() {
        let index = row.split('\u{1F}').next().unwrap_or_default();
        let outcome = session.run(
            record,
            &format!("SELECT bt_index_check('{index}'::regclass, true)"),
            None,
        )?;
        if !outcome.is_done() && !outcome.is_lock_timeout() {
            return Err(Failure::new(format!("amcheck of {index} failed"), outcome.brief()));
        }
        record.checks += 1;
    }
    Ok(())
}
