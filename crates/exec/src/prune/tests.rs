use std::sync::Arc;

use super::*;
use crate::expr::TimeUnit;

fn column() -> Box<Expr> {
    Box::new(Expr::Column(0))
}

fn int(value: i64) -> Box<Expr> {
    Box::new(Expr::Const(Scalar::Int(value)))
}

fn compare_with(op: CompareOp, value: Box<Expr>) -> Expr {
    Expr::Compare { op, left: column(), right: value }
}

fn ints(min: i64, max: i64, nulls: u32) -> ColumnBounds {
    ColumnBounds {
        min: Some(Bound::Int(min)),
        max: Some(Bound::Int(max)),
        nulls,
        rows: 10,
        order: BoundsOrder::Signed,
    }
}

fn texts(min: (&str, bool), max: Option<(&str, bool)>) -> ColumnBounds {
    let bound =
        |(bytes, exact): (&str, bool)| Bound::Bytes { bytes: bytes.as_bytes().into(), exact };
    ColumnBounds {
        min: Some(bound(min)),
        max: max.map(bound),
        nulls: 0,
        rows: 10,
        order: BoundsOrder::Bytewise,
    }
}

/// Whether a row may match, and whether all do.
fn judge(filter: &Expr, bounds: &ColumnBounds) -> (bool, bool) {
    let of = |_| Some(bounds.clone());
    (may_match(filter, &of, &[Scalar::Int(7)]), always_true(filter, &of, &[Scalar::Int(7)]))
}

const NONE: (bool, bool) = (false, false);
const SOME: (bool, bool) = (true, false);
const ALL: (bool, bool) = (true, true);

#[test]
fn comparisons_with_constants() {
    let bounds = ints(10, 20, 0);
    let cases = [
        (CompareOp::Eq, 9, NONE),
        (CompareOp::Eq, 10, SOME),
        (CompareOp::Eq, 21, NONE),
        (CompareOp::Ne, 9, ALL),
        (CompareOp::Ne, 15, SOME),
        (CompareOp::Lt, 10, NONE),
        (CompareOp::Lt, 11, SOME),
        (CompareOp::Lt, 21, ALL),
        (CompareOp::Le, 9, NONE),
        (CompareOp::Le, 10, SOME),
        (CompareOp::Le, 20, ALL),
        (CompareOp::Gt, 20, NONE),
        (CompareOp::Gt, 9, ALL),
        (CompareOp::Ge, 21, NONE),
        (CompareOp::Ge, 20, SOME),
        (CompareOp::Ge, 10, ALL),
    ];
    for (op, value, expected) in cases {
        assert_eq!(judge(&compare_with(op, int(value)), &bounds), expected, "{op:?} {value}");
        // A NULL among the rows is enough for not all to match.
        let with_null = judge(&compare_with(op, int(value)), &ints(10, 20, 1));
        assert_eq!(with_null, (expected.0, false), "{op:?} {value}");
    }
    assert_eq!(judge(&compare_with(CompareOp::Eq, int(5)), &ints(5, 5, 0)), ALL);
    assert_eq!(judge(&compare_with(CompareOp::Ne, int(5)), &ints(5, 5, 0)), NONE);
    // A parameter: 7. On the left: 7 < column.
    let param =
        Expr::Compare { op: CompareOp::Lt, left: Box::new(Expr::Param(0)), right: column() };
    assert_eq!(judge(&param, &bounds), ALL);
    assert_eq!(judge(&param, &ints(1, 7, 0)), NONE);
    let null = compare_with(CompareOp::Eq, Box::new(Expr::Const(Scalar::Null)));
    assert_eq!(judge(&null, &bounds), NONE);
}

#[test]
fn unknown_bounds_exclude_nothing() {
    let unknown = ColumnBounds { min: None, max: None, ..ints(0, 0, 0) };
    for op in [CompareOp::Eq, CompareOp::Lt, CompareOp::Ne] {
        assert_eq!(judge(&compare_with(op, int(1)), &unknown), SOME);
        let filter = compare_with(op, int(1));
        assert!(may_match(&filter, &|_| None, &[]));
        assert!(!always_true(&filter, &|_| None, &[]));
    }
    // Another kind of value, an order that kernels do not have.
    let float = compare_with(CompareOp::Eq, Box::new(Expr::Const(Scalar::Float(100.0))));
    assert_eq!(judge(&float, &ints(1, 2, 0)), SOME);
    let unsigned = ColumnBounds { order: BoundsOrder::Unsigned, ..ints(5, -1, 0) };
    assert_eq!(judge(&compare_with(CompareOp::Eq, int(1)), &unsigned), SOME);
    let unsigned = ColumnBounds { order: BoundsOrder::Unsigned, ..ints(5, 9, 0) };
    assert_eq!(judge(&compare_with(CompareOp::Eq, int(1)), &unsigned), NONE);
}

#[test]
fn nulls() {
    let none = ColumnBounds { nulls: 10, ..ints(0, 0, 0) };
    assert_eq!(judge(&Expr::IsNull(column()), &none), ALL);
    assert_eq!(judge(&Expr::IsNotNull(column()), &none), NONE);
    assert_eq!(judge(&Expr::IsNull(column()), &ints(1, 2, 3)), SOME);
    assert_eq!(judge(&Expr::IsNull(column()), &ints(1, 2, 0)), NONE);
    assert_eq!(judge(&Expr::IsNotNull(column()), &ints(1, 2, 0)), ALL);
    assert_eq!(judge(&compare_with(CompareOp::Ne, int(1)), &none), NONE);
    let length = Expr::Compare {
        op: CompareOp::Gt,
        left: Box::new(Expr::CharLength(column())),
        right: int(0),
    };
    assert_eq!(judge(&length, &none), NONE);
    assert_eq!(judge(&length, &texts(("a", true), None)), SOME);
    let distinct = Expr::DistinctFrom { left: column(), right: int(1), negated: false };
    assert_eq!(judge(&distinct, &none), ALL);
    assert_eq!(judge(&distinct, &ints(1, 1, 0)), NONE);
    assert_eq!(judge(&distinct, &ints(1, 1, 1)), SOME);
}

#[test]
fn logic_and_lists() {
    let bounds = ints(10, 20, 0);
    let eq = |value| compare_with(CompareOp::Eq, int(value));
    let ge = |value| compare_with(CompareOp::Ge, int(value));
    assert_eq!(judge(&Expr::And(vec![ge(10), eq(30)]), &bounds), NONE);
    assert_eq!(judge(&Expr::And(vec![ge(10), eq(15)]), &bounds), SOME);
    assert_eq!(judge(&Expr::And(vec![ge(10), ge(5)]), &bounds), ALL);
    assert_eq!(judge(&Expr::Or(vec![eq(1), eq(30)]), &bounds), NONE);
    assert_eq!(judge(&Expr::Or(vec![eq(1), eq(15)]), &bounds), SOME);
    assert_eq!(judge(&Expr::Or(vec![eq(1), ge(5)]), &bounds), ALL);
    assert_eq!(judge(&Expr::Not(Box::new(ge(10))), &bounds), NONE);
    assert_eq!(judge(&Expr::Not(Box::new(ge(21))), &bounds), ALL);
    let is_true = |arg| Expr::BoolTest { test: BoolTest::IsNotTrue, arg: Box::new(arg) };
    assert_eq!(judge(&is_true(ge(10)), &ints(10, 20, 1)), SOME);
    assert_eq!(judge(&is_true(ge(10)), &bounds), NONE);
    let list = |values: Vec<Scalar>, negated| Expr::InList {
        arg: column(),
        list: Arc::from(values),
        negated,
    };
    let one = |value| vec![Scalar::Int(value), Scalar::Int(100)];
    assert_eq!(judge(&list(one(9), false), &bounds), NONE);
    assert_eq!(judge(&list(one(9), true), &bounds), ALL);
    assert_eq!(judge(&list(one(12), false), &bounds), SOME);
    assert_eq!(judge(&list(one(5), false), &ints(5, 5, 0)), ALL);
    assert_eq!(judge(&list(vec![], true), &bounds), ALL);
    assert_eq!(judge(&list(vec![], false), &bounds), NONE);
    // NOT IN with a NULL is never true.
    assert_eq!(judge(&list(vec![Scalar::Null, Scalar::Int(1)], true), &bounds), NONE);
    // Columns of booleans are integers to bounds.
    assert_eq!(judge(&Expr::Column(0), &ints(1, 1, 0)), ALL);
    assert_eq!(judge(&Expr::Column(0), &ints(0, 0, 0)), NONE);
    assert_eq!(judge(&Expr::Column(0), &ints(0, 1, 0)), SOME);
}

#[test]
fn cut_bounds_of_strings() {
    let text = |value: &str| Box::new(Expr::Const(Scalar::Bytes(value.as_bytes().into())));
    // Values between something longer than "abc" and something below "abf".
    let bounds = texts(("abc", false), Some(("abf", false)));
    assert_eq!(judge(&compare_with(CompareOp::Eq, text("abcde")), &bounds), SOME);
    assert_eq!(judge(&compare_with(CompareOp::Eq, text("ab")), &bounds), NONE);
    assert_eq!(judge(&compare_with(CompareOp::Gt, text("abg")), &bounds), NONE);
    assert_eq!(judge(&compare_with(CompareOp::Ge, text("abc")), &bounds), ALL);
    let open = texts(("abc", true), None);
    assert_eq!(judge(&compare_with(CompareOp::Gt, text("zz")), &open), SOME);
    let like = |pattern: &str, negated| Expr::Like {
        arg: column(),
        pattern: LikePattern::new(pattern.as_bytes(), Some(b'\\'), false, true).unwrap().into(),
        negated,
    };
    assert_eq!(judge(&like("abd%", false), &bounds), SOME);
    assert_eq!(judge(&like("abcdefg%", false), &bounds), SOME);
    assert_eq!(judge(&like("abg%", false), &bounds), NONE);
    assert_eq!(judge(&like("aa%x", false), &bounds), NONE);
    assert_eq!(judge(&like("ab%", false), &bounds), ALL);
    assert_eq!(judge(&like("ab%", true), &bounds), NONE);
    assert_eq!(judge(&like("ab%x", false), &bounds), SOME);
    assert_eq!(judge(&like("%x", false), &bounds), SOME);
    assert_eq!(judge(&like("%", false), &bounds), ALL);
    assert_eq!(judge(&like("zz", false), &bounds), NONE);
    assert_eq!(judge(&like("abg%", true), &bounds), ALL);
}

#[test]
fn functions_that_never_fall() {
    const DAY: i64 = 86_400_000_000;
    let of = |expr: Expr, op, value| Expr::Compare { op, left: Box::new(expr), right: int(value) };
    let bounds = ints(DAY + 5, 2 * DAY + 5, 0);
    let day = || Expr::DateTrunc { unit: TimeUnit::Day, arg: column() };
    assert_eq!(judge(&of(day(), CompareOp::Lt, DAY), &bounds), NONE);
    assert_eq!(judge(&of(day(), CompareOp::Ge, DAY), &bounds), ALL);
    assert_eq!(judge(&of(day(), CompareOp::Gt, 2 * DAY), &bounds), NONE);
    let date = || Expr::TimestampToDate(column());
    assert_eq!(judge(&of(date(), CompareOp::Eq, 0), &bounds), NONE);
    assert_eq!(judge(&of(date(), CompareOp::Eq, 2), &bounds), SOME);
    let timestamp = || Expr::DateToTimestamp(column());
    assert_eq!(judge(&of(timestamp(), CompareOp::Gt, 3 * DAY), &ints(1, 3, 0)), NONE);
    let widened = || Expr::Cast { to: CastTo::Int64, arg: column() };
    assert_eq!(judge(&of(widened(), CompareOp::Gt, 3), &ints(1, 3, 0)), NONE);
    let float = Expr::Compare {
        op: CompareOp::Gt,
        left: Box::new(Expr::Cast { to: CastTo::Float64, arg: column() }),
        right: Box::new(Expr::Const(Scalar::Float(3.5))),
    };
    assert_eq!(judge(&float, &ints(1, 3, 0)), NONE);
    // NaN is above all.
    let floats = ColumnBounds {
        min: Some(Bound::Float(1.0)),
        max: Some(Bound::Float(f64::NAN)),
        order: BoundsOrder::Float,
        ..ints(0, 0, 0)
    };
    assert_eq!(judge(&float, &floats), SOME);
}

/// Whether a row may match where bounds leave all open and the column holds none but these values; and what was looked up.
fn look_up(filter: &Expr, bounds: &ColumnBounds, held: &[Scalar]) -> (bool, Vec<Scalar>) {
    let asked = std::cell::RefCell::new(Vec::new());
    let holds = |at: usize, value: &Scalar| {
        assert_eq!(at, 0);
        asked.borrow_mut().push(value.clone());
        held.contains(value)
    };
    let params = [Scalar::Int(7), Scalar::Null];
    let matches =
        may_match_with_blooms(filter, &|at| (at == 0).then(|| bounds.clone()), &holds, &params);
    let asked = asked.into_inner();
    assert!(asked.is_empty() || looks_up(filter), "{filter:?}");
    (matches, asked)
}

fn in_list(list: &[Scalar], negated: bool) -> Expr {
    Expr::InList { arg: column(), list: list.into(), negated }
}

#[test]
fn equalities_are_looked_up_where_bounds_do_not_exclude_them() {
    let bounds = ints(0, 100, 3);
    let held = [Scalar::Int(5), Scalar::Int(7)];
    let ask = |filter: &Expr| look_up(filter, &bounds, &held);
    let ints = |values: &[i64]| values.iter().map(|v| Scalar::Int(*v)).collect::<Vec<_>>();
    let eq = |value| compare_with(CompareOp::Eq, value);
    assert_eq!(ask(&eq(int(5))), (true, ints(&[5])));
    assert_eq!(ask(&eq(int(6))), (false, ints(&[6])));
    assert_eq!(ask(&eq(int(101))), (false, vec![]));
    assert_eq!(ask(&eq(Box::new(Expr::Param(0)))), (true, ints(&[7])));
    assert_eq!(ask(&eq(Box::new(Expr::Param(1)))), (false, vec![]));
    // Other comparisons, and those of two columns, say nothing.
    for op in [CompareOp::Ne, CompareOp::Lt, CompareOp::Ge] {
        assert_eq!(ask(&compare_with(op, int(6))), (true, vec![]));
    }
    assert_eq!(ask(&eq(Box::new(Expr::Column(1)))), (true, vec![]));
    // Turned around, and under a cast.
    let turned = Expr::Compare { op: CompareOp::Eq, left: int(6), right: column() };
    assert_eq!(ask(&turned), (false, ints(&[6])));
    let wide = Expr::Cast { to: CastTo::Int64, arg: column() };
    let wide = Expr::Compare { op: CompareOp::Eq, left: Box::new(wide), right: int(6) };
    assert_eq!(ask(&wide), (false, ints(&[6])));
    let float = Expr::Compare {
        op: CompareOp::Eq,
        left: Box::new(Expr::Cast { to: CastTo::Float64, arg: column() }),
        right: Box::new(Expr::Const(Scalar::Float(6.0))),
    };
    assert_eq!(ask(&float), (true, vec![]));
    let distinct = |negated| Expr::DistinctFrom { left: column(), right: int(6), negated };
    assert_eq!(ask(&distinct(true)), (false, ints(&[6])));
    assert_eq!(ask(&distinct(false)), (true, vec![]));
    assert_eq!(ask(&Expr::Not(Box::new(distinct(false)))), (false, ints(&[6])));
    assert_eq!(ask(&Expr::Not(Box::new(distinct(true)))), (true, vec![]));
}

#[test]
fn lists_and_connectives_are_looked_up() {
    let bounds = ints(0, 100, 3);
    let held = [Scalar::Int(5), Scalar::Int(7)];
    let ask = |filter: &Expr| look_up(filter, &bounds, &held).0;
    let asks = |filter: &Expr| look_up(filter, &bounds, &held).1.len();
    let eq = |value| compare_with(CompareOp::Eq, int(value));
    let list = |values: &[i64]| values.iter().map(|v| Scalar::Int(*v)).collect::<Vec<_>>();
    assert!(ask(&in_list(&list(&[3, 5, 9]), false)));
    assert!(!ask(&in_list(&list(&[3, 4, 900]), false)));
    assert!(!ask(&in_list(&[Scalar::Int(3), Scalar::Null], false)));
    assert!(ask(&in_list(&list(&[3, 4]), true)));
    let many: Vec<i64> = (8..80).collect();
    assert!(ask(&in_list(&list(&many), false)), "too many to be looked up");
    assert!(!ask(&in_list(&list(&many[..60]), false)));
    assert!(ask(&Expr::Or(vec![eq(6), eq(7)])));
    assert!(!ask(&Expr::Or(vec![eq(6), eq(8)])));
    assert!(!ask(&Expr::And(vec![eq(5), eq(8)])));
    assert!(ask(&Expr::And(vec![eq(5), eq(7)])));
    assert!(ask(&Expr::Or(vec![eq(6), compare_with(CompareOp::Lt, int(50))])));
    assert!(ask(&Expr::Not(Box::new(eq(6)))));
    // What must be false is not looked up.
    assert_eq!(asks(&in_list(&list(&[3, 4]), true)), 0);
    assert_eq!(asks(&Expr::Not(Box::new(eq(6)))), 0);
    assert_eq!(asks(&Expr::Or(vec![eq(7), eq(5)])), 2);
    assert_eq!(asks(&in_list(&list(&[3, 5, 9]), false)), 2);
    // NULL of NULL rows, false of all others.
    let test = |test, arg| Expr::BoolTest { test, arg: Box::new(arg) };
    assert!(!ask(&test(BoolTest::IsTrue, eq(6))));
    assert!(ask(&test(BoolTest::IsFalse, eq(6))));
    assert!(ask(&test(BoolTest::IsUnknown, eq(6))));
    assert!(ask(&test(BoolTest::IsNotTrue, eq(6))));
}

#[test]
fn a_pattern_without_wildcards_is_looked_up() {
    let bounds = texts(("a", true), Some(("z", true)));
    let held = [Scalar::Bytes(b"house".as_slice().into())];
    let ask = |pattern: &str, negated| {
        let pattern =
            LikePattern::new(pattern.as_bytes(), Some(b'\\'), false, true).unwrap().into();
        look_up(&Expr::Like { arg: column(), pattern, negated }, &bounds, &held).0
    };
    assert!(ask("house", false) && !ask("horse", false));
    assert!(ask("horse%", false) && ask("horse", true) && ask("house", true));
}

/// What is looked up is never believed of all rows: a filter may be wrong about what is there.
#[test]
fn no_filter_is_always_true_by_what_is_held() {
    let bounds = ints(5, 5, 0);
    assert_eq!(judge(&compare_with(CompareOp::Eq, int(5)), &bounds), ALL);
    assert!(!look_up(&compare_with(CompareOp::Eq, int(5)), &bounds, &[]).0);
}
