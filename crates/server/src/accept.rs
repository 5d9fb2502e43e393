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
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use pipeline::services::body_work::BodyLease;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
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
    pub grace: Duration,
}

impl Default for ListenConfig {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            header_timeout: Duration::from_secs(30),
            write_patience: Duration::from_secs(60),
            grace: Duration::from_secs(30),
        }
    }
}

/// Accepts and serves connections until `stop` becomes true, then lets open connections finish within the grace period.
/// Returns the number of connections that were still open when the grace period ended.
pub async fn serve(
    listener: TcpListener,
    http_service: HttpService,
    config: ListenConfig,
    mut stop: watch::Receiver<bool>,
    workers: &Workers,
) -> usize {
    let connections = TaskTracker::new();
    let slots = Arc::new(Semaphore::new(config.max_connections));
    let http1 = Arc::new(http1_builder(&config));
    loop {
        // Waits for a free connection slot before accepting, so that connections over the limit stay in the kernel's
        // backlog. `biased` polls the stop signal first: a busy listener cannot starve it.
        let slot = tokio::select! {
            biased;
            () = stopped(&mut stop) => break,
            slot = slots.clone().acquire_owned() => slot,
        };
        let Ok(slot) = slot else { break };
        let accepted = tokio::select! {
            biased;
            () = stopped(&mut stop) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Deregisters the socket from this runtime's I/O driver: the worker that serves the connection
                // registers it with its own.
                let Ok(stream) = stream.into_std() else { continue };
                let (http_service, http1, config) = (http_service.clone(), http1.clone(), config.clone());
                let serve = connection(
                    stream,
                    peer.ip(),
                    http_service,
                    http1,
                    config,
                    stop.clone(),
                    ConnectionSlot::new(slot, connections.token()),
                );
                workers.serve(&connections, serve);
            }
            // Most likely out of file descriptors: retrying immediately would spin.
            Err(error) => {
                tracing::warn!(%error, "failed to accept connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    // From here on new connections are refused. Open ones see the stop signal themselves and shut down gracefully; the
    // tracker completes when it is closed and all of them, upgraded ones included, have ended.
    drop(listener);
    http_service.app().drain();
    connections.close();
    if tokio::time::timeout(config.grace, connections.wait()).await.is_err() {
        tracing::warn!(connections = connections.len(), "grace period expired, closing open connections");
    }
    connections.len()
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
    let detected = tokio::select! {
        detected = tokio::time::timeout(config.header_timeout, preface::detect(&mut stream)) => detected,
        () = stopped(&mut stop) => return,
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
        match framing::check(&request, &conflict) {
            Ok(()) => Ok(self.http_service.answer(request, Some(self.peer), Some(self.slot)).await),
            Err(fault) => Ok(self.http_service.refuse(&request, fault)),
        }
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
