//! Strings of dictionaries, kept once in the arena of a table however many dictionaries hold them.
//!
//! With several keys, a string of a dictionary comes with many values of the other keys. Its word and hash are computed once
//! a dictionary; its bytes are stored once a table, so that equal strings mostly have equal words and are not compared byte
//! by byte. Strings that come otherwise are not looked for here, hence "mostly".

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::encode::string_word;
use super::hash;
use super::memory::{allocated, refill};
use super::word;
use crate::column::StringDictionary;
use crate::error::ExecError;

/// A hasher of what is a hash already.
#[derive(Debug, Default)]
pub(super) struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("only u64 is hashed")
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Interned strings of a key.
#[derive(Debug, Default)]
pub(super) struct Interner {
    dictionary: u64,
    /// Word and hash of each code of the dictionary; [`UNKNOWN`] where it was not met.
    codes: Vec<(u64, u64)>,
    /// Words of long strings by hash. Of strings with equal hashes one is kept.
    words: HashMap<u64, u64, BuildHasherDefault<Same>>,
}

/// No string's word.
const UNKNOWN: u64 = u64::MAX;

impl Interner {
    /// Makes a dictionary the current one.
    pub fn enter(&mut self, dictionary: &StringDictionary) -> Result<(), ExecError> {
        if self.dictionary != dictionary.id || self.codes.len() != dictionary.len() {
            self.dictionary = dictionary.id;
            refill(&mut self.codes, dictionary.len(), (UNKNOWN, 0))?;
        }
        Ok(())
    }

    /// Word and hash of a code of the current dictionary.
    #[inline]
    pub fn get(
        &mut self,
        code: u32,
        dictionary: &StringDictionary,
        arena: &mut Vec<u8>,
    ) -> Result<(u64, u64), ExecError> {
        let known = self.codes[code as usize];
        if known.0 != UNKNOWN {
            return Ok(known);
        }
        let found = self.intern(dictionary.values.get(code as usize), arena)?;
        self.codes[code as usize] = found;
        Ok(found)
    }

    #[cold]
    fn intern(&mut self, bytes: &[u8], arena: &mut Vec<u8>) -> Result<(u64, u64), ExecError> {
        let (short, hash) = string_word(bytes, 0, bytes.len());
        if bytes.len() <= word::INLINE {
            return Ok((short, hash));
        }
        debug_assert_eq!(hash, hash::of_bytes(bytes));
        if let Some(&word) = self.words.get(&hash)
            && word::bytes(word, arena, &mut [0; 8]) == bytes
        {
            return Ok((word, hash));
        }
        let word = word::store(bytes, arena)?;
        let full = (self.words.capacity() * 2 * size_of::<(u64, u64)>()) as u64;
        self.words.try_reserve(1).map_err(|_| ExecError::OutOfMemory { bytes: full })?;
        self.words.insert(hash, word);
        Ok((word, hash))
    }

    /// Bytes beyond those allocated that one more string may need: a full map is there twice while it doubles.
    pub fn memory_ahead(&self) -> usize {
        if self.words.len() < self.words.capacity() { 0 } else { 2 * Self::map_size(&self.words) }
    }

    fn map_size<S>(words: &HashMap<u64, u64, S>) -> usize {
        // A bucket has a byte of its own beside the entry, and an eighth of the buckets stays empty.
        words.capacity() * (size_of::<(u64, u64)>() + 1) * 8 / 7
    }

    /// Bytes allocated.
    pub fn memory_size(&self) -> usize {
        allocated(&self.codes) + Self::map_size(&self.words)
    }
}
