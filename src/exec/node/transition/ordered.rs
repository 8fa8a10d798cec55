//! Aggregates whose input is ordered: ORDER BY or DISTINCT among their arguments, and ordered-set aggregates.
//!
//! The rows of all groups of all grouping sets go into one sort, by set and group, then by the aggregate's own order. When all are there, the transition
//! function is called for them, and the final function at the end of each group; what stays in memory is the result of each
//! group and the state of one. Ordered-set aggregates sort by themselves: their rows are brought together by group alone.
//!
//! Source: process_ordered_aggregate_multi() and finalize_aggregate() of PostgreSQL's executor.

use super::calls::{self, Arg, Final, Function, GroupState};
use super::lookup::length_of;
use crate::exec::plan::list;
use crate::exec::translate::aggregates::is_normal;

use core::ptr;
use pgrx::pg_sys::{self, Datum, NodeTag, Oid};

unsafe extern "C-unwind" {
    #[link_name = "tuplesort_puttupleslot"]
    fn c_tuplesort_puttupleslot(
        state: *mut pg_sys::Tuplesortstate,
        slot: *mut pg_sys::TupleTableSlot,
    );
    #[link_name = "tuplesort_gettupleslot"]
    fn c_tuplesort_gettupleslot(
        state: *mut pg_sys::Tuplesortstate,
        forward: bool,
        copy: bool,
        slot: *mut pg_sys::TupleTableSlot,
        abbreviated: *mut Datum,
    ) -> bool;
    #[link_name = "slot_getsomeattrs_int"]
    fn c_slot_getsomeattrs_int(slot: *mut pg_sys::TupleTableSlot, count: i32);
    #[link_name = "FunctionCall2Coll"]
    fn c_FunctionCall2Coll(
        info: *mut pg_sys::FmgrInfo,
        collation: Oid,
        a: Datum,
        b: Datum,
    ) -> Datum;
    #[link_name = "ReScanExprContext"]
    fn c_ReScanExprContext(context: *mut pg_sys::ExprContext);
    #[link_name = "datumCopy"]
    fn c_datumCopy(value: Datum, by_value: bool, len: i32) -> Datum;
}

/// `int8lt`.
const INT8_LESS: u32 = 412;

/// The rows of an aggregate, and what becomes of them.
pub struct Ordered {
    sort: *mut pg_sys::Tuplesortstate,
    /// Set and group ([`place`]), then the arguments.
    desc: pg_sys::TupleDesc,
    order: Order,
    distinct: Vec<Distinct>,
    /// The state of an ordered-set aggregate of one group, which is called as rows come: it sorts by itself.
    only: Option<GroupState>,
    /// Whether the aggregate orders its input by itself.
    sorts_itself: bool,
    /// Arguments that the transition function gets; those that are only sorted by follow them.
    passed: usize,
    input: *mut pg_sys::TupleTableSlot,
    /// The row that was read, and that before it.
    rows: [*mut pg_sys::TupleTableSlot; 2],
    /// Its memory is that of the state of one group.
    group: *mut pg_sys::ExprContext,
    direct: Vec<Direct>,
    /// Type of the result.
    len: i16,
    by_value: bool,
    /// By set and group, in the memory of results.
    results: Vec<Option<Datum>>,
    /// Where those of each set begin, then where the last end.
    starts: Vec<usize>,
}

/// Sort keys, as tuplesort_begin_heap() takes them.
struct Order {
    columns: Vec<i16>,
    operators: Vec<Oid>,
    collations: Vec<Oid>,
    nulls_first: Vec<bool>,
}

/// What tells the values of a column apart.
struct Distinct {
    column: usize,
    equal: *mut pg_sys::FmgrInfo,
    collation: Oid,
}

/// A direct argument, and its type.
struct Direct {
    state: *mut pg_sys::ExprState,
    len: i16,
    by_value: bool,
}

/// Where the calls have come to.
#[derive(Clone, Copy)]
pub struct Progress {
    /// The group whose rows are being read.
    group: usize,
    pub state: GroupState,
    /// Whether the state is yet to be initialised.
    pub is_new: bool,
    /// Whether a row of it was read, to which DISTINCT compares the next.
    compares: bool,
    /// Whether there are no more rows.
    over: bool,
}

/// Whether the input of an aggregate is ordered.
pub fn is_ordered(aggref: &pg_sys::Aggref) -> bool {
    !aggref.aggorder.is_null() || !aggref.aggdistinct.is_null() || !is_normal(aggref)
}

impl Ordered {
    /// Prepares it; `node` is the AggState that its functions are called with, `parent` the node that evaluates.
    ///
    /// # Safety
    /// The aggregate is of a plan that is being initialised in the query's memory context, and its input is ordered.
    pub unsafe fn new(
        aggref: &pg_sys::Aggref,
        node: *mut pg_sys::AggState,
        parent: *mut pg_sys::PlanState,
    ) -> Self {
        // SAFETY: as the caller's; what is allocated lives as long as the query.
        unsafe {
            let entries = list::pointers::<pg_sys::TargetEntry>(aggref.args);
            let desc = pg_sys::CreateTemplateTupleDesc(entries.len() as i32 + 1);
            pg_sys::TupleDescInitEntry(desc, 1, ptr::null(), pg_sys::INT8OID, -1, 0);
            for (i, entry) in entries.iter().enumerate() {
                let expr = (**entry).expr.cast::<pg_sys::Node>();
                let (type_id, typmod) = (pg_sys::exprType(expr), pg_sys::exprTypmod(expr));
                pg_sys::TupleDescInitEntry(desc, i as i16 + 2, ptr::null(), type_id, typmod, 0);
            }
            let normal = is_normal(aggref);
            let passed = if normal { length_of(aggref.aggargtypes) } else { entries.len() };
            let order = Order::new(aggref, normal);
            let distinct = distinct(aggref, entries.len());
            let direct = list::pointers::<pg_sys::Expr>(aggref.aggdirectargs);
            let direct = direct.into_iter().map(|expr| {
                let (mut len, mut by_value) = (0, false);
                let type_id = pg_sys::exprType(expr.cast());
                pg_sys::get_typlenbyval(type_id, &raw mut len, &raw mut by_value);
                Direct { state: pg_sys::ExecInitExpr(expr, parent), len, by_value }
            });
            let direct = direct.collect();
            let (mut len, mut by_value) = (0, false);
            pg_sys::get_typlenbyval(aggref.aggtype, &raw mut len, &raw mut by_value);
            let input = pg_sys::MakeSingleTupleTableSlot(desc, &raw const pg_sys::TTSOpsVirtual);
            pg_sys::ExecStoreAllNullTuple(input);
            let row =
                || pg_sys::MakeSingleTupleTableSlot(desc, &raw const pg_sys::TTSOpsMinimalTuple);
            Self {
                sort: ptr::null_mut(),
                desc,
                order,
                distinct,
                only: None,
                sorts_itself: !normal,
                passed,
                input,
                rows: [row(), row()],
                group: (*node).curaggcontext,
                direct,
                len,
                by_value,
                results: Vec::new(),
                starts: Vec::new(),
            }
        }
    }

    /// Starts the sort before the first row; `grouped` says whether there is more than one group.
    ///
    /// # Safety
    /// The node is running.
    pub unsafe fn start(&mut self, function: &Function, grouped: bool) {
        if !self.sort.is_null() || self.only.is_some() {
            return;
        }
        if self.sorts_itself && !grouped {
            let mut state = function.initial();
            // SAFETY: as the caller's.
            unsafe {
                let states = core::slice::from_mut(&mut state);
                pg_sys::ffi::pg_guard_ffi_boundary(|| calls::initialize(function, states));
            }
            self.only = Some(state);
            return;
        }
        let order = &mut self.order;
        // SAFETY: the arrays have as many entries and are copied; the sort lives until it is ended, or with the query.
        unsafe {
            let old = pg_sys::MemoryContextSwitchTo((*self.group).ecxt_per_query_memory);
            self.sort = pg_sys::tuplesort_begin_heap(
                self.desc,
                order.columns.len() as i32,
                order.columns.as_mut_ptr(),
                order.operators.as_mut_ptr(),
                order.collations.as_mut_ptr(),
                order.nulls_first.as_mut_ptr(),
                pg_sys::work_mem,
                ptr::null_mut(),
                pg_sys::TUPLESORT_NONE as i32,
            );
            pg_sys::MemoryContextSwitchTo(old);
        }
    }

    /// Puts the rows `from..to` into the sort, for their groups in a set.
    ///
    /// # Safety
    /// Called inside of a guard, after [`Self::start`]. The arguments are of the aggregate's types.
    pub unsafe fn put(
        &mut self,
        function: &Function,
        set: usize,
        groups: Option<&[u32]>,
        args: &[Arg<'_>],
        from: usize,
        to: usize,
    ) {
        if let Some(state) = &mut self.only {
            // SAFETY: as the caller's; there is one group.
            unsafe { calls::advance(function, core::slice::from_mut(state), None, args, from, to) };
            return;
        }
        // SAFETY: the slot has a column for each argument behind that of the group, and holds a virtual tuple.
        unsafe {
            let (values, nulls) = ((*self.input).tts_values, (*self.input).tts_isnull);
            nulls.write(false);
            'rows: for row in from..to {
                for (i, arg) in args.iter().enumerate() {
                    let is_null = arg.nulls.is_some_and(|nulls| nulls[row]);
                    if is_null && function.strict && i < self.passed {
                        continue 'rows;
                    }
                    values.add(i + 1).write(arg.words[row].into());
                    nulls.add(i + 1).write(is_null);
                }
                let group = groups.map_or(0, |groups| groups[row]);
                values.write(Datum::from(place(set, group)));
                c_tuplesort_puttupleslot(self.sort, self.input);
            }
        }
    }

    /// Sorts what was put in, and evaluates direct arguments. Calls follow by [`Self::advance`].
    ///
    /// # Safety
    /// The node is running; `memory` is that of results.
    pub unsafe fn sorted(
        &mut self,
        function: &Function,
        last: &mut Option<Final>,
        memory: pg_sys::MemoryContext,
    ) -> Progress {
        // SAFETY: as the caller's.
        unsafe {
            if !self.sort.is_null() {
                pg_sys::tuplesort_performsort(self.sort);
            }
            if let Some(last) = last {
                let node = (*last.frame).context.cast::<pg_sys::AggState>();
                let context = (*node).ss.ps.ps_ExprContext;
                let slots = (*last.frame).args.as_mut_ptr();
                last.never = last.strict && last.without > 0;
                for (i, direct) in self.direct.iter().enumerate() {
                    let slot = slots.add(i + 1);
                    let mut is_null = false;
                    let value =
                        pg_sys::ExecEvalExprSwitchContext(direct.state, context, &raw mut is_null);
                    (*slot).isnull = is_null;
                    last.never |= last.strict && is_null;
                    if !is_null {
                        // It is used for all groups.
                        let old = pg_sys::MemoryContextSwitchTo(memory);
                        (*slot).value = pg_sys::ffi::pg_guard_ffi_boundary(|| {
                            c_datumCopy(value, direct.by_value, direct.len.into())
                        });
                        pg_sys::MemoryContextSwitchTo(old);
                    }
                }
            }
        }
        let state = self.only.take();
        let is_new = state.is_none();
        let state = state.unwrap_or_else(|| function.initial());
        Progress { group: 0, state, is_new, compares: false, over: self.sort.is_null() }
    }

    /// Calls the functions for some rows, at most `rows`; true when all groups have their results, which are put into
    /// `memory`.
    ///
    /// # Safety
    /// Called inside of a guard; `results` has room for all groups.
    pub unsafe fn advance(
        &mut self,
        function: &Function,
        last: &Option<Final>,
        progress: &mut Progress,
        rows: usize,
        memory: pg_sys::MemoryContext,
    ) -> bool {
        // SAFETY: as the caller's.
        unsafe {
            for _ in 0..rows {
                let [row, before] = self.rows;
                let keep = !self.distinct.is_empty();
                if !progress.over
                    && !c_tuplesort_gettupleslot(self.sort, true, keep, row, ptr::null_mut())
                {
                    progress.over = true;
                }
                let mut group = self.starts.last().map_or(0, |end| *end);
                if !progress.over {
                    c_slot_getsomeattrs_int(row, (*self.desc).natts);
                    let (set, number) = group_at((*(*row).tts_values).value() as i64);
                    group = self.starts[set] + number;
                }
                // Groups without a row have the initial state.
                while progress.group < group {
                    self.end_group(function, last, progress, memory);
                }
                if progress.over {
                    return true;
                }
                if progress.compares && self.is_repeated(row, before) {
                    continue;
                }
                function.load((*row).tts_values.add(1), (*row).tts_isnull.add(1), self.passed);
                let old = pg_sys::MemoryContextSwitchTo(function.temporary);
                calls::step(function, &mut progress.state, self.passed);
                pg_sys::MemoryContextSwitchTo(old);
                if keep {
                    self.rows = [before, row];
                    progress.compares = true;
                }
            }
            false
        }
    }

    /// Makes the result of the group that was read, and goes on to the next.
    unsafe fn end_group(
        &mut self,
        function: &Function,
        last: &Option<Final>,
        progress: &mut Progress,
        memory: pg_sys::MemoryContext,
    ) {
        // SAFETY: as `advance`'s; the result is copied before the memory that it may lie in is freed.
        unsafe {
            let old = pg_sys::MemoryContextSwitchTo(function.temporary);
            let result = calls::finish(function, last, &progress.state);
            pg_sys::MemoryContextSwitchTo(memory);
            let copy = |value| c_datumCopy(value, self.by_value, self.len.into());
            self.results.push(result.map(copy));
            c_ReScanExprContext(self.group);
            progress.group += 1;
            progress.state = function.initial();
            progress.compares = false;
            calls::initialize(function, core::slice::from_mut(&mut progress.state));
            calls::reset(function);
            pg_sys::MemoryContextSwitchTo(old);
        }
    }

    /// Whether DISTINCT passes over a row that follows another of its group.
    unsafe fn is_repeated(
        &self,
        row: *mut pg_sys::TupleTableSlot,
        before: *mut pg_sys::TupleTableSlot,
    ) -> bool {
        // SAFETY: both rows are deformed: the one before was the one that was read.
        unsafe {
            self.distinct.iter().all(|distinct| {
                let of = |slot: *mut pg_sys::TupleTableSlot| {
                    let at = distinct.column;
                    (*(*slot).tts_values.add(at), *(*slot).tts_isnull.add(at))
                };
                match (of(row), of(before)) {
                    ((_, true), (_, true)) => true,
                    ((a, false), (b, false)) => {
                        c_FunctionCall2Coll(distinct.equal, distinct.collation, b, a).value() != 0
                    }
                    _ => false,
                }
            })
        }
    }

    /// Makes room for the results of so many groups of each set.
    pub fn reserve(&mut self, groups: &[usize]) -> bool {
        self.starts.clear();
        self.starts.push(0);
        let mut total = 0;
        self.starts.extend(groups.iter().map(|groups| {
            total += groups;
            total
        }));
        self.results.try_reserve_exact(total).is_ok()
    }

    /// Groups that have a result.
    pub fn finished(&self) -> usize {
        self.results.len()
    }

    /// The result of a group of a set; `None` for NULL.
    pub fn result(&self, set: usize, group: usize) -> Option<Datum> {
        self.results[self.starts[set] + group]
    }

    /// Bytes of the list of results.
    pub fn list_size(&self) -> usize {
        self.results.capacity() * size_of::<Option<Datum>>()
    }

    /// Releases the rows.
    ///
    /// # Safety
    /// The node is running.
    pub unsafe fn release(&mut self) {
        // SAFETY: the slots may refer to memory of the sort.
        unsafe {
            for row in self.rows {
                pg_sys::ExecClearTuple(row);
            }
            if !self.sort.is_null() {
                pg_sys::tuplesort_end(self.sort);
                self.sort = ptr::null_mut();
            }
        }
    }

    /// Forgets all rows and results.
    ///
    /// # Safety
    /// As [`Self::release`]; results are not used any more.
    pub unsafe fn reset(&mut self) {
        self.results = Vec::new();
        self.only = None;
        // SAFETY: as the caller's.
        unsafe {
            self.release();
            pg_sys::ReScanExprContext(self.group);
        }
    }

    /// Releases what the server gave.
    ///
    /// # Safety
    /// The node ends.
    pub unsafe fn end(&mut self) {
        // SAFETY: all came from `new`.
        unsafe {
            self.release();
            for slot in self.rows.iter().chain([&self.input]) {
                pg_sys::ExecDropSingleTupleTableSlot(*slot);
            }
            pg_sys::FreeExprContext(self.group, true);
        }
    }
}

impl Order {
    /// By group, then as the aggregate wants it, unless it sorts by itself.
    unsafe fn new(aggref: &pg_sys::Aggref, normal: bool) -> Self {
        let mut order = Self {
            columns: vec![1],
            operators: vec![INT8_LESS.into()],
            collations: vec![Oid::INVALID],
            nulls_first: vec![false],
        };
        if !normal {
            return order;
        }
        // SAFETY: the clauses are of the aggregate's arguments.
        unsafe {
            // ORDER BY is a prefix of DISTINCT.
            let clauses =
                if aggref.aggdistinct.is_null() { aggref.aggorder } else { aggref.aggdistinct };
            for clause in list::pointers::<pg_sys::SortGroupClause>(clauses) {
                let entry = pg_sys::get_sortgroupclause_tle(clause, aggref.args);
                order.columns.push((*entry).resno + 1);
                order.operators.push((*clause).sortop);
                order.collations.push(pg_sys::exprCollation((*entry).expr.cast()));
                order.nulls_first.push((*clause).nulls_first);
            }
        }
        order
    }
}

/// What DISTINCT compares.
unsafe fn distinct(aggref: &pg_sys::Aggref, inputs: usize) -> Vec<Distinct> {
    // SAFETY: the clauses are of the aggregate's arguments; the block is of its type's size.
    unsafe {
        let clauses = list::pointers::<pg_sys::SortGroupClause>(aggref.aggdistinct);
        let compared = clauses.into_iter().map(|clause| {
            let entry = pg_sys::get_sortgroupclause_tle(clause, aggref.args);
            let equal = pg_sys::palloc0(size_of::<pg_sys::FmgrInfo>()).cast();
            pg_sys::fmgr_info(pg_sys::get_opcode((*clause).eqop), equal);
            let own = pg_sys::exprCollation((*entry).expr.cast());
            let collation = if inputs == 1 { aggref.inputcollid } else { own };
            Distinct { column: (*entry).resno as usize, equal, collation }
        });
        compared.collect()
    }
}

/// An AggState for the functions of one aggregate, which may ask for the aggregate they are called for.
///
/// # Safety
/// `shared` is that of the other aggregates; the current memory context is the query's.
pub unsafe fn state_for(
    aggref: *mut pg_sys::Aggref,
    shared: *const pg_sys::AggState,
    group: *mut pg_sys::ExprContext,
) -> *mut pg_sys::AggState {
    // SAFETY: the blocks are zeroed and of their types' sizes.
    unsafe {
        let node = pg_sys::palloc0(size_of::<pg_sys::AggState>()).cast::<pg_sys::AggState>();
        (*node).ss.ps.type_ = NodeTag::T_AggState;
        (*node).ss.ps.state = (*shared).ss.ps.state;
        (*node).ss.ps.ps_ExprContext = (*shared).ss.ps.ps_ExprContext;
        (*node).tmpcontext = (*shared).tmpcontext;
        (*node).hashcontext = group;
        (*node).curaggcontext = group;
        let size = size_of::<pg_sys::AggStatePerTransData>();
        let transition = pg_sys::palloc0(size).cast::<pg_sys::AggStatePerTransData>();
        (*transition).aggref = aggref;
        (*node).curpertrans = transition;
        node
    }
}

/// A group of a set as a number that orders by set, then group.
fn place(set: usize, group: u32) -> i64 {
    (set as i64) << 32 | i64::from(group)
}

/// Set and group of a [`place`].
fn group_at(place: i64) -> (usize, usize) {
    ((place >> 32) as usize, place as u32 as usize)
}
