//! One multiplexed HTTP/2 connection with its tracked driver.

use std::future::Future;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio_util::task::TaskTracker;

use crate::error::EgressError;
use crate::http1::Failure;
use crate::outgoing::OutgoingBody;
use crate::transport::{Stream, Transport};

const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_PATIENCE: Duration = Duration::from_secs(15);

#[derive(Clone)]
pub(crate) struct Http2 {
    sender: SendRequest<OutgoingBody>,
}

impl Http2 {
    pub(crate) async fn new(stream: Stream, tasks: &TaskTracker) -> Result<Self, EgressError> {
        let transport = Transport { stream, signal: Default::default() };
        let (sender, connection) = Builder::new(Tracked(tasks.clone()))
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_PATIENCE)
            .handshake(TokioIo::new(transport))
            .await
            .map_err(|error| EgressError::exchange(&error))?;
        // Its result is not needed: each stream is told of the fault.
        tasks.spawn(async move { drop(connection.await) });
        Ok(Self { sender })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(crate) async fn exchange(
        &mut self,
        request: Request<OutgoingBody>,
    ) -> Result<Response<Incoming>, Failure> {
        let outcome = self.sender.try_send_request(request).await;
        outcome.map_err(|failure| {
            let error = failure.error();
            let silent = failure.message().is_some() || was_refused(error) || self.sender.is_closed();
            Failure { error: EgressError::exchange(error), silent }
        })
    }
}

/// The upstream says that it did not begin with this stream.
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
