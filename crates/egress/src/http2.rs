//! One multiplexed HTTP/2 connection: a bounded number of streams, and windows that stalled readers cannot exhaust.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, Connection, SendRequest};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;

use crate::error::{EgressError, EgressErrorKind};
use crate::http1::Failure;
use crate::http2_stream::OpenStreams;
use crate::outgoing::OutgoingBody;
use crate::transport::{Stream, Transport};

/// Streams per connection, unless the peer allows fewer. More calls open another connection.
pub(crate) const MAX_STREAMS: usize = 32;
const STREAM_WINDOW: u32 = 256 * 1024;
/// Room for every stream's window: readers that stop cannot take what the others need.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MAX_STREAMS as u32;
/// Until the peer's SETTINGS arrive: its limit is not known, and h2 would queue what exceeds it.
const STREAMS_BEFORE_SETTINGS: usize = 0;
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_PATIENCE: Duration = Duration::from_secs(15);

pub(crate) struct Http2 {
    sender: SendRequest<OutgoingBody>,
    /// Polled by its driver. It also knows the peer's limit of streams.
    connection: Arc<Mutex<Driven>>,
    /// One per lease, and one of this connection's own.
    leases: Arc<()>,
    /// Leases given in all: two equal values mean that there was none in between.
    uses: Arc<AtomicUsize>,
    pub(crate) open: Arc<OpenStreams>,
}

type Driven = Connection<TokioIo<Transport>, OutgoingBody, Tracked>;

/// The right to one stream; returned when it is dropped.
pub(crate) struct StreamLease {
    sender: SendRequest<OutgoingBody>,
    _lease: Arc<()>,
    pub(crate) open: Arc<OpenStreams>,
}

impl Http2 {
    /// A connection whose peer has sent its SETTINGS, so that its limit of streams is known.
    pub(crate) async fn new(stream: Stream, tasks: &TaskTracker) -> Result<Self, EgressError> {
        let reader = Arc::new(AtomicWaker::new());
        let transport = Transport { stream, signal: Default::default(), reader: Some(Arc::clone(&reader)) };
        let (sender, connection) = Builder::new(Tracked(tasks.clone()))
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_max_send_streams(STREAMS_BEFORE_SETTINGS)
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_PATIENCE)
            .handshake(TokioIo::new(transport))
            .await
            .map_err(|error| EgressError::exchange(&error))?;
        let connection = Arc::new(Mutex::new(connection));
        let (driven, ended) = (Arc::clone(&connection), Arc::clone(&reader));
        // Its result is not needed: each stream is told of the fault.
        tasks.spawn(poll_fn(move |context| {
            let polled = Pin::new(&mut *driven.lock()).poll(context).map(drop);
            if polled.is_ready() {
                ended.wake();
            }
            polled
        }));
        let connection =
            Self { sender, connection, leases: Arc::default(), uses: Arc::default(), open: Arc::default() };
        connection.receive_settings(&reader).await?;
        Ok(connection)
    }

    /// Waits for the peer to allow a stream. h2 applies a frame before it reads again, so every read is a reason to look.
    async fn receive_settings(&self, reader: &AtomicWaker) -> Result<(), EgressError> {
        poll_fn(|context| {
            // Before looking: what is applied in between must wake this task.
            reader.register(context.waker());
            if self.stream_limit() > 0 {
                return Poll::Ready(Ok(()));
            }
            match self.is_closed() {
                true => Poll::Ready(Err(EgressError::new(
                    EgressErrorKind::Connect,
                    "connection closed before its HTTP/2 settings arrived",
                ))),
                false => Poll::Pending,
            }
        })
        .await
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// A stream, if there is room for one more. Not to be called for one connection by two threads at once.
    pub(crate) fn lease(&self) -> Option<StreamLease> {
        if self.streams() >= self.stream_limit() {
            return None;
        }
        self.uses.fetch_add(1, Ordering::Relaxed);
        Some(StreamLease {
            sender: self.sender.clone(),
            _lease: Arc::clone(&self.leases),
            open: Arc::clone(&self.open),
        })
    }

    /// Streams that may be open at once.
    pub(crate) fn stream_limit(&self) -> usize {
        self.connection.lock().current_max_send_streams().min(MAX_STREAMS)
    }

    pub(crate) fn streams(&self) -> usize {
        Arc::strong_count(&self.leases) - 1
    }

    pub(crate) fn uses(&self) -> usize {
        self.uses.load(Ordering::Relaxed)
    }
}

impl StreamLease {
    pub(crate) async fn exchange(
        &mut self,
        request: Request<OutgoingBody>,
    ) -> Result<Response<Incoming>, Failure> {
        let outcome = self.sender.try_send_request(request).await;
        outcome.map_err(|failure| {
            let error = failure.error();
            // Either the request was not sent, or the peer says that it did not begin with it.
            let unprocessed = failure.message().is_some() || was_refused(error);
            let silent = unprocessed || self.sender.is_closed();
            let error = if unprocessed { EgressError::refused() } else { EgressError::exchange(error) };
            Failure { error, silent }
        })
    }
}

/// REFUSED_STREAM, or a graceful GOAWAY that does not cover this stream (RFC 9113, section 8.7).
fn was_refused(error: &hyper::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(cause) = cause.downcast_ref::<h2::Error>() {
            let reason = cause.reason();
            return reason == Some(h2::Reason::REFUSED_STREAM)
                || cause.is_go_away() && reason == Some(h2::Reason::NO_ERROR);
        }
        source = cause.source();
    }
    false
}

#[derive(Clone)]
struct Tracked(TaskTracker);

impl<F> hyper::rt::Executor<F> for Tracked
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}
