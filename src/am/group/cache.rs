//! What a backend remembers of relations: the directory, opened groups, decompressed vectors.
//!
//! A copy of a directory is good while the metapage's generation stays the same. Opened groups outlive a reload if their
//! entry is unchanged, so VACUUM or a load elsewhere does not empty the cache.

use super::{Column, Group};
use crate::am::storage::directory::{self, Entry, EntryKind, HAS_TID_MAP, Snapshot};
use crate::am::storage::page::PAYLOAD;
use crate::am::tid;
use crate::guc;
use crate::ports;
use core::cell::RefCell;
use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};
use std::collections::{HashMap, VecDeque};
use std::rc::{Rc, Weak};

/// Relations remembered before the cache starts afresh.
const MAX_RELATIONS: usize = 256;

/// A relation's directory, indexed.
#[derive(Debug)]
pub struct Relation {
    pub directory: Snapshot,
    /// Row groups that scans read, in the order of their external TIDs.
    pub groups: Vec<Rc<Group>>,
    /// Groups and reservations by first row block: `(first, count, entry)`.
    rows: Vec<(u32, u32, usize)>,
    /// Groups with a TID map, including those VACUUM is filling: `(low, high, group)`.
    mapped: Vec<(u32, u32, Rc<Group>)>,
}

/// Where a row is, as far as the directory knows.
#[derive(Debug)]
pub enum Place {
    /// Row of a group.
    Group(Rc<Group>, u32),
    /// Not written yet; owned by a transaction.
    Reserved(pg_sys::TransactionId),
    /// No such row.
    Nowhere,
}

type Key = (u32, u32, u32);

thread_local! {
    static RELATIONS: RefCell<HashMap<Key, Rc<Relation>>> = RefCell::default();
    static VECTORS: RefCell<VectorQueue> = RefCell::default();
}

/// Decompressed vectors in the order they were opened.
#[derive(Default)]
struct VectorQueue {
    queue: VecDeque<(Weak<Column>, usize, usize)>,
    bytes: usize,
}

/// Notes that a vector was opened; closes the oldest ones when the cache is over its limit.
pub fn remember(column: &Rc<Column>, vector: usize, bytes: usize) {
    let limit = guc::CACHE_SIZE.get().max(0) as usize * 1024;
    VECTORS.with(|cell| {
        let mut vectors = cell.borrow_mut();
        vectors.queue.push_back((Rc::downgrade(column), vector, bytes));
        vectors.bytes += bytes;
        while vectors.bytes > limit && vectors.queue.len() > 1 {
            let Some((column, vector, bytes)) = vectors.queue.pop_front() else { break };
            vectors.bytes -= bytes;
            if let Some(column) = column.upgrade() {
                column.vectors.borrow_mut()[vector] = None;
            }
        }
    });
}

/// Forgets a relation's directory, after this backend changed it.
pub fn forget(rel: pg_sys::Relation) {
    let key = ports::relation_locator(rel);
    RELATIONS.with(|cell| cell.borrow_mut().remove(&key));
}

/// The current directory of a relation, or `None` while its file is empty.
///
/// # Safety
/// `rel` is an open relation of this access method.
pub unsafe fn open(rel: pg_sys::Relation) -> Option<Rc<Relation>> {
    let key = ports::relation_locator(rel);
    // SAFETY: as the caller's.
    let generation = unsafe { directory::generation(rel) }?;
    let known = RELATIONS.with(|cell| cell.borrow().get(&key).cloned());
    if let Some(known) = &known
        && known.directory.generation == generation
    {
        return known.clone().into();
    }
    // SAFETY: as the caller's.
    let snapshot = unsafe {
        let snapshot = directory::read(rel);
        check_extents(rel, &snapshot);
        snapshot
    };
    let relation = Rc::new(Relation::new(snapshot, known.as_deref()));
    RELATIONS.with(|cell| {
        let mut relations = cell.borrow_mut();
        if relations.len() >= MAX_RELATIONS {
            relations.clear();
        }
        relations.insert(key, relation.clone());
    });
    Some(relation)
}

/// Finds an external TID in the current directory; the group's marks and runs are read.
///
/// # Safety
/// `rel` is an open relation of this access method.
pub unsafe fn locate(rel: pg_sys::Relation, tid: &pg_sys::ItemPointerData) -> Place {
    let mut replaced: Option<Entry> = None;
    loop {
        pgrx::check_for_interrupts!();
        // SAFETY: as the caller's.
        unsafe {
            let Some(directory) = open(rel) else { return Place::Nowhere };
            let (group, row) = match directory.find(rel, tid) {
                Place::Group(group, row) => (group, row),
                other => return other,
            };
            if group.refresh(rel) {
                return Place::Group(group, row);
            }
            // The directory learns of a replacement before the head of the old group does.
            if replaced == Some(group.entry) {
                group.corrupt(
                    rel,
                    None,
                    "its head says that it was replaced, but the directory names it",
                );
            }
            replaced = Some(group.entry);
            forget(rel);
        }
    }
}

/// Raises an ERROR if an entry names pages that the file does not have, so that no length read later is absurd.
unsafe fn check_extents(rel: pg_sys::Relation, snapshot: &Snapshot) {
    // SAFETY: the relation is open.
    unsafe {
        let main = pg_sys::ForkNumber::MAIN_FORKNUM;
        let blocks = u64::from(pg_sys::RelationGetNumberOfBlocksInFork(rel, main));
        for (slot, entry) in &snapshot.entries {
            if entry.kind > EntryKind::Pending as u8
                || u64::from(entry.extent) + u64::from(entry.extent_pages) > blocks
                || u64::from(entry.tid_map) + u64::from(entry.tid_map_pages) > blocks
                || entry.tid_map_bytes as usize > entry.tid_map_pages as usize * PAYLOAD
                || entry.bytes as usize > entry.extent_pages as usize * PAYLOAD
            {
                ereport!(
                    PgLogLevel::ERROR,
                    PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
                    format!(
                        "entry {} on block {} of the directory of table \"{}\" (row group {}) is damaged",
                        slot.index,
                        slot.block,
                        crate::am::relation_name(rel),
                        entry.group
                    )
                );
            }
        }
    }
}

impl Relation {
    fn new(directory: Snapshot, old: Option<&Self>) -> Self {
        let mut known: HashMap<u32, Rc<Group>> = HashMap::new();
        if let Some(old) = old {
            known.extend(old.groups.iter().map(|g| (g.id, g.clone())));
            known.extend(old.mapped.iter().map(|(_, _, g)| (g.id, g.clone())));
        }
        let mut relation =
            Self { directory: Snapshot::default(), groups: vec![], rows: vec![], mapped: vec![] };
        for (index, (slot, entry)) in directory.entries.iter().enumerate() {
            let columns = entry.is(EntryKind::Columns);
            if columns || entry.is(EntryKind::Merging) {
                let group = match known.get(&entry.group) {
                    Some(group) if group.entry == *entry && group.slot == *slot => group.clone(),
                    _ => Rc::new(Group::new(*slot, *entry)),
                };
                if entry.flags & HAS_TID_MAP != 0 {
                    relation.mapped.push((entry.tid_low, entry.tid_high, group.clone()));
                } else {
                    relation.rows.push((entry.first_row_block, entry.row_blocks, index));
                }
                if columns {
                    relation.groups.push(group);
                }
            } else if entry.is(EntryKind::Reserved) {
                relation.rows.push((entry.first_row_block, entry.row_blocks, index));
            }
        }
        relation.rows.sort_unstable();
        relation.groups.sort_by_key(|group| order(&group.entry));
        relation.directory = directory;
        relation
    }

    /// Finds an external TID.
    ///
    /// # Safety
    /// `rel` is the open relation this directory belongs to.
    pub unsafe fn find(&self, rel: pg_sys::Relation, tid: &pg_sys::ItemPointerData) -> Place {
        let block = tid::block_of(tid);
        for (low, high, group) in &self.mapped {
            if !(*low..=*high).contains(&block) {
                continue;
            }
            // SAFETY: as the caller's.
            if let Some(row) = unsafe { group.row_of(rel, tid) } {
                return Place::Group(group.clone(), row);
            }
        }
        let Some(number) = tid::row_number(tid) else { return Place::Nowhere };
        let row_block = (number / u64::from(tid::ROWS_PER_BLOCK)) as u32;
        let Some(at) =
            self.rows.partition_point(|(first, _, _)| *first <= row_block).checked_sub(1)
        else {
            return Place::Nowhere;
        };
        let (first, count, index) = self.rows[at];
        if row_block - first >= count {
            return Place::Nowhere;
        }
        let entry = &self.directory.entries[index].1;
        if entry.is(EntryKind::Reserved) {
            return Place::Reserved(entry.xid.into());
        }
        let row = number - entry.first_row();
        if row >= u64::from(entry.rows) {
            return Place::Nowhere;
        }
        match self.group(entry.group) {
            Some(group) => Place::Group(group, row as u32),
            None => Place::Nowhere,
        }
    }

    /// A scanned group by its number.
    pub fn group(&self, id: u32) -> Option<Rc<Group>> {
        self.groups.iter().find(|group| group.id == id).cloned()
    }

    /// Whether some group has rows under this external block of a row page.
    ///
    /// # Safety
    /// `rel` is the open relation this directory belongs to.
    pub unsafe fn has_mapped_block(&self, rel: pg_sys::Relation, block: u32) -> bool {
        self.mapped.iter().any(|(low, high, group)| {
            (*low..=*high).contains(&block)
                // SAFETY: as the caller's.
                && unsafe { group.tid_map(rel) }.is_some_and(|map| map.has_block(block))
        })
    }

    /// Whether any rows of row pages have been moved to groups.
    pub fn has_mapped(&self) -> bool {
        !self.mapped.is_empty()
    }

    /// Groups that answer to TIDs of an external block of a row page.
    pub fn mapped_groups(&self, block: u32) -> impl Iterator<Item = &Rc<Group>> {
        self.mapped
            .iter()
            .filter(move |(low, high, _)| (*low..=*high).contains(&block))
            .map(|(_, _, group)| group)
    }
}

/// Sort key that puts groups in the order of their TIDs.
fn order(entry: &Entry) -> u32 {
    if entry.flags & HAS_TID_MAP != 0 {
        entry.tid_low
    } else {
        tid::external_row_block(entry.first_row_block)
    }
}
