//! The circuit breaker: closed, open, or half open with one probe at a time.

use std::time::Duration;

use super::window::Window;
use super::{Availability, BreakerRules, BreakerState, PROBE_UNDER_WAY, Transition};

#[derive(Default)]
pub struct Breaker {
    phase: Phase,
    /// Counts openings and closings.
    era: u64,
    /// Consecutive failures.
    streak: u32,
    window: Window,
    /// Kept beside the phase: a probe may still be in flight when a late failure of an earlier one opens the breaker
    /// again.
    probing: bool,
}

#[derive(Clone, Copy, Default)]
enum Phase {
    #[default]
    Closed,
    /// Becomes half open from `until` on, as soon as a call takes the probe.
    Open {
        until: Duration,
    },
    HalfOpen {
        successes: u32,
    },
}

/// A success that is retracted: when it was counted, and how many consecutive failures it had ended.
pub struct RetractedSuccess {
    pub at: Duration,
    pub ended_failures: u32,
}

impl Breaker {
    pub fn era(&self) -> u64 {
        self.era
    }

    pub fn streak(&self) -> u32 {
        self.streak
    }

    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    pub fn availability(&self, now: Duration) -> Availability {
        match self.phase {
            Phase::Closed => Availability::Ready,
            Phase::Open { until } if now < until => Availability::Open { until },
            _ if self.probing => Availability::Open { until: now.saturating_add(PROBE_UNDER_WAY) },
            _ => Availability::Probe,
        }
    }

    pub fn view(&self, now: Duration) -> (BreakerState, Option<Duration>) {
        match self.phase {
            Phase::Closed => (BreakerState::Closed, None),
            Phase::Open { until } if now < until => (BreakerState::Open, Some(until.saturating_sub(now))),
            _ => (BreakerState::HalfOpen, None),
        }
    }

    pub fn take_probe(&mut self) {
        self.probing = true;
        if let Phase::Open { .. } = self.phase {
            self.phase = Phase::HalfOpen { successes: 0 };
        }
    }

    pub fn return_probe(&mut self) {
        self.probing = false;
    }

    pub fn forget_window(&mut self) {
        self.window = Window::default();
    }

    /// Counts a success; also returns the number of consecutive failures it ended. The caller leaves out outcomes of
    /// earlier eras, so that only probes report in the half-open phase.
    pub fn succeeded(&mut self, now: Duration, rules: &BreakerRules) -> (u32, Option<Transition>) {
        match &mut self.phase {
            Phase::Closed => {
                self.window.good(now, rules.window);
                (std::mem::take(&mut self.streak), None)
            }
            Phase::HalfOpen { successes } => {
                *successes += 1;
                if *successes < rules.successes {
                    return (0, None);
                }
                self.turn(Phase::Closed);
                self.streak = 0;
                (0, Some(Transition::Closed))
            }
            Phase::Open { .. } => (0, None),
        }
    }

    pub fn failed(
        &mut self,
        now: Duration,
        retracted: Option<RetractedSuccess>,
        rules: &BreakerRules,
    ) -> Option<Transition> {
        if let Some(praise) = retracted {
            self.window.retract(praise.at, rules.window);
            self.streak = self.streak.saturating_add(praise.ended_failures);
        }
        self.streak = self.streak.saturating_add(1);
        let opens = match self.phase {
            Phase::Closed => {
                self.window.bad(now, rules.window);
                self.streak >= rules.failures || self.window.mostly_bad(now, rules)
            }
            Phase::HalfOpen { .. } => true,
            Phase::Open { .. } => false,
        };
        if !opens {
            return None;
        }
        self.turn(Phase::Open { until: now.saturating_add(rules.open_for) });
        Some(Transition::Opened)
    }

    fn turn(&mut self, phase: Phase) {
        self.phase = phase;
        self.era += 1;
        self.window = Window::default();
    }
}
