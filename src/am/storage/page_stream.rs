//! Reads pages of a table in an order that is mostly known before: a plan of blocks, which a read stream follows some way
//! ahead of their use.
//!
//! ```text
//! plan:   17 18 19 | 40 41 | 20 21 22 | 42 ...
//!            ^taken        ^given
//! ```
//!
//! Blocks between `taken` and `given` are being read or wait in pinned buffers. A page that is wanted out of turn is read
//! without the stream; parts of the plan that turn out not to be needed are passed over with [`PageStream::seek`].
//! The page used last stays pinned, since what is read next often begins on it.

use crate::ports::read_stream::{self, NO_BUFFER, ReadStream};
use crate::ports::{self, Page};
use core::ptr;
use pgrx::pg_sys;
use std::collections::VecDeque;

/// Reader of planned pages. Its pins end with [`PageStream::clear`] or, after an ERROR, with the resource owner.
#[derive(Debug)]
pub struct PageStream {
    rel: pg_sys::Relation,
    /// Null, or that of the pages read by a stream.
    strategy: pg_sys::BufferAccessStrategy,
    /// Where streams are allocated.
    context: pg_sys::MemoryContext,
    /// Null until a planned page is wanted.
    stream: *mut ReadStream,
    /// Of a box; the stream's callback reads it too.
    plan: *mut Plan,
    /// Place in the plan of the next buffer that the stream hands out.
    taken: u64,
    /// The page used last, pinned.
    current: Option<(u32, pg_sys::Buffer)>,
    at_once: bool,
}

#[derive(Debug, Default)]
struct Plan {
    blocks: VecDeque<u32>,
    /// Place of the first of `blocks`.
    first: u64,
    /// Place of the next block to be given to the stream.
    given: u64,
    /// The stream was told that there is no further block.
    ended: bool,
}

impl Plan {
    fn end(&self) -> u64 {
        self.first + self.blocks.len() as u64
    }

    fn at(&self, place: u64) -> Option<u32> {
        self.blocks.get(place.checked_sub(self.first)? as usize).copied()
    }
}

/// The callback of the stream.
unsafe extern "C-unwind" fn next_block(
    _stream: *mut ReadStream,
    plan: *mut core::ffi::c_void,
    _per_buffer_data: *mut core::ffi::c_void,
) -> pg_sys::BlockNumber {
    // SAFETY: the plan lives as long as the stream, and nobody else uses it while the stream is asked for a buffer.
    let plan = unsafe { &mut *plan.cast::<Plan>() };
    match plan.at(plan.given) {
        Some(block) => {
            plan.given += 1;
            block
        }
        None => {
            plan.ended = true;
            pg_sys::InvalidBlockNumber
        }
    }
}

impl PageStream {
    /// A reader without a plan. It allocates in the memory context that is current now. `at_once` is for plans that are short,
    /// and made when it is known that pages must be read from disk.
    ///
    /// # Safety
    /// `rel` stays open as long as the reader is used.
    pub unsafe fn new(rel: pg_sys::Relation, at_once: bool) -> Self {
        Self {
            rel,
            strategy: ptr::null_mut(),
            // SAFETY: a variable of the server.
            context: unsafe { pg_sys::CurrentMemoryContext },
            stream: ptr::null_mut(),
            plan: Box::into_raw(Box::default()),
            taken: 0,
            current: None,
            at_once,
        }
    }

    /// Uses a ring of buffers for the pages of the plan.
    ///
    /// # Safety
    /// `strategy` is one or null, and alive as long as the reader is used.
    pub unsafe fn set_strategy(&mut self, strategy: pg_sys::BufferAccessStrategy) {
        self.strategy = strategy;
    }

    fn plan(&self) -> &Plan {
        // SAFETY: the box lives until this is dropped; no stream is being asked for a buffer.
        unsafe { &*self.plan }
    }

    fn plan_mut(&mut self) -> &mut Plan {
        // SAFETY: as `plan`.
        unsafe { &mut *self.plan }
    }

    /// Adds a block to the plan, unless it is the last one already.
    pub fn push(&mut self, block: u32) {
        let plan = self.plan_mut();
        if plan.blocks.back() != Some(&block) {
            plan.blocks.push_back(block);
        }
    }

    /// The place in the plan of the block that is pushed next.
    pub fn end(&self) -> u64 {
        self.plan().end()
    }

    /// Blocks that are read ahead.
    pub fn in_flight(&self) -> u64 {
        self.plan().given.saturating_sub(self.taken)
    }

    /// Passes over the plan to a place. Pages before it that are read already are let go.
    ///
    /// # Safety
    /// No page is locked.
    pub unsafe fn seek(&mut self, place: u64) {
        let read = self.plan().given.min(place).saturating_sub(self.taken);
        // So that no block before the place is given to the stream any more.
        let passed_over = place > self.plan().given;
        let place = place.max(self.taken);
        if passed_over {
            self.plan_mut().given = place.min(self.plan().end());
        }
        for _ in 0..read {
            // SAFETY: blocks were given to the stream, so that it is there.
            unsafe {
                let (buffer, _) = self.next(NO_BUFFER, false);
                if buffer == NO_BUFFER {
                    break;
                }
                pg_sys::ReleaseBuffer(buffer);
            }
        }
        self.taken = place.min(self.plan().end());
        self.forget_taken();
    }

    /// The stream's next buffer, after a release.
    unsafe fn next(&mut self, old: pg_sys::Buffer, lock: bool) -> (pg_sys::Buffer, u32) {
        // SAFETY: as the caller's; the stream exists as long as `self`.
        unsafe {
            if self.stream.is_null() {
                let context = pg_sys::MemoryContextSwitchTo(self.context);
                let plan = self.plan.cast();
                self.stream =
                    read_stream::begin(self.rel, self.strategy, next_block, plan, self.at_once);
                pg_sys::MemoryContextSwitchTo(context);
            }
            let plan = self.plan();
            if plan.ended && plan.given == self.taken && plan.given < plan.end() {
                // Blocks were added after its end.
                read_stream::reset(self.stream);
                self.plan_mut().ended = false;
            }
            read_stream::next(self.stream, old, lock)
        }
    }

    fn forget_taken(&mut self) {
        let taken = self.taken;
        let plan = self.plan_mut();
        // The last block stays, for `push` to compare with.
        let gone = taken.saturating_sub(plan.first).min(plan.blocks.len() as u64);
        let gone = gone.saturating_sub(1);
        plan.blocks.drain(..gone as usize);
        plan.first += gone;
    }

    /// Share-locks a page, from the stream if its turn has come. It is locked until [`PageStream::unlock`].
    ///
    /// # Safety
    /// No page is locked; `block` is one of the relation.
    pub unsafe fn lock(&mut self, block: u32) -> Page {
        // SAFETY: buffers are pinned by this reader.
        unsafe {
            if let Some((at, buffer)) = self.current
                && at == block
            {
                pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
                return ports::buffer_page(buffer);
            }
            let mut old = self.current.take().map_or(NO_BUFFER, |(_, buffer)| buffer);
            if self.plan().at(self.taken) == Some(block) {
                let (buffer, found) = self.next(old, true);
                old = NO_BUFFER;
                self.taken += 1;
                if found == block {
                    self.current = Some((block, buffer));
                    return ports::buffer_page(buffer);
                }
                if buffer != NO_BUFFER {
                    pg_sys::UnlockReleaseBuffer(buffer);
                }
            }
            let buffer = read_stream::read(self.rel, ptr::null_mut(), block, old, true);
            self.current = Some((block, buffer));
            ports::buffer_page(buffer)
        }
    }

    /// The pinned buffer of a page if its turn has come in the stream; the caller releases it.
    ///
    /// # Safety
    /// As [`PageStream::lock`].
    pub unsafe fn take(&mut self, block: u32) -> Option<pg_sys::Buffer> {
        if self.plan().at(self.taken) != Some(block) {
            return None;
        }
        // SAFETY: as the caller's.
        unsafe {
            let (buffer, found) = self.next(NO_BUFFER, false);
            self.taken += 1;
            self.forget_taken();
            if found == block {
                return Some(buffer);
            }
            if buffer != NO_BUFFER {
                pg_sys::ReleaseBuffer(buffer);
            }
            None
        }
    }

    /// Unlocks the page; it stays pinned.
    pub fn unlock(&mut self) {
        if let Some((_, buffer)) = self.current {
            // SAFETY: `lock` locked it.
            unsafe { pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32) };
        }
    }

    /// Lets go of all pages and forgets the plan.
    pub fn clear(&mut self) {
        // SAFETY: the pins are this reader's own.
        unsafe {
            if let Some((_, buffer)) = self.current.take() {
                pg_sys::ReleaseBuffer(buffer);
            }
            if !self.stream.is_null() {
                // While it is reset or ended, it asks for no further block.
                if self.at_once {
                    read_stream::end(core::mem::replace(&mut self.stream, ptr::null_mut()));
                } else {
                    read_stream::reset(self.stream);
                }
            }
        }
        *self.plan_mut() = Plan::default();
        self.taken = 0;
    }

    /// Lets go of everything.
    pub fn finish(&mut self) {
        self.clear();
        if !self.stream.is_null() {
            // SAFETY: `next` made it.
            unsafe { read_stream::end(core::mem::replace(&mut self.stream, ptr::null_mut())) };
        }
    }
}

impl Drop for PageStream {
    fn drop(&mut self) {
        // Not null after an ERROR only: the server's functions cannot be called here.
        read_stream::abandon(self.stream);
        // SAFETY: `new` made the box; a stream that an ERROR left is not asked for buffers again.
        drop(unsafe { Box::from_raw(self.plan) });
    }
}
