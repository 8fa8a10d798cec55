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
    /// By call, set and group.
    states: Vec<Vec<Vec<Vec<i64>>>>,
}

impl External for Lists {
    fn evaluate(&mut self, _: usize, _: &[Column], _: usize) -> Result<Column, ExecError> {
        Err(ExecError::Unsupported)
    }

    fn advance(&mut self, call: usize, rows: CallRows<'_>) -> Result<(), ExecError> {
        self.states.resize(self.states.len().max(call + 1), Vec::new());
        let sets = &mut self.states[call];
        sets.resize(rows.sets.len(), Vec::new());
        for (states, set) in sets.iter_mut().zip(rows.sets) {
            states.resize(set.known, Vec::new());
            for row in 0..rows.len {
                let Scalar::Int(value) = rows.args[0].get(row) else { panic!("no value") };
                let group = set.groups.as_ref().map_or(0, |groups| groups[row] as usize);
                states[group].push(value);
            }
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        self.states.iter().flatten().flatten().map(|list| list.len() * 8).sum()
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

/// By each of `sets`: with the key where it is true, without any where not.
fn pipeline(sets: &[bool], pass: Option<Pass>) -> Pipeline {
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
            sets: sets.iter().map(|&keyed| set(keyed, &aggregates)).collect(),
            keys: vec![column(0)],
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

fn set(keyed: bool, aggregates: &[AggSpec]) -> GroupingSet {
    let types = if keyed { vec![ValueType::Bytes] } else { Vec::new() };
    GroupingSet::whole(GroupSpec::new(types, aggregates.to_vec()))
}

/// By key: its count, and what was listed of it.
type Groups = BTreeMap<String, (Scalar, Vec<i64>, Vec<i64>)>;

/// The groups of each set, and how many the table counts.
fn run(pipeline: Pipeline) -> Vec<(Groups, usize)> {
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
    let State::Aggregate(tables) = std::mem::replace(&mut worker.state, State::Rows) else {
        panic!("groups are missing");
    };
    drop(worker);
    assert!(memory > lists.memory_size());
    tables
        .iter()
        .enumerate()
        .map(|(set, table)| (groups_of(table, set, &lists), table.groups()))
        .collect()
}

fn groups_of(table: &Aggregator, set: usize, lists: &Lists) -> Groups {
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
        let list = |call: usize| lists.states[call][set].get(group).cloned().unwrap_or_default();
        groups.insert(key, (count, list(0), list(1)));
    }
    groups
}

/// As [`run`] by one set.
fn run_one(keyed: bool, pass: Option<Pass>) -> (Groups, usize) {
    run(pipeline(&[keyed], pass)).remove(0)
}

#[test]
fn groups_are_numbered_and_filters_respected() {
    let (groups, _) = run_one(true, None);
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
    let (groups, count) = run_one(false, None);
    assert_eq!(count, 1);
    assert_eq!(groups[""].1, (0..ROWS as i64).collect::<Vec<_>>());
    assert_eq!(groups[""].2, (0..1000).collect::<Vec<_>>());
}

#[test]
fn each_set_has_states_of_its_own() {
    let found = run(pipeline(&[true, false, true], None));
    let wanted = [true, false, true].map(|keyed| run_one(keyed, None));
    assert_eq!(found, wanted);
}

#[test]
#[should_panic(expected = "a pass is over one set")]
fn a_pass_over_several_sets_is_a_bug() {
    run(pipeline(&[true, false], Some(Pass { number: 0, of: 2 })));
}

#[test]
fn passes_make_up_the_whole() {
    let (wanted, _) = run_one(true, None);
    let mut found = Groups::new();
    let passes = Pass::ALL.split(4).flat_map(|pass| match pass.number {
        2 => pass.split(4).collect::<Vec<_>>(),
        _ => vec![pass],
    });
    for pass in passes {
        let (groups, count) = run_one(true, Some(pass));
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
