//! Moves rows from row pages to row groups, under the same external TIDs.
//!
//! ```text
//! 1  copy     rows of pages on which every row is visible to all and untouched, with a hash of each page
//! 2  write    the group, its TID map, and a directory entry of kind Merging: found by TID, not scanned
//! 3  move     each page under a cleanup lock, if its hash is still the same: it stops being a row page
//! 4  publish  the entry as Columns; pages that had changed are left out of the TID map
//! ```
//!
//! A crash leaves a Merging entry; the next VACUUM finishes it from step 4 by looking at its pages. A scan reads each row
//! once all along: see [`crate::am::scan`].
//!
//! Pages stay as they are if one of their rows is not visible to all, is locked or updated, has a stub or is one, or has
//! values in the TOAST table: VACUUM has no transaction id with which to delete those. VACUUM FULL moves them.

use super::hooks::Target;
use super::page::{LockedPage, PageLock};
use crate::am::group::builder::{MAX_GROUP_BYTES, RowBuilder};
use crate::am::group::{Group, cache, stubs::StubIndex, writer};
use crate::am::options::{self, TableOptions};
use crate::am::storage::directory::{Change, Entry, EntryKind, SlotAddress};
use crate::am::storage::extent;
use crate::am::storage::page::{self, PageKind};
use crate::am::storage::wal;
use crate::am::{heap, scan::pages, standby, tid};
use crate::{guc, ports};
use columnar_format::{TidBlock, TidMap};
use pgrx::pg_sys;

/// Moves what can be moved, if there is enough of it. Returns the number of rows moved.
///
/// # Safety
/// `target` is the running vacuum's.
pub unsafe fn merge_row_pages(target: &Target) -> u64 {
    // SAFETY: the relation is open and locked by VACUUM.
    unsafe {
        let rel = target.rel;
        if (*(*rel).rd_att).natts == 0 {
            return 0;
        }
        let Some(directory) = cache::open(rel) else { return 0 };
        let blocks = pg_sys::RelationGetNumberOfBlocksInFork(rel, pg_sys::ForkNumber::MAIN_FORKNUM);
        let stubs = StubIndex::read(rel);
        let mut candidates = Vec::new();
        let mut rows = 0;
        for (first, count) in extent::row_page_ranges(&directory.directory, blocks) {
            for block in first..first + count {
                super::versions::vacuum_delay_point();
                let page = LockedPage::read(rel, block, target.strategy, PageLock::Share);
                if page.is_new() || page.column_kind().is_some() {
                    continue;
                }
                if let Some(found) = survey(target, &page, &stubs) {
                    rows += found.len();
                    candidates.push(block);
                }
            }
        }
        if rows < guc::MERGE_THRESHOLD.get() as usize {
            return 0;
        }
        let options = options::of(rel);
        let mut moved = 0;
        let mut batch = Batch::new(rel, options.clone());
        for block in candidates {
            super::versions::vacuum_delay_point();
            let page = LockedPage::read(rel, block, target.strategy, PageLock::Share);
            if page.is_new() || page.column_kind().is_some() {
                continue;
            }
            let Some(found) = survey(target, &page, &stubs) else { continue };
            if batch.is_full(found.len()) {
                drop(page);
                moved += batch.write(target);
                batch = Batch::new(rel, options.clone());
                let page = LockedPage::read(rel, block, target.strategy, PageLock::Share);
                if let Some(found) = survey(target, &page, &stubs) {
                    batch.copy(&page, &found);
                }
                continue;
            }
            batch.copy(&page, &found);
        }
        moved + batch.write(target)
    }
}

/// A row of a page: the offset index entries name, and the offset of the tuple.
#[derive(Clone, Copy, Debug)]
struct Found {
    root: u16,
    offset: u16,
}

/// The rows of a page in the order of their roots, if all of them can be moved.
unsafe fn survey(target: &Target, page: &LockedPage, stubs: &StubIndex) -> Option<Vec<Found>> {
    // SAFETY: the page is locked.
    unsafe {
        let (rel, block, start) = (target.rel, page.block(), page.page());
        let last = heap::max_offset(start);
        let mut roots = [0u16; ports::MAX_HEAP_TUPLES_PER_PAGE];
        pg_sys::heap_get_root_tuples(start.cast(), roots.as_mut_ptr());
        let mut found = Vec::new();
        for offset in 1..=last {
            match heap::line_pointer_flags(start, offset) {
                pg_sys::LP_UNUSED | pg_sys::LP_REDIRECT => continue,
                pg_sys::LP_NORMAL => {}
                _ => return None,
            }
            let mut tuple = heap::tuple_at(rel, start, block, offset);
            let header = tuple.t_data;
            if pages::is_stub(header)
                || u32::from((*header).t_infomask) & pg_sys::HEAP_HASEXTERNAL != 0
            {
                return None;
            }
            let status = pg_sys::HeapTupleSatisfiesVacuum(
                &raw mut tuple,
                target.cutoffs.OldestXmin,
                page.buffer(),
            );
            let xmin = ports::HeapTupleHeaderGetXmin(header);
            let untouched = u32::from((*header).t_infomask) & pg_sys::HEAP_XMAX_INVALID != 0;
            let old = pg_sys::TransactionIdPrecedes(xmin, target.cutoffs.OldestXmin);
            if status != pg_sys::HTSV_Result::HEAPTUPLE_LIVE || !untouched || !old {
                return None;
            }
            let root = match roots[usize::from(offset) - 1] {
                0 => offset,
                root => root,
            };
            if !stubs.is_empty() && stubs.row(&tid::item_pointer(block, root)).is_some() {
                return None;
            }
            found.push(Found { root, offset });
        }
        found.sort_by_key(|f| f.root);
        (!found.is_empty()).then_some(found)
    }
}

/// Rows collected for one group.
struct Batch {
    rel: pg_sys::Relation,
    options: TableOptions,
    builder: RowBuilder,
    values: Vec<pg_sys::Datum>,
    nulls: Vec<bool>,
    map: TidMap,
    /// Physical block and hash of each page, in the order of the map's blocks.
    pages: Vec<(u32, u64)>,
}

impl Batch {
    unsafe fn new(rel: pg_sys::Relation, options: TableOptions) -> Self {
        // SAFETY: the relation is open.
        let builder = unsafe { RowBuilder::new((*rel).rd_att) };
        let natts = builder.attributes.len();
        Self {
            rel,
            options,
            builder,
            values: vec![pg_sys::Datum::null(); natts],
            nulls: vec![true; natts],
            map: TidMap::default(),
            pages: Vec::new(),
        }
    }

    fn is_full(&self, more: usize) -> bool {
        self.builder.rows > 0
            && (self.builder.rows as usize + more > self.options.row_group_rows as usize
                || self.builder.bytes() > MAX_GROUP_BYTES)
    }

    unsafe fn copy(&mut self, page: &LockedPage, found: &[Found]) {
        // SAFETY: the page is locked; values of its tuples are copied before it is released.
        unsafe {
            let block = page.block();
            let first_row = self.builder.rows;
            let frozen = pg_sys::FrozenTransactionId.into_inner();
            for row in found {
                let mut tuple = heap::tuple_at(self.rel, page.page(), block, row.offset);
                pg_sys::heap_deform_tuple(
                    &raw mut tuple,
                    (*self.rel).rd_att,
                    self.values.as_mut_ptr(),
                    self.nulls.as_mut_ptr(),
                );
                self.builder.push(self.values.as_ptr(), self.nulls.as_ptr(), frozen, 0);
            }
            let aliases = found
                .iter()
                .enumerate()
                .filter(|(_, row)| row.root != row.offset)
                .map(|(i, row)| (row.offset, i as u16))
                .collect();
            self.map.blocks.push(TidBlock {
                block: tid::external_block(self.rel, block),
                first_row,
                offsets: found.iter().map(|row| row.root).collect(),
                aliases,
            });
            self.pages.push((block, page_hash(page.page())));
        }
    }

    unsafe fn write(self, target: &Target) -> u64 {
        if self.builder.rows == 0 {
            return 0;
        }
        // SAFETY: the relation is open and locked by VACUUM.
        unsafe {
            let rel = self.rel;
            // Queries on standbys may not see all of these rows yet.
            standby::conflict(rel, before(target.cutoffs.OldestXmin));
            let mut change = Change::begin(rel);
            let group = change.next_group();
            change.commit();
            let rows = &self.builder;
            let encoded = writer::encode(&rows.columns, rows.rows, &self.options);
            let mut entry = writer::write(rel, group, &encoded, &rows.runs);
            entry.kind = EntryKind::Merging as u8;
            writer::write_tid_map(rel, &mut entry, &self.map);
            let mut change = Change::begin(rel);
            let slot = change.put(entry);
            change.commit();
            extent::settle(rel, &[entry.extent, entry.tid_map]);
            let moved: Vec<bool> = self
                .pages
                .iter()
                .map(|&(block, hash)| move_page(rel, block, hash, group, target.strategy))
                .collect();
            publish(rel, slot, entry, self.map, &moved)
        }
    }
}

/// Turns a row page whose contents are still those that were copied into a moved page.
unsafe fn move_page(
    rel: pg_sys::Relation,
    block: u32,
    hash: u64,
    group: u32,
    strategy: pg_sys::BufferAccessStrategy,
) -> bool {
    // SAFETY: the cleanup lock says that nobody holds a pointer into the page.
    unsafe {
        let locked = LockedPage::read_for_cleanup_or_share(rel, block, strategy);
        if locked.lock() != PageLock::Cleanup
            || locked.column_kind().is_some()
            || page_hash(locked.page()) != hash
        {
            return false;
        }
        // Readers' locks name physical TIDs; checks on the rows will name external ones from now on.
        ports::TransferPredicateLocksToHeapRelation(rel);
        // Nothing of the rows stays: their hint bits, which are not logged, would differ on a standby.
        wal::replace_rows(rel, locked.buffer(), PageKind::Moved, group.into());
        drop(locked);
        pg_sys::RecordPageWithFreeSpace(rel, block, 0);
        true
    }
}

/// Hash of a page but for its LSN and checksum.
unsafe fn page_hash(page: ports::Page) -> u64 {
    // SAFETY: a whole page, locked by the caller.
    let bytes = unsafe { core::slice::from_raw_parts(page.add(10), ports::BLCKSZ - 10) };
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// Makes a Merging entry a scanned group of the rows whose pages were moved, and their pages free. Returns these rows.
unsafe fn publish(
    rel: pg_sys::Relation,
    slot: SlotAddress,
    entry: Entry,
    map: TidMap,
    moved: &[bool],
) -> u64 {
    // SAFETY: the relation is open and locked by VACUUM.
    unsafe {
        let all = moved.iter().all(|&m| m);
        let any = moved.iter().any(|&m| m);
        let mut final_entry = Entry { kind: EntryKind::Columns as u8, ..entry };
        let physical: Vec<u32> = map
            .blocks
            .iter()
            .zip(moved)
            .filter(|(_, moved)| **moved)
            .filter_map(|(block, _)| tid::physical_block(rel, block.block))
            .collect();
        let rows = map.blocks.iter().zip(moved).filter(|(_, moved)| **moved);
        let rows = rows.map(|(block, _)| block.offsets.len() as u64).sum();
        let mut obsolete = Vec::new();
        if !any {
            final_entry = Entry::default();
            obsolete.push((entry.extent, entry.extent_pages));
            obsolete.push((entry.tid_map, entry.tid_map_pages));
        } else if !all {
            let kept = map.blocks.into_iter().zip(moved).filter(|(_, m)| **m).map(|(b, _)| b);
            writer::write_tid_map(rel, &mut final_entry, &TidMap { blocks: kept.collect() });
            obsolete.push((entry.tid_map, entry.tid_map_pages));
        }
        let mut change = Change::begin(rel);
        change.set(slot, final_entry);
        change.commit();
        if final_entry.tid_map != entry.tid_map {
            extent::settle(rel, &[final_entry.tid_map]);
        }
        for (first, pages) in obsolete {
            free(rel, extent::free_entry(first, pages));
        }
        for (first, pages) in ranges(physical) {
            // A moved page has no contents that anybody needs.
            free(rel, Entry { xid: 0, ..extent::free_entry(first, pages) });
        }
        cache::forget(rel);
        rows
    }
}

/// Adds a free extent to the directory.
///
/// # Safety
/// `rel` is open and locked by VACUUM; nothing refers to the extent.
pub unsafe fn free(rel: pg_sys::Relation, entry: Entry) {
    // SAFETY: as the caller's.
    unsafe {
        let mut change = Change::begin(rel);
        change.put(entry);
        change.commit();
    }
}

/// Runs of consecutive numbers, as first and count.
pub(super) fn ranges(mut numbers: Vec<u32>) -> Vec<(u32, u32)> {
    numbers.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((first, count)) if *first + *count == number => *count += 1,
            _ => ranges.push((number, 1)),
        }
    }
    ranges
}

fn before(xid: pg_sys::TransactionId) -> pg_sys::TransactionId {
    let first = pg_sys::FirstNormalTransactionId.into_inner();
    let previous = xid.into_inner().wrapping_sub(1);
    // Below the first normal id lies the end of the previous epoch.
    if previous < first { u32::MAX.into() } else { previous.into() }
}

/// Publishes groups whose VACUUM was interrupted, by what became of their pages.
///
/// # Safety
/// `rel` is open and locked by VACUUM.
pub unsafe fn finish_interrupted(rel: pg_sys::Relation, strategy: pg_sys::BufferAccessStrategy) {
    // SAFETY: as the caller's.
    unsafe {
        let Some(directory) = cache::open(rel) else { return };
        for (slot, entry) in &directory.directory.entries {
            if !entry.is(EntryKind::Merging) {
                continue;
            }
            let group = Group::new(*slot, *entry);
            let Some(map) = group.tid_map(rel) else { continue };
            let moved: Vec<bool> = map
                .blocks
                .iter()
                .map(|block| {
                    let Some(physical) = tid::physical_block(rel, block.block) else { return true };
                    let page = LockedPage::read(rel, physical, strategy, PageLock::Share);
                    page::identify(page.page())
                        == Some((PageKind::Moved as u16, u64::from(entry.group)))
                })
                .collect();
            publish(rel, *slot, *entry, map.clone(), &moved);
        }
    }
}
