//! The other side of an attempt: a provider over the network, or the model that is built in.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use domain::fault::{self, Fault};
use egress::{EgressError, InboundBody};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::Body as _;
use wire::demo;

use super::outbound;
use crate::receive::Call;
use crate::settle::Ticket;
use crate::snapshot::routes::Lane;

pub enum UpstreamBody {
    Network(InboundBody),
    BuiltIn(VecDeque<Bytes>),
}

impl UpstreamBody {
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, EgressError>>> {
        match self {
            Self::BuiltIn(pieces) => Poll::Ready(pieces.pop_front().map(Ok)),
            Self::Network(body) => loop {
                match Pin::new(&mut *body).poll_frame(context) {
                    Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                        Ok(data) => return Poll::Ready(Some(Ok(data))),
                        Err(_) => continue,
                    },
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                    Poll::Ready(None) => return Poll::Ready(None),
                    Poll::Pending => return Poll::Pending,
                }
            },
        }
    }

    pub async fn next(&mut self) -> Option<Result<Bytes, EgressError>> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    pub async fn collect(self, limit: usize) -> Result<Bytes, EgressError> {
        match self {
            Self::Network(body) => body.collect(limit).await,
            Self::BuiltIn(pieces) => {
                let mut whole = BytesMut::new();
                pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
                Ok(whole.freeze())
            }
        }
    }
}

pub async fn send(
    call: &Call,
    lane: &Lane,
    ticket: &Ticket,
) -> Result<(StatusCode, HeaderMap, UpstreamBody), Fault> {
    if let Some(answer) = lane.instance.vendor.answer {
        return Ok(built_in(answer(&wire::splice::concat(&outbound::encode(call, lane)))));
    }
    let instance = &lane.target.instance;
    let destination = lane.instance.destination.clone().map_err(|reason| fault::upstream_unreachable(instance, &reason))?;
    let inbound = ticket.gateway().egress.send(outbound::build(destination, call, lane, ticket)).await;
    let inbound = inbound.map_err(|error| {
        tracing::debug!(provider = &**instance, reason = error.reason(), "provider not reached");
        fault::upstream_unreachable(instance, error.reason())
    })?;
    Ok((inbound.status, inbound.headers, UpstreamBody::Network(inbound.body)))
}

fn built_in(reply: demo::Reply) -> (StatusCode, HeaderMap, UpstreamBody) {
    let (status, media_type, pieces) = match reply {
        demo::Reply::Json(body) => (StatusCode::OK, "application/json", VecDeque::from([body])),
        demo::Reply::Events(events) => (StatusCode::OK, "text/event-stream", VecDeque::from(events)),
        demo::Reply::Error(status, body) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
            (status, "application/json", VecDeque::from([body]))
        }
    };
    let headers = HeaderMap::from_iter([(http::header::CONTENT_TYPE, HeaderValue::from_static(media_type))]);
    (status, headers, UpstreamBody::BuiltIn(pieces))
}

/// `Retry-After` in seconds or as `retry-after-ms`; a date is read where the calendar is known.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    const LONGEST: f64 = 300.0;
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    let seconds = number("retry-after-ms").map(|millis| millis / 1000.0).or_else(|| number("retry-after"))?;
    Some(Duration::from_secs_f64(seconds.clamp(0.0, LONGEST)))
}
