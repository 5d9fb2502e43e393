//! Reuse, expiry, and the race with an upstream that closes an idle connection.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use super::upstream::{OK, TurnedClock, Upstream, egress, post, text};
use crate::{Egress, EgressConfig, EgressErrorKind, Outbound, Trust};

async fn patient() -> Upstream {
    Upstream::start(|mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.say(OK).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let upstream = patient().await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    for _ in 0..20 {
        assert_eq!(text(&egress, &destination).await, "ok");
    }
    let sibling = egress.destination(&format!("{}/other", upstream.url), Trust::Operator).unwrap();
    assert_eq!(text(&egress, &sibling).await, "ok");
    assert_eq!(upstream.connections(), 1);
    let stranger = egress
        .destination(&upstream.url, Trust::Admin { allow_private: true, loopback_listener: false })
        .unwrap();
    text(&egress, &stranger).await;
    assert_eq!(upstream.connections(), 2, "a pool belongs to one trust");
}

#[tokio::test]
async fn an_answer_without_a_body_frees_its_connection() {
    let upstream = Upstream::start(|mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.say("HTTP/1.1 204 No Content\r\n\r\n").await;
        }
    })
    .await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    for _ in 0..3 {
        egress.send(post(&destination, "/", &[])).await.unwrap();
    }
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn connection_close_is_obeyed() {
    let upstream = Upstream::start(|mut peer, _| async move {
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok").await;
    })
    .await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    for _ in 0..3 {
        assert_eq!(text(&egress, &destination).await, "ok");
        assert_eq!(egress.idle_connections(), 0);
    }
    assert_eq!(upstream.connections(), 3);
}

#[tokio::test]
async fn a_connection_closed_while_idle_is_noticed() {
    let upstream = Upstream::start(|mut peer, _| async move {
        peer.request().await;
        peer.say(OK).await;
    })
    .await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    for _ in 0..5 {
        assert_eq!(text(&egress, &destination).await, "ok");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(upstream.connections(), 5);
}

/// The upstream reads the second request and closes: only a retry on a new connection can succeed. Requests that are
/// not idempotent are not retried here, and the caller gets the error.
#[tokio::test]
async fn what_may_be_done_twice_is_repeated_once_on_a_fresh_connection() {
    let upstream = Upstream::start(|mut peer, _| async move {
        peer.request().await;
        peer.say(OK).await;
        peer.request().await;
    })
    .await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    let put = || Outbound { method: http::Method::PUT, ..post(&destination, "/", &["x"]) };
    for _ in 0..4 {
        let inbound = egress.send(put()).await.unwrap();
        inbound.body.collect(10).await.unwrap();
    }
    assert_eq!(upstream.connections(), 4);
    let error = egress.send(post(&destination, "/", &["x"])).await.err().unwrap();
    assert_eq!(error.kind(), EgressErrorKind::Closed);
    assert_eq!(upstream.connections(), 4);
}

#[tokio::test]
async fn a_fresh_connection_is_not_repeated() {
    let upstream = Upstream::start(|mut peer, _| async move {
        peer.request().await;
    })
    .await;
    let egress = egress(EgressConfig::default());
    let error = egress.send(post(&upstream.destination(&egress), "/", &["x"])).await.err().unwrap();
    assert_eq!(error.kind(), EgressErrorKind::Closed);
    assert!(!error.is_connect());
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn nothing_is_repeated_once_a_byte_of_the_answer_came() {
    let upstream = Upstream::start(|mut peer, _| async move {
        peer.request().await;
        peer.say(OK).await;
        peer.request().await;
        peer.say("HTTP/1.1 20").await;
    })
    .await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    assert_eq!(text(&egress, &destination).await, "ok");
    assert!(egress.send(post(&destination, "/", &["x"])).await.is_err());
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn nothing_is_repeated_after_the_upstream_had_time_to_work() {
    let clock = Arc::new(TurnedClock::default());
    let turned = Arc::clone(&clock);
    let upstream = Upstream::start(move |mut peer, _| {
        let clock = Arc::clone(&turned);
        async move {
            peer.request().await;
            peer.say(OK).await;
            peer.request().await;
            clock.turn(Duration::from_secs(20));
        }
    })
    .await;
    let egress = Egress::new(EgressConfig::default(), clock, TaskTracker::new()).unwrap();
    let destination = upstream.destination(&egress);
    assert_eq!(text(&egress, &destination).await, "ok");
    assert!(egress.send(post(&destination, "/", &["x"])).await.is_err());
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn idle_connections_expire() {
    let upstream = patient().await;
    let clock = Arc::new(TurnedClock::default());
    let egress = Egress::new(EgressConfig::default(), clock.clone(), TaskTracker::new()).unwrap();
    let destination = upstream.destination(&egress);
    text(&egress, &destination).await;
    clock.turn(Duration::from_secs(89));
    egress.sweep();
    text(&egress, &destination).await;
    assert_eq!(upstream.connections(), 1);
    clock.turn(Duration::from_secs(90));
    text(&egress, &destination).await;
    assert_eq!(upstream.connections(), 2);
    clock.turn(Duration::from_secs(90));
    egress.sweep();
    assert_eq!(egress.idle_connections(), 0);
}

#[tokio::test]
async fn the_pool_is_bounded_and_can_be_warmed() {
    let upstream = patient().await;
    let egress = egress(EgressConfig { max_idle_per_origin: 3, ..EgressConfig::default() });
    let destination = upstream.destination(&egress);
    egress.warm(&destination, 2).await;
    assert_eq!(egress.idle_connections(), 2);
    egress.warm(&destination, 100).await;
    assert_eq!(egress.idle_connections(), 3);
    let answers: Vec<_> =
        futures_util::future::join_all((0..6).map(|_| egress.send(post(&destination, "/", &["x"])))).await;
    for answer in answers {
        answer.unwrap().body.collect(10).await.unwrap();
    }
    assert_eq!(egress.idle_connections(), 3);
    assert_eq!(upstream.connections(), 6);
    egress.close_idle();
    assert_eq!(egress.idle_connections(), 0);
}

/// Many tasks on few connections and several threads: lost wake-ups would show as a hang.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_share_the_pool_without_a_hang() {
    let upstream = Upstream::start(|mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
            for _ in 0..20 {
                peer.say("2\r\nxy\r\n").await;
                tokio::task::yield_now().await;
            }
            peer.say("0\r\n\r\n").await;
        }
    })
    .await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    let tasks = TaskTracker::new();
    for _ in 0..16 {
        let (egress, destination) = (egress.clone(), Arc::clone(&destination));
        tasks.spawn(async move {
            for _ in 0..50 {
                assert_eq!(text(&egress, &destination).await, "xy".repeat(20));
            }
        });
    }
    tasks.close();
    tokio::time::timeout(Duration::from_secs(30), tasks.wait()).await.unwrap();
    assert!(upstream.connections() <= 16, "{}", upstream.connections());
}

#[tokio::test]
async fn an_early_refusal_is_read_although_the_request_cannot_be_sent() {
    let upstream = Upstream::start(|mut peer, _| async move {
        peer.say("HTTP/1.1 413 Payload Too Large\r\ncontent-length: 5\r\nconnection: close\r\n\r\nlarge")
            .await;
    })
    .await;
    let egress = egress(EgressConfig::default());
    let large: &'static str = "x".repeat(8 << 20).leak();
    // Whether the answer or the reset arrives first is the kernel's choice; what must not happen is a hang.
    let call = egress.send(post(&upstream.destination(&egress), "/", &[large]));
    match tokio::time::timeout(std::time::Duration::from_secs(20), call).await.unwrap() {
        Ok(inbound) => assert_eq!(inbound.status, 413),
        Err(error) => assert_eq!(error.kind(), EgressErrorKind::Reset),
    }
}
