//! HTTP/2: limited streams, further connections on demand, windows that stalled readers cannot exhaust.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::BodyExt as _;
use tokio_util::task::TaskTracker;

use super::secure::Secure;
use super::upstream::{TurnedClock, egress, post, text};
use crate::{Destination, Egress, EgressConfig, EgressErrorKind, InboundBody, Trust};

async fn open(egress: &Egress, destination: &Arc<Destination>, path: &str) -> InboundBody {
    let sending = egress.send_multiplexed(post(destination, path, &[]));
    tokio::time::timeout(Duration::from_secs(5), sending).await.expect("an answer in time").unwrap().body
}

async fn started(server: &Secure) -> (Egress, Arc<Destination>) {
    let egress = server.client(true);
    let destination = egress.destination(&server.url, Trust::Operator).unwrap();
    // From here on, the stream limit of the first connection is known.
    assert_eq!(text(&egress, &destination).await, "hello");
    (egress, destination)
}

fn connections(server: &Secure) -> usize {
    server.connections.load(Ordering::SeqCst)
}

#[tokio::test]
async fn http1_is_the_default() {
    let server = Secure::start(true).await;
    let roots = Some(server.roots.clone());
    let egress = egress(EgressConfig { extra_roots: roots, ..EgressConfig::default() });
    for (http2, version) in [(None, "1"), (Some(true), "2"), (Some(false), "1")] {
        let destination = egress.destination_with(&server.url, Trust::Operator, http2).unwrap();
        let inbound = egress.send_multiplexed(post(&destination, "/", &[])).await.unwrap();
        assert_eq!(inbound.headers["x-version"], version, "{http2:?}");
        let inbound = egress.send(post(&destination, "/", &[])).await.unwrap();
        assert_eq!(inbound.headers["x-version"], "1", "documents that may be large go by HTTP/1.1");
    }
}

/// More streams than the former connection window divided by the former stream window: with those, the next call hung.
#[tokio::test]
async fn stalled_readers_do_not_stall_other_calls() {
    let server = Secure::start(true).await;
    let (egress, destination) = started(&server).await;
    let mut stalled = Vec::new();
    for _ in 0..64 {
        stalled.push(open(&egress, &destination, "/large").await);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    for _ in 0..8 {
        let mut body = open(&egress, &destination, "/chunks").await;
        let mut size = 0;
        while let Some(frame) = tokio::time::timeout(Duration::from_secs(5), body.frame()).await.unwrap() {
            size += frame.unwrap().into_data().unwrap().len();
        }
        assert_eq!(size, 900);
    }
    assert!(connections(&server) <= 4, "{} connections", connections(&server));
    assert_eq!(stalled.pop().unwrap().collect(1 << 20).await.unwrap().len(), 1 << 20);
}

#[tokio::test]
async fn a_full_connection_opens_another() {
    for (limit, streams, expected) in [(Some(4), 10, 3), (Some(1000), 70, 3), (None, 33, 2)] {
        let server = Secure::start_with(true, limit).await;
        let (egress, destination) = started(&server).await;
        let mut held = Vec::new();
        for _ in 0..streams {
            held.push(open(&egress, &destination, "/open").await);
        }
        assert_eq!(connections(&server), expected, "{limit:?}");
        // Released streams are reused.
        held.truncate(1);
        for _ in 0..5 {
            assert_eq!(text(&egress, &destination).await, "hello");
        }
        assert_eq!(connections(&server), expected, "{limit:?}");
    }
}

/// Concurrent calls to an origin without a connection share the connections that are opened.
#[tokio::test]
async fn a_cold_burst_opens_as_few_connections_as_the_stream_limit_requires() {
    for (limit, calls, expected) in [(None, 8, 1), (None, 32, 1), (None, 40, 2), (Some(4), 8, 2)] {
        let server = Secure::start_with(true, limit).await;
        let egress = server.client(true);
        let destination = egress.destination(&server.url, Trust::Operator).unwrap();
        let opening = (0..calls).map(|_| open(&egress, &destination, "/open"));
        let held = futures_util::future::join_all(opening).await;
        assert_eq!(held.len(), calls);
        assert_eq!(connections(&server), expected, "{calls} calls, limit {limit:?}");
    }
}

/// The call that dials is cancelled; the waiting calls dial again.
#[tokio::test]
async fn a_cancelled_dial_lets_the_waiting_calls_dial() {
    let server = Secure::start(true).await;
    let egress = server.client(true);
    let destination = egress.destination(&server.url, Trust::Operator).unwrap();
    let mut first = Box::pin(open(&egress, &destination, "/open"));
    let mut second = Box::pin(open(&egress, &destination, "/open"));
    assert!(futures_util::poll!(&mut first).is_pending());
    assert!(futures_util::poll!(&mut second).is_pending());
    drop(first);
    second.await;
}

#[tokio::test]
async fn beyond_64_connections_a_call_is_refused_as_overload() {
    let server = Secure::start_with(true, Some(1)).await;
    let (egress, destination) = started(&server).await;
    let mut held = Vec::new();
    for _ in 0..64 {
        held.push(open(&egress, &destination, "/open").await);
    }
    assert_eq!(connections(&server), 64);
    let error = egress.send_multiplexed(post(&destination, "/", &[])).await.err().unwrap();
    assert_eq!(error.kind(), EgressErrorKind::Overloaded, "{error}");
    assert!(!error.counts_in_health());
    held.pop();
    assert_eq!(text(&egress, &destination).await, "hello");
}

#[tokio::test]
async fn unread_streams_are_reset_and_waiting_ones_are_not() {
    let server = Secure::start(true).await;
    let clock = Arc::new(TurnedClock::default());
    let config =
        EgressConfig { http2: true, extra_roots: Some(server.roots.clone()), ..EgressConfig::default() };
    let egress = Egress::new(config, clock.clone(), TaskTracker::new()).unwrap();
    let destination = egress.destination(&server.url, Trust::Operator).unwrap();
    let mut unread = open(&egress, &destination, "/large").await;
    let mut waiting = open(&egress, &destination, "/open").await;
    assert_eq!(waiting.frame().await.unwrap().unwrap().into_data().unwrap(), "first");
    assert!(tokio::time::timeout(Duration::from_millis(50), waiting.frame()).await.is_err());
    clock.turn(Duration::from_secs(59));
    egress.sweep();
    assert!(unread.frame().await.unwrap().is_ok(), "not yet");
    clock.turn(Duration::from_secs(61));
    egress.sweep();
    tokio::time::timeout(Duration::from_secs(5), server.cancelled.notified()).await.expect("it was reset");
    let error = unread.frame().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), EgressErrorKind::NotRead);
    assert!(tokio::time::timeout(Duration::from_millis(50), waiting.frame()).await.is_err(), "still open");
}

#[tokio::test]
async fn idle_connections_are_closed_and_used_ones_are_not() {
    let server = Secure::start(true).await;
    let clock = Arc::new(TurnedClock::default());
    let tasks = TaskTracker::new();
    let config =
        EgressConfig { http2: true, extra_roots: Some(server.roots.clone()), ..EgressConfig::default() };
    let egress = Egress::new(config, clock.clone(), tasks.clone()).unwrap();
    let destination = egress.destination(&server.url, Trust::Operator).unwrap();
    assert_eq!(text(&egress, &destination).await, "hello");
    for _ in 0..4 {
        egress.sweep();
        clock.turn(Duration::from_secs(60));
        assert_eq!(text(&egress, &destination).await, "hello");
    }
    assert_eq!(connections(&server), 1);
    egress.sweep();
    clock.turn(Duration::from_secs(91));
    egress.sweep();
    tasks.close();
    tokio::time::timeout(Duration::from_secs(5), tasks.wait()).await.expect("its driver ended");
    assert_eq!(text(&egress, &destination).await, "hello");
    assert_eq!(connections(&server), 2);
}

/// REFUSED_STREAM means that the request was not processed, so even a POST may be sent again.
#[tokio::test]
async fn refused_streams_are_sent_again() {
    let server = Secure::start(true).await;
    let (egress, destination) = started(&server).await;
    server.refusals.store(3, Ordering::SeqCst);
    assert_eq!(text(&egress, &destination).await, "hello");
    server.refusals.store(100, Ordering::SeqCst);
    let error = egress.send_multiplexed(post(&destination, "/", &[])).await.err().unwrap();
    assert_eq!((error.kind(), error.counts_in_health()), (EgressErrorKind::Refused, false), "{error}");
    assert_eq!(server.refusals.load(Ordering::SeqCst), 96, "four tries");
}
