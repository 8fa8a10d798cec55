//! Typed views of columns and the loops that all kernels share.
//!
//! A kernel matches on the data of its operands once and then runs one loop over slices. Values of NULL rows may be
//! anything, so a kernel that can fail computes all rows first, notes whether any looks wrong, and only then looks for a
//! wrong row that is not NULL.

use std::sync::Arc;

use crate::column::{Codes, Column, Data, Scalar, Strings};
use crate::error::ExecError;

/// Values of one type: one for all rows, or one a row.
#[derive(Clone, Copy)]
pub(super) enum Operand<'a, T> {
    Const(T),
    Slice(&'a [T]),
}

impl<T: Copy> Operand<'_, T> {
    fn at(&self, row: usize) -> T {
        match self {
            Self::Const(value) => *value,
            Self::Slice(values) => values[row],
        }
    }
}

/// What a column holds, as far as kernels tell it apart. `None` for a constant NULL, which is of any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Int,
    Float,
    Decimal,
    Text,
}

pub(super) fn kind(column: &Column) -> Option<Kind> {
    Some(match &column.data {
        Data::Bool(_) | Data::Const(Scalar::Bool(_)) => Kind::Bool,
        Data::Int(_) | Data::Const(Scalar::Int(_)) => Kind::Int,
        Data::Float(_) | Data::Const(Scalar::Float(_)) => Kind::Float,
        Data::Decimal(..) | Data::Const(Scalar::Decimal(..)) => Kind::Decimal,
        Data::Bytes(_) | Data::Dict(_) | Data::Const(Scalar::Bytes(_)) => Kind::Text,
        Data::Const(Scalar::Null) => return None,
    })
}

/// Whoever built the expression gave an operand the wrong type: a bug, not a state of the data.
fn mismatch(column: &Column, wanted: &str) -> ! {
    panic!("an operand of {:?} was read as {wanted}", kind(column))
}

pub(super) fn bools(column: &Column) -> Operand<'_, bool> {
    match &column.data {
        Data::Bool(values) => Operand::Slice(values),
        Data::Const(Scalar::Bool(value)) => Operand::Const(*value),
        _ => mismatch(column, "booleans"),
    }
}

pub(super) fn ints(column: &Column) -> Operand<'_, i64> {
    match &column.data {
        Data::Int(values) => Operand::Slice(values),
        Data::Const(Scalar::Int(value)) => Operand::Const(*value),
        _ => mismatch(column, "integers"),
    }
}

pub(super) fn floats(column: &Column) -> Operand<'_, f64> {
    match &column.data {
        Data::Float(values) => Operand::Slice(values),
        Data::Const(Scalar::Float(value)) => Operand::Const(*value),
        _ => mismatch(column, "floats"),
    }
}

/// The values and their scale.
pub(super) fn decimals(column: &Column) -> (Operand<'_, i128>, u8) {
    match &column.data {
        Data::Decimal(values, scale) => (Operand::Slice(values), *scale),
        Data::Const(Scalar::Decimal(value, scale)) => (Operand::Const(*value), *scale),
        _ => mismatch(column, "decimals"),
    }
}

/// Strings however they are held.
#[derive(Clone, Copy)]
pub(super) enum Texts<'a> {
    Const(&'a [u8]),
    Plain(&'a Strings),
    Dict(&'a Codes),
}

pub(super) fn texts(column: &Column) -> Texts<'_> {
    match &column.data {
        Data::Bytes(strings) => Texts::Plain(strings),
        Data::Dict(codes) => Texts::Dict(codes),
        Data::Const(Scalar::Bytes(bytes)) => Texts::Const(bytes),
        _ => mismatch(column, "strings"),
    }
}

impl<'a> Texts<'a> {
    /// `f` of each row that is not NULL, `otherwise` for those that are.
    pub(super) fn map<R: Clone>(
        self,
        nulls: Nulls<'_>,
        rows: usize,
        otherwise: R,
        mut f: impl FnMut(&'a [u8]) -> R,
    ) -> Vec<R> {
        match self {
            Self::Const(bytes) if rows > 0 => vec![f(bytes); rows],
            Self::Const(_) => Vec::new(),
            Self::Plain(strings) => each(nulls, rows, otherwise, |row| f(strings.get(row))),
            Self::Dict(codes) => {
                let values = &codes.dictionary.values;
                each(nulls, rows, otherwise, |row| f(values.get(codes.codes[row] as usize)))
            }
        }
    }

    /// `f` of each pair of rows that are not NULL, `otherwise` for the rest.
    pub(super) fn map2<R: Clone>(
        self,
        other: Texts<'a>,
        nulls: Nulls<'_>,
        rows: usize,
        otherwise: R,
        mut f: impl FnMut(&'a [u8], &'a [u8]) -> R,
    ) -> Vec<R> {
        let code = |codes: &'a Codes, row: usize| -> &'a [u8] {
            codes.dictionary.values.get(codes.codes[row] as usize)
        };
        match (self, other) {
            (Self::Const(a), b) => b.map(nulls, rows, otherwise, |b| f(a, b)),
            (a, Self::Const(b)) => a.map(nulls, rows, otherwise, |a| f(a, b)),
            (Self::Plain(a), Self::Plain(b)) => {
                each(nulls, rows, otherwise, |row| f(a.get(row), b.get(row)))
            }
            (Self::Plain(a), Self::Dict(b)) => {
                each(nulls, rows, otherwise, |row| f(a.get(row), code(b, row)))
            }
            (Self::Dict(a), Self::Plain(b)) => {
                each(nulls, rows, otherwise, |row| f(code(a, row), b.get(row)))
            }
            (Self::Dict(a), Self::Dict(b)) => {
                each(nulls, rows, otherwise, |row| f(code(a, row), code(b, row)))
            }
        }
    }

    /// The bytes of a row, which is not NULL.
    pub(super) fn get(self, row: usize) -> &'a [u8] {
        match self {
            Self::Const(bytes) => bytes,
            Self::Plain(strings) => strings.get(row),
            Self::Dict(codes) => codes.dictionary.values.get(codes.codes[row] as usize),
        }
    }
}

/// A NULL mask lent to a kernel.
pub(super) type Nulls<'a> = Option<&'a [bool]>;

/// A NULL mask of a column.
pub(super) type NullMask = Option<Arc<Vec<bool>>>;

/// Lends a mask.
pub(super) fn lend(nulls: &NullMask) -> Nulls<'_> {
    nulls.as_ref().map(|nulls| nulls.as_slice())
}

/// `f` of each row that is not NULL: for reads that a NULL row's value could send out of bounds.
pub(super) fn each<R: Clone>(
    nulls: Nulls<'_>,
    rows: usize,
    otherwise: R,
    mut f: impl FnMut(usize) -> R,
) -> Vec<R> {
    match nulls {
        None => (0..rows).map(f).collect(),
        Some(nulls) => {
            let row = |row: usize| if nulls[row] { otherwise.clone() } else { f(row) };
            (0..rows).map(row).collect()
        }
    }
}

/// Whether one of the columns is a constant NULL, which makes a strict operation NULL in all rows.
pub(super) fn any_null_constant(columns: &[&Column]) -> bool {
    columns.iter().any(|column| matches!(column.data, Data::Const(Scalar::Null)))
}

/// Rows in which one of the columns is NULL; none of them is a constant NULL.
pub(super) fn union_nulls(columns: &[&Column]) -> NullMask {
    let mut union: NullMask = None;
    for column in columns {
        let Some(nulls) = column.nulls.as_ref().filter(|_| !matches!(column.data, Data::Const(_)))
        else {
            continue;
        };
        union = Some(match union {
            None => Arc::clone(nulls),
            Some(known) if Arc::ptr_eq(&known, nulls) => known,
            Some(known) => Arc::new(known.iter().zip(nulls.iter()).map(|(a, b)| a | b).collect()),
        });
    }
    union
}

/// `f` of each row.
pub(super) fn map1<A: Copy, R>(a: Operand<'_, A>, rows: usize, f: impl Fn(A) -> R) -> Vec<R> {
    match a {
        Operand::Slice(a) => a.iter().map(|&a| f(a)).collect(),
        Operand::Const(a) => (0..rows).map(|_| f(a)).collect(),
    }
}

/// `f` of each pair of rows.
#[inline]
pub(super) fn map2<A: Copy, B: Copy, R>(
    a: Operand<'_, A>,
    b: Operand<'_, B>,
    rows: usize,
    mut f: impl FnMut(A, B) -> R,
) -> Vec<R> {
    match (a, b) {
        (Operand::Slice(a), Operand::Slice(b)) => a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect(),
        (Operand::Slice(a), Operand::Const(b)) => a.iter().map(|&a| f(a, b)).collect(),
        (Operand::Const(a), Operand::Slice(b)) => b.iter().map(|&b| f(a, b)).collect(),
        (Operand::Const(a), Operand::Const(b)) => (0..rows).map(|_| f(a, b)).collect(),
    }
}

/// As [`map2`] for what can fail. `fast` gives a value and whether it might be wrong; only if any might, `check` says of
/// each pair that is not NULL whether it is an error.
///
/// The values and whether they are suspect are worked out in loops of their own: one loop that stores and accumulates is
/// not vectorized. So `fast` should cost next to nothing.
#[inline]
pub(super) fn checked2<A: Copy, B: Copy, R>(
    a: Operand<'_, A>,
    b: Operand<'_, B>,
    nulls: Nulls<'_>,
    rows: usize,
    fast: impl Fn(A, B) -> (R, bool),
    check: impl Fn(A, B) -> Result<(), ExecError>,
) -> Result<Vec<R>, ExecError> {
    let values = map2(a, b, rows, |a, b| fast(a, b).0);
    let wrong = |a: A, b: B| fast(a, b).1;
    let suspect = match (a, b) {
        (Operand::Slice(a), Operand::Slice(b)) => {
            a.iter().zip(b).fold(false, |any, (&a, &b)| any | wrong(a, b))
        }
        (Operand::Slice(a), Operand::Const(b)) => a.iter().fold(false, |any, &a| any | wrong(a, b)),
        (Operand::Const(a), Operand::Slice(b)) => b.iter().fold(false, |any, &b| any | wrong(a, b)),
        (Operand::Const(a), Operand::Const(b)) => wrong(a, b),
    };
    if suspect {
        check_rows(a, b, nulls, rows, check)?;
    }
    Ok(values)
}

/// As [`checked2`] where `fast` costs too much to be called twice.
#[inline]
pub(super) fn checked2_once<A: Copy, B: Copy, R>(
    a: Operand<'_, A>,
    b: Operand<'_, B>,
    nulls: Nulls<'_>,
    rows: usize,
    fast: impl Fn(A, B) -> (R, bool),
    check: impl Fn(A, B) -> Result<(), ExecError>,
) -> Result<Vec<R>, ExecError> {
    let mut suspect = false;
    let values = map2(a, b, rows, |a, b| {
        let (value, wrong) = fast(a, b);
        suspect |= wrong;
        value
    });
    if suspect {
        check_rows(a, b, nulls, rows, check)?;
    }
    Ok(values)
}

#[cold]
fn check_rows<A: Copy, B: Copy>(
    a: Operand<'_, A>,
    b: Operand<'_, B>,
    nulls: Nulls<'_>,
    rows: usize,
    check: impl Fn(A, B) -> Result<(), ExecError>,
) -> Result<(), ExecError> {
    for row in 0..rows {
        if nulls.is_none_or(|nulls| !nulls[row]) {
            check(a.at(row), b.at(row))?;
        }
    }
    Ok(())
}

/// As [`checked2_once`] with one operand.
pub(super) fn checked1<A: Copy, R>(
    a: Operand<'_, A>,
    nulls: Nulls<'_>,
    rows: usize,
    fast: impl Fn(A) -> (R, bool),
    check: impl Fn(A) -> Result<(), ExecError>,
) -> Result<Vec<R>, ExecError> {
    checked2_once(a, Operand::Const(()), nulls, rows, |a, ()| fast(a), |a, ()| check(a))
}

/// Makes columns of the results of kernels.
pub(super) fn bool_column(values: Vec<bool>, nulls: NullMask) -> Column {
    let len = values.len();
    Column::with_nulls(Data::Bool(Arc::new(values)), nulls, len)
}

pub(super) fn int_column(values: Vec<i64>, nulls: NullMask) -> Column {
    let len = values.len();
    Column::with_nulls(Data::Int(Arc::new(values)), nulls, len)
}

pub(super) fn float_column(values: Vec<f64>, nulls: NullMask) -> Column {
    let len = values.len();
    Column::with_nulls(Data::Float(Arc::new(values)), nulls, len)
}

pub(super) fn decimal_column(values: Vec<i128>, scale: u8, nulls: NullMask) -> Column {
    let len = values.len();
    Column::with_nulls(Data::Decimal(Arc::new(values), scale), nulls, len)
}

pub(super) fn text_column(strings: Strings, nulls: NullMask) -> Column {
    let len = strings.spans.len();
    Column::with_nulls(Data::Bytes(strings), nulls, len)
}

/// NULL in all rows.
pub(super) fn null_column(rows: usize) -> Column {
    Column::constant(Scalar::Null, rows)
}
