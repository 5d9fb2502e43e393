//! Failover across the targets of a call: which one is tried next, after which pause, and which error is returned if
//! none is left.

use std::sync::Arc;
use std::time::Duration;

use domain::fault::{self, Fault, FaultCode, RetryScope};

use crate::call::effective_policy::EffectivePolicy;
use crate::routing::health::Availability;
use crate::routing::routes::Deployment;
use crate::services::retry_budget::{RetryBudget, RetryGuard};

const FIRST_BACKOFF: Duration = Duration::from_millis(250);
const LONGEST_BACKOFF: Duration = Duration::from_secs(8);
/// The time to wait that is reported if no target says for how long.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);
/// The shortest time to wait that is reported, if it is already over.
const MIN_RETRY_AFTER: Duration = Duration::from_millis(1);
const LONGEST_OVERLOAD: Duration = Duration::from_secs(120);

pub struct FailoverPlan {
    deployments: std::vec::IntoIter<Arc<Deployment>>,
    current: Option<Arc<Deployment>>,
    /// Attempts at the current target.
    tries: u32,
    /// The error of the last attempt, and its time.
    last: Option<Box<(Fault, Duration)>>,
    /// Created at the first error: most calls have none.
    failures: Option<Box<FailureSummary>>,
}

/// The errors of the targets, by the kinds that decide the final error.
#[derive(Default)]
struct FailureSummary {
    /// A failure of a provider.
    failed: Option<Fault>,
    overloaded: Option<Fault>,
    /// An upstream 429, or a target in a cooldown that was not caused by overload.
    limited: Option<Fault>,
    open: Option<Fault>,
    /// An error that another attempt would not fix: a credential, an unknown model.
    refused: Option<Fault>,
    /// A target that cannot serve this request.
    lacking: Option<Fault>,
    /// The earliest time at which a target is available again.
    free_at: Option<Duration>,
}

pub enum Next {
    /// Retries the same target after a pause; the guard counts against the retry budget.
    Again(Duration, RetryGuard),
    OtherTarget,
    /// No other target would answer differently.
    Stop(Fault),
}

/// The inputs of a retry decision besides the error.
pub struct RetryContext<'a> {
    /// The time until the deadline of the whole call.
    pub left: Duration,
    /// A random number between 0 and 1.
    pub chance: f64,
    pub policy: &'a EffectivePolicy,
    pub budget: &'a RetryBudget,
    /// Calls in flight.
    pub active: u64,
    pub now: Duration,
}

impl FailoverPlan {
    pub fn new(deployments: Vec<Arc<Deployment>>) -> Self {
        let mut deployments = deployments.into_iter();
        Self { current: deployments.next(), deployments, tries: 0, last: None, failures: None }
    }

    pub fn target(&self) -> Option<&Arc<Deployment>> {
        self.current.as_ref()
    }

    /// The first target after the current one that could be called now.
    pub fn alternative(&self, now: Duration) -> Option<&Arc<Deployment>> {
        self.deployments.as_slice().iter().find(|deployment| deployment.health.availability(now).admits())
    }

    pub fn move_on(&mut self) {
        if let Some(last) = self.last.take() {
            let (fault, at) = *last;
            self.failures.get_or_insert_default().note(fault, at);
        }
        self.current = self.deployments.next();
        self.tries = 0;
    }

    /// Removes a target that was tried as a hedge.
    pub fn remove_target(&mut self, deployment: &Arc<Deployment>) {
        let rest: Vec<_> =
            self.deployments.by_ref().filter(|other| !Arc::ptr_eq(other, deployment)).collect();
        self.deployments = rest.into_iter();
    }

    /// Skips the current target because its breaker is open or it cools down. Of several, the message names the one
    /// that is available first, as does `Retry-After`.
    pub fn pass_over(&mut self, availability: &Availability) {
        let Some(deployment) = &self.current else { return };
        let (instance, model) = (&deployment.target.instance, &deployment.target.model);
        let failures = self.failures.get_or_insert_default();
        match *availability {
            Availability::Open { until } => {
                if failures.is_first_free(until) || failures.open.is_none() {
                    failures.open = Some(fault::circuit_open(instance, model));
                }
                failures.free_at(until);
            }
            Availability::Cooling { until, busy } => {
                let first = failures.is_first_free(until);
                let place = if busy { &mut failures.overloaded } else { &mut failures.limited };
                // An error that the provider itself returned in this call says more.
                let ours = place.as_ref().is_none_or(|known| known.upstream_status.is_none() && first);
                if ours {
                    *place = Some(fault::cooling_down(instance, model, busy));
                }
                failures.free_at(until);
            }
            Availability::Ready | Availability::Probe => {}
        }
        self.move_on();
    }

    /// Skips the current target because it cannot serve this request. Nothing was sent.
    pub fn skip_unsupported(&mut self, fault: Fault) {
        self.failures.get_or_insert_default().lacking.get_or_insert(fault);
        self.move_on();
    }

    /// Records the error of a target that was tried as a hedge.
    pub fn record_hedge_failure(&mut self, fault: Fault, now: Duration) {
        self.failures.get_or_insert_default().note(fault, now);
    }

    pub fn failed(&mut self, fault: Fault, context: &RetryContext<'_>) -> Next {
        self.tries += 1;
        if fault.retry_scope == RetryScope::Never {
            return Next::Stop(fault);
        }
        let next = self.retry_same_target(&fault, context);
        self.last = Some(Box::new((fault, context.now)));
        next.unwrap_or_else(|| {
            self.move_on();
            Next::OtherTarget
        })
    }

    /// Another attempt at the same target, if the error, the limits and the retry budget allow it.
    fn retry_same_target(&self, fault: &Fault, context: &RetryContext<'_>) -> Option<Next> {
        let deployment = self.current.as_ref()?;
        let asked = fault.retry_after.unwrap_or_default();
        let here = match fault.retry_scope {
            // A target that asks to wait is not waited for while another one is available.
            RetryScope::SameTarget => asked.is_zero() || self.alternative(context.now).is_none(),
            RetryScope::OtherTargetFirst => self.alternative(context.now).is_none(),
            RetryScope::Never | RetryScope::OtherTarget | RetryScope::QuotaExhausted => false,
        };
        let retries = context.policy.at(&deployment.instance.limits).retries;
        if !here || self.tries > retries.max || asked > retries.longest_wait {
            return None;
        }
        let pause = backoff(self.tries, context.chance).max(asked);
        if pause >= context.left {
            return None;
        }
        context.budget.try_retry(context.active).map(|guard| Next::Again(pause, guard))
    }

    /// The final error, when no target is left.
    pub fn final_error(mut self, now: Duration) -> Fault {
        self.move_on();
        let FailureSummary { failed, overloaded, limited, open, refused, lacking, free_at } =
            *self.failures.unwrap_or_default();
        let after = free_at.map(|at| at.saturating_sub(now).max(MIN_RETRY_AFTER));
        // A later attempt may succeed: the client learns when.
        if let Some(fault) = failed {
            return Fault { retry_after: after, ..fault };
        }
        if let Some(fault) = overloaded {
            let after = after.unwrap_or(DEFAULT_RETRY_AFTER).min(LONGEST_OVERLOAD);
            return with_retry_time(Fault { code: FaultCode::Overloaded, ..fault }, after);
        }
        if let Some(fault) = limited.or(open) {
            return with_retry_time(fault, after.unwrap_or(DEFAULT_RETRY_AFTER));
        }
        refused.or(lacking).unwrap_or_else(fault::internal_error)
    }
}

/// Adds the time to wait. Only messages of the gateway itself mention it; a provider's is left as it is.
fn with_retry_time(fault: Fault, after: Duration) -> Fault {
    match fault.upstream_status {
        None => fault.retry_in(after),
        Some(_) => fault.retry_after(after),
    }
}

impl FailureSummary {
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
            _ if fault.is_failure() || fault.retry_scope == RetryScope::SameTarget => {
                self.failed = Some(fault)
            }
            _ => self.refused = Some(fault),
        }
    }
}

/// Exponential backoff with full jitter: any pause between zero and the doubled bound.
fn backoff(tries: u32, chance: f64) -> Duration {
    let bound = FIRST_BACKOFF.saturating_mul(1 << (tries.saturating_sub(1)).min(10)).min(LONGEST_BACKOFF);
    bound.mul_f64(chance.clamp(0.0, 1.0))
}
