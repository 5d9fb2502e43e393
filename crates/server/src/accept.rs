//! The accept loop: HTTP/1.1 and h2c, a cap on connections, a limit on slow headers, and a drain that ends.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;

use crate::door::{Door, Place};
use crate::patient::Patient;
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
    let protocols = Arc::new(protocols(&config));
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
                let (door, protocols, config) = (door.clone(), protocols.clone(), config.clone());
                let serve = connection(
                    stream,
                    peer.ip(),
                    door,
                    protocols,
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

/// How each version of the protocol is spoken.
struct Protocols {
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
}

fn protocols(config: &ListenConfig) -> Protocols {
    let mut http1 = http1::Builder::new();
    http1.timer(TokioTimer::new()).header_read_timeout(config.header_timeout);
    let mut http2 = http2::Builder::new(TokioExecutor::new());
    http2
        .timer(TokioTimer::new())
        .max_concurrent_streams(1024)
        .keep_alive_interval(Some(Duration::from_secs(30)))
        .keep_alive_timeout(Duration::from_secs(20));
    Protocols { http1, http2 }
}

async fn connection(
    stream: std::net::TcpStream,
    peer: std::net::IpAddr,
    door: Door,
    protocols: Arc<Protocols>,
    config: ListenConfig,
    mut stop: watch::Receiver<bool>,
    place: Arc<Place>,
) {
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let _ = stream.set_nodelay(true);
    let speaks_http2 = tokio::select! {
        spoken = tokio::time::timeout(config.header_timeout, speaks_http2(&stream)) => spoken,
        () = stopped(&mut stop) => return,
    };
    let Ok(Ok(speaks_http2)) = speaks_http2 else { return };
    let io = TokioIo::new(Patient::new(stream, config.write_patience));
    let held = place.clone();
    let service = service_fn(move |request| {
        let door = door.clone();
        let place = held.clone();
        async move { door.answer(request, Some(peer), Some(place)).await }
    });
    let outcome = if speaks_http2 {
        let mut connection = pin!(protocols.http2.serve_connection(io, service));
        tokio::select! {
            outcome = connection.as_mut() => outcome,
            () = stopped(&mut stop) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        }
    } else {
        let mut connection = pin!(protocols.http1.serve_connection(io, service).with_upgrades());
        tokio::select! {
            outcome = connection.as_mut() => outcome,
            () = stopped(&mut stop) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection ended early");
    }
    drop(place);
}

/// Looks at the first bytes without taking them: HTTP/2 without TLS begins with its preface, known to both sides.
async fn speaks_http2(stream: &TcpStream) -> std::io::Result<bool> {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let mut start = [0u8; PREFACE.len()];
    loop {
        let seen = stream.peek(&mut start).await?;
        if seen == 0 || start[..seen] != PREFACE[..seen] {
            return Ok(false);
        }
        if seen == PREFACE.len() {
            return Ok(true);
        }
        // Half a preface: the rest is on its way.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Waits for the signal; what guards its value is not held any longer than that.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
