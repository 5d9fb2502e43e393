//! The rate limit headers of a response, and the error of a refused call.

use std::time::Duration;

use domain::fault::{self, Fault};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::counts::LimitStatus;
use super::limit_kind::LimitKind;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const SCOPE: HeaderName = HeaderName::from_static("x-ratelimit-scope");

/// The limit that is reported to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitHeaders {
    bound: LimitKind,
    limit: u64,
    remaining: u64,
    /// Whole seconds: until more remains, or until a refused call can be retried. For `tokens_per_minute`, until the
    /// bucket is full.
    reset: u64,
}

impl From<LimitStatus> for RateLimitHeaders {
    fn from(status: LimitStatus) -> Self {
        let LimitStatus { bound, limit, remaining, reset, wait } = status;
        let wait = wait.filter(|_| bound != LimitKind::TokensPerMinute);
        Self { bound, limit, remaining, reset: seconds(wait.unwrap_or(reset)) }
    }
}

impl RateLimitHeaders {
    pub fn write(&self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert(REMAINING, HeaderValue::from(self.remaining));
        headers.insert(RESET, HeaderValue::from(self.reset));
        headers.insert(SCOPE, HeaderValue::from_static(self.bound.name()));
    }
}

/// Rounds up to whole seconds, so that a retry after that time is not too early.
pub fn seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

/// The error for a call that a limit refuses.
pub fn refusal(status: &LimitStatus) -> Fault {
    let LimitStatus { bound, limit, wait, .. } = *status;
    let wait = wait.unwrap_or_default();
    let limited = match bound {
        LimitKind::RequestsPerMinute => "requests per minute",
        LimitKind::RequestsPerDay => "requests per day",
        LimitKind::TokensPerMinute => "tokens per minute",
        LimitKind::TokensPerDay => "tokens per day",
        LimitKind::ParallelRequests => "parallel requests",
    };
    let retry = match bound {
        LimitKind::ParallelRequests => "Retry when one of them has ended.".to_owned(),
        _ => format!("Retry in {} s.", seconds(wait)),
    };
    let message = format!("Rate limit reached: {limit} {limited} for this key. {retry}");
    fault::rate_limit_exceeded(message).retry_after(wait)
}
