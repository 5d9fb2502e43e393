//! `/swagger/…`: Swagger UI for the OpenAPI document. Its files are built and embedded together with the dashboard.

use axum::response::Response;
use dashboard::{Found, SITE, Site};
use domain::fault;
use http::HeaderMap;

use crate::authorized::{AllAreas, Authorized};
use crate::dashboard_files::{protected, send};
use crate::fault::Problem;
use crate::path::Named;

/// Serves a file of Swagger UI. Needs `SWAGGER_ENABLED` and `DEBUG`. The page names the document relative to itself, so the files
/// are the same below every base path.
pub async fn file(
    _: Authorized<AllAreas>,
    Named(name): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    answer(SITE, &name, &headers)
}

fn answer(site: Site, name: &str, request: &HeaderMap) -> Result<Response, Problem> {
    match site.find_swagger(name) {
        Found::File(file) | Found::Index(file) => Ok(protected(send(&file, request))),
        Found::NotBuilt => Err(fault::feature_unavailable(
            "Swagger UI is built with the dashboard, which is not part of this build. Install Node.js 20.19 or later with npm, \
             stop the gateway, and run `make run` in the source tree. The OpenAPI document is at \
             /admin/api/v1/openapi.json.",
        )
        .into()),
        Found::Missing => {
            let message = format!("There is no file '{name}' in Swagger UI. Its page is /swagger/index.html.");
            Err(fault::not_found(message).into())
        }
    }
}

#[cfg(test)]
mod tests;
