//! TLS with a private certificate authority, over HTTP/1.1 and HTTP/2.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use super::upstream::{TurnedClock, egress, post, text};
use crate::{Egress, EgressConfig, EgressErrorKind, Trust};

pub struct Secure {
    pub url: String,
    pub port: u16,
    pub roots: PathBuf,
    pub connections: Arc<AtomicUsize>,
    /// Notified when the client cancels a stream.
    pub cancelled: Arc<tokio::sync::Notify>,
    /// Number of streams that are refused before one is served.
    pub refusals: Arc<AtomicUsize>,
    _directory: tempfile::TempDir,
}

struct NotifyOnDrop(Arc<tokio::sync::Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// `/` echoes; `/chunks` sends a hundred frames; `/open` sends one and never ends; `/large` sends 1 MiB.
async fn answer(
    request: Request<Incoming>,
    cancelled: Arc<tokio::sync::Notify>,
    refusals: Arc<AtomicUsize>,
) -> Result<Response<BoxedBody>, h2::Error> {
    if refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
        return Err(h2::Reason::REFUSED_STREAM.into());
    }
    let version = request.version();
    let path = request.uri().path().to_owned();
    let host = request.uri().host().map(str::to_owned);
    let echoed = request.into_body().collect().await.unwrap().to_bytes();
    let frames: Vec<Bytes> = match path.as_str() {
        "/chunks" => vec![Bytes::from_static(b"data: x\n\n"); 100],
        "/open" => vec![Bytes::from_static(b"first")],
        "/large" => vec![Bytes::from_static(&[b'x'; 64 * 1024]); 16],
        _ => vec![echoed],
    };
    let open = path == "/open";
    let body = StreamBody::new(futures_util::stream::unfold(
        (frames.into_iter(), NotifyOnDrop(cancelled)),
        move |(mut frames, guard)| async move {
            match frames.next() {
                Some(bytes) => Some((Ok::<_, Infallible>(Frame::data(bytes)), (frames, guard))),
                None if open => std::future::pending().await,
                None => None,
            }
        },
    ));
    let mut response = Response::new(body.boxed());
    response
        .headers_mut()
        .insert("x-version", if version == Version::HTTP_2 { "2" } else { "1" }.parse().unwrap());
    response.headers_mut().insert("x-host", host.unwrap_or_default().parse().unwrap());
    Ok(response)
}

type BoxedBody = http_body_util::combinators::BoxBody<Bytes, Infallible>;

impl Secure {
    pub async fn start(http2: bool) -> Self {
        Self::start_with(http2, None).await
    }

    /// `streams` is the limit of concurrent streams that the server announces.
    pub async fn start_with(http2: bool, streams: Option<u32>) -> Self {
        let certified =
            rcgen::generate_simple_self_signed(["localhost", "upstream.invalid"].map(str::to_owned)).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let roots = directory.path().join("roots.pem");
        std::fs::write(&roots, certified.cert.pem()).unwrap();
        let key = rustls_pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols =
            if http2 { vec![b"h2".to_vec(), b"http/1.1".to_vec()] } else { vec![b"http/1.1".to_vec()] };
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = format!("https://localhost:{port}");
        let (connections, cancelled) = (Arc::new(AtomicUsize::new(0)), Arc::new(tokio::sync::Notify::new()));
        let (count, notify) = (Arc::clone(&connections), Arc::clone(&cancelled));
        let refusals = Arc::new(AtomicUsize::new(0));
        let refusing = Arc::clone(&refusals);
        let tasks = TaskTracker::new();
        tasks.clone().spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (acceptor, count, notify) = (acceptor.clone(), Arc::clone(&count), Arc::clone(&notify));
                let refusing = Arc::clone(&refusing);
                tasks.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    count.fetch_add(1, Ordering::SeqCst);
                    let service = service_fn(move |request| {
                        answer(request, Arc::clone(&notify), Arc::clone(&refusing))
                    });
                    let io = TokioIo::new(stream);
                    let mut builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                    builder.http2().max_concurrent_streams(streams);
                    let _ = builder.serve_connection(io, service).await;
                });
            }
        });
        Self { url, port, roots, connections, cancelled, refusals, _directory: directory }
    }

    pub fn client(&self, http2: bool) -> Egress {
        egress(EgressConfig { http2, extra_roots: Some(self.roots.clone()), ..EgressConfig::default() })
    }
}

async fn check(server_http2: bool, client_http2: bool, version: &str) {
    let server = Secure::start(server_http2).await;
    let egress = server.client(client_http2);
    let destination = egress.destination(&server.url, Trust::Operator).unwrap();
    let calls = (0..8).map(|_| egress.send_multiplexed(post(&destination, "/", &["he", "llo"])));
    for inbound in futures_util::future::join_all(calls).await {
        let inbound = inbound.unwrap();
        assert_eq!(inbound.headers["x-version"], version);
        assert_eq!(inbound.body.collect(100).await.unwrap(), "hello");
    }
    for _ in 0..8 {
        assert_eq!(text(&egress, &destination).await, "hello");
    }
    let connections = server.connections.load(Ordering::SeqCst);
    assert!(if version == "2" { connections <= 4 } else { connections == 8 }, "{connections}");
}

#[tokio::test]
async fn speaks_the_version_both_sides_know() {
    check(true, true, "2").await;
    check(true, false, "1").await;
    check(false, true, "1").await;
}

#[tokio::test]
async fn an_unknown_authority_is_refused() {
    let server = Secure::start(true).await;
    let egress = egress(EgressConfig::default());
    let destination = egress.destination(&server.url, Trust::Operator).unwrap();
    let error = egress.send(post(&destination, "/", &[])).await.err().unwrap();
    assert_eq!(error.kind(), EgressErrorKind::Tls, "{error}");
    assert!(error.is_connect());
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let server = Secure::start(true).await;
    let egress = server.client(true);
    let destination =
        egress.destination(&server.url.replace("localhost", "127.0.0.1"), Trust::Operator).unwrap();
    let error = egress.send(post(&destination, "/", &[])).await.err().unwrap();
    assert_eq!(error.kind(), EgressErrorKind::Tls, "{error}");
}

#[tokio::test]
async fn a_root_file_must_hold_certificates() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty.pem");
    std::fs::write(&empty, "nothing").unwrap();
    for path in [empty, directory.path().join("missing.pem")] {
        let config = EgressConfig { extra_roots: Some(path), ..EgressConfig::default() };
        let error = Egress::new(config, Arc::new(TurnedClock::default()), TaskTracker::new()).err().unwrap();
        assert_eq!(error.kind(), EgressErrorKind::Tls);
    }
}

#[tokio::test]
async fn frames_of_a_stream_are_merged_and_dropping_resets_it() {
    for http2 in [true, false] {
        let server = Secure::start(http2).await;
        let egress = server.client(true);
        let destination = egress.destination(&server.url, Trust::Operator).unwrap();
        let mut body = egress.send_multiplexed(post(&destination, "/chunks", &[])).await.unwrap().body;
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            bytes.extend_from_slice(&frame.unwrap().into_data().unwrap());
        }
        assert_eq!(bytes.len(), 900);
        server.cancelled.notified().await;
        let mut open = egress.send_multiplexed(post(&destination, "/open", &[])).await.unwrap().body;
        assert_eq!(open.frame().await.unwrap().unwrap().into_data().unwrap(), "first");
        drop(open);
        tokio::time::timeout(Duration::from_millis(500), server.cancelled.notified()).await.unwrap();
        assert_eq!(text(&egress, &destination).await, "hello", "the next call works");
    }
}

#[tokio::test]
async fn http2_drivers_end_when_the_client_lets_go() {
    let server = Secure::start(true).await;
    let tasks = TaskTracker::new();
    let config =
        EgressConfig { http2: true, extra_roots: Some(server.roots.clone()), ..EgressConfig::default() };
    let egress = Egress::new(config, Arc::new(TurnedClock::default()), tasks.clone()).unwrap();
    let destination = egress.destination(&server.url, Trust::Operator).unwrap();
    egress.warm(&destination, 4).await;
    assert_eq!(text(&egress, &destination).await, "hello");
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    assert!(!tasks.is_empty());
    egress.close_idle();
    tasks.close();
    tokio::time::timeout(Duration::from_secs(5), tasks.wait()).await.unwrap();
    assert_eq!(text(&egress, &destination).await, "hello", "and it dials again");
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
}
