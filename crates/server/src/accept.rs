//! The accept loop: HTTP/1.1 and h2c, a cap on connections, a limit on slow headers, and a drain that ends.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;

use crate::door::{Door, Outgoing, Place};
use crate::framing::{self, ConflictFlag};
use crate::http2::{self, StreamBody, StreamExecutor};
use crate::patient::Patient;
use crate::preface;
use crate::workers::Workers;

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

/// Serves until `stop` turns true, then lets what is running finish within the grace period.
/// Returns how many connections had to be cut.
pub async fn serve(
    listener: TcpListener,
    door: Door,
    config: ListenConfig,
    mut stop: watch::Receiver<bool>,
    workers: &Workers,
) -> usize {
    let connections = TaskTracker::new();
    let places = Arc::new(Semaphore::new(config.max_connections));
    let http1 = Arc::new(http1_builder(&config));
    loop {
        let place = tokio::select! {
            biased;
            () = stopped(&mut stop) => break,
            place = places.clone().acquire_owned() => place,
        };
        let Ok(place) = place else { break };
        let accepted = tokio::select! {
            biased;
            () = stopped(&mut stop) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                // The thread that serves it is the one that watches it.
                let Ok(stream) = stream.into_std() else { continue };
                let (door, http1, config) = (door.clone(), http1.clone(), config.clone());
                let serve = connection(
                    stream,
                    peer.ip(),
                    door,
                    http1,
                    config,
                    stop.clone(),
                    Place::new(place, connections.token()),
                );
                workers.serve(&connections, serve);
            }
            // Out of file handles, most likely: asking again at once would only burn the CPU.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    door.app().drain();
    connections.close();
    if tokio::time::timeout(config.grace, connections.wait()).await.is_err() {
        tracing::warn!(connections = connections.len(), "the grace period is over: connections are cut");
    }
    connections.len()
}

/// Largest request head, and largest buffer of a connection for what is read and written.
const MAX_HEAD: usize = 64 * 1024;

fn http1_builder(config: &ListenConfig) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(config.header_timeout);
    // The buffer's bound alone is not exact: a read may go beyond it.
    builder.max_buf_size(MAX_HEAD).max_header_size(MAX_HEAD);
    builder
}

async fn connection(
    stream: std::net::TcpStream,
    peer: IpAddr,
    door: Door,
    http1: Arc<http1::Builder>,
    config: ListenConfig,
    mut stop: watch::Receiver<bool>,
    place: Arc<Place>,
) {
    let Ok(mut stream) = TcpStream::from_std(stream) else { return };
    let _ = stream.set_nodelay(true);
    let detected = tokio::select! {
        detected = tokio::time::timeout(config.header_timeout, preface::detect(&mut stream)) => detected,
        () = stopped(&mut stop) => return,
    };
    let Ok(Ok(Some(detected))) = detected else { return };
    let client = Client { door, peer, place };
    let io = Patient::new(stream, detected.consumed, config.write_patience);
    // On the heap, so that a connection has room for its own protocol only, and none for what detection needed.
    let outcome = if detected.http2 {
        Box::pin(serve_http2(TokioIo::new(io), client, config.write_patience, stop)).await
    } else {
        Box::pin(serve_http1(io, client, &http1, stop)).await
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// The peer of a connection, and the routes that answer it.
#[derive(Clone)]
struct Client {
    door: Door,
    peer: IpAddr,
    place: Arc<Place>,
}

impl Client {
    async fn answer(
        self,
        request: Request<Incoming>,
        conflict: ConflictFlag,
    ) -> Result<Response<Outgoing>, Infallible> {
        match framing::check(&request, &conflict) {
            Ok(()) => self.door.answer(request, Some(self.peer), Some(self.place)).await,
            Err(fault) => Ok(self.door.refuse(&request, fault)),
        }
    }
}

async fn serve_http1(
    mut io: Patient,
    client: Client,
    builder: &http1::Builder,
    mut stop: watch::Receiver<bool>,
) -> hyper::Result<()> {
    let conflict = io.scan_framing();
    // Hyper keeps room for this future while the connection is idle: on the heap, it takes none.
    let service = service_fn(move |request| Box::pin(client.clone().answer(request, conflict.clone())));
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
    io: TokioIo<Patient>,
    client: Client,
    write_timeout: Duration,
    mut stop: watch::Receiver<bool>,
) -> hyper::Result<()> {
    let streams = StreamExecutor::new(write_timeout);
    let service = service_fn(move |request| {
        let answer = client.clone().answer(request, ConflictFlag::default());
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
            // Data that the client never read would keep the connection open.
            tokio::time::timeout(write_timeout, connection).await.unwrap_or(Ok(()))
        }
    }
}

/// Waits for the signal; what guards its value is not held any longer than that.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
