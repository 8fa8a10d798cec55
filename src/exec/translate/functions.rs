//! Which kernel computes which of PostgreSQL's functions.
//!
//! Functions are told by their oid in pg_catalog, which never changes; operators of a user are other functions and never
//! match. What is not listed is evaluated by PostgreSQL.

use columnar_exec::expr::{ArithOp, CastTo, CompareOp, NumberKind};
use pgrx::pg_sys::{self, Oid};

/// What computes a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// A comparison.
    Compare(CompareOp, Operands),
    /// date with timestamp, or timestamp with date where `swapped`.
    CompareDateTimestamp {
        op: CompareOp,
        swapped: bool,
    },
    Arith(ArithOp, NumberKind),
    Negate(NumberKind),
    Abs(NumberKind),
    /// The argument as it is: unary plus, widening casts that change nothing of the data.
    Identity,
    Cast(CastTo),
    Like {
        negated: bool,
        fold_case: bool,
    },
    StartsWith,
    /// An operator of regular expressions.
    RegexpMatch {
        negated: bool,
        fold_case: bool,
    },
    RegexpLike,
    RegexpReplace,
    CharLength,
    OctetLength,
    LetterCase {
        upper: bool,
    },
    StrPos,
    Substring,
    DateTrunc {
        zoned: bool,
    },
    Extract {
        source: TimeSource,
        float: bool,
    },
    DateToTimestamp,
    TimestampToDate,
    /// date + integer; integer + date where `swapped`.
    DateAddDays {
        subtract: bool,
        swapped: bool,
    },
    DateDiff,
}

/// What is compared, which tells when bytes or numbers do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// Booleans, numbers, times.
    Plain,
    /// text: equality under a deterministic collation, order under C.
    Text,
    /// char(n): equality of values padded to the same length.
    BpChar,
    /// Bytes under any collation.
    Bytewise,
}

/// Arguments of extract().
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSource {
    Date,
    Timestamp,
    TimestampTz,
}

/// The kernel of a function.
pub fn kernel(function: Oid) -> Option<Kernel> {
    let function = function.to_u32();
    comparison(function)
        .or_else(|| arithmetic(function))
        .or_else(|| cast(function))
        .or_else(|| string(function))
        .or_else(|| time(function))
}

/// Comparisons of one kind of operands, each list in the order = <> < <= > >=.
macro_rules! comparisons {
    ($function:expr; $($operands:ident: $([$eq:ident $ne:ident $lt:ident $le:ident $gt:ident $ge:ident])*)*) => {
        match $function {
            $($(
                pg_sys::$eq => Some(Kernel::Compare(CompareOp::Eq, Operands::$operands)),
                pg_sys::$ne => Some(Kernel::Compare(CompareOp::Ne, Operands::$operands)),
                pg_sys::$lt => Some(Kernel::Compare(CompareOp::Lt, Operands::$operands)),
                pg_sys::$le => Some(Kernel::Compare(CompareOp::Le, Operands::$operands)),
                pg_sys::$gt => Some(Kernel::Compare(CompareOp::Gt, Operands::$operands)),
                pg_sys::$ge => Some(Kernel::Compare(CompareOp::Ge, Operands::$operands)),
            )*)*
            _ => None,
        }
    };
}

fn comparison(function: u32) -> Option<Kernel> {
    comparisons!(function;
        Plain:
            [F_BOOLEQ F_BOOLNE F_BOOLLT F_BOOLLE F_BOOLGT F_BOOLGE]
            [F_INT2EQ F_INT2NE F_INT2LT F_INT2LE F_INT2GT F_INT2GE]
            [F_INT24EQ F_INT24NE F_INT24LT F_INT24LE F_INT24GT F_INT24GE]
            [F_INT28EQ F_INT28NE F_INT28LT F_INT28LE F_INT28GT F_INT28GE]
            [F_INT42EQ F_INT42NE F_INT42LT F_INT42LE F_INT42GT F_INT42GE]
            [F_INT4EQ F_INT4NE F_INT4LT F_INT4LE F_INT4GT F_INT4GE]
            [F_INT48EQ F_INT48NE F_INT48LT F_INT48LE F_INT48GT F_INT48GE]
            [F_INT82EQ F_INT82NE F_INT82LT F_INT82LE F_INT82GT F_INT82GE]
            [F_INT84EQ F_INT84NE F_INT84LT F_INT84LE F_INT84GT F_INT84GE]
            [F_INT8EQ F_INT8NE F_INT8LT F_INT8LE F_INT8GT F_INT8GE]
            [F_OIDEQ F_OIDNE F_OIDLT F_OIDLE F_OIDGT F_OIDGE]
            [F_FLOAT4EQ F_FLOAT4NE F_FLOAT4LT F_FLOAT4LE F_FLOAT4GT F_FLOAT4GE]
            [F_FLOAT48EQ F_FLOAT48NE F_FLOAT48LT F_FLOAT48LE F_FLOAT48GT F_FLOAT48GE]
            [F_FLOAT84EQ F_FLOAT84NE F_FLOAT84LT F_FLOAT84LE F_FLOAT84GT F_FLOAT84GE]
            [F_FLOAT8EQ F_FLOAT8NE F_FLOAT8LT F_FLOAT8LE F_FLOAT8GT F_FLOAT8GE]
            [F_NUMERIC_EQ F_NUMERIC_NE F_NUMERIC_LT F_NUMERIC_LE F_NUMERIC_GT F_NUMERIC_GE]
            [F_CASH_EQ F_CASH_NE F_CASH_LT F_CASH_LE F_CASH_GT F_CASH_GE]
            [F_DATE_EQ F_DATE_NE F_DATE_LT F_DATE_LE F_DATE_GT F_DATE_GE]
            [F_TIME_EQ F_TIME_NE F_TIME_LT F_TIME_LE F_TIME_GT F_TIME_GE]
            [F_TIMESTAMP_EQ F_TIMESTAMP_NE F_TIMESTAMP_LT F_TIMESTAMP_LE F_TIMESTAMP_GT F_TIMESTAMP_GE]
            [F_TIMESTAMPTZ_EQ F_TIMESTAMPTZ_NE F_TIMESTAMPTZ_LT F_TIMESTAMPTZ_LE F_TIMESTAMPTZ_GT F_TIMESTAMPTZ_GE]
        Text:
            [F_TEXTEQ F_TEXTNE F_TEXT_LT F_TEXT_LE F_TEXT_GT F_TEXT_GE]
        Bytewise:
            [F_BYTEAEQ F_BYTEANE F_BYTEALT F_BYTEALE F_BYTEAGT F_BYTEAGE]
            [F_UUID_EQ F_UUID_NE F_UUID_LT F_UUID_LE F_UUID_GT F_UUID_GE]
    )
    .or_else(|| odd_comparison(function))
}

/// Comparisons that do not come in six.
fn odd_comparison(function: u32) -> Option<Kernel> {
    use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne};
    let date = |op, swapped| Kernel::CompareDateTimestamp { op, swapped };
    Some(match function {
        // Their order is not that of signed integers.
        pg_sys::F_CHAREQ | pg_sys::F_XIDEQ | pg_sys::F_ENUM_EQ => {
            Kernel::Compare(Eq, Operands::Plain)
        }
        pg_sys::F_CHARNE | pg_sys::F_XIDNEQ | pg_sys::F_ENUM_NE => {
            Kernel::Compare(Ne, Operands::Plain)
        }
        pg_sys::F_BPCHAREQ => Kernel::Compare(Eq, Operands::BpChar),
        pg_sys::F_BPCHARNE => Kernel::Compare(Ne, Operands::BpChar),
        pg_sys::F_TEXT_PATTERN_LT => Kernel::Compare(Lt, Operands::Bytewise),
        pg_sys::F_TEXT_PATTERN_LE => Kernel::Compare(Le, Operands::Bytewise),
        pg_sys::F_TEXT_PATTERN_GT => Kernel::Compare(Gt, Operands::Bytewise),
        pg_sys::F_TEXT_PATTERN_GE => Kernel::Compare(Ge, Operands::Bytewise),
        pg_sys::F_DATE_EQ_TIMESTAMP => date(Eq, false),
        pg_sys::F_DATE_NE_TIMESTAMP => date(Ne, false),
        pg_sys::F_DATE_LT_TIMESTAMP => date(Lt, false),
        pg_sys::F_DATE_LE_TIMESTAMP => date(Le, false),
        pg_sys::F_DATE_GT_TIMESTAMP => date(Gt, false),
        pg_sys::F_DATE_GE_TIMESTAMP => date(Ge, false),
        pg_sys::F_TIMESTAMP_EQ_DATE => date(Eq, true),
        pg_sys::F_TIMESTAMP_NE_DATE => date(Ne, true),
        pg_sys::F_TIMESTAMP_LT_DATE => date(Lt, true),
        pg_sys::F_TIMESTAMP_LE_DATE => date(Le, true),
        pg_sys::F_TIMESTAMP_GT_DATE => date(Gt, true),
        pg_sys::F_TIMESTAMP_GE_DATE => date(Ge, true),
        _ => return None,
    })
}

/// Operators of one kind of numbers, in the order + - * /.
macro_rules! arithmetics {
    ($function:expr; $($kind:ident: $([$add:ident $sub:ident $mul:ident $div:ident])*)*) => {
        match $function {
            $($(
                pg_sys::$add => Some(Kernel::Arith(ArithOp::Add, NumberKind::$kind)),
                pg_sys::$sub => Some(Kernel::Arith(ArithOp::Sub, NumberKind::$kind)),
                pg_sys::$mul => Some(Kernel::Arith(ArithOp::Mul, NumberKind::$kind)),
                pg_sys::$div => Some(Kernel::Arith(ArithOp::Div, NumberKind::$kind)),
            )*)*
            _ => None,
        }
    };
}

fn arithmetic(function: u32) -> Option<Kernel> {
    arithmetics!(function;
        Int16:
            [F_INT2PL F_INT2MI F_INT2MUL F_INT2DIV]
        Int32:
            [F_INT4PL F_INT4MI F_INT4MUL F_INT4DIV]
            [F_INT24PL F_INT24MI F_INT24MUL F_INT24DIV]
            [F_INT42PL F_INT42MI F_INT42MUL F_INT42DIV]
        Int64:
            [F_INT8PL F_INT8MI F_INT8MUL F_INT8DIV]
            [F_INT28PL F_INT28MI F_INT28MUL F_INT28DIV]
            [F_INT48PL F_INT48MI F_INT48MUL F_INT48DIV]
            [F_INT82PL F_INT82MI F_INT82MUL F_INT82DIV]
            [F_INT84PL F_INT84MI F_INT84MUL F_INT84DIV]
        Float32:
            [F_FLOAT4PL F_FLOAT4MI F_FLOAT4MUL F_FLOAT4DIV]
        Float64:
            [F_FLOAT8PL F_FLOAT8MI F_FLOAT8MUL F_FLOAT8DIV]
            [F_FLOAT48PL F_FLOAT48MI F_FLOAT48MUL F_FLOAT48DIV]
            [F_FLOAT84PL F_FLOAT84MI F_FLOAT84MUL F_FLOAT84DIV]
    )
    .or_else(|| odd_arithmetic(function))
}

/// Remainders, signs, and numeric, whose division no kernel does.
fn odd_arithmetic(function: u32) -> Option<Kernel> {
    use NumberKind::{Decimal, Float32, Float64, Int16, Int32, Int64};
    Some(match function {
        pg_sys::F_INT2MOD | pg_sys::F_MOD_INT2_INT2 => Kernel::Arith(ArithOp::Mod, Int16),
        pg_sys::F_INT4MOD | pg_sys::F_MOD_INT4_INT4 => Kernel::Arith(ArithOp::Mod, Int32),
        pg_sys::F_INT8MOD | pg_sys::F_MOD_INT8_INT8 => Kernel::Arith(ArithOp::Mod, Int64),
        pg_sys::F_NUMERIC_ADD => Kernel::Arith(ArithOp::Add, Decimal),
        pg_sys::F_NUMERIC_SUB => Kernel::Arith(ArithOp::Sub, Decimal),
        pg_sys::F_NUMERIC_MUL => Kernel::Arith(ArithOp::Mul, Decimal),
        pg_sys::F_INT2UM => Kernel::Negate(Int16),
        pg_sys::F_INT4UM => Kernel::Negate(Int32),
        pg_sys::F_INT8UM => Kernel::Negate(Int64),
        pg_sys::F_FLOAT4UM => Kernel::Negate(Float32),
        pg_sys::F_FLOAT8UM => Kernel::Negate(Float64),
        pg_sys::F_NUMERIC_UMINUS => Kernel::Negate(Decimal),
        pg_sys::F_INT2ABS | pg_sys::F_ABS_INT2 => Kernel::Abs(Int16),
        pg_sys::F_INT4ABS | pg_sys::F_ABS_INT4 => Kernel::Abs(Int32),
        pg_sys::F_INT8ABS | pg_sys::F_ABS_INT8 => Kernel::Abs(Int64),
        pg_sys::F_FLOAT4ABS | pg_sys::F_ABS_FLOAT4 => Kernel::Abs(Float32),
        pg_sys::F_FLOAT8ABS | pg_sys::F_ABS_FLOAT8 => Kernel::Abs(Float64),
        pg_sys::F_NUMERIC_ABS | pg_sys::F_ABS_NUMERIC => Kernel::Abs(Decimal),
        pg_sys::F_INT2UP
        | pg_sys::F_INT4UP
        | pg_sys::F_INT8UP
        | pg_sys::F_FLOAT4UP
        | pg_sys::F_FLOAT8UP
        | pg_sys::F_NUMERIC_UPLUS => Kernel::Identity,
        _ => return None,
    })
}

/// Casts; the name of each is target_source.
fn cast(function: u32) -> Option<Kernel> {
    Some(match function {
        pg_sys::F_INT4_INT2
        | pg_sys::F_INT8_INT2
        | pg_sys::F_INT8_INT4
        | pg_sys::F_FLOAT8_FLOAT4 => Kernel::Identity,
        pg_sys::F_INT2_INT4
        | pg_sys::F_INT2_INT8
        | pg_sys::F_INT2_FLOAT4
        | pg_sys::F_INT2_FLOAT8 => Kernel::Cast(CastTo::Int16),
        pg_sys::F_INT4_INT8
        | pg_sys::F_INT4_FLOAT4
        | pg_sys::F_INT4_FLOAT8
        | pg_sys::F_INT4_BOOL => Kernel::Cast(CastTo::Int32),
        pg_sys::F_INT8_FLOAT4 | pg_sys::F_INT8_FLOAT8 => Kernel::Cast(CastTo::Int64),
        pg_sys::F_FLOAT4_INT2
        | pg_sys::F_FLOAT4_INT4
        | pg_sys::F_FLOAT4_INT8
        | pg_sys::F_FLOAT4_FLOAT8
        | pg_sys::F_FLOAT4_NUMERIC => Kernel::Cast(CastTo::Float32),
        pg_sys::F_FLOAT8_INT2
        | pg_sys::F_FLOAT8_INT4
        | pg_sys::F_FLOAT8_INT8
        | pg_sys::F_FLOAT8_NUMERIC => Kernel::Cast(CastTo::Float64),
        pg_sys::F_NUMERIC_INT2 | pg_sys::F_NUMERIC_INT4 | pg_sys::F_NUMERIC_INT8 => {
            Kernel::Cast(CastTo::Decimal)
        }
        _ => return None,
    })
}

fn string(function: u32) -> Option<Kernel> {
    let like = |negated, fold_case| Kernel::Like { negated, fold_case };
    let regexp = |negated, fold_case| Kernel::RegexpMatch { negated, fold_case };
    Some(match function {
        // char(n) is matched with its blanks.
        pg_sys::F_TEXTLIKE | pg_sys::F_LIKE_TEXT_TEXT | pg_sys::F_BPCHARLIKE => like(false, false),
        pg_sys::F_TEXTNLIKE | pg_sys::F_NOTLIKE_TEXT_TEXT | pg_sys::F_BPCHARNLIKE => {
            like(true, false)
        }
        pg_sys::F_TEXTICLIKE | pg_sys::F_BPCHARICLIKE => like(false, true),
        pg_sys::F_TEXTICNLIKE | pg_sys::F_BPCHARICNLIKE => like(true, true),
        pg_sys::F_TEXTREGEXEQ | pg_sys::F_BPCHARREGEXEQ => regexp(false, false),
        pg_sys::F_TEXTREGEXNE | pg_sys::F_BPCHARREGEXNE => regexp(true, false),
        pg_sys::F_TEXTICREGEXEQ | pg_sys::F_BPCHARICREGEXEQ => regexp(false, true),
        pg_sys::F_TEXTICREGEXNE | pg_sys::F_BPCHARICREGEXNE => regexp(true, true),
        pg_sys::F_REGEXP_LIKE_TEXT_TEXT | pg_sys::F_REGEXP_LIKE_TEXT_TEXT_TEXT => {
            Kernel::RegexpLike
        }
        pg_sys::F_REGEXP_REPLACE_TEXT_TEXT_TEXT | pg_sys::F_REGEXP_REPLACE_TEXT_TEXT_TEXT_TEXT => {
            Kernel::RegexpReplace
        }
        pg_sys::F_STARTS_WITH => Kernel::StartsWith,
        pg_sys::F_LENGTH_TEXT | pg_sys::F_CHAR_LENGTH_TEXT | pg_sys::F_CHARACTER_LENGTH_TEXT => {
            Kernel::CharLength
        }
        // char(n) is counted with its blanks here alone.
        pg_sys::F_OCTET_LENGTH_TEXT
        | pg_sys::F_OCTET_LENGTH_BPCHAR
        | pg_sys::F_OCTET_LENGTH_BYTEA
        | pg_sys::F_LENGTH_BYTEA => Kernel::OctetLength,
        pg_sys::F_LOWER_TEXT => Kernel::LetterCase { upper: false },
        pg_sys::F_UPPER_TEXT => Kernel::LetterCase { upper: true },
        pg_sys::F_STRPOS | pg_sys::F_POSITION_TEXT_TEXT => Kernel::StrPos,
        pg_sys::F_SUBSTR_TEXT_INT4
        | pg_sys::F_SUBSTR_TEXT_INT4_INT4
        | pg_sys::F_SUBSTRING_TEXT_INT4
        | pg_sys::F_SUBSTRING_TEXT_INT4_INT4 => Kernel::Substring,
        _ => return None,
    })
}

fn time(function: u32) -> Option<Kernel> {
    let extract = |source, float| Kernel::Extract { source, float };
    Some(match function {
        pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMP => Kernel::DateTrunc { zoned: false },
        pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMPTZ => Kernel::DateTrunc { zoned: true },
        pg_sys::F_EXTRACT_TEXT_DATE => extract(TimeSource::Date, false),
        pg_sys::F_EXTRACT_TEXT_TIMESTAMP => extract(TimeSource::Timestamp, false),
        pg_sys::F_EXTRACT_TEXT_TIMESTAMPTZ => extract(TimeSource::TimestampTz, false),
        pg_sys::F_DATE_PART_TEXT_TIMESTAMP => extract(TimeSource::Timestamp, true),
        pg_sys::F_DATE_PART_TEXT_TIMESTAMPTZ => extract(TimeSource::TimestampTz, true),
        pg_sys::F_TIMESTAMP_DATE => Kernel::DateToTimestamp,
        pg_sys::F_DATE_TIMESTAMP => Kernel::TimestampToDate,
        pg_sys::F_DATE_PLI => Kernel::DateAddDays { subtract: false, swapped: false },
        pg_sys::F_DATE_MII => Kernel::DateAddDays { subtract: true, swapped: false },
        pg_sys::F_INTEGER_PL_DATE => Kernel::DateAddDays { subtract: false, swapped: true },
        pg_sys::F_DATE_MI => Kernel::DateDiff,
        _ => return None,
    })
}

/// Functions of constants and parameters that raise an error at most for times out of range: they may be evaluated before
/// it is known whether a row needs them.
pub fn is_safe_early(function: Oid) -> bool {
    matches!(
        function.to_u32(),
        pg_sys::F_NOW
            | pg_sys::F_TRANSACTION_TIMESTAMP
            | pg_sys::F_STATEMENT_TIMESTAMP
            | pg_sys::F_DATE_PL_INTERVAL
            | pg_sys::F_DATE_MI_INTERVAL
            | pg_sys::F_TIMESTAMP_PL_INTERVAL
            | pg_sys::F_TIMESTAMP_MI_INTERVAL
            | pg_sys::F_TIMESTAMPTZ_PL_INTERVAL
            | pg_sys::F_TIMESTAMPTZ_MI_INTERVAL
            | pg_sys::F_DATE_PLI
            | pg_sys::F_DATE_MII
            | pg_sys::F_TIMESTAMP_DATE
            | pg_sys::F_TIMESTAMPTZ_DATE
            | pg_sys::F_DATE_TIMESTAMP
            | pg_sys::F_DATE_TIMESTAMPTZ
            | pg_sys::F_TIMESTAMP_TIMESTAMPTZ
            | pg_sys::F_TIMESTAMPTZ_TIMESTAMP
            | pg_sys::F_INT4_INT2
            | pg_sys::F_INT8_INT2
            | pg_sys::F_INT8_INT4
            | pg_sys::F_FLOAT8_FLOAT4
            | pg_sys::F_FLOAT8_INT4
            | pg_sys::F_FLOAT8_INT8
    )
}

/// The name of a function, for messages.
pub fn function_name(function: Oid) -> String {
    // SAFETY: the name is a palloc'd string, or null where the function is gone.
    unsafe {
        let name = pg_sys::get_func_name(function);
        if name.is_null() {
            return function.to_u32().to_string();
        }
        core::ffi::CStr::from_ptr(name).to_string_lossy().into_owned()
    }
}
