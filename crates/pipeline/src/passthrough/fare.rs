//! What a passing call costs: read from the answer as it goes by, booked once, however the call ends.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::fault::{self, Fault};
use domain::money::Nanos;
use domain::receipt::Attempt;
use domain::usage::{Tokens, Usage};
use http::HeaderMap;
use serde_json::Value;
use wire::meter::Meter;

use super::endpoint::Purpose;
use super::told;
use super::upload::Sent;
use crate::reply::Refused;
use crate::reserve::{self, ASSUMED_OUTPUT, ASSUMED_WINDOW, Reservation};
use crate::settle::Ticket;
use crate::snapshot::routes::{Instance, Lane, Routes};

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
    /// Sounds, pictures and what is packed.
    opaque: bool,
}

/// What the call is charged after a crash.
pub(super) fn reservation(lane: &Lane, sent: &Sent, purpose: Purpose) -> Reservation {
    if purpose.draws {
        let usage = Usage { images: sent.answers(), estimated: true, ..Usage::default() };
        return Reservation { cost: lane.charge(&usage), usage, ..Reservation::default() };
    }
    if !purpose.infers {
        return Reservation::default();
    }
    let input = catalog::estimate_tokens_from_bytes(sent.bytes());
    let tokens = Tokens { input, output: ASSUMED_OUTPUT, ..Tokens::default() };
    let cost = lane.price().map(|price| catalog::cost(price, &tokens));
    Reservation { usage: Usage { tokens, estimated: true, ..Usage::default() }, cost, bound: None }
}

/// What the call can cost at most; none for what has no price. Its own bound on the output may be under a name that is not
/// known here, so it is the model's. A call that does not say which model it is for may be for the dearest.
pub(super) fn worst(instance: &Instance, lane: &Lane, said: &Said, purpose: Purpose) -> Option<Nanos> {
    if !lane.target.model.is_empty() {
        return most(lane, said, purpose);
    }
    instance.lanes.values().filter_map(|lane| most(lane, said, purpose)).max()
}

fn most(lane: &Lane, said: &Said, purpose: Purpose) -> Option<Nanos> {
    let price = lane.price()?;
    let facts = lane.facts.as_ref();
    let known = facts.and_then(|facts| facts.max_output_tokens);
    let output = known.unwrap_or(said.output.max(ASSUMED_OUTPUT)).saturating_mul(said.choices);
    let input = match &said.body {
        Some(body) => reserve::most_input(lane, body, said.refers),
        None => facts.and_then(|facts| facts.context_window).unwrap_or(ASSUMED_WINDOW),
    };
    let images = if purpose.draws { said.choices } else { 0 };
    let pictures =
        Nanos(price.per_image.unwrap_or(0).saturating_mul(i64::try_from(images).unwrap_or(i64::MAX)));
    Some(catalog::bound(price, input, output) + pictures)
}

/// What a passing call says of its size.
pub(super) struct Said {
    /// Where all of it could be read.
    body: Option<Vec<u8>>,
    refers: bool,
    output: u64,
    choices: u64,
}

impl Said {
    /// A body that could not be read may name, keep and multiply what it likes; `most` is how many answers it can ask for.
    pub(super) fn of(body: Option<Vec<u8>>, most: u64) -> Self {
        let unread = Self { body: None, refers: true, output: 0, choices: most };
        let Some(body) = body else { return unread };
        if body.is_empty() {
            return Self { body: Some(body), refers: false, output: 0, choices: 1 };
        }
        let Ok(value) = serde_json::from_slice::<Value>(&body) else { return unread };
        let configs = ["generationConfig", "generation_config"].map(|name| &value[name]);
        let places = || configs.into_iter().chain([&value]);
        let largest = |names: &[&str]| {
            let found = places().flat_map(|place| names.iter().map(|name| &place[*name]));
            found.filter_map(Value::as_u64).max()
        };
        let answers = largest(&["n", "best_of", "num_generations", "candidateCount", "candidate_count"]);
        let several = |prompt: &&Value| prompt.is_string() || prompt.is_array();
        let prompts = value["prompt"].as_array().map_or(1, |list| list.iter().filter(several).count());
        let output =
            largest(&["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"]);
        let kept = reserve::KEPT_ELSEWHERE.iter().any(|name| !value[*name].is_null());
        Self {
            refers: kept || value["prompt"].is_object(),
            output: output.unwrap_or(0),
            choices: answers.unwrap_or(1).max(1).saturating_mul(prompts.max(1) as u64),
            body: Some(body),
        }
    }
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
            opaque: true,
        }
    }

    pub(super) fn instance(&self) -> &str {
        self.instance.name()
    }

    /// As they were when the call left.
    pub(super) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// A text may repeat what the provider was sent, our credential included.
    pub(super) fn clean(&self, data: Bytes) -> Bytes {
        if self.opaque { data } else { self.routes.scrubber.mask(data) }
    }

    pub(super) fn attempted(&mut self, before: Duration, attempt: Attempt) {
        if let Some(ticket) = &mut self.ticket {
            let duration = ticket.now().saturating_sub(before);
            ticket.waited(duration);
            if let Some(lane) = ticket.lane().cloned() {
                let duration_us = duration.as_micros() as u64;
                ticket.attempted(&lane, Attempt { duration_us, ..attempt });
            }
        }
    }

    /// The head is there; what follows is metered in this media type.
    pub(super) fn answered(&mut self, status: u16, content_type: &str) {
        self.status = status;
        self.events = is_event_stream(content_type);
        self.opaque = status < 400 && !is_text(content_type);
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
        if let Some(meter) = &mut self.meter {
            meter.feed(data);
        }
    }

    /// Nothing was sent yet: the fault is the answer.
    pub(super) fn refuse(mut self, fault: Fault) -> Refused {
        self.meter = None;
        match self.ticket.take() {
            Some(ticket) => ticket.refuse(fault),
            None => Refused { fault, headers: HeaderMap::new() },
        }
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
        self.concern(self.sent.model().or(metered.model));
        let failed = self.status >= 400;
        // What is put in order comes back with the answer, and is no output.
        let said = if self.purpose.speaks { metered.content_bytes } else { 0 };
        let counted = catalog::estimate_tokens_from_bytes(said);
        let mut usage = match metered.usage {
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
        if let Some(ticket) = &mut self.ticket {
            if let Some(id) = metered.id {
                ticket.provider_id(id);
            }
            ticket.consumed(usage, &metered.raw.unwrap_or_default());
        }
    }
}

fn is_text(content_type: &str) -> bool {
    content_type.starts_with("text/") || content_type.contains("json")
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
