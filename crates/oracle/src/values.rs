//! Values: as literals of a query, and as expressions over the row number for the load.
//!
//! Floats come in two kinds. Tame ones are multiples of 1/4 or 1/8 in a range so small that their sums are exact in any
//! order (with NaN, the infinities and -0 among them); wild ones hold the limits of the type, and no sum is taken of them.

use difftest::draw::Draw;

use crate::types::{Coll, Ty};

/// How the values of a column are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    Constant,
    LowCardinality,
    Skewed,
    Random,
    /// Grows with the row number: zone maps can skip.
    Clustered,
}

/// What the values of a column are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    pub spread: Spread,
    /// Percentage of NULLs.
    pub nulls: u64,
    /// Percentage of extreme values.
    pub extremes: u64,
    /// Extremes may be at the very limits of the type, so that arithmetic on them may fail.
    pub wild: bool,
}

impl Profile {
    /// A random profile.
    pub fn draw(draw: &mut Draw) -> Self {
        Self {
            spread: draw.weighted(&[
                (1, Spread::Constant),
                (3, Spread::LowCardinality),
                (2, Spread::Skewed),
                (4, Spread::Random),
                (2, Spread::Clustered),
            ]),
            nulls: draw.weighted(&[(4, 0), (3, 10), (2, 60), (1, 97), (1, 100)]),
            extremes: draw.weighted(&[(3, 0), (3, 4), (1, 40)]),
            wild: draw.chance(25),
        }
    }
}

/// One of several fixed texts.
pub fn word(draw: &mut Draw, from: &[&'static str]) -> &'static str {
    draw.pick::<&'static str>(from)
}

/// A string constant under standard_conforming_strings.
pub fn quote(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// A constant of a type from its text form.
pub fn constant(ty: Ty, value: &str) -> String {
    format!("{}::{}", quote(value), ty.name())
}

/// A constant drawn without regard to a column's contents.
pub fn any_constant(draw: &mut Draw, ty: Ty) -> String {
    if draw.chance(25) {
        let list = extremes(ty, false);
        return constant(ty, word(draw, list));
    }
    let n = draw.weighted(&[(3, 10), (3, 1_000), (1, 1_000_000)]);
    let n = draw.below(n);
    let value = match ty {
        Ty::Int2 | Ty::Int4 | Ty::Int8 => (n % 30_000).to_string(),
        Ty::Decimal | Ty::Numeric => format!("{}.{:02}", n % 90_000, n % 100),
        Ty::Float4 | Ty::Float8 => format!("{}", n as f64 / 8.0 - 10.0),
        Ty::Text(_) => {
            draw.pick(&["w", "W", "wört ", "Word", "#", ""]).to_string() + &n.to_string()
        }
        Ty::Varchar => format!("v{n}"),
        Ty::Char => (n % 1_000).to_string(),
        Ty::Bool => if n.is_multiple_of(2) { "t" } else { "f" }.into(),
        Ty::Date => format!("{}-{:02}-{:02}", 1990 + n % 40, n % 12 + 1, n % 28 + 1),
        Ty::Timestamp | Ty::Timestamptz => {
            format!("{}-{:02}-{:02} {:02}:00:00", 2001 + n % 25, n % 12 + 1, n % 28 + 1, n % 24)
        }
        Ty::Interval => format!("{} days", n % 400),
        Ty::Uuid => format!("{:08x}-0000-4000-8000-{n:012x}", n * 4099 % (1 << 32)),
        Ty::Bytea => format!("\\x{:06x}", n % (1 << 24)),
        Ty::Jsonb => format!("{{\"k\": {}}}", n % 50),
        Ty::IntArray => format!("{{{},{}}}", n % 10, n % 100),
        Ty::Enum => ["red", "green", "blue", "a longer label"][n as usize % 4].into(),
    };
    constant(ty, &value)
}

/// Values at the edges of a type; the wild ones are its limits.
pub fn extremes(ty: Ty, wild: bool) -> &'static [&'static str] {
    match (ty, wild) {
        (Ty::Int2, _) => &["-32768", "32767", "0", "-1", "1"],
        (Ty::Int4, _) => &["-2147483648", "2147483647", "0", "-1", "1"],
        (Ty::Int8, _) => &["-9223372036854775808", "9223372036854775807", "0", "4294967296", "-1"],
        (Ty::Decimal, _) => &["9999999999.99", "-9999999999.99", "0", "0.01", "NaN"],
        (Ty::Numeric, true) => &[
            "NaN",
            "Infinity",
            "-Infinity",
            "0.00",
            "1e300",
            "-1e-200",
            "123456789012345678901234567890.5",
        ],
        (Ty::Numeric, false) => &[
            "NaN",
            "0.00",
            "-0.0",
            "1.1",
            "1.10",
            "99999999999999999999.5",
            "0.000000000000000000001",
        ],
        (Ty::Float4, true) => {
            &["NaN", "Infinity", "-Infinity", "-0", "1e-45", "3.4028235e38", "-3.4028235e38"]
        }
        (Ty::Float8, true) => &[
            "NaN",
            "Infinity",
            "-Infinity",
            "-0",
            "5e-324",
            "1.7976931348623157e308",
            "-1e308",
            "0.1",
        ],
        (Ty::Float4 | Ty::Float8, false) => {
            &["NaN", "Infinity", "-Infinity", "-0", "0", "0.25", "-100"]
        }
        (Ty::Text(Coll::NoCase), _) => {
            &["", " ", "a", "A", "b", "B", "é", "É", "abc", "ABC", "aBc"]
        }
        (Ty::Text(_), _) => &[
            "",
            " ",
            "a",
            "A",
            "É",
            "é",
            "ß",
            "ss",
            "日本語",
            "tab\there",
            "back\\slash",
            "quo'te",
            "50%",
            "a_b",
            "\u{1F600}",
            "trailing  ",
        ],
        (Ty::Varchar, _) => {
            &["", " ", "a", "A", "Zz", "\u{1F600}", "trailing  ", "exactly 20 letters.."]
        }
        (Ty::Char, _) => &["", "abcdefgh", "a", "A", "É", "1"],
        (Ty::Bool, _) => &["t", "f"],
        (Ty::Date, true) => {
            &["infinity", "-infinity", "5874897-12-31", "4713-01-01 BC", "2000-02-29"]
        }
        (Ty::Date, false) => {
            &["infinity", "-infinity", "4713-01-01 BC", "290000-06-15", "2000-01-01", "1999-12-31"]
        }
        (Ty::Timestamp | Ty::Timestamptz, true) => {
            &["infinity", "-infinity", "4713-01-01 00:00:00 BC", "294276-12-31 12:59:59.999999"]
        }
        (Ty::Timestamp | Ty::Timestamptz, false) => &[
            "infinity",
            "-infinity",
            "4700-06-01 00:00:00 BC",
            "294000-01-01 00:00:00",
            "2000-01-01 00:00:00",
        ],
        (Ty::Interval, _) => {
            &["1 mon", "30 days", "720:00:00", "-1 mon", "0", "1000 years", "-1 mon +30 days"]
        }
        (Ty::Uuid, _) => {
            &["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"]
        }
        (Ty::Bytea, _) => &["\\x", "\\x00", "\\xff", "\\x0000ff"],
        (Ty::Jsonb, _) => &["null", "{}", "[]", "\"\"", "true", "{\"k\": null}", "[1, [2]]"],
        (Ty::IntArray, _) => &["{}", "{NULL}", "{1,NULL,3}", "{{1,2},{3,4}}", "[5:6]={7,8}"],
        (Ty::Enum, _) => &["red", "a longer label"],
    }
}

/// A number that looks random but follows from the row number `g`; never negative.
fn hash(g: &str, salt: u64) -> String {
    format!("(hashint8extended({g}, {salt}) & 9223372036854775807)")
}

/// An expression of type `ty` over the bigint expression `g`, the row number.
pub fn series(ty: Ty, profile: Profile, salt: u64, g: &str) -> String {
    let r = hash(g, salt);
    let n = match profile.spread {
        Spread::Constant => "7::int8".to_string(),
        Spread::LowCardinality => format!("({r} % 5)"),
        Spread::Skewed => format!("(({r} % 1000) * ({r} % 1000) * ({r} % 1000) / 1000000)"),
        Spread::Random => format!("({r} % 1000000)"),
        Spread::Clustered => format!("({g} / 50)"),
    };
    let ordinary = ordinary(ty, profile, &n, &hash(g, salt + 1));
    let mut sql = String::from("CASE");
    let choice = hash(g, salt + 2);
    match profile.nulls {
        0 => {}
        100 => return format!("NULL::{}", ty.name()),
        nulls => sql += &format!(" WHEN {choice} % 100 < {nulls} THEN NULL"),
    }
    if profile.extremes > 0 {
        let list = extremes(ty, profile.wild);
        let which = format!("{} % {}", hash(g, salt + 3), list.len());
        let arms: Vec<String> = list
            .iter()
            .enumerate()
            .map(|(i, value)| format!("WHEN {i} THEN {}", constant(ty, value)))
            .collect();
        sql += &format!(
            " WHEN {choice} / 100 % 100 < {} THEN CASE {which} {} END",
            profile.extremes,
            arms.join(" ")
        );
    }
    if sql == "CASE" { ordinary } else { format!("{sql} ELSE {ordinary} END") }
}

/// The ordinary values over `n`, a bigint from 0 on; `r` is another number that follows from the row.
fn ordinary(ty: Ty, profile: Profile, n: &str, r: &str) -> String {
    match ty {
        Ty::Int2 => format!("({n} % 30000 - 50)::int2"),
        Ty::Int4 if profile.wild => format!("({n} * 2003 - 1000000000)::int4"),
        Ty::Int4 => format!("({n} - 50)::int4"),
        Ty::Int8 => format!("({n} * {})::int8", if profile.wild { 1_000_000_007_i64 } else { 3 }),
        Ty::Decimal => format!("({n} % 1000000 / 7.0)::numeric(12,2)"),
        Ty::Numeric => format!("round({n} / 7.0 - 10, ({r} % 4)::int4)"),
        Ty::Float4 if !profile.wild => format!("(({n} % 801 - 400) / 4.0)::float4"),
        Ty::Float8 if !profile.wild => format!("(({n} % 100001 - 5000) / 8.0)::float8"),
        Ty::Float4 => format!("({n} / 3.0)::float4"),
        Ty::Float8 => format!("({n} / 3.0)::float8"),
        Ty::Text(Coll::NoCase) => {
            format!(
                "(CASE {r} % 3 WHEN 0 THEN 'Word' WHEN 1 THEN 'word' ELSE 'WORD' END || {n} % 1000)"
            )
        }
        Ty::Text(_) => format!(
            "CASE WHEN {r} % 211 = 0 THEN repeat(md5({n}::text), ({r} % 90)::int4) \
             WHEN {r} % 5 = 0 THEN 'W' || {n} WHEN {r} % 7 = 0 THEN 'wört ' || {n} ELSE 'w' || {n} END"
        ),
        Ty::Varchar => format!(
            "left('v' || {n} || CASE WHEN {r} % 9 = 0 THEN 'é' ELSE '' END, 20)::varchar(20)"
        ),
        Ty::Char => format!("({n} % 1000)::text::char(8)"),
        Ty::Bool => format!("({n} % 3 <> 0)"),
        Ty::Date => format!("(date '1995-01-01' + ({n} % 12000)::int4)"),
        Ty::Timestamp => format!("(timestamp '2001-01-01' + {n} * interval '977.000013 seconds')"),
        Ty::Timestamptz => {
            format!("(timestamptz '2001-01-01 00:00:00+00' + {n} * interval '1777.5 seconds')")
        }
        Ty::Interval => format!(
            "CASE {r} % 3 WHEN 0 THEN {n} % 400 * interval '1 day' WHEN 1 THEN {n} % 14 * interval '1 month' \
             ELSE {n} % 100000 * interval '1 minute' END"
        ),
        Ty::Uuid => format!("md5({n}::text)::uuid"),
        Ty::Bytea => {
            format!("substring(decode(md5({n}::text), 'hex') from 1 for 1 + ({r} % 16)::int4)")
        }
        Ty::Jsonb => format!(
            "CASE {r} % 4 WHEN 0 THEN jsonb_build_array({n} % 7, {n}::text) WHEN 1 THEN to_jsonb({n}) \
             ELSE jsonb_build_object('k', {n} % 50, 't', ({n} % 9)::text, 'a', jsonb_build_array({n} % 7)) END"
        ),
        Ty::IntArray => {
            format!(
                "CASE {r} % 3 WHEN 0 THEN ARRAY[({n} % 10)::int4] ELSE ARRAY[({n} % 10)::int4, ({n} % 100)::int4, NULL] END"
            )
        }
        Ty::Enum => format!(
            "(ARRAY['red', 'green', 'blue', 'a longer label']::oracle_enum[])[1 + ({n} % 4)::int4]"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{Profile, Spread, any_constant, extremes, quote, series};
    use crate::types::ALL;
    use difftest::draw::Draw;

    #[test]
    fn constants_are_named_by_the_seed() {
        for (_, ty) in ALL {
            let run = |seed| {
                let mut draw = Draw::new(seed, 0);
                (0..40).map(|_| any_constant(&mut draw, *ty)).collect::<Vec<_>>()
            };
            assert_eq!(run(3), run(3));
            assert!(run(3).iter().all(|c| c.ends_with(ty.name())), "{ty:?}");
        }
    }

    #[test]
    fn tame_floats_have_no_extreme_that_makes_sums_inexact() {
        for ty in [crate::types::Ty::Float4, crate::types::Ty::Float8] {
            for value in extremes(ty, false) {
                let value: f64 = value.parse().expect("a float");
                assert!(!value.is_finite() || (value * 8.0).fract() == 0.0 && value.abs() < 1e6);
            }
        }
    }

    #[test]
    fn a_series_of_nulls_is_one_null() {
        let profile = Profile { spread: Spread::Random, nulls: 100, extremes: 4, wild: true };
        assert_eq!(series(crate::types::Ty::Int4, profile, 1, "g"), "NULL::int4");
        assert_eq!(quote("it's"), "'it''s'");
    }
}
