//! Runs one call through the pipeline in any API format and renders faults in the client's format.

use axum::response::IntoResponse as _;
use bytes::Bytes;
use domain::call::Surface;
use pipeline::call::arrival::Arrival;
use pipeline::routing::client_credential::ClientCredential;

use crate::App;
use crate::azure::{AzureDeployment, RewrittenFrom};
use crate::fault::Problem;
use crate::request_context::{Outgoing, RequestContext};

/// A route and the API surface it serves.
#[derive(Clone, Copy)]
pub struct Endpoint {
    pub path: &'static str,
    pub surface: Surface,
}

/// The routes on which a client may send its own provider credential.
const CLIENT_CREDENTIALS: [&str; 3] =
    ["/v1/messages", "/v1/messages/count_tokens", pipeline::passthrough::ROUTE];

/// Builds the arrival of a call: everything about the request except its body.
pub fn arrival(
    app: &App,
    context: RequestContext,
    mut parts: http::request::Parts,
    endpoint: Endpoint,
) -> Arrival {
    let provider_types = match CLIENT_CREDENTIALS.contains(&endpoint.path) {
        true => &*app.gateway.policy.client_credentials,
        false => &[],
    };
    let client_credential = ClientCredential::take(&mut parts.headers, provider_types);
    let addressed = parts.extensions.get::<AzureDeployment>().map(|deployment| (deployment.0.clone(), None));
    let written = parts.extensions.get::<RewrittenFrom>().map_or(&parts.uri, |original| &original.0);
    Arrival {
        request_id: context.request_id,
        at: app.gateway.clock.now(),
        tick: app.gateway.clock.tick(),
        method: "POST",
        endpoint: endpoint.path,
        surface: endpoint.surface,
        addressed,
        path: app.gateway.policy.audit.enabled.then(|| path(app, written)),
        query: parts.uri.query().map(str::to_owned),
        client_ip: context.client_ip,
        headers: parts.headers.into(),
        client_credential,
        credential_digest: context.slot.as_ref().map(|slot| slot.credential_digest.clone()),
    }
}

/// The request path without the base path.
fn path(app: &App, uri: &http::Uri) -> String {
    let base = app.config.base_path.trim_end_matches('/');
    let path = uri.path();
    path.strip_prefix(base).unwrap_or(path).chars().take(2000).collect()
}

/// Not an async function, which would store its arguments beside the future that it waits for.
pub fn answer<B>(
    app: &App,
    context: RequestContext,
    request: http::Request<B>,
    endpoint: Endpoint,
) -> impl Future<Output = http::Response<Outgoing>>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let (parts, body) = request.into_parts();
    run(app, arrival(app, context, parts, endpoint), body)
}

pub async fn run<B>(app: &App, arrival: Arrival, body: B) -> http::Response<Outgoing>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let (format, request_id) = (arrival.surface.format(), arrival.request_id.clone());
    match pipeline::run(&app.gateway, arrival, body).await {
        Ok(reply) => {
            let mut response = http::Response::new(Outgoing::Reply(reply.body));
            *response.status_mut() = reply.status;
            *response.headers_mut() = reply.headers;
            response
        }
        Err(refused) => {
            let problem = Problem::from(refused).in_dialect(format, request_id.as_str());
            problem.into_response().map(Outgoing::Framework)
        }
    }
}
