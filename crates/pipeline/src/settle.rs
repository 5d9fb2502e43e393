//! Station: one receipt per call. The ticket carries it from the first byte to the last and closes it even when dropped.

mod account;
mod audited;
mod earlier;
mod following;
mod holds;
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

use crate::arrival::{self, Arrival, RequestId};
use crate::audit::Capture;
use crate::estimate;
use crate::gateway::Gateway;
use crate::limit;
use crate::receive::Call;
use crate::reply::{self, Refused};
use crate::reserve::Reservation;
use crate::responses::Keeping;
use crate::snapshot::routes::Lane;
use crate::traces::{self, CallTrace};
use account::Account;
use earlier::{Earlier, Lost};
use holds::Holds;

pub struct Ticket {
    gateway: Arc<Gateway>,
    /// Taken when the ticket is closed.
    receipt: Option<Box<Receipt>>,
    pub request_id: RequestId,
    started: Duration,
    lane: Option<Arc<Lane>>,
    prompt: Bytes,
    /// Time spent waiting for providers before the first byte: not the gateway's own.
    waited: Duration,
    /// What was really consumed, once known.
    usage: Option<Usage>,
    content_bytes: u64,
    /// The longest answer that the call allows.
    bound: Option<u64>,
    /// What the call is charged when its provider never says what it took.
    reserved: Reservation,
    /// The call left for a provider, so it may have cost something even if no answer came.
    left: bool,
    /// Attempts that are over and cost something, whatever the client hears.
    billed: u32,
    /// Those of them whose answers were lost.
    lost: Vec<Lost>,
    /// What the target could not be told.
    dropped: Dropped,
    /// Whose the answer is, and how it is kept, when it is a response.
    keeping: Option<Box<Keeping>>,
    /// The parts of a stream whose providers died.
    earlier: Option<Box<Earlier>>,
    /// What is given back when the call is settled.
    holds: Holds,
    /// The caller's key, when it has limits: also who is refused before they are asked is told of them.
    limited: Option<Arc<KeyFacts>>,
    /// The caller's key, when it has one.
    key: Option<Arc<KeyFacts>>,
    /// What the audit log is to know, when there is one.
    audit: Option<Box<Capture>>,
    /// Collected for the spans of the call, when its trace is recorded.
    trace: Option<Box<CallTrace>>,
}

impl Ticket {
    /// On the heap: it is handed from station to station.
    pub fn open(gateway: &Arc<Gateway>, arrival: &Arrival) -> Box<Self> {
        gateway.metrics.in_flight.inc();
        let context = traces::context(gateway, arrival);
        let trace = traces::is_recorded(gateway, context.as_ref()).then(|| CallTrace::new(arrival));
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
            audit: Capture::open(gateway.policy.audit, arrival),
            trace,
        })
    }

    /// Unique to this call, of letters and digits: what its ids are made from.
    pub fn seed(&self) -> String {
        self.receipt.as_ref().map(|receipt| receipt.id.replace('-', "")).unwrap_or_default()
    }

    /// When the call arrived, in seconds.
    pub fn created(&self) -> i64 {
        self.receipt.as_ref().map_or(0, |receipt| receipt.at.micros() / 1_000_000)
    }

    /// Who stored state belongs to.
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

    /// The headers of the answer, as far as the call got.
    pub fn headers(&self, overhead_us: u64) -> HeaderMap {
        let mut headers = reply::headers(&self.request_id, self.lane.as_ref(), self.attempts(), overhead_us);
        if !self.dropped.is_empty()
            && let Ok(names) = HeaderValue::try_from(self.dropped.names().join(", "))
        {
            headers.insert(reply::DROPPED, names);
        }
        if let Some(clamped) = self.clamped() {
            headers.insert(reply::CLAMPED, clamped);
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

    /// Books the call on its caller and user path, and counts it against the caller's request limits.
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
            self.edit(|receipt| receipt.run_id = Some(run_id.to_string()));
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

    /// Refused calls are free, and a client can name any path below its own: so that they cannot fill the sums of usage,
    /// they are booked on the path of their key.
    fn book_on_own_path(&self, receipt: &mut Receipt) {
        let own = self.key.as_ref().and_then(|key| key.user_path.as_ref());
        receipt.user_path = own.map_or("/", UserPath::as_str).to_owned();
    }

    /// A call that is passed on as it came asks for this model, as far as it says.
    pub fn names(&mut self, model: &str) {
        self.edit(|receipt| receipt.requested_model = model.to_owned());
    }

    pub fn requested(&mut self, call: &Call) {
        self.prompt = call.request.body.clone();
        if let Some(trace) = &mut self.trace {
            trace.requested(call);
        }
        let model: String = call.request.model.as_deref().unwrap_or_default().chars().take(300).collect();
        self.edit(|receipt| {
            receipt.requested_model = model;
            receipt.stream = call.stream;
        });
    }

    /// The call is leaving for a target.
    pub fn leave(&mut self, lane: &Arc<Lane>, reservation: &Reservation) {
        self.note_leaving(lane, reservation);
        self.bound = reservation.bound;
        self.reserved.clone_from(reservation);
        self.left = true;
        self.answered_by(lane);
    }

    /// A target has not served the call. A client that leaves before the next attempt owes no more than what was lost.
    pub fn refused(&mut self) {
        self.left = false;
    }

    /// The call turns out to be served by another target than the one it left for.
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

    /// Notes in the journal that the call is leaving for a target. A journal that cannot be written does not
    /// stop the call: the receipt is kept and tried again when the call ends.
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
            tracing::error!(%error, "the journal cannot be written");
        }
    }

    /// `span_id` is that of its client span, where the call is traced.
    pub fn attempted(&mut self, lane: &Lane, attempt: Attempt, span_id: Option<String>) {
        self.gateway.metrics.attempted(&lane.live, &attempt);
        self.trace_attempt(lane, &attempt, span_id);
        self.edit(|receipt| receipt.attempts.push(attempt));
    }

    /// Why the last attempt failed.
    pub fn last_error(&self) -> Option<&str> {
        self.receipt.as_ref()?.attempts.last()?.error.as_deref()
    }

    pub fn attempts(&self) -> usize {
        self.receipt.as_ref().map_or(0, |receipt| receipt.attempts.len())
    }

    pub fn waited(&mut self, duration: Duration) {
        self.waited += duration;
    }

    /// Called when the first byte is about to leave; gives the time the gateway itself took until then.
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

    /// What the provider says was consumed.
    pub fn consumed(&mut self, usage: Usage, raw: &[u8]) {
        let raw = std::str::from_utf8(raw)
            .ok()
            .and_then(|text| serde_json::value::RawValue::from_string(text.to_owned()).ok());
        self.edit(|receipt| receipt.raw_usage = raw);
        self.holds.consumed(&usage.tokens);
        self.usage = Some(usage);
    }

    /// The tokens that so much of an answer has, no more than the call allows.
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

    /// Ends the call with a fault before anything was sent. Beyond what was lost on the way, it costs nothing.
    pub fn refuse(mut self: Box<Self>, fault: Fault) -> Refused {
        self.fail(&fault);
        let tokens = self.usage.get_or_insert_default().tokens;
        self.holds.consumed(&tokens);
        // A 429 of a provider has cost an attempt, and counts.
        if fault.status == 429 && self.attempts() == 0 {
            self.holds.uncount_request();
        }
        let overhead_us = self.elapsed().saturating_sub(self.waited).as_micros() as u64;
        self.edit(|receipt| receipt.overhead_us = overhead_us);
        let mut headers = self.headers(overhead_us);
        // The client's own retries come on top of ours: they help only where a later one could. Conflicts are retried, too.
        if (self.attempts() > 0 || fault.status == 409) && fault.retry_after.is_none() {
            headers.insert(reply::SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        if fault.status >= 500 {
            tracing::warn!(request_id = self.request_id.as_str(), code = %fault.code, reason = %fault.message, "call failed");
        }
        self.told(&fault, &headers);
        self.close();
        Refused { fault, headers }
    }

    /// Ends a stream whose head is already sent: the client was told in-band.
    pub fn break_off(&mut self, fault: &Fault) -> Option<JoinHandle<()>> {
        tracing::warn!(request_id = self.request_id.as_str(), code = %fault.code, reason = %fault.message, "stream broke off");
        self.fail(fault);
        self.close()
    }

    /// The call turns out to be for this model; it has left already.
    pub fn concerns(&mut self, lane: &Arc<Lane>) {
        self.lane = Some(lane.clone());
        self.edit(|receipt| {
            receipt.model = lane.target.model.to_string();
            receipt.requested_model = lane.target.model.to_string();
        });
    }

    /// Ends a call whose answer was passed on as it came, with the provider's own status.
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

    /// Prices and journals the receipt. Where the provider named no usage it is counted on another thread first,
    /// and the handle tells when that is done: until then the call is not acknowledged.
    fn close(&mut self) -> Option<JoinHandle<()>> {
        let mut receipt = self.receipt.take()?;
        receipt.duration_us = self.elapsed().as_micros() as u64;
        receipt.audit = self.captured(&receipt);
        // A 5xx is not the client's doing: an open breaker, a full store.
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

/// A ticket that is dropped open belongs to a client that went away.
impl Drop for Ticket {
    fn drop(&mut self) {
        if self.receipt.is_some() {
            self.fail(&fault::client_disconnected());
            self.close();
        }
    }
}
