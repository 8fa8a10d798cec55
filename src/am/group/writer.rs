//! Writes a row group: columns are encoded, the bytes go to an extent, then the directory learns of it.

use super::head::{GroupHead, InsertRun};
use crate::am::options::TableOptions;
use crate::am::storage::directory::{Entry, HAS_TID_MAP};
use crate::am::storage::extent;
use crate::am::storage::page::PageKind;
use columnar_format::TidMap;
use columnar_format::{ColumnBuilder, EncodedChunk, GroupFooterBuilder, encode_chunk};
use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};

/// A group's bytes, ready to be written.
#[derive(Debug)]
pub struct EncodedGroup {
    bytes: Vec<u8>,
    footer_offset: u32,
    footer_len: u32,
    rows: u32,
}

/// Encodes the columns of a group.
pub fn encode(columns: &[ColumnBuilder], rows: u32, options: &TableOptions) -> EncodedGroup {
    let columns: Vec<(usize, &ColumnBuilder)> = columns.iter().enumerate().collect();
    let chunks =
        crate::threads::map(&columns, |(i, column)| encode_chunk(column, &options.encode(*i)));
    assemble(&chunks, rows)
}

fn assemble(chunks: &[EncodedChunk], rows: u32) -> EncodedGroup {
    let mut footer = GroupFooterBuilder::new(rows);
    let total: usize = chunks.iter().map(|chunk| chunk.bytes.len()).sum();
    let mut bytes = Vec::with_capacity(total + 1024);
    for chunk in chunks {
        footer.add(bytes.len() as u64, chunk.bytes.len() as u64, &chunk.meta);
        bytes.extend_from_slice(&chunk.bytes);
    }
    let footer_offset = bytes.len() as u32;
    bytes.extend_from_slice(&footer.finish());
    let footer_len = bytes.len() as u32 - footer_offset;
    EncodedGroup { bytes, footer_offset, footer_len, rows }
}

/// Writes an encoded group to a new extent. The entry returned lacks what the caller knows: kind and row numbers.
///
/// # Safety
/// `rel` is an open relation of this access method with a metapage, locked for writing; `group` is a new number.
pub unsafe fn write(
    rel: pg_sys::Relation,
    group: u32,
    encoded: &EncodedGroup,
    runs: &[InsertRun],
) -> Entry {
    // SAFETY: the extent is this backend's until the directory names it.
    unsafe {
        let pages = 1 + extent::pages_for(encoded.bytes.len());
        let first = extent::allocate(rel, pages);
        // An autovacuum worker does no bulk writes; the server's I/O statistics insist on it.
        let autovacuum = pg_sys::MyBackendType == pg_sys::BackendType::B_AUTOVAC_WORKER;
        let strategy = if autovacuum {
            core::ptr::null_mut()
        } else {
            pg_sys::GetAccessStrategy(pg_sys::BufferAccessStrategyType::BAS_BULKWRITE)
        };
        extent::write(rel, first + 1, PageKind::GroupData, group.into(), &encoded.bytes, strategy);
        let head = GroupHead::new(
            group,
            encoded.rows,
            encoded.footer_offset,
            encoded.footer_len,
            runs.len(),
        );
        extent::write(
            rel,
            first,
            PageKind::GroupHead,
            group.into(),
            &head.to_bytes(runs),
            strategy,
        );
        if !strategy.is_null() {
            pg_sys::FreeAccessStrategy(strategy);
        }
        Entry {
            group,
            rows: encoded.rows,
            extent: first,
            extent_pages: pages,
            bytes: encoded.bytes.len() as u32,
            ..Entry::default()
        }
    }
}

/// Writes a TID map to an extent of its own and names it in an entry.
///
/// # Safety
/// As [`write()`]; the entry is that of the map's group and not yet in the directory.
pub unsafe fn write_tid_map(rel: pg_sys::Relation, entry: &mut Entry, map: &TidMap) {
    let bytes = map.to_bytes().unwrap_or_else(|error| {
        ereport!(
            PgLogLevel::ERROR,
            PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
            format!("a TID map could not be compressed: {error}")
        );
        unreachable!()
    });
    let pages = extent::pages_for(bytes.len());
    // SAFETY: the extent is this backend's until the directory names it.
    unsafe {
        let first = extent::allocate(rel, pages);
        let none = core::ptr::null_mut();
        extent::write(rel, first, PageKind::TidMap, entry.group.into(), &bytes, none);
        entry.tid_map = first;
    }
    entry.flags |= HAS_TID_MAP;
    entry.tid_map_pages = pages;
    entry.tid_map_bytes = bytes.len() as u32;
    entry.tid_low = map.blocks.first().map_or(0, |b| b.block);
    entry.tid_high = map.blocks.last().map_or(0, |b| b.block);
}
