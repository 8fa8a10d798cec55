//! How a table's new row groups are written: its own options (`pgcolumnar.options`) over the settings.

use crate::guc::{self, BloomSetting, CompressionSetting, EncodingSetting};
use crate::ports;
use crate::sql::catalog::{self, StoredOptions};
use columnar_format::{BloomFilters, Compression, EncodeOptions, Encoding};
use core::ffi::CStr;
use pgrx::pg_sys;

/// `InvalidSubTransactionId`.
const INVALID_SUBTRANSACTION: pg_sys::SubTransactionId = 0;

/// Options in force for one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOptions {
    pub row_group_rows: u32,
    encode: EncodeOptions,
    /// Whether each column has Bloom filters, where the table says so.
    bloom_columns: Option<Vec<bool>>,
}

impl TableOptions {
    /// How a column is encoded.
    pub fn encode(&self, column: usize) -> EncodeOptions {
        let bloom_filters = match &self.bloom_columns {
            None => self.encode.bloom_filters,
            Some(columns) if columns.get(column) == Some(&true) => BloomFilters::All,
            Some(_) => BloomFilters::None,
        };
        EncodeOptions { bloom_filters, ..self.encode }
    }
}

/// The options of a table. One that the server made to rewrite another has the other's ([`rewritten`]).
///
/// # Safety
/// `rel` is an open relation of this access method.
pub unsafe fn of(rel: pg_sys::Relation) -> TableOptions {
    // SAFETY: as the caller's.
    unsafe {
        let table = rewritten(rel).unwrap_or((*rel).rd_id);
        let stored = catalog::read(table).unwrap_or_default();
        over_settings(&stored, |names| named((*rel).rd_att, names))
    }
}

/// Which attributes have one of these names. Columns that were renamed since have not.
///
/// # Safety
/// `desc` is a live tuple descriptor.
unsafe fn named(desc: pg_sys::TupleDesc, names: &[Box<CStr>]) -> Vec<bool> {
    // SAFETY: `natts` attributes follow the descriptor; names are NUL-terminated.
    unsafe {
        let is_named = |i: usize| {
            let name = CStr::from_ptr((*ports::TupleDescAttr(desc, i)).attname.data.as_ptr());
            names.iter().any(|wanted| wanted.as_ref() == name)
        };
        (0..(*desc).natts as usize).map(is_named).collect()
    }
}

/// The table that this transient one is to replace: VACUUM FULL, CLUSTER, ALTER TABLE and REFRESH MATERIALIZED VIEW write a
/// new table in the same transaction and then exchange the files. The server names it `pg_temp_` and the original's OID
/// (make_new_heap in commands/cluster.c), and says nowhere else what it is for.
///
/// # Safety
/// `rel` is an open relation.
pub unsafe fn rewritten(rel: pg_sys::Relation) -> Option<pg_sys::Oid> {
    // SAFETY: the relcache entry is valid while the relation is open; its name is NUL-terminated.
    let (made_now, name) = unsafe {
        let made_now = (*rel).rd_createSubid != INVALID_SUBTRANSACTION;
        (made_now, CStr::from_ptr((*(*rel).rd_rel).relname.data.as_ptr()))
    };
    if made_now { original(name.to_bytes()) } else { None }
}

fn original(name: &[u8]) -> Option<pg_sys::Oid> {
    let digits = name.strip_prefix(b"pg_temp_")?;
    if digits.first() == Some(&b'+') {
        return None;
    }
    core::str::from_utf8(digits).ok()?.parse::<u32>().ok().map(pg_sys::Oid::from)
}

/// A stored number outside its range (put there by hand, or by a version with wider ranges) counts as not set.
fn over_settings(
    stored: &StoredOptions,
    named: impl FnOnce(&[Box<CStr>]) -> Vec<bool>,
) -> TableOptions {
    let compression = stored.compression.unwrap_or_else(|| match guc::COMPRESSION.get() {
        CompressionSetting::None => Compression::None,
        CompressionSetting::Lz4 => Compression::Lz4,
        CompressionSetting::Zstd => Compression::Zstd,
    });
    let choose = |stored: Option<i32>, range: (i32, i32), setting: i32| {
        stored.filter(|value| (range.0..=range.1).contains(value)).unwrap_or(setting)
    };
    TableOptions {
        row_group_rows: choose(
            stored.row_group_rows,
            guc::ROW_GROUP_ROWS_RANGE,
            guc::ROW_GROUP_ROWS.get(),
        ) as u32,
        encode: EncodeOptions {
            compression,
            compression_level: choose(
                stored.compression_level,
                guc::COMPRESSION_LEVEL_RANGE,
                guc::COMPRESSION_LEVEL.get(),
            ),
            vector_rows: choose(stored.vector_rows, guc::VECTOR_ROWS_RANGE, guc::VECTOR_ROWS.get())
                as usize,
            forced_encoding: forced_encoding(),
            bloom_filters: match guc::BLOOM_FILTERS.get() {
                BloomSetting::None => BloomFilters::None,
                BloomSetting::Auto => BloomFilters::Auto,
                BloomSetting::All => BloomFilters::All,
            },
        },
        bloom_columns: stored.bloom_columns.as_deref().map(named),
    }
}

fn forced_encoding() -> Option<Encoding> {
    match guc::FORCE_ENCODING.get() {
        EncodingSetting::Auto => None,
        EncodingSetting::Plain => Some(Encoding::Plain),
        EncodingSetting::Constant => Some(Encoding::Constant),
        EncodingSetting::RunLength => Some(Encoding::RunLength),
        EncodingSetting::BitPacked => Some(Encoding::BitPacked),
        EncodingSetting::Delta => Some(Encoding::Delta),
        EncodingSetting::Dictionary => Some(Encoding::Dictionary),
        EncodingSetting::Alp => Some(Encoding::Alp),
    }
}
