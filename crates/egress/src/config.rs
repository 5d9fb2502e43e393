//! What the gateway decides about outgoing connections before it opens any.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct EgressConfig {
    /// Covers resolution, TCP, the proxy's tunnel and TLS together.
    pub connect_timeout: Duration,
    pub pool_idle_timeout: Duration,
    pub max_idle_per_origin: usize,
    pub proxy: ProxySettings,
    /// Offer HTTP/2 by ALPN on https, where a destination does not say otherwise.
    pub http2: bool,
    /// A PEM file of certificate authorities to trust besides the host's.
    pub extra_roots: Option<PathBuf>,
}

impl Default for EgressConfig {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            pool_idle_timeout: Duration::from_secs(90),
            max_idle_per_origin: 256,
            proxy: ProxySettings::default(),
            http2: false,
            extra_roots: None,
        }
    }
}

/// The usual three variables, already read; `no_proxy` holds one rule per entry.
#[derive(Clone, Default)]
pub struct ProxySettings {
    pub http: Option<String>,
    pub https: Option<String>,
    pub no_proxy: Vec<String>,
}

impl std::fmt::Debug for ProxySettings {
    /// A proxy address may carry a password, so only its presence is shown.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ProxySettings")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}
