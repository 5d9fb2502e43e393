//! Station: over the plan's targets until one answers. Encode, send, decode; nothing is sent to the client from here.

mod continuation;
mod gate;
mod inflate;
mod outbound;
mod resume;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::canon::{Dropped, Reply};
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::receipt::Attempt;
use egress::EgressError;
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::time::{Instant, timeout_at};
use wire::codec::{self, Native};

use crate::receive::Call;
use crate::reserve::Reservation;
use crate::resolve::Plan;
use crate::settle::Ticket;
use crate::snapshot::routes::Lane;
use crate::stream::Flow;

use outbound::Leaving;
pub use outbound::{Continuity, Passage, Translation};
pub use resume::{Resumable, Resumed, Resuming, resume};
pub use upstream::{UpstreamBody, retry_after};

/// What a provider answered, before it is rendered for the client.
pub enum Answer {
    /// The provider's own bytes, for a client that speaks the same.
    Native(&'static dyn Native, Bytes, Box<codec::Answer>),
    Translated(Box<Translation>, Box<Reply>),
    Stream(Box<Flow>),
}

/// An error's body is worth this much of our time and memory.
const ERROR_PATIENCE: Duration = Duration::from_secs(10);
const ERROR_LIMIT: usize = 64 * 1024;

/// Owns all it needs: a client that is waiting is sent heartbeats while this goes on.
pub async fn dispatch(
    call: Call,
    plan: Plan,
    reservation: Reservation,
    mut ticket: Ticket,
) -> (Ticket, Result<Answer, Fault>) {
    let mut last = None;
    let deadline = Instant::now() + ticket.gateway().policy.request_timeout;
    for lane in &plan.lanes {
        let leaving = match outbound::prepare(&call, lane, &ticket) {
            Ok(leaving) => leaving,
            // What one provider lacks, the next may have.
            Err(fault) if fault.status == 501 => {
                last = Some(fault);
                continue;
            }
            Err(fault) => return (ticket, Err(fault)),
        };
        ticket.leave_out(match &leaving.passage {
            Passage::Translated(translation) => translation.dropped.clone(),
            Passage::Native(_) => Dropped::default(),
        });
        ticket.leave(lane, &reservation);
        let before = ticket.now();
        let outcome = attempt(&call, leaving, lane, &ticket, deadline).await;
        let duration = ticket.now().saturating_sub(before);
        ticket.waited(duration);
        ticket.attempted(describe(lane, &outcome, duration));
        match outcome {
            Ok(answer) => return (ticket, Ok(resume::arm(answer, call, plan, reservation))),
            Err(fault) if fault.retryable && Instant::now() < deadline => last = Some(fault),
            Err(fault) => return (ticket, Err(fault)),
        }
    }
    (ticket, Err(last.unwrap_or_else(fault::internal_error)))
}

fn describe(lane: &Lane, outcome: &Result<Answer, Fault>, duration: Duration) -> Attempt {
    let (status, error) = match outcome {
        Ok(_) => (200, None),
        Err(fault) => (fault.status, Some(fault.code.to_string())),
    };
    lane.attempt(status, error, duration)
}

/// `deadline` covers all attempts of a call that is answered whole; streams have limits on silence instead.
async fn attempt(
    call: &Call,
    mut leaving: Leaving,
    lane: &Arc<Lane>,
    ticket: &Ticket,
    deadline: Instant,
) -> Result<Answer, Fault> {
    let policy = &ticket.gateway().policy;
    let instance = &lane.target.instance;
    let (limit, waited) = if call.stream {
        (Instant::now() + policy.first_event_timeout, policy.first_event_timeout)
    } else {
        (deadline, policy.request_timeout)
    };
    let too_slow = || fault::upstream_timeout(instance, waited);
    let head =
        timeout_at(limit, upstream::send(&mut leaving, call, lane, ticket)).await.map_err(|_| too_slow())?;
    let (status, headers, body) = head?;
    let passage = leaving.passage;
    let native = passage.upstream();
    let body = expect_success(native, lane, status, &headers, body, ticket.gateway().clock.now()).await?;
    if call.stream {
        expect_event_stream(lane, &headers)?;
        let flow = Flow::new(body, lane.clone(), passage, call, ticket);
        return gate::hold(flow, policy).await.map(Box::new).map(Answer::Stream);
    }
    let collected = timeout_at(deadline, body.collect(policy.answer_limit)).await;
    let bytes = match collected {
        Ok(Ok(bytes)) => inflate::inflate(&headers, bytes, policy.answer_limit)
            .map_err(|reason| fault::upstream_invalid_response(instance, reason)),
        Ok(Err(error)) => Err(broken(lane, &error)),
        Err(_) => Err(too_slow()),
    };
    let bytes = bytes.inspect_err(|_| ticket.spent())?;
    read(lane, passage, bytes)
}

/// Error answers are read boundedly and become a fault of their own.
async fn expect_success(
    native: &dyn Native,
    lane: &Lane,
    status: StatusCode,
    headers: &HeaderMap,
    body: UpstreamBody,
    now: Timestamp,
) -> Result<UpstreamBody, Fault> {
    if status.is_success() {
        return Ok(body);
    }
    let instance = &lane.target.instance;
    let text = tokio::time::timeout(ERROR_PATIENCE, body.collect(ERROR_LIMIT)).await;
    let text = text.ok().and_then(Result::ok).unwrap_or_default();
    tracing::debug!(provider = &**instance, status = status.as_u16(), "provider refused the call");
    let mut fault = native.read_error(status.as_u16(), &text, instance);
    if let Some(after) = upstream::retry_after(headers, now) {
        fault.retry_after = Some(after);
    }
    Err(fault)
}

fn expect_event_stream(lane: &Lane, headers: &HeaderMap) -> Result<(), Fault> {
    let media_type = headers.get(http::header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let packed = headers.get(http::header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity");
    if media_type.to_ascii_lowercase().starts_with(b"text/event-stream") && !packed {
        return Ok(());
    }
    Err(fault::upstream_invalid_response(
        &lane.target.instance,
        "a stream was asked for and something else came",
    ))
}

fn read(lane: &Lane, passage: Passage, bytes: Bytes) -> Result<Answer, Fault> {
    let instance = &lane.target.instance;
    let native = passage.upstream();
    let answer = native
        .read_answer(&bytes)
        .map_err(|_| fault::upstream_invalid_response(instance, "it is not what was asked for"))?;
    if let Some(error) = &answer.error {
        return Err(native.read_stream_error(&bytes[error.clone()], instance));
    }
    match passage {
        Passage::Native(native) => Ok(Answer::Native(native, bytes, Box::new(answer))),
        Passage::Translated(mut translation) => {
            let mut reply = translation.upstream.decode(&bytes, &mut translation.decoding)?;
            translation.renames.restore_reply(&mut reply);
            Ok(Answer::Translated(translation, Box::new(reply)))
        }
    }
}

fn broken(lane: &Lane, error: &EgressError) -> Fault {
    if error.is_connect() {
        fault::upstream_unreachable(&lane.target.instance, error.reason())
    } else {
        fault::upstream_interrupted(&lane.target.instance)
    }
}
