//! The keys of a ColumnarAgg: which of them are hashed, by grouping set, and where the values of the others come from.

use super::setup::changed;
use crate::exec::plan::shape::Shape;
use crate::exec::translate::{Typed, ValueType};
use columnar_exec::agg::{AggKind, AggSpec, GroupSpec, GroupingSet};
use columnar_exec::{Expr, Scalar};
use pgrx::pg_sys;
use std::rc::Rc;

/// How the groups of a grouping set are handed out.
#[derive(Clone, Debug)]
pub struct OutputSet {
    /// The keys, those of other sets as NULL, then the results of GROUPING.
    pub columns: Rc<[Key]>,
    /// How often the query names the set.
    pub repeats: usize,
}

/// A key of a ColumnarAgg.
#[derive(Clone, Debug)]
pub struct Key {
    pub value: ValueType,
    pub source: KeySource,
    /// Whether values are ordered as the data that holds them.
    pub ordered: bool,
}

/// Where the values of a key come from.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// A key of the hash table.
    Table(usize),
    /// The same for all groups.
    Constant(Scalar),
    /// Follows from other keys, which are columns: each column with the key of the table that holds it.
    Computed(Expr, Vec<(usize, usize)>),
}

/// The grouping sets of a shape, for the sink and for handing out. Keys that some set hashes are noted in `hashed`, and the
/// sink's keys are these.
pub fn grouping_sets(
    shape: &Shape,
    keys: &[Typed],
    aggregates: &[AggSpec],
    hashed: &mut Vec<usize>,
) -> (Vec<GroupingSet>, Vec<OutputSet>) {
    let whole = [(0..keys.len()).collect()];
    let members: &[Vec<usize>] = if shape.sets.is_empty() { &whole } else { &shape.sets };
    // A final function may use its state up.
    let once = aggregates.iter().any(|aggregate| aggregate.kind == AggKind::Transition);
    let mut different: Vec<(&Vec<usize>, usize)> = Vec::new();
    for members in members {
        match different.iter_mut().find(|(known, _)| *known == members && !once) {
            Some((_, repeats)) => *repeats += 1,
            None => different.push((members, 1)),
        }
    }
    let set = |(members, repeats): (&Vec<usize>, usize)| {
        let of_set: Vec<&Typed> = members.iter().map(|&key| &keys[key]).collect();
        let sources = key_sources(&of_set);
        let null = |key: &Typed| Key {
            value: key.value,
            source: KeySource::Constant(Scalar::Null),
            ordered: false,
        };
        let mut columns: Vec<Key> = keys.iter().map(null).collect();
        let mut set =
            GroupingSet { spec: GroupSpec::new(Vec::new(), Vec::new()), keys: Vec::new() };
        let mut types = Vec::new();
        for (&key, source) in members.iter().zip(sources) {
            if let KeySource::Table(_) = source {
                let at = hashed.iter().position(|known| *known == key);
                set.keys.push(at.unwrap_or_else(|| {
                    hashed.push(key);
                    hashed.len() - 1
                }));
                types.push(keys[key].key().unwrap_or_else(|e| changed(&e)));
            }
            let ordered = keys[key].order().is_ok();
            columns[key] = Key { value: keys[key].value, source, ordered };
        }
        set.spec = GroupSpec::new(types, aggregates.to_vec());
        columns.extend(shape.groupings.iter().map(|asked| Key {
            value: ValueType::Int { width: 4, unsigned: false, type_id: pg_sys::INT4OID },
            source: KeySource::Constant(Scalar::Int(grouping(asked, members))),
            ordered: false,
        }));
        (set, OutputSet { columns: columns.into(), repeats })
    };
    different.into_iter().map(set).unzip()
}

/// GROUPING(...): a bit for each key asked about, set where the grouping set leaves the key out; the last is the lowest.
fn grouping(asked: &[usize], set: &[usize]) -> i64 {
    asked.iter().fold(0, |bits, key| bits << 1 | i64::from(!set.contains(key)))
}

/// Which keys are hashed: neither constants nor what follows from keys that are columns. Floats are left out of this, since
/// -0 and 0 are one key and yet give different results.
fn key_sources(keys: &[&Typed]) -> Vec<KeySource> {
    let is_float = |key: &Typed| matches!(key.value, ValueType::Float4 | ValueType::Float8);
    // Columns that are keys.
    let plain: Vec<usize> = keys
        .iter()
        .filter_map(|&key| match key.expr {
            Expr::Column(column) if !is_float(key) => Some(column),
            _ => None,
        })
        .collect();
    let follows = |key: &Typed| {
        let mut columns = Vec::new();
        key.expr.columns(&mut columns);
        let known = !columns.is_empty() && columns.iter().all(|column| plain.contains(column));
        let plain = matches!(key.expr, Expr::Column(_));
        // Groups are handed out when it is too late to leave the work to PostgreSQL.
        known && !plain && !key.expr.uses_external() && !key.expr.can_outgrow()
    };
    let mut hashed: Vec<&Typed> = Vec::new();
    let mut sources: Vec<KeySource> = Vec::new();
    for &key in keys {
        sources.push(match &key.expr {
            Expr::Const(value) => KeySource::Constant(value.clone()),
            expr if follows(key) => KeySource::Computed(expr.clone(), Vec::new()),
            _ => {
                hashed.push(key);
                KeySource::Table(hashed.len() - 1)
            }
        });
    }
    // Without any key there would be a group where there is no row.
    if hashed.is_empty()
        && let Some(first) = sources.first_mut()
    {
        *first = KeySource::Table(0);
    }
    for source in &mut sources {
        if let KeySource::Computed(expr, inputs) = source {
            let mut columns = Vec::new();
            expr.columns(&mut columns);
            for column in columns {
                let is_it = |key: &&Typed| matches!(key.expr, Expr::Column(c) if c == column);
                if let Some(at) = hashed.iter().position(is_it) {
                    inputs.push((column, at));
                }
            }
        }
    }
    sources
}
