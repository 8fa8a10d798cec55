//! Three-valued logic.

use std::sync::Arc;

use super::eval::{evaluate, evaluate_there, everywhere, truth};
use super::operand::{
    NullMask, any_null_constant, bool_column, bools, map1, null_column, union_nulls,
};
use super::{BoolTest, Expr};
use crate::batch::{Batch, Context};
use crate::column::{Column, Data, Scalar};
use crate::error::ExecError;

/// NOT.
pub(super) fn not(arg: &Column) -> Column {
    if any_null_constant(&[arg]) {
        return null_column(arg.len);
    }
    bool_column(map1(bools(arg), arg.len, |value| !value), union_nulls(&[arg]))
}

/// IS NULL, or IS NOT NULL if `negated`.
pub(super) fn is_null(arg: &Column, negated: bool) -> Column {
    match (&arg.data, &arg.nulls) {
        (Data::Const(value), _) => {
            Column::constant(Scalar::Bool((*value == Scalar::Null) != negated), arg.len)
        }
        (_, None) => Column::constant(Scalar::Bool(negated), arg.len),
        (_, Some(nulls)) if negated => bool_column(nulls.iter().map(|null| !null).collect(), None),
        (_, Some(nulls)) => Column::new(Data::Bool(Arc::clone(nulls)), arg.len),
    }
}

/// IS TRUE and its kin.
pub(super) fn bool_test(test: BoolTest, arg: &Column) -> Column {
    let keep = |wanted: bool, negated: bool| {
        let mut values: Vec<bool> = match truth(arg) {
            _ if any_null_constant(&[arg]) => vec![false; arg.len],
            (values, None) => map1(values, arg.len, |value| value == wanted),
            (values, Some(nulls)) => map1(values, arg.len, |value| value == wanted)
                .into_iter()
                .zip(nulls.iter())
                .map(|(value, null)| value & !null)
                .collect(),
        };
        if negated {
            values.iter_mut().for_each(|value| *value = !*value);
        }
        bool_column(values, None)
    };
    match test {
        BoolTest::IsTrue => keep(true, false),
        BoolTest::IsNotTrue => keep(true, true),
        BoolTest::IsFalse => keep(false, false),
        BoolTest::IsNotFalse => keep(false, true),
        BoolTest::IsUnknown => is_null(arg, false),
        BoolTest::IsNotUnknown => is_null(arg, true),
    }
}

/// AND (`decisive` is false) and OR (`decisive` is true): a row is decided by the first operand with that value, and the
/// operands behind are not evaluated for it, unless that does no harm and costs little.
pub(super) fn connect(
    args: &[Expr],
    decisive: bool,
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<Column, ExecError> {
    let rows = batch.len();
    let mut decided = vec![false; rows];
    let mut unknown: Option<Vec<bool>> = None;
    for arg in args {
        let reached = decided.iter().map(|decided| usize::from(!decided)).sum();
        if reached == 0 {
            break;
        }
        if everywhere(arg, reached, rows) {
            let column = evaluate(arg, batch, context)?;
            take_all(&column, decisive, &mut decided, &mut unknown);
        } else {
            let undecided = (0..rows as u32).filter(|row| !decided[*row as usize]);
            let places: Vec<u32> = undecided.collect();
            let column = evaluate_there(arg, &places, batch, context)?;
            take_some(&column, &places, decisive, &mut decided, &mut unknown);
        }
    }
    let nulls: NullMask = unknown.and_then(|mut unknown| {
        unknown.iter_mut().zip(&decided).for_each(|(unknown, decided)| *unknown &= !decided);
        unknown.contains(&true).then(|| Arc::new(unknown))
    });
    if !decisive {
        decided.iter_mut().for_each(|decided| *decided = !*decided);
    }
    Ok(bool_column(decided, nulls))
}

/// Takes in an operand that was evaluated for all rows.
fn take_all(
    column: &Column,
    decisive: bool,
    decided: &mut [bool],
    unknown: &mut Option<Vec<bool>>,
) {
    let rows = decided.len();
    match (&column.data, &column.nulls) {
        (Data::Const(Scalar::Null), _) => *unknown = Some(vec![true; rows]),
        (Data::Const(Scalar::Bool(value)), _) => {
            if *value == decisive {
                decided.fill(true);
            }
        }
        (Data::Bool(values), None) => {
            for (decided, value) in decided.iter_mut().zip(values.iter()) {
                *decided |= *value == decisive;
            }
        }
        (Data::Bool(values), Some(nulls)) => {
            for ((decided, value), null) in decided.iter_mut().zip(values.iter()).zip(nulls.iter())
            {
                *decided |= (*value == decisive) & !null;
            }
            match unknown {
                None => *unknown = Some(nulls.to_vec()),
                Some(unknown) => {
                    unknown.iter_mut().zip(nulls.iter()).for_each(|(a, b)| *a |= b);
                }
            }
        }
        (other, _) => panic!("an operand of AND or OR is {other:?}"),
    }
}

/// Takes in an operand that was evaluated for the rows at `places`.
fn take_some(
    column: &Column,
    places: &[u32],
    decisive: bool,
    decided: &mut [bool],
    unknown: &mut Option<Vec<bool>>,
) {
    let null = any_null_constant(&[column]);
    if null || column.nulls.is_some() {
        let unknown = unknown.get_or_insert_with(|| vec![false; decided.len()]);
        for (place, &row) in places.iter().enumerate() {
            unknown[row as usize] |= column.is_null(place);
        }
    }
    if !null {
        let values = map1(bools(column), column.len, |value| value == decisive);
        for (place, &row) in places.iter().enumerate() {
            decided[row as usize] |= values[place] && !column.is_null(place);
        }
    }
}
