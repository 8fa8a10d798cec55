//! What can go wrong while a batch is evaluated, with PostgreSQL's SQLSTATE and message.

use columnar_format::FormatError;

/// An error of a kernel. It becomes an ERROR on the backend's thread.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecError {
    /// What PostgreSQL's own function would have raised.
    Sql {
        /// Five characters, such as "22003".
        sqlstate: &'static str,
        /// PostgreSQL's message.
        message: String,
    },
    /// Stored bytes of a column are damaged.
    Format {
        /// Number of the row group.
        group: u32,
        /// Index of the column in its table.
        column: usize,
        /// What is wrong.
        error: FormatError,
    },
    /// Memory could not be had.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// A value that kernels cannot hold; the caller evaluates the rows another way.
    Unsupported,
    /// The query was cancelled while a thread worked for it.
    Cancelled,
}

impl ExecError {
    /// "integer out of range" and its kin, 22003; `name` is PostgreSQL's name of the type.
    pub fn out_of_range(name: &str) -> Self {
        Self::Sql { sqlstate: "22003", message: format!("{name} out of range") }
    }

    /// "division by zero", 22012.
    pub fn division_by_zero() -> Self {
        Self::Sql { sqlstate: "22012", message: "division by zero".to_owned() }
    }
}

impl std::fmt::Display for ExecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sql { message, .. } => f.write_str(message),
            Self::Format { group, column, error } => {
                write!(f, "row group {group}, column {}: {error}", column + 1)
            }
            Self::OutOfMemory { bytes } => write!(f, "out of memory: {bytes} bytes"),
            Self::Unsupported => f.write_str("a value that batch execution cannot hold"),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for ExecError {}
