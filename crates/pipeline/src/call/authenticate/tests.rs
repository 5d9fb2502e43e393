//! Tests of the credentials that a request may carry.

use http::HeaderValue;

use super::*;

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (http::HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect()
}

#[test]
fn credentials_are_read_in_the_order_of_the_contract() {
    for (pairs, query, expected) in [
        (&[("authorization", "Bearer a")][..], None, Some("a")),
        (&[("authorization", "bearer  a ")], None, Some("a")),
        (&[("authorization", "Basic a"), ("x-api-key", "b")], None, None),
        (&[("authorization", "Bearer a"), ("x-api-key", "b")], None, Some("a")),
        (&[("x-api-key", "b")], None, Some("b")),
        (&[("api-key", "c")], None, Some("c")),
        (&[("x-goog-api-key", "d")], None, Some("d")),
        (&[], Some("alt=sse&key=e"), Some("e")),
        (&[("x-api-key", "")], None, None),
        (&[], None, None),
    ] {
        assert_eq!(credential(&headers(pairs), query), expected, "{pairs:?} {query:?}");
    }
}

#[test]
fn a_key_without_a_scheme_is_rejected_with_a_hint() {
    for (value, has_hint) in [
        ("gk_abc", true),
        (" gk_abc ", true),
        ("Bearer", false),
        ("Bearer ", false),
        ("Basic YTpi", false),
        ("", false),
    ] {
        let fault = missing_credential(&headers(&[("authorization", value)]));
        assert_eq!((fault.status, fault.code.as_str()), (401, "missing_api_key"));
        assert_eq!(fault.message.starts_with("Missing \"Bearer \" before the key"), has_hint, "{value}");
        assert!(!fault.message.contains("gk_abc"));
    }
}
