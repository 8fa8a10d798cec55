//! The counts of a run.

use std::collections::BTreeMap;
use std::fmt;

/// The counts of a run.
#[derive(Debug, Default)]
pub struct Tally {
    pub queries: u64,
    pub differences: u64,
    /// Queries in which all arms raised the same error.
    pub equal_errors: u64,
    /// Queries whose arms differ only by raising an error, where the order of evaluation is free.
    pub free_errors: u64,
    pub inconclusive: u64,
    /// Rows that heap returned.
    pub rows: u64,
    /// Seconds spent on heap, vectorized (with its plan), not vectorized; and on making and changing tables.
    pub seconds: [f64; 4],
    /// Queries in whose plan a custom node was, and queries for which a plan was seen.
    pub with_node: u64,
    pub plans: u64,
    /// Queries by the custom nodes of their plans.
    pub nodes: BTreeMap<String, u64>,
    /// Queries by shape, and those of them that had a custom node.
    pub shapes: BTreeMap<&'static str, (u64, u64)>,
    /// Errors on heap by SQLSTATE, with a message.
    pub errors: BTreeMap<String, (u64, String)>,
}

impl Tally {
    /// Counts the custom nodes of a plan.
    pub fn plan(&mut self, shape: &'static str, plan: Option<&str>) {
        let entry = self.shapes.entry(shape).or_default();
        entry.0 += 1;
        let Some(plan) = plan else {
            return;
        };
        self.plans += 1;
        let nodes = custom_nodes(plan);
        if !nodes.is_empty() {
            self.with_node += 1;
            entry.1 += 1;
        }
        for node in nodes {
            *self.nodes.entry(node).or_default() += 1;
        }
    }

    /// Counts an error.
    pub fn error(&mut self, state: &str, message: &str) {
        let entry = self.errors.entry(state.to_string()).or_insert((0, message.to_string()));
        entry.0 += 1;
    }
}

/// The names of pgcolumnar's nodes in a plan, each once.
pub fn custom_nodes(plan: &str) -> Vec<String> {
    let mut names: Vec<String> = plan
        .split("Custom Scan (")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(name, _)| name.to_string())
        .filter(|name| name.starts_with("Columnar"))
        .collect();
    names.sort();
    names.dedup();
    names
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} queries, {} rows; {} with equal errors, {} differing only by an error of free order, {} inconclusive",
            self.queries, self.rows, self.equal_errors, self.free_errors, self.inconclusive
        )?;
        let [heap, vectorized, plain, tables] = self.seconds;
        writeln!(
            f,
            "seconds: heap {heap:.1}, vectorized {vectorized:.1}, not vectorized {plain:.1}, tables {tables:.1}"
        )?;
        let shapes: Vec<String> =
            self.shapes.iter().map(|(name, (all, node))| format!("{name} {node}/{all}")).collect();
        writeln!(f, "shapes (with a custom node / all): {}", shapes.join(", "))?;
        let errors: Vec<String> = self
            .errors
            .iter()
            .map(|(state, (n, message))| format!("{n} x {state} ({message})"))
            .collect();
        writeln!(
            f,
            "errors: {}",
            if errors.is_empty() { "none".into() } else { errors.join(", ") }
        )?;
        let nodes: Vec<String> = self.nodes.iter().map(|(name, n)| format!("{name} {n}")).collect();
        write!(
            f,
            "custom nodes in {} of {} plans: {}",
            self.with_node,
            self.plans,
            if nodes.is_empty() { "none".into() } else { nodes.join(", ") }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Tally, custom_nodes};

    #[test]
    fn nodes_are_named_once_a_plan() {
        let plan = "Custom Scan (ColumnarAgg)\n  ->  Custom Scan (ColumnarScan) on c_t0 t\n  ->  Custom Scan (ColumnarScan) on c_t1\n  ->  Custom Scan (Other)";
        assert_eq!(custom_nodes(plan), ["ColumnarAgg", "ColumnarScan"]);
        let mut tally = Tally::default();
        tally.plan("top", Some(plan));
        tally.plan("top", Some("Seq Scan on c_t0"));
        tally.plan("top", None);
        assert_eq!((tally.with_node, tally.plans, tally.shapes["top"]), (1, 2, (3, 1)));
        assert!(tally.to_string().contains("ColumnarAgg 1, ColumnarScan 1"));
    }
}
