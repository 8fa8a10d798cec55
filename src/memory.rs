//! The library's allocator: large blocks are mappings of their own, all else is malloc's.
//!
//! Groups and sorts take blocks of megabytes that grow by steps and go all at once. malloc keeps what was freed: once a large
//! block was freed, it takes others of that size from its heaps, one for each thread, where blocks that grow leave holes that
//! stay with the process. A mapping goes back to the system when it is freed, and its pages move when it grows.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};

/// Bytes from which on a block is a mapping. Buffers of single vectors are mostly smaller: they come and go with every
/// batch, and a new mapping costs a page fault a page.
const LARGE: usize = 2 << 20;

/// The allocator.
struct Blocks;

#[global_allocator]
static BLOCKS: Blocks = Blocks;

#[cfg(target_os = "linux")]
fn is_large(size: usize, align: usize) -> bool {
    const PAGE: usize = 4096;
    size >= LARGE && align <= PAGE
}

#[cfg(not(target_os = "linux"))]
fn is_large(_: usize, _: usize) -> bool {
    false
}

// SAFETY: a block comes from where its layout says, so that it is lengthened and freed by the same; both sources keep the
// contract of the trait. A block that crosses the bound is copied.
unsafe impl GlobalAlloc for Blocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size(), layout.align()) {
            return mapping::new(layout.size());
        }
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size(), layout.align()) {
            return mapping::new(layout.size());
        }
        // SAFETY: as the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller's; large blocks are mappings of their size.
        unsafe {
            if is_large(layout.size(), layout.align()) {
                mapping::free(block, layout.size());
            } else {
                System.dealloc(block, layout);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let align = layout.align();
        // SAFETY: as the caller's; `size` is not 0 and does not overflow with the alignment.
        unsafe {
            match (is_large(layout.size(), align), is_large(size, align)) {
                (false, false) => System.realloc(block, layout, size),
                (true, true) => mapping::resize(block, layout.size(), size),
                _ => {
                    let moved = self.alloc(Layout::from_size_align_unchecked(size, align));
                    if !moved.is_null() {
                        moved.copy_from_nonoverlapping(block, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    moved
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod mapping {
    use core::ptr;

    fn checked(address: *mut libc::c_void) -> *mut u8 {
        if address == libc::MAP_FAILED { ptr::null_mut() } else { address.cast() }
    }

    /// Zeros; null if there is no memory.
    pub fn new(size: usize) -> *mut u8 {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping touches no other.
        checked(unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) })
    }

    /// # Safety
    /// The block is a mapping of `size` bytes.
    pub unsafe fn free(block: *mut u8, size: usize) {
        // SAFETY: as the caller's.
        unsafe { libc::munmap(block.cast(), size) };
    }

    /// # Safety
    /// The block is a mapping of `old` bytes.
    pub unsafe fn resize(block: *mut u8, old: usize, new: usize) -> *mut u8 {
        // SAFETY: as the caller's.
        checked(unsafe { libc::mremap(block.cast(), old, new, libc::MREMAP_MAYMOVE) })
    }
}

#[cfg(not(target_os = "linux"))]
mod mapping {
    pub fn new(_: usize) -> *mut u8 {
        unreachable!("no block is large")
    }
    pub unsafe fn free(_: *mut u8, _: usize) {
        unreachable!("no block is large")
    }
    pub unsafe fn resize(_: *mut u8, _: usize, _: usize) -> *mut u8 {
        unreachable!("no block is large")
    }
}
