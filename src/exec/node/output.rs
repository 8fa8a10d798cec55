//! Groups of a table as rows of the scan slot, some hundred at a time.

use super::keys::{Key, KeySource, OutputSet};
use super::state::NodeState;
use super::transition::Shared;
use crate::exec::error;
use crate::exec::translate::finish::{Finish, finish};
use crate::exec::translate::values;
use columnar_exec::agg::{Aggregator, Kept};
use columnar_exec::datum::DatumColumn;
use columnar_exec::{Batch, Column, ColumnSource, Context, ExecError, Scalar};
use pgrx::pg_sys;
use std::rc::Rc;

/// Groups made into datums at once.
const CHUNK: usize = 512;

/// Hands groups out.
pub struct Emitter {
    /// What comes before the aggregates.
    columns: Rc<[Key]>,
    params: Vec<Scalar>,
    finishes: Vec<Finish>,
    /// States of transition functions.
    transitions: Option<Shared>,
    /// Memory of the results of one chunk.
    context: pg_sys::MemoryContext,
    table: Option<Aggregator>,
    /// The number of its grouping set among those of its pass.
    set: usize,
    /// How often the groups are still to be handed out after this time.
    repeats: usize,
    /// Groups to hand out, ascending; `None` for all.
    chosen: Option<Vec<u32>>,
    /// The next group, or place in `chosen`.
    position: usize,
    chunk: Chunk,
}

#[derive(Default)]
struct Chunk {
    keys: Vec<DatumColumn>,
    results: Vec<Vec<Option<pg_sys::Datum>>>,
    /// Place among the keys of each group that is handed out; the results are of these groups only.
    places: Vec<u32>,
    next: usize,
    /// The group of the first key.
    first: usize,
}

impl Emitter {
    /// Of no table yet.
    ///
    /// # Safety
    /// `node` is running.
    pub unsafe fn new(
        node: *mut NodeState,
        params: Vec<Scalar>,
        finishes: Vec<Finish>,
        transitions: Option<Shared>,
    ) -> Self {
        // SAFETY: as the caller's.
        let context = unsafe {
            pg_sys::AllocSetContextCreateInternal(
                (*(*node).css.ss.ps.state).es_query_cxt,
                c"pgcolumnar groups".as_ptr(),
                pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
            )
        };
        Self {
            columns: Rc::new([]),
            params,
            finishes,
            transitions,
            context,
            table: None,
            set: 0,
            repeats: 0,
            chosen: None,
            position: 0,
            chunk: Chunk::default(),
        }
    }

    /// Goes over to a table of a grouping set, which is number `set` of its pass, or to some of its groups.
    pub fn open(&mut self, set: usize, output: &OutputSet, kept: Kept) {
        self.set = set;
        self.columns = Rc::clone(&output.columns);
        self.repeats = output.repeats - 1;
        self.table = Some(kept.table);
        self.chosen = kept.groups;
        self.position = 0;
        self.chunk = Chunk::default();
    }

    /// Stores the next group in a slot; false when there is none.
    ///
    /// # Safety
    /// `slot` is the node's scan slot.
    pub unsafe fn next(&mut self, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: as the caller's; pointers among the datums live as long as the chunk.
        unsafe {
            super::scan::clear(slot);
            if self.chunk.next == self.chunk.places.len() && !self.fill() {
                return false;
            }
            let row = self.chunk.next;
            let place = self.chunk.places[row] as usize;
            self.chunk.next += 1;
            let (values, nulls) = ((*slot).tts_values, (*slot).tts_isnull);
            for (i, key) in self.chunk.keys.iter().enumerate() {
                values.add(i).write(key.words[place].into());
                nulls.add(i).write(key.nulls.as_ref().is_some_and(|nulls| nulls[place]));
            }
            let first = self.chunk.keys.len();
            let mut call = 0;
            for (i, results) in self.chunk.results.iter().enumerate() {
                let result = match (&self.finishes[i], &self.transitions) {
                    // Final functions are called for no group that is not asked for.
                    (Finish::Function, Some(transitions)) => {
                        let old = pg_sys::MemoryContextSwitchTo(self.context);
                        let group = self.chunk.first + place;
                        let result = transitions.borrow_mut().finish(call, self.set, group);
                        pg_sys::MemoryContextSwitchTo(old);
                        call += 1;
                        result
                    }
                    _ => results[row],
                };
                values.add(first + i).write(result.unwrap_or(pg_sys::Datum::null()));
                nulls.add(first + i).write(result.is_none());
            }
            super::scan::store(slot);
            true
        }
    }

    /// Makes the next chunk.
    unsafe fn fill(&mut self) -> bool {
        let Some(table) = &self.table else { return false };
        pgrx::check_for_interrupts!();
        let total = self.chosen.as_ref().map_or(table.groups(), Vec::len);
        if self.position == total && self.repeats > 0 {
            self.repeats -= 1;
            self.position = 0;
        }
        if self.position == total {
            self.table = None;
            return false;
        }
        let (from, to, places) = match &self.chosen {
            Some(chosen) => {
                let rest = &chosen[self.position..];
                let from = rest[0] as usize;
                let near = rest.partition_point(|&group| (group as usize) < from + CHUNK);
                self.position += near;
                let places: Vec<u32> = rest[..near].iter().map(|&g| g - from as u32).collect();
                (from, rest[near - 1] as usize + 1, places)
            }
            None => {
                let from = self.position;
                self.position = total.min(from + CHUNK);
                (from, self.position, (0..(self.position - from) as u32).collect())
            }
        };
        // SAFETY: the context is the emitter's own; the results of the chunk before are not used any more.
        unsafe {
            pg_sys::MemoryContextReset(self.context);
            let old = pg_sys::MemoryContextSwitchTo(self.context);
            let keys = self.columns.iter().map(|key| {
                let column = key_column(table, &key.source, from, to, &self.params);
                values::datum_column(&column, &key.value)
            });
            let keys = keys.collect();
            let results = self.finishes.iter().enumerate().map(|(i, how)| {
                let columns = table.output(i, from, to);
                places.iter().map(|&row| finish(how, &columns, row as usize)).collect()
            });
            let results = results.collect();
            pg_sys::MemoryContextSwitchTo(old);
            self.chunk = Chunk { keys, results, places, next: 0, first: from };
        }
        true
    }

    /// Releases memory.
    ///
    /// # Safety
    /// Nothing that was handed out is used any more.
    pub unsafe fn end(&mut self) {
        if !self.context.is_null() {
            self.table = None;
            // SAFETY: the context is the emitter's own.
            unsafe { pg_sys::MemoryContextDelete(self.context) };
            self.context = core::ptr::null_mut();
        }
    }
}

/// The values of a key for groups `from .. to`.
fn key_column(
    table: &Aggregator,
    source: &KeySource,
    from: usize,
    to: usize,
    params: &[Scalar],
) -> Column {
    match source {
        KeySource::Table(key) => table.key(*key, from, to),
        KeySource::Constant(value) => Column::constant(value.clone(), to - from),
        KeySource::Computed(expr, inputs) => {
            let source = GroupKeys { table, inputs, from, to };
            let columns = inputs.iter().map(|(column, _)| column + 1).max().unwrap_or(0);
            let mut batch = Batch::new(&source, columns, to - from, None);
            let mut context = Context { params: params.to_vec(), ..Context::default() };
            expr.evaluate(&mut batch, &mut context).unwrap_or_else(|e| error::raise_plain(&e))
        }
    }
}

/// Keys of groups as the columns they were.
struct GroupKeys<'a> {
    table: &'a Aggregator,
    inputs: &'a [(usize, usize)],
    from: usize,
    to: usize,
}

impl ColumnSource for GroupKeys<'_> {
    fn load(&self, column: usize) -> Result<Column, ExecError> {
        let key = self.inputs.iter().find(|(known, _)| *known == column);
        let (_, key) = key.unwrap_or_else(|| panic!("column {column} is no key"));
        Ok(self.table.key(*key, self.from, self.to))
    }
}
