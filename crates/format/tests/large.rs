//! Chunks too large for an ordinary test run: `cargo test --release -p pgcolumnar-format --test large -- --ignored`.

mod common;

use columnar_format::{
    BoundsOrder, ColumnBuilder, ColumnSpec, Compression, Encoding, MAX_VECTOR_BYTES, PhysicalType,
    Value, encode_chunk,
};
use common::{open, options};

/// Values of 400 MB: two fit a vector, and the chunk is larger than 32-bit offsets with sign allow.
#[test]
#[ignore = "takes 8 GB of memory and half a minute"]
fn huge_values_close_their_vector_early() {
    let spec = ColumnSpec::new(PhysicalType::Bytes, BoundsOrder::Bytewise);
    let mut value: Vec<u8> =
        (0..400_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut builder = ColumnBuilder::new(spec);
    for i in 0..6u8 {
        value[7] = i;
        builder.push_bytes(&value);
        builder.push_null();
    }
    for (compression, encoding) in [
        (Compression::None, None),
        (Compression::Lz4, None),
        (Compression::None, Some(Encoding::Dictionary)),
    ] {
        let chunk = encode_chunk(&builder, &options(8192, compression, encoding));
        assert_eq!(chunk.meta.vectors.len(), 3);
        let mut row = 0;
        for vector in open(&chunk) {
            assert!(vector.decoded_size() <= MAX_VECTOR_BYTES);
            assert_eq!(vector.decode().len(), vector.len());
            for i in 0..vector.len() {
                assert_eq!(vector.get(i), builder.get(row));
                row += 1;
            }
        }
        assert_eq!(row, 12);
    }
}

/// The same long value in every row is stored once and must still not decode to more than Arrow's offsets hold.
#[test]
#[ignore = "takes 8 GB of memory and half a minute"]
fn equal_long_values_close_their_vector_early() {
    let spec = ColumnSpec::new(PhysicalType::Bytes, BoundsOrder::Bytewise);
    let mut builder = ColumnBuilder::new(spec);
    (0..3000).for_each(|_| builder.push_bytes(&[7; 1 << 20]));
    let chunk = encode_chunk(&builder, &options(8192, Compression::Zstd, None));
    assert_eq!(chunk.meta.vectors.len(), 3);
    for vector in open(&chunk) {
        assert_eq!(vector.decode().len(), vector.len());
        assert_eq!(vector.get(vector.len() - 1), Value::Bytes(&[7; 1 << 20]));
    }
}
