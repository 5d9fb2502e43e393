//! `GET /v1/models` and `/v1/models/{id}`: the models that the caller may use.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::user_path::UserPath;
use http::HeaderMap;
use pipeline::call::arrival;
use pipeline::routing::models;
use pipeline::routing::resolve::access::Access;
use serde_json::Value;

use crate::App;
use crate::authorized::{Authorized, Inference};
use crate::fault::Problem;
use crate::inference::google_models;
use crate::path::Named;
use crate::query::Pairs;

/// List the models that the caller may use.
#[utoipa::path(get, path = "/v1/models", tag = "inference",
    responses((status = 200, description = "The list of models", body = Value), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["inference"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Inference>,
    headers: HeaderMap,
    Query(pairs): Query<Pairs>,
) -> Result<Json<Value>, Problem> {
    let user_path = authorized.principal.user_path(arrival::user_path(|name| headers.get(name))?)?;
    let access = access(&app, &authorized, &user_path);
    let keep_only_aliases = app.gateway.policy.keep_only_aliases;
    if is_google_client(&headers) {
        let all = models::list_for_google(&access, keep_only_aliases);
        return Ok(Json(google_models::page(all, &pairs)?));
    }
    // Anthropic's clients send their API version with every request and expect another format.
    let list =
        if headers.contains_key("anthropic-version") { models::list_for_anthropic } else { models::list };
    Ok(Json(list(&access, keep_only_aliases)))
}

/// Detects Google's newer SDKs, which list models under `/v1` and differ from OpenAI's clients only in their credential
/// header.
fn is_google_client(headers: &HeaderMap) -> bool {
    headers.contains_key("x-goog-api-key") && !headers.contains_key(http::header::AUTHORIZATION)
}

fn access<'a>(app: &App, authorized: &'a Authorized<Inference>, user_path: &'a UserPath) -> Access<'a> {
    Access::new(&app.gateway.policy, &authorized.snapshot.routes, &authorized.principal, user_path)
}

/// Get one model by any name that a request's `model` accepts; slashes need no encoding.
#[utoipa::path(get, path = "/v1/models/{*id}", tag = "inference",
    params(("id" = String, Path, description = "The model's name")),
    responses((status = 200, description = "The model", body = Value), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such model")),
    security(("bearer" = ["inference"])))]
pub async fn retrieve(
    State(app): State<Arc<App>>,
    authorized: Authorized<Inference>,
    headers: HeaderMap,
    Named(id): Named,
) -> Result<Json<Value>, Problem> {
    let user_path = authorized.principal.user_path(arrival::user_path(|name| headers.get(name))?)?;
    let retrieve = if is_google_client(&headers) { models::retrieve_for_google } else { models::retrieve };
    Ok(Json(retrieve(&access(&app, &authorized, &user_path), &id)?))
}
