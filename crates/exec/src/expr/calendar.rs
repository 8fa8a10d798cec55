//! The calendar of dates and timestamps, one value at a time.
//!
//! Days and microseconds count from 2000-01-01. PostgreSQL's calendar is the proleptic Gregorian one with a year zero
//! inside (datetime.c: date2j, j2date); BC years are counted without it when they are shown. Nothing here panics, whatever
//! the value, since rows that are NULL come through too.

/// Microseconds of a day.
pub(super) const DAY: i64 = 86_400_000_000;

/// -infinity and infinity of dates.
pub(super) const DATE_NOBEGIN: i64 = i32::MIN as i64;
pub(super) const DATE_NOEND: i64 = i32::MAX as i64;

/// Days of the first date, 4714-11-24 BC, and of the first after the last, as in timestamp.h.
pub(super) const MIN_DATE: i64 = -2_451_545;
pub(super) const END_DATE: i64 = 2_147_483_494 - 2_451_545;
/// First date that no timestamp has, 294277-01-01.
pub(super) const END_TIMESTAMP_DATE: i64 = 109_203_528 - 2_451_545;
/// First timestamp.
pub(super) const MIN_TIMESTAMP: i64 = MIN_DATE * DAY;

/// Seconds from 1970-01-01 to 2000-01-01.
pub(super) const UNIX_EPOCH_SECONDS: i64 = 946_684_800;

/// Days from 0000-03-01 to 2000-01-01. Years that begin in March have their leap day at the end.
const MARCH_EPOCH: i64 = 730_425;
/// Days of 400 years.
const ERA: i64 = 146_097;
/// Eras that make every day a positive number.
const ERAS_BEFORE: i64 = 20_000;

/// A date in parts; year 0 is 1 BC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    /// From 1.
    pub(super) month: i64,
    /// From 1.
    pub(super) day: i64,
}

/// The day of a timestamp.
#[inline]
pub(super) fn day_of(timestamp: i64) -> i64 {
    timestamp.div_euclid(DAY)
}

/// The parts of a day.
///
/// Years and months come of divisions by constants in fixed point, as C. Neri and L. Schneider show in "Euclidean affine
/// functions and their application to calendar algorithms" (2022).
#[inline]
pub(super) fn civil(days: i64) -> Civil {
    // From 1 March of a year far before the first date, which lies a whole number of eras before 0000-03-01.
    let days = days.wrapping_add(MARCH_EPOCH + ERAS_BEFORE * ERA) as u64 & (u64::MAX >> 3);
    let quarters = 4 * days + 3;
    let century = quarters / ERA as u64;
    let day_of_century = (quarters % ERA as u64 / 4) as u32;
    // 2^32 / 1461, rounded up, gives the year of the century and its rest at once.
    let product = 2_939_745 * u64::from(4 * day_of_century + 3);
    let year_of_century = product >> 32;
    let day_of_year = product as u32 / 2_939_745 / 4;
    // Months from March on have 153 days in five: 2^16 * 5 / 153 is 2141.6.
    let months = 2_141 * day_of_year + 197_913;
    let (month, day) = (months >> 16, (months & 0xFFFF) / 2_141);
    let next_year = day_of_year >= 306;
    Civil {
        year: (100 * century + year_of_century) as i64 - ERAS_BEFORE * 400 + i64::from(next_year),
        month: i64::from(if next_year { month - 12 } else { month }),
        day: i64::from(day) + 1,
    }
}

/// The day of a date in parts.
#[inline]
pub(super) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era.wrapping_mul(ERA).wrapping_add(day_of_era - MARCH_EPOCH)
}

/// 0 for Monday. 2000-01-01 was a Saturday.
#[inline]
pub(super) fn weekday(days: i64) -> i64 {
    days.wrapping_add(5).rem_euclid(7)
}

/// Day of the year, from 1.
pub(super) fn day_of_year(days: i64) -> i64 {
    days.wrapping_sub(days_of(civil(days).year, 1, 1)) + 1
}

/// ISO year (0 is 1 BC) and week: those of the week's Thursday.
pub(super) fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days.wrapping_add(3 - weekday(days));
    let year = civil(thursday).year;
    (year, thursday.wrapping_sub(days_of(year, 1, 1)) / 7 + 1)
}

/// The number shown of a year: there is none between 1 BC and 1 AD.
#[inline]
pub(super) fn shown_year(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}
