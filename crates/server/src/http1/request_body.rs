//! The body of a request that arrives over HTTP/1.1.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pipeline::services::body_work::BodyLease;

use super::reader::Reader;

/// A request body of known length: complete, or read from the connection while the handler polls it.
pub(crate) struct RequestBody(State);

enum State {
    Complete(Bytes),
    Partial {
        reader: Reader,
        /// Whether the body is returned in one piece.
        whole: bool,
        /// Counts what is collected for one piece; `None` for others, whose pieces the handler counts.
        lease: Option<BodyLease>,
    },
}

impl RequestBody {
    pub(super) fn complete(bytes: Bytes) -> Self {
        Self(State::Complete(bytes))
    }

    /// A body that is read while it is polled; with a lease, it is returned in one piece.
    pub(super) fn partial(reader: Reader, lease: Option<BodyLease>) -> Self {
        Self(State::Partial { reader, whole: lease.is_some(), lease })
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.0 {
            State::Complete(bytes) if bytes.is_empty() => Poll::Ready(None),
            State::Complete(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            State::Partial { reader, whole, lease } => {
                let mut next = reader.poll_body(context, *whole);
                let is_refused = |lease: &mut BodyLease| lease.cover_up_to(reader.buffered()).is_err();
                if next.is_pending() && lease.as_mut().is_some_and(is_refused) {
                    // The handler gets what has arrived, counts it and refuses the request.
                    *whole = false;
                    next = reader.poll_body(context, false);
                }
                if next.is_ready() {
                    // From here on, the handler counts the bytes.
                    *lease = None;
                }
                next.map(|next| next.map(|bytes| bytes.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.size_hint().exact() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match &self.0 {
            State::Complete(bytes) => bytes.len() as u64,
            State::Partial { reader, .. } => reader.body_left(),
        })
    }
}
