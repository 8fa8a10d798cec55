//! Sizes for the planner.
//!
//! Core's scans over row groups decode and form every row that heap would read, so a group counts as the pages its rows
//! would take on row pages. Few pages on disk would make sequential scans look nearly free beside index scans.

use super::group::cache;
use super::storage::extent;
use super::{heap, write};
use crate::ports::{BLCKSZ, PAGE_HEADER};
use pgrx::pg_sys;

/// Bytes of a tuple header and its line pointer.
const TUPLE_OVERHEAD: usize = 24 + 4;
/// Bytes of a page that tuples can use.
const USABLE: usize = BLCKSZ - PAGE_HEADER;

/// Pages, rows and the visible fraction of a table (`relation_estimate_size`).
///
/// # Safety
/// As the callback.
pub unsafe fn relation_size(
    rel: pg_sys::Relation,
    widths: *mut i32,
    pages: *mut pg_sys::BlockNumber,
    tuples: *mut f64,
    all_visible: *mut f64,
) {
    // SAFETY: the relation is open.
    unsafe {
        let (blocks, groups) = match cache::open(rel) {
            Some(directory) => {
                let main = pg_sys::ForkNumber::MAIN_FORKNUM;
                let blocks = pg_sys::RelationGetNumberOfBlocksInFork(rel, main);
                let ranges = extent::row_page_ranges(&directory.directory, blocks);
                let row_pages: u32 = ranges.iter().map(|(_, count)| count).sum();
                (row_pages, directory.groups.clone())
            }
            None => (0, Vec::new()),
        };
        let buffered = write::buffered_rows(rel);
        if groups.is_empty() && buffered == 0 {
            heap::heapam!(relation_estimate_size(rel, widths, pages, tuples, all_visible));
            // The metapage holds no rows; a table that never had a page keeps the server's guess.
            if blocks > 0 && *pages == blocks + 1 {
                if (*(*rel).rd_rel).reltuples < 0.0 {
                    // Guessed from the number of pages.
                    *tuples *= f64::from(blocks) / f64::from(*pages);
                }
                *pages = blocks;
            }
            return;
        }
        let width = pg_sys::get_rel_data_width(rel, widths).max(0) as usize;
        let tuple = (width.next_multiple_of(8) + TUPLE_OVERHEAD) as f64;
        let per_page = (USABLE as f64 / tuple).max(1.0);
        let stored: f64 = groups.iter().map(|group| f64::from(group.rows())).sum();
        let in_groups = stored + buffered as f64;
        let group_pages = (in_groups / per_page).ceil();
        let form = &*(*rel).rd_rel;
        let known = f64::from(form.reltuples) - stored;
        // Rows on row pages: what the statistics leave for them, else as many as fit.
        let on_pages = if blocks == 0 {
            0.0
        } else if form.reltuples >= 0.0 {
            known.max(0.0)
        } else {
            f64::from(blocks) * per_page
        };
        *pages = (f64::from(blocks) + group_pages).min(f64::from(u32::MAX - 1)) as u32;
        *tuples = in_groups + on_pages;
        let visible = f64::from(form.relallvisible.max(0));
        let extents: u32 = groups.iter().map(|group| group.entry.extent_pages).sum();
        let share = if extents == 0 { 0.0 } else { (visible / f64::from(extents)).min(1.0) };
        let whole = f64::from(blocks) + group_pages;
        *all_visible = if whole == 0.0 { 0.0 } else { share * group_pages / whole };
    }
}
