//! What a statement did, and whether two sides did the same.

use std::io::Write;

use postgres::error::DbError;
use postgres::{Client, SimpleQueryMessage};

use crate::statement::{Errors, Rows};

/// What a statement did.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Rows affected or returned, and the returned rows as text.
    Done { count: u64, rows: Vec<String> },
    /// An error of the server.
    Failed { state: String, message: String, detail: String },
    /// The connection broke.
    Lost(String),
}

/// Runs one statement, with COPY data if given.
pub fn execute(client: &mut Client, sql: &str, copy: Option<&str>) -> Outcome {
    let result = match copy {
        None => client.simple_query(sql).map(collect),
        Some(data) => copy_in(client, sql, data),
    };
    result.unwrap_or_else(|error| match error.as_db_error() {
        Some(error) if !client.is_closed() => failed(error),
        Some(error) => Outcome::Lost(error.to_string()),
        None => Outcome::Lost(format!("{error:?}")),
    })
}

/// COPY FROM STDIN. The client library loses step with the server when COPY fails before it asks for data, so the
/// same COPY of an empty file goes first: it fails for every such reason (locks, columns, a read-only transaction).
fn copy_in(client: &mut Client, sql: &str, data: &str) -> Result<Outcome, postgres::Error> {
    client.simple_query(&sql.replace("FROM STDIN", "FROM '/dev/null'"))?;
    let mut writer = client.copy_in(sql)?;
    for piece in data.as_bytes().chunks(1 << 16) {
        // An error of the server shows in `finish`.
        if writer.write_all(piece).is_err() {
            break;
        }
    }
    Ok(Outcome::Done { count: writer.finish()?, rows: Vec::new() })
}

fn collect(messages: Vec<SimpleQueryMessage>) -> Outcome {
    let mut rows = Vec::new();
    let mut count = 0;
    for message in messages {
        match message {
            SimpleQueryMessage::Row(row) => {
                let fields: Vec<&str> =
                    (0..row.len()).map(|i| row.get(i).unwrap_or("\\N")).collect();
                rows.push(fields.join("\u{1F}"));
            }
            SimpleQueryMessage::CommandComplete(n) => count = n,
            _ => {}
        }
    }
    Outcome::Done { count, rows }
}

fn failed(error: &DbError) -> Outcome {
    Outcome::Failed {
        state: error.code().code().to_string(),
        message: error.message().to_string(),
        detail: error.detail().unwrap_or("").to_string(),
    }
}

/// A message with object names that no longer tell the side.
fn neutral(text: &str) -> String {
    ["h_t", "c_t", "h_cur", "c_cur"]
        .iter()
        .fold(text.to_string(), |text, name| text.replace(name, &format!("@@{}", &name[2..])))
}

impl Outcome {
    /// Whether the statement succeeded.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done { .. })
    }

    /// The SQLSTATE of an error, "" otherwise.
    pub fn state(&self) -> &str {
        match self {
            Self::Failed { state, .. } => state,
            _ => "",
        }
    }

    /// A lock was not granted in time.
    pub fn is_lock_timeout(&self) -> bool {
        matches!(self, Self::Failed { state, message, .. } if state == "55P03" && message.contains("timeout"))
    }

    /// SSI found a dangerous structure: its granularity is the access method's business, so it is not compared.
    pub fn is_ssi(&self) -> bool {
        matches!(self, Self::Failed { state, message, .. } if state == "40001" && message.contains("read/write dependencies"))
    }

    /// An error a user cannot cause: internal, corruption, system, resources.
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::Failed { state, .. } if ["XX", "58", "53", "F0", "0A"].iter().any(|c| state.starts_with(c)))
    }

    /// The returned rows.
    pub fn rows(&self) -> &[String] {
        match self {
            Self::Done { rows, .. } => rows,
            _ => &[],
        }
    }

    /// One line for a report.
    pub fn brief(&self) -> String {
        match self {
            Self::Done { count, rows } => format!("done, {count} rows, {} returned", rows.len()),
            Self::Failed { state, message, detail } => format!("{state} {message} [{detail}]"),
            Self::Lost(reason) => format!("connection lost: {reason}"),
        }
    }
}

/// Why the two outcomes differ; `None` if they agree.
pub fn difference(heap: &Outcome, tested: &Outcome, errors: Errors, order: Rows) -> Option<String> {
    let headline = || format!("heap:   {}\ntested: {}", heap.brief(), tested.brief());
    match (heap, tested) {
        (Outcome::Done { count: a, rows: left }, Outcome::Done { count: b, rows: right }) => {
            if a != b || left.len() != right.len() {
                return Some(headline());
            }
            rows_differ(left, right, order).map(|rows| format!("{}\n{rows}", headline()))
        }
        (
            Outcome::Failed { state: a, message: m, detail: d },
            Outcome::Failed { state: b, message: n, detail: e },
        ) => {
            let same = match errors {
                Errors::Any => !tested.is_internal() || a == b,
                // The size of an index row, or the place of a row, may stand in the message.
                Errors::Exact if a == b && !a.starts_with("23") => {
                    a.starts_with("54") || neutral(m) == neutral(n)
                }
                Errors::Exact => a == b && neutral(m) == neutral(n) && neutral(d) == neutral(e),
            };
            (!same).then(headline)
        }
        _ => Some(headline()),
    }
}

fn rows_differ(left: &[String], right: &[String], order: Rows) -> Option<String> {
    let mut left: Vec<&String> = left.iter().collect();
    let mut right: Vec<&String> = right.iter().collect();
    match order {
        Rows::Counted => return None,
        Rows::Ordered => {}
        Rows::Unordered => {
            left.sort();
            right.sort();
        }
    }
    let clip = |row: &str| row.chars().take(300).collect::<String>();
    let lines: Vec<String> = left
        .iter()
        .zip(&right)
        .enumerate()
        .filter(|(_, (a, b))| a != b)
        .take(5)
        .map(|(i, (a, b))| format!("row {i}\n  heap:   {}\n  tested: {}", clip(a), clip(b)))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{Outcome, difference};
    use crate::statement::{Errors, Rows};

    fn done(rows: &[&str]) -> Outcome {
        Outcome::Done {
            count: rows.len() as u64,
            rows: rows.iter().map(|r| (*r).to_string()).collect(),
        }
    }

    fn failed(state: &str, message: &str) -> Outcome {
        Outcome::Failed { state: state.into(), message: message.into(), detail: String::new() }
    }

    #[test]
    fn order_counts_only_where_it_is_given() {
        let (a, b) = (done(&["1", "2"]), done(&["2", "1"]));
        assert!(difference(&a, &b, Errors::Exact, Rows::Unordered).is_none());
        assert!(difference(&a, &b, Errors::Exact, Rows::Ordered).is_some());
        assert!(difference(&a, &done(&["1"]), Errors::Exact, Rows::Unordered).is_some());
    }

    #[test]
    fn errors_are_compared_as_strictly_as_the_statement_allows() {
        let (a, b) = (failed("23505", "dup"), failed("55P03", "lock"));
        assert!(difference(&a, &b, Errors::Any, Rows::Unordered).is_none());
        assert!(difference(&a, &b, Errors::Exact, Rows::Unordered).is_some());
        assert!(difference(&a, &failed("XX000", "boom"), Errors::Any, Rows::Unordered).is_some());
        assert!(difference(&a, &done(&[]), Errors::Any, Rows::Unordered).is_some());
    }
}
