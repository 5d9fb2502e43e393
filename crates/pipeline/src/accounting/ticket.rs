//! The ticket of a call: owns its context, receipt, holds and audit tap, and settles the call even if dropped.

use std::sync::Arc;
use std::time::Duration;

use ::guardrails::placeholder::PlaceholderMap;
use domain::call::Target;
use domain::fault::{self, Fault, FaultCode};
use domain::ids;
use domain::principal::Principal;
use domain::receipt::{
    Attempt, AttemptTiming, GuardedSubject, GuardrailVerdict, OpeningRef, Receipt, Verdict,
};
use domain::text::clip;
use domain::usage::Usage;
use domain::user_path::UserPath;
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderValue};
use tokio::task::JoinHandle;

use crate::accounting::audit_tap::AuditTap;
use crate::accounting::holds::Holds;
use crate::accounting::receipt_builder::ReceiptBuilder;
use crate::accounting::reservation::Reservation;
use crate::accounting::settlement::Settlement;
use crate::accounting::stored_response::Keeping;
use crate::budgets::Check;
use crate::call::arrival::{self, Arrival};
use crate::call::cache_use::CacheUse;
use crate::call::context::CallContext;
use crate::call::receive::Call;
use crate::call::response_headers::{self, Refused};
use crate::gateway::Gateway;
use crate::guardrails::CallGuardrails;
use crate::routing::routes::Deployment;
use crate::services::traces::{self, CallTrace};

pub struct Ticket {
    pub context: Arc<CallContext>,
    pub receipt: ReceiptBuilder,
    /// Rate limit permits and budget holds, released at settlement.
    pub holds: Holds,
    /// Captures the call for the audit log.
    pub audit: AuditTap,
    /// Owner and storage of the response, for the Responses API.
    pub(super) keeping: Option<Box<Keeping>>,
    /// The use of the response cache.
    pub cache: CacheUse,
    /// Whether a guardrail failed to inspect the answer, which is sent all the same.
    pub is_uninspected: bool,
    /// Whether the call is the gateway's own and can be left out: it leaves no row if it is refused before it is sent.
    pub is_optional: bool,
}

impl Ticket {
    /// Opens the receipt of a call. Boxed, because the ticket is moved through all stages of the pipeline.
    pub fn open(gateway: &Arc<Gateway>, arrival: &Arrival) -> Box<Self> {
        gateway.metrics.in_flight.inc();
        let exported = gateway.traces.is_some();
        let trace_context = traces::context(exported, &*gateway.entropy, |name| arrival.header(name));
        let trace = traces::is_recorded(exported, trace_context.as_ref())
            .then(|| CallTrace::new(arrival.endpoint, arrival.surface));
        let id = ids::text(ids::unique(arrival.at, &*gateway.entropy));
        let receipt = Box::new(Receipt {
            id: id.clone(),
            request_id: arrival.request_id.as_str().to_owned(),
            at: arrival.at,
            method: arrival.method.to_owned(),
            endpoint: arrival.endpoint.to_owned(),
            user_path: "/".into(),
            client_ip: arrival.client_ip.map(arrival::address_text).unwrap_or_default(),
            user_agent: clip(arrival.header(USER_AGENT).unwrap_or_default(), 200).to_owned(),
            trace: trace_context,
            unbooked: !gateway.policy.accounting,
            ..Receipt::default()
        });
        Box::new(Self {
            context: Arc::new(CallContext::new(gateway, arrival, id)),
            receipt: ReceiptBuilder::new(receipt, trace),
            holds: Holds::default(),
            audit: AuditTap::open(gateway.policy.audit, arrival),
            keeping: None,
            cache: CacheUse::default(),
            is_uninspected: false,
            is_optional: false,
        })
    }

    pub fn gateway(&self) -> &Arc<Gateway> {
        self.context.gateway()
    }

    pub fn keep(&mut self, keeping: Keeping) {
        self.receipt.edit(|receipt| receipt.previous_response_id.clone_from(&keeping.previous));
        self.keeping = Some(Box::new(keeping));
    }

    pub fn keeping(&self) -> Option<&Keeping> {
        self.keeping.as_deref()
    }

    /// The response headers, as far as they are known.
    pub fn headers(&self, overhead_us: u64) -> HeaderMap {
        let Self { context, receipt, .. } = self;
        let mut headers = response_headers::headers(
            &context.request_id,
            receipt.deployment.as_ref(),
            receipt.attempts(),
            &self.cache,
            overhead_us,
        );
        if !receipt.dropped.is_empty()
            && let Ok(names) = HeaderValue::try_from(receipt.dropped.names().join(", "))
        {
            headers.insert(response_headers::DROPPED, names);
        }
        if let Some(clamped) = self.holds.clamped() {
            headers.insert(response_headers::CLAMPED, clamped);
        }
        self.holds.write_headers(context, &mut headers);
        headers
    }

    /// Records the caller and user path of the call, and counts it against the caller's request limits.
    pub async fn identify(&mut self, caller: &Principal, arrival: &Arrival) -> Result<UserPath, Fault> {
        let path = self.record_caller(caller, arrival);
        self.holds.limit_request(&self.context, caller).await?;
        let path = path?;
        self.gateway().user_paths.admit(caller, &path, self.context.now())?;
        Ok(path)
    }

    /// Records the caller of a call that the gateway makes on its behalf, which is not counted as a request.
    pub fn identify_internal(&mut self, caller: &Principal, arrival: &Arrival) -> Result<UserPath, Fault> {
        let path = self.record_caller(caller, arrival)?;
        self.holds.join_account(&self.context, caller);
        Ok(path)
    }

    fn record_caller(&mut self, caller: &Principal, arrival: &Arrival) -> Result<UserPath, Fault> {
        let path = arrival.user_path().and_then(|asked| caller.user_path(asked));
        let run_id = arrival.run_id();
        // Not shared before, so this changes the context in place.
        Arc::make_mut(&mut self.context).identify(caller, path.as_ref().ok());
        let session_id = arrival.session_id().map(|text| clip(text, 200).to_owned());
        self.receipt.edit(|receipt| {
            receipt.auth_method = caller.auth_method().to_owned();
            receipt.auth_key_id = caller.key().map(|key| (*key.id).to_owned());
            receipt.subject = caller.subject().map(str::to_owned);
            receipt.tenant_id = caller.tenant().map(|tenant| (**tenant).to_owned());
            receipt.session_id = session_id;
            if let Ok(Some(run_id)) = &run_id {
                receipt.run_id = Some((*run_id).to_owned());
            }
            if let Ok(path) = &path {
                receipt.user_path = path.as_str().to_owned();
            }
        });
        run_id?;
        path
    }

    /// Sets the policy of the call, once its targets are known, and stops recording what it does not record.
    pub fn resolve_policy(&mut self, call: &Call, target: &Target, path: &UserPath) -> Result<(), Fault> {
        // Not shared before, so this changes the context in place.
        let resolved = Arc::make_mut(&mut self.context).resolve_policy(call, target, path);
        self.apply_workflow();
        resolved
    }

    /// Sets the values that are restored in the answer.
    pub fn set_placeholders(&mut self, placeholders: PlaceholderMap) {
        if !placeholders.is_empty() {
            Arc::make_mut(&mut self.context).set_placeholders(placeholders);
        }
    }

    /// Sets the guardrails of a call whose targets are not resolved.
    pub fn set_guardrails(&mut self, guardrails: Option<Arc<CallGuardrails>>) {
        Arc::make_mut(&mut self.context).set_guardrails(guardrails);
    }

    /// Makes this a call of the gateway's own: it has no guardrails, and a time limit.
    pub fn make_internal(&mut self, timeout: Duration) {
        Arc::make_mut(&mut self.context).make_internal(timeout);
    }

    /// Sets the policy of a call whose answer is held back until it is complete.
    pub fn hold_answer(&mut self) {
        Arc::make_mut(&mut self.context).hold_answer();
    }

    /// Records the verdicts of guardrails.
    pub fn record_verdicts(&mut self, verdicts: Vec<GuardrailVerdict>) {
        verdicts.iter().for_each(|verdict| self.gateway().metrics.judged(verdict));
        let has_failed = |verdict: &GuardrailVerdict| {
            verdict.subject == GuardedSubject::Answer && verdict.verdict == Verdict::Error
        };
        self.is_uninspected |= verdicts.iter().any(has_failed);
        self.audit.record_verdicts(verdicts);
    }

    /// Records the workflow of the call, and stops recording what it switches off.
    fn apply_workflow(&mut self) {
        let Some(workflow) = self.context.workflow() else { return };
        let features = self.context.policy().features;
        if !features.audit {
            self.audit = AuditTap::off();
        }
        let id = workflow.id.clone();
        self.audit.record_journey(|journey| journey.workflow = workflow.version.clone());
        self.receipt.edit(|receipt| {
            receipt.workflow_version_id = Some(id);
            receipt.unbooked |= !features.usage;
        });
    }

    /// Records a refused call on the path of its key. Refused calls are free, and a client can name any path below its
    /// own, so they could otherwise fill the usage statistics with new paths.
    fn book_on_own_path(&self, receipt: &mut Receipt) {
        let own = self.context.principal().and_then(Principal::own_path);
        receipt.user_path = own.map_or("/", UserPath::as_str).to_owned();
    }

    /// Records that the call is sent to a target.
    pub fn record_sent(&mut self, deployment: &Arc<Deployment>, reservation: &Reservation) {
        self.journal_sent(deployment, reservation);
        self.receipt.bound = reservation.bound;
        self.receipt.reserved.clone_from(reservation);
        self.receipt.left = true;
        self.receipt.answered_by(deployment);
    }

    /// Journals that the call is sent to a target. A journal failure does not stop the call: its receipt is written, or
    /// queued, when the call ends.
    pub fn journal_sent(&self, deployment: &Deployment, reservation: &Reservation) {
        let gateway = self.gateway();
        let Some(receipt) = self.journaled_receipt() else { return };
        let whole =
            (!self.receipt.lost.is_empty()).then(|| self.receipt.reservation_beside_lost(reservation));
        let reservation = whole.as_ref().unwrap_or(reservation);
        let opening = OpeningRef {
            model: &deployment.target.model,
            provider: &deployment.target.provider_type,
            provider_name: &deployment.target.instance,
            audited: self.audit.is_on(),
            ..receipt.opening(&reservation.usage, reservation.cost)
        };
        if let Err(error) = gateway.journal.open_call(opening, self.receipt.shard) {
            gateway.metrics.journal_failures.inc();
            tracing::error!(%error, "journal write failed");
        }
    }

    /// The receipt, if the call is written to the journal. A call that is neither booked nor audited is not: its record
    /// would be opened and never closed.
    pub(super) fn journaled_receipt(&self) -> Option<&Receipt> {
        let receipt = self.receipt.receipt()?;
        (!receipt.unbooked || self.audit.is_on()).then_some(receipt)
    }

    /// A new id for the client span of an attempt.
    pub fn new_span_id(&self) -> Option<String> {
        self.receipt.is_traced().then(|| traces::new_span_id(&*self.gateway().entropy))
    }

    /// Records a finished attempt. `span_id` is that of its client span, if the call is traced.
    pub fn attempted(&mut self, deployment: &Deployment, attempt: Attempt, span_id: Option<String>) {
        let gateway = self.context.gateway();
        gateway.metrics.attempted(&deployment.metrics, &attempt);
        if let Some(trace) = &mut self.receipt.trace {
            let took = Duration::from_micros(attempt.duration_us);
            let started = self.context.elapsed().saturating_sub(took);
            let span_id = span_id.unwrap_or_else(|| traces::new_span_id(&*gateway.entropy));
            let server =
                deployment.instance.destination.as_ref().ok().map(|destination| destination.origin());
            trace.attempted(&deployment.target.provider_type, server, span_id, started);
        }
        self.receipt.attempted(attempt);
        self.audit.record_journey(|journey| journey.attempts.push(AttemptTiming::default()));
    }

    /// Whether the hold covers this many concurrent attempts, in addition to the finished ones that incurred cost;
    /// extends it if needed. False if a budget has too little left. Waits only for room in budgets that replicas share,
    /// and only if the lease of this process has too little.
    pub async fn covers(&self, attempts: u32) -> bool {
        let attempts = self.receipt.billed + attempts;
        // Boxed, because most calls do not wait.
        self.holds.cover(attempts, Check::Lease)
            || Box::pin(self.holds.cover_waiting(attempts, &self.context)).await
    }

    /// Records the time to first byte. Returns the gateway's own share of it, in microseconds.
    pub fn first_byte(&mut self) -> u64 {
        let elapsed = self.context.elapsed();
        let overhead_us = elapsed.saturating_sub(self.receipt.waited).as_micros() as u64;
        self.receipt.edit(|receipt| {
            receipt.first_byte_us = Some(elapsed.as_micros() as u64);
            receipt.overhead_us = overhead_us;
        });
        overhead_us
    }

    /// Records the usage that the provider reported.
    pub fn consumed(&mut self, usage: Usage, raw: &[u8]) {
        self.holds.consumed(&usage.tokens);
        self.receipt.consumed(usage, raw);
    }

    fn fail(&mut self, fault: &Fault) {
        let snapshot = self.gateway().snapshot();
        let mut message =
            snapshot.routes.scrubber.clean(&fault.message, self.audit.credential()).into_owned();
        let deployment = self.receipt.deployment();
        if let Some(credential) = deployment.and_then(|deployment| deployment.client_credential.as_ref()) {
            message = credential.hide_in(message);
        }
        self.receipt.edit(|receipt| {
            receipt.status = fault.status;
            receipt.error_type = Some(fault.kind.as_str().to_owned());
            receipt.error_code = Some(fault.code.to_string());
            receipt.error_message = Some(message);
        });
        self.audit.failed(fault);
    }

    /// Ends the call with a fault before any of the answer was sent. It is charged only for lost attempts.
    pub fn refuse(mut self: Box<Self>, fault: Fault) -> Refused {
        if self.is_optional && !self.receipt.left {
            self.receipt.edit(|receipt| receipt.unbooked = true);
            self.audit = AuditTap::off();
        }
        self.fail(&fault);
        let tokens = self.receipt.usage.get_or_insert_default().tokens;
        self.holds.consumed(&tokens);
        let attempts = self.receipt.attempts();
        // A 429 after an attempt came from a provider, and the request still counts.
        if fault.status == 429 && attempts == 0 {
            self.holds.uncount_request();
        }
        let overhead_us = self.context.elapsed().saturating_sub(self.receipt.waited).as_micros() as u64;
        self.receipt.edit(|receipt| receipt.overhead_us = overhead_us);
        let mut headers = self.headers(overhead_us);
        // The gateway has already retried, so the client should not, unless a retry time is known. SDKs also retry 409.
        if (attempts > 0 || fault.status == 409) && fault.retry_after.is_none() {
            headers.insert(response_headers::SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        let request_id = &self.context.request_id;
        if fault.status >= 500 {
            tracing::warn!(request_id = request_id.as_str(), code = %fault.code, reason = %fault.message, "call failed");
        }
        self.audit.refused(&fault, &headers, request_id);
        self.close();
        Refused { fault, headers }
    }

    /// Ends a stream after its head was sent. The client has received the error in the stream.
    pub fn break_off(&mut self, fault: &Fault) -> Option<JoinHandle<()>> {
        tracing::warn!(
            request_id = self.context.request_id.as_str(),
            code = %fault.code,
            reason = %fault.message,
            "stream interrupted"
        );
        self.fail(fault);
        self.close()
    }

    /// Ends a call whose answer was passed through unchanged, with the provider's status.
    pub fn passed(&mut self, status: u16, stream: bool) -> Option<JoinHandle<()>> {
        self.receipt.edit(|receipt| {
            receipt.status = status;
            receipt.stream = stream;
            if status >= 400 {
                receipt.error_type = Some(fault::FaultKind::Provider.as_str().to_owned());
                receipt.error_code = Some(FaultCode::UpstreamError.to_string());
            }
        });
        self.close()
    }

    pub fn complete(&mut self) -> Option<JoinHandle<()>> {
        self.receipt.edit(|receipt| receipt.status = 200);
        self.close()
    }

    /// Prices and journals the receipt. If the provider reported no usage, tokens are counted on a blocking thread
    /// first. The returned handle completes when that is done; until then the call is not acknowledged.
    fn close(&mut self) -> Option<JoinHandle<()>> {
        // Refused before its targets were known, or a repeated answer: the workflow of its path applies. A call that was
        // sent is open in the journal and has to be closed there.
        if self.receipt.receipt().is_some() && !self.receipt.left && self.context.has_unresolved_workflow() {
            Arc::make_mut(&mut self.context).resolve_path_policy();
            self.apply_workflow();
        }
        self.record_end();
        let mut receipt = self.receipt.receipt.take()?;
        receipt.duration_us = self.context.elapsed().as_micros() as u64;
        receipt.audit = self.audit.finish(&self.context, &receipt);
        // A 5xx is not the client's fault: an open circuit breaker, or a full store.
        if receipt.is_refused() && receipt.status < 500 {
            self.book_on_own_path(&mut receipt);
        }
        let facts = &mut self.receipt;
        let settlement = Settlement {
            gateway: self.context.gateway().clone(),
            receipt,
            shard: facts.shard,
            deployment: facts.deployment.clone(),
            usage: facts.usage.take(),
            left: facts.left,
            prompt: std::mem::take(&mut facts.prompt),
            content_bytes: facts.content_bytes,
            bound: facts.bound,
            earlier: facts.earlier.take(),
            lost: std::mem::take(&mut facts.lost),
            holds: std::mem::take(&mut self.holds),
            trace: facts.trace.take(),
        };
        // Tokenizing a long prompt would block the runtime. Outside a runtime (shutdown, tests) it runs in place.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) if settlement.counts_for_long() => {
                Some(self.gateway().tasks.spawn_blocking_on(move || settlement.settle(), &runtime))
            }
            _ => {
                settlement.settle();
                None
            }
        }
    }
}

/// Settles a ticket that is dropped open: the client disconnected.
impl Drop for Ticket {
    fn drop(&mut self) {
        if self.receipt.receipt.is_some() {
            self.fail(&fault::client_disconnected());
            self.close();
        }
    }
}
