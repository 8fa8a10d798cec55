//! Nanoseconds a row of grouping, for some shapes: `cargo run --release --example agg_throughput`. With an argument, of the
//! shapes whose name holds it.
//!
//! Time is that of the processor, so that other processes disturb less. It is counted in steps of up to 4 ms.

use std::slice::from_ref;
use std::sync::Arc;

use arrow_buffer::Buffer;
use columnar_exec::agg::{AggKind, AggSpec, Aggregator, GroupSpec, NumType, ValueType};
use columnar_exec::topn::{Order, TopN};
use columnar_exec::{Codes, Column, Data, Span, StringDictionary, Strings};

const ROWS: usize = 1_500_000;
/// Rows of a batch, as those of a stored vector.
const BATCH: usize = 16_384;

/// Nanoseconds that this thread has run.
fn now() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("this is Linux");
    stat.split_whitespace().next().and_then(|time| time.parse().ok()).expect("a time comes first")
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Batches of a column of integers.
fn ints(seed: u64, value: impl Fn(usize, u64) -> i64) -> Vec<Column> {
    let mut state = seed;
    let values: Vec<i64> = (0..ROWS).map(|row| value(row, random(&mut state))).collect();
    let batch = |chunk: &[i64]| Column::new(Data::Int(Arc::new(chunk.to_vec())), chunk.len());
    values.chunks(BATCH).map(batch).collect()
}

fn floats(seed: u64) -> Vec<Column> {
    let convert = |column: Column| {
        let Data::Int(values) = &column.data else { unreachable!("integers were made") };
        let values = values.iter().map(|&value| value as f64 / 8.0).collect();
        Column::new(Data::Float(Arc::new(values)), column.len)
    };
    ints(seed, |_, random| (random % 1000) as i64).into_iter().map(convert).collect()
}

fn strings(numbers: &[i64]) -> Strings {
    let mut data = Vec::new();
    let mut spans = Vec::new();
    for number in numbers {
        let start = data.len();
        data.extend_from_slice(format!("https://example.org/page/{number}").as_bytes());
        spans.push(Span { start: start as u32, len: (data.len() - start) as u32 });
    }
    Strings { spans: Arc::new(spans), data: Buffer::from_vec(data) }
}

/// Strings of integers, plain.
fn plain(column: &Column) -> Column {
    let Data::Int(values) = &column.data else { unreachable!("integers were made") };
    Column::new(Data::Bytes(strings(values)), column.len)
}

/// Strings of integers as codes; a dictionary for each 150,000 rows.
fn dictionaries(columns: &[Column], distinct: i64) -> Vec<Column> {
    let all: Vec<i64> = (0..distinct).collect();
    let mut dictionary = Arc::new(StringDictionary::new(strings(&all)));
    let mut result = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        if at % 9 == 8 {
            dictionary = Arc::new(StringDictionary::new(strings(&all)));
        }
        let Data::Int(values) = &column.data else { unreachable!("integers were made") };
        let codes = Arc::new(values.iter().map(|&value| value as u32).collect());
        let data = Data::Dict(Codes { codes, dictionary: Arc::clone(&dictionary) });
        result.push(Column::new(data, column.len));
    }
    result
}

/// Runs thrice and prints the fastest.
fn measure(
    name: &str,
    keys: &[Vec<Column>],
    kinds: &[ValueType],
    args: &[(AggSpec, Option<&Vec<Column>>)],
) {
    if std::env::args().nth(1).is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let spec = GroupSpec::new(kinds.to_vec(), args.iter().map(|arg| arg.0).collect());
    let filters = vec![None; args.len()];
    let mut fastest = f64::INFINITY;
    let mut groups = 0;
    let mut memory = 0;
    for _ in 0..3 {
        let start = now();
        let mut aggregator = Aggregator::new(Arc::clone(&spec));
        for batch in 0..ROWS.div_ceil(BATCH) {
            let rows = BATCH.min(ROWS - batch * BATCH);
            let keys: Vec<Column> = keys.iter().map(|key| key[batch].clone()).collect();
            let args: Vec<Option<Column>> =
                args.iter().map(|arg| arg.1.map(|columns| columns[batch].clone())).collect();
            aggregator
                .consume(&keys, &args, &filters, rows)
                .expect("the data is what the spec says");
        }
        fastest = fastest.min((now() - start) as f64 / 1e9);
        groups = aggregator.groups();
        memory = aggregator.memory_size();
    }
    println!(
        "{name:<58} {:7.2} ns/row {:8.1} ms {groups:9} groups {:7.1} MB",
        fastest * 1e9 / ROWS as f64,
        fastest * 1e3,
        memory as f64 / 1e6
    );
}

fn main() {
    let int = ValueType::Int;
    let bytes = ValueType::Bytes;
    let count = (AggSpec::plain(AggKind::CountStar), None);
    let value = ints(1, |_, random| (random % 2000) as i64);
    let float = floats(9);
    let sum = (AggSpec::plain(AggKind::Sum(NumType::Int)), Some(&value));
    let avg = (AggSpec::plain(AggKind::Avg(NumType::Int)), Some(&value));
    let avg_float = (AggSpec::plain(AggKind::Avg(NumType::Float)), Some(&float));
    let distinct = |column| {
        (AggSpec { kind: AggKind::Count, distinct: Some(int), filtered: false }, Some(column))
    };

    measure("no keys: count, sum, avg", &[], &[], &[count, sum, avg]);
    let wide = ints(2, |_, random| random as i64);
    let wide_min = (AggSpec::plain(AggKind::Min(int)), Some(&wide));
    measure("no keys: sum, avg, min of floats and ints", &[], &[], &[avg_float, wide_min]);

    let ten = ints(3, |_, random| (random % 10) as i64);
    let aggregates = [count, sum, avg];
    measure("10 groups of an integer: count, sum, avg", from_ref(&ten), &[int], &aggregates);
    let far = ints(3, |_, random| (random % 10) as i64 * 1_000_000_007);
    measure("10 groups of an integer, far apart", from_ref(&far), &[int], &aggregates);
    let ten_texts = dictionaries(&ten, 10);
    measure("10 groups of a dictionary", from_ref(&ten_texts), &[bytes], &aggregates);
    measure(
        "10 groups of a dictionary and an integer",
        &[ten_texts, far.clone()],
        &[bytes, int],
        &aggregates,
    );

    let some = ints(4, |_, random| (random % 20_000) as i64 * 7919);
    measure("20 k groups of an integer", &[some], &[int], &aggregates);
    let many = ints(5, |_, random| (random % 300_000) as i64 * 7919);
    measure("300 k groups of an integer", from_ref(&many), &[int], &aggregates);
    measure("300 k groups of an integer: count", from_ref(&many), &[int], &[count]);

    let unique = ints(6, |row, _| row as i64 * 7919);
    let address = ints(7, |_, random| (random % 4_000_000_000) as i64);
    let keys = [unique.clone(), address.clone()];
    measure("1.5 M groups of two integers: count, sum, avg", &keys, &[int, int], &aggregates);
    measure("1.5 M groups of two integers: count", &keys, &[int, int], &[count]);

    measure("count(DISTINCT integer), 300 k", &[], &[], &[distinct(&many)]);
    measure("count(DISTINCT integer) by 10 groups", from_ref(&ten), &[int], &[distinct(&many)]);
    let users = ints(8, |_, random| (random % 100) as i64);
    measure(
        "ten averages of 100 k groups of two keys",
        &[users, ints(10, |_, random| (random % 1000) as i64 * 3600)],
        &[int, int],
        &[avg_float; 10],
    );

    let texts: Vec<Column> = many.iter().map(plain).collect();
    measure("300 k groups of plain strings: count", &[texts], &[bytes], &[count]);
    let numbers = ints(5, |_, random| (random % 50_000) as i64);
    let texts = dictionaries(&numbers, 50_000);
    measure("50 k groups of a dictionary: count", from_ref(&texts), &[bytes], &[count]);
    measure("500 k groups of a dictionary and 10 integers", &[texts, far], &[bytes, int], &[count]);

    for (name, columns) in [("random", &wide), ("ascending", &unique)] {
        let start = now();
        let order = Order { descending: true, nulls_first: false };
        let mut top = TopN::new(vec![order], 10);
        for (batch, column) in columns.iter().enumerate() {
            top.consume(from_ref(column), column.len, |row| (batch * BATCH + row) as u64);
        }
        let rows = top.finish().len();
        let time = (now() - start) as f64 / 1e9;
        let per_row = time * 1e9 / ROWS as f64;
        println!("top {rows} of integers, {name:<39} {per_row:7.2} ns/row {:8.1} ms", time * 1e3);
    }
}
