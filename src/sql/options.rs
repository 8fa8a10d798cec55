//! `pgcolumnar.set_options` and `pgcolumnar.reset_options`.

use super::argument;
use super::catalog::{self, StoredOptions};
use super::target::{Target, fail};
use crate::am::relation_name;
use crate::guc;
use columnar_format::Compression;
use core::ffi::{CStr, c_int};
use pgrx::{PgSqlErrorCode, pg_sys};

/// `set_options("table", compression, compression_level, row_group_rows, vector_rows, bloom_columns)`: sets those that are
/// not NULL.
///
/// # Safety
/// `fcinfo` is that of the running call.
pub unsafe fn set(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the arguments are of the types that the extension's script declares.
    unsafe {
        refuse_if_read_only(c"pgcolumnar.set_options()");
        let target = Target::open(fcinfo);
        target.require_owner();
        target.require_columnar();
        let given = StoredOptions {
            compression: compression(fcinfo, 1),
            compression_level: number(fcinfo, 2, "compression_level", guc::COMPRESSION_LEVEL_RANGE),
            row_group_rows: number(fcinfo, 3, "row_group_rows", guc::ROW_GROUP_ROWS_RANGE),
            vector_rows: number(fcinfo, 4, "vector_rows", guc::VECTOR_ROWS_RANGE),
            bloom_columns: columns(fcinfo, 5, &target),
        };
        lock(&target);
        let old = catalog::read(target.oid()).unwrap_or_default();
        let new = StoredOptions {
            compression: given.compression.or(old.compression),
            compression_level: given.compression_level.or(old.compression_level),
            row_group_rows: given.row_group_rows.or(old.row_group_rows),
            vector_rows: given.vector_rows.or(old.vector_rows),
            bloom_columns: given.bloom_columns.or(old.bloom_columns),
        };
        store(&target, &new);
    }
    pg_sys::Datum::null()
}

/// `reset_options("table", compression, compression_level, row_group_rows, vector_rows, bloom_columns)`: forgets those
/// that are true, or all if none is.
///
/// # Safety
/// `fcinfo` is that of the running call.
pub unsafe fn reset(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the arguments are of the types that the extension's script declares.
    unsafe {
        refuse_if_read_only(c"pgcolumnar.reset_options()");
        let target = Target::open(fcinfo);
        target.require_owner();
        lock(&target);
        let old = catalog::read(target.oid());
        // A table that has been given another access method keeps its options; this takes them away.
        if !(target.is_table() && old.is_some()) {
            target.require_columnar();
        }
        let chosen = |i: usize| argument(fcinfo, i).is_some_and(|value| value.value() != 0);
        let all = !(1..=5).any(chosen);
        let mut new = old.unwrap_or_default();
        if all || chosen(1) {
            new.compression = None;
        }
        for (i, option) in
            [&mut new.compression_level, &mut new.row_group_rows, &mut new.vector_rows]
                .into_iter()
                .enumerate()
        {
            if all || chosen(i + 2) {
                *option = None;
            }
        }
        if all || chosen(5) {
            new.bloom_columns = None;
        }
        store(&target, &new);
    }
    pg_sys::Datum::null()
}

unsafe fn refuse_if_read_only(function: &CStr) {
    // SAFETY: both look at the state of the transaction.
    unsafe {
        pg_sys::PreventCommandIfReadOnly(function.as_ptr());
        pg_sys::PreventCommandDuringRecovery(function.as_ptr());
    }
}

/// Keeps others from setting the table's options, or dropping it, until the transaction ends.
unsafe fn lock(target: &Target) {
    // SAFETY: the relation is open, so it exists.
    unsafe {
        pg_sys::LockRelationOid(target.oid(), pg_sys::ShareUpdateExclusiveLock as c_int);
    }
}

unsafe fn store(target: &Target, options: &StoredOptions) {
    // SAFETY: the table is locked.
    if !unsafe { catalog::write(target.oid(), options) } {
        fail(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "table pgcolumnar.options is missing or altered".into(),
            None,
        );
    }
}

unsafe fn compression(fcinfo: pg_sys::FunctionCallInfo, index: usize) -> Option<Compression> {
    // SAFETY: the argument is a text.
    let name = unsafe {
        let value = argument(fcinfo, index)?;
        CStr::from_ptr(pg_sys::text_to_cstring(value.cast_mut_ptr())).to_string_lossy()
    };
    match name.parse() {
        Ok(compression) => Some(compression),
        Err(_) => fail(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("invalid value for option \"compression\": \"{name}\""),
            Some("Available values: none, lz4, zstd."),
        ),
    }
}

/// Names of columns, each of which the table has.
unsafe fn columns(
    fcinfo: pg_sys::FunctionCallInfo,
    index: usize,
    target: &Target,
) -> Option<Vec<Box<CStr>>> {
    // SAFETY: the argument is an array of names; the relation is open.
    unsafe {
        let names = catalog::names(argument(fcinfo, index)?);
        for name in &names {
            let attribute = pg_sys::get_attnum(target.oid(), name.as_ptr());
            if attribute <= 0 {
                fail(
                    PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                    format!(
                        "column \"{}\" of relation \"{}\" does not exist",
                        name.to_string_lossy(),
                        relation_name(target.rel())
                    ),
                    None,
                );
            }
        }
        Some(names)
    }
}

unsafe fn number(
    fcinfo: pg_sys::FunctionCallInfo,
    index: usize,
    option: &str,
    (low, high): (i32, i32),
) -> Option<i32> {
    // SAFETY: the argument is an int.
    let value = unsafe { argument(fcinfo, index) }?.value() as i32;
    if !(low..=high).contains(&value) {
        fail(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("{value} is outside the valid range for option \"{option}\" ({low} .. {high})"),
            None,
        );
    }
    Some(value)
}
