//! Costs of batch execution, in the planner's units, where reading a page in order is 1.
//!
//! Calibrated on the benchmark's table web (1,500,000 rows, 105 columns) against core's nodes on heap: there a row through
//! a sequential scan with one filter takes about 100 ns and is priced 0.0125 plus its part of a page; a value in a batch
//! takes 1 to 3 ns.

use crate::am::group::cache;
use crate::exec::run::ROWS_FOR_THREADS;
use crate::threads;
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

/// A vector opened for one of its rows: its pages read and its section decompressed, on the backend's own thread.
const FETCHED_VECTOR: f64 = 6.0;
/// A value taken from a vector that is open.
const FETCHED_VALUE: f64 = 0.02;
/// Memory of an open vector, in bytes.
const OPEN_VECTOR: f64 = 24_576.0;
/// Rows of a vector.
const VECTOR_ROWS: f64 = 8192.0;

/// By what a plan's time is divided that so many processes or threads beside the first share, as get_parallel_divisor of
/// costsize.c reckons.
pub fn divisor(workers: f64, leads: bool) -> f64 {
    workers + if leads { (1.0 - 0.3 * workers).max(0.0) } else { 0.0 }
}

/// Rows that an index finds, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Fetch {
    /// Rows of one scan.
    pub rows: f64,
    /// How often the scan is repeated with other parameters.
    pub loops: f64,
    /// Columns read of each row.
    pub columns: f64,
    /// Whether the rows come in the order of the table: 1 in order, 0 by chance.
    pub order: f64,
    /// Whether a bitmap brings them in the order of the table, each vector once a scan.
    pub sorted: bool,
    /// Bytes of open vectors that a backend keeps.
    pub cache: f64,
}

impl Table {
    /// The part of `cost` that a node takes whose threads share it.
    pub fn on_threads(&self, cost: f64) -> f64 {
        let threads = threads::limit() as f64;
        if threads < 1.0 || self.group_rows < ROWS_FOR_THREADS as f64 {
            return cost;
        }
        cost / divisor(threads, true).max(1.0)
    }

    /// What core's price of fetching rows leaves out: the vectors that are opened for them, for one of the repeated scans.
    pub fn fetch(&self, fetch: Fetch) -> f64 {
        let all = self.group_rows + self.page_rows;
        if all <= 0.0 || self.group_rows <= 0.0 {
            return 0.0;
        }
        let rows = fetch.rows * self.group_rows / all;
        let columns = fetch.columns.max(1.0);
        let vectors = (self.group_rows / VECTOR_ROWS).ceil();
        // Vectors of one column hit by rows that fall anywhere.
        let hit = |rows: f64| vectors * (1.0 - (-rows / vectors).exp());
        let kept = (fetch.cache / OPEN_VECTOR / columns / vectors).min(1.0);
        let opened = if fetch.sorted {
            hit(rows)
        } else {
            // What is not kept is opened for each row; what is, once for all scans together.
            let chance = (1.0 - kept) * rows + kept * hit(rows * fetch.loops) / fetch.loops;
            let run = (rows / VECTOR_ROWS).max(rows.min(1.0));
            let in_order = (1.0 - kept) * run + kept * hit(run * fetch.loops) / fetch.loops;
            fetch.order * in_order + (1.0 - fetch.order) * chance
        };
        columns * (opened * FETCHED_VECTOR + rows * FETCHED_VALUE)
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
