//! ColumnarAgg: grouping, aggregation and DISTINCT right above the scan of one table. Of a partition it may hand out
//! transition states, for [`append`].
//!
//! Grouping sets are computed in one pass over the table, as [`super::sets`] says.
//!
//! Aggregates that no kernel folds are priced by their transition functions ([`transition`](super::transition)).
//!
//! Refused, and left to core's nodes above a ColumnarScan: joins below, set-returning functions in the target list, and any
//! filter, key or aggregate that is not translated.

use super::plan_callback;
use super::reasons::{self, Step};
use super::sets::{self, Sets};
use super::shape::Shape;
use super::transition::Calls;
use super::{
    PathMethods, append, close_table, cost, disable, distinct_on, fallback, list, make_node,
    new_scan, open_table, rte_of, scans_disabled, walk,
};
use crate::exec::node;
use crate::exec::translate::Refusal;
use crate::exec::translate::Translator;
use crate::ports;
use pgrx::pg_sys;

/// What a path carries to its plan.
pub struct Parts {
    /// The base relation.
    pub relid: pg_sys::Index,
    /// Keys, aggregates and filters.
    pub items: Vec<*mut pg_sys::Node>,
    pub shape: Shape,
}

static PATH_METHODS: PathMethods = PathMethods::new(c"ColumnarAgg", plan);

/// What is grouped and how.
pub struct Grouping {
    /// The scan below.
    pub input: *mut pg_sys::RelOptInfo,
    /// GROUP BY or DISTINCT without what is redundant: sort-group clauses of that target list.
    pub processed: *mut pg_sys::List,
    pub tlist: *mut pg_sys::List,
    /// The distinct expressions of the whole clause.
    pub keys: Vec<*mut pg_sys::Node>,
    /// Their sort-group numbers; none where they are of no use.
    pub refs: Vec<pg_sys::Index>,
    /// GROUPING SETS, as lists of these numbers; null without.
    pub sets: *mut pg_sys::List,
    /// Core's paths of the same work.
    pub core: *mut pg_sys::List,
    /// What is handed out.
    pub target: *mut pg_sys::PathTarget,
    pub having: *mut pg_sys::Node,
    /// Whether transition states are handed out, and groups more than once.
    pub partial: bool,
}

impl Grouping {
    /// What core calls the step.
    pub fn split(&self) -> pg_sys::AggSplit::Type {
        if self.partial {
            pg_sys::AggSplit::AGGSPLIT_INITIAL_SERIAL
        } else {
            pg_sys::AggSplit::AGGSPLIT_SIMPLE
        }
    }
}

/// Offers aggregation in batches.
///
/// # Safety
/// Called by the planner's hook with the arguments of its stage.
pub unsafe fn add_group_path(
    root: *mut pg_sys::PlannerInfo,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
    extra: *mut core::ffi::c_void,
) {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        let parse = (*root).parse;
        let extra = extra.cast::<pg_sys::GroupPathExtraData>();
        if extra.is_null() {
            return;
        }
        if (*parse).hasTargetSRFs {
            return reasons::note(root, input, Step::Grouping, &Refusal::SetReturning);
        }
        // Of a partition, these are its own.
        let (having, tlist) = ((*extra).havingQual, (*extra).targetList);
        let sets = (*parse).groupingSets;
        let (clause, processed) = ((*parse).groupClause, ports::processed_groupClause(root));
        let by = By { clause, processed, tlist, sets };
        offer(root, input, output, by, having, Step::Grouping);
        append::add_group_path(root, input, output, &*extra);
    }
}

/// Offers DISTINCT in batches.
///
/// # Safety
/// As [`add_group_path`].
pub unsafe fn add_distinct_path(
    root: *mut pg_sys::PlannerInfo,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
) {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        let parse = (*root).parse;
        let plain = !(*parse).hasDistinctOn
            && !(*parse).hasAggs
            && !(*parse).hasWindowFuncs
            && !(*parse).hasTargetSRFs
            && (*parse).groupClause.is_null()
            && (*parse).groupingSets.is_null();
        if plain {
            let sets = core::ptr::null_mut();
            let clause = (*parse).distinctClause;
            let processed = ports::processed_distinctClause(root);
            let by = By { clause, processed, tlist: (*root).processed_tlist, sets };
            offer(root, input, output, by, core::ptr::null_mut(), Step::Distinct);
            append::add_distinct_path(root, input, output);
        } else if (*parse).hasDistinctOn {
            if let Err(why) = distinct_on::add_path(root, input, output) {
                reasons::note(root, input, Step::DistinctOn, &why);
            }
        } else {
            reasons::note(root, input, Step::Distinct, &Refusal::Shape("above another step"));
        }
    }
}

/// What is grouped by: sort-group clauses of a target list, and lists of their numbers for GROUPING SETS.
#[derive(Clone, Copy)]
struct By {
    clause: *mut pg_sys::List,
    /// Those of them that the rows below are labelled with.
    processed: *mut pg_sys::List,
    tlist: *mut pg_sys::List,
    sets: *mut pg_sys::List,
}

unsafe fn offer(
    root: *mut pg_sys::PlannerInfo,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
    by: By,
    having: *mut pg_sys::Node,
    step: Step,
) {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        let first = list::pointers::<pg_sys::Path>((*output).pathlist).first().copied();
        let Some(first) = first else { return };
        if !is_table(input) {
            return reasons::note(root, input, step, &Refusal::Shape("above a join"));
        }
        let By { clause, processed, tlist, sets } = by;
        let keys = keys(clause, tlist);
        let clauses = list::pointers::<pg_sys::SortGroupClause>(clause);
        if !sets.is_null() && !sets::are_told_apart(&keys, clauses.len()) {
            let why = Refusal::Shape("an expression twice, or a constant, among the keys of sets");
            return reasons::note(root, input, step, &why);
        }
        let number = |key: &*mut pg_sys::Node| {
            let is_it = |clause: &&*mut pg_sys::SortGroupClause| {
                let expr = pg_sys::get_sortgroupclause_expr(**clause, tlist);
                pg_sys::equal(expr.cast(), (*key).cast())
            };
            clauses.iter().find(is_it).map_or(0, |clause| (**clause).tleSortGroupRef)
        };
        let refs = keys.iter().map(number).collect();
        let target = target_of(output, first);
        // Of grouping sets, core's estimate is the sum over the sets.
        let one = keys.is_empty() && sets.is_null();
        let groups = if one { 1.0 } else { (*first).rows };
        let core = (*output).pathlist;
        let partial = false;
        let grouping =
            Grouping { input, processed, tlist, keys, refs, sets, core, target, having, partial };
        match path(root, &grouping, output, groups) {
            Ok(Some(path)) => pg_sys::add_path(output, path),
            Ok(None) => {}
            Err(why) => reasons::note(root, input, step, &why),
        }
    }
}

/// Whether a relation is one of the range table's, by itself or as a member of another.
///
/// # Safety
/// `rel` is alive.
pub unsafe fn is_table(rel: *const pg_sys::RelOptInfo) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        matches!(
            (*rel).reloptkind,
            pg_sys::RelOptKind::RELOPT_BASEREL | pg_sys::RelOptKind::RELOPT_OTHER_MEMBER_REL
        )
    }
}

/// The target of a grouping relation, of which `first` is a path; the rel of DISTINCT has none of its own.
///
/// # Safety
/// Both are alive.
pub unsafe fn target_of(
    output: *const pg_sys::RelOptInfo,
    first: *const pg_sys::Path,
) -> *mut pg_sys::PathTarget {
    // SAFETY: as the caller's.
    unsafe {
        let target = (*output).reltarget;
        if target.is_null() || (*target).exprs.is_null() { (*first).pathtarget } else { target }
    }
}

/// The expressions of a clause, each once.
///
/// # Safety
/// `clause` belongs to the target list.
pub unsafe fn keys(clause: *mut pg_sys::List, tlist: *mut pg_sys::List) -> Vec<*mut pg_sys::Node> {
    // SAFETY: as the caller's.
    unsafe {
        let mut keys: Vec<*mut pg_sys::Node> = Vec::new();
        for clause in list::pointers::<pg_sys::SortGroupClause>(clause) {
            let key = pg_sys::get_sortgroupclause_expr(clause, tlist);
            if !keys.iter().any(|known| pg_sys::equal((*known).cast(), key.cast())) {
                keys.push(key);
            }
        }
        keys
    }
}

/// A path of a ColumnarAgg, or why there is none; neither where the input is no table of the access method.
///
/// # Safety
/// The planner's nodes are alive.
pub unsafe fn path(
    root: *mut pg_sys::PlannerInfo,
    grouping: &Grouping,
    parent: *mut pg_sys::RelOptInfo,
    groups: f64,
) -> Result<Option<*mut pg_sys::Path>, Refusal> {
    // SAFETY: as the caller's.
    unsafe {
        let input = grouping.input;
        let Some(table) = open_table(input, rte_of(root, input)) else { return Ok(None) };
        let parts = collect(root, grouping, table);
        let size = cost::Table::of(table, input);
        close_table(table);
        let (parts, columns, calls) = parts?;
        let shape = &parts.shape;
        let scan = size.read(columns, shape.filters)
            + shape
                .set_sizes()
                .map(|keys| cost::group((*input).rows, keys, shape.aggregates))
                .sum::<f64>();
        let scan = if calls.allow_threads() { size.on_threads(scan) } else { scan };
        let calling = calls
            .cost((*input).rows, groups, shape, scan)
            .ok_or(Refusal::Shape("states of volatile functions may outgrow memory"))?;
        let total = scan + calling + cost::emit(groups);
        let path = make_node::<pg_sys::CustomPath>(pg_sys::NodeTag::T_CustomPath);
        (*path).path.pathtype = pg_sys::NodeTag::T_CustomScan;
        (*path).path.parent = parent;
        (*path).path.pathtarget = grouping.target;
        (*path).path.rows = groups;
        (*path).path.startup_cost = total - cost::emit(groups);
        (*path).path.total_cost = total;
        (*path).flags = pg_sys::CUSTOMPATH_SUPPORT_PROJECTION;
        (*path).methods = &raw const PATH_METHODS.0;
        (*path).custom_private = parts.to_list(grouping.having);
        let computed = &parts.items[..shape.computed_columns()];
        let core = fallback::path(root, grouping, parent, computed);
        (*path).custom_paths = list::of_pointers(core);
        if scans_disabled() {
            disable(&raw mut (*path).path);
        }
        Ok(Some(path.cast()))
    }
}

/// Keys, aggregates and filters, how many columns they read, and what is left to transition functions; or what is not
/// translated.
unsafe fn collect(
    root: *mut pg_sys::PlannerInfo,
    grouping: &Grouping,
    table: pg_sys::Relation,
) -> Result<(Parts, usize, Calls), Refusal> {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        let Grouping { input, keys, target, having, partial, .. } = grouping;
        let mut translator = Translator::new((**input).relid as i32, (*table).rd_att);
        for key in keys {
            translator.expression_or_external(*key)?.key()?;
        }
        let (folds, calls) = group_calls(*target, *having, keys)
            .ok_or(Refusal::Shape("an expression that is not made of keys and aggregates"))?;
        let Sets { sets, groupings } = Sets::new(grouping.sets, &calls, &grouping.refs)
            .ok_or(Refusal::Shape("more than 64 grouping sets"))?;
        let mut left = Calls::default();
        for fold in &folds {
            if translator.aggregate(fold.cast())?.call.is_some() {
                left.add(root, fold.cast());
            }
        }
        let filters = filters(root, *input);
        for filter in &filters {
            translator.filter_or_external(*filter)?;
        }
        let shape = Shape {
            keys: keys.len(),
            sets,
            groupings,
            aggregates: folds.len(),
            filters: filters.len(),
            partial: *partial,
            top: None,
            ..Shape::default()
        };
        left.externals = !translator.externals.is_empty();
        let columns = translator.columns.len();
        let items = keys.iter().copied().chain(calls).chain(folds).chain(filters).collect();
        Ok((Parts { relid: (**input).relid, items, shape }, columns, left))
    }
}

/// The aggregates of a target and HAVING, each once; `None` where these are not made of keys and aggregates alone.
///
/// # Safety
/// All are alive.
pub unsafe fn folds(
    target: *const pg_sys::PathTarget,
    having: *mut pg_sys::Node,
    keys: &[*mut pg_sys::Node],
) -> Option<Vec<*mut pg_sys::Node>> {
    // SAFETY: as the caller's.
    let (folds, calls) = unsafe { group_calls(target, having, keys)? };
    calls.is_empty().then_some(folds)
}

/// As [`folds`], with the GROUPING calls.
unsafe fn group_calls(
    target: *const pg_sys::PathTarget,
    having: *mut pg_sys::Node,
    keys: &[*mut pg_sys::Node],
) -> Option<(Vec<*mut pg_sys::Node>, Vec<*mut pg_sys::Node>)> {
    // SAFETY: as the caller's.
    unsafe {
        let mut outputs = list::pointers::<pg_sys::Node>((*target).exprs);
        outputs.extend([having].into_iter().filter(|having| !having.is_null()));
        let (mut folds, mut calls) = (Vec::new(), Vec::new());
        for node in &outputs {
            walk::group_calls(*node, pg_sys::NodeTag::T_Aggref, &mut folds);
            walk::group_calls(*node, pg_sys::NodeTag::T_GroupingFunc, &mut calls);
        }
        let parts: Vec<_> = keys.iter().chain(&calls).chain(&folds).copied().collect();
        let made = outputs.iter().all(|node| walk::is_made_of(*node, &parts));
        made.then_some((folds, calls))
    }
}

/// The filters of a base relation in the order in which they may be evaluated (order_qual_clauses of createplan.c): by
/// security level, then cost.
///
/// # Safety
/// Both are alive while a query is planned.
pub unsafe fn filters(
    root: *mut pg_sys::PlannerInfo,
    input: *mut pg_sys::RelOptInfo,
) -> Vec<*mut pg_sys::Node> {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        let restrictions = list::pointers::<pg_sys::RestrictInfo>((*input).baserestrictinfo);
        let mut ordered: Vec<_> = restrictions
            .into_iter()
            .map(|restriction| {
                let clause: *mut pg_sys::Node = (*restriction).clause.cast();
                let mut cost = pg_sys::QualCost::default();
                pg_sys::cost_qual_eval_node(&raw mut cost, clause, root);
                let leakproof =
                    (*restriction).leakproof && cost.per_tuple < 10.0 * pg_sys::cpu_operator_cost;
                let level = if leakproof { 0 } else { (*restriction).security_level };
                (level, cost.per_tuple, clause)
            })
            .collect();
        ordered.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        ordered.into_iter().map(|(_, _, clause)| clause).collect()
    }
}

impl Parts {
    /// For the private list of a path; `having` becomes the plan's filter.
    unsafe fn to_list(&self, having: *mut pg_sys::Node) -> *mut pg_sys::List {
        // SAFETY: the items live as long as the planner's other nodes.
        unsafe {
            let mut shape = vec![self.relid as i32];
            shape.extend(self.shape.encode());
            let items = list::of_pointers(self.items.iter().copied());
            let shape = list::of_integers(shape);
            let reasons = core::ptr::null_mut();
            list::of_pointers::<pg_sys::List>([items, shape, having.cast(), reasons])
        }
    }

    /// From the private list of a path, with HAVING.
    ///
    /// # Safety
    /// `path` is of [`add_group_path`], [`add_distinct_path`] or [`super::top::add_path`] above one of those.
    pub unsafe fn of_path(path: *const pg_sys::CustomPath) -> (Self, *mut pg_sys::Node) {
        // SAFETY: as the caller's.
        unsafe {
            let lists = list::pointers::<pg_sys::List>((*path).custom_private);
            let integers = list::integers(lists[1]);
            let shape = Shape::decode(&integers[1..]);
            let items = list::pointers(lists[0]);
            let relid = integers[0] as pg_sys::Index;
            (Self { relid, items, shape }, lists[2].cast())
        }
    }

    /// Writes them into a path.
    ///
    /// # Safety
    /// `path` is being made.
    pub unsafe fn store(&self, path: *mut pg_sys::CustomPath, having: *mut pg_sys::Node) {
        // SAFETY: as the caller's.
        unsafe { (*path).custom_private = self.to_list(having) };
    }
}

/// Whether a path is one of this module.
///
/// # Safety
/// `path` is a live path.
pub unsafe fn is_ours(path: *const pg_sys::Path) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        (*path).type_ == pg_sys::NodeTag::T_CustomPath
            && core::ptr::eq(
                (*path.cast::<pg_sys::CustomPath>()).methods,
                &raw const PATH_METHODS.0,
            )
    }
}

plan_callback!(plan, |_rel, path, tlist, _clauses, plans| {
    make_plan(path, tlist, plans, node::aggregate_methods())
});

/// The plan of a path of this module or of [`super::top`]; `plans` are those of its [`fallback`].
///
/// # Safety
/// As `PlanCustomPath`.
pub unsafe fn make_plan(
    path: *mut pg_sys::CustomPath,
    tlist: *mut pg_sys::List,
    plans: *mut pg_sys::List,
    methods: *const pg_sys::CustomScanMethods,
) -> *mut pg_sys::Plan {
    // SAFETY: as the caller's.
    unsafe {
        let (parts, having) = Parts::of_path(path);
        let scan = new_scan(path, parts.relid, tlist, plans, methods);
        // HAVING is a list of conditions.
        (*scan).scan.plan.qual = having.cast();
        let copy = |item: &*mut pg_sys::Node| -> *mut pg_sys::Expr {
            pg_sys::copyObjectImpl((*item).cast()).cast()
        };
        let entries = parts.items.iter().enumerate().map(|(i, item)| {
            pg_sys::makeTargetEntry(copy(item), i as i16 + 1, core::ptr::null_mut(), false)
        });
        (*scan).custom_scan_tlist = list::of_pointers(entries);
        // custom_scan_tlist is not searched for parameters and subplans, which a plan must be known by (SS_finalize_plan);
        // these are. Later they become references to the entries. A column has neither; as a filter it could not be told from
        // a key that grouping sets make NULL.
        let is_column = |item: &&*mut pg_sys::Node| (***item).type_ == pg_sys::NodeTag::T_Var;
        let searched = parts.items.iter().filter(|item| !is_column(item));
        (*scan).custom_exprs = list::of_pointers(searched.map(copy));
        let reasons = list::pointers::<pg_sys::List>((*path).custom_private)[3];
        let shape = list::of_integers(parts.shape.encode());
        (*scan).custom_private = list::of_pointers([shape, reasons]);
        scan.cast()
    }
}
