//! Kernels of dates and timestamps, as date.c and timestamp.c define them.

use std::sync::Arc;

use super::calendar::{
    DATE_NOBEGIN, DATE_NOEND, DAY, END_DATE, END_TIMESTAMP_DATE, MIN_DATE, MIN_TIMESTAMP,
    UNIX_EPOCH_SECONDS, civil, day_of, day_of_year, days_of, iso_week, shown_year, weekday,
};
use super::operand::{
    NullMask, Operand, any_null_constant, checked1, checked2, decimal_column, int_column, ints,
    lend, map1, null_column, union_nulls,
};
use super::{ExtractField, TimeUnit};
use crate::column::Column;
use crate::error::ExecError;

fn out_of_range(message: &str) -> ExecError {
    ExecError::Sql { sqlstate: "22008", message: message.to_owned() }
}

/// Whether a timestamp is -infinity or infinity.
#[inline]
fn infinite(timestamp: i64) -> bool {
    (timestamp == i64::MIN) | (timestamp == i64::MAX)
}

#[inline]
fn infinite_date(date: i64) -> bool {
    (date == DATE_NOBEGIN) | (date == DATE_NOEND)
}

/// Rounds down to a multiple; days begin at multiples of all units up to a day.
#[inline]
fn floor<const UNIT: i64>(timestamp: i64) -> i64 {
    let floor = timestamp.wrapping_sub(timestamp.rem_euclid(UNIT));
    if infinite(timestamp) { timestamp } else { floor }
}

/// date_trunc() of one timestamp. A month, quarter or year may begin before the first timestamp.
#[inline]
fn trunc(unit: TimeUnit, timestamp: i64) -> i64 {
    if infinite(timestamp) {
        return timestamp;
    }
    let day = day_of(timestamp);
    let first = match unit {
        TimeUnit::Microsecond => return timestamp,
        TimeUnit::Millisecond => return floor::<1_000>(timestamp),
        TimeUnit::Second => return floor::<1_000_000>(timestamp),
        TimeUnit::Minute => return floor::<60_000_000>(timestamp),
        TimeUnit::Hour => return floor::<3_600_000_000>(timestamp),
        TimeUnit::Day => return floor::<DAY>(timestamp),
        TimeUnit::Week => day - weekday(day),
        TimeUnit::Month => day - civil(day).day + 1,
        TimeUnit::Quarter => {
            let date = civil(day);
            days_of(date.year, (date.month - 1) / 3 * 3 + 1, 1)
        }
        TimeUnit::Year => days_of(civil(day).year, 1, 1),
    };
    first.wrapping_mul(DAY)
}

/// date_trunc() of one timestamp, `None` where it is an error.
pub(crate) fn trunc_one(unit: TimeUnit, timestamp: i64) -> Option<i64> {
    let value = trunc(unit, timestamp);
    (infinite(value) || value >= MIN_TIMESTAMP).then_some(value)
}

/// date_trunc().
pub(super) fn date_trunc(unit: TimeUnit, arg: &Column) -> Result<Column, ExecError> {
    if any_null_constant(&[arg]) {
        return Ok(null_column(arg.len));
    }
    let (nulls, rows, values) = (union_nulls(&[arg]), arg.len, ints(arg));
    let values = match unit {
        TimeUnit::Microsecond => return Ok(arg.clone()),
        TimeUnit::Millisecond => map1(values, rows, floor::<1_000>),
        TimeUnit::Second => map1(values, rows, floor::<1_000_000>),
        TimeUnit::Minute => map1(values, rows, floor::<60_000_000>),
        TimeUnit::Hour => map1(values, rows, floor::<3_600_000_000>),
        TimeUnit::Day => map1(values, rows, floor::<DAY>),
        TimeUnit::Week => map1(values, rows, |value| trunc(TimeUnit::Week, value)),
        TimeUnit::Month | TimeUnit::Quarter | TimeUnit::Year => {
            let fast = |value: i64| {
                let first = trunc(unit, value);
                (first, (first < MIN_TIMESTAMP) & (value != i64::MIN))
            };
            let check = |value: i64| match trunc_one(unit, value) {
                Some(_) => Ok(()),
                None => Err(out_of_range("timestamp out of range")),
            };
            checked1(values, lend(&nulls), rows, fast, check)?
        }
    };
    Ok(int_column(values, nulls))
}

/// Whether a field grows with time, so that it is infinite at infinity; others are NULL there.
pub(super) fn is_monotonic(field: ExtractField) -> bool {
    matches!(field, ExtractField::Year | ExtractField::IsoYear | ExtractField::Epoch)
}

/// Whether a date has the field.
pub(super) fn is_of_date(field: ExtractField) -> bool {
    !matches!(
        field,
        ExtractField::Microseconds
            | ExtractField::Milliseconds
            | ExtractField::Second
            | ExtractField::Minute
            | ExtractField::Hour
    )
}

/// extract(), with PostgreSQL's scale.
pub(super) fn extract(
    field: ExtractField,
    from_date: bool,
    arg: &Column,
) -> Result<Column, ExecError> {
    let rows = arg.len;
    if any_null_constant(&[arg]) {
        return Ok(null_column(rows));
    }
    if from_date && !is_of_date(field) {
        return Err(ExecError::Unsupported);
    }
    let values = ints(arg);
    let mut nulls = union_nulls(&[arg]);
    if let Some(unbounded) = infinities(values, rows, from_date) {
        let all: Vec<bool> = (0..rows).map(|row| unbounded[row] | arg.is_null(row)).collect();
        if is_monotonic(field) && (0..rows).any(|row| unbounded[row] && !arg.is_null(row)) {
            return Err(ExecError::Unsupported);
        }
        nulls = Some(Arc::new(all));
    }
    let column = |scale: u8, f: &dyn Fn(Operand<'_, i64>) -> Vec<i128>, nulls: NullMask| {
        decimal_column(f(values), scale, nulls)
    };
    /// One loop for each field and source, the conversion to days inlined.
    macro_rules! of_day {
        ($f:expr) => {{
            let f = $f;
            if from_date {
                column(0, &|values| map1(values, rows, |day| i128::from(f(day))), nulls)
            } else {
                column(0, &|values| map1(values, rows, |at| i128::from(f(day_of(at)))), nulls)
            }
        }};
    }
    macro_rules! of_time {
        ($scale:expr, $f:expr) => {{
            let f = $f;
            column($scale, &|values| map1(values, rows, |at: i64| i128::from(f(at))), nulls)
        }};
    }
    Ok(match field {
        // The three fields of seconds are one number with the point at different places.
        ExtractField::Microseconds => of_time!(0, |at: i64| at.rem_euclid(60_000_000)),
        ExtractField::Milliseconds => of_time!(3, |at: i64| at.rem_euclid(60_000_000)),
        ExtractField::Second => of_time!(6, |at: i64| at.rem_euclid(60_000_000)),
        ExtractField::Minute => of_time!(0, |at: i64| at.rem_euclid(3_600_000_000) / 60_000_000),
        ExtractField::Hour => of_time!(0, |at: i64| at.rem_euclid(DAY) / 3_600_000_000),
        ExtractField::Day => of_day!(|day| civil(day).day),
        ExtractField::Month => of_day!(|day| civil(day).month),
        ExtractField::Quarter => of_day!(|day| (civil(day).month - 1) / 3 + 1),
        ExtractField::Year => of_day!(|day| shown_year(civil(day).year)),
        ExtractField::DayOfWeek => of_day!(|day| (weekday(day) + 1) % 7),
        ExtractField::IsoDayOfWeek => of_day!(|day| weekday(day) + 1),
        ExtractField::DayOfYear => of_day!(day_of_year),
        ExtractField::IsoWeek => of_day!(|day| iso_week(day).1),
        ExtractField::IsoYear => of_day!(|day| shown_year(iso_week(day).0)),
        ExtractField::Epoch if from_date => column(
            0,
            &|values| {
                map1(values, rows, |day| i128::from(day) * 86_400 + i128::from(UNIX_EPOCH_SECONDS))
            },
            nulls,
        ),
        ExtractField::Epoch => {
            let epoch = i128::from(UNIX_EPOCH_SECONDS) * 1_000_000;
            column(6, &|values| map1(values, rows, |at| i128::from(at) + epoch), nulls)
        }
    })
}

/// Which values are infinite, if any is.
fn infinities(values: Operand<'_, i64>, rows: usize, of_dates: bool) -> Option<Vec<bool>> {
    let test = if of_dates { infinite_date } else { infinite };
    let any = match values {
        Operand::Const(value) => test(value),
        // Without a way out, so that the loop vectorizes.
        Operand::Slice(values) if of_dates => {
            values.iter().fold(false, |any, &value| any | infinite_date(value))
        }
        Operand::Slice(values) => values.iter().fold(false, |any, &value| any | infinite(value)),
    };
    any.then(|| map1(values, rows, test))
}

/// Date to timestamp, `None` where it is out of range.
pub(crate) fn date_to_timestamp_one(date: i64) -> Option<i64> {
    match date {
        DATE_NOBEGIN => Some(i64::MIN),
        DATE_NOEND => Some(i64::MAX),
        date => (date < END_TIMESTAMP_DATE).then(|| date.wrapping_mul(DAY)),
    }
}

/// Date to timestamp.
pub(super) fn date_to_timestamp(arg: &Column) -> Result<Column, ExecError> {
    if any_null_constant(&[arg]) {
        return Ok(null_column(arg.len));
    }
    let nulls = union_nulls(&[arg]);
    let fast = |date: i64| match date_to_timestamp_one(date) {
        Some(timestamp) => (timestamp, false),
        None => (0, true),
    };
    let check = |date: i64| match date_to_timestamp_one(date) {
        Some(_) => Ok(()),
        None => Err(out_of_range("date out of range for timestamp")),
    };
    Ok(int_column(checked1(ints(arg), lend(&nulls), arg.len, fast, check)?, nulls))
}

/// Timestamp to date.
#[inline]
pub(crate) fn timestamp_to_date_one(timestamp: i64) -> i64 {
    match timestamp {
        i64::MIN => DATE_NOBEGIN,
        i64::MAX => DATE_NOEND,
        timestamp => day_of(timestamp),
    }
}

/// Timestamp to date.
pub(super) fn timestamp_to_date(arg: &Column) -> Column {
    if any_null_constant(&[arg]) {
        return null_column(arg.len);
    }
    int_column(map1(ints(arg), arg.len, timestamp_to_date_one), union_nulls(&[arg]))
}

/// Date plus or minus days.
pub(super) fn add_days(date: &Column, days: &Column, subtract: bool) -> Result<Column, ExecError> {
    let rows = date.len;
    if any_null_constant(&[date, days]) {
        return Ok(null_column(rows));
    }
    let nulls = union_nulls(&[date, days]);
    let fast = |date: i64, days: i64| {
        let days = if subtract { days.wrapping_neg() } else { days };
        let moved = date.wrapping_add(days);
        if infinite_date(date) {
            (date, false)
        } else {
            (moved, !((MIN_DATE..END_DATE).contains(&moved)))
        }
    };
    let check = |date: i64, days: i64| {
        if fast(date, days).1 { Err(out_of_range("date out of range")) } else { Ok(()) }
    };
    Ok(int_column(checked2(ints(date), ints(days), lend(&nulls), rows, fast, check)?, nulls))
}

/// Days between dates.
pub(super) fn date_diff(left: &Column, right: &Column) -> Result<Column, ExecError> {
    let rows = left.len;
    if any_null_constant(&[left, right]) {
        return Ok(null_column(rows));
    }
    let nulls = union_nulls(&[left, right]);
    let fast = |a: i64, b: i64| (a.wrapping_sub(b), infinite_date(a) | infinite_date(b));
    let check = |a: i64, b: i64| {
        if fast(a, b).1 { Err(out_of_range("cannot subtract infinite dates")) } else { Ok(()) }
    };
    Ok(int_column(checked2(ints(left), ints(right), lend(&nulls), rows, fast, check)?, nulls))
}
