//! The session cookie of the dashboard, and the check that a request with it comes from the gateway's own pages.

use domain::fault::{self, Fault};
use http::HeaderMap;
use http::header::{COOKIE, HOST, ORIGIN, UPGRADE};

pub const NAME: &str = "gatehouse_session";

/// The value of the session cookie.
pub fn find(headers: &HeaderMap) -> Option<&str> {
    cookie(headers, NAME)
}

/// The value of a cookie; of several with the same name, the first.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value).filter(|value| !value.is_empty())
}

/// Refuses a request that changes something, or opens a WebSocket, unless the browser says that a page of the gateway itself
/// sent it. `SameSite=Strict` keeps the cookie from other sites; this also covers other origins of the same site, and
/// browsers without `SameSite`.
pub fn refuse_cross_site(method: &str, headers: &HeaderMap) -> Result<(), Fault> {
    let is_safe = matches!(method, "GET" | "HEAD" | "OPTIONS") && !headers.contains_key(UPGRADE);
    if is_safe || comes_from_own_page(headers) {
        return Ok(());
    }
    Err(fault::missing_api_key().with_message(
        "The session cookie is not accepted here, because the request does not come from a page of the gateway: \
         'Sec-Fetch-Site' is not 'same-origin' and 'Origin' is not the gateway's own. Send a key as 'Authorization: \
         Bearer <key>'.",
    ))
}

fn comes_from_own_page(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if let Some(site) = text("sec-fetch-site") {
        return site == "same-origin";
    }
    let (Some(origin), Some(host)) = (text(ORIGIN.as_str()), text(HOST.as_str())) else { return false };
    origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        for (lines, expected) in [
            (&[("cookie", "gatehouse_session=a")][..], Some("a")),
            (&[("cookie", "x=1; gatehouse_session=a; y=2")], Some("a")),
            (&[("cookie", "x=1"), ("cookie", "gatehouse_session=b")], Some("b")),
            (&[("cookie", "gatehouse_session=")], None),
            (&[("cookie", "other_gatehouse_session=a")], None),
            (&[], None),
        ] {
            assert_eq!(find(&headers(lines)), expected, "{lines:?}");
        }
    }

    #[test]
    fn only_own_pages_change_something_by_cookie() {
        const HOST: (&str, &str) = ("host", "gateway.example:8080");
        for (method, pairs, accepted) in [
            ("GET", &[][..], true),
            ("HEAD", &[("sec-fetch-site", "cross-site")], true),
            ("GET", &[("upgrade", "websocket"), ("origin", "https://evil.example"), HOST], false),
            ("GET", &[("upgrade", "websocket"), ("origin", "https://gateway.example:8080"), HOST], true),
            ("POST", &[], false),
            ("POST", &[("sec-fetch-site", "same-origin")], true),
            ("POST", &[("sec-fetch-site", "same-site")], false),
            ("DELETE", &[("sec-fetch-site", "cross-site")], false),
            ("PUT", &[("sec-fetch-site", "none")], false),
            ("POST", &[("origin", "https://gateway.example:8080"), HOST], true),
            ("POST", &[("origin", "https://gateway.example"), HOST], false),
            ("POST", &[("origin", "https://evil.example"), HOST], false),
            ("POST", &[("origin", "null"), HOST], false),
            ("POST", &[("origin", "https://gateway.example:8080")], false),
            // The browser's own statement wins over Origin.
            (
                "POST",
                &[("sec-fetch-site", "cross-site"), ("origin", "https://gateway.example:8080"), HOST],
                false,
            ),
        ] {
            assert_eq!(refuse_cross_site(method, &headers(pairs)).is_ok(), accepted, "{method} {pairs:?}");
        }
    }
}
