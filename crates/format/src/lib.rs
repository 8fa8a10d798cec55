//! Encodings and row-group layout of pgcolumnar, free of PostgreSQL.
//!
//! A column's values are collected by a [`ColumnBuilder`]; [`encode_chunk`] makes a chunk of them: vectors that decode
//! independently, a dictionary they may share, and a [`ChunkMeta`] that says where each lies and bounds its values. A row
//! group is its columns' chunks and a footer ([`GroupFooterBuilder`], [`GroupFooter`]) of their metadata.
//!
//! ```text
//! row group    chunk of column 0 | chunk of column 1 | ... | footer
//! chunk        [dictionary] | vector 0 | vector 1 | ... | [Bloom filters]     each a section, checksummed by itself
//! vector       [validity] | the encoding's part (see `encoding`, `packed`, `values`)
//! ```
//!
//! A stored vector is opened ([`Vector::open`]), which checks everything, and then read row by row ([`Vector::get`]) or as
//! a whole ([`Vector::decode`] and others). Stored bytes that are corrupt are a [`FormatError`], never a panic.

#[cfg(target_endian = "big")]
compile_error!(
    "stored numbers are little-endian and used in place; big-endian machines are not supported"
);

mod bitmap;
mod bits;
mod bloom;
mod bounds;
mod builder;
mod compress;
mod dictionary;
mod encode;
mod encoding;
mod error;
mod footer;
mod meta;
mod native;
mod options;
mod packed;
mod page_map;
mod section;
mod tid_map;
mod types;
mod values;
mod vector;

pub use bloom::{ChunkBlooms, hash_of_bytes, hash_of_int};
pub use bounds::{Bound, MAX_BOUND_BYTES, compare_floats};
pub use builder::ColumnBuilder;
pub use dictionary::Dictionary;
pub use encode::{EncodedChunk, MAX_VECTOR_BYTES, encode_chunk};
pub use error::FormatError;
#[doc(hidden)]
pub use footer::footer_checksum;
pub use footer::{FORMAT_VERSION, GroupFooter, GroupFooterBuilder};
#[doc(hidden)]
pub use meta::dictionary_context;
pub use meta::{ChunkMeta, MAX_DICTIONARY, MAX_VECTOR_ROWS, VectorMeta};
pub use options::{BloomFilters, Compression, EncodeOptions, Encoding};
pub use page_map::{MAX_PIECES, PageMap};
pub use section::SectionMeta;
#[doc(hidden)]
pub use section::section_checksum;
pub use tid_map::{TidBlock, TidMap};
pub use types::{BoundsOrder, ColumnSpec, PhysicalType, Value};
pub use vector::Vector;
