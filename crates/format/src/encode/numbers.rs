//! Chunks of by-value types.

use std::borrow::Cow;
use std::ops::Range;

use super::blooms;
use super::choose::{self, Choice};
use super::hash::{self, Numbered};
use super::stats::Stats;
use super::writer::ChunkWriter;
use crate::bitmap::{Bitmap, bit};
use crate::bloom::hash_of_int;
use crate::bounds::{self, Bound, Bounds};
use crate::encoding::alp::{self, Float};
use crate::encoding::{delta, run_length};
use crate::meta::MAX_DICTIONARY;
use crate::native::Native;
use crate::options::Encoding;
use crate::packed;
use crate::types::{BoundsOrder, ColumnSpec, PhysicalType};

/// The most values of a dictionary of numbers that was not asked for.
const DICTIONARY_LIMIT: usize = 1 << 15;

/// What a dictionary must save for its own section and metadata.
const DICTIONARY_OVERHEAD: usize = 64;

/// One vector as it will be written.
struct Part {
    range: Range<usize>,
    validity: Vec<u64>,
    nulls: usize,
    /// `None` where all rows are NULL.
    planned: Option<(Stats, Choice)>,
    /// The integers of floats, where they are wanted.
    alp: Option<alp::Plan>,
}

/// Encodes a chunk. `values` holds 0 where a row is NULL.
pub(super) fn encode<T: Float>(
    writer: &mut ChunkWriter,
    validity: &Bitmap,
    values: &[T],
    vectors: &[Range<usize>],
) {
    sum(writer, values);
    let mut values = Cow::Borrowed(values);
    let mut parts = Vec::with_capacity(vectors.len());
    for range in vectors {
        let (bits, nulls) = validity.slice(range.start, range.len());
        let (mut planned, mut alp) = (None, None);
        if nulls < range.len() {
            if nulls > 0 {
                fill_nulls(&mut values.to_mut()[range.clone()], &bits);
            }
            let part = &values[range.clone()];
            let stats = Stats::of(part);
            let mut choice = choose::without_dictionary(&stats, range.len(), T::WIDTH);
            alp = alp_plan(writer, part, &mut choice);
            planned = Some((stats, choice));
        }
        parts.push(Part { range: range.clone(), validity: bits, nulls, planned, alp });
    }
    let values = values.as_ref();
    let dictionary = dictionary(writer, validity, values, &parts);
    for part in &parts {
        write(writer, values, part, dictionary.as_ref());
    }
    // NULLs repeat another value of their vector.
    blooms::write(writer, vectors, |range, hashes| {
        hashes.extend(values[range].iter().map(|value| hash_of_int(value.widen())));
    });
}

/// The integers of floats, where they are forced or are smaller than the choice so far, which they replace.
fn alp_plan<T: Float>(
    writer: &ChunkWriter,
    values: &[T],
    choice: &mut Choice,
) -> Option<alp::Plan> {
    let forced = match writer.options.forced_encoding {
        Some(Encoding::Alp) => true,
        Some(_) => return None,
        None => false,
    };
    if !writer.spec.physical.is_float() || (!forced && choice.encoding == Encoding::Constant) {
        return None;
    }
    let plan = alp::plan(values, forced)?;
    let size = plan.size(T::WIDTH);
    if size * 10 >= choice.size * 9 && !forced {
        return None;
    }
    *choice = Choice { encoding: Encoding::Alp, size };
    Some(plan)
}

/// Gives NULL rows the value before them, or the first one there is, so that they widen no range and break no run.
fn fill_nulls<T: Native>(values: &mut [T], bits: &[u64]) {
    let first = (0..values.len()).find(|row| bit(bits, *row)).unwrap_or(0);
    let mut last = values[first];
    for (row, value) in values.iter_mut().enumerate() {
        if bit(bits, row) {
            last = *value;
        } else {
            *value = last;
        }
    }
}

fn sum<T: Native>(writer: &mut ChunkWriter, values: &[T]) {
    let unsigned = writer.spec.is_unsigned();
    let Some(sum) = &mut writer.sum else {
        return;
    };
    *sum = if T::WIDTH == 8 {
        if unsigned {
            values.iter().map(|v| i128::from(v.widen() as u64)).sum()
        } else {
            values.iter().map(|v| i128::from(v.widen())).sum()
        }
    } else {
        // 2^20 numbers of 32 bits fit 64.
        let partial = |part: &[T]| -> i64 {
            if unsigned {
                part.iter().map(|v| v.widen_unsigned()).sum()
            } else {
                part.iter().map(|v| v.widen()).sum()
            }
        };
        values.chunks(1 << 20).map(|part| i128::from(partial(part))).sum()
    };
}

/// Writes the chunk's dictionary if one is wanted, and gives what its vectors need of it.
fn dictionary<T: Float>(
    writer: &mut ChunkWriter,
    validity: &Bitmap,
    values: &[T],
    parts: &[Part],
) -> Option<Numbered> {
    let forced = match writer.options.forced_encoding {
        Some(Encoding::Dictionary) => true,
        Some(_) => return None,
        None => false,
    };
    let is_valid = |row: usize| validity.is_valid(row);
    let hash = |row: usize| hash::of_number(values[row].widen());
    let same = |a: usize, b: usize| values[a] == values[b];
    if validity.null_count() == values.len() {
        return None;
    }
    let alternative: usize =
        parts.iter().filter_map(|p| p.planned.map(|(_, choice)| choice.size)).sum();
    let mut limit = MAX_DICTIONARY;
    if !forced {
        let (distinct, _) = hash::sample(values.len(), is_valid, hash);
        let least = values.len()
            * usize::from(crate::bits::width_of((distinct as u64).saturating_sub(1)))
            / 8
            + distinct * T::WIDTH;
        if (least + DICTIONARY_OVERHEAD) * 4 >= alternative * 3 {
            return None;
        }
        limit = DICTIONARY_LIMIT.min(values.len() / 2 + 1);
    }
    let numbered = hash::number_rows(values.len(), limit, is_valid, hash, same)?;
    if !forced {
        let size: usize = parts
            .iter()
            .filter_map(|p| {
                let (_, choice) = p.planned?;
                Some(choice.size.min(choose::codes_size(&numbered.codes[p.range.clone()])))
            })
            .sum();
        if (size + numbered.firsts.len() * T::WIDTH + DICTIONARY_OVERHEAD) * 4 >= alternative * 3 {
            return None;
        }
    }
    writer.raw.clear();
    writer.raw.extend_from_slice(&(numbered.firsts.len() as u64).to_le_bytes());
    let distinct: Vec<T> = numbered.firsts.iter().map(|row| values[*row as usize]).collect();
    writer.raw.extend_from_slice(bytemuck::cast_slice(&distinct));
    writer.dictionary(distinct.len());
    Some(numbered)
}

fn write<T: Float>(
    writer: &mut ChunkWriter,
    values: &[T],
    part: &Part,
    dictionary: Option<&Numbered>,
) {
    let rows = part.range.len();
    let Some((stats, choice)) = part.planned else {
        return writer.all_null(rows);
    };
    let values = &values[part.range.clone()];
    let codes = dictionary.map(|d| &d.codes[part.range.clone()]);
    let encoding = match writer.options.forced_encoding {
        Some(Encoding::Constant) if stats.runs > 1 => Encoding::Plain,
        Some(Encoding::Dictionary) if codes.is_none() => Encoding::Plain,
        Some(Encoding::Alp) if part.alp.is_none() => Encoding::Plain,
        Some(forced) => forced,
        None => match codes {
            Some(codes) if choose::codes_size(codes) < choice.size => Encoding::Dictionary,
            _ => choice.encoding,
        },
    };
    writer.begin(&part.validity);
    let raw = &mut writer.raw;
    match (encoding, codes) {
        (Encoding::Plain, _) => raw.extend_from_slice(bytemuck::cast_slice(values)),
        (Encoding::Constant, _) => raw.extend_from_slice(bytemuck::bytes_of(&values[0])),
        (Encoding::BitPacked, _) => {
            packed::write(raw, rows, stats.min as u64, stats.range(), |i| values[i].widen() as u64)
        }
        (Encoding::Delta, _) => delta::write(raw, rows, &stats.delta, |i| values[i].widen()),
        (Encoding::RunLength, _) => {
            let mut ends = Vec::with_capacity(stats.runs);
            let mut distinct = Vec::with_capacity(stats.runs);
            for (row, value) in values.iter().enumerate() {
                if row + 1 == rows || values[row + 1] != *value {
                    ends.push(row as u32 + 1);
                    distinct.push(*value);
                }
            }
            run_length::write_ends(raw, &ends);
            raw.extend_from_slice(bytemuck::cast_slice(&distinct));
        }
        (Encoding::Alp, _) => {
            if let Some(plan) = &part.alp {
                plan.write(raw, values);
            }
        }
        (Encoding::Dictionary, codes) => packed::write_u32(raw, codes.unwrap_or(&[])),
    }
    let bounds = bounds_of(writer.spec, &stats, values);
    writer.vector(encoding, rows, part.nulls, bounds);
}

fn bounds_of<T: Float>(spec: ColumnSpec, stats: &Stats, values: &[T]) -> Bounds {
    if !bounds::kept(spec) {
        return (None, None);
    }
    match (spec.order, spec.physical) {
        (BoundsOrder::Signed, _) => (Some(Bound::Int(stats.min)), Some(Bound::Int(stats.max))),
        (BoundsOrder::Unsigned, _) => {
            let min = values.iter().map(|v| v.widen_unsigned() as u64).min().unwrap_or(0);
            let max = values.iter().map(|v| v.widen_unsigned() as u64).max().unwrap_or(0);
            (Some(Bound::Int(min as i64)), Some(Bound::Int(max as i64)))
        }
        (BoundsOrder::Float, PhysicalType::Float32) => {
            bounds::of_floats(values.iter().map(|v| f64::from(f32::from_bits(v.widen() as u32))))
        }
        (BoundsOrder::Float, _) => {
            bounds::of_floats(values.iter().map(|v| f64::from_bits(v.widen() as u64)))
        }
        _ => (None, None),
    }
}
