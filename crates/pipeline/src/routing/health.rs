//! Live health of one target, an instance and a model: breaker, cooldown, latency, errors, calls in flight.
//!
//! Time is a monotonic tick that the caller passes in. A healthy target admits calls without a lock; an outcome takes
//! one.

mod admission;
mod breaker;
mod figures;
mod minutes;
mod registry;
#[cfg(test)]
mod tests;
mod window;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

pub use admission::Admission;
use breaker::Breaker;
use figures::{Figures, Published};
use minutes::Minutes;
pub use minutes::{MINUTES, MinuteSum, MinuteSums, since_minute};
use parking_lot::Mutex;
pub use registry::{HealthRegistry, InstanceHealth};

/// The time to wait that is reported while another call holds the probe.
const PROBE_UNDER_WAY: Duration = Duration::from_secs(1);

/// The thresholds of a circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerRules {
    /// Consecutive failures that open it; 0 counts as 1.
    pub failures: u32,
    pub open_for: Duration,
    /// The time window in which it also opens, if more than half of the outcomes are failures.
    pub window: Duration,
    /// Fewest outcomes in the window for that.
    pub window_least: u32,
    /// Successful probes that close it.
    pub successes: u32,
}

impl Default for BreakerRules {
    fn default() -> Self {
        Self {
            failures: 5,
            open_for: Duration::from_secs(30),
            window: Duration::from_secs(30),
            window_least: 20,
            successes: 2,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    Ready,
    /// Half open, and the probe is free.
    Probe,
    /// In a cooldown.
    Cooling {
        until: Duration,
        /// Whether the provider was overloaded, as opposed to the gateway being rate limited.
        busy: bool,
    },
    /// Open, or half open while another call holds the probe.
    Open {
        until: Duration,
    },
}

impl Availability {
    /// Whether a call would be admitted.
    pub fn admits(self) -> bool {
        matches!(self, Self::Ready | Self::Probe)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    Closed,
    Open,
    HalfOpen,
}

/// A change of the breaker by an outcome, to be reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    Opened,
    Closed,
}

/// The state of a target as an operator sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthView {
    pub breaker: BreakerState,
    /// The time until a probe is admitted.
    pub open_for: Option<Duration>,
    pub cooling_for: Option<Duration>,
    /// The share of failures among recent outcomes, 0 to 1; decays while there are none.
    pub error_rate: f64,
    pub latency_ewma: Option<Duration>,
    pub in_flight: u32,
    pub p95_first_byte: Option<Duration>,
    pub consecutive_failures: u32,
    pub last_error: Option<String>,
    /// The time of the last success.
    pub last_success: Option<Duration>,
}

#[derive(Default)]
pub struct Health {
    in_flight: AtomicU32,
    /// The state for admission without the lock: the breaker's era, doubled, plus one if the lock has to be taken.
    notice: AtomicU64,
    published: Published,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    rules: BreakerRules,
    breaker: Breaker,
    cooling_until: Option<Duration>,
    busy: bool,
    figures: Figures,
    minutes: Minutes,
    last_error: Option<String>,
}

impl Health {
    /// The current availability. Changes nothing.
    pub fn availability(&self, now: Duration) -> Availability {
        match self.clear_era() {
            Some(_) => Availability::Ready,
            None => self.state.lock().availability(now),
        }
    }

    /// Admits a call, and takes the probe if one is needed. The admission counts the call as in flight until it is
    /// dropped, and returns the probe if no outcome was reported.
    pub fn admit(self: &Arc<Self>, now: Duration) -> Result<Admission, Availability> {
        if let Some(era) = self.clear_era() {
            return Ok(Admission::new(Arc::clone(self), era, false));
        }
        let mut state = self.state.lock();
        let availability = state.availability(now);
        let probe = match availability {
            Availability::Ready => false,
            Availability::Probe => true,
            Availability::Cooling { .. } | Availability::Open { .. } => return Err(availability),
        };
        state.cooling_until = None;
        if probe {
            state.breaker.take_probe();
        }
        let era = state.breaker.era();
        self.post(&state);
        drop(state);
        Ok(Admission::new(Arc::clone(self), era, probe))
    }

    /// Starts a cooldown, or extends the current one; never shortens it. Returns true if it starts.
    pub fn cool_down(&self, now: Duration, length: Duration, busy: bool) -> bool {
        let until = Some(now.saturating_add(length));
        let mut state = self.state.lock();
        let starts = state.cooling(now).is_none();
        if state.cooling_until < until {
            state.cooling_until = until;
            state.busy = busy;
            self.post(&state);
        }
        starts
    }

    pub fn view(&self, now: Duration) -> HealthView {
        let state = self.state.lock();
        let (breaker, open_for) = state.breaker.view(now);
        HealthView {
            breaker,
            open_for,
            cooling_for: state.cooling(now).map(|until| until.saturating_sub(now)),
            error_rate: self.error_rate_at(now),
            latency_ewma: self.latency_ewma(),
            in_flight: self.in_flight(),
            p95_first_byte: state.figures.p95(),
            consecutive_failures: state.breaker.streak(),
            last_error: state.last_error.clone(),
            last_success: state.minutes.last_success,
        }
    }

    /// Adds its calls of the last minutes to the sums.
    pub fn add_minutes(&self, sums: &mut MinuteSums, now: Duration) {
        self.state.lock().minutes.add_to(sums, now);
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Moving average of the time to the first byte.
    pub fn latency_ewma(&self) -> Option<Duration> {
        self.published.latency()
    }

    /// Share of failures among recent outcomes, as of the last one.
    pub fn error_rate(&self) -> f64 {
        self.published.error_rate()
    }

    /// The error rate, decayed up to now: a target without calls recovers in time, otherwise it would never be chosen
    /// again.
    pub(crate) fn error_rate_at(&self, now: Duration) -> f64 {
        self.published.error_rate_at(now)
    }

    /// The number of calls that have ended or are in flight: below a few, the figures say little.
    pub(crate) fn tries(&self) -> u32 {
        self.published.outcomes().saturating_add(self.in_flight())
    }

    /// The p95 of the last 128 times to the first byte; `None` below 20.
    pub fn p95_first_byte(&self) -> Option<Duration> {
        self.state.lock().figures.p95()
    }

    /// Applies new rules, when a snapshot is compiled.
    pub fn settings(&self, rules: BreakerRules) {
        let mut state = self.state.lock();
        if state.rules.window != rules.window {
            state.breaker.forget_window();
        }
        state.rules = rules;
    }

    /// The breaker's era, if it is closed and there is no cooldown: then the lock is not needed.
    fn clear_era(&self) -> Option<u64> {
        // Acquire pairs with the release in `post`: a reader of a posted value also sees what was written before it.
        let notice = self.notice.load(Ordering::Acquire);
        notice.is_multiple_of(2).then_some(notice / 2)
    }

    /// Publishes the state for admission without the lock. Must be called with the lock held, which orders the stores.
    fn post(&self, state: &State) {
        let trouble = !state.breaker.is_closed() || state.cooling_until.is_some();
        self.notice.store(state.breaker.era() * 2 + u64::from(trouble), Ordering::Release);
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Health")
            .field("clear", &self.clear_era().is_some())
            .field("in_flight", &self.in_flight())
            .field("latency_ewma", &self.latency_ewma())
            .field("error_rate", &self.error_rate())
            .finish_non_exhaustive()
    }
}

impl State {
    fn cooling(&self, now: Duration) -> Option<Duration> {
        self.cooling_until.filter(|&until| until > now)
    }

    /// If both a cooldown and an open breaker apply, the one that ends later counts.
    fn availability(&self, now: Duration) -> Availability {
        let breaker = self.breaker.availability(now);
        match (self.cooling(now), breaker) {
            (Some(until), Availability::Open { until: open }) if open > until => breaker,
            (Some(until), _) => Availability::Cooling { until, busy: self.busy },
            (None, _) => breaker,
        }
    }
}
