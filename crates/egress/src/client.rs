//! The HTTP client: checks out or opens a connection, sends the request, and retries once when an idle connection turns
//! out to be closed.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use domain::clock::Clock;
use futures_util::future::join_all;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;

use crate::address::Trust;
use crate::base_url::BaseUrl;
use crate::body::InboundBody;
use crate::config::EgressConfig;
use crate::destination::Destination;
use crate::dial::{Dialer, Dialled};
use crate::error::{EgressError, EgressErrorKind};
use crate::http1::{Failure, Http1};
use crate::http2::StreamLease;
use crate::origin::{Origin, OriginKey, OriginLimits};
use crate::proxy::Proxies;
use crate::request::{Outbound, Prepared};
use crate::tls;

/// The time within which a failure without any response is attributed to an idle connection that the upstream had
/// closed.
///
/// Such a failure cannot be told apart from an upstream that read the request and crashed, so only idempotent requests
/// are retried here. All others are left to the caller to retry and to count.
const REPEAT_WINDOW: Duration = Duration::from_secs(1);
/// Maximum number of attempts for a request that the upstream refuses before processing it.
const REFUSED_TRIES: usize = 4;

#[derive(Clone)]
pub struct Egress {
    shared: Arc<Shared>,
}

struct Shared {
    config: EgressConfig,
    clock: Arc<dyn Clock>,
    dialer: Dialer,
    proxies: Proxies,
    origins: Mutex<HashMap<OriginKey, Weak<Origin>>>,
}

pub struct Inbound {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: InboundBody,
}

impl Egress {
    /// Creates a client; `tasks` runs the HTTP/2 connection drivers only.
    pub fn new(config: EgressConfig, clock: Arc<dyn Clock>, tasks: TaskTracker) -> Result<Self, EgressError> {
        let dialer = Dialer { tls: tls::connectors(&config)?, timeout: config.connect_timeout, tasks };
        let proxies = Proxies::new(&config.proxy)?;
        Ok(Self { shared: Arc::new(Shared { config, clock, dialer, proxies, origins: Mutex::default() }) })
    }

    /// Parses and checks a base URL once. Destinations with the same origin and trust share their connections.
    pub fn destination(&self, base_url: &str, trust: Trust) -> Result<Arc<Destination>, EgressError> {
        self.destination_with(base_url, trust, None)
    }

    /// Like `destination`, with `http2` overriding the configuration.
    pub fn destination_with(
        &self,
        base_url: &str,
        trust: Trust,
        http2: Option<bool>,
    ) -> Result<Arc<Destination>, EgressError> {
        let url = BaseUrl::parse(base_url)?;
        url.check(trust)?;
        let http2 = http2.unwrap_or(self.shared.config.http2);
        let key = OriginKey { https: url.https, host: url.host.clone(), port: url.port, trust, http2 };
        let mut origins = self.shared.origins.lock();
        if let Some(origin) = origins.get(&key).and_then(Weak::upgrade) {
            return Ok(Arc::new(Destination::new(origin, url.path)));
        }
        let config = &self.shared.config;
        let limits =
            OriginLimits { idle_timeout: config.pool_idle_timeout, max_idle: config.max_idle_per_origin };
        let route = self.shared.proxies.route(&url);
        let origin = Arc::new(Origin::new(&url, key.clone(), route, limits, Arc::clone(&self.shared.clock))?);
        origins.retain(|_, origin| origin.strong_count() > 0);
        origins.insert(key, Arc::downgrade(&origin));
        Ok(Arc::new(Destination::new(origin, url.path)))
    }

    /// Sends a request over HTTP/1.1 and returns when the response head has arrived. Dropping the future cancels the
    /// call; redirects are not followed.
    pub async fn send(&self, request: Outbound) -> Result<Inbound, EgressError> {
        let repeatable = request.method.is_idempotent();
        let (prepared, destination) = Prepared::new(request)?;
        self.send_http1(prepared, &destination, repeatable).await
    }

    /// Sends a request over HTTP/2 where the destination supports it. Meant for responses that are small or read as
    /// they arrive: streams have a small window, so large documents arrive faster over HTTP/1.1.
    pub async fn send_multiplexed(&self, request: Outbound) -> Result<Inbound, EgressError> {
        let repeatable = request.method.is_idempotent();
        let (prepared, destination) = Prepared::new(request)?;
        if destination.origin.settled_on_http1() {
            return self.send_http1(prepared, &destination, repeatable).await;
        }
        // Boxed: few providers use HTTP/2, and its future is larger.
        Box::pin(self.send_http2(prepared, &destination, repeatable)).await
    }

    async fn send_http1(
        &self,
        prepared: Prepared,
        destination: &Destination,
        repeatable: bool,
    ) -> Result<Inbound, EgressError> {
        let origin = &destination.origin;
        let started = origin.tick();
        if let Some(connection) = origin.check_out() {
            match exchange_http1(connection, prepared.clone(), origin).await {
                Err(failure) if repeatable && prepared.is_whole() && self.is_stale(&failure, started) => {}
                outcome => return outcome.map_err(|failure| failure.error),
            }
        }
        // Dialling is rare and its future is large; boxing keeps it out of the future of every call.
        let connection = Box::pin(self.shared.dialer.dial_http1(destination)).await?;
        exchange_http1(connection, prepared, origin).await.map_err(|failure| failure.error)
    }

    /// Sends over HTTP/2. A request that the upstream did not process is sent again on another connection, whatever its
    /// method.
    async fn send_http2(
        &self,
        prepared: Prepared,
        destination: &Destination,
        repeatable: bool,
    ) -> Result<Inbound, EgressError> {
        let origin = &destination.origin;
        let started = origin.tick();
        let mut tries = 0;
        loop {
            tries += 1;
            let lease = match origin.http2.lease() {
                Some(lease) => lease,
                None => match Box::pin(self.shared.dialer.dial(destination)).await? {
                    Dialled::Http2(lease) => lease,
                    Dialled::Http1(connection) => {
                        let outcome = exchange_http1(connection, prepared, origin).await;
                        return outcome.map_err(|failure| failure.error);
                    }
                },
            };
            let failure = match exchange_http2(lease, prepared.clone(), origin).await {
                Ok(inbound) => return Ok(inbound),
                Err(failure) => failure,
            };
            let refused = failure.error.kind() == EgressErrorKind::Refused && tries < REFUSED_TRIES;
            let stale = repeatable && tries == 1 && self.is_stale(&failure, started);
            if !prepared.is_whole() || !(refused || stale) {
                return Err(failure.error);
            }
        }
    }

    /// Opens connections in advance, so that the current runtime has at least `connections` idle ones (HTTP/2: one).
    pub async fn warm(&self, destination: &Destination, connections: usize) {
        let origin = &destination.origin;
        let cannot = |error: EgressError| {
            tracing::debug!(host = origin.host(), %error, "connection warm-up failed");
        };
        if !origin.settled_on_http1() {
            if origin.http2.is_connected() {
                return;
            }
            match self.shared.dialer.dial(destination).await {
                Ok(Dialled::Http1(connection)) => origin.check_in(connection),
                Ok(Dialled::Http2(_)) => {}
                Err(error) => cannot(error),
            }
            return;
        }
        let wanted =
            connections.min(self.shared.config.max_idle_per_origin).saturating_sub(origin.idle_here());
        let dials = (0..wanted).map(|_| self.shared.dialer.dial_http1(destination));
        for dialled in join_all(dials).await {
            match dialled {
                Ok(connection) => origin.check_in(connection),
                Err(error) => cannot(error),
            }
        }
    }

    /// Closes connections that have been idle for too long; to be called periodically.
    pub fn sweep(&self) {
        for origin in self.live_origins() {
            origin.sweep();
        }
    }

    /// Closes all idle connections and lets the HTTP/2 drivers end when their streams have ended.
    pub fn close_idle(&self) {
        for origin in self.live_origins() {
            origin.close_idle();
        }
    }

    /// The number of idle HTTP/1.1 connections of all origins.
    pub fn idle_connections(&self) -> usize {
        self.live_origins().iter().map(|origin| origin.idle_connections()).sum()
    }

    fn live_origins(&self) -> Vec<Arc<Origin>> {
        self.shared.origins.lock().values().filter_map(Weak::upgrade).collect()
    }

    /// True if the connection had probably been closed while it was idle.
    fn is_stale(&self, failure: &Failure, started: Duration) -> bool {
        failure.silent && self.shared.clock.tick().saturating_sub(started) < REPEAT_WINDOW
    }
}

async fn exchange_http1(
    mut connection: Box<Http1>,
    prepared: Prepared,
    origin: &Arc<Origin>,
) -> Result<Inbound, Failure> {
    let head = connection.exchange(prepared.into_http1(origin)).await?;
    let body = InboundBody::http1(connection, Arc::clone(origin));
    Ok(Inbound { status: head.status, headers: head.headers, body })
}

async fn exchange_http2(
    mut lease: StreamLease,
    prepared: Prepared,
    origin: &Arc<Origin>,
) -> Result<Inbound, Failure> {
    let request = prepared.into_http2(origin).map_err(|error| Failure { error, silent: false })?;
    let (head, incoming) = lease.exchange(request).await?.into_parts();
    let body = InboundBody::http2(incoming, lease, Arc::clone(origin));
    Ok(Inbound { status: head.status, headers: head.headers, body })
}
