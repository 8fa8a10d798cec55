use super::*;

#[test]
fn lengths_count_characters_or_bytes() {
    let values = texts(&[Some("äb"), Some(""), None, Some("日本")]);
    assert_eq!(
        eval(&Expr::CharLength(column(0)), std::slice::from_ref(&values)),
        Ok(some_ints(&[Some(2), Some(0), None, Some(2)]))
    );
    assert_eq!(
        eval(&Expr::OctetLength(column(0)), &[values]),
        Ok(some_ints(&[Some(3), Some(0), None, Some(6)]))
    );
}

#[test]
fn case_of_ascii_letters() {
    let values = texts(&[Some("äB1z"), None, Some("")]);
    let lower = Expr::AsciiCase { upper: false, arg: column(0) };
    let upper = Expr::AsciiCase { upper: true, arg: column(0) };
    let result = eval(&lower, std::slice::from_ref(&values));
    assert_eq!(result, Ok(some_texts(&[Some("äb1z"), None, Some("")])));
    assert_eq!(eval(&upper, &[values]), Ok(some_texts(&[Some("äB1Z"), None, Some("")])));
}

#[test]
fn positions_are_characters_from_one() {
    let values = texts(&[Some("äbc"), Some("abc"), Some(""), None]);
    let find = |needle: &str| Expr::StrPos { arg: column(0), needle: constant(text(needle)) };
    let run = |needle: &str| eval(&find(needle), std::slice::from_ref(&values));
    assert_eq!(run("c"), Ok(some_ints(&[Some(3), Some(3), Some(0), None])));
    assert_eq!(run(""), Ok(some_ints(&[Some(1), Some(1), Some(1), None])));
    let both = Expr::StrPos { arg: column(0), needle: column(1) };
    let needles = texts(&[Some("b"), Some(""), Some("x"), Some("y")]);
    let result = eval(&both, &[values, needles]);
    assert_eq!(result, Ok(some_ints(&[Some(2), Some(1), Some(0), None])));
}

#[test]
fn substrings_are_cut_as_sql99_says() {
    let cut = |value: &str, start: i64, count: Option<i64>| {
        let expr = Expr::Substring {
            arg: column(0),
            start: constant(Scalar::Int(start)),
            count: count.map(|count| constant(Scalar::Int(count))),
        };
        eval(&expr, &[texts(&[Some(value)])])
    };
    let is = |value: &str| Ok(some_texts(&[Some(value)]));
    assert_eq!(cut("äöüß", 2, Some(2)), is("öü"));
    assert_eq!(cut("äöüß", 2, None), is("öüß"));
    assert_eq!(cut("äöüß", -1, Some(3)), is("ä"));
    assert_eq!(cut("äöüß", -1, Some(2)), is(""));
    assert_eq!(cut("äöüß", -5, None), is("äöüß"));
    assert_eq!(cut("äöüß", 0, Some(5)), is("äöüß"));
    assert_eq!(cut("äöüß", 5, Some(1)), is(""));
    assert_eq!(cut("äöüß", 9, None), is(""));
    assert_eq!(cut("äöüß", 4, Some(i64::from(i32::MAX))), is("ß"));
    assert_eq!(cut("abc", i64::from(i32::MIN), Some(i64::from(i32::MAX))), is(""));
    let error = sql_error(cut("abc", 1, Some(-1)));
    assert_eq!(error, ("22011", "negative substring length not allowed".to_owned()));
}

#[test]
fn a_negative_count_of_a_null_row_is_no_error() {
    let expr = Expr::Substring { arg: column(0), start: column(1), count: Some(column(1)) };
    let columns = [texts(&[None, Some("abc")]), ints(&[Some(-1), Some(2)])];
    assert_eq!(eval(&expr, &columns), Ok(some_texts(&[None, Some("bc")])));
}

#[test]
fn strings_compare_bytewise() {
    let a = texts(&[Some("a"), Some("ab"), Some("b"), Some(""), None]);
    let b = texts(&[Some("ab"), Some("ab"), Some("ab"), Some("ab"), Some("ab")]);
    let expected = [
        (CompareOp::Eq, [false, true, false, false]),
        (CompareOp::Ne, [true, false, true, true]),
        (CompareOp::Lt, [true, false, false, true]),
        (CompareOp::Le, [true, true, false, true]),
        (CompareOp::Gt, [false, false, true, false]),
        (CompareOp::Ge, [false, true, true, false]),
    ];
    for (op, expected) in expected {
        let mut expected: Vec<Option<bool>> = expected.iter().copied().map(Some).collect();
        expected.push(None);
        let with_column = eval(&compare(op, column(0), column(1)), &[a.clone(), b.clone()]);
        assert_eq!(with_column, Ok(some_bools(&expected)), "{op:?}");
        let expr = compare(op, column(0), constant(text("ab")));
        assert_eq!(eval(&expr, std::slice::from_ref(&a)), Ok(some_bools(&expected)), "{op:?}");
    }
    let empty = compare(CompareOp::Ne, column(0), constant(text("")));
    let expected = [Some(true), Some(true), Some(true), Some(false), None];
    assert_eq!(eval(&empty, &[a]), Ok(some_bools(&expected)));
}
