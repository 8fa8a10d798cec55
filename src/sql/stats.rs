//! `pgcolumnar.stats`: a row for each entry of a table's directory and each run of other pages. The pages of all rows
//! together are the table's main fork.

use super::pages::{self, Run};
use super::rowset::{Field, Rowset};
use super::target::Target;
use crate::am::group::visibility::{self, InsertStatus};
use crate::am::group::{Group, cache};
use crate::am::scan::analyze::{Liveness, judge};
use crate::am::storage::directory::{Entry, EntryKind};
use crate::am::storage::page::{self, PageKind};
use crate::am::tid;
use crate::ports::{self, BLCKSZ};
use core::ops::Range;
use pgrx::pg_sys;

/// Columns of the result.
type Rows = Rowset<10>;

/// `stats("table")`.
///
/// # Safety
/// `fcinfo` is that of the running call.
pub unsafe fn stats(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the relation is open while its storage is read.
    unsafe {
        let target = Target::open_to_inspect(fcinfo);
        let rows = Rows::begin(fcinfo);
        let rel = target.rel();
        if let Some(directory) = cache::open(rel) {
            let oldest_xmin = pg_sys::GetOldestNonRemovableTransactionId(rel);
            for (slot, entry) in &directory.directory.entries {
                if entry.is(EntryKind::Columns) || entry.is(EntryKind::Merging) {
                    put_group(&rows, rel, &Group::new(*slot, *entry), oldest_xmin);
                } else {
                    put_entry(&rows, entry);
                }
            }
            let survey = pages::survey(rel, &directory.directory);
            for run in &survey.rows {
                put_run(&rows, rel, "ROWS", run);
            }
            for run in &survey.unlisted {
                put_run(&rows, rel, "UNLISTED", run);
            }
            put_run(&rows, rel, "METADATA", &Run { pages: survey.metadata, ..Run::default() });
        }
        rows.end()
    }
}

unsafe fn put_group(
    rows: &Rows,
    rel: pg_sys::Relation,
    group: &Group,
    oldest_xmin: pg_sys::TransactionId,
) {
    // SAFETY: the group is of the open relation; its runs and marks are read before they are counted.
    unsafe {
        group.refresh(rel);
        let ranges = scanned_rows(rel, group);
        let (live, dead) = count(rel, group, &ranges, oldest_xmin);
        let entry = &group.entry;
        let first = ranges.first().and_then(|range| group.tid_of(rel, range.start));
        let pages = i64::from(entry.extent_pages) + i64::from(entry.tid_map_pages);
        rows.put([
            Field::Int(group.id.into()),
            Field::str(if entry.is(EntryKind::Merging) { "MERGING" } else { "COLUMNS" }),
            first.map_or(Field::Null, Field::Tid),
            Field::BigInt(entry.rows.into()),
            Field::BigInt(live),
            Field::BigInt(dead),
            Field::BigInt(pages),
            Field::BigInt(i64::from(entry.bytes) + i64::from(entry.tid_map_bytes)),
            Field::Int(group.runs().len() as i64),
            Field::Int(group.mark_count() as i64),
        ]);
    }
}

/// The rows of a group that a scan finds there: those with a TID, and, while VACUUM fills the group, those whose row page
/// has been moved.
unsafe fn scanned_rows(rel: pg_sys::Relation, group: &Group) -> Vec<Range<u32>> {
    // SAFETY: as `put_group`.
    unsafe {
        let Some(map) = group.tid_map(rel) else {
            return core::iter::once(0..group.rows()).collect();
        };
        let filling = group.entry.is(EntryKind::Merging);
        map.blocks
            .iter()
            .filter(|block| {
                !filling
                    || tid::physical_block(rel, block.block).is_none_or(|page| is_moved(rel, page))
            })
            .map(|block| block.first_row..block.first_row + block.offsets.len() as u32)
            .collect()
    }
}

unsafe fn is_moved(rel: pg_sys::Relation, block: u32) -> bool {
    // SAFETY: the page is pinned and share-locked while it is looked at; VACUUM truncates no page of a group it fills.
    unsafe {
        let buffer = pg_sys::ReadBuffer(rel, block);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let found = page::identify(ports::buffer_page(buffer));
        pg_sys::UnlockReleaseBuffer(buffer);
        found.is_some_and(|(kind, _)| kind == PageKind::Moved as u16)
    }
}

/// Live and dead rows among those of the ranges. A run is judged once, and each row with a mark by itself.
unsafe fn count(
    rel: pg_sys::Relation,
    group: &Group,
    ranges: &[Range<u32>],
    oldest_xmin: pg_sys::TransactionId,
) -> (i64, i64) {
    let (mut live, mut dead) = (0, 0);
    for run in group.runs() {
        let status = visibility::status(run.xid);
        for range in ranges {
            let (low, high) = (run.first.max(range.start), (run.first + run.rows).min(range.end));
            if low >= high {
                continue;
            }
            match status {
                InsertStatus::InProgress => continue,
                InsertStatus::Aborted => {
                    dead += i64::from(high - low);
                    continue;
                }
                InsertStatus::Committed | InsertStatus::Own => {}
            }
            let marks = group.marks_in(low, high - low);
            live += i64::from(high - low) - marks.len() as i64;
            for (row, _) in marks {
                pgrx::check_for_interrupts!();
                // SAFETY: the group's marks are read.
                match unsafe { judge(rel, group, row, oldest_xmin) } {
                    Liveness::Live => live += 1,
                    Liveness::Dead => dead += 1,
                    Liveness::Uncounted => {}
                }
            }
        }
    }
    (live, dead)
}

/// Reserved row numbers, which have no pages yet, or a free extent.
fn put_entry(rows: &Rows, entry: &Entry) {
    let reserved = entry.is(EntryKind::Reserved);
    let pages = i64::from(entry.extent_pages);
    rows.put([
        if reserved { Field::Int(entry.group.into()) } else { Field::Null },
        Field::str(if reserved { "RESERVED" } else { "FREE" }),
        if reserved { Field::Tid(tid::of_row(entry.first_row())) } else { Field::Null },
        Field::Null,
        Field::Null,
        Field::Null,
        Field::BigInt(pages),
        Field::BigInt(pages * BLCKSZ as i64),
        Field::Null,
        Field::Null,
    ]);
}

fn put_run(rows: &Rows, rel: pg_sys::Relation, kind: &str, run: &Run) {
    let of_rows = |field| if kind == "ROWS" { field } else { Field::Null };
    let first = tid::item_pointer(tid::external_block(rel, run.first), 1);
    rows.put([
        Field::Null,
        Field::str(kind),
        of_rows(Field::Tid(first)),
        of_rows(Field::BigInt(run.tuples as i64)),
        of_rows(Field::BigInt(run.live as i64)),
        of_rows(Field::BigInt(run.dead as i64)),
        Field::BigInt(run.pages.into()),
        Field::BigInt(i64::from(run.pages) * BLCKSZ as i64),
        Field::Null,
        Field::Null,
    ]);
}
