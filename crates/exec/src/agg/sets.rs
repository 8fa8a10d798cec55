//! Grouping sets: the same rows grouped by several subsets of the keys, each subset in a table of its own.
//!
//! Without GROUPING SETS there is one set, of all keys. The tables share nothing, so each is merged, spilled and read back
//! by itself. Sets of few groups stay in memory while large ones go to files.

use std::sync::Arc;

use super::aggregator::Aggregator;
use super::spec::GroupSpec;
use crate::column::Column;
use crate::error::ExecError;

/// What one set groups by.
#[derive(Clone, Debug)]
pub struct GroupingSet {
    /// The keys of the set, and the aggregates, which all sets have in common.
    pub spec: Arc<GroupSpec>,
    /// Which of the pipeline's keys those are.
    pub keys: Vec<usize>,
}

/// Takes a piece of spilled groups: the set, the partition, and what [`Aggregator::spill`] wrote.
pub type SetPieceSink<'a> = dyn FnMut(usize, usize, Vec<u8>) -> Result<(), ExecError> + 'a;

impl GroupingSet {
    /// The only set of a plain GROUP BY.
    pub fn whole(spec: Arc<GroupSpec>) -> Self {
        let keys = (0..spec.keys.len()).collect();
        Self { spec, keys }
    }

    /// The keys of this set among all keys.
    pub fn pick(&self, keys: &[Column]) -> Vec<Column> {
        self.keys.iter().map(|&key| keys[key].clone()).collect()
    }

    /// A table without rows for each set.
    pub fn tables(sets: &[Self]) -> Vec<Aggregator> {
        sets.iter().map(|set| Aggregator::new(Arc::clone(&set.spec))).collect()
    }

    /// Takes `rows` rows into the table of this set; `keys` are all keys of the pipeline, the others as
    /// [`Aggregator::consume`].
    pub fn consume(
        &self,
        table: &mut Aggregator,
        keys: &[Column],
        args: &[Option<Column>],
        filters: &[Option<Column>],
        rows: usize,
    ) -> Result<(), ExecError> {
        table.consume(&self.pick(keys), args, filters, rows)
    }
}

/// What [`spill_largest`] found and did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Spilled {
    /// Bytes that all tables held before.
    pub bytes: usize,
    /// The sets whose groups went.
    pub sets: Vec<usize>,
}

/// Hands out the largest tables until all together take no more than `limit` bytes, and would not with `rows` rows more.
pub fn spill_largest(
    tables: &mut [Aggregator],
    limit: usize,
    rows: usize,
    partitions: usize,
    out: &mut SetPieceSink<'_>,
) -> Result<Spilled, ExecError> {
    let mut sizes: Vec<usize> = tables.iter().map(Aggregator::memory_size).collect();
    let bytes = sizes.iter().sum();
    let mut gone = Vec::new();
    loop {
        let total: usize = sizes.iter().sum();
        // What is far from the limit may double without reaching it.
        let ahead = || {
            let left = (0..sizes.len()).filter(|set| !gone.contains(set));
            left.map(|set| tables[set].memory_ahead(rows)).sum::<usize>()
        };
        if total <= limit && (total <= limit / 2 || total + ahead() <= limit) {
            return Ok(Spilled { bytes, sets: gone });
        }
        let left = (0..sizes.len()).filter(|set| !gone.contains(set));
        let Some(set) = left.max_by_key(|&set| sizes[set]) else {
            return Ok(Spilled { bytes, sets: gone });
        };
        tables[set].spill(1, partitions, &mut |partition, bytes| out(set, partition, bytes))?;
        sizes[set] = 0;
        gone.push(set);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::agg::{AggKind, AggSpec, NumType, ValueType};
    use crate::column::{Data, Scalar};

    fn column(values: impl Iterator<Item = Option<i64>>) -> Column {
        let values: Vec<Option<i64>> = values.collect();
        let nulls = Arc::new(values.iter().map(Option::is_none).collect());
        let len = values.len();
        let data = Data::Int(Arc::new(values.into_iter().map(Option::unwrap_or_default).collect()));
        Column { data, nulls: Some(nulls), len }
    }

    fn sets(sets: &[&[usize]]) -> Vec<GroupingSet> {
        let distinct = Some(ValueType::Int);
        let aggregates = vec![
            AggSpec::plain(AggKind::CountStar),
            AggSpec { kind: AggKind::Sum(NumType::Int), distinct, filtered: false },
        ];
        sets.iter()
            .map(|keys| {
                let types = vec![ValueType::Int; keys.len()];
                let spec = GroupSpec::new(types, aggregates.clone());
                GroupingSet { spec, keys: keys.to_vec() }
            })
            .collect()
    }

    type Found = BTreeMap<String, String>;

    fn groups(table: &Aggregator, found: &mut Found) {
        for group in 0..table.groups() {
            let keys = 0..table.spec().keys.len();
            let key: Vec<Scalar> =
                keys.map(|key| table.key(key, group, group + 1).get(0)).collect();
            let results: Vec<Scalar> =
                (0..2).map(|at| table.output(at, group, group + 1)[0].get(0)).collect();
            let before = found.insert(format!("{key:?}"), format!("{results:?}"));
            assert!(before.is_none(), "a group came twice");
        }
    }

    const ROWS: i64 = 40_000;

    /// Two keys, one with NULLs, and an argument.
    fn rows(from: i64, to: i64) -> ([Column; 2], Column) {
        let first = column((from..to).map(|row| Some(row % 20_000)));
        let second = column((from..to).map(|row| (row % 5 > 0).then_some(row % 5)));
        ([first, second], column((from..to).map(|row| Some(row % 7))))
    }

    fn expected(set: &[usize]) -> Found {
        let mut groups: BTreeMap<String, (i64, std::collections::BTreeSet<i64>)> = BTreeMap::new();
        for row in 0..ROWS {
            let second = if row % 5 > 0 { Scalar::Int(row % 5) } else { Scalar::Null };
            let all = [Scalar::Int(row % 20_000), second];
            let key: Vec<&Scalar> = set.iter().map(|&key| &all[key]).collect();
            let group = groups.entry(format!("{key:?}")).or_default();
            group.0 += 1;
            group.1.insert(row % 7);
        }
        let results = |(count, values): (i64, std::collections::BTreeSet<i64>)| {
            let sum = values.into_iter().sum::<i64>();
            format!("{:?}", vec![Scalar::Int(count), Scalar::Decimal(i128::from(sum), 0)])
        };
        groups.into_iter().map(|(key, group)| (key, results(group))).collect()
    }

    const SETS: [&[usize]; 4] = [&[0, 1], &[0], &[1], &[]];

    #[test]
    fn each_set_groups_by_its_keys() {
        let sets = sets(&SETS);
        let mut tables = GroupingSet::tables(&sets);
        for from in (0..ROWS).step_by(3_000) {
            let (keys, arg) = rows(from, ROWS.min(from + 3_000));
            for (set, table) in sets.iter().zip(&mut tables) {
                set.consume(table, &keys, &[None, Some(arg.clone())], &[None, None], arg.len)
                    .unwrap();
            }
        }
        for (keys, table) in SETS.iter().zip(&tables) {
            let mut found = Found::new();
            groups(table, &mut found);
            assert_eq!(found, expected(keys));
        }
    }

    #[test]
    fn the_empty_set_has_a_row_over_no_rows() {
        let tables = GroupingSet::tables(&sets(&[&[0], &[]]));
        assert_eq!(tables.iter().map(Aggregator::groups).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(tables[1].output(0, 0, 1)[0].get(0), Scalar::Int(0));
    }

    #[test]
    fn large_sets_go_to_files_and_come_back() {
        const PARTITIONS: usize = 8;
        let sets = sets(&SETS);
        let mut tables = GroupingSet::tables(&sets);
        let mut files: Vec<Vec<Vec<Vec<u8>>>> = vec![vec![Vec::new(); PARTITIONS]; sets.len()];
        let spill = |tables: &mut [Aggregator], limit, files: &mut Vec<Vec<Vec<Vec<u8>>>>| {
            spill_largest(tables, limit, 0, PARTITIONS, &mut |set, partition, bytes| {
                files[set][partition].push(bytes);
                Ok(())
            })
            .unwrap();
        };
        let limit = 1 << 20;
        for from in (0..ROWS).step_by(3_000) {
            let (keys, arg) = rows(from, ROWS.min(from + 3_000));
            for (set, table) in sets.iter().zip(&mut tables) {
                set.consume(table, &keys, &[None, Some(arg.clone())], &[None, None], arg.len)
                    .unwrap();
            }
            spill(&mut tables, limit, &mut files);
            assert!(tables.iter().map(Aggregator::memory_size).sum::<usize>() <= limit);
        }
        let spilled: Vec<bool> = files.iter().map(|files| !files[0].is_empty()).collect();
        assert_eq!(spilled, [true, true, false, false], "only large sets leave memory");
        spill(&mut tables, 0, &mut files);
        for ((keys, set), files) in SETS.iter().zip(&sets).zip(&files) {
            let mut found = Found::new();
            let mut only: Option<Aggregator> = None;
            for bytes in files {
                let mut table = Aggregator::new(Arc::clone(&set.spec));
                bytes.iter().for_each(|piece| table.absorb(piece).unwrap());
                if !keys.is_empty() {
                    groups(&table, &mut found);
                    continue;
                }
                // The partitions are of the values of the DISTINCT aggregate.
                table.close();
                match &mut only {
                    None => only = Some(table),
                    Some(only) => only.merge(table).unwrap(),
                }
            }
            only.iter().for_each(|table| groups(table, &mut found));
            assert_eq!(found, expected(keys));
        }
    }
}
