//! The first rows of an order: keys and a tag of each, so that only the winners' other columns are read.
//!
//! A heap holds the rows that are kept, the last of them on top. Once it is full its first key is a bound that most rows do
//! not pass, which costs a comparison a row; rows that pass are compared in full. Equal rows are ordered by tag, so that the
//! result does not depend on the order in which batches come.

use std::cmp::Ordering;

use crate::column::{Column, Data, Scalar};

/// How a key orders. Strings order bytewise, NaN is the largest number, -0 equals 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST, whether ascending or descending.
    pub nulls_first: bool,
}

/// Rows that are compared with one bound.
const CHUNK: usize = 1024;

/// Keeps the first rows of an order.
#[derive(Debug)]
pub struct TopN {
    order: Vec<Order>,
    limit: usize,
    /// A heap: no row is before the one at half its place.
    kept: Vec<Kept>,
    candidates: Vec<u32>,
}

#[derive(Debug)]
struct Kept {
    keys: Box<[Scalar]>,
    tag: u64,
}

impl TopN {
    /// Keeps the first `limit` rows.
    pub fn new(order: Vec<Order>, limit: usize) -> Self {
        Self { order, limit, kept: Vec::new(), candidates: Vec::new() }
    }

    /// Rows kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether no row is kept.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Bytes allocated.
    pub fn memory_size(&self) -> usize {
        let long = |scalar: &Scalar| match scalar {
            Scalar::Bytes(bytes) => bytes.len() + 16,
            _ => 0,
        };
        let keys = self.order.len() * size_of::<Scalar>() * self.kept.len();
        let bytes: usize = self.kept.iter().flat_map(|kept| kept.keys.iter()).map(long).sum();
        keys + bytes
            + self.kept.capacity() * size_of::<Kept>()
            + self.candidates.capacity() * size_of::<u32>()
    }

    /// Takes in `rows` rows of keys; `tag` names a row and is unique.
    pub fn consume(&mut self, keys: &[Column], rows: usize, tag: impl Fn(usize) -> u64) {
        assert_eq!(keys.len(), self.order.len());
        if self.limit == 0 {
            return;
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        let mut codes = None;
        let mut from = 0;
        while from < rows {
            candidates.clear();
            let room = self.limit - self.kept.len();
            let to;
            if room > 0 {
                to = rows.min(from.saturating_add(room));
                candidates.extend(from as u32..to as u32);
            } else {
                to = rows.min(from + CHUNK);
                match (keys.first(), self.kept[0].keys.first()) {
                    (Some(key), Some(bound)) => {
                        pass(key, from, to, bound, self.order[0], &mut codes, &mut candidates);
                    }
                    _ => candidates.extend(from as u32..to as u32),
                }
            }
            for &row in &candidates {
                self.offer(keys, row as usize, tag(row as usize));
            }
            from = to;
        }
        self.candidates = candidates;
    }

    fn offer(&mut self, keys: &[Column], row: usize, tag: u64) {
        if self.kept.len() == self.limit {
            let last = &self.kept[0];
            let order = compare_row(keys, row, &last.keys, &self.order).then(tag.cmp(&last.tag));
            if order != Ordering::Less {
                return;
            }
        }
        if self.kept.len() == self.limit {
            // In the memory of the row that falls out.
            let last = &mut self.kept[0];
            last.keys.iter_mut().zip(keys).for_each(|(kept, key)| *kept = key.get(row));
            last.tag = tag;
            self.sift_down();
        } else {
            self.kept.push(Kept { keys: keys.iter().map(|key| key.get(row)).collect(), tag });
            self.sift_up();
        }
    }

    fn is_before(&self, left: usize, right: usize) -> bool {
        compare_kept(&self.kept[left], &self.kept[right], &self.order) == Ordering::Less
    }

    fn sift_up(&mut self) {
        let mut at = self.kept.len() - 1;
        while at > 0 {
            let parent = (at - 1) / 2;
            if !self.is_before(parent, at) {
                break;
            }
            self.kept.swap(parent, at);
            at = parent;
        }
    }

    fn sift_down(&mut self) {
        let mut at = 0;
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            if left >= self.kept.len() {
                break;
            }
            let later =
                if right < self.kept.len() && self.is_before(left, right) { right } else { left };
            if !self.is_before(at, later) {
                break;
            }
            self.kept.swap(at, later);
            at = later;
        }
    }

    /// The keys of the last of the rows kept, if there are as many as asked for: rows after these do not matter any more.
    pub fn threshold(&self) -> Option<Vec<Scalar>> {
        (self.limit > 0 && self.kept.len() == self.limit).then(|| self.kept[0].keys.to_vec())
    }

    /// The first key of [`Self::threshold`]: rows after it in the first key do not matter any more.
    pub fn bound(&self) -> Option<&Scalar> {
        if self.limit == 0 || self.kept.len() < self.limit {
            return None;
        }
        self.kept[0].keys.first()
    }

    /// Takes in all that another took in.
    pub fn merge(&mut self, other: Self) {
        assert_eq!(self.order, other.order);
        if self.limit == 0 {
            return;
        }
        for row in other.kept {
            if self.kept.len() < self.limit {
                self.kept.push(row);
                self.sift_up();
            } else if compare_kept(&row, &self.kept[0], &self.order) == Ordering::Less {
                self.kept[0] = row;
                self.sift_down();
            }
        }
    }

    /// The rows kept, in order: keys and tags.
    pub fn finish(self) -> Vec<(Vec<Scalar>, u64)> {
        let Self { order, mut kept, .. } = self;
        kept.sort_unstable_by(|left, right| compare_kept(left, right, &order));
        kept.into_iter().map(|row| (row.keys.into_vec(), row.tag)).collect()
    }
}

/// Whether a value of a key is before another.
pub(crate) fn is_before(left: &Scalar, right: &Scalar, order: Order) -> bool {
    compare(value_of(left), value_of(right), order) == Ordering::Less
}

fn compare_kept(left: &Kept, right: &Kept, order: &[Order]) -> Ordering {
    compare_scalars(&left.keys, &right.keys, order).then(left.tag.cmp(&right.tag))
}

/// Rows of a key that are not after a bound. `codes` keeps which codes of a dictionary pass: a bound that is taken
/// later is narrower, so that too many may pass, but not too few.
fn pass(
    key: &Column,
    from: usize,
    to: usize,
    bound: &Scalar,
    order: Order,
    codes: &mut Option<Vec<bool>>,
    rows: &mut Vec<u32>,
) {
    let null_passes = order.nulls_first || *bound == Scalar::Null;
    let value_passes = *bound == Scalar::Null && !order.nulls_first;
    let nulls = key.nulls.as_ref().map(|nulls| &nulls[from..to]);
    // Rows are noted without a branch: each is written, and overwritten by the next if it does not pass.
    let mut count = 0;
    rows.resize(to - from, 0);
    let mut note = |at: usize, passes: bool| {
        let passes = match nulls {
            Some(nulls) if nulls[at] => null_passes,
            _ => passes || value_passes,
        };
        rows[count] = (from + at) as u32;
        count += usize::from(passes);
    };
    let descending = order.descending;
    match (&key.data, bound) {
        (Data::Int(values), Scalar::Int(bound)) => {
            let values = values[from..to].iter().enumerate();
            if descending {
                values.for_each(|(at, value)| note(at, value >= bound));
            } else {
                values.for_each(|(at, value)| note(at, value <= bound));
            }
        }
        (Data::Float(values), Scalar::Float(bound)) => {
            let values = values[from..to].iter().enumerate();
            match (descending, bound.is_nan()) {
                (false, true) => values.for_each(|(at, _)| note(at, true)),
                (false, false) => values.for_each(|(at, value)| note(at, value <= bound)),
                (true, true) => values.for_each(|(at, value)| note(at, value.is_nan())),
                (true, false) => {
                    values.for_each(|(at, value)| note(at, value >= bound || value.is_nan()));
                }
            }
        }
        (Data::Bytes(strings), Scalar::Bytes(bound)) => {
            let bound = &bound[..];
            for at in 0..to - from {
                let order = strings.get(from + at).cmp(bound);
                note(at, if descending { order.is_ge() } else { order.is_le() });
            }
        }
        (Data::Dict(dict), Scalar::Bytes(bound)) => {
            let bound = &bound[..];
            let passes = |code: usize| {
                let order = dict.dictionary.values.get(code).cmp(bound);
                if descending { order.is_ge() } else { order.is_le() }
            };
            if dict.dictionary.len() <= key.len / 2 {
                let codes =
                    codes.get_or_insert_with(|| (0..dict.dictionary.len()).map(passes).collect());
                for (at, &code) in dict.codes[from..to].iter().enumerate() {
                    note(at, codes.get(code as usize).is_some_and(|passes| *passes));
                }
            } else {
                for (at, &code) in dict.codes[from..to].iter().enumerate() {
                    // The code of a NULL may be none of the dictionary's.
                    let null = nulls.is_some_and(|nulls| nulls[at]);
                    note(at, !null && passes(code as usize));
                }
            }
        }
        _ => {
            for at in 0..to - from {
                let found = compare(value_at(key, from + at), value_of(bound), order);
                note(at, found != Ordering::Greater);
            }
        }
    }
    rows.truncate(count);
}

/// A value that is borrowed.
#[derive(Clone, Copy)]
enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Decimal(i128, u8),
    Bytes(&'a [u8]),
}

fn value_of(scalar: &Scalar) -> Value<'_> {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(*value),
        Scalar::Int(value) => Value::Int(*value),
        Scalar::Float(value) => Value::Float(*value),
        Scalar::Decimal(value, scale) => Value::Decimal(*value, *scale),
        Scalar::Bytes(bytes) => Value::Bytes(bytes),
    }
}

fn value_at(column: &Column, row: usize) -> Value<'_> {
    if column.is_null(row) {
        return Value::Null;
    }
    match &column.data {
        Data::Const(scalar) => value_of(scalar),
        Data::Bool(values) => Value::Bool(values[row]),
        Data::Int(values) => Value::Int(values[row]),
        Data::Float(values) => Value::Float(values[row]),
        Data::Decimal(values, scale) => Value::Decimal(values[row], *scale),
        Data::Bytes(strings) => Value::Bytes(strings.get(row)),
        Data::Dict(codes) => Value::Bytes(codes.dictionary.values.get(codes.codes[row] as usize)),
    }
}

fn compare(left: Value<'_>, right: Value<'_>, order: Order) -> Ordering {
    let null = if order.nulls_first { Ordering::Less } else { Ordering::Greater };
    let found = match (left, right) {
        (Value::Null, Value::Null) => return Ordering::Equal,
        (Value::Null, _) => return null,
        (_, Value::Null) => return null.reverse(),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(&right),
        (Value::Int(left), Value::Int(right)) => left.cmp(&right),
        (Value::Float(left), Value::Float(right)) => match (left.is_nan(), right.is_nan()) {
            (false, false) => left.partial_cmp(&right).unwrap_or(Ordering::Equal),
            (left, right) => left.cmp(&right),
        },
        (Value::Decimal(left, left_scale), Value::Decimal(right, right_scale)) => {
            compare_decimals((left, left_scale), (right, right_scale))
        }
        (Value::Bytes(left), Value::Bytes(right)) => left.cmp(right),
        _ => panic!("keys of different kinds were compared"),
    };
    if order.descending { found.reverse() } else { found }
}

/// NaN is the largest.
fn compare_decimals(left: (i128, u8), right: (i128, u8)) -> Ordering {
    if left.1 > right.1 {
        return compare_decimals(right, left).reverse();
    }
    let nan = i128::MIN;
    if left.0 == nan || right.0 == nan || left.1 == right.1 {
        // Shifted by one, the integer that stands for NaN comes last.
        return left.0.wrapping_sub(1).cmp(&right.0.wrapping_sub(1));
    }
    let power = 10i128.checked_pow(u32::from(right.1 - left.1));
    match power.and_then(|power| left.0.checked_mul(power)) {
        Some(value) => value.cmp(&right.0),
        // Farther from zero than anything of the other scale, unless it is zero.
        None => left.0.cmp(&if left.0 == 0 { right.0 } else { 0 }),
    }
}

/// Compares keys.
pub(crate) fn compare_scalars(left: &[Scalar], right: &[Scalar], order: &[Order]) -> Ordering {
    for ((left, right), &order) in left.iter().zip(right).zip(order) {
        let found = compare(value_of(left), value_of(right), order);
        if found != Ordering::Equal {
            return found;
        }
    }
    Ordering::Equal
}

/// Compares a row of keys with keys.
pub(crate) fn compare_row(
    keys: &[Column],
    row: usize,
    right: &[Scalar],
    order: &[Order],
) -> Ordering {
    for ((key, right), &order) in keys.iter().zip(right).zip(order) {
        let found = compare(value_at(key, row), value_of(right), order);
        if found != Ordering::Equal {
            return found;
        }
    }
    Ordering::Equal
}

#[cfg(test)]
#[path = "topn_tests.rs"]
pub(crate) mod tests;
