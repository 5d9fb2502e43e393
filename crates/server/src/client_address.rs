//! Resolves the client's address behind trusted reverse proxies.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use ipnet::IpNet;

const X_FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED: &str = "forwarded";

/// Returns the nearest address that is not a trusted proxy. Forwarding headers are read only if the peer is trusted.
/// Each proxy appends the address it was called from, so everything before the last untrusted address may be forged.
pub fn resolve(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let mut client = peer.to_canonical();
    if !is_trusted(client, trusted) {
        return client;
    }
    for hop in hops(headers).into_iter().rev() {
        // An obfuscated or unparsable address ends the search: nothing before it can be trusted.
        let Some(address) = parse(&hop) else { break };
        client = address;
        if !is_trusted(client, trusted) {
            break;
        }
    }
    client
}

/// Whether an address is that of a trusted proxy.
pub fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    !trusted.is_empty() && trusted.iter().any(|network| network.contains(&address.to_canonical()))
}

/// Whether the client uses TLS, as the nearest proxy reports. Only to be asked behind a trusted proxy.
pub fn is_tls(headers: &HeaderMap) -> bool {
    let last = |name: &str| {
        let value = headers.get_all(name).iter().next_back()?.to_str().ok()?;
        value.rsplit(',').next().map(str::trim)
    };
    if let Some(scheme) = last("x-forwarded-proto") {
        return scheme.eq_ignore_ascii_case("https");
    }
    last(FORWARDED).and_then(|element| parameter(element, "proto")).is_some_and(|scheme| scheme == "https")
}

/// Returns the forwarded addresses in the order in which they were added. `Forwarded` is read only without
/// X-Forwarded-For: most proxies write the latter and pass a client's `Forwarded` on untouched.
fn hops(headers: &HeaderMap) -> Vec<String> {
    let elements = |name: &str| -> Vec<String> {
        let lines = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
        lines.flat_map(|line| line.split(',')).map(|element| element.trim().to_owned()).collect()
    };
    if headers.contains_key(X_FORWARDED_FOR) {
        return elements(X_FORWARDED_FOR);
    }
    elements(FORWARDED).iter().map(|element| parameter(element, "for").unwrap_or_default()).collect()
}

/// A parameter of one element of `Forwarded`.
fn parameter(element: &str, wanted: &str) -> Option<String> {
    element.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case(wanted).then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// Parses an address with or without a port; IPv6 with or without brackets.
fn parse(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse::<IpAddr>().ok().or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip()))?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(peer: &str, headers: &[(&'static str, &'static str)], expected: &str) {
        let trusted: Vec<IpNet> =
            ["10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32"].map(|network| network.parse().unwrap()).into();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, http::HeaderValue::from_static(value));
        }
        let found = resolve(peer.parse().unwrap(), &map, &trusted);
        assert_eq!(found, expected.parse::<IpAddr>().unwrap(), "{headers:?}");
    }

    #[test]
    fn the_nearest_untrusted_address_is_the_client() {
        const XFF: &str = X_FORWARDED_FOR;
        check("203.0.113.9", &[(XFF, "198.51.100.1")], "203.0.113.9");
        check("10.0.0.1", &[], "10.0.0.1");
        check("10.0.0.1", &[(XFF, "198.51.100.1")], "198.51.100.1");
        check("::ffff:10.0.0.1", &[(XFF, "::ffff:198.51.100.1")], "198.51.100.1");
        check("10.0.0.1", &[(XFF, "1.2.3.4, 198.51.100.1, 10.9.9.9")], "198.51.100.1");
        check("10.0.0.1", &[(XFF, "1.2.3.4"), (XFF, "198.51.100.1,192.0.2.1")], "198.51.100.1");
        check("10.0.0.1", &[(XFF, "10.1.1.1, 10.2.2.2")], "10.1.1.1");
        check("10.0.0.1", &[(XFF, "198.51.100.1:4711")], "198.51.100.1");
        check("2001:db8::1", &[(XFF, "[2001:db9::7]:80, [2001:db8::2]")], "2001:db9::7");
        // An unparsable element ends the search at the last trusted address.
        check("10.0.0.1", &[(XFF, "198.51.100.1, unknown, 10.3.3.3")], "10.3.3.3");
        check("10.0.0.1", &[(XFF, "")], "10.0.0.1");
    }

    #[test]
    fn forwarded_is_read_where_x_forwarded_for_is_absent() {
        check("10.0.0.1", &[(FORWARDED, "for=198.51.100.1;proto=https")], "198.51.100.1");
        check(
            "10.0.0.1",
            &[(FORWARDED, "proto=http; For=\"[2001:db9::7]:80\", for=10.4.4.4")],
            "2001:db9::7",
        );
        check("10.0.0.1", &[(FORWARDED, "for=_hidden, for=10.4.4.4")], "10.4.4.4");
        check("10.0.0.1", &[(FORWARDED, "for=1.2.3.4"), (X_FORWARDED_FOR, "198.51.100.1")], "198.51.100.1");
        check("203.0.113.9", &[(FORWARDED, "for=198.51.100.1")], "203.0.113.9");
    }

    #[test]
    fn tls_is_what_the_nearest_proxy_reports() {
        for (pairs, expected) in [
            (&[][..], false),
            (&[("x-forwarded-proto", "https")], true),
            (&[("x-forwarded-proto", "HTTPS")], true),
            (&[("x-forwarded-proto", "https, http")], false),
            (&[("x-forwarded-proto", "https"), ("x-forwarded-proto", "http")], false),
            (&[(FORWARDED, "for=1.2.3.4;proto=https")], true),
            (&[(FORWARDED, "proto=https, for=10.0.0.1;proto=http")], false),
            (&[("x-forwarded-proto", "http"), (FORWARDED, "proto=https")], false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, http::HeaderValue::from_static(value));
            }
            assert_eq!(is_tls(&headers), expected, "{pairs:?}");
        }
    }
}
