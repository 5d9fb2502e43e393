//! The state that all calls share: the current snapshot, the journal, the egress, the clock.

use std::sync::Arc;

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
use crate::policy::Policy;
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
