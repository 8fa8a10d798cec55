//! Tests of [`super::TopN`].

use std::sync::Arc;

use arrow_buffer::Buffer;
use proptest::prelude::*;

use super::*;
use crate::column::{Codes, Span, StringDictionary, Strings};

fn strings(values: &[Vec<u8>]) -> Strings {
    let mut start = 0;
    let spans = values.iter().map(|value| {
        let span = Span { start, len: value.len() as u32 };
        start += span.len;
        span
    });
    Strings { spans: Arc::new(spans.collect()), data: Buffer::from_vec(values.concat()) }
}

/// Columns of numbers in every form; about one in `nulls` is NULL.
pub(crate) fn form(form: u8, numbers: &[i64]) -> Column {
    let nulls: Vec<bool> = numbers.iter().map(|n| n % 7 == 0).collect();
    let texts: Vec<Vec<u8>> = numbers.iter().map(|n| format!("{n}").into_bytes()).collect();
    let data = match form {
        0 => Data::Int(Arc::new(numbers.to_vec())),
        1 => Data::Float(Arc::new(
            numbers.iter().map(|&n| if n == 3 { f64::NAN } else { n as f64 / 4.0 }).collect(),
        )),
        2 => Data::Bytes(strings(&texts)),
        3 => {
            let mut words = texts.clone();
            words.sort();
            words.dedup();
            let code = |text| words.binary_search(text).unwrap() as u32;
            let codes = Arc::new(texts.iter().map(code).collect());
            let dictionary = Arc::new(StringDictionary::new(strings(&words)));
            Data::Dict(Codes { codes, dictionary })
        }
        4 => {
            let decimal = |&n: &i64| if n == 3 { i128::MIN } else { i128::from(n) };
            Data::Decimal(Arc::new(numbers.iter().map(decimal).collect()), 2)
        }
        _ => Data::Bool(Arc::new(numbers.iter().map(|n| n % 2 == 0).collect())),
    };
    Column::with_nulls(data, Some(Arc::new(nulls)), numbers.len())
}

proptest! {
    #[test]
    fn the_first_rows_are_those_of_a_sort(
        rows in proptest::collection::vec((0i64..30, 0i64..30), 0..500),
        forms in (0u8..6, 0u8..6),
        orders in proptest::array::uniform4(any::<bool>()),
        limit in 0usize..40,
        batch in 1usize..200,
        split in any::<bool>(),
    ) {
        let order = vec![
            Order { descending: orders[0], nulls_first: orders[1] },
            Order { descending: orders[2], nulls_first: orders[3] },
        ];
        let first: Vec<i64> = rows.iter().map(|row| row.0).collect();
        let second: Vec<i64> = rows.iter().map(|row| row.1).collect();
        let whole = [form(forms.0, &first), form(forms.1, &second)];
        let mut tops = [TopN::new(order.clone(), limit), TopN::new(order.clone(), limit)];
        for (at, from) in (0..rows.len()).step_by(batch).enumerate() {
            let to = rows.len().min(from + batch);
            let keys = [form(forms.0, &first[from..to]), form(forms.1, &second[from..to])];
            let top = &mut tops[if split { at % 2 } else { 0 }];
            top.consume(&keys, to - from, |row| (from + row) as u64);
        }
        let [mut top, other] = tops;
        top.merge(other);
        let mut expected: Vec<usize> = (0..rows.len()).collect();
        expected.sort_by(|&a, &b| {
            let (a_keys, b_keys): (Vec<Scalar>, Vec<Scalar>) =
                whole.iter().map(|key| (key.get(a), key.get(b))).unzip();
            compare_scalars(&a_keys, &b_keys, &order).then(a.cmp(&b))
        });
        expected.truncate(limit);
        let threshold = top.threshold();
        let found = top.finish();
        let tags: Vec<usize> = found.iter().map(|(_, tag)| *tag as usize).collect();
        prop_assert_eq!(&tags, &expected);
        for (keys, tag) in &found {
            let row: Vec<Scalar> = whole.iter().map(|key| key.get(*tag as usize)).collect();
            prop_assert_eq!(format!("{keys:?}"), format!("{row:?}"));
        }
        let last = (limit > 0 && found.len() == limit).then(|| format!("{:?}", found[limit - 1].0));
        prop_assert_eq!(threshold.map(|keys| format!("{keys:?}")), last);
    }
}

fn int_column(values: &[i64]) -> Column {
    Column::new(Data::Int(Arc::new(values.to_vec())), values.len())
}

#[test]
fn orders_are_sqls() {
    let order = |descending, nulls_first| Order { descending, nulls_first };
    let less = |left: Scalar, right: Scalar, order| {
        compare_scalars(&[left], &[right], &[order]) == Ordering::Less
    };
    assert!(less(Scalar::Null, Scalar::Int(1), order(false, true)));
    assert!(less(Scalar::Null, Scalar::Int(1), order(true, true)));
    assert!(less(Scalar::Int(1), Scalar::Null, order(true, false)));
    assert!(less(Scalar::Int(2), Scalar::Int(1), order(true, false)));
    assert!(less(Scalar::Float(f64::INFINITY), Scalar::Float(f64::NAN), order(false, false)));
    let zeros = [Scalar::Float(0.0)];
    let equal = compare_scalars(&zeros, &[Scalar::Float(-0.0)], &[order(false, false)]);
    assert_eq!(equal, Ordering::Equal);
    let bytes = |text: &str| Scalar::Bytes(text.as_bytes().into());
    assert!(less(bytes("a"), bytes("ab"), order(false, false)));
    assert!(less(bytes("Z"), bytes("a"), order(false, false)));
}

#[test]
fn decimals_of_different_scales_compare_by_value() {
    let max = 10i128.pow(38);
    for (left, right, expected) in [
        ((15, 1), (150, 2), Ordering::Equal),
        ((15, 1), (149, 2), Ordering::Greater),
        ((-15, 1), (-149, 2), Ordering::Less),
        ((max, 0), (max, 10), Ordering::Greater),
        ((-max, 0), (-max, 10), Ordering::Less),
        ((0, 0), (1, 200), Ordering::Less),
        ((0, 200), (-1, 0), Ordering::Greater),
        ((i128::MIN, 0), (5, 3), Ordering::Greater),
        ((i128::MIN, 3), (i128::MIN, 0), Ordering::Equal),
    ] {
        assert_eq!(compare_decimals(left, right), expected, "{left:?} {right:?}");
        assert_eq!(compare_decimals(right, left), expected.reverse(), "{right:?} {left:?}");
    }
}

#[test]
fn rows_come_without_keys_too() {
    let mut top = TopN::new(vec![], 3);
    top.consume(&[], 10, |row| 100 - row as u64);
    let tags: Vec<u64> = top.finish().into_iter().map(|(_, tag)| tag).collect();
    assert_eq!(tags, [91, 92, 93]);
}

#[test]
fn a_large_limit_takes_memory_for_the_rows_there_are() {
    let mut top = TopN::new(vec![Order { descending: false, nulls_first: false }], usize::MAX);
    top.consume(&[int_column(&[3, 1, 2])], 3, |row| row as u64);
    assert_eq!(top.len(), 3);
    assert!(!top.is_empty());
    assert!(top.memory_size() < 4096);
    assert_eq!(top.threshold(), None);
    let keys: Vec<Scalar> = top.finish().into_iter().flat_map(|(keys, _)| keys).collect();
    assert_eq!(keys, [Scalar::Int(1), Scalar::Int(2), Scalar::Int(3)]);
}
