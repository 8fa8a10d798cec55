//! IN lists: `= ANY` and `<> ALL` of constants.
//!
//! A list is prepared once and kept in [`super::Memo`]: few integers are compared one by one in vector loops, dense ones
//! become a bitmap, others a sorted array; strings become a hash set.

use std::collections::HashSet;
use std::sync::Arc;

use super::decimal;
use super::operand::{
    Kind, Operand, bool_column, bools, decimals, floats, ints, kind, lend, map1, null_column,
    texts, union_nulls,
};
use crate::column::{Column, Scalar};

/// Up to this many integers, comparing with each in turn beats a search.
const FEW: usize = 8;
/// The widest range of integers that is kept as a bitmap: 8 kB.
const BITMAP_RANGE: u64 = 1 << 16;

/// A prepared list.
#[derive(Debug)]
pub(super) struct Prepared {
    members: Members,
    /// Whether the list holds a NULL.
    null: bool,
    empty: bool,
}

#[derive(Debug)]
enum Members {
    /// Nothing but NULLs.
    None,
    Bools([bool; 2]),
    Few(Vec<i64>),
    Bitmap {
        low: i64,
        bits: Vec<u64>,
    },
    Sorted(Vec<i64>),
    /// Sorted, by [`float_key`].
    Floats(Vec<i64>),
    /// Sorted, at the scale of the column.
    Decimals(Vec<i128>),
    FewTexts(Vec<Arc<[u8]>>),
    Texts(HashSet<Arc<[u8]>>),
}

/// The scale that a list must be prepared for.
pub(super) fn scale_of(arg: &Column) -> Option<u8> {
    (kind(arg) == Some(Kind::Decimal)).then(|| decimals(arg).1)
}

impl Prepared {
    /// Prepares a list for a column, of `scale` if it is numeric.
    pub(super) fn new(list: &[Scalar], scale: Option<u8>) -> Self {
        let values = || list.iter().filter(|value| !matches!(value, Scalar::Null));
        let members = match values().next() {
            None | Some(Scalar::Null) => Members::None,
            Some(Scalar::Bool(_)) => Members::Bools(
                [false, true].map(|wanted| values().any(|value| *value == Scalar::Bool(wanted))),
            ),
            Some(Scalar::Int(_)) => {
                let of = |value: &Scalar| match value {
                    Scalar::Int(value) => Some(*value),
                    _ => None,
                };
                Members::of_ints(sorted(values().filter_map(of).collect()))
            }
            Some(Scalar::Float(_)) => {
                let of = |value: &Scalar| match value {
                    Scalar::Float(value) => Some(float_key(*value)),
                    _ => None,
                };
                Members::Floats(sorted(values().filter_map(of).collect()))
            }
            Some(Scalar::Decimal(..)) => {
                let of = |value: &Scalar| match value {
                    Scalar::Decimal(value, from) => at_scale(*value, *from, scale.unwrap_or(*from)),
                    _ => None,
                };
                Members::Decimals(sorted(values().filter_map(of).collect()))
            }
            Some(Scalar::Bytes(_)) => {
                let of = |value: &Scalar| match value {
                    Scalar::Bytes(value) => Some(Arc::clone(value)),
                    _ => None,
                };
                let texts: HashSet<Arc<[u8]>> = values().filter_map(of).collect();
                if texts.len() <= FEW {
                    Members::FewTexts(texts.into_iter().collect())
                } else {
                    Members::Texts(texts)
                }
            }
        };
        Self { members, null: list.contains(&Scalar::Null), empty: list.is_empty() }
    }
}

impl Members {
    fn of_ints(values: Vec<i64>) -> Self {
        let (Some(&low), Some(&high)) = (values.first(), values.last()) else { return Self::None };
        let range = high.wrapping_sub(low) as u64;
        if values.len() <= FEW {
            Self::Few(values)
        } else if range < BITMAP_RANGE {
            let mut bits = vec![0u64; (range / 64 + 1) as usize];
            for value in values {
                let place = value.wrapping_sub(low) as u64;
                bits[(place / 64) as usize] |= 1 << (place % 64);
            }
            Self::Bitmap { low, bits }
        } else {
            Self::Sorted(values)
        }
    }
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values.dedup();
    values
}

/// An integer that is equal for floats that are: all NaN, and both zeros.
fn float_key(value: f64) -> i64 {
    if value.is_nan() { i64::MAX } else { (value + 0.0).to_bits() as i64 }
}

/// The number at another scale, `None` if it is none there and so equals no value of that scale.
fn at_scale(value: i128, from: u8, to: u8) -> Option<i128> {
    if value == decimal::NAN || from <= to {
        return decimal::rescale(value, to.saturating_sub(from));
    }
    match decimal::power_of_ten(from - to) {
        Some(power) => (value % power == 0).then_some(value / power),
        None => (value == 0).then_some(0),
    }
}

/// `arg = ANY (list)`, negated `arg <> ALL (list)`.
pub(super) fn in_list(arg: &Column, list: &Prepared, negated: bool) -> Column {
    let rows = arg.len;
    // Not even NULL is compared with the members of an empty list.
    if list.empty {
        return Column::constant(Scalar::Bool(negated), rows);
    }
    let Some(kind) = kind(arg) else { return null_column(rows) };
    let nulls = union_nulls(&[arg]);
    let mut found = match (&list.members, kind) {
        (Members::None, _) => return null_column(rows),
        (Members::Bools(members), Kind::Bool) => {
            map1(bools(arg), rows, |value| members[usize::from(value)])
        }
        (Members::Few(members), Kind::Int) => few(ints(arg), members, rows),
        (Members::Bitmap { low, bits }, Kind::Int) => map1(ints(arg), rows, |value| {
            let place = value.wrapping_sub(*low) as u64;
            let word = bits.get(usize::try_from(place / 64).unwrap_or(usize::MAX));
            word.is_some_and(|word| word >> (place % 64) & 1 != 0)
        }),
        (Members::Sorted(members), Kind::Int) => {
            map1(ints(arg), rows, |value| members.binary_search(&value).is_ok())
        }
        (Members::Floats(members), Kind::Float) => {
            map1(floats(arg), rows, |value| members.binary_search(&float_key(value)).is_ok())
        }
        (Members::Decimals(members), Kind::Decimal) => {
            map1(decimals(arg).0, rows, |value| members.binary_search(&value).is_ok())
        }
        (Members::FewTexts(members), Kind::Text) => {
            texts(arg).map(lend(&nulls), rows, false, |text| {
                members.iter().any(|member| member.as_ref() == text)
            })
        }
        (Members::Texts(members), Kind::Text) => {
            texts(arg).map(lend(&nulls), rows, false, |text| members.contains(text))
        }
        (members, kind) => panic!("{kind:?} was looked up among {members:?}"),
    };
    // What is not found may still be the NULL.
    let nulls = if list.null {
        let unknown = found.iter().enumerate().map(|(row, found)| !found || arg.is_null(row));
        Some(Arc::new(unknown.collect()))
    } else {
        nulls
    };
    if negated {
        found.iter_mut().for_each(|found| *found = !*found);
    }
    bool_column(found, nulls)
}

fn few(values: Operand<'_, i64>, members: &[i64], rows: usize) -> Vec<bool> {
    let mut found = vec![false; rows];
    match values {
        Operand::Const(value) => found.fill(members.contains(&value)),
        Operand::Slice(values) => {
            for member in members {
                for (found, value) in found.iter_mut().zip(values) {
                    *found |= value == member;
                }
            }
        }
    }
    found
}
