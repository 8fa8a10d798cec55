//! ColumnarDistinctOn: the first row of each group of DISTINCT ON, right above the scan of one table.
//!
//! Groups are kept in a hash table with the keys of the order and the TID of their first row; only those rows are fetched.
//! They come in the order of the table, and core sorts them where the query is ordered: equality alone matters of the keys
//! of DISTINCT ON, so that text under any deterministic collation may be among them. The order of the keys after them must
//! be one that kernels know.
//!
//! Groups do not go to files. Where more are estimated than memory holds, the node is not offered; where more come up,
//! core's plan of the same work ([`fallback::first_rows`]) is started, before any row was handed out.
//!
//! Refused, and left to a sort: joins below, grouping, window and set-returning functions, volatile functions in the target
//! list, which core calls for all rows, and keys that are all the same for all rows.

use super::plan_callback;
use super::shape::{Shape, SortKey, Top};
use super::top::make_scan_plan;
use super::{
    PathMethods, aggregate, close_table, cost, disable, fallback, list, make_node, open_table,
    rte_of, scans_disabled, walk,
};
use crate::am::group::types::attributes;
use crate::exec::node;
use crate::exec::run::LEAST_MEMORY;
use crate::exec::translate::{Refusal, Translator};
use crate::{ports, threads};
use pgrx::pg_sys;

static PATH_METHODS: PathMethods = PathMethods::new(c"ColumnarDistinctOn", plan);

/// Keys, and what is known of them.
struct Keys {
    /// Those of the groups, then those of the order within.
    exprs: Vec<*mut pg_sys::Node>,
    groups: usize,
    order: Vec<SortKey>,
    /// Whether PostgreSQL evaluates a part, on its own thread.
    external: bool,
    /// Columns that they and the filters read.
    columns: usize,
}

/// Offers DISTINCT ON.
///
/// # Safety
/// Called by the planner's hook for a query with DISTINCT ON.
pub unsafe fn add_path(
    root: *mut pg_sys::PlannerInfo,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
) -> Result<(), Refusal> {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        let Some(first) = list::pointers::<pg_sys::Path>((*output).pathlist).first().copied()
        else {
            return Ok(());
        };
        let target = aggregate::target_of(output, first);
        refuse(root, input, target)?;
        let Some(table) = open_table(input, rte_of(root, input)) else { return Ok(()) };
        let size = cost::Table::of(table, input);
        let mut translator = Translator::new((*input).relid as i32, (*table).rd_att);
        let keys = keys(root, input, &mut translator);
        let columns = columns(input, table);
        close_table(table);
        let keys = keys?;
        let wanted = walk::columns(input).ok_or(Refusal::SystemColumn)?;
        let groups = (*first).rows.max(1.0);
        let used = if keys.external { 1.0 } else { threads::limit().max(1) as f64 };
        // Each thread may come to hold all groups.
        let limit = (pg_sys::get_hash_memory_limit() as f64 / used).max(LEAST_MEMORY as f64);
        if groups * keys.group_bytes() > limit {
            return Err(Refusal::Shape("more groups than memory holds"));
        }
        let vars: Vec<_> = columns.iter().map(|(_, var)| *var).collect();
        let core = fallback::first_rows(root, input, output, &vars, &keys.exprs);
        let Some(core) = core else { return Ok(()) };
        let restrictions = list::pointers::<pg_sys::RestrictInfo>((*input).baserestrictinfo).len();
        let read = size.read(keys.columns, restrictions)
            + cost::group((*input).rows, keys.groups, keys.order.len());
        let startup = if keys.external { read } else { size.on_threads(read) };
        let fetch = size.fetch(cost::Fetch {
            rows: groups,
            loops: 1.0,
            columns: wanted as f64,
            order: 1.0,
            sorted: true,
            cache: 0.0,
        });
        let path = make_node::<pg_sys::CustomPath>(pg_sys::NodeTag::T_CustomPath);
        (*path).path.pathtype = pg_sys::NodeTag::T_CustomScan;
        (*path).path.parent = output;
        (*path).path.pathtarget = target;
        (*path).path.rows = groups;
        (*path).path.startup_cost = startup;
        let projected = (*target).cost.per_tuple * groups;
        (*path).path.total_cost = startup + fetch + cost::emit(groups) + projected;
        (*path).flags = pg_sys::CUSTOMPATH_SUPPORT_PROJECTION;
        (*path).methods = &raw const PATH_METHODS.0;
        (*path).custom_paths = list::of_pointers([core]);
        let mut shape = vec![(*input).relid as i32];
        let whole = Shape {
            keys: keys.groups,
            columns: columns.iter().map(|(column, _)| *column).collect(),
            top: Some(Top { limit: 0, keys: keys.order }),
            ..Shape::default()
        };
        shape.extend(whole.encode());
        (*path).custom_private = list::of_pointers::<pg_sys::List>([
            list::of_pointers(keys.exprs),
            list::of_integers(shape),
            list::of_pointers(aggregate::filters(root, input)),
        ]);
        if scans_disabled() {
            disable(&raw mut (*path).path);
        }
        pg_sys::add_path(output, path.cast());
        Ok(())
    }
}

/// Refuses queries of other shapes.
unsafe fn refuse(
    root: *mut pg_sys::PlannerInfo,
    input: *const pg_sys::RelOptInfo,
    target: *const pg_sys::PathTarget,
) -> Result<(), Refusal> {
    // SAFETY: as the caller's.
    unsafe {
        let parse = &*(*root).parse;
        let why = if parse.hasAggs
            || parse.hasWindowFuncs
            || !parse.groupClause.is_null()
            || !parse.groupingSets.is_null()
            || (*root).hasHavingQual
        {
            "above another step"
        } else if (*input).reloptkind != pg_sys::RelOptKind::RELOPT_BASEREL {
            "above a join"
        } else if !parse.rowMarks.is_null() {
            "row locks"
        } else if (*root).distinct_pathkeys.is_null() {
            "keys that are constants"
        } else if parse.hasTargetSRFs {
            return Err(Refusal::SetReturning);
        } else if !(*input).lateral_relids.is_null() {
            return Err(Refusal::OtherRelation);
        } else if pg_sys::contain_volatile_functions((*target).exprs.cast()) {
            return Err(Refusal::Volatile);
        } else {
            return Ok(());
        };
        Err(Refusal::Shape(why))
    }
}

/// The keys, if they and all filters are translated.
unsafe fn keys(
    root: *mut pg_sys::PlannerInfo,
    input: *mut pg_sys::RelOptInfo,
    translator: &mut Translator,
) -> Result<Keys, Refusal> {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        for restriction in list::pointers::<pg_sys::RestrictInfo>((*input).baserestrictinfo) {
            translator.filter_or_external((*restriction).clause.cast())?;
        }
        let parse = (*root).parse;
        let tlist = (*root).processed_tlist;
        for clause in list::pointers::<pg_sys::SortGroupClause>((*parse).distinctClause) {
            let expr = pg_sys::get_sortgroupclause_expr(clause, tlist);
            let entry =
                pg_sys::lookup_type_cache(pg_sys::exprType(expr), pg_sys::TYPECACHE_EQ_OPR as i32);
            if (*entry).eq_opr != (*clause).eqop {
                return Err(Refusal::Shape("an equality that is not the type's"));
            }
        }
        let mut exprs = aggregate::keys((*parse).distinctClause, tlist);
        let groups = exprs.len();
        for key in &exprs {
            translator.expression_or_external(*key)?.key()?;
        }
        let mut order = Vec::new();
        for clause in list::pointers::<pg_sys::SortGroupClause>((*parse).sortClause) {
            let expr = pg_sys::get_sortgroupclause_expr(clause, tlist);
            // Rows of a group are equal in its keys.
            if exprs.iter().any(|known| pg_sys::equal((*known).cast(), expr.cast())) {
                continue;
            }
            translator.expression_or_external(expr)?.order()?;
            let flags = pg_sys::TYPECACHE_LT_OPR | pg_sys::TYPECACHE_GT_OPR;
            let entry = pg_sys::lookup_type_cache(pg_sys::exprType(expr), flags as i32);
            let of_type = [(*entry).lt_opr, (*entry).gt_opr].contains(&(*clause).sortop);
            let key = SortKey::new(&*clause, exprs.len(), pg_sys::exprCollation(expr));
            let key = key.filter(|_| of_type);
            order.push(key.ok_or(Refusal::Shape("an order that is not the type's"))?);
            exprs.push(expr);
        }
        let external = !translator.externals.is_empty();
        Ok(Keys { exprs, groups, order, external, columns: translator.columns.len() })
    }
}

impl Keys {
    /// About what a group takes in the hash table, with room to grow.
    fn group_bytes(&self) -> f64 {
        48.0 + 32.0 * self.groups as f64 + 48.0 * self.order.len() as f64
    }
}

/// The stored columns of the table that are asked for, by number from 0, as expressions.
unsafe fn columns(
    input: *const pg_sys::RelOptInfo,
    table: pg_sys::Relation,
) -> Vec<(usize, *mut pg_sys::Node)> {
    // SAFETY: the planner's nodes are alive, and the table is open.
    unsafe {
        let relid = (*input).relid;
        let mut set = core::ptr::null_mut();
        pg_sys::pull_varattnos((*(*input).reltarget).exprs.cast(), relid, &raw mut set);
        let numbers = walk::attributes(set);
        let desc = (*table).rd_att;
        let stored = attributes(desc).iter().map(|attribute| attribute.stored).collect::<Vec<_>>();
        (0..stored.len())
            .filter(|&at| stored[at])
            .filter(|at| numbers.contains(&0) || numbers.contains(&(*at as i32 + 1)))
            .map(|at| {
                let column = &*ports::TupleDescAttr(desc, at);
                let var = pg_sys::makeVar(
                    relid as _,
                    at as i16 + 1,
                    column.atttypid,
                    column.atttypmod,
                    column.attcollation,
                    0,
                );
                (at, var.cast())
            })
            .collect()
    }
}

plan_callback!(plan, |_rel, path, tlist, _clauses, plans| {
    make_scan_plan(path, tlist, plans, node::distinct_on_methods())
});
