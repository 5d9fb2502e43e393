//! Opens connections: DNS resolution, destination rules for every address, TCP, proxy tunnel, TLS.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::task::TaskTracker;

use crate::address;
use crate::destination::Destination;
use crate::error::{EgressError, EgressErrorKind};
use crate::http1::Http1;
use crate::http2::{Http2, StreamLease};
use crate::http2_pool::Turn;
use crate::origin::Origin;
use crate::proxy::{Proxy, Route};
use crate::tls::Connectors;
use crate::transport::Stream;

const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(15);

pub(crate) struct Dialer {
    pub(crate) tls: Connectors,
    pub(crate) timeout: Duration,
    pub(crate) tasks: TaskTracker,
}

pub(crate) enum Dialled {
    Http1(Box<Http1>),
    Http2(StreamLease),
}

impl Dialer {
    /// Opens a new HTTP/1.1 connection.
    pub(crate) async fn dial_http1(&self, destination: &Destination) -> Result<Box<Http1>, EgressError> {
        let limit = self.limit(destination);
        let dialling = async { Ok(Http1::new(self.open(&destination.origin, limit, false).await?)) };
        timeout(limit, dialling).await.unwrap_or_else(|_| Err(EgressError::connect_timeout()))
    }

    /// Leases a stream on an HTTP/2 connection, opening one if necessary, or opens an HTTP/1.1 connection if the origin
    /// does not support HTTP/2.
    pub(crate) async fn dial(&self, destination: &Destination) -> Result<Dialled, EgressError> {
        let limit = self.limit(destination);
        let dialling = self.dial_in_turn(&destination.origin, limit);
        timeout(limit, dialling).await.unwrap_or_else(|_| Err(EgressError::connect_timeout()))
    }

    fn limit(&self, destination: &Destination) -> Duration {
        destination.connect_timeout().unwrap_or(self.timeout)
    }

    /// Dials with a limited number of concurrent attempts; waiting calls share the connections that are opened.
    async fn dial_in_turn(&self, origin: &Origin, limit: Duration) -> Result<Dialled, EgressError> {
        // Held until the connection is in the pool or the dial has failed; dropping it wakes the waiting calls.
        let _turn = loop {
            if origin.settled_on_http1() {
                let stream = self.open(origin, limit, false).await?;
                return Ok(Dialled::Http1(Http1::new(stream)));
            }
            match origin.http2.turn() {
                Turn::Stream(lease) => return Ok(Dialled::Http2(lease)),
                Turn::Wait(turn) => turn.dial_ended().await,
                Turn::Dial(turn) => break turn,
                Turn::Exhausted => return Err(EgressError::overloaded()),
            }
        };
        let stream = self.open(origin, limit, true).await?;
        if !stream.negotiated_http2() {
            origin.settle_on_http1();
            return Ok(Dialled::Http1(Http1::new(stream)));
        }
        let connection = Http2::new(stream, &self.tasks).await?;
        let lease = connection.lease().ok_or_else(EgressError::overloaded)?;
        origin.http2.add(connection);
        Ok(Dialled::Http2(lease))
    }

    async fn open(&self, origin: &Origin, limit: Duration, offer_http2: bool) -> Result<Stream, EgressError> {
        let deadline = Instant::now() + limit;
        let stream = match origin.route() {
            Route::Direct => connect(allowed_addresses(origin).await?, deadline).await?,
            Route::Forward(proxy) => {
                check_behind_proxy(origin).await?;
                connect_proxy(proxy, deadline).await?
            }
            Route::Tunnel(proxy) => {
                check_behind_proxy(origin).await?;
                let mut stream = connect_proxy(proxy, deadline).await?;
                proxy.tunnel(&mut stream, &origin.authority_with_port()).await?;
                stream
            }
        };
        let Some(name) = origin.server_name() else { return Ok(Stream::Plain(stream)) };
        let tls = if offer_http2 { &self.tls.http2 } else { &self.tls.http1 };
        let stream = tls.connect(name.clone(), stream).await.map_err(|error| describe_tls(&error))?;
        Ok(Stream::Tls(Box::new(stream)))
    }
}

async fn connect_proxy(proxy: &Proxy, deadline: Instant) -> Result<TcpStream, EgressError> {
    let unreachable = |error: EgressError| match error.kind() {
        EgressErrorKind::ConnectTimeout => error,
        _ => EgressError::proxy(format!("the proxy cannot be reached: {error}")),
    };
    let addresses = resolve(&proxy.host, proxy.port).await.map_err(unreachable)?;
    connect(addresses, deadline).await.map_err(unreachable)
}

/// Tries each address in turn, each with an equal share of the remaining time.
async fn connect(addresses: Vec<SocketAddr>, deadline: Instant) -> Result<TcpStream, EgressError> {
    let mut last = EgressError::new(EgressErrorKind::Dns, "the host name has no address");
    let mut left = addresses.len() as u32;
    for address in addresses {
        let share = deadline.saturating_duration_since(Instant::now()) / left.max(1);
        left = left.saturating_sub(1);
        match timeout_at(Instant::now() + share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                tune(&stream);
                return Ok(stream);
            }
            Ok(Err(error)) => last = EgressError::connect(&error),
            Err(_) => last = EgressError::connect_timeout(),
        }
    }
    Err(last)
}

/// Sets socket options. Errors are ignored, because the socket works without them.
fn tune(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_AFTER).with_interval(KEEPALIVE_EVERY);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

/// The resolved addresses that the destination rules permit. The caller dials exactly these addresses, without a second
/// resolution, so that the check cannot be bypassed by DNS rebinding.
async fn allowed_addresses(origin: &Origin) -> Result<Vec<SocketAddr>, EgressError> {
    let mut refusal = None;
    let mut addresses = resolve(origin.host(), origin.port()).await?;
    addresses.retain(|address| match address::permit(address.ip(), origin.https(), origin.trust()) {
        Ok(()) => true,
        Err(why) => {
            refusal = Some(why);
            false
        }
    });
    match refusal {
        Some(why) if addresses.is_empty() => Err(EgressError::forbidden(why)),
        _ => Ok(addresses),
    }
}

/// Checks a destination behind a proxy as far as possible: the proxy resolves the name itself, but if the name resolves
/// here and none of its addresses is permitted, the call is rejected.
async fn check_behind_proxy(origin: &Origin) -> Result<(), EgressError> {
    match allowed_addresses(origin).await {
        Err(error) if error.kind() == EgressErrorKind::Forbidden => Err(error),
        _ => Ok(()),
    }
}

async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, EgressError> {
    if let Ok(literal) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(literal, port)]);
    }
    match tokio::net::lookup_host((host, port)).await {
        Ok(addresses) => Ok(addresses.collect()),
        Err(_) => Err(EgressError::new(EgressErrorKind::Dns, "the host name cannot be resolved")),
    }
}

fn describe_tls(error: &std::io::Error) -> EgressError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(cause) => EgressError::tls(format!("TLS failed: {cause}")),
        None => EgressError::tls(format!("TLS failed: {}", EgressError::connect(error))),
    }
}
