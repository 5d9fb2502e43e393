//! A single question to one provider, outside the journey of a call: one attempt, answered whole.

use std::time::Duration;

use bytes::Bytes;
use domain::call::Format;
use domain::fault::{self, Fault};
use egress::Outbound;
use http::Method;
use wire::codec;

use crate::gateway::Gateway;
use crate::snapshot::routes::Core;

const PATIENCE: Duration = Duration::from_secs(60);

pub struct Ask {
    pub method: Method,
    /// Below the base URL.
    pub path: String,
    pub body: Vec<Bytes>,
    /// The dialect of the provider's errors.
    pub format: Format,
}

impl Ask {
    pub fn post() -> Self {
        Self { method: Method::POST, path: String::new(), body: Vec::new(), format: Format::Chat }
    }
}

pub async fn ask(gateway: &Gateway, instance: &str, core: &Core, ask: Ask) -> Result<Bytes, Fault> {
    let destination =
        core.destination.clone().map_err(|reason| fault::upstream_unreachable(instance, &reason))?;
    let outbound = Outbound {
        destination,
        method: ask.method,
        path_and_query: ask.path,
        headers: core.headers.clone(),
        body: ask.body.into(),
    };
    let answered = async {
        let inbound = gateway.egress.send(outbound).await;
        let inbound = inbound.map_err(|error| fault::upstream_unreachable(instance, error.reason()))?;
        let status = inbound.status;
        let body = inbound.body.collect(gateway.policy.answer_limit).await;
        let body = body.map_err(|_| fault::upstream_interrupted(instance))?;
        if status.is_success() {
            return Ok(body);
        }
        Err(codec::of(ask.format).read_error(status.as_u16(), &body, instance))
    };
    match tokio::time::timeout(PATIENCE, answered).await {
        Ok(answer) => answer,
        Err(_) => Err(fault::upstream_timeout(instance, PATIENCE)),
    }
}
