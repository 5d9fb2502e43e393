//! Guardrails on passthrough calls: bodies of known shapes are read whole, inspected and edited; answers pass the same
//! filter as those of other calls.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::canon::Reply;
use domain::fault::{self, Fault};
use egress::InboundBody;
use tokio::time::timeout;
use wire::sse::Splitter;

use super::admit;
use super::endpoint::Endpoint;
use super::meter::PassthroughMeter;
use super::upload::Upload;
use crate::accounting::ticket::Ticket;
use crate::call::arrival::Arrival;
use crate::call::receive;
use crate::delivery::commit::{self, AnswerForm};
use crate::dispatch;
use crate::guardrails::{CallGuardrails, RecordedReply};
use crate::inspect::inspect_call;
use crate::routing::routes::Deployment;
use crate::services::content_encoding::{self, Coding};
use crate::streaming::{Translated, Translation, read_stream};

/// The inspection of an answer, prepared from its request.
pub(super) struct InspectedAnswer {
    translation: Box<Translation>,
    /// Whether a guardrail decides about the whole answer, so that nothing of it is sent before.
    pub(super) is_held: bool,
}

/// Reads the whole body of a request that guardrails may apply to. `None` if it is not JSON.
pub(super) async fn read_body(
    endpoint: &Endpoint,
    upload: &mut Upload,
    ticket: &Ticket,
) -> Result<Option<Bytes>, Fault> {
    let is_read = match endpoint.surface {
        Some(_) => upload.may_be_json(),
        None => upload.is_json(),
    };
    if !is_read {
        return Ok(None);
    }
    let gateway = ticket.gateway();
    let lease = gateway.body_work.lease(gateway.policy.body_memory_limit);
    upload.collect(gateway.policy.body_limit, lease).await.map(Some)
}

/// Inspects the request of a call, and replaces its `body` if that changes. Returns the inspection of its answer, if it
/// has one. A body of another shape is passed on or refused by `on_unreadable`.
pub(super) async fn inspect_request(
    arrival: &Arrival,
    (endpoint, deployment): (&Endpoint, &Deployment),
    guardrails: &Arc<CallGuardrails>,
    body: Option<Bytes>,
    upload: &mut Upload,
    ticket: &mut Ticket,
) -> Result<Option<Box<InspectedAnswer>>, Fault> {
    let Some((surface, body)) = endpoint.surface.zip(body) else {
        admit::refuse_uninspected(guardrails)?;
        return Ok(None);
    };
    let gateway = ticket.gateway().clone();
    let addressed = endpoint.model.clone().filter(|_| surface == Surface::Converse(Format::Gemini));
    let addressed = addressed.map(|model| (model, Some(endpoint.streams)));
    let query = arrival.query.as_deref();
    let arrival = Arrival { surface, addressed, query: None, ..arrival.clone() };
    let call = receive::parse(body, &arrival, &gateway).await?;
    ticket.receipt.requested(&call);
    ticket.set_guardrails(Some(guardrails.clone()));
    let before = call.request.body.clone();
    let call = inspect_call(&gateway, &arrival, call, guardrails, ticket).await?;
    if call.request.body != before {
        upload.replace(call.request.body.clone());
    }
    let Surface::Converse(format) = call.surface else { return Ok(None) };
    if !ticket.context.filters_answer() || !call.has_inspectable_answer() {
        return Ok(None);
    }
    refuse_array_stream(endpoint, query)?;
    let translation = dispatch::same_format_answer(&call, deployment, &ticket.context, format);
    Ok(Some(Box::new(InspectedAnswer { translation: Box::new(translation), is_held: call.holds_answer })))
}

/// Refuses a stream that is sent as an array of documents, which cannot be inspected while it passes.
fn refuse_array_stream(endpoint: &Endpoint, query: Option<&str>) -> Result<(), Fault> {
    let asks_for_events = || query.is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse"));
    match endpoint.streams && !asks_for_events() {
        true => {
            let message = "Guardrails inspect this answer, and streams only as server-sent events: add 'alt=sse' to the query.";
            Err(fault::invalid_parameter("alt", message))
        }
        false => Ok(()),
    }
}

impl InspectedAnswer {
    /// Inspects the events of a stream as they pass.
    pub(super) fn into_stream_filter(self, event_limit: usize) -> Box<StreamFilter> {
        let translated = Translated::new(*self.translation);
        Box::new(StreamFilter { splitter: Splitter::new(event_limit), translated })
    }

    /// Reads an answer to its end and inspects it. Returns its new bytes.
    pub(super) async fn read(
        self,
        meter: &mut PassthroughMeter,
        body: InboundBody,
        coding: Option<Coding>,
        limits: (usize, Duration),
        form: AnswerForm,
    ) -> Result<Bytes, Fault> {
        let (size, time) = limits;
        let bytes = match timeout(time, body.collect(size)).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(_)) => return Err(meter.interrupted()),
            Err(_) => return Err(fault::upstream_timeout(meter.instance(), time)),
        };
        let unreadable = |meter: &PassthroughMeter, reason: &str| {
            fault::upstream_invalid_response(meter.instance(), reason)
        };
        let decoded = content_encoding::decode_whole(coding, bytes, size);
        let bytes = decoded.map_err(|error| unreadable(meter, error.reason()))?;
        let bytes = meter.clean(bytes, true);
        meter.measure(&bytes);
        // Before anything can fail: an answer that is refused has to be paid for all the same.
        meter.book(true);
        let Some(gateway) = meter.ticket().map(|ticket| ticket.gateway().clone()) else {
            return Err(fault::internal_error());
        };
        let (length, mut translation) = (bytes.len(), self.translation);
        let decode = move || {
            let reply = decode(&translation, bytes, form);
            let filter = translation.filter.take();
            (reply, filter, translation)
        };
        let (reply, filter, translation) = gateway.with_bytes(length, decode).await?;
        let reply = reply.map_err(|_| unreadable(meter, "the body is not a valid response of this API"))?;
        let (Some(ticket), Some(filter)) = (meter.ticket(), filter) else {
            return Err(fault::internal_error());
        };
        let (reply, recorded) = commit::inspect_reply(ticket, filter, Box::new(reply), length as u64).await?;
        let (client, rendering) = (translation.client, translation.rendering);
        if let RecordedReply::Changed(answer) = recorded {
            let record = commit::render_in(form, client, *answer, rendering.without_request());
            ticket.audit.record_response(&record);
            return Ok(commit::render_in(form, client, *reply, rendering));
        }
        let bytes = commit::render_in(form, client, *reply, rendering);
        ticket.audit.record_response(&bytes);
        Ok(bytes)
    }
}

fn decode(translation: &Translation, bytes: Bytes, form: AnswerForm) -> Result<Reply, Fault> {
    let mut decoding = translation.decoding.clone();
    match form {
        AnswerForm::Document => translation.upstream.decode(&bytes, &mut decoding),
        AnswerForm::Stream => read_stream(bytes, translation.upstream, decoding),
    }
}

/// Inspects a stream while it passes.
pub(super) struct StreamFilter {
    splitter: Splitter,
    translated: Translated,
}

impl StreamFilter {
    /// Inspects bytes of the stream. Returns those for the client, and the fault that ends the stream.
    pub(super) fn push(
        &mut self,
        data: Bytes,
        last: bool,
        meter: &mut PassthroughMeter,
    ) -> (Bytes, Option<Fault>) {
        let outcome = self.inspect(data, last, meter);
        let mut sent = self.translated.take().unwrap_or_default();
        let mut record = self.record_of(&sent);
        if let Err(fault) = &outcome {
            let end = self.translated.fail(fault);
            record =
                [&record[..], &self.translated.recorded_fault(fault).unwrap_or(end.clone())].concat().into();
            sent = [&sent[..], &end[..]].concat().into();
        }
        meter.record(&record);
        if last || outcome.is_err() {
            meter.record_verdicts(self.translated.verdicts());
        }
        (sent, outcome.err())
    }

    /// Records the verdicts on a stream that the client does not read to its end.
    pub(super) fn give_up(&self, meter: &mut PassthroughMeter) {
        meter.record_verdicts(self.translated.verdicts());
    }

    fn record_of(&mut self, sent: &Bytes) -> Bytes {
        match self.translated.has_own_record() {
            true => self.translated.take_record().unwrap_or_default(),
            false => sent.clone(),
        }
    }

    fn inspect(&mut self, data: Bytes, last: bool, meter: &PassthroughMeter) -> Result<(), Fault> {
        self.splitter.push(data);
        let too_long =
            |_| fault::upstream_invalid_response(meter.instance(), "an event of its stream is too long");
        while let Some(event) = self.splitter.next().map_err(too_long)? {
            self.decode(&event)?;
        }
        if last {
            if let Some(event) = self.splitter.finish() {
                self.decode(&event)?;
            }
            if !self.translated.has_ended() {
                self.translated.close()?;
            }
        }
        Ok(())
    }

    fn decode(&mut self, event: &wire::sse::Event) -> Result<(), Fault> {
        match event.is_comment_only() || self.translated.has_ended() {
            true => Ok(()),
            false => self.translated.decode_event(event),
        }
    }
}
