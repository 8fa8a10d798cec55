//! Errors of batch execution as ERRORs of PostgreSQL.

use super::source::Reader;
use crate::am::relation_name;
use crate::ports;
use columnar_exec::ExecError;
use columnar_format::FormatError;
use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};

/// Raises an error of a kernel.
pub fn raise(reader: &Reader, error: &ExecError) -> ! {
    if let ExecError::Format { group, column, error } = error {
        reader.damaged(*group, *column, error);
    }
    raise_plain(error)
}

/// As [`raise`], of an error that is not about stored bytes of a table.
pub fn raise_plain(error: &ExecError) -> ! {
    match error {
        ExecError::Sql { sqlstate, message } => {
            ereport!(PgLogLevel::ERROR, code(sqlstate), message.clone());
        }
        ExecError::Format { .. } => {
            ereport!(PgLogLevel::ERROR, PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, error.to_string());
        }
        ExecError::OutOfMemory { bytes } => {
            ereport!(
                PgLogLevel::ERROR,
                PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
                "out of memory",
                format!("Failed on request of {bytes} bytes for a batch of rows.")
            );
        }
        ExecError::Unsupported => unsupported(),
        ExecError::Cancelled => {
            ereport!(
                PgLogLevel::ERROR,
                PgSqlErrorCode::ERRCODE_QUERY_CANCELED,
                "canceling statement"
            );
        }
    }
    unreachable!()
}

/// Raises the ERROR for stored bytes that are damaged.
pub fn damaged(rel: pg_sys::Relation, group: u32, attribute: usize, error: &FormatError) -> ! {
    // SAFETY: the relation is open, and the attribute one of its own.
    #[allow(unsafe_code)]
    let (table, column) = unsafe {
        let name = &(*ports::TupleDescAttr((*rel).rd_att, attribute)).attname;
        let column = core::ffi::CStr::from_ptr(name.data.as_ptr());
        (relation_name(rel), column.to_string_lossy().into_owned())
    };
    ereport!(
        PgLogLevel::ERROR,
        PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        format!("row group {group}, column \"{column}\" of table \"{table}\" is damaged: {error}")
    );
    unreachable!()
}

/// Raises the ERROR for a panic on a thread.
pub fn panicked(message: &str) -> ! {
    ereport!(
        PgLogLevel::ERROR,
        PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
        format!("a thread of batch execution failed: {message}"),
        "This is a bug of pgcolumnar. SET pgcolumnar.enable_vectorized = off avoids it."
    );
    unreachable!()
}

/// Raises the ERROR for a value that batches cannot hold.
pub fn unsupported() -> ! {
    ereport!(
        PgLogLevel::ERROR,
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "batch execution met a value that it cannot hold",
        "SET pgcolumnar.enable_vectorized = off runs the statement row by row."
    );
    unreachable!()
}

fn code(sqlstate: &str) -> PgSqlErrorCode {
    match sqlstate {
        "22003" => PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
        "22008" => PgSqlErrorCode::ERRCODE_DATETIME_FIELD_OVERFLOW,
        "22011" => PgSqlErrorCode::ERRCODE_SUBSTRING_ERROR,
        "22012" => PgSqlErrorCode::ERRCODE_DIVISION_BY_ZERO,
        "22021" => PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
        "22023" => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        "22025" => PgSqlErrorCode::ERRCODE_INVALID_ESCAPE_SEQUENCE,
        "0A000" => PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        _ => PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
    }
}
