//! Results kept from batch to batch: of expressions over dictionaries, and prepared lists.
//!
//! An expression that reads one dictionary column is evaluated once for each of the dictionary's values and for NULL; the
//! batch's codes then pick from that. The first batches may be small beside the dictionary, so it is done only when the
//! rows evaluated singly would have paid for half of it.
//!
//! Expressions are told apart by what they are, not where: an address could be another expression's later. Lists and
//! patterns are compared by address, which is sound since what is kept here shares them. Everything here is bounded in
//! number; the oldest goes first.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

use super::Expr;
use super::list::Prepared;
use super::operand::NullMask;
use super::text::StringsBuilder;
use crate::column::{Codes, Column, Data, Scalar, StringDictionary};
use crate::error::ExecError;

/// Most results kept.
const RESULTS: usize = 64;
/// Most lists kept.
const LISTS: usize = 32;
/// Most extended dictionaries kept.
const EXTENDED: usize = 16;

/// Results of expressions over dictionaries. One a thread.
#[derive(Debug, Default)]
pub struct Memo {
    results: VecDeque<Remembered>,
    lists: VecDeque<KnownList>,
    extended: VecDeque<Extended>,
    /// While an expression over a dictionary is evaluated row by row, so are its operands.
    pub(super) paused: bool,
}

#[derive(Debug)]
struct Remembered {
    dictionary: u64,
    expr: Expr,
    /// Values of the parameters in the expression, in its order.
    params: Vec<Scalar>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Rows evaluated one by one so far.
    Rows(usize),
    Known(Arc<OverDictionary>),
}

/// What to do with an expression over a dictionary.
pub(super) enum Advice {
    /// Evaluate it over the dictionary, then [`Memo::keep`].
    Build,
    /// Evaluate it over the rows.
    Rows,
    /// It is known.
    Known(Arc<OverDictionary>),
}

#[derive(Debug)]
struct KnownList {
    list: Arc<[Scalar]>,
    scale: Option<u8>,
    prepared: Arc<Prepared>,
}

#[derive(Debug)]
struct Extended {
    base: u64,
    constants: Vec<Arc<[u8]>>,
    dictionary: Arc<StringDictionary>,
    codes: Vec<u32>,
}

impl Memo {
    /// What to do with an expression in a batch of `rows` rows.
    pub(super) fn advise(
        &mut self,
        expr: &Expr,
        params: &[Scalar],
        dictionary: &StringDictionary,
        rows: usize,
    ) -> Advice {
        let known = self.results.iter_mut().find(|known| {
            known.dictionary == dictionary.id
                && same(&known.expr, expr)
                && same_params(expr, params, &known.params)
        });
        let worth = |rows: usize| rows >= dictionary.len() / 2;
        match known.map(|known| &mut known.state) {
            Some(State::Known(result)) => Advice::Known(Arc::clone(result)),
            Some(State::Rows(so_far)) => {
                *so_far += rows;
                if worth(*so_far) { Advice::Build } else { Advice::Rows }
            }
            None if worth(rows) => Advice::Build,
            None => {
                self.remember(expr, params, dictionary.id, State::Rows(rows));
                Advice::Rows
            }
        }
    }

    /// Keeps the result over a dictionary: a row for each value and one for NULL.
    pub(super) fn keep(
        &mut self,
        expr: &Expr,
        params: &[Scalar],
        dictionary: &StringDictionary,
        result: Column,
    ) -> Result<Arc<OverDictionary>, ExecError> {
        let result = Arc::new(OverDictionary::new(result)?);
        self.results.retain(|known| {
            !(matches!(known.state, State::Rows(_))
                && known.dictionary == dictionary.id
                && same(&known.expr, expr))
        });
        self.remember(expr, params, dictionary.id, State::Known(Arc::clone(&result)));
        Ok(result)
    }

    fn remember(&mut self, expr: &Expr, params: &[Scalar], dictionary: u64, state: State) {
        let mut used = Vec::new();
        collect_params(expr, &mut |param| used.push(params[param].clone()));
        push(
            &mut self.results,
            RESULTS,
            Remembered { dictionary, expr: expr.clone(), params: used, state },
        );
    }

    /// Results kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.results.len()
    }

    /// The list prepared for columns of that scale.
    pub(super) fn prepare(&mut self, list: &Arc<[Scalar]>, scale: Option<u8>) -> Arc<Prepared> {
        let same = |known: &&KnownList| Arc::ptr_eq(&known.list, list) && known.scale == scale;
        if let Some(known) = self.lists.iter().find(same) {
            return Arc::clone(&known.prepared);
        }
        let prepared = Arc::new(Prepared::new(list, scale));
        let known = KnownList { list: Arc::clone(list), scale, prepared: Arc::clone(&prepared) };
        push(&mut self.lists, LISTS, known);
        prepared
    }

    /// A dictionary that also holds the constants, and their codes; codes of the dictionary stay what they are. `None`
    /// where that costs more than `rows` rows are worth.
    pub(super) fn extend(
        &mut self,
        dictionary: &Arc<StringDictionary>,
        constants: &[Arc<[u8]>],
        rows: usize,
    ) -> Option<(Arc<StringDictionary>, Vec<u32>)> {
        if constants.is_empty() {
            return Some((Arc::clone(dictionary), Vec::new()));
        }
        let known = self
            .extended
            .iter()
            .find(|known| known.base == dictionary.id && known.constants == constants);
        if let Some(known) = known {
            return Some((Arc::clone(&known.dictionary), known.codes.clone()));
        }
        if dictionary.len() / 4 > rows {
            return None;
        }
        let mut builder = StringsBuilder::new(dictionary.len() + constants.len());
        let mut place: Vec<Option<u32>> = vec![None; constants.len()];
        for code in 0..dictionary.len() {
            let value = dictionary.values.get(code);
            builder.push(value).ok()?;
            for (place, constant) in place.iter_mut().zip(constants) {
                if value == constant.as_ref() {
                    *place = Some(code as u32);
                }
            }
        }
        let mut len = dictionary.len() as u32;
        for index in 0..constants.len() {
            if place[index].is_none() {
                builder.push(&constants[index]).ok()?;
                for (other, constant) in place.iter_mut().zip(constants) {
                    if *constant == constants[index] {
                        *other = Some(len);
                    }
                }
                len += 1;
            }
        }
        let codes: Vec<u32> = place.into_iter().collect::<Option<_>>()?;
        let extended = if len as usize == dictionary.len() {
            Arc::clone(dictionary)
        } else {
            Arc::new(StringDictionary::new(builder.finish()))
        };
        let kept = Extended {
            base: dictionary.id,
            constants: constants.to_vec(),
            dictionary: Arc::clone(&extended),
            codes: codes.clone(),
        };
        push(&mut self.extended, EXTENDED, kept);
        Some((extended, codes))
    }
}

fn push<T>(kept: &mut VecDeque<T>, most: usize, new: T) {
    if kept.len() >= most {
        kept.pop_front();
    }
    kept.push_back(new);
}

/// An expression's value for each value of a dictionary, and for NULL.
#[derive(Debug)]
pub(super) struct OverDictionary {
    /// A row for each value, the last for NULL.
    values: Column,
    /// Whether the expression is NULL for NULL.
    null_of_null: bool,
    /// Whether it is NULL for a value.
    null_of_value: bool,
}

impl OverDictionary {
    fn new(result: Column) -> Result<Self, ExecError> {
        let values = match &result.data {
            Data::Bytes(_) => distinct(&result)?,
            _ => result,
        };
        let last = values.len - 1;
        Ok(Self {
            null_of_null: values.is_null(last),
            null_of_value: values.nulls.as_ref().is_some_and(|nulls| nulls[..last].contains(&true)),
            values,
        })
    }

    /// The expression's values for codes, NULL where `nulls` says.
    pub(super) fn pick(&self, codes: &Codes, nulls: &NullMask) -> Column {
        let rows = codes.codes.len();
        if let Data::Const(value) = &self.values.data {
            return Column::constant(value.clone(), rows);
        }
        let last = self.values.len - 1;
        let Some(nulls) = nulls else {
            return self.gather(&codes.codes, self.null_of_value);
        };
        // Codes of NULL rows are codes, unless there are none.
        if self.null_of_null && !self.null_of_value && last > 0 {
            let mut picked = self.gather(&codes.codes, false);
            picked.nulls = Some(Arc::clone(nulls));
            return picked;
        }
        let code = |(code, null): (&u32, &bool)| if *null { last as u32 } else { *code };
        let codes: Vec<u32> = codes.codes.iter().zip(nulls.iter()).map(code).collect();
        self.gather(&codes, self.null_of_null || self.null_of_value)
    }

    fn gather(&self, codes: &[u32], with_nulls: bool) -> Column {
        let data = self.values.data.clone();
        let nulls = self.values.nulls.clone().filter(|_| with_nulls);
        Column { data, nulls, len: self.values.len }.gather(codes)
    }
}

/// The same strings as codes into a dictionary: several values may have one result, and dictionaries are distinct.
fn distinct(column: &Column) -> Result<Column, ExecError> {
    let mut known: HashMap<&[u8], u32> = HashMap::new();
    let mut builder = StringsBuilder::new(column.len);
    let mut codes = Vec::with_capacity(column.len);
    for row in 0..column.len {
        let Some(bytes) = column.bytes(row) else {
            codes.push(0);
            continue;
        };
        let next = known.len() as u32;
        let code = *known.entry(bytes).or_insert(next);
        if code == next {
            builder.push(bytes)?;
        }
        codes.push(code);
    }
    let dictionary = Arc::new(StringDictionary::new(builder.finish()));
    let codes = Data::Dict(Codes { codes: Arc::new(codes), dictionary });
    Ok(Column::with_nulls(codes, column.nulls.clone(), column.len))
}

fn collect_params(expr: &Expr, visit: &mut dyn FnMut(usize)) {
    if let Expr::Param(param) = expr {
        visit(*param);
    }
    expr.for_each_operand(&mut |operand| collect_params(operand, visit));
}

fn same_params(expr: &Expr, params: &[Scalar], known: &[Scalar]) -> bool {
    let mut known = known.iter();
    let mut same = true;
    collect_params(expr, &mut |param| {
        same &= known.next().is_some_and(|known| same_scalar(known, &params[param]));
    });
    same
}

/// Whether two constants are the same to the bit: zeros of different sign are not, NaN is.
fn same_scalar(a: &Scalar, b: &Scalar) -> bool {
    match (a, b) {
        (Scalar::Float(a), Scalar::Float(b)) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}

/// Whether two expressions are the same.
fn same(a: &Expr, b: &Expr) -> bool {
    let itself = match (a, b) {
        (Expr::Column(a), Expr::Column(b)) | (Expr::Param(a), Expr::Param(b)) => a == b,
        (Expr::Const(a), Expr::Const(b)) => same_scalar(a, b),
        (Expr::BoolTest { test: a, .. }, Expr::BoolTest { test: b, .. }) => a == b,
        (Expr::Compare { op: a, .. }, Expr::Compare { op: b, .. }) => a == b,
        (Expr::DistinctFrom { negated: a, .. }, Expr::DistinctFrom { negated: b, .. }) => a == b,
        (Expr::InList { list: a, negated: x, .. }, Expr::InList { list: b, negated: y, .. }) => {
            Arc::ptr_eq(a, b) && x == y
        }
        (Expr::InParam { list: a, negated: x, .. }, Expr::InParam { list: b, negated: y, .. }) => {
            a == b && x == y
        }
        (Expr::Arith { op: a, kind: x, .. }, Expr::Arith { op: b, kind: y, .. }) => {
            a == b && x == y
        }
        (Expr::Negate { kind: a, .. }, Expr::Negate { kind: b, .. })
        | (Expr::Abs { kind: a, .. }, Expr::Abs { kind: b, .. }) => a == b,
        (Expr::Cast { to: a, .. }, Expr::Cast { to: b, .. }) => a == b,
        (Expr::Like { pattern: a, negated: x, .. }, Expr::Like { pattern: b, negated: y, .. }) => {
            Arc::ptr_eq(a, b) && x == y
        }
        (
            Expr::RegexpMatch { pattern: a, negated: x, .. },
            Expr::RegexpMatch { pattern: b, negated: y, .. },
        ) => Arc::ptr_eq(a, b) && x == y,
        (Expr::RegexpReplace { replacer: a, .. }, Expr::RegexpReplace { replacer: b, .. }) => {
            Arc::ptr_eq(a, b)
        }
        (Expr::AsciiCase { upper: a, .. }, Expr::AsciiCase { upper: b, .. }) => a == b,
        (Expr::DateTrunc { unit: a, .. }, Expr::DateTrunc { unit: b, .. }) => a == b,
        (
            Expr::Extract { field: a, from_date: x, .. },
            Expr::Extract { field: b, from_date: y, .. },
        ) => a == b && x == y,
        (Expr::DateAddDays { subtract: a, .. }, Expr::DateAddDays { subtract: b, .. }) => a == b,
        (Expr::Extreme { greatest: a, .. }, Expr::Extreme { greatest: b, .. }) => a == b,
        (Expr::Case { whens: a, .. }, Expr::Case { whens: b, .. }) => a.len() == b.len(),
        (Expr::External { .. }, _) => false,
        // The rest have nothing but operands.
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    };
    if !itself {
        return false;
    }
    let mut operands = Vec::new();
    b.for_each_operand(&mut |operand| operands.push(operand));
    let mut operands = operands.into_iter();
    let mut equal = true;
    a.for_each_operand(&mut |operand| {
        equal = equal && operands.next().is_some_and(|other| same(operand, other));
    });
    equal && operands.next().is_none()
}
