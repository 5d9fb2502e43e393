//! Outgoing proxies: route selection and CONNECT tunnels.

use std::net::IpAddr;

use base64::Engine as _;
use http::header::HeaderValue;
use http::uri::Uri;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::base_url::BaseUrl;
use crate::config::ProxySettings;
use crate::error::EgressError;

#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) authorization: Option<HeaderValue>,
}

#[derive(Clone)]
pub(crate) enum Route {
    Direct,
    /// For http: the proxy receives the absolute URL.
    Forward(Proxy),
    /// For https: a CONNECT tunnel.
    Tunnel(Proxy),
}

pub(crate) struct Proxies {
    http: Option<Proxy>,
    https: Option<Proxy>,
    exempt: Vec<Exempt>,
}

impl Proxies {
    pub(crate) fn new(settings: &ProxySettings) -> Result<Self, EgressError> {
        let read = |text: &Option<String>| {
            text.as_deref().filter(|text| !text.trim().is_empty()).map(Proxy::parse).transpose()
        };
        Ok(Self {
            http: read(&settings.http)?,
            https: read(&settings.https)?,
            exempt: settings
                .no_proxy
                .iter()
                .flat_map(|rules| rules.split(','))
                .filter_map(Exempt::parse)
                .collect(),
        })
    }

    pub(crate) fn route(&self, url: &BaseUrl) -> Route {
        let proxy = if url.https { &self.https } else { &self.http };
        match proxy {
            Some(_)
                if is_local(&url.host)
                    || self.exempt.iter().any(|rule| rule.matches(&url.host, url.port)) =>
            {
                Route::Direct
            }
            Some(proxy) if url.https => Route::Tunnel(proxy.clone()),
            Some(proxy) => Route::Forward(proxy.clone()),
            None => Route::Direct,
        }
    }
}

impl Proxy {
    /// Parses `http://user:password@host:port`; the scheme is optional. TLS to the proxy itself is not supported.
    fn parse(text: &str) -> Result<Self, EgressError> {
        let text = text.trim();
        let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let uri: Uri = whole.parse().map_err(|_| EgressError::proxy("the proxy's address cannot be read"))?;
        if uri.scheme_str() != Some("http") {
            return Err(EgressError::proxy("the proxy's address must begin with http://"));
        }
        let authority =
            uri.authority().ok_or_else(|| EgressError::proxy("the proxy's address has no host"))?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let authorization = authority.as_str().rsplit_once('@').map(|(user, _)| basic(user)).transpose()?;
        Ok(Self { host, port: authority.port_u16().unwrap_or(80), authorization })
    }

    /// Requests a tunnel to `host:port` on a new connection to the proxy.
    pub(crate) async fn tunnel(&self, stream: &mut TcpStream, authority: &str) -> Result<(), EgressError> {
        let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n").into_bytes();
        if let Some(value) = &self.authorization {
            request.extend_from_slice(b"Proxy-Authorization: ");
            request.extend_from_slice(value.as_bytes());
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        stream
            .write_all(&request)
            .await
            .map_err(|_| EgressError::proxy("the proxy closed the connection"))?;
        read_consent(stream).await
    }
}

async fn read_consent(stream: &mut TcpStream) -> Result<(), EgressError> {
    const LIMIT: usize = 16 * 1024;
    let mut answer = Vec::with_capacity(256);
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= LIMIT {
            return Err(EgressError::proxy("the proxy's answer is too long"));
        }
        // Read byte by byte, so that no bytes after the header are consumed; this happens once per connection.
        let byte =
            stream.read_u8().await.map_err(|_| EgressError::proxy("the proxy closed the connection"))?;
        answer.push(byte);
    }
    match answer.get(..12) {
        Some([b'H', b'T', b'T', b'P', b'/', b'1', b'.', _, b' ', b'2', _, _]) => Ok(()),
        Some([b'H', b'T', b'T', b'P', b'/', b'1', b'.', _, b' ', status @ ..]) => {
            let status = String::from_utf8_lossy(status);
            Err(EgressError::proxy(format!("the proxy refused the tunnel (status {status})")))
        }
        _ => Err(EgressError::proxy("the proxy does not speak HTTP")),
    }
}

fn basic(user: &str) -> Result<HeaderValue, EgressError> {
    let encoded = base64::engine::general_purpose::STANDARD.encode(decode_percent(user));
    let mut value = HeaderValue::try_from(format!("Basic {encoded}"))
        .map_err(|_| EgressError::proxy("the proxy's user cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn decode_percent(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let pair = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(value) if byte == b'%' => {
                decoded.push(value);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                decoded.push(byte);
                rest = tail;
            }
        }
    }
    decoded
}

fn is_local(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A rule of `NO_PROXY`.
#[derive(Debug, PartialEq)]
enum Exempt {
    Everything,
    Network {
        address: IpAddr,
        bits: u32,
        port: Option<u16>,
    },
    /// The name itself and its subdomains; with a leading dot, subdomains only.
    Name {
        suffix: String,
        port: Option<u16>,
    },
}

impl Exempt {
    fn parse(rule: &str) -> Option<Self> {
        let rule = rule.trim().to_ascii_lowercase();
        if rule.is_empty() {
            return None;
        }
        if rule == "*" {
            return Some(Self::Everything);
        }
        if let Some((address, bits)) = rule.split_once('/') {
            let address: IpAddr = address.parse().ok()?;
            let bits = bits.parse().ok().filter(|bits| *bits <= width(address))?;
            return Some(Self::Network { address, bits, port: None });
        }
        let (host, port) = match rule.rsplit_once(':') {
            _ if rule.parse::<IpAddr>().is_ok() => (rule.as_str(), None),
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (rule.as_str(), None),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some(Self::Network { address, bits: width(address), port });
        }
        Some(Self::Name { suffix: host.trim_start_matches('*').to_owned(), port })
    }

    fn matches(&self, host: &str, at: u16) -> bool {
        match self {
            Self::Everything => true,
            Self::Network { address, bits, port } => {
                port.is_none_or(|port| port == at)
                    && host.parse().is_ok_and(|host| same_network(host, *address, *bits))
            }
            Self::Name { suffix, port } => {
                let below = |name: &str| match name.strip_suffix(suffix.as_str()) {
                    Some(front) => {
                        front.is_empty() && !suffix.starts_with('.')
                            || suffix.starts_with('.') && !front.is_empty()
                            || front.ends_with('.')
                    }
                    None => false,
                };
                port.is_none_or(|port| port == at) && below(host)
            }
        }
    }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn same_network(left: IpAddr, right: IpAddr, bits: u32) -> bool {
    match (left, right) {
        (IpAddr::V4(left), IpAddr::V4(right)) => (left.to_bits() ^ right.to_bits()).leading_zeros() >= bits,
        (IpAddr::V6(left), IpAddr::V6(right)) => (left.to_bits() ^ right.to_bits()).leading_zeros() >= bits,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_proxy_rules() {
        let table = [
            ("*", "anything.example", 443, true),
            ("example.com", "example.com", 443, true),
            ("example.com", "api.example.com", 443, true),
            ("example.com", "badexample.com", 443, false),
            (".example.com", "api.example.com", 443, true),
            (".example.com", "example.com", 443, false),
            ("*.example.com", "api.example.com", 443, true),
            ("example.com:8080", "example.com", 8080, true),
            ("example.com:8080", "example.com", 443, false),
            ("EXAMPLE.com", "example.com", 443, true),
            ("10.0.0.0/8", "10.200.3.4", 443, true),
            ("10.0.0.0/8", "11.0.0.1", 443, false),
            ("10.0.0.0/8", "ten.example", 443, false),
            ("0.0.0.0/0", "8.8.8.8", 443, true),
            ("fd00::/8", "fd12::1", 443, true),
            ("192.168.1.1", "192.168.1.1", 80, true),
            ("192.168.1.1:81", "192.168.1.1", 80, false),
            ("::2", "::2", 80, true),
        ];
        for (rule, host, port, expected) in table {
            let rule = Exempt::parse(rule).unwrap();
            assert_eq!(rule.matches(host, port), expected, "{rule:?} {host}:{port}");
        }
        for rule in ["", " ", "10.0.0.0/99", "host:port", "nonsense/8"] {
            assert_eq!(Exempt::parse(rule), None, "{rule}");
        }
    }

    #[test]
    fn a_proxy_may_carry_a_user() {
        let proxy = Proxy::parse("http://al%40ice:s%3Acret@proxy.example:3128").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.example", 3128));
        let expected = base64::engine::general_purpose::STANDARD.encode("al@ice:s:cret");
        assert_eq!(proxy.authorization.unwrap().to_str().unwrap(), format!("Basic {expected}"));
        assert_eq!(Proxy::parse("proxy.example:8080").unwrap().port, 8080);
        assert!(Proxy::parse("https://proxy.example").is_err());
        assert!(Proxy::parse("socks5://proxy.example").is_err());
    }
}
