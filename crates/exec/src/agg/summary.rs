//! What an aggregate makes of many rows at once, where that is known without their values.

use super::aggregator::Aggregator;
use super::input::{Groups, dense};
use super::spec::{AggKind, NumType};
use crate::column::{Column, Scalar};
use crate::error::ExecError;

/// What some rows come to in one aggregate.
#[derive(Clone, Debug, PartialEq)]
pub enum Summary {
    /// Rows that count() counts.
    Count(u64),
    /// Of sum() and avg() of integers: the exact sum, and of how many values it is.
    Sum { sum: i128, count: u64 },
    /// Of min(), max(), bool_and() and bool_or(): the result, `None` where there is no value.
    Extreme(Option<Scalar>),
}

impl Aggregator {
    /// Takes in rows of which only summaries are known, one an aggregate. There must be no keys, and no aggregate for which
    /// DISTINCT makes a difference.
    pub fn fold_summary(&mut self, summaries: &[Summary]) -> Result<(), ExecError> {
        assert!(!self.is_grouped(), "summaries are not of a group");
        assert_eq!(summaries.len(), self.aggregates.len());
        for (aggregate, summary) in self.aggregates.iter_mut().zip(summaries) {
            if aggregate.distinct.is_some() {
                return Err(ExecError::Unsupported);
            }
            let state = &mut aggregate.state;
            match (aggregate.spec.kind, summary) {
                (AggKind::CountStar | AggKind::Count, Summary::Count(rows)) => {
                    let rows = usize::try_from(*rows).map_err(|_| ExecError::Unsupported)?;
                    state.update(Groups::One, None, rows)?;
                }
                (
                    AggKind::Sum(NumType::Int) | AggKind::Avg(NumType::Int),
                    Summary::Sum { sum, count },
                ) => {
                    if *count > 0 {
                        state.add_sum(*sum, *count)?;
                    }
                }
                (
                    AggKind::Min(_) | AggKind::Max(_) | AggKind::BoolAnd | AggKind::BoolOr,
                    Summary::Extreme(value),
                ) => match value {
                    None | Some(Scalar::Null) => {}
                    Some(value) => {
                        let value = dense(&Column::constant(value.clone(), 1), None, 1);
                        state.update(Groups::One, Some(&value), 1)?;
                    }
                },
                _ => return Err(ExecError::Unsupported),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::agg::{AggSpec, GroupSpec, ValueType};
    use crate::column::Data;

    const KINDS: [AggKind; 6] = [
        AggKind::CountStar,
        AggKind::Count,
        AggKind::Sum(NumType::Int),
        AggKind::Avg(NumType::Int),
        AggKind::Min(ValueType::Int),
        AggKind::Max(ValueType::Int),
    ];

    fn aggregator(kinds: &[AggKind]) -> Aggregator {
        let aggregates = kinds.iter().map(|&kind| AggSpec::plain(kind)).collect();
        Aggregator::new(GroupSpec::new(Vec::new(), aggregates))
    }

    fn column(values: &[Option<i64>]) -> Column {
        let data = values.iter().map(|value| value.unwrap_or(-77)).collect();
        let nulls = values.iter().map(Option::is_none).collect();
        Column::with_nulls(Data::Int(Arc::new(data)), Some(Arc::new(nulls)), values.len())
    }

    fn consume(aggregator: &mut Aggregator, values: &[Option<i64>]) {
        let arg = column(values);
        let mut args = vec![Some(arg); KINDS.len()];
        args[0] = None;
        aggregator.consume(&[], &args, &[], values.len()).unwrap();
    }

    fn summarize(values: &[Option<i64>]) -> Vec<Summary> {
        let known = || values.iter().flatten().copied();
        let count = known().count() as u64;
        let sum = known().map(i128::from).sum();
        vec![
            Summary::Count(values.len() as u64),
            Summary::Count(count),
            Summary::Sum { sum, count },
            Summary::Sum { sum, count },
            Summary::Extreme(known().min().map(Scalar::Int)),
            Summary::Extreme(known().max().map(Scalar::Int)),
        ]
    }

    fn results(aggregator: &Aggregator) -> Vec<Scalar> {
        (0..KINDS.len())
            .flat_map(|at| aggregator.output(at, 0, 1))
            .map(|column| column.get(0))
            .collect()
    }

    #[test]
    fn summaries_are_worth_their_rows() {
        let parts: [&[Option<i64>]; 6] = [
            &[None, None],
            &[Some(3), None, Some(-5)],
            &[],
            &[Some(i64::MAX), Some(i64::MAX), Some(1)],
            &[Some(i64::MIN), None],
            &[Some(0); 9],
        ];
        // Each subset of the parts comes as summaries, the others as rows, in either order.
        for subset in 0..1usize << parts.len() {
            for reverse in [false, true] {
                let mut wanted = aggregator(&KINDS);
                let mut mixed = aggregator(&KINDS);
                for at in 0..parts.len() {
                    let at = if reverse { parts.len() - 1 - at } else { at };
                    consume(&mut wanted, parts[at]);
                    if subset >> at & 1 == 1 {
                        mixed.fold_summary(&summarize(parts[at])).unwrap();
                    } else {
                        consume(&mut mixed, parts[at]);
                    }
                }
                assert_eq!(results(&mixed), results(&wanted), "subset {subset:b}");
            }
        }
    }

    #[test]
    fn summaries_merge_with_what_others_took_in() {
        let mut rows = aggregator(&KINDS);
        consume(&mut rows, &[Some(i64::MAX), None]);
        let mut summaries = aggregator(&KINDS);
        summaries.fold_summary(&summarize(&[Some(i64::MAX), Some(4)])).unwrap();
        let mut wanted = aggregator(&KINDS);
        consume(&mut wanted, &[Some(i64::MAX), None, Some(i64::MAX), Some(4)]);
        rows.merge(summaries).unwrap();
        assert_eq!(results(&rows), results(&wanted));
    }

    #[test]
    fn no_value_leaves_the_result_null() {
        let mut all = aggregator(&KINDS);
        all.fold_summary(&summarize(&[None, None])).unwrap();
        let wanted =
            [Scalar::Int(2), Scalar::Int(0), Scalar::Null, Scalar::Null, Scalar::Int(0)].to_vec();
        assert_eq!(results(&all)[..5], wanted);
        assert_eq!(results(&all)[5..], [Scalar::Null, Scalar::Null]);
    }

    #[test]
    fn extremes_of_other_types() {
        let kinds = [
            AggKind::Min(ValueType::Float),
            AggKind::Max(ValueType::Bytes),
            AggKind::BoolAnd,
            AggKind::BoolOr,
        ];
        let mut all = aggregator(&kinds);
        let bytes = |value: &str| Scalar::Bytes(value.as_bytes().into());
        for (float, text, bool) in [(1.5, "a", true), (-2.5, "b", false), (7.0, "aa", true)] {
            let values =
                [Scalar::Float(float), bytes(text), Scalar::Bool(bool), Scalar::Bool(bool)];
            all.fold_summary(&values.map(|value| Summary::Extreme(Some(value)))).unwrap();
        }
        let results: Vec<Scalar> =
            (0..kinds.len()).map(|at| all.output(at, 0, 1)[0].get(0)).collect();
        let wanted = [Scalar::Float(-2.5), bytes("b"), Scalar::Bool(false), Scalar::Bool(true)];
        assert_eq!(results, wanted);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |kind: AggSpec, summary: Summary| {
            let mut all = Aggregator::new(GroupSpec::new(Vec::new(), vec![kind]));
            assert!(matches!(all.fold_summary(&[summary]), Err(ExecError::Unsupported)));
        };
        let sum = Summary::Sum { sum: 4, count: 2 };
        refused(AggSpec::plain(AggKind::Count), sum.clone());
        refused(AggSpec::plain(AggKind::Sum(NumType::Float)), sum.clone());
        refused(AggSpec::plain(AggKind::Min(ValueType::Int)), sum.clone());
        let float = Summary::Extreme(Some(Scalar::Float(1.0)));
        refused(AggSpec::plain(AggKind::Min(ValueType::Int)), float);
        let distinct = Some(ValueType::Int);
        let spec = AggSpec { kind: AggKind::Sum(NumType::Int), distinct, filtered: false };
        refused(spec, sum);
    }
}
