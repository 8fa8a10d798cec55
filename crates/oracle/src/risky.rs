//! Expressions that may raise an error, with the SQLSTATEs they may raise.
//!
//! A query holds at most one. Where every plan must evaluate it on the same rows (a projection, the only qual, the
//! argument of an aggregate), the arms must fail alike; beside another qual its evaluation is free.

use difftest::draw::Draw;

use crate::scalar::{Scope, literal};
use crate::types::Ty;

/// A risky expression.
#[derive(Clone, Debug)]
pub struct Risky {
    pub sql: String,
    pub ty: Ty,
    pub states: &'static [&'static str],
}

const DIVISION: &[&str] = &["22012"];
const OVERFLOW: &[&str] = &["22003"];
const BOTH: &[&str] = &["22012", "22003"];

/// Draws one; `None` when no column of the scope fits.
pub fn draw(draw: &mut Draw, scope: &Scope) -> Option<Risky> {
    let col = scope.column_where(draw, |c| {
        c.ty.is_integer()
            || c.ty.is_float()
            || matches!(c.ty, Ty::Decimal | Ty::Numeric | Ty::Date | Ty::Text(_))
    })?;
    let a = &col.sql;
    let same = scope.column_where(draw, |c| c.ty == col.ty).map_or_else(|| a.clone(), |c| c.sql);
    let constant = literal(draw, &col);
    let choices: Vec<(String, Ty, &'static [&'static str])> = match col.ty {
        Ty::Int2 => vec![
            (format!("({a} / {same})"), col.ty, BOTH),
            (format!("({a} + {same})"), col.ty, OVERFLOW),
            (format!("({a} - {constant})"), col.ty, OVERFLOW),
            (format!("({a} % {same})"), col.ty, DIVISION),
            (format!("(- {a})"), col.ty, OVERFLOW),
            (format!("abs({a})"), col.ty, OVERFLOW),
        ],
        Ty::Int4 | Ty::Int8 => vec![
            (format!("({a} / {same})"), col.ty, BOTH),
            (format!("(1000 / {a})"), col.ty, DIVISION),
            (format!("({a} + {same})"), col.ty, OVERFLOW),
            (format!("({a} * {same})"), col.ty, OVERFLOW),
            (format!("({a} - {constant})"), col.ty, OVERFLOW),
            (format!("({a} % {same})"), col.ty, DIVISION),
            (format!("{a}::int2"), Ty::Int2, OVERFLOW),
            (format!("(- {a})"), col.ty, OVERFLOW),
            (format!("abs({a})"), col.ty, OVERFLOW),
        ],
        Ty::Decimal | Ty::Numeric => vec![
            (format!("({a} / {same})"), Ty::Numeric, DIVISION),
            (format!("({a} % {same})"), Ty::Numeric, DIVISION),
            (format!("{a}::int4"), Ty::Int4, &["22003", "0A000"]),
            (format!("{a}::numeric(8,3)"), Ty::Numeric, OVERFLOW),
            (format!("sqrt({a})"), Ty::Numeric, &["2201F"]),
        ],
        Ty::Float4 | Ty::Float8 => vec![
            (format!("({a} / {same})::float8"), Ty::Float8, BOTH),
            (format!("({a} * 1e300)"), Ty::Float8, OVERFLOW),
            (format!("{a}::int4"), Ty::Int4, OVERFLOW),
            (format!("{a}::int8"), Ty::Int8, OVERFLOW),
            (format!("sqrt({a})"), Ty::Float8, &["2201F"]),
            (format!("{a}::float4::float8"), Ty::Float8, OVERFLOW),
            (format!("ln({a})"), Ty::Float8, &["2201E"]),
        ],
        Ty::Date => vec![
            (format!("({a} - date '2000-01-01')"), Ty::Int4, &["22008"]),
            (format!("({a} + 2000000000)"), Ty::Date, &["22008"]),
            (format!("{a}::timestamp"), Ty::Timestamp, &["22008"]),
        ],
        _ => vec![
            (format!("substr({a}, 1, 5 - length({a}))"), col.ty, &["22011"]),
            (
                format!("substring({a} COLLATE \"C\" from '[0-9]+')::int4"),
                Ty::Int4,
                &["22003", "22P02"],
            ),
            (format!("(10 / length({a}))"), Ty::Int4, DIVISION),
        ],
    };
    let (sql, ty, states) = draw.pick(&choices).clone();
    Some(Risky { sql, ty, states })
}
