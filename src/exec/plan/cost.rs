//! Costs of batch execution, in the planner's units, where reading a page in order is 1.
//!
//! Calibrated on the benchmark's table web (1,500,000 rows, 105 columns) against core's nodes on heap: there a row through
//! a sequential scan with one filter takes about 100 ns and is priced 0.0125 plus its part of a page; a value in a batch
//! takes 1 to 3 ns.

use crate::am::group::cache;
use pgrx::pg_sys;

/// One value of a column decoded, or one kernel applied to it.
const VALUE: f64 = 0.0002;
/// One row added to a hash table.
const GROUPED_ROW: f64 = 0.001;
/// One row handed out as a tuple.
const EMITTED_ROW: f64 = 0.006;
/// A vector opened: its pages read and its section decompressed.
const VECTOR: f64 = 2.0;
/// Starting a scan.
const START: f64 = 10.0;

/// What a table is made of.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Rows in row groups.
    pub group_rows: f64,
    /// Rows on row pages.
    pub page_rows: f64,
    /// Row pages.
    pub pages: f64,
}

impl Table {
    /// Of an open relation.
    ///
    /// # Safety
    /// `rel` is a relation of this access method, and `planned` what the planner knows of it.
    #[allow(unsafe_code)]
    pub unsafe fn of(rel: pg_sys::Relation, planned: *const pg_sys::RelOptInfo) -> Self {
        // SAFETY: as the caller's.
        let (directory, tuples, pages) =
            unsafe { (cache::open(rel), (*planned).tuples, f64::from((*planned).pages)) };
        let group_rows: f64 = directory.map_or(0.0, |directory| {
            directory.groups.iter().map(|group| f64::from(group.rows())).sum()
        });
        let page_rows = (tuples - group_rows).max(0.0);
        let share = if tuples > 0.0 { page_rows / tuples } else { 1.0 };
        Self { group_rows, page_rows, pages: pages * share }
    }

    /// Reading `columns` columns and evaluating `kernels` operations on each row.
    pub fn read(&self, columns: usize, kernels: usize) -> f64 {
        // SAFETY: reads settings.
        #[allow(unsafe_code)]
        let (page, tuple, operator) =
            unsafe { (pg_sys::seq_page_cost, pg_sys::cpu_tuple_cost, pg_sys::cpu_operator_cost) };
        let vectors = (self.group_rows / 8192.0).ceil() * columns.max(1) as f64;
        let in_groups = vectors * VECTOR + self.group_rows * VALUE * (columns + kernels) as f64;
        let on_pages = self.pages * page + self.page_rows * (tuple + operator * kernels as f64);
        START + in_groups + on_pages * 0.95
    }
}

/// Handing out rows.
pub fn emit(rows: f64) -> f64 {
    rows * EMITTED_ROW
}

/// Grouping rows by keys and folding them into aggregates.
pub fn group(rows: f64, keys: usize, aggregates: usize) -> f64 {
    let hash = if keys == 0 { 0.0 } else { GROUPED_ROW };
    rows * (hash + VALUE * (keys + aggregates) as f64)
}
