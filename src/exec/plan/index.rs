//! Prices of core's index and bitmap scans of our tables.
//!
//! Core takes a row found by an index for a tuple on a page. A row of a row group has a vector opened for each column that
//! is read, so such a scan costs by the rows it reads, by where they lie, and by what stays open between them
//! ([`cost::Table::fetch`]).
//!
//! Core would also have a scan below a join hand out all columns, which costs nothing where a tuple is handed on as it is.
//! Here each column costs, so scans project ([`keep_to_columns_needed`]).

use super::{cost, list, walk};
use crate::guc;
use crate::ports;
use pgrx::pg_sys;

/// Corrects the prices of the paths that core has made for a table of that size.
///
/// # Safety
/// Called by the planner's hook with a table of this access method.
pub unsafe fn price_paths(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    size: &cost::Table,
) {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        keep_to_columns_needed(rel);
        if size.group_rows <= 0.0 {
            return;
        }
        let columns = walk::columns(rel).unwrap_or((*rel).max_attr.max(0) as usize);
        let fetch = cost::Fetch {
            rows: 0.0,
            loops: 1.0,
            columns: columns as f64,
            order: 0.0,
            sorted: false,
            cache: f64::from(guc::CACHE_SIZE.get()) * 1024.0,
        };
        for list in [&raw mut (*rel).pathlist, &raw mut (*rel).partial_pathlist] {
            let mut paths = list::pointers::<pg_sys::Path>(*list);
            for path in &paths {
                let added = price(root, rel, *path, size, fetch);
                (**path).total_cost += added;
            }
            // The planner keeps its lists in the order of total cost.
            paths.sort_by(|a, b| {
                order(*a).partial_cmp(&order(*b)).unwrap_or(core::cmp::Ordering::Equal)
            });
            for (at, path) in paths.into_iter().enumerate() {
                (*(**list).elements.add(at)).ptr_value = path.cast();
            }
        }
    }
}

unsafe fn order(path: *const pg_sys::Path) -> (i32, f64) {
    // SAFETY: a live path.
    unsafe { (ports::disabled_nodes(path), (*path).total_cost) }
}

/// What is added to the price of a path.
unsafe fn price(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    path: *mut pg_sys::Path,
    size: &cost::Table,
    mut fetch: cost::Fetch,
) -> f64 {
    // SAFETY: the tags tell the types.
    unsafe {
        fetch.loops = loops(root, path);
        let workers = f64::from((*path).parallel_workers.max(1));
        // As core: a scan finds a row at least, since estimates of several conditions together tend to be too low.
        let found = |share: f64| {
            let rows = share * (*rel).tuples;
            if share > 0.0 { pg_sys::clamp_row_est(rows) / workers } else { 0.0 }
        };
        match (*path).type_ {
            pg_sys::NodeTag::T_IndexPath => {
                let index = path.cast::<pg_sys::IndexPath>();
                let mut share = (*index).indexselectivity;
                if (*path).pathtype == pg_sys::NodeTag::T_IndexOnlyScan {
                    // Its columns come from the index, but for rows that not everyone sees.
                    share *= 1.0 - (*rel).allvisfrac;
                }
                fetch.rows = found(share);
                fetch.order = correlation(root, (*index).indexinfo).powi(2);
                size.fetch(fetch)
            }
            pg_sys::NodeTag::T_BitmapHeapPath => {
                let bitmap = (*path.cast::<pg_sys::BitmapHeapPath>()).bitmapqual;
                let (mut cost, mut share) = (0.0, 0.0);
                pg_sys::cost_bitmap_tree_node(bitmap, &raw mut cost, &raw mut share);
                fetch.rows = found(share);
                fetch.sorted = true;
                size.fetch(fetch)
            }
            _ => 0.0,
        }
    }
}

/// How often a path is repeated with other parameters, as get_loop_count of indxpath.c reckons: by the smallest of the
/// relations that bring them.
unsafe fn loops(root: *mut pg_sys::PlannerInfo, path: *const pg_sys::Path) -> f64 {
    // SAFETY: the planner's arrays have an entry for each relation.
    unsafe {
        let info = (*path).param_info;
        if info.is_null() {
            return 1.0;
        }
        let mut least = f64::INFINITY;
        let mut member = -1;
        loop {
            member = pg_sys::bms_next_member((*info).ppi_req_outer, member);
            if member < 0 {
                break;
            }
            if member >= (*root).simple_rel_array_size {
                continue;
            }
            let outer = *(*root).simple_rel_array.add(member as usize);
            if !outer.is_null() && (*outer).rows > 0.0 {
                least = least.min((*outer).rows);
            }
        }
        if least.is_finite() { least.max(1.0) } else { 1.0 }
    }
}

/// How far the order of an index's first column is that of the table: -1 to 1, 0 where it is not known.
unsafe fn correlation(root: *mut pg_sys::PlannerInfo, index: *const pg_sys::IndexOptInfo) -> f64 {
    // SAFETY: the index's arrays have an entry for each key; statistics are released again.
    unsafe {
        let column = *(*index).indexkeys;
        if column <= 0 || (*index).sortopfamily.is_null() {
            return 0.0;
        }
        let rte = *(*root).simple_rte_array.add((*(*index).rel).relid as usize);
        let tuple = pg_sys::SearchSysCache3(
            pg_sys::SysCacheIdentifier::STATRELATTINH as i32,
            (*rte).relid.into(),
            pg_sys::Datum::from(column as i16),
            pg_sys::Datum::from((*rte).inh),
        );
        if tuple.is_null() {
            return 0.0;
        }
        let mut slot = pg_sys::AttStatsSlot::default();
        let found = pg_sys::get_attstatsslot(
            &raw mut slot,
            tuple,
            pg_sys::STATISTIC_KIND_CORRELATION as i32,
            pg_sys::InvalidOid,
            pg_sys::ATTSTATSSLOT_NUMBERS as i32,
        );
        let mut value = 0.0;
        if found {
            if slot.nnumbers == 1 {
                value = f64::from(*slot.numbers);
            }
            pg_sys::free_attstatsslot(&raw mut slot);
        }
        pg_sys::ReleaseSysCache(tuple);
        // As genericcostestimate's callers: further columns disturb the order of the first.
        if (*index).nkeycolumns > 1 { value * 0.75 } else { value }
    }
}

/// Makes core's scans of a relation hand out the columns that are asked for, not all. Core does so where a system column is
/// asked for (use_physical_tlist of createplan.c); this lets it think that one is. The set says nothing else of a column
/// that no target list has.
unsafe fn keep_to_columns_needed(rel: *mut pg_sys::RelOptInfo) {
    // SAFETY: the arrays of a base relation have an entry for each attribute from `min_attr` on.
    unsafe {
        if (*rel).attr_needed.is_null()
            || i32::from((*rel).min_attr) > pg_sys::TableOidAttributeNumber
        {
            return;
        }
        let at = pg_sys::TableOidAttributeNumber - i32::from((*rel).min_attr);
        let needed = (*rel).attr_needed.add(at as usize);
        if (*needed).is_null() {
            // Relation 0 stands for the top of the query.
            *needed = pg_sys::bms_add_member(core::ptr::null_mut(), 0);
        }
    }
}
