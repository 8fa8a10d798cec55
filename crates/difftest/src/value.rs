//! Random values: as input text (for literals and COPY) and as expressions over a series (for bulk statements).

use crate::draw::Draw;
use crate::sqltype::SqlType;

/// How the values of a column are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Percentage of NULLs.
    pub nulls: u64,
    /// Number of distinct ordinary values.
    pub spread: u64,
    /// Of 10,000 values of a text-like type, how many are wide enough to be stored out of line.
    pub wide: u64,
}

/// A value in the type's input form; `None` is NULL.
pub fn text(draw: &mut Draw, ty: SqlType, profile: Profile) -> Option<String> {
    if draw.chance(profile.nulls) {
        return None;
    }
    if draw.chance(4) {
        return Some(extreme(draw, ty));
    }
    if draw.below(10_000) < profile.wide
        && let Some(wide) = wide(draw, ty)
    {
        return Some(wide);
    }
    let v = draw.below(profile.spread);
    Some(ordinary(ty, v))
}

/// The value as an SQL literal with its cast.
pub fn literal(draw: &mut Draw, ty: SqlType, profile: Profile) -> String {
    match text(draw, ty, profile) {
        None => format!("NULL::{}", ty.name()),
        Some(value) => format!("{}::{}", quote(&value), ty.name()),
    }
}

/// A string constant under standard_conforming_strings.
pub fn quote(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// A field of COPY's text format.
pub fn copy_field(value: Option<&str>) -> String {
    match value {
        None => "\\N".into(),
        Some(value) => value
            .replace('\\', "\\\\")
            .replace('\t', "\\t")
            .replace('\n', "\\n")
            .replace('\r', "\\r"),
    }
}

/// The `v`-th ordinary value.
fn ordinary(ty: SqlType, v: u64) -> String {
    match ty {
        SqlType::Int2 => (v % 30_000).to_string(),
        SqlType::Int4 | SqlType::Int8 => (v as i64 - 50).to_string(),
        SqlType::Decimal => format!("{}.{:02}", v % 90_000_000, v % 100),
        SqlType::Numeric => match v % 3 {
            0 => v.to_string(),
            1 => format!("-{v}.{v}0"),
            _ => format!("{v}.{:05}", v % 100_000),
        },
        SqlType::Float4 | SqlType::Float8 => format!("{}", v as f64 / 8.0 - 10.0),
        SqlType::Text(_) => match v % 5 {
            0 => format!("W{v}"),
            1 => format!("a longer text about {v}, again {v}"),
            _ => format!("w{v}"),
        },
        SqlType::Varchar(..) => format!("vc {v}"),
        SqlType::Char(_) => format!("{}", v % 1_000),
        SqlType::Bytea => format!("\\x{:08x}", v.wrapping_mul(2_654_435_761) % (1 << 32)),
        SqlType::Date => {
            format!("{:04}-{:02}-{:02}", 1990 + v / 336 % 60, v / 28 % 12 + 1, v % 28 + 1)
        }
        SqlType::Timestamptz => {
            format!(
                "2001-{:02}-{:02} {:02}:00:00.{:06}+00",
                v / 672 % 12 + 1,
                v / 24 % 28 + 1,
                v % 24,
                v % 1_000_000
            )
        }
        SqlType::Uuid => {
            format!("{:08x}-0000-4000-8000-{:012x}", v.wrapping_mul(2_654_435_761) % (1 << 32), v)
        }
        SqlType::Jsonb => match v % 4 {
            0 => format!("{{\"k\": {}, \"t\": \"x{v}\"}}", v % 50),
            1 => format!("[{v}, {}, null]", v % 7),
            2 => format!("{{\"k\": \"{v}\", \"deep\": {{\"a\": [{v}]}}}}"),
            _ => format!("{v}.50"),
        },
        SqlType::IntArray => format!("{{{},{},{}}}", v % 10, v % 100, v),
        SqlType::Domain => (v % 100_000).to_string(),
        SqlType::Enum => {
            ["red", "green", "blue", "a very long label of an enum"][v as usize % 4].into()
        }
        SqlType::Composite => format!("({},\"b {v}\")", v % 20),
        SqlType::Bool => if v.is_multiple_of(2) { "t" } else { "f" }.into(),
        SqlType::Interval => match v % 3 {
            0 => format!("{} days", v % 400),
            1 => format!("{} mons", v % 14),
            _ => format!("{v} seconds"),
        },
        SqlType::Inet => format!("10.{}.{}.{}", v >> 16 & 255, v >> 8 & 255, v & 255),
    }
}

/// A value at an edge of the type: its limits, its empty value, values that are equal but print differently.
fn extreme(draw: &mut Draw, ty: SqlType) -> String {
    let from: &[&str] = match ty {
        SqlType::Int2 => &["-32768", "32767", "0"],
        SqlType::Int4 => &["-2147483648", "2147483647", "0", "-1"],
        SqlType::Int8 => &["-9223372036854775808", "9223372036854775807", "0", "4294967296"],
        SqlType::Decimal => &["99999999.99", "-99999999.99", "0", "0.01", "NaN"],
        SqlType::Numeric => &[
            "NaN",
            "Infinity",
            "-Infinity",
            "0.00",
            "-0.0",
            "1.1",
            "1.10",
            "1e300",
            "1e-200",
            "123456789012345678901234567890.5",
        ],
        SqlType::Float4 => &["NaN", "Infinity", "-Infinity", "-0", "0", "1e-45", "3.4028235e38"],
        SqlType::Float8 => {
            &["NaN", "Infinity", "-Infinity", "-0", "0", "5e-324", "1.7976931348623157e308"]
        }
        SqlType::Text(_) => &[
            "",
            " ",
            "a",
            "A",
            "É",
            "e\u{301}",
            "ß",
            "ss",
            "tab\there",
            "line\nbreak",
            "back\\slash",
            "quo'te",
            "\\N",
            "\u{1F600}",
        ],
        SqlType::Varchar(..) => &["", " ", "a", "A", "Zz", "\u{1F600}", "trailing  "],
        SqlType::Char(_) => &["", "abcdef", "a", "É"],
        SqlType::Bytea => &["\\x", "\\x00", "\\xff", "\\x0000ff"],
        SqlType::Date => {
            &["infinity", "-infinity", "4713-01-01 BC", "5874897-12-31", "2000-01-01", "1999-12-31"]
        }
        SqlType::Timestamptz => &[
            "infinity",
            "-infinity",
            "4713-01-01 00:00:00+00 BC",
            "294276-12-31 23:59:59.999999+00",
            "2000-01-01 00:00:00+00",
        ],
        SqlType::Uuid => {
            &["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"]
        }
        SqlType::Jsonb => &["null", "{}", "[]", "\"\"", "1.0", "1.00", "true", "{\"k\": null}"],
        SqlType::IntArray => &["{}", "{NULL}", "{1,NULL,3}", "{{1,2},{3,4}}", "[5:6]={7,8}"],
        SqlType::Domain => &["-999", "2147483647", "0", "-5000"],
        SqlType::Enum => &["red", "blue"],
        SqlType::Composite => &["(,)", "(1,)", "(,\"\")", "(-1,\"a,b\")"],
        SqlType::Bool => &["t", "f"],
        SqlType::Interval => {
            &["1 mon", "30 days", "720:00:00", "-1 mon", "0", "178000000 years", "-1 mon +30 days"]
        }
        SqlType::Inet => &["0.0.0.0/0", "255.255.255.255", "::1", "10.0.0.0/8", "fe80::/10"],
    };
    (*draw.pick(from)).to_string()
}

/// A value that is stored out of line, or compressed; `None` for types that cannot be long.
fn wide(draw: &mut Draw, ty: SqlType) -> Option<String> {
    let length = draw.weighted(&[(6, 2_500), (3, 9_000), (1, 70_000)]);
    let noise = |draw: &mut Draw| -> String {
        (0..length / 16).map(|_| format!("{:016x}", draw.below(u64::MAX))).collect()
    };
    let plain = |draw: &mut Draw| {
        if draw.chance(50) { noise(draw) } else { "compress me ".repeat(length / 12) }
    };
    match ty {
        SqlType::Text(_) => Some(plain(draw)),
        SqlType::Bytea => Some(format!("\\x{}", noise(draw))),
        SqlType::Jsonb => Some(format!("{{\"wide\": \"{}\"}}", plain(draw))),
        SqlType::Composite => Some(format!("(7,\"{}\")", plain(draw))),
        SqlType::IntArray => {
            let items: Vec<String> =
                (0..length / 8).map(|_| draw.below(1 << 31).to_string()).collect();
            Some(format!("{{{}}}", items.join(",")))
        }
        _ => None,
    }
}

/// An expression of type `ty` over the bigint expression `n` (not negative), for INSERT ... SELECT and UPDATE.
pub fn series(draw: &mut Draw, ty: SqlType, profile: Profile, n: &str) -> String {
    let factor = *draw.pick(&[1_i64, 1, 7, 7919]);
    let offset = draw.below(1_000);
    let e = format!("(({n}) * {factor} + {offset}) % {}", profile.spread.max(1));
    let value = match ty {
        SqlType::Int2 => format!("(({e}) % 30000)::int2"),
        SqlType::Int4 => format!("({e})::int4"),
        SqlType::Int8 => format!("({e})::int8"),
        SqlType::Decimal => format!("((({e}) % 1000000) / 7.0)::numeric(10,2)"),
        SqlType::Numeric => format!("(({e}) * 1.25)::numeric"),
        SqlType::Float4 => format!("(({e}) / 8.0)::float4"),
        SqlType::Float8 => format!("(({e}) / 3.0)::float8"),
        SqlType::Text(_) if profile.wide > 0 => format!(
            "CASE WHEN ({n}) % 1999 = 7 THEN (SELECT string_agg(md5((x + {offset})::text), '') FROM generate_series(1, 300) x) \
             ELSE 'w' || ({e}) END"
        ),
        SqlType::Text(_) => format!("'w' || ({e})"),
        SqlType::Varchar(width, _) => format!("left('vc ' || ({e}), {width})::varchar({width})"),
        SqlType::Char(width) => format!("(({e}) % 1000)::text::char({width})"),
        SqlType::Bytea => format!("decode(md5(({e})::text), 'hex')"),
        SqlType::Date => format!("(date '1990-01-01' + (({e}) % 20000)::int4)"),
        SqlType::Timestamptz => {
            format!("(timestamptz '2001-01-01 00:00:00+00' + ({e}) * interval '1 minute')")
        }
        SqlType::Uuid => format!("md5(({e})::text)::uuid"),
        SqlType::Jsonb => format!("jsonb_build_object('k', ({e}) % 50, 't', ({e})::text)"),
        SqlType::IntArray => format!("ARRAY[(({e}) % 10)::int4, (({e}) % 100)::int4]"),
        SqlType::Domain => format!("(({e}) % 100000)::int4::dt_domain"),
        SqlType::Enum => {
            format!("(ARRAY['red', 'green', 'blue']::dt_enum[])[1 + (({e}) % 3)::int4]")
        }
        SqlType::Composite => format!("ROW((({e}) % 20)::int4, 'b ' || ({e}))::dt_pair"),
        SqlType::Bool => format!("(({e}) % 2 = 0)"),
        SqlType::Interval => format!("(({e}) * interval '1 hour')"),
        SqlType::Inet => format!("('10.0.' || (({e}) / 256 % 256) || '.' || (({e}) % 256))::inet"),
    };
    match profile.nulls {
        0 => value,
        100 => format!("NULL::{}", ty.name()),
        nulls => {
            format!("CASE WHEN (({n}) * 31 + {offset}) % 100 < {nulls} THEN NULL ELSE {value} END")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Profile, copy_field, literal, quote, series, text};
    use crate::draw::Draw;
    use crate::sqltype::ALL;

    const PROFILE: Profile = Profile { nulls: 20, spread: 1_000, wide: 300 };

    #[test]
    fn values_are_named_by_the_seed() {
        for (_, ty) in ALL {
            let run = |seed| {
                let mut draw = Draw::new(seed, 0);
                (0..50).map(|_| text(&mut draw, *ty, PROFILE)).collect::<Vec<_>>()
            };
            assert_eq!(run(3), run(3), "{ty:?}");
            assert!(run(3).iter().any(Option::is_none), "{ty:?} draws no NULL");
        }
    }

    #[test]
    fn values_never_hold_the_placeholder() {
        let mut draw = Draw::new(5, 0);
        for (_, ty) in ALL {
            for _ in 0..200 {
                assert!(!literal(&mut draw, *ty, PROFILE).contains("@@"));
            }
            assert!(!series(&mut draw, *ty, PROFILE, "g").contains("@@"));
        }
    }

    #[test]
    fn escapes() {
        assert_eq!(quote("it's"), "'it''s'");
        assert_eq!(copy_field(None), "\\N");
        assert_eq!(copy_field(Some("\\N\t\n")), "\\\\N\\t\\n");
    }
}
