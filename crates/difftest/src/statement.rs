//! A statement as a template for both sides.

use crate::model::Change;

/// The two tables of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Tables `h_*`, always heap: the truth.
    Heap,
    /// Tables `c_*`, the access method under test.
    Tested,
}

impl Side {
    /// The prefix of every object of this side.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Heap => "h_",
            Self::Tested => "c_",
        }
    }

    /// The SQL of this side; `am` replaces `@AM@` on the tested side.
    pub fn sql(self, template: &str, am: &str) -> String {
        let am = if self == Self::Heap { "heap" } else { am };
        template.replace("@@", self.prefix()).replace("@AM@", am)
    }
}

/// Whether the statement itself decides which of several possible errors comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// Rows are given in order (VALUES, COPY, one row): SQLSTATE, message and detail must agree.
    Exact,
    /// Rows come in the order of a scan: both must fail, with an error a user can cause.
    Any,
}

/// Whether the order of returned rows is part of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    Ordered,
    Unordered,
    /// Only their number is compared (a part of an unordered cursor).
    Counted,
}

/// A statement to run on both sides.
#[derive(Clone, Debug)]
pub struct Statement {
    pub sql: String,
    /// The data of COPY FROM STDIN.
    pub copy: Option<String>,
    pub errors: Errors,
    pub rows: Rows,
    /// What it does to the model when it succeeds and commits.
    pub changes: Vec<Change>,
}

impl Statement {
    /// A statement whose first error and rows do not depend on a scan.
    pub fn exact(sql: impl Into<String>) -> Self {
        Self {
            sql: sql.into(),
            copy: None,
            errors: Errors::Exact,
            rows: Rows::Unordered,
            changes: Vec::new(),
        }
    }

    /// A statement that meets rows in the order of a scan.
    pub fn scanning(sql: impl Into<String>) -> Self {
        Self { errors: Errors::Any, ..Self::exact(sql) }
    }

    /// The same, its rows in the order given by ORDER BY.
    pub fn ordered(self) -> Self {
        Self { rows: Rows::Ordered, ..self }
    }

    /// The same, changing the model.
    pub fn changing(self, change: Change) -> Self {
        Self { changes: vec![change], ..self }
    }
}
