//! A provider credential of the client's own, which is sent to the provider in place of the gateway's.

use std::sync::Arc;

use domain::fault::{Blame, Fault, FaultKind, RetryScope};
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};

use super::resolve::Plan;

/// The header with the gateway's key, for clients that send a credential of their own in the usual ones.
pub const GATEWAY_KEY: &str = "x-gateway-key";

/// The headers in which providers expect credentials.
const CREDENTIALS: [HeaderName; 4] = [
    header::AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-goog-api-key"),
];

/// Shorter values are not masked: they would hide words of any text.
const SHORTEST_SECRET: usize = 8;

/// The client's own credential, and the providers that it may be sent to.
pub struct ClientCredential {
    headers: Vec<(HeaderName, HeaderValue)>,
    /// A provider type, for its vendor's own address, or `type@origin` for another one.
    receivers: Vec<String>,
}

impl ClientCredential {
    /// Takes the credential out of the headers of a request that has the gateway's key in `X-Gateway-Key`, and moves that
    /// key to `Authorization`. `None` if the request has no credential of the client's own.
    pub fn take(headers: &mut HeaderMap, receivers: &[String]) -> Option<Arc<Self>> {
        if receivers.is_empty() {
            return None;
        }
        let key = headers.get(GATEWAY_KEY)?;
        let mut bearer = HeaderValue::from_bytes(&[b"Bearer ", key.as_bytes()].concat()).ok()?;
        bearer.set_sensitive(true);
        let mut own = Vec::new();
        for name in CREDENTIALS {
            if let Some(mut value) = headers.remove(&name) {
                value.set_sensitive(true);
                own.push((name, value));
            }
        }
        headers.remove(GATEWAY_KEY);
        headers.insert(header::AUTHORIZATION, bearer);
        (!own.is_empty()).then(|| Arc::new(Self { headers: own, receivers: receivers.to_vec() }))
    }

    /// Whether it may be sent to a provider of this type at this origin: at that of the vendor's default address, or at
    /// one that is configured as a receiver. An address that an admin has given to an instance does not suffice.
    pub fn is_for(&self, provider_type: &str, origin: &str, default_url: Option<&str>) -> bool {
        let Some(sent_to) = origin_of(origin) else { return false };
        self.receivers.iter().any(|receiver| match receiver.split_once('@') {
            None => receiver == provider_type && default_url.and_then(origin_of).as_ref() == Some(&sent_to),
            Some((named, origin)) => named == provider_type && origin_of(origin).as_ref() == Some(&sent_to),
        })
    }

    /// The plan of a call that carries the credential. If the first target takes it, the call stays with targets that
    /// do: a failure must not make it one that the gateway pays for. Otherwise the call is an ordinary one.
    pub fn apply(self: &Arc<Self>, plan: Plan) -> Plan {
        if !plan.first().is_some_and(|first| first.instance.takes(self)) {
            return plan;
        }
        let own = plan.deployments.iter().filter(|target| target.instance.takes(self));
        let deployments = own.map(|target| target.with_client_credential(self)).collect();
        Plan { deployments, pools: plan.pools }
    }

    /// Replaces the credentials in the headers of a request to a provider.
    pub fn replace_in(&self, headers: &mut HeaderMap) {
        for name in &CREDENTIALS {
            headers.remove(name);
        }
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
    }

    /// The error for a provider's answer. A rejected credential is the client's matter, who gets the provider's own
    /// status: agents refresh their token after a 401.
    pub fn relay(&self, mut fault: Fault) -> Fault {
        fault.message = self.hide_in(fault.message);
        if !fault.is_upstream_auth_failure() {
            return fault;
        }
        let message = fault.message.replace("the gateway's credential", "the client's own credential");
        let (status, kind) = match fault.upstream_status.map(u16::from) {
            Some(403) => (403, FaultKind::Authorization),
            _ => (401, FaultKind::Authentication),
        };
        Fault { status, kind, message, ..fault }.retry_scope(RetryScope::Never).blame(Blame::Client)
    }

    /// The text without the credential, which providers may repeat in errors.
    pub fn hide_in(&self, text: String) -> String {
        let found = self.secrets().filter(|secret| secret.len() >= SHORTEST_SECRET);
        found
            .fold(text, |text, secret| if text.contains(secret) { text.replace(secret, "***") } else { text })
    }

    /// The values to mask in records, without the scheme.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let values = self.headers.iter().filter_map(|(_, value)| value.to_str().ok());
        values.filter_map(|value| value.split_whitespace().next_back())
    }
}

/// Scheme, host and port of a URL.
fn origin_of(url: &str) -> Option<(String, String, u16)> {
    let url: Uri = url.parse().ok()?;
    let scheme = url.scheme_str()?.to_owned();
    let port = url.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
    Some((scheme, url.host()?.to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn the_gateways_key_takes_the_place_of_the_credential() {
        let types = ["anthropic".to_owned()];
        let mut given =
            headers(&[("x-gateway-key", "gh-1"), ("authorization", "Bearer own"), ("x-api-key", "own-2")]);
        let credential = ClientCredential::take(&mut given, &types).unwrap();
        assert_eq!(given, headers(&[("authorization", "Bearer gh-1")]));
        assert_eq!(credential.secrets().collect::<Vec<_>>(), ["own", "own-2"]);
        let mut upstream = headers(&[("x-api-key", "of the gateway"), ("accept", "x")]);
        credential.replace_in(&mut upstream);
        assert_eq!(
            upstream,
            headers(&[("accept", "x"), ("authorization", "Bearer own"), ("x-api-key", "own-2")])
        );
    }

    #[test]
    fn it_is_hidden_in_errors() {
        let mut given = headers(&[("x-gateway-key", "gh-1"), ("authorization", "Bearer own-credential")]);
        let credential = ClientCredential::take(&mut given, &["anthropic".to_owned()]).unwrap();
        let fault = domain::fault::invalid_parameter("x", "The key own-credential is wrong.");
        assert_eq!(credential.relay(fault).message, "The key *** is wrong.");
    }

    #[test]
    fn it_goes_to_the_vendor_and_to_configured_origins_only() {
        let receivers = ["anthropic".to_owned(), "openai@https://proxy.example:8443".to_owned()];
        let mut given = headers(&[("x-gateway-key", "gh-1"), ("x-api-key", "own")]);
        let credential = ClientCredential::take(&mut given, &receivers).unwrap();
        let anthropic = Some("https://api.anthropic.com/v1");
        for (provider_type, origin, default_url, expected) in [
            ("anthropic", "https://api.anthropic.com", anthropic, true),
            ("anthropic", "https://API.anthropic.com:443", anthropic, true),
            ("anthropic", "http://api.anthropic.com", anthropic, false),
            ("anthropic", "https://api.anthropic.com:8443", anthropic, false),
            ("anthropic", "https://evil.example", anthropic, false),
            ("anthropic", "https://evil.example", None, false),
            ("openai", "https://api.openai.com", Some("https://api.openai.com/v1"), false),
            ("openai", "https://proxy.example:8443", Some("https://api.openai.com/v1"), true),
            ("anthropic", "https://proxy.example:8443", anthropic, false),
        ] {
            let found = credential.is_for(provider_type, origin, default_url);
            assert_eq!(found, expected, "{provider_type} {origin}");
        }
    }

    #[test]
    fn nothing_is_taken_without_the_header_or_if_it_is_off() {
        let types = ["anthropic".to_owned()];
        let usual = [("authorization", "Bearer gh-1")];
        let mut given = headers(&usual);
        assert!(ClientCredential::take(&mut given, &types).is_none());
        assert_eq!(given, headers(&usual));
        let both = [("x-gateway-key", "gh-1"), ("authorization", "Bearer own")];
        let mut given = headers(&both);
        assert!(ClientCredential::take(&mut given, &[]).is_none());
        assert_eq!(given, headers(&both));
        // Only the gateway's key: an ordinary call.
        let mut given = headers(&[("x-gateway-key", "gh-1")]);
        assert!(ClientCredential::take(&mut given, &types).is_none());
        assert_eq!(given, headers(&usual));
    }
}
