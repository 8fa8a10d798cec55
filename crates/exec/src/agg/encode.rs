//! Batches of keys as rows of words with their hashes, ready to be found in a table.

use std::sync::Arc;

use super::hash;
use super::intern::Interner;
use super::memory::{allocated, refill};
use super::rows::{KeyRows, canonical, split};
use super::spec::ValueType;
use super::word;
use crate::column::{Column, Data, Scalar};
use crate::error::ExecError;

/// Rows of words, as those of [`KeyRows`], and their hashes. Kept for its memory from batch to batch.
#[derive(Debug, Default)]
pub(super) struct KeyBatch {
    /// Rows.
    pub rows: usize,
    /// Words of a row.
    pub width: usize,
    /// The rows.
    pub words: Vec<u64>,
    /// A hash a row.
    pub hashes: Vec<u64>,
    /// Keys and rows whose value is -0.
    pub negative_zeros: Vec<(usize, u32)>,
}

/// What the long strings of a key of a batch point into.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a> {
    /// The arena of the table: equal words are equal strings.
    Resident,
    /// Other bytes.
    Foreign(&'a [u8]),
}

impl KeyBatch {
    /// Starts a batch for a table. NULL bits and words of NULLs are zero.
    fn start(&mut self, table: &KeyRows, rows: usize) -> Result<(), ExecError> {
        self.rows = rows;
        self.width = table.width();
        self.negative_zeros.clear();
        refill(&mut self.words, rows * self.width, 0)?;
        refill(&mut self.hashes, rows, hash::SEED)
    }

    fn finish(&mut self) {
        self.hashes.iter_mut().for_each(|h| *h = hash::finish(*h));
    }

    /// Bytes allocated.
    pub fn memory_size(&self) -> usize {
        allocated(&self.words) + allocated(&self.hashes) + allocated(&self.negative_zeros)
    }

    /// Encodes the rows `from..to` of key columns. `interners`, one a key, make the strings of dictionaries resident.
    pub fn encode<'a>(
        &mut self,
        table: &mut KeyRows,
        mut interners: Option<&mut [Interner]>,
        columns: &'a [Column],
        from: usize,
        to: usize,
    ) -> Result<Vec<Source<'a>>, ExecError> {
        self.start(table, to - from)?;
        let mut sources = Vec::with_capacity(columns.len());
        for (key, column) in columns.iter().enumerate() {
            let interner = interners.as_mut().map(|all| &mut all[key]);
            sources.push(self.encode_key(table, interner, key, column, from, to)?);
        }
        self.finish();
        Ok(sources)
    }

    fn encode_key<'a>(
        &mut self,
        table: &mut KeyRows,
        interner: Option<&mut Interner>,
        key: usize,
        column: &'a Column,
        from: usize,
        to: usize,
    ) -> Result<Source<'a>, ExecError> {
        let at = table.offsets[key];
        let mut source = Source::Foreign(&[]);
        let nulls = column.nulls.as_ref().map(|nulls| &nulls[from..to]);
        match (table.types[key], &column.data) {
            (_, Data::Const(Scalar::Null)) => self.all_null(table, key),
            (ValueType::Bool, Data::Bool(values)) => {
                self.fixed(at, nulls, &values[from..to], |&value| u64::from(value));
            }
            (ValueType::Bool, Data::Const(Scalar::Bool(value))) => {
                self.constant(at, u64::from(*value));
            }
            (ValueType::Int, Data::Int(values)) => {
                self.fixed(at, nulls, &values[from..to], |&value| value as u64);
            }
            (ValueType::Int, Data::Const(Scalar::Int(value))) => self.constant(at, *value as u64),
            (ValueType::Float, Data::Float(values)) => {
                let values = &values[from..to];
                self.fixed(at, nulls, values, |&value| canonical(value));
                for (row, value) in values.iter().enumerate() {
                    if value.to_bits() == (-0.0f64).to_bits() && !nulls.is_some_and(|n| n[row]) {
                        self.negative_zeros.push((key, row as u32));
                    }
                }
            }
            (ValueType::Float, Data::Const(Scalar::Float(value))) => {
                self.constant(at, canonical(*value));
                if value.to_bits() == (-0.0f64).to_bits() {
                    self.negative_zeros.extend((0..self.rows as u32).map(|row| (key, row)));
                }
            }
            (ValueType::Decimal(scale), Data::Decimal(values, found)) if scale == *found => {
                let values = &values[from..to];
                self.fixed(at, nulls, values, |&value| split(value).0);
                self.fixed(at + 1, nulls, values, |&value| split(value).1);
            }
            (ValueType::Decimal(scale), Data::Const(Scalar::Decimal(value, found)))
                if scale == *found =>
            {
                let (low, high) = split(*value);
                self.constant(at, low);
                self.constant(at + 1, high);
            }
            (ValueType::Bytes, Data::Bytes(strings)) => {
                let data = &strings.data[..];
                source = Source::Foreign(data);
                self.strings(at, nulls, &strings.spans[from..to], |span| {
                    let (start, len) = (span.start as usize, span.len as usize);
                    string_word(data, start, len)
                });
            }
            (ValueType::Bytes, Data::Dict(codes)) => {
                let values = &codes.dictionary.values;
                let slice = &codes.codes[from..to];
                if let Some(interner) = interner {
                    source = Source::Resident;
                    interner.enter(&codes.dictionary)?;
                    for (row, &code) in slice.iter().enumerate() {
                        if nulls.is_some_and(|nulls| nulls[row]) {
                            self.hashes[row] = hash::add(self.hashes[row], hash::NULL);
                            continue;
                        }
                        let (word, hash) =
                            interner.get(code, &codes.dictionary, &mut table.arena)?;
                        self.words[row * self.width + at] = word;
                        self.hashes[row] = hash::add(self.hashes[row], hash);
                    }
                } else {
                    let data = &values.data[..];
                    source = Source::Foreign(data);
                    self.strings(at, nulls, slice, |&code| {
                        let span = values.spans[code as usize];
                        string_word(data, span.start as usize, span.len as usize)
                    });
                }
            }
            (ValueType::Bytes, Data::Const(Scalar::Bytes(bytes))) => {
                source = Source::Foreign(bytes);
                let (word, hash) = string_word(bytes, 0, bytes.len());
                for (row, h) in self.words.chunks_exact_mut(self.width).zip(&mut self.hashes) {
                    row[at] = word;
                    *h = hash::add(*h, hash);
                }
            }
            _ => return Err(ExecError::Unsupported),
        }
        if let Some(nulls) = nulls.filter(|_| table.nullable) {
            let at = table.key_words + key / 64;
            for (row, &null) in self.words.chunks_exact_mut(self.width).zip(nulls) {
                row[at] |= u64::from(null) << (key % 64);
            }
        }
        Ok(source)
    }

    fn all_null(&mut self, table: &KeyRows, key: usize) {
        let at = table.key_words + key / 64;
        for (row, h) in self.words.chunks_exact_mut(self.width).zip(&mut self.hashes) {
            row[at] |= 1 << (key % 64);
            *h = null_hash(*h, table.types[key]);
        }
    }

    fn constant(&mut self, at: usize, word: u64) {
        for (row, h) in self.words.chunks_exact_mut(self.width).zip(&mut self.hashes) {
            row[at] = word;
            *h = hash::add(*h, word);
        }
    }

    #[inline]
    fn fixed<T>(
        &mut self,
        at: usize,
        nulls: Option<&[bool]>,
        values: &[T],
        word: impl Fn(&T) -> u64,
    ) {
        let rows = self.words.chunks_exact_mut(self.width).zip(&mut self.hashes).zip(values);
        match nulls {
            None => {
                for ((row, h), value) in rows {
                    let word = word(value);
                    row[at] = word;
                    *h = hash::add(*h, word);
                }
            }
            Some(nulls) => {
                for (((row, h), value), &null) in rows.zip(nulls) {
                    let word = word(value);
                    row[at] = if null { 0 } else { word };
                    *h = hash::add(*h, if null { hash::NULL } else { word });
                }
            }
        }
    }

    #[inline]
    fn strings<T>(
        &mut self,
        at: usize,
        nulls: Option<&[bool]>,
        values: &[T],
        word: impl Fn(&T) -> (u64, u64),
    ) {
        let rows = self.words.chunks_exact_mut(self.width).zip(&mut self.hashes).zip(values);
        for (place, ((row, h), value)) in rows.enumerate() {
            if nulls.is_some_and(|nulls| nulls[place]) {
                *h = hash::add(*h, hash::NULL);
                continue;
            }
            let (word, hash) = word(value);
            row[at] = word;
            *h = hash::add(*h, hash);
        }
    }

    /// Encodes rows of another table, `place` by `place`. With `remap`, the first key is an index into it.
    pub fn copy<'a>(
        &mut self,
        table: &KeyRows,
        source: &'a KeyRows,
        places: impl ExactSizeIterator<Item = usize>,
        remap: Option<&[u32]>,
    ) -> Result<Vec<Source<'a>>, ExecError> {
        self.start(table, places.len())?;
        let zeros = source.negative_zeros.iter().any(|list| !list.is_empty());
        let from_width = source.width();
        for (row, place) in places.enumerate() {
            let from = &source.words[place * from_width..(place + 1) * from_width];
            let to = &mut self.words[row * self.width..(row + 1) * self.width];
            to[..from_width].copy_from_slice(from);
            if let Some(remap) = remap {
                to[0] = u64::from(remap[to[0] as usize]);
            }
            self.hashes[row] = hash_row(source, place, to);
            if zeros {
                for key in 0..source.types.len() {
                    if source.is_negative_zero(place, key) {
                        self.negative_zeros.push((key, row as u32));
                    }
                }
            }
        }
        Ok(vec![Source::Foreign(&source.arena); source.types.len()])
    }
}

/// NULL's part of a hash: once a word.
#[inline]
fn null_hash(hash: u64, kind: ValueType) -> u64 {
    let once = hash::add(hash, hash::NULL);
    if matches!(kind, ValueType::Decimal(_)) { hash::add(once, hash::NULL) } else { once }
}

/// The hash of a row of a table, whose words are `words`.
#[inline]
pub(super) fn hash_row(table: &KeyRows, place: usize, words: &[u64]) -> u64 {
    let mut h = hash::SEED;
    for (key, &kind) in table.types.iter().enumerate() {
        let word = words[table.offsets[key]];
        h = if table.is_null(place, key) {
            null_hash(h, kind)
        } else {
            match kind {
                ValueType::Bytes if word::is_long(word) => {
                    let (offset, len) = word::place(word);
                    hash::add(h, hash::of_bytes(&table.arena[offset..offset + len]))
                }
                ValueType::Decimal(_) => {
                    hash::add(hash::add(h, word), words[table.offsets[key] + 1])
                }
                _ => hash::add(h, word),
            }
        };
    }
    hash::finish(h)
}

/// The word of a string of a buffer and its part of a hash.
#[inline]
pub(super) fn string_word(data: &[u8], start: usize, len: usize) -> (u64, u64) {
    let bytes = &data[start..start + len];
    if len <= word::INLINE {
        let word = word::inline(bytes);
        (word, word)
    } else {
        (word::long(start, len), hash::of_bytes(bytes))
    }
}

/// Whether a column has a NULL.
pub(super) fn has_nulls(column: &Column) -> bool {
    match (&column.data, &column.nulls) {
        (Data::Const(value), _) => *value == Scalar::Null,
        (_, Some(nulls)) => nulls.contains(&true),
        _ => false,
    }
}

/// A column of group numbers.
pub(super) fn numbers(groups: &[u32]) -> Column {
    let values = groups.iter().map(|&group| i64::from(group)).collect();
    Column::new(Data::Int(Arc::new(values)), groups.len())
}
