//! Paths and plans of the batch executor.
//!
//! A [`pg_sys::CustomPath`] is offered beside core's paths where batches can do the work; costs decide. Four nodes:
//!
//! | node | offered | plan |
//! |---|---|---|
//! | ColumnarScan | for each table of the access method | [`scan`] |
//! | ColumnarAgg | for grouping, aggregation and DISTINCT right above a scan, or a scan below an Append | [`aggregate`], [`append`] |
//! | ColumnarDistinctOn | for DISTINCT ON above a ColumnarScan | [`distinct_on`] |
//! | ColumnarTopN | for ORDER BY with a constant LIMIT above one of those | [`top`] |
#![allow(unsafe_code)]

pub mod aggregate;
pub mod append;
pub mod cost;
pub mod distinct_on;
pub mod fallback;
pub mod index;
pub mod list;
pub mod reasons;
pub mod scan;
pub mod sets;
pub mod shape;
pub mod top;
mod transition;
pub mod walk;

use crate::am::slot;
use crate::guc;
use crate::ports;
use pgrx::pg_sys;

static mut NEXT_REL_PATHLIST: pg_sys::set_rel_pathlist_hook_type = None;
static mut NEXT_UPPER_PATHS: pg_sys::create_upper_paths_hook_type = None;

/// Installs the hooks, in front of those that are there.
pub fn register() {
    // SAFETY: the library is loaded once, by the backend's only thread.
    unsafe {
        NEXT_REL_PATHLIST = pg_sys::set_rel_pathlist_hook;
        pg_sys::set_rel_pathlist_hook = Some(rel_pathlist);
        NEXT_UPPER_PATHS = pg_sys::create_upper_paths_hook;
        pg_sys::create_upper_paths_hook = Some(upper_paths);
    }
}

unsafe extern "C-unwind" fn rel_pathlist(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    rti: pg_sys::Index,
    rte: *mut pg_sys::RangeTblEntry,
) {
    // SAFETY: called by the planner with live nodes; the guard turns a panic into an ERROR.
    unsafe {
        pg_sys::panic::pgrx_extern_c_guard(move || {
            if let Some(next) = NEXT_REL_PATHLIST {
                pg_sys::ffi::pg_guard_ffi_boundary(|| next(root, rel, rti, rte));
            }
            if guc::ENABLE_VECTORIZED.get() {
                let Some(table) = open_table(rel, rte) else { return };
                let size = cost::Table::of(table, rel);
                index::price_paths(root, rel, &size);
                scan::add_path(root, rel, table, &size);
                close_table(table);
            }
        });
    }
}

unsafe extern "C-unwind" fn upper_paths(
    root: *mut pg_sys::PlannerInfo,
    stage: pg_sys::UpperRelationKind::Type,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
    extra: *mut core::ffi::c_void,
) {
    // SAFETY: as `rel_pathlist`.
    unsafe {
        pg_sys::panic::pgrx_extern_c_guard(move || {
            if let Some(next) = NEXT_UPPER_PATHS {
                pg_sys::ffi::pg_guard_ffi_boundary(|| next(root, stage, input, output, extra));
            }
            if !guc::ENABLE_VECTORIZED.get() {
                return;
            }
            use pg_sys::UpperRelationKind as Stage;
            match stage {
                Stage::UPPERREL_GROUP_AGG => aggregate::add_group_path(root, input, output, extra),
                Stage::UPPERREL_DISTINCT => aggregate::add_distinct_path(root, input, output),
                Stage::UPPERREL_ORDERED => top::add_path(root, input, output),
                _ => {}
            }
        });
    }
}

/// Methods of a kind of path.
struct PathMethods(pg_sys::CustomPathMethods);

// SAFETY: constant; it holds a name and a function.
unsafe impl Sync for PathMethods {}

/// `PlanCustomPath`.
type MakePlan = unsafe extern "C-unwind" fn(
    *mut pg_sys::PlannerInfo,
    *mut pg_sys::RelOptInfo,
    *mut pg_sys::CustomPath,
    *mut pg_sys::List,
    *mut pg_sys::List,
    *mut pg_sys::List,
) -> *mut pg_sys::Plan;

impl PathMethods {
    const fn new(name: &'static core::ffi::CStr, make_plan: MakePlan) -> Self {
        Self(pg_sys::CustomPathMethods {
            CustomName: name.as_ptr(),
            PlanCustomPath: Some(make_plan),
            ReparameterizeCustomPathByChild: None,
        })
    }
}

/// Defines a `PlanCustomPath`: a plan made of the relation, the path, its target list and its filters.
macro_rules! plan_callback {
    ($name:ident, |$rel:ident, $path:ident, $tlist:ident, $clauses:ident, $plans:ident| $make:expr) => {
        unsafe extern "C-unwind" fn $name(
            _root: *mut pg_sys::PlannerInfo,
            $rel: *mut pg_sys::RelOptInfo,
            $path: *mut pg_sys::CustomPath,
            $tlist: *mut pg_sys::List,
            $clauses: *mut pg_sys::List,
            $plans: *mut pg_sys::List,
        ) -> *mut pg_sys::Plan {
            // SAFETY: called by the planner with live nodes; the guard turns a panic into an ERROR.
            #[allow(clippy::macro_metavars_in_unsafe)]
            unsafe {
                pg_sys::panic::pgrx_extern_c_guard(move || $make)
            }
        }
    };
}
use plan_callback;

/// Opens a relation of the planner's if it is a plain table of this access method.
///
/// # Safety
/// `rel` is a base relation of a query being planned and `rte` its range table entry; the planner has locked it.
unsafe fn open_table(
    rel: *const pg_sys::RelOptInfo,
    rte: *const pg_sys::RangeTblEntry,
) -> Option<pg_sys::Relation> {
    // SAFETY: as the caller's.
    unsafe {
        let plain = (*rte).rtekind == pg_sys::RTEKind::RTE_RELATION
            && !(*rte).inh
            && (*rte).tablesample.is_null()
            && matches!((*rte).relkind as u8, b'r' | b'm')
            && matches!(
                (*rel).reloptkind,
                pg_sys::RelOptKind::RELOPT_BASEREL | pg_sys::RelOptKind::RELOPT_OTHER_MEMBER_REL
            );
        if !plain {
            return None;
        }
        let table = pg_sys::table_open((*rte).relid, pg_sys::NoLock as i32);
        let routine = (*table).rd_tableam;
        let ours = !routine.is_null()
            && (*routine).slot_callbacks.is_some_and(|ops| core::ptr::eq(ops(table), slot::ops()));
        if ours {
            return Some(table);
        }
        pg_sys::table_close(table, pg_sys::NoLock as i32);
        None
    }
}

/// Closes what [`open_table`] opened.
unsafe fn close_table(table: pg_sys::Relation) {
    // SAFETY: the relation is open; the planner's lock is kept.
    unsafe { pg_sys::table_close(table, pg_sys::NoLock as i32) }
}

/// A base relation's range table entry.
unsafe fn rte_of(
    root: *const pg_sys::PlannerInfo,
    rel: *const pg_sys::RelOptInfo,
) -> *mut pg_sys::RangeTblEntry {
    // SAFETY: the planner's array has an entry for each relation.
    unsafe { *(*root).simple_rte_array.add((*rel).relid as usize) }
}

/// An empty node of a type, in the current memory context.
unsafe fn make_node<T>(tag: pg_sys::NodeTag) -> *mut T {
    // SAFETY: a node begins with its tag.
    unsafe {
        let node = pg_sys::palloc0(size_of::<T>()).cast::<T>();
        node.cast::<pg_sys::Node>().write(pg_sys::Node { type_: tag });
        node
    }
}

/// A plan node over a table for a path; its filter and what is its node's own are still to be filled in.
///
/// # Safety
/// As `PlanCustomPath`, which gives the arguments.
unsafe fn new_scan(
    path: *const pg_sys::CustomPath,
    relid: pg_sys::Index,
    tlist: *mut pg_sys::List,
    plans: *mut pg_sys::List,
    methods: *const pg_sys::CustomScanMethods,
) -> *mut pg_sys::CustomScan {
    // SAFETY: as the caller's.
    unsafe {
        let scan = make_node::<pg_sys::CustomScan>(pg_sys::NodeTag::T_CustomScan);
        (*scan).scan.plan.targetlist = tlist;
        (*scan).scan.scanrelid = relid;
        (*scan).flags = (*path).flags;
        (*scan).custom_plans = plans;
        (*scan).methods = methods;
        scan
    }
}

/// Whether the planner would rather not scan tables (`enable_seqscan`).
fn scans_disabled() -> bool {
    // SAFETY: reads a setting.
    unsafe { !pg_sys::enable_seqscan }
}

/// Adds to a path what core adds where a kind of path is disabled.
unsafe fn disable(path: *mut pg_sys::Path) {
    // SAFETY: the path is being made.
    unsafe { ports::disable_path(path) }
}
