//! SQL functions and the catalog of table options. Their declarations are in `sql/pgcolumnar--1.0.sql`.
//!
//! | module | what it is |
//! |---|---|
//! | [`options`] | `set_options`, `reset_options` |
//! | [`catalog`] | the table `pgcolumnar.options` that they change |
//! | [`storage_info`] | what the chunks of row groups hold |
//! | [`stats`] | what the row groups and row pages of a table are |
//! | [`pages`] | the pages between row groups, for both |
//! | [`bounds`] | bounds of zone maps as text |
//! | [`target`] | the table a function is called for: its kind, and who may ask |
//! | [`rowset`] | results that are sets of rows |
#![allow(unsafe_code)]

pub mod bounds;
pub mod catalog;
pub mod options;
pub mod pages;
pub mod rowset;
pub mod stats;
pub mod storage_info;
pub mod target;

use crate::am::storage::directory;
use pgrx::pg_sys;

/// Defines SQL-callable functions and their calling convention records over functions of `fcinfo`.
macro_rules! sql_functions {
    ($($name:ident, $record:ident => $body:path;)*) => {$(
        #[doc = concat!("C symbol of [`", stringify!($body), "`].")]
        ///
        /// # Safety
        /// Called by the server's function manager.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
            // SAFETY: the server passes the call's arguments as declared in the extension's script; the guard turns a
            // panic into an ERROR.
            unsafe { pg_sys::panic::pgrx_extern_c_guard(move || $body(fcinfo)) }
        }

        #[doc = concat!("Calling convention record of [`", stringify!($name), "`].")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $record() -> &'static pg_sys::Pg_finfo_record {
            const V1: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
            &V1
        }
    )*};
}

sql_functions! {
    pgcolumnar_set_options, pg_finfo_pgcolumnar_set_options => options::set;
    pgcolumnar_reset_options, pg_finfo_pgcolumnar_reset_options => options::reset;
    pgcolumnar_storage_info, pg_finfo_pgcolumnar_storage_info => storage_info::storage_info;
    pgcolumnar_stats, pg_finfo_pgcolumnar_stats => stats::stats;
    pgcolumnar_version, pg_finfo_pgcolumnar_version => version;
}

/// `pgcolumnar.library_version()`: versions of the library and of the two formats it writes.
unsafe fn version(_fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    let version = format!(
        "pgcolumnar {}, table format {}, row group format {}",
        env!("CARGO_PKG_VERSION"),
        directory::FORMAT_VERSION,
        columnar_format::FORMAT_VERSION
    );
    text(version.as_bytes())
}

/// A text datum in the current memory context.
fn text(bytes: &[u8]) -> pg_sys::Datum {
    // SAFETY: the bytes are copied.
    unsafe {
        pg_sys::cstring_to_text_with_len(bytes.as_ptr().cast(), bytes.len() as core::ffi::c_int)
            .into()
    }
}

/// Argument `index` of a call, `None` where it is NULL.
///
/// # Safety
/// `fcinfo` is that of the running call.
unsafe fn argument(fcinfo: pg_sys::FunctionCallInfo, index: usize) -> Option<pg_sys::Datum> {
    // SAFETY: `nargs` arguments follow the call's data.
    unsafe {
        let count = (*fcinfo).nargs as usize;
        let argument = (*fcinfo).args.as_slice(count).get(index)?;
        (!argument.isnull).then_some(argument.value)
    }
}
