//! Which rows of a group a snapshot sees: insert runs, then marks.

use super::pages;
use crate::am::group::marks::Mark;
use crate::am::group::{Group, visibility};
use crate::am::{heap, tid};
use crate::ports;
use pgrx::pg_sys;
use std::rc::Rc;

/// Appends the rows of `first .. first + count` that the snapshot sees.
///
/// # Safety
/// `rel` is the group's open relation and `snapshot` alive.
pub unsafe fn visible(
    rel: pg_sys::Relation,
    group: &Rc<Group>,
    first: u32,
    count: u32,
    snapshot: pg_sys::Snapshot,
    rows: &mut Vec<u32>,
) {
    // SAFETY: as the caller's.
    unsafe { visible_with_xmax(rel, group, first, count, snapshot, rows, &mut Vec::new()) }
}

/// Whether the snapshot sees all rows of a group, none of which is deleted, updated or locked by any transaction. Where it
/// does not, [`visible`] tells which rows it sees.
///
/// # Safety
/// As [`visible`].
pub unsafe fn all_visible(
    rel: pg_sys::Relation,
    group: &Rc<Group>,
    snapshot: pg_sys::Snapshot,
) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        group.refresh(rel);
        group.mark_count() == 0
            && group.runs().iter().all(|run| visibility::sees(rel, run, snapshot))
            && group.tid_map(rel).is_none_or(|map| map.rows() == group.rows() as usize)
    }
}

/// As [`visible`]; also tells the xmax of the rows that have a stub, in the order of the rows.
///
/// # Safety
/// As [`visible`].
#[allow(clippy::too_many_arguments)]
pub unsafe fn visible_with_xmax(
    rel: pg_sys::Relation,
    group: &Rc<Group>,
    first: u32,
    count: u32,
    snapshot: pg_sys::Snapshot,
    rows: &mut Vec<u32>,
    xmaxes: &mut Vec<(u32, pg_sys::TransactionId)>,
) {
    let end = first.saturating_add(count).min(group.rows());
    // SAFETY: as the caller's.
    unsafe {
        group.refresh(rel);
        for run in group.runs() {
            let (low, high) = (run.first.max(first), (run.first + run.rows).min(end));
            if low < high && visibility::sees(rel, &run, snapshot) {
                rows.extend(low..high);
            }
        }
        if let Some(map) = group.tid_map(rel) {
            rows.retain(|&row| map.tid(row).is_some());
        }
        let marks = group.marks_in(first, end - first);
        if !marks.is_empty() {
            let mut stubs = StubReader::new(rel, snapshot);
            let mut hidden = Vec::new();
            for (row, mark) in marks {
                match stubs.visible(mark) {
                    Some(xmax) => xmaxes.push((row, xmax)),
                    None => hidden.push(row),
                }
            }
            rows.retain(|row| hidden.binary_search(row).is_err());
        }
    }
}

/// The rows of `first .. first + count` of which the snapshot sees a version under the row's TID: the row itself, or the
/// member of its stub's HOT chain at a physical TID. In the order of the rows.
///
/// # Safety
/// As [`visible`].
pub unsafe fn versions(
    rel: pg_sys::Relation,
    group: &Rc<Group>,
    first: u32,
    count: u32,
    snapshot: pg_sys::Snapshot,
) -> Vec<(u32, Option<pg_sys::ItemPointerData>)> {
    // SAFETY: as the caller's; the page of a stub is pinned and share-locked while its chain is searched.
    unsafe {
        let mut rows = Vec::new();
        visible(rel, group, first, count, snapshot, &mut rows);
        let mut found: Vec<_> = rows.iter().map(|&row| (row, None)).collect();
        for (row, mark) in group.marks_in(first, count) {
            let Mark::Stub { block, offset } = mark else { continue };
            if rows.binary_search(&row).is_ok() || !visibility::sees(rel, &group.run(row), snapshot)
            {
                continue;
            }
            let buffer = pg_sys::ReadBuffer(rel, block);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let start = tid::item_pointer(block, offset);
            let member = super::bitmap::search_chain(rel, buffer, start, snapshot);
            pg_sys::UnlockReleaseBuffer(buffer);
            if member.is_some() {
                found.push((row, member));
            }
        }
        found.sort_by_key(|(row, _)| *row);
        found
    }
}

/// Judges stubs, keeping the page of the last one pinned.
#[derive(Debug)]
pub struct StubReader {
    rel: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    buffer: pg_sys::Buffer,
    block: u32,
}

impl StubReader {
    /// # Safety
    /// `rel` stays open and `snapshot` alive.
    pub unsafe fn new(rel: pg_sys::Relation, snapshot: pg_sys::Snapshot) -> Self {
        Self { rel, snapshot, buffer: pg_sys::InvalidBuffer as i32, block: 0 }
    }

    /// The xmax of a mark's row, if the row is still there for the snapshot.
    pub fn visible(&mut self, mark: Mark) -> Option<pg_sys::TransactionId> {
        let Mark::Stub { block, offset } = mark else { return None };
        // SAFETY: the page is pinned and share-locked while the stub is judged.
        unsafe {
            if self.buffer == pg_sys::InvalidBuffer as i32 || self.block != block {
                self.release();
                self.buffer = pg_sys::ReadBuffer(self.rel, block);
                self.block = block;
            }
            pg_sys::LockBuffer(self.buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let page = ports::buffer_page(self.buffer);
            let mut visible = None;
            if offset <= heap::max_offset(page)
                && heap::line_pointer_flags(page, offset) == pg_sys::LP_NORMAL
            {
                let mut tuple = heap::tuple_at(self.rel, page, block, offset);
                if pages::is_stub(tuple.t_data) {
                    let sees = pg_sys::HeapTupleSatisfiesVisibility(
                        &raw mut tuple,
                        self.snapshot,
                        self.buffer,
                    );
                    visible = sees.then(|| (*tuple.t_data).t_choice.t_heap.t_xmax);
                    if pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 {
                        pg_sys::HeapCheckForSerializableConflictOut(
                            sees,
                            self.rel,
                            &raw mut tuple,
                            self.buffer,
                            self.snapshot,
                        );
                    }
                }
            }
            pg_sys::LockBuffer(self.buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
            visible
        }
    }

    fn release(&mut self) {
        if self.buffer != pg_sys::InvalidBuffer as i32 {
            // SAFETY: the pin is ours.
            unsafe { pg_sys::ReleaseBuffer(self.buffer) };
            self.buffer = pg_sys::InvalidBuffer as i32;
        }
    }
}

impl Drop for StubReader {
    fn drop(&mut self) {
        // While unwinding, the transaction's end releases the pin.
        if !std::thread::panicking() {
            self.release();
        }
    }
}
