//! Filters: atoms of every kind, and boolean trees over them. None of them can raise an error.

use difftest::draw::Draw;

use crate::scalar::{Scope, Value, as_value, literal};
use crate::types::{Coll, Ty};
use crate::values::{any_constant, quote, word};

/// A boolean expression of a tree at most `depth` deep.
pub fn tree(draw: &mut Draw, scope: &Scope, depth: u32) -> String {
    if depth == 0 || draw.chance(55) {
        return atom(draw, scope);
    }
    let a = tree(draw, scope, depth - 1);
    match draw.below(10) {
        0..3 => format!("({a} AND {})", tree(draw, scope, depth - 1)),
        3..6 => format!("({a} OR {})", tree(draw, scope, depth - 1)),
        6 => format!("(NOT {a})"),
        7 => format!(
            "(CASE WHEN {a} THEN {} ELSE {} END)",
            tree(draw, scope, depth - 1),
            atom(draw, scope)
        ),
        8 => {
            let test =
                draw.pick(&["TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN", "NOT UNKNOWN"]);
            format!("(({a}) IS {test})")
        }
        _ => format!("COALESCE({a}, {})", draw.pick(&["true", "false"])),
    }
}

/// One test of one expression.
pub fn atom(draw: &mut Draw, scope: &Scope) -> String {
    let col = scope.column(draw);
    match draw.below(12) {
        0 => return null_test(draw, &col.sql),
        1 | 2 => {
            if let Some(sql) = special(draw, scope) {
                return sql;
            }
        }
        3 => {
            if let Some(other) = scope.column_where(draw, |c| c.ty == col.ty && c.sql != col.sql) {
                let operator = comparison(draw);
                return format!("{} {operator} {}", col.sql, other.sql);
            }
        }
        4 => return cross_type(draw, scope),
        _ => {}
    }
    let value = if draw.chance(50) { as_value(draw, &col) } else { scope.over(draw, &col) };
    compare(draw, &value)
}

fn comparison(draw: &mut Draw) -> &'static str {
    draw.weighted(&[
        (4, "="),
        (2, "<>"),
        (2, "<"),
        (2, "<="),
        (2, ">"),
        (2, ">="),
        (1, "IS DISTINCT FROM"),
        (1, "IS NOT DISTINCT FROM"),
    ])
}

/// A constant to compare the expression with.
fn other_side(draw: &mut Draw, value: &Value) -> String {
    if draw.chance(75) {
        draw.pick(&value.constants).clone()
    } else if draw.chance(5) {
        format!("NULL::{}", value.ty.name())
    } else {
        any_constant(draw, value.ty)
    }
}

/// A comparison of an expression with constants.
fn compare(draw: &mut Draw, value: &Value) -> String {
    let a = &value.sql;
    let b = other_side(draw, value);
    match draw.below(14) {
        0..6 => format!("{a} {} {b}", comparison(draw)),
        6 => {
            let operator = draw.pick(&["=", "<", ">=", "<>"]);
            format!("{b} {operator} {a}")
        }
        7 => {
            let kind = draw.pick(&["BETWEEN", "NOT BETWEEN", "BETWEEN SYMMETRIC"]);
            format!("({a} {kind} {b} AND {})", other_side(draw, value))
        }
        8 | 9 => {
            let kind = draw.pick(&["IN", "IN", "NOT IN"]);
            format!("{a} {kind} ({})", constants(draw, value, b))
        }
        // An array of arrays would be one array of more dimensions.
        10 if value.ty != Ty::IntArray => {
            let kind = draw.pick(&["= ANY", "= ANY", "<> ALL", "> ANY", "<= ALL"]);
            format!("{a} {kind} (ARRAY[{}])", constants(draw, value, b))
        }
        11 => format!("(NULLIF({a}, {b}) IS NULL)"),
        12 if value.ty.is_text() && value.ty != Ty::Text(Coll::NoCase) => pattern(draw, value),
        12 => null_test(draw, a),
        _ => format!("COALESCE({a}, {b}) {} {}", comparison(draw), other_side(draw, value)),
    }
}

fn constants(draw: &mut Draw, value: &Value, first: String) -> String {
    let mut list = vec![first];
    for _ in 0..draw.weighted(&[(3, 2), (2, 4), (1, 12)]) {
        list.push(other_side(draw, value));
    }
    list.join(", ")
}

fn null_test(draw: &mut Draw, sql: &str) -> String {
    format!("({sql} IS {})", draw.pick(&["NULL", "NOT NULL"]))
}

/// LIKE, ILIKE and regular expressions with patterns cut from a value that exists.
fn pattern(draw: &mut Draw, value: &Value) -> String {
    let (a, sample) = (&value.sql, &value.constants[0]);
    let fixed =
        draw.pick(&["w", "W", "1", "ö", "rt", "a", "_", "\\%", "%", "", "w1%2", "w_", "日"]);
    // The pattern is an expression over constants, which the planner folds.
    let cut = format!("replace(replace(substr({sample}, 1, 3), '\\', ''), '%', '')");
    let like = match draw.below(6) {
        0 => format!("({cut} || '%')"),
        1 => format!("('%' || {cut} || '%')"),
        2 => quote(&format!("%{fixed}%")),
        3 => quote(&format!("{fixed}%")),
        4 => quote(&format!("%{fixed}")),
        _ => quote(&format!("_{fixed}%_")),
    };
    match draw.below(10) {
        0..4 => format!("{a} LIKE {like}"),
        4 | 5 => format!("{a} NOT LIKE {like}"),
        6 => format!("{a} ILIKE {like}"),
        7 => format!("{a} NOT ILIKE {like}"),
        8 => {
            let operator = draw.pick(&["~", "~*", "!~", "!~*"]);
            format!(
                "{a} {operator} {}",
                quote(word(draw, &["^[wW]", "[0-9]{2,}$", "1.*2", "^$", "ö|é", "w(1|2)"]))
            )
        }
        _ => format!("starts_with({a}, {})", quote(word(draw, &["w", "W", "wö", "", "v"]))),
    }
}

/// Operators of one type only.
fn special(draw: &mut Draw, scope: &Scope) -> Option<String> {
    let col = scope.column_where(draw, |c| {
        matches!(c.ty, Ty::Bool | Ty::Jsonb | Ty::IntArray)
            || c.ty.is_text() && c.ty != Ty::Text(Coll::NoCase)
    })?;
    let a = &col.sql;
    Some(match col.ty {
        Ty::Bool => match draw.below(4) {
            0 => a.clone(),
            1 => format!("(NOT {a})"),
            2 => format!("({a} IS NOT TRUE)"),
            _ => format!("({a} IS FALSE)"),
        },
        Ty::Jsonb => match draw.below(3) {
            0 => format!("{a} @> '{{\"k\": {}}}'", draw.below(50)),
            1 => format!("({a} ->> 'k')::text = '{}'", draw.below(50)),
            _ => format!("{a} ? 't'"),
        },
        Ty::IntArray => match draw.below(3) {
            0 => format!("{} = ANY ({a})", draw.below(10)),
            1 => format!("{a} @> ARRAY[{}]", draw.below(10)),
            _ => format!("({a})[1] < {}", draw.below(10)),
        },
        _ => {
            let value = as_value(draw, &col);
            let value = if col.ty == Ty::Char {
                Value { sql: format!("{a}::text"), ty: Ty::Text(Coll::Default), ..value }
            } else {
                value
            };
            pattern(draw, &value)
        }
    })
}

/// A comparison of two types of one family.
fn cross_type(draw: &mut Draw, scope: &Scope) -> String {
    let number =
        |ty: Ty| ty.is_integer() || ty.is_float() || matches!(ty, Ty::Decimal | Ty::Numeric);
    let family = |ty: Ty| match ty {
        Ty::Timestamp | Ty::Date => 2,
        ty if number(ty) => 1,
        _ => 0,
    };
    let Some(col) = scope.column_where(draw, |c| family(c.ty) > 0 && !(c.wild && c.ty == Ty::Date))
    else {
        return "true".into();
    };
    let operator = comparison(draw);
    let constants: &[&str] = match family(col.ty) {
        2 => &[
            "date '2005-05-05'",
            "timestamp '2001-02-03 04:05:06'",
            "timestamptz '2003-01-01 00:00:00+00'",
        ],
        _ => &[
            "5000000000",
            "0.5",
            "7::int2",
            "-3::int8",
            "1e10::float8",
            "'NaN'::float8",
            "'Infinity'::float4",
            "12.50",
            "0.1::float4",
            "99999999999999999999",
        ],
    };
    if draw.chance(40) {
        let other = scope.column_where(draw, |c| {
            family(c.ty) == family(col.ty) && !(c.wild && c.ty == Ty::Date)
        });
        if let Some(other) = other {
            return format!("{} {operator} {}", col.sql, other.sql);
        }
    }
    format!("{} {operator} {}", col.sql, draw.pick(constants))
}

/// A test of `id` that keeps about `share` of 100 rows.
pub fn share(draw: &mut Draw, alias: &str, share: u64) -> String {
    let modulus = 100 / share.clamp(1, 100);
    format!("{alias}.id % {modulus} = {}", draw.below(modulus))
}

/// A test with a placeholder for a parameter, the type of the parameter, and arguments for it.
pub fn parameter(
    draw: &mut Draw,
    scope: &Scope,
    number: usize,
    calls: usize,
) -> (String, Ty, Vec<String>) {
    let col = scope.column(draw);
    let arguments = (0..calls)
        .map(|_| if draw.chance(6) { "NULL".into() } else { literal(draw, &col) })
        .collect();
    let p = format!("${number}");
    let a = &col.sql;
    let sql = match draw.below(6) {
        0..3 => format!("{a} {} {p}", comparison(draw)),
        3 => format!("({a} = {p} OR {p} IS NULL)"),
        4 => format!("{a} IN ({p}, {})", literal(draw, &col)),
        _ => format!("COALESCE({a}, {p}) {} {p}", draw.pick(&["=", "<=", ">"])),
    };
    (sql, col.ty, arguments)
}
