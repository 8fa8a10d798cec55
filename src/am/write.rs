//! Where inserted rows go: to row pages at first, to a write buffer of column values once a transaction brings many.
//!
//! The buffer's rows have numbers: a range is reserved in the directory under the transaction's xid, so that another
//! session that meets such a row's TID in an index sees an insertion in progress and waits. The transaction itself reads
//! its buffered rows by TID; before it scans the table, and before it commits, the buffer is written as a row group.

use super::group::builder::RowBuilder;
use super::group::{cache, head::InsertRun, types, writer};
use super::storage::directory::{self, Change, Entry, EntryKind, SlotAddress};
use super::storage::extent;
use super::{heap, options, scan, slot, storage, tid};
use crate::{guc, ports};
use core::cell::RefCell;
use options::TableOptions;
use pgrx::pg_sys;
use std::collections::BTreeMap;

/// A group that has to be written with fewer rows than this is a small one.
const SMALL_GROUP: u32 = 1024;
/// Rows of a relation between looks at the memory that all buffers take.
const CHECK_ROWS: u64 = 256;

type Key = (u32, u32, u32);

thread_local! {
    static BUFFERS: RefCell<BTreeMap<Key, Writer>> = RefCell::default();
}

/// What the running transaction inserted into one relation file.
#[derive(Debug)]
struct Writer {
    relid: pg_sys::Oid,
    /// Rows it put on row pages so far.
    page_rows: usize,
    /// The relation may have changed since the buffer was begun.
    changed: bool,
    /// Whether rows may go to the buffer at all.
    allowed: bool,
    buffer: Option<Buffer>,
}

/// Rows not yet written, column by column.
#[derive(Debug)]
struct Buffer {
    rows: RowBuilder,
    /// The subtransaction to whose end the buffer belongs, and under whose xid its numbers are reserved.
    subtransaction: pg_sys::SubTransactionId,
    options: TableOptions,
    /// The reservation in the directory.
    slot: SlotAddress,
    reserved: Entry,
}

/// Inserts one row (`tuple_insert`).
///
/// # Safety
/// As `table_tuple_insert`.
pub unsafe fn insert(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    options: i32,
    bulk: *mut pg_sys::BulkInsertStateData,
) {
    // SAFETY: as the caller's.
    unsafe {
        if page_quota(rel, 1) == 0 && append(rel, slot, cid, options) {
            count_inserts(rel, 1);
            return;
        }
        heap::insert(rel, slot, cid, options, bulk);
    }
}

/// Inserts several rows (`multi_insert`).
///
/// # Safety
/// As `table_multi_insert`.
pub unsafe fn multi_insert(
    rel: pg_sys::Relation,
    slots: *mut *mut pg_sys::TupleTableSlot,
    count: i32,
    cid: pg_sys::CommandId,
    options: i32,
    bulk: *mut pg_sys::BulkInsertStateData,
) {
    // SAFETY: `slots` holds `count` slots.
    unsafe {
        let count = count as usize;
        let first = page_quota(rel, count);
        if first > 0 {
            heap::multi_insert(rel, slots, first as i32, cid, options, bulk);
        }
        let mut buffered = 0;
        for i in first..count {
            let one = *slots.add(i);
            if append(rel, one, cid, options) {
                buffered += 1;
            } else {
                heap::insert(rel, one, cid, options, bulk);
            }
        }
        if buffered > 0 {
            count_inserts(rel, buffered);
        }
    }
}

/// Ends a bulk insertion (`finish_bulk_insert`).
///
/// # Safety
/// As `table_finish_bulk_insert`.
pub unsafe fn finish_bulk_insert(rel: pg_sys::Relation, _options: i32) {
    // SAFETY: as the caller's.
    unsafe { flush(rel) }
}

/// Rows this transaction has buffered for a relation.
pub fn buffered_rows(rel: pg_sys::Relation) -> u32 {
    let key = ports::relation_locator(rel);
    BUFFERS.with(|cell| {
        let buffers = cell.borrow();
        let buffer = buffers.get(&key).and_then(|writer| writer.buffer.as_ref());
        buffer.map_or(0, |buffer| buffer.rows.rows)
    })
}

/// Empties a table that this transaction created (`relation_nontransactional_truncate`), buffered rows included.
///
/// # Safety
/// As the callback.
pub unsafe fn truncate(rel: pg_sys::Relation) {
    BUFFERS.with(|cell| cell.borrow_mut().remove(&ports::relation_locator(rel)));
    // SAFETY: as the caller's. Other numbers of row pages may be in the relcache entry.
    unsafe {
        heap::heapam!(relation_nontransactional_truncate(rel));
        pg_sys::CacheInvalidateRelcache(rel);
        if !(*rel).rd_amcache.is_null() {
            pg_sys::pfree((*rel).rd_amcache);
            (*rel).rd_amcache = core::ptr::null_mut();
        }
    }
    cache::forget(rel);
}

/// Copies the table's files (`relation_copy_data`), buffered rows included.
///
/// # Safety
/// As the callback.
pub unsafe fn copy_data(rel: pg_sys::Relation, locator: *const ports::RelFileLocator) {
    // SAFETY: as the caller's.
    unsafe {
        flush(rel);
        heap::heapam!(relation_copy_data(rel, locator));
    }
}

/// How many of `rows` rows go to row pages.
unsafe fn page_quota(rel: pg_sys::Relation, rows: usize) -> usize {
    let key = ports::relation_locator(rel);
    BUFFERS.with(|cell| {
        let mut buffers = cell.borrow_mut();
        let writer = buffers.entry(key).or_insert_with(|| Writer {
            // SAFETY: the relation is open.
            relid: unsafe { (*rel).rd_id },
            page_rows: 0,
            changed: false,
            // SAFETY: as above.
            allowed: unsafe { may_buffer(rel) },
            buffer: None,
        });
        // SAFETY: as above.
        let relid = unsafe { (*rel).rd_id };
        if writer.relid != relid {
            // A rewrite filled this file as another table's, which is gone.
            writer.relid = relid;
            // SAFETY: as above.
            writer.allowed = unsafe { may_buffer(rel) };
        }
        if !writer.allowed {
            return rows;
        }
        let threshold = guc::BULK_THRESHOLD.get() as usize;
        let quota = threshold.saturating_sub(writer.page_rows).min(rows);
        writer.page_rows += quota;
        quota
    })
}

/// Where changes are decoded (`wal_level = logical`), rows stay on row pages, since row groups cannot be decoded, unless
/// a setting allows it for tables that are in no publication. Rows without columns stay there too, and those of tables
/// that can hold a row heap would refuse as too big.
unsafe fn may_buffer(rel: pg_sys::Relation) -> bool {
    // SAFETY: the relation is open.
    unsafe {
        let desc = (*rel).rd_att;
        if (*desc).natts == 0 || types::least_heap_size(desc) > types::MAX_HEAP_TUPLE {
            return false;
        }
        if !ports::RelationIsLogicallyLogged(rel) {
            return true;
        }
        if !guc::BULK_WITHOUT_DECODING.get() {
            return false;
        }
        let mut publication = pg_sys::PublicationDesc::default();
        pg_sys::RelationBuildPublicationDesc(rel, &raw mut publication);
        !publication.pubactions.pubinsert
    }
}

/// Appends the slot's row to the buffer, giving it a number. Returns false if the row is too wide for a row group.
unsafe fn append(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    options: i32,
) -> bool {
    // SAFETY: the slot holds a row of the relation's descriptor.
    unsafe {
        let natts = (*(*rel).rd_att).natts as usize;
        pg_sys::slot_getallattrs(slot);
        let frozen = options & pg_sys::HEAP_INSERT_FROZEN as i32 != 0;
        let xid = if frozen {
            // The transaction still needs an xid for its reservation.
            pg_sys::GetCurrentTransactionId();
            pg_sys::FrozenTransactionId
        } else {
            pg_sys::GetCurrentTransactionId()
        };
        let key = ports::relation_locator(rel);
        let ready = BUFFERS.with(|cell| {
            let mut buffers = cell.borrow_mut();
            if MISSED_CHANGE.take() {
                buffers.values_mut().for_each(|writer| writer.changed = true);
            }
            let Some(writer) = buffers.get_mut(&key) else { return false };
            let Some(buffer) = writer.buffer.as_mut() else { return false };
            if writer.changed {
                // Columns may have come, gone or changed their types, by DDL or by the rollback of some.
                if buffer.rows.attributes != types::attributes((*rel).rd_att) {
                    return false;
                }
                writer.changed = false;
            }
            buffer.subtransaction == pg_sys::GetCurrentSubTransactionId()
                && buffer.has_room(natts, xid.into_inner(), cid)
        });
        if !ready {
            flush(rel);
            let buffer = reserve(rel);
            BUFFERS.with(|cell| {
                if let Some(writer) = cell.borrow_mut().get_mut(&key) {
                    writer.buffer = Some(buffer);
                    writer.changed = false;
                }
            });
        }
        let number = BUFFERS.with(|cell| {
            let mut buffers = cell.borrow_mut();
            let buffer = buffers.get_mut(&key)?.buffer.as_mut()?;
            let (values, nulls) = ((*slot).tts_values, (*slot).tts_isnull);
            if buffer.rows.is_wide(values, nulls) {
                return None;
            }
            buffer.rows.push(values, nulls, xid.into_inner(), cid);
            Some(buffer.last_row())
        });
        let Some(number) = number else { return false };
        if number.is_multiple_of(CHECK_ROWS) {
            keep_budget(key);
        }
        (*slot).tts_tid = tid::of_row(number);
        (*slot).tts_tableOid = (*rel).rd_id;
        heap::set_tuple_tid(slot);
        true
    }
}

impl Buffer {
    fn has_room(&self, natts: usize, xid: u32, cid: u32) -> bool {
        natts == self.rows.columns.len()
            && self.rows.has_room(self.options.row_group_rows, xid, cid)
    }

    /// Number of the row appended last.
    fn last_row(&self) -> u64 {
        self.reserved.first_row() + u64::from(self.rows.rows - 1)
    }
}

/// Reserves row numbers for a group and starts a buffer for them.
unsafe fn reserve(rel: pg_sys::Relation) -> Buffer {
    // SAFETY: the relation is open for writing.
    unsafe {
        storage::metapage::ensure(rel);
        let options = options::of(rel);
        let rows = RowBuilder::new((*rel).rd_att);
        let blocks = directory::row_blocks(options.row_group_rows);
        let owner = pg_sys::GetCurrentTransactionId();
        let mut change = Change::begin(rel);
        let reserved = Entry {
            kind: EntryKind::Reserved as u8,
            group: change.next_group(),
            first_row_block: change.reserve_row_blocks(blocks),
            row_blocks: blocks,
            xid: owner.into_inner(),
            ..Entry::default()
        };
        let slot = change.put(reserved);
        change.commit();
        cache::forget(rel);
        let subtransaction = pg_sys::GetCurrentSubTransactionId();
        Buffer { rows, subtransaction, options, slot, reserved }
    }
}

/// Writes the relation's buffered rows, if there are any.
///
/// # Safety
/// `rel` is an open relation of this access method.
pub unsafe fn flush(rel: pg_sys::Relation) {
    let key = ports::relation_locator(rel);
    let buffer = BUFFERS.with(|cell| {
        let mut buffers = cell.borrow_mut();
        buffers.get_mut(&key).and_then(|writer| writer.buffer.take())
    });
    if let Some(buffer) = buffer {
        if buffer.rows.rows < SMALL_GROUP {
            // Small groups cost more than they save: the next rows are put on row pages again.
            BUFFERS.with(|cell| {
                if let Some(writer) = cell.borrow_mut().get_mut(&key) {
                    writer.page_rows = writer.page_rows.saturating_sub(SMALL_GROUP as usize);
                }
            });
        }
        // SAFETY: as the caller's.
        unsafe { write_buffer(rel, &buffer) };
    }
}

unsafe fn write_buffer(rel: pg_sys::Relation, buffer: &Buffer) {
    // SAFETY: the reservation is this transaction's own.
    unsafe {
        let rows = &buffer.rows;
        let entry = if rows.rows == 0 {
            Entry::default()
        } else {
            let encoded = writer::encode(&rows.columns, rows.rows, &buffer.options);
            let written = writer::write(rel, buffer.reserved.group, &encoded, &rows.runs);
            Entry {
                kind: EntryKind::Columns as u8,
                first_row_block: buffer.reserved.first_row_block,
                row_blocks: directory::row_blocks(rows.rows),
                ..written
            }
        };
        let mut change = Change::begin(rel);
        change.set(buffer.slot, entry);
        let first = buffer.reserved.first_row_block;
        change.release_row_blocks(
            first + buffer.reserved.row_blocks,
            first + directory::row_blocks(rows.rows),
        );
        change.commit();
        if entry.extent_pages > 0 {
            extent::settle(rel, &[entry.extent]);
        }
        cache::forget(rel);
    }
}

/// A row of this transaction's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferedRow {
    /// Stored in the slot by [`fetch`]; who inserted it.
    Found(InsertRun),
    /// The number is not in a buffer of this transaction.
    Elsewhere,
}

/// Looks up a row number in the buffer; if `slot` is not null, the row's values are stored in it.
///
/// # Safety
/// `rel` is an open relation of this access method; `slot`, if not null, is a slot of this access method.
pub unsafe fn fetch(
    rel: pg_sys::Relation,
    number: u64,
    slot: *mut pg_sys::TupleTableSlot,
) -> BufferedRow {
    let key = ports::relation_locator(rel);
    BUFFERS.with(|cell| {
        let buffers = cell.borrow();
        let Some(buffer) = buffers.get(&key).and_then(|writer| writer.buffer.as_ref()) else {
            return BufferedRow::Elsewhere;
        };
        let Some(row) = number.checked_sub(buffer.reserved.first_row()) else {
            return BufferedRow::Elsewhere;
        };
        let rows = &buffer.rows;
        if row >= u64::from(rows.rows) {
            return BufferedRow::Elsewhere;
        }
        let row = row as u32;
        let at = rows.runs.partition_point(|run| run.first <= row).saturating_sub(1);
        if !slot.is_null() {
            // SAFETY: the values are copied into the slot before the buffer can change.
            unsafe {
                slot::store_values(slot, rel, tid::of_row(number), |arena, values, nulls| {
                    for (i, attribute) in rows.attributes.iter().enumerate() {
                        let layout = types::Layout { len: attribute.len };
                        let value = rows.columns[i].get(row as usize);
                        let datum = types::to_datum(layout, value, arena);
                        values.add(i).write(datum.unwrap_or(pg_sys::Datum::null()));
                        nulls.add(i).write(datum.is_none());
                    }
                });
            }
        }
        BufferedRow::Found(rows.runs[at])
    })
}

unsafe fn count_inserts(rel: pg_sys::Relation, rows: i64) {
    // SAFETY: the relation is open.
    unsafe {
        pg_sys::pgstat_count_heap_insert(rel, rows);
        ports::CheckForSerializableConflictIn(
            rel,
            core::ptr::null_mut(),
            pg_sys::InvalidBlockNumber,
        );
    }
}

/// Writes the largest buffers of other relations while all take more memory than `pgcolumnar.write_buffer`. A load into
/// many partitions holds a buffer for each.
unsafe fn keep_budget(current: Key) {
    let limit = guc::WRITE_BUFFER.get().max(0) as usize * 1024;
    loop {
        let (total, largest) = BUFFERS.with(|cell| {
            let buffers = cell.borrow();
            let mut total = 0;
            let mut largest = None;
            for (key, writer) in buffers.iter() {
                let Some(buffer) = &writer.buffer else { continue };
                let bytes = buffer.rows.bytes();
                total += bytes;
                let other = *key != current && buffer.rows.rows > 0;
                if other && largest.is_none_or(|(size, _, _)| bytes > size) {
                    largest = Some((bytes, *key, writer.relid));
                }
            }
            (total, largest)
        });
        let Some((_, key, relid)) = largest.filter(|_| total > limit) else { return };
        // SAFETY: the transaction holds its lock on the relation.
        unsafe { flush_relation(key, relid) };
    }
}

/// Writes all buffers before the transaction commits or is prepared.
unsafe fn flush_all() {
    let relids: Vec<(Key, pg_sys::Oid)> = BUFFERS.with(|cell| {
        cell.borrow()
            .iter()
            .filter(|(_, writer)| writer.buffer.is_some())
            .map(|(key, writer)| (*key, writer.relid))
            .collect()
    });
    for (key, relid) in relids {
        // SAFETY: as the caller's.
        unsafe { flush_relation(key, relid) };
    }
}

/// Writes the buffer of a relation file, or forgets it if the relation was dropped or rewritten since.
unsafe fn flush_relation(key: Key, relid: pg_sys::Oid) {
    // SAFETY: the transaction still holds its lock on the relation.
    unsafe {
        let rel = pg_sys::RelationIdGetRelation(relid);
        if !rel.is_null() {
            if ports::relation_locator(rel) == key {
                flush(rel);
            }
            pg_sys::RelationClose(rel);
        }
        BUFFERS.with(|cell| {
            if let Some(writer) = cell.borrow_mut().get_mut(&key) {
                writer.buffer = None;
            }
        });
    }
}

/// Subtransaction callback: a buffer passes to the parent, or goes with all its rows.
///
/// # Safety
/// Called by the server.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn at_subtransaction_event(
    event: pg_sys::SubXactEvent::Type,
    subtransaction: pg_sys::SubTransactionId,
    parent: pg_sys::SubTransactionId,
    _arg: *mut core::ffi::c_void,
) {
    use pg_sys::SubXactEvent as Event;
    BUFFERS.with(|cell| {
        for writer in cell.borrow_mut().values_mut() {
            match event {
                Event::SUBXACT_EVENT_COMMIT_SUB => {
                    if let Some(buffer) = writer.buffer.as_mut()
                        && buffer.subtransaction == subtransaction
                    {
                        buffer.subtransaction = parent;
                    }
                }
                Event::SUBXACT_EVENT_ABORT_SUB => {
                    writer.buffer.take_if(|buffer| buffer.subtransaction == subtransaction);
                    writer.changed = true;
                }
                _ => {}
            }
        }
    });
}

/// Relation cache callback: buffers of the relation (of all, if it is not named) are looked at again before the next row.
///
/// # Safety
/// Called by the server.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn at_relation_change(_arg: pg_sys::Datum, relid: pg_sys::Oid) {
    // The server may ask while a buffer is being looked at, which is then not yet in use for the row at hand.
    BUFFERS.with(|cell| match cell.try_borrow_mut() {
        Ok(mut buffers) => {
            for writer in buffers.values_mut() {
                if relid == pg_sys::InvalidOid || writer.relid == relid {
                    writer.changed = true;
                }
            }
        }
        Err(_) => MISSED_CHANGE.set(true),
    });
}

/// Writes all buffers before a plan that may start parallel workers, which cannot see them.
///
/// # Safety
/// Called by the server with a query descriptor.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn at_executor_start(query: *mut pg_sys::QueryDesc, flags: i32) {
    // SAFETY: the descriptor has a plan; hooks are called in the order they were set.
    unsafe {
        let plan = (*query).plannedstmt;
        if !plan.is_null() && (*plan).parallelModeNeeded {
            flush_all();
        }
        match PREVIOUS_EXECUTOR_START.get() {
            Some(previous) => previous(query, flags),
            None => pg_sys::standard_ExecutorStart(query, flags),
        }
        crate::exec::projection::restrict((*query).planstate);
    }
}

type ExecutorStart = unsafe extern "C-unwind" fn(*mut pg_sys::QueryDesc, i32);

thread_local! {
    /// A change of relations that came while the buffers were in use.
    static MISSED_CHANGE: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
    static PREVIOUS_EXECUTOR_START: core::cell::Cell<Option<ExecutorStart>> =
        const { core::cell::Cell::new(None) };
}

/// Registers the callbacks and the hook of this module.
pub fn register() {
    // SAFETY: functions of this library, which is never unloaded.
    unsafe {
        let none = core::ptr::null_mut();
        pg_sys::RegisterXactCallback(Some(at_transaction_event), none);
        pg_sys::RegisterSubXactCallback(Some(at_subtransaction_event), none);
        pg_sys::CacheRegisterRelcacheCallback(Some(at_relation_change), pg_sys::Datum::null());
        PREVIOUS_EXECUTOR_START.set(pg_sys::ExecutorStart_hook);
        pg_sys::ExecutorStart_hook = Some(at_executor_start);
    }
}

/// Transaction callback: buffers are written before a commit and forgotten at its end.
///
/// # Safety
/// Called by the server.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn at_transaction_event(
    event: pg_sys::XactEvent::Type,
    _arg: *mut core::ffi::c_void,
) {
    use pg_sys::XactEvent as Event;
    match event {
        Event::XACT_EVENT_PRE_COMMIT | Event::XACT_EVENT_PRE_PREPARE => {
            // SAFETY: the transaction is still running.
            unsafe { flush_all() }
        }
        Event::XACT_EVENT_PARALLEL_PRE_COMMIT => {}
        _ => {
            BUFFERS.with(|cell| cell.borrow_mut().clear());
            scan::parallel::end_transaction();
        }
    }
}
