//! Encoding a chunk: one pass for the statistics of each vector, a decision on the chunk's dictionary, then the vectors, then
//! the Bloom filters, if they pay ([`blooms`]).
//!
//! Sizes of encodings are computed from the statistics, not sampled, since a pass over a vector in cache is cheaper than a
//! wrong guess; only a dictionary, which costs a hash table, is first tried on a sample.

mod blooms;
mod bytes;
mod choose;
mod hash;
mod numbers;
mod stats;
mod writer;

use std::ops::Range;

use crate::builder::{ColumnBuilder, Store};
use crate::meta::{ChunkMeta, MAX_VECTOR_ROWS};
use crate::options::EncodeOptions;
use writer::ChunkWriter;

/// A vector of byte strings is closed before it holds more than this, whatever the rows a vector has otherwise.
pub const MAX_VECTOR_BYTES: usize = 1 << 30;

/// A chunk's bytes and what is known of them.
#[derive(Clone, Debug)]
pub struct EncodedChunk {
    /// The dictionary, if any, the vectors and the Bloom filters one after another.
    pub bytes: Vec<u8>,
    /// Where they are and what they hold.
    pub meta: ChunkMeta,
}

/// Encodes a column as vectors of `vector_rows` rows, the last one shorter, and any with more than
/// [`MAX_VECTOR_BYTES`] of values cut before that.
pub fn encode_chunk(builder: &ColumnBuilder, options: &EncodeOptions) -> EncodedChunk {
    assert!(u32::try_from(builder.len()).is_ok(), "a chunk of {} rows", builder.len());
    let mut writer = ChunkWriter::new(builder.spec, options);
    let vectors = split(builder, options.vector_rows.clamp(1, MAX_VECTOR_ROWS));
    let validity = &builder.validity;
    match &builder.store {
        Store::W1(values) => numbers::encode(&mut writer, validity, values, &vectors),
        Store::W2(values) => numbers::encode(&mut writer, validity, values, &vectors),
        Store::W4(values) => numbers::encode(&mut writer, validity, values, &vectors),
        Store::W8(values) => numbers::encode(&mut writer, validity, values, &vectors),
        Store::Fixed { width, data } => {
            bytes::encode(&mut writer, validity, &bytes::Fixed { width: *width, data }, &vectors);
        }
        Store::Bytes { ends, data } => {
            bytes::encode(&mut writer, validity, &bytes::Variable { ends, data }, &vectors)
        }
    }
    writer.finish(builder.len() as u32)
}

fn split(builder: &ColumnBuilder, vector_rows: usize) -> Vec<Range<usize>> {
    let rows = builder.len();
    let heap = match &builder.store {
        Store::Bytes { data, .. } | Store::Fixed { data, .. } => data.len(),
        _ => 0,
    };
    if heap <= MAX_VECTOR_BYTES {
        return (0..rows)
            .step_by(vector_rows)
            .map(|start| start..rows.min(start + vector_rows))
            .collect();
    }
    let mut ranges = Vec::new();
    let (mut start, mut held) = (0, 0);
    for row in 0..rows {
        let len = match &builder.store {
            Store::Bytes { ends, .. } => {
                (ends[row] - if row == 0 { 0 } else { ends[row - 1] }) as usize
            }
            Store::Fixed { width, .. } => *width,
            _ => 0,
        };
        if row > start && (row - start == vector_rows || held + len > MAX_VECTOR_BYTES) {
            ranges.push(start..row);
            (start, held) = (row, 0);
        }
        held += len;
    }
    ranges.push(start..rows);
    ranges
}
