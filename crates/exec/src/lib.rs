//! Batch execution over column vectors, free of PostgreSQL.
//!
//! A [`Batch`] is a run of rows whose columns are decoded when they are asked for and only for the rows that are still
//! selected. An [`Expr`] is evaluated over all selected rows of a batch at once and gives a [`Column`]. Filters narrow the
//! selection ([`filter`]); [`agg`] groups and folds.
//!
//! Semantics are PostgreSQL's: NULLs, errors, float order. Nothing here calls PostgreSQL, so that all of it may run on
//! threads.

pub mod agg;
mod batch;
mod column;
pub mod datum;
mod error;
pub mod expr;
pub mod filter;
pub mod numeric;
pub mod phases;
pub mod pipeline;
pub mod prune;
pub mod schedule;
pub mod stored;
pub mod summary;
pub mod topn;
pub mod transition;

pub use batch::{Batch, CallGroups, CallRows, ColumnSource, Context, External};
pub use column::{Codes, Column, Data, Scalar, Span, StringDictionary, Strings};
pub use error::ExecError;
pub use expr::Expr;
