//! What is known of a chunk and of each of its vectors without reading them.

use crate::bounds::Bound;
use crate::options::Encoding;
use crate::section::SectionMeta;
use crate::types::ColumnSpec;

/// The most rows a vector has.
pub const MAX_VECTOR_ROWS: usize = 1 << 20;

/// The most values a dictionary has.
pub const MAX_DICTIONARY: usize = 1 << 20;

/// A chunk: one column of one row group.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkMeta {
    /// What the column holds.
    pub spec: ColumnSpec,
    /// Rows.
    pub rows: u32,
    /// NULLs among them.
    pub null_count: u32,
    /// A lower bound of the values, where the column keeps bounds and has a value.
    pub min: Option<Bound>,
    /// An upper bound.
    pub max: Option<Bound>,
    /// The exact sum of the values of an integer column, widened as [`crate::Value::Int`] is; 0 where all are NULL.
    /// A 64-bit column of order Unsigned is summed without sign.
    pub sum: Option<i128>,
    /// Distinct values, exact at the time of writing, where the chunk has a dictionary.
    pub distinct: Option<u32>,
    /// The chunk's dictionary.
    pub dictionary: Option<SectionMeta>,
    /// The vectors in row order.
    pub vectors: Vec<VectorMeta>,
    /// The Bloom filter of all values.
    pub bloom: Option<SectionMeta>,
}

impl ChunkMeta {
    /// Where the chunk's Bloom filters lie, one after another: the first byte, counted from the chunk's, and their bytes.
    /// `None` where it has none.
    pub fn blooms(&self) -> Option<(u64, u64)> {
        let all = || self.bloom.iter().chain(self.vectors.iter().filter_map(|v| v.bloom.as_ref()));
        Some((all().next()?.offset, all().map(|section| u64::from(section.len)).sum()))
    }
}

/// A vector: a run of a chunk's rows that is decoded on its own.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorMeta {
    /// Where its bytes are.
    pub section: SectionMeta,
    /// How they are laid out.
    pub encoding: Encoding,
    /// Rows.
    pub rows: u32,
    /// NULLs among them.
    pub null_count: u32,
    /// A lower bound of the values, where the column keeps bounds and the vector has a value.
    pub min: Option<Bound>,
    /// An upper bound.
    pub max: Option<Bound>,
    /// The Bloom filter of the vector's values.
    pub bloom: Option<SectionMeta>,
}

impl VectorMeta {
    /// What the section's checksum is seeded with.
    #[doc(hidden)]
    pub fn context(&self, spec: ColumnSpec) -> u64 {
        vector_context(spec, self.encoding, self.rows, self.null_count)
    }
}

pub(crate) fn vector_context(
    spec: ColumnSpec,
    encoding: Encoding,
    rows: u32,
    null_count: u32,
) -> u64 {
    (u64::from(rows) | u64::from(null_count) << 32) ^ type_context(spec) ^ (encoding as u64) << 52
}

/// What a dictionary's checksum is seeded with.
#[doc(hidden)]
pub fn dictionary_context(spec: ColumnSpec) -> u64 {
    type_context(spec) ^ 0xff << 52
}

/// What a Bloom filter's checksum is seeded with.
pub(crate) fn bloom_context(spec: ColumnSpec) -> u64 {
    type_context(spec) ^ 0xfe << 52
}

fn type_context(spec: ColumnSpec) -> u64 {
    let (tag, width) = spec.physical.to_tag();
    u64::from(tag) << 60 ^ u64::from(width) << 24
}
