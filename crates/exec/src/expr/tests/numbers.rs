use super::*;
use crate::expr::{ArithOp, CastTo, NumberKind};

fn arith(op: ArithOp, kind: NumberKind) -> Expr {
    Expr::Arith { op, kind, left: column(0), right: column(1) }
}

fn pair(op: ArithOp, kind: NumberKind, a: i64, b: i64) -> Result<Vec<Scalar>, ExecError> {
    eval(&arith(op, kind), &[ints(&[Some(a)]), ints(&[Some(b)])])
}

fn float_pair(op: ArithOp, kind: NumberKind, a: f64, b: f64) -> Result<Vec<Scalar>, ExecError> {
    eval(&arith(op, kind), &[floats(&[Some(a)]), floats(&[Some(b)])])
}

#[test]
fn integers_overflow_at_their_width() {
    let limits = [
        (NumberKind::Int16, i64::from(i16::MIN), i64::from(i16::MAX), "smallint out of range"),
        (NumberKind::Int32, i64::from(i32::MIN), i64::from(i32::MAX), "integer out of range"),
        (NumberKind::Int64, i64::MIN, i64::MAX, "bigint out of range"),
    ];
    for (kind, least, most, message) in limits {
        let error = ("22003", message.to_owned());
        assert_eq!(pair(ArithOp::Add, kind, most - 1, 1), Ok(some_ints(&[Some(most)])));
        assert_eq!(sql_error(pair(ArithOp::Add, kind, most, 1)), error);
        assert_eq!(sql_error(pair(ArithOp::Sub, kind, least, 1)), error);
        assert_eq!(sql_error(pair(ArithOp::Mul, kind, most, 2)), error);
        assert_eq!(sql_error(pair(ArithOp::Div, kind, least, -1)), error);
        assert_eq!(pair(ArithOp::Mod, kind, least, -1), Ok(some_ints(&[Some(0)])));
        let negate = Expr::Negate { kind, arg: column(0) };
        let abs = Expr::Abs { kind, arg: column(0) };
        assert_eq!(sql_error(eval(&negate, &[ints(&[Some(least)])])), error);
        assert_eq!(sql_error(eval(&abs, &[ints(&[Some(least)])])), error);
        assert_eq!(eval(&abs, &[ints(&[Some(least + 1)])]), Ok(some_ints(&[Some(most)])));
    }
}

#[test]
fn integers_divide_towards_zero() {
    assert_eq!(pair(ArithOp::Div, NumberKind::Int32, -7, 2), Ok(some_ints(&[Some(-3)])));
    assert_eq!(pair(ArithOp::Mod, NumberKind::Int32, -7, 2), Ok(some_ints(&[Some(-1)])));
    for op in [ArithOp::Div, ArithOp::Mod] {
        let error = sql_error(pair(op, NumberKind::Int64, 1, 0));
        assert_eq!(error, ("22012", "division by zero".to_owned()));
    }
}

#[test]
fn nulls_neither_fail_nor_hide_a_failure() {
    let divide = arith(ArithOp::Div, NumberKind::Int32);
    let a = ints(&[Some(6), None, Some(1)]);
    assert_eq!(
        eval(&divide, &[a.clone(), ints(&[Some(2), Some(0), None])]),
        Ok(some_ints(&[Some(3), None, None]))
    );
    let error = eval(&divide, &[a.clone(), ints(&[None, Some(0), Some(0)])]);
    assert_eq!(error, Err(ExecError::division_by_zero()));
    let null = Expr::Arith {
        op: ArithOp::Div,
        kind: NumberKind::Int32,
        left: constant(Scalar::Null),
        right: column(0),
    };
    assert_eq!(eval(&null, &[ints(&[Some(0)])]), Ok(vec![Scalar::Null]));
}

#[test]
fn constants_are_folded_and_only_fail_where_there_are_rows() {
    let fails = Expr::Arith {
        op: ArithOp::Div,
        kind: NumberKind::Int32,
        left: constant(Scalar::Int(1)),
        right: constant(Scalar::Int(0)),
    };
    let table = Table::new(vec![ints(&[Some(1), Some(2)])]);
    let mut context = Context::default();
    let none = fails.evaluate(&mut table.batch(Some(vec![])), &mut context).unwrap();
    assert_eq!(none.len, 0);
    assert!(fails.evaluate(&mut table.batch(None), &mut context).is_err());
    let sum = Expr::Arith {
        op: ArithOp::Add,
        kind: NumberKind::Int32,
        left: constant(Scalar::Int(1)),
        right: Box::new(Expr::Param(0)),
    };
    context.params = vec![Scalar::Int(4)];
    let column = sum.evaluate(&mut table.batch(None), &mut context).unwrap();
    assert!(matches!(column.data, Data::Const(Scalar::Int(5))));
    assert_eq!(column.len, 2);
}

#[test]
fn floats_check_overflow_underflow_and_zero() {
    let kind = NumberKind::Float64;
    let overflow = ("22003", "value out of range: overflow".to_owned());
    let underflow = ("22003", "value out of range: underflow".to_owned());
    let zero = ("22012", "division by zero".to_owned());
    let infinity = f64::INFINITY;
    assert_eq!(sql_error(float_pair(ArithOp::Add, kind, f64::MAX, f64::MAX)), overflow);
    assert_eq!(sql_error(float_pair(ArithOp::Sub, kind, -f64::MAX, f64::MAX)), overflow);
    assert_eq!(sql_error(float_pair(ArithOp::Mul, kind, 1e200, 1e200)), overflow);
    assert_eq!(sql_error(float_pair(ArithOp::Mul, kind, 1e-200, 1e-200)), underflow);
    assert_eq!(sql_error(float_pair(ArithOp::Div, kind, 1e-200, 1e200)), underflow);
    assert_eq!(sql_error(float_pair(ArithOp::Div, kind, 1e200, 1e-200)), overflow);
    assert_eq!(sql_error(float_pair(ArithOp::Div, kind, infinity, 0.0)), zero);
    let one = |value: f64| Ok(vec![Scalar::Float(value)]);
    assert_eq!(float_pair(ArithOp::Add, kind, infinity, 1.0), one(infinity));
    assert_eq!(float_pair(ArithOp::Div, kind, 1.0, infinity), one(0.0));
    assert_eq!(float_pair(ArithOp::Mul, kind, 0.0, 1e-300), one(0.0));
    let nan = float_pair(ArithOp::Div, kind, f64::NAN, 0.0).unwrap();
    assert!(matches!(nan[0], Scalar::Float(value) if value.is_nan()));
}

#[test]
fn singles_are_rounded_and_checked_as_singles() {
    let kind = NumberKind::Float32;
    let (a, b) = (f64::from(0.1f32), f64::from(0.2f32));
    let sum = f64::from(0.1f32 + 0.2f32);
    assert_ne!(sum, a + b);
    assert_eq!(float_pair(ArithOp::Add, kind, a, b), Ok(vec![Scalar::Float(sum)]));
    let error = sql_error(float_pair(ArithOp::Mul, kind, 1e30, 1e30));
    assert_eq!(error, ("22003", "value out of range: overflow".to_owned()));
    let error = sql_error(float_pair(ArithOp::Mul, kind, f64::from(1e-30f32), f64::from(1e-30f32)));
    assert_eq!(error, ("22003", "value out of range: underflow".to_owned()));
}

#[test]
fn floats_compare_with_nan_above_all() {
    let a = floats(&[Some(f64::NAN), Some(f64::NAN), Some(1.0), Some(-0.0), None]);
    let b = floats(&[Some(f64::NAN), Some(f64::INFINITY), Some(f64::NAN), Some(0.0), Some(1.0)]);
    let expected = [
        (CompareOp::Eq, [true, false, false, true]),
        (CompareOp::Ne, [false, true, true, false]),
        (CompareOp::Lt, [false, false, true, false]),
        (CompareOp::Le, [true, false, true, true]),
        (CompareOp::Gt, [false, true, false, false]),
        (CompareOp::Ge, [true, true, false, true]),
    ];
    for (op, expected) in expected {
        let mut expected: Vec<Option<bool>> = expected.iter().copied().map(Some).collect();
        expected.push(None);
        let result = eval(&compare(op, column(0), column(1)), &[a.clone(), b.clone()]);
        assert_eq!(result, Ok(some_bools(&expected)), "{op:?}");
    }
}

#[test]
fn casts_to_integers_round_half_to_even() {
    let cast = |to| Expr::Cast { to, arg: column(0) };
    let values =
        floats(&[Some(0.5), Some(1.5), Some(2.5), Some(-0.5), Some(2_147_483_647.4), None]);
    assert_eq!(
        eval(&cast(CastTo::Int32), &[values]),
        Ok(some_ints(&[Some(0), Some(2), Some(2), Some(0), Some(2_147_483_647), None]))
    );
    let fails = [
        (CastTo::Int16, 32_767.5, "smallint out of range"),
        (CastTo::Int32, 2_147_483_647.5, "integer out of range"),
        (CastTo::Int32, f64::NAN, "integer out of range"),
        (CastTo::Int64, 9.3e18, "bigint out of range"),
        (CastTo::Int64, 9_223_372_036_854_775_808.0, "bigint out of range"),
        (CastTo::Int64, f64::NEG_INFINITY, "bigint out of range"),
    ];
    for (to, value, message) in fails {
        let error = sql_error(eval(&cast(to), &[floats(&[Some(value)])]));
        assert_eq!(error, ("22003", message.to_owned()));
    }
    let least = eval(&cast(CastTo::Int64), &[floats(&[Some(i64::MIN as f64)])]);
    assert_eq!(least, Ok(some_ints(&[Some(i64::MIN)])));
    assert_eq!(
        eval(&cast(CastTo::Int16), &[ints(&[Some(-32_768), None])]),
        Ok(some_ints(&[Some(-32_768), None]))
    );
    let error = sql_error(eval(&cast(CastTo::Int16), &[ints(&[Some(32_768)])]));
    assert_eq!(error.1, "smallint out of range");
    let bools = bools(&[Some(true), Some(false), None]);
    assert_eq!(eval(&cast(CastTo::Int32), &[bools]), Ok(some_ints(&[Some(1), Some(0), None])));
}

#[test]
fn casts_to_floats_round_once() {
    let cast = |to| Expr::Cast { to, arg: column(0) };
    let one = |value: f64| Ok(vec![Scalar::Float(value)]);
    // Through a double this would be rounded twice, and down.
    let between = (1i64 << 54) + (1 << 30) + 1;
    let single = f64::from(between as f32);
    assert_ne!(single, f64::from(between as f64 as f32));
    assert_eq!(eval(&cast(CastTo::Float32), &[ints(&[Some(between)])]), one(single));
    let numeric = decimals(&[Some(123_456_789_012_345_678_901_234_567)], 9);
    assert_eq!(eval(&cast(CastTo::Float64), &[numeric]), one(123_456_789_012_345_678.901_234_567));
    assert_eq!(eval(&cast(CastTo::Float64), &[decimals(&[Some(-15)], 1)]), one(-1.5));
    assert_eq!(eval(&cast(CastTo::Float32), &[decimals(&[Some(1)], 1)]), one(f64::from(0.1f32)));
    let error = sql_error(eval(&cast(CastTo::Float32), &[decimals(&[Some(1)], 60)]));
    assert_eq!(error.0, "22003");
    assert!(error.1.ends_with("1\" is out of range for type real"), "{}", error.1);
    let error = sql_error(eval(&cast(CastTo::Float32), &[floats(&[Some(1e40)])]));
    assert_eq!(error.1, "value out of range: overflow");
    let error = sql_error(eval(&cast(CastTo::Float32), &[floats(&[Some(1e-60)])]));
    assert_eq!(error.1, "value out of range: underflow");
    let result = eval(&cast(CastTo::Decimal), &[ints(&[Some(-3), None])]);
    assert_eq!(result, Ok(some_decimals(&[Some(-3), None], 0)));
}

#[test]
fn decimals_keep_numeric_scales() {
    let nan = i128::MIN;
    let a = decimals(&[Some(150), Some(nan), None, Some(-1)], 2);
    let b = decimals(&[Some(25), Some(1), Some(1), Some(nan)], 1);
    let run = |op| eval(&arith(op, NumberKind::Decimal), &[a.clone(), b.clone()]);
    // 1.50 + 2.5, 1.50 - 2.5, 1.50 * 2.5
    let of = |value, scale| Ok(some_decimals(&[Some(value), Some(nan), None, Some(nan)], scale));
    assert_eq!(run(ArithOp::Add), of(400, 2));
    assert_eq!(run(ArithOp::Sub), of(-100, 2));
    assert_eq!(run(ArithOp::Mul), of(3750, 3));
    let large = decimals(&[Some(i128::MAX / 2)], 0);
    for op in [ArithOp::Add, ArithOp::Mul] {
        let three = decimals(&[Some(i128::MAX)], 0);
        let sum = eval(&arith(op, NumberKind::Decimal), &[large.clone(), three]);
        assert_eq!(sum.unwrap_err(), ExecError::Unsupported);
    }
    let negate = Expr::Negate { kind: NumberKind::Decimal, arg: column(0) };
    let result = eval(&negate, &[decimals(&[Some(5), Some(nan), None], 1)]);
    assert_eq!(result, Ok(some_decimals(&[Some(-5), Some(nan), None], 1)));
}

#[test]
fn decimals_compare_across_scales() {
    let nan = i128::MIN;
    let cases = [
        ((150, 2), (15, 1), std::cmp::Ordering::Equal),
        ((151, 2), (15, 1), std::cmp::Ordering::Greater),
        ((-151, 2), (-15, 1), std::cmp::Ordering::Less),
        ((nan, 0), (i128::MAX, 5), std::cmp::Ordering::Greater),
        ((nan, 0), (nan, 5), std::cmp::Ordering::Equal),
        // Beyond i128 when scaled.
        ((i128::MAX, 0), (1, 30), std::cmp::Ordering::Greater),
        ((-i128::MAX, 0), (1, 30), std::cmp::Ordering::Less),
        ((0, 0), (0, 200), std::cmp::Ordering::Equal),
        ((i128::MAX, 0), (i128::MAX - 1, 0), std::cmp::Ordering::Greater),
        ((nan, 0), (i128::MAX, 0), std::cmp::Ordering::Greater),
    ];
    for ((a, a_scale), (b, b_scale), ordering) in cases {
        for (op, expected) in [
            (CompareOp::Eq, ordering.is_eq()),
            (CompareOp::Lt, ordering.is_lt()),
            (CompareOp::Ge, ordering.is_ge()),
        ] {
            let columns = [decimals(&[Some(a)], a_scale), decimals(&[Some(b)], b_scale)];
            let result = eval(&compare(op, column(0), column(1)), &columns);
            assert_eq!(result, Ok(some_bools(&[Some(expected)])), "{a} {b} {op:?}");
            let value = constant(Scalar::Decimal(b, b_scale));
            let result = eval(&compare(op, column(0), value), &columns);
            assert_eq!(result, Ok(some_bools(&[Some(expected)])), "{a} {b} {op:?} constant");
        }
    }
}

#[test]
fn lists_of_every_shape() {
    let test = |list: Vec<Scalar>, negated: bool, values: &Column| {
        let expr = Expr::InList { arg: column(0), list: list.into(), negated };
        eval(&expr, std::slice::from_ref(values))
    };
    let values = ints(&[Some(3), Some(4), None, Some(i64::MIN), Some(i64::MAX)]);
    let shapes: [Vec<i64>; 3] = [
        vec![3, i64::MAX],
        (0..20).map(|n| n * 3).chain([i64::MAX]).collect(),
        (i64::MAX - 30..=i64::MAX).chain([3]).collect(),
    ];
    for shape in shapes {
        let list: Vec<Scalar> = shape.into_iter().map(Scalar::Int).collect();
        let found = [Some(true), Some(false), None, Some(false), Some(true)];
        assert_eq!(test(list.clone(), false, &values), Ok(some_bools(&found)));
        let with_null: Vec<Scalar> = list.into_iter().chain([Scalar::Null]).collect();
        let found = [Some(false), None, None, None, Some(false)];
        assert_eq!(test(with_null, true, &values), Ok(some_bools(&found)));
    }
    let dense: Vec<Scalar> = (0..100).map(|n| Scalar::Int(n * 2)).collect();
    let values = ints(&[Some(0), Some(1), Some(198), Some(199), Some(-1), Some(200)]);
    let found = [true, false, true, false, false, false].map(Some);
    assert_eq!(test(dense, false, &values), Ok(some_bools(&found)));
    // An empty list is not even compared with NULL.
    let none = ints(&[None]);
    assert_eq!(test(vec![], false, &none), Ok(some_bools(&[Some(false)])));
    assert_eq!(test(vec![], true, &none), Ok(some_bools(&[Some(true)])));
    assert_eq!(test(vec![Scalar::Null], false, &values), Ok(vec![Scalar::Null; 6]));
    let floats = floats(&[Some(-0.0), Some(f64::NAN), Some(1.0)]);
    let list = vec![Scalar::Float(0.0), Scalar::Float(-f64::NAN)];
    assert_eq!(test(list, false, &floats), Ok(some_bools(&[Some(true), Some(true), Some(false)])));
    let numeric = decimals(&[Some(150), Some(151), Some(i128::MIN)], 2);
    let list =
        vec![Scalar::Decimal(15, 1), Scalar::Decimal(1511, 3), Scalar::Decimal(i128::MIN, 0)];
    assert_eq!(test(list, false, &numeric), Ok(some_bools(&[Some(true), Some(false), Some(true)])));
}
