//! `GET /v1/models` and `/v1/models/{id}`: what this caller may name in a request.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use pipeline::models;
use serde_json::Value;

use crate::App;
use crate::fault::Problem;
use crate::path::Named;
use crate::principal::{Inference, Principal};

/// The models this caller may use.
#[utoipa::path(get, path = "/v1/models", tag = "inference",
    responses((status = 200, description = "The list of models", body = Value), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["inference"])))]
pub async fn list(State(_app): State<Arc<App>>, principal: Principal<Inference>) -> Json<Value> {
    Json(models::list(&principal.snapshot, &principal.caller))
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
