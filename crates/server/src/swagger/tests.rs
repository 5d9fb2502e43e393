//! Tests of the answers with files of Swagger UI: encodings, headers, and builds without them.

use axum::response::IntoResponse as _;
use dashboard::File;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderName, HeaderValue};
use http_body_util::BodyExt as _;

use super::*;

/// `body{}` as gzip (stored, not compressed).
const PACKED: &[u8] = &[
    31, 139, 8, 0, 0, 0, 0, 0, 0, 255, 1, 6, 0, 249, 255, 98, 111, 100, 121, 123, 125, 89, 113, 135, 226, 6,
    0, 0, 0,
];
const NONE: File = File { name: "", is_hashed: false, tag: "t", plain: None, brotli: None, gzip: None };
/// A dashboard with Swagger UI.
const BUILT: Site = Site {
    files: &[
        File { name: "index.html", plain: Some(b"dashboard"), ..NONE },
        File { name: "swagger/index.html", plain: Some(b"swagger"), ..NONE },
        File {
            name: "swagger/swagger-ui.css",
            brotli: Some(b"packed by brotli"),
            gzip: Some(PACKED),
            ..NONE
        },
    ],
};

fn get(site: Site, name: &str, request: &[(HeaderName, &'static str)]) -> Response {
    let headers = request.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
    answer(site, name, &headers.collect()).unwrap_or_else(|problem| problem.into_response())
}

fn header(response: &Response, name: HeaderName) -> &str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

async fn body(response: Response) -> Vec<u8> {
    response.into_body().collect().await.unwrap().to_bytes().to_vec()
}

#[tokio::test]
async fn files_are_sent_in_an_encoding_that_the_client_accepts() {
    for (accepted, encoding, content) in
        [("gzip, br", "br", &b"packed by brotli"[..]), ("gzip", "gzip", PACKED), ("identity", "", b"body{}")]
    {
        let style = get(BUILT, "swagger-ui.css", &[(ACCEPT_ENCODING, accepted)]);
        assert_eq!(style.status(), 200, "{accepted}");
        assert_eq!(header(&style, CONTENT_ENCODING), encoding, "{accepted}");
        assert_eq!(header(&style, CONTENT_TYPE), "text/css; charset=utf-8");
        assert_eq!(header(&style, VARY), "accept-encoding");
        assert_eq!(header(&style, CACHE_CONTROL), "no-cache", "its name does not change with its content");
        let tag = header(&style, ETAG).to_owned();
        assert_eq!(body(style).await, content, "{accepted}");
        let known = [(ACCEPT_ENCODING, accepted), (IF_NONE_MATCH, &*tag.leak())];
        assert_eq!(get(BUILT, "swagger-ui.css", &known).status(), 304, "{accepted}");
    }
}

#[tokio::test]
async fn the_page_is_that_of_swagger_ui_and_protected() {
    let page = get(BUILT, "index.html", &[]);
    assert_eq!((page.status().as_u16(), header(&page, CONTENT_TYPE)), (200, "text/html; charset=utf-8"));
    let policy = header(&page, CONTENT_SECURITY_POLICY);
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    assert_eq!(header(&page, X_CONTENT_TYPE_OPTIONS), "nosniff");
    assert_eq!(body(page).await, b"swagger");
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let missing = get(BUILT, "swagger-ui.css.map", &[]);
    assert_eq!(missing.status(), 404);
    assert!(String::from_utf8(body(missing).await).unwrap().contains("'swagger-ui.css.map'"));
    for name in ["index.html", "swagger-ui.css"] {
        let unbuilt = get(Site { files: &[] }, name, &[]);
        assert_eq!(unbuilt.status(), 503, "{name}");
        let text = String::from_utf8(body(unbuilt).await).unwrap();
        assert!(text.contains("feature_unavailable") && text.contains("make run"), "{text}");
    }
}
