//! Prints sizes and speeds of typical columns: MB of plain values a second, best of several rounds.
//!
//! `cargo run --release -p pgcolumnar-format --example throughput [compression]`

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use columnar_format::{
    BoundsOrder, ColumnBuilder, ColumnSpec, Dictionary, EncodeOptions, EncodedChunk, PhysicalType,
    Vector, encode_chunk,
};

const ROWS: usize = 122_880;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0 ^ (self.0 >> 33);
        x.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ (x >> 29)
    }
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

fn columns() -> Vec<(&'static str, ColumnBuilder)> {
    let mut random = Random(1);
    let mut out = Vec::new();
    let mut ints = |name, physical, mut value: Box<dyn FnMut(usize) -> i64>| {
        let mut b = ColumnBuilder::new(ColumnSpec::new(physical, BoundsOrder::Signed));
        (0..ROWS).for_each(|i| b.push_i64(value(i)));
        out.push((name, b));
    };
    ints("int8 sequence", PhysicalType::Int64, Box::new(|i| 1_000_000 + i as i64));
    let mut r = Random(2);
    ints("int8 timestamps", PhysicalType::Int64, {
        let mut t = 700_000_000_000_000i64;
        Box::new(move |_| {
            t += r.below(2_000_000) as i64;
            t
        })
    });
    let mut r = Random(3);
    ints("int4 0..1000", PhysicalType::Int32, Box::new(move |_| r.below(1000) as i64));
    let mut r = Random(4);
    ints("int4 random", PhysicalType::Int32, Box::new(move |_| r.next() as i64));
    let mut r = Random(5);
    ints("int8 random", PhysicalType::Int64, Box::new(move |_| r.next() as i64));
    let mut r = Random(6);
    let few: Vec<i64> = (0..200).map(|_| r.next() as i64).collect();
    ints("int8 200 values", PhysicalType::Int64, Box::new(move |_| few[r.below(200) as usize]));
    ints("int4 runs", PhysicalType::Int32, Box::new(|i| (i / 500) as i64 * 777));
    let mut r = Random(7);
    ints("bool", PhysicalType::Bool, Box::new(move |_| r.below(2) as i64));

    let mut b = ColumnBuilder::new(ColumnSpec::new(PhysicalType::Int32, BoundsOrder::Signed));
    for _ in 0..ROWS {
        if random.below(10) == 0 { b.push_null() } else { b.push_i64(random.below(100_000) as i64) }
    }
    out.push(("int4 10% null", b));
    let mut b = ColumnBuilder::new(ColumnSpec::new(PhysicalType::Float64, BoundsOrder::Float));
    (0..ROWS).for_each(|_| b.push_f64(random.below(100_000) as f64 / 100.0));
    out.push(("float8 prices", b));
    let mut b = ColumnBuilder::new(ColumnSpec::new(PhysicalType::Float64, BoundsOrder::Float));
    (0..ROWS).for_each(|_| b.push_f64(random.next() as f64 / u64::MAX as f64));
    out.push(("float8 random", b));
    let mut b = ColumnBuilder::new(ColumnSpec::new(PhysicalType::Fixed(16), BoundsOrder::Bytewise));
    (0..ROWS).for_each(|_| {
        let uuid = (u128::from(random.next()) << 64 | u128::from(random.next())).to_le_bytes();
        b.push_bytes(&uuid);
    });
    out.push(("uuid random", b));

    let mut texts = |name, mut value: Box<dyn FnMut(usize) -> String>| {
        let mut b = ColumnBuilder::new(ColumnSpec::new(PhysicalType::Bytes, BoundsOrder::Bytewise));
        (0..ROWS).for_each(|i| b.push_bytes(value(i).as_bytes()));
        out.push((name, b));
    };
    let mut r = Random(8);
    texts("text 50 values", Box::new(move |_| format!("category number {}", r.below(50))));
    let mut r = Random(9);
    texts(
        "text 20000 values",
        Box::new(move |_| format!("customer-{:08}@example.com", r.below(20_000) * 7919)),
    );
    texts("text unique short", Box::new(|i| format!("order-{i:09}")));
    let mut r = Random(10);
    let words = [
        "the",
        "quick",
        "requests",
        "sleep",
        "furiously",
        "among",
        "ironic",
        "deposits",
        "carefully",
        "final",
    ];
    texts(
        "text comments",
        Box::new(move |_| {
            (0..8).map(|_| words[r.below(10) as usize]).collect::<Vec<_>>().join(" ")
        }),
    );
    let mut r = Random(11);
    texts(
        "text urls",
        Box::new(move |_| {
            format!("https://www.example{}.org/path/{}?q={}", r.below(90), r.below(5000), r.next())
        }),
    );
    out
}

fn best<T>(mut work: impl FnMut() -> T) -> Duration {
    let mut best = Duration::MAX;
    let started = Instant::now();
    let mut rounds = 0;
    while rounds < 5 || started.elapsed() < Duration::from_millis(150) {
        let start = Instant::now();
        black_box(work());
        best = best.min(start.elapsed());
        rounds += 1;
    }
    best
}

fn open(chunk: &EncodedChunk) -> Vec<Vector> {
    let spec = chunk.meta.spec;
    let dictionary = chunk.meta.dictionary.as_ref().map(|s| {
        Arc::new(
            Dictionary::open(spec, s, s.slice(&chunk.bytes).expect("inside")).expect("own bytes"),
        )
    });
    let open = |v: &columnar_format::VectorMeta| {
        Vector::open(spec, v, v.section.slice(&chunk.bytes).expect("inside"), dictionary.clone())
            .expect("own bytes")
    };
    chunk.meta.vectors.iter().map(open).collect()
}

fn main() {
    let mut options = EncodeOptions::default();
    if let Some(name) = std::env::args().nth(1) {
        options.compression = name.parse().expect("none, lz4 or zstd");
    }
    println!("compression {}, {ROWS} rows", options.compression.as_str());
    println!(
        "{:<20} {:>9} {:>9}  {:<11} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "column", "plain KB", "stored KB", "encoding", "encode", "open", "decode", "ints", "ns/get"
    );
    for (name, builder) in columns() {
        let width = builder.spec().physical.width();
        let plain = match width {
            Some(width) => width * ROWS,
            None => (0..ROWS)
                .map(|i| match builder.get(i) {
                    columnar_format::Value::Bytes(b) => b.len() + 4,
                    _ => 0,
                })
                .sum(),
        };
        let chunk = encode_chunk(&builder, &options);
        let vectors = open(&chunk);
        let rate = |time: Duration| format!("{:.0}", plain as f64 / 1e6 / time.as_secs_f64());
        let encode = best(|| encode_chunk(&builder, &options));
        let opened = best(|| open(&chunk));
        let decode = best(|| vectors.iter().map(|v| v.decode().len()).sum::<usize>());
        let mut ints: Vec<i64> = Vec::with_capacity(ROWS);
        let mut floats: Vec<f64> = Vec::with_capacity(ROWS);
        let whole = best(|| {
            ints.clear();
            floats.clear();
            let mut sum = 0usize;
            for v in &vectors {
                if v.spec().physical.is_integer() {
                    v.decode_ints(&mut ints);
                } else if v.spec().physical.is_float() {
                    v.decode_floats(&mut floats);
                } else {
                    v.for_each_bytes(|_, b| sum += b.map_or(0, <[u8]>::len));
                }
            }
            black_box((&ints, &floats));
            sum
        });
        let mut random = Random(12);
        let rows: Vec<(usize, usize)> = (0..10_000)
            .map(|_| {
                let v = random.below(vectors.len() as u64) as usize;
                (v, random.below(vectors[v].len() as u64) as usize)
            })
            .collect();
        let gets = best(|| rows.iter().filter(|(v, i)| vectors[*v].get(*i).is_null()).count());
        println!(
            "{name:<20} {:>9} {:>9}  {:<11} {:>8} {:>8} {:>8} {:>8} {:>8.1}",
            plain / 1024,
            chunk.bytes.len() / 1024,
            chunk.meta.vectors[0].encoding.as_str(),
            rate(encode),
            rate(opened),
            rate(decode),
            rate(whole),
            gets.as_nanos() as f64 / rows.len() as f64,
        );
    }
}
