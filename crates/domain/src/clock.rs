//! Time as an input: code that needs the time is given a clock, so that tests control it.

use std::time::Duration;

/// Microseconds since the Unix epoch, UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds * 1_000_000)
    }

    pub const fn from_millis(millis: i64) -> Self {
        Self(millis * 1_000)
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }
}

pub trait Clock: Send + Sync {
    /// Wall time, for records.
    fn now(&self) -> Timestamp;
    /// Monotonic time since an arbitrary start, for durations.
    fn tick(&self) -> Duration;
}
