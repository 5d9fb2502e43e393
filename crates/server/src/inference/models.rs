//! `GET /v1/models` and `/v1/models/{id}`: what this caller may name in a request.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::user_path::UserPath;
use http::HeaderMap;
use pipeline::resolve::access::Access;
use pipeline::{arrival, models};
use serde_json::Value;

use crate::App;
use crate::fault::Problem;
use crate::path::Named;
use crate::principal::{Inference, Principal};

/// The models this caller may use.
#[utoipa::path(get, path = "/v1/models", tag = "inference",
    responses((status = 200, description = "The list of models", body = Value), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["inference"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    principal: Principal<Inference>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    // Anthropic's clients name the version of their API with every request, and read another shape.
    let list =
        if headers.contains_key("anthropic-version") { models::list_for_anthropic } else { models::list };
    let user_path = principal.caller.user_path(arrival::user_path(&headers)?)?;
    Ok(Json(list(&access(&app, &principal, &user_path), app.gateway.policy.keep_only_aliases)))
}

fn access<'a>(app: &App, principal: &'a Principal<Inference>, user_path: &'a UserPath) -> Access<'a> {
    Access::new(&app.gateway.policy, &principal.snapshot, &principal.caller, user_path)
}

/// One model, by any name a request's `model` takes; slashes need no encoding.
#[utoipa::path(get, path = "/v1/models/{*id}", tag = "inference",
    params(("id" = String, Path, description = "The model's name")),
    responses((status = 200, description = "The model", body = Value), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such model")),
    security(("bearer" = ["inference"])))]
pub async fn retrieve(
    State(app): State<Arc<App>>,
    principal: Principal<Inference>,
    headers: HeaderMap,
    Named(id): Named,
) -> Result<Json<Value>, Problem> {
    let user_path = principal.caller.user_path(arrival::user_path(&headers)?)?;
    Ok(Json(models::retrieve(&access(&app, &principal, &user_path), &id)?))
}
