//! The server's read streams.

use super::{NO_BUFFER, NextBlock, c_LockBuffer, c_ReleaseBuffer};
use pgrx::pg_sys;
use pgrx::pg_sys::ReadStream;

unsafe extern "C-unwind" {
    #[link_name = "read_stream_next_buffer"]
    fn c_read_stream_next_buffer(
        stream: *mut ReadStream,
        per_buffer_data: *mut *mut core::ffi::c_void,
    ) -> pg_sys::Buffer;
    #[link_name = "BufferGetBlockNumber"]
    fn c_BufferGetBlockNumber(buffer: pg_sys::Buffer) -> pg_sys::BlockNumber;
}

/// Starts a stream over the main fork, in the current memory context. `at_once` reads as many pages as go into one call
/// from the start, instead of ever more as they are found in no buffer.
///
/// # Safety
/// `rel` stays open, and `strategy` (or null) and what `callback` and `data` refer to alive, until [`end`].
pub unsafe fn begin(
    rel: pg_sys::Relation,
    strategy: pg_sys::BufferAccessStrategy,
    callback: NextBlock,
    data: *mut core::ffi::c_void,
    at_once: bool,
) -> *mut ReadStream {
    #[allow(unused_mut)]
    let mut flags = if at_once { pg_sys::READ_STREAM_FULL } else { pg_sys::READ_STREAM_DEFAULT };
    #[cfg(not(feature = "pg17"))]
    {
        // The callback neither blocks nor starts a batch.
        flags |= pg_sys::READ_STREAM_USE_BATCHING;
    }
    // SAFETY: as the caller's.
    unsafe {
        pg_sys::read_stream_begin_relation(
            flags as i32,
            strategy,
            rel,
            pg_sys::ForkNumber::MAIN_FORKNUM,
            Some(callback),
            data,
            0,
        )
    }
}

/// Releases a buffer, if it is one, then gives the next of a stream, pinned and, if `lock`, share-locked, and its block;
/// [`NO_BUFFER`] when the stream has come to its end.
///
/// # Safety
/// `stream` came from [`begin`]; `old` is pinned by the caller and not locked.
pub unsafe fn next(
    stream: *mut ReadStream,
    old: pg_sys::Buffer,
    lock: bool,
) -> (pg_sys::Buffer, pg_sys::BlockNumber) {
    // SAFETY: as the caller's. One boundary for all calls, which costs less than one for each.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            if old != NO_BUFFER {
                c_ReleaseBuffer(old);
            }
            let buffer = c_read_stream_next_buffer(stream, core::ptr::null_mut());
            if buffer == NO_BUFFER {
                return (NO_BUFFER, pg_sys::InvalidBlockNumber);
            }
            if lock {
                c_LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            }
            (buffer, c_BufferGetBlockNumber(buffer))
        })
    }
}

/// Releases what a stream holds and makes it ask for blocks again after its end.
///
/// # Safety
/// `stream` came from [`begin`].
pub unsafe fn reset(stream: *mut ReadStream) {
    // SAFETY: as the caller's.
    unsafe { pg_sys::read_stream_reset(stream) };
}

/// Ends a stream.
///
/// # Safety
/// `stream` came from [`begin`] and is not used again.
pub unsafe fn end(stream: *mut ReadStream) {
    // SAFETY: as the caller's.
    unsafe { pg_sys::read_stream_end(stream) };
}

/// Forgets a stream after an ERROR: it goes with its memory context, and its pins with their resource owner.
pub fn abandon(_stream: *mut ReadStream) {}
