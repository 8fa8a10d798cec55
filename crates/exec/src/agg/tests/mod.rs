//! Tests of whole aggregators.

mod model;
mod semantics;
mod shapes;
