//! The frame of a column page.
//!
//! ```text
//! 0      24                                             8176       8192
//! | page header | payload (8,152 bytes)                  | special    |
//!               ^ pd_lower = pd_upper: no line pointers, no free space
//! special: magic u32, kind u16, layout version u16, owner u64
//! ```

use crate::ports::{self, BLCKSZ, PAGE_HEADER, Page};
use pgrx::pg_sys;

/// Marks a column page in the last 16 bytes of the page.
const MAGIC: u32 = 0x5047_434c;
/// Version of the frame, in every page.
const LAYOUT_VERSION: u16 = 1;

/// What a column page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum PageKind {
    /// Block 0.
    Meta = 1,
    /// Overflow of the directory.
    Directory = 2,
    /// First page of a row group: insert runs, state, head of its row marks.
    GroupHead = 3,
    /// Bytes of a row group.
    GroupData = 4,
    /// Row marks: rows of a group that have a stub on a row page.
    Marks = 5,
    /// A former row page whose rows live in a row group now; free for column data.
    Moved = 6,
    /// TID map of a row group.
    TidMap = 7,
    /// Free for column data.
    Free = 8,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Special {
    magic: u32,
    kind: u16,
    version: u16,
    owner: u64,
}

const _: () = assert!(size_of::<Special>() == 16 && align_of::<Special>() == 8);

/// Offset of the special space.
const SPECIAL: usize = BLCKSZ - size_of::<Special>();
/// Payload bytes of a column page.
pub const PAYLOAD: usize = SPECIAL - PAGE_HEADER;

/// Initialises a page as an empty column page.
///
/// # Safety
/// `page` points to a whole writable page.
pub unsafe fn init(page: Page, kind: PageKind, owner: u64) {
    // SAFETY: `PageInit` zeroes the page and sets its header; all offsets below are inside it.
    unsafe {
        pg_sys::PageInit(page.cast(), BLCKSZ, size_of::<Special>());
        let header = page.cast::<pg_sys::PageHeaderData>();
        (*header).pd_upper = (*header).pd_lower;
        page.add(SPECIAL).cast::<Special>().write(Special {
            magic: MAGIC,
            kind: kind as u16,
            version: LAYOUT_VERSION,
            owner,
        });
    }
}

/// The kind and owner of a column page, or `None` for a row page or an empty one.
///
/// # Safety
/// `page` points to a whole readable page of a locked or pinned buffer.
pub unsafe fn identify(page: Page) -> Option<(u16, u64)> {
    // SAFETY: the header and the last 16 bytes are inside the page.
    unsafe {
        let header = page.cast::<pg_sys::PageHeaderData>();
        if usize::from((*header).pd_special) != SPECIAL {
            return None;
        }
        let special = page.add(SPECIAL).cast::<Special>().read();
        (special.magic == MAGIC).then_some((special.kind, special.owner))
    }
}

/// Whether a page was never initialised (`PageIsNew`).
///
/// # Safety
/// `page` points to a whole readable page.
pub unsafe fn is_new(page: Page) -> bool {
    // SAFETY: the header is inside the page.
    unsafe { (*page.cast::<pg_sys::PageHeaderData>()).pd_upper == 0 }
}

/// Whether the page holds column data of any kind.
///
/// # Safety
/// As [`identify`].
pub unsafe fn is_column_page(page: Page) -> bool {
    // SAFETY: as the caller's.
    unsafe { identify(page).is_some() }
}

/// Start of the payload.
///
/// # Safety
/// `page` points to a whole page.
pub unsafe fn payload(page: Page) -> *mut u8 {
    // SAFETY: inside the page.
    unsafe { page.add(PAGE_HEADER) }
}

/// Marks a new page dirty and logs its image, as `log_newpage_buffer` demands.
///
/// # Safety
/// `buffer` is a pinned, exclusively locked buffer of `rel`.
pub unsafe fn log_new(rel: pg_sys::Relation, buffer: pg_sys::Buffer) {
    // SAFETY: the critical section keeps the change and its record together.
    unsafe {
        pg_sys::CritSectionCount += 1;
        pg_sys::MarkBufferDirty(buffer);
        if ports::RelationNeedsWAL(rel) {
            pg_sys::log_newpage_buffer(buffer, true);
        }
        pg_sys::CritSectionCount -= 1;
    }
}
