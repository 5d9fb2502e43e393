//! The share of a limit that one of several replicas enforces.

pub use domain::live_replicas::LiveReplicas;
use domain::resources::auth_key::RateLimits;

/// The limits that one of several replicas enforces: its part of each, at least 1 unless the limit is 0.
pub fn share(limits: &RateLimits, replicas: u32) -> RateLimits {
    let part = |limit: Option<u64>| limit.map(|limit| (limit / u64::from(replicas.max(1))).max(limit.min(1)));
    RateLimits {
        requests_per_minute: part(limits.requests_per_minute),
        requests_per_day: part(limits.requests_per_day),
        tokens_per_minute: part(limits.tokens_per_minute),
        tokens_per_day: part(limits.tokens_per_day),
        max_parallel_requests: part(limits.max_parallel_requests),
        count_cached: limits.count_cached,
    }
}
