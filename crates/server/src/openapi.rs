//! The OpenAPI document, generated from the handlers and served to callers with the scope `admin:read`.

use std::sync::OnceLock;

use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

use crate::principal::{Everything, Principal};

#[derive(OpenApi)]
#[openapi(info(
    title = "Gatehouse",
    version = "1.0",
    description = "An AI gateway: OpenAI-compatible inference and the admin API that steers it."
))]
struct Base;

pub fn base() -> utoipa::openapi::OpenApi {
    let mut document = Base::openapi();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    document.components.get_or_insert_default().add_security_scheme("bearer", SecurityScheme::Http(bearer));
    document
}

/// Get the OpenAPI document.
#[utoipa::path(get, path = "/admin/api/v1/openapi.json", tag = "config",
    responses((status = 200, description = "The OpenAPI document"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:read"])))]
pub async fn serve(_: Principal<Everything>) -> Response {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| crate::router::document().to_json().unwrap_or_default());
    ([(CONTENT_TYPE, "application/json")], text.as_str()).into_response()
}
