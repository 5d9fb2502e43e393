//! The kinds of limits that a key can have.

use std::sync::Arc;
use std::time::Duration;

use domain::resources::auth_key::RateLimits;

pub const MINUTE: Duration = Duration::from_secs(60);
pub const DAY: Duration = Duration::from_secs(86_400);

/// A kind of limit, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    RequestsPerMinute,
    RequestsPerDay,
    TokensPerMinute,
    TokensPerDay,
    ParallelRequests,
}

/// The unit that a limit counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Requests,
    Tokens,
    ParallelRequests,
}

impl LimitKind {
    pub const ALL: [Self; 5] = [
        Self::RequestsPerMinute,
        Self::RequestsPerDay,
        Self::TokensPerMinute,
        Self::TokensPerDay,
        Self::ParallelRequests,
    ];

    /// The name in the key's document and in `X-RateLimit-Scope`.
    pub fn name(self) -> &'static str {
        match self {
            Self::RequestsPerMinute => "requests_per_minute",
            Self::RequestsPerDay => "requests_per_day",
            Self::TokensPerMinute => "tokens_per_minute",
            Self::TokensPerDay => "tokens_per_day",
            Self::ParallelRequests => "max_parallel_requests",
        }
    }

    /// The configured limit, if any.
    pub fn of(self, limits: &RateLimits) -> Option<u64> {
        match self {
            Self::RequestsPerMinute => limits.requests_per_minute,
            Self::RequestsPerDay => limits.requests_per_day,
            Self::TokensPerMinute => limits.tokens_per_minute,
            Self::TokensPerDay => limits.tokens_per_day,
            Self::ParallelRequests => limits.max_parallel_requests,
        }
    }

    pub fn unit(self) -> Unit {
        match self {
            Self::RequestsPerMinute | Self::RequestsPerDay => Unit::Requests,
            Self::TokensPerMinute | Self::TokensPerDay => Unit::Tokens,
            Self::ParallelRequests => Unit::ParallelRequests,
        }
    }
}

/// The tokens that a call may consume, as far as the request says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenDemand {
    /// The model of the first target: estimates are kept per key and model.
    pub model: Arc<str>,
    /// Prompt tokens, estimated from the size of the request.
    pub prompt: u64,
    /// The longest output that the request allows, if it sets a bound.
    pub max_output: Option<u64>,
}
