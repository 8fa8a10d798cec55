//! What is particular to each encoding: one module each, with the layout and what writes and reads it.
//!
//! Every vector's section begins with its validity, where it has both NULLs and values:
//!
//! ```text
//! ceil(rows / 8) bytes, bit set: has a value | padding to 8 bytes | the encoding's part
//! ```
//!
//! A row that is NULL still has a place among the values, which holds whatever is cheapest.

pub(crate) mod alp;
pub(crate) mod delta;
pub(crate) mod run_length;
