//! Assembling a chunk: sections, vector metadata, and what holds for all vectors.

use super::EncodedChunk;
use crate::bloom::BloomBuilder;
use crate::bounds::{self, Bounds};
use crate::compress::Compressor;
use crate::meta::{ChunkMeta, VectorMeta, bloom_context, dictionary_context, vector_context};
use crate::options::{Compression, EncodeOptions, Encoding};
use crate::section::{SectionMeta, section_checksum, write_section};
use crate::types::ColumnSpec;

pub(super) struct ChunkWriter {
    pub(super) spec: ColumnSpec,
    pub(super) options: EncodeOptions,
    pub(super) compressor: Compressor,
    /// The section being assembled.
    pub(super) raw: Vec<u8>,
    pub(super) sum: Option<i128>,
    pub(super) bytes: Vec<u8>,
    dictionary: Option<SectionMeta>,
    pub(super) distinct: Option<u32>,
    pub(super) vectors: Vec<VectorMeta>,
    pub(super) bloom: Option<SectionMeta>,
    bounds: Option<Bounds>,
    null_count: u32,
    last: Option<Encoding>,
}

impl ChunkWriter {
    pub(super) fn new(spec: ColumnSpec, options: &EncodeOptions) -> Self {
        Self {
            spec,
            options: *options,
            compressor: Compressor::new(options.compression, options.compression_level),
            raw: Vec::new(),
            sum: spec.physical.is_integer().then_some(0),
            bytes: Vec::new(),
            dictionary: None,
            distinct: None,
            vectors: Vec::new(),
            bloom: None,
            bounds: None,
            null_count: 0,
            last: None,
        }
    }

    /// Writes `raw` as the chunk's dictionary of that many values.
    pub(super) fn dictionary(&mut self, distinct: usize) {
        let context = dictionary_context(self.spec);
        self.dictionary =
            Some(write_section(&mut self.bytes, &mut self.compressor, &self.raw, context));
        self.distinct = Some(distinct as u32);
    }

    /// Begins a vector's section with its validity as [`crate::bitmap::Bitmap::slice`] gave it: nothing where no row is NULL.
    pub(super) fn begin(&mut self, validity: &[u64]) {
        self.raw.clear();
        self.raw.extend_from_slice(bytemuck::cast_slice(validity));
    }

    /// Ends the vector whose section is `raw`.
    pub(super) fn vector(&mut self, encoding: Encoding, rows: usize, nulls: usize, part: Bounds) {
        if self.last != Some(encoding) {
            self.last = Some(encoding);
            self.compressor.expect_new_kind();
        }
        let (rows, null_count) = (rows as u32, nulls as u32);
        let context = vector_context(self.spec, encoding, rows, null_count);
        let section = write_section(&mut self.bytes, &mut self.compressor, &self.raw, context);
        if bounds::kept(self.spec) && null_count < rows {
            bounds::merge(self.spec, &mut self.bounds, part.clone());
        }
        let (min, max) = part;
        self.null_count += null_count;
        self.vectors.push(VectorMeta {
            section,
            encoding,
            rows,
            null_count,
            min,
            max,
            bloom: None,
        });
    }

    /// Writes a vector of nothing but NULL.
    pub(super) fn all_null(&mut self, rows: usize) {
        self.raw.clear();
        self.vector(Encoding::Constant, rows, rows, (None, None));
    }

    /// Writes a Bloom filter. Filters are not compressed: half of their bits are set.
    pub(super) fn bloom(&mut self, filter: &BloomBuilder) -> SectionMeta {
        let (offset, bytes) = (self.bytes.len() as u64, filter.bytes());
        let (len, compression) = (bytes.len() as u32, Compression::None);
        let checksum = section_checksum(bytes, len, compression, bloom_context(self.spec));
        self.bytes.extend_from_slice(bytes);
        SectionMeta { offset, len, raw_len: len, compression, checksum }
    }

    pub(super) fn finish(self, rows: u32) -> EncodedChunk {
        let (min, max) = self.bounds.unwrap_or((None, None));
        EncodedChunk {
            bytes: self.bytes,
            meta: ChunkMeta {
                spec: self.spec,
                rows,
                null_count: self.null_count,
                min,
                max,
                sum: self.sum,
                distinct: self.distinct,
                dictionary: self.dictionary,
                vectors: self.vectors,
                bloom: self.bloom,
            },
        }
    }
}
