//! The result of a call: a reply to send, or an error to render.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use domain::fault::Fault;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body::{Frame, SizeHint};

use crate::call::arrival::RequestId;
use crate::delivery::event_stream::EventStream;
use crate::routing::routes::Lane;

pub const PROVIDER: HeaderName = HeaderName::from_static("x-gateway-provider");
pub const MODEL: HeaderName = HeaderName::from_static("x-gateway-model");
pub const ATTEMPTS: HeaderName = HeaderName::from_static("x-gateway-attempts");
pub const CACHE: HeaderName = HeaderName::from_static("x-gateway-cache");
pub const OVERHEAD: HeaderName = HeaderName::from_static("x-gateway-overhead-us");
pub const COST: HeaderName = HeaderName::from_static("x-gateway-cost-usd");
pub const DROPPED: HeaderName = HeaderName::from_static("x-gateway-dropped-params");
pub const CLAMPED: HeaderName = HeaderName::from_static("x-gateway-max-tokens-clamped");
pub const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: ReplyBody,
}

/// A fault, with the response headers of the call it ended.
pub struct Refused {
    pub fault: Fault,
    pub headers: HeaderMap,
}

/// The headers of every inference answer, as far as they are known.
pub fn headers(
    request_id: &RequestId,
    lane: Option<&Arc<Lane>>,
    attempts: usize,
    overhead_us: u64,
) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(12);
    headers.insert(REQUEST_ID, request_id.header());
    if let Some(lane) = lane {
        headers.insert(PROVIDER, lane.provider_header.clone());
        headers.insert(MODEL, lane.model_header.clone());
    }
    headers.insert(ATTEMPTS, HeaderValue::from(attempts));
    headers.insert(CACHE, HeaderValue::from_static("off"));
    headers.insert(OVERHEAD, HeaderValue::from(overhead_us));
    headers
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
