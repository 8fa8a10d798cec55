use super::*;
use crate::expr::calendar::{Civil, civil, days_of, iso_week, weekday};
use crate::expr::{ExtractField, TimeUnit};

const DAY: i64 = 86_400_000_000;
const MIN_TIMESTAMP: i64 = -211_813_488_000_000_000;

fn at(year: i64, month: i64, day: i64, time: i64) -> i64 {
    days_of(year, month, day) * DAY + time
}

fn clock(hours: i64, minutes: i64, micros: i64) -> i64 {
    (hours * 60 + minutes) * 60_000_000 + micros
}

fn trunc(unit: TimeUnit, value: i64) -> Result<Vec<Scalar>, ExecError> {
    eval(&Expr::DateTrunc { unit, arg: column(0) }, &[ints(&[Some(value)])])
}

fn extract(field: ExtractField, from_date: bool, value: i64) -> Result<Vec<Scalar>, ExecError> {
    eval(&Expr::Extract { field, from_date, arg: column(0) }, &[ints(&[Some(value)])])
}

#[test]
fn the_calendar_is_the_gregorian_one() {
    assert_eq!(days_of(2000, 1, 1), 0);
    assert_eq!(days_of(1970, 1, 1), -10_957);
    // The first day of PostgreSQL, 4714-11-24 BC, and the first that is none.
    assert_eq!(days_of(-4713, 11, 24), -2_451_545);
    assert_eq!(days_of(5_874_898, 1, 1), 2_147_483_494 - 2_451_545);
    let mut days = days_of(-4713, 11, 24);
    let mut date = Civil { year: -4713, month: 11, day: 24 };
    let mut monday = 0;
    // 2,000 years on each side of zero, day by day.
    while date.year < 2400 {
        assert_eq!(civil(days), date);
        assert_eq!(days_of(date.year, date.month, date.day), days);
        assert_eq!(weekday(days), monday);
        monday = (monday + 1) % 7;
        let leap = date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0);
        let length = match date.month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        date.day += 1;
        if date.day > length {
            date = Civil { year: date.year, month: date.month + 1, day: 1 };
        }
        if date.month > 12 {
            date = Civil { year: date.year + 1, month: 1, day: 1 };
        }
        days += 1;
    }
    // The last date.
    let last = Civil { year: 5_874_897, month: 12, day: 31 };
    assert_eq!(civil(days_of(5_874_898, 1, 1) - 1), last);
    // NULL rows may hold anything.
    for garbage in [i64::MIN, i64::MAX, i64::MAX / 86_400] {
        let date = civil(garbage);
        assert!((1..=12).contains(&date.month) && (1..=31).contains(&date.day));
    }
}

#[test]
fn iso_weeks_at_the_turn_of_the_year() {
    let expected = [
        ((2005, 1, 1), (2004, 53)),
        ((2005, 1, 2), (2004, 53)),
        ((2005, 1, 3), (2005, 1)),
        ((2005, 12, 31), (2005, 52)),
        ((2006, 1, 1), (2005, 52)),
        ((2007, 1, 1), (2007, 1)),
        ((2008, 12, 29), (2009, 1)),
        ((2009, 12, 31), (2009, 53)),
        ((2010, 1, 3), (2009, 53)),
        ((2012, 12, 31), (2013, 1)),
    ];
    for ((year, month, day), week) in expected {
        assert_eq!(iso_week(days_of(year, month, day)), week, "{year}-{month}-{day}");
    }
}

#[test]
fn timestamps_truncate_downwards() {
    let value = at(2013, 7, 18, clock(13, 47, 59_123_456));
    let expected = [
        (TimeUnit::Microsecond, value),
        (TimeUnit::Millisecond, at(2013, 7, 18, clock(13, 47, 59_123_000))),
        (TimeUnit::Second, at(2013, 7, 18, clock(13, 47, 59_000_000))),
        (TimeUnit::Minute, at(2013, 7, 18, clock(13, 47, 0))),
        (TimeUnit::Hour, at(2013, 7, 18, clock(13, 0, 0))),
        (TimeUnit::Day, at(2013, 7, 18, 0)),
        (TimeUnit::Week, at(2013, 7, 15, 0)),
        (TimeUnit::Month, at(2013, 7, 1, 0)),
        (TimeUnit::Quarter, at(2013, 7, 1, 0)),
        (TimeUnit::Year, at(2013, 1, 1, 0)),
    ];
    for (unit, expected) in expected {
        assert_eq!(trunc(unit, value), Ok(some_ints(&[Some(expected)])), "{unit:?}");
        for infinity in [i64::MIN, i64::MAX] {
            assert_eq!(trunc(unit, infinity), Ok(some_ints(&[Some(infinity)])), "{unit:?}");
        }
    }
    // Before 2000, where division truncates upwards, and before the year 1.
    let early = at(-43, 3, 15, clock(11, 59, 1));
    assert_eq!(trunc(TimeUnit::Minute, early), Ok(some_ints(&[Some(early - 1)])));
    assert_eq!(trunc(TimeUnit::Year, early), Ok(some_ints(&[Some(at(-43, 1, 1, 0))])));
    assert_eq!(trunc(TimeUnit::Quarter, early), Ok(some_ints(&[Some(at(-43, 1, 1, 0))])));
}

#[test]
fn the_first_timestamp_has_a_day_and_a_week_but_no_month() {
    for unit in [TimeUnit::Day, TimeUnit::Week] {
        assert_eq!(trunc(unit, MIN_TIMESTAMP), Ok(some_ints(&[Some(MIN_TIMESTAMP)])));
    }
    for unit in [TimeUnit::Month, TimeUnit::Quarter, TimeUnit::Year] {
        let error = sql_error(trunc(unit, MIN_TIMESTAMP));
        assert_eq!(error, ("22008", "timestamp out of range".to_owned()));
    }
}

#[test]
fn fields_of_timestamps() {
    let value = at(2013, 7, 18, clock(13, 47, 59_123_456));
    let expected = [
        (ExtractField::Microseconds, 59_123_456, 0),
        (ExtractField::Milliseconds, 59_123_456, 3),
        (ExtractField::Second, 59_123_456, 6),
        (ExtractField::Minute, 47, 0),
        (ExtractField::Hour, 13, 0),
        (ExtractField::Day, 18, 0),
        (ExtractField::Month, 7, 0),
        (ExtractField::Quarter, 3, 0),
        (ExtractField::Year, 2013, 0),
        (ExtractField::DayOfWeek, 4, 0),
        (ExtractField::IsoDayOfWeek, 4, 0),
        (ExtractField::DayOfYear, 199, 0),
        (ExtractField::IsoWeek, 29, 0),
        (ExtractField::IsoYear, 2013, 0),
        (ExtractField::Epoch, 1_374_155_279_123_456, 6),
    ];
    for (field, number, scale) in expected {
        let result = extract(field, false, value);
        assert_eq!(result, Ok(some_decimals(&[Some(number)], scale)), "{field:?}");
    }
    let sunday = at(1999, 12, 26, 0);
    let day = |field| extract(field, false, sunday);
    assert_eq!(day(ExtractField::DayOfWeek), Ok(some_decimals(&[Some(0)], 0)));
    assert_eq!(day(ExtractField::IsoDayOfWeek), Ok(some_decimals(&[Some(7)], 0)));
    // 1 BC is stored as the year 0.
    let result = extract(ExtractField::Year, false, at(0, 6, 1, 0));
    assert_eq!(result, Ok(some_decimals(&[Some(-1)], 0)));
    let result = extract(ExtractField::Second, false, at(1999, 12, 31, DAY - 1));
    assert_eq!(result, Ok(some_decimals(&[Some(59_999_999)], 6)));
}

#[test]
fn fields_of_dates() {
    let date = days_of(2013, 7, 18);
    let epoch = extract(ExtractField::Epoch, true, date);
    assert_eq!(epoch, Ok(some_decimals(&[Some(1_374_105_600)], 0)));
    assert_eq!(extract(ExtractField::Month, true, date), Ok(some_decimals(&[Some(7)], 0)));
    assert_eq!(extract(ExtractField::Hour, true, date), Err(ExecError::Unsupported));
}

#[test]
fn fields_of_infinity() {
    for (from_date, infinities) in
        [(false, [i64::MIN, i64::MAX]), (true, [i64::from(i32::MIN), i64::from(i32::MAX)])]
    {
        for infinity in infinities {
            assert_eq!(extract(ExtractField::Month, from_date, infinity), Ok(vec![Scalar::Null]));
            for field in [ExtractField::Year, ExtractField::IsoYear, ExtractField::Epoch] {
                let result = extract(field, from_date, infinity);
                assert_eq!(result, Err(ExecError::Unsupported));
            }
        }
    }
    // A NULL row may hold anything, infinity too.
    let year = Expr::Extract { field: ExtractField::Year, from_date: false, arg: column(0) };
    let result = eval(&year, &[ints(&[None, Some(0)])]);
    assert_eq!(result, Ok(some_decimals(&[None, Some(2000)], 0)));
}

#[test]
fn dates_and_timestamps_convert() {
    let to_timestamp = Expr::DateToTimestamp(column(0));
    let to_date = Expr::TimestampToDate(column(0));
    let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
    assert_eq!(
        eval(&to_timestamp, &[ints(&[Some(low), Some(high), Some(-1), None])]),
        Ok(some_ints(&[Some(i64::MIN), Some(i64::MAX), Some(-DAY), None]))
    );
    let late = days_of(294_277, 1, 1);
    assert!(eval(&to_timestamp, &[ints(&[Some(late - 1)])]).is_ok());
    let error = sql_error(eval(&to_timestamp, &[ints(&[Some(late)])]));
    assert_eq!(error, ("22008", "date out of range for timestamp".to_owned()));
    assert_eq!(
        eval(&to_date, &[ints(&[Some(i64::MIN), Some(i64::MAX), Some(-1), Some(DAY), None])]),
        Ok(some_ints(&[Some(low), Some(high), Some(-1), Some(1), None]))
    );
}

#[test]
fn dates_move_within_their_range() {
    let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
    let add = |subtract| Expr::DateAddDays { date: column(0), days: column(1), subtract };
    let dates = ints(&[Some(low), Some(high), Some(10), None]);
    let days = ints(&[Some(5), Some(5), Some(5), Some(5)]);
    assert_eq!(
        eval(&add(true), &[dates.clone(), days.clone()]),
        Ok(some_ints(&[Some(low), Some(high), Some(5), None]))
    );
    let error = ("22008", "date out of range".to_owned());
    let first = ints(&[Some(-2_451_545)]);
    let one = ints(&[Some(1)]);
    assert_eq!(sql_error(eval(&add(true), &[first.clone(), one.clone()])), error);
    let last = ints(&[Some(days_of(5_874_897, 12, 31))]);
    assert_eq!(sql_error(eval(&add(false), &[last, one.clone()])), error);
    let diff = Expr::DateDiff { left: column(0), right: column(1) };
    assert_eq!(eval(&diff, &[one.clone(), first]), Ok(some_ints(&[Some(2_451_546)])));
    let error = sql_error(eval(&diff, &[ints(&[Some(high)]), one]));
    assert_eq!(error, ("22008", "cannot subtract infinite dates".to_owned()));
}
