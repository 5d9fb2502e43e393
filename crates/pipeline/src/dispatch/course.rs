//! The way of a call over its targets: what is tried next, how long that waits, and what is said when nothing is left.

use std::sync::Arc;
use std::time::Duration;

use domain::fault::{self, Fault, Recourse};

use crate::budget::{RetryBudget, RetryGuard};
use crate::gateway::Retries;
use crate::health::Availability;
use crate::snapshot::routes::Lane;

const FIRST_BACKOFF: Duration = Duration::from_millis(250);
const LONGEST_BACKOFF: Duration = Duration::from_secs(8);
/// Said when a provider is at its limits and does not say for how long.
const A_MOMENT: Duration = Duration::from_secs(1);
const LONGEST_OVERLOAD: Duration = Duration::from_secs(120);

pub struct Course {
    lanes: std::vec::IntoIter<Arc<Lane>>,
    current: Option<Arc<Lane>>,
    /// Attempts at the current target, and what came of the last one.
    tries: u32,
    last: Option<Box<Fault>>,
    /// Made when there is something to hear: most calls meet no fault.
    heard: Option<Box<Heard>>,
}

/// What the targets said, as far as it decides the answer.
#[derive(Default)]
struct Heard {
    /// An upstream 429, or a target that had asked to wait.
    limited: Option<Fault>,
    overloaded: Option<Fault>,
    open: Option<Fault>,
    lacking: Option<Fault>,
    other: Option<Fault>,
    /// When the first of them can be asked again.
    soonest: Option<Duration>,
}

pub enum Next {
    /// The same target, after a pause; the guard is part of the retry budget.
    Again(Duration, RetryGuard),
    Elsewhere,
    /// Nobody would say anything else.
    Nowhere(Fault),
}

/// What bears on a decision besides the fault.
pub struct Moment<'a> {
    /// Until the deadline of the whole call.
    pub left: Duration,
    /// Between 0 and 1.
    pub chance: f64,
    pub retries: &'a Retries,
    pub budget: &'a RetryBudget,
    /// Calls under way.
    pub active: u64,
    pub now: Duration,
}

impl Course {
    pub fn new(lanes: Vec<Arc<Lane>>) -> Self {
        let mut lanes = lanes.into_iter();
        Self { current: lanes.next(), lanes, tries: 0, last: None, heard: None }
    }

    pub fn target(&self) -> Option<&Arc<Lane>> {
        self.current.as_ref()
    }

    /// The one after the current target that could be asked now.
    pub fn alternative(&self, now: Duration) -> Option<&Arc<Lane>> {
        self.lanes.as_slice().iter().find(|lane| is_free(lane, now))
    }

    pub fn move_on(&mut self) {
        if let Some(fault) = self.last.take() {
            self.heard.get_or_insert_default().note(*fault);
        }
        self.current = self.lanes.next();
        self.tries = 0;
    }

    /// A target that was tried beside the current one is not tried again.
    pub fn strike(&mut self, lane: &Arc<Lane>) {
        let rest: Vec<_> = self.lanes.by_ref().filter(|other| !Arc::ptr_eq(other, lane)).collect();
        self.lanes = rest.into_iter();
    }

    /// The target is not asked: its breaker is open, or it wants to be left alone.
    pub fn pass_over(&mut self, availability: &Availability, now: Duration) {
        let Some(lane) = &self.current else { return };
        let instance = &lane.target.instance;
        let heard = self.heard.get_or_insert_default();
        match availability {
            Availability::Open { until } => {
                let left = until.saturating_sub(now);
                heard.free_in(left);
                heard.open = Some(fault::circuit_open(instance, left));
            }
            Availability::Cooling { until } => {
                let left = until.saturating_sub(now);
                heard.free_in(left);
                heard.limited.get_or_insert_with(|| fault::cooling_down(instance, left));
            }
            Availability::Ready | Availability::Probe => {}
        }
        self.move_on();
    }

    /// Nothing was sent: the target cannot be asked this.
    pub fn lacks(&mut self, fault: Fault) -> Next {
        match fault.recourse {
            Recourse::Nowhere => Next::Nowhere(fault),
            _ => {
                self.heard.get_or_insert_default().lacking = Some(fault);
                self.move_on();
                Next::Elsewhere
            }
        }
    }

    pub fn failed(&mut self, fault: Fault, moment: &Moment<'_>) -> Next {
        self.tries += 1;
        if fault.recourse == Recourse::Nowhere {
            return Next::Nowhere(fault);
        }
        let next = self.again(&fault, moment);
        self.last = Some(Box::new(fault));
        next.unwrap_or_else(|| {
            self.move_on();
            Next::Elsewhere
        })
    }

    /// Another try at the same target, where that makes sense.
    fn again(&self, fault: &Fault, moment: &Moment<'_>) -> Option<Next> {
        let lane = self.current.as_ref()?;
        let asked = fault.retry_after.unwrap_or_default();
        let here = match fault.recourse {
            // Who wants to be left alone is not waited for while somebody else is free.
            Recourse::Here => asked.is_zero() || self.alternative(moment.now).is_none(),
            Recourse::ElsewhereFirst => self.alternative(moment.now).is_none(),
            Recourse::Nowhere | Recourse::Elsewhere | Recourse::Exhausted => false,
        };
        let most = lane.instance.limits.retries.unwrap_or(moment.retries.most);
        if !here || self.tries > most || asked > moment.retries.longest_wait {
            return None;
        }
        let pause = backoff(self.tries, moment.chance).max(asked);
        if pause >= moment.left {
            return None;
        }
        moment.budget.try_retry(moment.active).map(|guard| Next::Again(pause, guard))
    }

    /// Nothing is left to try.
    pub fn verdict(mut self) -> Fault {
        self.move_on();
        let Heard { limited, overloaded, open, lacking, other, soonest } = *self.heard.unwrap_or_default();
        if let Some(fault) = other {
            return fault;
        }
        if let Some(mut fault) = overloaded {
            fault.code = "overloaded".into();
            let after = soonest.or(fault.retry_after).unwrap_or(A_MOMENT);
            return fault.retry_after(after.min(LONGEST_OVERLOAD));
        }
        if let Some(fault) = limited {
            let after = soonest.or(fault.retry_after).unwrap_or(A_MOMENT);
            return fault.retry_after(after);
        }
        if let Some(fault) = open {
            let after = soonest.unwrap_or(A_MOMENT);
            return fault.retry_after(after);
        }
        lacking.unwrap_or_else(fault::internal_error)
    }
}

impl Heard {
    fn free_in(&mut self, left: Duration) {
        self.soonest = Some(self.soonest.map_or(left, |known| known.min(left)));
    }

    fn note(&mut self, fault: Fault) {
        if let Some(after) = fault.retry_after {
            self.free_in(after);
        }
        match fault.status {
            429 => self.limited = Some(fault),
            503 => self.overloaded = Some(fault),
            _ => self.other = Some(fault),
        }
    }
}

fn is_free(lane: &Lane, now: Duration) -> bool {
    matches!(lane.health.availability(now), Availability::Ready | Availability::Probe)
}

/// Full jitter: anything between nothing and the doubled bound.
fn backoff(tries: u32, chance: f64) -> Duration {
    let bound = FIRST_BACKOFF.saturating_mul(1 << (tries.saturating_sub(1)).min(10)).min(LONGEST_BACKOFF);
    bound.mul_f64(chance.clamp(0.0, 1.0))
}
