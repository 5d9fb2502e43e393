//! The state that all calls share: the current snapshot, the journal, the egress, the clock.

pub mod background;
pub mod metrics_page;
pub mod replication;
pub mod webhook_events;

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use domain::call::Surface;
use domain::capability::{Capabilities, Capability};
use domain::clock::Clock;
use domain::fault::Fault;
use domain::ids::Entropy;
use domain::money::Nanos;
use domain::resources::workflow::WorkflowFeatures;
use egress::{Egress, Trust};
use http::HeaderMap;
use store::{Idempotency, Journal, Responses};
use tokio_util::task::TaskTracker;

use self::replication::ReplicaIdentity;
use crate::budgets::{self, BudgetScope, Budgets, Check, Exceeded, Hold, NotHeld};
use crate::guardrails::Classifier;
use crate::policy::Policy;
use crate::rate_limit::{Limiter, UserPaths};
use crate::routing::health::{HealthRegistry, Transition};
use crate::routing::routes::Deployment;
use crate::services::audit;
use crate::services::body_work::{BodyWork, LARGE_BODY};
use crate::services::change_signals::ChangeSignals;
use crate::services::console::{Console, Notice};
use crate::services::injection_scorer::InjectionScorer;
use crate::services::key_uses::KeyUses;
use crate::services::live_value::LiveValue;
use crate::services::metrics::Metrics;
use crate::services::pending_receipts::PendingReceipts;
use crate::services::prompt_affinity::PromptAffinity;
use crate::services::reasoning_state::ReasoningStateCache;
use crate::services::response_cache::ResponseCache;
use crate::services::retry_budget::{HedgeBudget, RetryBudget};
use crate::services::semantic_cache::SemanticCache;
use crate::services::traces::Traces;
use crate::services::webhooks::{FailedLogin, WebhookEvent, WebhookEvents};
use crate::snapshot::Snapshot;

/// A call of embeddings that the semantic cache makes on behalf of a caller.
pub struct EmbeddingsCall {
    /// The credential of the caller, its user path and its run.
    pub headers: HeaderMap,
    pub client_ip: Option<IpAddr>,
    pub endpoint: &'static str,
    pub surface: Surface,
    pub body: Bytes,
    /// The time for all attempts together.
    pub timeout: Duration,
}

/// Sends a call of embeddings; the result is the body of its answer.
pub type SendEmbeddings =
    fn(Arc<Gateway>, EmbeddingsCall) -> Pin<Box<dyn Future<Output = Result<Bytes, Fault>> + Send>>;

pub struct Gateway {
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub tasks: TaskTracker,
    pub journal: Journal,
    pub egress: Egress,
    pub metrics: Metrics,
    pub target_health: HealthRegistry,
    pub traces: Option<Traces>,
    /// The settings that apply to calls; replaced when settings change.
    pub policy: LiveValue<Policy>,
    pub capabilities: Capabilities,
    /// The trust in addresses that are set through the admin API.
    pub admin_trust: Trust,
    pub snapshot: ArcSwap<Snapshot>,
    pub pending_receipts: PendingReceipts,
    pub responses: Responses,
    pub reasoning_states: ReasoningStateCache,
    pub retry_budget: RetryBudget,
    pub hedge_budget: HedgeBudget,
    pub console: Console,
    pub audit: audit::Live,
    pub limiter: Limiter,
    pub budgets: Arc<Budgets>,
    pub key_uses: KeyUses,
    pub user_paths: UserPaths,
    pub idempotency: Idempotency,
    /// `None` if the response cache is off.
    pub response_cache: Option<Arc<ResponseCache>>,
    /// `None` if the semantic cache is off.
    pub semantic_cache: Option<Arc<SemanticCache>>,
    /// Makes a call on behalf of a caller. A function, because the steps of a call are above this module.
    pub send_embeddings: SendEmbeddings,
    pub prompt_affinity: PromptAffinity,
    pub body_work: BodyWork,
    pub injection_scorer: Arc<InjectionScorer>,
    pub webhook_events: Arc<WebhookEvents>,
    /// Limits the audit entries of callers without a valid key.
    pub unknown_callers: audit::EntryLimit,
    pub replica: ReplicaIdentity,
    pub change_signals: ChangeSignals,
}

impl Gateway {
    /// The features that are on for the gateway in its edition.
    pub fn features(&self) -> WorkflowFeatures {
        let budget = self.capabilities.has(Capability::AdvancedBudgets);
        WorkflowFeatures { budget, ..self.policy.features() }
    }

    /// Removes the gateway's secrets from a provider's error.
    pub fn scrub(&self, fault: &mut Fault) {
        self.snapshot.load().routes.scrubber.scrub(fault);
    }

    /// The current snapshot. A call keeps the one it starts with, so that a change does not affect it midway.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Runs `work` on a body of this size: inline if it is small, on a blocking thread if it is large.
    pub async fn with_bytes<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        match bytes < LARGE_BODY {
            true => Ok(work()),
            false => Box::pin(self.body_work.run(&self.tasks, work)).await,
        }
    }

    /// The classifier for prompt injection, if one is imported. For blocking threads.
    pub fn classifier(&self) -> Option<Classifier> {
        let scorer = self.injection_scorer.clone();
        scorer.is_available().then(|| Arc::new(move |text: &str| scorer.score(text)) as Classifier)
    }

    /// Reports that a circuit breaker has opened or closed.
    pub fn report_transition(&self, deployment: &Deployment, transition: Option<Transition>) {
        let Some(transition) = transition else { return };
        let (provider, model) = (&*deployment.target.instance, &*deployment.target.model);
        let health = deployment.health.view(self.clock.tick());
        let (state, event) = match transition {
            Transition::Opened => {
                let failures = health.consecutive_failures;
                let open_for = health.open_for.unwrap_or_default();
                tracing::warn!(provider, model, failures, ?open_for, "circuit breaker opened");
                ("open", WebhookEvent::BreakerOpened)
            }
            Transition::Closed => {
                tracing::info!(provider, model, "circuit breaker closed");
                ("closed", WebhookEvent::BreakerClosed)
            }
        };
        let notice = Notice::Breaker {
            provider_name: deployment.target.instance.to_string(),
            model: deployment.target.model.to_string(),
            state,
        };
        let data = serde_json::json!({"provider_name": provider, "model": model, "state": state});
        self.webhook_events.emit(event, self.clock.now(), &data);
        self.console.notice(self.clock.now(), notice);
    }

    /// Reports a login that was refused.
    pub fn report_failed_login(&self, failed: &FailedLogin<'_>) {
        self.webhook_events.emit(WebhookEvent::LoginFailed, self.clock.now(), failed);
    }

    /// Holds an amount against every budget on the path, or against none.
    pub fn hold(
        &self,
        scope: &BudgetScope,
        worst: Option<Nanos>,
        check: Check,
    ) -> Result<Hold, Box<Exceeded>> {
        self.hold_instead(scope, worst, check, &mut None)
    }

    /// Like `hold`, in place of an earlier hold of the call. That one stays if the amount does not fit.
    pub fn hold_instead(
        &self,
        scope: &BudgetScope,
        worst: Option<Nanos>,
        check: Check,
        earlier: &mut Option<Hold>,
    ) -> Result<Hold, Box<Exceeded>> {
        budgets::hold(&self.budgets, scope, worst, self.clock.now(), self.policy.accounting, check, earlier)
    }

    /// Like `hold`; a call that does not fit into this process's lease of a shared budget waits for room.
    pub async fn hold_waiting(
        &self,
        scope: &BudgetScope,
        worst: Option<Nanos>,
        wait: Duration,
    ) -> Result<Hold, NotHeld> {
        let kept = self.policy.accounting;
        budgets::hold_waiting(&self.budgets, &*self.clock, scope, worst, kept, wait).await
    }
}
