//! VACUUM.

use pgrx::pg_sys;

/// Vacuums a table (`relation_vacuum`).
///
/// # Safety
/// As `table_relation_vacuum`.
pub unsafe fn vacuum(
    _rel: pg_sys::Relation,
    _params: *mut pg_sys::VacuumParams,
    _strategy: pg_sys::BufferAccessStrategy,
) {
}
