//! Tests of [`super::DistinctOn`].

use proptest::prelude::*;

use super::*;
use crate::agg::ValueType;
use crate::topn::tests::form;

fn type_of(form: u8) -> ValueType {
    match form {
        0 => ValueType::Int,
        1 => ValueType::Float,
        2 | 3 => ValueType::Bytes,
        4 => ValueType::Decimal(2),
        _ => ValueType::Bool,
    }
}

const ASCENDING: Order = Order { descending: false, nulls_first: false };

proptest! {
    #[test]
    fn the_first_rows_are_those_of_a_sort(
        rows in proptest::collection::vec((0i64..12, 0i64..6, 0i64..30, 0i64..30), 0..500),
        forms in proptest::array::uniform4(0u8..6),
        orders in proptest::array::uniform4(any::<bool>()),
        (keys, order_keys) in (1usize..3, 0usize..3),
        batch in 1usize..200,
        tables in 1usize..4,
    ) {
        let columns: [Vec<i64>; 4] = [
            rows.iter().map(|row| row.0).collect(),
            rows.iter().map(|row| row.1).collect(),
            rows.iter().map(|row| row.2).collect(),
            rows.iter().map(|row| row.3).collect(),
        ];
        let types: Vec<ValueType> = forms[..keys].iter().map(|form| type_of(*form)).collect();
        let order: Vec<Order> = [(orders[0], orders[1]), (orders[2], orders[3])][..order_keys]
            .iter()
            .map(|&(descending, nulls_first)| Order { descending, nulls_first })
            .collect();
        let mut found: Vec<DistinctOn> =
            (0..tables).map(|_| DistinctOn::new(&types, order.clone())).collect();
        // Batches come in any order.
        let starts: Vec<usize> = (0..rows.len()).step_by(batch).collect();
        for (at, &from) in starts.iter().enumerate().rev() {
            let to = rows.len().min(from + batch);
            let part = |at: usize| form(forms[at], &columns[at][from..to]);
            let of_groups: Vec<Column> = (0..keys).map(part).collect();
            let of_order: Vec<Column> = (2..2 + order_keys).map(part).collect();
            let table = &mut found[at % tables];
            table.consume(&of_groups, &of_order, to - from, |row| (from + row) as u64).unwrap();
        }
        let mut found = found.into_iter();
        let mut all = found.next().unwrap();
        found.for_each(|other| all.merge(other, &|| Ok(())).unwrap());

        let whole: Vec<Column> = (0..4).map(|at| form(forms[at], &columns[at])).collect();
        let values = |from: usize, count: usize, row: usize| -> Vec<Scalar> {
            whole[from..from + count].iter().map(|key| key.get(row)).collect()
        };
        let mut sorted: Vec<usize> = (0..rows.len()).collect();
        let by_group = |a: usize, b: usize| {
            compare_scalars(&values(0, keys, a), &values(0, keys, b), &[ASCENDING; 2])
        };
        sorted.sort_by(|&a, &b| {
            let within = compare_scalars(&values(2, order_keys, a), &values(2, order_keys, b), &order);
            by_group(a, b).then(within).then(a.cmp(&b))
        });
        sorted.dedup_by(|a, b| by_group(*a, *b) == Ordering::Equal);
        sorted.sort_unstable();
        let expected: Vec<u64> = sorted.into_iter().map(|row| row as u64).collect();
        prop_assert_eq!(all.len(), expected.len());
        let strings: usize = all.firsts.iter().map(string_bytes).sum();
        prop_assert_eq!(all.string_bytes, strings);
        prop_assert_eq!(all.finish(), expected);
    }
}

#[test]
fn many_groups_outgrow_a_limit() {
    let numbers: Vec<i64> = (0..20_000).collect();
    let mut table = DistinctOn::new(&[ValueType::Int], vec![ASCENDING]);
    assert!(table.is_empty());
    assert!(!table.outgrows(1 << 20, 1000));
    for (at, part) in numbers.chunks(1000).enumerate() {
        let column = form(0, part);
        let column = std::slice::from_ref(&column);
        table.consume(column, column, 1000, |row| (at * 1000 + row) as u64).unwrap();
    }
    // NULLs are one group.
    assert_eq!(table.len(), 20_000 - 20_000usize.div_ceil(7) + 1);
    assert!(table.memory_size() > 20_000 * 40);
    assert!(table.outgrows(1 << 20, 1000));
    assert!(!table.outgrows(64 << 20, 1000));
}
