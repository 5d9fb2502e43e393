//! Destination rules end to end, and connection errors.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::Instant;

use super::upstream::{OK, Upstream, egress, post, text};
use crate::{EgressConfig, EgressErrorKind, Trust};

const STRICT: Trust = Trust::Admin { allow_private: false, loopback_listener: false };
const LOCAL: Trust = Trust::Admin { allow_private: false, loopback_listener: true };
const OPEN: Trust = Trust::Admin { allow_private: true, loopback_listener: false };

#[tokio::test]
async fn literal_addresses_are_judged_at_once() {
    let egress = egress(EgressConfig::default());
    let table = [
        ("https://1.1.1.1", STRICT, true),
        ("http://1.1.1.1", STRICT, false),
        ("http://1.1.1.1", Trust::Operator, true),
        ("https://127.0.0.1", STRICT, false),
        ("http://127.0.0.1:11434", LOCAL, true),
        ("http://[::1]:11434", LOCAL, true),
        ("http://[::ffff:127.0.0.1]", STRICT, false),
        ("https://169.254.169.254", STRICT, false),
        ("https://169.254.169.254", LOCAL, false),
        ("http://169.254.169.254", Trust::Operator, true),
        ("https://10.1.2.3", STRICT, false),
        ("http://10.1.2.3", OPEN, true),
        ("https://[fd00::1]", STRICT, false),
        ("https://[64:ff9b::7f00:1]", STRICT, false),
        ("https://0.0.0.0", OPEN, false),
    ];
    for (url, trust, allowed) in table {
        let outcome = egress.destination(url, trust);
        assert_eq!(outcome.is_ok(), allowed, "{url} {trust:?}");
        if let Err(error) = outcome {
            assert_eq!(error.kind(), EgressErrorKind::Forbidden, "{url}");
        }
    }
}

/// Names and unusual spellings pass the parser and are rejected at the address they resolve to.
#[tokio::test]
async fn what_a_name_leads_to_is_judged_when_dialled() {
    let upstream = Upstream::start(|mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.say(OK).await;
        }
    })
    .await;
    let egress = egress(EgressConfig::default());
    for host in ["localhost", "LOCALHOST", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost."] {
        let url = format!("http://{host}:{}", upstream.port);
        let destination = egress.destination(&url, STRICT).unwrap();
        let error = egress.send(post(&destination, "/", &[])).await.err().unwrap();
        assert_eq!(error.kind(), EgressErrorKind::Forbidden, "{host}: {error}");
        assert!(error.is_connect());
    }
    assert_eq!(upstream.connections(), 0);
    let destination = egress.destination(&format!("http://localhost:{}", upstream.port), LOCAL).unwrap();
    assert_eq!(text(&egress, &destination).await, "ok");
}

#[tokio::test]
async fn a_refused_connection_says_so() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    let egress = egress(EgressConfig::default());
    let destination = egress.destination(&url, Trust::Operator).unwrap();
    let error = egress.send(post(&destination, "/", &[])).await.err().unwrap();
    assert_eq!((error.kind(), error.reason()), (EgressErrorKind::Connect, "connection refused"));
    assert!(error.is_connect());
}

#[tokio::test]
async fn a_name_that_does_not_exist_says_so() {
    let egress = egress(EgressConfig::default());
    let destination = egress.destination("http://no-such-host.invalid", Trust::Operator).unwrap();
    let error = egress.send(post(&destination, "/", &[])).await.err().unwrap();
    assert_eq!(error.kind(), EgressErrorKind::Dns, "{error}");
}

/// A listener that never accepts and whose backlog is full: the kernel drops further handshakes.
async fn black_hole() -> (TcpListener, Vec<Filler>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut fillers = Vec::new();
    for _ in 0..8 {
        let filler = TcpStream::connect(address);
        fillers.push(tokio::time::timeout(Duration::from_millis(100), filler).await);
    }
    assert!(fillers.iter().any(Result::is_err), "the backlog should be full");
    (listener, fillers)
}

type Filler = Result<std::io::Result<TcpStream>, tokio::time::error::Elapsed>;

#[tokio::test]
async fn connecting_is_bounded_in_time() {
    let (listener, _fillers) = black_hole().await;
    let egress =
        egress(EgressConfig { connect_timeout: Duration::from_millis(150), ..EgressConfig::default() });
    let url = format!("http://{}", listener.local_addr().unwrap());
    let destination = egress.destination(&url, Trust::Operator).unwrap();
    let started = Instant::now();
    let error = egress.send(post(&destination, "/", &[])).await.err().unwrap();
    assert_eq!((error.kind(), error.reason()), (EgressErrorKind::ConnectTimeout, "timed out connecting"));
    assert!(started.elapsed() < Duration::from_millis(1000));
}

#[tokio::test]
async fn a_destination_may_have_its_own_bound() {
    let (listener, _fillers) = black_hole().await;
    let url = format!("http://{}", listener.local_addr().unwrap());
    for (general, own) in [(5000, 150), (50, 400)] {
        let [general, own] = [general, own].map(Duration::from_millis);
        let egress = egress(EgressConfig { connect_timeout: general, ..EgressConfig::default() });
        let plain = egress.destination(&format!("{url}/v1"), Trust::Operator).unwrap();
        let destination = Arc::new(plain.connecting_within(own));
        assert_eq!((destination.base_path(), destination.origin()), ("/v1", url.clone()));
        let started = Instant::now();
        let error = egress.send(post(&destination, "/", &[])).await.err().unwrap();
        assert_eq!(error.kind(), EgressErrorKind::ConnectTimeout);
        let waited = started.elapsed();
        assert!(waited >= own && waited < own + Duration::from_millis(1000), "{waited:?} of {own:?}");
    }
}

/// The timeout applies to opening a connection; open connections are shared.
#[tokio::test]
async fn a_bound_of_its_own_costs_no_connection() {
    let upstream = Upstream::start(|mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.say(OK).await;
        }
    })
    .await;
    let egress = egress(EgressConfig::default());
    let plain = upstream.destination(&egress);
    let hasty = Arc::new(plain.connecting_within(Duration::from_secs(1)));
    for destination in [&plain, &hasty, &plain] {
        assert_eq!(text(&egress, destination).await, "ok");
    }
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn a_path_must_be_a_path() {
    let egress = egress(EgressConfig::default());
    let destination = egress.destination("http://127.0.0.1:1", Trust::Operator).unwrap();
    for path in ["", "v1", "http://other.example/", "/a b", "/a\r\nx: y"] {
        let error = egress.send(post(&destination, path, &[])).await.err().unwrap();
        assert_eq!(error.kind(), EgressErrorKind::InvalidUrl, "{path:?}");
    }
}
