//! A query as pieces, so that the shrinker can leave parts out and still have a query whose answer is defined.

use std::collections::BTreeSet;

use crate::compare::{Order, Risk, Rules, SAFE};
use crate::table::on_side;
use crate::types::Class;

/// A part of a list. Parts with the same id are left out together; id 0 is always there.
#[derive(Clone, Debug)]
pub struct Part {
    pub id: u32,
    pub sql: String,
    pub class: Class,
}

impl Part {
    /// A part that is no output.
    pub fn new(id: u32, sql: impl Into<String>) -> Self {
        Self { id, sql: sql.into(), class: Class::Exact }
    }
}

/// A piece of a query.
#[derive(Clone, Debug)]
pub enum Piece {
    Sql(String),
    /// `before part between part ...`; nothing when every part is left out.
    List {
        before: &'static str,
        parts: Vec<Part>,
        between: &'static str,
    },
    /// The output columns; one is always left.
    Outputs(Vec<Part>),
}

/// How the SELECT reaches the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrapper {
    Plain,
    /// PREPARE with these parameter types, then EXECUTE with each list of arguments.
    Prepared {
        types: String,
        arguments: Vec<String>,
    },
    /// DECLARE with these options, then these FETCH and MOVE statements.
    Cursor {
        options: &'static str,
        fetches: Vec<String>,
    },
    /// As the role that row level security applies to.
    Role,
}

/// A query.
#[derive(Clone, Debug)]
pub struct Query {
    pub shape: &'static str,
    pub pieces: Vec<Piece>,
    pub wrapper: Wrapper,
    pub order: Order,
    pub risk: Risk,
}

impl Query {
    /// A query without risk whose rows come in any order.
    pub fn new(shape: &'static str) -> Self {
        Self {
            shape,
            pieces: Vec::new(),
            wrapper: Wrapper::Plain,
            order: Order::Multiset,
            risk: SAFE,
        }
    }

    /// Appends text.
    pub fn sql(mut self, text: impl Into<String>) -> Self {
        self.pieces.push(Piece::Sql(text.into()));
        self
    }

    /// Appends the outputs.
    pub fn outputs(mut self, parts: Vec<Part>) -> Self {
        self.pieces.push(Piece::Outputs(parts));
        self
    }

    /// Appends a list.
    pub fn list(mut self, before: &'static str, between: &'static str, parts: Vec<Part>) -> Self {
        self.pieces.push(Piece::List { before, parts, between });
        self
    }

    /// Appends WHERE with conjuncts.
    pub fn filter(self, parts: Vec<Part>) -> Self {
        self.list(" WHERE ", " AND ", parts)
    }

    /// The same, its rows in a total order.
    pub fn ordered(mut self) -> Self {
        self.order = Order::Sequence;
        self
    }

    /// Every id that can be left out.
    pub fn droppable(&self) -> Vec<u32> {
        let mut ids = BTreeSet::new();
        for piece in &self.pieces {
            if let Piece::List { parts, .. } | Piece::Outputs(parts) = piece {
                ids.extend(parts.iter().map(|p| p.id).filter(|id| *id != 0));
            }
        }
        ids.into_iter().rev().collect()
    }

    /// The SELECT without the parts in `dropped`.
    pub fn select(&self, dropped: &BTreeSet<u32>) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            let (before, parts, between) = match piece {
                Piece::Sql(sql) => {
                    text += sql;
                    continue;
                }
                Piece::List { before, parts, between } => (*before, kept(parts, dropped), *between),
                Piece::Outputs(parts) => ("", outputs(parts, dropped), ", "),
            };
            if !parts.is_empty() {
                let list: Vec<&str> = parts.iter().map(|p| p.sql.as_str()).collect();
                text += before;
                text += &list.join(between);
            }
        }
        text
    }

    /// The rules of comparison without the parts in `dropped`.
    pub fn rules(&self, dropped: &BTreeSet<u32>) -> Rules {
        let classes = self
            .pieces
            .iter()
            .find_map(|piece| match piece {
                Piece::Outputs(parts) => {
                    Some(outputs(parts, dropped).iter().map(|p| p.class).collect())
                }
                _ => None,
            })
            .unwrap_or_default();
        Rules { order: self.order, classes, risk: self.risk }
    }

    /// The batch for one side, and the EXPLAIN that goes with it.
    pub fn batch(&self, dropped: &BTreeSet<u32>, columnar: bool, explain: Option<&str>) -> String {
        let select = on_side(&self.select(dropped), columnar);
        let plan = |what: &str| explain.map_or(String::new(), |e| format!("{e} {what}; "));
        match &self.wrapper {
            Wrapper::Plain => format!("{}{select}", plan(&select)),
            Wrapper::Role => format!("SET ROLE oracle_user; {}{select}; RESET ROLE", plan(&select)),
            Wrapper::Prepared { types, arguments } => {
                let executes: Vec<String> =
                    arguments.iter().map(|a| format!("EXECUTE oracle_q({a})")).collect();
                format!(
                    "DEALLOCATE ALL; PREPARE oracle_q({types}) AS {select}; {}{}",
                    plan(&executes[0]),
                    executes.join("; ")
                )
            }
            Wrapper::Cursor { options, fetches } => {
                let fetches: Vec<String> =
                    fetches.iter().map(|f| format!("{f} FROM oracle_c")).collect();
                format!(
                    "{}DECLARE oracle_c {options} CURSOR FOR {select}; {}; CLOSE oracle_c",
                    plan(&format!("DECLARE oracle_c {options} CURSOR FOR {select}")),
                    fetches.join("; ")
                )
            }
        }
    }
}

fn kept<'a>(parts: &'a [Part], dropped: &BTreeSet<u32>) -> Vec<&'a Part> {
    parts.iter().filter(|p| p.id == 0 || !dropped.contains(&p.id)).collect()
}

fn outputs<'a>(parts: &'a [Part], dropped: &BTreeSet<u32>) -> Vec<&'a Part> {
    let left = kept(parts, dropped);
    if left.is_empty() { parts.iter().take(1).collect() } else { left }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Part, Query, Wrapper};
    use crate::types::Class;

    fn query() -> Query {
        let float = Part { id: 2, sql: "sum(f)".into(), class: Class::Float };
        Query::new("test")
            .sql("SELECT ")
            .outputs(vec![Part::new(1, "a"), float])
            .sql(" FROM @@t t")
            .filter(vec![Part::new(3, "p"), Part::new(4, "q")])
            .list(" GROUP BY ", ", ", vec![Part::new(1, "a")])
    }

    #[test]
    fn parts_of_one_id_go_together() {
        let query = query();
        let whole = BTreeSet::new();
        assert_eq!(query.select(&whole), "SELECT a, sum(f) FROM @@t t WHERE p AND q GROUP BY a");
        assert_eq!(query.select(&BTreeSet::from([1, 3])), "SELECT sum(f) FROM @@t t WHERE q");
        assert_eq!(query.rules(&BTreeSet::from([1])).classes, [Class::Float]);
        assert_eq!(query.droppable(), [4, 3, 2, 1]);
    }

    #[test]
    fn an_output_is_always_left() {
        assert_eq!(query().select(&BTreeSet::from([1, 2, 3, 4])), "SELECT a FROM @@t t");
    }

    #[test]
    fn batches() {
        let mut query = query();
        query.wrapper =
            Wrapper::Prepared { types: "int4".into(), arguments: vec!["1".into(), "2".into()] };
        let dropped = BTreeSet::from([2, 3, 4]);
        assert_eq!(
            query.batch(&dropped, true, Some("EXPLAIN")),
            "DEALLOCATE ALL; PREPARE oracle_q(int4) AS SELECT a FROM c_t t GROUP BY a; \
             EXPLAIN EXECUTE oracle_q(1); EXECUTE oracle_q(1); EXECUTE oracle_q(2)"
        );
        query.wrapper = Wrapper::Role;
        assert_eq!(
            query.batch(&dropped, false, None),
            "SET ROLE oracle_user; SELECT a FROM h_t t GROUP BY a; RESET ROLE"
        );
    }
}
