//! Aggregates whose answer does not depend on the order of rows.

use difftest::draw::Draw;

use crate::predicate;
use crate::query::Part;
use crate::scalar::{Scope, Value};
use crate::types::{Class, Coll, Ty, canonical};

/// An aggregate over the scope; the scope's alias has a column `id` that orders rows. `lists` allows those whose result
/// holds a value per row.
pub fn draw(draw: &mut Draw, scope: &Scope, id: u32, lists: bool) -> Part {
    let (call, class) = call(draw, scope, lists);
    let sql = match draw.below(8) {
        0 => format!("{call} FILTER (WHERE {})", predicate::tree(draw, scope, 1)),
        _ => call,
    };
    Part { id, sql, class }
}

/// An aggregate that is exact, for ORDER BY and HAVING.
pub fn exact(draw: &mut Draw, scope: &Scope) -> String {
    match draw.below(4) {
        0 => "count(*)".into(),
        1 => format!("count({})", scope.value(draw).sql),
        2 => match scope.column_where(draw, |c| c.ty.is_integer()) {
            Some(col) => format!("sum({})", col.sql),
            None => format!("count(DISTINCT {})", scope.plain(draw).sql),
        },
        _ => format!("count(DISTINCT {})", scope.plain(draw).sql),
    }
}

fn call(draw: &mut Draw, scope: &Scope, lists: bool) -> (String, Class) {
    let value = if draw.chance(60) { scope.plain(draw) } else { scope.value(draw) };
    let a = &value.sql;
    let alias = &scope.alias;
    match draw.below(16) {
        0 => ("count(*)".into(), Class::Exact),
        1 => (format!("count({a})"), Class::Exact),
        2 => (format!("count(DISTINCT {a})"), Class::Exact),
        3..6 => sum(draw, scope, &value),
        6..9 => extreme(draw, &value),
        9 => {
            let name = draw.pick(&["bool_and", "bool_or", "every"]);
            (format!("{name}({})", predicate::tree(draw, scope, 1)), Class::Exact)
        }
        10 => match scope.column_where(draw, |c| c.ty.is_integer()) {
            Some(col) => (
                format!("{}({})", draw.pick(&["bit_and", "bit_or", "bit_xor"]), col.sql),
                Class::Exact,
            ),
            None => ("count(*)".into(), Class::Exact),
        },
        11 | 12 => spread(draw, scope),
        13 if lists => match draw.below(3) {
            0 => (format!("string_agg(left({a}::text, 8), ',' ORDER BY {alias}.id)"), Class::Exact),
            1 => (format!("array_agg({a}::text ORDER BY {alias}.id DESC)"), Class::Exact),
            _ => (
                format!(
                    "string_agg(DISTINCT left({a}::text, 4) COLLATE \"C\", '|' ORDER BY left({a}::text, 4) COLLATE \"C\")"
                ),
                Class::Exact,
            ),
        },
        14 => match scope.column_where(draw, |c| c.ty.is_integer()) {
            Some(col) => ordered(draw, &col.sql, alias),
            None => ("count(*)".into(), Class::Exact),
        },
        // Folded by their transition functions.
        15 => match draw.below(3) {
            0 => (format!("range_agg(int8range({alias}.id, {alias}.id + 1))"), Class::Exact),
            1 => (format!("string_agg(left({a}::text, 0), 'x')"), Class::Exact),
            _ => (format!("max(ARRAY[left({a}::text, 3) COLLATE \"C\"])"), Class::Exact),
        },
        _ => (format!("count({a})"), Class::Exact),
    }
}

/// An aggregate of an integer whose input is ordered.
fn ordered(draw: &mut Draw, a: &str, alias: &str) -> (String, Class) {
    let order = draw.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
    let share = draw.pick(&["0", "0.5", "0.99", "ARRAY[0.1, NULL, 0.9]", "NULL"]);
    let call = match draw.below(9) {
        0 => format!("sum(DISTINCT {a})"),
        1 => format!("percentile_disc({share}) WITHIN GROUP (ORDER BY {a}{order})"),
        2 => format!("mode() WITHIN GROUP (ORDER BY {a} % 3{order})"),
        3 => format!("count(DISTINCT ({a}, {alias}.id % 5))"),
        4 => format!("array_agg(DISTINCT {a} % 7 ORDER BY {a} % 7{order})"),
        5 => format!("rank(3) WITHIN GROUP (ORDER BY {a}{order})"),
        6 => format!("dense_rank(NULL, 5) WITHIN GROUP (ORDER BY {a} % 4{order}, {alias}.id % 3)"),
        7 => format!("jsonb_agg(DISTINCT {a} % 5)"),
        _ => format!("max({a} ORDER BY {a}{order})"),
    };
    (call, Class::Exact)
}

/// sum and avg; count where the type has neither, or sums would depend on the order.
fn sum(draw: &mut Draw, scope: &Scope, value: &Value) -> (String, Class) {
    let summable = |ty: Ty, wild: bool| match ty {
        Ty::Float4 | Ty::Float8 => !wild,
        ty => ty.is_integer() || matches!(ty, Ty::Decimal | Ty::Numeric | Ty::Interval),
    };
    let (a, ty) = if summable(value.ty, value.wild) {
        (value.sql.clone(), value.ty)
    } else {
        match scope.column_where(draw, |c| summable(c.ty, c.wild)) {
            Some(col) => (col.sql, col.ty),
            None => return (format!("count({})", value.sql), Class::Exact),
        }
    };
    let class = if ty.is_float() { Class::Float } else { Class::Exact };
    (format!("{}({a})", draw.pick(&["sum", "sum", "avg"])), class)
}

fn extreme(draw: &mut Draw, value: &Value) -> (String, Class) {
    let a = &value.sql;
    if !value.ty.has_extremes() {
        return (format!("count({a})"), Class::Exact);
    }
    let name = draw.pick(&["min", "max"]);
    match value.ty {
        // FILTER may follow, so the expression that makes equal values print alike is in the argument.
        Ty::Interval | Ty::Text(Coll::NoCase) => {
            (format!("{name}({})", canonical(a, value.ty)), Class::Exact)
        }
        ty => (format!("{name}({a})"), ty.representative()),
    }
}

/// stddev and variance.
fn spread(draw: &mut Draw, scope: &Scope) -> (String, Class) {
    let col = scope.column_where(draw, |c| {
        c.ty.is_integer() || c.ty.is_float() && !c.wild || c.ty == Ty::Decimal
    });
    let Some(col) = col else {
        return ("count(*)".into(), Class::Exact);
    };
    let name = draw.pick(&["stddev", "variance", "stddev_pop", "var_pop", "var_samp"]);
    let class = if col.ty.is_float() { Class::Float } else { Class::Exact };
    (format!("{name}({})", col.sql), class)
}
