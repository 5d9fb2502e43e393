//! The accept loop: serves HTTP/1.1 and h2c with a connection limit, a timeout for request headers and a graceful
//! shutdown.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use domain::clock::Timestamp;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response, StatusCode, Version};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use pipeline::services::body_work::BodyLease;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::task::TaskTracker;

use crate::framing::{self, ConflictFlag};
use crate::http_service::HttpService;
use crate::http1::{self, MAX_HEAD, Served, Service, Timeouts, stopped};
use crate::http2::{self, StreamBody, StreamExecutor};
use crate::preface;
use crate::request_body::RequestBody;
use crate::request_context::{ConnectionSlot, Outgoing};
use crate::workers::Workers;
use crate::write_timeout::WriteTimeoutStream;

#[derive(Clone, Debug)]
pub struct ListenConfig {
    pub max_connections: usize,
    pub header_timeout: Duration,
    pub write_patience: Duration,
    /// Time between the stop signal and the end of accepting.
    pub delay: Duration,
    pub grace: Duration,
}

impl Default for ListenConfig {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            header_timeout: Duration::from_secs(30),
            write_patience: Duration::from_secs(60),
            delay: Duration::ZERO,
            grace: Duration::from_secs(30),
        }
    }
}

/// The least time between the stop signal and the end of accepting: connections that wait in the listen queue are served.
const SHORTEST_DELAY: Duration = Duration::from_millis(20);
/// The most connections that are taken from the listen queue at the end of accepting; further ones arrive meanwhile.
const MOST_WAITING: usize = 1024;
/// Time in which a connection that was just accepted may still send its request after the end of accepting.
const LAST_REQUEST: Duration = Duration::from_millis(100);

/// Accepts and serves connections until `stop` becomes true and the delay has passed, then lets open connections finish
/// within the grace period. From the stop signal on `/ready` fails, and responses close their connection. Returns the
/// number of connections that were still open when the grace period ended.
pub async fn serve(
    listener: TcpListener,
    http_service: HttpService,
    config: ListenConfig,
    mut stop: watch::Receiver<bool>,
    workers: &Workers,
) -> usize {
    http_service.app().serve_on(workers.runtimes());
    let (close, closing) = watch::channel(false);
    let acceptor = Acceptor {
        slots: Arc::new(Semaphore::new(config.max_connections)),
        http1: Arc::new(http1_builder(&config)),
        connections: TaskTracker::new(),
        http_service: http_service.clone(),
        config,
        closing,
        workers,
    };
    acceptor.accept_until(&listener, stopped(&mut stop)).await;
    http_service.app().drain();
    let delay = acceptor.config.delay.max(SHORTEST_DELAY);
    acceptor.accept_until(&listener, tokio::time::sleep(delay)).await;
    acceptor.close(listener);
    // From here on new connections are refused. Open ones see the signal themselves and shut down gracefully; the
    // tracker completes when it is closed and all of them, upgraded ones included, have ended.
    let Acceptor { connections, config, .. } = acceptor;
    http_service.app().end_feeds();
    let _ = close.send(true);
    connections.close();
    if tokio::time::timeout(config.grace, connections.wait()).await.is_err() {
        tracing::warn!(connections = connections.len(), "grace period expired, closing open connections");
    }
    connections.len()
}

/// The state that all connections of the listener share.
struct Acceptor<'a> {
    slots: Arc<Semaphore>,
    http1: Arc<Builder>,
    connections: TaskTracker,
    http_service: HttpService,
    config: ListenConfig,
    /// Becomes true when connections have to end.
    closing: watch::Receiver<bool>,
    workers: &'a Workers,
}

impl Acceptor<'_> {
    /// Accepts connections until a future completes.
    async fn accept_until(&self, listener: &TcpListener, end: impl Future<Output = ()>) {
        let mut end = pin!(end);
        loop {
            // Waits for a free connection slot before accepting, so that connections over the limit stay in the kernel's
            // backlog. `biased` polls the end first: a busy listener cannot starve it.
            let slot = tokio::select! {
                biased;
                () = end.as_mut() => return,
                slot = self.slots.clone().acquire_owned() => slot,
            };
            let Ok(slot) = slot else { return };
            let accepted = tokio::select! {
                biased;
                () = end.as_mut() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                // Deregisters the socket from this runtime's I/O driver: the worker that serves the connection registers it
                // with its own.
                Ok((stream, peer)) => {
                    if let Ok(stream) = stream.into_std() {
                        self.start(stream, peer.ip(), slot);
                    }
                }
                // Most likely out of file descriptors: retrying immediately would spin.
                Err(error) => {
                    tracing::warn!(%error, "failed to accept connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// Closes the listener. Connections that wait in its queue are served: the kernel would reset them, and a proxy that has
    /// sent its request on one could not repeat it.
    fn close(&self, listener: TcpListener) {
        let Ok(listener) = listener.into_std() else { return };
        for _ in 0..MOST_WAITING {
            let Ok(slot) = self.slots.clone().try_acquire_owned() else { return };
            let Ok((stream, peer)) = listener.accept() else { return };
            if stream.set_nonblocking(true).is_ok() {
                self.start(stream, peer.ip(), slot);
            }
        }
    }

    /// Serves a connection on a worker.
    fn start(&self, stream: std::net::TcpStream, peer: IpAddr, slot: OwnedSemaphorePermit) {
        let serve = connection(
            stream,
            peer,
            self.http_service.clone(),
            self.http1.clone(),
            self.config.clone(),
            self.closing.clone(),
            ConnectionSlot::new(slot, self.connections.token()),
        );
        self.workers.serve(&self.connections, serve);
    }
}

fn http1_builder(config: &ListenConfig) -> Builder {
    let mut builder = Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(config.header_timeout);
    // `max_buf_size` alone is not exact: one read may exceed it.
    builder.max_buf_size(MAX_HEAD).max_header_size(MAX_HEAD);
    builder
}

async fn connection(
    stream: std::net::TcpStream,
    peer: IpAddr,
    http_service: HttpService,
    http1: Arc<Builder>,
    config: ListenConfig,
    mut stop: watch::Receiver<bool>,
    slot: Arc<ConnectionSlot>,
) {
    let Ok(mut stream) = TcpStream::from_std(stream) else { return };
    let _ = stream.set_nodelay(true);
    let ended = async {
        stopped(&mut stop).await;
        // The client may have connected before the listener closed, and its request may be on its way.
        tokio::time::sleep(LAST_REQUEST).await;
    };
    let detected = tokio::select! {
        detected = tokio::time::timeout(config.header_timeout, preface::detect(&mut stream)) => detected,
        () = ended => return,
    };
    let Ok(Ok(Some(detected))) = detected else { return };
    let client = Client { http_service, peer, slot };
    // Boxed, so that the task holds the state of one protocol only and not the state that detection needed.
    let outcome: Result<(), BoxError> = if detected.http2 {
        let io = WriteTimeoutStream::new(stream, detected.consumed, config.write_patience);
        Box::pin(serve_http2(TokioIo::new(io), client, config.write_patience, stop)).await.map_err(Into::into)
    } else {
        Box::pin(serve_http1(stream, detected.consumed, client, &http1, &config, stop)).await
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "connection ended with an error");
    }
}

/// The peer of a connection and the service that answers its requests.
#[derive(Clone)]
struct Client {
    http_service: HttpService,
    peer: IpAddr,
    slot: Arc<ConnectionSlot>,
}

impl Client {
    async fn answer_checked<B>(
        self,
        request: Request<B>,
        conflict: ConflictFlag,
    ) -> Result<Response<Outgoing>, Infallible>
    where
        B: Body<Data = Bytes, Error = hyper::Error> + Send + Unpin + 'static,
    {
        let is_http1 = request.version() != Version::HTTP_2;
        let mut response = match framing::check(&request, &conflict) {
            Ok(()) => self.http_service.answer(request, Some(self.peer), Some(self.slot.clone())).await,
            Err(fault) => self.http_service.refuse(&request, fault),
        };
        if is_http1
            && self.http_service.app().is_draining()
            && response.status() != StatusCode::SWITCHING_PROTOCOLS
        {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response)
    }
}

impl Service for Client {
    async fn answer(&self, request: Request<http1::RequestBody>) -> Response<Outgoing> {
        self.http_service.answer(request, Some(self.peer), Some(self.slot.clone())).await
    }

    fn needs_whole_body(&self, path: &str) -> bool {
        self.http_service.needs_whole_body(path)
    }

    fn body_lease(&self) -> BodyLease {
        let gateway = &self.http_service.app().gateway;
        gateway.body_work.lease(gateway.policy.body_memory_limit)
    }

    fn now(&self) -> Timestamp {
        self.http_service.app().gateway.clock.now()
    }

    fn is_draining(&self) -> bool {
        self.http_service.app().is_draining()
    }
}

/// Serves a connection by `http1`, and from its first unsupported request on by hyper.
async fn serve_http1(
    stream: TcpStream,
    read_before: Vec<u8>,
    client: Client,
    builder: &Builder,
    config: &ListenConfig,
    stop: watch::Receiver<bool>,
) -> Result<(), BoxError> {
    let timeouts = Timeouts { head: config.header_timeout, write: config.write_patience };
    match http1::serve(stream, &read_before, &client, timeouts, stop.clone()).await? {
        Served::Closed => Ok(()),
        Served::Unsupported(stream, read_before) => {
            let io = WriteTimeoutStream::new(stream, read_before.into(), config.write_patience);
            Ok(Box::pin(serve_by_hyper(io, client, builder, stop)).await?)
        }
    }
}

async fn serve_by_hyper(
    mut io: WriteTimeoutStream,
    client: Client,
    builder: &Builder,
    mut stop: watch::Receiver<bool>,
) -> hyper::Result<()> {
    let conflict = io.scan_framing();
    // Boxed: hyper reserves room for this future inline, even while the connection is idle.
    let service = service_fn(move |request: Request<Incoming>| {
        let request = request.map(|body| RequestBody::new(body, &client.http_service.app().gateway.tasks));
        Box::pin(client.clone().answer_checked(request, conflict.clone()))
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service).with_upgrades());
    tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    }
}

async fn serve_http2(
    io: TokioIo<WriteTimeoutStream>,
    client: Client,
    write_timeout: Duration,
    mut stop: watch::Receiver<bool>,
) -> hyper::Result<()> {
    let streams = StreamExecutor::new(write_timeout);
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = client.clone().answer_checked(request, ConflictFlag::default());
        async move { answer.await.map(|response| response.map(StreamBody::new)) }
    });
    let mut connection = pin!(http2::builder(streams.clone()).serve_connection(io, service));
    tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = streams.idle_for(write_timeout) => {
            connection.as_mut().graceful_shutdown();
            // Bounded: response data that the client never reads would keep the connection open.
            tokio::time::timeout(write_timeout, connection).await.unwrap_or(Ok(()))
        }
    }
}
