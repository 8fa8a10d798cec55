use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::agg::{AggKind, AggSpec, GroupSpec, GroupingSet, ValueType};
use crate::expr::CompareOp;
use crate::pipeline::{Morsel, Outcome, Pipeline, Sink, State, Worker};
use crate::stored::{ColumnKind, StoredBatch, StoredColumn};
use crate::{External, Span, Strings};

/// Concatenates, as string_agg() does.
#[derive(Default)]
struct Lists {
    states: Vec<Vec<Vec<i64>>>,
}

impl External for Lists {
    fn evaluate(&mut self, _: usize, _: &[Column], _: usize) -> Result<Column, ExecError> {
        Err(ExecError::Unsupported)
    }

    fn advance(&mut self, call: usize, rows: CallRows<'_>) -> Result<(), ExecError> {
        self.states.resize(self.states.len().max(call + 1), Vec::new());
        let states = &mut self.states[call];
        states.resize(rows.known, Vec::new());
        for row in 0..rows.len {
            let Scalar::Int(value) = rows.args[0].get(row) else { panic!("no value") };
            states[rows.groups.map_or(0, |groups| groups[row] as usize)].push(value);
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        self.states.iter().flatten().map(|list| list.len() * 8).sum()
    }
}

const ROWS: usize = 3000;

/// Keys of few long strings, among them NULL; values in the order of the rows.
fn columns() -> (Column, Column) {
    let mut bytes = Vec::new();
    let spans = (0..ROWS).map(|row| {
        let start = bytes.len() as u32;
        bytes.extend_from_slice(format!("a key of some length {}", row % 97).as_bytes());
        Span { start, len: bytes.len() as u32 - start }
    });
    let spans = Arc::new(spans.collect::<Vec<_>>());
    let nulls = (0..ROWS).map(|row| row % 97 == 5).collect();
    let strings = Data::Bytes(Strings { spans, data: bytes.into() });
    let keys = Column::with_nulls(strings, Some(Arc::new(nulls)), ROWS);
    (keys, Column::new(Data::Int(Arc::new((0..ROWS as i64).collect())), ROWS))
}

fn pipeline(keys: bool, pass: Option<Pass>) -> Pipeline {
    let column = |column| Expr::Column(column);
    let few = Expr::Compare {
        op: CompareOp::Lt,
        left: Box::new(column(1)),
        right: Box::new(Expr::Const(Scalar::Int(1000))),
    };
    let kind = |kind, filtered| AggSpec { kind, distinct: None, filtered };
    let aggregates = vec![
        kind(AggKind::Transition, false),
        kind(AggKind::CountStar, false),
        kind(AggKind::Transition, true),
    ];
    let call = |aggregate| Call { aggregate, args: vec![column(1)] };
    Pipeline {
        kinds: [ColumnKind::Bytes, ColumnKind::Int].into(),
        table_columns: [0, 1].into(),
        filters: Vec::new(),
        sink: Sink::Aggregate {
            sets: vec![GroupingSet::whole(GroupSpec::new(
                if keys { vec![ValueType::Bytes] } else { Vec::new() },
                aggregates,
            ))],
            keys: if keys { vec![column(0)] } else { Vec::new() },
            args: vec![None; 3],
            conditions: vec![None, None, Some(few)],
            transitions: Transitions { calls: vec![call(0), call(2)], repeatable: true, pass },
        },
        params: Vec::new(),
        removed: Vec::new(),
        bound: Default::default(),
        magnitude: Default::default(),
        unfiltered: false,
        phases: None,
    }
}

/// By key: its count, and what was listed of it.
type Groups = BTreeMap<String, (Scalar, Vec<i64>, Vec<i64>)>;

fn run(pipeline: Pipeline) -> (Groups, usize) {
    let mut lists = Lists::default();
    let pipeline = Arc::new(pipeline);
    assert!(pipeline.uses_external());
    assert!(pipeline.column_use().1.contains(&1));
    let mut worker = Worker::new(Arc::clone(&pipeline), Some(&mut lists));
    let (keys, values) = columns();
    for (sequence, rows) in [0..1700u32, 1700..ROWS as u32].into_iter().enumerate() {
        let columns = vec![StoredColumn::Ready(keys.clone()), StoredColumn::Ready(values.clone())];
        let batch = StoredBatch {
            columns,
            rows: ROWS,
            kinds: Arc::clone(&pipeline.kinds),
            group: 0,
            table_columns: Arc::clone(&pipeline.table_columns),
        };
        let morsel = Morsel {
            sequence: sequence as u64,
            batch,
            selection: Some(rows.collect()),
            filtered: false,
            complete: true,
            unfiltered: false,
        };
        assert!(matches!(worker.process(morsel).unwrap(), Outcome::Done(_)));
    }
    let memory = worker.memory_size();
    let State::Aggregate(mut tables) = std::mem::replace(&mut worker.state, State::Rows) else {
        panic!("groups are missing");
    };
    drop(worker);
    let table = tables.remove(0);
    let grouped = table.last_groups().is_some();
    let mut groups = Groups::new();
    for group in 0..table.groups() {
        let key = if grouped {
            format!("{:?}", table.key(0, group, group + 1).get(0))
        } else {
            String::new()
        };
        assert!(table.output(0, group, group + 1).is_empty());
        let count = table.output(1, group, group + 1)[0].get(0);
        let list = |call: usize| lists.states[call].get(group).cloned().unwrap_or_default();
        groups.insert(key, (count, list(0), list(1)));
    }
    assert!(memory > lists.memory_size());
    (groups, table.groups())
}

#[test]
fn groups_are_numbered_and_filters_respected() {
    let (groups, _) = run(pipeline(true, None));
    assert_eq!(groups.len(), 97);
    let mut all = 0;
    for (count, list, few) in groups.values() {
        assert_eq!(*count, Scalar::Int(list.len() as i64));
        assert!(list.iter().all(|value| value % 97 == list[0] % 97) && list.is_sorted());
        let wanted: Vec<i64> = list.iter().copied().filter(|value| *value < 1000).collect();
        assert_eq!(*few, wanted);
        all += list.len();
    }
    assert_eq!(all, ROWS);
}

#[test]
fn one_group_takes_all_rows() {
    let (groups, count) = run(pipeline(false, None));
    assert_eq!(count, 1);
    assert_eq!(groups[""].1, (0..ROWS as i64).collect::<Vec<_>>());
    assert_eq!(groups[""].2, (0..1000).collect::<Vec<_>>());
}

#[test]
fn passes_make_up_the_whole() {
    let (wanted, _) = run(pipeline(true, None));
    let mut found = Groups::new();
    let passes = Pass::ALL.split(4).flat_map(|pass| match pass.number {
        2 => pass.split(4).collect::<Vec<_>>(),
        _ => vec![pass],
    });
    for pass in passes {
        let (groups, count) = run(pipeline(true, Some(pass)));
        assert!(count < 60, "a pass took {count} of 97 groups");
        for (key, group) in groups {
            assert!(found.insert(key, group).is_none(), "a group came in two passes");
        }
    }
    assert_eq!(found, wanted);
}

#[test]
fn few_groups_and_functions_that_must_not_be_repeated_are_not_split() {
    let transitions = |repeatable, of| Transitions {
        calls: Vec::new(),
        repeatable,
        pass: Some(Pass { number: 0, of }),
    };
    assert!(transitions(true, 1).may_split(1000));
    assert!(!transitions(true, 1).may_split(10));
    assert!(!transitions(false, 1).may_split(1000));
    assert!(!transitions(true, MOST_PASSES).may_split(1000));
}
