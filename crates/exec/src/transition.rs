//! Aggregates that no kernel folds: the backend calls their transition functions for the rows of a batch that has been
//! grouped, once for each grouping set.
//!
//! The aggregator of a set numbers the groups, and [`External::advance`] gets the number of each row with the arguments. States stay
//! with the backend and do not go to files. Where they outgrow memory the scan is repeated, each time for one set, then for
//! some of its groups ([`Pass`]).
//!
//! [`External::advance`]: crate::External::advance

use std::borrow::Cow;

use crate::agg::{Aggregator, Pass};
use crate::batch::{Batch, CallGroups, CallRows, Context};
use crate::column::{Column, Data, Scalar};
use crate::error::ExecError;
use crate::expr::Expr;

/// Groups of a pass that is not split: few groups that are large remain so.
const FEWEST_GROUPS: usize = 64;
/// Partitions of the groups.
const MOST_PASSES: u32 = 1 << 16;

/// What a pipeline leaves to transition functions.
#[derive(Clone, Debug, Default)]
pub struct Transitions {
    /// The aggregates.
    pub calls: Vec<Call>,
    /// Whether the scan may be repeated.
    pub repeatable: bool,
    /// Which groups are taken in; `None` for all.
    pub pass: Option<Pass>,
}

/// An aggregate.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its number in the spec.
    pub aggregate: usize,
    /// Its arguments.
    pub args: Vec<Expr>,
}

impl Transitions {
    /// Whether groups that outgrow memory are to be left to further passes: `groups` groups, so many that each of the
    /// passes would have several.
    pub fn may_split(&self, groups: usize) -> bool {
        let passes = self.pass.map_or(1, |pass| pass.of);
        self.repeatable && groups >= FEWEST_GROUPS && passes < MOST_PASSES
    }

    /// The arguments of all.
    pub fn args(&self) -> impl Iterator<Item = &Expr> {
        self.calls.iter().flat_map(|call| &call.args)
    }
}

/// Has the transition functions called for the rows of a batch, which the tables of all sets have taken in. `conditions` are
/// the values of FILTER by aggregate.
pub(crate) fn advance(
    transitions: &Transitions,
    conditions: &[Option<Column>],
    tables: &[Aggregator],
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<(), ExecError> {
    for (number, call) in transitions.calls.iter().enumerate() {
        let picked = conditions[call.aggregate].as_ref().and_then(true_rows);
        let (args, len) = match &picked {
            None => (evaluate(&call.args, batch, context)?, batch.len()),
            Some(rows) if rows.is_empty() => continue,
            // Arguments are evaluated for no row that the filter stops: they may fail there.
            Some(rows) => (evaluate(&call.args, &mut batch.subset(rows), context)?, rows.len()),
        };
        let sets: Vec<_> = tables.iter().map(|table| groups(table, picked.as_deref())).collect();
        let Some(external) = &mut context.external else {
            return Err(ExecError::Unsupported);
        };
        external.advance(number, CallRows { len, args: &args, sets: &sets })?;
    }
    Ok(())
}

/// The groups of the rows that a table took in last, or of some of them.
fn groups<'a>(table: &'a Aggregator, picked: Option<&[u32]>) -> CallGroups<'a> {
    let groups = table.last_groups().map(|groups| match picked {
        None => Cow::Borrowed(groups),
        Some(rows) => rows.iter().map(|&row| groups[row as usize]).collect(),
    });
    CallGroups { groups, known: table.groups() }
}

fn evaluate(
    args: &[Expr],
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<Vec<Column>, ExecError> {
    args.iter().map(|arg| arg.evaluate(batch, context)).collect()
}

/// The rows where a condition is true; `None` for all.
fn true_rows(condition: &Column) -> Option<Vec<u32>> {
    if matches!(condition.data, Data::Const(Scalar::Bool(true))) {
        return None;
    }
    let passes = |row: &u32| condition.get(*row as usize) == Scalar::Bool(true);
    Some((0..condition.len as u32).filter(passes).collect())
}

#[cfg(test)]
mod tests;
