//! Per-instance overrides of the settings for timeouts, retries and the circuit breaker.

use std::time::Duration;

use domain::resources::provider::Resilience;

use crate::routing::health::BreakerRules;

/// Limits of an instance; the global settings apply where one is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Streams: time to the first event of any kind.
    pub first_byte: Option<Duration>,
    /// Streams: time between events.
    pub idle: Option<Duration>,
    /// Total time of answers that are not streamed.
    pub total: Option<Duration>,
    pub retries: Option<u32>,
    pub breaker: BreakerRules,
}

impl From<&Resilience> for Limits {
    fn from(own: &Resilience) -> Self {
        let usual = BreakerRules::default();
        let failures = own.breaker_failures.unwrap_or(usual.failures);
        let time = |ms: Option<u64>| ms.map(Duration::from_millis);
        Self {
            first_byte: time(own.first_byte_timeout_ms),
            idle: time(own.idle_timeout_ms),
            total: time(own.total_timeout_ms),
            retries: own.max_retries,
            breaker: BreakerRules {
                failures,
                // A higher threshold for consecutive failures raises the one for the window, too.
                window_least: usual.window_least.max(failures.saturating_mul(4)),
                open_for: time(own.breaker_open_ms).unwrap_or(usual.open_for),
                ..usual
            },
        }
    }
}
