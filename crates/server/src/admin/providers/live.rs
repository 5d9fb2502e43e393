//! How a target is doing, as the pipeline sees it.

use std::time::Duration;

pub use pipeline::health::{BreakerState, HealthView};
use pipeline::snapshot::routes::Lane;

pub fn view(lane: &Lane, now: Duration) -> HealthView {
    lane.health.view(now)
}
