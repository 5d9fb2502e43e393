//! A single question to one provider, outside the journey of a call: one attempt, answered whole.

use std::time::Duration;

use bytes::Bytes;
use domain::call::Format;
use domain::fault::{self, Fault};
use egress::Outbound;
use http::{HeaderName, HeaderValue, Method};
use wire::codec;

use crate::content_encoding;
use crate::dispatch::{interrupted, retry_after};
use crate::gateway::Gateway;
use crate::snapshot::routes::Core;

/// Questions are short; what makes a provider work says so.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Ask {
    pub method: Method,
    /// Below the base URL.
    pub path: String,
    pub body: Vec<Bytes>,
    /// The dialect of the provider's errors.
    pub format: Format,
    /// Headers beside the instance's own.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub patience: Duration,
}

impl Ask {
    pub fn post() -> Self {
        Self {
            method: Method::POST,
            path: String::new(),
            body: Vec::new(),
            format: Format::Chat,
            headers: Vec::new(),
            patience: PATIENCE,
        }
    }
}

pub async fn ask(gateway: &Gateway, instance: &str, core: &Core, ask: Ask) -> Result<Bytes, Fault> {
    let destination =
        core.destination.clone().map_err(|reason| fault::upstream_unreachable(instance, &reason))?;
    let outbound = Outbound {
        destination,
        method: ask.method,
        path_and_query: ask.path,
        headers: ask
            .headers
            .into_iter()
            .fold(core.headers.clone(), |all, (name, value)| all.with(name, value)),
        body: ask.body.into(),
    };
    let answered = async {
        let inbound = gateway.egress.send(outbound).await;
        let inbound = inbound.map_err(|error| fault::upstream_unreachable(instance, error.reason()))?;
        let status = inbound.status;
        let after = retry_after(&inbound.headers, gateway.clock.now());
        let limit = gateway.policy.answer_limit;
        let body = inbound.body.collect(limit).await;
        let body = body.and_then(|body| content_encoding::decode(&inbound.headers, body, limit));
        let body = body.map_err(|error| interrupted(instance, &error))?;
        if status.is_success() {
            return Ok(body);
        }
        let mut fault = codec::of(ask.format).read_error(status.as_u16(), &body, instance);
        fault.retry_after = after.or(fault.retry_after);
        gateway.scrub(&mut fault);
        Err(fault)
    };
    match tokio::time::timeout(ask.patience, answered).await {
        Ok(answer) => answer,
        Err(_) => Err(fault::upstream_timeout(instance, ask.patience)),
    }
}
