//! Row addresses: how a TID names a row for the whole of its life.
//!
//! A TID seen outside the access method is a *row address*. The 32-bit block number space is cut into regions of
//! 1,024 blocks that alternate between two kinds:
//!
//! ```text
//! external block:  0 .. 1023        1024 .. 2047       2048 .. 3071       ...
//! names            heap pages       row numbers        heap pages         ...
//!                  1 .. 1024        0 .. 262,143       1025 .. 2048
//! ```
//!
//! * An even region names rows that were first written to a **row page** (an ordinary heap page of the main fork).
//!   Physical block 0 is the metapage, so physical block `p` is external block `p - 1` in the first region.
//! * An odd region names rows that were first written to a **row group**: row number `n` is offset `n % 256 + 1` of the
//!   `n / 256`-th block of the odd regions (256 stays below `MaxHeapTuplesPerPage`, so bitmap scans work).
//!
//! The mapping is a bijection, so heapam works on physical TIDs inside the access method and everything outside sees
//! external ones. When VACUUM moves the rows of row pages into a row group they keep their external TIDs; the row
//! group's TID map finds them.

use pgrx::pg_sys;

/// Blocks per region of the external block number space.
const REGION_BITS: u32 = 10;
const REGION_MASK: u32 = (1 << REGION_BITS) - 1;
/// Rows named by one external block of an odd region.
pub const ROWS_PER_BLOCK: u32 = 256;
/// `MovedPartitionsOffsetNumber`: a ctid that says "moved to another partition" is no address and is never mapped.
const MOVED_PARTITIONS_OFFSET: u16 = 0xfffd;

/// Where the row behind an external TID was first written.
#[derive(Clone, Copy, Debug)]
pub enum RowAddress {
    /// A line pointer of a row page, by its physical TID.
    Page(pg_sys::ItemPointerData),
    /// A row number of a row group.
    Row(u64),
}

/// Builds a TID.
pub fn item_pointer(block: u32, offset: u16) -> pg_sys::ItemPointerData {
    pg_sys::ItemPointerData {
        ip_blkid: pg_sys::BlockIdData { bi_hi: (block >> 16) as u16, bi_lo: block as u16 },
        ip_posid: offset,
    }
}

/// Block number of a TID.
pub fn block_of(tid: &pg_sys::ItemPointerData) -> u32 {
    (u32::from(tid.ip_blkid.bi_hi) << 16) | u32::from(tid.ip_blkid.bi_lo)
}

/// A TID as one ordered integer, for sorting and sets.
pub fn encode(tid: &pg_sys::ItemPointerData) -> u64 {
    (u64::from(block_of(tid)) << 16) | u64::from(tid.ip_posid)
}

/// The inverse of [`encode`].
pub fn decode(key: u64) -> pg_sys::ItemPointerData {
    item_pointer((key >> 16) as u32, key as u16)
}

/// External block of physical row page `page` (1 or more).
pub fn external_block(page: u32) -> u32 {
    let n = page.wrapping_sub(1);
    ((n >> REGION_BITS) << (REGION_BITS + 1)) | (n & REGION_MASK)
}

/// Whether an external block belongs to an even region (row pages).
pub fn is_page_block(external: u32) -> bool {
    external & (1 << REGION_BITS) == 0
}

/// Physical row page of an external block of an even region.
pub fn physical_block(external: u32) -> u32 {
    (((external >> (REGION_BITS + 1)) << REGION_BITS) | (external & REGION_MASK)).wrapping_add(1)
}

/// External block that names the rows `row_block * 256 ..`.
pub fn external_row_block(row_block: u32) -> u32 {
    ((row_block >> REGION_BITS) << (REGION_BITS + 1)) | (1 << REGION_BITS) | (row_block & REGION_MASK)
}

/// The inverse of [`external_row_block`].
pub fn row_block(external: u32) -> u32 {
    ((external >> (REGION_BITS + 1)) << REGION_BITS) | (external & REGION_MASK)
}

/// External TID of a physical one.
pub fn to_external(physical: &pg_sys::ItemPointerData) -> pg_sys::ItemPointerData {
    if physical.ip_posid == MOVED_PARTITIONS_OFFSET || physical.ip_posid == 0 {
        return *physical;
    }
    item_pointer(external_block(block_of(physical)), physical.ip_posid)
}

/// External TID of a row number.
pub fn of_row(row: u64) -> pg_sys::ItemPointerData {
    let block = (row / u64::from(ROWS_PER_BLOCK)) as u32;
    item_pointer(external_row_block(block), (row % u64::from(ROWS_PER_BLOCK)) as u16 + 1)
}

/// What an external TID names.
pub fn address(external: &pg_sys::ItemPointerData) -> RowAddress {
    let block = block_of(external);
    if is_page_block(block) {
        RowAddress::Page(item_pointer(physical_block(block), external.ip_posid))
    } else {
        let first = u64::from(row_block(block)) * u64::from(ROWS_PER_BLOCK);
        RowAddress::Row(first + u64::from(external.ip_posid.wrapping_sub(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_addresses_are_a_bijection() {
        for page in [1u32, 2, 1024, 1025, 2048, 2049, 1 << 30] {
            let external = external_block(page);
            assert!(is_page_block(external));
            assert_eq!(physical_block(external), page);
        }
        assert_eq!(external_block(1), 0);
        assert_eq!(external_block(1025), 2048);
    }

    #[test]
    fn row_addresses_are_a_bijection() {
        for row in [0u64, 1, 255, 256, 262_143, 262_144, 1 << 38] {
            let tid = of_row(row);
            assert!(!is_page_block(block_of(&tid)));
            assert!(matches!(address(&tid), RowAddress::Row(found) if found == row));
        }
    }

    #[test]
    fn moved_partition_marker_is_kept() {
        let marker = item_pointer(u32::MAX, MOVED_PARTITIONS_OFFSET);
        assert_eq!(encode(&to_external(&marker)), encode(&marker));
    }
}
