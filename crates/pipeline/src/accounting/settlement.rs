//! Settlement of a call: missing usage is counted, everything is priced, and the receipt is journaled.

use std::sync::Arc;

use bytes::Bytes;
use domain::money::Cost;
use domain::receipt::{CostSource, Receipt};
use domain::usage::Usage;
use store::ShardId;

use super::holds::Holds;
use super::pricing;
use super::prior_usage::{FailedAttemptUsage, PriorUsage};
use super::request_log;
use crate::accounting::estimate;
use crate::gateway::Gateway;
use crate::routing::routes::Deployment;
use crate::services::audit;
use crate::services::traces::CallTrace;

/// Bytes of a prompt whose tokens are counted in place: each blocking thread keeps memory of its own.
const SHORT_PROMPT: usize = 1024;

/// A call that has ended, with everything that is needed to book it.
pub struct Settlement {
    pub gateway: Arc<Gateway>,
    pub receipt: Box<Receipt>,
    /// The shard of the journal that the call is recorded in.
    pub shard: ShardId,
    /// The last target and its usage, if reported.
    pub deployment: Option<Arc<Deployment>>,
    pub usage: Option<Usage>,
    /// The call was sent, so it may have incurred cost.
    pub left: bool,
    pub prompt: Bytes,
    pub content_bytes: u64,
    /// The most output tokens that the call allowed.
    pub bound: Option<u64>,
    /// Usage of other providers for the same call.
    pub earlier: Option<Box<PriorUsage>>,
    pub lost: Vec<FailedAttemptUsage>,
    pub holds: Holds,
    pub trace: Option<Box<CallTrace>>,
}

impl Settlement {
    /// Whether tokens have to be counted, and that could take long: in a long prompt, or before the vocabulary is loaded.
    pub fn counts_for_long(&self) -> bool {
        let counts = self.left && self.usage.as_ref().is_none_or(|usage| usage.untold.input);
        counts && (self.prompt.len() > SHORT_PROMPT || !catalog::vocabulary_is_loaded(&self.receipt.model))
    }

    pub fn settle(mut self) {
        for lost in std::mem::take(&mut self.lost) {
            let usage = lost.consumed(&self.prompt, self.bound);
            self.earlier.get_or_insert_default().lose(&lost.deployment, &usage);
        }
        let repeated = self.earlier.as_ref().map_or(0, |earlier| earlier.shown);
        let bytes = self.content_bytes;
        let count = || estimate::rest(&self.receipt.model, &self.prompt, repeated, bytes, self.bound);
        self.receipt.usage = match self.usage.take() {
            Some(mut usage) => {
                usage.fill(|| count().tokens.input, estimate::output(bytes, self.bound));
                usage
            }
            None if self.left => count(),
            None => {
                self.deployment = None;
                Usage::default()
            }
        };
        self.book();
    }

    fn book(self) {
        let Self { gateway, mut receipt, shard, deployment, earlier, holds, prompt, trace, .. } = self;
        let deployment = deployment.as_deref();
        let input = receipt.usage.tokens.total_input();
        let reported = receipt.status == 200 && input > 0 && !receipt.usage.estimated && earlier.is_none();
        if let Some(deployment) = deployment.filter(|_| reported && holds.is_budgeted()) {
            let target = (&*deployment.target.instance, &*deployment.target.model);
            gateway.budgets.prefixes().record(target, &prompt, input);
        }
        (receipt.cost, receipt.cost_source) = match receipt.is_from_cache() {
            true => (Some(Cost::default()), CostSource::None),
            false => pricing::price_usage(deployment, &receipt.usage),
        };
        if receipt.cost_source == CostSource::ModelPricing {
            receipt.pricing_version = deployment.and_then(Deployment::pricing_version).map(str::to_owned);
            let saved = |deployment: &Deployment| deployment.prompt_cache_savings(&receipt.usage);
            receipt.prompt_cache_savings = deployment.and_then(saved);
        }
        if let Some(earlier) = earlier {
            earlier.complete(&mut receipt);
        }
        receipt.flag_unpriced();
        holds.settle(&receipt);
        gateway.metrics.in_flight.dec();
        gateway.metrics.record(deployment.map(|deployment| &*deployment.metrics), &receipt);
        if let (Some(traces), Some(trace)) = (&gateway.traces, &trace) {
            traces.export(&receipt, trace);
        }
        tracing::debug!(
            request_id = receipt.request_id,
            status = receipt.status,
            model = receipt.model,
            provider = receipt.provider_name,
            duration_us = receipt.duration_us,
            "call settled"
        );
        if gateway.policy.log_requests {
            request_log::write(&receipt);
        }
        gateway.console.settled(&receipt);
        audit::announce(&gateway.audit, &receipt);
        // Calls without a valid key are not charged; without an audit entry either, there is nothing to write.
        // Whether it is booked and audited was decided when it was opened: settings may have changed meanwhile.
        if (receipt.is_booked() || receipt.audit.is_some())
            && let Err(error) = gateway.journal.close_call(&receipt, shard)
        {
            gateway.metrics.journal_failures.inc();
            tracing::error!(%error, request_id = receipt.request_id, "journal write failed; receipt kept in memory");
            gateway.pending_receipts.keep(*receipt, shard);
        }
    }
}
