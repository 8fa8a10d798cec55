//! What a ColumnarAgg, ColumnarTopN or ColumnarDistinctOn plan computes, as integers in its private list.
//!
//! Its expressions are the entries of `custom_scan_tlist`: keys, GROUPING calls, aggregates, then filters. The node's rows
//! have all of these columns; those of the filters are NULL.

use pgrx::pg_sys;

/// What a plan computes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// GROUP BY or DISTINCT.
    pub keys: usize,
    /// GROUPING SETS: the keys of each set, ascending. Without any, all keys are one set.
    pub sets: Vec<Vec<usize>>,
    /// GROUPING(...): the keys it asks about.
    pub groupings: Vec<Vec<usize>>,
    /// Aggregates.
    pub aggregates: usize,
    /// WHERE.
    pub filters: usize,
    /// Whether aggregates are handed out as transition states, for a node that combines them.
    pub partial: bool,
    /// Of DISTINCT ON: the columns, from 0, that core's plan hands out after the TID.
    pub columns: Vec<usize>,
    /// ORDER BY ... LIMIT, or the order within the groups of DISTINCT ON, which has no limit.
    pub top: Option<Top>,
}

/// ORDER BY ... LIMIT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Top {
    /// Rows wanted: LIMIT and OFFSET together.
    pub limit: u32,
    /// Sort keys, most significant first.
    pub keys: Vec<SortKey>,
}

/// A sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// Which column of the node's rows.
    pub column: usize,
    /// The ordering operator.
    pub operator: u32,
    /// Its collation.
    pub collation: u32,
    /// Whether larger values come first.
    pub descending: bool,
    /// NULLS FIRST.
    pub nulls_first: bool,
}

impl Shape {
    /// Columns of the node's rows before those of the aggregates.
    pub fn grouping_columns(&self) -> usize {
        self.keys + self.groupings.len()
    }

    /// The number of keys of each grouping set.
    pub fn set_sizes(&self) -> impl Iterator<Item = usize> + '_ {
        let whole = self.sets.is_empty().then_some(self.keys);
        whole.into_iter().chain(self.sets.iter().map(Vec::len))
    }

    /// Columns of the node's rows that have values.
    pub fn computed_columns(&self) -> usize {
        self.grouping_columns() + self.aggregates
    }

    /// As integers.
    pub fn encode(&self) -> Vec<i32> {
        let mut out = vec![self.keys as i32, self.aggregates as i32, self.filters as i32];
        out.push(self.partial.into());
        let columns = vec![self.columns.clone()];
        for lists in [&self.sets, &self.groupings, &columns] {
            out.push(lists.len() as i32);
            for list in lists {
                out.push(list.len() as i32);
                out.extend(list.iter().map(|&key| key as i32));
            }
        }
        if let Some(top) = &self.top {
            out.push(top.limit as i32);
            for key in &top.keys {
                out.extend([
                    key.column as i32,
                    key.operator as i32,
                    key.collation as i32,
                    i32::from(key.descending) | i32::from(key.nulls_first) << 1,
                ]);
            }
        }
        out
    }

    /// From integers.
    pub fn decode(integers: &[i32]) -> Self {
        let (head, mut rest) = integers.split_at(4);
        let sets = take_lists(&mut rest);
        let groupings = take_lists(&mut rest);
        let columns = take_lists(&mut rest).pop().unwrap_or_default();
        let top = rest;
        let top = top.split_first().map(|(limit, keys)| Top {
            limit: *limit as u32,
            keys: keys
                .chunks_exact(4)
                .map(|key| SortKey {
                    column: key[0] as usize,
                    operator: key[1] as u32,
                    collation: key[2] as u32,
                    descending: key[3] & 1 != 0,
                    nulls_first: key[3] & 2 != 0,
                })
                .collect(),
        });
        Self {
            keys: head[0] as usize,
            sets,
            groupings,
            aggregates: head[1] as usize,
            filters: head[2] as usize,
            partial: head[3] != 0,
            columns,
            top,
        }
    }
}

/// Takes what [`Shape::encode`] makes of lists from the front.
fn take_lists(integers: &mut &[i32]) -> Vec<Vec<usize>> {
    let mut take = |count: usize| {
        let (front, rest) = integers.split_at(count);
        *integers = rest;
        front
    };
    let count = take(1)[0];
    (0..count)
        .map(|_| {
            let len = take(1)[0] as usize;
            take(len).iter().map(|&key| key as usize).collect()
        })
        .collect()
}

impl SortKey {
    /// The key of a sort clause on a column. The operator's direction is that of its btree family.
    #[allow(unsafe_code)]
    pub fn new(
        clause: &pg_sys::SortGroupClause,
        column: usize,
        collation: pg_sys::Oid,
    ) -> Option<Self> {
        let (mut family, mut input, mut strategy) =
            (pg_sys::InvalidOid, pg_sys::InvalidOid, strategy_zero());
        // SAFETY: reads the system cache into locals.
        let found = unsafe {
            pg_sys::get_ordering_op_properties(
                clause.sortop,
                &raw mut family,
                &raw mut input,
                &raw mut strategy,
            )
        };
        found.then(|| Self {
            column,
            operator: clause.sortop.to_u32(),
            collation: collation.to_u32(),
            descending: is_descending(strategy),
            nulls_first: clause.nulls_first,
        })
    }
}

#[cfg(not(feature = "pg18"))]
fn strategy_zero() -> i16 {
    0
}
#[cfg(not(feature = "pg18"))]
fn is_descending(strategy: i16) -> bool {
    // BTGreaterStrategyNumber.
    strategy == 5
}

#[cfg(feature = "pg18")]
fn strategy_zero() -> pg_sys::CompareType::Type {
    pg_sys::CompareType::COMPARE_INVALID
}
#[cfg(feature = "pg18")]
fn is_descending(strategy: pg_sys::CompareType::Type) -> bool {
    strategy == pg_sys::CompareType::COMPARE_GT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_back() {
        let key = SortKey {
            column: 2,
            operator: 4_000_000_000,
            collation: 950,
            descending: true,
            nulls_first: false,
        };
        let top = Some(Top { limit: 10, keys: vec![key] });
        for (partial, top) in [(false, None), (true, None), (false, top)] {
            let sets = vec![vec![0, 2], vec![], vec![], vec![1]];
            let groupings = vec![vec![2, 0], vec![1]];
            let plain =
                Shape { keys: 1, aggregates: 2, filters: 3, partial, top, ..Shape::default() };
            assert_eq!(Shape::decode(&plain.encode()), plain);
            let shape = Shape { sets, groupings, columns: vec![4, 7], ..plain };
            assert_eq!(Shape::decode(&shape.encode()), shape);
        }
    }
}
