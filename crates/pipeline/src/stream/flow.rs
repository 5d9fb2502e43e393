//! Events between provider and client: split, classified, forwarded as received; only usage is read.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use domain::fault::{self, Fault};
use domain::usage::Usage;
use wire::formats::chat::{self, Class};
use wire::sse::{Event, Splitter};

use crate::dispatch::UpstreamBody;
use crate::gateway::Gateway;
use crate::settle::Ticket;
use crate::snapshot::routes::Lane;

/// How long the end of an answered stream may take before its connection is given up.
const LINGER: Duration = Duration::from_secs(5);

pub struct Flow {
    body: Option<UpstreamBody>,
    splitter: Splitter,
    lane: Arc<Lane>,
    hide_usage: bool,
    outgoing: VecDeque<Bytes>,
    /// Lifecycle events are kept back until content opens the gate.
    opened: bool,
    ended: bool,
    fault: Option<Fault>,
    usage: Option<(Usage, Bytes)>,
    provider_id: Option<String>,
    content_bytes: u64,
}

impl Flow {
    pub fn new(body: UpstreamBody, lane: Arc<Lane>, hide_usage: bool, event_limit: usize) -> Self {
        Self {
            body: Some(body),
            splitter: Splitter::new(event_limit),
            lane,
            hide_usage,
            outgoing: VecDeque::new(),
            opened: false,
            ended: false,
            fault: None,
            usage: None,
            provider_id: None,
            content_bytes: 0,
        }
    }

    pub fn has_opened(&self) -> bool {
        self.opened
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    pub fn instance(&self) -> &str {
        &self.lane.target.instance
    }

    pub fn take(&mut self) -> Option<Bytes> {
        self.outgoing.pop_front()
    }

    pub fn give_up(&mut self, fault: Fault) {
        self.body = None;
        self.ended = true;
        self.fault = Some(fault);
    }

    pub fn silent(&self, waited: Duration) -> Fault {
        fault::upstream_timeout(self.instance(), waited)
    }

    pub async fn advance(&mut self) {
        std::future::poll_fn(|context| self.poll_advance(context)).await;
    }

    /// Takes in what the provider has sent; ready when anything changed.
    pub fn poll_advance(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(body) = &mut self.body else { return Poll::Ready(()) };
        match std::task::ready!(body.poll_next(context)) {
            Some(Ok(chunk)) => self.absorb(chunk),
            Some(Err(_)) | None => self.give_up(fault::upstream_interrupted(&self.lane.target.instance)),
        }
        Poll::Ready(())
    }

    /// Unchanged events leave as one slice of the chunk they came in.
    fn absorb(&mut self, chunk: Bytes) {
        self.splitter.push(chunk.clone());
        let mut run: Option<Range<usize>> = None;
        while !self.ended {
            let event = match self.splitter.next() {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(_) => {
                    self.give_up(fault::upstream_invalid_response(
                        &self.lane.target.instance,
                        "an event is too long",
                    ));
                    break;
                }
            };
            if !self.inspect(&event) {
                self.flush(&chunk, run.take());
                continue;
            }
            match (place(&chunk, &event.raw), &mut run) {
                (Some(place), Some(run)) if run.end == place.start => run.end = place.end,
                (Some(place), _) => {
                    self.flush(&chunk, run.take());
                    run = Some(place);
                }
                (None, _) => {
                    self.flush(&chunk, run.take());
                    self.outgoing.push_back(event.raw);
                }
            }
        }
        self.flush(&chunk, run);
    }

    fn flush(&mut self, chunk: &Bytes, run: Option<Range<usize>>) {
        if let Some(run) = run {
            self.outgoing.push_back(chunk.slice(run));
        }
    }

    /// Notes what an event says; false when the client must not see it.
    fn inspect(&mut self, event: &Event) -> bool {
        if event.is_comment_only() {
            return self.opened;
        }
        let data = event.data();
        let seen = chat::classify(&data);
        self.content_bytes += seen.content_bytes as u64;
        if self.provider_id.is_none() {
            self.provider_id = chat::event_id(&data);
        }
        if let Some(range) = seen.usage
            && let Some(usage) = chat::read_usage(&data[range.clone()])
        {
            self.usage = Some((usage, Bytes::copy_from_slice(&data[range])));
        }
        match seen.class {
            Class::Lifecycle => chat::has_choices(&data),
            Class::Content => {
                self.opened = true;
                true
            }
            Class::Usage => !self.hide_usage,
            Class::Terminal => {
                self.opened = true;
                self.ended = true;
                true
            }
            Class::Error => {
                let fault = chat::read_stream_error(&data, &self.lane.target.instance);
                self.give_up(fault);
                false
            }
            Class::Ignorable => self.opened,
        }
    }

    /// Hands over what was learnt to the call's account.
    pub fn report(&mut self, ticket: &mut Ticket) {
        if let Some(id) = self.provider_id.take() {
            ticket.provider_id(id);
        }
        ticket.produced(self.content_bytes);
        if let Some((mut usage, raw)) = self.usage.take() {
            // Figures that came before the end are what was consumed so far, not the bill.
            usage.estimated |= !self.ended || self.fault.is_some();
            ticket.consumed(usage, &raw);
        }
    }

    /// Reads the answered stream to its very end, so that its connection can serve again.
    pub fn release(&mut self, gateway: &Gateway) {
        let Some(mut body) = self.body.take() else { return };
        let mut context = Context::from_waker(std::task::Waker::noop());
        if let Poll::Ready(None | Some(Err(_))) = body.poll_next(&mut context) {
            return;
        }
        gateway.tasks.spawn(async move {
            let rest = async { while let Some(Ok(_)) = body.next().await {} };
            let _ = tokio::time::timeout(LINGER, rest).await;
        });
    }
}

/// Where a slice lies in the chunk it was cut from, if it was.
fn place(chunk: &Bytes, slice: &Bytes) -> Option<Range<usize>> {
    let start = (slice.as_ptr() as usize).checked_sub(chunk.as_ptr() as usize)?;
    let end = start + slice.len();
    (end <= chunk.len()).then_some(start..end)
}
