//! Calendar periods: days, weeks, months and years in a time zone, including daylight saving changes.

use domain::clock::Timestamp;
use domain::fault::Fault;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{ToSpan as _, Zoned};
use store::Step;

use super::{Pairs, choice, midnight};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    QuarterHour,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

const CALENDAR: [(&str, Interval); 4] = [
    ("daily", Interval::Daily),
    ("weekly", Interval::Weekly),
    ("monthly", Interval::Monthly),
    ("yearly", Interval::Yearly),
];

impl Interval {
    /// Parses an interval of a day or longer.
    pub fn of_days(pairs: &Pairs) -> Result<Self, Fault> {
        choice(pairs, "interval", &CALENDAR, Self::Daily)
    }

    pub fn any(pairs: &Pairs) -> Result<Self, Fault> {
        let shorter = [("quarter_hour", Self::QuarterHour), ("hourly", Self::Hourly)];
        let all: Vec<_> = shorter.into_iter().chain(CALENDAR).collect();
        choice(pairs, "interval", &all, Self::Daily)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::QuarterHour => "quarter_hour",
            Self::Hourly => "hourly",
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
            Self::Yearly => "yearly",
        }
    }

    /// The step by which the ledger groups; longer periods are summed up from days.
    fn seconds(self) -> i64 {
        match self {
            Self::QuarterHour => HOUR / 4,
            Self::Hourly => HOUR,
            _ => DAY,
        }
    }

    fn is_of_days(self) -> bool {
        self.seconds() == DAY
    }
}

/// A time range during which the zone has one UTC offset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffsetRange {
    pub from: Timestamp,
    pub until: Timestamp,
    offset: i64,
}

pub struct Calendar {
    pub zone: TimeZone,
    pub interval: Interval,
}

impl Calendar {
    pub fn step(&self, stretch: &OffsetRange) -> Step {
        Step { seconds: self.interval.seconds(), offset: stretch.offset }
    }

    /// Splits a range where the UTC offset changes.
    pub fn stretches(&self, from: Timestamp, until: Timestamp) -> Vec<OffsetRange> {
        // There is no usage before 1970, where the ledger's integer division would round toward zero.
        let mut from = from.max(Timestamp(0));
        let mut stretches: Vec<OffsetRange> = Vec::new();
        while from < until {
            let Ok(moment) = jiff::Timestamp::from_microsecond(from.micros()) else { break };
            let offset = i64::from(self.zone.to_offset(moment).seconds());
            let change = self.zone.following(moment).next();
            let change = change.map_or(until, |change| Timestamp(change.timestamp().as_microsecond()));
            let end = change.min(until);
            match stretches.last_mut() {
                Some(last) if last.offset == offset => last.until = end,
                _ => stretches.push(OffsetRange { from, until: end, offset }),
            }
            from = end;
        }
        stretches
    }

    /// The start of the period that contains a step of the ledger.
    pub fn start(&self, stretch: &OffsetRange, step: i64) -> Result<Timestamp, Fault> {
        if self.interval.is_of_days() {
            return midnight(self.first_day(day(step)?), &self.zone);
        }
        let start = step * self.interval.seconds() - stretch.offset;
        Ok(Timestamp::from_seconds(start).max(stretch.from))
    }

    /// The starts of all periods of a range, in order; `None` if there are more than `most`.
    pub fn starts(&self, stretches: &[OffsetRange], max: usize) -> Result<Option<Vec<Timestamp>>, Fault> {
        let mut starts = Vec::new();
        for stretch in stretches {
            let number = |at: i64| (at + stretch.offset).div_euclid(self.interval.seconds());
            for step in
                number(stretch.from.seconds())..=number((stretch.until.micros() - 1).div_euclid(1_000_000))
            {
                let start = self.start(stretch, step)?;
                if starts.last() != Some(&start) {
                    starts.push(start);
                }
                if starts.len() > max {
                    return Ok(None);
                }
            }
        }
        Ok(Some(starts))
    }

    fn first_day(&self, date: Date) -> Date {
        match self.interval {
            Interval::Weekly => {
                let days = i64::from(date.weekday().to_monday_zero_offset());
                date.checked_sub(days.days()).unwrap_or(date)
            }
            Interval::Monthly => date.first_of_month(),
            Interval::Yearly => date.first_of_year(),
            _ => date,
        }
    }

    fn local(&self, start: Timestamp) -> Zoned {
        jiff::Timestamp::from_microsecond(start.micros()).unwrap_or_default().to_zoned(self.zone.clone())
    }

    /// Formats a period as YYYY-MM-DD, YYYY-Www, YYYY-MM or YYYY; shorter periods as local time.
    pub fn label(&self, start: Timestamp) -> String {
        let local = self.local(start);
        let date = local.date();
        match self.interval {
            Interval::QuarterHour | Interval::Hourly => local.strftime("%Y-%m-%dT%H:%M").to_string(),
            Interval::Daily => date.to_string(),
            Interval::Weekly => {
                let week = date.iso_week_date();
                format!("{:04}-W{:02}", week.year(), week.week())
            }
            Interval::Monthly => date.strftime("%Y-%m").to_string(),
            Interval::Yearly => date.strftime("%Y").to_string(),
        }
    }

    /// Formats a time as RFC 3339 with the local UTC offset.
    pub fn moment(&self, start: Timestamp) -> String {
        self.local(start).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }
}

fn day(number: i64) -> Result<Date, Fault> {
    let epoch = jiff::civil::date(1970, 1, 1);
    let date = jiff::Span::new().try_days(number).and_then(|days| epoch.checked_add(days));
    date.map_err(|_| domain::fault::internal_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_microsecond())
    }

    fn labels(zone: &str, interval: Interval, from: &str, until: &str) -> Vec<String> {
        let calendar = Calendar { zone: TimeZone::get(zone).unwrap(), interval };
        let stretches = calendar.stretches(at(from), at(until));
        let starts = calendar.starts(&stretches, 100).unwrap().unwrap();
        starts.iter().map(|start| calendar.label(*start)).collect()
    }

    #[test]
    fn labels_are_the_calendars() {
        let days = labels("Asia/Kolkata", Interval::Daily, "2026-01-30T18:30:00Z", "2026-02-01T18:30:00Z");
        assert_eq!(days, ["2026-01-31", "2026-02-01"]);
        // The first days of a year can be in the last week of the year before.
        let weeks = labels("UTC", Interval::Weekly, "2026-12-30T00:00:00Z", "2027-01-06T00:00:00Z");
        assert_eq!(weeks, ["2026-W53", "2027-W01"]);
        let months =
            labels("Europe/Berlin", Interval::Monthly, "2026-01-31T23:00:00Z", "2026-03-31T22:00:00Z");
        assert_eq!(months, ["2026-02", "2026-03"]);
        assert_eq!(
            labels("UTC", Interval::Yearly, "2025-12-31T00:00:00Z", "2026-01-02T00:00:00Z"),
            ["2025", "2026"]
        );
    }

    #[test]
    fn clock_changes_make_short_and_long_days() {
        // The clocks go forward on 29 March 2026 and back on 25 October.
        let hours = |from, until| labels("Europe/Berlin", Interval::Hourly, from, until).len();
        assert_eq!(hours("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"), 23);
        assert_eq!(hours("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"), 25);
        let berlin = |from, until| labels("Europe/Berlin", Interval::Daily, from, until);
        assert_eq!(berlin("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"), ["2026-03-29"]);
        assert_eq!(berlin("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"), ["2026-10-25"]);
        // A change of half an hour, and one at midnight: the day has no 00:00.
        assert_eq!(
            labels("Australia/Lord_Howe", Interval::Daily, "2026-04-03T13:00:00Z", "2026-04-05T13:30:00Z"),
            ["2026-04-04", "2026-04-05"]
        );
        assert_eq!(
            labels("Africa/Cairo", Interval::Daily, "2026-04-22T22:00:00Z", "2026-04-24T21:00:00Z"),
            ["2026-04-23", "2026-04-24"]
        );
    }

    #[test]
    fn a_step_of_the_ledger_is_in_the_period_that_holds_it() {
        for zone in ["UTC", "Asia/Kolkata", "Asia/Kathmandu", "America/New_York", "Australia/Lord_Howe"] {
            for interval in [
                Interval::QuarterHour,
                Interval::Hourly,
                Interval::Daily,
                Interval::Weekly,
                Interval::Monthly,
            ] {
                let calendar = Calendar { zone: TimeZone::get(zone).unwrap(), interval };
                let stretches = calendar.stretches(at("2026-03-01T00:00:00Z"), at("2026-04-12T00:00:00Z"));
                let starts = calendar.starts(&stretches, 100_000).unwrap().unwrap();
                assert!(starts.is_sorted(), "{zone} {interval:?}");
                for stretch in &stretches {
                    for second in (stretch.from.seconds()..stretch.until.seconds()).step_by(900) {
                        let step = calendar.step(stretch);
                        let start = calendar.start(stretch, (second + step.offset) / step.seconds).unwrap();
                        let begun = starts.partition_point(|start| start.seconds() <= second);
                        assert_eq!(starts[begun - 1], start, "{zone} {interval:?} {second}");
                    }
                }
            }
        }
    }

    #[test]
    fn too_many_periods_are_not_made() {
        let calendar = Calendar { zone: TimeZone::UTC, interval: Interval::QuarterHour };
        let stretches = calendar.stretches(Timestamp(0), at("9000-01-01T00:00:00Z"));
        assert_eq!(calendar.starts(&stretches, 5000).unwrap(), None);
    }
}
