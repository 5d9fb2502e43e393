//! Dropping a call cancels it: the upstream sees the connection close at once.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::upstream::{Upstream, egress, post};
use crate::EgressConfig;

async fn watched(begin: &'static str) -> (Upstream, Arc<Notify>, Arc<Notify>) {
    let (asked, gone) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell_asked, tell_gone) = (Arc::clone(&asked), Arc::clone(&gone));
    let upstream = Upstream::start(move |mut peer, _| {
        let (asked, gone) = (Arc::clone(&tell_asked), Arc::clone(&tell_gone));
        async move {
            peer.request().await;
            asked.notify_one();
            peer.say(begin).await;
            peer.gone().await;
            gone.notify_one();
        }
    })
    .await;
    (upstream, asked, gone)
}

#[tokio::test]
async fn dropping_a_body_closes_the_connection() {
    let (upstream, _, gone) =
        watched("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n").await;
    let egress = egress(EgressConfig::default());
    let mut inbound = egress.send(post(&upstream.destination(&egress), "/", &["x"])).await.unwrap();
    inbound.body.frame().await.unwrap().unwrap();
    let dropped = Instant::now();
    drop(inbound);
    timeout(Duration::from_secs(5), gone.notified()).await.unwrap();
    assert!(dropped.elapsed() < Duration::from_millis(100), "{:?}", dropped.elapsed());
    assert_eq!(egress.idle_connections(), 0);
}

#[tokio::test]
async fn dropping_the_call_before_an_answer_closes_the_connection() {
    let (upstream, asked, gone) = watched("").await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    let mut call = Box::pin(egress.send(post(&destination, "/", &["x"])));
    tokio::select! {
        _ = &mut call => panic!("no answer was given"),
        () = asked.notified() => {}
    }
    let dropped = Instant::now();
    drop(call);
    timeout(Duration::from_secs(5), gone.notified()).await.unwrap();
    assert!(dropped.elapsed() < Duration::from_millis(100), "{:?}", dropped.elapsed());
}
