//! `POST /v1/messages` and `/v1/messages/count_tokens`: Anthropic's API, on any provider.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use domain::call::{Format, Surface};
use pipeline::count;

use super::call::{self, Endpoint};
use crate::App;
use crate::fault::Problem;
use crate::request_context::RequestContext;

pub(crate) const CREATE: Endpoint =
    Endpoint { path: "/v1/messages", surface: Surface::Converse(Format::Messages) };
const COUNT: Endpoint = Endpoint { path: "/v1/messages/count_tokens", ..CREATE };

/// Create a message, streaming or not. The body is Anthropic's; errors have Anthropic's shape.
#[utoipa::path(post, path = "/v1/messages", operation_id = "create_message", tag = "inference",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same call once: repeated with the same key it gets the same answer")),
    request_body(content = serde_json::Value, description = "An Anthropic messages request"),
    responses(
        (status = 200, description = "A message, or a stream of its events"),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "Not allowed for this key"), (status = 404, description = "No such model"),
        (status = 409, description = "A call with this Idempotency-Key is under way, or its answer was not kept"),
        (status = 422, description = "The Idempotency-Key was used for another request"),
        (status = 413, description = "Body too large"), (status = 429, description = "Rate limited"),
        (status = 502, description = "The provider failed"), (status = 504, description = "The provider was too slow")),
    security(("bearer" = ["inference"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    request: Request,
) -> Response {
    call::answer(&app, context, request, CREATE).await.map(Body::new)
}

/// Count the input tokens of a messages request without answering it: by the provider if it supports counting, else by
/// the gateway's own tokenizer (then `estimated` is true).
#[utoipa::path(post, path = "/v1/messages/count_tokens", tag = "inference",
    request_body(content = serde_json::Value, description = "An Anthropic messages request"),
    responses((status = 200, description = "The number of input tokens", body = serde_json::Value),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such model")),
    security(("bearer" = ["inference"])))]
pub async fn count_tokens(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    request: Request,
) -> Response {
    let request_id = context.request_id.clone();
    let (parts, body) = request.into_parts();
    let arrival = call::arrival(&app, context, parts, COUNT);
    match count::messages(&app.gateway, arrival, body).await {
        Ok((headers, counted)) => (headers, axum::Json(counted)).into_response(),
        Err(refused) => {
            Problem::from(refused).in_dialect(Format::Messages, request_id.as_str()).into_response()
        }
    }
}
