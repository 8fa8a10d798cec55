//! The table access method.
//!
//! Fresh rows live in **row pages**: ordinary heap pages in the relation's main fork, written, locked and judged by the
//! server's own heapam through its exported routine, so their visibility and locking *are* heap's. Bulk loads and VACUUM
//! put rows into **row groups** of compressed column chunks in the same fork. A row keeps its external TID ([`tid`])
//! whichever of the two it lives in.
//!
//! | module | what it is |
//! |---|---|
//! | [`handler`] | the routine: one thin shim per callback |
//! | [`tid`] | external TIDs and what they name |
//! | [`heap`] | calls into heapam with TIDs translated |
//! | [`storage`] | metapage, directory, column pages |
//! | [`scan`] | sequential, TID range and sample scans |
#![allow(unsafe_code)]

pub mod cluster;
pub mod estimate;
pub mod fetch;
pub mod group;
pub mod handler;
pub mod heap;
pub mod index_build;
pub mod modify;
pub mod options;
pub mod scan;
pub mod slot;
pub mod standby;
pub mod storage;
pub mod tid;
pub mod vacuum;
pub mod write;

/// Registers the callbacks of the access method.
pub fn register_callbacks() {
    write::register();
}

/// Name of a relation, for messages.
///
/// # Safety
/// `rel` is an open relation.
pub unsafe fn relation_name(rel: pgrx::pg_sys::Relation) -> String {
    // SAFETY: the relcache entry is valid while the relation is open; names are NUL-terminated.
    unsafe { core::ffi::CStr::from_ptr((*(*rel).rd_rel).relname.data.as_ptr()) }
        .to_string_lossy()
        .into_owned()
}
