//! min and max of strings, bytewise.

use super::input::Groups;
use super::memory::{ahead, allocated, grow, reserve};
use super::rows::strings;
use super::wire::{Reader, damaged, put, put_bytes};
use super::word;
use crate::column::{Column, Data};
use crate::error::ExecError;

/// A string a group, in an arena of their own.
#[derive(Debug)]
pub(super) struct StringCells {
    largest: bool,
    words: Vec<u64>,
    arena: Vec<u8>,
    /// Bytes of the arena that no word points to.
    garbage: usize,
}

/// No string's word: the group took in none.
const NONE: u64 = u64::MAX;
/// Garbage that is not worth a compaction.
const LITTLE: usize = 1 << 16;

impl StringCells {
    /// No groups.
    pub fn new(largest: bool) -> Self {
        Self { largest, words: Vec::new(), arena: Vec::new(), garbage: 0 }
    }

    /// Bytes allocated.
    pub fn memory_size(&self) -> usize {
        allocated(&self.words) + self.arena.capacity()
    }

    /// Bytes beyond those that `more` groups need, if their strings are as long as those so far. As strings are replaced,
    /// the arena may grow by more.
    pub fn memory_ahead(&self, more: usize) -> usize {
        let bytes = self.arena.len() as u64 * more as u64 / self.words.len().max(1) as u64;
        ahead(&self.words, more) + ahead(&self.arena, bytes as usize)
    }

    /// Adds groups up to `groups`.
    pub fn grow(&mut self, groups: usize) -> Result<(), ExecError> {
        grow(&mut self.words, groups, NONE)
    }

    /// Takes in a string a row.
    pub fn update(
        &mut self,
        groups: Groups<'_>,
        values: &Column,
        rows: usize,
    ) -> Result<(), ExecError> {
        match (&values.data, groups) {
            (Data::Bytes(strings), Groups::Of(groups)) => {
                for (row, &group) in groups.iter().enumerate() {
                    self.add(group as usize, strings.get(row))?;
                }
            }
            (Data::Bytes(strings), Groups::One) => {
                let all = (0..rows).map(|row| strings.get(row));
                if let Some(best) = if self.largest { all.max() } else { all.min() } {
                    self.add(0, best)?;
                }
            }
            (Data::Dict(codes), Groups::Of(groups)) => {
                let strings = &codes.dictionary.values;
                for (&code, &group) in codes.codes.iter().zip(groups) {
                    self.add(group as usize, strings.get(code as usize))?;
                }
            }
            (Data::Dict(codes), Groups::One) => {
                // Each string that occurs is compared once.
                let mut met = vec![false; codes.dictionary.len()];
                codes.codes[..rows].iter().for_each(|&code| met[code as usize] = true);
                for (code, _) in met.iter().enumerate().filter(|(_, met)| **met) {
                    self.add(0, codes.dictionary.values.get(code))?;
                }
            }
            _ => return Err(ExecError::Unsupported),
        }
        self.compact_if_worthwhile()
    }

    /// Takes in a string.
    #[inline]
    fn add(&mut self, group: usize, bytes: &[u8]) -> Result<(), ExecError> {
        let kept = self.words[group];
        if kept == NONE {
            self.words[group] = word::store(bytes, &mut self.arena)?;
            return Ok(());
        }
        let mut buffer = [0; 8];
        let old = word::bytes(kept, &self.arena, &mut buffer);
        if if self.largest { bytes <= old } else { bytes >= old } {
            return Ok(());
        }
        if word::is_long(kept) {
            let (offset, len) = word::place(kept);
            if bytes.len() > word::INLINE && bytes.len() <= len {
                // In place.
                self.arena[offset..offset + bytes.len()].copy_from_slice(bytes);
                self.words[group] = word::long(offset, bytes.len());
                self.garbage += len - bytes.len();
                return Ok(());
            }
            self.garbage += len;
        }
        self.words[group] = word::store(bytes, &mut self.arena)?;
        Ok(())
    }

    fn compact_if_worthwhile(&mut self) -> Result<(), ExecError> {
        if self.garbage <= LITTLE || self.garbage <= self.arena.len() / 2 {
            return Ok(());
        }
        let mut arena = Vec::new();
        reserve(&mut arena, self.arena.len() - self.garbage)?;
        for kept in self.words.iter_mut().filter(|kept| **kept != NONE && word::is_long(**kept)) {
            let (offset, len) = word::place(*kept);
            *kept = word::store(&self.arena[offset..offset + len], &mut arena)?;
        }
        self.arena = arena;
        self.garbage = 0;
        Ok(())
    }

    /// Merges the groups `from` of another into the groups `to`.
    pub fn merge(&mut self, other: &Self, from: &[u32], to: &[u32]) -> Result<(), ExecError> {
        for (&from, &to) in from.iter().zip(to) {
            if let Some(bytes) = other.get(from as usize, &mut [0; 8]) {
                self.add(to as usize, bytes)?;
            }
        }
        self.compact_if_worthwhile()
    }

    fn get<'a>(&'a self, group: usize, buffer: &'a mut [u8; 8]) -> Option<&'a [u8]> {
        let word = self.words[group];
        (word != NONE).then(|| word::bytes(word, &self.arena, buffer))
    }

    /// The strings of some groups.
    pub fn output(&self, from: usize, to: usize) -> Vec<(Data, Option<Vec<bool>>)> {
        let words = &self.words[from..to];
        let empty = word::inline(b"");
        let values = words.iter().map(|&word| if word == NONE { empty } else { word });
        let nulls: Vec<bool> = words.iter().map(|&word| word == NONE).collect();
        let nulls = nulls.contains(&true).then_some(nulls);
        vec![(Data::Bytes(strings(values, &self.arena)), nulls)]
    }

    /// Writes some groups to a spill file.
    pub fn write(&self, groups: &[u32], out: &mut Vec<u8>) {
        for &group in groups {
            match self.get(group as usize, &mut [0; 8]) {
                None => put(0, out),
                Some(bytes) => {
                    put(1, out);
                    put_bytes(bytes, out);
                }
            }
        }
    }

    /// Reads groups.
    pub fn read(largest: bool, reader: &mut Reader<'_>, groups: usize) -> Result<Self, ExecError> {
        let mut cells = Self::new(largest);
        for _ in 0..groups {
            let word = match reader.number()? {
                0 => NONE,
                1 => word::store(reader.bytes()?, &mut cells.arena)?,
                _ => return Err(damaged()),
            };
            cells.words.push(word);
        }
        Ok(cells)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_buffer::Buffer;

    use super::*;
    use crate::column::{Span, Strings};

    fn column(values: &[&[u8]]) -> Column {
        let data = values.concat();
        let mut start = 0;
        let spans = values.iter().map(|value| {
            let span = Span { start, len: value.len() as u32 };
            start += span.len;
            span
        });
        let spans = Arc::new(spans.collect());
        let strings = Strings { spans, data: Buffer::from_vec(data) };
        Column::new(Data::Bytes(strings), values.len())
    }

    #[test]
    fn garbage_does_not_pile_up() {
        let mut cells = StringCells::new(true);
        cells.grow(2).unwrap();
        for round in 0..20_000usize {
            // Each is larger and longer than the one before.
            let value = format!("{round:09}{}", "x".repeat(20 + round / 100)).into_bytes();
            let values = column(&[&value, b"fixed string"]);
            cells.update(Groups::Of(&[0, 1]), &values, 2).unwrap();
        }
        assert!(cells.arena.len() < 3 * LITTLE, "{}", cells.arena.len());
        let expected = format!("{:09}{}", 19_999, "x".repeat(219)).into_bytes();
        assert_eq!(cells.get(0, &mut [0; 8]), Some(&expected[..]));
        assert_eq!(cells.get(1, &mut [0; 8]), Some(&b"fixed string"[..]));
    }

    #[test]
    fn a_smaller_string_takes_the_place_of_a_longer_one() {
        let mut cells = StringCells::new(false);
        cells.grow(1).unwrap();
        for value in ["zzzzzzzzzzzzzzzz", "yyyyyyyyyyyy", "x", "xx", "aaaaaaaaaaaaaaaaaaaaaaa"] {
            cells.update(Groups::Of(&[0]), &column(&[value.as_bytes()]), 1).unwrap();
        }
        assert_eq!(cells.get(0, &mut [0; 8]), Some(&b"aaaaaaaaaaaaaaaaaaaaaaa"[..]));
    }
}
