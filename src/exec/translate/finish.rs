//! Results of aggregates, made of the columns that their folding gives.
//!
//! Averages and deviations of integers and numeric go through PostgreSQL's own functions, so that scales and rounding are
//! its. The final functions of numeric want the state of their transition function, which is made here of N, the sum and the
//! sum of squares by numeric_deserialize(); that and they only run where they are called as an aggregate.

use super::numeric_state::{self, serialized};
use super::types::ValueType;
use super::values;
use columnar_exec::{Column, Scalar, numeric};
use core::mem::MaybeUninit;
use pgrx::pg_sys::{self, Datum, Oid};

/// How a result is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The first column's value.
    Value(ValueType),
    /// An exact sum as bigint.
    SumInt8,
    /// A sum as float4.
    SumFloat4,
    /// Sum by count, in float8.
    AvgFloat,
    /// Sum by count, in numeric.
    AvgNumeric,
    /// Of N, sum and sum of squares.
    Moments { float: bool, spread: Spread },
    /// A transition state, for a node that combines several.
    Transition(Transition),
    /// By the final function over the state that its own transition function made.
    Function,
}

/// Transition states that are not results, in the form in which partial aggregation hands them on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// int8[] of count and sum, as int4_avg_accum() keeps it.
    Int8Pair,
    /// bytea of int8_avg_serialize().
    PolySum,
    /// bytea of numeric_poly_serialize().
    PolyMoments,
    /// bytea of numeric_avg_serialize().
    NumericSum,
    /// float8[] of N, Sx and Sxx, as float8_accum() keeps it.
    FloatMoments,
}

/// Variances and standard deviations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    VarSamp,
    VarPop,
    StddevSamp,
    StddevPop,
}

impl Spread {
    fn is_sample(self) -> bool {
        matches!(self, Self::VarSamp | Self::StddevSamp)
    }

    /// The final function over numeric.
    fn function(self) -> u32 {
        match self {
            Self::VarSamp => pg_sys::F_NUMERIC_VAR_SAMP,
            Self::VarPop => pg_sys::F_NUMERIC_VAR_POP,
            Self::StddevSamp => pg_sys::F_NUMERIC_STDDEV_SAMP,
            Self::StddevPop => pg_sys::F_NUMERIC_STDDEV_POP,
        }
    }
}

impl Finish {
    /// A count.
    pub const COUNT: Self =
        Self::Value(ValueType::Int { width: 8, unsigned: false, type_id: pg_sys::INT8OID });
}

/// The result of a group, in the current memory context; `None` for NULL.
pub fn finish(how: &Finish, columns: &[Column], row: usize) -> Option<Datum> {
    // SAFETY: the current context is live; columns are those of the aggregate.
    let first = unsafe { pg_sys::CurrentMemoryContext };
    match how {
        // SAFETY: as above.
        Finish::Value(value) => unsafe { values::datum_of(&columns[0], row, value, first) },
        Finish::SumInt8 => match columns[0].get(row) {
            Scalar::Decimal(sum, _) => match i64::try_from(sum) {
                Ok(sum) => Some(Datum::from(sum)),
                Err(_) => out_of_range("bigint out of range"),
            },
            _ => None,
        },
        Finish::SumFloat4 => match columns[0].get(row) {
            Scalar::Float(sum) => {
                let narrow = sum as f32;
                if narrow.is_infinite() && !sum.is_infinite() {
                    out_of_range("value out of range: overflow");
                }
                Some(Datum::from(narrow.to_bits()))
            }
            _ => None,
        },
        Finish::AvgFloat => match (columns[0].get(row), columns[1].get(row)) {
            (Scalar::Float(sum), Scalar::Int(count)) if count > 0 => {
                Some(Datum::from((sum / count as f64).to_bits()))
            }
            _ => None,
        },
        Finish::AvgNumeric => match (columns[0].get(row), columns[1].get(row)) {
            (Scalar::Decimal(sum, scale), Scalar::Int(count)) if count > 0 => {
                Some(divide(sum, scale, count))
            }
            _ => None,
        },
        Finish::Moments { float, spread } => moments(*float, *spread, columns, row),
        // Made where the states are.
        Finish::Function => None,
        Finish::Transition(state) => {
            let bytes = transition(*state, columns, row)?;
            let (bytes, bytea) = (Scalar::Bytes(bytes.into()), ValueType::Bytes { fixed: None });
            // SAFETY: the current context is live.
            unsafe { values::datum_of_scalar(&bytes, &bytea, first) }
        }
    }
}

/// A transition state without its varlena header; `None` where there was no value and the state is NULL then.
fn transition(state: Transition, columns: &[Column], row: usize) -> Option<Vec<u8>> {
    use Transition as State;
    let value = |column: usize| columns[column].get(row);
    match state {
        State::Int8Pair => {
            let Scalar::Int(count) = value(1) else { return None };
            let sum = if let Scalar::Decimal(sum, _) = value(0) { sum as i64 } else { 0 };
            Some(array(pg_sys::INT8OID, &[count.to_ne_bytes(), sum.to_ne_bytes()]))
        }
        State::FloatMoments => {
            let Scalar::Int(count) = value(0) else { return None };
            let float = |column| if let Scalar::Float(of) = value(column) { of } else { 0.0 };
            let fields = [count as f64, float(1), float(2)].map(f64::to_ne_bytes);
            Some(array(pg_sys::FLOAT8OID, &fields))
        }
        State::PolySum => match (value(0), value(1)) {
            (Scalar::Decimal(sum, _), Scalar::Int(count)) if count > 0 => {
                Some(numeric_state::poly(count, &[sum]))
            }
            _ => None,
        },
        State::PolyMoments => match (value(0), value(1), value(2)) {
            (Scalar::Int(count), Scalar::Decimal(sum, _), Scalar::Decimal(squares, _))
                if count > 0 =>
            {
                Some(numeric_state::poly(count, &[sum, squares]))
            }
            _ => None,
        },
        State::NumericSum => match (value(0), value(1)) {
            (Scalar::Decimal(sum, scale), Scalar::Int(count)) if count > 0 => {
                Some(numeric_state::sum(count, (sum, scale)))
            }
            _ => None,
        },
    }
}

/// An array of one dimension and no NULL, of values of eight bytes, without its varlena header (utils/array.h).
fn array(element: Oid, values: &[[u8; 8]]) -> Vec<u8> {
    const DIMENSIONS: i32 = 1;
    const NULLS: i32 = 0;
    const LOWER_BOUND: i32 = 1;
    let mut out = Vec::with_capacity(20 + values.len() * 8);
    out.extend_from_slice(&DIMENSIONS.to_ne_bytes());
    out.extend_from_slice(&NULLS.to_ne_bytes());
    out.extend_from_slice(&element.to_u32().to_ne_bytes());
    out.extend_from_slice(&(values.len() as i32).to_ne_bytes());
    out.extend_from_slice(&LOWER_BOUND.to_ne_bytes());
    values.iter().for_each(|value| out.extend_from_slice(value));
    out
}

/// Raises an error of 22003.
fn out_of_range(message: &str) -> ! {
    pgrx::ereport!(
        ERROR,
        pgrx::PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
        message.to_owned()
    );
}

/// A numeric datum in the current memory context.
fn numeric_datum(value: i128, scale: u8) -> Datum {
    let decimal = ValueType::Decimal { scale };
    let scalar = Scalar::Decimal(value, scale);
    // SAFETY: the current context is live.
    let datum = unsafe { values::datum_of_scalar(&scalar, &decimal, pg_sys::CurrentMemoryContext) };
    datum.unwrap_or(Datum::from(0usize))
}

/// numeric_div(), which chooses the scale.
fn divide(sum: i128, scale: u8, count: i64) -> Datum {
    let (sum, count) = (numeric_datum(sum, scale), numeric_datum(count.into(), 0));
    // SAFETY: both are numeric.
    unsafe {
        pg_sys::OidFunctionCall2Coll(Oid::from(pg_sys::F_NUMERIC_DIV), Oid::INVALID, sum, count)
    }
}

fn moments(float: bool, spread: Spread, columns: &[Column], row: usize) -> Option<Datum> {
    let Scalar::Int(count) = columns[0].get(row) else { return None };
    if count < 1 || spread.is_sample() && count < 2 {
        return None;
    }
    match (columns[1].get(row), columns[2].get(row)) {
        (_, Scalar::Float(sxx)) if float => {
            let n = count as f64;
            let variance = sxx / if spread.is_sample() { n - 1.0 } else { n };
            let result = match spread {
                Spread::VarSamp | Spread::VarPop => variance,
                Spread::StddevSamp | Spread::StddevPop => variance.sqrt(),
            };
            Some(Datum::from(result.to_bits()))
        }
        (Scalar::Decimal(sum, scale), Scalar::Decimal(squares, squares_scale)) => {
            if sum == numeric::NAN || squares == numeric::NAN {
                return Some(numeric_datum(numeric::NAN, 0));
            }
            let state = serialized(count, (sum, scale), (squares, squares_scale));
            Some(numeric_final(spread.function(), &state))
        }
        _ => None,
    }
}

/// A final function of numeric over a serialized state.
fn numeric_final(function: u32, state: &[u8]) -> Datum {
    // SAFETY: zeroed nodes of plain data are valid; AggCheckCallContext() reads the tag and the memory context alone, and both
    // outlive the calls. The state is what numeric_deserialize() reads.
    unsafe {
        let mut econtext = MaybeUninit::<pg_sys::ExprContext>::zeroed().assume_init();
        econtext.ecxt_per_tuple_memory = pg_sys::CurrentMemoryContext;
        let mut aggregate = MaybeUninit::<pg_sys::AggState>::zeroed().assume_init();
        aggregate.ss.ps.type_ = pg_sys::NodeTag::T_AggState;
        aggregate.curaggcontext = &raw mut econtext;
        let node: *mut pg_sys::Node = (&raw mut aggregate).cast();
        let bytes = ValueType::Bytes { fixed: None };
        let scalar = Scalar::Bytes(state.into());
        let state = values::datum_of_scalar(&scalar, &bytes, pg_sys::CurrentMemoryContext);
        let state = call_as_aggregate(
            pg_sys::F_NUMERIC_DESERIALIZE,
            node,
            &[state.unwrap_or(Datum::from(0usize)), Datum::from(0usize)],
        );
        call_as_aggregate(function, node, &[state])
    }
}

/// Calls a function as an aggregate's node does.
///
/// # Safety
/// The arguments are of the function's types; `node` is an AggState.
unsafe fn call_as_aggregate(function: u32, node: *mut pg_sys::Node, args: &[Datum]) -> Datum {
    const MOST: usize = 2;
    let room =
        size_of::<pg_sys::FunctionCallInfoBaseData>() + MOST * size_of::<pg_sys::NullableDatum>();
    // SAFETY: as the caller's; the frame has room for two arguments and lives in the current memory context.
    unsafe {
        let mut info = MaybeUninit::<pg_sys::FmgrInfo>::zeroed().assume_init();
        pg_sys::fmgr_info(Oid::from(function), &raw mut info);
        let frame: *mut pg_sys::FunctionCallInfoBaseData = pg_sys::palloc0(room).cast();
        (*frame).flinfo = &raw mut info;
        (*frame).context = node;
        (*frame).nargs = args.len() as i16;
        for (i, arg) in args.iter().enumerate() {
            (*(*frame).args.as_mut_ptr().add(i)).value = *arg;
        }
        let call = info.fn_addr.unwrap_or_else(|| pgrx::error!("function {function} has no code"));
        pg_sys::ffi::pg_guard_ffi_boundary(|| call(frame))
    }
}
