use super::*;
use crate::expr::LikePattern;

fn evaluate(expr: &Expr, column: &Column, context: &mut Context<'_>) -> Column {
    let table = Table::new(vec![column.clone()]);
    expr.evaluate(&mut table.batch(None), context).unwrap()
}

fn values(column: &Column) -> Vec<Scalar> {
    (0..column.len).map(|row| column.get(row)).collect()
}

fn like(pattern: &str) -> Expr {
    let pattern = LikePattern::new(pattern.as_bytes(), Some(b'\\'), false, true).unwrap();
    Expr::Like { arg: column(0), pattern: pattern.into(), negated: false }
}

#[test]
fn results_are_mapped_by_code_and_null_is_evaluated_too() {
    let words = dictionary(&["apple", "Apple", "pear"]);
    let column0 = codes(&words, &[Some(2), None, Some(0), Some(1), Some(0)]);
    let mut context = Context::default();
    let result = evaluate(&like("%pp%"), &column0, &mut context);
    let found = [Some(false), None, Some(true), Some(true), Some(true)];
    assert_eq!(values(&result), some_bools(&found));
    let coalesce = Expr::Coalesce(vec![Expr::Column(0), Expr::Const(text("none"))]);
    let result = evaluate(&coalesce, &column0, &mut context);
    let expected = [Some("pear"), Some("none"), Some("apple"), Some("Apple"), Some("apple")];
    assert_eq!(values(&result), some_texts(&expected));
    let is_null = evaluate(&Expr::IsNull(column(0)), &column0, &mut context);
    let expected = [false, true, false, false, false].map(Some);
    assert_eq!(values(&is_null), some_bools(&expected));
}

#[test]
fn strings_stay_codes_of_distinct_values_in_one_dictionary() {
    let words = dictionary(&["apple", "Apple", "pear"]);
    let lower = Expr::AsciiCase { upper: false, arg: column(0) };
    let mut context = Context::default();
    let first = evaluate(&lower, &codes(&words, &[Some(1), Some(0), Some(2)]), &mut context);
    let second = evaluate(&lower, &codes(&words, &[Some(2), None, Some(1)]), &mut context);
    let (Data::Dict(a), Data::Dict(b)) = (&first.data, &second.data) else {
        panic!("{first:?} {second:?}");
    };
    assert_eq!(a.dictionary.id, b.dictionary.id);
    assert_eq!(a.dictionary.len(), 2);
    assert_eq!(values(&first), some_texts(&[Some("apple"), Some("apple"), Some("pear")]));
    assert_eq!(values(&second), some_texts(&[Some("pear"), None, Some("apple")]));
}

#[test]
fn parameters_and_patterns_tell_expressions_apart() {
    let words = dictionary(&["apple", "pear"]);
    let column0 = codes(&words, &[Some(0), Some(1)]);
    let mut context = Context::default();
    let equal = compare(CompareOp::Eq, column(0), Box::new(Expr::Param(0)));
    for (word, expected) in [("apple", [true, false]), ("pear", [false, true])] {
        context.params = vec![text(word)];
        let result = evaluate(&equal, &column0, &mut context);
        assert_eq!(values(&result), some_bools(&expected.map(Some)));
    }
    for (pattern, expected) in [("a%", [true, false]), ("p%", [false, true])] {
        let result = evaluate(&like(pattern), &column0, &mut context);
        assert_eq!(values(&result), some_bools(&expected.map(Some)));
    }
}

#[test]
fn a_large_dictionary_is_evaluated_once_enough_rows_came() {
    let all: Vec<String> = (0..1_000).map(|n| format!("value {n}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let words = dictionary(&all);
    let mut context = Context::default();
    let lower = Expr::AsciiCase { upper: false, arg: column(0) };
    let rows: Vec<Option<u32>> = (0..200).map(|n| Some(n * 5)).collect();
    let column0 = codes(&words, &rows);
    let expected: Vec<Option<&str>> = (0..200).map(|n| Some(all[n * 5])).collect();
    let mut coded = Vec::new();
    for _ in 0..4 {
        let result = evaluate(&lower, &column0, &mut context);
        assert_eq!(values(&result), some_texts(&expected));
        coded.push(matches!(result.data, Data::Dict(_)));
    }
    assert_eq!(coded, [false, false, true, true]);
}

#[test]
fn what_can_fail_is_not_evaluated_for_values_without_rows() {
    let words = dictionary(&["a", "b"]);
    let pattern = LikePattern::new(b"a\\", Some(b'\\'), false, true).unwrap();
    let expr = Expr::Like { arg: column(0), pattern: pattern.into(), negated: false };
    // "ab" would raise the error; no row has it.
    let with_error = dictionary(&["ab", "b"]);
    let mut context = Context::default();
    let result = evaluate(&expr, &codes(&with_error, &[Some(1), Some(1)]), &mut context);
    assert_eq!(values(&result), some_bools(&[Some(false), Some(false)]));
    let result = evaluate(&expr, &codes(&words, &[Some(0), Some(1)]), &mut context);
    assert_eq!(values(&result), some_bools(&[Some(false), Some(false)]));
}

#[test]
fn an_empty_dictionary_has_nulls_alone() {
    let empty = dictionary(&[]);
    let column0 = codes(&empty, &[None, None]);
    let mut context = Context::default();
    let length = evaluate(&Expr::CharLength(column(0)), &column0, &mut context);
    assert_eq!(values(&length), vec![Scalar::Null; 2]);
    let coalesce = Expr::Coalesce(vec![Expr::Column(0), Expr::Const(text("x"))]);
    let result = evaluate(&coalesce, &column0, &mut context);
    assert_eq!(values(&result), some_texts(&[Some("x"), Some("x")]));
    let lower = Expr::AsciiCase { upper: false, arg: column(0) };
    assert_eq!(values(&evaluate(&lower, &column0, &mut context)), vec![Scalar::Null; 2]);
}

#[test]
fn a_case_over_other_columns_extends_the_dictionary_once() {
    let words = dictionary(&["a", "b"]);
    let is_zero = compare(CompareOp::Eq, column(1), constant(Scalar::Int(0)));
    let case =
        Expr::Case { whens: vec![(is_zero, Expr::Column(0))], otherwise: Some(constant(text(""))) };
    let mut context = Context::default();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let table = Table::new(vec![
            codes(&words, &[Some(0), Some(1), None]),
            ints(&[Some(0), Some(1), Some(0)]),
        ]);
        let result = case.evaluate(&mut table.batch(None), &mut context).unwrap();
        assert_eq!(values(&result), some_texts(&[Some("a"), Some(""), None]));
        let Data::Dict(codes) = &result.data else { panic!("{result:?}") };
        assert_eq!(codes.dictionary.len(), 3);
        ids.push(codes.dictionary.id);
    }
    assert_eq!(ids[0], ids[1]);
    // Equality of codes of one dictionary and of several.
    let other = dictionary(&["b", "a"]);
    let columns = [
        codes(&words, &[Some(0), Some(1), None]),
        codes(&words, &[Some(0), Some(0), Some(1)]),
        codes(&other, &[Some(1), Some(0), Some(1)]),
    ];
    let equal = |right| compare(CompareOp::Eq, column(0), column(right));
    let expected = [Some(true), Some(false), None];
    assert_eq!(eval(&equal(1), &columns), Ok(some_bools(&expected)));
    let expected = [Some(true), Some(true), None];
    assert_eq!(eval(&equal(2), &columns), Ok(some_bools(&expected)));
}

#[test]
fn old_results_are_forgotten() {
    let mut context = Context::default();
    let length = Expr::CharLength(column(0));
    for n in 0..500 {
        let word = "x".repeat(n % 7 + 1);
        let words = dictionary(&[&word]);
        let result = evaluate(&length, &codes(&words, &[Some(0)]), &mut context);
        assert_eq!(values(&result), some_ints(&[Some(word.len() as i64)]));
    }
    assert!(context.memo.len() <= 64, "{} results", context.memo.len());
}
