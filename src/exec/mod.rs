//! Batch execution inside PostgreSQL: planner hooks, plan nodes, and the way of a table's rows into batches.
//!
//! ```text
//! plan/        paths and plans: which parts of a query run in batches
//! node/        the plan nodes at run time
//! translate/   PostgreSQL's expressions to kernels
//! source       a table as morsels      gather   row pages as columns      metadata   what is known without reading
//! run          drives a pipeline       pool     its threads      spill   its temporary files
//! projection   what columns core's own scan nodes read
//! ```
//!
//! Kernels and pipelines are the crate `columnar_exec`, which knows no PostgreSQL.

pub mod blooms;
pub mod error;
pub mod gather;
pub mod metadata;
pub mod node;
pub mod plan;
pub mod pool;
pub mod projection;
pub mod run;
pub mod source;
pub mod spill;
pub mod translate;

/// Installs the planner hooks.
pub fn register() {
    plan::register();
    node::define_setting();
}
