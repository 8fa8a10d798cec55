//! What aggregates cost whose transition functions are called: as get_agg_clause_costs() of core's planner, and scans that are
//! repeated because states outgrow memory.

use super::list;
use super::shape::Shape;
use crate::exec::node;
use pgrx::pg_sys;

/// `PROVOLATILE_VOLATILE`.
const VOLATILE: u8 = b'v';
/// Bytes of a state behind a pointer that the catalog does not tell the size of: what string_agg() and array_agg() take.
const INTERNAL_STATE: f64 = 1024.0;
/// Bytes of a group beside its states.
const GROUP: f64 = 64.0;
/// Bytes of a state beside its value.
const STATE: f64 = 32.0;

/// The calls of an aggregation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    /// Aggregates.
    count: usize,
    /// Cost of a row, of a group, and at the start.
    row: f64,
    group: f64,
    startup: f64,
    /// Bytes of the states of a group.
    bytes: f64,
    /// Whether the input of an aggregate is sorted.
    sorts: bool,
    /// Whether a function is volatile: rows are not taken in again then.
    volatile: bool,
    /// Whether PostgreSQL evaluates something else too.
    pub externals: bool,
}

impl Calls {
    /// Whether batches are worked on by threads: where PostgreSQL is called, the backend does all.
    pub fn allow_threads(&self) -> bool {
        self.count == 0 && !self.externals
    }

    /// Adds an aggregate.
    ///
    /// # Safety
    /// The aggregate is of the query that is being planned.
    pub unsafe fn add(&mut self, root: *mut pg_sys::PlannerInfo, aggref: *mut pg_sys::Aggref) {
        // SAFETY: the planner numbered the aggregates of the query and their transitions.
        unsafe {
            let (number, transition) = ((*aggref).aggno, (*aggref).aggtransno);
            let aggregates = list::pointers::<pg_sys::AggInfo>((*root).agginfos);
            let transitions = list::pointers::<pg_sys::AggTransInfo>((*root).aggtransinfos);
            let info = &**transitions
                .get(transition as usize)
                .unwrap_or_else(|| panic!("an aggregate has no transition"));
            let last = aggregates.get(number as usize).map(|info| (**info).finalfn_oid);
            let mut cost = pg_sys::QualCost::default();
            let none = core::ptr::null_mut();
            pg_sys::add_function_cost(root, info.transfn_oid, none, &raw mut cost);
            let mut args = pg_sys::QualCost::default();
            for node in [(*aggref).args.cast::<pg_sys::Node>(), (*aggref).aggfilter.cast()] {
                if !node.is_null() {
                    pg_sys::cost_qual_eval_node(&raw mut args, node, root);
                    cost.startup += args.startup;
                    cost.per_tuple += args.per_tuple;
                }
            }
            self.row += cost.per_tuple;
            self.startup += cost.startup;
            let is_volatile = |function| pg_sys::func_volatile(function) as u8 == VOLATILE;
            self.volatile |= is_volatile(info.transfn_oid);
            if let Some(last) = last.filter(|last| *last != pg_sys::InvalidOid) {
                let mut cost = pg_sys::QualCost::default();
                pg_sys::add_function_cost(root, last, none, &raw mut cost);
                self.group += cost.per_tuple;
                self.startup += cost.startup;
                self.volatile |= is_volatile(last);
            }
            self.bytes += STATE + state(info);
            self.sorts |= node::is_ordered(&*aggref);
            self.count += 1;
        }
    }

    /// What they add to an aggregation that costs `rest` without them; `None` where they do not fit into memory and cannot be
    /// repeated.
    pub fn cost(&self, rows: f64, groups: f64, shape: &Shape, rest: f64) -> Option<f64> {
        if self.count == 0 {
            return Some(0.0);
        }
        // SAFETY: reads settings.
        let limit = unsafe { pg_sys::get_hash_memory_limit() } as f64;
        let share = groups * (self.bytes + GROUP) / limit;
        // Sorts within a group are priced by neither core nor here, as core makes them too; what is left of the sort is its
        // part that tells groups apart.
        let compare = if self.sorts && shape.keys > 0 {
            // SAFETY: as above.
            2.0 * unsafe { pg_sys::cpu_operator_cost }
        } else {
            0.0
        };
        let sets = shape.set_sizes().count() as f64;
        let sorting = compare * rows * sets * groups.max(2.0).log2();
        // Of sets that are prefixes of one another, core prices the calls once, though it makes them for each.
        let calling = self.startup + rows * self.row + groups * self.group + sorting;
        if shape.keys == 0 || share <= 1.0 {
            return Some(calling);
        }
        // Some of the passes are given up. Of several sets, each is scanned by itself then.
        let passes = share * 1.5 + sets - 1.0;
        (!self.volatile).then_some(calling + rest * passes)
    }
}

/// Bytes of a state's value.
unsafe fn state(info: &pg_sys::AggTransInfo) -> f64 {
    let appends = info.transfn_oid.to_u32() == pg_sys::F_ARRAY_APPEND;
    if info.aggtransspace > 0 {
        f64::from(info.aggtransspace)
    } else if info.aggtranstype == pg_sys::INTERNALOID || appends {
        INTERNAL_STATE
    } else if info.transtypeByVal {
        0.0
    } else {
        // SAFETY: reads the catalogs.
        unsafe { pg_sys::get_typavgwidth(info.aggtranstype, info.aggtranstypmod).into() }
    }
}
