//! pgcolumnar: column storage for PostgreSQL.
//!
//! * [`am`]: the table access method: row pages, row groups, visibility, locks, maintenance.
//! * [`exec`]: batch execution: planner hooks and plan nodes.
//! * [`guc`]: typed settings.
//! * [`sql`]: SQL functions, the catalog of table options.
//! * `memory`: the allocator.
//! * [`ports`]: version differences of the server and C macros without a binding.
//!
//! Encodings and the byte layout of row groups live in the PostgreSQL-free crate `columnar_format`.
#![deny(unsafe_op_in_unsafe_fn)]

pgrx::pg_module_magic!(name, version);

pub mod am;
pub mod exec;
pub mod guc;
mod memory;
pub mod ports;
pub mod sql;
pub mod threads;

/// Called once when a backend loads the library, whether by preloading or by the first use of a table.
#[allow(unsafe_code, non_snake_case)]
#[pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    quiet_backtraces();
    guc::register();
    am::register_callbacks();
    exec::register();
    sql::catalog::register();
}

/// An ERROR that passes through Rust code is a panic there. With RUST_BACKTRACE in the server's environment each would
/// carry a backtrace as its DETAIL, and take milliseconds to make it.
#[allow(unsafe_code)]
fn quiet_backtraces() {
    // SAFETY: the library is loaded by the backend's only thread; nothing else reads the environment now.
    unsafe { std::env::set_var("RUST_BACKTRACE", "0") };
}
