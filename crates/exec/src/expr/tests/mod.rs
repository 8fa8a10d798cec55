//! Kernels against values worked out by hand from PostgreSQL's rules.

mod choice;
mod dictionary;
mod like;
mod numbers;
mod regexp;
mod text;
mod time;

use std::cell::RefCell;
use std::sync::Arc;

use arrow_buffer::Buffer;

use super::{CompareOp, Expr};
use crate::batch::{Batch, ColumnSource, Context};
use crate::column::{Codes, Column, Data, Scalar, Span, StringDictionary, Strings};
use crate::error::ExecError;

/// Columns in memory, and how often each was loaded.
pub(super) struct Table {
    columns: Vec<Column>,
    loads: RefCell<Vec<u32>>,
}

impl Table {
    pub(super) fn new(columns: Vec<Column>) -> Self {
        let loads = RefCell::new(vec![0; columns.len()]);
        Self { columns, loads }
    }

    pub(super) fn batch(&self, selection: Option<Vec<u32>>) -> Batch<'_> {
        Batch::new(self, self.columns.len(), self.columns[0].len, selection)
    }
}

impl ColumnSource for Table {
    fn load(&self, column: usize) -> Result<Column, ExecError> {
        let mut loads = self.loads.borrow_mut();
        loads[column] += 1;
        assert_eq!(loads[column], 1, "column {column} was loaded twice");
        Ok(self.columns[column].clone())
    }
}

fn column_of<T: Clone>(values: &[Option<T>], blank: T, data: impl Fn(Vec<T>) -> Data) -> Column {
    let nulls: Vec<bool> = values.iter().map(Option::is_none).collect();
    let nulls = nulls.contains(&true).then(|| Arc::new(nulls));
    let filled = values.iter().map(|value| value.clone().unwrap_or(blank.clone())).collect();
    Column::with_nulls(data(filled), nulls, values.len())
}

/// Integers; NULL rows hold what must not be looked at.
pub(super) fn ints(values: &[Option<i64>]) -> Column {
    column_of(values, i64::MIN, |values| Data::Int(Arc::new(values)))
}

pub(super) fn floats(values: &[Option<f64>]) -> Column {
    column_of(values, 0.0, |values| Data::Float(Arc::new(values)))
}

pub(super) fn bools(values: &[Option<bool>]) -> Column {
    column_of(values, true, |values| Data::Bool(Arc::new(values)))
}

pub(super) fn decimals(values: &[Option<i128>], scale: u8) -> Column {
    column_of(values, i128::MAX, |values| Data::Decimal(Arc::new(values), scale))
}

pub(super) fn strings(values: &[&str]) -> Strings {
    let mut data = Vec::new();
    let mut spans = Vec::new();
    for value in values {
        spans.push(Span { start: data.len() as u32, len: value.len() as u32 });
        data.extend_from_slice(value.as_bytes());
    }
    Strings { spans: Arc::new(spans), data: Buffer::from_vec(data) }
}

/// Strings; the spans of NULL rows point nowhere.
pub(super) fn texts(values: &[Option<&str>]) -> Column {
    let plain: Vec<&str> = values.iter().map(|value| value.unwrap_or("")).collect();
    let mut strings = strings(&plain);
    let spans = strings.spans.iter().zip(values).map(|(span, value)| match value {
        Some(_) => *span,
        None => Span { start: u32::MAX, len: 7 },
    });
    strings.spans = Arc::new(spans.collect());
    let nulls: Vec<bool> = values.iter().map(Option::is_none).collect();
    let nulls = nulls.contains(&true).then(|| Arc::new(nulls));
    Column::with_nulls(Data::Bytes(strings), nulls, values.len())
}

pub(super) fn dictionary(values: &[&str]) -> Arc<StringDictionary> {
    Arc::new(StringDictionary::new(strings(values)))
}

pub(super) fn codes(dictionary: &Arc<StringDictionary>, codes: &[Option<u32>]) -> Column {
    let dictionary = Arc::clone(dictionary);
    column_of(codes, 0, |codes| {
        Data::Dict(Codes { codes: Arc::new(codes), dictionary: Arc::clone(&dictionary) })
    })
}

/// Evaluates over all rows of columns.
pub(super) fn eval(expr: &Expr, columns: &[Column]) -> Result<Vec<Scalar>, ExecError> {
    let table = Table::new(columns.to_vec());
    let mut context = Context::default();
    let result = expr.evaluate(&mut table.batch(None), &mut context)?;
    Ok((0..result.len).map(|row| result.get(row)).collect())
}

pub(super) fn some_ints(values: &[Option<i64>]) -> Vec<Scalar> {
    values.iter().map(|value| value.map_or(Scalar::Null, Scalar::Int)).collect()
}

pub(super) fn some_bools(values: &[Option<bool>]) -> Vec<Scalar> {
    values.iter().map(|value| value.map_or(Scalar::Null, Scalar::Bool)).collect()
}

pub(super) fn some_decimals(values: &[Option<i128>], scale: u8) -> Vec<Scalar> {
    let of = |value: &Option<i128>| value.map_or(Scalar::Null, |v| Scalar::Decimal(v, scale));
    values.iter().map(of).collect()
}

pub(super) fn some_texts(values: &[Option<&str>]) -> Vec<Scalar> {
    values.iter().map(|value| value.map_or(Scalar::Null, text)).collect()
}

pub(super) fn text(value: &str) -> Scalar {
    Scalar::Bytes(value.as_bytes().into())
}

pub(super) fn column(column: usize) -> Box<Expr> {
    Box::new(Expr::Column(column))
}

pub(super) fn constant(value: Scalar) -> Box<Expr> {
    Box::new(Expr::Const(value))
}

pub(super) fn compare(op: CompareOp, left: Box<Expr>, right: Box<Expr>) -> Expr {
    Expr::Compare { op, left, right }
}

/// The SQLSTATE and message of an error.
pub(super) fn sql_error<T: std::fmt::Debug>(
    result: Result<T, ExecError>,
) -> (&'static str, String) {
    match result {
        Err(ExecError::Sql { sqlstate, message }) => (sqlstate, message),
        other => panic!("{other:?} is not an error of SQL"),
    }
}
