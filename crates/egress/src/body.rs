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
use crate::http1::Http1;
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
    Http1 { connection: Box<Http1>, origin: Arc<Origin> },
    Http2 { slot: Arc<StreamSlot>, origin: Arc<Origin>, _lease: StreamLease },
    Ended,
}

impl InboundBody {
    pub(crate) fn http1(connection: Box<Http1>, origin: Arc<Origin>) -> Self {
        let mut body = Self { source: BodySource::Http1 { connection, origin }, trouble: None };
        body.release_if_read();
        body
    }

    pub(crate) fn http2(incoming: Incoming, lease: StreamLease, origin: Arc<Origin>) -> Self {
        let slot = lease.open.add(incoming, origin.tick());
        Self { source: BodySource::Http2 { slot, origin, _lease: lease }, trouble: None }
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
        if let BodySource::Http1 { connection, .. } = &mut self.source {
            connection.buffer_body(&mut so_far).await?;
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
        match &mut self.source {
            BodySource::Http1 { connection, .. } => {
                connection.poll_body(context).map(|outcome| match outcome {
                    Ok(data) => {
                        let end = if connection.is_body_read() { End::Finished } else { End::More };
                        Gathered { data, end }
                    }
                    Err(error) => Gathered { data: Bytes::new(), end: End::Broken(error) },
                })
            }
            BodySource::Http2 { slot, origin, .. } => {
                gather_frames(|| slot.poll_frame(context, origin.tick()))
            }
            BodySource::Ended => Poll::Ready(Gathered { data: Bytes::new(), end: End::Finished }),
        }
    }

    /// Returns the connection to the pool once the whole response is read. A reader that counts bytes against
    /// `Content-Length` does not poll again for the end.
    fn release_if_read(&mut self) {
        if matches!(&self.source, BodySource::Http1 { connection, .. } if connection.is_body_read()) {
            self.finish();
        }
    }

    fn finish(&mut self) {
        if let BodySource::Http1 { mut connection, origin } =
            std::mem::replace(&mut self.source, BodySource::Ended)
            && connection.is_reusable()
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
            End::More => {}
            End::Finished => self.finish(),
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
            BodySource::Http1 { connection, .. } => {
                connection.body_length().map_or_else(SizeHint::default, SizeHint::with_exact)
            }
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

/// Merges the frames that are available.
fn gather_frames(mut poll_frame: impl FnMut() -> PolledFrame) -> Poll<Gathered> {
    let mut merged = Merged::default();
    let end = loop {
        match poll_frame() {
            Poll::Pending if merged.len() == 0 => return Poll::Pending,
            Poll::Pending => break End::More,
            Poll::Ready(None) => break End::Finished,
            Poll::Ready(Some(Err(error))) => break End::Broken(error),
            Poll::Ready(Some(Ok(frame))) => {
                // Trailers are not forwarded.
                let Ok(data) = frame.into_data() else { continue };
                let large = data.len() >= LARGE_FRAME;
                merged.push(data, 0);
                if large || merged.len() >= MERGE_LIMIT {
                    break End::More;
                }
            }
        }
    };
    Poll::Ready(Gathered { data: merged.into_bytes(), end })
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
