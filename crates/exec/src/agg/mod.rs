//! Grouping and aggregate states.
//!
//! ```text
//! keys of a batch -> words and hashes (encode) -> numbers of groups (table, lookup) -> updates, aggregate by aggregate (state)
//!                                                                       \-> pairs that are new (distinct) -> updates
//! ```
//! Groups are numbered in the order in which they came. Aggregates keep arrays of states by that number and are updated in
//! loops over a batch, without a decision a row. [`Aggregator::merge_in_place`] and [`Aggregator::merge_partition`] bring the tables of several threads together,
//! [`Aggregator::spill`] and [`Aggregator::absorb`] move groups to temporary files and back. A [`GroupingSet`] says by which
//! of the keys a table groups. [`DistinctOn`] keeps a row of each group in place of aggregates.

mod aggregator;
mod cells;
mod distinct;
mod distinct_on;
mod encode;
mod extremes;
mod hash;
mod in_place;
mod input;
mod intern;
mod lookup;
mod magnitude;
mod memory;
mod merge;
mod moments;
mod narrow;
mod pass;
mod rows;
mod sets;
mod spec;
mod spill;
mod state;
mod strings;
mod summary;
mod sums;
mod table;
#[cfg(test)]
mod tests;
mod top;
mod wire;
mod word;

pub use aggregator::Aggregator;
pub use distinct_on::DistinctOn;
pub use in_place::{Find, Found, Kept};
pub use magnitude::Magnitude;
pub use pass::Pass;
pub use sets::{GroupingSet, SetPieceSink, Spilled, spill_largest};
pub use spec::{AggKind, AggSpec, GroupSpec, KeyType, NumType, ValueType};
pub use spill::PieceSink;
pub use summary::Summary;
pub use top::{TopKey, TopSource};
