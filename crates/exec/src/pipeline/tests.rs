//! Filters that meet what kernels cannot hold, and batches that go into several grouping sets.

use super::*;
use crate::agg::{AggKind, AggSpec, GroupSpec, ValueType};
use crate::column::Data;
use crate::expr::{ArithOp, NumberKind};

const ROWS: usize = 4;

/// Decimals of which the square of the last does not fit, and integers.
fn batch() -> StoredBatch {
    let wide = Data::Decimal(Arc::new(vec![3, 5, 7, 10i128.pow(30)]), 0);
    let small = Data::Int(Arc::new(vec![1, 2, 1, 2]));
    let columns = [wide, small].map(|data| Column { data, nulls: None, len: ROWS });
    StoredBatch {
        group: 0,
        rows: ROWS,
        columns: columns.map(StoredColumn::Ready).into(),
        kinds: [ColumnKind::Decimal(0), ColumnKind::Int].into(),
        table_columns: [0, 1].into(),
    }
}

fn morsel(complete: bool) -> Morsel {
    Morsel {
        sequence: 9,
        batch: batch(),
        selection: Some(vec![0, 2, 3]),
        filtered: false,
        complete,
        unfiltered: false,
    }
}

fn pipeline(sink: Sink) -> Arc<Pipeline> {
    let column = || Box::new(Expr::Column(0));
    let kind = NumberKind::Decimal;
    let square = Expr::Arith { op: ArithOp::Mul, kind, left: column(), right: column() };
    let over = Box::new(Expr::Const(Scalar::Decimal(20, 0)));
    let filter = Expr::Compare { op: CompareOp::Gt, left: Box::new(square), right: over };
    Arc::new(Pipeline {
        kinds: [ColumnKind::Decimal(0), ColumnKind::Int].into(),
        table_columns: [0, 1].into(),
        filters: vec![filter],
        sink,
        params: Vec::new(),
        removed: vec![AtomicU64::new(0)],
        bound: Mutex::default(),
        magnitude: Default::default(),
        unfiltered: false,
        phases: None,
    })
}

fn is_unfiltered(block: &RowBlock) {
    assert_eq!(block.len, 3);
    assert_eq!(block.places.as_deref(), Some(&vec![0, 2, 3]));
    assert_eq!(block.columns[0].words, [1, 1, 2]);
    let read = block.unfiltered.as_ref().expect("the rows were not filtered");
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].0, 0);
    assert_eq!(read[0].1.get(2), Scalar::Decimal(10i128.pow(30), 0));
}

#[test]
fn rows_are_handed_out_unfiltered_where_a_filter_cannot_tell() {
    let pipeline = pipeline(Sink::Rows(vec![(1, DatumKind::Integer)]));
    let mut worker = Worker::new(Arc::clone(&pipeline), None);
    match worker.process(morsel(true)) {
        Ok(Outcome::Rows(block)) => is_unfiltered(&block),
        other => panic!("{other:?}"),
    }
    // The same when columns are still to be brought.
    let Ok(Outcome::Wanting(mut wanting)) = worker.process(morsel(false)) else {
        panic!("the sink's columns are not there")
    };
    wanting.complete = true;
    match worker.process(wanting) {
        Ok(Outcome::Rows(block)) => is_unfiltered(&block),
        other => panic!("{other:?}"),
    }
    assert_eq!(pipeline.removed[0].load(Ordering::Relaxed), 0);
    // Without the row that does not fit, the filter tells.
    let narrow = Morsel { selection: Some(vec![0, 1, 2]), ..morsel(true) };
    match worker.process(narrow) {
        Ok(Outcome::Rows(block)) => {
            assert_eq!(block.places.as_deref(), Some(&vec![1, 2]));
            assert!(block.unfiltered.is_none());
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(pipeline.removed[0].load(Ordering::Relaxed), 1);
}

#[test]
fn a_batch_goes_into_each_grouping_set() {
    let aggregates = vec![AggSpec::plain(AggKind::CountStar)];
    let set = |types: &[ValueType], keys: &[usize]| GroupingSet {
        spec: GroupSpec::new(types.to_vec(), aggregates.clone()),
        keys: keys.to_vec(),
    };
    let sink = Sink::Aggregate {
        sets: vec![
            set(&[ValueType::Int], &[1]),
            set(&[], &[]),
            set(&[ValueType::Decimal(0), ValueType::Int], &[0, 1]),
        ],
        keys: vec![Expr::Column(0), Expr::Column(1)],
        args: vec![None],
        conditions: vec![None],
        transitions: Default::default(),
    };
    let mut worker = Worker::new(pipeline(sink), None);
    // Groups are not handed out unfiltered.
    assert!(matches!(worker.process(morsel(true)), Err(ExecError::Unsupported)));
    let whole = Morsel { filtered: true, selection: None, ..morsel(true) };
    assert!(matches!(worker.process(whole), Ok(Outcome::Done(9))));
    let State::Aggregate(tables) = &worker.state else { panic!("there are groups") };
    assert_eq!(tables.iter().map(Aggregator::groups).collect::<Vec<_>>(), [2, 1, 4]);
    assert_eq!(tables[0].output(0, 0, 2)[0].get(1), Scalar::Int(2));
    assert_eq!(tables[1].output(0, 0, 1)[0].get(0), Scalar::Int(4));
}
