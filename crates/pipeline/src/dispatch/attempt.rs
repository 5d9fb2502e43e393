//! One attempt at one target: sends the request and reads the response.

use std::borrow::Cow;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use domain::clock::Timestamp;
use domain::fault::{self, Blame, Fault};
use domain::usage::Usage;
use egress::EgressError;
use futures_util::FutureExt as _;
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::time::{Instant, timeout_at};
use wire::codec::{self, AnswerReader};
use wire::response_facts::ResponseFacts;

use super::outbound::PreparedRequest;
use super::upstream;
use super::{ActiveAttempt, Answer, Progress, gate};
use crate::accounting::loss::Loss;
use crate::accounting::ticket::Ticket;
use crate::call::receive::Call;
use crate::routing::routes::Deployment;
use crate::services::body_work::LARGE_BODY;
use crate::streaming::{ResponseMode, UpstreamBody, UpstreamStream, interrupted};

/// Longest time that reading the body of an error may take.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Most bytes read of the body of an error.
const ERROR_LIMIT: usize = 64 * 1024;

/// Runs an attempt. `deadline` covers all attempts of a call or, for a stream, the time until its content; a target has
/// timeouts of its own.
pub async fn attempt(
    call: &Call,
    prepared: Box<PreparedRequest>,
    asked: &ActiveAttempt,
    ticket: &Ticket,
    deadline: Instant,
) -> Result<Answer, Fault> {
    send_and_read(call, prepared, asked, ticket, deadline)
        .await
        .inspect_err(|fault| asked.progress.failed(fault))
}

async fn send_and_read(
    call: &Call,
    mut prepared: Box<PreparedRequest>,
    ActiveAttempt { deployment, progress, span_id, .. }: &ActiveAttempt,
    ticket: &Ticket,
    deadline: Instant,
) -> Result<Answer, Fault> {
    let policy = ticket.context.policy();
    let instance = &deployment.target.instance;
    if ticket.audit.is_on() {
        progress.record_translation(prepared.translated_format());
    }
    prepared.trace_headers = ticket.receipt.trace_headers(span_id.as_deref());
    let target_policy = policy.at(&deployment.instance.limits);
    let begun = Instant::now();
    let limit = deadline.min(begun + target_policy.answer_timeout);
    let too_slow = || {
        let given = limit.saturating_duration_since(begun);
        let fault = fault::upstream_timeout(instance, given);
        // The remaining time of the call, or the time that its workflow gives, may be too short for any target: then the
        // timeout is not its fault.
        if given < target_policy.usual_timeout.mul_f64(0.9) { fault.blame(Blame::Gateway) } else { fault }
    };
    let head = timeout_at(limit, upstream::send(&mut prepared, call, deployment, ticket))
        .await
        .map_err(|_| too_slow())?;
    let (status, headers, body) = head?;
    if ticket.audit.is_on() {
        progress.record_first_byte(begun.elapsed());
    }
    let response_mode = prepared.response_mode;
    let reader = response_mode.upstream();
    let body =
        expect_success(reader, deployment, status, &headers, body, (limit, ticket.gateway().clock.now()))
            .await?;
    progress.begin();
    if call.streams_upstream() {
        expect_event_stream(deployment, &headers)?;
        let mut flow = Box::new(UpstreamStream::new(body, deployment.clone(), response_mode, call, ticket));
        return match gate::hold(&mut flow, limit, deadline).await {
            Ok(()) => Ok(Answer::Stream(flow)),
            Err(fault) => {
                let Loss { usage, content_bytes } = flow.loss();
                progress.came(content_bytes);
                progress.record_usage(usage);
                // Another target inspects its own answer.
                if fault.is_of_guardrail() {
                    progress.record_verdicts(flow.verdicts());
                }
                Err(fault)
            }
        };
    }
    expect_json(deployment, &headers)?;
    let mut collecting = pin!(body.collect(policy.answer_limit, |so_far| progress.came(so_far as u64)));
    // Many answers have arrived with their heads: they need no timer.
    let collected = match collecting.as_mut().now_or_never() {
        Some(collected) => Ok(collected),
        None => timeout_at(limit, collecting).await,
    };
    let bytes = match collected {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => Err(broken(deployment, &error)),
        Err(_) => Err(too_slow()),
    };
    read_sized(deployment, response_mode, bytes?, progress, ticket).await
}

/// Turns an error response into a fault. Its body is read within limits.
async fn expect_success(
    reader: &dyn AnswerReader,
    deployment: &Deployment,
    status: StatusCode,
    headers: &HeaderMap,
    body: UpstreamBody,
    (limit, now): (Instant, Timestamp),
) -> Result<UpstreamBody, Fault> {
    if status.is_success() {
        return Ok(body);
    }
    let instance = &deployment.target.instance;
    let deadline = limit.min(Instant::now() + ERROR_BODY_TIMEOUT);
    let text = timeout_at(deadline, body.collect(ERROR_LIMIT, |_| {})).await;
    let text = text.ok().and_then(Result::ok).unwrap_or_default();
    tracing::debug!(provider = &**instance, status = status.as_u16(), "provider returned an error");
    let mut fault = reader.read_error(status.as_u16(), &text, instance);
    if let Some(credential) = &deployment.client_credential {
        fault = credential.relay(fault);
    }
    if let Some(after) = upstream::retry_after(headers, now) {
        fault.retry_after = Some(after);
    }
    Err(fault)
}

/// The content type in lower case, as it mostly is already.
fn media_type(headers: &HeaderMap) -> Cow<'_, [u8]> {
    let written = headers.get(http::header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    match written.iter().any(u8::is_ascii_uppercase) {
        true => written.to_ascii_lowercase().into(),
        false => written.into(),
    }
}

fn expect_event_stream(deployment: &Deployment, headers: &HeaderMap) -> Result<(), Fault> {
    let expected = deployment.instance.vendor.framing.media_type();
    if media_type(headers).starts_with(expected.as_bytes()) {
        return Ok(());
    }
    Err(unexpected_type(deployment, headers, "expected an event stream, got another content type"))
}

/// Rejects non-JSON content types; a missing one is accepted.
fn expect_json(deployment: &Deployment, headers: &HeaderMap) -> Result<(), Fault> {
    let media_type = media_type(headers);
    if media_type.is_empty() || media_type.windows(4).any(|part| part == b"json") {
        return Ok(());
    }
    Err(unexpected_type(deployment, headers, "expected JSON, got another content type"))
}

/// The error for a response of another content type. A web page comes from a proxy in front of a provider: no model has
/// taken the call, so it is not billed.
fn unexpected_type(deployment: &Deployment, headers: &HeaderMap, reason: &str) -> Fault {
    let is_web_page = media_type(headers).starts_with(b"text/html");
    fault::upstream_invalid_response(&deployment.target.instance, reason).billable(!is_web_page)
}

/// Reads a complete response, on a blocking thread if it is large.
async fn read_sized(
    deployment: &Deployment,
    response_mode: ResponseMode,
    bytes: Bytes,
    progress: &Progress,
    ticket: &Ticket,
) -> Result<Answer, Fault> {
    let (instance, is_recorded) = (deployment.target.instance.clone(), ticket.records_response());
    let reading = ticket.gateway().with_bytes(bytes.len(), move || {
        // The facts of a small response are read where they are needed.
        let facts = (is_recorded && bytes.len() >= LARGE_BODY).then(|| ResponseFacts::of(&bytes));
        (facts, read(&instance, response_mode, bytes))
    });
    let (facts, answer) = reading.await?;
    progress.names(facts);
    answer.map_err(|unreadable| {
        progress.record_usage(unreadable.usage);
        unreadable.fault
    })
}

/// The error for an unreadable response, and the usage that it reports nevertheless.
struct Unreadable {
    fault: Fault,
    usage: Option<Usage>,
}

fn read(instance: &str, response_mode: ResponseMode, bytes: Bytes) -> Result<Answer, Box<Unreadable>> {
    match response_mode {
        ResponseMode::Native(native) => {
            let answer = read_positions(instance, native, &bytes)?;
            Ok(Answer::Native(native, bytes, Box::new(answer)))
        }
        ResponseMode::Translated(mut translation) => {
            let upstream = translation.upstream;
            match upstream.decode(&bytes, &mut translation.decoding) {
                Ok(mut reply) => {
                    translation.renames.restore_reply(&mut reply);
                    Ok(Answer::Translated(translation, Box::new(reply)))
                }
                // The response may be an error, and it may report usage all the same.
                Err(fault) => {
                    let answer = read_positions(instance, upstream, &bytes)?;
                    let usage = answer.usage.and_then(|range| upstream.read_usage(&bytes[range], None));
                    Err(Box::new(Unreadable { fault, usage }))
                }
            }
        }
    }
}

/// The positions of what is read from a response; an error if it is not a valid response, or reports one.
fn read_positions(
    instance: &str,
    reader: &dyn AnswerReader,
    bytes: &Bytes,
) -> Result<codec::Answer, Box<Unreadable>> {
    let answer = reader.read_answer(bytes).map_err(|_| {
        let fault =
            fault::upstream_invalid_response(instance, "the body is not a valid response of this API");
        Box::new(Unreadable { fault, usage: reader.find_usage(bytes) })
    })?;
    match &answer.error {
        None => Ok(answer),
        Some(error) => {
            let fault = reader.read_stream_error(&bytes[error.clone()], instance);
            Err(Box::new(Unreadable { fault, usage: None }))
        }
    }
}

fn broken(deployment: &Deployment, error: &EgressError) -> Fault {
    if error.is_connect() {
        fault::upstream_unreachable(&deployment.target.instance, error.reason())
    } else {
        interrupted(&deployment.target.instance, error)
    }
}
