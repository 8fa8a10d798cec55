//! Evaluation of an expression over a batch.
//!
//! Operands are evaluated for all selected rows and given to a kernel, with three exceptions: a constant expression is
//! evaluated once, one that reads a single dictionary column once for each of the dictionary's values ([`super::memo`]),
//! and an operand that not every row reaches only for the rows that do, if it may fail or costs much ([`evaluate_at`]).

use std::sync::Arc;

use super::memo::Advice;
use super::merge::Part;
use super::operand::{NullMask, Operand, bools, null_column};
use super::{Expr, arith, cast, choose, compare, list, logic, regexp, text, time};
use crate::batch::{Batch, ColumnSource, Context};
use crate::column::{Column, Data, Scalar, Span, StringDictionary, Strings};
use crate::error::ExecError;

/// The value of an expression for each selected row. Of no rows: a constant NULL, of whatever type.
///
/// # Errors
/// What PostgreSQL would raise for a row that reaches the operation, [`ExecError::Unsupported`] for what kernels cannot
/// hold, and errors of the columns' source.
pub fn evaluate(
    expr: &Expr,
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<Column, ExecError> {
    let rows = batch.len();
    if rows == 0 {
        return Ok(null_column(0));
    }
    match expr {
        Expr::Column(column) => return batch.column(*column),
        Expr::Const(value) => return Ok(Column::constant(value.clone(), rows)),
        Expr::Param(param) => return Ok(Column::constant(context.params[*param].clone(), rows)),
        _ => {}
    }
    if rows > 1 && expr.is_constant() {
        let value = dispatch(expr, &mut Batch::new(&Nothing, 0, 1, None), context)?.get(0);
        return Ok(Column::constant(value, rows));
    }
    if !context.memo.paused
        && let Some(column) = only_column(expr)
        && !expr.can_fail()
    {
        // Evaluated by rows, none of its operands need be looked at again.
        return match over_dictionary(expr, column, batch, context)? {
            Some(result) => Ok(result),
            None => {
                context.memo.paused = true;
                let result = dispatch(expr, batch, context);
                context.memo.paused = false;
                result
            }
        };
    }
    dispatch(expr, batch, context)
}

impl Expr {
    /// As [`evaluate`].
    ///
    /// # Errors
    /// As [`evaluate`].
    pub fn evaluate(
        &self,
        batch: &mut Batch<'_>,
        context: &mut Context<'_>,
    ) -> Result<Column, ExecError> {
        evaluate(self, batch, context)
    }
}

/// The column of an expression that reads one and no other.
fn only_column(expr: &Expr) -> Option<usize> {
    let mut columns = Vec::new();
    expr.columns(&mut columns);
    match columns.as_slice() {
        [column] => Some(*column),
        _ => None,
    }
}

/// The source of a batch that only constants are evaluated in.
struct Nothing;

impl ColumnSource for Nothing {
    fn load(&self, column: usize) -> Result<Column, ExecError> {
        panic!("a constant expression read column {column}")
    }
}

/// The values of a dictionary and NULL as a column.
struct DictionaryValues(Column);

impl ColumnSource for DictionaryValues {
    fn load(&self, _: usize) -> Result<Column, ExecError> {
        Ok(self.0.clone())
    }
}

impl DictionaryValues {
    fn new(dictionary: &StringDictionary) -> Self {
        let mut spans = dictionary.values.spans.to_vec();
        spans.push(Span { start: 0, len: 0 });
        let mut nulls = vec![false; spans.len()];
        nulls[dictionary.len()] = true;
        let len = spans.len();
        let strings = Strings { spans: Arc::new(spans), data: dictionary.values.data.clone() };
        Self(Column::with_nulls(Data::Bytes(strings), Some(Arc::new(nulls)), len))
    }
}

/// An expression that reads one column and cannot fail, if that column is a dictionary and it is worth it.
fn over_dictionary(
    expr: &Expr,
    column: usize,
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<Option<Column>, ExecError> {
    let values = batch.column(column)?;
    let Data::Dict(codes) = &values.data else { return Ok(None) };
    let dictionary = &codes.dictionary;
    let known = match context.memo.advise(expr, &context.params, dictionary, values.len) {
        Advice::Rows => return Ok(None),
        Advice::Known(known) => known,
        Advice::Build => {
            let source = DictionaryValues::new(dictionary);
            let mut whole = Batch::new(&source, column + 1, dictionary.len() + 1, None);
            context.memo.paused = true;
            let result = dispatch(expr, &mut whole, context);
            context.memo.paused = false;
            context.memo.keep(expr, &context.params, dictionary, result?)?
        }
    };
    Ok(Some(known.pick(codes, &values.nulls)))
}

/// Whether an operand that `reached` of `rows` rows reach is evaluated for all of them, since that does no harm.
pub(super) fn everywhere(expr: &Expr, reached: usize, rows: usize) -> bool {
    match expr {
        _ if reached == rows => true,
        Expr::Column(_) | Expr::Const(_) | Expr::Param(_) => true,
        expr => reached >= rows / 4 && expr.is_eager(),
    }
}

/// An operand for the rows that reach it, `places` among the selected, ascending.
pub(super) fn evaluate_at(
    expr: &Expr,
    places: &[u32],
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<Part, ExecError> {
    if everywhere(expr, places.len(), batch.len()) {
        return Ok(Part::All(evaluate(expr, batch, context)?));
    }
    Ok(Part::Chosen(evaluate_there(expr, places, batch, context)?))
}

/// An operand for those rows and no others.
pub(super) fn evaluate_there(
    expr: &Expr,
    places: &[u32],
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<Column, ExecError> {
    // Loaded here, or each part would load them anew.
    let mut columns = Vec::new();
    expr.columns(&mut columns);
    for column in columns {
        batch.load(column)?;
    }
    evaluate(expr, &mut batch.subset(places), context)
}

/// A column of booleans, not a constant NULL, and where it is NULL.
pub(super) fn truth(column: &Column) -> (Operand<'_, bool>, NullMask) {
    let values = match &column.data {
        // Not read: the caller knows the column for NULL.
        Data::Const(Scalar::Null) => Operand::Const(false),
        _ => bools(column),
    };
    (values, super::operand::union_nulls(&[column]))
}

/// Evaluates the operands and calls the kernel.
fn dispatch(
    expr: &Expr,
    batch: &mut Batch<'_>,
    context: &mut Context<'_>,
) -> Result<Column, ExecError> {
    let mut get = |expr: &Expr| evaluate(expr, batch, context);
    Ok(match expr {
        Expr::Column(_) | Expr::Const(_) | Expr::Param(_) => get(expr)?,
        Expr::Not(arg) => logic::not(&get(arg)?),
        Expr::And(args) => logic::connect(args, false, batch, context)?,
        Expr::Or(args) => logic::connect(args, true, batch, context)?,
        Expr::IsNull(arg) => logic::is_null(&get(arg)?, false),
        Expr::IsNotNull(arg) => logic::is_null(&get(arg)?, true),
        Expr::BoolTest { test, arg } => logic::bool_test(*test, &get(arg)?),
        Expr::Compare { op, left, right } => compare::compare(*op, &get(left)?, &get(right)?),
        Expr::DistinctFrom { left, right, negated } => {
            compare::distinct(&get(left)?, &get(right)?, *negated)
        }
        Expr::InList { arg, list, negated } => {
            let arg = get(arg)?;
            let prepared = context.memo.prepare(list, list::scale_of(&arg));
            list::in_list(&arg, &prepared, *negated)
        }
        // It is bound before.
        Expr::InParam { .. } => return Err(ExecError::Unsupported),
        Expr::Arith { op, kind, left, right } => {
            arith::arith(*op, *kind, &get(left)?, &get(right)?)?
        }
        Expr::Negate { kind, arg } => arith::negate(*kind, &get(arg)?)?,
        Expr::Abs { kind, arg } => arith::abs(*kind, &get(arg)?)?,
        Expr::Cast { to, arg } => cast::cast(*to, &get(arg)?)?,
        Expr::Like { arg, pattern, negated } => text::like(pattern, &get(arg)?, *negated)?,
        Expr::RegexpMatch { arg, pattern, negated } => {
            regexp::matches(pattern, &get(arg)?, *negated)
        }
        Expr::RegexpReplace { arg, replacer } => regexp::replace(replacer, &get(arg)?)?,
        Expr::CharLength(arg) => text::char_length(&get(arg)?),
        Expr::OctetLength(arg) => text::octet_length(&get(arg)?),
        Expr::AsciiCase { upper, arg } => text::ascii_case(*upper, &get(arg)?)?,
        Expr::StrPos { arg, needle } => text::str_pos(&get(arg)?, &get(needle)?),
        Expr::Substring { arg, start, count } => {
            let (arg, start) = (get(arg)?, get(start)?);
            let count = match count {
                Some(count) => Some(get(count)?),
                None => None,
            };
            text::substring(&arg, &start, count.as_ref())?
        }
        Expr::DateTrunc { unit, arg } => time::date_trunc(*unit, &get(arg)?)?,
        Expr::Extract { field, from_date, arg } => time::extract(*field, *from_date, &get(arg)?)?,
        Expr::DateToTimestamp(arg) => time::date_to_timestamp(&get(arg)?)?,
        Expr::TimestampToDate(arg) => time::timestamp_to_date(&get(arg)?),
        Expr::DateAddDays { date, days, subtract } => {
            time::add_days(&get(date)?, &get(days)?, *subtract)?
        }
        Expr::DateDiff { left, right } => time::date_diff(&get(left)?, &get(right)?)?,
        Expr::Case { whens, otherwise } => {
            choose::case(whens, otherwise.as_deref(), batch, context)?
        }
        Expr::Coalesce(args) => choose::coalesce(args, batch, context)?,
        Expr::NullIf { left, right } => {
            let (left, right) = (get(left)?, get(right)?);
            compare::null_if(left, &right)
        }
        Expr::Extreme { greatest, args } => choose::extreme(args, *greatest, batch, context)?,
        Expr::External { id, inputs } => {
            let inputs: Vec<Column> = inputs.iter().map(get).collect::<Result<_, _>>()?;
            let rows = batch.len();
            let external = context.external.as_mut().ok_or(ExecError::Unsupported)?;
            let result = external.evaluate(*id, &inputs, rows)?;
            assert_eq!(result.len, rows, "external expression {id} gave other rows");
            result
        }
    })
}
