//! `pgcolumnar.options`: what tables set for themselves, read and changed below SQL.
//!
//! The writer asks for a table's options whenever it begins a row group, at any point of a transaction and with no
//! snapshot of its own, so the catalog is read as the server reads its own: found by name, an index scan under a fresh
//! catalog snapshot, no SPI. A database without the extension, or in the middle of dropping it, has no options; so has
//! one where a table of that name is not laid out as the extension's script does it.
//!
//! Rows go with their tables. The library is loaded by opening a table, and DROP TABLE reports to `object_access_hook`
//! *before* it opens the table; so the hook misses the first drop of a session that has not used a table before. A
//! transaction that loads the library therefore looks for rows without a table when it commits. (A `sql_drop` event
//! trigger would miss temporary tables that go at the end of a transaction or session.)

use crate::ports;
use columnar_format::Compression;
use core::cell::Cell;
use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use pgrx::{pg_guard, pg_sys};
use std::sync::OnceLock;

const SCHEMA: &CStr = c"pgcolumnar";
const TABLE: &CStr = c"options";
const INDEX: &CStr = c"options_pkey";

/// Columns of the table.
const COLUMNS: [pg_sys::Oid; 6] = [
    pg_sys::REGCLASSOID,
    pg_sys::TEXTOID,
    pg_sys::INT4OID,
    pg_sys::INT4OID,
    pg_sys::INT4OID,
    pg_sys::NAMEARRAYOID,
];

/// What a table sets for itself; `None` follows the setting of the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredOptions {
    pub compression: Option<Compression>,
    pub compression_level: Option<i32>,
    pub row_group_rows: Option<i32>,
    pub vector_rows: Option<i32>,
    /// Names of the columns that have Bloom filters; `None` follows the setting `bloom_filters`.
    pub bloom_columns: Option<Vec<Box<CStr>>>,
}

impl StoredOptions {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The catalog table, open.
struct Catalog {
    rel: pg_sys::Relation,
    index: pg_sys::Oid,
    lock: pg_sys::LOCKMODE,
}

impl Catalog {
    /// Opens the table, or `None` where the database has none. A lock for writing is kept until the transaction ends.
    unsafe fn open(lock: u32) -> Option<Self> {
        // SAFETY: look-ups by name and a relation opened by its OID, which is null if it was dropped meanwhile.
        unsafe {
            let schema = pg_sys::get_namespace_oid(SCHEMA.as_ptr(), true);
            if schema == pg_sys::InvalidOid {
                return None;
            }
            let table = pg_sys::get_relname_relid(TABLE.as_ptr(), schema);
            if table == pg_sys::InvalidOid {
                return None;
            }
            let rel = pg_sys::try_relation_open(table, lock as c_int);
            if rel.is_null() {
                return None;
            }
            // Under the table's lock, so that a concurrent REINDEX cannot take the index away.
            let index = pg_sys::get_relname_relid(INDEX.as_ptr(), schema);
            let catalog = Self { rel, index, lock: lock as c_int };
            if !catalog.is_laid_out() {
                return None;
            }
            Some(catalog)
        }
    }

    /// Whether this is the table of the extension's script, as far as this module relies on it.
    unsafe fn is_laid_out(&self) -> bool {
        // SAFETY: the relation is open; columns are looked at below their number.
        unsafe {
            let class = (*self.rel).rd_rel;
            let desc = (*self.rel).rd_att;
            (*class).relkind == pg_sys::RELKIND_RELATION as core::ffi::c_char
                && (*class).relam == pg_sys::HEAP_TABLE_AM_OID
                && (*desc).natts as usize >= COLUMNS.len()
                && COLUMNS.iter().enumerate().all(|(i, expected)| {
                    let attribute = ports::TupleDescAttr(desc, i);
                    !(*attribute).attisdropped && (*attribute).atttypid == *expected
                })
        }
    }

    /// Calls `visit` with the row of a table, or with all rows.
    unsafe fn scan(&self, table: Option<pg_sys::Oid>, mut visit: impl FnMut(pg_sys::HeapTuple)) {
        // SAFETY: a null snapshot stands for a fresh catalog snapshot; the key lives as long as the scan.
        unsafe {
            let mut key = pg_sys::ScanKeyData::default();
            let keys = c_int::from(table.is_some());
            if let Some(table) = table {
                let equal = pg_sys::BTEqualStrategyNumber as u16;
                pg_sys::ScanKeyInit(&raw mut key, 1, equal, pg_sys::F_OIDEQ.into(), table.into());
            }
            let use_index = table.is_some()
                && self.index != pg_sys::InvalidOid
                && pg_sys::IndexGetRelation(self.index, true) == (*self.rel).rd_id;
            let none = ptr::null_mut();
            let scan = pg_sys::systable_beginscan(
                self.rel,
                self.index,
                use_index,
                none,
                keys,
                &raw mut key,
            );
            loop {
                let tuple = pg_sys::systable_getnext(scan);
                if tuple.is_null() {
                    break;
                }
                visit(tuple);
            }
            pg_sys::systable_endscan(scan);
        }
    }

    unsafe fn deform(&self, tuple: pg_sys::HeapTuple) -> (Vec<pg_sys::Datum>, Vec<bool>) {
        // SAFETY: the tuple is of this relation, whose descriptor says how many columns there are.
        unsafe {
            let desc = (*self.rel).rd_att;
            let columns = (*desc).natts as usize;
            let mut values = vec![pg_sys::Datum::null(); columns];
            let mut nulls = vec![true; columns];
            pg_sys::heap_deform_tuple(tuple, desc, values.as_mut_ptr(), nulls.as_mut_ptr());
            (values, nulls)
        }
    }

    unsafe fn options(&self, tuple: pg_sys::HeapTuple) -> StoredOptions {
        // SAFETY: the columns' types were checked when the table was opened.
        unsafe {
            let (values, nulls) = self.deform(tuple);
            let number = |i: usize| (!nulls[i]).then(|| values[i].value() as i32);
            let compression = (!nulls[1]).then(|| {
                let text = pg_sys::text_to_cstring(values[1].cast_mut_ptr());
                let name = CStr::from_ptr(text).to_string_lossy().parse().ok();
                pg_sys::pfree(text.cast());
                name
            });
            StoredOptions {
                compression: compression.flatten(),
                compression_level: number(2),
                row_group_rows: number(3),
                vector_rows: number(4),
                bloom_columns: (!nulls[5]).then(|| names(values[5])),
            }
        }
    }

    /// Deletes a row unless somebody else is at it.
    unsafe fn delete(&self, tuple: pg_sys::HeapTuple, wait: bool) {
        // SAFETY: the tuple was read by a scan of this relation; entries of its index stay until VACUUM.
        unsafe {
            let mut failure = pg_sys::TM_FailureData::default();
            let cid = pg_sys::GetCurrentCommandId(true);
            let tid = &raw mut (*tuple).t_self;
            let none = ptr::null_mut();
            pg_sys::heap_delete(self.rel, tid, cid, none, wait, &raw mut failure, false);
        }
    }
}

impl Drop for Catalog {
    fn drop(&mut self) {
        // While unwinding, the transaction's end closes the relation.
        if !std::thread::panicking() {
            let written = self.lock == pg_sys::RowExclusiveLock as c_int;
            let unlock = if written { pg_sys::NoLock as c_int } else { self.lock };
            // SAFETY: opened by `open`.
            unsafe { pg_sys::relation_close(self.rel, unlock) };
        }
    }
}

const NAME_BYTES: c_int = pg_sys::NAMEDATALEN as c_int;

/// The members of an array of names but NULL.
///
/// # Safety
/// `array` is an array of names.
pub unsafe fn names(array: pg_sys::Datum) -> Vec<Box<CStr>> {
    // SAFETY: as the caller's; the arrays that are given have `count` members, names are NUL-terminated.
    unsafe {
        let array: *mut pg_sys::ArrayType = pg_sys::pg_detoast_datum(array.cast_mut_ptr()).cast();
        let (mut values, mut nulls, mut count) = (ptr::null_mut(), ptr::null_mut(), 0);
        let (kind, align) = (pg_sys::NAMEOID, b'c' as core::ffi::c_char);
        pg_sys::deconstruct_array(
            array,
            kind,
            NAME_BYTES,
            false,
            align,
            &raw mut values,
            &raw mut nulls,
            &raw mut count,
        );
        (0..count as usize)
            .filter(|&i| !*nulls.add(i))
            .map(|i| CStr::from_ptr((*values.add(i)).cast_mut_ptr()).into())
            .collect()
    }
}

/// An array of names.
unsafe fn name_array(names: &[Box<CStr>]) -> pg_sys::Datum {
    // SAFETY: names are copied, each to a zeroed name whose last byte stays zero.
    unsafe {
        let mut values: Vec<pg_sys::Datum> = Vec::with_capacity(names.len());
        for name in names {
            let copy: *mut u8 = pg_sys::palloc0(NAME_BYTES as usize).cast();
            let bytes = name.to_bytes();
            let len = bytes.len().min(NAME_BYTES as usize - 1);
            ptr::copy_nonoverlapping(bytes.as_ptr(), copy, len);
            values.push(pg_sys::Datum::from(copy));
        }
        let (kind, align) = (pg_sys::NAMEOID, b'c' as core::ffi::c_char);
        let count = values.len() as c_int;
        let array =
            pg_sys::construct_array(values.as_mut_ptr(), count, kind, NAME_BYTES, false, align);
        pg_sys::Datum::from(array)
    }
}

/// The options of a table, if it sets any.
///
/// # Safety
/// Called on the backend's thread inside a transaction.
pub unsafe fn read(table: pg_sys::Oid) -> Option<StoredOptions> {
    // SAFETY: as the caller's.
    unsafe {
        let catalog = Catalog::open(pg_sys::AccessShareLock)?;
        let mut found = None;
        catalog.scan(Some(table), |tuple| found = Some(catalog.options(tuple)));
        found
    }
}

/// Sets the options of a table, for later commands. Returns false where the database has no catalog of them.
///
/// # Safety
/// As [`read`]; the caller's lock on the table excludes others that set its options.
pub unsafe fn write(table: pg_sys::Oid, options: &StoredOptions) -> bool {
    // SAFETY: as the caller's; the tuple is formed by the relation's descriptor.
    unsafe {
        let Some(catalog) = Catalog::open(pg_sys::RowExclusiveLock) else { return false };
        let mut old = None;
        catalog.scan(Some(table), |tuple| old = Some(pg_sys::heap_copytuple(tuple)));
        if options.is_empty() {
            if let Some(old) = old {
                catalog.delete(old, true);
            }
        } else {
            let desc = (*catalog.rel).rd_att;
            let (mut values, mut nulls) = match old {
                Some(old) => catalog.deform(old),
                None => {
                    let columns = (*desc).natts as usize;
                    (vec![pg_sys::Datum::null(); columns], vec![true; columns])
                }
            };
            let compression = options.compression.map(|compression| {
                let name = compression.as_str();
                let text =
                    pg_sys::cstring_to_text_with_len(name.as_ptr().cast(), name.len() as c_int);
                pg_sys::Datum::from(text)
            });
            let row = [
                Some(pg_sys::Datum::from(table)),
                compression,
                options.compression_level.map(pg_sys::Datum::from),
                options.row_group_rows.map(pg_sys::Datum::from),
                options.vector_rows.map(pg_sys::Datum::from),
                options.bloom_columns.as_deref().map(|names| name_array(names)),
            ];
            for (i, value) in row.into_iter().enumerate() {
                nulls[i] = value.is_none();
                values[i] = value.unwrap_or(pg_sys::Datum::null());
            }
            let tuple = pg_sys::heap_form_tuple(desc, values.as_mut_ptr(), nulls.as_mut_ptr());
            match old {
                Some(old) => {
                    pg_sys::CatalogTupleUpdate(catalog.rel, &raw mut (*old).t_self, tuple);
                }
                None => pg_sys::CatalogTupleInsert(catalog.rel, tuple),
            }
        }
        pg_sys::CommandCounterIncrement();
        true
    }
}

/// Forgets the options of a table that is being dropped.
unsafe fn remove(table: pg_sys::Oid) {
    // SAFETY: inside a transaction that holds the table's lock.
    unsafe {
        // Most tables have none: do not keep a lock for them.
        if read(table).is_some()
            && let Some(catalog) = Catalog::open(pg_sys::RowExclusiveLock)
        {
            catalog.scan(Some(table), |tuple| catalog.delete(tuple, true));
        }
    }
}

/// Deletes the rows of tables that are gone.
unsafe fn remove_orphans() {
    // SAFETY: inside a transaction that may write.
    unsafe {
        let mut tables = Vec::new();
        {
            let Some(catalog) = Catalog::open(pg_sys::AccessShareLock) else { return };
            catalog.scan(None, |tuple| tables.push(table_of(&catalog, tuple)));
        }
        // A table created since this backend last looked must not be taken for one that is gone.
        pg_sys::AcceptInvalidationMessages();
        let null = pg_sys::Datum::null();
        let cache = pg_sys::SysCacheIdentifier::RELOID as c_int;
        tables.retain(|&oid| !pg_sys::SearchSysCacheExists(cache, oid.into(), null, null, null));
        if tables.is_empty() {
            return;
        }
        let Some(catalog) = Catalog::open(pg_sys::RowExclusiveLock) else { return };
        for oid in tables {
            catalog.scan(Some(oid), |tuple| catalog.delete(tuple, false));
        }
    }
}

unsafe fn table_of(catalog: &Catalog, tuple: pg_sys::HeapTuple) -> pg_sys::Oid {
    // SAFETY: the first column is a regclass and part of the primary key.
    unsafe { pg_sys::Oid::from(catalog.deform(tuple).0[0].value() as u32) }
}

static NEXT_HOOK: OnceLock<pg_sys::object_access_hook_type> = OnceLock::new();

thread_local! {
    /// The running transaction loaded the library.
    static LOADED_NOW: Cell<bool> = const { Cell::new(false) };
}

/// Installs what removes the options of dropped tables; called once, by `_PG_init`.
pub fn register() {
    // SAFETY: the hook and the callback are functions of this library, which is never unloaded.
    unsafe {
        NEXT_HOOK.get_or_init(|| pg_sys::object_access_hook);
        pg_sys::object_access_hook = Some(at_object_access);
        if pg_sys::IsTransactionState() {
            LOADED_NOW.set(true);
            pg_sys::RegisterXactCallback(Some(at_transaction_event), ptr::null_mut());
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_object_access(
    access: pg_sys::ObjectAccessType::Type,
    class: pg_sys::Oid,
    object: pg_sys::Oid,
    sub: c_int,
    arg: *mut c_void,
) {
    // SAFETY: the next hook gets what we got; a relation is dropped inside a transaction, under its lock.
    unsafe {
        if let Some(Some(next)) = NEXT_HOOK.get() {
            pg_sys::ffi::pg_guard_ffi_boundary(|| next(access, class, object, sub, arg));
        }
        if access == pg_sys::ObjectAccessType::OAT_DROP
            && class == pg_sys::RelationRelationId
            && sub == 0
            && matches!(pg_sys::get_rel_relkind(object) as u8, b'r' | b'm')
        {
            remove(object);
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_transaction_event(
    event: pg_sys::XactEvent::Type,
    _arg: *mut c_void,
) {
    use pg_sys::XactEvent as Event;
    if !LOADED_NOW.get() {
        return;
    }
    LOADED_NOW.set(false);
    let ends = event == Event::XACT_EVENT_PRE_COMMIT || event == Event::XACT_EVENT_PRE_PREPARE;
    // SAFETY: the transaction is still running. One without an xid dropped nothing; VACUUM's own transactions, whose
    // snapshots others ignore, must not write.
    unsafe {
        let vacuums = u32::from((*pg_sys::MyProc).statusFlags) & pg_sys::PROC_IN_VACUUM != 0;
        if ends && !vacuums && pg_sys::GetTopTransactionIdIfAny() != pg_sys::InvalidTransactionId {
            remove_orphans();
        }
    }
}
