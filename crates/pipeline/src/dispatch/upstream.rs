//! The upstream side of an attempt: a provider over the network, or the built-in model.

use std::collections::VecDeque;
use std::time::Duration;

use domain::call::Surface;
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use egress::{EgressError, EgressErrorKind};
use http::{HeaderMap, HeaderValue, StatusCode};
use wire::demo;
use wire::vendors::Framing;

use super::outbound::{self, PreparedRequest};
use crate::accounting::ticket::Ticket;
use crate::call::receive::Call;
use crate::routing::routes::Deployment;
use crate::services::body_work::LARGE_BODY;
use crate::services::content_encoding::{self, DecodedBody};
use crate::streaming::{UpstreamBody, blame};

pub async fn send(
    prepared: &mut PreparedRequest,
    call: &Call,
    deployment: &Deployment,
    ticket: &Ticket,
) -> Result<(StatusCode, HeaderMap, UpstreamBody), Fault> {
    if let Some(answer) = deployment.instance.vendor.answer {
        let body = wire::splice::concat(&prepared.body);
        let (gateway, framing) = (ticket.gateway(), deployment.instance.vendor.framing);
        let reply = match body.len() < LARGE_BODY {
            true => answer(&body),
            false => gateway.body_work.run(&gateway.tasks, move || answer(&body)).await?,
        };
        return Ok(built_in(reply, framing));
    }
    let instance = &deployment.target.instance;
    let destination = deployment
        .instance
        .destination
        .clone()
        .map_err(|reason| fault::upstream_unreachable(instance, &reason))?;
    let egress = &ticket.gateway().egress;
    // Conversations use HTTP/2: they are small, or streams that are read as they arrive. Other documents may be large,
    // and come faster over HTTP/1.1, because an HTTP/2 stream has a small window.
    let multiplex = matches!(prepared.surface, Surface::Converse(_));
    let outbound = outbound::build(destination, prepared, call, deployment);
    let inbound =
        if multiplex { egress.send_multiplexed(outbound).await } else { egress.send(outbound).await };
    let inbound = inbound.map_err(|error| {
        tracing::debug!(provider = &**instance, reason = error.reason(), "provider not reached");
        unreachable(instance, &error)
    })?;
    let body = match content_encoding::of(&inbound.headers) {
        None => UpstreamBody::Network(inbound.body),
        Some(coding) => {
            let limit = ticket.context.policy().answer_limit;
            UpstreamBody::Encoded(Box::new(DecodedBody::new(inbound.body, coding, limit)))
        }
    };
    Ok((inbound.status, inbound.headers, body))
}

/// The error for a call without a response.
fn unreachable(instance: &str, error: &EgressError) -> Fault {
    match error.kind() {
        EgressErrorKind::Overloaded | EgressErrorKind::Refused => {
            fault::upstream_overloaded(instance, error.reason())
        }
        _ => blame(fault::upstream_unreachable(instance, error.reason()), error),
    }
}

fn built_in(reply: demo::Reply, framing: Framing) -> (StatusCode, HeaderMap, UpstreamBody) {
    let (status, media_type, pieces) = match reply {
        demo::Reply::Json(body) => (StatusCode::OK, "application/json", VecDeque::from([body])),
        demo::Reply::Events(events) => (StatusCode::OK, framing.media_type(), VecDeque::from(events)),
        demo::Reply::Error(status, body) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
            (status, "application/json", VecDeque::from([body]))
        }
    };
    let headers = HeaderMap::from_iter([(http::header::CONTENT_TYPE, HeaderValue::from_static(media_type))]);
    (status, headers, UpstreamBody::BuiltIn(pieces))
}

/// The time that a provider asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date. Past times count
/// as zero, long ones are capped, invalid ones are ignored.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    const LONGEST: f64 = 300.0;
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite());
    let date = |text: &str| {
        let at = jiff::fmt::rfc2822::parse(text).ok()?.timestamp().as_microsecond();
        Some((at - now.micros()) as f64 / 1e6)
    };
    let millis = text("retry-after-ms").and_then(number).map(|millis| millis / 1000.0);
    let seconds =
        millis.or_else(|| text("retry-after").and_then(|text| number(text).or_else(|| date(text))))?;
    Some(Duration::from_secs_f64(seconds.clamp(0.0, LONGEST)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streaming::interrupted;

    /// Failures caused by the gateway or by an orderly shutdown must not open a provider's circuit breaker.
    #[test]
    fn only_failures_of_the_provider_count_in_its_health() {
        let fault = |kind| unreachable("x", &EgressError::new(kind, "reason"));
        for kind in [EgressErrorKind::Connect, EgressErrorKind::Reset, EgressErrorKind::Closed] {
            assert!(fault(kind).is_failure(), "{kind:?}");
            assert!(interrupted("x", &EgressError::new(kind, "reason")).is_failure(), "{kind:?}");
        }
        for kind in [EgressErrorKind::GoAway, EgressErrorKind::NotRead] {
            assert!(!fault(kind).is_failure(), "{kind:?}");
            assert!(!interrupted("x", &EgressError::new(kind, "reason")).is_failure(), "{kind:?}");
        }
        for kind in [EgressErrorKind::Overloaded, EgressErrorKind::Refused] {
            let fault = fault(kind);
            assert_eq!((fault.status, fault.code.as_str(), fault.is_failure()), (503, "overloaded", false));
            assert_eq!(fault.retry_after, None, "the target must not cool down");
        }
    }

    #[test]
    fn retry_after_is_read_in_all_its_forms() {
        let now = Timestamp::from_seconds(784_111_777);
        for (name, value, expected) in [
            ("retry-after", "2", Some(2.0)),
            ("retry-after", "0.5", Some(0.5)),
            ("retry-after-ms", "1500", Some(1.5)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT", Some(10.0)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT", Some(0.0)),
            ("retry-after", "-5", Some(0.0)),
            ("retry-after", "99999999999", Some(300.0)),
            ("retry-after", "soon", None),
            ("retry-after", "NaN", None),
        ] {
            let headers = HeaderMap::from_iter([(
                http::HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )]);
            assert_eq!(
                retry_after(&headers, now).map(|after| after.as_secs_f64()),
                expected,
                "{name}: {value}"
            );
        }
    }
}
