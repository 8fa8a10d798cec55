use super::*;
use crate::batch::External;
use crate::expr::{ArithOp, BoolTest, NumberKind};

/// 12 / column 0: an error where that is zero.
fn risky() -> Expr {
    Expr::Arith {
        op: ArithOp::Div,
        kind: NumberKind::Int32,
        left: constant(Scalar::Int(12)),
        right: column(0),
    }
}

fn nonzero() -> Expr {
    compare(CompareOp::Ne, column(0), constant(Scalar::Int(0)))
}

fn above(expr: Expr, limit: i64) -> Expr {
    compare(CompareOp::Gt, Box::new(expr), constant(Scalar::Int(limit)))
}

fn divisors() -> [Column; 1] {
    [ints(&[Some(1), Some(0), None, Some(6)])]
}

#[test]
fn and_or_stop_before_an_error() {
    let and = Expr::And(vec![nonzero(), above(risky(), 5)]);
    let expected = [Some(true), Some(false), None, Some(false)];
    assert_eq!(eval(&and, &divisors()), Ok(some_bools(&expected)));
    let zero = Expr::Not(Box::new(nonzero()));
    let or = Expr::Or(vec![zero, above(risky(), 5)]);
    let expected = [Some(true), Some(true), None, Some(false)];
    assert_eq!(eval(&or, &divisors()), Ok(some_bools(&expected)));
    // The other way round zero is reached.
    let and = Expr::And(vec![above(risky(), 5), nonzero()]);
    assert_eq!(eval(&and, &divisors()), Err(ExecError::division_by_zero()));
}

#[test]
fn three_valued_tables() {
    let values = [Some(true), Some(false), None];
    let a: Vec<Option<bool>> = values.iter().flat_map(|value| [*value; 3]).collect();
    let b: Vec<Option<bool>> = (0..3).flat_map(|_| values).collect();
    let columns = [bools(&a), bools(&b)];
    let (t, f, n) = (Some(true), Some(false), None);
    let args = || vec![Expr::Column(0), Expr::Column(1)];
    let and = [t, f, n, f, f, f, n, f, n];
    assert_eq!(eval(&Expr::And(args()), &columns), Ok(some_bools(&and)));
    let or = [t, t, t, t, f, n, t, n, n];
    assert_eq!(eval(&Expr::Or(args()), &columns), Ok(some_bools(&or)));
    let one = [bools(&values)];
    assert_eq!(eval(&Expr::Not(column(0)), &one), Ok(some_bools(&[f, t, n])));
    let tests = [
        (BoolTest::IsTrue, [t, f, f]),
        (BoolTest::IsNotTrue, [f, t, t]),
        (BoolTest::IsFalse, [f, t, f]),
        (BoolTest::IsNotFalse, [t, f, t]),
        (BoolTest::IsUnknown, [f, f, t]),
        (BoolTest::IsNotUnknown, [t, t, f]),
    ];
    for (test, expected) in tests {
        let expr = Expr::BoolTest { test, arg: column(0) };
        assert_eq!(eval(&expr, &one), Ok(some_bools(&expected)), "{test:?}");
    }
    let null = Expr::And(vec![Expr::Const(Scalar::Null), Expr::Column(0)]);
    assert_eq!(eval(&null, &one), Ok(some_bools(&[n, f, n])));
}

#[test]
fn is_null_and_distinct() {
    let columns = [ints(&[Some(1), None, Some(2), None]), ints(&[Some(1), None, None, Some(2)])];
    let null = Expr::IsNull(column(0));
    let expected = [false, true, false, true].map(Some);
    assert_eq!(eval(&null, &columns), Ok(some_bools(&expected)));
    let expected = expected.map(|value| value.map(|value| !value));
    assert_eq!(eval(&Expr::IsNotNull(column(0)), &columns), Ok(some_bools(&expected)));
    let distinct = |negated| Expr::DistinctFrom { left: column(0), right: column(1), negated };
    let expected = [false, false, true, true].map(Some);
    assert_eq!(eval(&distinct(false), &columns), Ok(some_bools(&expected)));
    let expected = [true, true, false, false].map(Some);
    assert_eq!(eval(&distinct(true), &columns), Ok(some_bools(&expected)));
    let from_null =
        Expr::DistinctFrom { left: column(0), right: constant(Scalar::Null), negated: false };
    let expected = [true, false, true, false].map(Some);
    assert_eq!(eval(&from_null, &columns), Ok(some_bools(&expected)));
}

#[test]
fn case_evaluates_only_what_is_chosen() {
    let case = |otherwise| Expr::Case { whens: vec![(nonzero(), risky())], otherwise };
    let result = eval(&case(None), &divisors());
    assert_eq!(result, Ok(some_ints(&[Some(12), None, None, Some(2)])));
    let result = eval(&case(Some(constant(Scalar::Int(-1)))), &divisors());
    assert_eq!(result, Ok(some_ints(&[Some(12), Some(-1), Some(-1), Some(2)])));
    let result = eval(&case(Some(Box::new(risky()))), &divisors());
    assert_eq!(result, Err(ExecError::division_by_zero()));
    // The first true condition wins, and a condition behind it is not evaluated.
    let first = Expr::Case {
        whens: vec![
            (Expr::Not(Box::new(nonzero())), Expr::Const(Scalar::Int(0))),
            (above(risky(), 5), Expr::Column(0)),
            (Expr::Const(Scalar::Bool(true)), Expr::Const(Scalar::Null)),
        ],
        otherwise: Some(Box::new(risky())),
    };
    assert_eq!(eval(&first, &divisors()), Ok(some_ints(&[Some(1), Some(0), None, None])));
}

#[test]
fn strings_of_a_case_come_from_columns_constants_and_functions() {
    let columns = [
        ints(&[Some(0), Some(1), Some(2), Some(3), None]),
        texts(&[Some("a"), Some("b"), None, Some("D"), Some("e")]),
    ];
    let is = |value| compare(CompareOp::Eq, column(0), constant(Scalar::Int(value)));
    let case = |result: Expr, other: &str| Expr::Case {
        whens: vec![(is(1), Expr::Const(text(other))), (is(3), result)],
        otherwise: Some(column(1)),
    };
    let lower = || Expr::AsciiCase { upper: false, arg: column(1) };
    let expected = [Some("a"), Some("long"), None, Some("d"), Some("e")];
    assert_eq!(eval(&case(lower(), "long"), &columns), Ok(some_texts(&expected)));
    // With nothing to copy the strings stay where they are.
    let table = Table::new(columns.to_vec());
    let mut context = Context::default();
    let expr = case(Expr::Column(1), "");
    let result = expr.evaluate(&mut table.batch(None), &mut context).unwrap();
    let (Data::Bytes(before), Data::Bytes(after)) = (&columns[1].data, &result.data) else {
        panic!("{result:?}");
    };
    assert_eq!(before.data.as_ptr(), after.data.as_ptr());
    let values: Vec<Scalar> = (0..5).map(|row| result.get(row)).collect();
    assert_eq!(values, some_texts(&[Some("a"), Some(""), None, Some("D"), Some("e")]));
}

#[test]
fn scales_that_differ_are_left_to_others() {
    let columns = [ints(&[Some(0), Some(1)]), decimals(&[Some(10), Some(20)], 1)];
    let case = |scale| Expr::Case {
        whens: vec![(nonzero(), Expr::Const(Scalar::Decimal(5, scale)))],
        otherwise: Some(column(1)),
    };
    assert_eq!(eval(&case(1), &columns), Ok(some_decimals(&[Some(10), Some(5)], 1)));
    assert_eq!(eval(&case(2), &columns), Err(ExecError::Unsupported));
}

#[test]
fn coalesce_takes_the_first_value() {
    let columns = [
        ints(&[None, Some(2), None, Some(0), None]),
        ints(&[Some(1), None, None, Some(9), Some(8)]),
    ];
    let of = |args: Vec<Expr>| eval(&Expr::Coalesce(args), &columns);
    let plain = of(vec![Expr::Column(0), Expr::Column(1), Expr::Const(Scalar::Int(7))]);
    assert_eq!(plain, Ok(some_ints(&[Some(1), Some(2), Some(7), Some(0), Some(8)])));
    // The division is reached where column 1 is NULL alone, and gives NULL there once more.
    let divide = Expr::Arith {
        op: ArithOp::Div,
        kind: NumberKind::Int32,
        left: constant(Scalar::Int(12)),
        right: column(0),
    };
    let lazy = of(vec![Expr::Column(1), divide, Expr::Const(Scalar::Int(7))]);
    assert_eq!(lazy, Ok(some_ints(&[Some(1), Some(6), Some(7), Some(9), Some(8)])));
    assert_eq!(of(vec![Expr::Const(Scalar::Null)]), Ok(vec![Scalar::Null; 5]));
}

#[test]
fn nullif_compares_and_keeps_the_left() {
    let columns =
        [ints(&[Some(1), Some(2), None, Some(4)]), ints(&[Some(1), Some(3), Some(5), None])];
    let both = Expr::NullIf { left: column(0), right: column(1) };
    assert_eq!(eval(&both, &columns), Ok(some_ints(&[None, Some(2), None, Some(4)])));
    let left = Expr::NullIf { left: constant(Scalar::Int(3)), right: column(1) };
    assert_eq!(eval(&left, &columns), Ok(some_ints(&[Some(3), None, Some(3), Some(3)])));
    let null = Expr::NullIf { left: column(0), right: constant(Scalar::Null) };
    assert_eq!(eval(&null, &columns), Ok(some_ints(&[Some(1), Some(2), None, Some(4)])));
}

#[test]
fn extremes_pass_over_nulls_and_keep_the_first_of_equals() {
    let columns = [
        ints(&[Some(1), None, Some(5), None]),
        ints(&[Some(3), Some(2), None, None]),
        texts(&[Some("b"), Some("a"), None, Some("z")]),
        texts(&[Some("a"), None, Some("c"), Some("zz")]),
        floats(&[Some(0.0), Some(f64::NAN), None, Some(-1.0)]),
    ];
    let of = |greatest, args: Vec<Expr>| eval(&Expr::Extreme { greatest, args }, &columns);
    let numbers = || vec![Expr::Column(0), Expr::Const(Scalar::Null), Expr::Column(1)];
    assert_eq!(of(true, numbers()), Ok(some_ints(&[Some(3), Some(2), Some(5), None])));
    assert_eq!(of(false, numbers()), Ok(some_ints(&[Some(1), Some(2), Some(5), None])));
    let strings = || vec![Expr::Column(2), Expr::Column(3)];
    let greatest = [Some("b"), Some("a"), Some("c"), Some("zz")];
    assert_eq!(of(true, strings()), Ok(some_texts(&greatest)));
    let zero = of(true, vec![Expr::Column(4), Expr::Const(Scalar::Float(-0.0))]).unwrap();
    let bits = |row: usize| match zero[row] {
        Scalar::Float(value) => value.to_bits(),
        ref other => panic!("{other:?}"),
    };
    // +0 came first and equals -0; NaN is the greatest.
    assert_eq!(bits(0), 0.0f64.to_bits());
    assert!(f64::from_bits(bits(1)).is_nan());
    assert_eq!((bits(2), bits(3)), ((-0.0f64).to_bits(), (-0.0f64).to_bits()));
}

/// Doubles its input, and tells which rows it was given.
struct Double {
    seen: Vec<Scalar>,
}

impl External for Double {
    fn evaluate(&mut self, id: usize, inputs: &[Column], rows: usize) -> Result<Column, ExecError> {
        assert_eq!((id, inputs.len(), inputs[0].len), (7, 1, rows));
        let values: Vec<Scalar> = (0..rows).map(|row| inputs[0].get(row)).collect();
        let doubled: Vec<Option<i64>> = values
            .iter()
            .map(|value| match value {
                Scalar::Int(value) => Some(value * 2),
                _ => None,
            })
            .collect();
        self.seen.extend(values);
        Ok(ints(&doubled))
    }
}

#[test]
fn external_expressions_see_the_rows_that_reach_them() {
    let table = Table::new(divisors().to_vec());
    let mut double = Double { seen: Vec::new() };
    let mut context = Context { external: Some(&mut double), ..Context::default() };
    let external = Expr::External { id: 7, inputs: vec![Expr::Column(0)] };
    assert!(external.can_fail() && external.uses_external() && !external.is_constant());
    let expr = Expr::And(vec![above(Expr::Column(0), 0), above(external, 3)]);
    // Of the selected rows 1, 2, 3 the first is decided before.
    let result = expr.evaluate(&mut table.batch(Some(vec![1, 2, 3])), &mut context).unwrap();
    let values: Vec<Scalar> = (0..3).map(|row| result.get(row)).collect();
    assert_eq!(values, some_bools(&[Some(false), None, Some(true)]));
    drop(context);
    assert_eq!(double.seen, some_ints(&[None, Some(6)]));
}

#[test]
fn what_expressions_say_of_themselves() {
    let mut columns = Vec::new();
    Expr::And(vec![above(Expr::Column(3), 1), nonzero(), above(risky(), 0)]).columns(&mut columns);
    assert_eq!(columns, [3, 0]);
    assert!(risky().can_fail());
    assert!(!nonzero().can_fail());
    assert!(above(Expr::Param(0), 1).is_constant());
    let by = |divisor| Expr::Arith {
        op: ArithOp::Mod,
        kind: NumberKind::Int32,
        left: column(0),
        right: constant(Scalar::Int(divisor)),
    };
    assert!(!by(7).can_fail());
    assert!(by(0).can_fail());
}

#[test]
fn late_lists_are_bound_wherever_they_stand() {
    let late = |list, negated| Expr::InParam { arg: column(0), list, negated };
    let case = Expr::Case {
        whens: vec![(late(1, true), late(0, false))],
        otherwise: Some(constant(Scalar::Bool(false))),
    };
    let mut both = Expr::And(vec![Expr::Not(Box::new(case)), late(0, false)]);
    let five: Arc<[Scalar]> = vec![Scalar::Int(5), Scalar::Null].into();
    let six: Arc<[Scalar]> = vec![Scalar::Int(6)].into();
    assert_eq!(eval(&both, &[ints(&[Some(5)])]), Err(ExecError::Unsupported));
    both.bind_lists(&[Some(five), Some(six)]);
    let rows = [ints(&[Some(5), Some(6), Some(7), None])];
    assert_eq!(eval(&both, &rows), Ok(some_bools(&[Some(false), None, None, None])));
    // NULL arrays; a number without a list is like one.
    for lists in [&[None][..], &[]] {
        let mut none = late(0, true);
        none.bind_lists(lists);
        assert_eq!(eval(&none, &rows), Ok(some_bools(&[None; 4])));
    }
}
