//! Bounds of zone maps. A bound never excludes a stored value; what orders them is in [`BoundsOrder`].
//!
//! Byte strings are cut to [`MAX_BOUND_BYTES`]: a lower bound to a prefix, which is below what it begins; an upper bound to
//! a prefix that is then raised to the next prefix, or is absent where all its bytes are 255.

use std::cmp::Ordering;

use crate::types::{BoundsOrder, ColumnSpec, PhysicalType, Value};

/// The longest bound of a byte string.
pub const MAX_BOUND_BYTES: usize = 32;

/// The least or greatest value, or a limit beyond it.
#[derive(Clone, Debug)]
pub enum Bound {
    /// An integer widened as [`Value::Int`] is. 64-bit columns of order Unsigned: compare as u64.
    Int(i64),
    /// A float; singles are widened, which loses nothing.
    Float(f64),
    /// A byte string or a limit beyond one.
    Bytes {
        /// At most [`MAX_BOUND_BYTES`].
        bytes: Box<[u8]>,
        /// Whether a stored value is just this.
        exact: bool,
    },
}

impl PartialEq for Bound {
    /// Equality of what is stored: floats by their bits.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Bound::Int(a), Bound::Int(b)) => a == b,
            (Bound::Float(a), Bound::Float(b)) => a.to_bits() == b.to_bits(),
            (Bound::Bytes { bytes: a, exact: x }, Bound::Bytes { bytes: b, exact: y }) => {
                a == b && x == y
            }
            _ => false,
        }
    }
}

impl Bound {
    /// Whether a stored value equals the bound.
    pub fn is_exact(&self) -> bool {
        !matches!(self, Bound::Bytes { exact: false, .. })
    }

    /// How the bound compares with a value of the column, or `None` where the two are not of one kind or the order is None.
    pub fn compare(&self, value: &Value<'_>, order: BoundsOrder) -> Option<Ordering> {
        match (self, value, order) {
            (Bound::Int(a), Value::Int(b), BoundsOrder::Signed) => Some(a.cmp(b)),
            (Bound::Int(a), Value::Int(b), BoundsOrder::Unsigned) => {
                Some((*a as u64).cmp(&(*b as u64)))
            }
            (Bound::Float(a), Value::Float64(b), BoundsOrder::Float) => {
                Some(compare_floats(*a, *b))
            }
            (Bound::Float(a), Value::Float32(b), BoundsOrder::Float) => {
                Some(compare_floats(*a, f64::from(*b)))
            }
            (Bound::Bytes { bytes, .. }, Value::Bytes(b), BoundsOrder::Bytewise) => {
                Some(bytes.as_ref().cmp(b))
            }
            _ => None,
        }
    }
}

/// btree's order of floats: NaN equal to NaN and above all else, -0 equal to +0.
pub fn compare_floats(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
    }
}

/// Lower and upper bound.
pub(crate) type Bounds = (Option<Bound>, Option<Bound>);

/// The bounds that hold for both of two parts of a column.
pub(crate) fn merge(spec: ColumnSpec, whole: &mut Option<Bounds>, part: Bounds) {
    let Some((min, max)) = whole else {
        *whole = Some(part);
        return;
    };
    *min = pick(spec.order, min.take(), part.0, Ordering::Less);
    *max = pick(spec.order, max.take(), part.1, Ordering::Greater);
}

/// How two bounds of a column compare; `None` where they are not of one kind.
pub(crate) fn order(order: BoundsOrder, a: &Bound, b: &Bound) -> Option<Ordering> {
    Some(match (a, b) {
        (Bound::Int(x), Bound::Int(y)) if order == BoundsOrder::Unsigned => {
            (*x as u64).cmp(&(*y as u64))
        }
        (Bound::Int(x), Bound::Int(y)) => x.cmp(y),
        (Bound::Float(x), Bound::Float(y)) => compare_floats(*x, *y),
        (Bound::Bytes { bytes: x, .. }, Bound::Bytes { bytes: y, .. }) => x.cmp(y),
        _ => return None,
    })
}

fn pick(by: BoundsOrder, a: Option<Bound>, b: Option<Bound>, wanted: Ordering) -> Option<Bound> {
    let (a, b) = (a?, b?);
    // Of equal bounds, one that a value has stays exact.
    let ordering = order(by, &a, &b)?.then_with(|| match (a.is_exact(), b.is_exact()) {
        (true, false) => wanted,
        (false, true) => wanted.reverse(),
        _ => Ordering::Equal,
    });
    Some(if ordering == wanted || ordering == Ordering::Equal { a } else { b })
}

/// The bounds of byte strings whose least and greatest are given.
pub(crate) fn of_bytes(min: &[u8], max: &[u8]) -> Bounds {
    let lower = Bound::Bytes {
        bytes: min[..min.len().min(MAX_BOUND_BYTES)].into(),
        exact: min.len() <= MAX_BOUND_BYTES,
    };
    let upper = if max.len() <= MAX_BOUND_BYTES {
        Some(Bound::Bytes { bytes: max.into(), exact: true })
    } else {
        let prefix = &max[..MAX_BOUND_BYTES];
        prefix.iter().rposition(|b| *b != u8::MAX).map(|last| {
            let mut raised = prefix[..=last].to_vec();
            raised[last] += 1;
            Bound::Bytes { bytes: raised.into(), exact: false }
        })
    };
    (Some(lower), upper)
}

/// The bounds of floats, of which there must be one.
pub(crate) fn of_floats(values: impl Iterator<Item = f64>) -> Bounds {
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut any, mut nan) = (false, false);
    for value in values {
        // Comparisons with NaN are false, so it changes neither.
        min = if value < min { value } else { min };
        max = if value > max { value } else { max };
        let is_nan = value.is_nan();
        nan |= is_nan;
        any |= !is_nan;
    }
    let min = if any { min } else { f64::NAN };
    let max = if nan { f64::NAN } else { max };
    (Some(Bound::Float(min)), Some(Bound::Float(max)))
}

/// Whether a column of this specification keeps bounds.
pub(crate) fn kept(spec: ColumnSpec) -> bool {
    match spec.order {
        BoundsOrder::None => false,
        BoundsOrder::Signed | BoundsOrder::Unsigned => spec.physical.is_integer(),
        BoundsOrder::Float => {
            matches!(spec.physical, PhysicalType::Float32 | PhysicalType::Float64)
        }
        BoundsOrder::Bytewise => spec.physical.is_bytes(),
    }
}
