//! Chunks of byte strings, of fixed or any length.

use std::ops::Range;

use super::blooms;
use super::choose;
use super::hash::{self, Numbered};
use super::writer::ChunkWriter;
use crate::bitmap::{Bitmap, bit};
use crate::bloom::hash_of_bytes;
use crate::bounds::{self, Bounds};
use crate::encoding::run_length;
use crate::meta::MAX_DICTIONARY;
use crate::options::Encoding;
use crate::packed;
use crate::values;

/// The most values of a dictionary that was not asked for, and the most bytes: reading one row decompresses all of it.
const DICTIONARY_LIMIT: usize = 1 << 16;
const DICTIONARY_BYTES: usize = 2 << 20;

/// The bytes above which even a dictionary that was asked for is not made.
const FORCED_DICTIONARY_BYTES: usize = 1 << 30;

/// What a dictionary must save for its own section and metadata.
const DICTIONARY_OVERHEAD: usize = 64;

/// Byte strings by position; NULL rows give anything.
pub(super) trait Strings {
    /// Whether all values have one length, which is then not stored.
    const FIXED: bool;
    fn len(&self) -> usize;
    fn get(&self, row: usize) -> &[u8];
}

pub(super) struct Fixed<'a> {
    pub(super) width: usize,
    pub(super) data: &'a [u8],
}

impl Strings for Fixed<'_> {
    const FIXED: bool = true;
    fn len(&self) -> usize {
        self.data.len() / self.width
    }
    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        &self.data[row * self.width..(row + 1) * self.width]
    }
}

pub(super) struct Variable<'a> {
    pub(super) ends: &'a [u64],
    pub(super) data: &'a [u8],
}

impl Strings for Variable<'_> {
    const FIXED: bool = false;
    fn len(&self) -> usize {
        self.ends.len()
    }
    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.data[start as usize..self.ends[row] as usize]
    }
}

/// Encodes a chunk.
pub(super) fn encode<S: Strings>(
    writer: &mut ChunkWriter,
    validity: &Bitmap,
    strings: &S,
    vectors: &[Range<usize>],
) {
    let dictionary = dictionary(writer, validity, strings, vectors);
    for range in vectors {
        let (bits, nulls) = validity.slice(range.start, range.len());
        if nulls == range.len() {
            writer.all_null(range.len());
        } else {
            let codes = dictionary.as_ref().map(|d| &d.codes[range.clone()]);
            write(writer, strings, range.clone(), &bits, nulls, codes);
        }
    }
    let valid = |range: Range<usize>| range.filter(|row| validity.is_valid(*row));
    let hash = |row: usize| hash_of_bytes(strings.get(row));
    match dictionary {
        None => blooms::write(writer, vectors, |range, hashes| {
            hashes.extend(valid(range).map(hash));
        }),
        Some(Numbered { firsts, codes }) => {
            let distinct: Vec<u64> = firsts.iter().map(|row| hash(*row as usize)).collect();
            blooms::write(writer, vectors, |range, hashes| {
                hashes.extend(valid(range).map(|row| distinct[codes[row] as usize]));
            });
        }
    }
}

/// The bytes of values stored one after another.
fn plain_size<S: Strings>(strings: &S, rows: impl Iterator<Item = usize>) -> usize {
    let (mut count, mut total, mut min, mut max) = (0, 0, usize::MAX, 0);
    for row in rows {
        let len = strings.get(row).len();
        count += 1;
        total += len;
        min = min.min(len);
        max = max.max(len);
    }
    if S::FIXED || count == 0 {
        total
    } else {
        total + packed::size(count, crate::bits::width_of((max - min) as u64))
    }
}

fn append<S: Strings>(raw: &mut Vec<u8>, strings: &S, rows: &[u32]) {
    if S::FIXED {
        rows.iter().for_each(|row| raw.extend_from_slice(strings.get(*row as usize)));
    } else {
        values::write_bytes(raw, rows.len(), |i| strings.get(rows[i] as usize));
    }
}

/// Writes the chunk's dictionary if one is wanted, and gives what its vectors need of it.
fn dictionary<S: Strings>(
    writer: &mut ChunkWriter,
    validity: &Bitmap,
    strings: &S,
    vectors: &[Range<usize>],
) -> Option<Numbered> {
    let rows = strings.len();
    let forced = match writer.options.forced_encoding {
        Some(Encoding::Dictionary) => true,
        Some(_) => return None,
        None => false,
    };
    let values = rows - validity.null_count();
    if values == 0 {
        return None;
    }
    let is_valid = |row: usize| validity.is_valid(row);
    let hash = |row: usize| hash::of_bytes(strings.get(row));
    let same = |a: usize, b: usize| strings.get(a) == strings.get(b);
    let mut limit = MAX_DICTIONARY;
    if !forced {
        let (distinct, sampled) = hash::sample(rows, is_valid, hash);
        // Of 122,880 rows with 40,000 values or more, 95 in 100 of a sample are distinct.
        if distinct * 100 > sampled * 95 && sampled > 64 {
            return None;
        }
        limit = DICTIONARY_LIMIT.min(values / 2 + 1);
    }
    let numbered = hash::number_rows(rows, limit, is_valid, hash, same)?;
    let size = plain_size(strings, numbered.firsts.iter().map(|row| *row as usize));
    if size > if forced { FORCED_DICTIONARY_BYTES } else { DICTIONARY_BYTES } {
        return None;
    }
    if !forced {
        let codes: usize =
            vectors.iter().map(|range| choose::codes_size(&numbered.codes[range.clone()])).sum();
        let plain: usize = vectors.iter().map(|range| plain_size(strings, range.clone())).sum();
        if (size + codes + DICTIONARY_OVERHEAD) * 4 >= plain * 3 {
            return None;
        }
    }
    writer.raw.clear();
    writer.raw.extend_from_slice(&(numbered.firsts.len() as u64).to_le_bytes());
    append(&mut writer.raw, strings, &numbered.firsts);
    writer.dictionary(numbered.firsts.len());
    Some(numbered)
}

fn write<S: Strings>(
    writer: &mut ChunkWriter,
    strings: &S,
    range: Range<usize>,
    bits: &[u64],
    nulls: usize,
    codes: Option<&[u32]>,
) {
    let rows = range.len();
    let runs = run_starts(strings, range.clone(), bits, codes);
    let run_size = || {
        run_length::size(runs.len(), rows) + plain_size(strings, runs.iter().map(|r| *r as usize))
    };
    let encoding = match writer.options.forced_encoding {
        Some(Encoding::Constant) if runs.len() == 1 => Encoding::Constant,
        Some(Encoding::RunLength) => Encoding::RunLength,
        Some(Encoding::Dictionary) if codes.is_some() => Encoding::Dictionary,
        Some(_) => Encoding::Plain,
        None if runs.len() == 1 => Encoding::Constant,
        None => {
            let (other, size) = match codes {
                Some(codes) => (Encoding::Dictionary, choose::codes_size(codes)),
                None => (Encoding::Plain, plain_size(strings, range.clone())),
            };
            // More runs than this are not worth the search that reading one row takes.
            if runs.len() * 4 <= rows && run_size() * 4 < size * 3 {
                Encoding::RunLength
            } else {
                other
            }
        }
    };
    writer.begin(bits);
    let raw = &mut writer.raw;
    match encoding {
        Encoding::Constant => append(raw, strings, &runs),
        Encoding::RunLength => {
            let mut ends: Vec<u32> =
                runs[1..].iter().map(|start| start - range.start as u32).collect();
            // The first run begins at the first row, whichever row its value is taken from.
            ends.push(rows as u32);
            run_length::write_ends(raw, &ends);
            append(raw, strings, &runs);
        }
        Encoding::Dictionary => packed::write_u32(raw, codes.unwrap_or(&[])),
        Encoding::Plain | Encoding::BitPacked | Encoding::Delta | Encoding::Alp => {
            if S::FIXED {
                range.clone().for_each(|row| raw.extend_from_slice(strings.get(row)));
            } else {
                values::write_bytes(raw, rows, |i| strings.get(range.start + i));
            }
        }
    }
    let bounds = bounds_of(writer, strings, range.start, &runs, codes);
    writer.vector(encoding, rows, nulls, bounds);
}

/// A row with the value of each run; from the second run on it is the run's first row. NULLs lengthen the run before them.
fn run_starts<S: Strings>(
    strings: &S,
    range: Range<usize>,
    bits: &[u64],
    codes: Option<&[u32]>,
) -> Vec<u32> {
    let mut starts: Vec<u32> = Vec::new();
    for row in range.clone().filter(|row| bit(bits, row - range.start)) {
        let repeats = starts.last().is_some_and(|last| match codes {
            Some(codes) => codes[*last as usize - range.start] == codes[row - range.start],
            None => strings.get(*last as usize) == strings.get(row),
        });
        if !repeats {
            starts.push(row as u32);
        }
    }
    starts
}

/// The bounds of the values of runs. Of a vector with codes each distinct value is compared once.
fn bounds_of<S: Strings>(
    writer: &ChunkWriter,
    strings: &S,
    start: usize,
    runs: &[u32],
    codes: Option<&[u32]>,
) -> Bounds {
    if !bounds::kept(writer.spec) {
        return (None, None);
    }
    let codes = codes.unwrap_or(&[]);
    let mut seen = vec![false; codes.iter().max().map_or(0, |max| *max as usize + 1)];
    let mut bounds: Option<(&[u8], &[u8])> = None;
    for row in runs.iter().map(|row| *row as usize) {
        if !codes.is_empty() && std::mem::replace(&mut seen[codes[row - start] as usize], true) {
            continue;
        }
        let value = strings.get(row);
        bounds = Some(match bounds {
            None => (value, value),
            Some((min, max)) if value < min => (value, max),
            Some((min, max)) if value > max => (min, value),
            Some(same) => same,
        });
    }
    bounds.map_or((None, None), |(min, max)| bounds::of_bytes(min, max))
}
