//! The number of gateway processes that share one database, and their shares of a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use domain::resources::auth_key::RateLimits;

/// The number of live replicas, this process included. Clones share it.
#[derive(Clone, Debug)]
pub struct LiveReplicas(Arc<AtomicU32>);

impl Default for LiveReplicas {
    fn default() -> Self {
        Self(Arc::new(AtomicU32::new(1)))
    }
}

impl LiveReplicas {
    /// At least 1.
    pub fn get(&self) -> u32 {
        // Relaxed: the number guards no other memory, and a call may use the one from before.
        self.0.load(Ordering::Relaxed).max(1)
    }

    pub fn set(&self, replicas: u32) {
        self.0.store(replicas, Ordering::Relaxed);
    }
}

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
