//! The limits that a key can have, one by one.

use std::time::Duration;

use domain::resources::auth_key::RateLimits;

pub const MINUTE: Duration = Duration::from_secs(60);
pub const DAY: Duration = Duration::from_secs(86_400);

/// In the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    RequestsPerMinute,
    RequestsPerDay,
    TokensPerMinute,
    TokensPerDay,
    ParallelRequests,
}

/// What a limit counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Requests,
    Tokens,
    Places,
}

impl Bound {
    pub const ALL: [Self; 5] = [
        Self::RequestsPerMinute,
        Self::RequestsPerDay,
        Self::TokensPerMinute,
        Self::TokensPerDay,
        Self::ParallelRequests,
    ];

    /// As the key's document and `X-RateLimit-Scope` name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::RequestsPerMinute => "requests_per_minute",
            Self::RequestsPerDay => "requests_per_day",
            Self::TokensPerMinute => "tokens_per_minute",
            Self::TokensPerDay => "tokens_per_day",
            Self::ParallelRequests => "max_parallel_requests",
        }
    }

    /// The limit that is set, if any.
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
            Self::ParallelRequests => Unit::Places,
        }
    }

    /// What a call takes of it at most, and what it cannot do without. No call takes more than there is: with nothing else
    /// under way each one is possible.
    pub fn share(self, limit: u64, demand: Demand) -> Demand {
        match self.unit() {
            Unit::Requests | Unit::Places => Demand { most: 1, least: 1 },
            Unit::Tokens => Demand { most: demand.most.min(limit), least: demand.least.min(limit) },
        }
    }
}

/// How many tokens a call asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// As far as can be told.
    pub most: u64,
    /// The same, unless nothing bounds the answer: then it is what is sure, and the call makes do with what there is.
    pub least: u64,
}
