//! Redacts headers and query parameters whose names mark them as secrets.

use http::HeaderMap;

pub const HIDDEN: &str = "***";

const NAMES: [&str; 3] = ["cookie", "set-cookie", "cookie2"];
const PARTS: [&str; 6] = ["token", "secret", "key", "auth", "password", "credential"];
/// Rate limit headers carry counts of tokens, not secrets.
const HARMLESS: &str = "ratelimit";

/// Whether values under this name are hidden.
pub fn is_sensitive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.contains(&&*name) || (PARTS.iter().any(|part| name.contains(part)) && !name.contains(HARMLESS))
}

/// Bytes kept of one header value.
pub const VALUE_LIMIT: usize = 1024;
/// Bytes kept of all headers of one side of a call.
pub const HEADERS_LIMIT: usize = 8 * 1024;
/// The name of the entry that stands for the headers left out.
pub const OMITTED: &str = "(omitted)";

/// Truncates headers for the audit log, and counts those left out.
pub fn cut_headers(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    let count = headers.len();
    let (mut kept, mut bytes) = (Vec::with_capacity(count.min(32)), 0);
    for (name, value) in headers {
        let value = cut(value, VALUE_LIMIT);
        bytes += name.len() + value.len();
        if bytes > HEADERS_LIMIT {
            break;
        }
        kept.push((name, value));
    }
    let omitted = count - kept.len();
    if omitted > 0 {
        kept.push((OMITTED.to_owned(), format!("{omitted} more headers")));
    }
    kept
}

/// Truncates a text, and marks it with an ellipsis if it was longer.
pub fn cut(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
        text.push('…');
    }
    text
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
        // A percent-encoded name is always hidden: other parsers may decode it differently.
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
        let long = |name: &str| (name.to_owned(), "é".repeat(VALUE_LIMIT));
        let cut = cut_headers((0..100).map(|index| long(&format!("h{index}"))).collect());
        assert!(
            cut.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() <= HEADERS_LIMIT + 64
        );
        assert!(cut[0].1.len() <= VALUE_LIMIT + 3 && cut[0].1.ends_with('…'));
        assert_eq!(cut.last().unwrap(), &(OMITTED.to_owned(), format!("{} more headers", 101 - cut.len())));
        let short = vec![("accept".to_owned(), "*/*".to_owned())];
        assert_eq!(cut_headers(short.clone()), short);
        assert_eq!(query("alt=sse&key=abc&x&API_KEY=1&k%65y=2"), "alt=sse&key=***&x&API_KEY=***&k%65y=***");
    }
}
