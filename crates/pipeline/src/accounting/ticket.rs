//! Settlement: one receipt per call. The ticket carries the receipt through the pipeline and settles it even if
//! dropped.

mod account;
mod audited;
mod following;
mod holds;
mod prior_usage;
mod request_log;
mod traced;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::caller::{Caller, KeyFacts};
use domain::canon::Dropped;
use domain::fault::{self, Fault};
use domain::ids;
use domain::receipt::{Attempt, OpeningRef, Receipt};
use domain::usage::Usage;
use domain::user_path::UserPath;
use http::{HeaderMap, HeaderValue};
use store::Owner;
use tokio::task::JoinHandle;

use crate::accounting::audit_tap::AuditTap;
use crate::accounting::estimate;
use crate::accounting::reservation::Reservation;
use crate::accounting::stored_response::Keeping;
use crate::call::arrival::{self, Arrival, RequestId};
use crate::call::receive::Call;
use crate::call::response_headers::{self, Refused};
use crate::gateway::Gateway;
use crate::limit;
use crate::routing::routes::Lane;
use crate::services::traces::{self, CallTrace};
use account::Account;
use holds::Holds;
use prior_usage::{FailedAttemptUsage, PriorUsage};

pub struct Ticket {
    gateway: Arc<Gateway>,
    /// Taken when the ticket is closed.
    receipt: Option<Box<Receipt>>,
    pub request_id: RequestId,
    started: Duration,
    lane: Option<Arc<Lane>>,
    prompt: Bytes,
    /// Time spent waiting for providers before the first byte; not part of the gateway's overhead.
    waited: Duration,
    /// The actual usage, once known.
    usage: Option<Usage>,
    content_bytes: u64,
    /// The most output tokens that the call allows.
    bound: Option<u64>,
    /// The charge if the provider never reports usage.
    reserved: Reservation,
    /// The call was sent to a provider, so it may have incurred cost even without an answer.
    left: bool,
    /// Finished attempts that incurred cost, whether or not the client received their answers.
    billed: u32,
    /// Usage of the finished attempts whose answers were lost.
    lost: Vec<FailedAttemptUsage>,
    /// Parameters that were not sent because the target does not support them.
    dropped: Dropped,
    /// Owner and storage of the response, for the Responses API.
    keeping: Option<Box<Keeping>>,
    /// Usage of providers that failed in the middle of the stream.
    earlier: Option<Box<PriorUsage>>,
    /// Rate limit permits and budget holds, released at settlement.
    holds: Holds,
    /// The caller's key if it has limits. Also used for the headers of calls that are refused before limits are
    /// checked.
    limited: Option<Arc<KeyFacts>>,
    /// The caller's key, if it has one.
    key: Option<Arc<KeyFacts>>,
    /// Data for the audit log, if enabled.
    audit: Option<Box<AuditTap>>,
    /// Data for the spans of the call, if its trace is recorded.
    trace: Option<Box<CallTrace>>,
}

impl Ticket {
    /// Opens the receipt of a call. Boxed, because the ticket is moved through all stages of the pipeline.
    pub fn open(gateway: &Arc<Gateway>, arrival: &Arrival) -> Box<Self> {
        gateway.metrics.in_flight.inc();
        let exported = gateway.traces.is_some();
        let context = traces::context(exported, &*gateway.entropy, |name| arrival.header(name));
        let trace = traces::is_recorded(exported, context.as_ref())
            .then(|| CallTrace::new(arrival.endpoint, arrival.surface));
        let receipt = Receipt {
            id: ids::unique(arrival.at, &*gateway.entropy).to_string(),
            request_id: arrival.request_id.as_str().to_owned(),
            at: arrival.at,
            method: arrival.method.to_owned(),
            endpoint: arrival.endpoint.to_owned(),
            user_path: "/".into(),
            client_ip: arrival.client_ip.map(|ip| ip.to_string()).unwrap_or_default(),
            user_agent: arrival
                .header("user-agent")
                .map(|text| text.chars().take(200).collect())
                .unwrap_or_default(),
            trace: context,
            unbooked: !gateway.policy.accounting,
            ..Receipt::default()
        };
        Box::new(Self {
            gateway: gateway.clone(),
            receipt: Some(Box::new(receipt)),
            request_id: arrival.request_id.clone(),
            started: arrival.tick,
            lane: None,
            prompt: Bytes::new(),
            waited: Duration::ZERO,
            usage: None,
            content_bytes: 0,
            bound: None,
            reserved: Reservation::default(),
            left: false,
            billed: 0,
            lost: Vec::new(),
            dropped: Dropped::default(),
            keeping: None,
            earlier: None,
            holds: Holds::default(),
            limited: None,
            key: None,
            audit: AuditTap::open(gateway.policy.audit, arrival),
            trace,
        })
    }

    /// A unique alphanumeric text from which the ids of this call are derived.
    pub fn seed(&self) -> String {
        self.receipt.as_ref().map(|receipt| receipt.id.replace('-', "")).unwrap_or_default()
    }

    /// The arrival time of the call, in Unix seconds.
    pub fn created(&self) -> i64 {
        self.receipt.as_ref().map_or(0, |receipt| receipt.at.micros() / 1_000_000)
    }

    /// The owner of state that the call stores.
    pub fn owner(&self) -> Owner {
        let receipt = self.receipt.as_deref();
        Owner {
            key: receipt.and_then(|receipt| receipt.auth_key_id.clone()).unwrap_or_else(|| "master".into()),
            user_path: receipt.map(|receipt| receipt.user_path.clone()).unwrap_or_default(),
            tenant: receipt.and_then(|receipt| receipt.tenant_id.clone()),
        }
    }

    pub fn keep(&mut self, keeping: Keeping) {
        self.edit(|receipt| receipt.previous_response_id.clone_from(&keeping.previous));
        self.keeping = Some(Box::new(keeping));
    }

    pub fn keeping(&self) -> Option<&Keeping> {
        self.keeping.as_deref()
    }

    pub fn prompt(&self) -> &Bytes {
        &self.prompt
    }

    pub fn leave_out(&mut self, dropped: Dropped) {
        self.dropped = dropped;
    }

    /// The response headers, as far as they are known.
    pub fn headers(&self, overhead_us: u64) -> HeaderMap {
        let mut headers =
            response_headers::headers(&self.request_id, self.lane.as_ref(), self.attempts(), overhead_us);
        if !self.dropped.is_empty()
            && let Ok(names) = HeaderValue::try_from(self.dropped.names().join(", "))
        {
            headers.insert(response_headers::DROPPED, names);
        }
        if let Some(clamped) = self.clamped() {
            headers.insert(response_headers::CLAMPED, clamped);
        }
        self.limits(&mut headers);
        headers
    }

    fn edit(&mut self, change: impl FnOnce(&mut Receipt)) {
        if let Some(receipt) = &mut self.receipt {
            change(receipt);
        }
    }

    pub fn receipt(&self) -> Option<&Receipt> {
        self.receipt.as_deref()
    }

    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    pub fn lane(&self) -> Option<&Arc<Lane>> {
        self.lane.as_ref()
    }

    /// Records the caller and user path of the call, and counts it against the caller's request limits.
    pub fn identify(&mut self, caller: &Caller, arrival: &Arrival) -> Result<UserPath, Fault> {
        self.limited = limit::limited(caller).cloned();
        self.key = caller.key().cloned();
        let session_id = arrival.header("x-gateway-session-id").map(|text| text.chars().take(200).collect());
        self.edit(|receipt| {
            receipt.auth_method = caller.auth_method().to_owned();
            receipt.auth_key_id = caller.key().map(|key| key.id.to_string());
            receipt.tenant_id = caller.key().and_then(|key| key.tenant_id.as_deref().map(str::to_owned));
            receipt.session_id = session_id;
        });
        let run_id = arrival::run_id(&arrival.headers);
        if let Ok(Some(run_id)) = &run_id {
            self.edit(|receipt| receipt.run_id = Some((*run_id).to_owned()));
        }
        let path = arrival::user_path(&arrival.headers).and_then(|asked| caller.user_path(asked));
        if let Ok(path) = &path {
            self.edit(|receipt| receipt.user_path = path.as_str().to_owned());
        }
        self.limit_request(caller)?;
        run_id?;
        let path = path?;
        self.gateway.user_paths.admit(caller, &path, self.now())?;
        Ok(path)
    }

    /// Records a refused call on the path of its key. Refused calls are free, and a client can name any path below its
    /// own, so they could otherwise fill the usage statistics with new paths.
    fn book_on_own_path(&self, receipt: &mut Receipt) {
        let own = self.key.as_ref().and_then(|key| key.user_path.as_ref());
        receipt.user_path = own.map_or("/", UserPath::as_str).to_owned();
    }

    /// Sets the requested model of a passthrough call.
    pub fn names(&mut self, model: &str) {
        self.edit(|receipt| receipt.requested_model = model.to_owned());
    }

    pub fn requested(&mut self, call: &Call) {
        self.prompt = call.request.body.clone();
        if let Some(trace) = &mut self.trace {
            trace.requested(&call.request);
        }
        let model: String = call.request.model.as_deref().unwrap_or_default().chars().take(300).collect();
        self.edit(|receipt| {
            receipt.requested_model = model;
            receipt.stream = call.stream;
        });
    }

    /// Records that the call is sent to a target.
    pub fn leave(&mut self, lane: &Arc<Lane>, reservation: &Reservation) {
        self.note_leaving(lane, reservation);
        self.bound = reservation.bound;
        self.reserved.clone_from(reservation);
        self.left = true;
        self.answered_by(lane);
    }

    /// Records that a target did not serve the call. If the client disconnects now, only lost attempts are charged.
    pub fn refused(&mut self) {
        self.left = false;
    }

    /// Records that another target than the one the call was sent to has answered.
    pub fn switch(&mut self, lane: &Arc<Lane>, dropped: Dropped) {
        self.answered_by(lane);
        self.dropped = dropped;
    }

    pub fn answered_by(&mut self, lane: &Arc<Lane>) {
        self.lane = Some(lane.clone());
        let target = &lane.target;
        self.served_by(&target.provider_type, &target.instance, &target.model);
    }

    pub fn served_by(&mut self, provider: &str, provider_name: &str, model: &str) {
        self.edit(|receipt| {
            receipt.model = model.to_owned();
            receipt.provider = provider.to_owned();
            receipt.provider_name = provider_name.to_owned();
        });
    }

    /// Journals that the call is sent to a target. A journal failure does not stop the call: its receipt is written, or
    /// queued, when the call ends.
    pub fn note_leaving(&self, lane: &Lane, reservation: &Reservation) {
        let Some(receipt) = self.receipt.as_deref().filter(|_| self.gateway.policy.keeps_journal()) else {
            return;
        };
        let whole = (!self.lost.is_empty()).then(|| self.reservation_beside_lost(reservation));
        let reservation = whole.as_ref().unwrap_or(reservation);
        let opening = OpeningRef {
            model: &lane.target.model,
            provider: &lane.target.provider_type,
            provider_name: &lane.target.instance,
            audited: self.audit.is_some(),
            ..receipt.opening(&reservation.usage, reservation.cost)
        };
        if let Err(error) = self.gateway.journal.open_call(opening) {
            self.gateway.metrics.journal_failures.inc();
            tracing::error!(%error, "journal write failed");
        }
    }

    /// Records a finished attempt. `span_id` is that of its client span, if the call is traced.
    pub fn attempted(&mut self, lane: &Lane, attempt: Attempt, span_id: Option<String>) {
        self.gateway.metrics.attempted(&lane.metrics, &attempt);
        self.trace_attempt(lane, &attempt, span_id);
        self.edit(|receipt| receipt.attempts.push(attempt));
    }

    /// The error of the last attempt.
    pub fn last_error(&self) -> Option<&str> {
        self.receipt.as_ref()?.attempts.last()?.error.as_deref()
    }

    pub fn attempts(&self) -> usize {
        self.receipt.as_ref().map_or(0, |receipt| receipt.attempts.len())
    }

    pub fn waited(&mut self, duration: Duration) {
        self.waited += duration;
    }

    /// Records the time to first byte. Returns the gateway's own share of it, in microseconds.
    pub fn first_byte(&mut self) -> u64 {
        let elapsed = self.gateway.clock.tick().saturating_sub(self.started);
        let overhead_us = elapsed.saturating_sub(self.waited).as_micros() as u64;
        self.edit(|receipt| {
            receipt.first_byte_us = Some(elapsed.as_micros() as u64);
            receipt.overhead_us = overhead_us;
        });
        overhead_us
    }

    pub fn now(&self) -> Duration {
        self.gateway.clock.tick()
    }

    pub fn elapsed(&self) -> Duration {
        self.now().saturating_sub(self.started)
    }

    pub fn provider_id(&mut self, id: String) {
        self.edit(|receipt| receipt.provider_id = id);
    }

    /// Records the usage that the provider reported.
    pub fn consumed(&mut self, usage: Usage, raw: &[u8]) {
        let raw = std::str::from_utf8(raw)
            .ok()
            .and_then(|text| serde_json::value::RawValue::from_string(text.to_owned()).ok());
        self.edit(|receipt| receipt.raw_usage = raw);
        self.holds.consumed(&usage.tokens);
        self.usage = Some(usage);
    }

    /// Estimates the tokens of an answer of this size, limited to what the call allows.
    pub fn estimate_of(&self, content_bytes: u64) -> u64 {
        estimate::output(content_bytes, self.bound)
    }

    pub fn produced(&mut self, content_bytes: u64) {
        self.content_bytes = content_bytes;
    }

    fn fail(&mut self, fault: &Fault) {
        let own = self.audit.as_ref().and_then(|capture| capture.credential());
        let message = self.gateway.snapshot().routes.scrubber.clean(&fault.message, own).into_owned();
        self.edit(|receipt| {
            receipt.status = fault.status;
            receipt.error_type = Some(fault.kind.as_str().to_owned());
            receipt.error_code = Some(fault.code.to_string());
            receipt.error_message = Some(message);
        });
        if let Some(capture) = &mut self.audit {
            capture.reason = fault.reason.map(fault::Reason::as_str);
        }
    }

    /// Ends the call with a fault before any of the answer was sent. It is charged only for lost attempts.
    pub fn refuse(mut self: Box<Self>, fault: Fault) -> Refused {
        self.fail(&fault);
        let tokens = self.usage.get_or_insert_default().tokens;
        self.holds.consumed(&tokens);
        // A 429 after an attempt came from a provider, and the request still counts.
        if fault.status == 429 && self.attempts() == 0 {
            self.holds.uncount_request();
        }
        let overhead_us = self.elapsed().saturating_sub(self.waited).as_micros() as u64;
        self.edit(|receipt| receipt.overhead_us = overhead_us);
        let mut headers = self.headers(overhead_us);
        // The gateway has already retried, so the client should not, unless a retry time is known. SDKs also retry 409.
        if (self.attempts() > 0 || fault.status == 409) && fault.retry_after.is_none() {
            headers.insert(response_headers::SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        if fault.status >= 500 {
            tracing::warn!(request_id = self.request_id.as_str(), code = %fault.code, reason = %fault.message, "call failed");
        }
        self.told(&fault, &headers);
        self.close();
        Refused { fault, headers }
    }

    /// Ends a stream after its head was sent. The client has received the error in the stream.
    pub fn break_off(&mut self, fault: &Fault) -> Option<JoinHandle<()>> {
        tracing::warn!(
            request_id = self.request_id.as_str(),
            code = %fault.code,
            reason = %fault.message,
            "stream interrupted"
        );
        self.fail(fault);
        self.close()
    }

    /// Sets the model of a call that was already sent.
    pub fn concerns(&mut self, lane: &Arc<Lane>) {
        self.lane = Some(lane.clone());
        self.edit(|receipt| {
            receipt.model = lane.target.model.to_string();
            receipt.requested_model = lane.target.model.to_string();
        });
    }

    /// Ends a call whose answer was passed through unchanged, with the provider's status.
    pub fn passed(&mut self, status: u16, stream: bool) -> Option<JoinHandle<()>> {
        self.edit(|receipt| {
            receipt.status = status;
            receipt.stream = stream;
            if status >= 400 {
                receipt.error_type = Some(fault::FaultKind::Provider.as_str().to_owned());
                receipt.error_code = Some("upstream_error".to_owned());
            }
        });
        self.close()
    }

    pub fn complete(&mut self) -> Option<JoinHandle<()>> {
        self.edit(|receipt| receipt.status = 200);
        self.close()
    }

    /// Prices and journals the receipt. If the provider reported no usage, tokens are counted on a blocking thread
    /// first. The returned handle completes when that is done; until then the call is not acknowledged.
    fn close(&mut self) -> Option<JoinHandle<()>> {
        let mut receipt = self.receipt.take()?;
        receipt.duration_us = self.elapsed().as_micros() as u64;
        receipt.audit = self.captured(&receipt);
        // A 5xx is not the client's fault: an open circuit breaker, or a full store.
        if receipt.is_refused() && receipt.status < 500 {
            self.book_on_own_path(&mut receipt);
        }
        let account = Account {
            gateway: self.gateway.clone(),
            receipt,
            lane: self.lane.clone(),
            usage: self.usage.take(),
            left: self.left,
            prompt: std::mem::take(&mut self.prompt),
            content_bytes: self.content_bytes,
            bound: self.bound,
            earlier: self.earlier.take(),
            lost: std::mem::take(&mut self.lost),
            holds: std::mem::take(&mut self.holds),
            trace: self.trace.take(),
        };
        // Tokenizing a long prompt would block the runtime. Outside a runtime (shutdown, tests) it runs in place.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) if account.needs_counting() => {
                Some(self.gateway.tasks.spawn_blocking_on(move || account.settle(), &runtime))
            }
            _ => {
                account.settle();
                None
            }
        }
    }
}

/// Settles a ticket that is dropped open: the client disconnected.
impl Drop for Ticket {
    fn drop(&mut self) {
        if self.receipt.is_some() {
            self.fail(&fault::client_disconnected());
            self.close();
        }
    }
}
