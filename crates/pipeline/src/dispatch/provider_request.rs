//! A single request to one provider outside the normal call path: one attempt, with the response read in full.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::call::Format;
use domain::fault::{self, Fault};
use http::{HeaderName, HeaderValue, Method};
use wire::formats;

use crate::dispatch::retry_after;
use crate::gateway::Gateway;
use crate::routing::client_credential::ClientCredential;
use crate::routing::routes::{Accept, InstanceConfig, InstanceRequest};
use crate::services::content_encoding;
use crate::streaming::interrupted;

/// The default timeout. Requests that take the provider longer set their own.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A request to one provider, with its own timeout.
pub struct ProviderRequest {
    pub method: Method,
    /// The path below the base URL.
    pub path: String,
    pub body: Vec<Bytes>,
    /// The format of the provider's error bodies.
    pub format: Format,
    /// Headers in addition to those of the provider instance.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub timeout: Duration,
    /// The client's own credential, in place of the instance's.
    pub client_credential: Option<Arc<ClientCredential>>,
}

impl ProviderRequest {
    pub fn post() -> Self {
        Self {
            method: Method::POST,
            path: String::new(),
            body: Vec::new(),
            format: Format::Chat,
            headers: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            client_credential: None,
        }
    }
}

/// Sends the request and returns the body of a successful response.
pub async fn send(
    gateway: &Gateway,
    instance: &str,
    core: &InstanceConfig,
    request: ProviderRequest,
) -> Result<Bytes, Fault> {
    let destination =
        core.destination.clone().map_err(|reason| fault::upstream_unreachable(instance, &reason))?;
    let instance_request = InstanceRequest {
        destination,
        method: request.method,
        path_and_query: request.path,
        accept: Accept::Document,
        body: request.body.into(),
        client_credential: request.client_credential.clone(),
    };
    let outbound = core.outbound(instance_request, |headers| {
        request.headers.into_iter().fold(headers, |all, (name, value)| all.with(name, value))
    });
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
        let mut fault = formats::upstream(request.format).read_error(status.as_u16(), &body, instance);
        if let Some(credential) = &request.client_credential {
            fault = credential.relay(fault);
        }
        fault.retry_after = after.or(fault.retry_after);
        gateway.scrub(&mut fault);
        Err(fault)
    };
    match tokio::time::timeout(request.timeout, answered).await {
        Ok(answer) => answer,
        Err(_) => Err(fault::upstream_timeout(instance, request.timeout)),
    }
}
