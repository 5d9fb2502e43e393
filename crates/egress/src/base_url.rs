//! Base URLs: parsed, and checked against the destination rules.

use std::net::IpAddr;

use http::uri::Uri;

use crate::address::{self, Trust};
use crate::error::EgressError;

/// The parts of a base URL that identify an origin, and the path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BaseUrl {
    pub(crate) https: bool,
    /// Lower case; IPv6 addresses without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) path: String,
}

impl BaseUrl {
    pub(crate) fn parse(text: &str) -> Result<Self, EgressError> {
        if text.contains('#') {
            return Err(EgressError::invalid_url("the URL must not have a fragment"));
        }
        let uri: Uri = text.trim().parse().map_err(|_| EgressError::invalid_url("the URL cannot be read"))?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(EgressError::invalid_url("the URL must begin with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| EgressError::invalid_url("the URL has no host"))?;
        if authority.as_str().contains('@') {
            return Err(EgressError::invalid_url("the URL must not hold a user name or password"));
        }
        if uri.query().is_some() {
            return Err(EgressError::invalid_url("the base URL must not have a query"));
        }
        let path = uri.path().trim_end_matches('/');
        if path.contains('\\') || path.split('/').any(|segment| segment == "." || segment == "..") {
            return Err(EgressError::invalid_url("the URL's path must be plain"));
        }
        let port = read_port(authority.as_str(), authority.host(), https)?;
        Ok(Self { https, host: read_host(authority.host())?, port, path: path.to_owned() })
    }

    /// Checks a literal address against the destination rules; host names are checked when they are dialled.
    pub(crate) fn check(&self, trust: Trust) -> Result<(), EgressError> {
        match self.host.parse::<IpAddr>() {
            Ok(literal) => address::permit(literal, self.https, trust).map_err(EgressError::forbidden),
            Err(_) => Ok(()),
        }
    }
}

fn read_host(host: &str) -> Result<String, EgressError> {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address: std::net::Ipv6Addr =
            inner.parse().map_err(|_| EgressError::invalid_url("the URL's IPv6 address cannot be read"))?;
        return Ok(address.to_string());
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if host.is_empty() || host.len() > 253 || !host.bytes().all(plain) {
        return Err(EgressError::invalid_url("the URL's host name is not valid"));
    }
    Ok(host.to_ascii_lowercase())
}

fn read_port(authority: &str, host: &str, https: bool) -> Result<u16, EgressError> {
    match authority.strip_prefix(host) {
        Some("" | ":") | None => Ok(if https { 443 } else { 80 }),
        Some(rest) => match rest.trim_start_matches(':').parse() {
            Ok(0) | Err(_) => Err(EgressError::invalid_url("the URL's port is not valid")),
            Ok(port) => Ok(port),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (bool, String, u16, String) {
        let url = BaseUrl::parse(text).unwrap();
        (url.https, url.host, url.port, url.path)
    }

    #[test]
    fn reads_what_a_base_url_may_be() {
        assert_eq!(parts("https://API.example.com/v1/"), (true, "api.example.com".into(), 443, "/v1".into()));
        assert_eq!(parts("http://localhost:11434"), (false, "localhost".into(), 11434, String::new()));
        assert_eq!(
            parts("https://[2606:4700::1]:8443/a/b"),
            (true, "2606:4700::1".into(), 8443, "/a/b".into())
        );
        assert_eq!(parts("https://example.com./"), (true, "example.com".into(), 443, String::new()));
    }

    #[test]
    fn refuses_the_rest() {
        for text in [
            "",
            "example.com",
            "/v1",
            "ftp://example.com",
            "file:///etc/passwd",
            "https://user@example.com",
            "https://user:secret@example.com",
            "https://example.com/#fragment",
            "https://example.com/?a=b",
            "https://example.com:0",
            "https://example.com:99999",
            "https://example.com:8a",
            "https://ex%61mple.com",
            "https://[::1%25eth0]/",
            "https://example.com/a/../b",
            "https://bücher.example",
        ] {
            let error = BaseUrl::parse(text).unwrap_err();
            assert_eq!(error.kind(), crate::EgressErrorKind::InvalidUrl, "{text}");
            assert!(error.is_connect() && !error.reason().contains("secret"), "{text}");
        }
    }
}
