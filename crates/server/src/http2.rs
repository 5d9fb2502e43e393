//! HTTP/2 server connections: resets streams whose client stops reading, and closes connections without streams.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::server::conn::http2::Builder;
use hyper_util::rt::TokioTimer;
use tokio::time::Sleep;
use tokio_util::task::TaskTracker;

use crate::request_context::Outgoing;

/// Limits the unanswered request heads that one connection can hold in memory.
const MAX_STREAMS: u32 = 128;
/// Smaller than for HTTP/1.1 (64 KiB), because it is multiplied by the number of streams.
const MAX_HEADER_LIST: u32 = 16 * 1024;
/// Maximum size of a data frame that is handed to hyper: it stays in memory until the client has read it.
const MAX_PIECE: usize = 16 * 1024;
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Returns a builder for one connection whose streams run on `streams`.
pub(crate) fn builder(streams: StreamExecutor) -> Builder<StreamExecutor> {
    let mut builder = Builder::new(streams);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEADER_LIST)
        .max_send_buf_size(MAX_PIECE)
        .keep_alive_interval(Some(PING_INTERVAL))
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}

/// Executor that runs the streams of one connection and resets those that make no progress.
#[derive(Clone)]
pub(crate) struct StreamExecutor {
    tasks: TaskTracker,
    started: Arc<AtomicUsize>,
    write_timeout: Duration,
}

impl StreamExecutor {
    pub(crate) fn new(write_timeout: Duration) -> Self {
        Self { tasks: TaskTracker::new(), started: Arc::default(), write_timeout }
    }

    /// Returns once no stream has run for at least `period` and at most twice that.
    pub(crate) async fn idle_for(&self, period: Duration) {
        let mut before = None;
        loop {
            // Idle at both ends of a period without a new stream in between means idle throughout. Relaxed is enough:
            // hyper starts streams while it polls the connection, in the same task.
            let started = self.started.load(Ordering::Relaxed);
            let idle = self.tasks.is_empty();
            if idle && before == Some(started) {
                return;
            }
            before = idle.then_some(started);
            tokio::time::sleep(period).await;
        }
    }
}

impl<F> hyper::rt::Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        self.started.fetch_add(1, Ordering::Relaxed);
        self.tasks.spawn(reset_when_stalled(stream, self.write_timeout));
    }
}

tokio::task_local! {
    /// The most recent poll of the response body during one poll of its stream.
    static BODY_POLL: Cell<BodyPoll>;
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum BodyPoll {
    #[default]
    None,
    /// The body returned data or its end: hyper is sending it, or waits for flow control.
    Ready,
    /// The body has nothing to send at the moment.
    Pending,
}

/// Polls a stream until it ends, or until it has waited `write_timeout` for the client to read.
///
/// Hyper polls the body only after flow control has accepted the previous data. A stream that is pending although its
/// body is ready therefore waits for a WINDOW_UPDATE, and every poll of the body is progress. Dropping the stream
/// resets it.
async fn reset_when_stalled(stream: impl Future<Output = ()>, write_timeout: Duration) {
    let mut stream = pin!(stream);
    let mut timer: Option<Pin<Box<Sleep>>> = None;
    poll_fn(|context| {
        let (polled, body) = BODY_POLL.sync_scope(Cell::default(), || {
            let polled = stream.as_mut().poll(context);
            (polled, BODY_POLL.with(Cell::get))
        });
        if polled.is_ready() {
            return Poll::Ready(());
        }
        match body {
            // The body was not polled: the stream waits for the handler, or still waits for the client; an armed timer
            // keeps running.
            BodyPoll::None => {}
            BodyPoll::Ready => timer = Some(Box::pin(tokio::time::sleep(write_timeout))),
            BodyPoll::Pending => timer = None,
        }
        // Polling the timer registers this task's waker, so that a stalled stream is woken when the timeout expires.
        let Some(timer) = &mut timer else { return Poll::Pending };
        timer.as_mut().poll(context).map(|()| tracing::debug!("http/2 stream reset: client stopped reading"))
    })
    .await;
}

/// A response body for an HTTP/2 stream: splits frames into small pieces and reports each poll to `reset_when_stalled`.
pub(crate) struct StreamBody {
    inner: Outgoing,
    /// The rest of a frame that was larger than `MAX_PIECE`.
    rest: Bytes,
}

impl StreamBody {
    pub(crate) fn new(inner: Outgoing) -> Self {
        Self { inner, rest: Bytes::new() }
    }

    fn take_piece(&mut self) -> Frame<Bytes> {
        let count = self.rest.len().min(MAX_PIECE);
        Frame::data(self.rest.split_to(count))
    }
}

impl Body for StreamBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = if self.rest.is_empty() {
            match Pin::new(&mut self.inner).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => {
                        self.rest = data;
                        Poll::Ready(Some(Ok(self.take_piece())))
                    }
                    Err(trailers) => Poll::Ready(Some(Ok(trailers))),
                },
                other => other,
            }
        } else {
            Poll::Ready(Some(Ok(self.take_piece())))
        };
        let report = if polled.is_pending() { BodyPoll::Pending } else { BodyPoll::Ready };
        // Fails outside of `reset_when_stalled`, where nothing reads the report.
        let _ = BODY_POLL.try_with(|cell| cell.set(report));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.inner.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;

    #[tokio::test]
    async fn large_frames_are_sent_in_pieces() {
        let data: Vec<u8> = (0..40_000u32).map(|number| number as u8).collect();
        let mut body = StreamBody::new(Outgoing::Framework(axum::body::Body::from(data.clone())));
        assert_eq!(body.size_hint().exact(), Some(40_000));
        let mut received = Vec::new();
        let mut pieces = Vec::new();
        while let Some(frame) = body.frame().await {
            let piece = frame.unwrap().into_data().unwrap();
            received.extend_from_slice(&piece);
            pieces.push(piece.len());
            assert_eq!(body.is_end_stream(), received.len() == data.len());
        }
        assert_eq!((pieces, received), (vec![16_384, 16_384, 7_232], data));
    }

    #[tokio::test]
    async fn only_a_stream_that_waits_for_its_client_is_reset() {
        let limit = Duration::from_millis(100);
        // Like hyper: polls the body once, and not again before the client has read.
        let waiting = |report: BodyPoll| {
            let mut report = Some(report);
            reset_when_stalled(
                poll_fn(move |_| {
                    BODY_POLL.with(|cell| cell.set(report.take().unwrap_or_default()));
                    Poll::<()>::Pending
                }),
                limit,
            )
        };
        let before = tokio::time::Instant::now();
        waiting(BodyPoll::Ready).await;
        assert!(before.elapsed() >= limit);
        for report in [BodyPoll::Pending, BodyPoll::None] {
            assert!(tokio::time::timeout(limit * 3, waiting(report)).await.is_err());
        }
    }
}
