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
/// What is over by now is still told as a time to wait.
const LEAST_WAIT: Duration = Duration::from_millis(1);
const LONGEST_OVERLOAD: Duration = Duration::from_secs(120);

pub struct Course {
    lanes: std::vec::IntoIter<Arc<Lane>>,
    current: Option<Arc<Lane>>,
    /// Attempts at the current target, and what came of the last one.
    tries: u32,
    last: Option<Box<(Fault, Duration)>>,
    /// Made when there is something to hear: most calls meet no fault.
    heard: Option<Box<Heard>>,
}

/// What the targets said, as far as it decides the answer.
#[derive(Default)]
struct Heard {
    /// Failures of a provider.
    failed: Option<Fault>,
    overloaded: Option<Fault>,
    /// An upstream 429, or a target that had asked to wait.
    limited: Option<Fault>,
    open: Option<Fault>,
    /// What another try would not mend: a credential, a model that is not there.
    refused: Option<Fault>,
    /// Targets that cannot be asked this.
    lacking: Option<Fault>,
    /// When the first of them can be asked again.
    free_at: Option<Duration>,
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
        self.lanes.as_slice().iter().find(|lane| lane.health.availability(now).admits())
    }

    pub fn move_on(&mut self) {
        if let Some(last) = self.last.take() {
            let (fault, at) = *last;
            self.heard.get_or_insert_default().note(fault, at);
        }
        self.current = self.lanes.next();
        self.tries = 0;
    }

    /// A target that was tried beside the current one is not tried again.
    pub fn strike(&mut self, lane: &Arc<Lane>) {
        let rest: Vec<_> = self.lanes.by_ref().filter(|other| !Arc::ptr_eq(other, lane)).collect();
        self.lanes = rest.into_iter();
    }

    /// The target is not asked: its breaker is open, or it cools down. Of several, the message names the one that is
    /// free first, which is also the time that `Retry-After` tells.
    pub fn pass_over(&mut self, availability: &Availability) {
        let Some(lane) = &self.current else { return };
        let (instance, model) = (&lane.target.instance, &lane.target.model);
        let heard = self.heard.get_or_insert_default();
        match *availability {
            Availability::Open { until } => {
                if heard.is_first_free(until) || heard.open.is_none() {
                    heard.open = Some(fault::circuit_open(instance, model));
                }
                heard.free_at(until);
            }
            Availability::Cooling { until, busy } => {
                let first = heard.is_first_free(until);
                let place = if busy { &mut heard.overloaded } else { &mut heard.limited };
                // A provider's own words, heard in this call, say more.
                let ours = place.as_ref().is_none_or(|known| known.upstream_status.is_none() && first);
                if ours {
                    *place = Some(fault::cooling_down(instance, model, busy));
                }
                heard.free_at(until);
            }
            Availability::Ready | Availability::Probe => {}
        }
        self.move_on();
    }

    /// Nothing was sent: this target cannot be asked this. Another may.
    pub fn lacks(&mut self, fault: Fault) {
        self.heard.get_or_insert_default().lacking.get_or_insert(fault);
        self.move_on();
    }

    /// A target that was tried beside the current one failed, too.
    pub fn failed_beside(&mut self, fault: Fault, now: Duration) {
        self.heard.get_or_insert_default().note(fault, now);
    }

    pub fn failed(&mut self, fault: Fault, moment: &Moment<'_>) -> Next {
        self.tries += 1;
        if fault.recourse == Recourse::Nowhere {
            return Next::Nowhere(fault);
        }
        let next = self.again(&fault, moment);
        self.last = Some(Box::new((fault, moment.now)));
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
    pub fn verdict(mut self, now: Duration) -> Fault {
        self.move_on();
        let Heard { failed, overloaded, limited, open, refused, lacking, free_at } =
            *self.heard.unwrap_or_default();
        let after = free_at.map(|at| at.saturating_sub(now).max(LEAST_WAIT));
        // A later try could help: the client is told when.
        if let Some(fault) = failed {
            return Fault { retry_after: after, ..fault };
        }
        if let Some(fault) = overloaded {
            let after = after.unwrap_or(A_MOMENT).min(LONGEST_OVERLOAD);
            return with_retry_time(Fault { code: "overloaded".into(), ..fault }, after);
        }
        if let Some(fault) = limited.or(open) {
            return with_retry_time(fault, after.unwrap_or(A_MOMENT));
        }
        refused.or(lacking).unwrap_or_else(fault::internal_error)
    }
}

/// A message of our own ends with the time to wait; a provider's is left as it is.
fn with_retry_time(fault: Fault, after: Duration) -> Fault {
    match fault.upstream_status {
        None => fault.retry_in(after),
        Some(_) => fault.retry_after(after),
    }
}

impl Heard {
    fn is_first_free(&self, at: Duration) -> bool {
        self.free_at.is_none_or(|known| at < known)
    }

    fn free_at(&mut self, at: Duration) {
        self.free_at = Some(self.free_at.map_or(at, |known| known.min(at)));
    }

    fn note(&mut self, fault: Fault, now: Duration) {
        if let Some(after) = fault.retry_after {
            self.free_at(now + after);
        }
        match fault.status {
            429 => self.limited = Some(fault),
            503 => self.overloaded = Some(fault),
            _ if fault.is_failure() || fault.recourse == Recourse::Here => self.failed = Some(fault),
            _ => self.refused = Some(fault),
        }
    }
}

/// Full jitter: anything between nothing and the doubled bound.
fn backoff(tries: u32, chance: f64) -> Duration {
    let bound = FIRST_BACKOFF.saturating_mul(1 << (tries.saturating_sub(1)).min(10)).min(LONGEST_BACKOFF);
    bound.mul_f64(chance.clamp(0.0, 1.0))
}
