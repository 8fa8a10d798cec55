//! The keys of groups, stored row by row as words.
//!
//! ```text
//! row     word(s) of key 0 | word(s) of key 1 | ... | words of NULL bits
//! ```
//! A Bool, Int, Float or Bytes key takes a word, a Decimal two. NULL bits are added when the first NULL comes, so that keys
//! without NULLs take no room for them. Rows are equal where their words are, long strings (see [`word`]) aside. A float
//! is stored with one form of zero and of NaN; groups whose first value was -0 are listed.

use std::sync::Arc;

use arrow_buffer::Buffer;

use super::memory::{ahead, allocated, reserve};
use super::spec::ValueType;
use super::word;
use crate::column::{Column, Data, Span, Strings};
use crate::error::ExecError;

/// Keys, each a row of words.
#[derive(Debug)]
pub(super) struct KeyRows {
    /// Kinds of the keys.
    pub types: Arc<[ValueType]>,
    /// First word of each key.
    pub offsets: Vec<usize>,
    /// Words of all keys, without NULL bits.
    pub key_words: usize,
    /// Whether there are NULL bits.
    pub nullable: bool,
    /// The rows.
    pub words: Vec<u64>,
    /// Long strings.
    pub arena: Vec<u8>,
    /// By key, the rows whose value is -0, ascending.
    pub negative_zeros: Vec<Vec<u32>>,
    /// Rows.
    pub len: usize,
}

impl KeyRows {
    /// No rows.
    pub fn new(types: &[ValueType]) -> Self {
        let mut offsets = Vec::with_capacity(types.len());
        let mut key_words = 0;
        for kind in types {
            offsets.push(key_words);
            key_words += if matches!(kind, ValueType::Decimal(_)) { 2 } else { 1 };
        }
        Self {
            types: types.into(),
            offsets,
            key_words,
            nullable: false,
            words: Vec::new(),
            arena: Vec::new(),
            negative_zeros: vec![Vec::new(); types.len()],
            len: 0,
        }
    }

    /// Words of a row.
    #[inline]
    pub fn width(&self) -> usize {
        self.key_words + if self.nullable { self.types.len().div_ceil(64) } else { 0 }
    }

    /// Whether a key is a string.
    pub fn has_strings(&self) -> bool {
        self.types.contains(&ValueType::Bytes)
    }

    /// Gives every row NULL bits.
    pub fn widen(&mut self) -> Result<(), ExecError> {
        if self.nullable {
            return Ok(());
        }
        let before = self.key_words;
        self.nullable = true;
        let width = self.width();
        let mut words = Vec::new();
        reserve(&mut words, self.len * width)?;
        for row in self.words.chunks_exact(before) {
            words.extend_from_slice(row);
            words.resize(words.len() + width - before, 0);
        }
        self.words = words;
        Ok(())
    }

    /// Whether a key of a row is NULL.
    #[inline]
    pub fn is_null(&self, row: usize, key: usize) -> bool {
        self.nullable
            && self.words[row * self.width() + self.key_words + key / 64] >> (key % 64) & 1 == 1
    }

    /// The first word of a key of a row.
    #[inline]
    pub fn word(&self, row: usize, key: usize) -> u64 {
        self.words[row * self.width() + self.offsets[key]]
    }

    /// A Decimal key of a row.
    #[inline]
    pub fn decimal(&self, row: usize, key: usize) -> i128 {
        let at = row * self.width() + self.offsets[key];
        join(self.words[at], self.words[at + 1])
    }

    /// A Float key of a row, -0 as it came.
    pub fn float(&self, row: usize, key: usize) -> f64 {
        if self.is_negative_zero(row, key) {
            return -0.0;
        }
        f64::from_bits(self.word(row, key))
    }

    /// Whether a Float key of a row came as -0.
    pub fn is_negative_zero(&self, row: usize, key: usize) -> bool {
        let list = &self.negative_zeros[key];
        !list.is_empty() && list.binary_search(&(row as u32)).is_ok()
    }

    /// A key of the rows `from..to`.
    pub fn column(&self, key: usize, from: usize, to: usize) -> Column {
        let len = to - from;
        let rows = from..to;
        let data = match self.types[key] {
            ValueType::Bool => Data::Bool(Arc::new(rows.map(|r| self.word(r, key) != 0).collect())),
            ValueType::Int => Data::Int(Arc::new(rows.map(|r| self.word(r, key) as i64).collect())),
            ValueType::Float => Data::Float(Arc::new(rows.map(|r| self.float(r, key)).collect())),
            ValueType::Decimal(scale) => {
                Data::Decimal(Arc::new(rows.map(|r| self.decimal(r, key)).collect()), scale)
            }
            ValueType::Bytes => Data::Bytes(strings(rows.map(|r| self.word(r, key)), &self.arena)),
        };
        let nulls = self.nullable.then(|| {
            let nulls: Vec<bool> = (from..to).map(|row| self.is_null(row, key)).collect();
            nulls.contains(&true).then(|| Arc::new(nulls))
        });
        Column::with_nulls(data, nulls.flatten(), len)
    }

    /// Bytes allocated.
    pub fn memory_size(&self) -> usize {
        allocated(&self.words)
            + self.arena.capacity()
            + self.negative_zeros.iter().map(allocated).sum::<usize>()
    }

    /// Bytes beyond those that `more` rows need, if their strings are as long as those so far.
    pub fn memory_ahead(&self, more: usize) -> usize {
        let strings = (self.arena.len() as u64 * more as u64 / self.len.max(1) as u64) as usize;
        ahead(&self.words, more * self.width()) + ahead(&self.arena, strings)
    }
}

/// Strings of words, copied into a buffer of their own.
pub(super) fn strings(words: impl Iterator<Item = u64>, arena: &[u8]) -> Strings {
    let mut data = Vec::new();
    let mut spans = Vec::with_capacity(words.size_hint().0);
    for word in words {
        let mut buffer = [0; 8];
        let bytes = word::bytes(word, arena, &mut buffer);
        spans.push(Span { start: data.len() as u32, len: bytes.len() as u32 });
        data.extend_from_slice(bytes);
    }
    Strings { spans: Arc::new(spans), data: Buffer::from_vec(data) }
}

/// A Decimal as two words.
#[inline]
pub(super) fn split(value: i128) -> (u64, u64) {
    (value as u64, (value >> 64) as u64)
}

/// A Decimal of two words.
#[inline]
pub(super) fn join(low: u64, high: u64) -> i128 {
    i128::from(high as i64) << 64 | i128::from(low)
}

/// A float with one form of zero and of NaN.
#[inline]
pub(super) fn canonical(value: f64) -> u64 {
    if value.is_nan() {
        f64::NAN.to_bits()
    } else {
        // -0 + 0 is 0.
        (value + 0.0).to_bits()
    }
}
