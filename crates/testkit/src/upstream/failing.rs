//! Deliberate errors: a status, and every form of retry hint.

use std::time::Duration;

use domain::clock::Clock as _;

use super::behaviour::Play;
use super::dialect::Dialect;
use super::refusal::Refusal;
use super::script::Answer;
use crate::clock::SystemClock;

const SOME_SECONDS: u64 = 30;
const TEN_YEARS: u64 = 315_360_000;
const QUOTA: &str = "You exceeded your current quota, please check your plan and billing details.";

impl Play<'_> {
    /// Answers `error-NNN` and `error-NNN-FORM` with the forms of [`waiting`].
    pub fn failing(&self, behaviour: &str) -> Option<Answer> {
        let (status, form) = match behaviour.strip_prefix("error-")?.split_once('-') {
            Some((status, form)) => (status, Some(form)),
            None => (behaviour.strip_prefix("error-")?, None),
        };
        let status = status.parse().ok().filter(|status| (400..600).contains(status))?;
        let wait = match form {
            Some(form) => waiting(form)?,
            None if status == 429 => waiting(&SOME_SECONDS.to_string())?,
            None => None,
        };
        let mut answer = self.failure(status);
        answer.headers.extend(wait.map(|(name, value)| (name.to_owned(), value)));
        Some(answer)
    }

    pub fn failure(&self, status: u16) -> Answer {
        let refusal = |message: &str| Refusal::new(status, message);
        self.refusing(&match status {
            401 => refusal("Incorrect API key provided: sk-***.").code("invalid_api_key"),
            404 => refusal("The model does not exist.").code("model_not_found"),
            429 => refusal("Rate limit reached for requests.").code("rate_limit_exceeded"),
            529 => refusal("Overloaded"),
            500.. => refusal("The server had an error while processing your request."),
            _ => refusal("The request was refused by the script.").code("scripted"),
        })
    }

    /// The error of an exhausted account, where a retry does not help. Anthropic uses a 400.
    pub fn out_of_quota(&self) -> Answer {
        if self.voice.dialect() == Dialect::Messages {
            let message = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.";
            return self.refusing(&Refusal::new(400, message));
        }
        let mut answer = self.refusing(&Refusal::new(429, QUOTA).code("insufficient_quota"));
        if self.voice.dialect() != Dialect::Generate {
            let body = serde_json::json!({"error": {
                "message": QUOTA, "type": "insufficient_quota", "param": null, "code": "insufficient_quota",
            }});
            answer = Answer { status: 429, ..Answer::whole(body.to_string()) };
        }
        answer
    }

    fn refusing(&self, refusal: &Refusal) -> Answer {
        let body = self.voice.dialect().error(refusal).to_string();
        Answer { status: refusal.status, ..Answer::whole(body) }
    }
}

/// The retry header of a form; `Some(None)` if it has none, `None` if the form is unknown.
fn waiting(form: &str) -> Option<Option<(&'static str, String)>> {
    let number = |prefix: &str| form.strip_prefix(prefix).and_then(|text| text.parse::<u64>().ok());
    let header = match form {
        "none" => return Some(None),
        "past" => ("retry-after", date(-3600)),
        "absurd" => ("retry-after", TEN_YEARS.to_string()),
        "garbage" => ("retry-after", "soon, I hope".to_owned()),
        _ => {
            if let Some(seconds) = number("") {
                ("retry-after", seconds.to_string())
            } else if let Some(millis) = number("ms-") {
                ("retry-after-ms", millis.to_string())
            } else {
                ("retry-after", date(number("date-")? as i64))
            }
        }
    };
    Some(Some(header))
}

/// The HTTP date this many seconds from now.
fn date(seconds: i64) -> String {
    let then = SystemClock::new().now().micros() / 1_000_000 + seconds;
    written(Duration::from_secs(then.max(0) as u64))
}

fn written(since_epoch: Duration) -> String {
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
    fn dates_are_written_as_http_does() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
        ] {
            assert_eq!(written(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn every_form_has_its_header() {
        assert_eq!(waiting("7"), Some(Some(("retry-after", "7".to_owned()))));
        assert_eq!(waiting("ms-1500"), Some(Some(("retry-after-ms", "1500".to_owned()))));
        assert_eq!(waiting("none"), Some(None));
        assert!(waiting("date-5").flatten().is_some_and(|(_, value)| value.ends_with(" GMT")));
        assert_eq!(waiting("sometime"), None);
    }
}
