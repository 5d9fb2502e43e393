//! Tests of the headers of dashboard files: caching, conditional requests, encodings, protection.

use http_body_util::BodyExt as _;

use super::*;

const PAGE: &[u8] = br#"<script type="module" src="/admin/dashboard/assets/app-1a.js"></script>"#;

/// A dashboard with a page, a compressed script and a font.
fn site() -> Site {
    const NONE: File = File { name: "", is_hashed: true, tag: "t", plain: None, brotli: None, gzip: None };
    const FILES: &[File] = &[
        File {
            name: "assets/app-1a.js",
            brotli: Some(b"packed by brotli"),
            gzip: Some(b"packed by gzip"),
            ..NONE
        },
        File { name: "assets/inter-2b.woff2", plain: Some(b"font"), ..NONE },
        File { name: "favicon.svg", is_hashed: false, plain: Some(b"<svg/>"), ..NONE },
        File { name: "index.html", is_hashed: false, tag: "page", plain: Some(PAGE), ..NONE },
    ];
    Site { files: FILES }
}

fn get(path: &str, request: &[(HeaderName, &'static str)]) -> Response {
    let headers = request.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
    answer(site(), "/gateway", path, &headers.collect()).unwrap_or_else(|problem| problem.into_response())
}

fn header(response: &Response, name: HeaderName) -> &str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

async fn text(response: Response) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn hashed_files_are_immutable_and_sent_compressed() {
    let script = get("assets/app-1a.js", &[(ACCEPT_ENCODING, "gzip, br")]);
    assert_eq!(script.status(), 200);
    assert_eq!(header(&script, CACHE_CONTROL), "public, max-age=31536000, immutable");
    assert_eq!(header(&script, CONTENT_ENCODING), "br");
    assert_eq!(header(&script, CONTENT_TYPE), "text/javascript; charset=utf-8");
    assert_eq!(header(&script, VARY), "accept-encoding");
    assert_eq!(text(script).await, "packed by brotli");
    let font = get("assets/inter-2b.woff2", &[(ACCEPT_ENCODING, "gzip, br")]);
    assert_eq!((header(&font, CONTENT_ENCODING), header(&font, VARY)), ("", ""));
    assert_eq!(header(&font, CONTENT_TYPE), "font/woff2");
    let icon = get("favicon.svg", &[]);
    assert_eq!(header(&icon, CACHE_CONTROL), "no-cache", "its name does not change with its content");
}

#[tokio::test]
async fn views_get_the_page_with_links_below_the_base_path() {
    for path in ["", "audit", "models/openai/gpt-4.1"] {
        let page = get(path, &[(ACCEPT_ENCODING, "br")]);
        assert_eq!((page.status().as_u16(), header(&page, CACHE_CONTROL)), (200, "no-cache"), "{path}");
        assert_eq!(header(&page, ETAG), "\"page\"");
        assert!(text(page).await.contains("\"/gateway/admin/dashboard/assets/app-1a.js\""), "{path}");
    }
    let missing = get("assets/app-0.js", &[]);
    assert_eq!(missing.status(), 404);
    assert!(text(missing).await.contains("assets/app-0.js"));
}

#[tokio::test]
async fn known_entities_are_not_sent_again() {
    for (path, known, status) in [
        ("", "\"page\"", 304),
        ("", "\"other\", W/\"page\"", 304),
        ("", "*", 304),
        ("", "\"t\"", 200),
        ("assets/app-1a.js", "\"t-br\"", 304),
        ("assets/app-1a.js", "\"t-gzip\"", 200),
    ] {
        let response = get(path, &[(IF_NONE_MATCH, known), (ACCEPT_ENCODING, "br")]);
        assert_eq!(response.status().as_u16(), status, "{path} {known}");
        assert!(!header(&response, ETAG).is_empty() && !header(&response, CACHE_CONTROL).is_empty());
        let is_empty = text(response).await.is_empty();
        assert_eq!(is_empty, status == 304, "{path} {known}");
    }
}

#[test]
fn every_answer_is_protected() {
    let built = ["", "audit", "assets/app-1a.js", "favicon.svg"].map(|path| get(path, &[]));
    let plain = answer(Site { files: &[] }, "", "audit", &HeaderMap::new()).ok().unwrap();
    for response in built.into_iter().chain([plain]) {
        let policy = header(&response, CONTENT_SECURITY_POLICY);
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        assert_eq!(header(&response, X_CONTENT_TYPE_OPTIONS), "nosniff");
        assert_eq!(header(&response, REFERRER_POLICY), "no-referrer");
    }
}
