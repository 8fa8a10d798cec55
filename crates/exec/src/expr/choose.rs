//! CASE, COALESCE, GREATEST, LEAST: which operand a row takes its value from.

use super::compare::compare;
use super::eval::{evaluate, evaluate_at, truth};
use super::merge::{NOTHING, Part, merge};
use super::operand::{any_null_constant, map1};
use super::{CompareOp, Expr};
use crate::batch::{Batch, Context};
use crate::column::{Column, Data};
use crate::error::ExecError;

/// CASE.
pub(super) fn case(
    whens: &[(Expr, Expr)],
    otherwise: Option<&Expr>,
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<Column, ExecError> {
    let mut choice = vec![NOTHING; batch.len()];
    let mut parts = Vec::with_capacity(whens.len() + 1);
    let mut rest: Vec<u32> = (0..batch.len() as u32).collect();
    for (condition, result) in whens {
        if rest.is_empty() {
            break;
        }
        let holds = match evaluate_at(condition, &rest, batch, context)? {
            Part::All(column) => {
                let holds = true_rows(&column);
                rest.iter().map(|row| holds[*row as usize]).collect()
            }
            Part::Chosen(column) => true_rows(&column),
        };
        let (taken, left) = split(&rest, &holds);
        rest = left;
        take(result, &taken, &mut parts, &mut choice, batch, context)?;
    }
    if let Some(otherwise) = otherwise {
        take(otherwise, &rest, &mut parts, &mut choice, batch, context)?;
    }
    merge(&parts, &choice, &mut context.memo)
}

/// The rows for which a condition holds and those for which it does not. Both are written for every row and only one is
/// kept, which costs less than a branch that is hard to foresee.
fn split(rows: &[u32], holds: &[bool]) -> (Vec<u32>, Vec<u32>) {
    let (mut taken, mut left) = (vec![0; rows.len()], vec![0; rows.len()]);
    let (mut taken_len, mut left_len) = (0, 0);
    for (&row, &holds) in rows.iter().zip(holds) {
        taken[taken_len] = row;
        left[left_len] = row;
        taken_len += usize::from(holds);
        left_len += usize::from(!holds);
    }
    taken.truncate(taken_len);
    left.truncate(left_len);
    (taken, left)
}

/// Evaluates a result for the rows that take it.
fn take(
    result: &Expr,
    rows: &[u32],
    parts: &mut Vec<Part>,
    choice: &mut [u32],
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<(), ExecError> {
    if rows.is_empty() {
        return Ok(());
    }
    for &row in rows {
        choice[row as usize] = parts.len() as u32;
    }
    parts.push(evaluate_at(result, rows, batch, context)?);
    Ok(())
}

/// Rows that are true, NULL being none.
pub(crate) fn true_rows(column: &Column) -> Vec<bool> {
    if any_null_constant(&[column]) {
        return vec![false; column.len];
    }
    match truth(column) {
        (values, None) => map1(values, column.len, |value| value),
        (values, Some(nulls)) => {
            let mut rows = map1(values, column.len, |value| value);
            rows.iter_mut().zip(nulls.iter()).for_each(|(row, null)| *row &= !null);
            rows
        }
    }
}

/// COALESCE.
pub(super) fn coalesce(
    args: &[Expr],
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<Column, ExecError> {
    let mut choice = vec![NOTHING; batch.len()];
    let mut parts = Vec::with_capacity(args.len());
    let mut rest: Vec<u32> = (0..batch.len() as u32).collect();
    for arg in args {
        if rest.is_empty() {
            break;
        }
        let part = evaluate_at(arg, &rest, batch, context)?;
        let mut left = Vec::new();
        for (place, &row) in rest.iter().enumerate() {
            let null = match &part {
                Part::All(column) => column.is_null(row as usize),
                Part::Chosen(column) => column.is_null(place),
            };
            if null {
                left.push(row);
            } else {
                choice[row as usize] = parts.len() as u32;
            }
        }
        // The merge wants values of the rows that chose the part and no others.
        let part = match part {
            Part::Chosen(column) if !left.is_empty() => {
                let places = 0..column.len as u32;
                let places: Vec<u32> = places.filter(|at| !column.is_null(*at as usize)).collect();
                Part::Chosen(column.gather(&places))
            }
            part => part,
        };
        parts.push(part);
        rest = left;
    }
    merge(&parts, &choice, &mut context.memo)
}

/// GREATEST or LEAST: of equal operands the first, as PostgreSQL keeps it.
pub(super) fn extreme(
    args: &[Expr],
    greatest: bool,
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<Column, ExecError> {
    let mut best: Option<Column> = None;
    let op = if greatest { CompareOp::Lt } else { CompareOp::Gt };
    for arg in args {
        let next = evaluate(arg, batch, context)?;
        let Some(current) = best.take() else {
            best = Some(next);
            continue;
        };
        if any_null_constant(&[&next]) {
            best = Some(current);
            continue;
        }
        if any_null_constant(&[&current]) {
            best = Some(next);
            continue;
        }
        let beaten = compare(op, &current, &next);
        let Data::Bool(values) = &beaten.data else {
            best = Some(current);
            continue;
        };
        let choice: Vec<u32> = (0..batch.len())
            .map(|row| match (current.is_null(row), next.is_null(row)) {
                (false, false) => u32::from(values[row]),
                (null, _) => u32::from(null),
            })
            .collect();
        best = Some(merge(&[Part::All(current), Part::All(next)], &choice, &mut context.memo)?);
    }
    Ok(best.unwrap_or_else(|| super::operand::null_column(batch.len())))
}
