//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use domain::call::{Format, Surface};

use super::call::{self, Endpoint};
use crate::App;
use crate::request_context::{Outgoing, RequestContext};

pub const PATH: &str = "/v1/chat/completions";
pub(crate) const ENDPOINT: Endpoint = Endpoint { path: PATH, surface: Surface::Converse(Format::Chat) };

/// Create a chat completion, streaming or not. The body is OpenAI's; fields the gateway does not know are passed on.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "inference",
    params(("stream" = Option<bool>, Query, description = "Stream the answer, like the body's `stream`"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same call once: repeated with the same key it gets the same answer")),
    request_body(content = serde_json::Value, description = "An OpenAI chat completion request"),
    responses(
        (status = 200, description = "A chat completion, or a stream of chunks ending in [DONE]"),
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
    complete(&app, context, request).await.map(Body::new)
}

/// Not an async function, which would store its arguments beside the future that it waits for.
pub fn complete<B>(
    app: &App,
    context: RequestContext,
    request: http::Request<B>,
) -> impl Future<Output = http::Response<Outgoing>>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    call::answer(app, context, request, ENDPOINT)
}
