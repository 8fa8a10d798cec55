//! CREATE TABLE and CREATE INDEX with the placeholders `{table}` and `{using}`.

use std::fmt::Write;

/// A column: its name and its type, with NOT NULL where it applies.
pub type Column = (&'static str, &'static str);

/// A table, the same on heap and on other access methods: no constraint but NOT NULL.
#[derive(Debug)]
pub struct Table {
    pub name: &'static str,
    /// In groups, one after the other.
    pub columns: &'static [&'static [Column]],
    /// Keys of the index set `time`: what narrows a range of time.
    pub time: &'static [&'static str],
    /// Keys that the index set `full` adds.
    pub full: &'static [&'static str],
}

/// Which indexes to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexSet {
    None,
    Time,
    Full,
}

impl IndexSet {
    /// `none`, `time` or `full`.
    pub fn parse(name: &str) -> Result<Self, String> {
        match name {
            "none" => Ok(Self::None),
            "time" => Ok(Self::Time),
            "full" => Ok(Self::Full),
            _ => Err(format!("unknown index set {name}: none, time or full")),
        }
    }
}

/// The tables asked for, each with the name to print.
fn select<'a>(
    tables: &'a [Table],
    name: Option<&str>,
) -> Result<Vec<(&'a Table, &'a str)>, String> {
    match (name, tables) {
        (Some(name), _) => match tables.iter().find(|t| t.name == name) {
            Some(table) => Ok(vec![(table, "{table}")]),
            None => Err(format!(
                "unknown table {name}: {}",
                tables.iter().map(|t| t.name).collect::<Vec<_>>().join(", ")
            )),
        },
        (None, [table]) => Ok(vec![(table, "{table}")]),
        (None, _) => Ok(tables.iter().map(|t| (t, t.name)).collect()),
    }
}

/// CREATE TABLE for the table `name`, or for all.
pub fn create(tables: &[Table], name: Option<&str>) -> Result<String, String> {
    let mut out = String::new();
    for (table, name) in select(tables, name)? {
        let columns: Vec<_> =
            table.columns.iter().copied().flatten().map(|(n, t)| format!("    {n} {t}")).collect();
        writeln!(out, "CREATE TABLE {name} (\n{}\n) {{using}};", columns.join(",\n"))
            .expect("a String takes all");
    }
    Ok(out)
}

/// CREATE INDEX statements of `set` for the table `name`, or for all.
pub fn indexes(tables: &[Table], name: Option<&str>, set: IndexSet) -> Result<String, String> {
    let mut out = String::new();
    for (table, name) in select(tables, name)? {
        let (time, full) = match set {
            IndexSet::None => (&[][..], &[][..]),
            IndexSet::Time => (table.time, &[][..]),
            IndexSet::Full => (table.time, table.full),
        };
        for keys in time.iter().chain(full) {
            writeln!(out, "CREATE INDEX ON {name} ({keys});").expect("a String takes all");
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cpu, flights, tpch, web};

    #[test]
    fn one_table_has_a_placeholder_several_have_names() {
        assert!(create(web::TABLES, None).unwrap().starts_with("CREATE TABLE {table} (\n"));
        assert!(create(tpch::TABLES, None).unwrap().contains("CREATE TABLE lineitem ("));
        let one = create(tpch::TABLES, Some("lineitem")).unwrap();
        assert!(one.starts_with("CREATE TABLE {table} (") && one.ends_with("\n) {using};\n"));
        assert!(create(tpch::TABLES, Some("hits")).is_err());
    }

    #[test]
    fn index_sets_grow() {
        for tables in [web::TABLES, cpu::TABLES, tpch::TABLES, flights::TABLES] {
            let lines = |set| indexes(tables, None, set).unwrap().lines().count();
            assert_eq!(lines(IndexSet::None), 0);
            assert!(0 < lines(IndexSet::Time) && lines(IndexSet::Time) < lines(IndexSet::Full));
        }
    }

    #[test]
    fn indexed_columns_exist() {
        for table in [web::TABLES, cpu::TABLES, tpch::TABLES, flights::TABLES].into_iter().flatten()
        {
            for keys in table.time.iter().chain(table.full) {
                for key in keys.split(", ") {
                    let key = key.trim_end_matches(" DESC");
                    assert!(
                        table.columns.iter().copied().flatten().any(|(n, _)| *n == key),
                        "{key}"
                    );
                }
            }
        }
    }
}
