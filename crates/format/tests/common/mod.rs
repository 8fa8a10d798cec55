//! Columns of every type and shape, and what must hold of any chunk.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use columnar_format::{
    BloomFilters, BoundsOrder, ChunkBlooms, ChunkMeta, ColumnBuilder, ColumnSpec, Compression,
    Dictionary, EncodeOptions, EncodedChunk, Encoding, PhysicalType, Value, Vector, encode_chunk,
    hash_of_bytes, hash_of_int,
};

/// Every type with the order it most often has.
pub const SPECS: [ColumnSpec; 14] = [
    ColumnSpec::new(PhysicalType::Bool, BoundsOrder::Signed),
    ColumnSpec::new(PhysicalType::Int8, BoundsOrder::Signed),
    ColumnSpec::new(PhysicalType::Int8, BoundsOrder::Unsigned),
    ColumnSpec::new(PhysicalType::Int16, BoundsOrder::Signed),
    ColumnSpec::new(PhysicalType::Int32, BoundsOrder::Signed),
    ColumnSpec::new(PhysicalType::Int32, BoundsOrder::Unsigned),
    ColumnSpec::new(PhysicalType::Int64, BoundsOrder::Signed),
    ColumnSpec::new(PhysicalType::Int64, BoundsOrder::Unsigned),
    ColumnSpec::new(PhysicalType::Float32, BoundsOrder::Float),
    ColumnSpec::new(PhysicalType::Float64, BoundsOrder::Float),
    ColumnSpec::new(PhysicalType::Fixed(3), BoundsOrder::Bytewise),
    ColumnSpec::new(PhysicalType::Fixed(40), BoundsOrder::Bytewise),
    ColumnSpec::new(PhysicalType::Bytes, BoundsOrder::Bytewise),
    ColumnSpec::new(PhysicalType::Bytes, BoundsOrder::None),
];

/// A generator of numbers that are the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Appends the value of a column that a 64-bit number stands for: numbers near each other give values near each other.
pub fn push_number(builder: &mut ColumnBuilder, number: i64) {
    match builder.spec().physical {
        PhysicalType::Float32 => builder.push_f32(f32::from_bits(number as u32)),
        PhysicalType::Float64 => builder.push_f64(f64::from_bits(number as u64)),
        PhysicalType::Fixed(width) => {
            let mut value = vec![0u8; width.into()];
            for (to, from) in value.iter_mut().rev().zip(number.to_le_bytes()) {
                *to = from;
            }
            builder.push_bytes(&value);
        }
        PhysicalType::Bytes => {
            let len = (number.unsigned_abs() % 50) as usize;
            let digits = format!("{number:0<50}");
            builder.push_bytes(&digits.as_bytes()[..len]);
        }
        _ => builder.push_i64(number),
    }
}

/// Shapes of data by name: `None` is NULL.
pub fn shapes(seed: u64) -> Vec<(&'static str, Vec<Option<i64>>)> {
    let mut random = Random(seed);
    let n = 300;
    let extremes = [i64::MIN, i64::MAX, 0, -1, 1, i64::from(i32::MIN), i64::from(i32::MAX), 128];
    let mut sorted: Vec<i64> = (0..n).map(|_| random.next() as i64 >> 40).collect();
    sorted.sort_unstable();
    vec![
        ("empty", Vec::new()),
        ("one", vec![Some(42)]),
        ("one null", vec![None]),
        ("all null", vec![None; 150]),
        ("equal", vec![Some(-7); 200]),
        ("equal and null", (0..n).map(|i| (i % 3 != 0).then_some(9)).collect()),
        ("runs", (0..n).map(|i| Some(i / 37 * 1000)).collect()),
        ("runs and nulls", (0..n).map(|i| (i % 11 != 5).then_some(i / 37 * 1000)).collect()),
        ("null first", (0..n).map(|i| (i >= 100).then_some(i * 3)).collect()),
        ("null last", (0..n).map(|i| (i < 100).then_some(i * 3)).collect()),
        ("alternating", (0..n).map(|i| Some(i % 2)).collect()),
        ("alternating null", (0..n).map(|i| (i % 2 == 0).then_some(i)).collect()),
        ("extremes", (0..n).map(|i| Some(extremes[i as usize % extremes.len()])).collect()),
        ("min and max", vec![Some(i64::MIN), Some(i64::MAX), Some(i64::MIN)]),
        ("sorted", sorted.iter().map(|v| Some(*v)).collect()),
        ("descending", sorted.iter().rev().map(|v| Some(*v)).collect()),
        ("sequence", (0..n).map(|i| Some(1_700_000_000_000 + i * 60_000)).collect()),
        ("few", (0..n).map(|_| Some(random.below(5) as i64 * 1_000_003)).collect()),
        ("random", (0..n).map(|_| Some(random.next() as i64)).collect()),
        (
            "random and null",
            (0..n).map(|_| (random.below(4) > 0).then(|| random.next() as i64)).collect(),
        ),
    ]
}

pub fn build(spec: ColumnSpec, numbers: &[Option<i64>]) -> ColumnBuilder {
    let mut builder = ColumnBuilder::new(spec);
    for number in numbers {
        match number {
            Some(number) => push_number(&mut builder, *number),
            None => builder.push_null(),
        }
    }
    builder
}

pub fn options(
    vector_rows: usize,
    compression: Compression,
    forced_encoding: Option<Encoding>,
) -> EncodeOptions {
    let bloom_filters = BloomFilters::None;
    EncodeOptions { compression, compression_level: 3, vector_rows, forced_encoding, bloom_filters }
}

/// Opens every vector of a chunk.
pub fn open(chunk: &EncodedChunk) -> Vec<Vector> {
    let meta = &chunk.meta;
    let dictionary = meta.dictionary.as_ref().map(|section| {
        let bytes = section.slice(&chunk.bytes).expect("the dictionary lies in the chunk");
        Arc::new(Dictionary::open(meta.spec, section, bytes).expect("the dictionary opens"))
    });
    meta.vectors
        .iter()
        .map(|v| {
            let bytes = v.section.slice(&chunk.bytes).expect("the vector lies in the chunk");
            Vector::open(meta.spec, v, bytes, dictionary.clone()).expect("the vector opens")
        })
        .collect()
}

/// Encodes, opens, and compares every way of reading with what was pushed.
pub fn check(builder: &ColumnBuilder, options: &EncodeOptions) -> EncodedChunk {
    let chunk = encode_chunk(builder, options);
    check_meta(builder, &chunk.meta);
    let mut row = 0;
    for (vector, meta) in open(&chunk).iter().zip(&chunk.meta.vectors) {
        assert_eq!(vector.len(), meta.rows as usize);
        assert_eq!(vector.encoding(), meta.encoding);
        check_vector(vector);
        let mut nulls = 0;
        for i in 0..vector.len() {
            let expected = builder.get(row + i);
            assert_eq!(vector.get(i), expected, "row {} as {:?}", row + i, vector.encoding());
            assert_eq!(vector.is_null(i), expected.is_null());
            nulls += u32::from(expected.is_null());
            check_bounds(chunk.meta.spec, &meta.min, &meta.max, &expected);
        }
        assert_eq!(nulls, meta.null_count);
        assert_eq!(nulls as usize, vector.null_count());
        row += vector.len();
    }
    assert_eq!(row, builder.len());
    check_blooms(builder, &chunk);
    chunk
}

/// Filters hold every value, those of a vector in its own.
fn check_blooms(builder: &ColumnBuilder, chunk: &EncodedChunk) {
    let Some(blooms) = open_blooms(chunk) else { return };
    let mut row = 0;
    for (vector, meta) in chunk.meta.vectors.iter().enumerate() {
        for i in 0..meta.rows as usize {
            if let Some(hash) = hash_of(builder.get(row + i), chunk.meta.spec) {
                assert!(blooms.may_hold(hash), "row {} of the chunk", row + i);
                assert!(blooms.vector_may_hold(vector, hash), "row {} of its vector", row + i);
            }
        }
        row += meta.rows as usize;
    }
}

/// A chunk's Bloom filters, if it has any.
pub fn open_blooms(chunk: &EncodedChunk) -> Option<ChunkBlooms> {
    let (start, len) = chunk.meta.blooms()?;
    let bytes = &chunk.bytes[start as usize..(start + len) as usize];
    Some(ChunkBlooms::open(&chunk.meta, bytes).expect("own bytes"))
}

/// What a value is looked up by; `None` for NULL.
pub fn hash_of(value: Value<'_>, spec: ColumnSpec) -> Option<u64> {
    match (value, spec.physical) {
        (Value::Int(v), PhysicalType::Int8) => Some(hash_of_int((v as i8).into())),
        (Value::Int(v), PhysicalType::Int16) => Some(hash_of_int((v as i16).into())),
        (Value::Int(v), PhysicalType::Int32) => Some(hash_of_int((v as i32).into())),
        (Value::Int(v), _) => Some(hash_of_int(v)),
        (Value::Bytes(bytes), _) => Some(hash_of_bytes(bytes)),
        _ => None,
    }
}

fn check_meta(builder: &ColumnBuilder, meta: &ChunkMeta) {
    assert_eq!(meta.rows as usize, builder.len());
    assert_eq!(meta.null_count as usize, builder.null_count());
    let mut sum = 0i128;
    for row in 0..builder.len() {
        let value = builder.get(row);
        check_bounds(meta.spec, &meta.min, &meta.max, &value);
        if let Value::Int(v) = value {
            sum += if meta.spec.is_unsigned() { i128::from(v as u64) } else { i128::from(v) };
        }
    }
    assert_eq!(meta.sum, meta.spec.physical.is_integer().then_some(sum));
}

fn check_bounds(
    spec: ColumnSpec,
    min: &Option<columnar_format::Bound>,
    max: &Option<columnar_format::Bound>,
    value: &Value<'_>,
) {
    if value.is_null() || spec.order == BoundsOrder::None {
        return;
    }
    let min = min.as_ref().expect("a column with values has a lower bound");
    assert!(
        min.compare(value, spec.order).expect("comparable").is_le(),
        "{min:?} excludes {value:?}"
    );
    if let Some(max) = max {
        assert!(
            max.compare(value, spec.order).expect("comparable").is_ge(),
            "{max:?} excludes {value:?}"
        );
    }
}

/// Compares every way of reading a vector with [`Vector::get`].
pub fn check_vector(vector: &Vector) {
    let array = vector.decode();
    assert_eq!(array.len(), vector.len());
    assert_eq!(array.null_count(), vector.null_count());
    for i in 0..vector.len() {
        assert_eq!(
            arrow_value(vector.spec(), &array, i),
            vector.get(i),
            "row {i} of {:?}",
            vector.encoding()
        );
    }
    let physical = vector.spec().physical;
    if physical.is_integer() {
        let mut ints = vec![77];
        vector.decode_ints(&mut ints);
        assert_eq!(ints.len(), vector.len() + 1);
        for i in (0..vector.len()).filter(|i| !vector.is_null(*i)) {
            assert_eq!(Value::Int(ints[i + 1]), vector.get(i));
        }
    }
    if physical.is_float() {
        let mut floats = Vec::new();
        vector.decode_floats(&mut floats);
        for (i, float) in floats.iter().enumerate().filter(|(i, _)| !vector.is_null(*i)) {
            match vector.get(i) {
                Value::Float32(v) => {
                    assert!(v.is_nan() == float.is_nan() && (v.is_nan() || f64::from(v) == *float))
                }
                other => assert_eq!(Value::Float64(*float), other),
            }
        }
    }
    if physical.is_bytes() {
        let mut next = 0;
        vector.for_each_bytes(|row, bytes| {
            assert_eq!(row, next);
            next += 1;
            assert_eq!(bytes.map_or(Value::Null, Value::Bytes), vector.get(row));
        });
        assert_eq!(next, vector.len());
    }
    if let Some(array) = vector.decode_dictionary() {
        let mut codes = Vec::new();
        let dictionary = vector.decode_codes(&mut codes).expect("it has a dictionary");
        for (i, code) in codes.iter().enumerate().filter(|(i, _)| !vector.is_null(*i)) {
            assert_eq!(dictionary.get(*code as usize), vector.get(i));
            let key = array.keys().value(i) as usize;
            assert_eq!(arrow_value(vector.spec(), array.values(), key), vector.get(i));
        }
    }
    if let Some(value) = vector.constant() {
        (0..vector.len()).for_each(|i| assert_eq!(vector.get(i), value));
    }
    if let (Some(ends), Some(values)) = (vector.run_ends(), vector.run_values()) {
        for i in (0..vector.len()).filter(|i| !vector.is_null(*i)) {
            let run = ends.partition_point(|end| *end as usize <= i);
            assert_eq!(arrow_value(vector.spec(), &values, run), vector.get(i));
        }
    }
}

fn arrow_value(spec: ColumnSpec, array: &ArrayRef, i: usize) -> Value<'_> {
    if array.is_null(i) {
        return Value::Null;
    }
    let unsigned = spec.is_unsigned();
    match spec.physical {
        PhysicalType::Bool => Value::Int(array.as_boolean().value(i).into()),
        PhysicalType::Int8 => {
            let v = array.as_primitive::<Int8Type>().value(i);
            Value::Int(if unsigned { (v as u8).into() } else { v.into() })
        }
        PhysicalType::Int16 => Value::Int(array.as_primitive::<Int16Type>().value(i).into()),
        PhysicalType::Int32 => {
            let v = array.as_primitive::<Int32Type>().value(i);
            Value::Int(if unsigned { (v as u32).into() } else { v.into() })
        }
        PhysicalType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(i)),
        PhysicalType::Float32 => Value::Float32(array.as_primitive::<Float32Type>().value(i)),
        PhysicalType::Float64 => Value::Float64(array.as_primitive::<Float64Type>().value(i)),
        PhysicalType::Fixed(_) => Value::Bytes(array.as_fixed_size_binary().value(i)),
        PhysicalType::Bytes => Value::Bytes(array.as_binary::<i32>().value(i)),
    }
}
