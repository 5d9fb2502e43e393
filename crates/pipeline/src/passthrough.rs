//! Passthrough: a provider's own API under the gateway's keys. One attempt, both bodies streamed, one receipt.

mod admit;
mod download;
mod endpoint;
mod error_response;
mod guarded;
mod headers;
mod meter;
mod prepare;
mod reservation;
mod upload;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::fault::{self, Fault, FaultCode};
use domain::receipt::Attempt;
use egress::{BodyError, Inbound, InboundBody, Outbound};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use store::Owner;
use tokio::time::{Instant, timeout_at};

use crate::accounting::reservation::Reservation;
use crate::accounting::ticket::Ticket;
use crate::call::arrival::Arrival;
use crate::call::response_headers::{self, Refused};
use crate::gateway::Gateway;
use crate::routing::routes::{Deployment, Instance};
use crate::services::content_encoding::{self, Coding, Decoder};

use crate::delivery::commit::AnswerForm;
pub use download::Download;
use endpoint::{Endpoint, Purpose};
use guarded::InspectedAnswer;
use meter::PassthroughMeter;
use prepare::prepare;
use upload::{Sent, Upload};

/// The route name in receipts and metrics.
pub const ROUTE: &str = "/p/{provider}";

/// The maximum decoded size of a compressed answer.
const DECODED_LIMIT: usize = 64 * 1024 * 1024;

/// The method, provider and endpoint of the request line.
pub struct PassthroughRoute {
    pub method: Method,
    pub provider: String,
    /// The path after the provider's name, still percent-encoded.
    pub endpoint: String,
}

/// The provider's answer, streamed to the client.
pub struct PassthroughResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Download,
}

pub async fn run<B>(
    gateway: &Arc<Gateway>,
    arrival: Arrival,
    wanted: PassthroughRoute,
    body: B,
) -> Result<PassthroughResponse, Refused>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BodyError>,
{
    let mut ticket = Ticket::open(gateway, &arrival);
    let upload = Upload::new(body, &arrival.headers, gateway.policy.body_timeout, ticket.audit.uploading());
    let snapshot = ticket.context.snapshot().clone();
    match prepare(&snapshot, &arrival, &wanted, upload, &mut ticket).await {
        Ok(journey) => journey.go(&wanted.method, ticket).await,
        Err(fault) => Err(ticket.refuse(fault)),
    }
}

/// An admitted call, ready to be sent.
struct AdmittedCall {
    instance: Arc<Instance>,
    endpoint: Endpoint,
    deployment: Arc<Deployment>,
    sent: Arc<Sent>,
    outbound: Outbound,
    purpose: Purpose,
    reservation: Reservation,
    /// The owner of the object that the path names, if recorded.
    parent: Option<Owner>,
    /// The id of the attempt's client span, if the call is traced.
    span_id: Option<String>,
    /// The inspection of the answer by guardrails.
    inspected: Option<Box<InspectedAnswer>>,
}

impl AdmittedCall {
    async fn go(self, method: &Method, mut ticket: Box<Ticket>) -> Result<PassthroughResponse, Refused> {
        let Self { instance, endpoint, deployment, sent, outbound, purpose, .. } = self;
        let (reservation, parent, span_id, inspected) =
            (self.reservation, self.parent, self.span_id, self.inspected);
        ticket.record_sent(&deployment, &reservation);
        let gateway = ticket.gateway().clone();
        let timeout = ticket.context.policy().total_timeout(&instance.core.limits);
        let before = ticket.context.now();
        let makes = endpoint.makes.filter(|_| *method == Method::POST);
        let mut meter = PassthroughMeter::new(ticket, instance, endpoint.model, sent.clone(), purpose);
        meter.owned_by(parent, makes);
        let outcome = head(&gateway, meter.instance(), outbound, &sent, timeout).await;
        meter.attempted(before, attempt(&deployment, &outcome), span_id);
        match outcome {
            Ok(inbound) => {
                warn_if_rejected(&meter, inbound.status);
                answer(meter, inbound, method, inspected).await
            }
            Err(fault) => Err(meter.refuse(fault)),
        }
    }
}

fn warn_if_rejected(meter: &PassthroughMeter, status: StatusCode) {
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) && meter.uses_own_credential() {
        let (provider, status) = (meter.instance(), status.as_u16());
        tracing::warn!(provider, status, "provider rejected the gateway's credential");
    }
}

/// Sends the request and waits for the answer's head. The timeout counts from the last part that the client uploaded,
/// so a slow upload is not taken for a slow provider.
async fn head(
    gateway: &Gateway,
    instance: &str,
    outbound: Outbound,
    sent: &Sent,
    timeout: Duration,
) -> Result<Inbound, Fault> {
    let mut call = pin!(gateway.egress.send(outbound));
    loop {
        let waits_from = sent.moved();
        match timeout_at(waits_from + timeout, &mut call).await {
            Ok(Ok(inbound)) => return Ok(inbound),
            Ok(Err(error)) => {
                tracing::debug!(provider = instance, reason = error.reason(), "provider not reached");
                let unreachable = || fault::upstream_unreachable(instance, error.reason());
                return Err(sent.trouble().unwrap_or_else(unreachable));
            }
            // The client uploaded more in the meantime: wait again, from that moment.
            Err(_) if sent.moved() > waits_from => {}
            Err(_) => return Err(fault::upstream_timeout(instance, timeout)),
        }
    }
}

fn attempt(deployment: &Deployment, outcome: &Result<Inbound, Fault>) -> Attempt {
    let (status, error) = match outcome {
        Ok(inbound) if inbound.status.as_u16() < 400 => (inbound.status.as_u16(), None),
        Ok(inbound) => (inbound.status.as_u16(), Some(FaultCode::UpstreamError)),
        Err(fault) => (fault.status, Some(fault.code.clone())),
    };
    deployment.attempt(status, error, Duration::ZERO)
}

async fn answer(
    mut meter: PassthroughMeter,
    inbound: Inbound,
    method: &Method,
    inspected: Option<Box<InspectedAnswer>>,
) -> Result<PassthroughResponse, Refused> {
    let Inbound { status, headers: theirs, body } = inbound;
    let text =
        |name| theirs.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    meter.answered(status.as_u16(), text(header::CONTENT_TYPE));
    let mut ours = headers::down(&theirs, &meter.routes().scrubber);
    let coding = content_encoding::of(&theirs).filter(|_| *method != Method::HEAD);
    // A byte range of a compressed body cannot be decoded.
    if coding == Some(Coding::Unsupported) || (coding.is_some() && status == StatusCode::PARTIAL_CONTENT) {
        let reason = "its content encoding is not supported";
        let fault = fault::upstream_invalid_response(meter.instance(), reason);
        return Err(meter.refuse(fault));
    }
    if *method == Method::HEAD {
        if let Some(length) = theirs.get(header::CONTENT_LENGTH) {
            ours.insert(header::CONTENT_LENGTH, length.clone());
        }
    } else {
        ours.remove(header::CONTENT_ENCODING);
    }
    let form = answer_form(text(header::CONTENT_TYPE));
    let inspected = match inspected {
        // Guardrails inspect answers; an error is not one.
        Some(inspected) if status.is_success() && form.is_some() => Some(inspected),
        Some(_) => {
            if let Err(fault) = refuse_unreadable_answer(&mut meter, status) {
                return Err(meter.refuse(fault));
            }
            None
        }
        None => None,
    };
    if error_response::concerns(status) && *method != Method::HEAD {
        return wrapped(meter, status, ours, body, coding).await;
    }
    let idle = meter.idle_limit(text(header::CONTENT_TYPE));
    let mut filter = None;
    match (inspected, form) {
        (Some(inspected), Some(AnswerForm::Stream)) if !inspected.is_held => {
            filter = Some(inspected.into_stream_filter(meter.event_limit()));
        }
        (Some(inspected), Some(form)) => {
            return inspect_whole(meter, (status, ours), (body, coding), *inspected, form).await;
        }
        _ => {}
    }
    ours.extend(meter.headers());
    meter.heads(&ours);
    let decoder = coding.map(|coding| Decoder::new(coding, DECODED_LIMIT));
    Ok(PassthroughResponse {
        status,
        headers: ours,
        body: Download::streamed(body, decoder, meter, idle).filtered(filter),
    })
}

/// The form of an answer by its media type; `None` if it has another one.
fn answer_form(content_type: &str) -> Option<AnswerForm> {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    match meter::is_event_stream(content_type) {
        true => Some(AnswerForm::Stream),
        false => essence.eq_ignore_ascii_case("application/json").then_some(AnswerForm::Document),
    }
}

/// Refuses an answer of another media type if a guardrail blocks what cannot be inspected, and does not record it.
fn refuse_unreadable_answer(meter: &mut PassthroughMeter, status: StatusCode) -> Result<(), Fault> {
    meter.omit_answer();
    let guardrails = meter.ticket().and_then(|ticket| ticket.context.guardrails().cloned());
    match guardrails.filter(|_| status.is_success()) {
        Some(guardrails) => admit::refuse_uninspected(&guardrails),
        None => Ok(()),
    }
}

/// Passes an answer through guardrails that need the whole of it.
async fn inspect_whole(
    mut meter: PassthroughMeter,
    (status, mut ours): (StatusCode, HeaderMap),
    (body, coding): (InboundBody, Option<Coding>),
    inspected: InspectedAnswer,
    form: AnswerForm,
) -> Result<PassthroughResponse, Refused> {
    let limits = (meter.answer_limit(), meter.idle_limit("application/json"));
    match inspected.read(&mut meter, body, coding, limits, form).await {
        Ok(bytes) => {
            ours.extend(meter.headers());
            meter.heads(&ours);
            Ok(PassthroughResponse { status, headers: ours, body: Download::inspected(bytes, meter) })
        }
        Err(fault) => Err(meter.refuse(fault)),
    }
}

/// Reads an error answer to its end and converts it to the gateway's error format, unless it has that shape already.
async fn wrapped(
    mut meter: PassthroughMeter,
    status: StatusCode,
    mut ours: HeaderMap,
    body: InboundBody,
    coding: Option<Coding>,
) -> Result<PassthroughResponse, Refused> {
    let read =
        timeout_at(Instant::now() + error_response::PATIENCE, body.collect(error_response::LIMIT)).await;
    let decode = |bytes| content_encoding::decode_whole(coding, bytes, error_response::LIMIT).ok();
    let read = read.ok().and_then(Result::ok).and_then(decode);
    let read = read.map(|bytes| {
        error_response::read(status.as_u16(), bytes, meter.instance(), &meter.routes().scrubber)
    });
    let fault = match read {
        Some(Ok(bytes)) => {
            ours.extend(meter.headers());
            meter.heads(&ours);
            return Ok(PassthroughResponse { status, headers: ours, body: Download::whole(bytes, meter) });
        }
        Some(Err(fault)) => fault,
        None => error_response::unread(status.as_u16(), meter.instance()),
    };
    Err(meter.refuse(fault))
}

/// The gateway's response headers. The model header is omitted if no model is known.
fn gateway_headers(ticket: &mut Ticket) -> HeaderMap {
    let overhead_us = ticket.first_byte();
    let mut headers = ticket.headers(overhead_us);
    if ticket.receipt.deployment().is_some_and(|deployment| deployment.target.model.is_empty()) {
        headers.remove(response_headers::MODEL);
    }
    headers
}

#[cfg(test)]
mod tests;
