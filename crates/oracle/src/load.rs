//! Makes the pairs of tables of an epoch and fills them: in bulk, row by row, then deletes and updates.
//!
//! Rows are made on heap and copied to the columnar table, so that both hold the same values whatever made them.

use std::rc::Rc;

use difftest::draw::Draw;

use crate::session::{Broken, Session, clip};
use crate::table::{Load, Table, on_side};
use crate::types::Ty;
use crate::values::{any_constant, series};

/// What the queries use besides tables. `oracle_leak` raises an error for rows that a barrier hides.
const SUPPORT: &[&str] = &[
    "CREATE EXTENSION pgcolumnar",
    "CREATE TYPE oracle_enum AS ENUM ('red', 'green', 'blue', 'a longer label')",
    "CREATE FUNCTION oracle_sql(int8) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT $1::numeric * 2 + 1'",
    "CREATE FUNCTION oracle_plpgsql(text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
     AS 'BEGIN RETURN coalesce(left($1, 2), ''none''); END'",
    "CREATE FUNCTION oracle_strict(int4, text) RETURNS int4 LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
     AS 'BEGIN RETURN length($2) + $1 % 10; END'",
    "CREATE FUNCTION oracle_leak(int4) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001 PARALLEL SAFE
     AS 'BEGIN IF $1 % 5 = 0 THEN RAISE EXCEPTION ''a hidden row was seen''; END IF; RETURN $1 % 2 = 0; END'",
];

/// Prepares a new database; whether it has ICU collations.
pub fn prepare_database(session: &mut Session) -> Result<bool, Broken> {
    for sql in SUPPORT {
        session.must(sql)?;
    }
    session.must(
        "DO $$ BEGIN CREATE ROLE oracle_user; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$",
    )?;
    let found = session.must("SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu'")?;
    let icu = !found.first_fields().is_empty();
    if icu {
        session.must(
            "CREATE COLLATION oracle_nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        )?;
    }
    Ok(icu)
}

/// Makes and fills a pair.
pub fn make(session: &mut Session, draw: &mut Draw, table: &mut Table) -> Result<(), Broken> {
    create(session, table)?;
    session.must(&format!(
        "SET pgcolumnar.bulk_threshold = {}; SET pgcolumnar.force_encoding = '{}'",
        table.bulk_threshold, table.encoding
    ))?;
    let first = if table.dropped { table.rows / 4 } else { 0 };
    if table.dropped {
        append(session, table, 1, first, false)?;
        alter(session, draw, table)?;
    }
    let bulk = first + (table.rows - first) * 9 / 10;
    append(session, table, first + 1, bulk, true)?;
    let single = (bulk + 25).min(table.rows);
    for id in bulk + 1..=single {
        append(session, table, id, id, true)?;
    }
    session.must("RESET pgcolumnar.bulk_threshold")?;
    append(session, table, single + 1, table.rows, true)?;
    change(session, draw, table)?;
    finish(session, draw, table)
}

fn create(session: &mut Session, table: &Table) -> Result<(), Broken> {
    let mut columns = vec!["id int4 NOT NULL".to_string(), "k int4".to_string()];
    for column in table.columns.iter().filter(|c| !c.added) {
        columns.push(format!("{} {}{}", column.name, column.ty.name(), column.ty.collate()));
    }
    if table.dropped {
        columns.insert(2, "gone text DEFAULT 'gone'".into());
    }
    let list = columns.join(", ");
    session.must(&format!("CREATE TABLE h_{} ({list}) USING heap", table.name))?;
    if table.partitions.is_none() {
        session.must(&format!("CREATE TABLE c_{} ({list}) USING pgcolumnar", table.name))?;
    }
    partition(session, table, &columns)?;
    for leaf in table.leaves() {
        // Bloom filters wherever they can be: by themselves, most columns have none.
        session.must(&format!(
            "SELECT pgcolumnar.set_options('{leaf}', row_group_rows => {}, vector_rows => {}, bloom_columns => \
             (SELECT array_agg(attname) FROM pg_attribute WHERE attrelid = '{leaf}'::regclass AND attnum > 0))",
            table.row_group_rows, table.vector_rows
        ))?;
    }
    Ok(())
}

/// Makes the columnar table with its partitions, if it has any.
fn partition(session: &mut Session, table: &Table, columns: &[String]) -> Result<(), Broken> {
    let Some(partitions) = table.partitions else { return Ok(()) };
    let name = &table.name;
    let way = if partitions.hash { "HASH" } else { "RANGE" };
    session
        .must(&format!("CREATE TABLE c_{name} ({}) PARTITION BY {way} (id)", columns.join(", ")))?;
    let count = partitions.count;
    let bound = |number| match number {
        0 => "MINVALUE".to_string(),
        _ if number == count => "MAXVALUE".to_string(),
        _ => (table.rows * number / count + number).to_string(),
    };
    for number in 0..count {
        let am = if partitions.heap && number == 1 { "heap" } else { "pgcolumnar" };
        let mut own = columns.to_vec();
        if partitions.reversed && number + 1 == count {
            own.reverse();
        }
        let values = match partitions.hash {
            true => format!("WITH (MODULUS {count}, REMAINDER {number})"),
            false => format!("FROM ({}) TO ({})", bound(number), bound(number + 1)),
        };
        session.must(&format!(
            "CREATE TABLE c_{name}_p{number} ({}) USING {am};
             ALTER TABLE c_{name} ATTACH PARTITION c_{name}_p{number} FOR VALUES {values}",
            own.join(", ")
        ))?;
    }
    Ok(())
}

/// Rows `from..=to` into both.
fn append(
    session: &mut Session,
    table: &Table,
    from: u64,
    to: u64,
    all: bool,
) -> Result<(), Broken> {
    if from > to {
        return Ok(());
    }
    session.must(&append_sql(table, "h_", from, to, all))?;
    let rows = format!("SELECT * FROM h_{} WHERE id BETWEEN {from} AND {to}", table.name);
    if table.load == Load::Copy && to - from > 100 {
        return session.copy(
            &format!("COPY ({rows}) TO STDOUT"),
            &format!("COPY c_{} FROM STDIN", table.name),
        );
    }
    session.must(&format!("INSERT INTO c_{} {rows}", table.name)).map(|_| ())
}

/// An INSERT of the rows `from..=to` as the row numbers give them.
pub fn append_sql(table: &Table, prefix: &str, from: u64, to: u64, all: bool) -> String {
    format!(
        "INSERT INTO {prefix}{} ({}) SELECT {} FROM generate_series({from}::int8, {to}) g ORDER BY g",
        table.name,
        table.column_list(all),
        table.select_list("g", all)
    )
}

/// Columns that existing rows have by their default only, and one whose values stay in the rows.
fn alter(session: &mut Session, draw: &mut Draw, table: &Table) -> Result<(), Broken> {
    for column in table.columns.iter().filter(|c| c.added) {
        let default = match draw.chance(80) {
            true => format!(" DEFAULT {}", any_constant(draw, column.ty)),
            false => String::new(),
        };
        both(
            session,
            &format!(
                "ALTER TABLE @@{} ADD COLUMN {} {}{}{default}",
                table.name,
                column.name,
                column.ty.name(),
                column.ty.collate()
            ),
        )?;
    }
    both(session, &format!("ALTER TABLE @@{} DROP COLUMN gone", table.name))
}

/// Deletes and updates of drawn shares, ranges (whole row groups) and columns.
fn change(session: &mut Session, draw: &mut Draw, table: &Table) -> Result<(), Broken> {
    let share = draw.weighted(&[(3, 0), (3, 3), (1, 40)]);
    if share > 0 {
        both(
            session,
            &format!("DELETE FROM @@{} WHERE {} % 100 < {share}", table.name, row_hash("id", 77)),
        )?;
    }
    if draw.chance(25) {
        let from = draw.below(table.rows + 1);
        both(
            session,
            &format!(
                "DELETE FROM @@{} WHERE id BETWEEN {from} AND {}",
                table.name,
                from + table.rows / 4
            ),
        )?;
    }
    for _ in 0..draw.weighted(&[(3, 0), (3, 1), (1, 3)]) {
        let update = update_sql(draw, table, "true");
        both(session, &update)?;
    }
    Ok(())
}

/// A hash of a row, to choose rows at random and the same on both sides.
pub fn row_hash(id: &str, salt: u64) -> String {
    format!("(hashint4extended({id}, {salt}) & 9223372036854775807)")
}

/// An UPDATE of one column in a share of the rows for which `filter` holds.
pub fn update_sql(draw: &mut Draw, table: &Table, filter: &str) -> String {
    let column = draw.pick(&table.columns);
    let g = format!("(id + {})::int8", draw.range(100_000, 900_000));
    let salt = draw.below(1_000);
    format!(
        "UPDATE @@{} SET {} = {} WHERE {} % 100 < {} AND {filter}",
        table.name,
        column.name,
        series(column.ty, column.profile, column.salt, &g),
        row_hash("id", salt),
        draw.weighted(&[(3, 2), (1, 30)])
    )
}

fn both(session: &mut Session, template: &str) -> Result<(), Broken> {
    for columnar in [false, true] {
        session.must(&on_side(template, columnar))?;
    }
    Ok(())
}

/// Vacuum, indexes, statistics, barriers, samples.
fn finish(session: &mut Session, draw: &mut Draw, table: &mut Table) -> Result<(), Broken> {
    let name = &table.name;
    if draw.chance(40) {
        both(session, &format!("VACUUM @@{name}"))?;
    }
    if table.indexed {
        both(session, &format!("CREATE UNIQUE INDEX @@{name}_id ON @@{name} (id)"))?;
        if draw.chance(50) {
            both(session, &format!("CREATE INDEX @@{name}_k ON @@{name} (k)"))?;
        }
    }
    if table.analyzed {
        both(session, &format!("ANALYZE @@{name}"))?;
    }
    if table.guarded {
        both(
            session,
            &format!(
                "ALTER TABLE @@{name} ENABLE ROW LEVEL SECURITY;
                 CREATE POLICY oracle ON @@{name} FOR SELECT TO oracle_user USING (id % 5 <> 0);
                 CREATE VIEW @@{name}_barrier WITH (security_barrier) AS SELECT * FROM @@{name} WHERE id % 5 <> 0;
                 GRANT SELECT ON @@{name} TO oracle_user"
            ),
        )?;
    }
    for column in &mut table.columns {
        let text = match column.ty {
            Ty::Char => format!("rtrim({}::text)", column.name),
            _ => format!("{}::text", column.name),
        };
        let found = session.must(&format!(
            "SELECT s FROM (SELECT {text} COLLATE \"C\" AS s, min({}) AS h FROM h_{name} WHERE {} IS NOT NULL GROUP BY 1) x
             ORDER BY h LIMIT 12",
            row_hash("id", column.salt),
            column.name
        ))?;
        let mut samples = found.first_fields();
        samples.retain(|s| s.chars().count() <= 60);
        column.samples = Rc::new(samples);
    }
    let heap = session.run(&format!(
        "SELECT count(*), md5(string_agg(t::text, ',' ORDER BY id)) FROM h_{name} t"
    ));
    let columnar = session.run(&format!(
        "SELECT count(*), md5(string_agg(t::text, ',' ORDER BY id)) FROM c_{name} t"
    ));
    match format!("{heap:?}") == format!("{columnar:?}") {
        true => Ok(()),
        false => Err(Broken(format!(
            "{name} differs after its load: {} against {}",
            clip(&format!("{heap:?}"), 300),
            clip(&format!("{columnar:?}"), 300)
        ))),
    }
}
