//! Aggregates that are folded over batches.
//!
//! Kernels do not fold functions not listed here, and arguments whose data is not ordered or equal as their values are: their
//! transition functions are called ([`super::transitions`]). Does not qualify: partial aggregation but for its first step.

use super::finish::{Finish, Spread, Transition};
use super::functions::function_name;
use super::lists;
use super::refusal::Refusal;
use super::transitions::Call;
use super::types::{DataClass, ValueType, type_name};
use super::{Translator, Typed};
use columnar_exec::Expr;
use columnar_exec::agg::{AggKind, AggSpec, NumType};
use pgrx::pg_sys;

/// An aggregate, its arguments, and how its result is made.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// What is folded.
    pub spec: AggSpec,
    /// The argument; none of count(*).
    pub arg: Option<Expr>,
    /// FILTER.
    pub condition: Option<Expr>,
    /// The result.
    pub finish: Finish,
    /// What its transition function is called with, where no kernel folds it.
    pub call: Option<Call>,
}

/// Whether it is neither an ordered-set nor a hypothetical-set aggregate (`AGGKIND_NORMAL`).
pub fn is_normal(aggref: &pg_sys::Aggref) -> bool {
    aggref.aggkind as u8 == b'n'
}

/// Functions by what they fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Sum(Number),
    Avg(Number),
    Spread(Number, Spread),
    Min,
    Max,
    Plain(AggKind),
}

/// Argument types of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    /// smallint and int: their sum is a bigint.
    Int,
    /// Their sum is numeric.
    Int8,
    Float4,
    Float8,
    Numeric,
}

impl Translator {
    /// The aggregate, with arguments that kernels or PostgreSQL evaluate.
    pub fn aggregate(&mut self, aggref: *mut pg_sys::Aggref) -> Result<Aggregate, Refusal> {
        let mark = self.mark();
        self.outside = true;
        // SAFETY: the node is a live part of a plan or a query.
        let aggref = unsafe { &mut *aggref };
        let answer = self.fold(aggref).or_else(|why| {
            self.reset(&mark);
            self.by_transition(aggref, why)
        });
        if answer.is_err() {
            self.reset(&mark);
        }
        answer
    }

    fn fold(&mut self, aggref: &pg_sys::Aggref) -> Result<Aggregate, Refusal> {
        let refuse = |why| Err(Refusal::AggregateFunction(function_name(aggref.aggfnoid), why));
        if !is_normal(aggref) {
            return refuse("ordered-set aggregate");
        }
        if !aggref.aggorder.is_null() {
            return refuse("ORDER BY among its arguments");
        }
        let partial = match aggref.aggsplit {
            pg_sys::AggSplit::AGGSPLIT_SIMPLE => false,
            pg_sys::AggSplit::AGGSPLIT_INITIAL_SERIAL if aggref.aggdistinct.is_null() => true,
            _ => return refuse("partial aggregation"),
        };
        if aggref.agglevelsup != 0 {
            return refuse("belongs to an outer query");
        }
        let condition = match aggref.aggfilter.is_null() {
            true => None,
            false => Some(self.any(aggref.aggfilter.cast())?.expr),
        };
        let filtered = condition.is_some();
        if aggref.aggstar {
            if aggref.aggfnoid.to_u32() != pg_sys::F_COUNT_ {
                return refuse("not folded in batches");
            }
            let spec = AggSpec { kind: AggKind::CountStar, distinct: None, filtered };
            let finish = Finish::COUNT;
            return Ok(Aggregate { spec, arg: None, condition, finish, call: None });
        }
        let Some(function) = function(aggref.aggfnoid.to_u32()) else {
            return refuse("not folded in batches");
        };
        // SAFETY: the arguments of a live node.
        let [arg] = unsafe { lists::nodes(aggref.args) }[..] else {
            return refuse("has not one argument");
        };
        // SAFETY: the arguments of an aggregate are target entries.
        let mut arg = self.any(unsafe { (*arg.cast::<pg_sys::TargetEntry>()).expr.cast() })?;
        if arg.value == ValueType::Text {
            arg.collation = aggref.inputcollid;
        }
        let (kind, finish) =
            if partial { transition_of(function, &arg)? } else { kind_of(function, &arg)? };
        let distinct = match aggref.aggdistinct.is_null() {
            true => None,
            // PostgreSQL adds distinct floats in their order.
            false if sums_floats(kind) => return refuse("DISTINCT of floats"),
            false => Some(arg.key()?),
        };
        let spec = AggSpec { kind, distinct, filtered };
        Ok(Aggregate { spec, arg: Some(arg.expr), condition, finish, call: None })
    }
}

fn sums_floats(kind: AggKind) -> bool {
    matches!(
        kind,
        AggKind::Sum(NumType::Float)
            | AggKind::Avg(NumType::Float)
            | AggKind::Moments(NumType::Float)
    )
}

/// What is folded, and what is made of it.
fn kind_of(function: Function, arg: &Typed) -> Result<(AggKind, Finish), Refusal> {
    Ok(match function {
        Function::Sum(number) => {
            let numbers = numbers(number, arg)?;
            let finish = match number {
                Number::Int => Finish::SumInt8,
                Number::Int8 => Finish::Value(ValueType::Decimal { scale: 0 }),
                Number::Float4 => Finish::SumFloat4,
                Number::Float8 => Finish::Value(ValueType::Float8),
                Number::Numeric => Finish::Value(arg.value),
            };
            (AggKind::Sum(numbers), finish)
        }
        Function::Avg(number) => {
            let numbers = numbers(number, arg)?;
            let float = numbers == NumType::Float;
            let finish = if float { Finish::AvgFloat } else { Finish::AvgNumeric };
            (AggKind::Avg(numbers), finish)
        }
        // Squares of these may be beyond the integers that batches sum.
        Function::Spread(Number::Int8 | Number::Numeric, _) => {
            return Err(Refusal::Type(type_name(arg.type_id)));
        }
        Function::Spread(number, spread) => {
            let numbers = numbers(number, arg)?;
            let float = numbers == NumType::Float;
            (AggKind::Moments(numbers), Finish::Moments { float, spread })
        }
        Function::Min => (AggKind::Min(arg.order()?), Finish::Value(arg.value)),
        Function::Max => (AggKind::Max(arg.order()?), Finish::Value(arg.value)),
        Function::Plain(kind) => {
            let finish = match kind {
                AggKind::Count => Finish::COUNT,
                _ => Finish::Value(arg.value),
            };
            (kind, finish)
        }
    })
}

/// What is folded for a transition state. Aggregates of one transition function may share a state when it is combined, so that
/// a state is always whole: that of an average of floats has the sum of squares that a variance needs.
fn transition_of(function: Function, arg: &Typed) -> Result<(AggKind, Finish), Refusal> {
    let (kind, state) = match function {
        Function::Avg(number @ Number::Int) => {
            (AggKind::Avg(numbers(number, arg)?), Transition::Int8Pair)
        }
        Function::Sum(number @ Number::Int8) | Function::Avg(number @ Number::Int8) => {
            (AggKind::Avg(numbers(number, arg)?), Transition::PolySum)
        }
        Function::Sum(number @ Number::Numeric) | Function::Avg(number @ Number::Numeric) => {
            (AggKind::Avg(numbers(number, arg)?), Transition::NumericSum)
        }
        Function::Spread(number @ Number::Int, _) => {
            (AggKind::Moments(numbers(number, arg)?), Transition::PolyMoments)
        }
        Function::Avg(number @ (Number::Float4 | Number::Float8))
        | Function::Spread(number @ (Number::Float4 | Number::Float8), _) => {
            (AggKind::Moments(numbers(number, arg)?), Transition::FloatMoments)
        }
        // The state is the result, or there is none.
        _ => return kind_of(function, arg),
    };
    Ok((kind, Finish::Transition(state)))
}

/// The kind of the numbers that are summed.
fn numbers(number: Number, arg: &Typed) -> Result<NumType, Refusal> {
    match (number, arg.value) {
        (Number::Int | Number::Int8, value) if value.class() == DataClass::Int => Ok(NumType::Int),
        (Number::Float4 | Number::Float8, value) if value.class() == DataClass::Float => {
            Ok(NumType::Float)
        }
        (Number::Numeric, ValueType::Decimal { scale }) => Ok(NumType::Decimal(scale)),
        _ => Err(Refusal::Type(type_name(arg.type_id))),
    }
}

/// What a function folds, by its oid in pg_catalog.
fn function(function: u32) -> Option<Function> {
    moments(function).or_else(|| extreme(function)).or_else(|| {
        Some(match function {
            pg_sys::F_COUNT_ANY => Function::Plain(AggKind::Count),
            pg_sys::F_SUM_INT2 | pg_sys::F_SUM_INT4 => Function::Sum(Number::Int),
            pg_sys::F_SUM_INT8 => Function::Sum(Number::Int8),
            pg_sys::F_SUM_FLOAT4 => Function::Sum(Number::Float4),
            pg_sys::F_SUM_FLOAT8 => Function::Sum(Number::Float8),
            pg_sys::F_SUM_NUMERIC => Function::Sum(Number::Numeric),
            pg_sys::F_AVG_INT2 | pg_sys::F_AVG_INT4 => Function::Avg(Number::Int),
            pg_sys::F_AVG_INT8 => Function::Avg(Number::Int8),
            pg_sys::F_AVG_FLOAT4 => Function::Avg(Number::Float4),
            pg_sys::F_AVG_FLOAT8 => Function::Avg(Number::Float8),
            pg_sys::F_AVG_NUMERIC => Function::Avg(Number::Numeric),
            pg_sys::F_BOOL_AND | pg_sys::F_EVERY => Function::Plain(AggKind::BoolAnd),
            pg_sys::F_BOOL_OR => Function::Plain(AggKind::BoolOr),
            pg_sys::F_BIT_AND_INT2 | pg_sys::F_BIT_AND_INT4 | pg_sys::F_BIT_AND_INT8 => {
                Function::Plain(AggKind::BitAnd)
            }
            pg_sys::F_BIT_OR_INT2 | pg_sys::F_BIT_OR_INT4 | pg_sys::F_BIT_OR_INT8 => {
                Function::Plain(AggKind::BitOr)
            }
            pg_sys::F_BIT_XOR_INT2 | pg_sys::F_BIT_XOR_INT4 | pg_sys::F_BIT_XOR_INT8 => {
                Function::Plain(AggKind::BitXor)
            }
            _ => return None,
        })
    })
}

/// min() and max() of types whose data is ordered as they are.
fn extreme(function: u32) -> Option<Function> {
    const MAX_OID: u32 = pg_sys::F_MAX_OID.to_u32();
    const MIN_OID: u32 = pg_sys::F_MIN_OID.to_u32();
    match function {
        pg_sys::F_MAX_INT2
        | pg_sys::F_MAX_INT4
        | pg_sys::F_MAX_INT8
        | pg_sys::F_MAX_FLOAT4
        | pg_sys::F_MAX_FLOAT8
        | pg_sys::F_MAX_NUMERIC
        | pg_sys::F_MAX_MONEY
        | pg_sys::F_MAX_DATE
        | pg_sys::F_MAX_TIME
        | pg_sys::F_MAX_TIMESTAMP
        | pg_sys::F_MAX_TIMESTAMPTZ
        | pg_sys::F_MAX_TEXT
        | MAX_OID => Some(Function::Max),
        pg_sys::F_MIN_INT2
        | pg_sys::F_MIN_INT4
        | pg_sys::F_MIN_INT8
        | pg_sys::F_MIN_FLOAT4
        | pg_sys::F_MIN_FLOAT8
        | pg_sys::F_MIN_NUMERIC
        | pg_sys::F_MIN_MONEY
        | pg_sys::F_MIN_DATE
        | pg_sys::F_MIN_TIME
        | pg_sys::F_MIN_TIMESTAMP
        | pg_sys::F_MIN_TIMESTAMPTZ
        | pg_sys::F_MIN_TEXT
        | MIN_OID => Some(Function::Min),
        _ => None,
    }
}

/// Variances and deviations.
macro_rules! spreads {
    ($function:expr; $($number:ident: [$($var_samp:ident)*] [$stddev:ident $stddev_samp:ident] $var_pop:ident $stddev_pop:ident)*) => {
        match $function {
            $(
                $(pg_sys::$var_samp)|* => Some(Function::Spread(Number::$number, Spread::VarSamp)),
                pg_sys::$stddev | pg_sys::$stddev_samp => {
                    Some(Function::Spread(Number::$number, Spread::StddevSamp))
                }
                pg_sys::$var_pop => Some(Function::Spread(Number::$number, Spread::VarPop)),
                pg_sys::$stddev_pop => Some(Function::Spread(Number::$number, Spread::StddevPop)),
            )*
            _ => None,
        }
    };
}

fn moments(function: u32) -> Option<Function> {
    spreads!(function;
        Int: [F_VARIANCE_INT2 F_VAR_SAMP_INT2] [F_STDDEV_INT2 F_STDDEV_SAMP_INT2] F_VAR_POP_INT2 F_STDDEV_POP_INT2
        Int: [F_VARIANCE_INT4 F_VAR_SAMP_INT4] [F_STDDEV_INT4 F_STDDEV_SAMP_INT4] F_VAR_POP_INT4 F_STDDEV_POP_INT4
        Int8: [F_VARIANCE_INT8 F_VAR_SAMP_INT8] [F_STDDEV_INT8 F_STDDEV_SAMP_INT8] F_VAR_POP_INT8 F_STDDEV_POP_INT8
        Float4: [F_VARIANCE_FLOAT4 F_VAR_SAMP_FLOAT4] [F_STDDEV_FLOAT4 F_STDDEV_SAMP_FLOAT4] F_VAR_POP_FLOAT4 F_STDDEV_POP_FLOAT4
        Float8: [F_VARIANCE_FLOAT8 F_VAR_SAMP_FLOAT8] [F_STDDEV_FLOAT8 F_STDDEV_SAMP_FLOAT8] F_VAR_POP_FLOAT8 F_STDDEV_POP_FLOAT8
        Numeric: [F_VARIANCE_NUMERIC F_VAR_SAMP_NUMERIC] [F_STDDEV_NUMERIC F_STDDEV_SAMP_NUMERIC] F_VAR_POP_NUMERIC F_STDDEV_POP_NUMERIC
    )
}
