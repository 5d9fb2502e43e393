//! Limits on extra upstream load: retries relative to the calls in flight, hedges relative to the calls seen.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The number of concurrent retries that is always allowed.
const RETRIES_FLOOR: u32 = 3;
/// Beyond that, one retry is allowed per this many calls in flight.
const CALLS_PER_RETRY: u64 = 5;

/// Limits concurrent retries, so that they do not multiply the load when everything fails at once.
#[derive(Clone, Default)]
pub struct RetryBudget(Arc<AtomicU32>);

/// A retry in flight; releases its slot when dropped.
pub struct RetryGuard(Arc<AtomicU32>);

impl RetryBudget {
    /// Takes a slot for a retry, if allowed. `active` is the number of calls in flight, including the caller's.
    pub fn try_retry(&self, active: u64) -> Option<RetryGuard> {
        let another = |retrying: u32| {
            let allowed = retrying < RETRIES_FLOOR || u64::from(retrying + 1) * CALLS_PER_RETRY <= active;
            allowed.then(|| retrying + 1)
        };
        // The compare-and-swap loop keeps the count exact. It guards no other memory, so relaxed ordering is enough.
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, another).ok()?;
        Some(RetryGuard(Arc::clone(&self.0)))
    }
}

impl Drop for RetryGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Both counts are halved at this many calls, so that a long quiet period does not accumulate a burst of hedges.
const HEDGE_HORIZON: u32 = 1024;

/// Limits hedges to a share of the calls seen. Both counts share one atomic word, so that they change together and the
/// share holds under concurrency; relaxed ordering is enough because they guard no other memory.
#[derive(Default)]
pub struct HedgeBudget(AtomicU64);

impl HedgeBudget {
    /// Counts a call that may be hedged; to be called once for each.
    pub fn call(&self) {
        let one_more = |word| {
            let (calls, hedges) = unpack(word);
            let calls = calls + 1;
            Some(if calls < HEDGE_HORIZON {
                pack(calls, hedges)
            } else {
                pack(calls / 2, hedges.div_ceil(2))
            })
        };
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
    }

    pub fn try_hedge(&self, max_share: f64) -> bool {
        let one_more = |word| {
            let (calls, hedges) = unpack(word);
            let allowed = f64::from(hedges + 1) <= max_share * f64::from(calls);
            allowed.then(|| pack(calls, hedges + 1))
        };
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }
}

fn pack(calls: u32, hedges: u32) -> u64 {
    u64::from(calls) << 32 | u64::from(hedges)
}

fn unpack(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}
