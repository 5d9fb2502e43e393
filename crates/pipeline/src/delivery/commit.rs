//! Turns an upstream response into the reply to the client. Complete responses are settled before they are sent;
//! streams commit to their headers first.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use domain::call::Format;
use domain::canon::Reply as CanonReply;
use domain::fault::{self, Fault};
use domain::receipt::GuardedSubject;
use domain::usage::{Untold, Usage};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use wire::codec::{self, ClientCodec, Native, Rendering, Served};

use crate::accounting::loss::Loss;
use crate::accounting::stored_response;
use crate::accounting::ticket::Ticket;
use crate::call::arrival::Arrival;
use crate::call::cache_use::CacheUse;
use crate::call::context::CallContext;
use crate::call::response_headers::{self, Refused};
use crate::delivery::answer_recorder::{AnswerFacts, AnswerRecorder};
use crate::delivery::event_stream::EventStream;
use crate::delivery::replay;
use crate::delivery::reply::{Reply, ReplyBody};
use crate::dispatch::Answer;
use crate::gateway::Gateway;
use crate::guardrails::{AnswerFilter, InspectedReply, RecordedReply, RemoteVerdicts};
use crate::internal_call::InternalCaller;
use crate::rate_limit::Account;
use crate::remote_guardrails;
use crate::responses;
use crate::services::body_work::LARGE_BODY;
use crate::streaming::Translation;

type Outcome = (Box<Ticket>, Result<Answer, Fault>);

/// A dispatch that continues while the client is sent heartbeats.
pub type Answering = Pin<Box<dyn Future<Output = Outcome> + Send>>;

pub async fn whole(
    answering: Answering,
    recorder: Option<Box<AnswerRecorder>>,
    form: AnswerForm,
) -> Result<Reply, Refused> {
    let (ticket, outcome) = answering.await;
    match outcome {
        Ok(Answer::Native(native, bytes, answer)) => {
            Ok(pass_on(ticket, native, bytes, &answer, recorder).await)
        }
        Ok(Answer::Translated(translation, reply)) => {
            render(ticket, *translation, reply, recorder, form).await
        }
        Ok(Answer::Replayed(replayed)) => Ok(replay::reply(ticket, *replayed, recorder).await),
        Ok(Answer::Stream(_)) => Err(ticket.refuse(fault::internal_error())),
        Err(fault) => Err(ticket.refuse(fault)),
    }
}

/// The form in which a whole answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    Document,
    /// All events at once.
    Stream,
}

/// A reply that is complete before it is sent.
pub type Replying = Pin<Box<dyn Future<Output = Result<Reply, Refused>> + Send>>;

/// Sends an answer as a stream; if it is held back until it is complete, all of it at once.
pub async fn stream_or_hold(
    gateway: &Arc<Gateway>,
    arrival: &Arrival,
    early: EarlyReply,
    answering: Answering,
    recorder: Option<Box<AnswerRecorder>>,
    holds_answer: bool,
) -> Result<Reply, Refused> {
    match holds_answer {
        true => held_stream(gateway, arrival, early, answering, recorder).await,
        false => stream(gateway, arrival, early, answering, recorder).await,
    }
}

/// Sends an answer that is held back until it is complete as a stream. If that takes longer than the heartbeat interval,
/// the head is sent before it.
async fn held_stream(
    gateway: &Arc<Gateway>,
    arrival: &Arrival,
    early: EarlyReply,
    answering: Answering,
    recorder: Option<Box<AnswerRecorder>>,
) -> Result<Reply, Refused> {
    let mut replying: Replying = Box::pin(whole(answering, recorder, AnswerForm::Stream));
    // Polled by reference: after the timeout, the same future continues inside the stream.
    match tokio::time::timeout(early.heartbeat, replying.as_mut()).await {
        Ok(reply) => reply,
        Err(_) => {
            let stream = EventStream::replying(
                replying,
                arrival.surface.format(),
                early.answer.clone(),
                gateway.clone(),
                early.heartbeat,
            );
            Ok(events(early.headers(gateway, arrival), stream, None))
        }
    }
}

/// The headers and the heartbeat interval of a response that starts before a target has answered.
pub struct EarlyReply {
    heartbeat: Duration,
    account: Option<Account>,
    clamped: Option<HeaderValue>,
    cache: CacheUse,
    answer: AnswerIdentity,
}

/// The id and the time of an answer, for an error event in its place.
#[derive(Clone)]
pub struct AnswerIdentity {
    pub id: String,
    /// Unix time in seconds.
    pub created: i64,
}

impl AnswerIdentity {
    pub fn of(context: &CallContext) -> Self {
        Self { id: format!("resp_{}", context.seed()), created: context.created() }
    }
}

impl EarlyReply {
    pub fn of(ticket: &Ticket) -> Self {
        Self {
            heartbeat: ticket.context.policy().stream_heartbeat,
            account: ticket.holds.account(),
            clamped: ticket.holds.clamped(),
            cache: ticket.cache.clone(),
            answer: AnswerIdentity::of(&ticket.context),
        }
    }

    fn headers(self, gateway: &Gateway, arrival: &Arrival) -> HeaderMap {
        let mut headers = HeaderMap::from_iter([(response_headers::REQUEST_ID, arrival.request_id.header())]);
        let limits = self.account.and_then(|account| account.rate_limit_headers(gateway.clock.tick()));
        if let Some(limits) = limits {
            limits.write(&mut headers);
        }
        headers.extend(self.clamped.map(|clamped| (response_headers::CLAMPED, clamped)));
        self.cache.write(&mut headers);
        headers
    }
}

/// Waits for content up to the heartbeat interval. Then the headers are sent alone, and everything that follows, errors
/// included, goes into the stream.
async fn stream(
    gateway: &Arc<Gateway>,
    arrival: &Arrival,
    early: EarlyReply,
    mut answering: Answering,
    recorder: Option<Box<AnswerRecorder>>,
) -> Result<Reply, Refused> {
    // Polled by reference: after the timeout, the same dispatch continues inside the stream.
    match tokio::time::timeout(early.heartbeat, answering.as_mut()).await {
        Ok((mut ticket, Ok(Answer::Stream(flow)))) => {
            let overhead_us = ticket.first_byte();
            let headers = ticket.headers(overhead_us);
            ticket.audit.heads(&headers);
            Ok(events(headers, EventStream::flowing(*flow, ticket), recorder))
        }
        Ok((ticket, Ok(Answer::Replayed(replayed)))) => Ok(replay::reply(ticket, *replayed, recorder).await),
        Ok((ticket, Ok(_))) => Err(ticket.refuse(fault::internal_error())),
        Ok((ticket, Err(fault))) => Err(ticket.refuse(fault)),
        Err(_) => {
            let format = arrival.surface.format();
            let stream = EventStream::waiting(answering, format, gateway.clone(), early.heartbeat);
            Ok(events(early.headers(gateway, arrival), stream, recorder))
        }
    }
}

fn events(mut headers: HeaderMap, mut stream: EventStream, recorder: Option<Box<AnswerRecorder>>) -> Reply {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let status = StatusCode::OK;
    if let Some(mut recorder) = recorder {
        recorder.start(status, &headers);
        stream.record(recorder);
    }
    Reply { status, headers, body: ReplyBody::Stream(Box::new(stream)) }
}

/// Passes on the provider's bytes, with the gateway's members spliced in.
async fn pass_on(
    mut ticket: Box<Ticket>,
    native: &'static dyn Native,
    bytes: Bytes,
    answer: &codec::Answer,
    recorder: Option<Box<AnswerRecorder>>,
) -> Reply {
    let overhead_us = ticket.first_byte();
    if let Some(id) = &answer.id {
        ticket.receipt.provider_id(id.clone());
    }
    let raw = answer.usage.clone().map(|range| &bytes[range]).unwrap_or_default();
    let usage = native.read_usage(raw, None);
    ticket.receipt.produced(answer.content_bytes as u64);
    let latency_ms = ticket.context.elapsed().as_millis() as u64;
    let deployment = ticket.receipt.deployment().cloned();
    let (provider, model) = deployment
        .as_ref()
        .map(|deployment| (&*deployment.target.instance, &*deployment.target.model))
        .unwrap_or_default();
    let requested_model =
        ticket.receipt.receipt().map(|receipt| &*receipt.requested_model).unwrap_or_default();
    let served = Served { provider, model, requested_model, latency_ms };
    let pieces = native.splice_answer(&bytes, answer, &served);
    if responses::background::is_to_be_followed(&ticket, &bytes, &answer.object) {
        let reply = whole_reply(ticket.headers(overhead_us), pieces.clone(), AnswerForm::Document);
        take_down(&mut ticket, &reply.headers, &pieces);
        stored_response::keep_whole(&mut ticket, &pieces).await;
        record(recorder, &reply, &ticket);
        responses::background::follow(ticket, answer.id.clone().unwrap_or_default());
        return reply;
    }
    let whole = WholeAnswer { pieces, recorded: None, form: AnswerForm::Document };
    finish(ticket, overhead_us, usage.map(|usage| (usage, raw)), whole, recorder).await
}

async fn render(
    mut ticket: Box<Ticket>,
    mut translation: Translation,
    mut answer: Box<CanonReply>,
    recorder: Option<Box<AnswerRecorder>>,
    form: AnswerForm,
) -> Result<Reply, Refused> {
    let overhead_us = ticket.first_byte();
    if let Some(id) = &answer.id {
        ticket.receipt.provider_id(id.clone());
    }
    let length: u64 = answer.parts.iter().map(|part| part.content.byte_count()).sum();
    ticket.receipt.produced(length);
    let mut recorded = RecordedReply::AsSent;
    if let Some(filter) = translation.filter.take() {
        (ticket, answer, recorded) = inspect_answer(ticket, filter, answer, length).await?;
    }
    if translation.client_format == Format::Chat {
        ticket.gateway().reasoning_states.remember(ticket.context.owner(), &answer);
    }
    let (client, mut rendering) = (translation.client, translation.rendering);
    rendering.latency_ms = ticket.context.elapsed().as_millis() as u64;
    let (usage, raw) = (answer.usage.clone(), answer.raw_usage.clone());
    // The client may disconnect while a large response is rendered: it is billed all the same.
    if let Some(usage) = usage.clone().filter(|_| length >= LARGE_BODY as u64) {
        ticket.consumed(usage, &raw);
    }
    let rendered = ticket.gateway().with_bytes(length as usize, move || {
        let recorded = match recorded {
            RecordedReply::AsSent | RecordedReply::Omitted => None,
            RecordedReply::Changed(answer) => {
                Some(render_in(form, client, *answer, rendering.without_request()))
            }
        };
        (render_in(form, client, *answer, rendering), recorded)
    });
    match rendered.await {
        Ok((body, recorded)) => {
            let usage = usage.map(|usage| (usage, &raw[..]));
            let whole = WholeAnswer { pieces: vec![body], recorded, form };
            Ok(finish(ticket, overhead_us, usage, whole, recorder).await)
        }
        Err(fault) => Err(ticket.refuse(fault)),
    }
}

/// Passes a whole answer through its guardrails. An answer that they refuse has to be paid for all the same.
async fn inspect_answer(
    mut ticket: Box<Ticket>,
    filter: Box<AnswerFilter>,
    answer: Box<CanonReply>,
    length: u64,
) -> Result<(Box<Ticket>, Box<CanonReply>, RecordedReply), Refused> {
    // Before anything can fail, and before the client can disconnect.
    let is_metered = answer.usage.is_some();
    if let Some(usage) = answer.usage.clone() {
        ticket.consumed(usage, &answer.raw_usage);
    }
    let fault = match inspect_reply(&mut ticket, filter, answer, length).await {
        Ok((reply, recorded)) => return Ok((ticket, reply, recorded)),
        Err(fault) => fault,
    };
    if let Some(deployment) = ticket.receipt.deployment().cloned().filter(|_| !is_metered) {
        ticket.receipt.lose(&deployment, Loss { usage: None, content_bytes: length });
    }
    Err(ticket.refuse(fault))
}

/// Passes a whole answer through its guardrails, and records their verdicts. Returns it as it is sent and recorded.
pub(crate) async fn inspect_reply(
    ticket: &mut Ticket,
    filter: Box<AnswerFilter>,
    answer: Box<CanonReply>,
    length: u64,
) -> Result<(Box<CanonReply>, RecordedReply), Fault> {
    let has_remote = ticket.context.guardrails().is_some_and(|guardrails| guardrails.has_remote_on_answers());
    let inspected = match has_remote {
        true => inspect_with_remote(ticket, filter, answer, length as usize).await,
        false => ticket.gateway().with_bytes(length as usize, move || filter.inspect_reply(answer)).await,
    };
    let InspectedReply { reply, recorded, verdicts, outcome } = inspected?;
    ticket.record_verdicts(verdicts);
    if let RecordedReply::Omitted = recorded {
        ticket.audit.omit_answer();
    }
    outcome.map(|()| (reply, recorded))
}

/// Passes a whole answer through its guardrails step by step, because some of them are remote.
async fn inspect_with_remote(
    ticket: &mut Ticket,
    mut filter: Box<AnswerFilter>,
    mut reply: Box<CanonReply>,
    size: usize,
) -> Result<InspectedReply, Fault> {
    let gateway = ticket.gateway().clone();
    let steps = ticket.context.guardrails().map(|guardrails| guardrails.answer.clone()).unwrap_or_default();
    let begun = ticket.context.now();
    let mut outcome = Ok(());
    for (index, step) in steps.iter().enumerate() {
        let mut verdicts = RemoteVerdicts::default();
        if remote_guardrails::has_remote(step) {
            let texts = filter.texts(&mut reply);
            let (subject, caller) = (GuardedSubject::Answer, InternalCaller::of(ticket));
            verdicts = remote_guardrails::ask_step(step, subject, &caller, &texts).await;
        }
        let work = move || {
            let outcome = filter.inspect_step(index, verdicts, &mut reply);
            (filter, reply, outcome)
        };
        (filter, reply, outcome) = gateway.with_bytes(size, work).await?;
        if outcome.is_err() {
            break;
        }
    }
    ticket.receipt.waited(ticket.context.now().saturating_sub(begun));
    ticket.first_byte();
    gateway.with_bytes(size, move || filter.finish_reply(reply, outcome)).await
}

/// The bytes of a whole answer.
struct WholeAnswer {
    pieces: Vec<Bytes>,
    /// The bytes for the audit log, if they differ.
    recorded: Option<Bytes>,
    form: AnswerForm,
}

/// Renders a whole answer.
pub fn render_in(
    form: AnswerForm,
    client: &dyn ClientCodec,
    reply: CanonReply,
    mut rendering: Rendering,
) -> Bytes {
    if form == AnswerForm::Document {
        return client.render(&reply, &mut rendering);
    }
    let mut renderer = client.renderer(rendering);
    let mut out = BytesMut::new();
    reply.into_events().iter().for_each(|event| renderer.write(event, &mut out));
    out.freeze()
}

async fn finish(
    mut ticket: Box<Ticket>,
    overhead_us: u64,
    usage: Option<(Usage, &[u8])>,
    WholeAnswer { pieces, recorded, form }: WholeAnswer,
    recorder: Option<Box<AnswerRecorder>>,
) -> Reply {
    let mut cost = None;
    if let Some((usage, raw)) = usage {
        let whole = usage.untold == Untold::default();
        cost = ticket
            .receipt
            .deployment()
            .filter(|_| whole)
            .and_then(|deployment| deployment.cost_header(&usage));
        ticket.consumed(usage, raw);
    }
    let mut headers = ticket.headers(overhead_us);
    if let Some(cost) = cost {
        headers.insert(response_headers::COST, cost);
    }
    match form {
        AnswerForm::Document => stored_response::keep_whole(&mut ticket, &pieces).await,
        AnswerForm::Stream => {
            let end = pieces.first().and_then(replay::final_event);
            stored_response::keep_stream(&mut ticket, None, false, end);
        }
    }
    match recorded {
        Some(recorded) => take_down(&mut ticket, &headers, &[recorded]),
        None => take_down(&mut ticket, &headers, &pieces),
    }
    let reply = whole_reply(headers, pieces, form);
    record(recorder, &reply, &ticket);
    if let Some(counted) = ticket.complete() {
        let _ = counted.await;
    }
    reply
}

/// Records the reply for repeated calls. The response will be billed, whether or not the client waits for that.
fn record(recorder: Option<Box<AnswerRecorder>>, reply: &Reply, ticket: &Ticket) {
    if let Some(recorder) = recorder {
        recorder.record_whole(reply, &AnswerFacts::of(ticket));
    }
}

/// Records the reply for the audit log.
pub fn take_down(ticket: &mut Ticket, headers: &HeaderMap, pieces: &[Bytes]) {
    if ticket.audit.is_on() {
        ticket.audit.heads(headers);
        pieces.iter().for_each(|piece| ticket.audit.record_response(piece));
    }
}

fn whole_reply(mut headers: HeaderMap, pieces: Vec<Bytes>, form: AnswerForm) -> Reply {
    match form {
        AnswerForm::Document => {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        AnswerForm::Stream => {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        }
    }
    Reply { status: StatusCode::OK, headers, body: ReplyBody::whole(pieces) }
}
