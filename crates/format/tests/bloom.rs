//! Which chunks have Bloom filters, what they answer, and that damaged ones are errors.

mod common;

use columnar_format::{
    BloomFilters, BoundsOrder, ChunkBlooms, ColumnSpec, EncodeOptions, EncodedChunk, FormatError,
    GroupFooter, GroupFooterBuilder, PhysicalType, footer_checksum, hash_of_bytes, hash_of_int,
};
use common::{Random, SPECS, build, check, open_blooms};

const BIG: ColumnSpec = ColumnSpec::new(PhysicalType::Int64, BoundsOrder::Signed);
const TEXT: ColumnSpec = ColumnSpec::new(PhysicalType::Bytes, BoundsOrder::Bytewise);

fn options(vector_rows: usize, bloom_filters: BloomFilters) -> EncodeOptions {
    EncodeOptions { vector_rows, bloom_filters, ..EncodeOptions::default() }
}

fn scattered(rows: usize, distinct: u64) -> Vec<Option<i64>> {
    let mut random = Random(rows as u64);
    let value = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64;
    (0..rows).map(|_| Some(value(random.below(distinct)))).collect()
}

fn encoded(spec: ColumnSpec, numbers: &[Option<i64>], filters: BloomFilters) -> EncodedChunk {
    check(&build(spec, numbers), &options(1024, filters))
}

/// Whether the chunk has a filter, and how many of its vectors have.
fn filters(chunk: &EncodedChunk) -> (bool, usize) {
    let vectors = chunk.meta.vectors.iter().filter(|vector| vector.bloom.is_some()).count();
    (chunk.meta.bloom.is_some(), vectors)
}

#[test]
fn values_that_hardly_repeat_have_a_filter_a_vector() {
    let chunk = encoded(BIG, &scattered(10_240, u64::MAX), BloomFilters::All);
    assert_eq!(filters(&chunk), (false, 10));
    let (_, bytes) = chunk.meta.blooms().expect("filters");
    assert!((10_240 * 21 / 16..10_240 * 11 / 8).contains(&bytes), "{bytes}");
    let blooms = open_blooms(&chunk).expect("filters");
    let (mut chunks, mut vectors) = (0, 0);
    for absent in 1..=2000 {
        let hash = hash_of_int(absent);
        chunks += u32::from(blooms.may_hold(hash));
        vectors += (0..10).filter(|vector| blooms.vector_may_hold(*vector, hash)).count();
    }
    assert!(chunks < 300 && vectors < 400, "{chunks} {vectors}");
}

#[test]
fn values_that_repeat_have_one_filter() {
    for spec in [BIG, TEXT] {
        let chunk = encoded(spec, &scattered(10_240, 500), BloomFilters::All);
        assert_eq!(filters(&chunk), (true, 0));
        let blooms = open_blooms(&chunk).expect("a filter");
        let wrong =
            (1..=2000).filter(|absent| blooms.may_hold(hash_of_int(*absent) ^ 0x5555)).count();
        assert!(wrong < 60, "{wrong}");
        assert!((0..10).all(|vector| blooms.vector_may_hold(vector, hash_of_bytes(b"any"))));
    }
}

#[test]
fn what_other_metadata_tells_has_none() {
    let sorted: Vec<_> = (0..10_240).map(|i| Some(i * 7)).collect();
    let mut nearly = sorted.clone();
    (0..10_000).step_by(9).for_each(|i| nearly.swap(i, i + 200));
    let few = scattered(10_240, 31);
    for numbers in [&sorted, &nearly, &few, &vec![None; 10_240], &vec![Some(5); 10_240]] {
        assert_eq!(filters(&encoded(BIG, numbers, BloomFilters::All)), (false, 0));
    }
    let random = scattered(10_240, u64::MAX);
    assert_eq!(filters(&encoded(BIG, &random, BloomFilters::None)), (false, 0));
    for spec in SPECS {
        let chunk = encoded(spec, &random, BloomFilters::All);
        let expected = match spec.physical {
            PhysicalType::Bool | PhysicalType::Float32 | PhysicalType::Float64 => false,
            _ => spec.order != BoundsOrder::None,
        };
        assert_eq!(chunk.meta.blooms().is_some(), expected, "{spec:?}");
    }
}

#[test]
fn by_default_filters_are_small() {
    let numbers = scattered(10_240, u64::MAX);
    assert_eq!(filters(&encoded(BIG, &numbers, BloomFilters::Auto)), (false, 0));
    let mut strings = columnar_format::ColumnBuilder::new(TEXT);
    let mut random = Random(5);
    for _ in 0..10_240 {
        let bytes: Vec<u8> = (0..8).flat_map(|_| random.next().to_le_bytes()).collect();
        strings.push_bytes(&bytes);
    }
    let chunk = check(&strings, &options(1024, BloomFilters::Auto));
    assert_eq!(filters(&chunk), (false, 10));
    let (_, bytes) = chunk.meta.blooms().expect("filters");
    assert!(bytes * 32 <= chunk.bytes.len() as u64);
}

#[test]
fn vectors_of_nulls_hold_nothing() {
    let mut numbers = scattered(4096, u64::MAX);
    numbers[1024..2048].fill(None);
    let chunk = encoded(BIG, &numbers, BloomFilters::All);
    assert_eq!(filters(&chunk), (false, 3));
    let blooms = open_blooms(&chunk).expect("filters");
    assert!((0..100).all(|value| !blooms.vector_may_hold(1, hash_of_int(value))));
    assert!((0..100).any(|value| !blooms.may_hold(hash_of_int(value))));
}

#[test]
fn damaged_filters_are_errors() {
    let chunk = encoded(BIG, &scattered(3000, u64::MAX), BloomFilters::All);
    let (start, len) = chunk.meta.blooms().expect("filters");
    let bytes = &chunk.bytes[start as usize..(start + len) as usize];
    for i in 0..bytes.len() {
        let mut changed = bytes.to_vec();
        changed[i] ^= 1 << (i % 8);
        let result = ChunkBlooms::open(&chunk.meta, &changed);
        assert!(matches!(result, Err(FormatError::Checksum { .. })), "{result:?}");
        assert!(ChunkBlooms::open(&chunk.meta, &bytes[..i]).is_err());
    }
    let mut meta = chunk.meta.clone();
    meta.vectors[1].bloom.as_mut().expect("a filter").len += 1;
    assert!(ChunkBlooms::open(&meta, &chunk.bytes[start as usize..]).is_err());
    meta.vectors[1].bloom.as_mut().expect("a filter").offset = u64::MAX;
    assert!(ChunkBlooms::open(&meta, &chunk.bytes[start as usize..]).is_err());
}

#[test]
fn damaged_footers_with_filters_do_no_harm() {
    let mut builder = GroupFooterBuilder::new(3000);
    let mut chunks = Vec::new();
    for distinct in [u64::MAX, 200] {
        let chunk = encoded(BIG, &scattered(3000, distinct), BloomFilters::All);
        builder.add(0, chunk.bytes.len() as u64, &chunk.meta);
        chunks.push(chunk);
    }
    let own = builder.finish();
    assert_eq!(own[4], 2, "the version with filters");
    let read = |bytes: &[u8]| -> Result<(), FormatError> {
        let footer = GroupFooter::parse(bytes)?;
        for (i, chunk) in chunks.iter().enumerate() {
            let (_, _, meta) = footer.column(i)?;
            ChunkBlooms::open(&meta, &chunk.bytes[..chunk.bytes.len().min(100)]).map(drop).ok();
            if let Some((start, _)) = meta.blooms() {
                let stored = chunk.bytes.get(start as usize..).unwrap_or(&[]);
                ChunkBlooms::open(&meta, stored)?.may_hold(7);
            }
        }
        Ok(())
    };
    read(&own).expect("own bytes");
    for i in 4..own.len() {
        for flip in [1u8 << (i % 8), 0xff, 0x80] {
            let mut changed = own.clone();
            changed[i] ^= flip;
            if i >= 16 {
                let checksum = footer_checksum(&changed);
                changed[8..16].copy_from_slice(&checksum.to_le_bytes());
                let _ = read(&changed);
            } else {
                assert!(read(&changed).is_err(), "byte {i}");
            }
        }
    }
    let mut first = own.clone();
    first[4] = 1;
    assert!(matches!(read(&first), Err(FormatError::Corrupt { .. })));
}
