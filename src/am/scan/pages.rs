//! Reads row pages one at a time: which of a page's tuples a snapshot sees.
//!
//! A heapam scan descriptor serves as the workspace: heapam's own page-mode code prunes the page, judges visibility,
//! and checks serializable conflicts, while the order of pages is ours.

use crate::am::storage::page_stream::PageStream;
use crate::am::{heap, slot, tid};
use crate::ports::{self, Page, read_stream};
use core::ptr;
use pgrx::pg_sys;

/// Set in `t_infomask2` of a stub: a header on a row page that carries locks, deletion or update of a row whose values
/// live in a row group. heapam leaves this bit alone (htup_details.h: 0x1800 are available).
pub const STUB_FLAG: u16 = 0x0800;

/// Whether a tuple on a row page is a stub.
///
/// # Safety
/// `header` points at a tuple header on a pinned page.
pub unsafe fn is_stub(header: pg_sys::HeapTupleHeader) -> bool {
    // SAFETY: the caller holds a pin on the page.
    unsafe { (*header).t_infomask2 & STUB_FLAG != 0 }
}

/// Reader of row pages for one scan.
#[derive(Debug)]
pub struct PageReader {
    rel: pg_sys::Relation,
    /// heapam's descriptor: current buffer, strategy, visible offsets.
    heap: *mut pg_sys::HeapScanDescData,
    /// MVCC snapshots judge a whole page at once; others tuple by tuple, since they report through the snapshot.
    page_mode: bool,
    snapshot: pg_sys::Snapshot,
    /// Reads pages ahead that were told to come.
    stream: PageStream,
}

impl PageReader {
    /// Starts reading with a snapshot.
    ///
    /// # Safety
    /// `rel` stays open and `snapshot` registered until [`PageReader::end`].
    pub unsafe fn begin(rel: pg_sys::Relation, snapshot: pg_sys::Snapshot, bulk: bool) -> Self {
        let strategy = if bulk { pg_sys::ScanOptions::SO_ALLOW_STRAT } else { 0 };
        // SAFETY: heapam's scan_begin keeps its own reference to the relation.
        let heap = unsafe {
            heap::heapam!(scan_begin(
                rel,
                snapshot,
                0,
                heap::NO_KEYS,
                ptr::null_mut(),
                strategy | pg_sys::ScanOptions::SO_ALLOW_PAGEMODE,
            ))
        }
        .cast::<pg_sys::HeapScanDescData>();
        let page_mode = is_mvcc(snapshot);
        // SAFETY: the strategy lives as long as heapam's descriptor.
        let stream = unsafe {
            let mut stream = PageStream::new(rel, false);
            stream.set_strategy((*heap).rs_strategy);
            stream
        };
        Self { rel, heap, page_mode, snapshot, stream }
    }

    /// Uses another snapshot from now on.
    ///
    /// # Safety
    /// As for [`PageReader::begin`].
    pub unsafe fn set_snapshot(&mut self, snapshot: pg_sys::Snapshot) {
        // SAFETY: the descriptor is alive until `end`.
        unsafe { (*self.heap).rs_base.rs_snapshot = snapshot };
        self.snapshot = snapshot;
        self.page_mode = is_mvcc(snapshot);
    }

    /// Releases the current page.
    pub fn release(&mut self) {
        // SAFETY: the descriptor owns the pin it holds.
        unsafe {
            let buffer = (*self.heap).rs_cbuf;
            if buffer != pg_sys::InvalidBuffer as i32 {
                (*self.heap).rs_cbuf = pg_sys::InvalidBuffer as i32;
                pg_sys::ReleaseBuffer(buffer);
            }
        }
    }

    /// Releases all pages, also those read ahead.
    pub fn rest(&mut self) {
        self.release();
        self.stream.clear();
    }

    /// Says that a page will be loaded after those told before; not said again of the page told last.
    pub fn expect(&mut self, block: u32) {
        self.stream.push(block);
    }

    /// Ends the scan and its descriptor.
    pub fn end(mut self) {
        self.release();
        self.stream.finish();
        // SAFETY: the descriptor came from scan_begin and is not used again.
        unsafe { heap::heapam!(scan_end(self.heap.cast())) };
    }

    /// Buffer of the current page, pinned.
    pub fn buffer(&self) -> pg_sys::Buffer {
        // SAFETY: the descriptor is alive until `end`.
        unsafe { (*self.heap).rs_cbuf }
    }

    /// Start of the current page.
    pub fn page(&self) -> Page {
        // SAFETY: the current buffer is pinned.
        unsafe { ports::buffer_page(self.buffer()) }
    }

    /// Physical block of the current page.
    pub fn block(&self) -> u32 {
        // SAFETY: the descriptor is alive until `end`.
        unsafe { (*self.heap).rs_cblock }
    }

    /// heapam's descriptor.
    pub fn descriptor(&self) -> *mut pg_sys::HeapScanDescData {
        self.heap
    }

    /// Reads a page and appends the offsets of its visible tuples (with other than MVCC snapshots: of all its tuples,
    /// to be judged one by one with [`PageReader::visible`]). Returns false where the page is no row page.
    pub fn load(&mut self, block: u32, offsets: &mut Vec<u16>) -> bool {
        offsets.clear();
        // SAFETY: `block` lies inside the relation; heapam's code pins, locks and unlocks the buffer.
        unsafe {
            self.read(block);
            let page = self.page();
            if crate::am::storage::page::is_column_page(page) {
                return false;
            }
            if self.page_mode {
                self.prepare();
                // VACUUM may have been moving the page's rows when it was pinned, and have finished when it was locked.
                // From then on the pin keeps it as it is.
                if crate::am::storage::page::is_column_page(page) {
                    return false;
                }
                let count = (*self.heap).rs_ntuples as usize;
                let visible = &(&(*self.heap).rs_vistuples)[..count];
                offsets.extend_from_slice(visible);
                offsets.retain(|&o| !is_stub(heap::tuple_at(self.rel, page, block, o).t_data));
            } else {
                pg_sys::LockBuffer(self.buffer(), pg_sys::BUFFER_LOCK_SHARE as i32);
                let moved = crate::am::storage::page::is_column_page(page);
                for offset in 1..=heap::max_offset(page) {
                    if heap::line_pointer_flags(page, offset) == pg_sys::LP_NORMAL
                        && !is_stub(heap::tuple_at(self.rel, page, block, offset).t_data)
                    {
                        offsets.push(offset);
                    }
                }
                pg_sys::LockBuffer(self.buffer(), pg_sys::BUFFER_LOCK_UNLOCK as i32);
                return !moved;
            }
        }
        true
    }

    /// Pins a page as the current one.
    ///
    /// # Safety
    /// `block` lies inside the relation.
    pub unsafe fn read(&mut self, block: u32) {
        self.release();
        // SAFETY: as `load`.
        unsafe {
            let (rel, strategy) = (self.rel, (*self.heap).rs_strategy);
            (*self.heap).rs_cbuf = self.stream.take(block).unwrap_or_else(|| {
                read_stream::read(rel, strategy, block, read_stream::NO_BUFFER, false)
            });
            (*self.heap).rs_cblock = block;
        }
    }

    #[cfg(any(feature = "pg15", feature = "pg16"))]
    unsafe fn prepare(&mut self) {
        // SAFETY: heapgetpage reads the block again (it is pinned already) and judges its tuples.
        unsafe {
            (*self.heap).rs_base.rs_flags |= pg_sys::ScanOptions::SO_ALLOW_PAGEMODE;
            let block = (*self.heap).rs_cblock;
            pg_sys::heapgetpage(self.heap.cast(), block);
        }
    }

    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    unsafe fn prepare(&mut self) {
        // SAFETY: the buffer of `rs_cblock` is pinned and unlocked.
        unsafe { pg_sys::heap_prepare_pagescan(self.heap.cast()) };
    }

    /// Judges one tuple of the current page with a snapshot that is not MVCC.
    pub fn visible(&self, offset: u16) -> bool {
        if self.page_mode {
            return true;
        }
        // SAFETY: the page is pinned, and share-locked while the tuple is judged.
        unsafe {
            let buffer = self.buffer();
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let page = self.page();
            let normal = offset <= heap::max_offset(page)
                && heap::line_pointer_flags(page, offset) == pg_sys::LP_NORMAL;
            let visible = normal && {
                let mut tuple = heap::tuple_at(self.rel, page, self.block(), offset);
                pg_sys::HeapTupleSatisfiesVisibility(&raw mut tuple, self.snapshot, buffer)
            };
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
            visible
        }
    }

    /// Stores a tuple of the current page in the slot.
    ///
    /// # Safety
    /// `slot` is a slot of this access method; `offset` came from [`PageReader::load`].
    pub unsafe fn store(&self, offset: u16, slot: *mut pg_sys::TupleTableSlot) {
        // SAFETY: the page is pinned; the slot takes a pin of its own.
        unsafe {
            let block = self.block();
            let tuple = heap::tuple_at(self.rel, self.page(), block, offset);
            store_tuple(self.rel, slot, tuple, self.buffer());
        }
    }
}

/// Stores a tuple of a pinned row page in a slot, under its external TID.
///
/// # Safety
/// `slot` is a slot of this access method and `tuple` lies on the pinned page of `buffer`.
pub unsafe fn store_tuple(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    mut tuple: pg_sys::HeapTupleData,
    buffer: pg_sys::Buffer,
) {
    // SAFETY: slots of this access method start with a BufferHeapTupleTableSlot.
    unsafe {
        tuple.t_self = tid::to_external(rel, &tuple.t_self);
        let inner = slot.cast::<pg_sys::BufferHeapTupleTableSlot>();
        slot::as_buffer_slot(slot, |slot| {
            if u32::from((*slot).tts_flags) & pg_sys::TTS_FLAG_SHOULDFREE != 0 {
                pg_sys::ExecClearTuple(slot);
            }
            (*inner).base.tupdata = tuple;
            pg_sys::ExecStoreBufferHeapTuple(&raw mut (*inner).base.tupdata, slot, buffer);
        });
    }
}

/// Whether a snapshot is of the MVCC kind (`IsMVCCSnapshot`).
pub fn is_mvcc(snapshot: pg_sys::Snapshot) -> bool {
    if snapshot.is_null() {
        return false;
    }
    // SAFETY: a live snapshot of the caller.
    let kind = unsafe { (*snapshot).snapshot_type };
    kind == pg_sys::SnapshotType::SNAPSHOT_MVCC
        || kind == pg_sys::SnapshotType::SNAPSHOT_HISTORIC_MVCC
}
