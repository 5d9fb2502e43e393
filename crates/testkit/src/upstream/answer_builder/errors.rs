//! Deliberate errors: a status, and every form of retry hint.

use std::time::Duration;

use domain::clock::Clock as _;

use super::super::answer::Answer;
use super::super::dialect::Dialect;
use super::super::fault_script::RetryHint;
use super::super::rejection::UpstreamRejection;
use super::AnswerBuilder;
use crate::clock::SystemClock;

const QUOTA: &str = "You exceeded your current quota, please check your plan and billing details.";

impl AnswerBuilder<'_> {
    /// The format's error body with this status and retry header.
    pub(super) fn error(&self, status: u16, hint: RetryHint) -> Answer {
        let rejection = |message: &str| UpstreamRejection::new(status, message);
        let mut answer = self.rejected(&match status {
            401 => rejection("Incorrect API key provided: sk-***.").code("invalid_api_key"),
            404 => rejection("The model does not exist.").code("model_not_found"),
            429 => rejection("Rate limit reached for requests.").code("rate_limit_exceeded"),
            529 => rejection("Overloaded"),
            500.. => rejection("The server had an error while processing your request."),
            _ => rejection("The request was refused by the script.").code("scripted"),
        });
        answer.headers.extend(retry_header(hint).map(|(name, value)| (name.to_owned(), value)));
        answer
    }

    /// The error of an exhausted account, where a retry does not help. Anthropic uses a 400.
    pub(super) fn insufficient_quota(&self) -> Answer {
        if self.renderer.dialect() == Dialect::Messages {
            let message = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.";
            return self.rejected(&UpstreamRejection::new(400, message));
        }
        let mut answer = self.rejected(&UpstreamRejection::new(429, QUOTA).code("insufficient_quota"));
        if self.renderer.dialect() != Dialect::Gemini {
            let body = serde_json::json!({"error": {
                "message": QUOTA, "type": "insufficient_quota", "param": null, "code": "insufficient_quota",
            }});
            answer = Answer { status: 429, ..Answer::whole(body.to_string()) };
        }
        answer
    }

    fn rejected(&self, rejection: &UpstreamRejection) -> Answer {
        let body = self.renderer.dialect().error(rejection).to_string();
        Answer { status: rejection.status, ..Answer::whole(body) }
    }
}

fn retry_header(hint: RetryHint) -> Option<(&'static str, String)> {
    match hint {
        RetryHint::None => None,
        RetryHint::Seconds(seconds) => Some(("retry-after", seconds.to_string())),
        RetryHint::Milliseconds(millis) => Some(("retry-after-ms", millis.to_string())),
        RetryHint::Date(seconds) => Some(("retry-after", date(seconds))),
        RetryHint::Garbage => Some(("retry-after", "soon, I hope".to_owned())),
    }
}

/// The HTTP date this many seconds from now.
fn date(seconds: i64) -> String {
    let then = SystemClock::new().now().micros() / 1_000_000 + seconds;
    http_date(Duration::from_secs(then.max(0) as u64))
}

fn http_date(since_epoch: Duration) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = since_epoch.as_secs();
    let (days, clock) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    let (weekday, month) = (DAYS[days as usize % 7], MONTHS[month]);
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Year, zero-based month and day of the month, from days since 1970.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 0;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_the_http_format() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
        ] {
            assert_eq!(http_date(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn every_hint_has_its_header() {
        assert_eq!(retry_header(RetryHint::Seconds(7)), Some(("retry-after", "7".to_owned())));
        assert_eq!(retry_header(RetryHint::Milliseconds(1500)), Some(("retry-after-ms", "1500".to_owned())));
        assert_eq!(retry_header(RetryHint::None), None);
        assert!(retry_header(RetryHint::Date(5)).is_some_and(|(_, value)| value.ends_with(" GMT")));
    }
}
