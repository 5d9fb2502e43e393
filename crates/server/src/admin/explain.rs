//! `POST /admin/api/v1/explain`: explains the routing, cost and limits of a request without sending it.

mod explained_request;
pub mod replay;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use bytes::Bytes;
use domain::fault::{self, Fault};
use domain::ids;
use domain::principal::Principal;
use http::{HeaderMap, HeaderName, HeaderValue};
use pipeline::call::arrival::RequestId;
use pipeline::call::response_headers::REQUEST_ID;
use pipeline::explain::{Explanation, ExplanationRequest};
use pipeline::services::body_work::LARGE_BODY;
use pipeline::snapshot::Snapshot;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::App;
use crate::authorized::{Authorized, Explain, Read};
use crate::body::Strict;
use crate::fault::Problem;
use crate::inference::{call, chat};
use crate::request_context::RequestContext;
use explained_request::ExplainedRequest;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest {
    /// Only POST, which is also the default.
    #[serde(default)]
    pub method: Option<String>,
    /// Path and query. Default: /v1/chat/completions
    #[serde(default)]
    pub path: Option<String>,
    /// Request headers; credentials are ignored. The same X-Request-Id leads to the same random choices as in the call.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The request body.
    #[schema(value_type = Object)]
    pub body: Box<RawValue>,
    /// The key that would make the call. Default: the caller.
    #[serde(default)]
    pub as_key_id: Option<String>,
}

/// Explain a request: the caller, the route, the targets in order with reasons, the request that would be sent and its
/// possible cost. Nothing is sent or charged.
#[utoipa::path(post, path = "/admin/api/v1/explain", operation_id = "explain", tag = "explain", request_body = ExplainRequest,
    responses((status = 200, description = "The decision; what the call would not get to is null", body = Explanation),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "What was said before is not for this key"), (status = 404, description = "No such key")),
    security(("bearer" = ["admin:explain:read"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    authorized: Authorized<Read<Explain>>,
    Strict(request): Strict<ExplainRequest>,
) -> Result<Json<Explanation>, Problem> {
    Ok(Json(explain(&app, context, authorized.principal, authorized.snapshot, request).await?))
}

/// Explains a request of a caller.
pub(super) async fn explain(
    app: &Arc<App>,
    context: RequestContext,
    asker: Principal,
    snapshot: Arc<Snapshot>,
    request: ExplainRequest,
) -> Result<Explanation, Fault> {
    if let Some(method) = request.method.as_deref().filter(|method| !method.eq_ignore_ascii_case("POST")) {
        let message = format!("'{method}' is not explained: calls of models are POST.");
        return Err(fault::invalid_parameter("method", message));
    }
    let principal = match &request.as_key_id {
        None => asker.clone(),
        Some(id) => named(&snapshot, &asker, id)?,
    };
    let headers = headers(&request.headers)?;
    let request_id = request_id(app, headers.get(REQUEST_ID));
    let path = request.path.as_deref().unwrap_or(chat::PATH);
    let ExplainedRequest { endpoint, addressed, mut parts } =
        explained_request::find(path, &app.config.base_path)?;
    parts.headers = headers;
    let mut arrival =
        call::arrival(app, RequestContext { request_id, slot: None, ..context }, parts, endpoint);
    arrival.addressed = addressed;
    let body = Bytes::from(String::from(Box::<str>::from(request.body)));
    let question = ExplanationRequest { arrival, body, principal, asker, is_replay: false };
    run(app, &snapshot, question).await
}

/// The id that a client sent, or a new one.
fn request_id(app: &App, sent: Option<&HeaderValue>) -> RequestId {
    let gateway = &app.gateway;
    let new = || RequestId::made(ids::unique(gateway.clock.now(), &*gateway.entropy));
    RequestId::accept(sent).unwrap_or_else(new)
}

/// Runs an explanation; on a worker thread if the body is large or a classifier may score its texts.
async fn run(
    app: &Arc<App>,
    snapshot: &Arc<Snapshot>,
    question: ExplanationRequest,
) -> Result<Explanation, Fault> {
    let gateway = &app.gateway;
    let is_classified = snapshot.guardrails.use_classifier() && gateway.injection_scorer.is_available();
    if question.body.len() < LARGE_BODY && !is_classified {
        return pipeline::explain::explain(gateway, snapshot, question).await;
    }
    // Both take too long for a thread that serves connections.
    let (runtime, explained, snapshot) = (tokio::runtime::Handle::current(), app.clone(), snapshot.clone());
    let explain =
        move || runtime.block_on(pipeline::explain::explain(&explained.gateway, &snapshot, question));
    gateway.body_work.run(&gateway.tasks, explain).await?
}

/// Finds the key to explain for. A caller bound to a user path or a tenant may name keys of those and its own.
fn named(snapshot: &Snapshot, asker: &Principal, id: &str) -> Result<Principal, Fault> {
    let own = asker.key();
    let reach = asker.own_path();
    let found = snapshot.keys.by_id(id).filter(|key| {
        let path = key.user_path.clone().unwrap_or_default();
        let is_reached =
            reach.is_none_or(|reach| reach.covers(&path)) && asker.sees_tenant(key.tenant_id.as_deref());
        own.is_some_and(|own| own.id == key.id) || is_reached
    });
    let missing = || fault::not_found(format!("There is no key '{id}'.")).param("as_key_id");
    found.cloned().map(Principal::Key).ok_or_else(missing)
}

fn headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, Fault> {
    let mut headers = HeaderMap::with_capacity(given.len());
    for (name, value) in given {
        let refused = |what: &str| {
            fault::invalid_parameter(format!("headers.{name}"), format!("This is not {what} of a header."))
        };
        let name = HeaderName::try_from(name).map_err(|_| refused("the name"))?;
        headers.append(name, HeaderValue::try_from(value).map_err(|_| refused("the value"))?);
    }
    Ok(headers)
}
