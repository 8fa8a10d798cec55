//! Stored bytes that must never change: what was written once must be read for ever.

mod common;

use columnar_format::{
    BloomFilters, BoundsOrder, ColumnSpec, Compression, EncodeOptions, Encoding, GroupFooter,
    GroupFooterBuilder, PhysicalType, encode_chunk,
};
use common::{build, check, open, options};

const INT: ColumnSpec = ColumnSpec::new(PhysicalType::Int32, BoundsOrder::Signed);
const BIG: ColumnSpec = ColumnSpec::new(PhysicalType::Int64, BoundsOrder::Signed);
const FLOAT: ColumnSpec = ColumnSpec::new(PhysicalType::Float64, BoundsOrder::Float);
const TEXT: ColumnSpec = ColumnSpec::new(PhysicalType::Bytes, BoundsOrder::Bytewise);

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn sample(spec: ColumnSpec, encoding: Encoding) -> columnar_format::EncodedChunk {
    let numbers: &[Option<i64>] = match encoding {
        Encoding::Constant => &[Some(101), None, Some(101)],
        _ => &[Some(102), Some(102), None, Some(104), Some(203), Some(102)],
    };
    let mut builder = build(spec, numbers);
    if spec == FLOAT {
        builder.clear();
        for value in [1.25, -7.5, 1e300, 0.01] {
            builder.push_f64(value);
        }
    }
    check(&builder, &options(100, Compression::None, Some(encoding)))
}

#[test]
fn vectors_are_stored_as_ever() {
    let found: Vec<String> = [("int", INT), ("text", TEXT), ("float", FLOAT)]
        .into_iter()
        .flat_map(|(name, spec)| Encoding::ALL.map(|encoding| (name, spec, encoding)))
        .filter(|(_, spec, encoding)| match encoding {
            Encoding::BitPacked | Encoding::Delta => spec.physical.is_integer(),
            Encoding::Alp => spec.physical.is_float(),
            _ => !spec.physical.is_float(),
        })
        .map(|(name, spec, encoding)| {
            format!("{name} {} {}", encoding.as_str(), hex(&sample(spec, encoding).bytes))
        })
        .collect();
    let expected: Vec<&str> = include_str!("golden/vectors.txt").lines().collect();
    assert_eq!(found, expected, "as stored:\n{}", found.join("\n"));
}

fn footer() -> Vec<u8> {
    let mut builder = GroupFooterBuilder::new(6);
    let mut offset = 16;
    for chunk in [
        sample(INT, Encoding::Dictionary),
        sample(TEXT, Encoding::Plain),
        sample(TEXT, Encoding::RunLength),
    ] {
        builder.add(offset, chunk.bytes.len() as u64, &chunk.meta);
        offset += chunk.bytes.len() as u64;
    }
    builder.finish()
}

#[test]
fn footers_are_stored_as_ever() {
    let found = hex(&footer());
    assert_eq!(found, include_str!("golden/footer.txt").trim(), "as stored");
}

/// A filter over the chunk and one for each vector, under the version that brought them.
#[test]
fn bloom_filters_are_stored_as_ever() {
    let scattered = |i: i64| Some(i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64));
    let unique: Vec<_> = (0..80).map(scattered).collect();
    let repeated: Vec<_> = (0..80).map(|i| scattered(i % 40)).collect();
    let found: Vec<String> = [(BIG, &unique, 40), (TEXT, &unique, 40), (BIG, &repeated, 27)]
        .into_iter()
        .map(|(spec, numbers, rows)| {
            let options = EncodeOptions {
                bloom_filters: BloomFilters::All,
                ..options(rows, Compression::None, Some(Encoding::Plain))
            };
            let chunk = check(&build(spec, numbers), &options);
            let (start, _) = chunk.meta.blooms().expect("filters");
            let mut footer = GroupFooterBuilder::new(80);
            footer.add(0, chunk.bytes.len() as u64, &chunk.meta);
            format!("{} {}", hex(&footer.finish()), hex(&chunk.bytes[start as usize..]))
        })
        .collect();
    let expected: Vec<&str> = include_str!("golden/bloom.txt").lines().collect();
    assert_eq!(found, expected, "as stored:\n{}", found.join("\n"));
}

/// Compressed bytes may change with the compressor's version; those written once must still be read.
#[test]
fn compressed_vectors_are_still_read() {
    let numbers: Vec<_> = (0..200).map(|i| Some(i % 7 * 12_345)).collect();
    let builder = build(INT, &numbers);
    assert_eq!(include_str!("golden/compressed.txt").lines().count(), 2);
    for (line, compression) in
        include_str!("golden/compressed.txt").lines().zip([Compression::Lz4, Compression::Zstd])
    {
        let (footer, bytes) = line.split_once(' ').expect("two fields");
        let unhex = |text: &str| -> Vec<u8> {
            (0..text.len() / 2)
                .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex"))
                .collect()
        };
        let footer = GroupFooter::parse(unhex(footer)).expect("a stored footer");
        let (_, _, meta) = footer.column(0).expect("a stored column");
        assert_eq!(meta.vectors[0].section.compression, compression);
        let chunk = columnar_format::EncodedChunk { bytes: unhex(bytes), meta };
        let vectors = open(&chunk);
        for row in 0..200 {
            assert_eq!(vectors[row / 100].get(row % 100), builder.get(row));
        }
    }
}

/// Prints what golden/compressed.txt holds, for a new version of the format.
#[test]
#[ignore = "prints the contents of a golden file"]
fn print_compressed() {
    let numbers: Vec<_> = (0..200).map(|i| Some(i % 7 * 12_345)).collect();
    for compression in [Compression::Lz4, Compression::Zstd] {
        let chunk =
            encode_chunk(&build(INT, &numbers), &options(100, compression, Some(Encoding::Plain)));
        let mut footer = GroupFooterBuilder::new(200);
        footer.add(0, chunk.bytes.len() as u64, &chunk.meta);
        println!("{} {}", hex(&footer.finish()), hex(&chunk.bytes));
    }
}
