//! The reply to a call: status, headers and body.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body::{Frame, SizeHint};

use crate::delivery::event_stream::EventStream;

pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: ReplyBody,
}

/// The body of a reply. A complete one is a list of slices, sent without joining them; a stream is polled by the
/// client.
pub enum ReplyBody {
    Whole { pieces: VecDeque<Bytes>, left: u64 },
    Stream(Box<EventStream>),
}

impl ReplyBody {
    pub fn whole(pieces: Vec<Bytes>) -> Self {
        let left = pieces.iter().map(|piece| piece.len() as u64).sum();
        Self::Whole { pieces: pieces.into(), left }
    }

    /// All bytes of a body; `None` for a stream.
    pub fn joined(self) -> Option<Bytes> {
        let Self::Whole { pieces, left } = self else { return None };
        let mut joined = BytesMut::with_capacity(usize::try_from(left).unwrap_or_default());
        pieces.iter().for_each(|piece| joined.extend_from_slice(piece));
        Some(joined.freeze())
    }
}

impl http_body::Body for ReplyBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Whole { pieces, left } => Poll::Ready(pieces.pop_front().map(|piece| {
                *left -= piece.len() as u64;
                Ok(Frame::data(piece))
            })),
            Self::Stream(stream) => {
                stream.poll_next(context).map(|next| next.map(|bytes| bytes.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole { pieces, .. } if pieces.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole { left, .. } => SizeHint::with_exact(*left),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
