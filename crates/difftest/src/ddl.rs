//! The DDL of the random tables, as templates for both sides.

use crate::model::{Column, Index, Method, Table};

/// CREATE INDEX, as a template.
pub fn index_ddl(table: &str, index: &Index, concurrently: bool) -> String {
    let unique = if index.unique { "UNIQUE " } else { "" };
    let concurrently = if concurrently { "CONCURRENTLY " } else { "" };
    let method = match index.method {
        Method::Btree => "btree",
        Method::Hash => "hash",
        Method::Gin => "gin",
        Method::Brin => "brin",
    };
    let mut sql = format!(
        "CREATE {unique}INDEX {concurrently}@@{} ON @@{table} USING {method} ({})",
        index.name,
        index.keys.join(", ")
    );
    if let Some(include) = &index.include {
        sql += &format!(" INCLUDE ({include})");
    }
    if index.nulls_not_distinct {
        sql += " NULLS NOT DISTINCT";
    }
    if index.method == Method::Brin {
        sql += " WITH (pages_per_range = 2)";
    }
    if let Some(predicate) = &index.predicate {
        sql += &format!(" WHERE {predicate}");
    }
    sql
}

/// A column as it stands in CREATE TABLE and ADD COLUMN.
pub fn column_ddl(column: &Column) -> String {
    let mut sql = format!("{} {}", column.name, column.ty.definition());
    if let Some((expression, stored)) = &column.generated {
        sql += &format!(
            " GENERATED ALWAYS AS ({expression}) {}",
            if *stored { "STORED" } else { "VIRTUAL" }
        );
    }
    if let Some(default) = &column.default {
        sql += &format!(" DEFAULT {default}");
    }
    if column.not_null {
        sql += " NOT NULL";
    }
    sql
}

/// Every statement that makes the table and what belongs to it, as templates; `USING @AM@` names the access method.
pub fn table_ddl(table: &Table, tables: &[Table]) -> Vec<String> {
    let mut items = Vec::new();
    let deferrable = |on: bool| {
        if on { " DEFERRABLE INITIALLY DEFERRED" } else { "" }
    };
    if let Some(key) = &table.key {
        items.push(format!("id {} NOT NULL", key.kind.definition()));
        let kind = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
        items.push(format!(
            "CONSTRAINT @@{}_key {kind} (id){}",
            table.name,
            deferrable(key.deferrable)
        ));
    }
    if let Some(reference) = &table.reference {
        items.push(format!("ref {}", reference.kind.definition()));
        items.push(format!(
            "CONSTRAINT @@{}_fk FOREIGN KEY (ref) REFERENCES @@{} (id){}{}",
            table.name,
            tables[reference.parent].name,
            reference.actions,
            deferrable(reference.deferrable)
        ));
    }
    items.extend(table.columns.iter().map(column_ddl));
    let unlogged = if table.unlogged { "UNLOGGED " } else { "" };
    let mut ddl =
        vec![format!("CREATE {unlogged}TABLE @@{} ({}) USING @AM@", table.name, items.join(", "))];
    if table.reference.is_some() {
        ddl.push(format!("CREATE INDEX @@{0}_ref ON @@{0} (ref)", table.name));
    }
    ddl.extend(table.indexes.iter().map(|i| index_ddl(&table.name, i, false)));
    if table.triggers {
        ddl.extend(trigger_ddl(table));
    }
    ddl
}

/// Row triggers before and after, and one with a transition table. The BEFORE trigger keeps some rows out and takes
/// the first column of others away; both rules look only at the row, so the order of rows does not matter.
fn trigger_ddl(table: &Table) -> Vec<String> {
    let name = &table.name;
    let log_row = if table.key.is_some() {
        "coalesce(NEW.id, OLD.id)::text"
    } else {
        "md5(coalesce(NEW, OLD)::text)"
    };
    let first = &table.columns[0].name;
    vec![
        format!("CREATE TABLE @@{name}_log (op text, what text) USING @AM@"),
        format!(
            "CREATE FUNCTION @@{name}_before() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF hashtext(NEW.{first}::text) % 29 = 0 THEN RETURN NULL; END IF; \
             IF hashtext(NEW.{first}::text) % 7 = 0 THEN NEW.{first} := NULL; END IF; RETURN NEW; END $$"
        ),
        format!(
            "CREATE FUNCTION @@{name}_after() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO @@{name}_log VALUES (TG_OP, {log_row}); RETURN NULL; END $$"
        ),
        format!(
            "CREATE FUNCTION @@{name}_statement() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO @@{name}_log SELECT 'statement', count(*)::text FROM changed; RETURN NULL; END $$"
        ),
        format!(
            "CREATE TRIGGER before_row BEFORE INSERT OR UPDATE ON @@{name} FOR EACH ROW EXECUTE FUNCTION @@{name}_before()"
        ),
        format!(
            "CREATE TRIGGER after_row AFTER INSERT OR UPDATE OR DELETE ON @@{name} FOR EACH ROW EXECUTE FUNCTION @@{name}_after()"
        ),
        format!(
            "CREATE TRIGGER after_statement AFTER UPDATE ON @@{name} REFERENCING NEW TABLE AS changed \
             FOR EACH STATEMENT EXECUTE FUNCTION @@{name}_statement()"
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::table_ddl;
    use crate::draw::Draw;
    use crate::model::Server;
    use crate::schema::tables;

    fn ddl(seed: u64) -> Vec<String> {
        let server = Server { major: 18, icu: true, brin: true };
        let tables = tables(&mut Draw::new(seed, 0), server, 3);
        tables.iter().flat_map(|t| table_ddl(t, &tables)).collect()
    }

    #[test]
    fn schemas_are_named_by_the_seed() {
        assert_eq!(ddl(11), ddl(11));
        assert_ne!(ddl(11), ddl(12));
    }

    #[test]
    fn hundred_schemas_use_every_index_method() {
        let all = (0..100).flat_map(ddl).collect::<Vec<_>>().join("\n");
        for word in [
            "USING hash",
            "USING gin",
            "USING brin",
            "INCLUDE",
            "NULLS NOT DISTINCT",
            "VIRTUAL",
            "UNLOGGED",
            "FOREIGN KEY",
        ] {
            assert!(all.contains(word), "no schema of a hundred has {word}");
        }
    }
}
