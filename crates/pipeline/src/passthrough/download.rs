//! The provider's answer as a body for the client: metered as it passes, and failed if the provider breaks off.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use domain::fault::{self, Fault};
use egress::{EgressError, InboundBody};
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use super::guarded::StreamFilter;
use super::meter::PassthroughMeter;
use crate::services::content_encoding::Decoder;

/// The response body. Dropping it before its end cancels the upstream request.
pub struct Download {
    source: DownloadSource,
    /// Decompresses the answer, if the provider compressed it.
    decoder: Option<Decoder>,
    meter: PassthroughMeter,
    /// Passes a stream through guardrails.
    filter: Option<Box<StreamFilter>>,
    idle: Duration,
    /// Idle timer, created when the provider first has no data. It is reset only when it fires, so that frames do not
    /// touch the timer.
    timer: Option<Pin<Box<Sleep>>>,
    last_received: Instant,
}

enum DownloadSource {
    Upstream(Box<InboundBody>),
    Whole(Bytes),
    /// The provider broke off; the error is returned on the next poll.
    Broken(Box<Fault>),
    Ended,
}

impl Download {
    pub(super) fn streamed(
        body: InboundBody,
        decoder: Option<Decoder>,
        mut meter: PassthroughMeter,
        idle: Duration,
    ) -> Self {
        let source = if body.is_end() {
            meter.complete();
            DownloadSource::Ended
        } else {
            DownloadSource::Upstream(Box::new(body))
        };
        Self { source, decoder, meter, filter: None, idle, timer: None, last_received: Instant::now() }
    }

    /// Passes the stream through guardrails.
    pub(super) fn filtered(mut self, filter: Option<Box<StreamFilter>>) -> Self {
        self.filter = filter;
        self
    }

    /// A body that is already complete. It is metered and settled before any of it is sent.
    pub(super) fn whole(bytes: Bytes, mut meter: PassthroughMeter) -> Self {
        meter.feed(&bytes);
        Self::inspected(bytes, meter)
    }

    /// A body that is already complete, and already metered and recorded.
    pub(super) fn inspected(bytes: Bytes, mut meter: PassthroughMeter) -> Self {
        meter.complete();
        let idle = Duration::ZERO;
        Self {
            source: DownloadSource::Whole(bytes),
            decoder: None,
            meter,
            filter: None,
            idle,
            timer: None,
            last_received: Instant::now(),
        }
    }

    /// Ends the body with an error instead of its terminator, so that a partial answer is not taken for a complete
    /// one. The server discards unwritten data when a body fails. Therefore this returns `Pending` and wakes the task
    /// at once: the server writes the last bytes before the next poll returns the error.
    fn cut(&mut self, fault: Fault, context: &Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.meter.break_off(&fault);
        self.decoder = None;
        self.source = DownloadSource::Broken(Box::new(fault));
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn cut_undecodable(
        &mut self,
        error: &EgressError,
        context: &Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let fault = fault::upstream_invalid_response(self.meter.instance(), error.reason());
        self.cut(fault, context)
    }

    /// Masks and meters a chunk; bytes that the masker holds back come with the next one. The call is settled before
    /// the last chunk is returned, because a client that counts bytes may not poll for the end.
    fn pass(&mut self, data: Bytes, last: bool) -> Option<Frame<Bytes>> {
        let mut data = self.meter.clean(data, last);
        match &mut self.filter {
            None => self.meter.feed(&data),
            Some(filter) => {
                self.meter.measure(&data);
                let fault;
                (data, fault) = filter.push(data, last, &mut self.meter);
                if let Some(fault) = fault {
                    // The stream ends with the error event.
                    self.meter.break_off(&fault);
                    (self.source, self.decoder, self.filter) = (DownloadSource::Ended, None, None);
                    return Some(Frame::data(data));
                }
            }
        }
        if last {
            self.source = DownloadSource::Ended;
            self.meter.complete();
        }
        (!data.is_empty()).then(|| Frame::data(data))
    }

    fn poll_idle(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let idle_deadline = self.last_received + self.idle;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(idle_deadline)));
        loop {
            // The timer may still hold the deadline of an earlier frame. In that case it is moved to the current
            // deadline and polled again, which also registers the waker.
            ready!(timer.as_mut().poll(context));
            if Instant::now() >= idle_deadline {
                return Poll::Ready(());
            }
            timer.as_mut().reset(idle_deadline);
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
            // Return what is already decoded before reading more.
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
                DownloadSource::Upstream(body) => body,
                DownloadSource::Ended => return Poll::Ready(None),
                DownloadSource::Broken(fault) => {
                    let error = io::Error::other(std::mem::take(&mut fault.message));
                    self.source = DownloadSource::Ended;
                    return Poll::Ready(Some(Err(error)));
                }
                DownloadSource::Whole(bytes) => {
                    let bytes = std::mem::take(bytes);
                    self.source = DownloadSource::Ended;
                    return Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))));
                }
            };
            match Pin::new(body.as_mut()).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    let ended = body.is_end();
                    self.last_received = Instant::now();
                    if let Some(decoder) = &mut self.decoder {
                        decoder.give(data);
                        continue;
                    }
                    if let Some(frame) = self.pass(data, ended) {
                        return Poll::Ready(Some(Ok(frame)));
                    }
                }
                Poll::Ready(Some(Err(_))) => {
                    let fault = self.meter.interrupted();
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
                    // Both the body and the timer have registered the waker if this returns `Pending`.
                    ready!(self.poll_idle(context));
                    let fault = fault::upstream_timeout(self.meter.instance(), self.idle);
                    return self.cut(fault, context);
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            DownloadSource::Upstream(_) | DownloadSource::Broken(_) => false,
            DownloadSource::Whole(bytes) => bytes.is_empty(),
            DownloadSource::Ended => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            DownloadSource::Upstream(_) if self.decoder.is_some() || self.filter.is_some() => {
                SizeHint::default()
            }
            DownloadSource::Upstream(body) => match body.size_hint().exact() {
                Some(rest) => SizeHint::with_exact(rest + self.meter.held_back() as u64),
                None => SizeHint::default(),
            },
            DownloadSource::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            DownloadSource::Broken(_) => SizeHint::default(),
            DownloadSource::Ended => SizeHint::with_exact(0),
        }
    }
}

/// The client disconnected. If only usage was outstanding, the rest is read in the background.
impl Drop for Download {
    fn drop(&mut self) {
        // An unfinished upstream body; every other source was settled before.
        let DownloadSource::Upstream(body) = std::mem::replace(&mut self.source, DownloadSource::Ended)
        else {
            return;
        };
        if let Some(filter) = &self.filter {
            filter.give_up(&mut self.meter);
        }
        if self.meter.is_answered() && tokio::runtime::Handle::try_current().is_ok() {
            self.meter.hand_over().read_on(body, self.decoder.take());
        }
    }
}
