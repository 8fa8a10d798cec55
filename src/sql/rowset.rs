//! The rows a set-returning function hands back, collected in a tuplestore.

use super::target::fail;
use super::text;
use core::ffi::CStr;
use core::ptr;
use pgrx::{PgSqlErrorCode, pg_sys};

/// One value of a row.
#[derive(Clone, Debug)]
pub enum Field<'a> {
    Null,
    SmallInt(i16),
    Int(i64),
    BigInt(i64),
    Text(&'a [u8]),
    /// An identifier, at most 63 bytes.
    Name(&'a [u8]),
    Tid(pg_sys::ItemPointerData),
}

impl<'a> Field<'a> {
    /// A text.
    pub fn str(value: &'a str) -> Self {
        Self::Text(value.as_bytes())
    }

    unsafe fn to_datum(&self) -> Option<pg_sys::Datum> {
        Some(match self {
            Self::Null => return None,
            Self::SmallInt(value) => pg_sys::Datum::from(*value),
            Self::Int(value) | Self::BigInt(value) => pg_sys::Datum::from(*value),
            Self::Text(value) => text(value),
            Self::Name(value) => {
                let len = value.len().min(pg_sys::NAMEDATALEN as usize - 1);
                // SAFETY: a zeroed name is allocated, of which the last byte stays zero.
                unsafe {
                    let name = pg_sys::palloc0(pg_sys::NAMEDATALEN as usize);
                    ptr::copy_nonoverlapping(value.as_ptr(), name.cast(), len);
                    pg_sys::Datum::from(name)
                }
            }
            Self::Tid(tid) => {
                // SAFETY: room for a TID is allocated.
                unsafe {
                    let copy = pg_sys::palloc(size_of::<pg_sys::ItemPointerData>());
                    copy.cast::<pg_sys::ItemPointerData>().write_unaligned(*tid);
                    pg_sys::Datum::from(copy)
                }
            }
        })
    }
}

/// The result of the running call, rows of `N` columns.
#[derive(Debug)]
pub struct Rowset<const N: usize> {
    result: *mut pg_sys::ReturnSetInfo,
    /// Values of one row live here; it is emptied row by row.
    scratch: pg_sys::MemoryContext,
}

impl<const N: usize> Rowset<N> {
    /// Prepares an empty result.
    ///
    /// # Safety
    /// `fcinfo` is that of the running call of a function that returns a set of rows.
    pub unsafe fn begin(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        const NAME: &CStr = c"pgcolumnar result row";
        // SAFETY: InitMaterializedSRF checks that the caller takes a tuplestore and leaves it in the result info.
        unsafe {
            pg_sys::InitMaterializedSRF(fcinfo, 0);
            let result = (*fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
            if (*(*result).setDesc).natts as usize != N {
                fail(
                    PgSqlErrorCode::ERRCODE_INVALID_FUNCTION_DEFINITION,
                    format!(
                        "the function is not declared to return the {N} columns of the library"
                    ),
                    Some("The installed script and library are of different versions."),
                );
            }
            let scratch = pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurrentMemoryContext,
                NAME.as_ptr(),
                pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
                pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
                pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
            );
            Self { result, scratch }
        }
    }

    /// Adds a row.
    pub fn put(&self, fields: [Field<'_>; N]) {
        // SAFETY: the row has as many fields as the result has columns, and the tuplestore copies them.
        unsafe {
            let before = pg_sys::MemoryContextSwitchTo(self.scratch);
            let mut values = [pg_sys::Datum::null(); N];
            let mut nulls = [true; N];
            for (i, field) in fields.iter().enumerate() {
                if let Some(value) = field.to_datum() {
                    values[i] = value;
                    nulls[i] = false;
                }
            }
            let (store, desc) = ((*self.result).setResult, (*self.result).setDesc);
            pg_sys::tuplestore_putvalues(store, desc, values.as_mut_ptr(), nulls.as_mut_ptr());
            pg_sys::MemoryContextSwitchTo(before);
            pg_sys::MemoryContextReset(self.scratch);
        }
        pgrx::check_for_interrupts!();
    }

    /// Ends the result; the function returns this datum.
    pub fn end(self) -> pg_sys::Datum {
        // SAFETY: nothing points into the scratch context any more.
        unsafe { pg_sys::MemoryContextDelete(self.scratch) };
        pg_sys::Datum::null()
    }
}
