//! The policy of one call: the settings of the gateway, with what its workflow, the call itself and its targets change.

#[cfg(test)]
mod tests;

use std::time::Duration;

use domain::resources::workflow::{RoutingOptions, WorkflowFeatures, WorkflowPayload};

use crate::call::receive::Call;
use crate::policy::{Policy, PromptCacheMode, Retries};
use crate::routing::routes::Limits;

/// The settings in force for one call. Resolved once, after its targets are known, and carried in its context: later
/// steps read these and not the gateway's. Settings of the process, such as the memory for bodies, cannot differ between
/// calls and are not part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectivePolicy {
    /// Whether the call asks for a stream.
    streams: bool,
    pub features: WorkflowFeatures,
    /// The options of the workflow. They come before the settings of the gateway and the provider instance.
    pub routing: RoutingOptions,
    pub stream_heartbeat: Duration,
    pub first_event_timeout: Duration,
    pub stream_idle_timeout: Duration,
    pub request_timeout: Duration,
    /// The largest complete response that is accepted from a provider.
    pub answer_limit: usize,
    /// The largest single event in a stream.
    pub event_limit: usize,
    /// Whether parameters that a target does not support are refused instead of dropped.
    pub strict_translation: bool,
    /// Whether the stream continues at another target if its provider fails in the middle.
    pub resume_streams: bool,
    pub retries: Retries,
    /// The largest share of calls that is hedged; 0 hedges none.
    pub hedge_max_share: f64,
    /// Whether this call may be hedged.
    pub hedges: bool,
    /// The lifetime of stored responses.
    pub response_ttl: Duration,
    /// The lifetime of stored replies to calls with an `Idempotency-Key`.
    pub idempotency_ttl: Duration,
    /// The lifetime of answers that the call adds to the response cache.
    pub cache_ttl: Duration,
    /// The same for the semantic cache.
    pub semantic_ttl: Duration,
    /// The lowest similarity of calls that get each other's answers.
    pub semantic_threshold: f64,
    /// The help with the prompt caches of providers.
    pub prompt_cache: PromptCacheMode,
    /// Whether a budgeted call is refused while the spending cannot be read.
    pub budgets_closed: bool,
    /// The longest time that the call waits for room in budgets that replicas share.
    pub budget_lease_wait: Duration,
}

/// The settings in force for attempts at one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetPolicy {
    /// The time to the first event of a stream, or to the end of another answer.
    pub answer_timeout: Duration,
    /// The same without the workflow. A target that fails to answer in a shorter time is not to blame.
    pub usual_timeout: Duration,
    /// The time between the events of a stream.
    pub idle_timeout: Duration,
    pub retries: Retries,
}

impl EffectivePolicy {
    /// The default layer alone: in force until the call is resolved, and for operations that resolve no targets.
    pub fn defaults(policy: &Policy) -> Self {
        Self {
            streams: false,
            features: policy.features(),
            routing: RoutingOptions::default(),
            stream_heartbeat: policy.stream_heartbeat,
            first_event_timeout: policy.first_event_timeout,
            stream_idle_timeout: policy.stream_idle_timeout,
            request_timeout: policy.request_timeout,
            answer_limit: policy.answer_limit,
            event_limit: policy.event_limit,
            strict_translation: policy.strict_translation,
            resume_streams: policy.resume_streams,
            retries: policy.retries,
            hedge_max_share: policy.hedge_max_share,
            hedges: policy.hedge_max_share > 0.0,
            response_ttl: policy.response_ttl,
            idempotency_ttl: policy.idempotency_ttl,
            cache_ttl: policy.cache.ttl,
            semantic_ttl: policy.cache.semantic.ttl,
            semantic_threshold: policy.cache.semantic.threshold,
            prompt_cache: policy.prompt_cache,
            budgets_closed: policy.budgets_closed,
            budget_lease_wait: policy.budget_lease_wait,
        }
    }

    /// Resolves the policy of a call.
    pub fn resolve(policy: &Policy, workflow: Option<&WorkflowPayload>, call: &Call) -> Self {
        let defaults = Self::defaults(policy);
        workflow
            .map_or(defaults, |workflow| defaults.for_workflow(workflow))
            .for_call(call.stream, call.is_large())
    }

    /// The policy with the options of a workflow.
    pub(super) fn for_workflow(self, workflow: &WorkflowPayload) -> Self {
        let cache = workflow.cache.unwrap_or_default();
        let ttl = cache.ttl_seconds.map(Duration::from_secs);
        Self {
            features: self.features.restricted_by(workflow.features),
            routing: workflow.routing.unwrap_or_default(),
            cache_ttl: ttl.unwrap_or(self.cache_ttl),
            semantic_ttl: ttl.unwrap_or(self.semantic_ttl),
            semantic_threshold: cache.semantic_threshold.unwrap_or(self.semantic_threshold),
            ..self
        }
    }

    fn for_call(self, streams: bool, is_large: bool) -> Self {
        Self {
            streams,
            resume_streams: self.resume_streams && streams,
            // A large body is not encoded a second time while the first attempt is in flight.
            hedges: self.hedges && !is_large,
            ..self
        }
    }

    /// The policy of a call whose answer is held back until it is complete: its provider is not asked for a stream.
    pub(super) fn for_held_answer(self) -> Self {
        Self { streams: false, resume_streams: false, ..self }
    }

    /// The policy with a limit on the time for the whole call.
    pub(super) fn within(mut self, limit: Duration) -> Self {
        let limit = limit.as_millis() as u64;
        let own = self.routing.timeout_ms.unwrap_or(limit);
        self.routing.timeout_ms = Some(own.min(limit).max(1));
        self
    }

    /// The policy at a target, whose provider instance may have limits of its own.
    pub fn at(&self, own: &Limits) -> TargetPolicy {
        let usual_timeout = match self.streams {
            true => own.first_byte.unwrap_or(self.first_event_timeout),
            false => own.total.unwrap_or(self.request_timeout),
        };
        let answer_timeout = self.timeout().unwrap_or(usual_timeout);
        let max = self.routing.retries.or(own.retries).unwrap_or(self.retries.max);
        TargetPolicy {
            answer_timeout,
            usual_timeout,
            idle_timeout: own.idle.unwrap_or(self.stream_idle_timeout),
            retries: Retries { max, ..self.retries },
        }
    }

    /// The time for a complete answer of a target.
    pub fn total_timeout(&self, own: &Limits) -> Duration {
        self.timeout().or(own.total).unwrap_or(self.request_timeout)
    }

    /// The time for all attempts together: that of the workflow, or the configured one, or the longest that one of the
    /// targets is given.
    pub fn call_timeout<'a>(&self, targets: impl IntoIterator<Item = &'a Limits>) -> Duration {
        if let Some(timeout) = self.timeout() {
            return timeout;
        }
        targets.into_iter().filter_map(|own| own.total).fold(self.request_timeout, Duration::max)
    }

    /// The time that the workflow gives.
    fn timeout(&self) -> Option<Duration> {
        self.routing.timeout_ms.map(Duration::from_millis)
    }
}
