//! `/swagger/…`: Swagger UI for the OpenAPI document, with its files in the binary.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::fault;
use http::header::CONTENT_TYPE;
use utoipa_swagger_ui::Config;

use crate::App;
use crate::authorized::{AllAreas, Authorized};
use crate::fault::Problem;
use crate::path::Named;

/// Serves a file of Swagger UI. Needs `SWAGGER_ENABLED` and `DEBUG`.
pub async fn file(
    State(app): State<Arc<App>>,
    _: Authorized<AllAreas>,
    Named(name): Named,
) -> Result<Response, Problem> {
    let base = app.config.base_path.trim_end_matches('/');
    let config = Config::from(format!("{base}/admin/api/v1/openapi.json"));
    match utoipa_swagger_ui::serve(&name, Arc::new(config)) {
        Ok(Some(file)) => Ok(([(CONTENT_TYPE, file.content_type)], file.bytes.into_owned()).into_response()),
        Ok(None) => Err(fault::not_found(format!("There is no file '{name}' in Swagger UI.")).into()),
        Err(_) => Err(fault::internal_error().into()),
    }
}
