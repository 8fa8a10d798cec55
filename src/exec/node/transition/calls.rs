//! The calls themselves. All here runs inside of one guard for many calls: C functions are called as they are, and an ERROR
//! leaves the frames by a long jump, so that none of them may own anything.
//!
//! Source: advance_transition_function(), ExecAggCopyTransValue() and finalize_aggregate() of PostgreSQL's executor.

use core::ffi::c_int;
use pgrx::pg_sys::{self, Datum};

unsafe extern "C-unwind" {
    #[link_name = "datumCopy"]
    fn c_datumCopy(value: Datum, by_value: bool, len: c_int) -> Datum;
    #[link_name = "pfree"]
    fn c_pfree(pointer: *mut core::ffi::c_void);
    #[link_name = "MemoryContextReset"]
    fn c_MemoryContextReset(context: pg_sys::MemoryContext);
    #[link_name = "DatumGetEOHP"]
    fn c_DatumGetEOHP(datum: Datum) -> *mut pg_sys::ExpandedObjectHeader;
    #[link_name = "DeleteExpandedObject"]
    fn c_DeleteExpandedObject(datum: Datum);
    #[link_name = "MakeExpandedObjectReadOnlyInternal"]
    fn c_MakeExpandedObjectReadOnlyInternal(datum: Datum) -> Datum;
}

/// A function of the fmgr interface.
pub type Address = unsafe extern "C-unwind" fn(pg_sys::FunctionCallInfo) -> Datum;

/// The state of a group.
#[derive(Clone, Copy)]
pub struct GroupState {
    value: Datum,
    is_null: bool,
    /// Whether the first argument that is not NULL becomes the state of a strict function.
    is_unset: bool,
}

/// A transition function.
pub struct Function {
    pub address: Address,
    /// Its call, with the function's own information and an AggState.
    pub frame: pg_sys::FunctionCallInfo,
    pub strict: bool,
    /// Of the states' type.
    pub by_value: bool,
    pub len: i16,
    /// The initial value; `None` for NULL.
    pub initial: Option<Datum>,
    /// Memory of the states, and of one call.
    pub states: pg_sys::MemoryContext,
    pub temporary: pg_sys::MemoryContext,
}

/// A final function. Direct arguments of the aggregate follow the state, then arguments that are NULL.
pub struct Final {
    pub address: Address,
    pub frame: pg_sys::FunctionCallInfo,
    /// Arguments that are NULL in any case.
    pub without: usize,
    /// Whether it is not called, since it is strict and has an argument that is NULL.
    pub never: bool,
    pub strict: bool,
    /// typlen of the result.
    pub len: i16,
}

/// An argument of some rows.
pub struct Arg<'a> {
    pub words: &'a [u64],
    pub nulls: Option<&'a [bool]>,
}

impl Function {
    /// The state of a group without rows, before [`initialize`].
    pub fn initial(&self) -> GroupState {
        let is_null = self.initial.is_none();
        GroupState { value: self.initial.unwrap_or(NOTHING), is_null, is_unset: is_null }
    }

    /// Puts arguments into the frame.
    ///
    /// # Safety
    /// There are as many of the function's types.
    pub unsafe fn load(&self, values: *const Datum, nulls: *const bool, count: usize) {
        // SAFETY: as the caller's; the frame has room for the state and the arguments.
        unsafe {
            let slots = (*self.frame).args.as_mut_ptr();
            for i in 0..count {
                let slot = slots.add(i + 1);
                ((*slot).value, (*slot).isnull) = (*values.add(i), *nulls.add(i));
            }
        }
    }
}

/// The value that goes with NULL.
const NOTHING: Datum = Datum::null();

/// Gives states values of their own.
///
/// # Safety
/// Called inside of a guard.
pub unsafe fn initialize(function: &Function, states: &mut [GroupState]) {
    let Some(initial) = function.initial.filter(|_| !function.by_value) else { return };
    // SAFETY: the initial value is one of the state's type.
    unsafe {
        let old = pg_sys::MemoryContextSwitchTo(function.states);
        for state in states {
            state.value = c_datumCopy(initial, false, function.len.into());
        }
        pg_sys::MemoryContextSwitchTo(old);
    }
}

/// Calls a transition function for the rows `from..to`.
///
/// # Safety
/// Called inside of a guard. The arguments are of the function's types; all groups have a state.
pub unsafe fn advance(
    function: &Function,
    states: &mut [GroupState],
    groups: Option<&[u32]>,
    args: &[Arg<'_>],
    from: usize,
    to: usize,
) {
    // SAFETY: as the caller's; the frame has room for the state and the arguments.
    unsafe {
        let frame = function.frame;
        let slots = (*frame).args.as_mut_ptr();
        let old = pg_sys::MemoryContextSwitchTo(function.temporary);
        for row in from..to {
            for (i, arg) in args.iter().enumerate() {
                let slot = slots.add(i + 1);
                (*slot).value = arg.words[row].into();
                (*slot).isnull = arg.nulls.is_some_and(|nulls| nulls[row]);
            }
            let group = groups.map_or(0, |groups| groups[row] as usize);
            step(function, &mut states[group], args.len());
        }
        pg_sys::MemoryContextSwitchTo(old);
    }
}

/// Calls a transition function whose arguments are in its frame.
///
/// # Safety
/// Called inside of a guard, in the function's temporary memory. The state and the arguments are of the function's types.
#[inline(always)]
pub unsafe fn step(function: &Function, state: &mut GroupState, args: usize) {
    // SAFETY: as the caller's.
    unsafe {
        let frame = function.frame;
        let slots = (*frame).args.as_mut_ptr();
        if function.strict {
            let any_null = (1..=args).any(|i| (*slots.add(i)).isnull);
            if any_null || (state.is_null && !state.is_unset) {
                return;
            }
            if state.is_unset {
                pg_sys::MemoryContextSwitchTo(function.states);
                let first = (*slots.add(1)).value;
                let value = c_datumCopy(first, function.by_value, function.len.into());
                *state = GroupState { value, is_null: false, is_unset: false };
                pg_sys::MemoryContextSwitchTo(function.temporary);
                return;
            }
        }
        (*slots).value = state.value;
        (*slots).isnull = state.is_null;
        (*frame).isnull = false;
        let mut value = (function.address)(frame);
        let is_null = (*frame).isnull;
        if !function.by_value && value.value() != state.value.value() {
            value = keep(function, value, is_null, state);
        }
        (state.value, state.is_null) = (value, is_null);
        c_MemoryContextReset(function.temporary);
    }
}

/// Frees what calls left in the temporary memory.
///
/// # Safety
/// Called inside of a guard; nothing of it is used any more.
pub unsafe fn reset(function: &Function) {
    // SAFETY: as the caller's.
    unsafe { c_MemoryContextReset(function.temporary) };
}

/// Copies a new state to the memory of states and frees the old one. A read-write expanded object that lies there already is
/// kept as it is.
unsafe fn keep(function: &Function, new: Datum, is_null: bool, old: &GroupState) -> Datum {
    // SAFETY: both are values of the state's type; the old one lies in the memory of states.
    unsafe {
        let mut value = NOTHING;
        if !is_null {
            let stays = is_expanded(new, function.len)
                && (*(*c_DatumGetEOHP(new)).eoh_context).parent == function.states;
            value = new;
            if !stays {
                pg_sys::MemoryContextSwitchTo(function.states);
                value = c_datumCopy(new, false, function.len.into());
                pg_sys::MemoryContextSwitchTo(function.temporary);
            }
        }
        if !old.is_null {
            if is_expanded(old.value, function.len) {
                c_DeleteExpandedObject(old.value);
            } else {
                c_pfree(old.value.cast_mut_ptr());
            }
        }
        value
    }
}

/// The result of a group; `None` for NULL.
///
/// # Safety
/// Called inside of a guard.
pub unsafe fn finish(
    function: &Function,
    last: &Option<Final>,
    state: &GroupState,
) -> Option<Datum> {
    // SAFETY: the state is of the function's type.
    unsafe {
        let value = read_only(state.value, state.is_null, function.by_value, function.len);
        let Some(last) = last else { return value };
        if last.never || (last.strict && value.is_none()) {
            return None;
        }
        let frame = last.frame;
        let slot = (*frame).args.as_mut_ptr();
        (*slot).value = value.unwrap_or(NOTHING);
        (*slot).isnull = value.is_none();
        (*frame).isnull = false;
        let result = (last.address)(frame);
        read_only(result, (*frame).isnull, false, last.len)
    }
}

/// A value that its user must not change.
unsafe fn read_only(value: Datum, is_null: bool, by_value: bool, len: i16) -> Option<Datum> {
    if is_null {
        return None;
    }
    // SAFETY: the value is of that length.
    unsafe {
        if !by_value && is_expanded(value, len) {
            return Some(c_MakeExpandedObjectReadOnlyInternal(value));
        }
    }
    Some(value)
}

/// Whether a value that is not NULL is a read-write pointer to an expanded object (`VARATT_IS_EXTERNAL_EXPANDED_RW`).
unsafe fn is_expanded(value: Datum, len: i16) -> bool {
    const EXTERNAL: u8 = 0x01;
    const READ_WRITE: u8 = 3;
    if len != -1 {
        return false;
    }
    // SAFETY: a varlena whose first byte is that of an external one has a tag in its second.
    unsafe {
        let bytes: *const u8 = value.cast_mut_ptr::<u8>();
        *bytes == EXTERNAL && *bytes.add(1) == READ_WRITE
    }
}
