//! `pgcolumnar.storage_info`: a row for each vector of each column of each row group, and one for each run of row pages.

use super::bounds::Printer;
use super::pages;
use super::rowset::{Field, Rowset};
use super::target::Target;
use crate::am::group::{Group, cache, types};
use crate::am::storage::directory::EntryKind;
use crate::ports::{self, BLCKSZ};
use columnar_format::SectionMeta;
use core::ffi::CStr;
use pgrx::pg_sys;
use std::rc::Rc;

/// Columns of the result.
type Rows = Rowset<18>;

/// A column of the table: its name, and how its bounds are printed unless it was dropped.
struct Shown {
    name: Option<Vec<u8>>,
    printer: Option<Printer>,
}

/// `storage_info("table")`.
///
/// # Safety
/// `fcinfo` is that of the running call.
pub unsafe fn storage_info(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the relation is open while its storage is read.
    unsafe {
        let target = Target::open_to_inspect(fcinfo);
        let rows = Rows::begin(fcinfo);
        let rel = target.rel();
        if let Some(directory) = cache::open(rel) {
            let columns = columns(rel);
            for (slot, entry) in &directory.directory.entries {
                let kind = if entry.is(EntryKind::Columns) {
                    "COLUMNS"
                } else if entry.is(EntryKind::Merging) {
                    "MERGING"
                } else {
                    continue;
                };
                let group = Rc::new(Group::new(*slot, *entry));
                for index in 0..group.column_count(rel) {
                    put_column(&rows, rel, &group, kind, index, columns.get(index));
                }
            }
            for run in pages::survey(rel, &directory.directory).rows {
                put_row_pages(&rows, &run);
            }
        }
        rows.end()
    }
}

unsafe fn columns(rel: pg_sys::Relation) -> Vec<Shown> {
    // SAFETY: the relation is open; names are NUL-terminated.
    unsafe {
        let desc = (*rel).rd_att;
        let attributes = types::attributes(desc);
        attributes
            .into_iter()
            .enumerate()
            .map(|(i, attribute)| {
                let found = ports::TupleDescAttr(desc, i);
                let name = CStr::from_ptr((*found).attname.data.as_ptr()).to_bytes().to_vec();
                Shown {
                    name: (!(*found).attisdropped).then_some(name),
                    printer: Printer::new(attribute, (*found).atttypid),
                }
            })
            .collect()
    }
}

unsafe fn put_column(
    rows: &Rows,
    rel: pg_sys::Relation,
    group: &Rc<Group>,
    kind: &str,
    index: usize,
    shown: Option<&Shown>,
) {
    let Some(column) = group.column(rel, index) else { return };
    let meta = &column.meta;
    let printer = shown.and_then(|shown| shown.printer.as_ref());
    for (i, vector) in meta.vectors.iter().enumerate() {
        // SAFETY: the bounds are those of this column.
        let (min, max) = unsafe {
            let print = |bound| printer.and_then(|printer| printer.print(meta.spec, bound));
            (print(vector.min.as_ref()), print(vector.max.as_ref()))
        };
        rows.put([
            Field::Int(group.id.into()),
            Field::str(kind),
            shown.and_then(|shown| shown.name.as_deref()).map_or(Field::Null, Field::Name),
            Field::SmallInt(index as i16 + 1),
            Field::Int(i as i64),
            Field::BigInt(column.starts[i].into()),
            Field::Int(vector.rows.into()),
            Field::Int(vector.null_count.into()),
            Field::str(vector.encoding.as_str()),
            Field::str(vector.section.compression.as_str()),
            Field::BigInt(vector.section.len.into()),
            Field::BigInt(vector.section.raw_len.into()),
            min.as_deref().map_or(Field::Null, Field::Text),
            max.as_deref().map_or(Field::Null, Field::Text),
            meta.distinct.map_or(Field::Null, |distinct| Field::Int(distinct.into())),
            section(meta.dictionary),
            section(vector.bloom),
            section(meta.bloom),
        ]);
    }
}

/// The bytes of a section that may not be there.
fn section(section: Option<SectionMeta>) -> Field<'static> {
    section.map_or(Field::Null, |section| Field::BigInt(section.len.into()))
}

fn put_row_pages(rows: &Rows, run: &pages::Run) {
    rows.put([
        Field::Null,
        Field::str("ROWS"),
        Field::Null,
        Field::Null,
        Field::Null,
        Field::Null,
        Field::Int(run.tuples as i64),
        Field::Null,
        Field::Null,
        Field::Null,
        Field::BigInt(i64::from(run.pages) * BLCKSZ as i64),
        Field::Null,
        Field::Null,
        Field::Null,
        Field::Null,
        Field::Null,
        Field::Null,
        Field::Null,
    ]);
}
