//! Origins: a scheme, host and port with its route and connection pools.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::clock::Clock;
use http::header::HeaderValue;
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use rustls_pki_types::ServerName;

use crate::address::Trust;
use crate::base_url::BaseUrl;
use crate::error::EgressError;
use crate::http1::Http1;
use crate::http2_pool::Http2Pool;
use crate::idle::IdlePool;
use crate::proxy::Route;

/// The identity of an origin; destinations with the same key share connections.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct OriginKey {
    pub(crate) https: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) trust: Trust,
    /// True if HTTP/2 is offered.
    pub(crate) http2: bool,
}

pub(crate) struct Origin {
    key: OriginKey,
    scheme: Scheme,
    authority: Authority,
    host_header: HeaderValue,
    server_name: Option<ServerName<'static>>,
    route: Route,
    clock: Arc<dyn Clock>,
    idle_timeout: Duration,
    max_idle: usize,
    idle: IdlePool,
    pub(crate) http2: Http2Pool,
    /// True once HTTP/2 is ruled out; while false, dials negotiate it.
    settled_on_http1: AtomicBool,
}

pub(crate) struct OriginLimits {
    pub(crate) idle_timeout: Duration,
    pub(crate) max_idle: usize,
}

impl Origin {
    pub(crate) fn new(
        url: &BaseUrl,
        key: OriginKey,
        route: Route,
        limits: OriginLimits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, EgressError> {
        let invalid = || EgressError::invalid_url("the URL's host name is not valid");
        let text = authority_text(&key, key.port == if key.https { 443 } else { 80 });
        let server_name = match url.https {
            true => Some(ServerName::try_from(url.host.clone()).map_err(|_| invalid())?),
            false => None,
        };
        Ok(Self {
            scheme: if url.https { Scheme::HTTPS } else { Scheme::HTTP },
            authority: text.parse().map_err(|_| invalid())?,
            host_header: HeaderValue::try_from(text).map_err(|_| invalid())?,
            server_name,
            route,
            clock,
            idle_timeout: limits.idle_timeout,
            max_idle: limits.max_idle,
            idle: IdlePool::default(),
            http2: Http2Pool::default(),
            settled_on_http1: AtomicBool::new(!(url.https && key.http2)),
            key,
        })
    }

    pub(crate) fn host(&self) -> &str {
        &self.key.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.key.port
    }

    pub(crate) fn https(&self) -> bool {
        self.key.https
    }

    pub(crate) fn trust(&self) -> Trust {
        self.key.trust
    }

    pub(crate) fn scheme(&self) -> &str {
        self.scheme.as_str()
    }

    pub(crate) fn authority(&self) -> &str {
        self.authority.as_str()
    }

    /// The authority for CONNECT, always with a port.
    pub(crate) fn authority_with_port(&self) -> String {
        authority_text(&self.key, false)
    }

    pub(crate) fn host_header(&self) -> &HeaderValue {
        &self.host_header
    }

    pub(crate) fn server_name(&self) -> Option<&ServerName<'static>> {
        self.server_name.as_ref()
    }

    pub(crate) fn route(&self) -> &Route {
        &self.route
    }

    pub(crate) fn absolute(&self, target: PathAndQuery) -> Result<Uri, EgressError> {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(target);
        Uri::from_parts(parts).map_err(|_| EgressError::invalid_url("the path is not valid in a URL"))
    }

    /// Takes the most recently used connection that is still open; closed ones are dropped.
    pub(crate) fn check_out(&self) -> Option<Box<Http1>> {
        while let Some(mut connection) = self.idle.pop(self.clock.tick(), self.idle_timeout) {
            if connection.is_idle() {
                return Some(connection);
            }
        }
        None
    }

    pub(crate) fn check_in(&self, mut connection: Box<Http1>) {
        connection.rest();
        self.idle.push(connection, self.clock.tick(), self.idle_timeout, self.max_idle);
    }

    pub(crate) fn idle_here(&self) -> usize {
        self.idle.len_here()
    }

    pub(crate) fn idle_connections(&self) -> usize {
        self.idle.len()
    }

    /// Closes connections that have been idle for too long and resets unread streams.
    pub(crate) fn sweep(&self) {
        let now = self.clock.tick();
        self.idle.sweep(now, self.idle_timeout);
        let reset = self.http2.sweep(now, self.idle_timeout);
        if reset > 0 {
            tracing::info!(host = self.host(), streams = reset, "unread HTTP/2 streams reset");
        }
    }

    pub(crate) fn close_idle(&self) {
        self.idle.clear();
        self.http2.clear();
    }

    pub(crate) fn settled_on_http1(&self) -> bool {
        // Relaxed: a dial that misses the change only negotiates once more.
        self.settled_on_http1.load(Ordering::Relaxed)
    }

    pub(crate) fn settle_on_http1(&self) {
        self.settled_on_http1.store(true, Ordering::Relaxed);
    }

    pub(crate) fn tick(&self) -> Duration {
        self.clock.tick()
    }
}

fn authority_text(key: &OriginKey, default_port: bool) -> String {
    let host = if key.host.contains(':') { format!("[{}]", key.host) } else { key.host.clone() };
    if default_port { host } else { format!("{host}:{}", key.port) }
}
