//! The live state of a target as the views read it: the only place of theirs that asks a lane for it.

use std::time::Duration;

use pipeline::snapshot::routes::Lane;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), expect(dead_code, reason = "no lane has a breaker yet"))]
pub enum BreakerState {
    Closed,
    Open,
    HalfOpen,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HealthView {
    pub breaker: BreakerState,
    pub open_for: Option<Duration>,
    pub cooling_for: Option<Duration>,
    pub error_rate: f64,
    pub latency_ewma: Option<Duration>,
    pub in_flight: u32,
    pub last_error: Option<String>,
}

pub fn view(_lane: &Lane, _now: Duration) -> HealthView {
    HealthView {
        breaker: BreakerState::Closed,
        open_for: None,
        cooling_for: None,
        error_rate: 0.0,
        latency_ewma: None,
        in_flight: 0,
        last_error: None,
    }
}
