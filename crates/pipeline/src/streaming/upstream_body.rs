//! The body of a provider's answer: over the network, compressed or not, or of the built-in model.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use domain::fault::{self, Blame, Fault};
use egress::{EgressError, EgressErrorKind, InboundBody};
use http_body::Body as _;

use crate::services::content_encoding::DecodedBody;

pub enum UpstreamBody {
    Network(InboundBody),
    /// Compressed by the provider.
    Encoded(Box<DecodedBody>),
    BuiltIn(VecDeque<Bytes>),
}

impl UpstreamBody {
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, EgressError>>> {
        match self {
            Self::BuiltIn(pieces) => Poll::Ready(pieces.pop_front().map(Ok)),
            Self::Encoded(body) => body.poll_next(context),
            Self::Network(body) => loop {
                match Pin::new(&mut *body).poll_frame(context) {
                    Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                        Ok(data) => return Poll::Ready(Some(Ok(data))),
                        // Trailers are skipped. The loop polls again, so that `Pending` is only returned with the waker
                        // registered.
                        Err(_) => continue,
                    },
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                    Poll::Ready(None) => return Poll::Ready(None),
                    Poll::Pending => return Poll::Pending,
                }
            },
        }
    }

    pub async fn next(&mut self) -> Option<Result<Bytes, EgressError>> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    /// Reads the whole body; `so_far` is called with the bytes received.
    pub async fn collect(
        mut self,
        limit: usize,
        mut so_far: impl FnMut(usize) + Send,
    ) -> Result<Bytes, EgressError> {
        match self {
            Self::Network(body) => body.collect_telling(limit, so_far).await,
            Self::Encoded(_) => {
                let mut whole = BytesMut::new();
                while let Some(piece) = self.next().await {
                    let piece = piece?;
                    if whole.len() + piece.len() > limit {
                        return Err(EgressError::new(EgressErrorKind::TooLarge, "the answer is too large"));
                    }
                    whole.extend_from_slice(&piece);
                    so_far(whole.len());
                }
                Ok(whole.freeze())
            }
            Self::BuiltIn(pieces) => {
                let mut whole = BytesMut::new();
                pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
                Ok(whole.freeze())
            }
        }
    }
}

/// The error for a response that broke off.
pub fn interrupted(instance: &str, error: &EgressError) -> Fault {
    if error.kind() == EgressErrorKind::ContentEncoding {
        return fault::upstream_invalid_response(instance, error.reason());
    }
    blame(fault::upstream_interrupted(instance), error)
}

/// Counts the failure against the gateway if it is not the provider's.
pub(crate) fn blame(fault: Fault, error: &EgressError) -> Fault {
    if error.counts_in_health() { fault } else { fault.blame(Blame::Gateway) }
}
