//! Read streams for servers that have none: pages are read one by one when they are asked for, and the operating system is
//! told before which ones come next. It is not told while pages are found in buffers.

use super::{NextBlock, pages_missed, read};
use pgrx::pg_sys;
use std::collections::VecDeque;

/// A stream.
#[derive(Debug)]
pub struct ReadStream {
    rel: pg_sys::Relation,
    strategy: pg_sys::BufferAccessStrategy,
    callback: NextBlock,
    data: *mut core::ffi::c_void,
    /// Blocks that were asked for and not handed out.
    blocks: VecDeque<pg_sys::BlockNumber>,
    /// How many blocks to know ahead: more where pages are missing from the buffers, 1 where they are not.
    distance: usize,
    most: usize,
    ended: bool,
}

/// Starts a stream over the main fork. `at_once` looks ahead from the start.
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
    // SAFETY: as the caller's.
    let concurrency =
        unsafe { pg_sys::get_tablespace_io_concurrency((*(*rel).rd_rel).reltablespace) };
    let most = 1 + concurrency.clamp(0, 1000) as usize;
    let distance = if at_once { most } else { 1 };
    let blocks = VecDeque::with_capacity(most);
    Box::into_raw(Box::new(ReadStream {
        rel,
        strategy,
        callback,
        data,
        blocks,
        distance,
        most,
        ended: false,
    }))
}

/// Releases a buffer, if it is one, then gives the next of a stream, pinned and, if `lock`, share-locked, and its block;
/// `NO_BUFFER` when the stream has come to its end.
///
/// # Safety
/// `stream` came from [`begin`]; `old` is pinned by the caller and not locked.
pub unsafe fn next(
    stream: *mut ReadStream,
    old: pg_sys::Buffer,
    lock: bool,
) -> (pg_sys::Buffer, pg_sys::BlockNumber) {
    // SAFETY: as the caller's; the callback does not use the stream.
    unsafe {
        let this = &mut *stream;
        while !this.ended && this.blocks.len() < this.distance {
            let block = (this.callback)(stream, this.data, core::ptr::null_mut());
            if block == pg_sys::InvalidBlockNumber {
                this.ended = true;
                break;
            }
            if !this.blocks.is_empty() {
                pg_sys::PrefetchBuffer(this.rel, pg_sys::ForkNumber::MAIN_FORKNUM, block);
            }
            this.blocks.push_back(block);
        }
        let Some(block) = this.blocks.pop_front() else {
            if old != super::NO_BUFFER {
                pg_sys::ReleaseBuffer(old);
            }
            return (super::NO_BUFFER, pg_sys::InvalidBlockNumber);
        };
        let missed = pages_missed();
        let buffer = read(this.rel, this.strategy, block, old, lock);
        this.distance = if pages_missed() == missed {
            (this.distance - 1).max(1)
        } else {
            (this.distance * 2).min(this.most)
        };
        (buffer, block)
    }
}

/// Makes a stream ask for blocks again after its end.
///
/// # Safety
/// `stream` came from [`begin`].
pub unsafe fn reset(stream: *mut ReadStream) {
    // SAFETY: as the caller's.
    let this = unsafe { &mut *stream };
    this.blocks.clear();
    (this.distance, this.ended) = (1, false);
}

/// Ends a stream.
///
/// # Safety
/// `stream` came from [`begin`] and is not used again.
pub unsafe fn end(stream: *mut ReadStream) {
    // SAFETY: `begin` made the box.
    drop(unsafe { Box::from_raw(stream) });
}

/// Forgets a stream after an ERROR, or none.
pub fn abandon(stream: *mut ReadStream) {
    if !stream.is_null() {
        // SAFETY: `begin` made the box, and nothing ended the stream.
        drop(unsafe { Box::from_raw(stream) });
    }
}
