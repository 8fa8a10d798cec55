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
//! heapam works on physical TIDs inside the access method and everything outside sees external ones. When VACUUM moves the
//! rows of row pages into a row group they keep their external TIDs; the row group's TID map finds them. When VACUUM then
//! cuts off the end of the file, pages that are added there later must not get the external blocks of moved rows: the
//! relation's [`PageMap`] gives them fresh ones. It changes only under an `AccessExclusiveLock`.

pub use columnar_format::PageMap;
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
    /// A row page that is no more: its rows are in a group, if anywhere.
    Moved,
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

/// The page map of a relation, from the relcache entry or the metapage.
fn page_map<'a>(rel: pg_sys::Relation) -> &'a PageMap {
    // SAFETY: the relcache entry keeps the map until it is invalidated, which happens between statements of this backend
    // at the earliest; callers do not keep the reference.
    unsafe {
        if (*rel).rd_amcache.is_null() {
            let Some(map) = super::storage::directory::page_map(rel) else { return &IDENTITY };
            let copy = pg_sys::MemoryContextAlloc(pg_sys::CacheMemoryContext, size_of::<PageMap>());
            copy.cast::<PageMap>().write(map);
            (*rel).rd_amcache = copy;
        }
        &*(*rel).rd_amcache.cast::<PageMap>()
    }
}

static IDENTITY: PageMap = PageMap::IDENTITY;

/// External block of physical row page `page` (1 or more).
pub fn external_block(rel: pg_sys::Relation, page: u32) -> u32 {
    if page == 0 {
        // The metapage has no rows, so its number is not asked for but to compare it.
        return u32::MAX;
    }
    region_block(page_map(rel).number(page))
}

fn region_block(number: u32) -> u32 {
    if number > u32::MAX >> 1 {
        pgrx::ereport!(
            pgrx::PgLogLevel::ERROR,
            pgrx::PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            "a pgcolumnar table has used all its row page numbers",
            "VACUUM FULL numbers its pages afresh."
        );
    }
    ((number >> REGION_BITS) << (REGION_BITS + 1)) | (number & REGION_MASK)
}

/// Whether an external block belongs to an even region (row pages).
pub fn is_page_block(external: u32) -> bool {
    external & (1 << REGION_BITS) == 0
}

/// Physical row page of an external block of an even region, unless that page was cut off.
pub fn physical_block(rel: pg_sys::Relation, external: u32) -> Option<u32> {
    page_map(rel).page(((external >> (REGION_BITS + 1)) << REGION_BITS) | (external & REGION_MASK))
}

/// External block that names the rows `row_block * 256 ..`.
pub fn external_row_block(row_block: u32) -> u32 {
    ((row_block >> REGION_BITS) << (REGION_BITS + 1))
        | (1 << REGION_BITS)
        | (row_block & REGION_MASK)
}

/// The inverse of [`external_row_block`].
pub fn row_block(external: u32) -> u32 {
    ((external >> (REGION_BITS + 1)) << REGION_BITS) | (external & REGION_MASK)
}

/// External TID of a physical one.
pub fn to_external(
    rel: pg_sys::Relation,
    physical: &pg_sys::ItemPointerData,
) -> pg_sys::ItemPointerData {
    if physical.ip_posid == MOVED_PARTITIONS_OFFSET || physical.ip_posid == 0 {
        return *physical;
    }
    item_pointer(external_block(rel, block_of(physical)), physical.ip_posid)
}

/// External TID of a row number.
pub fn of_row(row: u64) -> pg_sys::ItemPointerData {
    let block = (row / u64::from(ROWS_PER_BLOCK)) as u32;
    item_pointer(external_row_block(block), (row % u64::from(ROWS_PER_BLOCK)) as u16 + 1)
}

/// What an external TID names.
pub fn address(rel: pg_sys::Relation, external: &pg_sys::ItemPointerData) -> RowAddress {
    if let Some(number) = row_number(external) {
        return RowAddress::Row(number);
    }
    match physical_block(rel, block_of(external)) {
        Some(block) => RowAddress::Page(item_pointer(block, external.ip_posid)),
        None => RowAddress::Moved,
    }
}

/// The row number that an external TID of an odd region names.
pub fn row_number(external: &pg_sys::ItemPointerData) -> Option<u64> {
    let block = block_of(external);
    if is_page_block(block) {
        return None;
    }
    let first = u64::from(row_block(block)) * u64::from(ROWS_PER_BLOCK);
    Some(first + u64::from(external.ip_posid.wrapping_sub(1)))
}
