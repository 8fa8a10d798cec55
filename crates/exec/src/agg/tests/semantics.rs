//! PostgreSQL's semantics, aggregate by aggregate.

use std::sync::Arc;

use super::shapes::{column, decimals, dictionary_column, floats, ints};
use crate::agg::{AggKind, AggSpec, Aggregator, GroupSpec, NumType, TopKey, TopSource, ValueType};
use crate::column::{Column, Data, Scalar};
use crate::error::ExecError;
use crate::topn::Order;

fn overflow() -> ExecError {
    ExecError::Sql { sqlstate: "22003", message: "value out of range: overflow".to_owned() }
}

/// Spills to so many files.
fn spill(aggregator: &mut Aggregator, partitions: usize) -> Vec<Vec<u8>> {
    let mut files = vec![Vec::new(); partitions];
    let mut out = |partition: usize, piece: Vec<u8>| {
        files[partition].extend(piece);
        Ok(())
    };
    aggregator.spill(0, partitions, &mut out).unwrap();
    files
}

/// Results of an aggregate over batches, without keys.
fn all(kind: AggKind, batches: &[Column]) -> Result<Vec<Scalar>, ExecError> {
    let mut aggregator = Aggregator::new(GroupSpec::new(vec![], vec![AggSpec::plain(kind)]));
    for batch in batches {
        aggregator.consume(&[], &[Some(batch.clone())], &[None], batch.len)?;
    }
    Ok(aggregator.output(0, 0, 1).iter().map(|column| column.get(0)).collect())
}

/// Results of an aggregate over a column, all rows in one group of a key.
fn grouped(kind: AggKind, values: &Column) -> Result<Vec<Scalar>, ExecError> {
    let spec = GroupSpec::new(vec![ValueType::Int], vec![AggSpec::plain(kind)]);
    let mut aggregator = Aggregator::new(spec);
    let keys = [ints(&vec![1; values.len])];
    aggregator.consume(&keys, &[Some(values.clone())], &[None], values.len)?;
    Ok(aggregator.output(0, 0, 1).iter().map(|column| column.get(0)).collect())
}

#[test]
fn without_keys_there_is_one_group_before_any_row() {
    let kinds = [
        AggKind::CountStar,
        AggKind::Sum(NumType::Int),
        AggKind::Avg(NumType::Float),
        AggKind::Max(ValueType::Bytes),
        AggKind::Moments(NumType::Int),
    ];
    let spec = GroupSpec::new(vec![], kinds.map(AggSpec::plain).to_vec());
    let aggregator = Aggregator::new(spec);
    assert_eq!(aggregator.groups(), 1);
    let outputs: Vec<Scalar> =
        (0..5).flat_map(|at| aggregator.output(at, 0, 1)).map(|column| column.get(0)).collect();
    let (null, zero) = (Scalar::Null, Scalar::Int(0));
    let expected =
        [&zero, &null, &null, &zero, &null, &zero, &null, &null].map(Clone::clone).to_vec();
    assert_eq!(outputs, expected);
}

#[test]
fn with_keys_there_is_no_group_before_any_row() {
    let aggregator = Aggregator::new(GroupSpec::new(vec![ValueType::Int], vec![]));
    assert_eq!(aggregator.groups(), 0);
}

#[test]
fn sums_of_integers_are_exact() {
    let values = ints(&[i64::MAX, i64::MAX, i64::MAX, -1, i64::MIN]);
    let expected = 2 * i128::from(i64::MAX) - 2;
    for results in [all, |kind, batches: &[Column]| grouped(kind, &batches[0])] {
        let sum = results(AggKind::Sum(NumType::Int), std::slice::from_ref(&values)).unwrap();
        assert_eq!(sum, [Scalar::Decimal(expected, 0)]);
        let avg = results(AggKind::Avg(NumType::Int), std::slice::from_ref(&values)).unwrap();
        assert_eq!(avg, [Scalar::Decimal(expected, 0), Scalar::Int(5)]);
    }
    let many = ints(&vec![i64::MIN; 200_000]);
    let sum = all(AggKind::Sum(NumType::Int), &[many.clone(), many]).unwrap();
    assert_eq!(sum, [Scalar::Decimal(i128::from(i64::MIN) * 400_000, 0)]);
}

#[test]
fn float_sums_raise_where_postgres_does() {
    let sum = AggKind::Sum(NumType::Float);
    let huge = floats(&[f64::MAX, f64::MAX]);
    let infinite = floats(&[f64::MAX, f64::INFINITY, f64::MAX]);
    for kind in [sum, AggKind::Avg(NumType::Float), AggKind::Moments(NumType::Float)] {
        assert_eq!(all(kind, std::slice::from_ref(&huge)), Err(overflow()));
        assert_eq!(grouped(kind, &huge), Err(overflow()));
        let at = usize::from(matches!(kind, AggKind::Moments(_)));
        for results in [all(kind, std::slice::from_ref(&infinite)), grouped(kind, &infinite)] {
            assert_eq!(results.unwrap()[at], Scalar::Float(f64::INFINITY));
        }
    }
    let Scalar::Float(nan) = all(sum, &[floats(&[f64::INFINITY, f64::NEG_INFINITY])]).unwrap()[0]
    else {
        panic!("a sum of floats is a float")
    };
    assert!(nan.is_nan());
    let Scalar::Float(zero) = all(sum, &[floats(&[-0.0])]).unwrap()[0] else {
        panic!("a sum of floats is a float")
    };
    assert!(zero.is_sign_negative());
}

#[test]
fn an_average_raises_where_its_sxx_overflows() {
    // Sx is far below the largest float, Sxx is not; PostgreSQL's avg raises.
    let values = floats(&[1e200, -1e200]);
    let avg = AggKind::Avg(NumType::Float);
    assert_eq!(all(avg, std::slice::from_ref(&values)), Err(overflow()));
    assert_eq!(grouped(avg, &values), Err(overflow()));
    // Not so the sum.
    let sum = all(AggKind::Sum(NumType::Float), std::slice::from_ref(&values)).unwrap();
    assert_eq!(sum, [Scalar::Float(0.0)]);
    // Small values first, so that the states change their form in between.
    let batches = [floats(&[1.0, 2.0]), floats(&[1e145]), floats(&[1e146])];
    assert_eq!(all(avg, &batches).unwrap(), [Scalar::Float(3.0 + 1e145 + 1e146), Scalar::Int(4)]);
}

#[test]
fn averages_merge_whatever_their_form() {
    let spec =
        || GroupSpec::new(vec![ValueType::Int], vec![AggSpec::plain(AggKind::Avg(NumType::Float))]);
    for swap in [false, true] {
        let (mut small, mut large) = (Aggregator::new(spec()), Aggregator::new(spec()));
        let values = [floats(&[1.0, 2.0]), floats(&[1e150, 1e150])];
        small.consume(&[ints(&[1, 2])], &[Some(values[0].clone())], &[None], 2).unwrap();
        large.consume(&[ints(&[1, 3])], &[Some(values[1].clone())], &[None], 2).unwrap();
        let (mut into, from) = if swap { (large, small) } else { (small, large) };
        into.merge(from).unwrap();
        let mut rows: Vec<String> = (0..3)
            .map(|group| {
                let output = into.output(0, 0, 3);
                let key = into.key(0, 0, 3).get(group);
                format!("{key:?} {:?} {:?}", output[0].get(group), output[1].get(group))
            })
            .collect();
        rows.sort();
        assert_eq!(
            rows,
            [
                "Int(1) Float(1e150) Int(2)",
                "Int(2) Float(2.0) Int(1)",
                "Int(3) Float(1e150) Int(1)"
            ]
        );
    }
}

#[test]
fn moments_of_floats_are_youngs_and_cramers() {
    let values = [1.5, 2.25, -7.0, 100.125];
    let (mut n, mut sx, mut sxx) = (0.0, 0.0, 0.0);
    for value in values {
        n += 1.0;
        sx += value;
        if n > 1.0 {
            let spread: f64 = value * n - sx;
            sxx += spread * spread / (n * (n - 1.0));
        }
    }
    let expected = [Scalar::Int(4), Scalar::Float(sx), Scalar::Float(sxx)];
    let kind = AggKind::Moments(NumType::Float);
    assert_eq!(all(kind, &[floats(&values)]).unwrap(), expected);
    assert_eq!(grouped(kind, &floats(&values)).unwrap(), expected);
    let one = all(kind, &[floats(&[f64::INFINITY])]).unwrap();
    assert!(matches!(one[2], Scalar::Float(sxx) if sxx.is_nan()));
}

#[test]
fn moments_of_floats_merge_as_float8_combine() {
    let spec = GroupSpec::new(vec![], vec![AggSpec::plain(AggKind::Moments(NumType::Float))]);
    let consume = |values: &[f64]| {
        let mut aggregator = Aggregator::new(Arc::clone(&spec));
        let arg = Some(floats(values));
        aggregator.consume(&[], &[arg], &[None], values.len()).unwrap();
        aggregator
    };
    let mut left = consume(&[1.0, 2.0, 4.0]);
    left.merge(consume(&[10.0, 20.0])).unwrap();
    left.merge(Aggregator::new(Arc::clone(&spec))).unwrap();
    let (sxx1, sxx2) = (14.0 / 3.0, 50.0);
    let apart: f64 = 7.0 / 3.0 - 30.0 / 2.0;
    let expected = sxx1 + sxx2 + 3.0 * 2.0 * apart * apart / 5.0;
    let output = left.output(0, 0, 1);
    assert_eq!((output[0].get(0), output[1].get(0)), (Scalar::Int(5), Scalar::Float(37.0)));
    let Scalar::Float(sxx) = output[2].get(0) else { panic!("Sxx is a float") };
    assert!((sxx - expected).abs() < 1e-9);
}

#[test]
fn moments_of_integers_and_decimals_are_exact() {
    let results = all(AggKind::Moments(NumType::Int), &[ints(&[3, -4, 1 << 40])]).unwrap();
    let squares = 25 + (1i128 << 80);
    let expected = [Scalar::Int(3), Scalar::Decimal((1 << 40) - 1, 0), Scalar::Decimal(squares, 0)];
    assert_eq!(results, expected);
    let kind = AggKind::Moments(NumType::Decimal(2));
    let results = grouped(kind, &decimals(&[150, 250], 2)).unwrap();
    let expected = [Scalar::Int(2), Scalar::Decimal(400, 2), Scalar::Decimal(85_000, 4)];
    assert_eq!(results, expected);
    let beyond = all(kind, &[decimals(&[i128::MAX], 2)]);
    assert_eq!(beyond, Err(ExecError::Unsupported));
    let nan = all(kind, &[decimals(&[i128::MIN, 4], 2)]).unwrap();
    assert_eq!(nan[1..], [Scalar::Decimal(i128::MIN, 2), Scalar::Decimal(i128::MIN, 4)]);
}

#[test]
fn sums_of_decimals_know_nan_and_their_limit() {
    let sum = AggKind::Sum(NumType::Decimal(3));
    let nan = all(sum, &[decimals(&[1, i128::MIN, 5], 3)]).unwrap();
    assert_eq!(nan, [Scalar::Decimal(i128::MIN, 3)]);
    assert_eq!(all(sum, &[decimals(&[i128::MAX, 1], 3)]), Err(ExecError::Unsupported));
    assert_eq!(all(sum, &[decimals(&[i128::MIN + 1, -1], 3)]), Err(ExecError::Unsupported));
    assert_eq!(all(sum, &[decimals(&[1], 4)]), Err(ExecError::Unsupported));
}

#[test]
fn nan_is_the_largest() {
    let values = floats(&[1.0, f64::NAN, f64::INFINITY, -2.0]);
    let min = all(AggKind::Min(ValueType::Float), std::slice::from_ref(&values)).unwrap();
    assert_eq!(min, [Scalar::Float(-2.0)]);
    let max = grouped(AggKind::Max(ValueType::Float), &values).unwrap();
    assert!(matches!(max[0], Scalar::Float(value) if value.is_nan()));
    let only = grouped(AggKind::Min(ValueType::Float), &floats(&[f64::NAN])).unwrap();
    assert!(matches!(only[0], Scalar::Float(value) if value.is_nan()));
    let values = decimals(&[5, i128::MIN, -3], 0);
    let min = all(AggKind::Min(ValueType::Decimal(0)), std::slice::from_ref(&values)).unwrap();
    assert_eq!(min, [Scalar::Decimal(-3, 0)]);
    let max = all(AggKind::Max(ValueType::Decimal(0)), std::slice::from_ref(&values)).unwrap();
    assert_eq!(max, [Scalar::Decimal(i128::MIN, 0)]);
}

#[test]
fn of_equal_floats_the_last_is_the_extreme() {
    // As float8smaller and float8larger do.
    for kind in [AggKind::Min(ValueType::Float), AggKind::Max(ValueType::Float)] {
        let Scalar::Float(zero) = all(kind, &[floats(&[0.0, -0.0])]).unwrap()[0] else {
            panic!("an extreme of floats is a float")
        };
        assert!(zero.is_sign_negative());
    }
}

#[test]
fn the_first_zero_stands_for_its_group() {
    for (values, negative) in [([-0.0, 0.0], true), ([0.0, -0.0], false)] {
        let spec = GroupSpec::new(vec![ValueType::Int, ValueType::Float], vec![]);
        let mut aggregator = Aggregator::new(Arc::clone(&spec));
        let keys = [ints(&[7, 8, 7]), floats(&[values[0], 1.0, values[1]])];
        aggregator.consume(&keys, &[], &[], 3).unwrap();
        let mut merged = Aggregator::new(Arc::clone(&spec));
        merged.consume(&[ints(&[8]), floats(&[1.0])], &[], &[], 1).unwrap();
        merged.merge(aggregator).unwrap();
        for _ in 0..2 {
            assert_eq!(merged.groups(), 2);
            let keys = merged.key(1, 0, 2);
            let zero = (0..2).map(|row| keys.get(row)).find(|key| *key == Scalar::Float(0.0));
            let Some(Scalar::Float(zero)) = zero else { panic!("there is no zero") };
            assert_eq!(zero.is_sign_negative(), negative);
            let files = spill(&mut merged, 1);
            assert_eq!(merged.groups(), 0);
            merged.absorb(&files[0]).unwrap();
        }
    }
}

#[test]
fn bits_and_booleans() {
    let bits = ints(&[0b1100, 0b1010]);
    let expect = |kind, value| {
        assert_eq!(all(kind, std::slice::from_ref(&bits)).unwrap(), [Scalar::Int(value)]);
        assert_eq!(grouped(kind, &bits).unwrap(), [Scalar::Int(value)]);
    };
    expect(AggKind::BitAnd, 0b1000);
    expect(AggKind::BitOr, 0b1110);
    expect(AggKind::BitXor, 0b0110);
    let bools = Column::new(Data::Bool(Arc::new(vec![true, false])), 2);
    assert_eq!(all(AggKind::BoolAnd, std::slice::from_ref(&bools)).unwrap(), [Scalar::Bool(false)]);
    assert_eq!(grouped(AggKind::BoolOr, &bools).unwrap(), [Scalar::Bool(true)]);
}

#[test]
fn other_data_than_the_spec_says_is_refused() {
    let result = all(AggKind::Sum(NumType::Int), &[floats(&[1.0])]);
    assert_eq!(result, Err(ExecError::Unsupported));
    let spec = GroupSpec::new(vec![ValueType::Decimal(2)], vec![]);
    let mut aggregator = Aggregator::new(spec);
    assert_eq!(aggregator.consume(&[decimals(&[1], 3)], &[], &[], 1), Err(ExecError::Unsupported));
}

#[test]
fn distinct_does_not_count_a_pair_again_after_a_merge() {
    let spec = GroupSpec::new(
        vec![ValueType::Int],
        vec![
            AggSpec { kind: AggKind::Count, distinct: Some(ValueType::Bytes), filtered: false },
            AggSpec {
                kind: AggKind::Sum(NumType::Int),
                distinct: Some(ValueType::Int),
                filtered: true,
            },
        ],
    );
    let text = |value: &str| Scalar::Bytes(value.as_bytes().into());
    let texts = [text("a"), text("a"), text("a string of many bytes"), Scalar::Null];
    let build = |dictionary: bool| {
        let mut aggregator = Aggregator::new(Arc::clone(&spec));
        let strings =
            if dictionary { dictionary_column(&texts) } else { column(ValueType::Bytes, &texts) };
        let filter = Column::constant(Scalar::Bool(true), 4);
        let args = [Some(strings), Some(ints(&[5, 5, 6, 6]))];
        aggregator.consume(&[ints(&[1, 2, 1, 1])], &args, &[None, Some(filter)], 4).unwrap();
        aggregator
    };
    let mut merged = build(false);
    merged.merge(build(true)).unwrap();
    let (count, sum) = (merged.output(0, 0, 2), merged.output(1, 0, 2));
    assert_eq!((count[0].get(0), count[0].get(1)), (Scalar::Int(2), Scalar::Int(1)));
    assert_eq!(sum[0].get(0), Scalar::Decimal(11, 0));
    assert_eq!(sum[0].get(1), Scalar::Decimal(5, 0));
}

#[test]
fn strings_of_many_dictionaries_are_stored_once() {
    let spec = GroupSpec::new(vec![ValueType::Bytes, ValueType::Int], vec![]);
    let mut aggregator = Aggregator::new(spec);
    let texts: Vec<Scalar> =
        (0..100).map(|n| Scalar::Bytes(format!("{n:0>100}").into_bytes().into())).collect();
    let mut sizes = Vec::new();
    for _ in 0..50 {
        let keys = [dictionary_column(&texts), ints(&(0..100).collect::<Vec<_>>())];
        aggregator.consume(&keys, &[], &[], 100).unwrap();
        sizes.push(aggregator.memory_size());
    }
    assert_eq!(aggregator.groups(), 100);
    // The first two batches make room for their rows.
    assert_eq!(sizes[2], sizes[49]);
}

#[test]
fn the_first_groups_of_an_order_come_with_all_ties() {
    let spec = GroupSpec::new(vec![ValueType::Int], vec![AggSpec::plain(AggKind::CountStar)]);
    let mut aggregator = Aggregator::new(spec);
    // Group n has n % 10 + 1 rows.
    let keys: Vec<i64> = (0..100).flat_map(|n| vec![n; n as usize % 10 + 1]).collect();
    aggregator.consume(&[ints(&keys)], &[None], &[None], keys.len()).unwrap();
    let order = Order { descending: true, nulls_first: true };
    let by_count = TopKey { source: TopSource::Output { aggregate: 0, column: 0 }, order };
    let top = |order: &[TopKey], n, range, among| {
        aggregator.top(order, n, range, among, &|| Ok(())).unwrap()
    };
    assert_eq!(
        top(&[by_count], 3, 0..100, None),
        (0..10).map(|n| n * 10 + 9).collect::<Vec<u32>>()
    );
    let by_key = TopKey {
        source: TopSource::Key(0),
        order: Order { descending: false, nulls_first: false },
    };
    assert_eq!(top(&[by_count, by_key], 3, 0..100, None), [9, 19, 29]);
    assert_eq!(top(&[by_key], 2, 0..100, None), [0, 1]);
    assert_eq!(top(&[by_key], 0, 0..100, None), [] as [u32; 0]);
    assert_eq!(top(&[by_key], 1000, 0..100, None).len(), 100);
    // Of a range, and of some groups of it.
    assert_eq!(top(&[by_key], 2, 40..70, None), [40, 41]);
    let some: Vec<u32> = (0..100).filter(|group| group % 3 == 0).collect();
    assert_eq!(top(&[by_key], 2, 40..70, Some(&some)), [42, 45]);
    assert_eq!(top(&[by_count, by_key], 2, 0..100, Some(&some)), [9, 39]);
    assert_eq!(top(&[by_count], 50, 40..70, Some(&some)), some[14..24]);
    assert_eq!(top(&[by_count], 5, 70..70, None), [] as [u32; 0]);
}

#[test]
fn the_first_groups_are_found_across_chunks() {
    let spec = GroupSpec::new(vec![ValueType::Int], Vec::new());
    let mut aggregator = Aggregator::new(spec);
    let keys: Vec<i64> = (0..10_000).map(|n| n * 7919 % 10_007).collect();
    aggregator.consume(&[ints(&keys)], &[], &[], keys.len()).unwrap();
    let by_key =
        TopKey { source: TopSource::Key(0), order: Order { descending: true, nulls_first: true } };
    let some: Vec<u32> = (0..10_000).filter(|group| group / 100 % 25 == 3).collect();
    for (range, among) in [
        (0..10_000, None),
        (1000..9000, None),
        (0..10_000, Some(&some[..])),
        (301..7900, Some(&some[..])),
        (400..2700, Some(&some[..])),
    ] {
        let is_in = |group: &u32| among.is_none_or(|some| some.contains(group));
        let mut wanted: Vec<u32> = (range.start as u32..range.end as u32).filter(is_in).collect();
        wanted.sort_by_key(|&group| std::cmp::Reverse(keys[group as usize]));
        wanted.truncate(6);
        wanted.sort_unstable();
        let found = aggregator.top(&[by_key], 6, range, among, &|| Ok(())).unwrap();
        assert_eq!(found, wanted);
    }
}

#[test]
fn memory_is_given_back_by_a_spill() {
    let spec = GroupSpec::new(
        vec![ValueType::Int, ValueType::Int],
        vec![AggSpec::plain(AggKind::Sum(NumType::Int))],
    );
    let mut aggregator = Aggregator::new(spec);
    let keys: Vec<i64> = (0..100_000).collect();
    let key = ints(&keys);
    let columns = [key.clone(), key.clone()];
    aggregator.consume(&columns, &[Some(key)], &[None], keys.len()).unwrap();
    assert!(aggregator.memory_size() > 100_000 * (16 + 16 + 8));
    let files = spill(&mut aggregator, 8);
    assert!(aggregator.memory_size() < 4096, "{}", aggregator.memory_size());
    let bytes: usize = files.iter().map(Vec::len).sum();
    assert!(bytes < 100_000 * 12, "{bytes}");
    for file in &files {
        assert!((10_000..15_000).contains(&(file.len() * 8 * 12_500 / bytes)));
    }
}
