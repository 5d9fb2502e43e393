//! Configuration of outgoing connections.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct EgressConfig {
    /// Covers DNS resolution, TCP, the proxy tunnel and TLS together.
    pub connect_timeout: Duration,
    pub pool_idle_timeout: Duration,
    pub max_idle_per_origin: usize,
    pub proxy: ProxySettings,
    /// Offers HTTP/2 by ALPN on https, unless a destination overrides it.
    pub http2: bool,
    /// A PEM file of certificate authorities to trust in addition to those of the host.
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

/// The values of the usual three environment variables; `no_proxy` holds one rule per entry.
#[derive(Clone, Default)]
pub struct ProxySettings {
    pub http: Option<String>,
    pub https: Option<String>,
    pub no_proxy: Vec<String>,
}

impl std::fmt::Debug for ProxySettings {
    /// Shows only whether a proxy is set, because its URL may contain a password.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ProxySettings")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}
