//! Opens groups: which of their morsels are read, and in what order of pages, so that a stream can read them ahead.
//!
//! The next group is opened before its turn while pages come from disk, so that reading ahead does not stop between groups.
//! Where they are in buffers, there is nothing to read ahead.

use super::{Columns, Counts, MORSEL_ROWS, OpenGroup, Opened, Part, Reader};
use crate::am::group::Group;
use crate::am::scan::{Unit, rows};
use crate::exec::blooms::GroupBlooms;
use crate::exec::metadata;
use crate::ports::read_stream;
use columnar_exec::prune::ColumnBounds;
use columnar_exec::stored::StoredBatch;
use columnar_format::Encoding;
use core::cell::RefCell;
use core::ops::Range;
use std::rc::Rc;

/// Planned blocks to have beyond the current morsel at least, while pages come from disk.
const LEAST_AHEAD: u64 = 64;
/// Most groups that are opened ahead of one morsel.
const MOST_OPENED: usize = 16;

/// A group whose turn comes.
pub struct Next {
    /// What opening it counted.
    counts: Counts,
    /// `None` if nothing is read of it.
    open: Option<OpenGroup>,
}

impl Next {
    /// Rows of the group, if it is read.
    pub fn rows(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.opened.group.rows().into())
    }
}

impl Reader {
    /// Decides which morsels of a group are read and adds their pages to the plan of the stream.
    pub(super) fn open_group(&mut self, group: Rc<Group>) -> Next {
        let mut next = Next { counts: Counts::default(), open: None };
        let columns: Vec<_> =
            self.requests.iter().map(|request| group.column(self.rel, request.attribute)).collect();
        let dictionaries = RefCell::new(vec![None; columns.len()]);
        let opened = Opened { group, columns, dictionaries };
        if self.excludes_group(&opened) {
            next.counts.groups_skipped += 1;
            return next;
        }
        let blooms = GroupBlooms::new(opened.columns.len());
        let skipped = self.is_pruned_by_blooms(&self.chunk_bounds(&opened), &opened, &blooms, None);
        next.counts.bytes += blooms.take_bytes();
        if skipped {
            next.counts.groups_skipped_bloom += 1;
            return next;
        }
        let group = &opened.group;
        let mut visible = Vec::new();
        // SAFETY: the group belongs to the open relation; the snapshot is alive.
        let all = unsafe {
            rows::all_visible(self.rel, group, self.snapshot) || {
                rows::visible(self.rel, group, 0, group.rows(), self.snapshot, &mut visible);
                visible.len() == group.rows() as usize
            }
        };
        let rows = if all { u64::from(group.rows()) } else { visible.len() as u64 };
        if rows == 0 {
            return next;
        }
        let chunk = |column: usize| Some(metadata::of_chunk(opened.columns[column].as_ref()?));
        if self.answer(rows, &chunk) {
            next.counts.groups_answered += 1;
            return next;
        }
        next.counts.group_rows += rows;
        let mut cuts: Vec<u32> = opened
            .columns
            .iter()
            .flatten()
            .flat_map(|column| column.starts.iter().copied())
            .collect();
        if cuts.is_empty() {
            cuts.extend((0..group.rows()).step_by(MORSEL_ROWS));
        }
        cuts.push(group.rows());
        cuts.sort_unstable();
        cuts.dedup();
        next.counts.vectors += cuts.len() as u64 - 1;
        let visible = (!all).then_some(visible);
        let parts = self.parts(&opened, &blooms, (&cuts, visible.as_deref()), &mut next.counts);
        let mut open =
            OpenGroup { opened: Rc::new(opened), visible, parts: parts.into(), eager: false };
        self.plan(&mut open);
        next.open = Some(open);
        next
    }

    /// The morsels of a group that neither zone maps nor Bloom filters exclude and metadata does not answer for.
    fn parts(
        &mut self,
        opened: &Opened,
        blooms: &GroupBlooms,
        (cuts, visible): (&[u32], Option<&[u32]>),
        counts: &mut Counts,
    ) -> Vec<Part> {
        let mut parts = Vec::with_capacity(cuts.len());
        let mut before = 0;
        for cut in cuts.windows(2) {
            let (start, end) = (cut[0], cut[1]);
            let from = before;
            if let Some(visible) = visible {
                before += visible[from..].partition_point(|&row| row < end);
                if from == before {
                    continue;
                }
            }
            if self.excluded(opened, start) {
                counts.vectors_skipped += 1;
                continue;
            }
            let bounds = self.vector_bounds(opened, start);
            let skipped = self.is_pruned_by_blooms(&bounds, opened, blooms, Some(start));
            drop(bounds);
            counts.bytes += blooms.take_bytes();
            if skipped {
                counts.vectors_skipped_bloom += 1;
                continue;
            }
            if self.summaries.is_some() {
                let rows = visible.map_or(u64::from(end - start), |_| (before - from) as u64);
                let vector = |column: usize| {
                    Some(metadata::of_vector(opened.columns[column].as_ref()?, start))
                };
                if self.answer(rows, &vector) {
                    counts.vectors_answered += 1;
                    continue;
                }
            }
            parts.push(Part { rows: start..end, visible: from..before, pages: 0..0 });
        }
        parts
    }

    /// Makes a group the current one.
    pub(super) fn enter(&mut self, next: Next) {
        let Next { mut counts, mut open } = next;
        if let Some(group) = &open
            && self.has_bound()
            && self.excludes_group(&group.opened)
        {
            counts = Counts { groups_skipped: 1, ..Counts::default() };
            open = None;
        }
        self.counts.add(&counts);
        self.group = open;
    }

    /// Whether zone maps of the chunks exclude all rows of a group.
    fn excludes_group(&self, opened: &Opened) -> bool {
        self.is_pruned(&self.chunk_bounds(opened))
    }

    /// Bounds of the columns in a group.
    fn chunk_bounds<'a>(
        &'a self,
        opened: &'a Opened,
    ) -> impl Fn(usize) -> Option<ColumnBounds> + 'a {
        |at| self.bounds(opened.columns[at].as_deref().map(metadata::of_chunk), at)
    }

    /// Whether a top N has told what cannot be among its rows any more.
    pub(super) fn has_bound(&self) -> bool {
        self.pipeline.as_ref().is_some_and(|pipeline| pipeline.bound_filter().is_some())
    }

    /// Adds the pages of a group's morsels to the plan of the stream, in the order in which they are read.
    fn plan(&mut self, open: &mut OpenGroup) {
        open.eager = !self.second.is_empty() && !self.is_lazy();
        let opened = &open.opened;
        let dictionaries = opened.dictionaries.borrow();
        let mut known: Vec<bool> = dictionaries.iter().map(Option::is_some).collect();
        let none: &[usize] = &[];
        let second = if open.eager { &self.second } else { none };
        for part in &mut open.parts {
            let begin = self.stream.end();
            for &at in self.first.iter().chain(second) {
                for blocks in sections(opened, at, part.rows.start, &mut known) {
                    blocks.for_each(|block| self.stream.push(block));
                }
            }
            part.pages = begin..self.stream.end();
        }
    }

    /// Sees to it that enough is planned beyond a morsel, which is about to be brought. Gives its pages.
    pub(super) fn read_ahead(&mut self, part: Part, lazy: bool) -> Range<u64> {
        let mut pages = part.pages.clone();
        let eager = !lazy && !self.second.is_empty();
        if self.group.as_ref().is_some_and(|open| open.eager != eager) {
            pages = self.plan_again(part);
        }
        let missed = read_stream::pages_missed();
        self.cold = missed != self.missed;
        self.missed = missed;
        // What other processes could read is not claimed before its turn.
        if !self.cold || self.is_shared() {
            return pages;
        }
        let wanted = (self.stream.in_flight() * 2).max(LEAST_AHEAD);
        for _ in 0..MOST_OPENED {
            if self.stream.end() - pages.end >= wanted {
                break;
            }
            let Some(Unit::Group(group)) = self.units.front() else { break };
            let group = Rc::clone(group);
            self.units.pop_front();
            let next = self.open_group(group);
            self.ahead.push_back(next);
        }
        pages
    }

    /// Plans anew from a morsel on: the second columns are read at once from now on, or not any more.
    fn plan_again(&mut self, part: Part) -> Range<u64> {
        self.stream.clear();
        let mut pages = part.pages.clone();
        if let Some(mut open) = self.group.take() {
            open.parts.push_front(part);
            self.plan(&mut open);
            pages = open.parts.pop_front().map_or(pages, |part| part.pages);
            self.group = Some(open);
        }
        let mut ahead = core::mem::take(&mut self.ahead);
        for open in ahead.iter_mut().filter_map(|next| next.open.as_mut()) {
            self.plan(open);
        }
        self.ahead = ahead;
        pages
    }

    /// Brings the second columns of a morsel of which rows have passed the filters.
    pub(super) fn bring_late(&mut self, opened: &Opened, start: u32, batch: &mut StoredBatch) {
        let missed = read_stream::pages_missed();
        if self.late_cold {
            let dictionaries = opened.dictionaries.borrow();
            let mut known: Vec<bool> = dictionaries.iter().map(Option::is_some).collect();
            for &at in &self.second {
                for blocks in sections(opened, at, start, &mut known) {
                    blocks.for_each(|block| self.late.push(block));
                }
            }
        }
        self.bring(opened, start, Columns::Late, batch);
        self.late.clear();
        self.late_cold = missed != read_stream::pages_missed();
    }
}

/// Blocks of what is read of a column for a morsel: its dictionary, if it is not `known` yet, and a vector.
fn sections(
    opened: &Opened,
    at: usize,
    start: u32,
    known: &mut [bool],
) -> impl Iterator<Item = Range<u32>> {
    let mut dictionary = None;
    let mut vector = None;
    if let Some(column) = &opened.columns[at] {
        let meta = &column.meta.vectors[column.locate(start).0];
        let group = &opened.group;
        if meta.encoding == Encoding::Dictionary
            && !known[at]
            && let Some(stored) = &column.meta.dictionary
        {
            known[at] = true;
            dictionary = Some(group.section_blocks(column, stored.offset, stored.len));
        }
        vector = Some(group.section_blocks(column, meta.section.offset, meta.section.len));
    }
    dictionary.into_iter().chain(vector)
}
