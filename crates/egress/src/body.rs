//! Response bodies: drive their own connection, merge available frames, and return the connection to the pool at the
//! end.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::error::{EgressError, EgressErrorKind};
use crate::http1::{Http1, Step};
use crate::http2::StreamLease;
use crate::http2_stream::StreamSlot;
use crate::origin::Origin;

/// Merging stops at this size; a single larger frame from the upstream is passed on as it is.
const MERGE_LIMIT: usize = 64 * 1024;
/// A frame of this size is passed on at once: copying it would cost more than another write.
const LARGE_FRAME: usize = 16 * 1024;

/// The body of a response. Dropping it before its end cancels the call: HTTP/1.1 closes the connection, HTTP/2 resets
/// the stream.
pub struct InboundBody {
    source: BodySource,
    trouble: Option<EgressError>,
}

enum BodySource {
    Http1 { incoming: Incoming, connection: Box<Http1>, origin: Arc<Origin> },
    Http2 { slot: Arc<StreamSlot>, origin: Arc<Origin>, _lease: StreamLease },
    Ended,
}

impl InboundBody {
    pub(crate) fn http1(incoming: Incoming, connection: Box<Http1>, origin: Arc<Origin>) -> Self {
        Self { source: BodySource::Http1 { incoming, connection, origin }, trouble: None }
    }

    pub(crate) fn http2(incoming: Incoming, lease: StreamLease, origin: Arc<Origin>) -> Self {
        let slot = lease.open.add(incoming, origin.tick());
        Self { source: BodySource::Http2 { slot, origin, _lease: lease }, trouble: None }
    }

    /// Releases the connection at once if the response has no body.
    pub(crate) async fn settle_if_empty(mut self) -> Self {
        if self.is_read_out() {
            poll_fn(|context| {
                self.finish(context);
                Poll::Ready(())
            })
            .await;
        }
        self
    }

    pub fn is_end(&self) -> bool {
        match &self.source {
            BodySource::Http1 { .. } => false,
            BodySource::Http2 { slot, .. } => self.trouble.is_none() && slot.is_end_stream(),
            BodySource::Ended => self.trouble.is_none(),
        }
    }

    /// The whole body; fails if it is longer than `limit`.
    pub async fn collect(self, limit: usize) -> Result<Bytes, EgressError> {
        self.collect_telling(limit, |_| {}).await
    }

    /// Like `collect`, and reports the number of bytes received so far, for callers that may give up waiting.
    pub async fn collect_telling(
        mut self,
        limit: usize,
        mut so_far: impl FnMut(usize) + Send,
    ) -> Result<Bytes, EgressError> {
        let too_large = || EgressError::new(EgressErrorKind::TooLarge, "the answer is too large");
        let announced = self.size_hint().lower();
        if announced > limit as u64 {
            return Err(too_large());
        }
        let mut merged = Merged::default();
        while let Some(frame) = poll_fn(|context| Pin::new(&mut self).poll_frame(context)).await {
            let Ok(data) = frame?.into_data() else { continue };
            if merged.len() + data.len() > limit {
                return Err(too_large());
            }
            merged.push(data, usize::try_from(announced).unwrap_or(0));
            so_far(merged.len());
        }
        Ok(merged.into_bytes())
    }

    fn gather(&mut self, context: &mut Context<'_>) -> Poll<Gathered> {
        let mut merged = Merged::default();
        let polled = match &mut self.source {
            BodySource::Http1 { incoming, connection, .. } => {
                connection.poll_with(context, |context| step(poll_incoming(incoming, context), &mut merged))
            }
            BodySource::Http2 { slot, origin, .. } => loop {
                match step(slot.poll_frame(context, origin.tick()), &mut merged) {
                    Step::Progress => {}
                    Step::Starved => break Poll::Pending,
                    Step::Done(end) => break Poll::Ready(end),
                }
            },
            BodySource::Ended => Poll::Ready(End::Finished),
        };
        match polled {
            Poll::Ready(end) => Poll::Ready(Gathered { data: merged.into_bytes(), end }),
            Poll::Pending if merged.len() > 0 => {
                Poll::Ready(Gathered { data: merged.into_bytes(), end: End::More })
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_read_out(&self) -> bool {
        matches!(&self.source, BodySource::Http1 { incoming, .. } if incoming.is_end_stream())
    }

    fn finish(&mut self, context: &mut Context<'_>) {
        if let BodySource::Http1 { mut connection, origin, .. } =
            std::mem::replace(&mut self.source, BodySource::Ended)
            && connection.poll_reusable(context)
        {
            origin.check_in(connection);
        }
    }
}

impl Body for InboundBody {
    type Data = Bytes;
    type Error = EgressError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        if let Some(trouble) = self.trouble.take() {
            return Poll::Ready(Some(Err(trouble)));
        }
        let Poll::Ready(Gathered { data, end }) = self.gather(context) else { return Poll::Pending };
        match end {
            // A reader that counts bytes against `Content-Length` does not poll again for the end, so release the
            // connection now.
            End::More if self.is_read_out() => self.finish(context),
            End::More => {}
            End::Finished => self.finish(context),
            End::Broken(error) => {
                self.source = BodySource::Ended;
                if data.is_empty() {
                    return Poll::Ready(Some(Err(error)));
                }
                // Data received before the error is delivered first; the next poll returns the error.
                self.trouble = Some(error);
            }
        }
        Poll::Ready((!data.is_empty()).then(|| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_end()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            BodySource::Http1 { incoming, .. } => incoming.size_hint(),
            BodySource::Http2 { slot, .. } => slot.size_hint(),
            BodySource::Ended if self.trouble.is_none() => SizeHint::with_exact(0),
            BodySource::Ended => SizeHint::default(),
        }
    }
}

struct Gathered {
    data: Bytes,
    end: End,
}

enum End {
    More,
    Finished,
    Broken(EgressError),
}

type PolledFrame = Poll<Option<Result<Frame<Bytes>, EgressError>>>;

fn poll_incoming(incoming: &mut Incoming, context: &mut Context<'_>) -> PolledFrame {
    Pin::new(incoming).poll_frame(context).map_err(|error| EgressError::exchange(&error))
}

fn step(polled: PolledFrame, merged: &mut Merged) -> Step<End> {
    match polled {
        Poll::Pending => Step::Starved,
        Poll::Ready(None) => Step::Done(End::Finished),
        Poll::Ready(Some(Err(error))) => Step::Done(End::Broken(error)),
        Poll::Ready(Some(Ok(frame))) => {
            // Trailers are not forwarded.
            let Ok(data) = frame.into_data() else { return Step::Progress };
            let large = data.len() >= LARGE_FRAME;
            merged.push(data, 0);
            if large || merged.len() >= MERGE_LIMIT { Step::Done(End::More) } else { Step::Progress }
        }
    }
}

/// Merges frames: a single frame is kept without copying; from the second one on they are copied together.
#[derive(Default)]
struct Merged {
    first: Bytes,
    rest: BytesMut,
}

impl Merged {
    fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    fn push(&mut self, data: Bytes, expected: usize) {
        if self.len() == 0 {
            self.first = data;
            return;
        }
        if self.rest.is_empty() {
            self.rest.reserve(expected.max(self.first.len() + data.len()).max(4096));
            self.rest.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.rest.extend_from_slice(&data);
    }

    fn into_bytes(self) -> Bytes {
        if self.rest.is_empty() { self.first } else { self.rest.freeze() }
    }
}
