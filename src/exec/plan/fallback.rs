//! Core's plan of the same work, carried below a ColumnarAgg or ColumnarTopN.
//!
//! Batches compute numeric in 128 bits. Where a value does not fit, which is known only when it comes up, the node leaves its
//! work and has this plan do it from the start: no row was handed out by then. The plan is not initialised before, so that
//! it costs what it takes to plan it.
//!
//! Its rows are the columns that the node computes, or the TIDs of a table's first rows, so that all above stays as it is. Paths with a Gather below are not
//! taken, since a node may be run where workers cannot be started.

use super::aggregate::Grouping;
use super::{list, make_node};
use pgrx::pg_sys::{self, NodeTag};

/// The path among core's that groups, made to give `items`, whose first are the keys; one that hashes or sorts the rows of
/// the scan where core's are of another kind, none where there is none of those.
///
/// # Safety
/// The planner's nodes are alive.
pub unsafe fn path(
    root: *mut pg_sys::PlannerInfo,
    grouping: &Grouping,
    output: *mut pg_sys::RelOptInfo,
    items: &[*mut pg_sys::Node],
) -> Option<*mut pg_sys::Path> {
    // SAFETY: a path's tag tells its type. The path is copied, since adding another may free it.
    unsafe {
        let refs = &grouping.refs;
        let paths = list::pointers::<pg_sys::Path>(grouping.core);
        let found = paths.into_iter().find(|path| is_serial(*path, Some(grouping.split())));
        let found = found.or_else(|| made(root, grouping, output))?;
        let copy = match (*found).type_ {
            NodeTag::T_AggPath => copied::<pg_sys::AggPath>(found),
            NodeTag::T_GroupPath => copied::<pg_sys::GroupPath>(found),
            NodeTag::T_GroupingSetsPath => copied::<pg_sys::GroupingSetsPath>(found),
            _ => return None,
        };
        retarget(copy, items, refs);
        Some(copy)
    }
}

/// A path that groups the rows of the scan, in one process: core gives up its own where one with workers costs less.
unsafe fn made(
    root: *mut pg_sys::PlannerInfo,
    grouping: &Grouping,
    output: *mut pg_sys::RelOptInfo,
) -> Option<*mut pg_sys::Path> {
    // SAFETY: as the caller's.
    unsafe {
        // Core hashes no groups where the input of an aggregate is ordered.
        if grouping.partial || !grouping.sets.is_null() || (*root).numOrderedAggs > 0 {
            return None;
        }
        let paths = list::pointers::<pg_sys::Path>((*grouping.input).pathlist);
        let mut below = paths.into_iter().find(|path| is_serial(*path, None))?;
        let clause = grouping.processed;
        let strategy = if grouping.keys.is_empty() {
            pg_sys::AggStrategy::AGG_PLAIN
        } else if clause.is_null() {
            // All rows are one group, if there is a row.
            pg_sys::AggStrategy::AGG_SORTED
        } else if pg_sys::grouping_is_hashable(clause) {
            pg_sys::AggStrategy::AGG_HASHED
        } else {
            let keys = pg_sys::make_pathkeys_for_sortclauses(root, clause, grouping.tlist);
            below = pg_sys::create_sort_path(root, output, below, keys, -1.0).cast();
            pg_sys::AggStrategy::AGG_SORTED
        };
        let (target, none) = (grouping.target, core::ptr::null_mut());
        let split = grouping.split();
        let costs = pg_sys::AggClauseCosts::default();
        let rows = (*grouping.input).rows;
        let path = pg_sys::create_agg_path(
            root,
            output,
            below,
            target,
            strategy,
            split,
            clause,
            none,
            &raw const costs,
            rows,
        );
        Some(path.cast())
    }
}

/// A path that gives the TIDs of a table's rows in the order of the query, from `keys`; none where batches do not scan the
/// table.
///
/// # Safety
/// The planner's nodes are alive; the query is being ordered.
pub unsafe fn tids(
    root: *mut pg_sys::PlannerInfo,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
    keys: &[*mut pg_sys::Node],
    limit: f64,
) -> Option<*mut pg_sys::Path> {
    // SAFETY: a path's tag tells its type.
    unsafe {
        let found = scan(input)?;
        let tid = tid(input);
        let items: Vec<_> = core::iter::once(tid).chain(keys.iter().copied()).collect();
        retarget(found, &items, &[]);
        let pathkeys = (*root).sort_pathkeys;
        Some(pg_sys::create_sort_path(root, output, found, pathkeys, limit).cast())
    }
}

/// A path that gives the first row of each group of DISTINCT ON: its TID, then `columns`. `keys` are those of the groups and
/// of the order; none where batches do not scan the table.
///
/// # Safety
/// The planner's nodes are alive; the query has DISTINCT ON keys that are not redundant.
pub unsafe fn first_rows(
    root: *mut pg_sys::PlannerInfo,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
    columns: &[*mut pg_sys::Node],
    keys: &[*mut pg_sys::Node],
) -> Option<*mut pg_sys::Path> {
    // SAFETY: as the caller's.
    unsafe {
        let found = scan(input)?;
        let items: Vec<_> =
            [tid(input)].into_iter().chain(columns.iter().chain(keys).copied()).collect();
        retarget(found, &items, &[]);
        let (distinct, sort) = ((*root).distinct_pathkeys, (*root).sort_pathkeys);
        // One of the two begins with the other.
        let longer = pg_sys::list_length(distinct) < pg_sys::list_length(sort);
        let pathkeys = if longer { sort } else { distinct };
        let sorted = pg_sys::create_sort_path(root, output, found, pathkeys, -1.0).cast();
        let (count, groups) = (pg_sys::list_length(distinct), (*input).rows);
        Some(pg_sys::create_upper_unique_path(root, output, sorted, count, groups).cast())
    }
}

/// A copy of the path of a table's ColumnarScan.
unsafe fn scan(input: *const pg_sys::RelOptInfo) -> Option<*mut pg_sys::Path> {
    // SAFETY: a path's tag tells its type.
    unsafe {
        let paths = list::pointers::<pg_sys::Path>((*input).pathlist);
        let below = |path: *mut pg_sys::Path| match (*path).type_ {
            NodeTag::T_ProjectionPath => (*path.cast::<pg_sys::ProjectionPath>()).subpath,
            _ => path,
        };
        let found = paths.into_iter().map(below).find(|path| super::scan::is_ours(*path))?;
        Some(copied::<pg_sys::CustomPath>(found))
    }
}

/// The column ctid.
unsafe fn tid(input: *const pg_sys::RelOptInfo) -> *mut pg_sys::Node {
    // SAFETY: as the caller's.
    unsafe {
        let tid = pg_sys::makeVar(
            (*input).relid as _,
            pg_sys::SelfItemPointerAttributeNumber as i16,
            pg_sys::TIDOID,
            -1,
            pg_sys::InvalidOid,
            0,
        );
        tid.cast()
    }
}

/// Has a path give other columns, of which the first have those sort-group numbers.
unsafe fn retarget(path: *mut pg_sys::Path, items: &[*mut pg_sys::Node], refs: &[pg_sys::Index]) {
    // SAFETY: the array has a number for each column.
    unsafe {
        let target = make_node::<pg_sys::PathTarget>(NodeTag::T_PathTarget);
        target.write(*(*path).pathtarget);
        (*target).exprs = list::of_pointers(items.iter().copied());
        let numbers = pg_sys::palloc0(items.len().max(1) * size_of::<pg_sys::Index>());
        let numbers = numbers.cast::<pg_sys::Index>();
        refs.iter().enumerate().for_each(|(i, number)| numbers.add(i).write(*number));
        (*target).sortgrouprefs = numbers;
        (*path).pathtarget = target;
    }
}

/// Whether a path is made of steps that one process takes; the uppermost groups in the way of `split`, if one is given.
unsafe fn is_serial(path: *const pg_sys::Path, split: Option<pg_sys::AggSplit::Type>) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        let below = match (*path).type_ {
            NodeTag::T_AggPath => {
                let aggregation = &*path.cast::<pg_sys::AggPath>();
                if aggregation.aggsplit != split.unwrap_or(pg_sys::AggSplit::AGGSPLIT_SIMPLE) {
                    return false;
                }
                aggregation.subpath
            }
            NodeTag::T_GroupPath => (*path.cast::<pg_sys::GroupPath>()).subpath,
            NodeTag::T_GroupingSetsPath => (*path.cast::<pg_sys::GroupingSetsPath>()).subpath,
            _ if split.is_some() => return false,
            NodeTag::T_ProjectionPath => (*path.cast::<pg_sys::ProjectionPath>()).subpath,
            NodeTag::T_SortPath => (*path.cast::<pg_sys::SortPath>()).subpath,
            NodeTag::T_IncrementalSortPath => {
                (*path.cast::<pg_sys::IncrementalSortPath>()).spath.subpath
            }
            NodeTag::T_CustomPath
            | NodeTag::T_Path
            | NodeTag::T_IndexPath
            | NodeTag::T_BitmapHeapPath => return true,
            _ => return false,
        };
        is_serial(below, None)
    }
}

unsafe fn copied<T>(path: *const pg_sys::Path) -> *mut pg_sys::Path {
    // SAFETY: the path is a T.
    unsafe {
        let copy = pg_sys::palloc(size_of::<T>()).cast::<T>();
        copy.copy_from_nonoverlapping(path.cast(), 1);
        copy.cast()
    }
}
