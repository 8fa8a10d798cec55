//! Aggregates by their transition functions: a state a group of each grouping set, advanced for the rows of each batch, made into results by the
//! final function.
//!
//! What core's nodeAgg.c does for a hashed aggregation, with its rules for strict functions, for initial values and for
//! states passed by reference. Functions find an AggState in their call, so that those which are written for aggregates keep
//! their states in its memory context. That node has no plan. What asks for the Aggref of its call gets none, but for aggregates
//! whose input is ordered: each of these has a node of its own.

mod calls;
mod lookup;
mod ordered;

use crate::exec::translate::aggregates::Aggregate;
use crate::exec::translate::{ValueType, values};
use calls::{Final, Function, GroupState};
use columnar_exec::datum::DatumColumn;
use columnar_exec::{CallRows, ExecError};
use core::cell::RefCell;
use ordered::Ordered;
use pgrx::pg_sys;
use std::rc::Rc;

pub use lookup::check_permission;
pub use ordered::is_ordered;

/// Rows after which interrupts are looked for.
const CHUNK: usize = 1024;

/// The states of a node, which its evaluator advances and its groups are made of.
pub type Shared = Rc<RefCell<Transitions>>;

/// The aggregates of a node that are folded by transition functions.
pub struct Transitions {
    calls: Vec<Call>,
    /// Its memory is that of the states.
    states: *mut pg_sys::ExprContext,
    /// Its memory is that of one call.
    temporary: *mut pg_sys::ExprContext,
    /// Whether rows may be taken in again, after the states were reset.
    pub repeatable: bool,
}

/// An aggregate.
struct Call {
    function: Function,
    last: Option<Final>,
    inputs: Vec<ValueType>,
    /// By grouping set and group.
    sets: Vec<Vec<GroupState>>,
    /// In place of them, where the function is called when all rows are there.
    ordered: Option<Ordered>,
}

impl Transitions {
    /// Prepares those aggregates of a node that no kernel folds; `None` where there is no such one.
    ///
    /// # Safety
    /// `parent` is being initialised in the query's memory context, and the aggregates are its plan's.
    pub unsafe fn new(aggregates: &[Aggregate], parent: *mut pg_sys::PlanState) -> Option<Shared> {
        let transitions: Vec<_> =
            aggregates.iter().filter_map(|aggregate| aggregate.call.as_ref()).collect();
        if transitions.is_empty() {
            return None;
        }
        // SAFETY: as the caller's; what is allocated lives as long as the query.
        unsafe {
            let estate = (*parent).state;
            let states = pg_sys::CreateExprContext(estate);
            let temporary = pg_sys::CreateExprContext(estate);
            let node: *mut pg_sys::AggState = pg_sys::palloc0(size_of::<pg_sys::AggState>()).cast();
            (*node).ss.ps.type_ = pg_sys::NodeTag::T_AggState;
            (*node).ss.ps.state = estate;
            (*node).ss.ps.ps_ExprContext = temporary;
            (*node).tmpcontext = temporary;
            (*node).hashcontext = states;
            (*node).curaggcontext = states;
            let mut repeatable = true;
            let calls = transitions.into_iter().map(|transition| {
                let aggref = transition.aggref;
                let is_ordered = ordered::is_ordered(&*aggref);
                let node = match is_ordered {
                    true => ordered::state_for(aggref, node, pg_sys::CreateExprContext(estate)),
                    false => node,
                };
                let found = lookup::functions(&*aggref, node);
                repeatable &= !found.volatile;
                let (function, last) = (found.function, found.last);
                let ordered = is_ordered.then(|| Ordered::new(&*aggref, node, parent));
                let inputs = transition.inputs.clone();
                Call { function, last, inputs, sets: Vec::new(), ordered }
            });
            let calls = calls.collect();
            Some(Rc::new(RefCell::new(Self { calls, states, temporary, repeatable })))
        }
    }

    /// Calls a transition function for some rows.
    ///
    /// # Errors
    /// Where there is no memory for the list of states.
    ///
    /// # Safety
    /// The node is running, on the backend's thread.
    pub unsafe fn advance(&mut self, call: usize, rows: CallRows<'_>) -> Result<(), ExecError> {
        let call = &mut self.calls[call];
        let whole = |groups: &[u32]| groups.len() == rows.len;
        assert!(
            rows.args.len() == call.inputs.len()
                && rows.sets.iter().all(|set| set.groups.as_deref().is_none_or(whole))
        );
        // SAFETY: as the caller's.
        unsafe {
            match &mut call.ordered {
                Some(ordered) => {
                    let one = matches!(rows.sets, [set] if set.groups.is_none());
                    ordered.start(&call.function, !one);
                }
                None => {
                    for (set, groups) in rows.sets.iter().enumerate() {
                        call.know(set, groups.known)?;
                    }
                }
            }
        }
        let columns: Vec<DatumColumn> = rows
            .args
            .iter()
            .zip(&call.inputs)
            .map(|(column, value)| values::datum_column(column, value))
            .collect();
        let args: Vec<calls::Arg<'_>> = columns
            .iter()
            .map(|column| calls::Arg {
                words: &column.words[..rows.len],
                nulls: column.nulls.as_ref().map(|nulls| &nulls[..rows.len]),
            })
            .collect();
        let (function, states) = (&call.function, &mut call.sets[..]);
        for from in (0..rows.len).step_by(CHUNK) {
            pgrx::check_for_interrupts!();
            let to = rows.len.min(from + CHUNK);
            for (set, groups) in rows.sets.iter().enumerate() {
                let groups = groups.groups.as_deref();
                // SAFETY: the function was looked up for arguments of these types, and groups are known. An ERROR of the
                // function leaves through the boundary; the frames up to it hold nothing to drop.
                unsafe {
                    pg_sys::ffi::pg_guard_ffi_boundary(|| match &mut call.ordered {
                        Some(ordered) => ordered.put(function, set, groups, &args, from, to),
                        None => {
                            calls::advance(function, &mut states[set], groups, &args, from, to);
                        }
                    });
                }
            }
        }
        Ok(())
    }

    /// Folds the rows that were put in order; `groups` are the groups of each set. Gives the share of them that were done
    /// when results had outgrown `limit` bytes, where there is one.
    ///
    /// # Safety
    /// The node is running, and all rows were taken in.
    pub unsafe fn close(&mut self, groups: &[usize], limit: Option<usize>) -> Option<f64> {
        let total: usize = groups.iter().sum();
        for at in 0..self.calls.len() {
            let Call { function, last, ordered: Some(ordered), .. } = &mut self.calls[at] else {
                continue;
            };
            if !ordered.reserve(groups) {
                let bytes = (total * size_of::<Option<pg_sys::Datum>>()) as u64;
                crate::exec::error::raise_plain(&ExecError::OutOfMemory { bytes });
            }
            // SAFETY: as the caller's; as in `advance`, an ERROR leaves through the boundary.
            unsafe {
                let memory = (*self.states).ecxt_per_tuple_memory;
                let mut progress = ordered.sorted(function, last, memory);
                if progress.is_new {
                    let state = core::slice::from_mut(&mut progress.state);
                    pg_sys::ffi::pg_guard_ffi_boundary(|| calls::initialize(function, state));
                }
                loop {
                    pgrx::check_for_interrupts!();
                    let all = pg_sys::ffi::pg_guard_ffi_boundary(|| {
                        ordered.advance(function, last, &mut progress, CHUNK, memory)
                    });
                    if all {
                        break;
                    }
                    if let Some(limit) = limit
                        && pg_sys::MemoryContextMemAllocated(memory, true) > limit
                    {
                        let done = ordered.finished() as f64 / total.max(1) as f64;
                        return Some(done.min(1.0));
                    }
                }
                ordered.release();
            }
        }
        None
    }

    /// The result of a group of a set in the current memory context; `None` for NULL. It may lie among the states.
    ///
    /// # Safety
    /// As [`Self::advance`]; it is asked for once until the states are reset.
    pub unsafe fn finish(
        &mut self,
        call: usize,
        set: usize,
        group: usize,
    ) -> Option<pg_sys::Datum> {
        let call = &mut self.calls[call];
        if let Some(ordered) = &call.ordered {
            return ordered.result(set, group);
        }
        // SAFETY: as the caller's. A group no row of which passed FILTER has the initial state.
        unsafe {
            call.know(set, group + 1).unwrap_or_else(|e| crate::exec::error::raise_plain(&e));
            let (function, last, state) = (&call.function, &call.last, &call.sets[set][group]);
            pg_sys::ffi::pg_guard_ffi_boundary(|| calls::finish(function, last, state))
        }
    }

    /// Bytes of the states.
    pub fn memory_size(&self) -> usize {
        // SAFETY: the context lives until the node ends.
        let states = unsafe {
            pg_sys::MemoryContextMemAllocated((*self.states).ecxt_per_tuple_memory, true)
        };
        let lists = self.calls.iter().map(|call| {
            let results = call.ordered.as_ref().map_or(0, Ordered::list_size);
            let groups: usize = call.sets.iter().map(Vec::capacity).sum();
            groups * size_of::<GroupState>() + results
        });
        states + lists.sum::<usize>()
    }

    /// Forgets all groups.
    ///
    /// # Safety
    /// No result that was handed out is used any more.
    pub unsafe fn reset(&mut self) {
        if self.states.is_null() {
            return;
        }
        for call in &mut self.calls {
            call.sets = Vec::new();
            if let Some(ordered) = &mut call.ordered {
                // SAFETY: as the caller's.
                unsafe { ordered.reset() };
            }
        }
        // SAFETY: as the caller's. What functions registered for the end of their states is called.
        unsafe { pg_sys::ReScanExprContext(self.states) };
    }

    /// Releases what the server gave.
    ///
    /// # Safety
    /// The node ends.
    pub unsafe fn end(&mut self) {
        if self.states.is_null() {
            return;
        }
        for ordered in self.calls.iter_mut().filter_map(|call| call.ordered.as_mut()) {
            // SAFETY: as the caller's.
            unsafe { ordered.end() };
        }
        self.calls.clear();
        // SAFETY: both came from `new`.
        unsafe {
            pg_sys::FreeExprContext(self.states, true);
            pg_sys::FreeExprContext(self.temporary, true);
        }
        self.states = core::ptr::null_mut();
    }
}

impl Call {
    /// Gives groups of a set up to `count` the initial state.
    unsafe fn know(&mut self, set: usize, count: usize) -> Result<(), ExecError> {
        if self.sets.len() <= set {
            self.sets.resize_with(set + 1, Vec::new);
        }
        let groups = &mut self.sets[set];
        let before = groups.len();
        if count <= before {
            return Ok(());
        }
        let more = count - before;
        let bytes = (count * size_of::<GroupState>()) as u64;
        groups.try_reserve(more).map_err(|_| ExecError::OutOfMemory { bytes })?;
        groups.resize(count, self.function.initial());
        let (function, new) = (&self.function, &mut groups[before..]);
        // SAFETY: as `Transitions::advance`.
        unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| calls::initialize(function, new)) };
        Ok(())
    }
}
