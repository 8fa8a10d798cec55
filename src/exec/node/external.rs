//! Evaluates what no kernel knows: PostgreSQL's own expression state, row by row over a batch, on the backend's thread.
//!
//! Results of immutable expressions over one string are remembered, since such columns repeat their values.

use super::transition::Shared;
use crate::exec::gather::Values;
use crate::exec::translate::{ExternalExpr, ValueType, values};
use columnar_exec::datum::DatumColumn;
use columnar_exec::{CallRows, Column, Data, ExecError, External, Scalar};
use pgrx::pg_sys;
use std::collections::HashMap;

/// Rows evaluated before the memory of their evaluation is released.
const CHUNK: usize = 512;
/// Bytes of remembered values and results.
const MEMO_BYTES: usize = 64 << 20;

/// Evaluates the external expressions of a node.
pub struct Evaluator {
    econtext: *mut pg_sys::ExprContext,
    /// A virtual tuple of the table.
    slot: *mut pg_sys::TupleTableSlot,
    exprs: Vec<Expression>,
    /// Aggregates by their transition functions.
    transitions: Option<Shared>,
}

struct Expression {
    state: *mut pg_sys::ExprState,
    attributes: Vec<usize>,
    inputs: Vec<ValueType>,
    result: ValueType,
    memo: Option<Memo>,
}

#[derive(Default)]
struct Memo {
    results: HashMap<Box<[u8]>, Scalar>,
    bytes: usize,
}

impl Evaluator {
    /// Prepares expressions of a node; `types` tells how the column of an attribute is held.
    ///
    /// # Safety
    /// `parent` is being initialised, and `rel` its open relation.
    pub unsafe fn new(
        externals: &[ExternalExpr],
        types: impl Fn(i16) -> ValueType,
        parent: *mut pg_sys::PlanState,
        rel: pg_sys::Relation,
        transitions: Option<Shared>,
    ) -> Self {
        // SAFETY: as the caller's; all is allocated in the query's memory context.
        unsafe {
            let estate = (*parent).state;
            let exprs = externals.iter().map(|external| Expression {
                state: pg_sys::ExecInitExpr(external.node.cast(), parent),
                attributes: external.attnos.iter().map(|attno| *attno as usize - 1).collect(),
                inputs: external.attnos.iter().map(|attno| types(*attno)).collect(),
                result: external.result,
                memo: (external.immutable && external.attnos.len() == 1).then(Memo::default),
            });
            let exprs = exprs.collect();
            let econtext = pg_sys::CreateExprContext(estate);
            let slot =
                pg_sys::MakeSingleTupleTableSlot((*rel).rd_att, &raw const pg_sys::TTSOpsVirtual);
            let natts = (*(*rel).rd_att).natts as usize;
            for i in 0..natts {
                (*slot).tts_isnull.add(i).write(true);
            }
            super::scan::store(slot);
            (*econtext).ecxt_scantuple = slot;
            Self { econtext, slot, exprs, transitions }
        }
    }

    /// Releases what the server gave.
    ///
    /// # Safety
    /// The node ends; nothing is evaluated any more.
    pub unsafe fn end(&mut self) {
        // SAFETY: both came from `new`.
        unsafe {
            if !self.slot.is_null() {
                pg_sys::ExecDropSingleTupleTableSlot(self.slot);
                pg_sys::FreeExprContext(self.econtext, true);
                self.slot = core::ptr::null_mut();
            }
        }
    }

    /// Evaluates an expression for some rows of its inputs.
    unsafe fn rows(&self, id: usize, inputs: &[Column], rows: &[usize]) -> Column {
        let expression = &self.exprs[id];
        let datums: Vec<DatumColumn> = inputs
            .iter()
            .zip(&expression.inputs)
            .map(|(column, value)| values::datum_column(column, value))
            .collect();
        let mut results = Values::new(expression.result.column_kind());
        let mut nulls = Vec::with_capacity(rows.len());
        let mut any_null = false;
        let len = length(&expression.result);
        // SAFETY: the expression was initialised for tuples of the slot's descriptor; results live until the
        // next is evaluated.
        unsafe {
            let (slot, econtext, state) = (self.slot, self.econtext, expression.state);
            let old = pg_sys::MemoryContextSwitchTo((*econtext).ecxt_per_tuple_memory);
            for chunk in rows.chunks(CHUNK) {
                pgrx::check_for_interrupts!();
                for &row in chunk {
                    for (column, &attribute) in datums.iter().zip(&expression.attributes) {
                        let is_null = column.nulls.as_ref().is_some_and(|nulls| nulls[row]);
                        (*slot).tts_values.add(attribute).write(column.words[row].into());
                        (*slot).tts_isnull.add(attribute).write(is_null);
                    }
                    let mut is_null = false;
                    let value = pg_sys::ExecEvalExpr(state, econtext, &raw mut is_null);
                    // Taken at once: the value of a subquery lives until it is asked for the next.
                    results.push(len, value, is_null);
                    nulls.push(is_null);
                    any_null |= is_null;
                }
                pg_sys::MemoryContextReset((*econtext).ecxt_per_tuple_memory);
            }
            pg_sys::MemoryContextSwitchTo(old);
        }
        let nulls = any_null.then(|| std::sync::Arc::new(nulls));
        Column::with_nulls(results.into_data(), nulls, rows.len())
    }

    /// Evaluates an expression over a string column, each value once.
    unsafe fn remembered(&mut self, id: usize, input: &Column, rows: usize) -> Column {
        let Some(mut memo) = self.exprs[id].memo.take() else {
            return Column::constant(Scalar::Null, rows);
        };
        // The first row of each value that is not known.
        let mut unknown: HashMap<&[u8], usize> = HashMap::new();
        let mut fresh = Vec::new();
        for row in 0..rows {
            if let Some(bytes) = input.bytes(row)
                && !memo.results.contains_key(bytes)
            {
                unknown.entry(bytes).or_insert_with(|| {
                    fresh.push(row);
                    fresh.len() - 1
                });
            }
        }
        let null_row = (0..rows).find(|&row| input.is_null(row));
        fresh.extend(null_row);
        // SAFETY: as `rows`.
        let evaluated = unsafe { self.rows(id, core::slice::from_ref(input), &fresh) };
        let mut out = ScalarColumn::new(&self.exprs[id].result);
        for row in 0..rows {
            match input.bytes(row) {
                None => out.push(evaluated.get(fresh.len() - 1)),
                Some(bytes) => match memo.results.get(bytes) {
                    Some(known) => out.push(known.clone()),
                    None => out.push(evaluated.get(unknown[bytes])),
                },
            }
        }
        for (bytes, at) in unknown {
            let result = evaluated.get(at);
            memo.bytes += bytes.len() + 64 + size(&result);
            if memo.bytes <= MEMO_BYTES {
                memo.results.insert(bytes.into(), result);
            }
        }
        self.exprs[id].memo = Some(memo);
        out.finish()
    }
}

impl External for Evaluator {
    fn evaluate(&mut self, id: usize, inputs: &[Column], rows: usize) -> Result<Column, ExecError> {
        // SAFETY: called on the backend's thread while the node runs.
        unsafe {
            if self.exprs[id].memo.is_some() && is_string(&inputs[0]) {
                return Ok(self.remembered(id, &inputs[0], rows));
            }
            let all: Vec<usize> = (0..rows).collect();
            Ok(self.rows(id, inputs, &all))
        }
    }

    fn advance(&mut self, call: usize, rows: CallRows<'_>) -> Result<(), ExecError> {
        let Some(transitions) = &self.transitions else { return Err(ExecError::Unsupported) };
        // SAFETY: called on the backend's thread while the node runs.
        unsafe { transitions.borrow_mut().advance(call, rows) }
    }

    fn memory_size(&self) -> usize {
        self.transitions.as_ref().map_or(0, |transitions| transitions.borrow().memory_size())
    }
}

fn is_string(column: &Column) -> bool {
    matches!(
        column.data,
        Data::Bytes(_) | Data::Dict(_) | Data::Const(Scalar::Bytes(_) | Scalar::Null)
    )
}

fn size(value: &Scalar) -> usize {
    match value {
        Scalar::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

/// typlen.
fn length(value: &ValueType) -> i16 {
    match value {
        ValueType::Float4 | ValueType::Date => 4,
        ValueType::Float8 | ValueType::Timestamp | ValueType::TimestampTz | ValueType::Time => 8,
        ValueType::Bool => 1,
        ValueType::Bytes { fixed: Some(len) } => *len as i16,
        ValueType::Int { width, .. } => (*width).into(),
        _ => -1,
    }
}

/// A column of scalars.
struct ScalarColumn {
    values: Values,
    nulls: Vec<bool>,
    any_null: bool,
}

impl ScalarColumn {
    fn new(value: &ValueType) -> Self {
        Self { values: Values::new(value.column_kind()), nulls: Vec::new(), any_null: false }
    }

    fn push(&mut self, value: Scalar) {
        let is_null = value == Scalar::Null;
        self.nulls.push(is_null);
        self.any_null |= is_null;
        self.values.push_scalar(&value);
    }

    fn finish(self) -> Column {
        let rows = self.nulls.len();
        let nulls = self.any_null.then(|| std::sync::Arc::new(self.nulls));
        Column::with_nulls(self.values.into_data(), nulls, rows)
    }
}
