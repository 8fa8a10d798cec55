//! What is done to each batch of a scan: filters, then a sink. A [`Worker`] does it on any thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::agg::{Aggregator, DistinctOn, GroupingSet, KeyType, Magnitude};
use crate::batch::{Batch, Context, External};
use crate::column::{Column, Scalar};
use crate::datum::{DatumColumn, DatumKind};
use crate::error::ExecError;
use crate::expr::{CompareOp, Expr};
use crate::filter;
use crate::phases::{Decoding, Phase, PhaseTimes, Stopwatch};
use crate::schedule::Schedule;
use crate::stored::{ColumnKind, StoredBatch, StoredColumn};
use crate::topn::{Order, TopN, is_before};
use crate::transition::{self, Transitions};

/// A scan's work, the same for all its batches and threads.
#[derive(Debug)]
pub struct Pipeline {
    /// How each column is held in memory.
    pub kinds: Arc<[ColumnKind]>,
    /// Index of each column in its table.
    pub table_columns: Arc<[usize]>,
    /// In the order of the plan, which [`crate::schedule`] changes.
    pub filters: Vec<Expr>,
    /// Where the rows go.
    pub sink: Sink,
    /// Values of [`Expr::Param`].
    pub params: Vec<Scalar>,
    /// Rows that each filter removed, counted by all workers.
    pub removed: Vec<AtomicU64>,
    /// Of [`Sink::TopN`]: the first key of the worst row that some worker keeps, once it keeps enough.
    pub bound: Mutex<Option<Scalar>>,
    /// Of [`Sink::Aggregate`].
    pub magnitude: Magnitude,
    /// Whether filters are left to whoever takes the rows, since they have a parameter that kernels cannot hold.
    pub unfiltered: bool,
    /// Where time is counted, if it is.
    pub phases: Option<PhaseTimes>,
}

/// Where the rows of a pipeline go.
#[derive(Clone, Debug)]
pub enum Sink {
    /// Out, as these columns.
    Rows(Vec<(usize, DatumKind)>),
    /// Into groups.
    Aggregate {
        sets: Vec<GroupingSet>,
        /// Of all sets; each is evaluated once a batch.
        keys: Vec<Expr>,
        args: Vec<Option<Expr>>,
        conditions: Vec<Option<Expr>>,
        /// Of all sets; a pass is over one.
        transitions: Transitions,
    },
    /// Into the best rows; a row is told by its batch's sequence number and its place.
    TopN { keys: Vec<Expr>, order: Vec<Order>, limit: usize },
    /// Into the first row of each group by an order, told as above.
    DistinctOn { types: Vec<KeyType>, keys: Vec<Expr>, order_keys: Vec<Expr>, order: Vec<Order> },
}

/// Bits of a tag that hold the row; the others hold the sequence number.
const ROW_BITS: u32 = 21;

/// Tells a row of a scan from all others.
pub fn tag(sequence: u64, row: u32) -> u64 {
    sequence << ROW_BITS | u64::from(row)
}

/// Sequence number and row of a tag.
pub fn untag(tag: u64) -> (u64, u32) {
    (tag >> ROW_BITS, (tag & ((1 << ROW_BITS) - 1)) as u32)
}

impl Pipeline {
    /// Columns that filters read, and columns that only the sink reads.
    pub fn column_use(&self) -> (Vec<usize>, Vec<usize>) {
        let mut filters = Vec::new();
        self.filters.iter().for_each(|filter| filter.columns(&mut filters));
        let mut sink = Vec::new();
        match &self.sink {
            Sink::Rows(outputs) => sink.extend(outputs.iter().map(|(column, _)| *column)),
            Sink::Aggregate { keys, args, conditions, transitions, .. } => {
                let exprs = keys.iter().chain(args.iter().flatten()).chain(transitions.args());
                exprs.chain(conditions.iter().flatten()).for_each(|e| e.columns(&mut sink));
            }
            Sink::TopN { keys, .. } => keys.iter().for_each(|key| key.columns(&mut sink)),
            Sink::DistinctOn { keys, order_keys, .. } => {
                keys.iter().chain(order_keys).for_each(|key| key.columns(&mut sink));
            }
        }
        filters.sort_unstable();
        filters.dedup();
        sink.sort_unstable();
        sink.dedup();
        sink.retain(|column| filters.binary_search(column).is_err());
        (filters, sink)
    }

    /// Takes a bound if it is before the one so far.
    fn narrow(&self, bound: &Scalar, order: Order) {
        let mut shared = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.as_ref().is_none_or(|known| is_before(bound, known, order)) {
            *shared = Some(bound.clone());
        }
    }

    /// Of [`Sink::TopN`] with a column for its first key: a filter that no row passes which comes after all rows that are
    /// kept. It gets narrower while the scan runs.
    pub fn bound_filter(&self) -> Option<Expr> {
        let Sink::TopN { keys, order, .. } = &self.sink else { return None };
        let (Some(Expr::Column(column)), Some(order)) = (keys.first(), order.first()) else {
            return None;
        };
        let bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        if bound == Scalar::Null {
            return None;
        }
        let key = || Box::new(Expr::Column(*column));
        let op = if order.descending { CompareOp::Ge } else { CompareOp::Le };
        let passes = Expr::Compare { op, left: key(), right: Box::new(Expr::Const(bound)) };
        Some(if order.nulls_first { Expr::Or(vec![Expr::IsNull(key()), passes]) } else { passes })
    }

    /// What transition functions do, where they keep states of several groups: those cannot be written to files.
    pub fn states_elsewhere(&self) -> Option<&Transitions> {
        match &self.sink {
            Sink::Aggregate { sets, transitions, .. } => {
                let grouped = sets.iter().any(|set| !set.keys.is_empty());
                (grouped && !transitions.calls.is_empty()).then_some(transitions)
            }
            _ => None,
        }
    }

    /// Whether any expression wants the backend's thread.
    pub fn uses_external(&self) -> bool {
        let sink = match &self.sink {
            Sink::Rows(_) => false,
            Sink::Aggregate { keys, args, conditions, transitions, .. } => {
                let exprs = keys.iter().chain(args.iter().flatten());
                exprs.chain(conditions.iter().flatten()).any(Expr::uses_external)
                    || !transitions.calls.is_empty()
            }
            Sink::TopN { keys, .. } => keys.iter().any(Expr::uses_external),
            Sink::DistinctOn { keys, order_keys, .. } => {
                keys.iter().chain(order_keys).any(Expr::uses_external)
            }
        };
        sink || self.filters.iter().any(Expr::uses_external)
    }
}

/// A batch on its way.
#[derive(Debug)]
pub struct Morsel {
    /// Rises from batch to batch of a scan.
    pub sequence: u64,
    /// The columns.
    pub batch: StoredBatch,
    /// Rows that are visible, then those that passed the filters; `None` for all.
    pub selection: Option<Vec<u32>>,
    /// Whether the filters were applied.
    pub filtered: bool,
    /// Whether the columns of the sink are there.
    pub complete: bool,
    /// Whether the filters met a value that they cannot hold, so that whoever takes the rows is to filter them.
    pub unfiltered: bool,
}

/// Rows that a scan hands out.
#[derive(Debug)]
pub struct RowBlock {
    /// Of the batch.
    pub sequence: u64,
    /// Rows.
    pub len: usize,
    /// Place of each in its batch; `None` where it is the row's number.
    pub places: Option<Arc<Vec<u32>>>,
    /// Datums in the order of [`Sink::Rows`].
    pub columns: Vec<DatumColumn>,
    /// Of rows that are still to be filtered: the columns that the filters read, with their numbers.
    pub unfiltered: Option<Vec<(usize, Column)>>,
}

/// What became of a morsel.
#[derive(Debug)]
pub enum Outcome {
    /// It is in the sink, or no row of it passed.
    Done(u64),
    /// Rows passed the filters, and the sink's columns are to be brought.
    Wanting(Morsel),
    /// Rows to hand out.
    Rows(RowBlock),
}

/// What a worker has gathered.
#[derive(Debug)]
pub enum State {
    /// Nothing: rows were handed out.
    Rows,
    /// The groups of each grouping set.
    Aggregate(Vec<Aggregator>),
    /// The best rows.
    TopN(TopN),
    /// The first row of each group.
    DistinctOn(DistinctOn),
}

/// Works on batches, on one thread.
#[derive(Debug)]
pub struct Worker<'a> {
    pipeline: Arc<Pipeline>,
    context: Context<'a>,
    /// What is gathered so far.
    pub state: State,
    removed: Vec<u64>,
    schedule: Schedule,
}

impl<'a> Worker<'a> {
    /// A worker that has seen nothing; `external` is needed where the pipeline uses it.
    pub fn new(pipeline: Arc<Pipeline>, external: Option<&'a mut dyn External>) -> Self {
        let state = match &pipeline.sink {
            Sink::Rows(_) => State::Rows,
            Sink::Aggregate { sets, .. } => State::Aggregate(GroupingSet::tables(sets)),
            Sink::TopN { order, limit, .. } => State::TopN(TopN::new(order.clone(), *limit)),
            Sink::DistinctOn { types, order, .. } => {
                State::DistinctOn(DistinctOn::new(types, order.clone()))
            }
        };
        let context = Context { params: pipeline.params.clone(), external, ..Context::default() };
        let removed = vec![0; pipeline.filters.len()];
        let schedule = Schedule::new(&pipeline.filters);
        Self { pipeline, context, state, removed, schedule }
    }

    /// Groups so far.
    pub fn groups(&self) -> usize {
        match &self.state {
            State::Aggregate(tables) => tables.iter().map(Aggregator::groups).sum(),
            _ => 0,
        }
    }

    /// Bytes of the groups, with the states that transition functions made.
    pub fn memory_size(&self) -> usize {
        let State::Aggregate(tables) = &self.state else { return 0 };
        let states = self.context.external.as_ref().map_or(0, |external| external.memory_size());
        tables.iter().map(Aggregator::memory_size).sum::<usize>() + states
    }

    /// Takes a morsel as far as its columns allow.
    pub fn process(&mut self, morsel: Morsel) -> Result<Outcome, ExecError> {
        let Morsel { sequence, batch: stored, selection, filtered, complete, mut unfiltered } =
            morsel;
        let columns = stored.columns.len();
        let pipeline = Arc::clone(&self.pipeline);
        let watch = Stopwatch::start(pipeline.phases.as_ref(), Phase::Filter);
        let source = Decoding { source: &stored, watch: &watch };
        let mut batch = Batch::new(&source, columns, stored.rows, selection);
        unfiltered |= pipeline.unfiltered;
        if !filtered && !pipeline.unfiltered {
            let before = batch.selection().cloned();
            let filters = &pipeline.filters;
            let (context, removed) = (&mut self.context, &mut self.removed);
            match filter::apply(filters, &mut self.schedule, &mut batch, context, removed) {
                Err(ExecError::Unsupported) if matches!(pipeline.sink, Sink::Rows(_)) => {
                    self.removed.fill(0);
                    unfiltered = true;
                    let all = before.map(Arc::unwrap_or_clone);
                    batch = Batch::new(&source, columns, stored.rows, all);
                }
                applied => applied?,
            }
            for (local, all) in self.removed.iter_mut().zip(&pipeline.removed) {
                all.fetch_add(std::mem::take(local), Ordering::Relaxed);
            }
        }
        if batch.is_empty() {
            return Ok(Outcome::Done(sequence));
        }
        if !complete {
            let (selection, loaded) = batch.into_loaded();
            let mut stored = stored;
            for (column, loaded) in stored.columns.iter_mut().zip(loaded) {
                if let Some(loaded) = loaded {
                    *column = StoredColumn::Ready(loaded);
                }
            }
            let selection = selection.map(Arc::unwrap_or_clone);
            return Ok(Outcome::Wanting(Morsel {
                sequence,
                batch: stored,
                selection,
                filtered: true,
                complete: false,
                unfiltered,
            }));
        }
        watch.switch(Phase::Sink);
        match (&pipeline.sink, &mut self.state) {
            (Sink::Rows(outputs), _) => {
                let columns = outputs
                    .iter()
                    .map(|(column, kind)| Ok(DatumColumn::new(&batch.column(*column)?, *kind)))
                    .collect::<Result<_, ExecError>>()?;
                let places = batch.selection().cloned();
                let read = unfiltered.then(|| pipeline.column_use().0).map(|read| {
                    read.into_iter().map(|column| Ok((column, batch.column(column)?))).collect()
                });
                let unfiltered = read.transpose()?;
                let len = batch.len();
                Ok(Outcome::Rows(RowBlock { sequence, len, places, columns, unfiltered }))
            }
            (
                Sink::Aggregate { sets, keys, args, conditions, transitions },
                State::Aggregate(tables),
            ) => {
                let context = &mut self.context;
                let mut keys = evaluate_all(keys, &mut batch, context)?;
                if let Some(pass) = transitions.pass {
                    prove(&pipeline, args, conditions, transitions, &mut batch, context)?;
                    let [table] = &mut tables[..] else { panic!("a pass is over one set") };
                    let rows = table.rows_of(pass, &sets[0].pick(&keys), batch.len())?;
                    if rows.is_empty() {
                        return Ok(Outcome::Done(sequence));
                    }
                    keys.iter_mut().for_each(|key| *key = key.gather(&rows));
                    batch = batch.subset(&rows);
                }
                let conditions = evaluate_some(conditions, &mut batch, context)?;
                let args = evaluate_args(args, &conditions, &mut batch, context)?;
                pipeline.magnitude.note(&args);
                for (set, table) in sets.iter().zip(&mut *tables) {
                    set.consume(table, &keys, &args, &conditions, batch.len())?;
                }
                transition::advance(transitions, &conditions, tables, &mut batch, context)?;
                Ok(Outcome::Done(sequence))
            }
            (Sink::TopN { keys, order, .. }, State::TopN(top)) => {
                let keys = evaluate_all(keys, &mut batch, &mut self.context)?;
                let selection = batch.selection().cloned();
                top.consume(&keys, batch.len(), |row| {
                    let place = selection.as_ref().map_or(row as u32, |rows| rows[row]);
                    tag(sequence, place)
                });
                if let (Some(bound), Some(order)) = (top.bound(), order.first()) {
                    pipeline.narrow(bound, *order);
                }
                Ok(Outcome::Done(sequence))
            }
            (Sink::DistinctOn { keys, order_keys, .. }, State::DistinctOn(groups)) => {
                let keys = evaluate_all(keys, &mut batch, &mut self.context)?;
                let order_keys = evaluate_all(order_keys, &mut batch, &mut self.context)?;
                let selection = batch.selection().cloned();
                groups.consume(&keys, &order_keys, batch.len(), |row| {
                    let place = selection.as_ref().map_or(row as u32, |rows| rows[row]);
                    tag(sequence, place)
                })?;
                Ok(Outcome::Done(sequence))
            }
            (sink, state) => panic!("a worker for {sink:?} has {state:?}"),
        }
    }
}

/// Meets the values that kernels cannot hold in all rows, before the groups of one of several passes are handed out: it is
/// too late then to leave the work to others.
fn prove(
    pipeline: &Pipeline,
    args: &[Option<Expr>],
    conditions: &[Option<Expr>],
    transitions: &Transitions,
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<(), ExecError> {
    let args = args.iter().map(|arg| arg.clone().filter(Expr::can_outgrow));
    let args: Vec<_> = args.collect();
    let calls = transitions.calls.iter().flat_map(|call| {
        let args = call.args.iter().filter(|arg| arg.can_outgrow());
        args.map(|arg| (call.aggregate, arg))
    });
    let calls: Vec<_> = calls.collect();
    if calls.is_empty() && args.iter().all(Option::is_none) {
        return Ok(());
    }
    let conditions = evaluate_some(conditions, batch, context)?;
    pipeline.magnitude.note(&evaluate_args(&args, &conditions, batch, context)?);
    let (conditions, calls): (Vec<_>, Vec<_>) = calls
        .into_iter()
        .map(|(aggregate, arg)| (conditions[aggregate].clone(), Some(arg.clone())))
        .unzip();
    evaluate_args(&calls, &conditions, batch, context)?;
    Ok(())
}

fn evaluate_all(
    exprs: &[Expr],
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<Vec<Column>, ExecError> {
    exprs.iter().map(|expr| expr.evaluate(batch, context)).collect()
}

/// Arguments of aggregates; one that can fail is evaluated only for the rows that its FILTER lets through.
fn evaluate_args(
    args: &[Option<Expr>],
    conditions: &[Option<Column>],
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<Vec<Option<Column>>, ExecError> {
    let evaluate = |(arg, condition): (&Option<Expr>, &Option<Column>)| {
        let Some(arg) = arg else { return Ok(None) };
        match condition {
            Some(condition) if arg.can_fail() || arg.uses_external() => {
                let passes = |row: usize| condition.get(row) == Scalar::Bool(true);
                let rows: Vec<u32> =
                    (0..batch.len() as u32).filter(|r| passes(*r as usize)).collect();
                if rows.is_empty() {
                    return Ok(Some(Column::constant(Scalar::Null, batch.len())));
                }
                let some = arg.evaluate(&mut batch.subset(&rows), context)?;
                // Rows that the filter stops get any value.
                let mut places = vec![0u32; batch.len()];
                for (place, row) in rows.iter().enumerate() {
                    places[*row as usize] = place as u32;
                }
                Ok(Some(some.gather(&places)))
            }
            _ => arg.evaluate(batch, context).map(Some),
        }
    };
    args.iter().zip(conditions).map(evaluate).collect()
}

fn evaluate_some(
    exprs: &[Option<Expr>],
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<Vec<Option<Column>>, ExecError> {
    let evaluate = |expr: &Option<Expr>| match expr {
        Some(expr) => expr.evaluate(batch, context).map(Some),
        None => Ok(None),
    };
    exprs.iter().map(evaluate).collect()
}

#[cfg(test)]
mod tests;
