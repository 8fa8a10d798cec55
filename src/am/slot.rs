//! Tuple table slots of this access method: a tuple of a row page, or a row of a row group decoded column by column.
//!
//! The slot begins with the server's BufferHeapTupleTableSlot, so that it serves heapam as it is (see
//! [`as_buffer_slot`]). A row of a group is decoded lazily: columns up to the one asked for, into memory of the slot.

use super::group::{Group, head::InsertRun, types};
use crate::ports;
use columnar_format::Vector;
use core::ptr;
use pgrx::pg_sys;
use std::rc::Rc;

/// The slot.
#[repr(C)]
pub struct ColumnarSlot {
    heap: pg_sys::BufferHeapTupleTableSlot,
    /// Whether the slot holds a row of a group, rather than a heap tuple or values.
    holds_row: bool,
    /// Whether the values of a virtual tuple lie in the arena: it is materialised without having been formed.
    owns_values: bool,
    /// The group last held and its open vectors; null before the first row. Owned by [`StateOwner`].
    state: *mut SlotState,
    rel: pg_sys::Relation,
    row: u32,
    run: InsertRun,
    xmax: pg_sys::TransactionId,
    /// The columns that the slot's readers ask for; null where that is not known. It lives as long as the slot.
    needed: *const Needed,
    arena: Arena,
}

/// Columns that the expressions of a plan node read. A row of a group is decoded in these only; what copies a row, or asks
/// for more columns than the last of these, gets all.
#[derive(Debug)]
pub struct Needed {
    /// Indexes of attributes, ascending.
    pub columns: Vec<usize>,
}

/// Says what columns the readers of a slot ask for.
///
/// # Safety
/// `slot` is a slot of this access method that nothing but those reads, and `needed` outlives it.
pub unsafe fn restrict(slot: *mut pg_sys::TupleTableSlot, needed: *const Needed) {
    columnar(slot).needed = needed;
}

/// A group and, per column, the vector that was read last: consecutive rows find it without a search.
struct SlotState {
    group: Rc<Group>,
    columns: Vec<Option<OpenVector>>,
}

struct OpenVector {
    vector: Rc<Vector>,
    first: u32,
    end: u32,
    layout: types::Layout,
    /// Values read so far.
    reads: u32,
    /// All values of a vector of integers, once so many were read that decoding all of them pays.
    integers: Vec<i64>,
}

/// Reads of a vector from which on it is decoded as a whole: a scan, not a look-up.
const READS_OF_A_SCAN: u32 = 32;

impl OpenVector {
    /// The datum of a row; `None` is NULL.
    fn datum(&mut self, row: usize, arena: &mut Arena) -> Option<pg_sys::Datum> {
        if let Some(&value) = self.integers.get(row) {
            if self.vector.null_count() > 0 && self.vector.is_null(row) {
                return None;
            }
            return Some(pg_sys::Datum::from(value));
        }
        self.reads += 1;
        if self.reads == READS_OF_A_SCAN && self.vector.spec().physical.is_integer() {
            self.vector.decode_ints(&mut self.integers);
        }
        types::to_datum(self.layout, self.vector.get(row), arena)
    }
}

/// Drops a slot's state with the slot's memory context, since a slot is not released after an ERROR.
#[repr(C)]
struct StateOwner {
    callback: pg_sys::MemoryContextCallback,
    state: *mut SlotState,
}

unsafe extern "C-unwind" fn drop_state(owner: *mut core::ffi::c_void) {
    // SAFETY: the owner is allocated in the context that is going away, and its state came from `Box::into_raw`.
    unsafe {
        let owner = owner.cast::<StateOwner>();
        let state = core::mem::replace(&mut (*owner).state, ptr::null_mut());
        if !state.is_null() {
            drop(Box::from_raw(state));
        }
    }
}

impl ColumnarSlot {
    /// Makes a group the slot's.
    unsafe fn open_group(&mut self, group: &Rc<Group>) {
        // SAFETY: the state lives as long as the slot's memory context.
        unsafe {
            if self.state.is_null() {
                let fresh = SlotState { group: group.clone(), columns: Vec::new() };
                self.state = Box::into_raw(Box::new(fresh));
                let context = self.heap.base.base.tts_mcxt;
                let owner = pg_sys::MemoryContextAllocZero(context, size_of::<StateOwner>())
                    .cast::<StateOwner>();
                (*owner).state = self.state;
                (*owner).callback.func = Some(drop_state);
                (*owner).callback.arg = owner.cast();
                pg_sys::MemoryContextRegisterResetCallback(context, &raw mut (*owner).callback);
                return;
            }
            let state = &mut *self.state;
            if !Rc::ptr_eq(&state.group, group) {
                state.group = group.clone();
                state.columns.clear();
            }
        }
    }

    fn state(&mut self) -> &mut SlotState {
        // SAFETY: only asked while the slot holds a row, that is after `open_group`.
        unsafe { &mut *self.state }
    }
}

/// Memory for the by-reference values of the slot's row.
#[repr(C)]
struct Arena {
    context: pg_sys::MemoryContext,
    block: *mut u8,
    size: usize,
    used: usize,
    /// Blocks that were full; each begins with a pointer to the next.
    full: *mut u8,
}

const FIRST_BLOCK: usize = 8192;
const BLOCK_HEADER: usize = 8;

impl types::DatumArena for Arena {
    fn allocate(&mut self, len: usize) -> *mut u8 {
        let len = len.next_multiple_of(8);
        if self.block.is_null() || self.used + len > self.size {
            self.grow(len);
        }
        // SAFETY: `grow` made room.
        let at = unsafe { self.block.add(self.used) };
        self.used += len;
        at
    }
}

impl Arena {
    fn grow(&mut self, len: usize) {
        let size = (len + BLOCK_HEADER).max(self.size * 2).max(FIRST_BLOCK);
        // SAFETY: blocks are chained through their first word and freed by `reset`.
        unsafe {
            if !self.block.is_null() {
                self.block.cast::<*mut u8>().write(self.full);
                self.full = self.block;
            }
            self.block = pg_sys::MemoryContextAllocHuge(self.context, size).cast();
        }
        self.size = size;
        self.used = BLOCK_HEADER;
    }

    fn reset(&mut self) {
        self.used = BLOCK_HEADER;
        while !self.full.is_null() {
            // SAFETY: see `grow`.
            unsafe {
                let next = self.full.cast::<*mut u8>().read();
                pg_sys::pfree(self.full.cast());
                self.full = next;
            }
        }
        if self.size > FIRST_BLOCK * 16 {
            self.free();
        }
    }

    fn free(&mut self) {
        if !self.block.is_null() {
            // SAFETY: the block is the arena's own.
            unsafe { pg_sys::pfree(self.block.cast()) };
            self.block = ptr::null_mut();
            self.size = 0;
        }
    }
}

struct Ops(core::cell::UnsafeCell<pg_sys::TupleTableSlotOps>);

// SAFETY: written once while the library is loaded, before any slot exists; a backend has one thread.
unsafe impl Sync for Ops {}

static OPS: Ops = Ops(core::cell::UnsafeCell::new(pg_sys::TupleTableSlotOps {
    base_slot_size: size_of::<ColumnarSlot>(),
    init: None,
    release: Some(release),
    clear: Some(clear),
    getsomeattrs: Some(getsomeattrs),
    getsysattr: Some(getsysattr),
    #[cfg(feature = "pg18")]
    is_current_xact_tuple: Some(is_current_xact_tuple),
    #[cfg(feature = "pg17")]
    is_current_xact_tuple: Some(is_current_xact_tuple),
    materialize: Some(materialize),
    copyslot: Some(copyslot),
    get_heap_tuple: Some(get_heap_tuple),
    get_minimal_tuple: None,
    copy_heap_tuple: Some(copy_heap_tuple),
    copy_minimal_tuple: Some(copy_minimal_tuple),
}));

/// The slot's operations, for `slot_callbacks`.
pub fn ops() -> *const pg_sys::TupleTableSlotOps {
    // SAFETY: `init` is a no-op of the server's; the static lives as long as the process.
    unsafe {
        (*OPS.0.get()).init = heap_ops().init;
    }
    OPS.0.get()
}

fn heap_ops() -> &'static pg_sys::TupleTableSlotOps {
    // SAFETY: a constant of the server.
    unsafe { &pg_sys::TTSOpsBufferHeapTuple }
}

/// Whether a slot is of this access method.
///
/// # Safety
/// `slot` is a live slot.
pub unsafe fn is_ours(slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: as the caller's.
    unsafe { core::ptr::eq((*slot).tts_ops, OPS.0.get()) }
}

fn columnar(slot: *mut pg_sys::TupleTableSlot) -> &'static mut ColumnarSlot {
    // SAFETY: slot operations get slots of their own kind, alive for the call; the reference does not leave it.
    unsafe { &mut *slot.cast::<ColumnarSlot>() }
}

/// Runs a heapam call on a slot, which passes for a buffer heap slot meanwhile: heapam checks the slot's kind.
///
/// # Safety
/// `slot` is a live slot; `call` treats it as a buffer heap slot at most.
pub unsafe fn as_buffer_slot<R>(
    slot: *mut pg_sys::TupleTableSlot,
    call: impl FnOnce(*mut pg_sys::TupleTableSlot) -> R,
) -> R {
    // SAFETY: the kinds share their layout up to our own fields, which are empty after a clear.
    unsafe {
        if !is_ours(slot) {
            return call(slot);
        }
        if columnar(slot).holds_row || columnar(slot).owns_values {
            pg_sys::ExecClearTuple(slot);
        }
        (*slot).tts_ops = &raw const pg_sys::TTSOpsBufferHeapTuple;
        let result = call(slot);
        (*slot).tts_ops = OPS.0.get();
        result
    }
}

/// Stores a row of a group in a slot.
///
/// # Safety
/// `slot` is a slot of this access method; `rel` stays open while the slot holds the row.
pub unsafe fn store_row(
    slot: *mut pg_sys::TupleTableSlot,
    rel: pg_sys::Relation,
    group: &Rc<Group>,
    row: u32,
    tid: pg_sys::ItemPointerData,
    xmax: pg_sys::TransactionId,
) {
    // SAFETY: as the caller's.
    unsafe {
        let inner = columnar(slot);
        if inner.holds_row {
            // The common case of a scan: only the row changes.
            inner.arena.reset();
            (*slot).tts_nvalid = 0;
        } else {
            pg_sys::ExecClearTuple(slot);
            inner.arena.context = (*slot).tts_mcxt;
            inner.holds_row = true;
        }
        inner.open_group(group);
        inner.rel = rel;
        inner.row = row;
        inner.run = group.run(row);
        inner.xmax = xmax;
        (*slot).tts_flags &= !(pg_sys::TTS_FLAG_EMPTY as u16);
        (*slot).tts_tid = tid;
        (*slot).tts_tableOid = (*rel).rd_id;
    }
}

/// Stores values as a virtual tuple, copied into the slot.
///
/// # Safety
/// `slot` is a slot of this access method; `fill` sets every value of the descriptor, allocating in the current context.
pub unsafe fn store_values(
    slot: *mut pg_sys::TupleTableSlot,
    rel: pg_sys::Relation,
    tid: pg_sys::ItemPointerData,
    fill: impl FnOnce(&mut dyn types::DatumArena, *mut pg_sys::Datum, *mut bool),
) {
    // SAFETY: as the caller's; materialising copies what the values point at.
    unsafe {
        pg_sys::ExecClearTuple(slot);
        let inner = columnar(slot);
        inner.arena.context = (*slot).tts_mcxt;
        inner.arena.reset();
        fill(&mut inner.arena, (*slot).tts_values, (*slot).tts_isnull);
        pg_sys::ExecStoreVirtualTuple(slot);
        if let Some(materialize) = heap_ops().materialize {
            materialize(slot);
        }
        (*slot).tts_tid = tid;
        (*(*slot.cast::<pg_sys::HeapTupleTableSlot>()).tuple).t_self = tid;
        (*slot).tts_tableOid = (*rel).rd_id;
    }
}

unsafe extern "C-unwind" fn clear(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: slot operation on a slot of its kind; the server's clear handles the rest.
    unsafe {
        let inner = columnar(slot);
        if inner.holds_row || inner.owns_values {
            inner.holds_row = false;
            inner.owns_values = false;
            inner.arena.reset();
        }
        if let Some(clear) = heap_ops().clear {
            clear(slot);
        }
    }
}

unsafe extern "C-unwind" fn release(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: as `clear`.
    unsafe {
        let inner = columnar(slot);
        inner.holds_row = false;
        inner.owns_values = false;
        if !inner.state.is_null() {
            // The state itself goes with its memory context.
            inner.state().columns = Vec::new();
        }
        if !inner.arena.context.is_null() {
            inner.arena.reset();
            inner.arena.free();
        }
        if let Some(release) = heap_ops().release {
            release(slot);
        }
    }
}

unsafe extern "C-unwind" fn getsomeattrs(slot: *mut pg_sys::TupleTableSlot, natts: i32) {
    // SAFETY: as `clear`; a panic while decoding becomes an ERROR.
    unsafe {
        if !columnar(slot).holds_row {
            if let Some(get) = heap_ops().getsomeattrs {
                get(slot, natts);
            }
            return;
        }
        pg_sys::panic::pgrx_extern_c_guard(move || {
            let first = (*slot).tts_nvalid as usize;
            let needed = columnar(slot).needed.as_ref();
            match needed.map(|needed| (needed, needed.columns.last())) {
                Some((needed, Some(&last))) if natts as usize <= last + 1 => {
                    let columns = needed.columns.iter().copied();
                    let wanted = columns.filter(|at| (first..natts as usize).contains(at));
                    decode(slot, wanted, natts);
                }
                // Columns that were passed over are wanted too.
                Some(_) => decode_all(slot),
                None => decode(slot, first..natts as usize, natts),
            }
        });
    }
}

/// Decodes all columns.
unsafe fn decode_all(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: as `decode`.
    unsafe {
        let natts = (*(*slot).tts_tupleDescriptor).natts;
        let passed_over = !columnar(slot).needed.is_null();
        let first = if passed_over { 0 } else { (*slot).tts_nvalid as usize };
        decode(slot, first..natts as usize, natts);
    }
}

/// Decodes columns; those up to `natts` count as decoded then.
unsafe fn decode(
    slot: *mut pg_sys::TupleTableSlot,
    columns: impl Iterator<Item = usize>,
    natts: i32,
) {
    // SAFETY: values and nulls have an entry for each attribute of the descriptor.
    unsafe {
        let inner = columnar(slot);
        let desc = (*slot).tts_tupleDescriptor;
        let state = &mut *inner.state;
        if state.columns.len() < natts as usize {
            state.columns.resize_with(natts as usize, || None);
        }
        for index in columns {
            let row = inner.row;
            if !matches!(&state.columns[index], Some(o) if (o.first..o.end).contains(&row)) {
                let layout = types::Layout { len: (*ports::TupleDescAttr(desc, index)).attlen };
                state.columns[index] = open_vector(&state.group, inner.rel, index, row, layout);
            }
            let (value, is_null) = match &mut state.columns[index] {
                None => {
                    let mut is_null = true;
                    let value = missing(desc, index, &mut is_null);
                    (value, is_null)
                }
                Some(open) => {
                    let value = open.datum((row - open.first) as usize, &mut inner.arena);
                    (value.unwrap_or(pg_sys::Datum::null()), value.is_none())
                }
            };
            (*slot).tts_values.add(index).write(value);
            (*slot).tts_isnull.add(index).write(is_null);
        }
        (*slot).tts_nvalid = natts as i16;
    }
}

/// The vector of a column that holds a row; `None` if the column was added after the group was written.
fn open_vector(
    group: &Rc<Group>,
    rel: pg_sys::Relation,
    index: usize,
    row: u32,
    layout: types::Layout,
) -> Option<OpenVector> {
    let column = group.column(rel, index)?;
    let (at, _) = column.locate(row);
    let vector = group.vector(rel, index, &column, at);
    let first = column.starts[at];
    let end = first + vector.len() as u32;
    Some(OpenVector { vector, first, end, layout, reads: 0, integers: Vec::new() })
}

/// `getmissingattr`: the default of a column added without a rewrite.
unsafe fn missing(desc: pg_sys::TupleDesc, index: usize, is_null: &mut bool) -> pg_sys::Datum {
    // SAFETY: the attribute number is one of the descriptor's.
    unsafe { pg_sys::getmissingattr(desc, index as i32 + 1, is_null) }
}

unsafe extern "C-unwind" fn getsysattr(
    slot: *mut pg_sys::TupleTableSlot,
    attnum: i32,
    is_null: *mut bool,
) -> pg_sys::Datum {
    // SAFETY: as `clear`.
    unsafe {
        let inner = columnar(slot);
        if !inner.holds_row {
            return match heap_ops().getsysattr {
                Some(get) => get(slot, attnum, is_null),
                None => pg_sys::Datum::null(),
            };
        }
        *is_null = false;
        match attnum {
            pg_sys::MinTransactionIdAttributeNumber => pg_sys::Datum::from(inner.run.xid),
            pg_sys::MaxTransactionIdAttributeNumber => pg_sys::Datum::from(inner.xmax.into_inner()),
            _ => pg_sys::Datum::from(inner.run.cid),
        }
    }
}

#[cfg(any(feature = "pg17", feature = "pg18"))]
unsafe extern "C-unwind" fn is_current_xact_tuple(slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: as `clear`.
    unsafe {
        let inner = columnar(slot);
        if !inner.holds_row {
            return heap_ops().is_current_xact_tuple.is_some_and(|ask| ask(slot));
        }
        pg_sys::TransactionIdIsCurrentTransactionId(inner.run.xid.into())
    }
}

/// Forms a heap tuple of the slot's row, in the current memory context.
unsafe fn form_tuple(slot: *mut pg_sys::TupleTableSlot) -> pg_sys::HeapTuple {
    // SAFETY: as `clear`.
    unsafe {
        decode_all(slot);
        let inner = columnar(slot);
        let tuple = pg_sys::heap_form_tuple(
            (*slot).tts_tupleDescriptor,
            (*slot).tts_values,
            (*slot).tts_isnull,
        );
        (*tuple).t_self = (*slot).tts_tid;
        (*tuple).t_tableOid = (*slot).tts_tableOid;
        let header = (*tuple).t_data;
        (*header).t_choice.t_heap.t_xmin = inner.run.xid.into();
        (*header).t_choice.t_heap.t_xmax = inner.xmax;
        (*header).t_choice.t_heap.t_field3.t_cid = inner.run.cid;
        (*header).t_ctid = (*slot).tts_tid;
        (*header).t_infomask |=
            pg_sys::HEAP_XMIN_COMMITTED as u16 | pg_sys::HEAP_XMAX_INVALID as u16;
        tuple
    }
}

unsafe extern "C-unwind" fn materialize(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: as `clear`; a panic while decoding becomes an ERROR.
    unsafe {
        if !columnar(slot).holds_row {
            if own_values(slot) {
                return;
            }
            if let Some(materialize) = heap_ops().materialize {
                let tid = (*slot).tts_tid;
                materialize(slot);
                (*slot).tts_tid = tid;
            }
            return;
        }
        pg_sys::panic::pgrx_extern_c_guard(move || {
            let old = pg_sys::MemoryContextSwitchTo((*slot).tts_mcxt);
            let tuple = form_tuple(slot);
            pg_sys::MemoryContextSwitchTo(old);
            let inner = columnar(slot);
            inner.holds_row = false;
            inner.arena.reset();
            inner.heap.base.tuple = tuple;
            inner.heap.base.off = 0;
            inner.heap.buffer = pg_sys::InvalidBuffer as i32;
            (*slot).tts_nvalid = 0;
            (*slot).tts_flags |= pg_sys::TTS_FLAG_SHOULDFREE as u16;
        });
    }
}

/// Materialises a virtual tuple by copying what its values point at: COPY stores rows so, and forming a tuple of each only
/// to take it apart again would be in vain. False if the slot holds something else, or a value that has to be flattened.
unsafe fn own_values(slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: as `clear`; a virtual tuple has a value or NULL for every attribute.
    unsafe {
        let inner = columnar(slot);
        let desc = (*slot).tts_tupleDescriptor;
        let natts = (*desc).natts as usize;
        if !inner.heap.base.tuple.is_null() || (*slot).tts_nvalid as usize != natts {
            return false;
        }
        if inner.owns_values {
            return true;
        }
        let sizes = |i: usize| {
            let attribute = ports::TupleDescAttr(desc, i);
            let by_reference = !(*attribute).attbyval && !*(*slot).tts_isnull.add(i);
            by_reference
                .then(|| types::stored_size((*attribute).attlen, *(*slot).tts_values.add(i)))
        };
        if (0..natts).any(|i| sizes(i) == Some(None)) {
            return false;
        }
        inner.arena.context = (*slot).tts_mcxt;
        inner.arena.reset();
        for i in 0..natts {
            if let Some(Some(size)) = sizes(i) {
                let value = (*slot).tts_values.add(i);
                let copy = types::DatumArena::allocate(&mut inner.arena, size);
                core::ptr::copy_nonoverlapping((*value).cast_mut_ptr::<u8>(), copy, size);
                value.write(pg_sys::Datum::from(copy));
            }
        }
        inner.owns_values = true;
        true
    }
}

unsafe extern "C-unwind" fn copyslot(
    dst: *mut pg_sys::TupleTableSlot,
    src: *mut pg_sys::TupleTableSlot,
) {
    // SAFETY: `dst` is of this kind, `src` any.
    unsafe {
        let tid = (*src).tts_tid;
        if is_ours(src) && columnar(src).holds_row {
            let from = columnar(src);
            let group = from.state().group.clone();
            let (rel, row, xmax) = (from.rel, from.row, from.xmax);
            store_row(dst, rel, &group, row, tid, xmax);
            return;
        }
        if columnar(dst).holds_row {
            clear(dst);
        }
        if let Some(copy) = heap_ops().copyslot {
            copy(dst, src);
        }
        (*dst).tts_tid = tid;
    }
}

unsafe extern "C-unwind" fn get_heap_tuple(slot: *mut pg_sys::TupleTableSlot) -> pg_sys::HeapTuple {
    // SAFETY: as `clear`.
    unsafe {
        if columnar(slot).holds_row {
            materialize(slot);
        }
        match heap_ops().get_heap_tuple {
            Some(get) => get(slot),
            None => ptr::null_mut(),
        }
    }
}

unsafe extern "C-unwind" fn copy_heap_tuple(
    slot: *mut pg_sys::TupleTableSlot,
) -> pg_sys::HeapTuple {
    // SAFETY: as `clear`.
    unsafe {
        if !columnar(slot).holds_row {
            return match heap_ops().copy_heap_tuple {
                Some(copy) => copy(slot),
                None => ptr::null_mut(),
            };
        }
        pg_sys::panic::pgrx_extern_c_guard(move || form_tuple(slot))
    }
}

#[cfg(not(feature = "pg18"))]
unsafe extern "C-unwind" fn copy_minimal_tuple(
    slot: *mut pg_sys::TupleTableSlot,
) -> pg_sys::MinimalTuple {
    // SAFETY: as `clear`.
    unsafe {
        if !columnar(slot).holds_row {
            return match heap_ops().copy_minimal_tuple {
                Some(copy) => copy(slot),
                None => ptr::null_mut(),
            };
        }
        pg_sys::panic::pgrx_extern_c_guard(move || {
            decode_all(slot);
            pg_sys::heap_form_minimal_tuple(
                (*slot).tts_tupleDescriptor,
                (*slot).tts_values,
                (*slot).tts_isnull,
            )
        })
    }
}

#[cfg(feature = "pg18")]
unsafe extern "C-unwind" fn copy_minimal_tuple(
    slot: *mut pg_sys::TupleTableSlot,
    extra: usize,
) -> pg_sys::MinimalTuple {
    // SAFETY: as `clear`.
    unsafe {
        if !columnar(slot).holds_row {
            return match heap_ops().copy_minimal_tuple {
                Some(copy) => copy(slot, extra),
                None => ptr::null_mut(),
            };
        }
        pg_sys::panic::pgrx_extern_c_guard(move || {
            decode_all(slot);
            pg_sys::heap_form_minimal_tuple(
                (*slot).tts_tupleDescriptor,
                (*slot).tts_values,
                (*slot).tts_isnull,
                extra,
            )
        })
    }
}

/// Whether a slot holds a stub (of which heapam knows no difference to a row).
///
/// # Safety
/// `slot` is a slot of this access method.
pub unsafe fn holds_stub(slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: a heap tuple in the slot is readable while the slot holds it.
    unsafe {
        let tuple = (*slot.cast::<pg_sys::HeapTupleTableSlot>()).tuple;
        !columnar(slot).holds_row
            && !tuple.is_null()
            && super::scan::pages::is_stub((*tuple).t_data)
    }
}

/// Whether a slot holds a heap-only tuple: a member of a HOT chain but for its root.
///
/// # Safety
/// As [`holds_stub`].
pub unsafe fn holds_heap_only(slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        let tuple = (*slot.cast::<pg_sys::HeapTupleTableSlot>()).tuple;
        !tuple.is_null() && u32::from((*(*tuple).t_data).t_infomask2) & pg_sys::HEAP_ONLY_TUPLE != 0
    }
}

/// The row of a group that a slot holds.
///
/// # Safety
/// `slot` is a slot of this access method.
pub unsafe fn row(slot: *mut pg_sys::TupleTableSlot) -> Option<(Rc<Group>, u32)> {
    let inner = columnar(slot);
    inner.holds_row.then(|| (inner.state().group.clone(), inner.row))
}

/// xmax of the heap tuple in a slot, as it stands.
///
/// # Safety
/// As [`holds_stub`], and the slot holds a heap tuple.
pub unsafe fn raw_xmax(slot: *mut pg_sys::TupleTableSlot) -> pg_sys::TransactionId {
    // SAFETY: as the caller's.
    unsafe {
        let tuple = (*slot.cast::<pg_sys::HeapTupleTableSlot>()).tuple;
        (*(*tuple).t_data).t_choice.t_heap.t_xmax
    }
}
