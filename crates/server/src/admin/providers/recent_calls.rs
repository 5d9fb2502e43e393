//! The calls of a provider instance in each of the last minutes.

use std::time::Duration;

use pipeline::routing::health::{MINUTES, MinuteSum, MinuteSums, since_minute};
use pipeline::routing::routes::Instance;
use serde::Serialize;
use utoipa::ToSchema;

use super::health::{back, milliseconds, tenths};
use crate::App;
use crate::admin::record;

/// The calls of an instance by minute, oldest first; the last one is the current minute. Only those of this process.
#[derive(Serialize, ToSchema)]
pub struct RecentCalls {
    /// Start of the first minute.
    pub start: String,
    pub bucket_seconds: u64,
    pub calls: Vec<u64>,
    /// Failures, and refusals for a rate limit.
    pub errors: Vec<u64>,
    /// The mean time to the first byte of successful calls; null without one.
    pub first_byte_ms: Vec<Option<f64>>,
}

impl RecentCalls {
    pub fn of(app: &App, instance: &Instance) -> Self {
        let (tick, now) = (app.gateway.clock.tick(), app.gateway.clock.now());
        let mut sums: MinuteSums = [MinuteSum::default(); MINUTES];
        instance.health().iter().for_each(|(_, health)| health.add_minutes(&mut sums, tick));
        let range = since_minute(tick) + Duration::from_secs(60 * (MINUTES as u64 - 1));
        Self {
            start: record::time(back(now, range)),
            bucket_seconds: 60,
            calls: sums.iter().map(|sum| sum.calls).collect(),
            errors: sums.iter().map(|sum| sum.errors).collect(),
            first_byte_ms: sums.iter().map(|sum| sum.first_byte().map(milliseconds).map(tenths)).collect(),
        }
    }

    pub fn calls(&self) -> u64 {
        self.calls.iter().sum()
    }

    pub fn errors(&self) -> u64 {
        self.errors.iter().sum()
    }
}
