//! HTTP/1.1 connections of clients: reads requests, runs them and writes their responses.
//!
//! A request with unusual framing (a chunked body, `Expect`, `Upgrade`, HTTP/1.0, a malformed head) is not served here:
//! its connection is handed to hyper, together with the bytes that were read.

mod head_timer;
mod reader;
mod request_body;
mod request_head;
mod response_head;
mod response_sender;
mod writer;

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use domain::boxed::pinned;
use futures_util::FutureExt as _;
use futures_util::future::FusedFuture;
use http::{Method, Request, Response};
use pipeline::services::body_work::{BodyLease, SMALL_BODY};
use tokio::net::TcpStream;
use tokio::sync::watch;

use self::head_timer::HeadTimer;
use self::reader::{NextHead, Reader};
pub(crate) use self::request_body::RequestBody;
use self::request_head::RequestHead;
use self::response_sender::ResponseSender;
use self::writer::Writer;
use crate::request_context::Outgoing;

/// Maximum size of a request head, and of the bytes that are read ahead.
pub(crate) const MAX_HEAD: usize = 64 * 1024;
/// Time limit for reading the rest of a request body that the handler did not read.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);
/// Limits on what is read and discarded before a connection is closed. A client that sends a body of the largest size
/// before it reads the response gets the response.
const LINGER_BYTES: u64 = 128 * 1024 * 1024;
const LINGER_TIMEOUT: Duration = Duration::from_secs(3);

/// The time limits of a connection.
#[derive(Clone, Copy)]
pub(crate) struct Timeouts {
    /// For the next request head, from the end of the response before it.
    pub(crate) head: Duration,
    /// For a write that makes no progress.
    pub(crate) write: Duration,
}

/// The end of the work on a connection.
pub(crate) enum Served {
    Closed,
    /// The next request needs another server: the connection and the bytes that were read from it.
    Unsupported(TcpStream, BytesMut),
}

/// Answers the requests of connections.
pub(crate) trait Service {
    async fn answer(&self, request: Request<RequestBody>) -> Response<Outgoing>;

    /// Whether the handler of this path needs the whole body before it starts.
    fn needs_whole_body(&self, path: &str) -> bool;

    /// An empty lease on the memory for bodies.
    fn body_lease(&self) -> BodyLease;

    /// The current time, for the `Date` header.
    fn now(&self) -> domain::clock::Timestamp;

    /// Whether the gateway is about to stop: responses close their connection, so that the client opens the next one
    /// elsewhere.
    fn is_draining(&self) -> bool;
}

/// Serves the requests of a connection until it is closed or a request is unsupported.
pub(crate) async fn serve(
    stream: TcpStream,
    read_before: &[u8],
    service: &impl Service,
    timeouts: Timeouts,
    mut stop: watch::Receiver<bool>,
) -> io::Result<Served> {
    let (read_half, write_half) = stream.into_split();
    let reader = Reader::new(read_half, read_before);
    let mut writer = Writer::new(write_half, timeouts.write);
    let mut timer = HeadTimer::new(timeouts.head);
    let mut stopping = pin!(stopped(&mut stop).fuse());
    loop {
        timer.start();
        let head = match poll_fn(|context| poll_next(context, &reader, &mut timer, stopping.as_mut())).await?
        {
            NextHead::Request(head) => head,
            NextHead::Closed => return Ok(Served::Closed),
            NextHead::Unsupported => {
                let (read_half, read_before) = reader.into_parts()?;
                let stream = read_half.reunite(writer.into_half()).map_err(io::Error::other)?;
                return Ok(Served::Unsupported(stream, read_before));
            }
        };
        let RequestHead { request, body_length, keep_alive } = *head;
        let has_body = request.method() != Method::HEAD;
        let whole = service.needs_whole_body(request.uri().path());
        let request = request.map(|()| reader.body(body_length, whole, || service.body_lease()));
        let Some(response) = answer(service, request, &reader).await else { return Ok(Served::Closed) };
        let is_stopping = stopping.is_terminated() || stopping.as_mut().now_or_never().is_some();
        let is_stopping = is_stopping || service.is_draining();
        let keep_alive = keep_alive && !is_stopping && reader.body_left() <= SMALL_BODY as u64;
        let sender = ResponseSender::start(response, has_body, keep_alive, service.now(), &mut writer);
        let reusable = sender.send(&reader, &mut writer).await?;
        if !reusable || !reader.discard_body(SMALL_BODY as u64, DISCARD_TIMEOUT).await? {
            writer.shut_down().await?;
            reader.linger(LINGER_BYTES, LINGER_TIMEOUT).await;
            return Ok(Served::Closed);
        }
    }
}

/// Waits for the stop signal. The guard that `wait_for` returns is dropped immediately: holding it would block the
/// sender.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Polls for the next request; an idle connection is closed by the stop signal and by the timeout.
fn poll_next(
    context: &mut Context<'_>,
    reader: &Reader,
    timer: &mut HeadTimer,
    stopping: Pin<&mut impl FusedFuture<Output = ()>>,
) -> Poll<io::Result<NextHead>> {
    // A request that has arrived is served even if the gateway stops: its sender cannot know that it was not read.
    match reader.poll_head(context) {
        Poll::Pending if stopping.is_terminated() || stopping.poll(context).is_ready() => {
            Poll::Ready(Ok(NextHead::Closed))
        }
        Poll::Pending if timer.poll_expired(context) => Poll::Ready(Ok(NextHead::Closed)),
        next => next,
    }
}

/// Runs the handler of a request. A connection that the client closes meanwhile cancels it.
async fn answer(
    service: &impl Service,
    request: Request<RequestBody>,
    reader: &Reader,
) -> Option<Response<Outgoing>> {
    // Boxed: the state of a handler is much larger than that of the connection, which may be idle for long.
    let mut answering = pinned(|| service.answer(request));
    poll_fn(|context| match answering.as_mut().poll(context) {
        Poll::Ready(response) => Poll::Ready(Some(response)),
        Poll::Pending => reader.poll_closed(context).map(|()| None),
    })
    .await
}
