//! The dead line pointers of one round, and the callback that finds index entries pointing at them.

use crate::am::tid::{self, RowAddress};
use crate::ports;
use core::ffi::c_void;
use pgrx::pg_sys;

/// Dead TIDs, as [`tid::encode`] makes them.
#[derive(Debug)]
pub struct DeadItems {
    rel: pg_sys::Relation,
    /// Physical TIDs of `LP_DEAD` line pointers, ascending.
    pages: Vec<u64>,
    /// External TIDs of dead rows of row groups, ascending.
    rows: Vec<u64>,
    limit: usize,
}

impl DeadItems {
    /// An empty list that counts as full at `bytes`.
    pub fn new(rel: pg_sys::Relation, bytes: usize) -> Self {
        Self { rel, pages: Vec::new(), rows: Vec::new(), limit: bytes / size_of::<u64>() }
    }

    /// Adds the dead line pointers of a page; pages come in ascending order.
    pub fn push(&mut self, block: u32, offsets: &[u16]) {
        // Grown by halves above a megabyte, and never past the limit by more than a page.
        let len = self.pages.len();
        if len + offsets.len() > self.pages.capacity() && len > 1 << 17 {
            let room = self.limit.saturating_sub(len).min(len / 2);
            self.pages.reserve_exact(room.max(offsets.len()));
        }
        self.pages
            .extend(offsets.iter().map(|&offset| tid::encode(&tid::item_pointer(block, offset))));
    }

    /// Whether a round is due before another page is read.
    pub fn is_full(&self) -> bool {
        self.pages.len() + ports::MAX_HEAP_TUPLES_PER_PAGE
            > self.limit.max(ports::MAX_HEAP_TUPLES_PER_PAGE)
    }

    /// Number of dead line pointers.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether there is nothing to delete from indexes.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.rows.is_empty()
    }

    /// Whether rows of row groups are dead.
    pub fn has_rows(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Bytes of the list.
    pub fn bytes(&self) -> usize {
        self.pages.len() * size_of::<u64>()
    }

    /// All dead line pointers.
    pub fn pages(&self) -> &[u64] {
        &self.pages
    }

    /// Takes stubs (ascending) off the list.
    pub fn remove(&mut self, stubs: &[u64]) {
        if !stubs.is_empty() {
            self.pages.retain(|key| stubs.binary_search(key).is_err());
        }
    }

    /// Sets the dead rows of row groups.
    pub fn set_rows(&mut self, rows: Vec<u64>) {
        debug_assert!(rows.is_sorted());
        self.rows = rows;
    }

    /// Puts stubs (ascending) back that may be reclaimed.
    pub fn merge(&mut self, stubs: Vec<u64>) {
        if !stubs.is_empty() {
            self.pages.extend(stubs);
            self.pages.sort_unstable();
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.rows.clear();
    }

    /// Whether an index entry with this external TID goes.
    pub fn contains(&self, external: &pg_sys::ItemPointerData) -> bool {
        let on_page = match tid::address(self.rel, external) {
            RowAddress::Page(physical) => self.pages.binary_search(&tid::encode(&physical)).is_ok(),
            RowAddress::Row(_) | RowAddress::Moved => false,
        };
        on_page || self.rows.binary_search(&tid::encode(external)).is_ok()
    }

    /// The dead line pointers page by page.
    pub fn by_page(&self) -> impl Iterator<Item = (u32, Vec<u16>)> + '_ {
        self.pages
            .chunk_by(|a, b| a >> 16 == b >> 16)
            .map(|chunk| ((chunk[0] >> 16) as u32, chunk.iter().map(|&key| key as u16).collect()))
    }
}

/// `IndexBulkDeleteCallback` over a [`DeadItems`].
///
/// # Safety
/// `item` points at a TID and `state` at a [`DeadItems`] that outlives the call.
pub unsafe extern "C-unwind" fn is_dead(item: pg_sys::ItemPointer, state: *mut c_void) -> bool {
    // SAFETY: as the caller's; the look-up cannot panic, so no guard is needed on this hot path.
    unsafe { (*state.cast::<DeadItems>()).contains(&*item) }
}
