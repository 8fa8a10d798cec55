//! ColumnarTopN: ORDER BY with a constant LIMIT right above a ColumnarAgg or a ColumnarScan.
//!
//! Above an aggregation, all sort keys must be keys or aggregates of it. Above a scan, kernels must know all filters and
//! sort keys and their order; rows are then told by their TIDs, and only the winners are fetched.
//!
//! Without a constant LIMIT, or with one that is large, core sorts. With FOR UPDATE too: rows are locked after sorting, and
//! some may drop out then.

use super::aggregate::{self, Parts};
use super::plan_callback;
use super::reasons::{self, Step};
use super::shape::{Shape, SortKey, Top};
use super::{
    PathMethods, close_table, cost, disable, fallback, list, make_node, new_scan, open_table,
    rte_of, scans_disabled, walk,
};
use crate::exec::node;
use crate::exec::translate::Refusal;
use crate::exec::translate::Translator;
use pgrx::pg_sys;

/// Most rows of a LIMIT with its OFFSET.
const MAX_LIMIT: f64 = 100_000.0;

static PATH_METHODS: PathMethods = PathMethods::new(c"ColumnarTopN", plan);

/// Offers the first rows of an order.
///
/// # Safety
/// Called by the planner's hook for the stage of ordering.
pub unsafe fn add_path(
    root: *mut pg_sys::PlannerInfo,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
) {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        let parse = (*root).parse;
        if (*parse).limitCount.is_null() {
            return;
        }
        let limit = match limit_of(parse) {
            Ok(limit) => limit,
            Err(why) => return reasons::note(root, input, Step::Top, &why),
        };
        if (*input).reloptkind == pg_sys::RelOptKind::RELOPT_BASEREL {
            if let Err(why) = add_scan_path(root, input, output, limit) {
                reasons::note(root, input, Step::Top, &why);
            }
            return;
        }
        let below = list::pointers::<pg_sys::Path>((*input).pathlist)
            .into_iter()
            .find(|path| aggregate::is_ours(*path));
        let Some(below) = below else {
            let why = Refusal::Shape("above a step that is not in batches");
            return reasons::note(root, input, Step::Top, &why);
        };
        let (mut parts, having) = Parts::of_path(below.cast());
        let Some(keys) = sort_keys(root, &parts) else { return };
        parts.shape.top = Some(Top { limit: limit as u32, keys });
        let path = make_node::<pg_sys::CustomPath>(pg_sys::NodeTag::T_CustomPath);
        path.cast::<pg_sys::Path>().write(*below);
        let rows = limit.min((*below).rows);
        (*path).path.parent = output;
        (*path).path.rows = rows;
        (*path).path.startup_cost = (*below).startup_cost + (*below).rows * 0.0005;
        (*path).path.total_cost = (*path).path.startup_cost + cost::emit(rows);
        (*path).path.pathkeys = (*root).sort_pathkeys;
        (*path).flags = pg_sys::CUSTOMPATH_SUPPORT_PROJECTION;
        (*path).methods = &raw const PATH_METHODS.0;
        parts.store(path, having);
        (*path).custom_paths = (*below.cast::<pg_sys::CustomPath>()).custom_paths;
        add(root, output, path.cast());
    }
}

/// LIMIT and OFFSET together, if the query is one whose first rows are kept.
unsafe fn limit_of(parse: *const pg_sys::Query) -> Result<f64, Refusal> {
    // SAFETY: the query is alive; its limits are folded, of type bigint.
    unsafe {
        let constant = |node: *mut pg_sys::Node| {
            if (*node).type_ != pg_sys::NodeTag::T_Const {
                return None;
            }
            let constant = &*node.cast::<pg_sys::Const>();
            (!constant.constisnull).then(|| (constant.constvalue.value() as i64).max(0) as f64)
        };
        let offset = (*parse).limitOffset;
        let offset = if offset.is_null() { Some(0.0) } else { constant(offset) };
        let (Some(offset), Some(count)) = (offset, constant((*parse).limitCount)) else {
            return Err(Refusal::NotConstant);
        };
        let limit = count + offset;
        let why = if !(1.0..=MAX_LIMIT).contains(&limit) {
            "no rows, or more than 100,000"
        } else if (*parse).limitOption != pg_sys::LimitOption::LIMIT_OPTION_COUNT {
            "WITH TIES"
        } else if (*parse).hasTargetSRFs {
            "set-returning function"
        } else if (*parse).hasWindowFuncs {
            "window function"
        } else if !(*parse).rowMarks.is_null() {
            "row locks"
        } else {
            return Ok(limit);
        };
        Err(Refusal::Shape(why))
    }
}

/// Adds a path with the target of the stage.
unsafe fn add(
    root: *mut pg_sys::PlannerInfo,
    output: *mut pg_sys::RelOptInfo,
    mut path: *mut pg_sys::Path,
) {
    // SAFETY: the planner's nodes are alive; the stage is one of the array's.
    unsafe {
        let targets = &(*root).upper_targets;
        let target = targets[pg_sys::UpperRelationKind::UPPERREL_ORDERED as usize];
        if !pg_sys::equal((*(*path).pathtarget).exprs.cast(), (*target).exprs.cast()) {
            path = pg_sys::apply_projection_to_path(root, output, path, target);
        }
        pg_sys::add_path(output, path);
    }
}

static SCAN_PATH_METHODS: PathMethods = PathMethods::new(c"ColumnarTopN", plan_scan);

/// Offers the first rows of a table.
unsafe fn add_scan_path(
    root: *mut pg_sys::PlannerInfo,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
    limit: f64,
) -> Result<(), Refusal> {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        if !(*input).lateral_relids.is_null() {
            return Err(Refusal::OtherRelation);
        }
        let Some(table) = open_table(input, rte_of(root, input)) else { return Ok(()) };
        let size = cost::Table::of(table, input);
        let mut translator = Translator::new((*input).relid as i32, (*table).rd_att);
        let keys = scan_keys(root, input, &mut translator);
        close_table(table);
        let (exprs, keys) = keys?;
        if walk::columns(input).is_none() {
            return Err(Refusal::SystemColumn);
        }
        let restrictions = list::pointers::<pg_sys::RestrictInfo>((*input).baserestrictinfo).len();
        let path = make_node::<pg_sys::CustomPath>(pg_sys::NodeTag::T_CustomPath);
        let rows = limit.min((*input).rows);
        (*path).path.pathtype = pg_sys::NodeTag::T_CustomScan;
        (*path).path.parent = output;
        (*path).path.pathtarget = (*input).reltarget;
        (*path).path.rows = rows;
        let read = size.read(translator.columns.len(), restrictions) + (*input).rows * 0.0002;
        (*path).path.startup_cost = size.on_threads(read);
        // A winner is fetched by its TID.
        (*path).path.total_cost = (*path).path.startup_cost + rows * 4.0;
        (*path).path.pathkeys = (*root).sort_pathkeys;
        (*path).flags = pg_sys::CUSTOMPATH_SUPPORT_PROJECTION;
        (*path).methods = &raw const SCAN_PATH_METHODS.0;
        let core = fallback::tids(root, input, output, &exprs, limit);
        (*path).custom_paths = list::of_pointers(core);
        let top = Top { limit: limit as u32, keys };
        let mut shape = vec![(*input).relid as i32];
        shape.extend(Shape { top: Some(top), ..Shape::default() }.encode());
        let filters = super::aggregate::filters(root, input);
        (*path).custom_private = list::of_pointers::<pg_sys::List>([
            list::of_pointers(exprs),
            list::of_integers(shape),
            list::of_pointers(filters),
        ]);
        if scans_disabled() {
            disable(&raw mut (*path).path);
        }
        add(root, output, path.cast());
        Ok(())
    }
}

/// Sort keys of a scan as expressions, if they and all filters are translated and kernels know their order.
unsafe fn scan_keys(
    root: *mut pg_sys::PlannerInfo,
    input: *mut pg_sys::RelOptInfo,
    translator: &mut Translator,
) -> Result<(Vec<*mut pg_sys::Node>, Vec<SortKey>), Refusal> {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        for restriction in list::pointers::<pg_sys::RestrictInfo>((*input).baserestrictinfo) {
            translator.filter_or_external((*restriction).clause.cast())?;
        }
        let mut exprs = Vec::new();
        let mut keys = Vec::new();
        for clause in list::pointers::<pg_sys::SortGroupClause>((*(*root).parse).sortClause) {
            let expr = pg_sys::get_sortgroupclause_expr(clause, (*root).processed_tlist);
            translator.expression_or_external(expr)?.order()?;
            let collation = pg_sys::exprCollation(expr);
            let key = SortKey::new(&*clause, exprs.len(), collation);
            keys.push(key.ok_or(Refusal::Shape("an order that is not the type's"))?);
            exprs.push(expr);
        }
        Ok((exprs, keys))
    }
}

plan_callback!(plan_scan, |_rel, path, tlist, _clauses, plans| {
    make_scan_plan(path, tlist, plans, node::top_methods())
});

/// The plan of a node over a table that finds rows by keys: of a path with the keys, the table with the shape, and filters.
///
/// # Safety
/// The planner's nodes are alive.
pub unsafe fn make_scan_plan(
    path: *mut pg_sys::CustomPath,
    tlist: *mut pg_sys::List,
    plans: *mut pg_sys::List,
    methods: *const pg_sys::CustomScanMethods,
) -> *mut pg_sys::Plan {
    // SAFETY: as the caller's.
    unsafe {
        let lists = list::pointers::<pg_sys::List>((*path).custom_private);
        let integers = list::integers(lists[1]);
        let scan = new_scan(path, integers[0] as pg_sys::Index, tlist, plans, methods);
        (*scan).scan.plan.qual = lists[2];
        (*scan).custom_exprs = lists[0];
        let shape = list::of_integers(integers[1..].iter().copied());
        (*scan).custom_private = list::of_pointers([shape, core::ptr::null_mut()]);
        scan.cast::<pg_sys::Plan>()
    }
}

/// The sort keys as columns of the node's rows.
unsafe fn sort_keys(root: *mut pg_sys::PlannerInfo, parts: &Parts) -> Option<Vec<SortKey>> {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        let computed = &parts.items[..parts.shape.computed_columns()];
        list::pointers::<pg_sys::SortGroupClause>((*(*root).parse).sortClause)
            .into_iter()
            .map(|clause| {
                let expr = pg_sys::get_sortgroupclause_expr(clause, (*root).processed_tlist);
                if matches!((*expr).type_, pg_sys::NodeTag::T_Const) {
                    // A constant orders nothing, and has no column.
                    return None;
                }
                let column =
                    computed.iter().position(|item| pg_sys::equal((*item).cast(), expr.cast()))?;
                SortKey::new(&*clause, column, pg_sys::exprCollation(expr))
            })
            .collect()
    }
}

plan_callback!(plan, |_rel, path, tlist, _clauses, plans| {
    aggregate::make_plan(path, tlist, plans, node::top_methods())
});
