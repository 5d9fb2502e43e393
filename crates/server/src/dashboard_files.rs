//! `/admin/dashboard`: the files of the dashboard. They contain no data, so they need no credential.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use dashboard::{Encoding, File, Found, PLAIN_PAGE, SITE, Site};
use domain::fault;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::App;
use crate::fault::Problem;
use crate::path::Named;

/// Everything comes from the gateway, and no script or style is written into a page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Whether this build contains the dashboard.
pub fn has_dashboard() -> bool {
    !SITE.files.is_empty()
}

/// The application at its root.
pub async fn index(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    answer(SITE, base_path(&app), "", &headers)
}

/// A file of the application, or the application itself for the path of a view.
pub async fn file(
    State(app): State<Arc<App>>,
    Named(path): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    answer(SITE, base_path(&app), &path, &headers)
}

fn base_path(app: &App) -> &str {
    app.config.base_path.trim_end_matches('/')
}

fn answer(site: Site, base: &str, path: &str, request: &HeaderMap) -> Result<Response, Problem> {
    let response = match site.find(path) {
        Found::File(file) => send(&file, request),
        Found::Index(index) => send_index(&index, base, request),
        Found::NotBuilt => send_plain_page(),
        Found::Missing => {
            let message =
                format!("The dashboard has no file '{path}'. Reload the page: it may be of another version.");
            return Err(fault::not_found(message).into());
        }
    };
    Ok(protected(response))
}

/// Answers with a file in the best encoding that the client accepts, or with 304 if it has the file already.
pub(crate) fn send(file: &File, request: &HeaderMap) -> Response {
    let accepted = request.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let content = file.content(accepted);
    let mut headers = HeaderMap::new();
    if content.varies {
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    }
    let caching = if file.is_hashed { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    let tag = entity_tag(file, content.encoding);
    if is_known(request, &tag) {
        return not_modified(headers, tag);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.content_type()));
    if let Some(encoding) = content.encoding.header() {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    tagged((headers, Body::from(content.bytes)).into_response(), tag)
}

/// The page is small: it is sent as it is, with its links below the base path.
fn send_index(index: &File, base: &str, request: &HeaderMap) -> Response {
    let tag = entity_tag(index, Encoding::Identity);
    let mut headers = HeaderMap::new();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if is_known(request, &tag) {
        return not_modified(headers, tag);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(index.content_type()));
    tagged((headers, index.below(base)).into_response(), tag)
}

fn send_plain_page() -> Response {
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CACHE_CONTROL, "no-cache")];
    (headers, PLAIN_PAGE).into_response()
}

/// The encodings of a file are different entities.
fn entity_tag(file: &File, encoding: Encoding) -> String {
    match encoding.header() {
        Some(encoding) => format!("\"{}-{encoding}\"", file.tag),
        None => format!("\"{}\"", file.tag),
    }
}

/// Whether the client has the entity already (RFC 9110, section 13.1.2).
fn is_known(request: &HeaderMap, tag: &str) -> bool {
    let lines = request.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    let mut tags = lines.flat_map(|line| line.split(',')).map(str::trim);
    tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

fn not_modified(headers: HeaderMap, tag: String) -> Response {
    tagged((StatusCode::NOT_MODIFIED, headers).into_response(), tag)
}

fn tagged(mut response: Response, tag: String) -> Response {
    if let Ok(value) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, value);
    }
    response
}

/// Adds the headers that keep a browser from loading or running anything from elsewhere.
pub(crate) fn protected(mut response: Response) -> Response {
    let fixed: [(HeaderName, &str); 3] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests;
