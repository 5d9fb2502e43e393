//! What a passing call costs: read from the answer as it goes by, booked once, however the call ends.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::fault::{self, Fault};
use domain::money::Nanos;
use domain::receipt::Attempt;
use domain::usage::{Tokens, Usage};
use egress::{EgressError, InboundBody};
use http::HeaderMap;
use http_body::Frame;
use http_body_util::BodyExt as _;
use store::Owner;
use wire::meter::{Meter, Metered};
use wire::vendors::Lifecycle;

use super::endpoint::{Made, Purpose};
use super::told;
use super::upload::Sent;
use crate::audit::Masker;
use crate::content_encoding::Decoder;
use crate::ownership;
use crate::reply::Refused;
use crate::responses::background;
use crate::settle::Ticket;
use crate::snapshot::routes::{Instance, Lane, Routes};
use crate::stream::{READ_ON_BYTES, READ_ON_TIME};

pub(super) struct Fare {
    /// Taken when the call is refused.
    ticket: Option<Box<Ticket>>,
    /// Taken when its reading is booked.
    meter: Option<Meter>,
    routes: Arc<Routes>,
    instance: Arc<Instance>,
    /// The model in the path.
    model: Option<String>,
    sent: Arc<Sent>,
    purpose: Purpose,
    status: u16,
    events: bool,
    /// The owner of the object that the path names.
    parent: Option<Owner>,
    makes: Option<Made>,
    masker: Masker,
}

impl Fare {
    pub(super) fn new(
        ticket: Box<Ticket>,
        instance: Arc<Instance>,
        model: Option<String>,
        sent: Arc<Sent>,
        purpose: Purpose,
    ) -> Self {
        let meter = Some(Meter::new(""));
        let routes = ticket.gateway().snapshot().routes.clone();
        let masker = routes.scrubber.masker();
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
        }
    }

    /// Sets the owner of the objects that the answer names, and the kind of object that the call makes.
    pub(super) fn owned_by(&mut self, parent: Option<Owner>, makes: Option<Made>) {
        self.parent = parent;
        self.makes = makes;
    }

    pub(super) fn instance(&self) -> &str {
        self.instance.name()
    }

    /// As they were when the call left.
    pub(super) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Masks secrets in a part of the answer: providers may repeat what they were sent, our credential included. The
    /// possible start of a secret is held back until the next part.
    pub(super) fn clean(&mut self, data: Bytes, last: bool) -> Bytes {
        self.masker.mask(data, last)
    }

    /// Bytes that are held back.
    pub(super) fn held_back(&self) -> usize {
        self.masker.held()
    }

    pub(super) fn attempted(&mut self, before: Duration, attempt: Attempt, span_id: Option<String>) {
        if let Some(ticket) = &mut self.ticket {
            let duration = ticket.now().saturating_sub(before);
            ticket.waited(duration);
            if let Some(lane) = ticket.lane().cloned() {
                let duration_us = duration.as_micros() as u64;
                ticket.attempted(&lane, Attempt { duration_us, ..attempt }, span_id);
            }
        }
    }

    /// The head is there; what follows is metered in this media type.
    pub(super) fn answered(&mut self, status: u16, content_type: &str) {
        self.status = status;
        self.events = is_event_stream(content_type);
        self.meter = Some(Meter::new(content_type));
        self.concern(self.sent.model());
    }

    pub(super) fn headers(&mut self) -> HeaderMap {
        self.ticket.as_deref_mut().map(told).unwrap_or_default()
    }

    /// How long the provider may be silent in the middle of its answer.
    pub(super) fn idle_limit(&self, content_type: &str) -> Duration {
        let Some(ticket) = &self.ticket else { return Duration::ZERO };
        let policy = &ticket.gateway().policy;
        if is_event_stream(content_type) { policy.stream_idle_timeout } else { policy.request_timeout }
    }

    /// The head that goes out, for the audit log.
    pub(super) fn heads(&mut self, headers: &HeaderMap) {
        if let Some(ticket) = &mut self.ticket {
            ticket.heads(headers);
        }
    }

    pub(super) fn feed(&mut self, data: &[u8]) {
        if let Some(ticket) = &self.ticket {
            ticket.said(data);
        }
        self.measure(data);
    }

    /// Nothing was sent yet: the fault is the answer.
    pub(super) fn refuse(mut self, fault: Fault) -> Refused {
        self.meter = None;
        match self.ticket.take() {
            Some(ticket) => ticket.refuse(fault),
            None => Refused { fault, headers: HeaderMap::new() },
        }
    }

    /// The provider has answered, and the answer cannot be passed on: what it consumed is estimated.
    pub(super) fn refuse_unread(mut self, fault: Fault) -> Refused {
        self.book(false);
        self.refuse(fault)
    }

    /// The answer has passed to its end.
    pub(super) fn complete(&mut self) {
        self.book(true);
        if let Some(mut ticket) = self.ticket.take() {
            ticket.passed(self.status, self.events);
        }
    }

    /// The answer broke off on its way.
    pub(super) fn break_off(&mut self, fault: &Fault) {
        self.book(false);
        if let Some(mut ticket) = self.ticket.take() {
            ticket.break_off(fault);
        }
    }

    /// The content of an answer is complete, and only usage may follow.
    pub(super) fn is_answered(&self) -> bool {
        self.purpose.infers && self.status < 400 && self.meter.as_ref().is_some_and(Meter::is_answered)
    }

    /// Moves the account out; what is left behind books nothing.
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
        }
    }

    /// Reads the rest of an answer whose client left, for its usage alone.
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

    fn measure(&mut self, data: &[u8]) {
        if let Some(meter) = &mut self.meter {
            meter.feed(data);
        }
    }

    pub(super) fn interrupted(&self) -> Fault {
        fault::upstream_interrupted(self.instance())
    }

    fn concern(&mut self, model: Option<String>) {
        let model = self.model.clone().or(model);
        if let (Some(ticket), Some(model)) = (&mut self.ticket, model)
            && ticket.lane().is_none_or(|lane| *lane.target.model != *model)
        {
            ticket.concerns(&self.instance.passing_lane(&model));
        }
    }

    fn book(&mut self, complete: bool) {
        let Some(metered) = self.meter.take().map(Meter::finish) else { return };
        self.concern(self.sent.model().or_else(|| metered.model.clone()));
        self.record_owners(&metered);
        let usage = self.usage(&metered, complete);
        self.charge_dearest(&usage, metered.model.as_deref());
        let goes_on = self.goes_on(&metered);
        let Some(ticket) = &mut self.ticket else { return };
        if let Some(id) = &metered.id {
            ticket.provider_id(id.clone());
        }
        ticket.consumed(usage, &metered.raw.unwrap_or_default());
        if goes_on && let (Some(id), Some(ticket)) = (metered.id, self.ticket.take()) {
            background::follow(ticket, id);
        }
    }

    /// The answer is a response that its provider still works on, and can be asked about.
    fn goes_on(&self, metered: &Metered) -> bool {
        let pending = matches!(metered.status.as_deref(), Some("queued" | "in_progress"));
        self.makes == Some(Made::Response)
            && self.status < 400
            && pending
            && (self.sent.is_background() || !self.events)
            && self.instance.core.vendor.paths.lifecycle.contains(&Lifecycle::Retrieve)
            && tokio::runtime::Handle::try_current().is_ok()
    }

    fn usage(&self, metered: &Metered, complete: bool) -> Usage {
        let failed = self.status >= 400;
        // What is put in order comes back with the answer, and is no output.
        let said = if self.purpose.speaks { metered.content_bytes } else { 0 };
        let counted = catalog::estimate_tokens_from_bytes(said);
        let mut usage = match metered.usage.clone() {
            // What is read back was paid for when it was made.
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
            // What a provider says in the middle is not the last word.
            usage.tokens.output += counted.saturating_sub(usage.tokens.total_output());
            usage.estimated = true;
        }
        usage
    }

    /// Charges the model that the answer names when it costs more than the one that was asked for. Where the answer names
    /// none, every model that the call named may have served.
    fn charge_dearest(&mut self, usage: &Usage, answered: Option<&str>) {
        let Some(ticket) = self.ticket.as_mut().filter(|_| usage.reported_cost.is_none()) else { return };
        let cost = |lane: &Lane| lane.charge(usage).map(|cost| cost.input + cost.output);
        let current = ticket.lane().and_then(|lane| cost(lane));
        let requested = ticket.lane().map(|lane| lane.target.model.to_string()).unwrap_or_default();
        let mut candidates = match answered {
            Some(model) => vec![model.to_owned()],
            None => self.sent.models(),
        };
        // A dated name of the same model has the same price, which the operator may have set.
        candidates.retain(|model| current.is_none() || !is_version_of(model, &requested));
        let lanes = candidates.iter().map(|model| self.instance.passing_lane(model));
        let dearest = lanes.filter_map(|lane| Some((cost(&lane)?, lane))).max_by_key(|(cost, _)| *cost);
        if let Some((cost, lane)) = dearest.filter(|(cost, _)| current.is_none_or(|current| *cost > current))
            && cost > Nanos::ZERO
        {
            ticket.answered_by(&lane);
        }
    }

    /// Records the caller as owner of the objects that the call made; those that follow from an existing object get its
    /// owner.
    fn record_owners(&self, metered: &Metered) {
        let Some(ticket) = self.ticket.as_ref().filter(|_| self.status < 400) else { return };
        let gateway = ticket.gateway();
        let own = ticket.owner();
        let kept = match self.makes {
            Some(Made::Completion) => {
                let keeps = !self.instance.core.vendor.paths.lifecycle.is_empty();
                self.sent.store().unwrap_or(keeps)
            }
            made => made.is_some(),
        };
        let temporary = self.makes != Some(Made::Object);
        if let Some(id) = metered.id.clone().filter(|_| kept) {
            ownership::record(gateway, &own, self.instance(), vec![id], temporary);
        }
        let owner = self.parent.as_ref().or(self.makes.is_some().then_some(&own));
        if let Some(owner) = owner.filter(|_| !metered.made.is_empty()) {
            ownership::record(gateway, owner, self.instance(), metered.made.clone(), false);
        }
    }
}

/// `gpt-4o-2024-08-06` is a version of `gpt-4o`.
fn is_version_of(answered: &str, requested: &str) -> bool {
    let Some(rest) = answered.strip_prefix(requested) else { return false };
    rest.is_empty()
        || (rest.starts_with(['-', '@', ':'])
            && rest.chars().any(|letter| letter.is_ascii_digit())
            && rest.chars().all(|letter| letter.is_ascii_digit() || "-@:.".contains(letter)))
}

fn is_event_stream(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("text/event-stream")
}

/// The client went away: what passed until now is what was consumed, and the ticket closes itself.
impl Drop for Fare {
    fn drop(&mut self) {
        self.book(false);
    }
}
