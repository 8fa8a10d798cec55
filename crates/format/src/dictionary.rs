//! A chunk's dictionary: its distinct values in the order of their first row.
//!
//! ```text
//! u64 count | count values (see `values`)
//! ```

use std::sync::{Arc, OnceLock};

use arrow_array::ArrayRef;

use crate::error::FormatError;
use crate::meta::{MAX_DICTIONARY, dictionary_context};
use crate::section::{Reader, SectionMeta};
use crate::types::{ColumnSpec, Value};
use crate::values::Values;

/// A decoded dictionary, shared by the vectors of its chunk.
#[derive(Debug)]
pub struct Dictionary {
    spec: ColumnSpec,
    values: Values,
    len: usize,
    max_width: usize,
    array: OnceLock<ArrayRef>,
}

impl Dictionary {
    /// Checks and decodes the bytes of `meta`'s section.
    pub fn open(spec: ColumnSpec, meta: &SectionMeta, bytes: &[u8]) -> Result<Self, FormatError> {
        let mut reader = Reader::open(meta, bytes, dictionary_context(spec), "a dictionary")?;
        let count = reader.take_u64("a dictionary's count")?;
        if count > MAX_DICTIONARY as u64 {
            return Err(FormatError::TooLarge {
                what: "a dictionary's count",
                value: count,
                limit: MAX_DICTIONARY as u64,
            });
        }
        let len = count as usize;
        let values = Values::read(spec, len, &mut reader)?;
        let max_width = values.max_width();
        Ok(Self { spec, values, len, max_width, array: OnceLock::new() })
    }

    /// What the column holds.
    pub fn spec(&self) -> ColumnSpec {
        self.spec
    }

    /// Distinct values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of a code, never NULL; panics on a code that is not below the length.
    #[inline]
    pub fn get(&self, code: usize) -> Value<'_> {
        self.values.get(self.spec, code)
    }

    /// The values as an Arrow array, made once.
    pub fn array(&self) -> &ArrayRef {
        self.array
            .get_or_init(|| Arc::clone(&self.values.clone().into_array(self.spec.physical, None)))
    }

    /// Bytes of memory held.
    pub fn memory_size(&self) -> usize {
        size_of::<Self>() + self.values.memory_size()
    }

    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    pub(crate) fn max_width(&self) -> usize {
        self.max_width
    }
}
