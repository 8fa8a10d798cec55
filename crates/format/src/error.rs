//! The errors of reading stored bytes. Nothing here panics on corrupt input, it returns one of these.

use std::fmt;

/// Why stored bytes could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// The bytes do not begin as a group footer does.
    BadMagic {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// The footer was written by a version this library does not know.
    UnknownVersion {
        /// The version stored.
        found: u16,
        /// The version this library reads.
        supported: u16,
    },
    /// The stored checksum does not match the bytes.
    Checksum {
        /// What was read.
        what: &'static str,
        /// The checksum stored.
        stored: u64,
        /// The checksum of the bytes.
        computed: u64,
    },
    /// There are fewer bytes than the layout needs.
    Truncated {
        /// What was read.
        what: &'static str,
        /// The bytes needed.
        needed: u64,
        /// The bytes there are.
        found: u64,
    },
    /// A stored number contradicts another one.
    Corrupt {
        /// What was read and what is wrong with it.
        what: &'static str,
        /// The offending number.
        value: u64,
    },
    /// A stored length is above what a writer can produce.
    TooLarge {
        /// What was read.
        what: &'static str,
        /// The length stored.
        value: u64,
        /// The largest length allowed.
        limit: u64,
    },
    /// The decompressor refused the bytes.
    Decompress {
        /// The name of the compression.
        compression: &'static str,
        /// The decompressor's own words.
        message: String,
    },
    /// Memory for a stored length could not be had.
    OutOfMemory {
        /// The bytes asked for.
        bytes: u64,
    },
    /// A name is not one of an enumeration's.
    UnknownName {
        /// The enumeration.
        what: &'static str,
        /// The name given.
        name: String,
    },
    /// A dictionary-encoded vector was opened without its chunk's dictionary.
    MissingDictionary,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadMagic { found } => {
                write!(f, "not a row group footer: it begins with {found:02x?}")
            }
            Self::UnknownVersion { found, supported } => {
                write!(
                    f,
                    "row group footer has format version {found}, this library reads version {supported}"
                )
            }
            Self::Checksum { what, stored, computed } => {
                write!(f, "checksum of {what} is {computed:#x}, stored is {stored:#x}")
            }
            Self::Truncated { what, needed, found } => {
                write!(f, "{what} needs {needed} bytes, there are {found}")
            }
            Self::Corrupt { what, value } => write!(f, "corrupt data: {what} ({value})"),
            Self::TooLarge { what, value, limit } => {
                write!(f, "corrupt data: {what} is {value}, at most {limit} is possible")
            }
            Self::Decompress { compression, message } => {
                write!(f, "{compression} decompression failed: {message}")
            }
            Self::OutOfMemory { bytes } => write!(f, "out of memory for {bytes} bytes"),
            Self::UnknownName { what, name } => write!(f, "unknown {what} \"{name}\""),
            Self::MissingDictionary => {
                write!(f, "a dictionary-encoded vector was opened without its dictionary")
            }
        }
    }
}

impl std::error::Error for FormatError {}

impl FormatError {
    pub(crate) fn corrupt(what: &'static str, value: impl TryInto<u64>) -> Self {
        Self::Corrupt { what, value: value.try_into().unwrap_or(u64::MAX) }
    }

    pub(crate) fn truncated(what: &'static str, needed: usize, found: usize) -> Self {
        Self::Truncated { what, needed: needed as u64, found: found as u64 }
    }
}
