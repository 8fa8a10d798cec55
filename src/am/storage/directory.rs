//! The directory: fixed-size entries for row groups, reserved row numbers and free extents.
//!
//! Entries fill the metapage first and then a chain of directory pages; a slot of kind `Empty` is free. Every change is one
//! generic WAL record that also raises the metapage's generation, which tells backends that their copy is old. Changes
//! are serialised by the metapage's exclusive lock, which is always taken before that of a directory page.

use super::page::{self, PAYLOAD, PageKind};
use super::size;
use crate::am::tid::{PageMap, ROWS_PER_BLOCK};
use crate::ports;
use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};

/// Marks the payload of the metapage.
const MAGIC: u32 = 0x5047_4d31;
/// Version of everything below: read before anything else.
pub const FORMAT_VERSION: u32 = 1;

/// What a directory entry stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EntryKind {
    /// A free slot.
    Empty = 0,
    /// Row numbers set aside by a running transaction whose rows are not written yet.
    Reserved = 1,
    /// A row group of column chunks.
    Columns = 2,
    /// A row group that VACUUM is filling from row pages: found by TID where a row page has been moved, not scanned.
    Merging = 3,
    /// An extent of free pages.
    Free = 4,
    /// An extent that a transaction (or VACUUM, with no xid) is writing and that nothing else names yet.
    Pending = 5,
}

/// One directory entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// An [`EntryKind`].
    pub kind: u8,
    pub flags: u8,
    pub reserved: u16,
    /// Number of the row group, never used twice.
    pub group: u32,
    /// First row block of the row numbers covered (`Columns` of a bulk load, `Reserved`).
    pub first_row_block: u32,
    /// Row blocks covered.
    pub row_blocks: u32,
    /// Rows stored.
    pub rows: u32,
    /// Owner of a reservation or pending extent; for a free extent, the transaction from which on nobody needs its old contents.
    pub xid: u32,
    /// First page of the extent.
    pub extent: u32,
    /// Pages of the extent.
    pub extent_pages: u32,
    /// First page of the TID map's extent, or 0: rows are numbered densely from `first_row_block`.
    pub tid_map: u32,
    /// Pages of the TID map's extent.
    pub tid_map_pages: u32,
    /// Bytes of the TID map.
    pub tid_map_bytes: u32,
    /// Lowest and highest external block in the TID map.
    pub tid_low: u32,
    pub tid_high: u32,
    /// Bytes of column chunks and footer.
    pub bytes: u32,
    pub padding: [u32; 2],
}

/// Flag of an entry: the rows came through a TID map.
pub const HAS_TID_MAP: u8 = 1;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Header {
    magic: u32,
    version: u32,
    generation: u64,
    next_row_block: u32,
    next_group: u32,
    first_page: u32,
    last_page: u32,
    page_map: PageMap,
    padding: [u32; 8],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct PageHeader {
    next: u32,
    padding: [u32; 47],
}

const _: () = assert!(size_of::<Entry>() == 64 && align_of::<Entry>() == 4);
/// Bytes before the entries of the metapage and of each directory page.
const HEADER: usize = 192;

const _: () = assert!(size_of::<Header>() == HEADER && align_of::<Header>() == 8);
const _: () = assert!(size_of::<PageHeader>() == HEADER);

/// Entries of the metapage and of each directory page.
pub const ENTRIES_PER_PAGE: usize = (PAYLOAD - HEADER) / size_of::<Entry>();

/// Row blocks that external TIDs can name.
const MAX_ROW_BLOCKS: u32 = 1 << 31;

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotAddress {
    pub block: u32,
    pub index: u16,
}

/// A copy of the whole directory.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub generation: u64,
    pub next_row_block: u32,
    pub entries: Vec<(SlotAddress, Entry)>,
    /// Blocks of the directory's own pages.
    pub pages: Vec<u32>,
}

impl Entry {
    pub fn is(&self, kind: EntryKind) -> bool {
        self.kind == kind as u8
    }

    /// First row number covered.
    pub fn first_row(&self) -> u64 {
        u64::from(self.first_row_block) * u64::from(ROWS_PER_BLOCK)
    }
}

/// Row blocks that `rows` rows take.
pub fn row_blocks(rows: u32) -> u32 {
    rows.div_ceil(ROWS_PER_BLOCK)
}

/// Writes the empty directory of a new metapage.
///
/// # Safety
/// `page` is a column page under construction.
pub unsafe fn initialise(page: ports::Page) {
    // SAFETY: the payload has room for the header; it is 8-aligned.
    unsafe {
        page::payload(page).cast::<Header>().write(Header {
            magic: MAGIC,
            version: FORMAT_VERSION,
            // Different in every incarnation of the file, so that a copy of a truncated table's directory is told.
            generation: pg_sys::GetCurrentTimestamp() as u64,
            next_row_block: 0,
            next_group: 1,
            first_page: 0,
            last_page: 0,
            page_map: PageMap::default(),
            padding: [0; 8],
        });
    }
}

unsafe fn check(rel: pg_sys::Relation, page: ports::Page) -> *mut Header {
    // SAFETY: the caller holds a lock on the metapage.
    unsafe {
        let header = page::payload(page).cast::<Header>();
        let is_meta = page::identify(page).is_some_and(|(kind, _)| kind == PageKind::Meta as u16);
        if !is_meta || (*header).magic != MAGIC {
            ereport!(
                PgLogLevel::ERROR,
                PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
                format!(
                    "block 0 of table \"{}\" is not a pgcolumnar metapage",
                    crate::am::relation_name(rel)
                )
            );
        }
        if (*header).version != FORMAT_VERSION {
            ereport!(
                PgLogLevel::ERROR,
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                format!(
                    "table \"{}\" has pgcolumnar format version {}, but this library reads version {FORMAT_VERSION}",
                    crate::am::relation_name(rel),
                    (*header).version
                ),
                "Install the library version that wrote the table, or dump and restore the table."
            );
        }
        header
    }
}

unsafe fn read_buffer(rel: pg_sys::Relation, block: u32, mode: u32) -> pg_sys::Buffer {
    // SAFETY: the block lies inside the relation.
    unsafe {
        let buffer = pg_sys::ReadBuffer(rel, block);
        pg_sys::LockBuffer(buffer, mode as i32);
        buffer
    }
}

/// The share-locked metapage, or `None` while there is none.
unsafe fn lock_metapage(rel: pg_sys::Relation) -> Option<pg_sys::Buffer> {
    // SAFETY: as the callers'.
    unsafe {
        if !size::has_block(rel, 0) {
            return None;
        }
        let buffer = read_buffer(rel, 0, pg_sys::BUFFER_LOCK_SHARE);
        if page::is_new(ports::buffer_page(buffer)) {
            pg_sys::UnlockReleaseBuffer(buffer);
            return None;
        }
        Some(buffer)
    }
}

/// The current generation, or `None` for an empty file.
///
/// # Safety
/// `rel` is an open relation of this access method.
pub unsafe fn generation(rel: pg_sys::Relation) -> Option<u64> {
    // SAFETY: as the caller's; the lock is held while the header is read.
    unsafe {
        let buffer = lock_metapage(rel)?;
        let generation = (*check(rel, ports::buffer_page(buffer))).generation;
        pg_sys::UnlockReleaseBuffer(buffer);
        Some(generation)
    }
}

/// The numbering of row pages, or `None` for an empty file.
///
/// # Safety
/// `rel` is an open relation of this access method.
pub unsafe fn page_map(rel: pg_sys::Relation) -> Option<PageMap> {
    // SAFETY: as the caller's; the lock is held while the header is read.
    unsafe {
        let buffer = lock_metapage(rel)?;
        let map = (*check(rel, ports::buffer_page(buffer))).page_map;
        pg_sys::UnlockReleaseBuffer(buffer);
        Some(map)
    }
}

unsafe fn entries(page: ports::Page) -> *mut Entry {
    // SAFETY: entries follow the header of the payload.
    unsafe { page::payload(page).add(HEADER).cast() }
}

unsafe fn collect(page: ports::Page, block: u32, into: &mut Vec<(SlotAddress, Entry)>) {
    for index in 0..ENTRIES_PER_PAGE {
        // SAFETY: `index` is below the entries of a page.
        let entry = unsafe { entries(page).add(index).read() };
        if entry.kind != EntryKind::Empty as u8 {
            into.push((SlotAddress { block, index: index as u16 }, entry));
        }
    }
}

/// Reads the whole directory.
///
/// # Safety
/// `rel` is an open relation of this access method with a metapage.
pub unsafe fn read(rel: pg_sys::Relation) -> Snapshot {
    // SAFETY: the metapage's share lock keeps the directory as it is while its pages are read.
    unsafe {
        let meta = read_buffer(rel, 0, pg_sys::BUFFER_LOCK_SHARE);
        let page = ports::buffer_page(meta);
        let header = check(rel, page);
        let mut snapshot = Snapshot {
            generation: (*header).generation,
            next_row_block: (*header).next_row_block,
            ..Default::default()
        };
        collect(page, 0, &mut snapshot.entries);
        let mut block = (*header).first_page;
        while block != 0 {
            let buffer = read_buffer(rel, block, pg_sys::BUFFER_LOCK_SHARE);
            let page = ports::buffer_page(buffer);
            if page::identify(page).is_none_or(|(kind, _)| kind != PageKind::Directory as u16)
                || snapshot.pages.contains(&block)
            {
                pg_sys::UnlockReleaseBuffer(buffer);
                pg_sys::UnlockReleaseBuffer(meta);
                ereport!(
                    PgLogLevel::ERROR,
                    PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
                    format!(
                        "block {block} of table \"{}\" is not a page of its directory",
                        crate::am::relation_name(rel)
                    )
                );
            }
            collect(page, block, &mut snapshot.entries);
            snapshot.pages.push(block);
            block = (*page::payload(page).cast::<PageHeader>()).next;
            pg_sys::UnlockReleaseBuffer(buffer);
        }
        pg_sys::UnlockReleaseBuffer(meta);
        snapshot
    }
}

/// One change of the directory: entries put, replaced and removed in a single WAL record.
///
/// The record covers the metapage and at most two directory pages; a change that needs more is split by its maker.
#[derive(Debug)]
pub struct Change {
    rel: pg_sys::Relation,
    meta: pg_sys::Buffer,
    state: *mut pg_sys::GenericXLogState,
    meta_page: ports::Page,
    others: Vec<(u32, pg_sys::Buffer, ports::Page)>,
}

impl Change {
    /// Begins a change, locking the metapage.
    ///
    /// # Safety
    /// `rel` is an open relation of this access method with a metapage, locked for writing.
    pub unsafe fn begin(rel: pg_sys::Relation) -> Self {
        // SAFETY: as the caller's.
        unsafe {
            let meta = read_buffer(rel, 0, pg_sys::BUFFER_LOCK_EXCLUSIVE);
            check(rel, ports::buffer_page(meta));
            let state = pg_sys::GenericXLogStart(rel);
            let meta_page = pg_sys::GenericXLogRegisterBuffer(state, meta, 0).cast();
            Self { rel, meta, state, meta_page, others: Vec::new() }
        }
    }

    fn header(&mut self) -> &mut Header {
        // SAFETY: the registered copy of the metapage is ours until commit.
        unsafe { &mut *page::payload(self.meta_page).cast::<Header>() }
    }

    /// The registered copy of the page a slot stands on.
    unsafe fn page(&mut self, block: u32) -> ports::Page {
        if block == 0 {
            return self.meta_page;
        }
        if let Some((_, _, page)) = self.others.iter().find(|(b, _, _)| *b == block) {
            return *page;
        }
        // SAFETY: directory pages are locked after the metapage.
        unsafe {
            let buffer = read_buffer(self.rel, block, pg_sys::BUFFER_LOCK_EXCLUSIVE);
            let page = pg_sys::GenericXLogRegisterBuffer(self.state, buffer, 0).cast();
            self.others.push((block, buffer, page));
            page
        }
    }

    /// Takes the next row group number.
    pub fn next_group(&mut self) -> u32 {
        let header = self.header();
        header.next_group += 1;
        header.next_group - 1
    }

    /// Sets aside `blocks` row blocks.
    ///
    /// An ERROR where the table has had as many rows as there are numbers.
    pub fn reserve_row_blocks(&mut self, blocks: u32) -> u32 {
        let first = self.header().next_row_block;
        if first > MAX_ROW_BLOCKS - blocks {
            ereport!(
                PgLogLevel::ERROR,
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                format!(
                    "table \"{}\" has used all its row numbers",
                    // SAFETY: the relation is open.
                    unsafe { crate::am::relation_name(self.rel) }
                ),
                "VACUUM FULL numbers its rows afresh."
            );
        }
        self.header().next_row_block += blocks;
        first
    }

    /// The numbering of row pages.
    pub fn page_map(&mut self) -> &mut PageMap {
        &mut self.header().page_map
    }

    /// Gives back the unused end of a reservation, if nothing was reserved since.
    pub fn release_row_blocks(&mut self, end: u32, used_end: u32) {
        let header = self.header();
        if header.next_row_block == end {
            header.next_row_block = used_end;
        }
    }

    /// The entry at a slot.
    ///
    /// # Safety
    /// `slot` came from a snapshot of this relation's directory.
    pub unsafe fn get(&mut self, slot: SlotAddress) -> Entry {
        // SAFETY: the page is registered and locked.
        unsafe { entries(self.page(slot.block)).add(usize::from(slot.index)).read() }
    }

    /// Overwrites the entry at a slot.
    ///
    /// # Safety
    /// As [`Change::get`].
    pub unsafe fn set(&mut self, slot: SlotAddress, entry: Entry) {
        // SAFETY: the page is registered and locked.
        unsafe { entries(self.page(slot.block)).add(usize::from(slot.index)).write(entry) }
    }

    /// Puts an entry into a free slot, adding a directory page when there is none.
    ///
    /// # Safety
    /// As [`Change::begin`].
    pub unsafe fn put(&mut self, entry: Entry) -> SlotAddress {
        // SAFETY: pages are locked in chain order after the metapage; pages looked at in vain are only pinned briefly.
        unsafe {
            for index in 0..ENTRIES_PER_PAGE {
                let slot = SlotAddress { block: 0, index: index as u16 };
                if self.get(slot).kind == EntryKind::Empty as u8 {
                    self.set(slot, entry);
                    return slot;
                }
            }
            let mut block = self.header().first_page;
            while block != 0 {
                if let Some(index) = self.free_slot(block) {
                    let slot = SlotAddress { block, index };
                    self.set(slot, entry);
                    return slot;
                }
                block = self.next_page(block);
            }
            let block = self.append_page();
            let slot = SlotAddress { block, index: 0 };
            self.set(slot, entry);
            slot
        }
    }

    /// Puts an entry into a free slot of a page before `last` in the chain; false if there is none.
    ///
    /// # Safety
    /// As [`Change::begin`].
    pub unsafe fn put_before(&mut self, entry: Entry, last: u32) -> bool {
        // SAFETY: as `put`.
        unsafe {
            let mut block = 0;
            while block != last {
                if let Some(index) = self.free_slot(block) {
                    self.set(SlotAddress { block, index }, entry);
                    return true;
                }
                block = if block == 0 { self.header().first_page } else { self.next_page(block) };
                if block == 0 {
                    return false;
                }
            }
            false
        }
    }

    /// Whether a directory page has no entries.
    ///
    /// # Safety
    /// As [`Change::begin`]; `block` is a page of the directory.
    pub unsafe fn is_empty_page(&mut self, block: u32) -> bool {
        // SAFETY: the page is registered and locked.
        unsafe {
            let page = self.page(block);
            (0..ENTRIES_PER_PAGE)
                .all(|index| (*entries(page).add(index)).kind == EntryKind::Empty as u8)
        }
    }

    unsafe fn free_slot(&self, block: u32) -> Option<u16> {
        let free = |page: ports::Page| {
            (0..ENTRIES_PER_PAGE)
                // SAFETY: the page is locked or a registered copy.
                .find(|&i| unsafe { (*entries(page).add(i)).kind } == EntryKind::Empty as u8)
                .map(|i| i as u16)
        };
        if block == 0 {
            return free(self.meta_page);
        }
        if let Some((_, _, page)) = self.others.iter().find(|(b, _, _)| *b == block) {
            return free(*page);
        }
        // SAFETY: the page is locked while it is searched.
        unsafe {
            let buffer = read_buffer(self.rel, block, pg_sys::BUFFER_LOCK_SHARE);
            let found = free(ports::buffer_page(buffer));
            pg_sys::UnlockReleaseBuffer(buffer);
            found
        }
    }

    unsafe fn next_page(&self, block: u32) -> u32 {
        if let Some((_, _, page)) = self.others.iter().find(|(b, _, _)| *b == block) {
            // SAFETY: a registered copy.
            return unsafe { (*page::payload(*page).cast::<PageHeader>()).next };
        }
        // SAFETY: the page is locked while it is read.
        unsafe {
            let buffer = read_buffer(self.rel, block, pg_sys::BUFFER_LOCK_SHARE);
            let next = (*page::payload(ports::buffer_page(buffer)).cast::<PageHeader>()).next;
            pg_sys::UnlockReleaseBuffer(buffer);
            next
        }
    }

    /// Takes the last directory page, which has no entries, out of the chain.
    ///
    /// # Safety
    /// As [`Change::begin`]; `previous` is the page before it in the chain, if there is one.
    pub unsafe fn unlink_last_page(&mut self, previous: Option<u32>) {
        match previous {
            // SAFETY: the page is registered and locked.
            Some(previous) => unsafe {
                let page = self.page(previous);
                (*page::payload(page).cast::<PageHeader>()).next = 0;
            },
            None => self.header().first_page = 0,
        }
        self.header().last_page = previous.unwrap_or(0);
    }

    unsafe fn append_page(&mut self) -> u32 {
        // SAFETY: the new page is locked and unknown to others until this change commits.
        unsafe {
            let buffer = super::extent::extend(self.rel);
            let block = pg_sys::BufferGetBlockNumber(buffer);
            let page: ports::Page = pg_sys::GenericXLogRegisterBuffer(
                self.state,
                buffer,
                pg_sys::GENERIC_XLOG_FULL_IMAGE as i32,
            )
            .cast();
            page::init(page, PageKind::Directory, 0);
            self.others.push((block, buffer, page));
            let last = self.header().last_page;
            if last == 0 {
                self.header().first_page = block;
            } else {
                let last_page = self.page(last);
                (*page::payload(last_page).cast::<PageHeader>()).next = block;
            }
            self.header().last_page = block;
            block
        }
    }

    /// Whether entries at these slots fit into one change: the metapage and two more pages.
    pub fn fits(slots: impl IntoIterator<Item = SlotAddress>) -> bool {
        let mut blocks: Vec<u32> =
            slots.into_iter().map(|slot| slot.block).filter(|&block| block != 0).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks.len() <= 1
    }

    /// Commits the change and releases its pages.
    ///
    /// # Safety
    /// As [`Change::begin`].
    pub unsafe fn commit(mut self) {
        self.header().generation += 1;
        // SAFETY: all registered buffers are locked exclusively until the record is written.
        unsafe {
            pg_sys::GenericXLogFinish(self.state);
            for (_, buffer, _) in &self.others {
                pg_sys::UnlockReleaseBuffer(*buffer);
            }
            pg_sys::UnlockReleaseBuffer(self.meta);
        }
    }
}
