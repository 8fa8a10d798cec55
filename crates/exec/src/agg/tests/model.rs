//! Random data grouped by an aggregator, in one piece, merged, by partitions, and through spill files, against a map.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::shapes::{column, dictionary_column};
use crate::agg::{AggKind, AggSpec, Aggregator, GroupSpec, Kept, NumType, ValueType};
use crate::column::{Column, Scalar};

/// Random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

const KINDS: [ValueType; 5] =
    [ValueType::Bool, ValueType::Int, ValueType::Float, ValueType::Decimal(2), ValueType::Bytes];

/// A value of a kind, one of about `spread`. Sums of the floats are exact in any order.
fn value(random: &mut Random, kind: ValueType, spread: u64, nulls: bool) -> Scalar {
    if nulls && random.one_in(5) {
        return Scalar::Null;
    }
    let number = random.below(spread) as i64;
    match kind {
        ValueType::Bool => Scalar::Bool(number % 2 == 0),
        ValueType::Int => match number {
            1 => Scalar::Int(i64::MIN),
            2 => Scalar::Int(i64::MAX),
            _ => Scalar::Int(number - 3),
        },
        ValueType::Float => match number {
            1 => Scalar::Float(-0.0),
            2 => Scalar::Float(f64::NAN),
            3 => Scalar::Float(f64::INFINITY),
            4 => Scalar::Float(f64::NEG_INFINITY),
            _ => Scalar::Float(number as f64 * 0.5),
        },
        ValueType::Decimal(scale) => match number {
            5 => Scalar::Decimal(i128::MIN, scale),
            _ => Scalar::Decimal(i128::from(number - 9) << 60, scale),
        },
        ValueType::Bytes => {
            let text = match number % 3 {
                0 => format!("{number}"),
                1 => format!("a longer string, of which {number} is only the number"),
                _ => "z".repeat(number as usize % 11),
            };
            Scalar::Bytes(text.into_bytes().into())
        }
    }
}

/// A form in which values are equal where they are in SQL, and that has an order.
fn canonical(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Float(value) if value.is_nan() => "NaN".to_owned(),
        Scalar::Float(value) => format!("{:?}", value + 0.0),
        other => format!("{other:?}"),
    }
}

#[derive(Debug)]
struct Case {
    spec: Arc<GroupSpec>,
    keys: Vec<Vec<Scalar>>,
    args: Vec<Vec<Scalar>>,
    filters: Vec<Vec<Scalar>>,
    rows: usize,
}

fn arg_kind(spec: AggSpec) -> ValueType {
    let number = |kind| match kind {
        NumType::Int => ValueType::Int,
        NumType::Float => ValueType::Float,
        NumType::Decimal(scale) => ValueType::Decimal(scale),
    };
    match spec.kind {
        AggKind::CountStar => ValueType::Int,
        AggKind::Count => spec.distinct.unwrap_or(ValueType::Bytes),
        AggKind::Sum(kind) | AggKind::Avg(kind) | AggKind::Moments(kind) => number(kind),
        AggKind::Min(kind) | AggKind::Max(kind) => kind,
        AggKind::BoolAnd | AggKind::BoolOr => ValueType::Bool,
        AggKind::BitAnd | AggKind::BitOr | AggKind::BitXor => ValueType::Int,
        AggKind::Transition => unreachable!("has tests of its own"),
    }
}

fn random_aggregate(random: &mut Random) -> AggSpec {
    let kind = KINDS[random.below(5) as usize];
    let numbers = [NumType::Int, NumType::Float, NumType::Decimal(2)];
    let number = numbers[random.below(3) as usize];
    let kind = match random.below(11) {
        0 => AggKind::CountStar,
        1 | 2 => AggKind::Count,
        3 => AggKind::Sum(number),
        4 => AggKind::Avg(number),
        5 => AggKind::Min(kind),
        6 => AggKind::Max(kind),
        7 => AggKind::BoolAnd,
        8 => AggKind::BoolOr,
        9 => AggKind::BitXor,
        _ => AggKind::BitAnd,
    };
    let mut spec = AggSpec::plain(kind);
    if kind != AggKind::CountStar && random.one_in(2) {
        spec.distinct = Some(match kind {
            AggKind::Count => KINDS[random.below(5) as usize],
            _ => arg_kind(spec),
        });
    }
    spec.filtered = random.one_in(4);
    spec
}

fn case(random: &mut Random, keys: usize, rows: usize, spread: u64) -> Case {
    let kinds: Vec<ValueType> = (0..keys).map(|_| KINDS[random.below(5) as usize]).collect();
    let aggregates: Vec<AggSpec> = (0..random.below(5)).map(|_| random_aggregate(random)).collect();
    let nulls = !random.one_in(3);
    let mut values = |kind: ValueType, spread| -> Vec<Scalar> {
        let nulls = nulls && !random.one_in(3);
        (0..rows).map(|_| value(random, kind, spread, nulls)).collect()
    };
    let key_values = kinds.iter().map(|&kind| values(kind, spread)).collect();
    let args = aggregates.iter().map(|&spec| values(arg_kind(spec), 40)).collect();
    let filters = aggregates.iter().map(|_| values(ValueType::Bool, 3)).collect();
    Case { spec: GroupSpec::new(kinds, aggregates), keys: key_values, args, filters, rows }
}

fn shape(random: &mut Random, kind: ValueType, values: &[Scalar]) -> Column {
    let same = values.windows(2).all(|pair| format!("{:?}", pair[0]) == format!("{:?}", pair[1]));
    match kind {
        _ if same && !values.is_empty() && random.one_in(2) => {
            Column::constant(values[0].clone(), values.len())
        }
        ValueType::Bytes if !random.one_in(3) => dictionary_column(values),
        _ => column(kind, values),
    }
}

impl Case {
    fn consume(&self, aggregator: &mut Aggregator, random: &mut Random, from: usize, to: usize) {
        let shapes = self.spec.keys.iter().zip(&self.keys);
        let keys: Vec<Column> =
            shapes.map(|(&kind, values)| shape(random, kind, &values[from..to])).collect();
        let mut args = Vec::new();
        let mut filters = Vec::new();
        for (at, &spec) in self.spec.aggregates.iter().enumerate() {
            let arg = shape(random, arg_kind(spec), &self.args[at][from..to]);
            args.push((spec.kind != AggKind::CountStar).then_some(arg));
            let filter = shape(random, ValueType::Bool, &self.filters[at][from..to]);
            filters.push(spec.filtered.then_some(filter));
        }
        aggregator.consume(&keys, &args, &filters, to - from).unwrap();
    }

    /// Groups by a map, aggregates one after another.
    fn expected(&self) -> BTreeMap<Vec<String>, Vec<String>> {
        let mut groups: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
        if self.keys.is_empty() {
            groups.insert(Vec::new(), Vec::new());
        }
        for row in 0..self.rows {
            let key = self.keys.iter().map(|values| canonical(&values[row])).collect();
            groups.entry(key).or_default().push(row);
        }
        groups.into_iter().map(|(key, rows)| (key, self.results(&rows))).collect()
    }

    fn results(&self, rows: &[usize]) -> Vec<String> {
        let mut results = Vec::new();
        for (at, &spec) in self.spec.aggregates.iter().enumerate() {
            let mut met = BTreeSet::new();
            let taken: Vec<Scalar> = rows
                .iter()
                .filter(|&&row| !spec.filtered || self.filters[at][row] == Scalar::Bool(true))
                .map(|&row| self.args[at][row].clone())
                .filter(|value| spec.kind == AggKind::CountStar || *value != Scalar::Null)
                .filter(|value| spec.distinct.is_none() || met.insert(canonical(value)))
                .collect();
            results.extend(naive(spec.kind, &taken).iter().map(canonical));
        }
        results
    }
}

/// The results of an aggregate over some values.
fn naive(kind: AggKind, values: &[Scalar]) -> Vec<Scalar> {
    let count = Scalar::Int(values.len() as i64);
    let fold = |fold: fn(&Scalar, &Scalar) -> Scalar| {
        let all = values.iter().cloned().reduce(|a, b| fold(&a, &b));
        vec![all.unwrap_or(Scalar::Null)]
    };
    match kind {
        AggKind::CountStar | AggKind::Count => vec![count],
        AggKind::Sum(_) => vec![sum(values)],
        AggKind::Avg(_) => vec![sum(values), count],
        AggKind::Min(_) => fold(|a, b| if rank(b) < rank(a) { b.clone() } else { a.clone() }),
        AggKind::Max(_) => fold(|a, b| if rank(b) > rank(a) { b.clone() } else { a.clone() }),
        AggKind::BoolAnd => {
            fold(|a, b| Scalar::Bool(*a == Scalar::Bool(true) && *b == Scalar::Bool(true)))
        }
        AggKind::BoolOr => {
            fold(|a, b| Scalar::Bool(*a == Scalar::Bool(true) || *b == Scalar::Bool(true)))
        }
        AggKind::BitAnd => fold(|a, b| Scalar::Int(int(a) & int(b))),
        AggKind::BitOr => fold(|a, b| Scalar::Int(int(a) | int(b))),
        AggKind::BitXor => fold(|a, b| Scalar::Int(int(a) ^ int(b))),
        AggKind::Moments(_) | AggKind::Transition => unreachable!("has tests of its own"),
    }
}

fn int(scalar: &Scalar) -> i64 {
    let Scalar::Int(value) = scalar else { panic!("{scalar:?} is no integer") };
    *value
}

fn rank(scalar: &Scalar) -> (bool, i128, Vec<u8>) {
    match scalar {
        Scalar::Bool(value) => (false, i128::from(*value), Vec::new()),
        Scalar::Int(value) => (false, i128::from(*value), Vec::new()),
        Scalar::Float(value) if value.is_infinite() => (false, *value as i128, Vec::new()),
        Scalar::Float(value) => (value.is_nan(), (value * 2.0) as i128, Vec::new()),
        Scalar::Decimal(value, _) => (*value == i128::MIN, *value, Vec::new()),
        Scalar::Bytes(bytes) => (false, 0, bytes.to_vec()),
        Scalar::Null => unreachable!("NULL was taken in"),
    }
}

fn sum(values: &[Scalar]) -> Scalar {
    let mut total = Scalar::Null;
    for value in values {
        total = match (total, value) {
            (Scalar::Null, Scalar::Int(value)) => Scalar::Decimal(i128::from(*value), 0),
            (Scalar::Null, value) => value.clone(),
            (Scalar::Decimal(total, _), Scalar::Int(value)) => {
                Scalar::Decimal(total + i128::from(*value), 0)
            }
            (Scalar::Decimal(total, scale), Scalar::Decimal(value, _)) => {
                let nan = total == i128::MIN || *value == i128::MIN;
                Scalar::Decimal(if nan { i128::MIN } else { total + value }, scale)
            }
            (Scalar::Float(total), Scalar::Float(value)) => Scalar::Float(total + value),
            other => panic!("{other:?} were added"),
        };
    }
    total
}

/// What tables hold, as far as it is handed out.
fn found(tables: &[Kept]) -> BTreeMap<Vec<String>, Vec<String>> {
    let mut all = BTreeMap::new();
    for Kept { table: aggregator, groups: chosen } in tables {
        assert!(chosen.as_ref().is_none_or(|chosen| chosen.is_sorted()));
        let groups = aggregator.groups();
        let spec = aggregator.spec();
        // In two pieces, which shows that ranges are kept to.
        for (from, to) in [(0, groups / 2), (groups / 2, groups)] {
            let keys: Vec<Column> =
                (0..spec.keys.len()).map(|key| aggregator.key(key, from, to)).collect();
            let outputs: Vec<Column> = (0..spec.aggregates.len())
                .flat_map(|aggregate| aggregator.output(aggregate, from, to))
                .collect();
            let is_chosen = |row: &usize| {
                chosen.as_ref().is_none_or(|all| all.contains(&((from + row) as u32)))
            };
            for row in (0..to - from).filter(is_chosen) {
                let read = |columns: &[Column]| -> Vec<String> {
                    columns.iter().map(|column| canonical(&column.get(row))).collect()
                };
                let twice = all.insert(read(&keys), read(&outputs));
                assert_eq!(twice, None, "a group came twice");
            }
        }
    }
    all
}

/// How the parts of a case are brought together.
#[derive(Clone, Copy, Debug)]
enum Way {
    OnePiece,
    Merge,
    InPlace,
    Partitions,
    Spill,
}

/// Without keys, parts are partial results: closes and merges them.
fn settle(spec: &GroupSpec, parts: Vec<Aggregator>) -> Vec<Aggregator> {
    if !spec.keys.is_empty() {
        return parts;
    }
    let mut parts = parts.into_iter();
    let mut first = parts.next().unwrap();
    first.close();
    for mut part in parts {
        part.close();
        first.merge(part).unwrap();
    }
    vec![first]
}

/// Spills to files, each a list of pieces.
fn spill(aggregator: &mut Aggregator, level: u32, files: &mut [Vec<Vec<u8>>]) {
    let partitions = files.len();
    let mut out = |partition: usize, piece| {
        files[partition].push(piece);
        Ok(())
    };
    aggregator.spill(level, partitions, &mut out).unwrap();
}

fn run(case: &Case, random: &mut Random, way: Way, batch: usize) -> Vec<Kept> {
    let threads = if matches!(way, Way::OnePiece) { 1 } else { 3 };
    let new = || Aggregator::new(Arc::clone(&case.spec));
    let mut aggregators: Vec<Aggregator> = (0..threads).map(|_| new()).collect();
    let mut files = vec![Vec::new(); 4];
    for from in (0..case.rows).step_by(batch) {
        let thread = random.below(threads) as usize;
        let to = case.rows.min(from + batch);
        case.consume(&mut aggregators[thread], random, from, to);
        if matches!(way, Way::Spill) && random.one_in(4) {
            spill(&mut aggregators[thread], 0, &mut files);
            assert!(case.spec.keys.is_empty() || aggregators[thread].groups() == 0);
        }
    }
    let merged = match way {
        Way::InPlace if aggregators[0].merges_in_place() => {
            let find = |table: &Aggregator, other: &Aggregator, groups: &[u32]| {
                let (low, high) = groups.split_at(groups.len() / 3);
                let mut found = table.find_in(other, low, &|| Ok(()))?;
                found.append(table.find_in(other, high, &|| Ok(()))?)?;
                Ok(found)
            };
            return Aggregator::merge_in_place(aggregators, &find, &|| Ok(())).unwrap();
        }
        Way::OnePiece => aggregators,
        Way::Merge | Way::InPlace => {
            let mut all = aggregators.into_iter();
            let mut first = all.next().unwrap();
            all.for_each(|other| first.merge(other).unwrap());
            vec![first]
        }
        Way::Partitions => {
            let parts: Vec<&Aggregator> = aggregators.iter().collect();
            let merged = (0..4)
                .map(|p| Aggregator::merge_partition(&parts, p, 4, &|| Ok(())).unwrap())
                .collect();
            settle(&case.spec, merged)
        }
        Way::Spill => {
            for aggregator in &mut aggregators {
                spill(aggregator, 0, &mut files);
            }
            let mut parts = Vec::new();
            for file in files {
                let mut part = new();
                let deeper = random.one_in(2);
                let mut smaller = vec![Vec::new(); 2];
                for piece in file {
                    part.absorb(&piece).unwrap();
                    // A table that is full is spilled after any piece.
                    if deeper && random.one_in(3) {
                        spill(&mut part, 1, &mut smaller);
                    }
                }
                if !deeper {
                    parts.push(part);
                    continue;
                }
                spill(&mut part, 1, &mut smaller);
                for file in smaller {
                    let mut part = new();
                    part.absorb(&file.concat()).unwrap();
                    parts.push(part);
                }
            }
            settle(&case.spec, parts)
        }
    };
    merged.into_iter().map(Kept::from).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn all_ways_give_the_same(
        seed in any::<u64>(),
        keys in 0usize..4,
        rows in 0usize..400,
        spread in prop_oneof![Just(2u64), Just(12), Just(1000)],
        batch in prop_oneof![Just(1usize), Just(7), Just(150)],
    ) {
        let mut random = Random(seed);
        let case = case(&mut random, keys, rows, spread);
        let expected = case.expected();
        for way in [Way::OnePiece, Way::Merge, Way::InPlace, Way::Partitions, Way::Spill] {
            let parts = run(&case, &mut random, way, batch);
            prop_assert_eq!(found(&parts), expected.clone(), "{:?} of {:?}", way, case.spec);
        }
    }

    #[test]
    fn damaged_spill_files_are_errors(
        seed in any::<u64>(),
        keys in 0usize..3,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut random = Random(seed);
        let case = case(&mut random, keys, 60, 12);
        let mut aggregator = Aggregator::new(Arc::clone(&case.spec));
        case.consume(&mut aggregator, &mut random, 0, 60);
        let mut files = vec![Vec::new()];
        spill(&mut aggregator, 0, &mut files);
        let pieces = files.remove(0);
        let good = pieces[cut.index(pieces.len())].clone();
        let mut bad = good.clone();
        let at = at.index(bad.len());
        bad[at] = byte;
        // It may be another spill file now, but never a panic.
        let _ = Aggregator::new(Arc::clone(&case.spec)).absorb(&bad);
        let cut = cut.index(good.len() - 1) + 1;
        prop_assert!(Aggregator::new(Arc::clone(&case.spec)).absorb(&good[..cut.min(good.len() - 1)]).is_err());
        prop_assert!(Aggregator::new(Arc::clone(&case.spec)).absorb(&good).is_ok());
    }
}

#[test]
fn many_groups_grow_the_table() {
    // Two keys and one; near each other and far apart; strings too.
    for (kinds, stride) in [
        (vec![ValueType::Int], 1i64),
        (vec![ValueType::Int], 1 << 40),
        (vec![ValueType::Int, ValueType::Int], 1 << 20),
        (vec![ValueType::Bytes, ValueType::Int], 3),
        (vec![ValueType::Bytes], 1),
    ] {
        let rows = 60_000usize;
        let spec = GroupSpec::new(kinds.clone(), vec![AggSpec::plain(AggKind::Sum(NumType::Int))]);
        let mut aggregator = Aggregator::new(spec);
        for round in 0..2 {
            for from in (0..rows).step_by(5000) {
                let numbers = from as i64..from as i64 + 5000;
                let key = |kind: &ValueType| match kind {
                    ValueType::Bytes => {
                        let text = |n| format!("a string that is not short {n}").into_bytes();
                        let texts: Vec<Scalar> =
                            numbers.clone().map(|n| Scalar::Bytes(text(n).into())).collect();
                        column(ValueType::Bytes, &texts)
                    }
                    _ => super::shapes::ints(
                        &numbers.clone().map(|n| n * stride).collect::<Vec<_>>(),
                    ),
                };
                let keys: Vec<Column> = kinds.iter().map(key).collect();
                let arg = super::shapes::ints(&numbers.clone().collect::<Vec<_>>());
                aggregator.consume(&keys, &[Some(arg)], &[None], 5000).unwrap();
            }
            assert_eq!(aggregator.groups(), rows);
            let sums = &aggregator.output(0, 0, rows)[0];
            for group in (0..rows).step_by(997) {
                let expected = group as i128 * (round + 1);
                assert_eq!(sums.get(group), Scalar::Decimal(expected, 0));
            }
        }
        assert!(aggregator.memory_size() > rows * 24);
    }
}
