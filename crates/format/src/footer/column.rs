//! One column's entry in the footer.
//!
//! ```text
//! u8 type | u8 order | [number width, of Fixed] | u8 parts | number rows | number nulls
//! [bounds] | [signed sum] | [number distinct] | [dictionary section]
//! number vectors | vectors * (u8 encoding and compression | u8 parts | number rows | number nulls | section | [bounds])
//! [filters]
//!
//! section  number length | [number raw length, where compressed] | u32 checksum     a dictionary's compression goes before
//! bound    Int: signed | Float: f64 | Bytes: number length | bytes
//! filters  filter of the chunk | a filter for each vector
//! filter   number blocks | [u32 checksum, where there are blocks]
//! ```
//!
//! Numbers are LEB128 (`wire`). Sections lie one after another from the chunk's start, the dictionary's first and the Bloom
//! filters last, so their offsets are sums of lengths. Bloom filters came with version 2.

use super::wire::{Wire, put_signed, put_unsigned};
use crate::bloom::{self, BLOCK, MAX_BLOOM_BYTES};
use crate::bounds::{Bound, Bounds, MAX_BOUND_BYTES};
use crate::error::FormatError;
use crate::meta::{ChunkMeta, MAX_VECTOR_ROWS, VectorMeta};
use crate::options::{Compression, Encoding};
use crate::section::SectionMeta;
use crate::types::{BoundsOrder, ColumnSpec, PhysicalType};

const HAS_MIN: u8 = 1;
const HAS_MAX: u8 = 2;
const MIN_EXACT: u8 = 4;
const MAX_EXACT: u8 = 8;
const HAS_SUM: u8 = 16;
const HAS_DISTINCT: u8 = 32;
const HAS_DICTIONARY: u8 = 64;
const HAS_BLOOMS: u8 = 128;

/// The least bytes of a vector's part of the entry: two of parts, two of rows and NULLs, one of length, four of checksum.
const LEAST_VECTOR: usize = 9;

pub(super) fn write(out: &mut Vec<u8>, meta: &ChunkMeta) {
    let (tag, width) = meta.spec.physical.to_tag();
    out.push(tag);
    out.push(meta.spec.order as u8);
    if let PhysicalType::Fixed(_) = meta.spec.physical {
        put_unsigned(out, width.into());
    }
    let mut parts = bound_parts(meta.min.as_ref(), meta.max.as_ref());
    parts |= if meta.sum.is_some() { HAS_SUM } else { 0 };
    parts |= if meta.distinct.is_some() { HAS_DISTINCT } else { 0 };
    parts |= if meta.dictionary.is_some() { HAS_DICTIONARY } else { 0 };
    parts |= if meta.blooms().is_some() { HAS_BLOOMS } else { 0 };
    out.push(parts);
    put_unsigned(out, meta.rows.into());
    put_unsigned(out, meta.null_count.into());
    write_bounds(out, meta.min.as_ref(), meta.max.as_ref());
    if let Some(sum) = meta.sum {
        put_signed(out, sum);
    }
    if let Some(distinct) = meta.distinct {
        put_unsigned(out, distinct.into());
    }
    let mut end = 0;
    if let Some(section) = &meta.dictionary {
        out.push(section.compression as u8);
        write_section(out, section, &mut end);
    }
    put_unsigned(out, meta.vectors.len() as u128);
    for vector in &meta.vectors {
        out.push(vector.encoding as u8 | (vector.section.compression as u8) << 4);
        out.push(bound_parts(vector.min.as_ref(), vector.max.as_ref()));
        put_unsigned(out, vector.rows.into());
        put_unsigned(out, vector.null_count.into());
        write_section(out, &vector.section, &mut end);
        write_bounds(out, vector.min.as_ref(), vector.max.as_ref());
    }
    if parts & HAS_BLOOMS != 0 {
        write_bloom(out, meta.bloom.as_ref(), &mut end);
        meta.vectors.iter().for_each(|vector| write_bloom(out, vector.bloom.as_ref(), &mut end));
    }
}

pub(super) fn read(entry: &[u8]) -> Result<ChunkMeta, FormatError> {
    let mut wire = Wire::new(entry);
    let tag = wire.byte("a column's type")?;
    let order = BoundsOrder::from_tag(wire.byte("a column's order")?)?;
    let width = if tag == 7 { wire.u32("a column's width")? } else { 0 };
    let width =
        u16::try_from(width).map_err(|_| FormatError::corrupt("a column's width", width))?;
    let spec = ColumnSpec { physical: PhysicalType::from_tag(tag, width)?, order };
    let parts = wire.byte("a column's parts")?;
    let rows = wire.u32("a chunk's rows")?;
    let null_count = wire.u32("a chunk's NULLs")?;
    let (min, max) = read_bounds(&mut wire, spec, parts)?;
    let sum = if parts & HAS_SUM != 0 { Some(wire.signed("a chunk's sum")?) } else { None };
    let distinct =
        if parts & HAS_DISTINCT != 0 { Some(wire.u32("a chunk's distinct values")?) } else { None };
    let mut end = 0;
    let dictionary = if parts & HAS_DICTIONARY != 0 {
        let compression = Compression::from_tag(wire.byte("a dictionary's compression")?)?;
        Some(read_section(&mut wire, compression, &mut end)?)
    } else {
        None
    };
    let count = wire.u32("a chunk's vectors")? as usize;
    if count > wire.remaining() / LEAST_VECTOR {
        return Err(FormatError::truncated(
            "a chunk's vectors",
            count.saturating_mul(LEAST_VECTOR),
            wire.remaining(),
        ));
    }
    let mut vectors = Vec::with_capacity(count);
    let (mut total_rows, mut total_nulls) = (0u64, 0u64);
    for _ in 0..count {
        let vector = read_vector(&mut wire, spec, &mut end)?;
        total_rows += u64::from(vector.rows);
        total_nulls += u64::from(vector.null_count);
        vectors.push(vector);
    }
    if total_rows != u64::from(rows) || total_nulls != u64::from(null_count) {
        return Err(FormatError::corrupt(
            "the rows or NULLs of vectors do not add up to their chunk's",
            total_rows,
        ));
    }
    let mut bloom = None;
    if parts & HAS_BLOOMS != 0 {
        if !bloom::eligible(spec) {
            return Err(FormatError::corrupt("Bloom filters of a type that has none", tag));
        }
        bloom = read_bloom(&mut wire, &mut end)?;
        for vector in &mut vectors {
            vector.bloom = read_bloom(&mut wire, &mut end)?;
        }
    }
    if wire.remaining() > 0 {
        return Err(FormatError::corrupt(
            "bytes after the end of a column's entry",
            wire.remaining(),
        ));
    }
    Ok(ChunkMeta { spec, rows, null_count, min, max, sum, distinct, dictionary, vectors, bloom })
}

fn read_vector(
    wire: &mut Wire<'_>,
    spec: ColumnSpec,
    end: &mut u64,
) -> Result<VectorMeta, FormatError> {
    let tags = wire.byte("a vector's encoding")?;
    let encoding = Encoding::from_tag(tags & 15)?;
    let compression = Compression::from_tag(tags >> 4)?;
    let parts = wire.byte("a vector's parts")?;
    if parts & !(HAS_MIN | HAS_MAX | MIN_EXACT | MAX_EXACT) != 0 {
        return Err(FormatError::corrupt("unknown parts of a vector", parts));
    }
    let rows = wire.u32("a vector's rows")?;
    if rows as usize > MAX_VECTOR_ROWS {
        return Err(FormatError::TooLarge {
            what: "a vector's rows",
            value: rows.into(),
            limit: MAX_VECTOR_ROWS as u64,
        });
    }
    let null_count = wire.u32("a vector's NULLs")?;
    if null_count > rows {
        return Err(FormatError::corrupt("a vector has more NULLs than rows", null_count));
    }
    let section = read_section(wire, compression, end)?;
    let (min, max) = read_bounds(wire, spec, parts)?;
    Ok(VectorMeta { section, encoding, rows, null_count, min, max, bloom: None })
}

fn write_section(out: &mut Vec<u8>, section: &SectionMeta, end: &mut u64) {
    assert_eq!(section.offset, *end, "a section does not follow the one before it");
    *end += u64::from(section.len);
    put_unsigned(out, section.len.into());
    if section.compression != Compression::None {
        put_unsigned(out, section.raw_len.into());
    }
    out.extend_from_slice(&section.checksum.to_le_bytes());
}

fn read_section(
    wire: &mut Wire<'_>,
    compression: Compression,
    end: &mut u64,
) -> Result<SectionMeta, FormatError> {
    let offset = *end;
    let len = wire.u32("a section's length")?;
    let raw_len = match compression {
        Compression::None => len,
        Compression::Lz4 | Compression::Zstd => wire.u32("a section's raw length")?,
    };
    let checksum = u32::from_le_bytes(wire.array("a section's checksum")?);
    *end += u64::from(len);
    Ok(SectionMeta { offset, len, raw_len, compression, checksum })
}

fn write_bloom(out: &mut Vec<u8>, bloom: Option<&SectionMeta>, end: &mut u64) {
    let Some(section) = bloom else {
        return put_unsigned(out, 0);
    };
    assert_eq!(section.offset, *end, "a Bloom filter does not follow the section before it");
    *end += u64::from(section.len);
    put_unsigned(out, (section.len / BLOCK as u32).into());
    out.extend_from_slice(&section.checksum.to_le_bytes());
}

fn read_bloom(wire: &mut Wire<'_>, end: &mut u64) -> Result<Option<SectionMeta>, FormatError> {
    let blocks = wire.u32("a Bloom filter's blocks")?;
    if blocks == 0 {
        return Ok(None);
    }
    if blocks > MAX_BLOOM_BYTES / BLOCK as u32 {
        return Err(FormatError::TooLarge {
            what: "a Bloom filter's blocks",
            value: blocks.into(),
            limit: (MAX_BLOOM_BYTES / BLOCK as u32).into(),
        });
    }
    let (offset, len) = (*end, blocks * BLOCK as u32);
    let checksum = u32::from_le_bytes(wire.array("a Bloom filter's checksum")?);
    *end += u64::from(len);
    Ok(Some(SectionMeta { offset, len, raw_len: len, compression: Compression::None, checksum }))
}

fn bound_parts(min: Option<&Bound>, max: Option<&Bound>) -> u8 {
    let part = |bound: Option<&Bound>, has: u8, exact: u8| match bound {
        None => 0,
        Some(bound) if bound.is_exact() => has | exact,
        Some(_) => has,
    };
    part(min, HAS_MIN, MIN_EXACT) | part(max, HAS_MAX, MAX_EXACT)
}

fn write_bounds(out: &mut Vec<u8>, min: Option<&Bound>, max: Option<&Bound>) {
    for bound in [min, max].into_iter().flatten() {
        match bound {
            Bound::Int(value) => put_signed(out, (*value).into()),
            Bound::Float(value) => out.extend_from_slice(&value.to_bits().to_le_bytes()),
            Bound::Bytes { bytes, .. } => {
                put_unsigned(out, bytes.len() as u128);
                out.extend_from_slice(bytes);
            }
        }
    }
}

fn read_bounds(wire: &mut Wire<'_>, spec: ColumnSpec, parts: u8) -> Result<Bounds, FormatError> {
    let mut read = |has: u8, exact: u8| -> Result<Option<Bound>, FormatError> {
        if parts & has == 0 {
            return Ok(None);
        }
        let exact = parts & exact != 0;
        Ok(Some(match spec.order {
            BoundsOrder::Signed | BoundsOrder::Unsigned => Bound::Int(wire.i64("a bound")?),
            BoundsOrder::Float => {
                Bound::Float(f64::from_bits(u64::from_le_bytes(wire.array("a bound")?)))
            }
            BoundsOrder::Bytewise => {
                let len = wire.u32("a bound's length")? as usize;
                // Fixed values are cut like any other.
                if len > MAX_BOUND_BYTES {
                    return Err(FormatError::TooLarge {
                        what: "a bound's length",
                        value: len as u64,
                        limit: MAX_BOUND_BYTES as u64,
                    });
                }
                Bound::Bytes { bytes: wire.take(len, "a bound")?.into(), exact }
            }
            BoundsOrder::None => {
                return Err(FormatError::corrupt("a column without order has bounds", parts));
            }
        }))
    };
    Ok((read(HAS_MIN, MIN_EXACT)?, read(HAS_MAX, MAX_EXACT)?))
}
