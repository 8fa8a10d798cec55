//! Rewrites row groups: small neighbours into one, groups with many dead rows without them, groups at the end of the file
//! into free space before them.
//!
//! Column data never changes in place. A new copy is written; then, under the locks of the old groups' heads, one
//! directory change puts the new group in their place, and each old head is marked as replaced. Whoever still holds an
//! old group finds that mark when it next reads the head, and looks the row up again.

use super::merge::free;
use crate::am::group::head::{self, InsertRun};
use crate::am::group::marks::Mark;
use crate::am::group::{Group, cache, marks, types, writer};
use crate::am::options;
use crate::am::storage::directory::{self, Change, Entry, EntryKind, SlotAddress};
use crate::am::storage::page::{self, PageKind};
use crate::am::storage::{extent, vm};
use crate::am::{standby, tid};
use crate::ports;
use columnar_format::ColumnBuilder;
use columnar_format::{TidBlock, TidMap};
use pgrx::pg_sys;
use std::rc::Rc;

/// Most groups rewritten into one: each one's head is locked at once.
const MAX_VICTIMS: usize = 64;
/// A group is small below this share of a full one.
const SMALL_SHARE: u32 = 4;
/// A group is rewritten when more than this share of its rows is gone.
const GONE_SHARE: u32 = 5;

unsafe fn lock_head(rel: pg_sys::Relation, group: &Group) -> pg_sys::Buffer {
    // SAFETY: the extent is the group's.
    unsafe {
        let buffer = pg_sys::ReadBuffer(rel, group.entry.extent);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
        buffer
    }
}

/// Puts a new group (or nothing) in the place of others, unless their marks changed since they were read. The old extents
/// become free. Returns whether it was done.
///
/// # Safety
/// `rel` is open and locked by VACUUM; the groups were refreshed before they were copied.
pub unsafe fn replace(rel: pg_sys::Relation, victims: &[Rc<Group>], new: Option<Entry>) -> bool {
    // SAFETY: heads are locked in the order of their blocks, then the directory.
    unsafe {
        if !Change::fits(victims.iter().map(|group| group.slot)) {
            return false;
        }
        let mut old: Vec<&Rc<Group>> = victims.iter().collect();
        old.sort_by_key(|group| group.entry.extent);
        let marks_pages: Vec<u32> = old.iter().flat_map(|group| marks::pages(rel, group)).collect();
        let heads: Vec<pg_sys::Buffer> = old.iter().map(|group| lock_head(rel, group)).collect();
        let unchanged = old.iter().zip(&heads).all(|(group, &buffer)| {
            let head = head::at(rel, ports::buffer_page(buffer), group.id);
            marks::total(rel, group.id, (*head).marks_first) == group.mark_count()
                && (*head).marks_version == group.marks_version()
                && (*head).replaced == 0
        });
        if unchanged {
            let mut change = Change::begin(rel);
            let mut new = new;
            for group in &old {
                let entry = new.take().unwrap_or_default();
                change.set(group.slot, entry);
            }
            change.commit();
            for (group, &buffer) in old.iter().zip(&heads) {
                let state = pg_sys::GenericXLogStart(rel);
                let page = pg_sys::GenericXLogRegisterBuffer(state, buffer, 0).cast();
                (*head::at(rel, page, group.id)).replaced = 1;
                pg_sys::GenericXLogFinish(state);
            }
        }
        for buffer in heads {
            pg_sys::UnlockReleaseBuffer(buffer);
        }
        if !unchanged {
            return false;
        }
        for group in old {
            free(rel, extent::free_entry(group.entry.extent, group.entry.extent_pages));
            if group.entry.tid_map_pages > 0 {
                free(rel, extent::free_entry(group.entry.tid_map, group.entry.tid_map_pages));
            }
        }
        for block in marks_pages {
            free(rel, extent::free_entry(block, 1));
        }
        cache::forget(rel);
        true
    }
}

/// Rewrites small groups and groups with many rows gone. Returns whether any was.
///
/// # Safety
/// `rel` is open and locked by VACUUM.
pub unsafe fn compact(rel: pg_sys::Relation) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        let Some(directory) = cache::open(rel) else { return false };
        let options = options::of(rel);
        let full = options.row_group_rows;
        let mut batch: Vec<Rc<Group>> = Vec::new();
        let mut rows = 0;
        let mut changed = false;
        for group in &directory.groups {
            super::versions::vacuum_delay_point();
            group.refresh(rel);
            let Some(live) = rewritable(group) else {
                changed |= rewrite(rel, &mut batch, &options);
                rows = 0;
                continue;
            };
            let gone = group.rows() - live;
            if live >= full / SMALL_SHARE && gone <= group.rows() / GONE_SHARE {
                changed |= rewrite(rel, &mut batch, &options);
                rows = 0;
                continue;
            }
            let fits = Change::fits(batch.iter().chain([group]).map(|g| g.slot));
            if rows + live > full || batch.len() >= MAX_VICTIMS || !fits {
                changed |= rewrite(rel, &mut batch, &options);
                rows = 0;
            }
            rows += live;
            batch.push(group.clone());
        }
        changed | rewrite(rel, &mut batch, &options)
    }
}

/// Rows that are not gone, of a group whose rows are all frozen and have no stub.
fn rewritable(group: &Group) -> Option<u32> {
    let frozen = pg_sys::FrozenTransactionId.into_inner();
    let mut live = 0;
    for run in group.runs() {
        if run.xid != frozen && run.xid != 0 {
            return None;
        }
        if run.xid == frozen {
            live += run.rows;
        }
    }
    let marks = group.marks_in(0, group.rows());
    if marks.iter().any(|(_, mark)| *mark != Mark::Gone) {
        return None;
    }
    Some(live.saturating_sub(marks.len() as u32))
}

/// Rewrites a batch of groups into one; a single group only if it has rows to lose.
unsafe fn rewrite(
    rel: pg_sys::Relation,
    batch: &mut Vec<Rc<Group>>,
    options: &options::TableOptions,
) -> bool {
    let victims = core::mem::take(batch);
    let loses = |group: &Rc<Group>| rewritable(group).is_some_and(|live| live < group.rows());
    if victims.is_empty() || (victims.len() == 1 && !loses(&victims[0])) {
        return false;
    }
    // SAFETY: as `compact`.
    unsafe {
        let attributes = types::attributes((*rel).rd_att);
        let mut columns: Vec<_> = attributes.iter().map(|a| ColumnBuilder::new(a.spec)).collect();
        let mut map = TidMap::default();
        let mut rows = 0;
        for group in &victims {
            let kept = kept_rows(rel, group);
            for (index, column) in columns.iter_mut().enumerate() {
                append_column(rel, group, index, &attributes[index], &kept, column);
            }
            append_tids(rel, group, &kept, rows, &mut map);
            rows += kept.len() as u32;
        }
        if rows == 0 {
            return replace(rel, &victims, None);
        }
        map.blocks.sort_by_key(|block| block.block);
        if !map.blocks.is_sorted_by_key(|block| block.first_row) {
            // Groups that interleave by TID stay apart.
            return false;
        }
        let mut change = Change::begin(rel);
        let id = change.next_group();
        change.commit();
        let encoded = writer::encode(&columns, rows, options);
        let frozen = pg_sys::FrozenTransactionId.into_inner();
        let run = InsertRun { xid: frozen, cid: 0, first: 0, rows };
        let mut entry = writer::write(rel, id, &encoded, &[run]);
        entry.kind = EntryKind::Columns as u8;
        writer::write_tid_map(rel, &mut entry, &map);
        if replace(rel, &victims, Some(entry)) {
            extent::settle(rel, &[entry.extent, entry.tid_map]);
            return true;
        }
        discard(rel, &[entry.extent, entry.tid_map]);
        cache::forget(rel);
        false
    }
}

unsafe fn kept_rows(rel: pg_sys::Relation, group: &Rc<Group>) -> Vec<u32> {
    let mut kept = Vec::new();
    for run in group.runs() {
        if run.xid != 0 {
            kept.extend(run.first..run.first + run.rows);
        }
    }
    // SAFETY: the group belongs to the open relation.
    unsafe {
        kept.retain(|&row| group.mark(row).is_none() && group.tid_of(rel, row).is_some());
    }
    kept
}

unsafe fn append_column(
    rel: pg_sys::Relation,
    group: &Rc<Group>,
    index: usize,
    attribute: &types::Attribute,
    kept: &[u32],
    to: &mut ColumnBuilder,
) {
    // SAFETY: the group belongs to the open relation.
    unsafe {
        let Some(column) = group.column(rel, index) else {
            let mut is_null = true;
            let value = pg_sys::getmissingattr((*rel).rd_att, index as i32 + 1, &raw mut is_null);
            for _ in kept {
                types::append(to, attribute, value, is_null);
            }
            return;
        };
        if !attribute.stored {
            // A dropped column.
            for _ in kept {
                to.push_null();
            }
            return;
        }
        let stored = column.meta.spec;
        if stored.physical != attribute.spec.physical {
            group.corrupt(
                rel,
                Some(index),
                "it holds values of another kind than the column's type",
            );
        }
        let mut rest = kept;
        let mut within = Vec::new();
        while let Some(&first) = rest.first() {
            let (vector, _) = column.locate(first);
            let start = column.starts[vector];
            let end = column.starts.get(vector + 1).copied().unwrap_or(u32::MAX);
            let count = rest.partition_point(|&row| row < end);
            within.clear();
            within.extend(rest[..count].iter().map(|row| row - start));
            let open = group.vector(rel, index, &column, vector);
            if stored == attribute.spec {
                to.append_from_vector(&open, &within);
            } else {
                // The type was changed to one with the same form and another order (int to oid).
                within.iter().for_each(|&row| to.push(open.get(row as usize)));
            }
            rest = &rest[count..];
        }
    }
}

/// Adds the TIDs of the kept rows, in the order of the rows.
unsafe fn append_tids(
    rel: pg_sys::Relation,
    group: &Rc<Group>,
    kept: &[u32],
    first_row: u32,
    map: &mut TidMap,
) {
    // SAFETY: the group belongs to the open relation.
    unsafe {
        let start = map.blocks.len();
        for (i, &row) in kept.iter().enumerate() {
            let Some(tid) = group.tid_of(rel, row) else { continue };
            let block = tid::block_of(&tid);
            if map.blocks.len() == start || map.blocks.last().is_none_or(|b| b.block != block) {
                let first_row = first_row + i as u32;
                map.blocks.push(TidBlock { block, first_row, ..TidBlock::default() });
            }
            if let Some(last) = map.blocks.last_mut() {
                last.offsets.push(tid.ip_posid);
            }
        }
        let Some(old) = group.tid_map(rel) else { return };
        for block in &mut map.blocks[start..] {
            let Ok(at) = old.blocks.binary_search_by_key(&block.block, |b| b.block) else {
                continue;
            };
            for (offset, row) in &old.blocks[at].aliases {
                let root = old.blocks[at].offsets[usize::from(*row)];
                if let Ok(place) = block.offsets.binary_search(&root) {
                    block.aliases.push((*offset, place as u16));
                }
            }
        }
    }
}

/// Moves groups from the end of the file into free extents before them, while that shortens the file. Returns whether
/// any was moved.
///
/// # Safety
/// `rel` is open and locked by VACUUM.
pub unsafe fn relocate(rel: pg_sys::Relation) -> bool {
    let mut moved = false;
    // SAFETY: as the caller's.
    unsafe {
        coalesce(rel);
        loop {
            let Some(directory) = cache::open(rel) else { return moved };
            let last = directory.groups.iter().max_by_key(|group| group.entry.extent);
            let Some(last) = last else { return moved };
            let room = |pages: u32, before: u32| {
                directory.directory.entries.iter().any(|(_, entry)| {
                    entry.is(EntryKind::Free)
                        && entry.xid == 0
                        && entry.extent_pages >= pages
                        && entry.extent + pages <= before
                })
            };
            let entry = last.entry;
            let map_fits = entry.tid_map_pages == 0
                || entry.tid_map < entry.extent
                || room(entry.tid_map_pages, entry.tid_map);
            if !room(entry.extent_pages + entry.tid_map_pages, entry.extent) || !map_fits {
                return moved;
            }
            super::versions::vacuum_delay_point();
            if !move_group(rel, last) {
                return moved;
            }
            coalesce(rel);
            moved = true;
        }
    }
}

unsafe fn move_group(rel: pg_sys::Relation, group: &Rc<Group>) -> bool {
    // SAFETY: the copy is this backend's until the directory names it; the head is locked while it is copied.
    unsafe {
        let old = group.entry;
        let first = extent::allocate(rel, old.extent_pages);
        if first >= old.extent {
            discard(rel, &[first]);
            cache::forget(rel);
            return false;
        }
        let owner = u64::from(group.id);
        let none = core::ptr::null_mut();
        let mut bytes = vec![0; old.bytes as usize];
        extent::read(rel, old.extent + 1, PageKind::GroupData, owner, 0, &mut bytes, None);
        extent::write(rel, first + 1, PageKind::GroupData, owner, &bytes, none);
        let mut entry = Entry { extent: first, ..old };
        if old.tid_map_pages > 0
            && old.tid_map > first
            && let Some(map) = group.tid_map(rel)
        {
            writer::write_tid_map(rel, &mut entry, map);
        }
        let buffer = lock_head(rel, group);
        let from = ports::buffer_page(buffer);
        head::at(rel, from, group.id);
        let payload = core::slice::from_raw_parts(page::payload(from), page::PAYLOAD).to_vec();
        extent::write(rel, first, PageKind::GroupHead, owner, &payload, none);
        let mut change = Change::begin(rel);
        change.set(group.slot, entry);
        change.commit();
        let state = pg_sys::GenericXLogStart(rel);
        let page = pg_sys::GenericXLogRegisterBuffer(state, buffer, 0).cast();
        (*head::at(rel, page, group.id)).replaced = 1;
        pg_sys::GenericXLogFinish(state);
        pg_sys::UnlockReleaseBuffer(buffer);
        extent::settle(rel, &[entry.extent, entry.tid_map]);
        free(rel, extent::free_entry(old.extent, old.extent_pages));
        if entry.tid_map != old.tid_map {
            free(rel, extent::free_entry(old.tid_map, old.tid_map_pages));
        }
        cache::forget(rel);
        true
    }
}

/// Makes pending extents free again, which nobody but this backend ever knew.
unsafe fn discard(rel: pg_sys::Relation, extents: &[u32]) {
    // SAFETY: the entries are this backend's own.
    unsafe {
        for (slot, entry) in directory::read(rel).entries {
            if entry.is(EntryKind::Pending) && extents.contains(&entry.extent) {
                let mut change = Change::begin(rel);
                change.set(slot, Entry { kind: EntryKind::Free as u8, xid: 0, ..entry });
                change.commit();
            }
        }
    }
}

/// Joins neighbouring free extents.
///
/// # Safety
/// `rel` is open and locked by VACUUM.
pub unsafe fn coalesce(rel: pg_sys::Relation) {
    // SAFETY: only VACUUM joins extents; one taken meanwhile is left alone.
    unsafe {
        let Some(directory) = cache::open(rel) else { return };
        let mut free: Vec<(SlotAddress, Entry)> = directory
            .directory
            .entries
            .iter()
            .filter(|(_, e)| e.is(EntryKind::Free))
            .copied()
            .collect();
        free.sort_by_key(|(_, entry)| entry.extent);
        for (slot, entry) in &mut free {
            // Where nobody needs the old contents any more, the extent may be used at once.
            if entry.xid != 0 && extent::reusable(rel, entry) {
                let ready = Entry { xid: 0, ..*entry };
                standby::conflict(rel, entry.xid.into());
                let mut change = Change::begin(rel);
                if change.get(*slot) == *entry {
                    change.set(*slot, ready);
                    *entry = ready;
                }
                change.commit();
            }
        }
        let mut joined: Option<(SlotAddress, Entry)> = None;
        for (slot, entry) in free {
            let neighbour = joined.filter(|(_, last)| {
                last.extent + last.extent_pages == entry.extent
                    && (last.xid == 0) == (entry.xid == 0)
            });
            let Some((at, last)) = neighbour else {
                joined = Some((slot, entry));
                continue;
            };
            let newer =
                last.xid == 0 || pg_sys::TransactionIdFollows(last.xid.into(), entry.xid.into());
            let both = Entry {
                extent_pages: last.extent_pages + entry.extent_pages,
                xid: if newer { last.xid } else { entry.xid },
                ..last
            };
            let mut change = Change::begin(rel);
            if change.get(at) == last && change.get(slot) == entry {
                change.set(at, both);
                change.set(slot, Entry::default());
                joined = Some((at, both));
            } else {
                joined = Some((slot, entry));
            }
            change.commit();
        }
        cache::forget(rel);
    }
}

/// Sets visibility map bits of the group's blocks all of whose rows everybody sees. Returns whether that is all of them.
///
/// # Safety
/// `rel` is open and locked by VACUUM.
pub unsafe fn set_visible(rel: pg_sys::Relation, group: &Rc<Group>) -> bool {
    let frozen = pg_sys::FrozenTransactionId.into_inner();
    // SAFETY: the head's lock keeps rows from being thawed while bits are set.
    unsafe {
        let mut hidden: Vec<u32> = group
            .marks_in(0, group.rows())
            .iter()
            .filter(|(_, mark)| *mark != Mark::Gone)
            .filter_map(|(row, _)| group.tid_of(rel, *row).map(|tid| tid::block_of(&tid)))
            .collect();
        for run in group.runs() {
            if run.xid != frozen && run.xid != 0 {
                let last = run.first + run.rows;
                hidden.extend(
                    (run.first..last)
                        .filter_map(|row| group.tid_of(rel, row).map(|tid| tid::block_of(&tid))),
                );
            }
        }
        hidden.sort_unstable();
        hidden.dedup();
        let all: Vec<u32> = match group.tid_map(rel) {
            Some(map) => map.blocks.iter().map(|block| block.block).collect(),
            None => (0..group.entry.row_blocks)
                .map(|i| tid::external_row_block(group.entry.first_row_block + i))
                .collect(),
        };
        let visible: Vec<u32> =
            all.iter().copied().filter(|block| hidden.binary_search(block).is_err()).collect();
        let buffer = lock_head(rel, group);
        let head = head::at(rel, ports::buffer_page(buffer), group.id);
        let unchanged = marks::total(rel, group.id, (*head).marks_first) == group.mark_count();
        if unchanged {
            vm::set(rel, &visible);
        }
        pg_sys::UnlockReleaseBuffer(buffer);
        unchanged && visible.len() == all.len()
    }
}
