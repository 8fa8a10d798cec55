//! Any bytes as a vector of any type, under a checksum that fits: `cargo +nightly fuzz run vector`.
#![no_main]

use std::sync::Arc;

use columnar_format::{
    BoundsOrder, ColumnSpec, Compression, Dictionary, Encoding, PhysicalType, SectionMeta, Vector, VectorMeta,
    dictionary_context, section_checksum,
};
use libfuzzer_sys::fuzz_target;

const TYPES: [PhysicalType; 9] = [
    PhysicalType::Bool,
    PhysicalType::Int8,
    PhysicalType::Int16,
    PhysicalType::Int32,
    PhysicalType::Int64,
    PhysicalType::Float32,
    PhysicalType::Float64,
    PhysicalType::Fixed(3),
    PhysicalType::Bytes,
];

fn section(bytes: &[u8], compression: Compression, raw_len: u32, context: u64) -> SectionMeta {
    let raw_len = if compression == Compression::None { bytes.len() as u32 } else { raw_len };
    let checksum = section_checksum(bytes, raw_len, compression, context);
    SectionMeta { offset: 0, len: bytes.len() as u32, raw_len, compression, checksum }
}

fuzz_target!(|data: &[u8]| {
    let Some((head, bytes)) = data.split_first_chunk::<8>() else {
        return;
    };
    let physical = TYPES[head[0] as usize % TYPES.len()];
    let spec = ColumnSpec::new(physical, BoundsOrder::None);
    let compression = Compression::ALL[head[1] as usize % 3];
    let raw_len = u32::from(u16::from_le_bytes([head[2], head[3]]));
    let encoding = Encoding::ALL[head[4] as usize % Encoding::ALL.len()];
    let rows = u32::from(u16::from_le_bytes([head[5], head[6]]));
    let null_count = u32::from(head[7]);
    // Split between the dictionary and the vector.
    let (first, second) = bytes.split_at(if encoding == Encoding::Dictionary { bytes.len() / 2 } else { 0 });
    let meta = section(first, Compression::None, 0, dictionary_context(spec));
    let dictionary = Dictionary::open(spec, &meta, first).ok().map(Arc::new);
    let mut meta = VectorMeta {
        section: section(second, compression, raw_len, 0),
        encoding,
        rows,
        null_count,
        min: None,
        max: None,
    };
    meta.section = section(second, compression, raw_len, meta.context(spec));
    let Ok(vector) = Vector::open(spec, &meta, second, dictionary) else {
        return;
    };
    for row in 0..vector.len() {
        let _ = vector.get(row);
    }
    if vector.decoded_size() < 1 << 20 {
        let _ = vector.decode();
        let _ = vector.decode_dictionary();
    }
});
