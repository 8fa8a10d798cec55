//! Read streams (storage/read_stream.h): pages of a relation, in an order that a callback tells, read ahead of their use.
//!
//! From PostgreSQL 17 on they are the server's: neighbouring blocks are read by one call, and by asynchronous I/O since 18.
//! Before, the pages that come next are named to the operating system (`PrefetchBuffer`), as bitmap heap scans did.

use pgrx::pg_sys;

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
mod server;
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
pub use server::{abandon, begin, end, next, reset};

#[cfg(any(feature = "pg15", feature = "pg16"))]
mod prefetch;
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub use prefetch::{ReadStream, abandon, begin, end, next, reset};

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
pub use pg_sys::ReadStream;

/// Tells the next block, `InvalidBlockNumber` when there is none. It runs inside the server's code: it must not raise an
/// ERROR, panic, allocate or block.
pub type NextBlock = unsafe extern "C-unwind" fn(
    *mut ReadStream,
    *mut core::ffi::c_void,
    *mut core::ffi::c_void,
) -> pg_sys::BlockNumber;

/// Pages of permanent and of temporary tables that this backend found in no buffer so far; of interest where it changes.
pub fn pages_missed() -> i64 {
    // SAFETY: a counter of this backend.
    unsafe { pg_sys::pgBufferUsage.shared_blks_read + pg_sys::pgBufferUsage.local_blks_read }
}

unsafe extern "C-unwind" {
    #[link_name = "LockBuffer"]
    fn c_LockBuffer(buffer: pg_sys::Buffer, mode: core::ffi::c_int);
    #[link_name = "ReleaseBuffer"]
    fn c_ReleaseBuffer(buffer: pg_sys::Buffer);
    #[link_name = "ReadBufferExtended"]
    fn c_ReadBufferExtended(
        rel: pg_sys::Relation,
        fork: pg_sys::ForkNumber::Type,
        block: pg_sys::BlockNumber,
        mode: pg_sys::ReadBufferMode::Type,
        strategy: pg_sys::BufferAccessStrategy,
    ) -> pg_sys::Buffer;
}

/// No buffer.
pub const NO_BUFFER: pg_sys::Buffer = 0;

/// Releases a buffer, if it is one, then pins and, if `lock`, share-locks another page, without a stream.
///
/// # Safety
/// `old` is pinned by the caller and not locked; `rel` is open; `strategy` is one or null.
pub unsafe fn read(
    rel: pg_sys::Relation,
    strategy: pg_sys::BufferAccessStrategy,
    block: pg_sys::BlockNumber,
    old: pg_sys::Buffer,
    lock: bool,
) -> pg_sys::Buffer {
    let (fork, mode) = (pg_sys::ForkNumber::MAIN_FORKNUM, pg_sys::ReadBufferMode::RBM_NORMAL);
    // SAFETY: as the caller's. One boundary for all calls, which costs less than one for each.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            if old != NO_BUFFER {
                c_ReleaseBuffer(old);
            }
            let buffer = c_ReadBufferExtended(rel, fork, block, mode, strategy);
            if lock {
                c_LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            }
            buffer
        })
    }
}
