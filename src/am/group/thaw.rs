//! Thawing: giving a row of a group a stub, so that heapam can lock, update or delete it.

use super::cache::{self, Place};
use super::marks::{self, Mark};
use super::visibility::{self, InsertStatus};
use super::{Group, types};
use crate::am::tid;
use crate::ports;
use pgrx::pg_sys;
use std::rc::Rc;

/// Values of indexed columns longer than this are left out of a stub. An update of the row then counts as one that
/// changes the column, which takes the stronger lock.
const MAX_STUB_VALUE: usize = 256;
/// Where changes are decoded, more is kept for a replica identity of full rows, as long as the stub needs no TOAST.
const MAX_STUB: usize = 1800;

/// A row of a group that a statement wants to change.
#[derive(Debug)]
pub enum Target {
    /// The row's stub.
    Stub(Stub),
    /// The row cannot be changed: what heapam would say of such a tuple.
    Refused(pg_sys::TM_Result::Type),
}

/// A thawed row.
#[derive(Debug)]
pub struct Stub {
    pub group: Rc<Group>,
    pub row: u32,
    /// Physical TID of the stub.
    pub physical: pg_sys::ItemPointerData,
}

/// Finds the row of an external TID and thaws it.
///
/// `cid` is the current command's: rows that it inserted itself are invisible to it.
///
/// # Safety
/// `rel` is an open relation of this access method, locked for writing.
pub unsafe fn target(
    rel: pg_sys::Relation,
    tid: &pg_sys::ItemPointerData,
    cid: pg_sys::CommandId,
) -> Target {
    // SAFETY: as the caller's.
    unsafe {
        loop {
            let Place::Group(group, row) = cache::locate(rel, tid) else {
                return Target::Refused(pg_sys::TM_Result::TM_Invisible);
            };
            let run = group.run(row);
            let visible = match visibility::status(run.xid) {
                InsertStatus::Committed => true,
                InsertStatus::Own => run.cid < cid,
                InsertStatus::InProgress | InsertStatus::Aborted => false,
            };
            if !visible {
                return Target::Refused(pg_sys::TM_Result::TM_Invisible);
            }
            match thaw(rel, &group, row, tid) {
                Some(Mark::Stub { block, offset }) => {
                    let physical = tid::item_pointer(block, offset);
                    return Target::Stub(Stub { group, row, physical });
                }
                Some(Mark::Gone) => return Target::Refused(pg_sys::TM_Result::TM_Deleted),
                None => cache::forget(rel),
            }
        }
    }
}

/// Returns the mark of a row, making one if there is none; `None` if VACUUM replaced the group meanwhile.
unsafe fn thaw(
    rel: pg_sys::Relation,
    group: &Rc<Group>,
    row: u32,
    tid: &pg_sys::ItemPointerData,
) -> Option<Mark> {
    if let Some(mark) = group.mark(row) {
        return Some(mark);
    }
    // SAFETY: a page lock, of a table on which core takes none, keeps two sessions from thawing the same row.
    unsafe {
        let lock = group.id.wrapping_mul(0x9e37_79b1) ^ row;
        pg_sys::LockPage(rel, lock, pg_sys::ExclusiveLock as i32);
        let mark = thaw_locked(rel, group, row, tid);
        pg_sys::UnlockPage(rel, lock, pg_sys::ExclusiveLock as i32);
        mark
    }
}

unsafe fn thaw_locked(
    rel: pg_sys::Relation,
    group: &Rc<Group>,
    row: u32,
    tid: &pg_sys::ItemPointerData,
) -> Option<Mark> {
    // SAFETY: the caller holds the row's thaw lock.
    unsafe {
        if !group.refresh(rel) {
            return None;
        }
        if let Some(mark) = group.mark(row) {
            return Some(mark);
        }
        let stub = make_stub(rel, group, row);
        if !marks::append(rel, group, row, tid, &stub) {
            return None;
        }
        group.refresh(rel);
        group.mark(row)
    }
}

unsafe fn make_stub(rel: pg_sys::Relation, group: &Rc<Group>, row: u32) -> pg_sys::ItemPointerData {
    // SAFETY: values live in the current memory context until the tuple is formed.
    unsafe {
        let desc = (*rel).rd_att;
        let natts = (*desc).natts as usize;
        let mut values = vec![pg_sys::Datum::null(); natts];
        let mut nulls = vec![true; natts];
        let mut arena = Palloc(Vec::new());
        let identity =
            bitmap_columns(rel, pg_sys::IndexAttrBitmapKind::INDEX_ATTR_BITMAP_IDENTITY_KEY);
        let mut size = 0;
        // Logical decoding reads the replica identity of the old row from the stub.
        let decoded = ports::RelationIsLogicallyLogged(rel);
        let full = pg_sys::REPLICA_IDENTITY_FULL as core::ffi::c_char;
        let columns = if decoded && (*(*rel).rd_rel).relreplident == full {
            (0..natts).collect()
        } else {
            indexed_columns(rel)
        };
        for index in columns {
            if index >= natts {
                continue;
            }
            let Some(column) = group.column(rel, index) else {
                values[index] =
                    pg_sys::getmissingattr(desc, index as i32 + 1, &raw mut nulls[index]);
                continue;
            };
            let (vector, at) = column.locate(row);
            let open = group.vector(rel, index, &column, vector);
            let value = open.get(at);
            let len =
                if let columnar_format::Value::Bytes(bytes) = value { bytes.len() } else { 8 };
            let fits = if decoded { size + len <= MAX_STUB } else { len <= MAX_STUB_VALUE };
            if !fits && !identity.contains(&index) {
                continue;
            }
            size += len;
            let layout = types::Layout { len: (*ports::TupleDescAttr(desc, index)).attlen };
            if let Some(datum) = types::to_datum(layout, value, &mut arena) {
                values[index] = datum;
                nulls[index] = false;
            }
        }
        let stub = marks::insert_stub(rel, values.as_mut_ptr(), nulls.as_mut_ptr());
        for pointer in arena.0 {
            pg_sys::pfree(pointer.cast());
        }
        stub
    }
}

/// Values allocated one by one in the current memory context.
struct Palloc(Vec<*mut u8>);

impl types::DatumArena for Palloc {
    fn allocate(&mut self, len: usize) -> *mut u8 {
        // SAFETY: plain allocation, freed by the owner.
        let pointer: *mut u8 = unsafe { pg_sys::palloc(len) }.cast();
        self.0.push(pointer);
        pointer
    }
}

/// Attribute indexes that heap_update compares between old and new version.
unsafe fn indexed_columns(rel: pg_sys::Relation) -> Vec<usize> {
    use pg_sys::IndexAttrBitmapKind as Kind;
    #[cfg(feature = "pg15")]
    let kinds = [
        Kind::INDEX_ATTR_BITMAP_ALL,
        Kind::INDEX_ATTR_BITMAP_KEY,
        Kind::INDEX_ATTR_BITMAP_IDENTITY_KEY,
    ];
    #[cfg(not(feature = "pg15"))]
    let kinds = [
        Kind::INDEX_ATTR_BITMAP_HOT_BLOCKING,
        Kind::INDEX_ATTR_BITMAP_SUMMARIZED,
        Kind::INDEX_ATTR_BITMAP_KEY,
        Kind::INDEX_ATTR_BITMAP_IDENTITY_KEY,
    ];
    // SAFETY: as the caller's.
    let mut columns: Vec<usize> =
        kinds.into_iter().flat_map(|kind| unsafe { bitmap_columns(rel, kind) }).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Attribute indexes in one of the relation's bitmaps.
unsafe fn bitmap_columns(
    rel: pg_sys::Relation,
    kind: pg_sys::IndexAttrBitmapKind::Type,
) -> Vec<usize> {
    let mut columns = Vec::new();
    // SAFETY: the bitmap is a copy in the current memory context.
    unsafe {
        let bitmap = pg_sys::RelationGetIndexAttrBitmap(rel, kind);
        let mut member = -1;
        loop {
            member = pg_sys::bms_next_member(bitmap, member);
            if member < 0 {
                break;
            }
            let number = member + pg_sys::FirstLowInvalidHeapAttributeNumber;
            if number > 0 {
                columns.push(number as usize - 1);
            }
        }
        pg_sys::bms_free(bitmap);
    }
    columns
}
