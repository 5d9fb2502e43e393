//! A request as the server hands it to the pipeline: everything but the body, without types of the web framework.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use domain::call::Surface;
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use http::{HeaderName, HeaderValue};

const SESSION_ID: HeaderName = HeaderName::from_static("x-gateway-session-id");
const USER_PATH: HeaderName = HeaderName::from_static("x-gateway-user-path");
const USER_PATH_ALIAS: HeaderName = HeaderName::from_static("x-user-path");
const RUN_ID: HeaderName = HeaderName::from_static("x-run-id");

use crate::call::credential_digest::CredentialDigest;
use crate::call::request_headers::RequestHeaders;
use crate::routing::client_credential::ClientCredential;

/// A request without its body.
#[derive(Clone)]
pub struct Arrival {
    pub request_id: RequestId,
    pub at: Timestamp,
    pub tick: Duration,
    pub method: &'static str,
    /// The route, e.g. `/v1/chat/completions`.
    pub endpoint: &'static str,
    pub surface: Surface,
    /// The model in the path, for formats that name it there, and whether the response is streamed unless the body says
    /// otherwise.
    pub addressed: Option<(String, Option<bool>)>,
    /// The path as the client wrote it; only set if the audit log needs it.
    pub path: Option<String>,
    pub query: Option<String>,
    pub client_ip: Option<IpAddr>,
    /// Without the client's own provider credential.
    pub headers: RequestHeaders,
    /// A provider credential of the client's own, which may be sent in place of the gateway's.
    pub client_credential: Option<Arc<ClientCredential>>,
    /// The digest of the credential that the client's connection sent last.
    pub credential_digest: Option<Arc<CredentialDigest>>,
}

/// The id of a request, accepted from the client or generated; always valid as a header value.
#[derive(Clone, Debug)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// Accepts a client's own id if it is at most 128 visible ASCII characters.
    pub fn accept(value: Option<&HeaderValue>) -> Option<Self> {
        let value = value?;
        let fits = (1..=128).contains(&value.len()) && value.as_bytes().iter().all(u8::is_ascii_graphic);
        fits.then(|| Self(value.clone()))
    }

    pub fn made(id: uuid::Uuid) -> Self {
        let mut buffer = [0u8; uuid::fmt::Simple::LENGTH];
        let text = id.simple().encode_lower(&mut buffer);
        Self(HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static("unknown")))
    }

    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    pub fn header(&self) -> HeaderValue {
        self.0.clone()
    }

    /// A number derived from the id, used for the random choices of the call.
    pub fn number(&self) -> u64 {
        domain::ids::number(self.as_str())
    }
}

impl Arrival {
    pub fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The session that the client names.
    pub fn session_id(&self) -> Option<&str> {
        self.header(SESSION_ID)
    }

    /// The user path that the client names.
    pub fn user_path(&self) -> Result<Option<&str>, Fault> {
        user_path(|name| self.headers.get(name))
    }

    /// The id of the agent run that the call belongs to.
    pub fn run_id(&self) -> Result<Option<&str>, Fault> {
        let Some(value) = self.headers.get(RUN_ID) else { return Ok(None) };
        let text = value.to_str().ok().map(str::trim).filter(|text| (1..=200).contains(&text.len()));
        let refused =
            || fault::invalid_parameter("X-Run-Id", "'X-Run-Id' is 1 to 200 printable ASCII characters.");
        text.map(Some).ok_or_else(refused)
    }

    /// The raw value of a query parameter. It is not percent-decoded: the parameters read here are plain words.
    pub fn query_value(&self, name: &str) -> Option<&str> {
        query_value(self.query.as_deref()?, name)
    }
}

/// Reads the user path from either of its two headers.
pub fn user_path<'a>(find: impl Fn(HeaderName) -> Option<&'a HeaderValue>) -> Result<Option<&'a str>, Fault> {
    let named = [(USER_PATH, "X-Gateway-User-Path"), (USER_PATH_ALIAS, "X-User-Path")];
    let Some((value, name)) = named.into_iter().find_map(|(key, name)| Some((find(key)?, name))) else {
        return Ok(None);
    };
    let text = std::str::from_utf8(value.as_bytes());
    text.map(Some).map_err(|_| fault::invalid_parameter(name, "A user path is UTF-8 text."))
}

/// The text of an address. The formatter of the standard library takes twenty times as many instructions.
pub fn address_text(address: IpAddr) -> String {
    let IpAddr::V4(address) = address else { return address.to_string() };
    let mut text = String::with_capacity(15);
    for (index, octet) in address.octets().into_iter().enumerate() {
        if index > 0 {
            text.push('.');
        }
        for (least, unit) in [(100, 100), (10, 10), (0, 1)] {
            if octet >= least {
                text.push(char::from(b'0' + octet / unit % 10));
            }
        }
    }
    text
}

pub fn query_value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| match pair.split_once('=') {
        Some((key, value)) => (key == name).then_some(value),
        None => (pair == name).then_some(""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_the_standard_library_does() {
        for octet in 0..=255 {
            let address = IpAddr::from([octet, 255 - octet, 0, 10]);
            assert_eq!(address_text(address), address.to_string());
        }
        assert_eq!(address_text("::1".parse().unwrap()), "::1");
    }

    #[test]
    fn only_safe_client_request_ids_are_kept() {
        let accept = |text: &str| RequestId::accept(HeaderValue::from_str(text).ok().as_ref()).is_some();
        assert!(accept("abc-123"));
        assert!(!accept("two words"));
        assert!(!accept(""));
        assert!(!accept(&"x".repeat(129)));
        assert!(accept(&"x".repeat(128)));
    }

    #[test]
    fn an_invalid_user_path_is_rejected() {
        let read_user_path = |name: &'static str, value: &[u8]| {
            let value = HeaderValue::from_bytes(value).unwrap();
            user_path(|asked| (asked == name).then_some(&value))
                .map(|path| path.map(str::to_owned))
                .map_err(|fault| (fault.status, fault.param))
        };
        assert_eq!(user_path(|_| None).unwrap(), None);
        assert_eq!(read_user_path("x-user-path", b"/a"), Ok(Some("/a".to_owned())));
        assert_eq!(read_user_path("x-gateway-user-path", "/é".as_bytes()), Ok(Some("/é".to_owned())));
        for (name, shown) in [("x-gateway-user-path", "X-Gateway-User-Path"), ("x-user-path", "X-User-Path")]
        {
            assert_eq!(read_user_path(name, b"/team\xff"), Err((400, Some(shown.to_owned()))));
        }
    }

    #[test]
    fn query_values_are_found_by_whole_name() {
        assert_eq!(query_value("a=1&stream=true", "stream"), Some("true"));
        assert_eq!(query_value("upstream=true", "stream"), None);
    }
}
