//! One multiplexed HTTP/2 connection: a bounded number of streams, and windows that stalled readers cannot exhaust.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, Connection, SendRequest};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;

use crate::error::EgressError;
use crate::http1::Failure;
use crate::http2_stream::OpenStreams;
use crate::outgoing::OutgoingBody;
use crate::transport::{Stream, Transport};

/// Streams per connection, unless the peer allows fewer. More calls open another connection.
const MAX_STREAMS: usize = 32;
const STREAM_WINDOW: u32 = 256 * 1024;
/// Room for every stream's window: readers that stop cannot take what the others need.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MAX_STREAMS as u32;
/// Until the peer's SETTINGS arrive. Its limit may be as low as this, and h2 would queue what exceeds it.
const STREAMS_BEFORE_SETTINGS: usize = 1;
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
    pub(crate) async fn new(stream: Stream, tasks: &TaskTracker) -> Result<Self, EgressError> {
        let transport = Transport { stream, signal: Default::default() };
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
        let driven = Arc::clone(&connection);
        // Its result is not needed: each stream is told of the fault.
        tasks.spawn(poll_fn(move |context| Pin::new(&mut *driven.lock()).poll(context).map(drop)));
        Ok(Self { sender, connection, leases: Arc::default(), uses: Arc::default(), open: Arc::default() })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// A stream, if there is room for one more. Not to be called for one connection by two threads at once.
    pub(crate) fn lease(&self) -> Option<StreamLease> {
        let limit = self.connection.lock().current_max_send_streams().min(MAX_STREAMS);
        if self.streams() >= limit {
            return None;
        }
        self.uses.fetch_add(1, Ordering::Relaxed);
        Some(StreamLease {
            sender: self.sender.clone(),
            _lease: Arc::clone(&self.leases),
            open: Arc::clone(&self.open),
        })
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
