//! Budget periods: named ones start at configurable anchors in UTC, all others are counted from the Unix epoch.

use crate::clock::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;
/// Nominal length of a month, which identifies the monthly period; the actual length follows the calendar.
const MONTH: i64 = 30 * DAY;

/// A named period or a number of seconds; a number equal to a named period is that period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(i64);

/// The start times of named periods, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchors {
    pub daily: TimeOfDay,
    /// 0 is Sunday.
    pub weekday: u8,
    pub weekly: TimeOfDay,
    /// 1 to 31; in a shorter month, its last day.
    pub day_of_month: u8,
    pub monthly: TimeOfDay,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeOfDay {
    pub hour: u8,
    pub minute: u8,
}

impl Default for Anchors {
    fn default() -> Self {
        let midnight = TimeOfDay::default();
        Self { daily: midnight, weekday: 1, weekly: midnight, day_of_month: 1, monthly: midnight }
    }
}

impl TimeOfDay {
    fn seconds(self) -> i64 {
        i64::from(self.hour) * HOUR + i64::from(self.minute) * MINUTE
    }
}

impl Period {
    pub const HOURLY: Self = Self(HOUR);
    pub const DAILY: Self = Self(DAY);
    pub const WEEKLY: Self = Self(WEEK);
    pub const MONTHLY: Self = Self(MONTH);
    const NAMES: [(&'static str, Self); 4] = [
        ("hourly", Self::HOURLY),
        ("daily", Self::DAILY),
        ("weekly", Self::WEEKLY),
        ("monthly", Self::MONTHLY),
    ];
    /// Ten years.
    const MOST: i64 = 3650 * DAY;

    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some((_, named)) = Self::NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
            return Ok(*named);
        }
        let seconds = text.parse::<i64>().map_err(|_| {
            let shown: String = text.chars().take(40).collect();
            format!("A period is hourly, daily, weekly, monthly or a number of seconds, not '{shown}'.")
        })?;
        Self::from_seconds(seconds)
    }

    pub fn from_seconds(seconds: i64) -> Result<Self, String> {
        if (MINUTE..=Self::MOST).contains(&seconds) {
            Ok(Self(seconds))
        } else {
            Err(format!("A period has {MINUTE} to {} seconds.", Self::MOST))
        }
    }

    pub fn seconds(self) -> i64 {
        self.0
    }

    pub fn label(self) -> String {
        match Self::NAMES.iter().find(|(_, named)| *named == self) {
            Some((name, _)) => (*name).to_owned(),
            None => format!("{}s", self.0),
        }
    }

    /// The start and the end of the period that contains this moment.
    pub fn around(self, at: Timestamp, anchors: &Anchors) -> (Timestamp, Timestamp) {
        let second = at.seconds();
        let (start, end) = match self {
            Self::DAILY => regular(second, DAY, anchors.daily.seconds()),
            Self::WEEKLY => {
                // The Unix epoch was a Thursday.
                let weekday = (i64::from(anchors.weekday) - 4).rem_euclid(7);
                regular(second, WEEK, weekday * DAY + anchors.weekly.seconds())
            }
            Self::MONTHLY => month_around(second, anchors),
            Self(length) => regular(second, length, 0),
        };
        (Timestamp::from_seconds(start), Timestamp::from_seconds(end))
    }
}

fn regular(second: i64, length: i64, offset: i64) -> (i64, i64) {
    let start = (second - offset).div_euclid(length) * length + offset;
    (start, start + length)
}

fn month_around(second: i64, anchors: &Anchors) -> (i64, i64) {
    let month = month_of(second.div_euclid(DAY));
    let begins = |month: i64| month_begins(month, anchors);
    if second < begins(month) {
        (begins(month - 1), begins(month))
    } else {
        (begins(month), begins(month + 1))
    }
}

/// The start of a month in seconds; months are counted from the year 0.
fn month_begins(month: i64, anchors: &Anchors) -> i64 {
    let first = first_day(month);
    let length = first_day(month + 1) - first;
    let day = i64::from(anchors.day_of_month).clamp(1, length);
    (first + day - 1) * DAY + anchors.monthly.seconds()
}

/// Days from the epoch to the first of a month. Years start in March here, so that the leap day comes last.
fn first_day(month: i64) -> i64 {
    let shifted = month - 2;
    let (year, month) = (shifted.div_euclid(12), shifted.rem_euclid(12));
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // Days before the month: from March on, month lengths repeat as 31, 30, 31, 30, 31.
    let before = (153 * month + 2).div_euclid(5);
    year * 365 + leaps + before - 719_468
}

fn month_of(day: i64) -> i64 {
    // 400 years have 146097 days and 4800 months; the estimate is off by at most one.
    let mut month = 1970 * 12 + (day * 4800).div_euclid(146_097);
    while first_day(month + 1) <= day {
        month += 1;
    }
    while first_day(month) > day {
        month -= 1;
    }
    month
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses `2026-02-28T23:59:59` by summing up days, independently of the code under test.
    fn moment(text: &str) -> i64 {
        let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().unwrap();
        let (year, month, day) = (number(0..4), number(5..7), number(8..10));
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut days: i64 = (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum();
        let lengths = [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        days += lengths[..month as usize - 1].iter().sum::<i64>() + day - 1;
        days * DAY + number(11..13) * HOUR + number(14..16) * MINUTE + number(17..19)
    }

    #[track_caller]
    fn check(period: &str, anchors: &Anchors, at: &str, start: &str, end: &str) {
        let found = Period::parse(period).unwrap().around(Timestamp::from_seconds(moment(at)), anchors);
        let expected = (Timestamp::from_seconds(moment(start)), Timestamp::from_seconds(moment(end)));
        assert_eq!(found, expected, "{period} around {at}");
    }

    fn at(hour: u8, minute: u8) -> TimeOfDay {
        TimeOfDay { hour, minute }
    }

    #[test]
    fn periods_begin_at_their_anchors() {
        let plain = Anchors::default();
        check("hourly", &plain, "2026-11-15T12:59:59", "2026-11-15T12:00:00", "2026-11-15T13:00:00");
        check("daily", &plain, "2026-11-15T00:00:00", "2026-11-15T00:00:00", "2026-11-16T00:00:00");
        // 2026-11-15 is a Sunday; weeks start on Monday.
        check("weekly", &plain, "2026-11-15T23:59:59", "2026-11-09T00:00:00", "2026-11-16T00:00:00");
        check("weekly", &plain, "2026-11-16T00:00:00", "2026-11-16T00:00:00", "2026-11-23T00:00:00");
        check("monthly", &plain, "2026-12-31T23:59:59", "2026-12-01T00:00:00", "2027-01-01T00:00:00");
        check("7200", &plain, "1970-01-01T03:00:00", "1970-01-01T02:00:00", "1970-01-01T04:00:00");

        let morning = Anchors { daily: at(6, 30), weekday: 0, weekly: at(23, 59), ..plain };
        check("daily", &morning, "2026-11-15T06:29:59", "2026-11-14T06:30:00", "2026-11-15T06:30:00");
        check("daily", &morning, "2026-11-15T06:30:00", "2026-11-15T06:30:00", "2026-11-16T06:30:00");
        check("hourly", &morning, "2026-11-15T06:30:00", "2026-11-15T06:00:00", "2026-11-15T07:00:00");
        check("weekly", &morning, "2026-11-15T23:58:59", "2026-11-08T23:59:00", "2026-11-15T23:59:00");
        check("weekly", &morning, "2026-11-15T23:59:00", "2026-11-15T23:59:00", "2026-11-22T23:59:00");
    }

    #[test]
    fn a_month_that_is_too_short_begins_on_its_last_day() {
        let last = Anchors { day_of_month: 31, monthly: at(12, 0), ..Anchors::default() };
        check("monthly", &last, "2026-02-28T12:00:00", "2026-02-28T12:00:00", "2026-03-31T12:00:00");
        check("monthly", &last, "2026-02-28T11:59:59", "2026-01-31T12:00:00", "2026-02-28T12:00:00");
        check("monthly", &last, "2028-02-29T12:00:00", "2028-02-29T12:00:00", "2028-03-31T12:00:00");
        check("monthly", &last, "2100-03-01T00:00:00", "2100-02-28T12:00:00", "2100-03-31T12:00:00");
        check("monthly", &last, "2000-02-29T13:00:00", "2000-02-29T12:00:00", "2000-03-31T12:00:00");
        check("monthly", &last, "2027-01-01T00:00:00", "2026-12-31T12:00:00", "2027-01-31T12:00:00");
        let thirtieth = Anchors { day_of_month: 30, ..Anchors::default() };
        check("monthly", &thirtieth, "2026-02-15T00:00:00", "2026-01-30T00:00:00", "2026-02-28T00:00:00");
    }

    #[test]
    fn every_moment_of_a_century_has_one_period_and_they_follow_each_other() {
        for day_of_month in [1, 15, 29, 30, 31] {
            let anchors = Anchors { day_of_month, monthly: at(3, 7), ..Anchors::default() };
            let mut now = moment("1999-12-31T00:00:00");
            let (_, mut expected) = Period::MONTHLY.around(Timestamp::from_seconds(now), &anchors);
            while now < moment("2099-12-31T00:00:00") {
                let (start, end) = Period::MONTHLY.around(expected, &anchors);
                assert_eq!(start, expected);
                let before = Timestamp(end.micros() - 1);
                assert_eq!(Period::MONTHLY.around(before, &anchors), (start, end));
                assert!((28..=31).contains(&((end.seconds() - start.seconds()) / DAY)), "{start:?} {end:?}");
                (expected, now) = (end, start.seconds());
            }
        }
    }

    #[test]
    fn periods_are_read_or_refused() {
        let label = |text: &str| Period::parse(text).map(Period::label);
        assert_eq!(label("Daily").as_deref(), Ok("daily"));
        assert_eq!(label("86400").as_deref(), Ok("daily"));
        assert_eq!(label("7200").as_deref(), Ok("7200s"));
        for text in ["", "yearly", "59", "-1", "1.5", "99999999999"] {
            assert!(label(text).is_err(), "{text}");
        }
    }
}
