//! What is measured of a target: moving averages for choosing, recent first bytes for the p95.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

const SAMPLES: usize = 128;
const FEWEST_SAMPLES: usize = 20;
/// How much the newest outcome weighs in the averages.
const LATENCY_SHARE: f64 = 0.07;
const ERROR_SHARE: f64 = 0.1;
/// After a silence the older figures weigh less: by this time constant …
const LATENCY_MEMORY: Duration = Duration::from_secs(5);
const ERROR_MEMORY: Duration = Duration::from_secs(30);
/// … but no single answer outweighs all that was known: where few calls come, a silence is nothing unusual.
const LATENCY_LEAST_KEPT: f64 = 0.5;

/// What those who choose may read without the lock. Figures that are a moment apart do no harm there.
#[derive(Default)]
pub struct Published {
    /// Nanoseconds; 0 is unknown.
    latency: AtomicU64,
    /// The bits of an `f64`.
    error_rate: AtomicU64,
    /// Nanoseconds.
    last_outcome: AtomicU64,
    outcomes: AtomicU32,
}

/// What is kept under the lock.
pub struct Figures {
    last_success: Duration,
    /// The last first bytes in microseconds, a ring.
    samples: [u32; SAMPLES],
    taken: usize,
}

impl Default for Figures {
    fn default() -> Self {
        Self { last_success: Duration::ZERO, samples: [0; SAMPLES], taken: 0 }
    }
}

impl Published {
    pub fn latency(&self) -> Option<Duration> {
        match self.latency.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }

    pub fn error_rate(&self) -> f64 {
        f64::from_bits(self.error_rate.load(Ordering::Relaxed))
    }

    pub fn error_rate_at(&self, now: Duration) -> f64 {
        let rate = self.error_rate();
        if rate == 0.0 {
            return 0.0;
        }
        let last = Duration::from_nanos(self.last_outcome.load(Ordering::Relaxed));
        rate * kept_after(now.saturating_sub(last), ERROR_MEMORY)
    }

    pub fn outcomes(&self) -> u32 {
        self.outcomes.load(Ordering::Relaxed)
    }

    fn note(&self, now: Duration, failure: f64) {
        let rate = self.error_rate_at(now) * (1.0 - ERROR_SHARE) + failure * ERROR_SHARE;
        self.error_rate.store(rate.to_bits(), Ordering::Relaxed);
        self.last_outcome.store(nanos(now), Ordering::Relaxed);
        self.outcomes.store(self.outcomes().saturating_add(1), Ordering::Relaxed);
    }
}

impl Figures {
    pub fn succeeded(&mut self, now: Duration, first_byte: Duration, published: &Published) {
        published.note(now, 0.0);
        self.took(now, first_byte, published);
    }

    pub fn took(&mut self, now: Duration, first_byte: Duration, published: &Published) {
        let average = match published.latency() {
            None => first_byte,
            Some(known) => {
                let silence = now.saturating_sub(self.last_success);
                let kept = kept_after(silence, LATENCY_MEMORY) * (1.0 - LATENCY_SHARE);
                blend(known, first_byte, kept.max(LATENCY_LEAST_KEPT))
            }
        };
        published.latency.store(nanos(average).max(1), Ordering::Relaxed);
        self.last_success = now;
        self.samples[self.taken % SAMPLES] = u32::try_from(first_byte.as_micros()).unwrap_or(u32::MAX);
        self.taken += 1;
    }

    pub fn failed(&mut self, now: Duration, published: &Published) {
        published.note(now, 1.0);
    }

    pub fn p95(&self) -> Option<Duration> {
        let count = self.taken.min(SAMPLES);
        if count < FEWEST_SAMPLES {
            return None;
        }
        let mut samples = self.samples;
        let rank = (count * 95).div_ceil(100) - 1;
        let (_, p95, _) = samples[..count].select_nth_unstable(rank);
        Some(Duration::from_micros(u64::from(*p95)))
    }
}

/// By ratio, not by difference: one answer that took ten times as long as ever must not outweigh all others, for a
/// target that looks slow is hardly asked any more and keeps its bad name.
fn blend(known: Duration, newest: Duration, kept: f64) -> Duration {
    let (known, newest) = (known.as_secs_f64().max(1e-9), newest.as_secs_f64().max(1e-9));
    let blended = (known.ln() * kept + newest.ln() * (1.0 - kept)).exp();
    Duration::try_from_secs_f64(blended).unwrap_or(Duration::MAX)
}

fn kept_after(silence: Duration, memory: Duration) -> f64 {
    (-silence.as_secs_f64() / memory.as_secs_f64()).exp()
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
