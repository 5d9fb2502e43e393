//! What every call shares: the snapshot in force, the journal, the way out, the clock.

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

use crate::audit;
use crate::body_work::BodyWork;
use crate::budget::{HedgeBudget, RetryBudget};
use crate::console::Console;
use crate::key_uses::KeyUses;
use crate::limit::{Limiter, UserPaths};
use crate::metrics::Metrics;
use crate::passthrough;
use crate::recall::Recall;
use crate::resolve::fallback::Fallback;
use crate::snapshot::Snapshot;
use crate::spending::Spending;
use crate::traces::Traces;
use crate::unwritten::Unwritten;

/// Bounds on size and time, from the settings.
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
    /// The largest non-streaming answer that is taken from a provider.
    pub answer_limit: usize,
    /// Whether usage is recorded.
    pub accounting: bool,
    /// The largest single event in a stream.
    pub event_limit: usize,
    /// What a target cannot be told is refused instead of left out.
    pub strict_translation: bool,
    /// A stream whose provider dies in the middle goes on elsewhere.
    pub resume_streams: bool,
    /// How long stored responses are kept.
    pub response_ttl: Duration,
    /// How long the answers to repeatable calls are kept.
    pub idempotency_ttl: Duration,
    pub passthrough: passthrough::Rules,
    pub retries: Retries,
    pub fallback: Fallback,
    /// At most this share of calls is hedged; 0 hedges none.
    pub hedge_max_share: f64,
    /// Models without an override of their own may be used.
    pub models_enabled_by_default: bool,
    /// `/v1/models` shows aliases, combos and pools alone.
    pub keep_only_aliases: bool,
    /// What the audit log keeps.
    pub audit: audit::Rules,
    /// Models without a price may not be called.
    pub unpriced_denied: bool,
    /// Budgeted paths are closed while nobody can say what is spent.
    pub budgets_closed: bool,
    /// One log line at level info per call; can be changed while calls run.
    pub log_requests: Arc<AtomicBool>,
}

/// Further attempts at a target that failed.
#[derive(Clone, Copy, Debug)]
pub struct Retries {
    pub most: u32,
    /// A provider that wants to be left alone for longer is not waited for.
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
    /// Whether calls are written down at all.
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
    pub unwritten: Unwritten,
    pub responses: Responses,
    pub recall: Recall,
    pub retry_budget: RetryBudget,
    pub hedge_budget: HedgeBudget,
    pub console: Console,
    pub audit: audit::Live,
    pub limiter: Limiter,
    pub spending: Arc<Spending>,
    pub key_uses: KeyUses,
    pub user_paths: UserPaths,
    pub idempotency: Idempotency,
    pub body_work: BodyWork,
    /// Audit entries of callers without a valid key.
    pub unknown_callers: audit::EntryLimit,
}

impl Gateway {
    /// Takes our secrets out of what a provider said.
    pub fn scrub(&self, fault: &mut Fault) {
        self.snapshot.load().routes.scrubber.scrub(fault);
    }

    /// A call pins the snapshot it starts with: a change in the middle of it changes nothing for it.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }
}
