//! Header allowlists for both directions; headers that are not listed are dropped.

use egress::Headers;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::routing::routes::Instance;
use crate::services::audit::Scrubber;
use crate::services::traces::TraceHeaders;

/// Client headers that are forwarded: those that describe the body, content negotiation and preconditions. Credentials,
/// cookies, hop-by-hop headers and the gateway's own headers are excluded, and so are headers that select an account,
/// which is the operator's choice. `Accept-Encoding` is excluded because the gateway has to read usage from the answer.
const UP: &[&str] = &[
    "content-type",
    "content-encoding",
    "content-language",
    "content-md5",
    "content-disposition",
    "accept",
    "accept-language",
    "anthropic-version",
    "anthropic-beta",
    "openai-beta",
    "idempotency-key",
    "range",
    "if-match",
    "if-none-match",
    "if-modified-since",
    "if-unmodified-since",
    "if-range",
    "prefer",
];
const UP_PREFIXES: &[&str] = &["x-goog-upload-"];

const DOWN: &[&str] = &[
    "content-type",
    "content-encoding",
    "content-language",
    "content-disposition",
    "content-range",
    "accept-ranges",
    "age",
    "allow",
    "cache-control",
    "date",
    "etag",
    "expires",
    "last-modified",
    "link",
    "vary",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "request-id",
    "openai-model",
    "openai-processing-ms",
    "openai-version",
];
const DOWN_PREFIXES: &[&str] = &["x-ratelimit-", "anthropic-ratelimit-"];

/// The instance's own headers plus the allowed client headers. Headers that the operator configured cannot be
/// overridden.
pub(super) fn up(
    client: &HeaderMap,
    own: &Headers,
    instance: &Instance,
    trace_headers: TraceHeaders,
) -> Headers {
    let mut headers = own.to_map();
    headers.remove(header::CONTENT_TYPE);
    headers.remove(header::ACCEPT);
    let fixed = |name: &HeaderName| {
        instance.provider.headers.keys().any(|fixed| fixed.eq_ignore_ascii_case(name.as_str()))
    };
    for name in client.keys().filter(|name| listed(name, UP, UP_PREFIXES) && !fixed(name)) {
        headers.remove(name);
        for value in client.get_all(name) {
            headers.append(name.clone(), value.clone());
        }
    }
    for (name, value) in trace_headers {
        headers.insert(name, value);
    }
    Headers::from(headers)
}

/// The provider headers that are returned to the client. A header whose value contains a secret is dropped.
pub(super) fn down(theirs: &HeaderMap, scrubber: &Scrubber) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(16);
    let known = theirs.iter().filter(|(name, _)| listed(name, DOWN, DOWN_PREFIXES));
    for (name, value) in known.filter(|(_, value)| !scrubber.finds_in(value.as_bytes())) {
        headers.append(name.clone(), HeaderValue::clone(value));
    }
    headers
}

fn listed(name: &HeaderName, names: &[&str], prefixes: &[&str]) -> bool {
    let name = name.as_str();
    names.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
}
