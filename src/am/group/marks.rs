//! Row marks: which rows of a group have a stub, and where.
//!
//! A row of a group has no tuple header. When a transaction first locks, updates or deletes it, the row is *thawed*: a
//! stub is put on a row page, a tuple of its own external kind ([`STUB_FLAG`]) with a frozen xmin and the values of the
//! indexed columns, and the group's head gets a mark `(row, stub)`. From then on heapam works on the stub: xmax, locks,
//! MultiXacts, ctid chains and HOT are heap's own. The row is visible where its insert run and its stub both are. Stubs
//! carry no row of their own: scans of row pages pass over them, so one that was left without a mark by a crash is
//! harmless. VACUUM turns the mark of a dead stub into "gone".
//!
//! ```text
//! marks page: next u32, count u32, reserved u64, then (row u32, block u32, offset u16, reserved u16) each
//! ```

use super::head;
use crate::am::scan::pages::STUB_FLAG;
use crate::am::storage::page::{self, PAYLOAD, PageKind};
use crate::am::storage::{extent, size, vm, wal};
use crate::am::{heap, relation_name, tid};
use crate::ports;
use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};
use std::collections::BTreeMap;

/// Where a marked row's stub is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Physical TID of the stub.
    Stub { block: u32, offset: u16 },
    /// The row is dead to everybody, and its index entries are gone.
    Gone,
}

/// The marks of a group that this backend has read.
#[derive(Debug, Default)]
pub struct Marks {
    pub version: u32,
    rows: BTreeMap<u32, Mark>,
    /// The page read last and how many of its marks.
    last: u32,
    last_read: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct MarksHeader {
    next: u32,
    count: u32,
    reserved: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct StoredMark {
    row: u32,
    block: u32,
    offset: u16,
    reserved: u16,
}

const _: () = assert!(size_of::<MarksHeader>() == 16 && size_of::<StoredMark>() == 12);

impl StoredMark {
    /// Whether the mark names a line pointer that can be, or none.
    fn is_sound(&self, blocks: u32) -> bool {
        let offset = usize::from(self.offset);
        self.reserved == 0
            && if self.block == 0 {
                offset == 0
            } else {
                self.block < blocks && (1..=ports::MAX_HEAP_TUPLES_PER_PAGE).contains(&offset)
            }
    }

    fn to_bytes(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&self.row.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.block.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.offset.to_le_bytes());
        bytes
    }
}

const PER_PAGE: usize = (PAYLOAD - size_of::<MarksHeader>()) / size_of::<StoredMark>();

impl Marks {
    /// No marks read yet.
    pub fn new(version: u32) -> Self {
        Self { version, ..Self::default() }
    }

    pub fn get(&self, row: u32) -> Option<Mark> {
        self.rows.get(&row).copied()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn range(&self, first: u32, count: u32) -> Vec<(u32, Mark)> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        self.rows.range(first..first.saturating_add(count)).map(|(r, m)| (*r, *m)).collect()
    }

    /// Reads marks appended since the last time; `first` comes from the head, `rows` are the group's.
    ///
    /// # Safety
    /// `rel` is the group's open relation.
    pub unsafe fn catch_up(&mut self, rel: pg_sys::Relation, group: u32, first: u32, rows: u32) {
        let mut block = if self.last == 0 { first } else { self.last };
        let mut seen = 0;
        while block != 0 {
            pgrx::check_for_interrupts!();
            // SAFETY: the page is share-locked while it is read.
            unsafe {
                // A page that was read before needs no check. A chain is not longer than the file.
                if self.last_read == 0 {
                    let blocks = size::blocks(rel);
                    seen += 1;
                    if block >= blocks || seen > blocks {
                        damaged(rel, group, block);
                    }
                }
                let buffer = pg_sys::ReadBuffer(rel, block);
                pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
                let header = header(rel, ports::buffer_page(buffer), group, block);
                let stored = (*header).count;
                let mut sound = stored as usize <= PER_PAGE && stored >= self.last_read;
                if sound && stored > self.last_read {
                    // Taken under the page's lock: whoever appended a mark had its stub's page before.
                    let blocks = size::blocks(rel);
                    for i in self.last_read..stored {
                        let mark = mark_at(header, i as usize).read();
                        sound &= mark.row < rows && mark.is_sound(blocks);
                        self.rows.insert(mark.row, decode(&mark));
                    }
                }
                self.last = block;
                self.last_read = stored;
                let next = (*header).next;
                pg_sys::UnlockReleaseBuffer(buffer);
                if !sound {
                    *self = Self::new(self.version.wrapping_sub(1));
                    damaged(rel, group, block);
                }
                if next != 0 {
                    self.last_read = 0;
                    self.last = next;
                }
                block = next;
            }
        }
    }
}

/// Raises the ERROR for a marks page whose contents cannot be.
unsafe fn damaged(rel: pg_sys::Relation, group: u32, block: u32) -> ! {
    // SAFETY: the relation is open.
    let table = unsafe { relation_name(rel) };
    ereport!(
        PgLogLevel::ERROR,
        PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        format!(
            "the row marks of row group {group} of table \"{table}\" on block {block} are damaged"
        )
    );
    unreachable!()
}

fn decode(mark: &StoredMark) -> Mark {
    if mark.block == 0 { Mark::Gone } else { Mark::Stub { block: mark.block, offset: mark.offset } }
}

unsafe fn header(
    rel: pg_sys::Relation,
    page: ports::Page,
    group: u32,
    block: u32,
) -> *mut MarksHeader {
    // SAFETY: the caller holds the page's lock or owns the copy.
    unsafe {
        if page::identify(page) != Some((PageKind::Marks as u16, u64::from(group))) {
            ereport!(
                PgLogLevel::ERROR,
                PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
                format!(
                    "block {block} of table \"{}\" does not hold row marks of row group {group}",
                    relation_name(rel)
                )
            );
        }
        page::payload(page).cast()
    }
}

unsafe fn mark_at(header: *mut MarksHeader, index: usize) -> *mut StoredMark {
    // SAFETY: the caller keeps `index` below PER_PAGE.
    unsafe { header.add(1).cast::<StoredMark>().add(index) }
}

/// Appends a mark to a group, clearing the visibility map bit of the row's block. Returns false if VACUUM replaced the
/// group meanwhile: then the row must be looked up again.
///
/// # Safety
/// `rel` is the group's open relation, locked for writing; the caller holds the row's thaw lock.
pub unsafe fn append(
    rel: pg_sys::Relation,
    group: &super::Group,
    row: u32,
    row_tid: &pg_sys::ItemPointerData,
    stub: &pg_sys::ItemPointerData,
) -> bool {
    // SAFETY: the head's exclusive lock serialises changes of the group's marks; pages are locked head first.
    unsafe {
        let mut spare: pg_sys::Buffer = 0;
        loop {
            let head_buffer = pg_sys::ReadBuffer(rel, group.entry.extent);
            pg_sys::LockBuffer(head_buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
            let head = head::at(rel, ports::buffer_page(head_buffer), group.id);
            if (*head).replaced != 0 {
                pg_sys::UnlockReleaseBuffer(head_buffer);
                if spare != 0 {
                    pg_sys::ReleaseBuffer(spare);
                }
                return false;
            }
            let last = (*head).marks_last;
            let tail = if last == 0 { 0 } else { pg_sys::ReadBuffer(rel, last) };
            let mut full = true;
            if tail != 0 {
                pg_sys::LockBuffer(tail, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
                let tail_header = header(rel, ports::buffer_page(tail), group.id, last);
                full = (*tail_header).count as usize >= PER_PAGE;
            }
            if full && spare == 0 {
                // A page is added without the head's lock, then the state of things is looked at again.
                if tail != 0 {
                    pg_sys::UnlockReleaseBuffer(tail);
                }
                pg_sys::UnlockReleaseBuffer(head_buffer);
                let block = extent::allocate(rel, 1);
                spare = pg_sys::ReadBuffer(rel, block);
                continue;
            }
            vm::clear(rel, tid::block_of(row_tid));
            let mark =
                StoredMark { row, block: tid::block_of(stub), offset: stub.ip_posid, reserved: 0 };
            if full {
                link_page(rel, group.id, head_buffer, (last, tail), spare, mark);
            } else {
                write_mark(rel, tail, header(rel, ports::buffer_page(tail), group.id, last), mark);
            }
            if tail != 0 {
                pg_sys::UnlockReleaseBuffer(tail);
            }
            pg_sys::UnlockReleaseBuffer(head_buffer);
            if full {
                let block = pg_sys::BufferGetBlockNumber(spare);
                pg_sys::UnlockReleaseBuffer(spare);
                extent::settle(rel, &[block]);
            } else if spare != 0 {
                // Somebody else added a page first; ours stays pending until VACUUM finds it.
                pg_sys::ReleaseBuffer(spare);
            }
            return true;
        }
    }
}

/// Adds a mark to a page with room.
unsafe fn write_mark(
    rel: pg_sys::Relation,
    buffer: pg_sys::Buffer,
    marks: *mut MarksHeader,
    mark: StoredMark,
) {
    // SAFETY: the page is exclusively locked; the mark lies inside it.
    unsafe {
        let page = ports::buffer_page(buffer) as usize;
        let count = (*marks).count;
        let at = mark_at(marks, count as usize) as usize - page;
        let count_at = (&raw const (*marks).count) as usize - page;
        wal::write_fragments(
            rel,
            buffer,
            &[(count_at, &(count + 1).to_le_bytes()), (at, &mark.to_bytes())],
        );
    }
}

/// Adds a page with its first mark to a group's chain; the spare page comes back locked.
unsafe fn link_page(
    rel: pg_sys::Relation,
    group: u32,
    head_buffer: pg_sys::Buffer,
    (last, tail): (u32, pg_sys::Buffer),
    spare: pg_sys::Buffer,
    mark: StoredMark,
) {
    // SAFETY: head and tail are exclusively locked, the spare page is known to this backend only.
    unsafe {
        pg_sys::LockBuffer(spare, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
        let state = pg_sys::GenericXLogStart(rel);
        let head_page = pg_sys::GenericXLogRegisterBuffer(state, head_buffer, 0).cast();
        let head = head::at(rel, head_page, group);
        let whole = pg_sys::GENERIC_XLOG_FULL_IMAGE as i32;
        let page: ports::Page = pg_sys::GenericXLogRegisterBuffer(state, spare, whole).cast();
        page::init(page, PageKind::Marks, group.into());
        let block = pg_sys::BufferGetBlockNumber(spare);
        if tail == 0 {
            (*head).marks_first = block;
        } else {
            let tail_page = pg_sys::GenericXLogRegisterBuffer(state, tail, 0).cast();
            (*header(rel, tail_page, group, last)).next = block;
        }
        (*head).marks_last = block;
        let marks = header(rel, page, group, block);
        (*marks).count = 1;
        mark_at(marks, 0).write(mark);
        pg_sys::GenericXLogFinish(state);
    }
}

/// Number of marks in a group's chain, read from the pages.
///
/// # Safety
/// `rel` is the group's open relation; the caller holds the head's lock.
pub unsafe fn total(rel: pg_sys::Relation, group: u32, first: u32) -> usize {
    let mut total = 0;
    let mut block = first;
    while block != 0 {
        // SAFETY: pages are share-locked while they are read.
        unsafe {
            let buffer = pg_sys::ReadBuffer(rel, block);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let header = header(rel, ports::buffer_page(buffer), group, block);
            total += (*header).count as usize;
            block = (*header).next;
            pg_sys::UnlockReleaseBuffer(buffer);
        }
    }
    total
}

/// Turns marks into "gone", after the index entries of their rows were deleted. `rows` is ascending.
///
/// # Safety
/// `rel` is the group's open relation, locked by VACUUM.
pub unsafe fn set_gone(rel: pg_sys::Relation, group: &super::Group, rows: &[u32]) {
    // SAFETY: the head's exclusive lock serialises changes of the group's marks; each page is one WAL record.
    unsafe {
        let head_buffer = pg_sys::ReadBuffer(rel, group.entry.extent);
        pg_sys::LockBuffer(head_buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
        let mut block = (*head::at(rel, ports::buffer_page(head_buffer), group.id)).marks_first;
        while block != 0 {
            let buffer = pg_sys::ReadBuffer(rel, block);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
            let state = pg_sys::GenericXLogStart(rel);
            let head_page = pg_sys::GenericXLogRegisterBuffer(state, head_buffer, 0).cast();
            let page = pg_sys::GenericXLogRegisterBuffer(state, buffer, 0).cast();
            let marks = header(rel, page, group.id, block);
            let mut changed = false;
            for i in 0..((*marks).count as usize).min(PER_PAGE) {
                let mark = mark_at(marks, i);
                if (*mark).block != 0 && rows.binary_search(&(*mark).row).is_ok() {
                    (*mark).block = 0;
                    (*mark).offset = 0;
                    changed = true;
                }
            }
            let next = (*marks).next;
            if changed {
                (*head::at(rel, head_page, group.id)).marks_version += 1;
                pg_sys::GenericXLogFinish(state);
            } else {
                pg_sys::GenericXLogAbort(state);
            }
            pg_sys::UnlockReleaseBuffer(buffer);
            block = next;
        }
        pg_sys::UnlockReleaseBuffer(head_buffer);
    }
}

/// Blocks of a group's marks pages.
///
/// # Safety
/// `rel` is the group's open relation.
pub unsafe fn pages(rel: pg_sys::Relation, group: &super::Group) -> Vec<u32> {
    let mut blocks = Vec::new();
    // SAFETY: pages are share-locked while they are read.
    unsafe {
        let buffer = pg_sys::ReadBuffer(rel, group.entry.extent);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let mut block = (*head::at(rel, ports::buffer_page(buffer), group.id)).marks_first;
        pg_sys::UnlockReleaseBuffer(buffer);
        while block != 0 && !blocks.contains(&block) {
            blocks.push(block);
            let buffer = pg_sys::ReadBuffer(rel, block);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            block = (*header(rel, ports::buffer_page(buffer), group.id, block)).next;
            pg_sys::UnlockReleaseBuffer(buffer);
        }
    }
    blocks
}

/// Puts a stub on a row page: a frozen tuple with the values of the indexed columns, and NULL elsewhere.
///
/// heap_update compares those columns with the new version's to choose the lock strength and HOT.
///
/// # Safety
/// `rel` is open for writing; `values` and `nulls` have an entry for each of its attributes.
pub unsafe fn insert_stub(
    rel: pg_sys::Relation,
    values: *mut pg_sys::Datum,
    nulls: *mut bool,
) -> pg_sys::ItemPointerData {
    // SAFETY: heap_insert stores a copy of the tuple; the statistics entry exists while the relation is counted.
    unsafe {
        let tuple = pg_sys::heap_form_tuple((*rel).rd_att, values, nulls);
        (*(*tuple).t_data).t_infomask2 |= STUB_FLAG;
        (*tuple).t_tableOid = (*rel).rd_id;
        pg_sys::heap_insert(
            rel,
            tuple,
            pg_sys::GetCurrentCommandId(true),
            (pg_sys::HEAP_INSERT_FROZEN | pg_sys::HEAP_INSERT_NO_LOGICAL) as i32,
            core::ptr::null_mut(),
        );
        let stub = (*tuple).t_self;
        pg_sys::heap_freetuple(tuple);
        heap::uncount_insert(rel);
        stub
    }
}
