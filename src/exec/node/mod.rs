//! The plan nodes at run time.
//!
//! All three share one state. ColumnarScan hands out rows of its table ([`scan`]); ColumnarAgg and ColumnarTopN hand out
//! groups ([`aggregate`]).
#![allow(unsafe_code)]

mod aggregate;
mod by_tid;
mod core_plan;
mod explain;
mod external;
mod keys;
mod methods;
mod output;
mod parallel;
mod passes;
mod scan;
mod setup;
mod state;
mod tables;
mod transition;
mod unfiltered;
mod winners;

pub use methods::{
    aggregate_methods, define_setting, distinct_on_methods, scan_methods, top_methods,
};
pub use transition::is_ordered;
