//! What the tester knows of the tables: enough to write valid statements, nothing about their contents.
//!
//! Table and index names are written `@@t0`, `@@t0_i3`; the prefix `@@` becomes `h_` for heap and `c_` for the access
//! method under test. DDL in an open transaction is kept as a list of [`Change`]s beside the committed model,
//! so a rollback (also to a savepoint) only shortens the list.

use crate::sqltype::SqlType;
use crate::value::Profile;

/// What the server can do.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    /// `server_version_num / 10000`
    pub major: u32,
    /// Whether ICU collations exist.
    pub icu: bool,
    /// Whether BRIN indexes are drawn: not if the tested side refuses them by design.
    pub brin: bool,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub ty: SqlType,
    pub profile: Profile,
    pub not_null: bool,
    pub default: Option<String>,
    /// The expression and whether it is stored.
    pub generated: Option<(String, bool)>,
    /// Named in a trigger or a generated column or a foreign key: no ALTER touches it.
    pub pinned: bool,
}

/// The type of the key column `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    Int4,
    Int8,
    Text,
    Uuid,
}

impl KeyKind {
    /// The column's type.
    pub fn definition(self) -> &'static str {
        match self {
            Self::Int4 => "int4",
            Self::Int8 => "int8",
            Self::Text => "text COLLATE \"C\"",
            Self::Uuid => "uuid",
        }
    }

    /// The key of the number `n`, as input text.
    pub fn text(self, n: u64) -> String {
        match self {
            Self::Int4 | Self::Int8 => n.to_string(),
            Self::Text => format!("key{n:08}"),
            Self::Uuid => format!("00000000-0000-0000-0000-{n:012}"),
        }
    }

    /// The key of the number `n`, as a literal.
    pub fn literal(self, n: u64) -> String {
        match self {
            Self::Int4 | Self::Int8 => n.to_string(),
            Self::Text => format!("'{}'", self.text(n)),
            Self::Uuid => format!("'{}'::uuid", self.text(n)),
        }
    }

    /// The key of the bigint expression `n`.
    pub fn expression(self, n: &str) -> String {
        match self {
            Self::Int4 => format!("({n})::int4"),
            Self::Int8 => format!("({n})::int8"),
            Self::Text => format!("('key' || lpad(({n})::text, 8, '0'))"),
            Self::Uuid => {
                format!("('00000000-0000-0000-0000-' || lpad(({n})::text, 12, '0'))::uuid")
            }
        }
    }
}

/// The key of a table: its column is always `id`.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub kind: KeyKind,
    /// PRIMARY KEY, otherwise UNIQUE NOT NULL.
    pub primary: bool,
    pub deferrable: bool,
}

/// The access method of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Btree,
    Hash,
    Gin,
    Brin,
}

/// An index made by CREATE INDEX.
#[derive(Clone, Debug)]
pub struct Index {
    /// Without the prefix: `t0_i3`.
    pub name: String,
    pub method: Method,
    /// The indexed columns and expressions as they stand in CREATE INDEX.
    pub keys: Vec<String>,
    /// Every column named in the keys, INCLUDE or the predicate.
    pub columns: Vec<String>,
    pub include: Option<String>,
    pub predicate: Option<String>,
    pub unique: bool,
    pub nulls_not_distinct: bool,
}

/// A foreign key from the column `ref` to the key of another table.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Position of the parent table.
    pub parent: usize,
    pub kind: KeyKind,
    pub actions: String,
    pub deferrable: bool,
}

/// A pair of tables.
#[derive(Clone, Debug)]
pub struct Table {
    /// Without the prefix: `t0`.
    pub name: String,
    pub key: Option<Key>,
    pub reference: Option<Reference>,
    pub columns: Vec<Column>,
    pub indexes: Vec<Index>,
    pub unlogged: bool,
    /// Row triggers that write to the pair `@@<name>_log`.
    pub triggers: bool,
    /// Rows seen at the last comparison.
    pub rows: u64,
    /// Keys up to here have been used.
    pub next_key: u64,
    /// Number of the next column or index.
    pub next_object: u32,
}

/// One step of DDL, applied to the committed model when its transaction commits.
#[derive(Clone, Debug)]
pub enum Change {
    AddColumn(usize, Column),
    DropColumn(usize, String),
    AlterType(usize, String, SqlType),
    AddIndex(usize, Index),
    DropIndex(usize, String),
    /// The table is now unlogged, or no longer.
    Persistence(usize, bool),
}

impl Change {
    /// Applies the change to the committed model.
    pub fn apply(&self, tables: &mut [Table]) {
        let table = self.table();
        self.apply_to(&mut tables[table]);
    }

    /// The table changed.
    pub fn table(&self) -> usize {
        match self {
            Self::AddColumn(t, _)
            | Self::DropColumn(t, _)
            | Self::AlterType(t, ..)
            | Self::AddIndex(t, _)
            | Self::DropIndex(t, _)
            | Self::Persistence(t, _) => *t,
        }
    }

    /// Applies the change to its own table's model.
    pub fn apply_to(&self, table: &mut Table) {
        match self {
            Self::AddColumn(_, column) => table.columns.push(column.clone()),
            Self::DropColumn(_, name) => {
                table.columns.retain(|c| c.name != *name);
                table.indexes.retain(|i| !i.columns.contains(name));
            }
            Self::AlterType(_, name, ty) => {
                if let Some(column) = table.columns.iter_mut().find(|c| c.name == *name) {
                    column.ty = *ty;
                    column.default = None;
                }
            }
            Self::AddIndex(_, index) => table.indexes.push(index.clone()),
            Self::Persistence(_, unlogged) => table.unlogged = *unlogged,
            Self::DropIndex(_, name) => table.indexes.retain(|i| i.name != *name),
        }
    }
}

impl Table {
    /// Names of the columns an INSERT may give, `id` and `ref` included.
    pub fn insertable(&self) -> Vec<String> {
        let key = self.key.map(|_| "id".to_string());
        let reference = self.reference.as_ref().map(|_| "ref".to_string());
        let plain = self.plain_columns().map(|c| c.name.clone());
        key.into_iter().chain(reference).chain(plain).collect()
    }

    /// The columns that are neither `id`, `ref` nor generated.
    pub fn plain_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|c| c.generated.is_none())
    }

    /// Whether a unique index made by CREATE INDEX covers `column`.
    pub fn is_unique(&self, column: &str) -> bool {
        self.indexes.iter().any(|i| i.unique && i.columns.iter().any(|c| c == column))
    }

    /// Whether a btree covers `column`, so that a wide value would not fit its page.
    pub fn in_btree(&self, column: &str) -> bool {
        self.indexes
            .iter()
            .any(|i| i.method != Method::Gin && i.columns.iter().any(|c| c == column))
    }

    /// An ORDER BY list (of the alias `t`) that puts distinguishable rows in one order.
    pub fn total_order(&self) -> &'static str {
        match self.key {
            Some(Key { deferrable: false, .. }) => "t.id",
            Some(_) => "t.id, t::text COLLATE \"C\"",
            None => "t::text COLLATE \"C\"",
        }
    }

    /// The profile of a column, with wide values only where no index page must hold them.
    pub fn profile(&self, column: &Column) -> Profile {
        let wide = if self.in_btree(&column.name) {
            column.profile.wide / 50
        } else {
            column.profile.wide
        };
        let nulls =
            if column.not_null { column.profile.nulls.min(1) } else { column.profile.nulls };
        Profile { nulls, wide, ..column.profile }
    }
}
