//! Routes outside of all areas: the root, metrics, and the fallbacks for unknown routes and methods.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::call::Format;
use domain::fault as faults;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{Method, StatusCode, Uri};
use pipeline::gateway::metrics_page;

use crate::App;
use crate::authorized::{Authorized, Metrics, Read};
use crate::fault::{Problem, answer};
use crate::request_context::RequestContext;
use crate::unknown_route;

pub async fn front(State(app): State<Arc<App>>) -> Response {
    let base = app.config.base_path.trim_end_matches('/');
    (StatusCode::FOUND, [(LOCATION, format!("{base}/admin/dashboard"))]).into_response()
}

/// Answers the HEAD request that Claude Code sends before its first call.
pub async fn alive() -> StatusCode {
    StatusCode::OK
}

pub async fn metrics(State(app): State<Arc<App>>, _: Authorized<Read<Metrics>>) -> Response {
    let ping = tokio::time::timeout(app.config.probe_timeout, app.refresher.store().ping()).await;
    let storage_up = matches!(ping, Ok(Ok(())));
    let page = metrics_page::page(
        &app.gateway,
        &metrics_page::ServerMetrics {
            version: app.config.version,
            storage_up,
            tasks: app.unfinished_tasks(),
        },
    );
    ([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], page).into_response()
}

pub async fn not_found(uri: Uri, Extension(context): Extension<RequestContext>) -> Problem {
    let message = unknown_route::message(uri.path());
    in_dialect_of(&uri, context.request_id.as_str(), answer(faults::not_found(message)))
}

pub async fn method_not_allowed(
    method: Method,
    uri: Uri,
    Extension(context): Extension<RequestContext>,
) -> Problem {
    in_dialect_of(&uri, context.request_id.as_str(), answer(faults::method_not_allowed(method.as_str())))
}

/// Renders a problem in the API format of the path: clients of `/v1/messages` and `/v1beta` parse only Anthropic's and
/// Google's error formats.
pub(crate) fn in_dialect_of(uri: &Uri, request_id: &str, problem: Problem) -> Problem {
    let path = uri.path();
    let format = match () {
        () if path.contains("/v1/messages") => Format::Messages,
        () if path.contains("/v1beta/") || path.ends_with("/v1beta") => Format::Gemini,
        () => return problem,
    };
    problem.in_dialect(format, request_id)
}
