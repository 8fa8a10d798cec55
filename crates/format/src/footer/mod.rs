//! The footer of a row group: where each column's chunk lies and what it holds.
//!
//! ```text
//! "PGCG" | u16 version | u16 0 | u64 xxh3 of all after it | u32 rows | u32 columns
//! columns * (u64 offset in group | u64 length | u32 entry offset in footer | u32 entry length)
//! columns * entry (see `column`)
//! ```
//!
//! Numbers are little-endian. One column's entry is parsed without the others'.

mod column;
mod wire;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::FormatError;
use crate::meta::ChunkMeta;

/// The newest version of the format that this library reads. It writes the oldest one that has what the group has.
pub const FORMAT_VERSION: u16 = BLOOM_VERSION;

/// The first version, and the first one with Bloom filters.
const FIRST_VERSION: u16 = 1;
const BLOOM_VERSION: u16 = 2;

const MAGIC: [u8; 4] = *b"PGCG";
const HEADER: usize = 24;
const CHECKED_FROM: usize = 16;
const ENTRY: usize = 24;

/// Collects the columns of a group.
#[derive(Clone, Debug)]
pub struct GroupFooterBuilder {
    rows: u32,
    columns: Vec<(u64, u64, u32, u32)>,
    entries: Vec<u8>,
    version: u16,
}

impl GroupFooterBuilder {
    /// A group of that many rows, without columns yet.
    pub fn new(rows: u32) -> Self {
        Self { rows, columns: Vec::new(), entries: Vec::new(), version: FIRST_VERSION }
    }

    /// Adds the next column: where its chunk lies in the group, its length, and its metadata.
    pub fn add(&mut self, column_offset_in_group: u64, column_len: u64, meta: &ChunkMeta) {
        if meta.blooms().is_some() {
            self.version = BLOOM_VERSION;
        }
        let start = self.entries.len();
        column::write(&mut self.entries, meta);
        let len = (self.entries.len() - start) as u32;
        self.columns.push((column_offset_in_group, column_len, start as u32, len));
    }

    /// The footer's bytes.
    pub fn finish(self) -> Vec<u8> {
        let entries_at = HEADER + self.columns.len() * ENTRY;
        let total = entries_at + self.entries.len();
        assert!(u32::try_from(total).is_ok(), "a footer of {total} bytes");
        let mut out = Vec::with_capacity(total);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(&self.rows.to_le_bytes());
        out.extend_from_slice(&(self.columns.len() as u32).to_le_bytes());
        for (offset, len, entry, entry_len) in &self.columns {
            out.extend_from_slice(&offset.to_le_bytes());
            out.extend_from_slice(&len.to_le_bytes());
            out.extend_from_slice(&(entries_at as u32 + entry).to_le_bytes());
            out.extend_from_slice(&entry_len.to_le_bytes());
        }
        out.extend_from_slice(&self.entries);
        let checksum = footer_checksum(&out);
        out[8..CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
        out
    }
}

/// The checksum that a footer of these bytes, at least 16, must have in bytes 8 to 16.
#[doc(hidden)]
pub fn footer_checksum(footer: &[u8]) -> u64 {
    xxh3_64(&footer[CHECKED_FROM..])
}

/// A footer whose header was checked; columns are parsed as they are asked for. Owns or borrows its bytes as `B` does.
#[derive(Clone, Debug)]
pub struct GroupFooter<B: AsRef<[u8]>> {
    bytes: B,
    rows: u32,
    columns: usize,
    version: u16,
}

impl<B: AsRef<[u8]>> GroupFooter<B> {
    /// Reads the header and checks version and checksum.
    pub fn parse(bytes: B) -> Result<Self, FormatError> {
        let data = bytes.as_ref();
        if data.len() < HEADER {
            return Err(FormatError::truncated("a group footer", HEADER, data.len()));
        }
        let mut reader = wire::Wire::new(data);
        let found: [u8; 4] = reader.array("a group footer")?;
        if found != MAGIC {
            return Err(FormatError::BadMagic { found });
        }
        let version = u16::from_le_bytes(reader.array("a group footer")?);
        if !(FIRST_VERSION..=FORMAT_VERSION).contains(&version) {
            return Err(FormatError::UnknownVersion { found: version, supported: FORMAT_VERSION });
        }
        let reserved = u16::from_le_bytes(reader.array("a group footer")?);
        if reserved != 0 {
            return Err(FormatError::corrupt("reserved bytes of a group footer are set", reserved));
        }
        let stored = u64::from_le_bytes(reader.array("a group footer")?);
        let computed = footer_checksum(data);
        if stored != computed {
            return Err(FormatError::Checksum { what: "a group footer", stored, computed });
        }
        let rows = u32::from_le_bytes(reader.array("a group footer")?);
        let columns = u32::from_le_bytes(reader.array("a group footer")?) as usize;
        if columns > (data.len() - HEADER) / ENTRY {
            return Err(FormatError::truncated(
                "a group footer's directory",
                columns.saturating_mul(ENTRY),
                data.len(),
            ));
        }
        Ok(Self { bytes, rows, columns, version })
    }

    /// Rows of the group.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Columns.
    pub fn column_count(&self) -> usize {
        self.columns
    }

    /// Where column `index`'s chunk lies in the group, its length, and its metadata.
    pub fn column(&self, index: usize) -> Result<(u64, u64, ChunkMeta), FormatError> {
        let (offset, len, entry) = self.entry(index)?;
        let meta = column::read(entry)?;
        if self.version < BLOOM_VERSION && meta.blooms().is_some() {
            return Err(FormatError::corrupt("Bloom filters in a version without", self.version));
        }
        if meta.rows != self.rows {
            return Err(FormatError::corrupt("a chunk's rows are not its group's", meta.rows));
        }
        Ok((offset, len, meta))
    }

    /// Where column `index`'s chunk lies in the group and its length.
    pub fn column_extent(&self, index: usize) -> Result<(u64, u64), FormatError> {
        self.entry(index).map(|(offset, len, _)| (offset, len))
    }

    fn entry(&self, index: usize) -> Result<(u64, u64, &[u8]), FormatError> {
        if index >= self.columns {
            return Err(FormatError::corrupt("a group footer has no such column", index));
        }
        let data = self.bytes.as_ref();
        let mut reader = wire::Wire::new(&data[HEADER + index * ENTRY..]);
        let offset = u64::from_le_bytes(reader.array("a directory entry")?);
        let len = u64::from_le_bytes(reader.array("a directory entry")?);
        let start = u32::from_le_bytes(reader.array("a directory entry")?) as usize;
        let size = u32::from_le_bytes(reader.array("a directory entry")?) as usize;
        let end = start.saturating_add(size);
        let entry = data.get(start..end).ok_or(FormatError::truncated(
            "a column's entry",
            end,
            data.len(),
        ))?;
        Ok((offset, len, entry))
    }
}
