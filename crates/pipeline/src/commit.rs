//! Station: an answer becomes a reply. Whole answers are booked before they leave; streams commit to a head first.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use domain::fault::{self, Fault};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use wire::formats::chat;

use crate::arrival::Arrival;
use crate::dispatch::Answer;
use crate::gateway::Gateway;
use crate::reply::{self, Refused, Reply, ReplyBody};
use crate::settle::Ticket;
use crate::stream::ChatStream;

type Outcome = (Ticket, Result<Answer, Fault>);

/// A dispatch that goes on while the client is kept company.
pub type Answering = Pin<Box<dyn Future<Output = Outcome> + Send>>;

pub async fn whole(answering: Answering) -> Result<Reply, Refused> {
    match answering.await {
        (ticket, Ok(Answer::Whole(bytes, answer))) => Ok(render(ticket, bytes, &answer).await),
        (ticket, Ok(Answer::Stream(_))) => Err(ticket.refuse(fault::internal_error())),
        (ticket, Err(fault)) => Err(ticket.refuse(fault)),
    }
}

/// Waits for content as long as a client can be left without a word; then the head goes out alone,
/// and whatever is still to come, a fault included, goes in-band.
pub async fn stream(
    gateway: &Arc<Gateway>,
    arrival: &Arrival,
    mut answering: Answering,
) -> Result<Reply, Refused> {
    match tokio::time::timeout(gateway.policy.stream_heartbeat, answering.as_mut()).await {
        Ok((mut ticket, Ok(Answer::Stream(flow)))) => {
            let overhead_us = ticket.first_byte();
            let headers = reply::headers(&ticket.request_id, ticket.lane(), ticket.attempts(), overhead_us);
            Ok(events(headers, ChatStream::flowing(*flow, ticket)))
        }
        Ok((ticket, Ok(Answer::Whole(..)))) => Err(ticket.refuse(fault::internal_error())),
        Ok((ticket, Err(fault))) => Err(ticket.refuse(fault)),
        Err(_) => {
            let headers = HeaderMap::from_iter([(reply::REQUEST_ID, arrival.request_id.header())]);
            Ok(events(headers, ChatStream::waiting(answering, gateway.clone())))
        }
    }
}

fn events(mut headers: HeaderMap, stream: ChatStream) -> Reply {
    headers.insert(reply::CACHE, HeaderValue::from_static("off"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Reply { status: StatusCode::OK, headers, body: ReplyBody::Stream(Box::new(stream)) }
}

async fn render(mut ticket: Ticket, bytes: Bytes, answer: &chat::Answer) -> Reply {
    let overhead_us = ticket.first_byte();
    let mut headers = reply::headers(&ticket.request_id, ticket.lane(), ticket.attempts(), overhead_us);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(id) = &answer.id {
        ticket.provider_id(id.clone());
    }
    if let Some(raw) = answer.usage.clone().map(|range| &bytes[range])
        && let Some(usage) = chat::read_usage(raw)
    {
        if let Some(cost) = ticket.lane().and_then(|lane| lane.cost_header(&usage)) {
            headers.insert(reply::COST, cost);
        }
        ticket.consumed(usage, raw);
    }
    ticket.produced(answer.content_bytes as u64);
    let latency_ms = ticket.elapsed().as_millis() as u64;
    let instance = ticket.lane().map(|lane| lane.target.instance.clone()).unwrap_or_default();
    let pieces = chat::splice_answer(&bytes, answer, &instance, latency_ms);
    if let Some(counted) = ticket.complete() {
        let _ = counted.await;
    }
    Reply { status: StatusCode::OK, headers, body: ReplyBody::whole(pieces) }
}
