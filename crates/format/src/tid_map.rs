//! TID maps: which external TIDs the rows of a row group answer to, for rows that once lived on row pages.
//!
//! ```text
//! per block, ascending: block u32, first row u32, rows u16, aliases u16,
//!                       offset u16 of each row, then (offset u16, row in block u16) of each alias
//! ```
//!
//! An alias is the offset of a HOT chain's live member: the row is named by the chain's root, to which index entries
//! point, but a transaction may still hold the member's own TID. The bytes are compressed with zstd.

/// Rows of one external block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TidBlock {
    /// External block.
    pub block: u32,
    /// Row in the group of the block's first row.
    pub first_row: u32,
    /// Offset of each row, ascending.
    pub offsets: Vec<u16>,
    /// Other offsets by which a row is known, with the row's place in `offsets`.
    pub aliases: Vec<(u16, u16)>,
}

/// The map of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TidMap {
    /// In ascending order of `block` and of `first_row`.
    pub blocks: Vec<TidBlock>,
}

/// Most bytes a map may have when decompressed.
const MAX_BYTES: usize = 1 << 28;

impl TidMap {
    /// Row of an external TID.
    pub fn row(&self, block: u32, offset: u16) -> Option<u32> {
        let at = self.blocks.binary_search_by_key(&block, |b| b.block).ok()?;
        let block = &self.blocks[at];
        if let Ok(i) = block.offsets.binary_search(&offset) {
            return Some(block.first_row + i as u32);
        }
        let alias = block.aliases.iter().find(|(o, _)| *o == offset)?;
        Some(block.first_row + u32::from(alias.1))
    }

    /// External block and offset of a row, or `None` for a row without a TID: one that VACUUM found changed after it was
    /// copied, and that still lives on its row page.
    pub fn tid(&self, row: u32) -> Option<(u32, u16)> {
        let at = self.blocks.partition_point(|b| b.first_row <= row).checked_sub(1)?;
        let block = &self.blocks[at];
        let offset = block.offsets.get((row - block.first_row) as usize)?;
        Some((block.block, *offset))
    }

    /// Rows that have a TID.
    pub fn rows(&self) -> usize {
        self.blocks.iter().map(|block| block.offsets.len()).sum()
    }

    /// Whether an external block has rows here.
    pub fn has_block(&self, block: u32) -> bool {
        self.blocks.binary_search_by_key(&block, |b| b.block).is_ok()
    }

    /// Serialises the map.
    ///
    /// # Errors
    /// zstd's, which for bytes in memory is want of memory.
    pub fn to_bytes(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for block in &self.blocks {
            bytes.extend_from_slice(&block.block.to_le_bytes());
            bytes.extend_from_slice(&block.first_row.to_le_bytes());
            bytes.extend_from_slice(&(block.offsets.len() as u16).to_le_bytes());
            bytes.extend_from_slice(&(block.aliases.len() as u16).to_le_bytes());
            for offset in &block.offsets {
                bytes.extend_from_slice(&offset.to_le_bytes());
            }
            for (offset, row) in &block.aliases {
                bytes.extend_from_slice(&offset.to_le_bytes());
                bytes.extend_from_slice(&row.to_le_bytes());
            }
        }
        zstd::bulk::compress(&bytes, 3)
    }

    /// Reads what [`TidMap::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8], rows: u32) -> Result<Self, String> {
        let size = zstd::zstd_safe::get_frame_content_size(bytes)
            .ok()
            .flatten()
            .ok_or("its compressed frame is damaged")?;
        if size > MAX_BYTES as u64 {
            return Err(format!("it claims {size} bytes"));
        }
        let bytes =
            zstd::bulk::decompress(bytes, size as usize).map_err(|error| error.to_string())?;
        let mut words = bytes.chunks_exact(2).map(|w| u16::from_le_bytes([w[0], w[1]]));
        let mut next = || words.next();
        let mut map = Self::default();
        while let Some(low) = next() {
            let block = Self::read_block(low, &mut next).ok_or("it ends inside a block")?;
            let end = u64::from(block.first_row) + block.offsets.len() as u64;
            let in_order = map.blocks.last().is_none_or(|last| {
                last.block < block.block
                    && last.first_row + last.offsets.len() as u32 <= block.first_row
            });
            let aliases =
                block.aliases.iter().all(|(_, row)| usize::from(*row) < block.offsets.len());
            if !in_order || !aliases || end > u64::from(rows) || !block.offsets.is_sorted() {
                return Err(format!("its entry of block {} is out of order", block.block));
            }
            map.blocks.push(block);
        }
        Ok(map)
    }

    fn read_block(low: u16, next: &mut dyn FnMut() -> Option<u16>) -> Option<TidBlock> {
        let block = u32::from(low) | u32::from(next()?) << 16;
        let first_row = u32::from(next()?) | u32::from(next()?) << 16;
        let rows = next()?;
        let aliases = next()?;
        let offsets = (0..rows).map(|_| next()).collect::<Option<Vec<_>>>()?;
        let aliases = (0..aliases).map(|_| Some((next()?, next()?))).collect::<Option<Vec<_>>>()?;
        Some(TidBlock { block, first_row, offsets, aliases })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> TidMap {
        TidMap {
            blocks: vec![
                TidBlock { block: 3, first_row: 0, offsets: vec![1, 2, 5], aliases: vec![(9, 2)] },
                TidBlock { block: 70_000, first_row: 4, offsets: vec![7], aliases: vec![] },
            ],
        }
    }

    #[test]
    fn finds_rows_and_tids() {
        let map = sample();
        assert_eq!(map.row(3, 5), Some(2));
        assert_eq!(map.row(3, 9), Some(2));
        assert_eq!(map.row(3, 4), None);
        assert_eq!(map.row(70_000, 7), Some(4));
        assert_eq!(map.tid(2), Some((3, 5)));
        assert_eq!(map.tid(3), None);
        assert_eq!(map.tid(4), Some((70_000, 7)));
        assert_eq!(map.rows(), (0..5).filter(|&row| map.tid(row).is_some()).count());
    }

    #[test]
    fn round_trips_and_refuses_damage() {
        let Ok(bytes) = sample().to_bytes() else { panic!("not compressed") };
        assert_eq!(TidMap::from_bytes(&bytes, 5), Ok(sample()));
        assert!(TidMap::from_bytes(&bytes, 4).is_err());
        for cut in 0..bytes.len() {
            assert!(TidMap::from_bytes(&bytes[..cut], 5).is_err());
        }
    }
}
