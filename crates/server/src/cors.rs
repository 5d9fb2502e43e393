//! CORS headers for the configured origins.

use axum::body::Body;
use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};

pub fn allowed_origin(origins: &[String], headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(ORIGIN).filter(|_| !origins.is_empty())?;
    let named = origins.iter().any(|known| known == "*" || known.as_bytes() == origin.as_bytes());
    named.then(|| origin.clone())
}

/// Answers a CORS preflight request from an allowed origin. Preflights carry no credentials and need none.
pub fn preflight<B>(request: &Request<B>, origin: Option<&HeaderValue>) -> Option<Response> {
    let origin = origin?;
    if request.method() != Method::OPTIONS || !request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS"),
    );
    let asked = request.headers().get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        asked.unwrap_or(HeaderValue::from_static("authorization, content-type")),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    headers.insert(VARY, HeaderValue::from_static("Origin"));
    Some(response)
}

pub fn expose(headers: &mut HeaderMap, origin: Option<HeaderValue>) {
    let Some(origin) = origin else { return };
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
    headers.append(VARY, HeaderValue::from_static("Origin"));
}
