//! The first page of a row group: who inserted which rows, and where its row marks are.

use crate::am::storage::page::{self, PAYLOAD, PageKind};
use crate::ports;
use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};

const MAGIC: u32 = 0x5047_4752;
const VERSION: u16 = 1;

/// Head of a row group.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupHead {
    pub magic: u32,
    pub version: u16,
    pub flags: u16,
    pub group: u32,
    pub rows: u32,
    /// Offset of the footer in the group's bytes, which begin on the page after this one.
    pub footer_offset: u32,
    pub footer_len: u32,
    pub run_count: u32,
    /// Chain of pages with row marks: first and last.
    pub marks_first: u32,
    pub marks_last: u32,
    pub reserved: u32,
    /// Raised when marks are changed other than by appending.
    pub marks_version: u32,
    /// Not 0: VACUUM has replaced this group; look its rows up again.
    pub replaced: u32,
    pub padding: [u32; 4],
}

/// Consecutive rows inserted by one command of one (sub)transaction: judged like a tuple's xmin and cmin.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InsertRun {
    pub xid: u32,
    pub cid: u32,
    pub first: u32,
    pub rows: u32,
}

const _: () = assert!(size_of::<GroupHead>() == 64 && align_of::<GroupHead>() == 4);
const _: () = assert!(size_of::<InsertRun>() == 16);

/// Most insert runs of a group.
pub const MAX_RUNS: usize = (PAYLOAD - size_of::<GroupHead>()) / size_of::<InsertRun>();

impl GroupHead {
    /// A head for a new group without marks.
    pub fn new(group: u32, rows: u32, footer_offset: u32, footer_len: u32, runs: usize) -> Self {
        Self {
            magic: MAGIC,
            version: VERSION,
            group,
            rows,
            footer_offset,
            footer_len,
            run_count: runs as u32,
            ..Self::default()
        }
    }

    /// Serialises head and runs as the payload of the head page.
    pub fn to_bytes(self, runs: &[InsertRun]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(size_of::<Self>() + size_of_val(runs));
        for word in [
            self.magic,
            u32::from(self.version) | u32::from(self.flags) << 16,
            self.group,
            self.rows,
        ] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for word in [
            self.footer_offset,
            self.footer_len,
            self.run_count,
            self.marks_first,
            self.marks_last,
            self.reserved,
            self.marks_version,
            self.replaced,
            0,
            0,
            0,
            0,
        ] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for run in runs {
            for word in [run.xid, run.cid, run.first, run.rows] {
                bytes.extend_from_slice(&word.to_le_bytes());
            }
        }
        bytes
    }
}

/// The head in a page, checked.
///
/// # Safety
/// `page` is the page of a pinned buffer of `rel`, locked by the caller.
pub unsafe fn at(rel: pg_sys::Relation, page: ports::Page, group: u32) -> *mut GroupHead {
    // SAFETY: the payload is 8-aligned and larger than a head.
    unsafe {
        let head = page::payload(page).cast::<GroupHead>();
        let owned = page::identify(page) == Some((PageKind::GroupHead as u16, u64::from(group)));
        if !owned
            || (*head).magic != MAGIC
            || (*head).group != group
            || (*head).run_count as usize > MAX_RUNS
        {
            damaged(rel, group);
        }
        if (*head).version != VERSION {
            ereport!(
                PgLogLevel::ERROR,
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                format!(
                    "row group {group} of table \"{}\" has version {}, but this library reads version {VERSION}",
                    crate::am::relation_name(rel),
                    (*head).version
                )
            );
        }
        head
    }
}

/// Raises the ERROR for a head page whose contents cannot be.
///
/// # Safety
/// `rel` is open.
pub unsafe fn damaged(rel: pg_sys::Relation, group: u32) -> ! {
    // SAFETY: the relation is open.
    let table = unsafe { crate::am::relation_name(rel) };
    ereport!(
        PgLogLevel::ERROR,
        PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        format!("the head page of row group {group} of table \"{table}\" is damaged")
    );
    unreachable!()
}

/// Whether the runs follow each other from row 0 and are the group's `rows` together.
pub fn cover(runs: &[InsertRun], rows: u32) -> bool {
    let mut next = 0u32;
    for run in runs {
        if run.first != next || run.rows == 0 {
            return false;
        }
        next = next.saturating_add(run.rows);
    }
    next == rows
}

/// The insert runs behind a head.
///
/// # Safety
/// `head` came from [`at`] and its page is still locked.
pub unsafe fn runs<'a>(head: *mut GroupHead) -> &'a mut [InsertRun] {
    // SAFETY: `at` checked the count against the page.
    unsafe { core::slice::from_raw_parts_mut(head.add(1).cast(), (*head).run_count as usize) }
}
