//! Expressions over one row that cannot raise an error.
//!
//! Arithmetic is done in a type wide enough for any value of the column; where a value at the limit of its type would
//! make a function fail, the column is wild and the function is not drawn.

use std::rc::Rc;

use difftest::draw::Draw;

use crate::predicate;
use crate::types::{Coll, Ty};
use crate::values::{any_constant, constant};

/// A column in the scope of a query.
#[derive(Clone, Debug)]
pub struct Col {
    /// Qualified by its alias.
    pub sql: String,
    pub ty: Ty,
    pub wild: bool,
    pub samples: Rc<Vec<String>>,
}

/// What a query may refer to.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The alias of its table.
    pub alias: String,
    pub cols: Vec<Col>,
}

/// An expression, and constants built the same way from values that the column holds.
#[derive(Clone, Debug)]
pub struct Value {
    pub sql: String,
    pub ty: Ty,
    /// Near the limits of its type.
    pub wild: bool,
    /// A few; the first is made from another value than the second, where the column has several.
    pub constants: Vec<String>,
}

/// A constant of the column's type, most often one that it holds.
pub fn literal(draw: &mut Draw, col: &Col) -> String {
    if col.samples.is_empty() || draw.chance(15) {
        any_constant(draw, col.ty)
    } else {
        constant(col.ty, draw.pick(col.samples.as_slice()).as_str())
    }
}

impl Scope {
    /// Any column.
    pub fn column(&self, draw: &mut Draw) -> Col {
        draw.pick(&self.cols).clone()
    }

    /// A column that satisfies `test`.
    pub fn column_where(&self, draw: &mut Draw, test: impl Fn(&Col) -> bool) -> Option<Col> {
        let fitting: Vec<&Col> = self.cols.iter().filter(|c| test(c)).collect();
        (!fitting.is_empty()).then(|| (*draw.pick(&fitting)).clone())
    }

    /// A column as it is.
    pub fn plain(&self, draw: &mut Draw) -> Value {
        let col = self.column(draw);
        as_value(draw, &col)
    }

    /// An expression.
    pub fn value(&self, draw: &mut Draw) -> Value {
        let col = self.column(draw);
        self.over(draw, &col)
    }

    /// An expression over this column, and perhaps others.
    pub fn over(&self, draw: &mut Draw, col: &Col) -> Value {
        match draw.below(10) {
            0..4 => as_value(draw, col),
            4..8 => derived(draw, col),
            _ => self.combined(draw, col),
        }
    }

    /// CASE, COALESCE, NULLIF, GREATEST, LEAST: of the column's type.
    fn combined(&self, draw: &mut Draw, col: &Col) -> Value {
        let constant = literal(draw, col);
        let same = self.column_where(draw, |c| c.ty == col.ty).map_or(constant.clone(), |c| c.sql);
        let a = &col.sql;
        let comparable = col.ty != Ty::Jsonb;
        let sql = match draw.below(6) {
            0 => {
                let p = predicate::atom(draw, self);
                format!("CASE WHEN {p} THEN {a} ELSE {same} END")
            }
            1 => format!("COALESCE({a}, {constant})"),
            2 => format!("NULLIF({a}, {constant})"),
            3 if comparable => format!("GREATEST({a}, {constant}, {same})"),
            4 if comparable => format!("LEAST({a}, {same})"),
            _ => {
                let other = literal(draw, col);
                format!("CASE {a} WHEN {constant} THEN {other} WHEN {other} THEN NULL ELSE {a} END")
            }
        };
        let constants = vec![constant, literal(draw, col)];
        Value { sql, ty: col.ty, wild: col.wild, constants }
    }
}

/// The column itself.
pub fn as_value(draw: &mut Draw, col: &Col) -> Value {
    let constants = (0..3).map(|_| literal(draw, col)).collect();
    Value { sql: col.sql.clone(), ty: col.ty, wild: col.wild, constants }
}

/// A function or an operator over the column; `@` in a template stands for it.
fn derived(draw: &mut Draw, col: &Col) -> Value {
    let n = draw.range(1, 9);
    let (template, ty) = match col.ty {
        Ty::Int2 | Ty::Int4 => integer(draw, n),
        Ty::Int8 => bigint(draw, n),
        Ty::Decimal | Ty::Numeric => numeric(draw, n),
        Ty::Float4 | Ty::Float8 => float(draw, col.wild),
        Ty::Text(Coll::NoCase) => nocase(draw),
        Ty::Text(_) | Ty::Varchar | Ty::Char => text(draw, col.ty, n),
        Ty::Bool => pick(
            draw,
            &[("(NOT @)", Ty::Bool), ("@::int4", Ty::Int4), ("@::text", Ty::Text(Coll::Default))],
        ),
        Ty::Date => date(draw, col.wild, n),
        Ty::Timestamp | Ty::Timestamptz => timestamp(draw, col.ty, col.wild),
        Ty::Interval => pick(
            draw,
            &[
                ("(@ + interval '90 minutes')", Ty::Interval),
                ("(@ * 2)", Ty::Interval),
                ("(- @)", Ty::Interval),
                ("extract(epoch from @)", Ty::Numeric),
                ("extract(day from @)", Ty::Numeric),
                ("justify_hours(@)", Ty::Interval),
                ("@::text", Ty::Text(Coll::Default)),
            ],
        ),
        Ty::Uuid => pick(
            draw,
            &[("@::text", Ty::Text(Coll::Default)), ("left(@::text, 2)", Ty::Text(Coll::Default))],
        ),
        Ty::Bytea => pick(
            draw,
            &[
                ("length(@)", Ty::Int4),
                ("substring(@ from 1 for 2)", Ty::Bytea),
                ("encode(@, 'hex')", Ty::Text(Coll::Default)),
                ("(@ || '\\x00'::bytea)", Ty::Bytea),
                ("md5(@)", Ty::Text(Coll::Default)),
            ],
        ),
        Ty::Jsonb => pick(
            draw,
            &[
                ("(@ ->> 'k')", Ty::Text(Coll::Default)),
                ("(@ -> 'k')", Ty::Jsonb),
                ("jsonb_typeof(@)", Ty::Text(Coll::Default)),
                ("(@ -> 'a' -> 0)", Ty::Jsonb),
                ("(@ ->> 0)", Ty::Text(Coll::Default)),
                ("length(@ ->> 't')", Ty::Int4),
                ("(@ ? 'k')", Ty::Bool),
                ("(@ #>> ARRAY['a', '0'])", Ty::Text(Coll::Default)),
                ("@::text", Ty::Text(Coll::Default)),
            ],
        ),
        Ty::IntArray => pick(
            draw,
            &[
                ("(@)[1]", Ty::Int4),
                ("array_length(@, 1)", Ty::Int4),
                ("cardinality(@)", Ty::Int4),
                ("array_to_string(@, ',', '-')", Ty::Text(Coll::Default)),
                ("(@)[1:1]", Ty::IntArray),
                ("(3 = ANY (@))", Ty::Bool),
                ("@::text", Ty::Text(Coll::Default)),
            ],
        ),
        Ty::Enum => {
            pick(draw, &[("@::text", Ty::Text(Coll::Default)), ("length(@::text)", Ty::Int4)])
        }
    };
    let constants = (0..3).map(|_| template.replace('@', &literal(draw, col))).collect();
    Value {
        sql: template.replace('@', &col.sql),
        ty,
        wild: col.wild && (ty == col.ty || ty == Ty::Float8),
        constants,
    }
}

fn pick(draw: &mut Draw, from: &[(&str, Ty)]) -> (String, Ty) {
    let (template, ty) = draw.pick(from);
    ((*template).to_string(), *ty)
}

fn integer(draw: &mut Draw, n: i64) -> (String, Ty) {
    let choices = [
        (format!("(@::int8 + {n})"), Ty::Int8),
        (format!("(@::int8 * {n})"), Ty::Int8),
        (format!("({n} - @::int8)"), Ty::Int8),
        (format!("(@::int4 % {n})"), Ty::Int4),
        (format!("(@::int8 / {n})"), Ty::Int8),
        (format!("(@::int4 & {n})"), Ty::Int4),
        (format!("(@::int4 | {n})"), Ty::Int4),
        (format!("(@::int4 # {n})"), Ty::Int4),
        ("(- @::int8)".into(), Ty::Int8),
        ("abs(@::int8)".into(), Ty::Int8),
        (format!("(@::numeric / {n})"), Ty::Numeric),
        ("@::float8".into(), Ty::Float8),
        ("@::numeric".into(), Ty::Numeric),
        ("@::text".into(), Ty::Text(Coll::Default)),
        ("(CASE WHEN @ <> 0 THEN 1000 / @ ELSE 0 END)".into(), Ty::Int4),
        ("(CASE WHEN @ = 0 OR @ IS NULL THEN -1 ELSE 7 % @ END)".into(), Ty::Int4),
        ("oracle_sql(@::int8)".into(), Ty::Numeric),
        (format!("(@::int4 >> {n})"), Ty::Int4),
        ("(@::int4)::bool".into(), Ty::Bool),
        (format!("oracle_strict(@::int4, 'x{n}')"), Ty::Int4),
        (format!("width_bucket(@::float8, 0, 1000, {n})"), Ty::Int4),
    ];
    draw.pick(&choices).clone()
}

fn bigint(draw: &mut Draw, n: i64) -> (String, Ty) {
    let choices = [
        (format!("(@::numeric + {n})"), Ty::Numeric),
        (format!("(@::numeric * {n}.5)"), Ty::Numeric),
        (format!("(@ % {n})"), Ty::Int8),
        (format!("(@ / {n})"), Ty::Int8),
        (format!("(@ & {n})"), Ty::Int8),
        (format!("(@ # {n}::int8)"), Ty::Int8),
        (format!("(@ >> {n})"), Ty::Int8),
        ("@::numeric".into(), Ty::Numeric),
        ("@::text".into(), Ty::Text(Coll::Default)),
        ("(CASE WHEN @ > 0 THEN 100000 / @ END)".into(), Ty::Int8),
        ("oracle_sql(@)".into(), Ty::Numeric),
    ];
    draw.pick(&choices).clone()
}

fn numeric(draw: &mut Draw, n: i64) -> (String, Ty) {
    let choices = [
        (format!("(@ + {n}.25)"), Ty::Numeric),
        (format!("(@ * {n}.5)"), Ty::Numeric),
        (format!("(@ / {n})"), Ty::Numeric),
        (format!("(@ % {n})"), Ty::Numeric),
        ("round(@, 1)".into(), Ty::Numeric),
        ("trunc(@)".into(), Ty::Numeric),
        ("ceil(@)".into(), Ty::Numeric),
        ("floor(@)".into(), Ty::Numeric),
        ("abs(@)".into(), Ty::Numeric),
        ("(- @)".into(), Ty::Numeric),
        ("sign(@)".into(), Ty::Numeric),
        ("@::text".into(), Ty::Text(Coll::Default)),
        ("(CASE WHEN @ <> 0 THEN 12 / @ END)".into(), Ty::Numeric),
    ];
    draw.pick(&choices).clone()
}

fn float(draw: &mut Draw, wild: bool) -> (String, Ty) {
    let always = [
        ("abs(@)::float8", Ty::Float8),
        ("(- @)::float8", Ty::Float8),
        ("floor(@)", Ty::Float8),
        ("sign(@)", Ty::Float8),
        ("@::text", Ty::Text(Coll::Default)),
        ("@::float8", Ty::Float8),
        ("(@ > 0)", Ty::Bool),
    ];
    let tame = [
        ("(@ + 1.5::float8)", Ty::Float8),
        ("(@ * 2::float8)", Ty::Float8),
        ("(0.25::float8 - @)", Ty::Float8),
        ("(@ / 4::float8)", Ty::Float8),
        ("round(@)", Ty::Float8),
        ("@::numeric", Ty::Numeric),
        ("sqrt(abs(@))::text", Ty::Text(Coll::Default)),
        ("exp(- abs(@) / 1000)::text", Ty::Text(Coll::Default)),
    ];
    if wild || draw.chance(40) { pick(draw, &always) } else { pick(draw, &tame) }
}

fn nocase(draw: &mut Draw) -> (String, Ty) {
    pick(
        draw,
        &[
            ("lower(@)", Ty::Text(Coll::NoCase)),
            ("upper(@)", Ty::Text(Coll::NoCase)),
            ("length(@)", Ty::Int4),
            ("left(@, 2)", Ty::Text(Coll::NoCase)),
            ("(@ || 'x')", Ty::Text(Coll::NoCase)),
            ("(@ COLLATE \"C\")", Ty::Text(Coll::C)),
            ("regexp_replace(@ COLLATE \"C\", '[0-9]+', '#')", Ty::Text(Coll::C)),
        ],
    )
}

fn text(draw: &mut Draw, ty: Ty, n: i64) -> (String, Ty) {
    let out = if let Ty::Text(coll) = ty { Ty::Text(coll) } else { Ty::Text(Coll::Default) };
    let choices = [
        ("lower(@)".to_string(), out),
        ("upper(@)".into(), out),
        ("initcap(@)".into(), out),
        ("length(@)".into(), Ty::Int4),
        ("octet_length(@)".into(), Ty::Int4),
        (format!("left(@, {n})"), out),
        (format!("right(@, {n})"), out),
        (format!("substring(@ from {n} for 3)"), out),
        (format!("substr(@, {n})"), out),
        ("(@ || '-' || @)".into(), out),
        ("strpos(@, '1')".into(), Ty::Int4),
        ("replace(@, 'w', 'qq')".into(), out),
        ("regexp_replace(@, '[0-9]+', '#')".into(), out),
        ("regexp_replace(@, '([a-z])([0-9])', '\\2\\1', 'g')".into(), out),
        ("md5(@)".into(), Ty::Text(Coll::Default)),
        ("reverse(@)".into(), out),
        ("btrim(@, 'wW ')".into(), out),
        ("split_part(@, '1', 1)".into(), out),
        ("translate(@, '0123', 'abc')".into(), out),
        ("oracle_plpgsql(@)".into(), out),
        (format!("oracle_strict({n}, @)"), Ty::Int4),
        ("concat(@, '|', NULL)".into(), out),
        ("lpad(@, 6, '*')".into(), out),
        ("substring(@ from '[0-9]+')".into(), out),
        ("ascii(@)".into(), Ty::Int4),
        ("(@ LIKE 'w%')".into(), Ty::Bool),
    ];
    let (template, ty_out) = draw.pick(&choices).clone();
    // char(n) loses its padding on the way to text; explicit, so that both arms say when.
    if ty == Ty::Char { (template.replace('@', "@::text"), ty_out) } else { (template, ty_out) }
}

fn date(draw: &mut Draw, wild: bool, n: i64) -> (String, Ty) {
    let field = draw.pick(&[
        "year", "month", "day", "dow", "doy", "week", "quarter", "isodow", "epoch", "decade",
    ]);
    if wild || draw.chance(40) {
        let choices = [
            (format!("extract({field} from @)"), Ty::Numeric),
            ("isfinite(@)".into(), Ty::Bool),
            ("@::text".into(), Ty::Text(Coll::Default)),
        ];
        return draw.pick(&choices).clone();
    }
    // The decade and the century of the least date begin before the first timestamp.
    let unit = draw.pick(&["day", "week", "month", "quarter", "year"]);
    let choices = [
        (format!("(@ + {n})"), Ty::Date),
        (format!("(@ - {n}{n})"), Ty::Date),
        (format!("date_trunc('{unit}', @::timestamp)"), Ty::Timestamp),
        (format!("date_trunc('{unit}', @)"), Ty::Timestamptz),
        (format!("(@ + interval '{n} months')"), Ty::Timestamp),
        ("@::timestamp".into(), Ty::Timestamp),
        ("to_char(@, 'YYYY-MM')".into(), Ty::Text(Coll::Default)),
        ("(CASE WHEN isfinite(@) THEN @ - date '2000-01-01' END)".into(), Ty::Int4),
    ];
    draw.pick(&choices).clone()
}

fn timestamp(draw: &mut Draw, ty: Ty, wild: bool) -> (String, Ty) {
    let field = draw.pick(&[
        "year",
        "month",
        "day",
        "hour",
        "minute",
        "second",
        "dow",
        "doy",
        "week",
        "epoch",
        "milliseconds",
        "isoyear",
    ]);
    if wild || draw.chance(30) {
        let choices = [
            (format!("extract({field} from @)"), Ty::Numeric),
            ("isfinite(@)".into(), Ty::Bool),
            ("@::text".into(), Ty::Text(Coll::Default)),
        ];
        return draw.pick(&choices).clone();
    }
    let unit = draw.pick(&["second", "minute", "hour", "day", "week", "month", "quarter", "year"]);
    let (other, zoned) = if ty == Ty::Timestamp {
        (Ty::Timestamptz, format!("date_trunc('{unit}', @)"))
    } else {
        (Ty::Timestamp, format!("date_trunc('{unit}', @, 'America/New_York')"))
    };
    let choices = [
        (format!("date_trunc('{unit}', @)"), ty),
        (zoned, ty),
        ("(@ + interval '1 month -2 days 3 hours')".into(), ty),
        ("(@ - interval '40 days')".into(), ty),
        ("@::date".into(), Ty::Date),
        ("(@ AT TIME ZONE 'Asia/Kolkata')".into(), other),
        ("to_char(@, 'YYYY-MM-DD HH24')".into(), Ty::Text(Coll::Default)),
        (format!("date_part('{field}', @)::text"), Ty::Text(Coll::Default)),
    ];
    draw.pick(&choices).clone()
}
