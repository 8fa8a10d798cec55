//! ColumnarScan: paths and plans.

use super::plan_callback;
use super::{PathMethods, cost, disable, list, make_node, new_scan, scans_disabled, walk};
use crate::exec::node;
use crate::exec::translate::Translator;
use pgrx::pg_sys;

static PATH_METHODS: PathMethods = PathMethods::new(c"ColumnarScan", plan);

/// Offers a batch scan of a table of that size.
///
/// # Safety
/// Called by the planner's hook with the open table, which is of this access method.
pub unsafe fn add_path(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    table: pg_sys::Relation,
    size: &cost::Table,
) {
    // SAFETY: the planner's nodes are alive, and the table is open.
    unsafe {
        let restrictions = list::pointers::<pg_sys::RestrictInfo>((*rel).baserestrictinfo);
        let columns = walk::columns(rel);
        let mut translator = Translator::new((*rel).relid as i32, (*table).rd_att);
        // Filters without a kernel are evaluated row by row, and may hold a subquery.
        let mut slow = pg_sys::QualCost::default();
        let mut native = 0;
        for restriction in &restrictions {
            let clause: *mut pg_sys::Node = (**restriction).clause.cast();
            if translator.filter(clause).is_ok() {
                native += 1;
                continue;
            }
            let mut cost = pg_sys::QualCost::default();
            pg_sys::cost_qual_eval_node(&raw mut cost, clause, root);
            slow.startup += cost.startup;
            slow.per_tuple += cost.per_tuple + pg_sys::cpu_operator_cost;
        }
        // What a slot of a batch cannot tell: xmin, xmax and their like.
        let Some(columns) = columns else { return };
        let rows = (*rel).rows;
        let path = make_node::<pg_sys::CustomPath>(pg_sys::NodeTag::T_CustomPath);
        (*path).path.pathtype = pg_sys::NodeTag::T_CustomScan;
        (*path).path.parent = rel;
        (*path).path.pathtarget = (*rel).reltarget;
        (*path).path.param_info =
            pg_sys::get_baserel_parampathinfo(root, rel, (*rel).lateral_relids);
        (*path).path.parallel_safe = (*rel).consider_parallel;
        (*path).path.rows = rows;
        let read = size.read(columns, native);
        let rest =
            cost::emit(rows) + slow.startup + (size.group_rows + size.page_rows) * slow.per_tuple;
        let total = size.on_threads(read) + rest;
        let target_cost = (*(*rel).reltarget).cost;
        (*path).path.startup_cost = target_cost.startup;
        (*path).path.total_cost = target_cost.startup + total + target_cost.per_tuple * rows;
        (*path).flags =
            pg_sys::CUSTOMPATH_SUPPORT_PROJECTION | pg_sys::CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
        (*path).methods = &raw const PATH_METHODS.0;
        if scans_disabled() {
            disable(&raw mut (*path).path);
        }
        // add_path may free the path it is given.
        let shared = partial_path(rel, path, read + rest);
        pg_sys::add_path(rel, path.cast());
        if let Some(shared) = shared {
            pg_sys::add_partial_path(rel, shared.cast());
        }
    }
}

/// Bytes of a tuple in memory besides its columns.
const TUPLE_HEADER: f64 = 24.0;

/// The path of a scan that workers share, each reading what it claims; `run` is the cost of the whole.
unsafe fn partial_path(
    rel: *mut pg_sys::RelOptInfo,
    whole: *const pg_sys::CustomPath,
    run: f64,
) -> Option<*mut pg_sys::CustomPath> {
    // SAFETY: as the caller's.
    unsafe {
        if !(*rel).consider_parallel || !(*rel).lateral_relids.is_null() {
            return None;
        }
        // Core reckons workers by pages. Ours hold more rows than heap's, which make work all the same.
        let width = f64::from((*(*rel).reltarget).width) + TUPLE_HEADER;
        let pages = ((*rel).tuples * width / f64::from(pg_sys::BLCKSZ)).max((*rel).pages.into());
        let most = pg_sys::max_parallel_workers_per_gather;
        let workers = pg_sys::compute_parallel_worker(rel, pages, -1.0, most);
        if workers <= 0 {
            return None;
        }
        let leads = pg_sys::parallel_leader_participation;
        let divisor = cost::divisor(f64::from(workers), leads);
        let path = make_node::<pg_sys::CustomPath>(pg_sys::NodeTag::T_CustomPath);
        path.write(*whole);
        (*path).path.parallel_aware = true;
        (*path).path.parallel_workers = workers;
        (*path).path.rows = pg_sys::clamp_row_est((*rel).rows / divisor);
        let per_tuple = (*(*rel).reltarget).cost.per_tuple * (*path).path.rows;
        (*path).path.total_cost = (*path).path.startup_cost + run / divisor + per_tuple;
        Some(path)
    }
}

/// Whether a path is one of this module.
///
/// # Safety
/// `path` is a live path.
pub unsafe fn is_ours(path: *const pg_sys::Path) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        let custom = path.cast::<pg_sys::CustomPath>();
        (*path).type_ == pg_sys::NodeTag::T_CustomPath
            && core::ptr::eq((*custom).methods, &raw const PATH_METHODS.0)
    }
}

plan_callback!(plan, |rel, path, tlist, clauses, _plans| {
    let no_plans = core::ptr::null_mut();
    let scan = new_scan(path, (*rel).relid, tlist, no_plans, node::scan_methods());
    // Whether a filter of a lower security level must come before another (row security, security barriers).
    let levels = list::pointers::<pg_sys::RestrictInfo>(clauses);
    let barrier = levels.iter().any(|r| (**r).security_level > 0);
    (*scan).scan.plan.qual = pg_sys::extract_actual_clauses(clauses, false);
    let barrier = list::of_integers([i32::from(barrier)]);
    (*scan).custom_private = list::of_pointers([barrier, (*path).custom_private]);
    scan.cast::<pg_sys::Plan>()
});
