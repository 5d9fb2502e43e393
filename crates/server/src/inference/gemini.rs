//! `POST /v1beta/models/{model}:generateContent` and related methods: Gemini's API on any provider.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use domain::call::{Format, Surface};
use domain::fault;
use pipeline::count;

use super::call::{self, Endpoint};
use crate::App;
use crate::fault::Problem;
use crate::path::Named;
use crate::request_context::RequestContext;

pub(crate) const ENDPOINT: Endpoint =
    Endpoint { path: "/v1beta/models", surface: Surface::Converse(Format::Gemini) };

const EMBED: Endpoint = Endpoint { surface: Surface::EmbedContent { batch: false }, ..ENDPOINT };
const BATCH_EMBED: Endpoint = Endpoint { surface: Surface::EmbedContent { batch: true }, ..ENDPOINT };

const METHODS: &str = "A model is called as {model}:generateContent, :streamGenerateContent, :countTokens, :embedContent or :batchEmbedContents.";

/// Generate content: `{model}:generateContent` or `:streamGenerateContent`; count tokens: `:countTokens`; embed texts:
/// `:embedContent` or `:batchEmbedContents`.
#[utoipa::path(post, path = "/v1beta/models/{*call}", operation_id = "generate_content", tag = "inference",
    params(("call" = String, Path, description = "The model's name, a colon and the method"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same call once: repeated with the same key it gets the same answer")),
    request_body(content = serde_json::Value, description = "A Gemini request"),
    responses(
        (status = 200, description = "As Gemini answers: content, a stream of its pieces, a count or embeddings"),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "Not allowed for this key"), (status = 404, description = "No such model or method"),
        (status = 409, description = "A call with this Idempotency-Key is under way, or its answer was not kept"),
        (status = 422, description = "The Idempotency-Key was used for another request"),
        (status = 502, description = "The provider failed")),
    security(("bearer" = ["inference"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    named: Result<Named, Problem>,
    request: Request,
) -> Response {
    answer(&app, context, named, request).await
}

/// Generate content under `/v1/models`, where newer Google SDKs call it.
#[utoipa::path(post, path = "/v1/models/{*id}", operation_id = "generate_content_v1", tag = "inference",
    params(("id" = String, Path, description = "The model's name, a colon and the method"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same call once: repeated with the same key it gets the same answer")),
    request_body(content = serde_json::Value, description = "A Gemini request"),
    responses(
        (status = 200, description = "As Gemini answers: content, a stream of its pieces, a count or embeddings"),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such model or method"),
        (status = 409, description = "A call with this Idempotency-Key is under way, or its answer was not kept"),
        (status = 422, description = "The Idempotency-Key was used for another request")),
    security(("bearer" = ["inference"])))]
pub async fn create_v1(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    named: Result<Named, Problem>,
    request: Request,
) -> Response {
    answer(&app, context, named, request).await
}

async fn answer(
    app: &App,
    context: RequestContext,
    named: Result<Named, Problem>,
    request: Request,
) -> Response {
    let request_id = context.request_id.clone();
    let refuse = |problem: Problem| problem.in_dialect(Format::Gemini, request_id.as_str()).into_response();
    let named = match named {
        Ok(Named(named)) => named,
        Err(problem) => return refuse(problem),
    };
    let (model, method) = named.rsplit_once(':').unwrap_or((&named, ""));
    let (endpoint, stream) = match method {
        "generateContent" | "countTokens" => (ENDPOINT, false),
        "streamGenerateContent" => (ENDPOINT, true),
        "embedContent" => (EMBED, false),
        "batchEmbedContents" => (BATCH_EMBED, false),
        _ => return refuse(fault::not_found(METHODS).into()),
    };
    let (parts, body) = request.into_parts();
    let mut arrival = call::arrival(app, context, parts, endpoint);
    arrival.addressed = Some((model.to_owned(), Some(stream)));
    if method == "countTokens" {
        return match count::gemini(&app.gateway, arrival, body).await {
            Ok((headers, counted)) => (headers, axum::Json(counted)).into_response(),
            Err(refused) => refuse(refused.into()),
        };
    }
    call::run(app, arrival, body).await.map(Body::new)
}
