//! Request bodies: parts in memory, or a stream that is sent as it arrives.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;

use crate::segmented_body::{Rope, RopeBody};

pub type BodyError = Box<dyn std::error::Error + Send + Sync>;
pub type StreamedBody = Pin<Box<dyn Body<Data = Bytes, Error = BodyError> + Send>>;

pub enum OutboundBody {
    /// Parts in order; sent with `Content-Length`.
    Parts(Vec<Bytes>),
    /// Sent as it arrives; with `Content-Length` if the length is known.
    Streamed(StreamedBody),
}

impl From<Vec<Bytes>> for OutboundBody {
    fn from(parts: Vec<Bytes>) -> Self {
        Self::Parts(parts)
    }
}

/// Maximum size of the buffered part of a stream, which is sent again when an idle connection turns out to be closed.
const KEPT: usize = 64 * 1024;

/// A body that can be sent again, as long as everything taken from it is still buffered.
#[derive(Clone)]
pub(crate) enum Held {
    Rope(Rope),
    Stream(Arc<Mutex<ReplayableBody>>),
}

impl From<OutboundBody> for Held {
    fn from(body: OutboundBody) -> Self {
        match body {
            OutboundBody::Parts(parts) => Self::Rope(Rope::new(parts)),
            OutboundBody::Streamed(stream) => {
                let announced = stream.size_hint().exact();
                let source = ReplayableBody {
                    stream,
                    announced,
                    kept: Some(Vec::new()),
                    size: 0,
                    ended: false,
                    turn: 0,
                };
                Self::Stream(Arc::new(Mutex::new(source)))
            }
        }
    }
}

impl Held {
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::Rope(_) => true,
            Self::Stream(source) => source.lock().kept.is_some(),
        }
    }

    pub(crate) fn into_body(self) -> OutgoingBody {
        match self {
            Self::Rope(rope) => OutgoingBody::Rope(rope.into_body()),
            Self::Stream(source) => {
                let turn = source.lock().begin();
                OutgoingBody::Stream { source, turn, next: 0 }
            }
        }
    }
}

pub(crate) struct ReplayableBody {
    stream: StreamedBody,
    announced: Option<u64>,
    /// Everything read so far; `None` once it exceeds `KEPT`.
    kept: Option<Vec<Bytes>>,
    size: usize,
    ended: bool,
    /// Number of connections it was sent on; only the latest may read it.
    turn: usize,
}

impl ReplayableBody {
    fn begin(&mut self) -> usize {
        self.turn += 1;
        self.turn
    }

    fn keep(&mut self, data: &Bytes) {
        self.size += data.len();
        match &mut self.kept {
            Some(kept) if self.size <= KEPT => kept.push(data.clone()),
            _ => self.kept = None,
        }
    }
}

pub(crate) enum OutgoingBody {
    Rope(RopeBody),
    /// `next` is the index of the first buffered part that was not sent on this connection.
    Stream {
        source: Arc<Mutex<ReplayableBody>>,
        turn: usize,
        next: usize,
    },
}

impl Body for OutgoingBody {
    type Data = Rope;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Rope>, BodyError>>> {
        match &mut *self {
            Self::Rope(body) => Pin::new(body)
                .poll_frame(context)
                .map(|frame| frame.map(|frame| frame.map_err(|never| match never {}))),
            Self::Stream { source, turn, next } => {
                let mut source = source.lock();
                if source.turn != *turn {
                    return Poll::Ready(Some(Err("the body is sent on another connection".into())));
                }
                poll_stream(&mut source, next, context)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Rope(body) => body.is_end_stream(),
            Self::Stream { source, next, .. } => {
                let source = source.lock();
                let waiting = source.kept.as_ref().is_some_and(|kept| *next < kept.len());
                !waiting && (source.ended || source.stream.is_end_stream())
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Rope(body) => body.size_hint(),
            Self::Stream { source, next: 0, .. } => {
                source.lock().announced.map_or_else(SizeHint::default, SizeHint::with_exact)
            }
            Self::Stream { source, .. } => source.lock().stream.size_hint(),
        }
    }
}

fn poll_stream(
    source: &mut ReplayableBody,
    next: &mut usize,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Rope>, BodyError>>> {
    let again = source.kept.as_ref().and_then(|kept| kept.get(*next)).cloned();
    if let Some(data) = again {
        *next += 1;
        return Poll::Ready(Some(Ok(Frame::data(Rope::new(vec![data])))));
    }
    while !source.ended {
        match source.stream.as_mut().poll_frame(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(None) => source.ended = true,
            Poll::Ready(Some(Err(error))) => {
                source.ended = true;
                source.kept = None;
                return Poll::Ready(Some(Err(error)));
            }
            Poll::Ready(Some(Ok(frame))) => {
                // Trailers are hop-by-hop and not forwarded; empty frames carry no data.
                let Some(data) = frame.into_data().ok().filter(|data| !data.is_empty()) else { continue };
                source.keep(&data);
                *next += 1;
                return Poll::Ready(Some(Ok(Frame::data(Rope::new(vec![data])))));
            }
        }
    }
    Poll::Ready(None)
}
