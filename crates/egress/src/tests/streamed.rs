//! Request bodies that are sent as they arrive.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::io::AsyncReadExt as _;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::upstream::{OK, Peer, Upstream, egress, post, text};
use crate::{BodyError, Destination, EgressConfig, Outbound, OutboundBody};

/// A body whose pieces the test sends through a channel.
struct Pieces {
    receiver: mpsc::UnboundedReceiver<Result<&'static str, BodyError>>,
    length: Option<u64>,
    taken: Arc<AtomicUsize>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let polled = self.receiver.poll_recv(context);
        if let Poll::Ready(Some(_)) = &polled {
            self.taken.fetch_add(1, Ordering::SeqCst);
        }
        polled.map(|piece| {
            piece.map(|piece| piece.map(|text| Frame::data(Bytes::from_static(text.as_bytes()))))
        })
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

type Sender = mpsc::UnboundedSender<Result<&'static str, BodyError>>;

fn streamed(destination: &Arc<Destination>, length: Option<u64>) -> (Outbound, Sender, Arc<AtomicUsize>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let taken = Arc::new(AtomicUsize::new(0));
    let body = OutboundBody::Streamed(Box::pin(Pieces { receiver, length, taken: Arc::clone(&taken) }));
    (Outbound { body, ..post(destination, "/", &[]) }, sender, taken)
}

/// Reads until the text has arrived.
async fn until(peer: &mut Peer, wanted: &str) -> String {
    let mut read = String::new();
    while !read.contains(wanted) {
        let mut buffer = [0; 4096];
        match peer.stream.read(&mut buffer).await {
            Ok(0) | Err(_) => panic!("gone before {wanted}: {read}"),
            Ok(count) => read.push_str(std::str::from_utf8(&buffer[..count]).unwrap()),
        }
    }
    read
}

#[tokio::test]
async fn a_piece_is_sent_before_the_next_is_there_and_the_answer_may_begin_meanwhile() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let upstream = Upstream::start(move |mut peer, _| {
        let tell = tell.clone();
        async move {
            let head = until(&mut peer, "first").await;
            peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n").await;
            tell.send(head).unwrap();
            tell.send(until(&mut peer, "0\r\n\r\n").await).unwrap();
            peer.say("3\r\ntwo\r\n0\r\n\r\n").await;
        }
    })
    .await;
    let egress = egress(EgressConfig::default());
    let (request, sender, _) = streamed(&upstream.destination(&egress), None);
    sender.send(Ok("first")).unwrap();
    let mut answer = egress.send(request).await.unwrap().body;
    let head = told.recv().await.unwrap();
    assert!(head.contains("transfer-encoding: chunked\r\n") && !head.contains("content-length"), "{head}");
    assert_eq!(answer.frame().await.unwrap().unwrap().into_data().unwrap(), "one");
    sender.send(Ok("second")).unwrap();
    drop(sender);
    assert_eq!(answer.collect(100).await.unwrap(), "two");
    assert_eq!(told.recv().await.unwrap(), "6\r\nsecond\r\n0\r\n\r\n");
}

#[tokio::test]
async fn a_known_length_is_announced_and_the_connection_is_kept() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let upstream = Upstream::start(move |mut peer, _| {
        let tell = tell.clone();
        async move {
            while let Some(request) = peer.request().await {
                tell.send(request).unwrap();
                peer.say(OK).await;
            }
        }
    })
    .await;
    let egress = egress(EgressConfig::default());
    let destination = upstream.destination(&egress);
    for _ in 0..2 {
        let (request, sender, _) = streamed(&destination, Some(6));
        for piece in ["abc", "", "def"] {
            sender.send(Ok(piece)).unwrap();
        }
        drop(sender);
        assert_eq!(egress.send(request).await.unwrap().body.collect(10).await.unwrap(), "ok");
        let seen = told.recv().await.unwrap();
        assert!(seen.contains("content-length: 6\r\n") && seen.ends_with("\r\n\r\nabcdef"), "{seen}");
    }
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn a_body_that_breaks_is_never_ended_well() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let upstream = Upstream::start(move |mut peer, _| {
        let tell = tell.clone();
        async move {
            let mut read = String::new();
            let _ = peer.stream.read_to_string(&mut read).await;
            tell.send(read).unwrap();
        }
    })
    .await;
    let egress = egress(EgressConfig::default());
    let (request, sender, _) = streamed(&upstream.destination(&egress), None);
    sender.send(Ok("half")).unwrap();
    sender.send(Err("the client went away".into())).unwrap();
    assert!(egress.send(request).await.is_err());
    let seen = told.recv().await.unwrap();
    assert!(!seen.contains("0\r\n\r\n"), "{seen}");
    assert_eq!(upstream.connections(), 1, "what the client broke is not repeated");
}

/// The first connection answers once and then drops the next request.
async fn forgetful() -> Upstream {
    Upstream::start(|mut peer, number| async move {
        peer.request().await;
        peer.say(OK).await;
        if number == 0 {
            until(&mut peer, "\r\n\r\n").await;
            return;
        }
        while peer.request().await.is_some() {
            peer.say(OK).await;
        }
    })
    .await
}

#[tokio::test]
async fn what_a_dying_idle_connection_swallowed_is_sent_again_if_it_is_small() {
    static LARGE: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| "x".repeat(80 * 1024));
    for (piece, repeated) in [("hello", true), (LARGE.as_str(), false)] {
        let upstream = forgetful().await;
        let egress = egress(EgressConfig::default());
        let destination = upstream.destination(&egress);
        assert_eq!(text(&egress, &destination).await, "ok");
        let (mut request, sender, _) = streamed(&destination, Some(piece.len() as u64));
        request.method = http::Method::PUT;
        sender.send(Ok(piece)).unwrap();
        drop(sender);
        assert_eq!(egress.send(request).await.is_ok(), repeated);
        assert_eq!(upstream.connections(), if repeated { 2 } else { 1 });
    }
}

#[tokio::test]
async fn an_upstream_that_does_not_read_holds_the_body_back() {
    let upstream = Upstream::start(|peer, _| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        drop(peer);
    })
    .await;
    static PIECE: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| "x".repeat(64 * 1024));
    const PIECES: usize = 1000;
    let egress = egress(EgressConfig::default());
    let (request, sender, taken) = streamed(&upstream.destination(&egress), None);
    for _ in 0..PIECES {
        sender.send(Ok(PIECE.as_str())).unwrap();
    }
    assert!(timeout(Duration::from_millis(300), egress.send(request)).await.is_err());
    assert!(taken.load(Ordering::SeqCst) < PIECES / 2, "{taken:?}");
}

#[tokio::test]
async fn http2_sends_as_it_arrives_too() {
    let secure = super::secure::Secure::start(true).await;
    let egress = secure.client(true);
    let destination =
        egress.destination(&format!("https://localhost:{}", secure.port), crate::Trust::Operator).unwrap();
    for _ in 0..2 {
        let (request, sender, taken) = streamed(&destination, None);
        sender.send(Ok("first ")).unwrap();
        let mut call = Box::pin(egress.send_multiplexed(request));
        let first_is_taken = async {
            while taken.load(Ordering::SeqCst) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            _ = &mut call => panic!("answered before the body was complete"),
            taken = timeout(Duration::from_secs(10), first_is_taken) => taken.unwrap(),
        }
        sender.send(Ok("second")).unwrap();
        drop(sender);
        let answer = call.await.unwrap();
        assert_eq!(answer.headers["x-version"], "2");
        assert_eq!(answer.body.collect(100).await.unwrap(), "first second");
    }
}

/// An upstream that sends the head of its answer after the first piece, and the body after the end of the request.
async fn early() -> Upstream {
    Upstream::start(|mut peer, _| async move {
        until(&mut peer, "first").await;
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n").await;
        until(&mut peer, "0\r\n\r\n").await;
        peer.say("ok").await;
    })
    .await
}

#[tokio::test]
async fn the_request_goes_on_while_a_whole_answer_is_collected() {
    let upstream = early().await;
    let egress = egress(EgressConfig::default());
    let (request, sender, _) = streamed(&upstream.destination(&egress), None);
    sender.send(Ok("first")).unwrap();
    let answer = egress.send(request).await.unwrap().body;
    drop(sender);
    let collected = timeout(Duration::from_secs(20), answer.collect(100)).await.unwrap();
    assert_eq!(collected.unwrap(), "ok");
}

#[tokio::test]
async fn a_body_that_breaks_fails_an_answer_that_has_begun() {
    let upstream = early().await;
    let egress = egress(EgressConfig::default());
    let (request, sender, _) = streamed(&upstream.destination(&egress), None);
    sender.send(Ok("first")).unwrap();
    let answer = egress.send(request).await.unwrap().body;
    sender.send(Err("the client went away".into())).unwrap();
    let collected = timeout(Duration::from_secs(20), answer.collect(100)).await.unwrap();
    assert!(collected.is_err());
}
