//! Accumulates the facts of a call until its receipt is written.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::call::Target;
use domain::canon::Dropped;
use domain::fault::FaultCode;
use domain::money::Nanos;
use domain::principal::Principal;
use domain::receipt::{Attempt, Receipt};
use domain::text::clip;
use domain::usage::Usage;
use domain::user_path::UserPath;
use store::ShardId;
use wire::response_facts::ResponseFacts;

use super::prior_usage::{FailedAttemptUsage, PriorUsage};
use crate::accounting::estimate;
use crate::accounting::reservation::Reservation;
use crate::budgets::BudgetScope;
use crate::call::receive::Call;
use crate::routing::names::Names;
use crate::routing::routes::Deployment;
use crate::services::response_cache::CacheLayer;
use crate::services::traces::{self, CallTrace, TraceHeaders};

/// The receipt of a call in flight, and the facts that it is completed from.
#[derive(Default)]
pub struct ReceiptBuilder {
    /// Taken when the call is settled.
    pub(super) receipt: Option<Box<Receipt>>,
    /// The shard of the journal that the call is recorded in.
    pub(super) shard: ShardId,
    pub(super) deployment: Option<Arc<Deployment>>,
    pub(super) prompt: Bytes,
    /// The body of the request as it came, if guardrails have changed it.
    original: Option<Bytes>,
    /// Time spent waiting for providers before the first byte; not part of the gateway's overhead.
    pub(super) waited: Duration,
    /// The actual usage, once known.
    pub(super) usage: Option<Usage>,
    pub(super) content_bytes: u64,
    /// The most output tokens that the call allows.
    pub(super) bound: Option<u64>,
    /// The charge if the provider never reports usage.
    pub(super) reserved: Reservation,
    /// The call was sent to a provider, so it may have incurred cost even without an answer.
    pub(super) left: bool,
    /// Finished attempts that incurred cost, whether or not the client received their answers.
    pub(super) billed: u32,
    /// Usage of the finished attempts whose answers were lost.
    pub(super) lost: Vec<FailedAttemptUsage>,
    /// Parameters that were not sent because the target does not support them.
    pub(super) dropped: Dropped,
    /// Usage of providers that failed in the middle of the stream.
    pub(super) earlier: Option<Box<PriorUsage>>,
    /// Data for the spans of the call, if its trace is recorded.
    pub(super) trace: Option<Box<CallTrace>>,
}

impl ReceiptBuilder {
    pub(super) fn new(receipt: Box<Receipt>, trace: Option<Box<CallTrace>>) -> Self {
        let shard = ShardId::of_this_thread();
        Self { receipt: Some(receipt), shard, trace, ..Self::default() }
    }

    pub(super) fn edit(&mut self, change: impl FnOnce(&mut Receipt)) {
        if let Some(receipt) = &mut self.receipt {
            change(receipt);
        }
    }

    /// The receipt so far; `None` once the call is settled.
    pub fn receipt(&self) -> Option<&Receipt> {
        self.receipt.as_deref()
    }

    /// The target that answered, or that the call was last sent to.
    pub fn deployment(&self) -> Option<&Arc<Deployment>> {
        self.deployment.as_ref()
    }

    /// The usage of the call, once it is known.
    pub fn usage(&self) -> Option<&Usage> {
        self.usage.as_ref()
    }

    /// The body of the request as it came.
    pub fn received_body(&self) -> &Bytes {
        self.original.as_ref().unwrap_or(&self.prompt)
    }

    pub fn attempts(&self) -> usize {
        self.receipt().map_or(0, |receipt| receipt.attempts.len())
    }

    /// The error of the last attempt.
    pub fn last_error(&self) -> Option<&str> {
        self.receipt()?.attempts.last()?.error.as_ref().map(FaultCode::as_str)
    }

    /// The budget scope of the call.
    pub fn budget_scope(&self, caller: &Principal, user_path: &UserPath) -> BudgetScope {
        let receipt = self.receipt();
        let at = receipt.map(|receipt| receipt.at).unwrap_or_default();
        let run = receipt.and_then(|receipt| receipt.run_id.as_deref());
        BudgetScope::new(caller, user_path.clone(), at, run)
    }

    /// Estimates the tokens of an answer of this size, limited to what the call allows.
    pub fn estimate_of(&self, content_bytes: u64) -> u64 {
        estimate::output(content_bytes, self.bound)
    }
}

/// Facts about the request.
impl ReceiptBuilder {
    pub fn requested(&mut self, call: &Call) {
        self.prompt = call.request.body.clone();
        if let Some(trace) = &mut self.trace {
            trace.requested(&call.request);
        }
        let model = clip(call.request.model.as_deref().unwrap_or_default(), 300);
        self.edit(|receipt| {
            model.clone_into(&mut receipt.requested_model);
            receipt.stream = call.stream;
        });
    }

    /// Records the body of a request that guardrails have changed.
    pub fn changed(&mut self, body: &Bytes) {
        self.original = Some(std::mem::replace(&mut self.prompt, body.clone()));
    }

    /// Records the requested model of a passthrough call.
    pub fn names(&mut self, model: &str) {
        self.edit(|receipt| receipt.requested_model = model.to_owned());
    }

    /// Records whether the requested name is an alias, after it was resolved.
    pub fn resolved(&mut self, names: &Names) {
        self.edit(|receipt| receipt.alias_used = names.is_alias(receipt.requested_model.trim()));
    }

    /// Records the model of a call that was already sent.
    pub fn concerns(&mut self, deployment: &Arc<Deployment>) {
        self.deployment = Some(deployment.clone());
        self.edit(|receipt| {
            receipt.model = deployment.target.model.to_string();
            receipt.requested_model = deployment.target.model.to_string();
        });
    }
}

/// Facts about the attempts.
impl ReceiptBuilder {
    pub fn leave_out(&mut self, dropped: Dropped) {
        self.dropped = dropped;
    }

    /// Records that a target did not serve the call. If the client disconnects now, only lost attempts are charged.
    pub fn refused(&mut self) {
        self.left = false;
    }

    /// Records that another target than the one the call was sent to has answered.
    pub fn switch(&mut self, deployment: &Arc<Deployment>, dropped: Dropped) {
        self.answered_by(deployment);
        self.dropped = dropped;
    }

    pub fn answered_by(&mut self, deployment: &Arc<Deployment>) {
        self.deployment = Some(deployment.clone());
        let target = &deployment.target;
        self.served_by(&target.provider_type, &target.instance, &target.model);
    }

    pub fn served_by(&mut self, provider: &str, provider_name: &str, model: &str) {
        self.edit(|receipt| {
            receipt.model = model.to_owned();
            receipt.provider = provider.to_owned();
            receipt.provider_name = provider_name.to_owned();
        });
    }

    pub(super) fn attempted(&mut self, attempt: Attempt) {
        self.edit(|receipt| receipt.attempts.push(attempt));
    }

    pub fn waited(&mut self, duration: Duration) {
        self.waited += duration;
    }

    pub fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// The `traceparent` and `tracestate` headers for the attempt with that span.
    pub fn trace_headers(&self, span_id: Option<&str>) -> TraceHeaders {
        let context = self.receipt().and_then(|receipt| receipt.trace.as_ref());
        context.map(|context| traces::headers(context, span_id)).unwrap_or_default()
    }

    /// Records the model and finish reasons of the last attempt's answer.
    pub fn trace_response(&mut self, response: ResponseFacts) {
        if let Some(trace) = &mut self.trace {
            trace.answered(response);
        }
    }
}

/// Facts about the answer.
impl ReceiptBuilder {
    /// Records the provider's id of the answer.
    pub fn provider_id(&mut self, id: String) {
        self.edit(|receipt| receipt.provider_id = id);
    }

    /// Records the id of the response as the client knows it.
    pub fn known_as(&mut self, id: &str) {
        self.edit(|receipt| receipt.response_id = Some(clip(id, 200).to_owned()));
    }

    pub fn produced(&mut self, content_bytes: u64) {
        self.content_bytes = content_bytes;
    }

    /// Records that the cache was searched for an answer and had none.
    pub fn missed_cache(&mut self) {
        self.edit(|receipt| receipt.cache_miss = true);
    }

    /// Records the answer of an earlier call. It has the usage of that call, and costs nothing.
    pub fn answered_from_cache(
        &mut self,
        layer: CacheLayer,
        target: &Target,
        usage: Usage,
        saved: Option<Nanos>,
    ) {
        self.served_by(&target.provider_type, &target.instance, &target.model);
        self.usage = Some(usage);
        self.edit(|receipt| {
            receipt.cache_type = layer.as_str().to_owned();
            receipt.saved_cost = saved;
        });
    }

    /// Records the usage that the provider reported.
    pub(super) fn consumed(&mut self, usage: Usage, raw: &[u8]) {
        let raw = std::str::from_utf8(raw)
            .ok()
            .and_then(|text| serde_json::value::RawValue::from_string(text.to_owned()).ok());
        self.edit(|receipt| receipt.raw_usage = raw);
        self.usage = Some(usage);
    }
}
