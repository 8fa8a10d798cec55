//! What a node does, worked out from its plan when it is initialised, and started when its first row is asked for.

use super::core_plan::CorePlan;
use super::external::Evaluator;
use super::keys::{OutputSet, grouping_sets};
use super::methods::Kind;
use super::passes::Part;
use super::state::NodeState;
use super::transition::{self, Shared};
use crate::am::group::types::attributes;
use crate::exec::plan::shape::Shape;
use crate::exec::plan::{list, reasons, walk};
use crate::exec::run::Run;
use crate::exec::source::{Reader, Request};
use crate::exec::translate::aggregates::Aggregate;
use crate::exec::translate::{
    ListExpr, ParamExpr, Translator, Typed, ValueType, late_elements, scalar_of,
};
use columnar_exec::agg::{AggSpec, Magnitude, Pass};
use columnar_exec::datum::DatumKind;
use columnar_exec::phases::PhaseTimes;
use columnar_exec::pipeline::{Pipeline, Sink};
use columnar_exec::stored::ColumnKind;
use columnar_exec::topn::Order;
use columnar_exec::transition::{Call, Transitions};
use columnar_exec::{Expr, External, Scalar};
use pgrx::pg_sys;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// What a node does.
pub struct Setup {
    /// Columns read.
    pub requests: Vec<Request>,
    pub filters: Vec<Expr>,
    /// Their originals, for EXPLAIN.
    pub filter_nodes: Vec<*mut pg_sys::Node>,
    sink: Sink,
    params: Vec<(ParamExpr, *mut pg_sys::ExprState)>,
    /// Arrays of the filters.
    lists: Vec<*mut pg_sys::ExprState>,
    external: Option<Box<Evaluator>>,
    /// How the columns that expressions read are held; they are the first that are read.
    pub held: Vec<ValueType>,
    /// Attribute of each output of a ColumnarScan.
    pub outputs: Vec<usize>,
    /// Whether rows are asked for their TID.
    pub wants_tid: bool,
    /// Whether a cursor may go back to rows of a ColumnarScan.
    pub scrolls: bool,
    /// All filters of the plan, for rows that EvalPlanQual fetched; null without any.
    pub whole_filter: *mut pg_sys::ExprState,
    /// Why filters are evaluated row by row, or expressions by PostgreSQL.
    pub reasons: Vec<String>,
    /// Of a ColumnarAgg or ColumnarTopN.
    pub shape: Shape,
    /// The grouping sets, as those of the sink; one where there are none.
    pub sets: Vec<OutputSet>,
    pub aggregates: Vec<Aggregate>,
    /// Those of them that transition functions fold.
    pub transitions: Option<Shared>,
    /// What the run to be started takes in, if not all.
    pub part: Option<Part>,
}

impl Setup {
    /// Works it out; `scrolls` says that rows may be asked for backward.
    ///
    /// # Safety
    /// `node` is being initialised.
    pub unsafe fn new(node: *mut NodeState, scrolls: bool) -> Self {
        // SAFETY: the executor has filled the server's part of the state.
        unsafe {
            let plan = (*node).css.ss.ps.plan.cast::<pg_sys::CustomScan>();
            let rel = (*node).rel;
            let mut translator = Translator::new((*plan).scan.scanrelid as i32, (*rel).rd_att);
            let mut setup = match (*node).kind {
                Kind::Scan => Self::scan(node, plan, rel, &mut translator),
                Kind::TopN if (*plan).custom_scan_tlist.is_null() => {
                    Self::top(node, plan, rel, &mut translator)
                }
                Kind::DistinctOn => Self::top(node, plan, rel, &mut translator),
                Kind::Aggregate | Kind::TopN => Self::aggregate(plan, &mut translator),
            };
            let planstate = &raw mut (*node).css.ss.ps;
            setup.params = translator
                .params
                .iter()
                .map(|p| (p.clone(), pg_sys::ExecInitExpr(p.node.cast(), planstate)))
                .collect();
            let late = |list: &ListExpr| pg_sys::ExecInitExpr(list.node.cast(), planstate);
            setup.lists = translator.lists.iter().map(late).collect();
            setup.transitions = transition::Transitions::new(&setup.aggregates, planstate);
            if let (Some(shared), Sink::Aggregate { transitions, .. }) =
                (&setup.transitions, &mut setup.sink)
            {
                transitions.repeatable = shared.borrow().repeatable;
            }
            for external in &translator.externals {
                setup.reasons.push(external.reason.to_string());
            }
            if !translator.externals.is_empty() || setup.transitions.is_some() {
                let types = |attno| {
                    let at = translator.columns.iter().position(|known| *known == attno);
                    at.map_or(ValueType::Bytes { fixed: None }, |at| translator.column_types[at])
                };
                let folded = setup.transitions.clone();
                let evaluator =
                    Evaluator::new(&translator.externals, types, planstate, rel, folded);
                setup.external = Some(Box::new(evaluator));
            }
            setup.held.clone_from(&translator.column_types);
            setup.scrolls = scrolls && (*node).kind == Kind::Scan;
            setup.wants_tid |= setup.scrolls;
            let slot = (*node).css.ss.ss_ScanTupleSlot;
            for i in 0..(*(*slot).tts_tupleDescriptor).natts as usize {
                (*slot).tts_values.add(i).write(pg_sys::Datum::null());
                (*slot).tts_isnull.add(i).write(true);
            }
            setup
        }
    }

    fn empty(sink: Sink) -> Self {
        Self {
            requests: Vec::new(),
            filters: Vec::new(),
            filter_nodes: Vec::new(),
            sink,
            params: Vec::new(),
            lists: Vec::new(),
            external: None,
            held: Vec::new(),
            outputs: Vec::new(),
            wants_tid: false,
            scrolls: false,
            whole_filter: core::ptr::null_mut(),
            reasons: Vec::new(),
            shape: Shape::default(),
            sets: Vec::new(),
            aggregates: Vec::new(),
            transitions: None,
            part: None,
        }
    }

    unsafe fn scan(
        node: *mut NodeState,
        plan: *mut pg_sys::CustomScan,
        rel: pg_sys::Relation,
        translator: &mut Translator,
    ) -> Self {
        // SAFETY: as `new`.
        unsafe {
            let mut setup = Self::empty(Sink::Rows(Vec::new()));
            let private = list::pointers::<pg_sys::List>((*plan).custom_private);
            let barrier = list::integers(private[0]).first() == Some(&1);
            setup.reasons = reasons::texts(private[1]);
            let planstate = &raw mut (*node).css.ss.ps;
            setup.whole_filter = (*planstate).qual;
            let mut rest = Vec::new();
            for clause in list::pointers::<pg_sys::Node>((*plan).scan.plan.qual) {
                match translator.filter(clause) {
                    // What may fail does so on no row that a filter before it removes; behind a security barrier the order
                    // is kept in any case.
                    Ok(typed) if !rest.is_empty() && (barrier || typed.expr.can_fail()) => {
                        setup.reasons.push("order of filters".into());
                        rest.push(clause);
                    }
                    Ok(typed) => {
                        setup.filters.push(typed.expr);
                        setup.filter_nodes.push(clause);
                    }
                    Err(reason) => {
                        setup.reasons.push(reason.to_string());
                        rest.push(clause);
                    }
                }
            }
            let relid = (*plan).scan.scanrelid;
            let mut set = core::ptr::null_mut();
            pg_sys::pull_varattnos((*plan).scan.plan.targetlist.cast(), relid, &raw mut set);
            for clause in &rest {
                pg_sys::pull_varattnos(*clause, relid, &raw mut set);
            }
            if !setup.filters.is_empty() {
                let rest = list::of_pointers(rest);
                (*planstate).qual = if rest.is_null() {
                    core::ptr::null_mut()
                } else {
                    pg_sys::ExecInitQual(rest, planstate)
                };
            }
            let numbers = walk::attributes(set);
            setup.wants_tid =
                numbers.contains(&pg_sys::SelfItemPointerAttributeNumber) || is_cursor();
            setup.requests = requests(translator);
            let attributes = attributes((*rel).rd_att);
            let mut sink = Vec::new();
            for (i, attribute) in attributes.iter().enumerate() {
                let wanted = numbers.contains(&0) || numbers.contains(&(i as i32 + 1));
                if !wanted || !attribute.stored {
                    continue;
                }
                let (kind, datum) = raw(attribute);
                let wanted = Request { attribute: i, kind };
                let at = setup.requests.iter().position(|known| *known == wanted);
                let at = at.unwrap_or_else(|| {
                    setup.requests.push(wanted);
                    setup.requests.len() - 1
                });
                sink.push((at, datum));
                setup.outputs.push(i);
            }
            setup.sink = Sink::Rows(sink);
            setup
        }
    }

    /// ORDER BY ... LIMIT, or DISTINCT ON, over a table.
    unsafe fn top(
        node: *mut NodeState,
        plan: *mut pg_sys::CustomScan,
        rel: pg_sys::Relation,
        translator: &mut Translator,
    ) -> Self {
        // SAFETY: as `new`.
        unsafe {
            let private = list::pointers::<pg_sys::List>((*plan).custom_private);
            let shape = Shape::decode(&list::integers(private[0]));
            let Some(top) = &shape.top else { panic!("a plan for ORDER BY has no sort keys") };
            let mut keys: Vec<_> = list::pointers::<pg_sys::Node>((*plan).custom_exprs)
                .into_iter()
                .map(|key| translator.expression_or_external(key).unwrap_or_else(|e| changed(&e)))
                .collect();
            let order: Vec<Order> = top
                .keys
                .iter()
                .map(|key| Order { descending: key.descending, nulls_first: key.nulls_first })
                .collect();
            let exprs = |keys: Vec<Typed>| keys.into_iter().map(|key| key.expr).collect();
            let sink = if (*node).kind == Kind::DistinctOn {
                let order_keys = exprs(keys.split_off(shape.keys));
                let types = keys.iter().map(|key| key.key().unwrap_or_else(|e| changed(&e)));
                let types = types.collect();
                Sink::DistinctOn { types, keys: exprs(keys), order_keys, order }
            } else {
                Sink::TopN { keys: exprs(keys), order, limit: top.limit as usize }
            };
            let mut setup = Self::empty(sink);
            let planstate = &raw mut (*node).css.ss.ps;
            setup.whole_filter = (*planstate).qual;
            (*planstate).qual = core::ptr::null_mut();
            for clause in list::pointers::<pg_sys::Node>((*plan).scan.plan.qual) {
                let typed = translator.filter_or_external(clause).unwrap_or_else(|e| changed(&e));
                setup.filters.push(typed.expr);
                setup.filter_nodes.push(clause);
            }
            let relid = (*plan).scan.scanrelid;
            let mut set = core::ptr::null_mut();
            pg_sys::pull_varattnos((*plan).scan.plan.targetlist.cast(), relid, &raw mut set);
            let numbers = walk::attributes(set);
            setup.wants_tid = true;
            setup.requests = requests(translator);
            let attributes = attributes((*rel).rd_att);
            setup.outputs = (0..attributes.len())
                .filter(|i| numbers.contains(&0) || numbers.contains(&(*i as i32 + 1)))
                .collect();
            setup.shape = shape;
            setup
        }
    }

    unsafe fn aggregate(plan: *mut pg_sys::CustomScan, translator: &mut Translator) -> Self {
        // SAFETY: as `new`.
        unsafe {
            let private = list::pointers::<pg_sys::List>((*plan).custom_private);
            let shape = Shape::decode(&list::integers(private[0]));
            let items: Vec<*mut pg_sys::Node> =
                list::pointers::<pg_sys::TargetEntry>((*plan).custom_scan_tlist)
                    .into_iter()
                    .map(|entry| (*entry).expr.cast())
                    .collect();
            let (keys, rest) = items.split_at(shape.keys);
            let (folds, filters) = rest[shape.groupings.len()..].split_at(shape.aggregates);
            let keys: Vec<_> = keys
                .iter()
                .map(|key| translator.expression_or_external(*key).unwrap_or_else(|e| changed(&e)))
                .collect();
            let aggregates: Vec<_> = folds
                .iter()
                .map(|fold| {
                    transition::check_permission(&*fold.cast());
                    translator.aggregate(fold.cast()).unwrap_or_else(|e| changed(&e))
                })
                .collect();
            let specs: Vec<AggSpec> = aggregates.iter().map(|aggregate| aggregate.spec).collect();
            let mut hashed = Vec::new();
            let (sets, outputs) = grouping_sets(&shape, &keys, &specs, &mut hashed);
            let sink = Sink::Aggregate {
                sets,
                keys: hashed.iter().map(|&key| keys[key].expr.clone()).collect(),
                args: aggregates.iter().map(|aggregate| aggregate.arg.clone()).collect(),
                conditions: aggregates
                    .iter()
                    .map(|aggregate| aggregate.condition.clone())
                    .collect(),
                transitions: Transitions { calls: calls(&aggregates), ..Default::default() },
            };
            let mut setup = Self::empty(sink);
            let folded = aggregates.iter().filter_map(|aggregate| aggregate.call.as_ref());
            setup.reasons = reasons::texts(private[1]);
            setup.reasons.extend(folded.map(|call| call.reason.to_string()));
            for filter in filters {
                let typed = translator.filter_or_external(*filter).unwrap_or_else(|e| changed(&e));
                setup.filters.push(typed.expr);
                setup.filter_nodes.push(*filter);
            }
            setup.requests = requests(translator);
            setup.sets = outputs;
            setup.aggregates = aggregates;
            setup.shape = shape;
            setup
        }
    }

    /// Releases what the server gave.
    ///
    /// # Safety
    /// The node ends.
    pub unsafe fn end(&mut self) {
        if let Some(external) = &mut self.external {
            // SAFETY: as the caller's.
            unsafe { external.end() };
        }
        if let Some(transitions) = &self.transitions {
            // SAFETY: as the caller's.
            unsafe { transitions.borrow_mut().end() };
        }
    }
}

/// What is left to transition functions, in the order of the aggregates.
fn calls(aggregates: &[Aggregate]) -> Vec<Call> {
    let call = |(aggregate, folded): (usize, &Aggregate)| {
        let args = folded.call.as_ref()?.args.clone();
        Some(Call { aggregate, args })
    };
    aggregates.iter().enumerate().filter_map(call).collect()
}

/// A plan is made and started by the same rules; a function or collation that was altered between can break that.
pub(super) fn changed(reason: &crate::exec::translate::Refusal) -> ! {
    pgrx::ereport!(
        pgrx::PgLogLevel::ERROR,
        pgrx::PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("a batch plan no longer fits what it was made of ({reason})"),
        "Plan the statement again, for example after DISCARD PLANS."
    );
    unreachable!()
}

fn requests(translator: &Translator) -> Vec<Request> {
    let columns = translator.columns.iter().zip(&translator.column_types);
    columns
        .map(|(attno, value)| Request { attribute: *attno as usize - 1, kind: value.column_kind() })
        .collect()
}

/// Whether the statement belongs to a named portal: WHERE CURRENT OF may ask for the TID of its row.
unsafe fn is_cursor() -> bool {
    // SAFETY: the portal that is being started, if any, is alive.
    unsafe {
        let portal = pg_sys::ActivePortal;
        !portal.is_null() && !(*portal).name.is_null() && *(*portal).name != 0
    }
}

/// How a column is read to be handed out as it is.
fn raw(attribute: &crate::am::group::types::Attribute) -> (ColumnKind, DatumKind) {
    use columnar_format::PhysicalType as Physical;
    match attribute.spec.physical {
        Physical::Bool => (ColumnKind::Bool, DatumKind::Integer),
        Physical::Float32 => (ColumnKind::Float, DatumKind::Float4),
        Physical::Float64 => (ColumnKind::Float, DatumKind::Float8),
        Physical::Fixed(_) => (ColumnKind::Bytes, DatumKind::Fixed),
        Physical::Bytes if attribute.len == -2 => (ColumnKind::Bytes, DatumKind::CString),
        Physical::Bytes => (ColumnKind::Bytes, DatumKind::Varlena),
        physical if attribute.spec.is_unsigned() => {
            (ColumnKind::Unsigned(physical.width().unwrap_or(8) as u8), DatumKind::Integer)
        }
        _ => (ColumnKind::Int, DatumKind::Integer),
    }
}

/// Starts a node's work.
///
/// # Safety
/// `node` is initialised and its parameters are set.
pub unsafe fn start(node: *mut NodeState) -> Run {
    // SAFETY: as the caller's.
    unsafe {
        let inner = NodeState::inner(node);
        let setup = &mut inner.setup;
        let estate = (*node).css.ss.ps.state;
        let rel = (*node).rel;
        let params: Option<Vec<Scalar>> =
            setup.params.iter().map(|(p, s)| param(node, p, *s)).collect();
        let lists: Option<Vec<_>> = setup.lists.iter().map(|state| members(node, *state)).collect();
        // A parameter may be a number with more digits than kernels have.
        let fits = params.is_some() && lists.is_some();
        let params = params.unwrap_or_else(|| vec![Scalar::Null; setup.params.len()]);
        let mut filters = setup.filters.clone();
        let lists = lists.unwrap_or_else(|| vec![None; setup.lists.len()]);
        filters.iter_mut().for_each(|filter| filter.bind_lists(&lists));
        let keep = setup.wants_tid;
        let snapshot = (*estate).es_snapshot;
        let mut reader = match inner.reader.take() {
            Some(mut reader) => {
                reader.restart();
                reader
            }
            None => {
                let old = pg_sys::MemoryContextSwitchTo((*estate).es_query_cxt);
                let shared = super::parallel::scan_of(node);
                let requests = setup.requests.clone();
                let reader = Reader::begin(rel, snapshot, shared, requests, keep);
                pg_sys::MemoryContextSwitchTo(old);
                reader
            }
        };
        let (kinds, table_columns) = reader.kinds();
        let mut sink = setup.sink.clone();
        if let (Sink::Aggregate { sets, transitions, .. }, Some(part)) =
            (&mut sink, setup.part.take())
        {
            // The keys of the other sets are evaluated all the same: what they cannot hold is met before any group is handed
            // out.
            if let Some(set) = part.set {
                *sets = vec![sets.swap_remove(set)];
            }
            transitions.pass = (part.groups != Pass::ALL).then_some(part.groups);
        }
        let magnitude = match &sink {
            Sink::Aggregate { sets, args, .. } => Magnitude::new(&sets[0].spec.aggregates, args),
            _ => Magnitude::default(),
        };
        let pipeline = Pipeline {
            kinds,
            table_columns,
            filters: filters.clone(),
            sink,
            params: params.clone(),
            removed: setup.filters.iter().map(|_| AtomicU64::new(0)).collect(),
            bound: Mutex::default(),
            magnitude,
            unfiltered: !fits,
            phases: super::state::is_timed(node).then(PhaseTimes::default),
        };
        let filters = if fits { filters } else { Vec::new() };
        reader.set_filters(filters, params, pipeline.column_use());
        reader.set_summaries(&pipeline);
        // The evaluator lives in the node's state, as the run does, and is used by nothing else.
        let external = setup.external.as_mut().map(|external| {
            let external: *mut dyn External = &raw mut **external;
            &mut *external
        });
        let mut run = Run::start(reader, pipeline, external);
        let repeatable = setup.transitions.as_ref().is_none_or(|t| t.borrow().repeatable);
        // What is volatile is not called twice.
        run.replaceable = (*node).kind != Kind::Scan && repeatable && CorePlan::is_there(node);
        if !fits && (*node).kind != Kind::Scan {
            run.give_up();
        }
        run
    }
}

/// The members of an array, `None` for one that is NULL; nothing where kernels cannot hold one.
unsafe fn members(
    node: *mut NodeState,
    state: *mut pg_sys::ExprState,
) -> Option<Option<Arc<[Scalar]>>> {
    // SAFETY: the expression was initialised with the node.
    unsafe {
        let econtext = (*node).css.ss.ps.ps_ExprContext;
        let mut is_null = false;
        let datum = pg_sys::ExecEvalExprSwitchContext(state, econtext, &raw mut is_null);
        if is_null {
            return Some(None);
        }
        late_elements(datum).map(|found| Some(found.into()))
    }
}

/// The value of a parameter; nothing where kernels cannot hold it.
unsafe fn param(
    node: *mut NodeState,
    param: &ParamExpr,
    state: *mut pg_sys::ExprState,
) -> Option<Scalar> {
    // SAFETY: the expression was initialised with the node.
    unsafe {
        let econtext = (*node).css.ss.ps.ps_ExprContext;
        let mut is_null = false;
        let datum = pg_sys::ExecEvalExprSwitchContext(state, econtext, &raw mut is_null);
        scalar_of(datum, is_null, &param.value)
    }
}
