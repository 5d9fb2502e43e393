//! Metering of passthrough calls: reads usage from the answer as it passes and charges it once, however the call ends.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::fault::{self, Fault};
use domain::money::Nanos;
use domain::receipt::{Attempt, GuardrailVerdict};
use domain::usage::{Tokens, Usage};
use egress::{EgressError, InboundBody};
use http::HeaderMap;
use http_body::Frame;
use http_body_util::BodyExt as _;
use store::Owner;
use wire::meter::{Meter, Metered};
use wire::vendors::Lifecycle;

use super::endpoint::{Purpose, StoredObjectKind};
use super::gateway_headers;
use super::upload::Sent;
use crate::accounting::ticket::Ticket;
use crate::call::ownership;
use crate::call::response_headers::Refused;
use crate::delivery::event_stream::{READ_ON_BYTES, READ_ON_TIME};
use crate::responses::background;
use crate::routing::client_credential::ClientCredential;
use crate::routing::routes::{Deployment, Instance, Routes};
use crate::services::audit::Masker;
use crate::services::content_encoding::Decoder;

pub(super) struct PassthroughMeter {
    /// Taken when the call is settled or refused.
    ticket: Option<Box<Ticket>>,
    /// Taken when its usage is charged.
    meter: Option<Meter>,
    routes: Arc<Routes>,
    instance: Arc<Instance>,
    /// The model that the path names.
    model: Option<String>,
    sent: Arc<Sent>,
    purpose: Purpose,
    status: u16,
    events: bool,
    /// The owner of the object that the path names.
    parent: Option<Owner>,
    makes: Option<StoredObjectKind>,
    masker: Masker,
    /// The client's own credential, if the call is made with it.
    client_credential: Option<Arc<ClientCredential>>,
}

impl PassthroughMeter {
    pub(super) fn new(
        ticket: Box<Ticket>,
        instance: Arc<Instance>,
        model: Option<String>,
        sent: Arc<Sent>,
        purpose: Purpose,
    ) -> Self {
        let meter = Some(Meter::new(""));
        let routes = ticket.context.snapshot().routes.clone();
        let masker = routes.scrubber.masker();
        let client_credential =
            ticket.receipt.deployment().and_then(|deployment| deployment.client_credential.clone());
        Self {
            ticket: Some(ticket),
            meter,
            routes,
            instance,
            model,
            sent,
            purpose,
            status: 0,
            events: false,
            parent: None,
            makes: None,
            masker,
            client_credential,
        }
    }

    /// Sets the owner of the object that the path names, and the kind of object that the call creates.
    pub(super) fn owned_by(&mut self, parent: Option<Owner>, makes: Option<StoredObjectKind>) {
        self.parent = parent;
        self.makes = makes;
    }

    /// Whether the call is made with the gateway's credential.
    pub(super) fn uses_own_credential(&self) -> bool {
        self.client_credential.is_none()
    }

    pub(super) fn instance(&self) -> &str {
        self.instance.name()
    }

    /// The routes that were in force when the call was sent.
    pub(super) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Masks secrets in a chunk of the answer: providers may echo what they were sent, including the gateway's
    /// credential. A possible beginning of a secret is held back until the next chunk.
    pub(super) fn clean(&mut self, data: Bytes, last: bool) -> Bytes {
        self.masker.mask(data, last)
    }

    /// The number of bytes that the masker holds back.
    pub(super) fn held_back(&self) -> usize {
        self.masker.held()
    }

    pub(super) fn attempted(&mut self, before: Duration, attempt: Attempt, span_id: Option<String>) {
        if let Some(ticket) = &mut self.ticket {
            let duration = ticket.context.now().saturating_sub(before);
            ticket.receipt.waited(duration);
            if let Some(deployment) = ticket.receipt.deployment().cloned() {
                let duration_us = duration.as_micros() as u64;
                ticket.attempted(&deployment, Attempt { duration_us, ..attempt }, span_id);
            }
        }
    }

    /// Records the status, and meters the body according to its media type.
    pub(super) fn answered(&mut self, status: u16, content_type: &str) {
        self.status = status;
        self.events = is_event_stream(content_type);
        self.meter = Some(Meter::new(content_type));
        self.concern(self.sent.model());
    }

    pub(super) fn headers(&mut self) -> HeaderMap {
        self.ticket.as_deref_mut().map(gateway_headers).unwrap_or_default()
    }

    /// The longest pause that the provider may make while it sends the body.
    pub(super) fn idle_limit(&self, content_type: &str) -> Duration {
        let Some(ticket) = &self.ticket else { return Duration::ZERO };
        let (policy, own) = (ticket.context.policy(), &self.instance.core.limits);
        if is_event_stream(content_type) { policy.at(own).idle_timeout } else { policy.total_timeout(own) }
    }

    /// The largest whole answer, and the largest event of a stream, that are inspected.
    pub(super) fn answer_limit(&self) -> usize {
        self.ticket.as_ref().map_or(0, |ticket| ticket.context.policy().answer_limit)
    }

    pub(super) fn event_limit(&self) -> usize {
        self.ticket.as_ref().map_or(0, |ticket| ticket.context.policy().event_limit)
    }

    /// Records the response headers for the audit log.
    pub(super) fn heads(&mut self, headers: &HeaderMap) {
        if let Some(ticket) = &mut self.ticket {
            ticket.audit.heads(headers);
        }
    }

    pub(super) fn feed(&mut self, data: &[u8]) {
        self.record(data);
        self.measure(data);
    }

    /// Records bytes of the answer for the audit log.
    pub(super) fn record(&self, data: &[u8]) {
        if let Some(ticket) = &self.ticket {
            ticket.audit.record_response(data);
        }
    }

    /// Leaves the answer out of the audit log, because guardrails have not seen it.
    pub(super) fn omit_answer(&mut self) {
        if let Some(ticket) = &mut self.ticket {
            ticket.audit.omit_answer();
        }
    }

    /// Records the verdicts of guardrails on the answer.
    pub(super) fn record_verdicts(&mut self, verdicts: Vec<GuardrailVerdict>) {
        if let Some(ticket) = &mut self.ticket {
            ticket.record_verdicts(verdicts);
        }
    }

    /// The ticket of a call that is not settled yet.
    pub(super) fn ticket(&mut self) -> Option<&mut Ticket> {
        self.ticket.as_deref_mut()
    }

    /// Ends the call with an error, before any of the answer was sent. Usage is estimated if the provider may charge for
    /// an answer that cannot be passed on.
    pub(super) fn refuse(mut self, fault: Fault) -> Refused {
        let begun = self.status != 0;
        if begun && fault.billable {
            self.book(false);
        }
        self.meter = None;
        match self.ticket.take() {
            Some(ticket) => ticket.refuse(fault),
            None => Refused { fault, headers: HeaderMap::new() },
        }
    }

    /// Settles a call whose answer was passed on completely.
    pub(super) fn complete(&mut self) {
        self.book(true);
        if let Some(mut ticket) = self.ticket.take() {
            ticket.passed(self.status, self.events);
        }
    }

    /// Settles a call whose answer broke off.
    pub(super) fn break_off(&mut self, fault: &Fault) {
        self.book(false);
        if let Some(mut ticket) = self.ticket.take() {
            ticket.break_off(fault);
        }
    }

    /// Whether the content of the answer is complete, so that only usage may follow.
    pub(super) fn is_answered(&self) -> bool {
        self.purpose.infers && self.status < 400 && self.meter.as_ref().is_some_and(Meter::is_answered)
    }

    /// Moves the accounting to a new meter; the remaining one charges nothing.
    pub(super) fn hand_over(&mut self) -> Self {
        Self {
            ticket: self.ticket.take(),
            meter: self.meter.take(),
            routes: self.routes.clone(),
            instance: self.instance.clone(),
            model: self.model.clone(),
            sent: self.sent.clone(),
            purpose: self.purpose,
            status: self.status,
            events: self.events,
            parent: self.parent.take(),
            makes: self.makes,
            masker: self.routes.scrubber.masker(),
            client_credential: self.client_credential.clone(),
        }
    }

    /// Reads the rest of an answer in the background, only for its usage, after the client disconnected.
    pub(super) fn read_on(mut self, mut body: Box<InboundBody>, mut decoder: Option<Decoder>) {
        let Some(gateway) = self.ticket.as_ref().map(|ticket| ticket.gateway().clone()) else { return };
        gateway.tasks.spawn(async move {
            let rest = async {
                let mut received = 0;
                while received < READ_ON_BYTES
                    && let Some(frame) = body.frame().await
                {
                    let Ok(data) = frame.map(Frame::into_data)? else { continue };
                    received += data.len();
                    let Some(decoder) = &mut decoder else {
                        self.measure(&data);
                        continue;
                    };
                    decoder.give(data);
                    while let Ok(Some(part)) = decoder.take() {
                        self.measure(&part);
                    }
                }
                Ok::<bool, EgressError>(received < READ_ON_BYTES)
            };
            let complete = matches!(tokio::time::timeout(READ_ON_TIME, rest).await, Ok(Ok(true)));
            self.book(complete);
        });
    }

    pub(super) fn measure(&mut self, data: &[u8]) {
        if let Some(meter) = &mut self.meter {
            meter.feed(data);
        }
    }

    pub(super) fn interrupted(&self) -> Fault {
        fault::upstream_interrupted(self.instance())
    }

    /// The target for a model that the call or its answer names.
    fn target(&self, model: &str) -> Arc<Deployment> {
        let deployment = self.instance.passthrough_deployment(model);
        match &self.client_credential {
            Some(credential) => deployment.with_client_credential(credential),
            None => deployment,
        }
    }

    fn concern(&mut self, model: Option<String>) {
        let Some(model) = self.model.clone().or(model) else { return };
        let known = self.ticket.as_ref().and_then(|ticket| ticket.receipt.deployment());
        if known.is_some_and(|known| *known.target.model == *model) {
            return;
        }
        let target = self.target(&model);
        if let Some(ticket) = &mut self.ticket {
            ticket.receipt.concerns(&target);
        }
    }

    pub(super) fn book(&mut self, complete: bool) {
        let Some(metered) = self.meter.take().map(Meter::finish) else { return };
        self.concern(self.sent.model().or_else(|| metered.model.clone()));
        self.record_owners(&metered);
        let usage = self.usage(&metered, complete);
        self.charge_dearest(&usage, metered.model.as_deref());
        let goes_on = self.goes_on(&metered);
        let Some(ticket) = &mut self.ticket else { return };
        if let Some(id) = &metered.id {
            ticket.receipt.provider_id(id.clone());
        }
        ticket.consumed(usage, &metered.raw.unwrap_or_default());
        if goes_on && let (Some(id), Some(ticket)) = (metered.id, self.ticket.take()) {
            background::follow(ticket, id);
        }
    }

    /// Whether the answer is a response that the provider is still working on and that can be retrieved later.
    fn goes_on(&self, metered: &Metered) -> bool {
        let pending = matches!(metered.status.as_deref(), Some("queued" | "in_progress"));
        self.makes == Some(StoredObjectKind::Response)
            && self.status < 400
            && pending
            && (self.sent.is_background() || !self.events)
            // The gateway cannot ask for the response: it belongs to the client's account.
            && self.client_credential.is_none()
            && self.instance.core.vendor.paths.lifecycle.contains(&Lifecycle::Retrieve)
            && tokio::runtime::Handle::try_current().is_ok()
    }

    fn usage(&self, metered: &Metered, complete: bool) -> Usage {
        let failed = self.status >= 400;
        // Only generated text counts as output; a rerank answer repeats the documents it ranks.
        let content_bytes = if self.purpose.generates_text { metered.content_bytes } else { 0 };
        let counted = catalog::estimate_tokens_from_bytes(content_bytes);
        let mut usage = match metered.usage.clone() {
            // Only a `POST` is charged: a stored answer that is read back was charged when it was created.
            Some(mut usage) if self.purpose.creates => {
                usage.fill(|| catalog::estimate_tokens_from_bytes(self.sent.bytes()), counted);
                usage
            }
            Some(_) => Usage::default(),
            None if self.purpose.infers && !failed => {
                let input = catalog::estimate_tokens_from_bytes(self.sent.bytes());
                let tokens = Tokens { input, output: counted, ..Tokens::default() };
                Usage { tokens, estimated: true, ..Usage::default() }
            }
            None => Usage::default(),
        };
        if self.purpose.draws && !failed {
            usage.images = self.sent.answers();
        }
        let complete = complete && !metered.unfinished;
        if !complete && self.purpose.infers && !failed {
            // Usage that was reported before the end may be too low.
            usage.tokens.output += counted.saturating_sub(usage.tokens.total_output());
            usage.estimated = true;
        }
        usage
    }

    /// Charges the model that the answer names if it costs more than the requested one. If the answer names none, any
    /// model that the request names may have served, and the most expensive one is charged.
    fn charge_dearest(&mut self, usage: &Usage, answered: Option<&str>) {
        let is_priced = usage.reported_cost.is_none() && self.client_credential.is_none();
        let Some(ticket) = self.ticket.as_mut().filter(|_| is_priced) else { return };
        let cost = |deployment: &Deployment| deployment.charge(usage).map(|cost| cost.input + cost.output);
        let current = ticket.receipt.deployment().and_then(|deployment| cost(deployment));
        let requested = ticket
            .receipt
            .deployment()
            .map(|deployment| deployment.target.model.to_string())
            .unwrap_or_default();
        let mut candidates = match answered {
            Some(model) => vec![model.to_owned()],
            None => self.sent.models(),
        };
        // A dated version has the price of its base model, which the operator may have set.
        candidates.retain(|model| current.is_none() || !is_version_of(model, &requested));
        let deployments = candidates.iter().map(|model| self.instance.passthrough_deployment(model));
        let dearest = deployments
            .filter_map(|deployment| Some((cost(&deployment)?, deployment)))
            .max_by_key(|(cost, _)| *cost);
        if let Some((cost, deployment)) =
            dearest.filter(|(cost, _)| current.is_none_or(|current| *cost > current))
            && cost > Nanos::ZERO
        {
            ticket.receipt.answered_by(&deployment);
        }
    }

    /// Records the caller as owner of the objects that the call created. Objects created below an existing object get
    /// the owner of that object.
    fn record_owners(&self, metered: &Metered) {
        let Some(ticket) = self.ticket.as_ref().filter(|_| self.status < 400) else { return };
        let gateway = ticket.gateway();
        let own = ticket.context.owner();
        let kept = match self.makes {
            Some(StoredObjectKind::Completion) => {
                let keeps = !self.instance.core.vendor.paths.lifecycle.is_empty();
                self.sent.store().unwrap_or(keeps)
            }
            made => made.is_some(),
        };
        let temporary = self.makes != Some(StoredObjectKind::Object);
        if let Some(id) = metered.id.clone().filter(|_| kept) {
            ownership::record(gateway, own, self.instance(), vec![id], temporary);
        }
        let owner = self.parent.as_ref().or(self.makes.is_some().then_some(own));
        if let Some(owner) = owner.filter(|_| !metered.made.is_empty()) {
            ownership::record(gateway, owner, self.instance(), metered.made.clone(), false);
        }
    }
}

/// Whether the answered name is a dated version: `gpt-4o-2024-08-06` is a version of `gpt-4o`.
fn is_version_of(answered: &str, requested: &str) -> bool {
    let Some(rest) = answered.strip_prefix(requested) else { return false };
    rest.is_empty()
        || (rest.starts_with(['-', '@', ':'])
            && rest.chars().any(|letter| letter.is_ascii_digit())
            && rest.chars().all(|letter| letter.is_ascii_digit() || "-@:.".contains(letter)))
}

pub(super) fn is_event_stream(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("text/event-stream")
}

/// The client disconnected: charges what has passed so far. The ticket settles itself when it is dropped.
impl Drop for PassthroughMeter {
    fn drop(&mut self) {
        self.book(false);
    }
}
