//! A multiplexed HTTP/2 connection with a limited number of streams and windows that stalled readers cannot exhaust.

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

/// Maximum number of streams per connection, unless the peer allows fewer. Further calls open another connection.
pub(crate) const MAX_STREAMS: usize = 32;
const STREAM_WINDOW: u32 = 256 * 1024;
/// Large enough for the windows of all streams, so that stalled readers cannot block the others.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MAX_STREAMS as u32;
/// No streams before the peer's SETTINGS arrive: its limit is unknown, and h2 would queue requests beyond it.
const STREAMS_BEFORE_SETTINGS: usize = 0;
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_PATIENCE: Duration = Duration::from_secs(15);

pub(crate) struct Http2 {
    sender: SendRequest<OutgoingBody>,
    /// Polled by its driver task; also knows the stream limit of the peer.
    connection: Arc<Mutex<Driven>>,
    /// Reference count of leases: one per lease, and one for this connection.
    leases: Arc<()>,
    /// Total number of leases given; an unchanged value means that there was no lease in between.
    uses: Arc<AtomicUsize>,
    pub(crate) open: Arc<OpenStreams>,
}

type Driven = Connection<TokioIo<Transport>, OutgoingBody, Tracked>;

/// The right to open one stream; released on drop.
pub(crate) struct StreamLease {
    sender: SendRequest<OutgoingBody>,
    _lease: Arc<()>,
    pub(crate) open: Arc<OpenStreams>,
}

impl Http2 {
    /// Creates a connection and waits for the peer's SETTINGS, so that its stream limit is known.
    pub(crate) async fn new(stream: Stream, tasks: &TaskTracker) -> Result<Self, EgressError> {
        let reader = Arc::new(AtomicWaker::new());
        let transport = Transport { stream, reader: Arc::clone(&reader) };
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
        // The result is not needed: each stream reports the error itself.
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

    /// Waits until the peer allows a stream. h2 applies each frame before it reads again, so the limit is checked on
    /// every read.
    async fn receive_settings(&self, reader: &AtomicWaker) -> Result<(), EgressError> {
        poll_fn(|context| {
            // Register before checking, so that a change after the check wakes this task.
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

    /// Leases a stream if there is capacity. Must not be called concurrently for the same connection: check and
    /// increment are separate steps. Callers hold the lock of the pool, or have not shared the connection yet.
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

    /// The number of streams that may be open at once.
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
            // Either the request was not sent, or the peer reports that it did not start processing it.
            let unprocessed = failure.message().is_some() || was_refused(error);
            let silent = unprocessed || self.sender.is_closed();
            let error = if unprocessed { EgressError::refused() } else { EgressError::exchange(error) };
            Failure { error, silent }
        })
    }
}

/// True for REFUSED_STREAM, and for a graceful GOAWAY that does not cover this stream (RFC 9113, section 8.7).
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
