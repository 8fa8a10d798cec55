//! What the main fork holds besides row pages.
//!
//! ```text
//! block 0     metapage: version, directory of row groups and free extents
//! block 1 ..  row pages (heap pages) and column pages, in any order
//! ```
//!
//! A column page is a well-formed page without line pointers whose free space is nil, so heapam never puts a row on it
//! and every page walker of the server passes over it. Its special space says what it holds.

pub mod directory;
pub mod extent;
pub mod metapage;
pub mod page;
pub mod page_stream;
pub mod size;
pub mod vm;
pub mod wal;
