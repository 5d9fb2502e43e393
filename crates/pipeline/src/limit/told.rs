//! What a client hears of its limits: headers with every answer, and the reason of a refusal.

use std::time::Duration;

use domain::fault::{self, Fault};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::bound::{Bound, Demand, Unit};
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
    /// Whole seconds: until more remains, or until a refused call is worth another try.
    reset: u64,
}

impl From<Standing> for Told {
    fn from(standing: Standing) -> Self {
        let Standing { bound, limit, remaining, reset, wait } = standing;
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
pub fn refusal(standing: &Standing, demand: Demand) -> Fault {
    let Standing { bound, limit, remaining, wait, .. } = *standing;
    let wait = wait.unwrap_or_default();
    let period = match bound {
        Bound::RequestsPerMinute | Bound::TokensPerMinute => "in 60 seconds",
        Bound::RequestsPerDay | Bound::TokensPerDay => "in 24 hours",
        Bound::ParallelRequests => "at a time",
    };
    let again = seconds(wait);
    let message = match bound.unit() {
        Unit::Requests => {
            format!("This key may make {limit} requests {period}, and it has. Try again in {again} s.")
        }
        Unit::Tokens => format!(
            "This key may use {limit} tokens {period}; {remaining} are left, and this call may take {}. \
             Try again in {again} s, or ask for a shorter answer.",
            demand.most
        ),
        Unit::Places => format!(
            "This key may have {limit} requests under way {period}, and it has. Try again when one of them has ended."
        ),
    };
    let message = format!("{message} The limit is its '{}'.", bound.name());
    fault::rate_limit_exceeded(message).retry_after(wait)
}
