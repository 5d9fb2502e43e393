//! The provider's answer on its way down: pulled by the client, metered as it passes, cut where the provider broke off.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use domain::fault::{self, Fault};
use egress::{EgressError, InboundBody};
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use super::fare::Fare;
use crate::content_encoding::Decoder;

/// Dropping it before its end cancels the call at the provider.
pub struct Download {
    source: Source,
    /// Decodes the answer, where the provider compresses it.
    decoder: Option<Decoder>,
    fare: Fare,
    idle: Duration,
    /// Armed when the provider first falls silent, and moved only when it fires.
    timer: Option<Pin<Box<Sleep>>>,
    heard: Instant,
}

enum Source {
    Upstream(Box<InboundBody>),
    Whole(Bytes),
    /// The provider broke off; what came before is let go first.
    Broken(Box<Fault>),
    Ended,
}

impl Download {
    pub(super) fn streamed(
        body: InboundBody,
        decoder: Option<Decoder>,
        mut fare: Fare,
        idle: Duration,
    ) -> Self {
        let source = if body.is_end() {
            fare.complete();
            Source::Ended
        } else {
            Source::Upstream(Box::new(body))
        };
        Self { source, decoder, fare, idle, timer: None, heard: Instant::now() }
    }

    /// It was read beforehand, so its account can be closed before any of it leaves.
    pub(super) fn whole(bytes: Bytes, mut fare: Fare) -> Self {
        fare.feed(&bytes);
        fare.complete();
        let idle = Duration::ZERO;
        Self { source: Source::Whole(bytes), decoder: None, fare, idle, timer: None, heard: Instant::now() }
    }

    /// Without its terminator, so that nobody takes what came for the whole. The server drops what it has not written
    /// when a body fails, so the failure comes one turn after the last bytes.
    fn cut(&mut self, fault: Fault, context: &Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.fare.break_off(&fault);
        self.decoder = None;
        self.source = Source::Broken(Box::new(fault));
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn cut_undecodable(
        &mut self,
        error: &EgressError,
        context: &Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let fault = fault::upstream_invalid_response(self.fare.instance(), error.reason());
        self.cut(fault, context)
    }

    /// Masks and meters a part of the answer; what is held back of it comes with the next. The account is closed before
    /// the last part leaves, because a client that counts bytes does not ask for the end.
    fn pass(&mut self, data: Bytes, last: bool) -> Option<Frame<Bytes>> {
        let data = self.fare.clean(data, last);
        self.fare.feed(&data);
        if last {
            self.source = Source::Ended;
            self.fare.complete();
        }
        (!data.is_empty()).then(|| Frame::data(data))
    }

    fn poll_idle(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let give_up_at = self.heard + self.idle;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(give_up_at)));
        loop {
            ready!(timer.as_mut().poll(context));
            if Instant::now() >= give_up_at {
                return Poll::Ready(());
            }
            timer.as_mut().reset(give_up_at);
        }
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        loop {
            // Decoded parts of the last chunk leave before more is read.
            if let Some(decoder) = &mut self.decoder {
                match decoder.take() {
                    Ok(Some(data)) => {
                        if let Some(frame) = self.pass(data, false) {
                            return Poll::Ready(Some(Ok(frame)));
                        }
                        continue;
                    }
                    Ok(None) => {}
                    Err(error) => return self.cut_undecodable(&error, context),
                }
            }
            let body = match &mut self.source {
                Source::Upstream(body) => body,
                Source::Ended => return Poll::Ready(None),
                Source::Broken(fault) => {
                    let error = io::Error::other(std::mem::take(&mut fault.message));
                    self.source = Source::Ended;
                    return Poll::Ready(Some(Err(error)));
                }
                Source::Whole(bytes) => {
                    let bytes = std::mem::take(bytes);
                    self.source = Source::Ended;
                    return Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))));
                }
            };
            match Pin::new(body.as_mut()).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    let ended = body.is_end();
                    self.heard = Instant::now();
                    if let Some(decoder) = &mut self.decoder {
                        decoder.give(data);
                        continue;
                    }
                    if let Some(frame) = self.pass(data, ended) {
                        return Poll::Ready(Some(Ok(frame)));
                    }
                }
                Poll::Ready(Some(Err(_))) => {
                    let fault = self.fare.interrupted();
                    return self.cut(fault, context);
                }
                Poll::Ready(None) => {
                    let rest = self.decoder.as_mut().map_or(Ok(Bytes::new()), Decoder::finish);
                    let rest = match rest {
                        Ok(rest) => rest,
                        Err(error) => return self.cut_undecodable(&error, context),
                    };
                    let frame = self.pass(rest, true);
                    return Poll::Ready(frame.map(Ok));
                }
                Poll::Pending => {
                    ready!(self.poll_idle(context));
                    let fault = fault::upstream_timeout(self.fare.instance(), self.idle);
                    return self.cut(fault, context);
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Upstream(_) | Source::Broken(_) => false,
            Source::Whole(bytes) => bytes.is_empty(),
            Source::Ended => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Upstream(_) if self.decoder.is_some() => SizeHint::default(),
            Source::Upstream(body) => match body.size_hint().exact() {
                Some(rest) => SizeHint::with_exact(rest + self.fare.held_back() as u64),
                None => SizeHint::default(),
            },
            Source::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Source::Broken(_) => SizeHint::default(),
            Source::Ended => SizeHint::with_exact(0),
        }
    }
}

/// The client went away. If only usage was still to come, it is read in the background.
impl Drop for Download {
    fn drop(&mut self) {
        let Source::Upstream(body) = std::mem::replace(&mut self.source, Source::Ended) else { return };
        if self.fare.is_answered() && tokio::runtime::Handle::try_current().is_ok() {
            self.fare.hand_over().read_on(body, self.decoder.take());
        }
    }
}
