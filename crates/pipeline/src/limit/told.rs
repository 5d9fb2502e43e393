//! What a client hears of its limits: headers with every answer, and the reason of a refusal.

use std::time::Duration;

use domain::fault::{self, Fault};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::bound::Bound;
use super::counts::Standing;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const SCOPE: HeaderName = HeaderName::from_static("x-ratelimit-scope");

/// The limit that matters most to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    bound: Bound,
    limit: u64,
    remaining: u64,
    /// Whole seconds: until more remains, or until a refused call is worth another try. Of `tokens_per_minute` until the
    /// bucket is full.
    reset: u64,
}

impl From<Standing> for Told {
    fn from(standing: Standing) -> Self {
        let Standing { bound, limit, remaining, reset, wait } = standing;
        let wait = wait.filter(|_| bound != Bound::TokensPerMinute);
        Self { bound, limit, remaining, reset: seconds(wait.unwrap_or(reset)) }
    }
}

impl Told {
    pub fn write(&self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert(REMAINING, HeaderValue::from(self.remaining));
        headers.insert(RESET, HeaderValue::from(self.reset));
        headers.insert(SCOPE, HeaderValue::from_static(self.bound.name()));
    }
}

/// Rounded up: who comes after that long is not too early.
pub fn seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

/// The answer to a call that has to wait.
pub fn refusal(standing: &Standing) -> Fault {
    let Standing { bound, limit, wait, .. } = *standing;
    let wait = wait.unwrap_or_default();
    let limited = match bound {
        Bound::RequestsPerMinute => "requests per minute",
        Bound::RequestsPerDay => "requests per day",
        Bound::TokensPerMinute => "tokens per minute",
        Bound::TokensPerDay => "tokens per day",
        Bound::ParallelRequests => "parallel requests",
    };
    let retry = match bound {
        Bound::ParallelRequests => "Retry when one of them has ended.".to_owned(),
        _ => format!("Retry in {} s.", seconds(wait)),
    };
    let message = format!("Rate limit reached: {limit} {limited} for this key. {retry}");
    fault::rate_limit_exceeded(message).retry_after(wait)
}
