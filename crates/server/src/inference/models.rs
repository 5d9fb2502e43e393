//! `GET /v1/models` and `/v1/models/{id}`: what this caller may name in a request.

use axum::Json;
use http::HeaderMap;
use pipeline::models;
use serde_json::Value;

use crate::fault::Problem;
use crate::path::Named;
use crate::principal::{Inference, Principal};

/// The models this caller may use.
#[utoipa::path(get, path = "/v1/models", tag = "inference",
    responses((status = 200, description = "The list of models", body = Value), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["inference"])))]
pub async fn list(principal: Principal<Inference>, headers: HeaderMap) -> Json<Value> {
    // Anthropic's clients name the version of their API with every request, and read another shape.
    let list =
        if headers.contains_key("anthropic-version") { models::list_for_anthropic } else { models::list };
    Json(list(&principal.snapshot, &principal.caller))
}

/// One model, by any name a request's `model` takes; slashes need no encoding.
#[utoipa::path(get, path = "/v1/models/{*id}", tag = "inference",
    params(("id" = String, Path, description = "The model's name")),
    responses((status = 200, description = "The model", body = Value), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such model")),
    security(("bearer" = ["inference"])))]
pub async fn retrieve(principal: Principal<Inference>, Named(id): Named) -> Result<Json<Value>, Problem> {
    Ok(Json(models::retrieve(&principal.snapshot, &principal.caller, &id)?))
}
