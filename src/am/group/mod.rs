//! Row groups: rows as compressed column chunks, judged by insert runs and row marks.
//!
//! ```text
//! extent:  | head page: runs, marks | chunk of column 1 | chunk of column 2 | ... | footer |
//! ```
//!
//! The bytes behind the head page never change. What happens to a row later is told by its *mark*, which points at a
//! *stub*: a tuple header on a row page on which heapam does locking, deletion and update exactly as for any other row.
//! See [`marks`].

pub mod builder;
pub mod cache;
pub mod head;
pub mod marks;
pub mod stubs;
pub mod thaw;
pub mod types;
pub mod visibility;
pub mod writer;

use crate::am::storage::directory::{Entry, HAS_TID_MAP, SlotAddress};
use crate::am::storage::extent;
use crate::am::storage::page::{self, PageKind};
use crate::am::storage::page_stream::PageStream;
use crate::am::{relation_name, tid};
use crate::ports;
use columnar_format::{
    ChunkBlooms, ChunkMeta, Dictionary, FormatError, GroupFooter, TidMap, Vector,
};
use core::cell::{OnceCell, RefCell};
use core::ops::Range;
use head::InsertRun;
use marks::{Mark, Marks};
use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};
use std::rc::Rc;
use std::sync::Arc;

/// Most bytes of one stored section; more is a sign of damage.
const MAX_SECTION: u64 = 1 << 31;

/// One row group as a backend knows it.
#[derive(Debug)]
pub struct Group {
    pub id: u32,
    pub entry: Entry,
    pub slot: SlotAddress,
    state: RefCell<State>,
    footer: OnceCell<GroupFooter<Vec<u8>>>,
    tid_map: OnceCell<TidMap>,
    columns: RefCell<Vec<Option<Rc<Column>>>>,
}

/// What changes: insert runs are frozen, marks are added.
#[derive(Debug, Default)]
struct State {
    loaded: bool,
    runs: Vec<InsertRun>,
    marks: Marks,
    footer_offset: u32,
    footer_len: u32,
}

/// One column's chunk.
#[derive(Debug)]
pub struct Column {
    offset: u64,
    pub meta: ChunkMeta,
    /// First row of each vector.
    pub starts: Vec<u32>,
    dictionary: OnceCell<Option<Arc<Dictionary>>>,
    vectors: RefCell<Vec<Option<Rc<Vector>>>>,
}

impl Column {
    /// The vector that holds a row, and the row's place in it.
    pub fn locate(&self, row: u32) -> (usize, usize) {
        let vector = self.starts.partition_point(|&start| start <= row).saturating_sub(1);
        (vector, (row - self.starts[vector]) as usize)
    }
}

impl Group {
    /// A group by its directory entry; nothing is read yet.
    pub fn new(slot: SlotAddress, entry: Entry) -> Self {
        Self {
            id: entry.group,
            entry,
            slot,
            state: RefCell::default(),
            footer: OnceCell::new(),
            tid_map: OnceCell::new(),
            columns: RefCell::default(),
        }
    }

    /// Rows stored.
    pub fn rows(&self) -> u32 {
        self.entry.rows
    }

    /// First page of the group's bytes.
    pub fn data_page(&self) -> u32 {
        self.entry.extent + 1
    }

    /// Reads runs and marks if they changed since this backend last looked. Returns false if VACUUM has replaced the
    /// group.
    ///
    /// # Safety
    /// `rel` is the open relation the group belongs to.
    pub unsafe fn refresh(&self, rel: pg_sys::Relation) -> bool {
        // SAFETY: the head page is share-locked while it is read.
        unsafe {
            let buffer = pg_sys::ReadBuffer(rel, self.entry.extent);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let head = head::at(rel, ports::buffer_page(buffer), self.id);
            let alive = (*head).replaced == 0;
            let mut state = self.state.borrow_mut();
            if !state.loaded || state.marks.version != (*head).marks_version {
                let runs = head::runs(head);
                if !head::cover(runs, self.entry.rows) {
                    head::damaged(rel, self.id);
                }
                state.runs = runs.to_vec();
                state.marks = Marks::new((*head).marks_version);
                state.footer_offset = (*head).footer_offset;
                state.footer_len = (*head).footer_len;
                state.loaded = true;
            }
            let first = (*head).marks_first;
            pg_sys::UnlockReleaseBuffer(buffer);
            state.marks.catch_up(rel, self.id, first, self.entry.rows);
            alive
        }
    }

    /// The insert run of a row.
    pub fn run(&self, row: u32) -> InsertRun {
        let state = self.state.borrow();
        let at = state.runs.partition_point(|run| run.first <= row).saturating_sub(1);
        state.runs.get(at).copied().unwrap_or_default()
    }

    /// All insert runs.
    pub fn runs(&self) -> Vec<InsertRun> {
        self.state.borrow().runs.clone()
    }

    /// The mark of a row.
    pub fn mark(&self, row: u32) -> Option<Mark> {
        self.state.borrow().marks.get(row)
    }

    /// Marks of the rows `first .. first + count`.
    pub fn marks_in(&self, first: u32, count: u32) -> Vec<(u32, Mark)> {
        self.state.borrow().marks.range(first, count)
    }

    /// Version of the marks that this backend has read.
    pub fn marks_version(&self) -> u32 {
        self.state.borrow().marks.version
    }

    /// Number of rows with a mark.
    pub fn mark_count(&self) -> usize {
        self.state.borrow().marks.len()
    }

    /// The TID map of a group that has one.
    ///
    /// # Safety
    /// `rel` is the open relation the group belongs to.
    pub unsafe fn tid_map(&self, rel: pg_sys::Relation) -> Option<&TidMap> {
        if self.entry.flags & HAS_TID_MAP == 0 {
            return None;
        }
        Some(self.tid_map.get_or_init(|| {
            let mut bytes = vec![0; self.entry.tid_map_bytes as usize];
            // SAFETY: the extent belongs to the group.
            unsafe {
                extent::read(
                    rel,
                    self.entry.tid_map,
                    PageKind::TidMap,
                    self.id.into(),
                    0,
                    &mut bytes,
                    None,
                );
            }
            TidMap::from_bytes(&bytes, self.entry.rows).unwrap_or_else(|reason| {
                ereport!(
                    PgLogLevel::ERROR,
                    PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
                    format!(
                        "the TID map of row group {} of table \"{}\" is damaged: {reason}",
                        self.id,
                        // SAFETY: the relation is open.
                        unsafe { relation_name(rel) }
                    )
                );
                unreachable!()
            })
        }))
    }

    /// External TID of a row; `None` for a row that has none (see [`TidMap::tid`]).
    ///
    /// # Safety
    /// `rel` is the open relation the group belongs to.
    pub unsafe fn tid_of(
        &self,
        rel: pg_sys::Relation,
        row: u32,
    ) -> Option<pg_sys::ItemPointerData> {
        // SAFETY: as the caller's.
        match unsafe { self.tid_map(rel) } {
            Some(map) => map.tid(row).map(|(block, offset)| tid::item_pointer(block, offset)),
            None => Some(tid::of_row(self.entry.first_row() + u64::from(row))),
        }
    }

    /// First and last external TID of the group's rows, as [`tid::encode`] makes them.
    ///
    /// # Safety
    /// `rel` is the open relation the group belongs to.
    pub unsafe fn tid_bounds(&self, rel: pg_sys::Relation) -> Option<(u64, u64)> {
        // SAFETY: as the caller's.
        if let Some(map) = unsafe { self.tid_map(rel) } {
            let (low, high) = (map.blocks.first()?, map.blocks.last()?);
            return Some((u64::from(low.block) << 16, u64::from(high.block) << 16 | 0xffff));
        }
        let last = self.entry.first_row() + u64::from(self.entry.rows.checked_sub(1)?);
        Some((tid::encode(&tid::of_row(self.entry.first_row())), tid::encode(&tid::of_row(last))))
    }

    /// Row of an external TID.
    ///
    /// # Safety
    /// `rel` is the open relation the group belongs to.
    pub unsafe fn row_of(
        &self,
        rel: pg_sys::Relation,
        tid: &pg_sys::ItemPointerData,
    ) -> Option<u32> {
        // SAFETY: as the caller's.
        if let Some(map) = unsafe { self.tid_map(rel) } {
            return map.row(tid::block_of(tid), tid.ip_posid);
        }
        let row = tid::row_number(tid)?.checked_sub(self.entry.first_row())?;
        (row < u64::from(self.entry.rows)).then_some(row as u32)
    }

    fn footer(&self, rel: pg_sys::Relation) -> &GroupFooter<Vec<u8>> {
        self.footer.get_or_init(|| {
            // SAFETY: the relation is the group's.
            unsafe {
                if !self.state.borrow().loaded {
                    self.refresh(rel);
                }
                let (offset, len) = {
                    let state = self.state.borrow();
                    (state.footer_offset as usize, state.footer_len as usize)
                };
                let room = (self.entry.extent_pages as usize).saturating_sub(1) * page::PAYLOAD;
                if offset.saturating_add(len) > room {
                    self.corrupt(rel, None, "its footer lies outside its extent");
                }
                let mut bytes = vec![0; len];
                self.read(rel, offset, &mut bytes, None);
                match GroupFooter::parse(bytes) {
                    Ok(footer) if footer.rows() == self.entry.rows => footer,
                    Ok(_) => {
                        self.corrupt(rel, None, "its footer counts other rows than the directory")
                    }
                    Err(error) => self.format_error(rel, None, &error),
                }
            }
        })
    }

    unsafe fn read(
        &self,
        rel: pg_sys::Relation,
        offset: usize,
        bytes: &mut [u8],
        stream: Option<&mut PageStream>,
    ) {
        let (first, kind) = (self.data_page(), PageKind::GroupData);
        // SAFETY: the extent belongs to the group.
        unsafe { extent::read(rel, first, kind, self.id.into(), offset, bytes, stream) };
    }

    /// Columns stored; a table may have more since.
    pub fn column_count(&self, rel: pg_sys::Relation) -> usize {
        self.footer(rel).column_count()
    }

    /// A column's chunk, or `None` if the column was added after the group was written.
    pub fn column(&self, rel: pg_sys::Relation, index: usize) -> Option<Rc<Column>> {
        if let Some(Some(column)) = self.columns.borrow().get(index) {
            return Some(column.clone());
        }
        let footer = self.footer(rel);
        if index >= footer.column_count() {
            return None;
        }
        let (offset, len, meta) = match footer.column(index) {
            Ok(found) => found,
            Err(error) => self.format_error(rel, Some(index), &error),
        };
        let mut starts = Vec::with_capacity(meta.vectors.len());
        let mut row = 0u32;
        for vector in &meta.vectors {
            starts.push(row);
            row = row.saturating_add(vector.rows);
            if vector.section.offset.saturating_add(vector.section.len.into()) > len {
                self.corrupt(rel, Some(index), "a vector lies outside its chunk");
            }
        }
        if meta.blooms().is_some_and(|(offset, bytes)| offset.saturating_add(bytes) > len) {
            self.corrupt(rel, Some(index), "a Bloom filter lies outside its chunk");
        }
        if row != self.entry.rows || meta.rows != row {
            self.corrupt(rel, Some(index), "its vectors do not add up to the group's rows");
        }
        let vectors = RefCell::new(vec![None; meta.vectors.len()]);
        let column = Rc::new(Column { offset, meta, starts, dictionary: OnceCell::new(), vectors });
        let mut columns = self.columns.borrow_mut();
        if columns.len() <= index {
            columns.resize(index + 1, None);
        }
        columns[index] = Some(column.clone());
        Some(column)
    }

    /// Opens a vector, from this backend's cache if it is there.
    pub fn vector(
        self: &Rc<Self>,
        rel: pg_sys::Relation,
        index: usize,
        column: &Rc<Column>,
        vector: usize,
    ) -> Rc<Vector> {
        if let Some(open) = &column.vectors.borrow()[vector] {
            return open.clone();
        }
        let meta = &column.meta.vectors[vector];
        let dictionary = column
            .dictionary
            .get_or_init(|| {
                column.meta.dictionary.as_ref().map(|section| {
                    let bytes =
                        self.section(rel, index, column, (section.offset, section.len), None);
                    match Dictionary::open(column.meta.spec, section, &bytes) {
                        Ok(dictionary) => Arc::new(dictionary),
                        Err(error) => self.format_error(rel, Some(index), &error),
                    }
                })
            })
            .clone();
        let bytes = self.section(rel, index, column, (meta.section.offset, meta.section.len), None);
        let open = match Vector::open(column.meta.spec, meta, &bytes, dictionary) {
            Ok(open) => Rc::new(open),
            Err(error) => self.format_error(rel, Some(index), &error),
        };
        column.vectors.borrow_mut()[vector] = Some(open.clone());
        cache::remember(column, vector, open.memory_size());
        open
    }

    /// Opens the Bloom filters of a column's chunk and tells how many bytes were read; `None` where it has none. They are not
    /// kept: those of a column whose values are all distinct take about as much as a sixth of it.
    pub fn blooms(
        &self,
        rel: pg_sys::Relation,
        index: usize,
        column: &Column,
    ) -> Option<(ChunkBlooms, u64)> {
        let (offset, len) = column.meta.blooms()?;
        let bounded = u32::try_from(len).unwrap_or(u32::MAX);
        let bytes = self.section(rel, index, column, (offset, bounded), None);
        match ChunkBlooms::open(&column.meta, &bytes) {
            Ok(blooms) => Some((blooms, len)),
            Err(error) => self.format_error(rel, Some(index), &error),
        }
    }

    /// Bytes of a section of a column's chunk, offset and length, copied from its pages; they come from `stream` where it is
    /// given.
    pub fn section(
        &self,
        rel: pg_sys::Relation,
        index: usize,
        column: &Column,
        (offset, len): (u64, u32),
        stream: Option<&mut PageStream>,
    ) -> Vec<u8> {
        let Some(at) = self.place_of(column, offset, len) else {
            self.corrupt(rel, Some(index), "a section lies outside the group's extent")
        };
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(len as usize).is_err() {
            self.format_error(rel, Some(index), &FormatError::OutOfMemory { bytes: len.into() });
        }
        bytes.resize(len as usize, 0);
        // SAFETY: the extent belongs to the group.
        unsafe { self.read(rel, at as usize, &mut bytes, stream) };
        bytes
    }

    /// Blocks that hold a section; none if it lies outside the group's extent.
    pub fn section_blocks(&self, column: &Column, offset: u64, len: u32) -> Range<u32> {
        let at = self.place_of(column, offset, len);
        at.map_or(0..0, |at| extent::blocks_of(self.data_page(), at, len.into()))
    }

    /// Where in the group's bytes a section begins, if it lies inside its extent.
    fn place_of(&self, column: &Column, offset: u64, len: u32) -> Option<u64> {
        let room = (self.entry.extent_pages as u64).saturating_sub(1) * page::PAYLOAD as u64;
        let at = column.offset.saturating_add(offset);
        (u64::from(len) <= MAX_SECTION && at.saturating_add(len.into()) <= room).then_some(at)
    }

    /// Raises the ERROR for damaged contents, naming relation, group and column.
    pub fn corrupt(&self, rel: pg_sys::Relation, column: Option<usize>, reason: &str) -> ! {
        // SAFETY: the relation is open.
        let table = unsafe { relation_name(rel) };
        let part = column.map_or(String::new(), |c| format!(", column {}", column_name(rel, c)));
        ereport!(
            PgLogLevel::ERROR,
            PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
            format!("row group {}{part} of table \"{table}\" is damaged: {reason}", self.id)
        );
        unreachable!()
    }

    /// Raises the ERROR for what the format crate says of stored bytes.
    pub fn format_error(
        &self,
        rel: pg_sys::Relation,
        column: Option<usize>,
        error: &FormatError,
    ) -> ! {
        if matches!(error, FormatError::OutOfMemory { .. }) {
            // SAFETY: the relation is open.
            let table = unsafe { relation_name(rel) };
            ereport!(
                PgLogLevel::ERROR,
                PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
                format!("row group {} of table \"{table}\" cannot be read: {error}", self.id)
            );
        }
        self.corrupt(rel, column, &error.to_string())
    }
}

/// Name of a column for messages.
fn column_name(rel: pg_sys::Relation, index: usize) -> String {
    // SAFETY: the relation is open; the index is checked against its attributes.
    unsafe {
        let desc = (*rel).rd_att;
        if index < (*desc).natts as usize {
            let att = ports::TupleDescAttr(desc, index);
            let name = core::ffi::CStr::from_ptr((*att).attname.data.as_ptr());
            return format!("\"{}\"", name.to_string_lossy());
        }
    }
    format!("number {}", index + 1)
}
