//! How large the numbers are that exact sums are made of, so that it is known in time whether 128 bits hold all sums.

use std::sync::atomic::{AtomicU32, Ordering};

use super::spec::{AggKind, AggSpec, NumType};
use super::sums::NAN;
use crate::column::{Column, Data, Scalar};
use crate::expr::Expr;

/// Bits of a sum that its sign and 2^40 rows take.
const SPARE_BITS: u32 = 42;

/// Of all rows that an aggregation takes in.
#[derive(Debug, Default)]
pub struct Magnitude {
    /// Aggregates whose sums may not fit, and whether they sum squares.
    watched: Vec<(usize, bool)>,
    /// The most bits of what is summed.
    bits: AtomicU32,
}

impl Magnitude {
    /// Of these aggregates of these arguments. Sums of columns are not watched: columns have 19 digits at most.
    pub fn new(aggregates: &[AggSpec], args: &[Option<Expr>]) -> Self {
        let watched = aggregates.iter().zip(args).enumerate().filter_map(|(at, (spec, arg))| {
            let computed = !matches!(arg, Some(Expr::Column(_)) | None);
            match spec.kind {
                AggKind::Sum(NumType::Decimal(_)) | AggKind::Avg(NumType::Decimal(_)) => {
                    computed.then_some((at, false))
                }
                AggKind::Moments(NumType::Decimal(_) | NumType::Int) => Some((at, true)),
                _ => None,
            }
        });
        Self { watched: watched.collect(), bits: AtomicU32::new(0) }
    }

    /// Takes the arguments of a batch in.
    pub fn note(&self, args: &[Option<Column>]) {
        for &(at, squared) in &self.watched {
            let bits = args[at].as_ref().map_or(0, bits);
            let bits = if squared { bits * 2 } else { bits };
            if bits > self.bits.load(Ordering::Relaxed) {
                self.bits.fetch_max(bits, Ordering::Relaxed);
            }
        }
    }

    /// Whether a sum over all rows may be beyond 128 bits, though that of each worker was not.
    pub fn may_outgrow(&self) -> bool {
        self.bits.load(Ordering::Relaxed) + SPARE_BITS > i128::BITS
    }
}

/// Bits of the largest number of a column.
fn bits(column: &Column) -> u32 {
    let used = |value: u128| u128::BITS - value.leading_zeros();
    let is_null = |row: usize| column.nulls.as_ref().is_some_and(|nulls| nulls[row]);
    match &column.data {
        Data::Int(values) => {
            let known = values.iter().enumerate().filter(|(row, _)| !is_null(*row));
            used(known.fold(0, |bits, (_, value)| bits | value.unsigned_abs()).into())
        }
        Data::Decimal(values, _) => {
            let known = values.iter().enumerate();
            let known = known.filter(|(row, value)| **value != NAN && !is_null(*row));
            used(known.fold(0, |bits, (_, value)| bits | value.unsigned_abs()))
        }
        Data::Const(Scalar::Int(value)) => used(value.unsigned_abs().into()),
        Data::Const(Scalar::Decimal(value, _)) if *value != NAN => used(value.unsigned_abs()),
        Data::Const(_) => 0,
        _ => i128::BITS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn noted(kind: AggKind, values: &[i128]) -> bool {
        let arg = Some(Expr::Negate {
            kind: crate::expr::NumberKind::Decimal,
            arg: Box::new(Expr::Column(0)),
        });
        let magnitude = Magnitude::new(&[AggSpec::plain(kind)], &[arg]);
        let data = Data::Decimal(Arc::new(values.to_vec()), 2);
        magnitude.note(&[Some(Column { data, nulls: None, len: values.len() })]);
        magnitude.may_outgrow()
    }

    #[test]
    fn large_numbers_may_outgrow_a_sum() {
        let sum = AggKind::Sum(NumType::Decimal(2));
        assert!(!noted(sum, &[1, -(1 << 86) + 1, NAN]));
        assert!(noted(sum, &[1, -(1 << 86)]));
        assert!(noted(AggKind::Avg(NumType::Decimal(2)), &[i128::MAX]));
        let moments = AggKind::Moments(NumType::Decimal(2));
        assert!(!noted(moments, &[(1 << 43) - 1]));
        assert!(noted(moments, &[1 << 43]));
        assert!(!noted(AggKind::Max(super::super::ValueType::Decimal(2)), &[i128::MAX]));
    }

    #[test]
    fn sums_of_columns_are_not_watched() {
        let spec = [AggSpec::plain(AggKind::Sum(NumType::Decimal(2)))];
        assert!(Magnitude::new(&spec, &[Some(Expr::Column(0))]).watched.is_empty());
    }
}
