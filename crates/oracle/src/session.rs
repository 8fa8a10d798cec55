//! A connection, and what a batch of statements did in it.

use postgres::{Client, NoTls, SimpleQueryMessage};

use crate::watchdog;

/// A row: its fields as text, `None` for NULL.
pub type Row = Vec<Option<String>>;

/// What a batch did.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The rows of each statement that returned rows.
    Done(Vec<Vec<Row>>),
    /// An error of the server.
    Failed { state: String, message: String },
    /// The connection broke.
    Lost(String),
}

impl Outcome {
    /// A line for a report.
    pub fn brief(&self) -> String {
        match self {
            Self::Done(sets) => {
                let counts: Vec<String> = sets.iter().map(|s| s.len().to_string()).collect();
                format!("done, rows: {}", counts.join(", "))
            }
            Self::Failed { state, message } => format!("ERROR {state}: {message}"),
            Self::Lost(reason) => format!("connection lost: {reason}"),
        }
    }

    /// The first field of every row.
    pub fn first_fields(&self) -> Vec<String> {
        match self {
            Self::Done(sets) => sets
                .iter()
                .flatten()
                .map(|row| row.first().cloned().flatten().unwrap_or_default())
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// Why a run cannot go on.
#[derive(Debug)]
pub struct Broken(pub String);

/// A connection.
pub struct Session {
    client: Client,
}

impl Session {
    /// Connects to a database of the server that `connect` names.
    pub fn open(connect: &str, database: &str) -> Result<Self, Broken> {
        // Given at the start, so that RESET ALL comes back to them.
        let parameters = format!(
            "{connect} dbname={database} application_name=oracle \
             options='-c statement_timeout=60s -c client_min_messages=error -c jit=off'"
        );
        let client = Client::connect(&parameters, NoTls)
            .map_err(|e| Broken(format!("cannot connect to {database}: {e:?}")))?;
        Ok(Self { client })
    }

    /// Runs a batch.
    pub fn run(&mut self, sql: &str) -> Outcome {
        watchdog::begin(sql);
        match self.client.simple_query(sql) {
            Ok(messages) => Outcome::Done(collect(messages)),
            Err(error) => match error.as_db_error() {
                Some(error) if !self.client.is_closed() => Outcome::Failed {
                    state: error.code().code().to_string(),
                    message: error.message().to_string(),
                },
                Some(error) => Outcome::Lost(error.to_string()),
                None => Outcome::Lost(format!("{error:?}")),
            },
        }
    }

    /// Runs a batch that must succeed.
    pub fn must(&mut self, sql: &str) -> Result<Outcome, Broken> {
        match self.run(sql) {
            done @ Outcome::Done(_) => Ok(done),
            other => Err(Broken(format!("{}\n{}", other.brief(), clip(sql, 3_000)))),
        }
    }

    /// What COPY TO STDOUT gives, into COPY FROM STDIN.
    pub fn copy(&mut self, out: &str, into: &str) -> Result<(), Broken> {
        use std::io::{Read, Write};
        let failed = |e: &dyn std::fmt::Debug| Broken(format!("{e:?}\n{into}"));
        let mut data = Vec::new();
        self.client
            .copy_out(out)
            .map_err(|e| failed(&e))?
            .read_to_end(&mut data)
            .map_err(|e| failed(&e))?;
        let mut writer = self.client.copy_in(into).map_err(|e| failed(&e))?;
        writer.write_all(&data).map_err(|e| failed(&e))?;
        writer.finish().map_err(|e| failed(&e))?;
        Ok(())
    }
}

/// The beginning of a text.
pub fn clip(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_string(),
    }
}

fn collect(messages: Vec<SimpleQueryMessage>) -> Vec<Vec<Row>> {
    let mut sets: Vec<Vec<Row>> = Vec::new();
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(_) => sets.push(Vec::new()),
            SimpleQueryMessage::Row(row) => {
                let fields = (0..row.len()).map(|i| row.get(i).map(String::from)).collect();
                if let Some(set) = sets.last_mut() {
                    set.push(fields);
                }
            }
            _ => {}
        }
    }
    sets
}
