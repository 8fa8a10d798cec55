//! Narrowing a batch to the rows that satisfy a conjunction.

use std::time::Instant;

use crate::batch::{Batch, Context};
use crate::column::{Column, Data, Scalar};
use crate::error::ExecError;
use crate::expr::{Expr, true_rows};
use crate::schedule::Schedule;

/// Applies filters in the order that `schedule` gives, each to the rows that those before it left, until none is left. NULL is
/// not true. `counts[i]` grows by the rows that filter `i` removes.
///
/// # Errors
/// Those of [`crate::expr::evaluate`]; the batch is then narrowed by some of the filters.
pub fn apply(
    filters: &[Expr],
    schedule: &mut Schedule,
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
    counts: &mut [u64],
) -> Result<(), ExecError> {
    assert_eq!(filters.len(), counts.len(), "a count for each filter");
    let measured = schedule.turn().is_some();
    let mut notes = Vec::new();
    for (filter, leads) in schedule.order() {
        let before = batch.len();
        if before == 0 {
            break;
        }
        let start = (measured && leads).then(Instant::now);
        apply_one(&filters[filter], batch, context)?;
        if let Some(start) = start {
            notes.push((filter, start.elapsed(), before, batch.len()));
        }
        counts[filter] += (before - batch.len()) as u64;
    }
    for (filter, time, rows, left) in notes {
        schedule.note(filter, time, rows, left);
    }
    Ok(())
}

fn apply_one(
    filter: &Expr,
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<(), ExecError> {
    // The operands of AND are filters of their own here: what is NULL goes at once.
    if let Expr::And(operands) = filter {
        for operand in operands {
            if batch.is_empty() {
                break;
            }
            apply_one(operand, batch, context)?;
        }
        return Ok(());
    }
    let result = filter.evaluate(batch, context)?;
    narrow(batch, &result);
    Ok(())
}

fn narrow(batch: &mut Batch<'_>, result: &Column) {
    match (&result.data, &result.nulls) {
        (Data::Const(Scalar::Bool(true)), _) => {}
        (Data::Bool(values), None) => batch.narrow(values),
        _ => batch.narrow(&true_rows(result)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::batch::ColumnSource;
    use crate::expr::{ArithOp, CompareOp, NumberKind};

    struct Numbers;

    impl ColumnSource for Numbers {
        fn load(&self, column: usize) -> Result<Column, ExecError> {
            assert_eq!(column, 0, "column 1 is asked for when no row is left");
            let nulls = (0..10).map(|row| row == 3).collect();
            let values = Arc::new((0..10).collect());
            Ok(Column::with_nulls(Data::Int(values), Some(Arc::new(nulls)), 10))
        }
    }

    fn compare(op: CompareOp, left: Expr, value: i64) -> Expr {
        let right = Box::new(Expr::Const(Scalar::Int(value)));
        Expr::Compare { op, left: Box::new(left), right }
    }

    #[test]
    fn filters_narrow_in_order_and_count() {
        let nonzero = compare(CompareOp::Ne, Expr::Column(0), 0);
        let quotient = Expr::Arith {
            op: ArithOp::Div,
            kind: NumberKind::Int32,
            left: Box::new(Expr::Const(Scalar::Int(100))),
            right: Box::new(Expr::Column(0)),
        };
        // The division is not evaluated for zero, which went before.
        let filters = [
            nonzero,
            Expr::And(vec![
                compare(CompareOp::Lt, quotient, 40),
                compare(CompareOp::Lt, Expr::Column(0), 9),
            ]),
            Expr::Const(Scalar::Bool(true)),
        ];
        let mut counts = [0; 3];
        let mut batch = Batch::new(&Numbers, 2, 10, None);
        let mut context = Context::default();
        let mut schedule = Schedule::new(&filters);
        apply(&filters, &mut schedule, &mut batch, &mut context, &mut counts).unwrap();
        assert_eq!(batch.selection().unwrap().as_slice(), [4, 5, 6, 7, 8]);
        assert_eq!(counts, [2, 3, 0]);
    }

    #[test]
    fn nothing_is_evaluated_once_no_row_is_left() {
        let filters = [Expr::Const(Scalar::Null), compare(CompareOp::Eq, Expr::Column(1), 1)];
        let mut counts = [5, 5];
        let mut batch = Batch::new(&Numbers, 2, 10, None);
        let mut schedule = Schedule::new(&filters);
        apply(&filters, &mut schedule, &mut batch, &mut Context::default(), &mut counts).unwrap();
        assert!(batch.is_empty());
        assert_eq!(counts, [15, 5]);
    }

    proptest! {
        /// Whatever is measured, the rows are those of the plan's order, and nothing fails that does not fail in it.
        #[test]
        fn a_schedule_changes_no_result(
            kinds in prop::collection::vec((0usize..3, -1i64..11), 0..7),
            batches in 0usize..40,
        ) {
            let filter = |&(kind, value): &(usize, i64)| match kind {
                0 => compare(CompareOp::Ne, Expr::Column(0), value),
                1 => compare(CompareOp::Gt, Expr::Column(0), value),
                _ => {
                    let quotient = Expr::Arith {
                        op: ArithOp::Div,
                        kind: NumberKind::Int32,
                        left: Box::new(Expr::Const(Scalar::Int(100))),
                        right: Box::new(Expr::Column(0)),
                    };
                    compare(CompareOp::Ne, quotient, value)
                }
            };
            let filters: Vec<Expr> = kinds.iter().map(filter).collect();
            let mut schedule = Schedule::new(&filters);
            let mut context = Context::default();
            for _ in 0..batches {
                let mut plain = Batch::new(&Numbers, 2, 10, None);
                let expected =
                    filters.iter().try_for_each(|f| {
                        if plain.is_empty() { Ok(()) } else { apply_one(f, &mut plain, &mut context) }
                    });
                let mut batch = Batch::new(&Numbers, 2, 10, None);
                let mut counts = vec![0; filters.len()];
                let found = apply(&filters, &mut schedule, &mut batch, &mut context, &mut counts);
                prop_assert_eq!(&found, &expected);
                if found.is_ok() {
                    prop_assert_eq!(batch.selection(), plain.selection());
                    prop_assert_eq!(counts.iter().sum::<u64>(), 10 - batch.len() as u64);
                }
            }
        }
    }
}
