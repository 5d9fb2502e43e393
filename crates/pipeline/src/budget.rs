//! How much extra the gateway may ask of providers: retries beside the calls under way, hedges beside the calls seen.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// So many retries may always be under way.
const RETRIES_FLOOR: u32 = 3;
/// Beyond that, one for so many calls under way.
const CALLS_PER_RETRY: u64 = 5;

/// When everything fails at once, retries must not multiply the load.
#[derive(Clone, Default)]
pub struct RetryBudget(Arc<AtomicU32>);

/// A retry under way.
pub struct RetryGuard(Arc<AtomicU32>);

impl RetryBudget {
    /// `active`: calls under way, the one that asks among them.
    pub fn try_retry(&self, active: u64) -> Option<RetryGuard> {
        let another = |retrying: u32| {
            let allowed = retrying < RETRIES_FLOOR || u64::from(retrying) * CALLS_PER_RETRY < active;
            allowed.then(|| retrying + 1)
        };
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, another).ok()?;
        Some(RetryGuard(Arc::clone(&self.0)))
    }
}

impl Drop for RetryGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Past so many calls both counts are halved: a long calm saves up no storm of hedges.
const HEDGE_HORIZON: u32 = 1024;

/// Hedges as a share of the calls seen. Both counts are in one word, so that the share holds under any concurrency.
#[derive(Default)]
pub struct HedgeBudget(AtomicU64);

impl HedgeBudget {
    /// To be said once for each call that might be hedged.
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
