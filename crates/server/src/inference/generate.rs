//! `POST /v1beta/models/{model}:generateContent` and its like: Gemini's API, on any provider.

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
use crate::door::Visit;
use crate::fault::Problem;
use crate::path::Named;

pub(crate) const ENDPOINT: Endpoint =
    Endpoint { path: "/v1beta/models", surface: Surface::Converse(Format::Generate) };

/// Generate content: `{model}:generateContent`, `{model}:streamGenerateContent` or `{model}:countTokens`.
#[utoipa::path(post, path = "/v1beta/models/{*call}", operation_id = "generate_content", tag = "inference",
    params(("call" = String, Path, description = "The model's name, a colon and the method")),
    request_body(content = serde_json::Value, description = "A Gemini generateContent request"),
    responses(
        (status = 200, description = "A generated content, or a stream of its pieces"),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "Not allowed for this key"), (status = 404, description = "No such model or method"),
        (status = 502, description = "The provider failed")),
    security(("bearer" = ["inference"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Visit>,
    Named(named): Named,
    request: Request,
) -> Response {
    answer(&app, visit, &named, request).await
}

/// The same below `/v1/models`, where newer clients of Google's look for it.
#[utoipa::path(post, path = "/v1/models/{*id}", operation_id = "generate_content_v1", tag = "inference",
    params(("id" = String, Path, description = "The model's name, a colon and the method")),
    request_body(content = serde_json::Value, description = "A Gemini generateContent request"),
    responses(
        (status = 200, description = "A generated content, or a stream of its pieces"),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such model or method")),
    security(("bearer" = ["inference"])))]
pub async fn create_v1(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Visit>,
    Named(named): Named,
    request: Request,
) -> Response {
    answer(&app, visit, &named, request).await
}

async fn answer(app: &App, visit: Visit, named: &str, request: Request) -> Response {
    let (model, method) = named.rsplit_once(':').unwrap_or((named, ""));
    let stream = match method {
        "generateContent" | "countTokens" => false,
        "streamGenerateContent" => true,
        _ => {
            let message =
                "A model is called as {model}:generateContent, :streamGenerateContent or :countTokens.";
            return Problem::from(fault::not_found(message)).into_response();
        }
    };
    let (parts, body) = request.into_parts();
    let mut arrival = call::arrival(app, visit, parts, ENDPOINT);
    arrival.addressed = Some((model.to_owned(), stream));
    if method == "countTokens" {
        return match count::generate(&app.gateway, arrival, body).await {
            Ok((headers, counted)) => (headers, axum::Json(counted)).into_response(),
            Err(refused) => Problem::from(refused).into_response(),
        };
    }
    call::run(app, arrival, body).await.map(Body::new)
}
