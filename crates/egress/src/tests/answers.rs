//! Requests as received by the upstream, responses in every framing, and errors in the middle of responses.

use std::pin::Pin;

use bytes::Bytes;
use http_body::Body as _;
use http_body_util::BodyExt as _;

use super::upstream::{OK, Upstream, egress, post};
use crate::{EgressConfig, EgressError, EgressErrorKind, Inbound, Trust};

async fn ask(answer: &'static str) -> Result<Inbound, EgressError> {
    let upstream = Upstream::start(move |mut peer, _| async move {
        peer.request().await;
        peer.say(answer).await;
    })
    .await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    egress.send(post(&destination, "/", &["hello"])).await
}

async fn body(answer: &'static str) -> Result<Bytes, EgressError> {
    ask(answer).await.unwrap().body.collect(1024).await
}

#[tokio::test]
async fn the_request_is_whole_and_its_length_announced() {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let upstream = Upstream::start(move |mut peer, _| {
        let sender = sender.clone();
        async move {
            sender.send(peer.request().await.unwrap()).unwrap();
            peer.say(OK).await;
        }
    })
    .await;
    let egress = egress(EgressConfig::default());
    let destination = egress.destination(&format!("{}/base/", upstream.url), Trust::Operator).unwrap();
    assert_eq!(destination.base_path(), "/base");
    assert_eq!(destination.host(), "127.0.0.1");
    assert_eq!(destination.origin(), upstream.url);
    let mut request = post(&destination, "/v1/chat?x=1", &["{\"a\":", "", "1}"]);
    let mut headers = http::HeaderMap::new();
    headers.insert("authorization", "Bearer abc".parse().unwrap());
    headers.insert("host", "evil.example".parse().unwrap());
    headers.insert("content-length", "999".parse().unwrap());
    headers.insert("transfer-encoding", "chunked".parse().unwrap());
    request.headers = headers.into();
    egress.send(request).await.unwrap();
    let seen = receiver.recv().await.unwrap();
    assert!(seen.starts_with("POST /base/v1/chat?x=1 HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains(&format!("host: 127.0.0.1:{}\r\n", upstream.port)), "{seen}");
    assert!(seen.contains("content-length: 7\r\n") && seen.ends_with("\r\n\r\n{\"a\":1}"), "{seen}");
    assert!(seen.contains("authorization: Bearer abc\r\n"), "{seen}");
    assert!(!seen.contains("evil") && !seen.contains("chunked") && !seen.contains(": 999"), "{seen}");
}

#[tokio::test]
async fn every_framing_is_read() {
    assert_eq!(body(OK).await.unwrap(), "ok");
    assert_eq!(
        body("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
            .await
            .unwrap(),
        "abc"
    );
    assert_eq!(
        body("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nuntil the end").await.unwrap(),
        "until the end"
    );
    assert_eq!(body("HTTP/1.0 200 OK\r\n\r\nold").await.unwrap(), "old");
    assert_eq!(body("HTTP/1.1 204 No Content\r\n\r\n").await.unwrap(), "");
    assert_eq!(
        body("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx").await.unwrap(),
        "x"
    );
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let inbound =
        ask("HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n")
            .await
            .unwrap();
    assert_eq!(inbound.status, 307);
    assert_eq!(inbound.headers["location"], "http://127.0.0.1:1/");
    assert!(inbound.body.is_end());
}

#[tokio::test]
async fn an_answer_cut_short_is_an_error_after_what_came() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ] {
        let mut body = ask(answer).await.unwrap().body;
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(first, "half");
        assert!(!body.is_end_stream());
        let error = body.frame().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), EgressErrorKind::Closed, "{error}");
        assert!(!error.is_connect());
        assert!(body.frame().await.is_none());
    }
}

#[tokio::test]
async fn a_reset_in_the_body_is_told() {
    let upstream = Upstream::start(|mut peer, _| async move {
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        peer.reset();
    })
    .await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    let mut body = egress.send(post(&destination, "/", &[])).await.unwrap().body;
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "half");
    let error = body.frame().await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.reason()), (EgressErrorKind::Reset, "connection reset"));
}

#[tokio::test]
async fn nonsense_and_oversized_heads_are_refused() {
    let error = ask("SSH-2.0-OpenSSH_9.2\r\n\r\n").await.err().unwrap();
    assert_eq!(error.kind(), EgressErrorKind::Protocol);
    let error = ask("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n")
        .await
        .unwrap()
        .body
        .collect(10)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), EgressErrorKind::Protocol);
    let huge: &'static str = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "a".repeat(1 << 20)).leak();
    let error = ask(huge).await.err().unwrap();
    assert_eq!(error.kind(), EgressErrorKind::TooLarge);
    let many: &'static str = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(1000)).leak();
    assert_eq!(ask(many).await.err().unwrap().kind(), EgressErrorKind::TooLarge);
}

#[tokio::test]
async fn a_large_header_within_bounds_is_carried() {
    let large: &'static str =
        format!("HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n", "a".repeat(64 * 1024)).leak();
    assert_eq!(ask(large).await.unwrap().headers["x"].len(), 64 * 1024);
}

#[tokio::test]
async fn collect_stops_at_its_limit() {
    let announced = ask("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n")
        .await
        .unwrap()
        .body
        .collect(100)
        .await
        .unwrap_err();
    assert_eq!(announced.kind(), EgressErrorKind::TooLarge);
    let chunked = body("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n401\r\n").await.unwrap_err();
    assert_ne!(chunked.kind(), EgressErrorKind::TooLarge);
    let streamed = ask("HTTP/1.1 200 OK\r\n\r\n0123456789").await.unwrap().body.collect(9).await.unwrap_err();
    assert_eq!(streamed.kind(), EgressErrorKind::TooLarge);
}

#[tokio::test]
async fn what_is_readable_arrives_merged() {
    let upstream = Upstream::start(|mut peer, _| async move {
        peer.request().await;
        let chunks: String = (0..100).map(|number| format!("9\r\ndata: {:02}\n\r\n", number)).collect();
        peer.say(format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")).await;
        peer.gone().await;
    })
    .await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    let mut body = egress.send(post(&destination, "/", &[])).await.unwrap().body;
    let (mut frames, mut bytes) = (0, Vec::new());
    while let Some(frame) = body.frame().await {
        frames += 1;
        bytes.extend_from_slice(&frame.unwrap().into_data().unwrap());
    }
    let expected: String = (0..100).map(|number| format!("data: {:02}\n", number)).collect();
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    assert!(frames <= 3, "{frames} frames");
    assert_eq!(egress.idle_connections(), 1);
}

#[tokio::test]
async fn a_paced_stream_is_not_held_back() {
    let upstream = Upstream::start(|mut peer, _| async move {
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
        for _ in 0..5 {
            peer.say("2\r\nxy\r\n").await;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        peer.say("0\r\n\r\n").await;
        peer.gone().await;
    })
    .await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    let mut body = egress.send(post(&destination, "/", &[])).await.unwrap().body;
    let mut frames = 0;
    while let Some(frame) = body.frame().await {
        assert_eq!(frame.unwrap().into_data().unwrap(), "xy");
        frames += 1;
    }
    assert_eq!(frames, 5);
}

#[tokio::test]
async fn a_long_body_comes_in_bounded_frames_and_frees_its_connection() {
    let length = 3 << 20;
    let upstream = Upstream::start(move |mut peer, _| async move {
        peer.request().await;
        peer.say(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n")).await;
        peer.say(vec![b'z'; length]).await;
        peer.gone().await;
    })
    .await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    let mut body = egress.send(post(&destination, "/", &[])).await.unwrap().body;
    assert_eq!(body.size_hint().exact(), Some(length as u64));
    let mut read = 0;
    while read < length {
        let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        read += frame.unwrap().unwrap().into_data().unwrap().len();
    }
    assert_eq!(read, length);
    assert!(body.is_end_stream());
    assert_eq!(egress.idle_connections(), 1);
}

#[tokio::test]
async fn the_bytes_of_a_cut_answer_are_counted() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n01234",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n01234\r\n",
    ] {
        let mut received = 0;
        let body = ask(answer).await.unwrap().body;
        let error = body.collect_telling(100, |so_far| received = so_far).await.unwrap_err();
        assert_eq!((error.kind(), received), (EgressErrorKind::Closed, 5), "{answer}");
    }
}
