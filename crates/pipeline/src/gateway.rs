//! The state that all calls share: the current snapshot, the journal, the egress, the clock.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arc_swap::ArcSwap;
use domain::capability::Capabilities;
use domain::clock::Clock;
use domain::fault::Fault;
use domain::ids::Entropy;
use egress::Egress;
use store::{Idempotency, Journal, Responses};
use tokio_util::task::TaskTracker;

use crate::budgets::Budgets;
use crate::limit::{Limiter, UserPaths};
use crate::passthrough;
use crate::routing::resolve::fallback::Fallback;
use crate::services::audit;
use crate::services::body_work::BodyWork;
use crate::services::console::Console;
use crate::services::key_uses::KeyUses;
use crate::services::metrics::Metrics;
use crate::services::pending_receipts::PendingReceipts;
use crate::services::reasoning_state::ReasoningStateCache;
use crate::services::retry_budget::{HedgeBudget, RetryBudget};
use crate::services::traces::Traces;
use crate::snapshot::Snapshot;

/// The settings that apply to calls: limits on size and time, and switches.
#[derive(Clone, Debug)]
pub struct Policy {
    pub body_limit: u64,
    /// Most bytes of request bodies that are held at the same time.
    pub body_memory_limit: u64,
    pub body_timeout: Duration,
    pub stream_heartbeat: Duration,
    pub first_event_timeout: Duration,
    pub stream_idle_timeout: Duration,
    pub request_timeout: Duration,
    /// The largest complete response that is accepted from a provider.
    pub answer_limit: usize,
    /// Whether usage is recorded.
    pub accounting: bool,
    /// The largest single event in a stream.
    pub event_limit: usize,
    /// Whether parameters that a target does not support are refused instead of dropped.
    pub strict_translation: bool,
    /// Whether a stream continues at another target if its provider fails in the middle.
    pub resume_streams: bool,
    /// The lifetime of stored responses.
    pub response_ttl: Duration,
    /// The lifetime of stored replies to calls with an `Idempotency-Key`.
    pub idempotency_ttl: Duration,
    pub passthrough: passthrough::Rules,
    pub retries: Retries,
    pub fallback: Fallback,
    /// The largest share of calls that is hedged; 0 hedges none.
    pub hedge_max_share: f64,
    /// Whether models without an override of their own may be used.
    pub models_enabled_by_default: bool,
    /// Whether `/v1/models` only lists aliases, combos and pools.
    pub keep_only_aliases: bool,
    /// The audit log settings.
    pub audit: audit::Rules,
    /// Whether models without a price are refused.
    pub unpriced_denied: bool,
    /// Whether budgeted calls are refused while the spending cannot be read.
    pub budgets_closed: bool,
    /// Whether each call is logged at level info; can be changed while calls run.
    pub log_requests: Arc<AtomicBool>,
}

/// Retries at a target that failed.
#[derive(Clone, Copy, Debug)]
pub struct Retries {
    pub most: u32,
    /// A provider that asks for a longer wait is not waited for.
    pub longest_wait: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { most: 2, longest_wait: Duration::from_secs(20) }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            body_limit: 10 * 1024 * 1024,
            body_memory_limit: 512 * 1024 * 1024,
            body_timeout: Duration::from_secs(60),
            stream_heartbeat: Duration::from_secs(15),
            first_event_timeout: Duration::from_secs(60),
            stream_idle_timeout: Duration::from_secs(120),
            request_timeout: Duration::from_secs(600),
            answer_limit: 64 * 1024 * 1024,
            accounting: true,
            event_limit: 16 * 1024 * 1024,
            strict_translation: false,
            resume_streams: false,
            response_ttl: Duration::from_secs(30 * 24 * 3600),
            idempotency_ttl: Duration::from_secs(24 * 3600),
            passthrough: passthrough::Rules::default(),
            retries: Retries::default(),
            fallback: Fallback::default(),
            hedge_max_share: 0.0,
            models_enabled_by_default: true,
            keep_only_aliases: false,
            audit: audit::Rules::default(),
            unpriced_denied: false,
            budgets_closed: false,
            log_requests: Arc::default(),
        }
    }
}

impl Policy {
    /// Whether calls are written to the journal.
    pub fn keeps_journal(&self) -> bool {
        self.accounting || self.audit.enabled
    }
}

pub struct Gateway {
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub tasks: TaskTracker,
    pub journal: Journal,
    pub egress: Egress,
    pub metrics: Metrics,
    pub traces: Option<Traces>,
    pub policy: Policy,
    pub capabilities: Capabilities,
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
    pub body_work: BodyWork,
    /// Limits the audit entries of callers without a valid key.
    pub unknown_callers: audit::EntryLimit,
}

impl Gateway {
    /// Removes the gateway's secrets from a provider's error.
    pub fn scrub(&self, fault: &mut Fault) {
        self.snapshot.load().routes.scrubber.scrub(fault);
    }

    /// The current snapshot. A call keeps the one it starts with, so that a change does not affect it midway.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }
}
