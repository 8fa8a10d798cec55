//! The hash table: open addressing with linear probing over slots that hold half a hash and a row number.
//!
//! ```text
//! slot    lower half of the hash (bits 32..63) | row (bits 0..31)
//! ```
//! A key's slot is given by the top bits of its half of the hash. So the table doubles by one pass over the slots in order,
//! which reads no key, and writes the new slots in order too.
//!
//! Finding goes by small blocks: first all slots of a block are read, then all rows they point to, and only then is
//! compared. The reads of a block do not wait for each other, so that the processor waits for memory about once a block
//! rather than once a row.

use std::hint::black_box;

use super::encode::{KeyBatch, Source};
use super::intern::Interner;
use super::lookup::Shortcut;
use super::memory::{allocated, grow, refill, reserve};
use super::rows::KeyRows;
use super::spec::ValueType;
use super::{encode, word};
use crate::column::{Column, Data};
use crate::error::ExecError;

const EMPTY: u64 = u64::MAX;
/// Rows that are encoded at once.
pub(super) const CHUNK: usize = 2048;
/// Rows that are found at once.
const BLOCK: usize = 128;
/// Slots up to which reading ahead does not pay, since they stay in the cache of the core.
const NEAR: usize = 1 << 14;
const LEAST_SLOTS: usize = 1 << 12;

/// Distinct keys, numbered from 0 in the order in which they came.
#[derive(Debug)]
pub(super) struct KeyTable {
    /// The keys.
    pub rows: KeyRows,
    slots: Vec<u64>,
    /// Of a half hash, to its slot.
    shift: u32,
    /// One a key; used where there are several.
    interners: Vec<Interner>,
    shortcut: Shortcut,
    batch: KeyBatch,
    /// Places in the batch of the rows that were added last.
    added: Vec<u32>,
}

impl KeyTable {
    /// An empty table.
    pub fn new(types: &[ValueType]) -> Self {
        Self {
            rows: KeyRows::new(types),
            slots: Vec::new(),
            shift: 32,
            interners: types.iter().map(|_| Interner::default()).collect(),
            shortcut: Shortcut::default(),
            batch: KeyBatch::default(),
            added: Vec::new(),
        }
    }

    /// Keys.
    pub fn len(&self) -> usize {
        self.rows.len
    }

    /// Bytes allocated.
    pub fn memory_size(&self) -> usize {
        self.rows.memory_size()
            + allocated(&self.slots)
            + self.interners.iter().map(Interner::memory_size).sum::<usize>()
            + self.shortcut.memory_size()
            + self.batch.memory_size()
            + allocated(&self.added)
    }

    /// Bytes beyond those allocated that taking in `more` new keys needs, if they are like those known: the slots' double
    /// beside the slots, for instance.
    pub fn memory_ahead(&self, more: usize) -> usize {
        let slots = self.slots_for(self.rows.len + more);
        let slots = if slots == self.slots.len() { 0 } else { slots * size_of::<u64>() };
        let interned = self.interners.iter().map(Interner::memory_ahead).sum::<usize>();
        slots + interned + self.rows.memory_ahead(more)
    }

    /// The numbers of the keys of some rows; keys that are not there are added.
    pub fn find(
        &mut self,
        columns: &[Column],
        rows: usize,
        numbers: &mut Vec<u32>,
    ) -> Result<(), ExecError> {
        assert_eq!(columns.len(), self.rows.types.len());
        numbers.clear();
        if rows == 0 {
            return Ok(());
        }
        if columns.iter().any(encode::has_nulls) {
            self.rows.widen()?;
        }
        if columns.iter().all(|column| matches!(column.data, Data::Const(_))) {
            self.find_encoded(columns, 0, 1, numbers)?;
            let number = numbers[0];
            return refill(numbers, rows, number);
        }
        if let [column] = columns {
            // Taken out, since it adds to the table what it does not know.
            let mut shortcut = std::mem::take(&mut self.shortcut);
            let done = shortcut.find(self, column, rows, numbers);
            self.shortcut = shortcut;
            if done? {
                return Ok(());
            }
        }
        for from in (0..rows).step_by(CHUNK) {
            self.find_encoded(columns, from, rows.min(from + CHUNK), numbers)?;
        }
        Ok(())
    }

    /// Finds the rows `from..to` without shortcuts.
    pub fn find_encoded(
        &mut self,
        columns: &[Column],
        from: usize,
        to: usize,
        numbers: &mut Vec<u32>,
    ) -> Result<(), ExecError> {
        let mut batch = std::mem::take(&mut self.batch);
        // A single string's code is looked up before its string is, so that interning would not pay.
        let interners = (columns.len() > 1).then_some(&mut self.interners[..]);
        let found = batch
            .encode(&mut self.rows, interners, columns, from, to)
            .and_then(|sources| self.find_batch(&batch, &sources, numbers));
        self.batch = batch;
        found
    }

    /// Finds rows of another table, at most [`CHUNK`]. With `remap`, the first key is an index into it.
    pub fn find_rows(
        &mut self,
        source: &KeyRows,
        places: impl ExactSizeIterator<Item = usize>,
        remap: Option<&[u32]>,
        numbers: &mut Vec<u32>,
    ) -> Result<(), ExecError> {
        if source.nullable {
            self.rows.widen()?;
        }
        let mut batch = std::mem::take(&mut self.batch);
        let found = batch
            .copy(&self.rows, source, places, remap)
            .and_then(|sources| self.find_batch(&batch, &sources, numbers));
        self.batch = batch;
        found
    }

    /// The number of each row of a batch of another table's keys; `None` for keys that are not there.
    pub fn look_up(
        &self,
        batch: &KeyBatch,
        sources: &[Source<'_>],
        numbers: &mut Vec<Option<u32>>,
    ) -> Result<(), ExecError> {
        numbers.clear();
        if self.slots.is_empty() {
            return refill(numbers, batch.rows, None);
        }
        reserve(numbers, batch.rows)?;
        let words = &self.rows.words[..];
        if self.rows.has_strings() {
            let width = batch.width;
            let mut strings = vec![None; width];
            for (key, &source) in sources.iter().enumerate() {
                let is_string = self.rows.types[key] == ValueType::Bytes;
                strings[self.rows.offsets[key]] = is_string.then_some(source);
            }
            let arena = &self.rows.arena;
            self.seek(batch, numbers, |row, first| {
                let stored = &words[first..first + width];
                (0..width).all(|i| same(row[i], stored[i], strings[i], arena))
            });
        } else if batch.width == 1 {
            self.seek(batch, numbers, |row, first| words[first] == row[0]);
        } else {
            self.seek(batch, numbers, |row, first| words[first..first + row.len()] == *row);
        }
        Ok(())
    }

    /// As [`Self::look_up`]; `equals` compares the words of a row with those that begin at an index.
    #[inline]
    fn seek(
        &self,
        batch: &KeyBatch,
        numbers: &mut Vec<Option<u32>>,
        equals: impl Fn(&[u64], usize) -> bool,
    ) {
        let width = batch.width;
        let mask = self.slots.len() - 1;
        let blocks = batch.words.chunks(BLOCK * width).zip(batch.hashes.chunks(BLOCK));
        for (rows, hashes) in blocks {
            self.read_ahead(hashes, width);
            for (row, &hash) in rows.chunks_exact(width).zip(hashes) {
                let half = hash as u32;
                let mut at = (half >> self.shift) as usize;
                let number = loop {
                    let slot = self.slots[at];
                    if slot == EMPTY {
                        break None;
                    }
                    if (slot >> 32) as u32 == half && equals(row, slot as u32 as usize * width) {
                        break Some(slot as u32);
                    }
                    at = (at + 1) & mask;
                };
                numbers.push(number);
            }
        }
    }

    /// Appends the number of each row of a batch.
    fn find_batch(
        &mut self,
        batch: &KeyBatch,
        sources: &[Source<'_>],
        numbers: &mut Vec<u32>,
    ) -> Result<(), ExecError> {
        self.make_room(batch.rows)?;
        reserve(&mut self.rows.words, batch.words.len())?;
        reserve(numbers, batch.rows)?;
        self.added.clear();
        reserve(&mut self.added, batch.rows)?;
        if self.rows.has_strings() {
            self.probe_strings(batch, sources, numbers)?;
        } else {
            match batch.width {
                1 => self.probe::<1>(batch, numbers),
                2 => self.probe::<2>(batch, numbers),
                3 => self.probe::<3>(batch, numbers),
                4 => self.probe::<4>(batch, numbers),
                5 => self.probe::<5>(batch, numbers),
                6 => self.probe::<6>(batch, numbers),
                _ => self.probe_strings(batch, sources, numbers)?,
            }
        }
        self.note_negative_zeros(batch)
    }

    /// Slots with which a table of so many keys is at most 3/4 full; never less than there are.
    fn slots_for(&self, keys: usize) -> usize {
        let mut count = self.slots.len().max(LEAST_SLOTS);
        while keys > count / 4 * 3 {
            // A small table quadruples, as one that grew so fast will go on.
            count *= if count < 1 << 18 { 4 } else { 2 };
        }
        count
    }

    /// Sees to it that `more` rows find room while the table is at most 3/4 full.
    fn make_room(&mut self, more: usize) -> Result<(), ExecError> {
        let needed = self.rows.len + more;
        if needed >= u32::MAX as usize {
            return Err(ExecError::OutOfMemory { bytes: needed as u64 * 8 });
        }
        let count = self.slots_for(needed);
        if count == self.slots.len() {
            return Ok(());
        }
        let old = std::mem::take(&mut self.slots);
        if let Err(error) = grow(&mut self.slots, count, EMPTY) {
            self.slots = old;
            return Err(error);
        }
        self.shift = 32 - count.trailing_zeros();
        let mask = count - 1;
        // Neighbours that wrap around the end come first in the old order; any order is right.
        for slot in old.into_iter().filter(|&slot| slot != EMPTY) {
            let mut at = ((slot >> 32) as u32 >> self.shift) as usize;
            while self.slots[at] != EMPTY {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
        Ok(())
    }

    /// Reads what a block of rows will need.
    #[inline]
    fn read_ahead(&self, hashes: &[u64], width: usize) {
        if self.slots.len() <= NEAR {
            return;
        }
        let mut rows = [0usize; BLOCK];
        for (row, &hash) in rows.iter_mut().zip(hashes) {
            *row = self.slots[(hash as u32 >> self.shift) as usize] as u32 as usize;
        }
        let last = self.rows.words.len().saturating_sub(1);
        let mut sum = 0;
        if last > 0 {
            for &row in &rows[..hashes.len()] {
                sum ^= self.rows.words[(row * width).min(last)];
            }
        }
        black_box(sum);
    }

    fn probe<const N: usize>(&mut self, batch: &KeyBatch, numbers: &mut Vec<u32>) {
        let (words, _) = batch.words.as_chunks::<N>();
        let mask = self.slots.len() - 1;
        let blocks = words.chunks(BLOCK).zip(batch.hashes.chunks(BLOCK));
        for (block, (words, hashes)) in blocks.enumerate() {
            self.read_ahead(hashes, N);
            let slots = &mut self.slots[..=mask];
            for (place, (row, &hash)) in words.iter().zip(hashes).enumerate() {
                let half = hash as u32;
                let mut at = (half >> self.shift) as usize;
                let number = loop {
                    let slot = slots[at & mask];
                    if slot == EMPTY {
                        let number = self.rows.len as u32;
                        slots[at & mask] = u64::from(half) << 32 | u64::from(number);
                        self.rows.words.extend_from_slice(row);
                        self.rows.len += 1;
                        self.added.push((block * BLOCK + place) as u32);
                        break number;
                    }
                    if (slot >> 32) as u32 == half {
                        let number = slot as u32;
                        let first = number as usize * N;
                        if self.rows.words[first..first + N] == row[..] {
                            break number;
                        }
                    }
                    at += 1;
                };
                numbers.push(number);
            }
        }
    }

    /// As [`Self::probe`], for rows with strings and rows of any width.
    fn probe_strings(
        &mut self,
        batch: &KeyBatch,
        sources: &[Source<'_>],
        numbers: &mut Vec<u32>,
    ) -> Result<(), ExecError> {
        let width = batch.width;
        let mask = self.slots.len() - 1;
        let strings: Vec<(usize, Source<'_>)> = (0..sources.len())
            .filter(|&key| self.rows.types[key] == ValueType::Bytes)
            .map(|key| (self.rows.offsets[key], sources[key]))
            .collect();
        let is_string: Vec<Option<Source<'_>>> = (0..width)
            .map(|at| strings.iter().find(|(offset, _)| *offset == at).map(|(_, source)| *source))
            .collect();
        // Then equal words are equal rows; unequal ones need not be different rows.
        let resident = strings.iter().all(|(_, source)| matches!(source, Source::Resident));
        for (place, (row, &hash)) in batch.words.chunks_exact(width).zip(&batch.hashes).enumerate()
        {
            if place % BLOCK == 0 {
                let to = batch.rows.min(place + BLOCK);
                self.read_ahead(&batch.hashes[place..to], width);
            }
            let half = hash as u32;
            let mut at = (half >> self.shift) as usize;
            let number = loop {
                let slot = self.slots[at];
                if slot == EMPTY {
                    let number = self.rows.len as u32;
                    let first = self.rows.words.len();
                    self.rows.words.extend_from_slice(row);
                    for (offset, source) in &strings {
                        if let (Source::Foreign(data), word) = (source, row[*offset])
                            && word::is_long(word)
                        {
                            let (start, len) = word::place(word);
                            let bytes = &data[start..start + len];
                            self.rows.words[first + offset] =
                                word::store(bytes, &mut self.rows.arena)?;
                        }
                    }
                    self.slots[at] = u64::from(half) << 32 | u64::from(number);
                    self.rows.len += 1;
                    self.added.push(place as u32);
                    break number;
                }
                if (slot >> 32) as u32 == half {
                    let number = slot as u32;
                    let first = number as usize * width;
                    let stored = &self.rows.words[first..first + width];
                    let arena = &self.rows.arena;
                    if resident && row == stored {
                        break number;
                    }
                    if (0..width).all(|i| same(row[i], stored[i], is_string[i], arena)) {
                        break number;
                    }
                }
                at = (at + 1) & mask;
            };
            numbers.push(number);
        }
        Ok(())
    }

    /// Lists the rows added last whose value is -0.
    fn note_negative_zeros(&mut self, batch: &KeyBatch) -> Result<(), ExecError> {
        let first = self.rows.len - self.added.len();
        for &(key, place) in &batch.negative_zeros {
            if let Ok(at) = self.added.binary_search(&place) {
                let list = &mut self.rows.negative_zeros[key];
                reserve(list, 1)?;
                list.push((first + at) as u32);
            }
        }
        Ok(())
    }
}

/// Whether a word of a batch equals a stored one; both may be long strings.
#[inline]
fn same(word: u64, stored: u64, string: Option<Source<'_>>, arena: &[u8]) -> bool {
    let Some(source) = string else {
        return word == stored;
    };
    if !word::is_long(word) || !word::is_long(stored) {
        return word == stored;
    }
    let data = match source {
        Source::Resident if word == stored => return true,
        Source::Resident => arena,
        Source::Foreign(data) => data,
    };
    let ((start, len), (offset, stored_len)) = (word::place(word), word::place(stored));
    len == stored_len && data[start..start + len] == arena[offset..offset + len]
}
