//! Query parameters of reports: dates, time zones, paths, pages. Invalid values are rejected by name, never replaced.

pub mod periods;

use std::collections::HashMap;

use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::user_path::UserPath;
use http::HeaderMap;
use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use store::{CacheMode, UsageFilter};

use crate::authorized::{Authorized, Needs};

pub type Pairs = HashMap<String, String>;

/// Returns a parameter that was sent and is not empty.
pub fn text<'a>(pairs: &'a Pairs, name: &str) -> Option<&'a str> {
    pairs.get(name).map(String::as_str).filter(|value| !value.is_empty())
}

pub fn integer(
    pairs: &Pairs,
    name: &str,
    range: std::ops::RangeInclusive<i64>,
) -> Result<Option<i64>, Fault> {
    let Some(value) = pairs.get(name) else { return Ok(None) };
    match value.parse::<i64>() {
        Ok(number) if range.contains(&number) => Ok(Some(number)),
        _ => {
            let (low, high) = range.into_inner();
            let bounds =
                if high == i64::MAX { format!("at least {low}") } else { format!("{low} to {high}") };
            Err(fault::invalid_parameter(name, format!("'{name}' must be a whole number, {bounds}.")))
        }
    }
}

pub fn boolean(pairs: &Pairs, name: &str) -> Result<Option<bool>, Fault> {
    match pairs.get(name).map(String::as_str) {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => Err(fault::invalid_parameter(name, format!("'{name}' is true or false."))),
    }
}

/// The time zone of a report's calendar: the parameter `timezone`, else the header, else UTC.
pub fn time_zone(pairs: &Pairs, headers: &HeaderMap) -> Result<TimeZone, Fault> {
    const HEADER: &str = "X-Gateway-Timezone";
    let header = || headers.get(HEADER).map(|value| (HEADER, value.to_str().unwrap_or_default().trim()));
    let parameter = pairs.get("timezone").map(|value| ("timezone", value.trim()));
    let Some((source, name)) = parameter.or_else(header) else { return Ok(TimeZone::UTC) };
    TimeZone::get(name).map_err(|_| {
        fault::invalid_parameter(source, format!("'{name}' is not an IANA time zone such as Europe/Berlin."))
    })
}

/// The time range of a report: start and end date, inclusive, in the request's time zone; both take precedence over
/// `days`.
pub fn period(pairs: &Pairs, zone: &TimeZone, now: Timestamp) -> Result<(Timestamp, Timestamp), Fault> {
    let days = integer(pairs, "days", 1..=365)?.unwrap_or(30);
    let moment = jiff::Timestamp::from_microsecond(now.micros()).map_err(|_| fault::internal_error())?;
    let today = moment.to_zoned(zone.clone()).date();
    let start = date(pairs, "start_date")?;
    let end = date(pairs, "end_date")?;
    let last = end.unwrap_or(today);
    let first = match start {
        Some(start) => start,
        None => last
            .checked_sub((days - 1).days())
            .map_err(|_| fault::invalid_parameter("days", "Too far back."))?,
    };
    if first > last {
        return Err(fault::invalid_parameter("start_date", "'start_date' is after 'end_date'."));
    }
    let after = last.tomorrow().map_err(|_| fault::invalid_parameter("end_date", "Too far ahead."))?;
    Ok((midnight(first, zone)?, midnight(after, zone)?))
}

fn date(pairs: &Pairs, name: &str) -> Result<Option<Date>, Fault> {
    let Some(value) = pairs.get(name) else { return Ok(None) };
    let shaped = value.len() == 10 && value.as_bytes()[4] == b'-' && value.as_bytes()[7] == b'-';
    match value.parse::<Date>() {
        Ok(date) if shaped => Ok(Some(date)),
        _ => Err(fault::invalid_parameter(name, format!("'{name}' must be a date of the form YYYY-MM-DD."))),
    }
}

pub(crate) fn midnight(date: Date, zone: &TimeZone) -> Result<Timestamp, Fault> {
    let start = zone.to_zoned(date.at(0, 0, 0, 0)).map_err(|_| fault::internal_error())?;
    Ok(Timestamp(start.timestamp().as_microsecond()))
}

fn cache_mode(pairs: &Pairs) -> Result<CacheMode, Fault> {
    let modes = [("uncached", CacheMode::Uncached), ("cached", CacheMode::Cached), ("all", CacheMode::All)];
    choice(pairs, "cache_mode", &modes, CacheMode::Uncached)
}

/// The user path to filter by: a caller bound to a user path sees only that subtree.
pub fn visible_path(pairs: &Pairs, principal: &Principal) -> Result<Option<String>, Fault> {
    let own = principal.own_path().cloned();
    let asked = text(pairs, "user_path")
        .map(|value| UserPath::parse(value).map_err(|reason| fault::invalid_parameter("user_path", reason)))
        .transpose()?;
    match (own, asked) {
        (Some(own), Some(asked)) if !own.covers(&asked) => {
            Err(fault::user_path_denied(asked.as_str(), own.as_str()))
        }
        (own, asked) => Ok(asked.or(own).map(|path| path.as_str().to_owned()).filter(|path| path != "/")),
    }
}

/// Parses a parameter that has a fixed set of values.
pub fn choice<T: Copy>(pairs: &Pairs, name: &str, choices: &[(&str, T)], default: T) -> Result<T, Fault> {
    let Some(value) = pairs.get(name) else { return Ok(default) };
    match choices.iter().find(|(word, _)| *word == value) {
        Some((_, chosen)) => Ok(*chosen),
        None => {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            Err(fault::invalid_parameter(name, format!("'{name}' is one of {}.", words.join(", "))))
        }
    }
}

pub fn usage_filter<N: Needs>(
    pairs: &Pairs,
    headers: &HeaderMap,
    authorized: &Authorized<N>,
    now: Timestamp,
) -> Result<UsageFilter, Fault> {
    let zone = time_zone(pairs, headers)?;
    let (from, until) = period(pairs, &zone, now)?;
    let owned = |name: &str| text(pairs, name).map(str::to_owned);
    Ok(UsageFilter {
        from,
        until,
        user_path: visible_path(pairs, &authorized.principal)?,
        cache: cache_mode(pairs)?,
        model: owned("model"),
        provider: owned("provider"),
        search: owned("search"),
        auth_key_id: owned("auth_key_id"),
        tenant_id: authorized.reported_tenant().map(|tenant| tenant.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(items: &[(&str, &str)]) -> Pairs {
        items.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[track_caller]
    fn check(items: &[(&str, &str)], zone: &str, expected: Result<(&str, &str), &str>) {
        let now: jiff::Timestamp = "2026-03-29T22:30:00Z".parse().unwrap();
        let zone = TimeZone::get(zone).unwrap();
        let found = period(&pairs(items), &zone, Timestamp(now.as_microsecond()));
        let shown = found.as_ref().map(|(from, until)| {
            let show = |at: &Timestamp| jiff::Timestamp::from_microsecond(at.micros()).unwrap().to_string();
            (show(from), show(until))
        });
        match (shown, expected) {
            (Ok((from, until)), Ok(expected)) => assert_eq!((from.as_str(), until.as_str()), expected),
            (Err(fault), Err(param)) => assert_eq!(fault.param.as_deref(), Some(param)),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn periods_follow_the_contract() {
        check(&[("days", "1")], "UTC", Ok(("2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z")));
        // It is already the next day in Berlin, and daylight saving time started that night.
        check(&[("days", "2")], "Europe/Berlin", Ok(("2026-03-28T23:00:00Z", "2026-03-30T22:00:00Z")));
        check(&[("start_date", "2026-01-01")], "UTC", Ok(("2026-01-01T00:00:00Z", "2026-03-30T00:00:00Z")));
        let both = [("start_date", "2026-01-01"), ("end_date", "2026-01-02"), ("days", "7")];
        check(&both, "UTC", Ok(("2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z")));
        check(
            &[("end_date", "2026-01-10"), ("days", "2")],
            "UTC",
            Ok(("2026-01-09T00:00:00Z", "2026-01-11T00:00:00Z")),
        );
        check(&[("start_date", "2026-02-01"), ("end_date", "2026-01-01")], "UTC", Err("start_date"));
        check(&[("days", "0")], "UTC", Err("days"));
        check(&[("days", "")], "UTC", Err("days"));
        check(&[("end_date", "")], "UTC", Err("end_date"));
        check(&[("days", "366")], "UTC", Err("days"));
        check(&[("start_date", "01.02.2026")], "UTC", Err("start_date"));
    }
}
