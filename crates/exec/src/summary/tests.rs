use columnar_format::PhysicalType;

use super::*;
use crate::agg::{AggSpec, GroupSpec, ValueType};

const KINDS: [ColumnKind; 5] = [
    ColumnKind::Int,
    ColumnKind::Float,
    ColumnKind::Bytes,
    ColumnKind::Unsigned(4),
    ColumnKind::Bool,
];

fn pipeline(aggregates: Vec<(AggSpec, Option<Expr>)>) -> Pipeline {
    let (specs, args): (Vec<_>, Vec<_>) = aggregates.into_iter().unzip();
    let conditions = args.iter().map(|_| None).collect();
    Pipeline {
        kinds: KINDS.into(),
        table_columns: (0..KINDS.len()).collect(),
        filters: Vec::new(),
        sink: Sink::Aggregate {
            sets: vec![GroupingSet::whole(GroupSpec::new(Vec::new(), specs))],
            keys: Vec::new(),
            args,
            conditions,
            transitions: Default::default(),
        },
        params: vec![Scalar::Int(5), Scalar::Null],
        removed: Vec::new(),
        bound: Default::default(),
        magnitude: Default::default(),
        unfiltered: false,
        phases: None,
    }
}

fn plan(kind: AggKind, arg: Option<Expr>) -> Option<SummaryPlan> {
    SummaryPlan::of(&pipeline(vec![(AggSpec::plain(kind), arg)]))
}

fn answer(kind: AggKind, arg: Option<Expr>, rows: u64, stored: Stored<'_>) -> Option<Summary> {
    let plan = plan(kind, arg).expect("the aggregate qualifies");
    let mut all = plan.answer(rows, &|_| Some(Known::Stored(stored)))?;
    assert_eq!(all.len(), 1);
    all.pop()
}

const SIGNED: ColumnSpec = ColumnSpec::new(PhysicalType::Int32, BoundsOrder::Signed);
const COUNT: AggKind = AggKind::Count;
const SUM: AggKind = AggKind::Sum(NumType::Int);
const AVG: AggKind = AggKind::Avg(NumType::Int);
const MIN: AggKind = AggKind::Min(ValueType::Int);
const MAX: AggKind = AggKind::Max(ValueType::Int);

/// Ten rows of an integer column, three of them NULL.
fn ints<'a>(min: &'a Bound, max: &'a Bound) -> Stored<'a> {
    let (min, max) = (Some(min), Some(max));
    Stored { spec: SIGNED, rows: 10, nulls: 3, min, max, sum: Some(40), whole: true }
}

fn column(number: usize) -> Option<Expr> {
    Some(Expr::Column(number))
}

fn arith(op: ArithOp, kind: NumberKind, left: Expr, right: Expr) -> Expr {
    Expr::Arith { op, kind, left: Box::new(left), right: Box::new(right) }
}

fn int(value: i64) -> Expr {
    Expr::Const(Scalar::Int(value))
}

fn extreme(value: Scalar) -> Option<Summary> {
    Some(Summary::Extreme(Some(value)))
}

#[test]
fn whole_chunks_of_integers() {
    let (low, high) = (Bound::Int(-4), Bound::Int(20));
    let all = ints(&low, &high);
    assert_eq!(answer(AggKind::CountStar, None, 10, all), Some(Summary::Count(10)));
    assert_eq!(answer(COUNT, column(0), 10, all), Some(Summary::Count(7)));
    assert_eq!(answer(SUM, column(0), 10, all), Some(Summary::Sum { sum: 40, count: 7 }));
    assert_eq!(answer(AVG, column(0), 10, all), Some(Summary::Sum { sum: 40, count: 7 }));
    assert_eq!(answer(MIN, column(0), 10, all), extreme(Scalar::Int(-4)));
    assert_eq!(answer(MAX, column(0), 10, all), extreme(Scalar::Int(20)));
    let nulls = Stored { nulls: 10, min: None, max: None, sum: Some(0), ..all };
    assert_eq!(answer(COUNT, column(0), 10, nulls), Some(Summary::Count(0)));
    assert_eq!(answer(SUM, column(0), 10, nulls), Some(Summary::Sum { sum: 0, count: 0 }));
    assert_eq!(answer(MAX, column(0), 10, nulls), Some(Summary::Extreme(None)));
    let unknown = Stored { min: None, max: None, sum: None, ..all };
    for kind in [SUM, AVG, MIN, MAX] {
        assert_eq!(answer(kind, column(0), 10, unknown), None);
    }
}

#[test]
fn some_rows_of_a_chunk() {
    let (low, high) = (Bound::Int(-4), Bound::Int(20));
    let some = Stored { whole: false, ..ints(&low, &high) };
    assert_eq!(answer(AggKind::CountStar, None, 6, some), Some(Summary::Count(6)));
    for kind in [COUNT, SUM, AVG, MIN, MAX] {
        assert_eq!(answer(kind, column(0), 6, some), None);
    }
    let without = Stored { nulls: 0, ..some };
    assert_eq!(answer(COUNT, column(0), 6, without), Some(Summary::Count(6)));
    assert_eq!(answer(MIN, column(0), 6, without), None);
    let only = Stored { nulls: 10, min: None, max: None, ..some };
    assert_eq!(answer(COUNT, column(0), 6, only), Some(Summary::Count(0)));
    assert_eq!(answer(MIN, column(0), 6, only), Some(Summary::Extreme(None)));
    let equal = Stored { max: Some(&low), ..without };
    assert_eq!(answer(SUM, column(0), 6, equal), Some(Summary::Sum { sum: -24, count: 6 }));
    assert_eq!(answer(MAX, column(0), 6, equal), extreme(Scalar::Int(-4)));
    let equal_or_null = Stored { nulls: 1, ..equal };
    assert_eq!(answer(SUM, column(0), 6, equal_or_null), None);
}

#[test]
fn columns_plus_constants() {
    let (low, high) = (Bound::Int(-4), Bound::Int(20));
    let all = ints(&low, &high);
    let wide = Expr::Cast { to: CastTo::Int64, arg: Box::new(Expr::Column(0)) };
    let plus = arith(ArithOp::Add, NumberKind::Int64, int(10), wide);
    let both = arith(ArithOp::Sub, NumberKind::Int64, plus, int(3));
    let sum = Summary::Sum { sum: 40 + 7 * 7, count: 7 };
    assert_eq!(answer(SUM, Some(both.clone()), 10, all), Some(sum));
    assert_eq!(answer(MAX, Some(both.clone()), 10, all), extreme(Scalar::Int(27)));
    assert_eq!(answer(COUNT, Some(both.clone()), 10, all), Some(Summary::Count(7)));
    let param = arith(ArithOp::Add, NumberKind::Int32, Expr::Column(0), Expr::Param(0));
    assert_eq!(answer(MIN, Some(param), 10, all), extreme(Scalar::Int(1)));

    // A step that some value could fail at is left to the rows, even if a later one makes up for it.
    let far = arith(ArithOp::Add, NumberKind::Int32, Expr::Column(0), int(i32::MAX as i64 - 19));
    for kind in [COUNT, SUM, MIN, MAX] {
        assert_eq!(answer(kind, Some(far.clone()), 10, all), None);
        let back = arith(ArithOp::Sub, NumberKind::Int32, far.clone(), int(100));
        assert_eq!(answer(kind, Some(back), 10, all), None);
        let unknown = Stored { min: None, ..all };
        assert_eq!(answer(kind, Some(both.clone()), 10, unknown), None);
    }
    let near = arith(ArithOp::Add, NumberKind::Int32, Expr::Column(0), int(i32::MAX as i64 - 20));
    assert_eq!(answer(MAX, Some(near), 10, all), extreme(Scalar::Int(i32::MAX.into())));

    let negated = arith(ArithOp::Sub, NumberKind::Int32, int(1), Expr::Column(0));
    let product = arith(ArithOp::Mul, NumberKind::Int32, Expr::Column(0), int(2));
    let null = arith(ArithOp::Add, NumberKind::Int32, Expr::Column(0), Expr::Param(1));
    let float = arith(ArithOp::Add, NumberKind::Float64, Expr::Column(1), int(2));
    let from_float = Expr::Cast { to: CastTo::Int32, arg: Box::new(Expr::Column(1)) };
    for expr in [negated, product, null, float, from_float] {
        assert!(plan(SUM, Some(expr.clone())).is_none(), "{expr:?}");
    }
}

#[test]
fn constants_and_columns_younger_than_their_group() {
    let missing = |kind, arg, value: Scalar| {
        let plan = plan(kind, arg).expect("the aggregate qualifies");
        plan.answer(4, &|_| Some(Known::Constant(value.clone()))).and_then(|mut all| all.pop())
    };
    let seven = || Scalar::Int(7);
    assert_eq!(missing(COUNT, column(0), seven()), Some(Summary::Count(4)));
    assert_eq!(missing(COUNT, column(0), Scalar::Null), Some(Summary::Count(0)));
    assert_eq!(missing(SUM, column(0), seven()), Some(Summary::Sum { sum: 28, count: 4 }));
    assert_eq!(missing(AVG, column(0), Scalar::Null), Some(Summary::Sum { sum: 0, count: 0 }));
    assert_eq!(missing(MIN, column(0), seven()), extreme(seven()));
    let plus = arith(ArithOp::Add, NumberKind::Int16, Expr::Column(0), int(32_760));
    assert_eq!(missing(MAX, Some(plus.clone()), seven()), extreme(Scalar::Int(32_767)));
    assert_eq!(missing(MAX, Some(plus), Scalar::Int(8)), None);
    assert_eq!(missing(AggKind::Min(ValueType::Float), column(1), Scalar::Float(0.0)), None);
    assert_eq!(missing(COUNT, Some(int(1)), Scalar::Null), Some(Summary::Count(4)));
    assert_eq!(missing(COUNT, Some(Expr::Param(1)), seven()), Some(Summary::Count(0)));
    assert_eq!(
        missing(SUM, Some(Expr::Param(0)), seven()),
        Some(Summary::Sum { sum: 20, count: 4 })
    );

    // Of no rows nothing comes.
    let plan = plan(MIN, Some(Expr::Param(0))).expect("the aggregate qualifies");
    assert_eq!(plan.answer(0, &|_| None), Some(vec![Summary::Extreme(None)]));
}

#[test]
fn bounds_that_are_results() {
    let spec = |physical, order| ColumnSpec::new(physical, order);
    let floats = spec(PhysicalType::Float64, BoundsOrder::Float);
    let texts = spec(PhysicalType::Bytes, BoundsOrder::Bytewise);
    let oids = spec(PhysicalType::Int32, BoundsOrder::Unsigned);
    let bools = spec(PhysicalType::Bool, BoundsOrder::Signed);
    let text = |exact| Bound::Bytes { bytes: b"abc".as_slice().into(), exact };
    let greatest = |kind, at, spec, bound: &Bound| {
        let (min, max) = (Some(bound), Some(bound));
        let stored = Stored { spec, rows: 3, nulls: 1, min, max, sum: None, whole: true };
        answer(kind, column(at), 3, stored)
    };
    let float = AggKind::Max(ValueType::Float);
    assert_eq!(greatest(float, 1, floats, &Bound::Float(-2.5)), extreme(Scalar::Float(-2.5)));
    let infinite = Bound::Float(f64::INFINITY);
    assert_eq!(greatest(float, 1, floats, &infinite), extreme(Scalar::Float(f64::INFINITY)));
    for value in [0.0, -0.0, f64::NAN] {
        assert_eq!(greatest(float, 1, floats, &Bound::Float(value)), None);
    }
    let bytes = AggKind::Max(ValueType::Bytes);
    let abc = Scalar::Bytes(b"abc".as_slice().into());
    assert_eq!(greatest(bytes, 2, texts, &text(true)), extreme(abc));
    assert_eq!(greatest(bytes, 2, texts, &text(false)), None);
    let large = Bound::Int(u32::MAX.into());
    assert_eq!(greatest(MAX, 3, oids, &large), extreme(Scalar::Int(u32::MAX.into())));
    assert_eq!(greatest(AggKind::BoolOr, 4, bools, &Bound::Int(1)), extreme(Scalar::Bool(true)));

    // Stored before the column's type was changed.
    assert_eq!(greatest(MAX, 3, SIGNED, &Bound::Int(-1)), None);
    assert_eq!(greatest(MAX, 0, oids, &large), None);
    assert_eq!(greatest(SUM, 0, oids, &large), None);
}

#[test]
fn what_does_not_qualify() {
    let refused =
        |spec: AggSpec, arg| assert!(SummaryPlan::of(&pipeline(vec![(spec, arg)])).is_none());
    refused(AggSpec::plain(AggKind::Sum(NumType::Float)), column(1));
    refused(AggSpec::plain(AggKind::Sum(NumType::Decimal(2))), column(0));
    refused(AggSpec::plain(AggKind::BitOr), column(0));
    refused(AggSpec::plain(AggKind::Moments(NumType::Int)), column(0));
    let distinct = Some(ValueType::Int);
    refused(AggSpec { kind: COUNT, distinct, filtered: false }, column(0));
    refused(AggSpec { kind: MIN, distinct: None, filtered: true }, column(0));
    refused(AggSpec::plain(COUNT), Some(Expr::CharLength(Box::new(Expr::Column(2)))));
    let spec = AggSpec { kind: MIN, distinct, filtered: false };
    assert!(SummaryPlan::of(&pipeline(vec![(spec, column(0))])).is_some());

    let mut grouped = pipeline(vec![(AggSpec::plain(MIN), column(0))]);
    grouped.sink = Sink::Aggregate {
        sets: vec![GroupingSet::whole(GroupSpec::new(
            vec![ValueType::Int],
            vec![AggSpec::plain(MIN)],
        ))],
        keys: vec![Expr::Column(0)],
        args: vec![column(0)],
        conditions: vec![None],
        transitions: Default::default(),
    };
    assert!(SummaryPlan::of(&grouped).is_none());
    let mut sets = pipeline(vec![(AggSpec::plain(MIN), column(0))]);
    if let Sink::Aggregate { sets, .. } = &mut sets.sink {
        sets.push(sets[0].clone());
    }
    assert!(SummaryPlan::of(&sets).is_none());
    let mut rows = pipeline(Vec::new());
    rows.sink = Sink::Rows(Vec::new());
    assert!(SummaryPlan::of(&rows).is_none());

    // One aggregate that is not known leaves all to the rows.
    let both = vec![(AggSpec::plain(AggKind::CountStar), None), (AggSpec::plain(MAX), column(0))];
    let plan = SummaryPlan::of(&pipeline(both)).expect("both qualify");
    assert_eq!(plan.answer(3, &|_| None), None);
    let five = || Some(Known::Constant(Scalar::Int(5)));
    let wanted = vec![Summary::Count(3), Summary::Extreme(Some(Scalar::Int(5)))];
    assert_eq!(plan.answer(3, &|_| five()), Some(wanted));
}

#[test]
fn many_rows_do_not_overflow() {
    let value = Scalar::Int(i64::MAX);
    let plan = plan(SUM, column(0)).expect("the aggregate qualifies");
    let known = |_| Some(Known::Constant(value.clone()));
    let sum = i128::from(i64::MAX) * i128::from(u32::MAX);
    let count = u64::from(u32::MAX);
    assert_eq!(plan.answer(count, &known), Some(vec![Summary::Sum { sum, count }]));
}
