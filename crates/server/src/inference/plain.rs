//! `POST /v1/embeddings`, `/v1/rerank` and `/v1/completions`: forwarded to a provider that supports them.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use domain::call::Surface;

use super::call::{self, Endpoint};
use crate::App;
use crate::request_context::RequestContext;

pub(crate) const EMBEDDINGS: Endpoint = Endpoint { path: "/v1/embeddings", surface: Surface::Embeddings };
pub(crate) const RERANK: Endpoint = Endpoint { path: "/v1/rerank", surface: Surface::Rerank };
pub(crate) const COMPLETIONS: Endpoint = Endpoint { path: "/v1/completions", surface: Surface::Completions };

/// Embed texts. The body is OpenAI's.
#[utoipa::path(post, path = "/v1/embeddings", tag = "inference",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same call once: repeated with the same key it gets the same answer")),
    request_body(content = serde_json::Value, description = "An OpenAI embeddings request"),
    responses((status = 200, description = "A list of embeddings", body = serde_json::Value),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such model"),
        (status = 409, description = "A call with this Idempotency-Key is under way, or its answer was not kept"),
        (status = 422, description = "The Idempotency-Key was used for another request"),
        (status = 501, description = "The provider has no embeddings")),
    security(("bearer" = ["inference"])))]
pub async fn embeddings(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    request: Request,
) -> Response {
    call::answer(&app, context, request, EMBEDDINGS).await.map(Body::new)
}

/// Rank documents by their relevance to a query: `query`, `documents`, `top_n`, `return_documents`.
#[utoipa::path(post, path = "/v1/rerank", tag = "inference",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same call once: repeated with the same key it gets the same answer")),
    request_body(content = serde_json::Value, description = "model, query, documents, top_n, return_documents"),
    responses((status = 200, description = "Results with index and relevance_score", body = serde_json::Value),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such model"),
        (status = 409, description = "A call with this Idempotency-Key is under way, or its answer was not kept"),
        (status = 422, description = "The Idempotency-Key was used for another request"),
        (status = 501, description = "The provider has no reranking")),
    security(("bearer" = ["inference"])))]
pub async fn rerank(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    request: Request,
) -> Response {
    call::answer(&app, context, request, RERANK).await.map(Body::new)
}

/// Complete a text (legacy). The body is OpenAI's.
#[utoipa::path(post, path = "/v1/completions", tag = "inference",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same call once: repeated with the same key it gets the same answer")),
    request_body(content = serde_json::Value, description = "An OpenAI completions request"),
    responses((status = 200, description = "A completion, or a stream of chunks ending in [DONE]"),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such model"),
        (status = 409, description = "A call with this Idempotency-Key is under way, or its answer was not kept"),
        (status = 422, description = "The Idempotency-Key was used for another request"),
        (status = 501, description = "The provider has no completions")),
    security(("bearer" = ["inference"])))]
pub async fn completions(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    request: Request,
) -> Response {
    call::answer(&app, context, request, COMPLETIONS).await.map(Body::new)
}
