//! Corrupt bytes are an error or read as something, the same by every way of reading; they are never a panic.

mod common;

use std::sync::Arc;

use columnar_format::{
    ColumnSpec, Compression, Dictionary, EncodedChunk, Encoding, FormatError, GroupFooter,
    GroupFooterBuilder, SectionMeta, Vector, VectorMeta, dictionary_context, encode_chunk,
    footer_checksum, section_checksum,
};
use common::{Random, SPECS, build, check_vector, options, shapes};

/// Decoded vectors above this many bytes are not read: a few bytes may well stand for gigabytes.
const READ_LIMIT: usize = 1 << 20;

/// A small chunk of every encoding, type and compression; the shapes of data take turns.
fn samples(vector_rows: usize) -> Vec<EncodedChunk> {
    let mut shapes = shapes(7);
    shapes.retain(|(name, _)| matches!(*name, "runs and nulls" | "few" | "extremes"));
    let mut turn = shapes.iter().cycle();
    let mut out = Vec::new();
    for encoding in Encoding::ALL {
        for spec in SPECS {
            let (_, numbers) = turn.next().expect("an endless cycle");
            let builder = build(spec, &numbers[..80]);
            for compression in Compression::ALL {
                out.push(encode_chunk(
                    &builder,
                    &options(vector_rows, compression, Some(encoding)),
                ));
            }
        }
    }
    out
}

fn dictionary_of(chunk: &EncodedChunk) -> Option<Arc<Dictionary>> {
    let section = chunk.meta.dictionary.as_ref()?;
    let bytes = section.slice(&chunk.bytes).expect("inside");
    Some(Arc::new(Dictionary::open(chunk.meta.spec, section, bytes).expect("own bytes")))
}

/// Opens bytes as a vector with a checksum that fits, and reads it all if it opens.
fn open_resealed(
    spec: ColumnSpec,
    meta: &VectorMeta,
    bytes: &[u8],
    dictionary: Option<&Arc<Dictionary>>,
) -> bool {
    let mut meta = meta.clone();
    meta.section.len = bytes.len() as u32;
    if meta.section.compression == Compression::None {
        meta.section.raw_len = meta.section.len;
    }
    meta.section.checksum =
        section_checksum(bytes, meta.section.raw_len, meta.section.compression, meta.context(spec));
    match Vector::open(spec, &meta, bytes, dictionary.cloned()) {
        Ok(vector) => {
            if vector.decoded_size() <= READ_LIMIT {
                check_vector(&vector);
            }
            true
        }
        Err(_) => false,
    }
}

#[test]
fn a_changed_byte_is_found_by_the_checksum() {
    for chunk in samples(64) {
        let dictionary = dictionary_of(&chunk);
        let meta = &chunk.meta.vectors[0];
        let bytes = meta.section.slice(&chunk.bytes).expect("inside");
        for i in 0..bytes.len() {
            let mut changed = bytes.to_vec();
            changed[i] ^= 1 << (i % 8);
            let result = Vector::open(chunk.meta.spec, meta, &changed, dictionary.clone());
            assert!(matches!(result, Err(FormatError::Checksum { .. })), "{result:?}");
        }
        for wrong in [
            VectorMeta { rows: meta.rows + 1, ..meta.clone() },
            VectorMeta {
                section: SectionMeta { raw_len: u32::MAX >> 1, ..meta.section },
                ..meta.clone()
            },
        ] {
            assert!(Vector::open(chunk.meta.spec, &wrong, bytes, dictionary.clone()).is_err());
        }
    }
}

#[test]
fn a_changed_byte_below_a_fitting_checksum_does_no_harm() {
    for chunk in samples(64) {
        let dictionary = dictionary_of(&chunk);
        let meta = &chunk.meta.vectors[0];
        let bytes = meta.section.slice(&chunk.bytes).expect("inside");
        for i in 0..bytes.len() {
            for flip in [1u8 << (i % 8), 0xff, 0x80] {
                let mut changed = bytes.to_vec();
                changed[i] ^= flip;
                open_resealed(chunk.meta.spec, meta, &changed, dictionary.as_ref());
            }
            open_resealed(chunk.meta.spec, meta, &bytes[..i], dictionary.as_ref());
        }
        assert!(open_resealed(chunk.meta.spec, meta, bytes, dictionary.as_ref()));
    }
}

#[test]
fn a_changed_dictionary_does_no_harm() {
    for chunk in samples(64) {
        let Some(section) = chunk.meta.dictionary else {
            continue;
        };
        let bytes = section.slice(&chunk.bytes).expect("inside");
        let spec = chunk.meta.spec;
        for i in 0..bytes.len() * 2 {
            let mut changed = bytes.to_vec();
            if i < bytes.len() {
                changed[i] ^= 1 << (i % 8);
            } else {
                changed.truncate(i - bytes.len());
            }
            assert!(Dictionary::open(spec, &section, &changed).is_err());
            let mut section = SectionMeta { len: changed.len() as u32, ..section };
            if section.compression == Compression::None {
                section.raw_len = section.len;
            }
            section.checksum = section_checksum(
                &changed,
                section.raw_len,
                section.compression,
                dictionary_context(spec),
            );
            if let Ok(dictionary) = Dictionary::open(spec, &section, &changed) {
                (0..dictionary.len()).for_each(|code| assert!(!dictionary.get(code).is_null()));
                let vector = &chunk.meta.vectors[0];
                let bytes = vector.section.slice(&chunk.bytes).expect("inside");
                open_resealed(spec, vector, bytes, Some(&Arc::new(dictionary)));
            }
        }
    }
}

fn read_footer(bytes: &[u8]) -> Result<(), FormatError> {
    let footer = GroupFooter::parse(bytes)?;
    for i in 0..footer.column_count() {
        footer.column(i)?;
    }
    footer.column(footer.column_count()).expect_err("there is no such column");
    Ok(())
}

#[test]
fn a_changed_footer_is_an_error_or_does_no_harm() {
    let mut builder = GroupFooterBuilder::new(80);
    for chunk in samples(30).iter().filter(|c| c.meta.rows == 80).step_by(5) {
        builder.add(77, chunk.bytes.len() as u64, &chunk.meta);
    }
    let bytes = builder.finish();
    read_footer(&bytes).expect("own bytes");
    for i in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[i] ^= 1 << (i % 8);
        assert!(read_footer(&changed).is_err(), "byte {i}");
        assert!(read_footer(&bytes[..i]).is_err(), "cut to {i}");
    }
    let small = {
        let mut builder = GroupFooterBuilder::new(80);
        let chunks = samples(30);
        for chunk in chunks.iter().filter(|c| c.meta.rows == 80).step_by(41) {
            builder.add(0, chunk.bytes.len() as u64, &chunk.meta);
        }
        builder.finish()
    };
    for i in 0..small.len() {
        for flip in [1u8 << (i % 8), 0xff, 0x80] {
            let mut changed = small.clone();
            changed[i] ^= flip;
            let checksum = footer_checksum(&changed);
            changed[8..16].copy_from_slice(&checksum.to_le_bytes());
            let _ = read_footer(&changed);
        }
    }
}

#[test]
fn an_unknown_version_is_named() {
    let mut bytes = GroupFooterBuilder::new(0).finish();
    bytes[4] = 9;
    let error = GroupFooter::parse(&bytes).expect_err("the version is unknown");
    assert_eq!(error, FormatError::UnknownVersion { found: 9, supported: 2 });
    assert!(error.to_string().contains('9') && error.to_string().contains('2'));
    bytes[0] = 0;
    assert!(matches!(GroupFooter::parse(&bytes), Err(FormatError::BadMagic { .. })));
}

/// A fuzzer that makes the same inputs in every run: random changes to bytes and metadata under fitting checksums.
#[test]
fn random_changes_do_no_harm() {
    let chunks = samples(64);
    let mut random = Random(2024);
    let mut opened = 0;
    for _ in 0..40_000 {
        let chunk = &chunks[random.below(chunks.len() as u64) as usize];
        let other = &chunks[random.below(chunks.len() as u64) as usize];
        let dictionary = dictionary_of(if random.below(8) == 0 { other } else { chunk });
        let mut meta = chunk.meta.vectors[0].clone();
        let mut bytes = meta.section.slice(&chunk.bytes).expect("inside").to_vec();
        for _ in 0..random.below(4) {
            if let Some(last) = bytes.len().checked_sub(1) {
                // Headers are at the front and decide most.
                let limit = if random.below(2) == 0 { last.min(40) } else { last };
                let place = random.below(limit as u64 + 1) as usize;
                bytes[place] = match random.below(4) {
                    0 => 0,
                    1 => 0xff,
                    2 => bytes[place].wrapping_add(1),
                    _ => random.next() as u8,
                };
            }
        }
        match random.below(10) {
            0 => meta.rows = random.below(200) as u32,
            1 => meta.rows = 1 << random.below(32),
            2 => meta.null_count = random.below(u64::from(meta.rows) + 2) as u32,
            3 => meta.encoding = Encoding::ALL[random.below(7) as usize],
            4 => meta.section.compression = Compression::ALL[random.below(3) as usize],
            5 => meta.section.raw_len = random.below(4000) as u32,
            6 => bytes.truncate(random.below(bytes.len() as u64 + 1) as usize),
            7 => bytes.extend_from_slice(&random.next().to_le_bytes()),
            _ => {}
        }
        let spec = if random.below(8) == 0 { other.meta.spec } else { chunk.meta.spec };
        opened += u32::from(open_resealed(spec, &meta, &bytes, dictionary.as_ref()));
    }
    // Were almost all refused at once, nothing would have been tested.
    assert!(opened > 4_000, "{opened} opened");
}
