//! Reads a table as morsels, on the backend's thread: which rows are visible, and the stored bytes of the columns.
//!
//! A row group is cut where any of its columns' vectors ends, so that each morsel lies in one vector of every column. Rows
//! of row pages are taken from the access method's slots, some thousand to a morsel.
#![allow(unsafe_code)]

mod ahead;

use crate::am::group::{self, Group};
use crate::am::scan::{self, Scan, Unit};
use crate::am::slot;
use crate::am::storage::page_stream::PageStream;
use crate::ports;
use crate::ports::read_stream;
use columnar_exec::agg::Aggregator;
use columnar_exec::pipeline::{Morsel, Pipeline, Sink};
use columnar_exec::prune::{self, ColumnBounds};
use columnar_exec::stored::{ColumnKind, SharedDictionary, StoredBatch, StoredColumn};
use columnar_exec::summary::{Known, SummaryPlan};
use columnar_exec::{Column, Expr, Scalar};
use columnar_format::{Encoding, FormatError};
use core::cell::RefCell;
use core::ops::Range;
use pgrx::pg_sys;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use super::blooms::GroupBlooms;
use super::gather::Gather;
use super::metadata::{self, Metadata};
use ahead::Next;

/// Rows of row pages in one morsel.
const MORSEL_ROWS: usize = 8192;

/// A column that a pipeline reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Index of the attribute, from 0.
    pub attribute: usize,
    /// How its values are held.
    pub kind: ColumnKind,
}

/// Where the rows of a morsel came from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Rows of a group from this one on.
    Group(Rc<Group>, u32),
    /// External TIDs, one a row.
    Rows(Vec<pg_sys::ItemPointerData>),
}

/// Counters for EXPLAIN.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Row groups, those that zone maps excluded, those that only Bloom filters did, and those whose metadata told all that
    /// was asked.
    pub groups: u64,
    pub groups_skipped: u64,
    pub groups_skipped_bloom: u64,
    pub groups_answered: u64,
    /// Vectors' worth of rows in the groups that were read, those that zone maps excluded, those that only Bloom filters did,
    /// and those whose metadata told all that was asked.
    pub vectors: u64,
    pub vectors_skipped: u64,
    pub vectors_skipped_bloom: u64,
    pub vectors_answered: u64,
    /// Vectors of which the filters let no row pass, so that the other columns were not read.
    pub vectors_emptied: u64,
    /// Rows read from row pages.
    pub page_rows: u64,
    /// Visible rows read from groups.
    pub group_rows: u64,
    /// Bytes of column chunks that were copied from pages.
    pub bytes: u64,
}

impl Counts {
    /// Adds those of another scan of the same node.
    pub fn add(&mut self, other: &Self) {
        self.groups += other.groups;
        self.groups_skipped += other.groups_skipped;
        self.groups_skipped_bloom += other.groups_skipped_bloom;
        self.groups_answered += other.groups_answered;
        self.vectors += other.vectors;
        self.vectors_skipped += other.vectors_skipped;
        self.vectors_skipped_bloom += other.vectors_skipped_bloom;
        self.vectors_answered += other.vectors_answered;
        self.vectors_emptied += other.vectors_emptied;
        self.page_rows += other.page_rows;
        self.group_rows += other.group_rows;
        self.bytes += other.bytes;
    }
}

/// Reader of one table.
pub struct Reader {
    rel: pg_sys::Relation,
    scan: pg_sys::TableScanDesc,
    /// Shared with other processes that read parts of the table; null in a scan of one's own.
    shared: pg_sys::ParallelTableScanDesc,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
    requests: Vec<Request>,
    kinds: Arc<[ColumnKind]>,
    table_columns: Arc<[usize]>,
    /// What the rows are for.
    pipeline: Option<Arc<Pipeline>>,
    filters: Vec<Expr>,
    /// Those of the filters that Bloom filters may tell of.
    looked_up: Vec<usize>,
    params: Vec<Scalar>,
    /// Columns brought with every morsel, and those brought when rows have passed the filters.
    first: Vec<usize>,
    second: Vec<usize>,
    units: VecDeque<Unit>,
    group: Option<OpenGroup>,
    /// Groups that were opened so that their pages can be read ahead.
    ahead: VecDeque<Next>,
    /// Reads what morsels are brought with.
    stream: PageStream,
    /// Reads the second columns that are wanted later.
    late: PageStream,
    /// Whether pages were read from disk lately, for the stream and for `late`, and what tells it.
    cold: bool,
    late_cold: bool,
    missed: i64,
    pages_open: bool,
    sequence: u64,
    origins: HashMap<u64, Origin>,
    /// Whether `origins` is kept.
    keep_origins: bool,
    /// Morsels that were brought without the second columns.
    pending: HashMap<u64, Pending>,
    /// Morsels brought without the second columns, and those of them that wanted the second.
    tried: u64,
    wanted: u64,
    summaries: Option<Summaries>,
    pub counts: Counts,
}

/// What metadata told of rows that were therefore not read.
struct Summaries {
    plan: SummaryPlan,
    folded: Aggregator,
}

/// The columns of a group.
struct Opened {
    group: Rc<Group>,
    /// By request; `None` where the column is younger than the group.
    columns: Vec<Option<Rc<group::Column>>>,
    dictionaries: RefCell<Vec<Option<Arc<SharedDictionary>>>>,
}

/// A morsel that was brought without the second columns.
struct Pending {
    opened: Rc<Opened>,
    start: u32,
}

/// Which columns of a morsel are brought: the first, or the second, at once or when rows have passed the filters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    First,
    Second,
    Late,
}

/// A group that is being read.
struct OpenGroup {
    opened: Rc<Opened>,
    /// Visible rows, ascending; `None` where all are.
    visible: Option<Vec<u32>>,
    /// Its morsels, those left that are not known to be excluded or answered by metadata.
    parts: VecDeque<Part>,
    /// Whether the second columns of `parts` are in the plan of the stream.
    eager: bool,
}

/// A morsel to come.
struct Part {
    rows: Range<u32>,
    /// Its share of the visible rows.
    visible: Range<usize>,
    /// Its pages, as places in the plan of the stream.
    pages: Range<u64>,
}

impl Reader {
    /// Starts a scan; nothing is read yet. With the shared state of a parallel scan, which may be null, it reads what this
    /// process claims.
    ///
    /// # Safety
    /// `rel` stays open and `snapshot` registered until [`Reader::end`] or the end of the transaction; `shared` too.
    pub unsafe fn begin(
        rel: pg_sys::Relation,
        snapshot: pg_sys::Snapshot,
        shared: pg_sys::ParallelTableScanDesc,
        requests: Vec<Request>,
        keep_origins: bool,
    ) -> Self {
        use pg_sys::ScanOptions as Options;
        // SAFETY: as the caller's.
        let (scan, slot) = unsafe {
            let flags =
                Options::SO_TYPE_SEQSCAN | Options::SO_ALLOW_STRAT | Options::SO_ALLOW_PAGEMODE;
            let scan = scan::begin(rel, snapshot, 0, core::ptr::null_mut(), shared, flags);
            (scan, pg_sys::MakeSingleTupleTableSlot((*rel).rd_att, slot::ops()))
        };
        // SAFETY: as the caller's.
        let (stream, late) = unsafe { (PageStream::new(rel, false), PageStream::new(rel, true)) };
        let kinds = requests.iter().map(|request| request.kind).collect();
        let table_columns = requests.iter().map(|request| request.attribute).collect();
        let mut reader = Self {
            rel,
            scan,
            shared,
            snapshot,
            slot,
            requests,
            kinds,
            table_columns,
            pipeline: None,
            filters: Vec::new(),
            looked_up: Vec::new(),
            params: Vec::new(),
            first: Vec::new(),
            second: Vec::new(),
            units: VecDeque::new(),
            group: None,
            ahead: VecDeque::new(),
            stream,
            late,
            cold: false,
            late_cold: false,
            missed: read_stream::pages_missed(),
            pages_open: false,
            sequence: 0,
            origins: HashMap::new(),
            keep_origins,
            pending: HashMap::new(),
            tried: 0,
            wanted: 0,
            summaries: None,
            counts: Counts::default(),
        };
        reader.take_units();
        reader
    }

    fn take_units(&mut self) {
        // SAFETY: the scan is alive and nothing else refers to its state.
        self.units = unsafe { Scan::state(self.scan) }.take_units().into();
        self.close_groups();
        self.pages_open = false;
        self.counts.groups +=
            self.units.iter().filter(|u| matches!(u, Unit::Group(_))).count() as u64;
    }

    /// Says what filters the rows will meet, for zone maps and Bloom filters, and which columns are read before and after them.
    pub fn set_filters(
        &mut self,
        filters: Vec<Expr>,
        params: Vec<Scalar>,
        (first, second): (Vec<usize>, Vec<usize>),
    ) {
        (self.filters, self.params) = (filters, params);
        let looked_up = |at: &usize| prune::looks_up(&self.filters[*at]);
        self.looked_up = (0..self.filters.len()).filter(looked_up).collect();
        (self.first, self.second) = (first, second);
        if self.filters.is_empty() {
            self.first.append(&mut self.second);
        }
    }

    /// Says what the rows are for: of a top N, what is not among the first by its zone map is not read.
    pub fn follow(&mut self, pipeline: Arc<Pipeline>) {
        self.pipeline = Some(pipeline);
    }

    /// Whether zone maps say that no row passes the filters, or comes before those that are kept.
    fn is_pruned(&self, bounds: &dyn Fn(usize) -> Option<ColumnBounds>) -> bool {
        let excludes = |filter: &Expr| !prune::may_match(filter, bounds, &self.params);
        let bound = self.pipeline.as_ref().and_then(|pipeline| pipeline.bound_filter());
        self.filters.iter().any(excludes) || bound.as_ref().is_some_and(excludes)
    }

    /// Whether Bloom filters of a group's chunks, or of the vectors that hold a row, say that no row passes the filters where
    /// zone maps do not.
    fn is_pruned_by_blooms(
        &self,
        bounds: &dyn Fn(usize) -> Option<ColumnBounds>,
        opened: &Opened,
        blooms: &GroupBlooms,
        row: Option<u32>,
    ) -> bool {
        let holds = |at: usize, value: &Scalar| {
            // Of a column younger than its group, zone maps tell all.
            opened.columns[at].as_ref().is_none_or(|column| {
                let request = (at, self.requests[at].attribute, self.kinds[at]);
                blooms.may_hold(self.rel, &opened.group, request, column, row, value)
            })
        };
        self.looked_up.iter().any(|&filter| {
            let filter = &self.filters[filter];
            !prune::may_match_with_blooms(filter, bounds, &holds, &self.params)
        })
    }

    /// Lets metadata answer for rows where it can, for a pipeline that allows it. The rows it answers for are not handed out.
    pub fn set_summaries(&mut self, pipeline: &Pipeline) {
        self.summaries = match (&pipeline.sink, SummaryPlan::of(pipeline)) {
            (Sink::Aggregate { sets, .. }, Some(plan)) => {
                Some(Summaries { plan, folded: Aggregator::new(Arc::clone(&sets[0].spec)) })
            }
            _ => None,
        };
        if self.summaries.is_some() {
            // Groups first: whether there is work for threads is seen when the first rows are handed out.
            self.units.make_contiguous().sort_by_key(|unit| matches!(unit, Unit::Pages { .. }));
        }
    }

    /// What metadata answered, if it was asked.
    pub fn take_summaries(&mut self) -> Option<Aggregator> {
        self.summaries.take().map(|summaries| summaries.folded)
    }

    /// Starts over, with the filters to be set again.
    pub fn restart(&mut self) {
        // SAFETY: the scan is alive.
        unsafe { scan::rescan(self.scan, core::ptr::null_mut(), false, false, false) };
        self.take_units();
        self.summaries = None;
    }

    /// Lets go of what it holds until it is started over.
    pub fn pause(&mut self) {
        // SAFETY: the slot is the reader's own, and the scan is alive.
        unsafe {
            pg_sys::ExecClearTuple(self.slot);
            Scan::state(self.scan).release();
        }
        self.units.clear();
        self.close_groups();
        self.pages_open = false;
        self.origins.clear();
        self.pending.clear();
        self.pipeline = None;
        (self.tried, self.wanted) = (0, 0);
    }

    fn close_groups(&mut self) {
        self.group = None;
        self.ahead.clear();
        self.stream.clear();
        self.late.clear();
    }

    /// Ends the scan.
    pub fn end(mut self) {
        self.stream.finish();
        self.late.finish();
        // SAFETY: both were made by `begin`.
        unsafe {
            scan::end(self.scan);
            pg_sys::ExecDropSingleTupleTableSlot(self.slot);
        }
    }

    /// Column kinds, by request.
    pub fn kinds(&self) -> (Arc<[ColumnKind]>, Arc<[usize]>) {
        (Arc::clone(&self.kinds), Arc::clone(&self.table_columns))
    }

    /// Whether other processes read parts of the table.
    pub fn is_shared(&self) -> bool {
        !self.shared.is_null()
    }

    /// Rows of the groups that are still to be read, that which is being read among them.
    pub fn rows_left(&self) -> u64 {
        let open = self.group.as_ref().map_or(0, |open| open.opened.group.rows().into());
        let ahead: u64 = self.ahead.iter().map(Next::rows).sum();
        open + ahead + self.units.iter().map(Unit::group_rows).sum::<u64>()
    }

    /// The sequence number of the next morsel.
    pub fn next_sequence(&self) -> u64 {
        self.sequence
    }

    /// Raises the ERROR for stored bytes of a column that are damaged.
    pub fn damaged(&self, group: u32, attribute: usize, error: &FormatError) -> ! {
        super::error::damaged(self.rel, group, attribute, error)
    }

    /// Forgets where a morsel's rows came from.
    pub fn forget(&mut self, sequence: u64) {
        self.origins.remove(&sequence);
    }

    /// The TID of a row of a morsel whose origin is kept.
    pub fn tid(&self, sequence: u64, place: u32) -> Option<pg_sys::ItemPointerData> {
        match self.origins.get(&sequence)? {
            // SAFETY: the group belongs to the open relation.
            Origin::Group(group, first) => unsafe { group.tid_of(self.rel, first + place) },
            Origin::Rows(tids) => tids.get(place as usize).copied(),
        }
    }

    /// The next morsel.
    pub fn next_morsel(&mut self) -> Option<Morsel> {
        loop {
            pgrx::check_for_interrupts!();
            if self.group.is_some() {
                if let Some(morsel) = self.next_of_group() {
                    return Some(morsel);
                }
                self.group = None;
            } else if self.pages_open {
                if let Some(morsel) = self.next_of_pages() {
                    return Some(morsel);
                }
                self.pages_open = false;
            }
            if let Some(next) = self.ahead.pop_front() {
                self.enter(next);
                continue;
            }
            match self.next_unit()? {
                Unit::Group(group) => {
                    let next = self.open_group(group);
                    self.enter(next);
                }
                pages @ Unit::Pages { .. } => {
                    // SAFETY: the scan is alive and nothing else refers to its state.
                    unsafe { Scan::state(self.scan) }.set_unit(pages);
                    self.pages_open = true;
                }
            }
        }
    }

    fn next_unit(&mut self) -> Option<Unit> {
        if self.shared.is_null() {
            return self.units.pop_front();
        }
        // SAFETY: the scan is alive and began with this state.
        let unit = unsafe { Scan::state(self.scan).claim_unit(self.shared) };
        self.counts.groups += u64::from(matches!(unit, Some(Unit::Group(_))));
        unit
    }

    fn next_of_group(&mut self) -> Option<Morsel> {
        loop {
            let open = self.group.as_mut()?;
            let part = open.parts.pop_front()?;
            let opened = open.opened.clone();
            let Range { start, end } = part.rows;
            let of_visible = |visible: &Vec<u32>| -> Vec<u32> {
                visible[part.visible.clone()].iter().map(|row| row - start).collect()
            };
            let selection = open.visible.as_ref().map(of_visible);
            if self.has_bound() && self.excluded(&opened, start) {
                self.counts.vectors_skipped += 1;
                continue;
            }
            let rows = (end - start) as usize;
            let selection = selection.filter(|selection| selection.len() < rows);
            let lazy = self.is_lazy();
            let pages = self.read_ahead(part, lazy);
            // SAFETY: no page is locked between sections.
            unsafe { self.stream.seek(pages.start) };
            let mut batch = StoredBatch {
                group: opened.group.id,
                rows,
                columns: self.requests.iter().map(|_| StoredColumn::Absent).collect(),
                kinds: Arc::clone(&self.kinds),
                table_columns: Arc::clone(&self.table_columns),
            };
            self.bring(&opened, start, Columns::First, &mut batch);
            if !lazy {
                self.bring(&opened, start, Columns::Second, &mut batch);
            }
            let sequence = self.sequence;
            self.sequence += 1;
            if self.keep_origins {
                self.origins.insert(sequence, Origin::Group(opened.group.clone(), start));
            }
            if lazy {
                self.tried += 1;
                self.pending.insert(sequence, Pending { opened, start });
            }
            return Some(Morsel {
                sequence,
                batch,
                selection,
                filtered: false,
                complete: !lazy,
                unfiltered: false,
            });
        }
    }

    /// Whether zone maps of the vectors that begin at or before a row exclude all rows of a morsel.
    fn excluded(&self, opened: &Opened, start: u32) -> bool {
        self.is_pruned(&self.vector_bounds(opened, start))
    }

    /// Bounds of the columns in the vectors that hold a row.
    fn vector_bounds<'a>(
        &'a self,
        opened: &'a Opened,
        start: u32,
    ) -> impl Fn(usize) -> Option<ColumnBounds> + 'a {
        let vector = move |column| metadata::of_vector(column, start);
        move |at| self.bounds(opened.columns[at].as_deref().map(vector), at)
    }

    /// Bounds of a column in a chunk or vector; one that is younger than its group has its default everywhere.
    fn bounds(&self, metadata: Option<Metadata<'_>>, column: usize) -> Option<ColumnBounds> {
        let kind = self.kinds[column];
        match metadata {
            Some(metadata) => Some(metadata.bounds(kind)),
            None => metadata::bounds_of_value(&missing(self.rel, self.requests[column]), kind),
        }
    }

    /// Takes in so many visible rows by what `metadata` tells of the chunks or vectors they are of; false if it does not
    /// tell enough. Columns younger than the group have none.
    fn answer<'a>(&mut self, rows: u64, metadata: &dyn Fn(usize) -> Option<Metadata<'a>>) -> bool {
        let Some(Summaries { plan, .. }) = &self.summaries else { return false };
        let known = |column: usize| match metadata(column) {
            Some(metadata) => Some(Known::Stored(metadata.summary(rows))),
            None => Some(Known::Constant(missing(self.rel, self.requests[column]))),
        };
        let Some(summaries) = plan.answer(rows, &known) else { return false };
        let bounds = |column: usize| self.bounds(metadata(column), column);
        if !self.filters.iter().all(|f| prune::always_true(f, &bounds, &self.params)) {
            return false;
        }
        if let Some(Summaries { folded, .. }) = &mut self.summaries
            && let Err(error) = folded.fold_summary(&summaries)
        {
            super::error::raise(self, &error);
        }
        true
    }

    /// Whether the second columns of a morsel are read when rows have passed the filters only.
    fn is_lazy(&self) -> bool {
        !self.second.is_empty() && self.wanted * 2 <= self.tried
    }

    /// Copies the stored bytes of the first or the second columns into a batch.
    fn bring(&mut self, opened: &Opened, start: u32, columns: Columns, batch: &mut StoredBatch) {
        let (wanted, stream) = match columns {
            Columns::First => (&self.first, &mut self.stream),
            Columns::Second => (&self.second, &mut self.stream),
            Columns::Late => (&self.second, &mut self.late),
        };
        for &at in wanted {
            let attribute = self.requests[at].attribute;
            let Some(column) = &opened.columns[at] else {
                let value = missing(self.rel, self.requests[at]);
                batch.columns[at] = StoredColumn::Ready(Column::constant(value, batch.rows));
                continue;
            };
            let (vector, first) = column.locate(start);
            let meta = column.meta.vectors[vector].clone();
            let section = meta.section;
            let group = &opened.group;
            let mut read = |offset, len| {
                let bytes =
                    group.section(self.rel, attribute, column, (offset, len), Some(&mut *stream));
                self.counts.bytes += bytes.len() as u64;
                bytes
            };
            let dictionary = (meta.encoding == Encoding::Dictionary)
                .then(|| column.meta.dictionary.as_ref())
                .flatten()
                .map(|stored| {
                    let mut dictionaries = opened.dictionaries.borrow_mut();
                    let shared = dictionaries[at].get_or_insert_with(|| {
                        let bytes = read(stored.offset, stored.len);
                        Arc::new(SharedDictionary::new(column.meta.spec, *stored, bytes))
                    });
                    Arc::clone(shared)
                });
            let bytes = read(section.offset, section.len);
            batch.columns[at] =
                StoredColumn::Vector { spec: column.meta.spec, meta, bytes, dictionary, first };
        }
    }

    /// Brings the second columns of a morsel of which rows have passed the filters.
    pub fn complete(&mut self, morsel: &mut Morsel) {
        if let Some(Pending { opened, start }) = self.pending.remove(&morsel.sequence) {
            self.wanted += 1;
            self.bring_late(&opened, start, &mut morsel.batch);
        }
        morsel.complete = true;
    }

    /// Notes that a morsel is done with.
    pub fn done(&mut self, sequence: u64) {
        if self.pending.remove(&sequence).is_some() {
            self.counts.vectors_emptied += 1;
        }
    }

    /// Rows of row pages as columns.
    fn next_of_pages(&mut self) -> Option<Morsel> {
        let mut gather = Gather::new(&self.requests);
        let mut tids = Vec::new();
        // SAFETY: the scan, its relation and the slot are alive; values of a slot are good until it is filled again.
        unsafe {
            let desc = (*self.rel).rd_att;
            while gather.rows() < MORSEL_ROWS && !gather.is_full() {
                if !scan::next_of_unit(self.scan, self.slot) {
                    // Asked again, the scan would begin anew.
                    self.pages_open = false;
                    break;
                }
                gather.push(desc, self.slot);
                if self.keep_origins {
                    tids.push((*self.slot).tts_tid);
                }
            }
        }
        if gather.rows() == 0 {
            return None;
        }
        self.counts.page_rows += gather.rows() as u64;
        let sequence = self.sequence;
        self.sequence += 1;
        if self.keep_origins {
            self.origins.insert(sequence, Origin::Rows(tids));
        }
        let (rows, columns) = gather.finish();
        let batch = StoredBatch {
            group: 0,
            rows,
            columns: columns.into_iter().map(StoredColumn::Ready).collect(),
            kinds: Arc::clone(&self.kinds),
            table_columns: Arc::clone(&self.table_columns),
        };
        Some(Morsel {
            sequence,
            batch,
            selection: None,
            filtered: false,
            complete: true,
            unfiltered: false,
        })
    }
}

/// The default of a column that was added after a group was written.
fn missing(rel: pg_sys::Relation, request: Request) -> Scalar {
    // SAFETY: the attribute is one of the relation's.
    unsafe {
        let desc = (*rel).rd_att;
        let mut is_null = true;
        let datum = pg_sys::getmissingattr(desc, request.attribute as i32 + 1, &raw mut is_null);
        let attribute = &*ports::TupleDescAttr(desc, request.attribute);
        super::gather::scalar(attribute.attlen, request.kind, datum, is_null)
    }
}
