//! What is known by its name to be a secret: headers and query parameters.

use http::HeaderMap;

pub const HIDDEN: &str = "***";

const NAMES: [&str; 3] = ["cookie", "set-cookie", "cookie2"];
const PARTS: [&str; 6] = ["token", "secret", "key", "auth", "password", "credential"];
/// They count tokens and are none.
const HARMLESS: &str = "ratelimit";

/// Whether the value behind this name is not for anybody's eyes.
pub fn is_sensitive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.contains(&&*name) || (PARTS.iter().any(|part| name.contains(part)) && !name.contains(HARMLESS))
}

pub fn headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let shown = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        let value = match is_sensitive(name.as_str()) {
            true => HIDDEN.to_owned(),
            false => String::from_utf8_lossy(value.as_bytes()).into_owned(),
        };
        (name.as_str().to_owned(), value)
    };
    headers.iter().map(shown).collect()
}

pub fn query(query: &str) -> String {
    let shown = |pair: &str| match pair.split_once('=') {
        // A name that is written with percent signs is not worth the risk of reading it otherwise than others do.
        Some((name, _)) if is_sensitive(name) || name.contains('%') => format!("{name}={HIDDEN}"),
        _ => pair.to_owned(),
    };
    query.split('&').map(shown).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "x-api-key",
            "api-key",
            "x-goog-api-key",
            "Cookie",
            "set-cookie",
            "x-amz-security-token",
            "client-secret",
            "key",
            "access_token",
            "x-auth",
            "idempotency-key",
        ] {
            assert!(is_sensitive(name), "{name}");
        }
        for name in
            ["accept", "user-agent", "x-request-id", "x-ratelimit-remaining-tokens", "alt", "content-type"]
        {
            assert!(!is_sensitive(name), "{name}");
        }
        assert_eq!(query("alt=sse&key=abc&x&API_KEY=1&k%65y=2"), "alt=sse&key=***&x&API_KEY=***&k%65y=***");
    }
}
