//! Settings of encoding, with the names users write.

use std::str::FromStr;

use crate::error::FormatError;

/// What is laid over a section's encoded bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Compression {
    /// Nothing.
    None = 0,
    /// LZ4 block format.
    Lz4 = 1,
    /// Zstandard.
    Zstd = 2,
}

impl Compression {
    /// All compressions, in the order of their stored tags.
    pub const ALL: [Self; 3] = [Self::None, Self::Lz4, Self::Zstd];

    /// The name users write.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    pub(crate) fn from_tag(tag: u8) -> Result<Self, FormatError> {
        Self::ALL
            .get(usize::from(tag))
            .copied()
            .ok_or(FormatError::corrupt("unknown compression", tag))
    }
}

impl FromStr for Compression {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Self, FormatError> {
        Self::ALL
            .into_iter()
            .find(|c| c.as_str().eq_ignore_ascii_case(name))
            .ok_or_else(|| FormatError::UnknownName { what: "compression", name: name.to_owned() })
    }
}

/// How a vector's values are laid out before compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Encoding {
    /// Values one after another.
    Plain = 0,
    /// One value for all rows; also a vector of nothing but NULL.
    Constant = 1,
    /// Ends of runs and a value for each.
    RunLength = 2,
    /// Frame of reference: the distance from the least value, in as few bits as the largest needs.
    BitPacked = 3,
    /// Frame of reference over the differences of neighbours, with a base every 64 values.
    Delta = 4,
    /// Bit-packed codes into the chunk's dictionary.
    Dictionary = 5,
    /// Decimal floats as bit-packed integers; floats only.
    Alp = 6,
}

impl Encoding {
    /// All encodings, in the order of their stored tags.
    pub const ALL: [Self; 7] = [
        Self::Plain,
        Self::Constant,
        Self::RunLength,
        Self::BitPacked,
        Self::Delta,
        Self::Dictionary,
        Self::Alp,
    ];

    /// The name users write.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Constant => "constant",
            Self::RunLength => "run_length",
            Self::BitPacked => "bit_packed",
            Self::Delta => "delta",
            Self::Dictionary => "dictionary",
            Self::Alp => "alp",
        }
    }

    pub(crate) fn from_tag(tag: u8) -> Result<Self, FormatError> {
        Self::ALL
            .get(usize::from(tag))
            .copied()
            .ok_or(FormatError::corrupt("unknown encoding", tag))
    }
}

impl FromStr for Encoding {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Self, FormatError> {
        Self::ALL
            .into_iter()
            .find(|e| e.as_str().eq_ignore_ascii_case(name))
            .ok_or_else(|| FormatError::UnknownName { what: "encoding", name: name.to_owned() })
    }
}

/// Whether a chunk is given Bloom filters. None has them that cannot use them ([`crate::encode_chunk`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BloomFilters {
    /// No.
    None,
    /// Where they take no more than 3 % of the chunk's bytes.
    #[default]
    Auto,
    /// Yes.
    All,
}

/// Settings of [`crate::encode_chunk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodeOptions {
    /// What to try on each section; it is kept where it saves an eighth.
    pub compression: Compression,
    /// The level of zstd, 1 to 22 (0: its default); others have none.
    pub compression_level: i32,
    /// Rows of a vector, 1 to [`crate::MAX_VECTOR_ROWS`]; values outside are brought inside.
    pub vector_rows: usize,
    /// The encoding to use where it can hold the vector (else Plain); for tests. Nothing but NULL is always Constant.
    pub forced_encoding: Option<Encoding>,
    /// Whether the chunk is given Bloom filters.
    pub bloom_filters: BloomFilters,
}

impl Default for EncodeOptions {
    /// zstd at level 3, 8,192 rows a vector, encodings and Bloom filters chosen by size.
    fn default() -> Self {
        Self {
            compression: Compression::Zstd,
            compression_level: 3,
            vector_rows: 8192,
            forced_encoding: None,
            bloom_filters: BloomFilters::Auto,
        }
    }
}
