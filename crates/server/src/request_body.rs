//! The request body of an HTTP/1.1 connection, whose unread rest is read when a handler drops it.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use pipeline::services::body_work::SMALL_BODY;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

/// Time limit for reading the rest of an unread body.
const WAIT: Duration = Duration::from_secs(1);

/// A request body. A connection can serve its next request only after the body has been read, and hyper closes it
/// without notice otherwise; so the rest of a small body that a refusal left unread is read in the background. A large
/// or slow one is not waited for.
pub(crate) struct RequestBody {
    /// None once dropped.
    body: Option<Incoming>,
    tasks: TaskTracker,
}

impl RequestBody {
    pub(crate) fn new(body: Incoming, tasks: &TaskTracker) -> Self {
        Self { body: Some(body), tasks: tasks.clone() }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let unread = |body: &Incoming| !body.is_end_stream() && body.size_hint().lower() <= SMALL_BODY as u64;
        // Outside of a runtime the connection is gone as well.
        if let (Some(body), Ok(runtime)) = (self.body.take().filter(unread), Handle::try_current()) {
            self.tasks.spawn_on(tokio::time::timeout(WAIT, discard(body)), &runtime);
        }
    }
}

async fn discard(mut body: Incoming) {
    let mut count = 0;
    while count <= SMALL_BODY
        && let Some(Ok(frame)) = body.frame().await
    {
        count += frame.data_ref().map_or(0, Bytes::len);
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, Incoming::size_hint)
    }
}
