//! `GET /admin/api/v1/openapi.json`: the OpenAPI document, for callers with the scope `admin:read`.

use std::sync::OnceLock;

use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;

use crate::authorized::{AllAreas, Authorized};
use crate::openapi;

/// Get the OpenAPI document.
#[utoipa::path(get, path = "/admin/api/v1/openapi.json", tag = "config",
    responses((status = 200, description = "The OpenAPI document"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:read"])))]
pub async fn serve(_: Authorized<AllAreas>) -> Response {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| openapi::published().to_string());
    ([(CONTENT_TYPE, "application/json")], text.as_str()).into_response()
}
