//! Dates and timestamps: comparisons across both, truncation, fields.

use super::collation;
use super::functions::TimeSource;
use super::refusal::Refusal;
use columnar_exec::expr::{CastTo, CompareOp, ExtractField, TimeUnit};
use columnar_exec::{Expr, Scalar};

/// No date has this number: it is compared as unequal to all.
const NO_DATE: i64 = i64::MAX;

fn compare(op: CompareOp, left: Expr, right: Expr) -> Expr {
    Expr::Compare { op, left: Box::new(left), right: Box::new(right) }
}

/// The day a timestamp lies in.
fn day_of(timestamp: &Expr) -> Expr {
    Expr::TimestampToDate(Box::new(timestamp.clone()))
}

/// Whether a timestamp is a midnight or infinite, which are the timestamps of dates.
fn is_midnight(timestamp: &Expr) -> Expr {
    let midnight = Expr::DateTrunc { unit: TimeUnit::Day, arg: Box::new(timestamp.clone()) };
    compare(CompareOp::Eq, timestamp.clone(), midnight)
}

/// `date op timestamp`. The timestamp is turned into a date rather than the date into a timestamp, since there are dates
/// beyond the last timestamp, and since dates have zone maps.
pub fn compare_date_timestamp(op: CompareOp, date: Expr, timestamp: Expr) -> Expr {
    let bound = match op {
        CompareOp::Le | CompareOp::Gt => fold_day(day_of(&timestamp)),
        // The first date not before the timestamp.
        CompareOp::Lt | CompareOp::Ge => {
            let next = Expr::DateAddDays {
                date: Box::new(day_of(&timestamp)),
                days: Box::new(Expr::Const(Scalar::Int(1))),
                subtract: false,
            };
            choose(&timestamp, next)
        }
        CompareOp::Eq | CompareOp::Ne => choose(&timestamp, Expr::Const(Scalar::Int(NO_DATE))),
    };
    compare(op, date, bound)
}

/// The date of a midnight, `otherwise` for other timestamps, NULL for NULL.
fn choose(timestamp: &Expr, otherwise: Expr) -> Expr {
    if let Expr::Const(Scalar::Int(at)) = timestamp {
        return constant_bound(*at, &otherwise);
    }
    Expr::Case {
        whens: vec![
            (Expr::IsNull(Box::new(timestamp.clone())), Expr::Const(Scalar::Null)),
            (is_midnight(timestamp), day_of(timestamp)),
        ],
        otherwise: Some(Box::new(otherwise)),
    }
}

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// [`choose`] for a constant, computed now so that zone maps can be asked.
fn constant_bound(at: i64, otherwise: &Expr) -> Expr {
    let day = constant_day(at);
    let midnight = at == i64::MIN || at == i64::MAX || at.rem_euclid(DAY) == 0;
    Expr::Const(Scalar::Int(match (midnight, otherwise) {
        (true, _) => day,
        (false, Expr::Const(Scalar::Int(value))) => *value,
        (false, _) => day + 1,
    }))
}

/// The date of a timestamp; infinities are those of dates.
fn constant_day(at: i64) -> i64 {
    match at {
        i64::MIN => i64::from(i32::MIN),
        i64::MAX => i64::from(i32::MAX),
        _ => at.div_euclid(DAY),
    }
}

/// A constant timestamp as the date it lies in, for bounds that are compared with dates.
fn fold_day(expr: Expr) -> Expr {
    match expr {
        Expr::TimestampToDate(arg) => match *arg {
            Expr::Const(Scalar::Int(at)) => Expr::Const(Scalar::Int(constant_day(at))),
            Expr::Const(Scalar::Null) => Expr::Const(Scalar::Null),
            arg => Expr::TimestampToDate(Box::new(arg)),
        },
        other => other,
    }
}

/// Truncation; with a time zone only while that is UTC.
pub fn date_trunc(unit: &[u8], arg: Expr, zoned: bool) -> Result<Expr, Refusal> {
    if zoned && !collation::session_is_utc() {
        return Err(Refusal::TimeZone);
    }
    let unit = match field_name(unit).as_str() {
        "microsecond" => TimeUnit::Microsecond,
        "millisecond" => TimeUnit::Millisecond,
        "second" => TimeUnit::Second,
        "minute" => TimeUnit::Minute,
        "hour" => TimeUnit::Hour,
        "day" => TimeUnit::Day,
        "week" => TimeUnit::Week,
        "month" => TimeUnit::Month,
        "quarter" => TimeUnit::Quarter,
        "year" => TimeUnit::Year,
        other => return Err(Refusal::Function(format!("date_trunc({other})"))),
    };
    Ok(Expr::DateTrunc { unit, arg: Box::new(arg) })
}

/// A field and the number of decimal places it has.
pub fn extract(
    field: &[u8],
    arg: Expr,
    source: TimeSource,
    float: bool,
) -> Result<(Expr, u8), Refusal> {
    let name = field_name(field);
    let refuse = || Refusal::Function(format!("extract({name})"));
    let from_date = source == TimeSource::Date;
    let (kind, scale) = match name.as_str() {
        "microsecond" => (ExtractField::Microseconds, 0),
        "millisecond" => (ExtractField::Milliseconds, 3),
        "second" => (ExtractField::Second, 6),
        "minute" => (ExtractField::Minute, 0),
        "hour" => (ExtractField::Hour, 0),
        "day" => (ExtractField::Day, 0),
        "month" => (ExtractField::Month, 0),
        "quarter" => (ExtractField::Quarter, 0),
        "year" => (ExtractField::Year, 0),
        "dow" => (ExtractField::DayOfWeek, 0),
        "isodow" => (ExtractField::IsoDayOfWeek, 0),
        "doy" => (ExtractField::DayOfYear, 0),
        "week" => (ExtractField::IsoWeek, 0),
        "isoyear" => (ExtractField::IsoYear, 0),
        "epoch" if from_date => (ExtractField::Epoch, 0),
        "epoch" => (ExtractField::Epoch, 6),
        _ => return Err(refuse()),
    };
    // Fields within a day are an error for dates, which PostgreSQL raises.
    let within_day = matches!(
        kind,
        ExtractField::Microseconds
            | ExtractField::Milliseconds
            | ExtractField::Second
            | ExtractField::Minute
            | ExtractField::Hour
    );
    // date_part() computes fields with decimal places in float8, which rounds otherwise.
    // Those that grow without bound are infinite for infinite times, which no decimal is.
    let unbounded =
        matches!(kind, ExtractField::Year | ExtractField::IsoYear | ExtractField::Epoch);
    if from_date && within_day || float && scale != 0 || unbounded {
        return Err(refuse());
    }
    let zoned = source == TimeSource::TimestampTz && kind != ExtractField::Epoch;
    if zoned && !collation::session_is_utc() {
        return Err(Refusal::TimeZone);
    }
    let expr = Expr::Extract { field: kind, from_date, arg: Box::new(arg) };
    Ok(if float {
        (Expr::Cast { to: CastTo::Float64, arg: Box::new(expr) }, 0)
    } else {
        (expr, scale)
    })
}

/// The name of a field in lower case, in the singular.
fn field_name(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let plural = [
        "microseconds",
        "milliseconds",
        "seconds",
        "minutes",
        "hours",
        "days",
        "weeks",
        "months",
        "years",
    ];
    match plural.contains(&name.as_str()) {
        true => name.trim_end_matches('s').to_owned(),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound that column 0 is compared with.
    fn bound(op: CompareOp, at: i64) -> i64 {
        let timestamp = Expr::Const(Scalar::Int(at));
        match compare_date_timestamp(op, Expr::Column(0), timestamp) {
            Expr::Compare { op: kept, right, .. } if kept == op => match *right {
                Expr::Const(Scalar::Int(day)) => day,
                other => panic!("{other:?} is no constant"),
            },
            other => panic!("{other:?} is no comparison"),
        }
    }

    #[test]
    fn constant_timestamps_become_dates() {
        let holds = |op, date: i64, day: i64| match op {
            CompareOp::Eq => date == day,
            CompareOp::Ne => date != day,
            CompareOp::Lt => date < day,
            CompareOp::Le => date <= day,
            CompareOp::Gt => date > day,
            CompareOp::Ge => date >= day,
        };
        let ops = [
            CompareOp::Eq,
            CompareOp::Ne,
            CompareOp::Lt,
            CompareOp::Le,
            CompareOp::Gt,
            CompareOp::Ge,
        ];
        for at in [-DAY - 1, -DAY, -1, 0, 1, DAY - 1, DAY, DAY + 1] {
            for date in -3..=3 {
                for op in ops {
                    let expected = holds(op, date * DAY, at);
                    assert_eq!(holds(op, date, bound(op, at)), expected, "{date} {op:?} {at}");
                }
            }
        }
        assert_eq!(bound(CompareOp::Lt, i64::MAX), i64::from(i32::MAX));
        assert_eq!(bound(CompareOp::Ge, i64::MIN), i64::from(i32::MIN));
        assert_eq!(bound(CompareOp::Eq, i64::MAX), i64::from(i32::MAX));
    }

    #[test]
    fn fields_are_named_in_the_singular() {
        assert_eq!(field_name(b"YEARS"), "year");
        assert_eq!(field_name(b"microseconds"), "microsecond");
        assert_eq!(field_name(b"days"), "day");
        assert_eq!(field_name(b"dows"), "dows");
    }

    #[test]
    fn fields_have_the_scale_of_numeric() {
        let scale = |field: &[u8], source, float| {
            extract(field, Expr::Column(0), source, float).map(|(_, scale)| scale).ok()
        };
        assert_eq!(scale(b"second", TimeSource::Timestamp, false), Some(6));
        assert_eq!(scale(b"milliseconds", TimeSource::Timestamp, false), Some(3));
        assert_eq!(scale(b"epoch", TimeSource::Date, false), Some(0));
        assert_eq!(scale(b"epoch", TimeSource::TimestampTz, false), Some(6));
        assert_eq!(scale(b"epoch", TimeSource::Timestamp, true), None);
        assert_eq!(scale(b"hour", TimeSource::Date, false), None);
        assert_eq!(scale(b"century", TimeSource::Timestamp, false), None);
    }
}
