//! How an account is closed: what nobody has told is counted, everything is priced, and the receipt is written down.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use domain::receipt::{CostSource, Receipt};
use domain::usage::Usage;

use super::earlier::{self, Earlier, Lost};
use super::holds::Holds;
use super::request_log;
use crate::audit;
use crate::estimate;
use crate::gateway::Gateway;
use crate::snapshot::routes::Lane;
use crate::traces::CallTrace;

pub struct Account {
    pub gateway: Arc<Gateway>,
    pub receipt: Box<Receipt>,
    /// Who has the call now, and what it consumed of that, if that is known.
    pub lane: Option<Arc<Lane>>,
    pub usage: Option<Usage>,
    /// It may have consumed something.
    pub left: bool,
    pub prompt: Bytes,
    pub content_bytes: u64,
    /// The longest answer that the call allowed.
    pub bound: Option<u64>,
    /// What others consumed for it.
    pub earlier: Option<Box<Earlier>>,
    pub lost: Vec<Lost>,
    pub holds: Holds,
    pub trace: Option<Box<CallTrace>>,
}

impl Account {
    /// Which takes a while.
    pub fn needs_counting(&self) -> bool {
        self.left && self.usage.as_ref().is_none_or(|usage| usage.untold.input)
    }

    pub fn settle(mut self) {
        for lost in std::mem::take(&mut self.lost) {
            let usage = lost.consumed(&self.prompt, self.bound);
            self.earlier.get_or_insert_default().lose(&lost.lane, &usage);
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
                self.lane = None;
                Usage::default()
            }
        };
        self.book();
    }

    fn book(self) {
        let Self { gateway, mut receipt, lane, earlier, holds, prompt, trace, .. } = self;
        let lane = lane.as_deref();
        let input = receipt.usage.tokens.total_input();
        let reported = receipt.status == 200 && input > 0 && !receipt.usage.estimated && earlier.is_none();
        if let Some(lane) = lane.filter(|_| reported && holds.is_budgeted()) {
            let target = (&*lane.target.instance, &*lane.target.model);
            gateway.spending.prefixes().record(target, &prompt, input);
        }
        (receipt.cost, receipt.cost_source) = earlier::price(lane, &receipt.usage);
        if receipt.cost_source == CostSource::ModelPricing {
            receipt.pricing_version = lane.and_then(Lane::pricing_version).map(str::to_owned);
        }
        if let Some(earlier) = earlier {
            earlier.complete(&mut receipt);
        }
        receipt.flag_unpriced();
        holds.settle(&receipt);
        gateway.metrics.in_flight.dec();
        gateway.metrics.record(lane, &receipt);
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
        if gateway.policy.log_requests.load(Ordering::Relaxed) {
            request_log::write(&receipt);
        }
        gateway.console.settled(&receipt);
        audit::announce(&gateway.audit, &receipt);
        // Of a caller without a valid key nothing is booked: where the audit log keeps nothing either, there is nothing to write.
        if gateway.policy.keeps_journal()
            && (receipt.is_booked() || receipt.audit.is_some())
            && let Err(error) = gateway.journal.close_call(&receipt)
        {
            gateway.metrics.journal_failures.inc();
            tracing::error!(%error, request_id = receipt.request_id, "the journal cannot be written; the receipt is kept in memory");
            gateway.unwritten.keep(*receipt);
        }
    }
}
