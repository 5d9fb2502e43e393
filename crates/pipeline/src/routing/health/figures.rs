//! The figures of a target: moving averages for the selection, and recent times to the first byte for the p95.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

const SAMPLES: usize = 128;
const FEWEST_SAMPLES: usize = 20;
/// The weight of the newest value in the latency.
const LATENCY_SHARE: f64 = 0.07;
/// The weight of the newest outcome in the error rate.
const ERROR_SHARE: f64 = 0.1;
/// The time constant by which older latencies lose weight while there are no calls.
const LATENCY_MEMORY: Duration = Duration::from_secs(5);
/// The time constant by which the error rate decays.
const ERROR_MEMORY: Duration = Duration::from_secs(30);
/// The least weight of the known latency: with few calls a pause is not unusual, and no single response may outweigh
/// it.
const LATENCY_LEAST_KEPT: f64 = 0.5;

/// The figures that the selection reads without the lock. They may be a moment apart, which does no harm there; relaxed
/// ordering is enough.
#[derive(Default)]
pub struct Published {
    /// Nanoseconds; 0 means unknown.
    latency: AtomicU64,
    /// The bits of an `f64`.
    error_rate: AtomicU64,
    /// Nanoseconds.
    last_outcome: AtomicU64,
    outcomes: AtomicU32,
}

/// The figures that are kept under the lock.
pub struct Figures {
    last_success: Duration,
    /// A ring of the last times to the first byte, in microseconds.
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

/// Averages by ratio, not by difference: a single response that took ten times as long as usual must not outweigh all
/// others, because a target that looks slow gets hardly any calls to correct that.
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
