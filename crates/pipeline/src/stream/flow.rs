//! Events between provider and client: forwarded as received where both speak the same, else translated one by one.

mod account;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::fault::{self, Fault};
use domain::usage::Usage;
use wire::codec::{Class, Native};
use wire::fault::Broken;
use wire::formats::chat;
use wire::response_facts::ResponseFacts;
use wire::sse::{Event, Splitter};

use super::translated::Translated;
use crate::audit::Recording;
use crate::dispatch::{Passage, Resumable, UpstreamBody, interrupted};
use crate::gateway::Gateway;
use crate::health::Admission;
use crate::receive::Call;
use crate::settle::Ticket;
use crate::snapshot::routes::Lane;

/// How long the end of an answered stream may take before its connection is given up.
const LINGER: Duration = Duration::from_secs(5);

/// What may come before content, at most, while an answer is held back.
const MOST_HELD: usize = 1 << 20;

pub struct Flow {
    body: Option<UpstreamBody>,
    splitter: Splitter,
    lane: Arc<Lane>,
    /// The client's dialect.
    format: Format,
    manner: Manner,
    outgoing: VecDeque<Bytes>,
    /// Lifecycle events are kept back until content opens the gate.
    opened: bool,
    ended: bool,
    /// It ended with the provider's own word that it failed.
    failed: bool,
    fault: Option<Fault>,
    usage: Option<(Usage, Bytes)>,
    provider_id: Option<String>,
    content_bytes: u64,
    /// The event that ends a response, for the store.
    last_words: Option<Bytes>,
    created: i64,
    /// Whole events so far; a comment is none.
    heard: u64,
    /// Bytes that came from the provider.
    received: usize,
    idle_timeout: Duration,
    /// The target counts the stream as under way for as long as it flows.
    admission: Option<Admission>,
    /// What it takes to go on elsewhere, where that is wanted.
    resumable: Option<Box<Resumable>>,
    /// Takes down what is put out, where the audit log wants it.
    recording: Option<Arc<Recording>>,
    /// Model and finish reasons as the provider names them, where the call is traced.
    facts: Option<Box<ResponseFacts>>,
}

/// How events become the client's.
enum Manner {
    Native(AsIs),
    Translated(Box<Translated>),
}

struct AsIs {
    native: &'static dyn Native,
    hide_usage: bool,
    /// The model's name as the client wrote it, where its dialect repeats it.
    requested_model: Box<str>,
    /// The provider said why its answer ends.
    finished: bool,
    /// The last event ended the content, or a block of it.
    answered: bool,
    events: u64,
}

impl Flow {
    pub fn new(body: UpstreamBody, lane: Arc<Lane>, passage: Passage, call: &Call, ticket: &Ticket) -> Self {
        let manner = match passage {
            Passage::Native(native) => {
                let hide_usage = !call.request.include_usage;
                let repeated = call.surface == Surface::Converse(Format::Messages);
                let requested_model = call.request.model.as_deref().filter(|_| repeated);
                let requested_model = requested_model.unwrap_or_default().into();
                Manner::Native(AsIs {
                    native,
                    hide_usage,
                    requested_model,
                    finished: false,
                    answered: false,
                    events: 0,
                })
            }
            Passage::Translated(translation) => Manner::Translated(Box::new(Translated::new(*translation))),
        };
        let idle_timeout = lane.idle_timeout(&ticket.gateway().policy);
        Self {
            body: Some(body),
            splitter: Splitter::new(ticket.gateway().policy.event_limit),
            lane,
            format: call.surface.format(),
            manner,
            outgoing: VecDeque::new(),
            opened: false,
            ended: false,
            failed: false,
            fault: None,
            usage: None,
            provider_id: None,
            content_bytes: 0,
            last_words: None,
            created: ticket.created(),
            heard: 0,
            received: 0,
            idle_timeout,
            admission: None,
            resumable: None,
            recording: None,
            facts: ticket.is_traced().then(Box::default),
        }
    }

    /// The stream is to survive its provider, if it can.
    pub fn arm(&mut self, resumable: impl FnOnce() -> Box<Resumable>) {
        if matches!(&self.manner, Manner::Translated(translated) if translated.is_resumable()) {
            self.resumable = Some(resumable());
        }
    }

    /// What is put out from now on is taken down, and what waits already.
    pub fn record(&mut self, recording: Option<Arc<Recording>>) {
        if let Some(recording) = &recording {
            self.outgoing.iter().for_each(|bytes| recording.add(bytes));
        }
        self.recording = recording;
    }

    fn put(&mut self, bytes: Bytes) {
        if let Some(recording) = &self.recording {
            recording.add(&bytes);
        }
        self.outgoing.push_back(bytes);
    }

    /// Said before what is still to leave.
    pub fn preface(&mut self, bytes: Bytes) {
        self.outgoing.push_front(bytes);
    }

    /// It has opened, but with an end and nothing before it.
    pub fn says_nothing(&self) -> bool {
        matches!(&self.manner, Manner::Translated(translated) if translated.says_nothing())
    }

    pub fn has_opened(&self) -> bool {
        self.opened
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The content is complete as far as can be told, and only usage may follow.
    pub fn is_answered(&self) -> bool {
        match &self.manner {
            Manner::Native(manner) => manner.answered,
            Manner::Translated(translated) => translated.is_answered(),
        }
    }

    /// Reads on to the provider's last event, for its usage alone: nothing of it is sent or recorded any more.
    pub async fn read_on(&mut self, most: usize) {
        self.recording = None;
        let until = self.received.saturating_add(most);
        while !self.ended && self.received < until {
            self.advance().await;
            self.outgoing.clear();
        }
    }

    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// What is still to leave.
    pub fn left(&self) -> impl Iterator<Item = &Bytes> {
        self.outgoing.iter()
    }

    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    pub fn fault_mut(&mut self) -> Option<&mut Fault> {
        self.fault.as_mut()
    }

    /// Grows with every event: bytes and comments alone are no sign of life.
    pub fn heard(&self) -> u64 {
        self.heard
    }

    pub fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }

    pub fn keep(&mut self, admission: Admission) {
        self.admission = Some(admission);
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
        if let Manner::Translated(translated) = &mut self.manner
            && translated.conclude()
        {
            self.opened = true;
            self.collect();
            return;
        }
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
            Some(Err(error)) => self.give_up(interrupted(&self.lane.target.instance, &error)),
            None => self.body_ended(),
        }
        Poll::Ready(())
    }

    /// In some dialects the end of the body is the end of the answer; in the others it came too soon.
    fn body_ended(&mut self) {
        if let Some(event) = self.splitter.finish() {
            self.pass(&event);
        }
        if self.ended {
            return;
        }
        let outcome = match &mut self.manner {
            Manner::Native(manner) if manner.finished && manner.native.ends_with_the_body() => Ok(()),
            Manner::Native(_) => Err(fault::upstream_interrupted(&self.lane.target.instance)),
            Manner::Translated(translated) => translated.close(),
        };
        self.collect();
        match outcome {
            Ok(()) => {
                self.opened = true;
                self.ended = true;
                self.body = None;
            }
            Err(fault) => self.give_up(fault),
        }
    }

    /// Unchanged events leave as one slice of the chunk they came in.
    fn absorb(&mut self, chunk: Bytes) {
        self.received += chunk.len();
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
            let Some(raw) = self.inspect(&event) else {
                self.flush(&chunk, run.take());
                continue;
            };
            match (place(&chunk, &raw), &mut run) {
                (Some(place), Some(run)) if run.end == place.start => run.end = place.end,
                (Some(place), _) => {
                    self.flush(&chunk, run.take());
                    run = Some(place);
                }
                (None, _) => {
                    self.flush(&chunk, run.take());
                    self.put(raw);
                }
            }
        }
        self.flush(&chunk, run);
        self.collect();
        self.conclude();
        // Who talks that long without saying anything is passed on: nothing is held without a bound.
        if !self.opened && self.fault.is_none() {
            let held: usize = self.outgoing.iter().map(Bytes::len).sum();
            self.opened = held > MOST_HELD;
        }
    }

    fn pass(&mut self, event: &Event) {
        if let Some(raw) = self.inspect(event) {
            self.put(raw);
        }
        self.collect();
        self.conclude();
    }

    fn flush(&mut self, chunk: &Bytes, run: Option<Range<usize>>) {
        if let Some(run) = run {
            self.put(chunk.slice(run));
        }
    }

    /// What the translator has written leaves with the events it came from.
    fn collect(&mut self) {
        if let Manner::Translated(translated) = &mut self.manner
            && let Some(written) = translated.take()
        {
            self.put(written);
        }
    }

    /// What the gateway itself says after the last event of a good answer.
    fn conclude(&mut self) {
        if let Manner::Native(manner) = &self.manner
            && self.ended
            && self.fault.is_none()
            && !manner.native.closing().is_empty()
        {
            self.put(Bytes::from_static(manner.native.closing()));
        }
    }

    /// Notes what an event says; the bytes the client is to see, if any.
    fn inspect(&mut self, event: &Event) -> Option<Bytes> {
        if event.is_comment_only() {
            let native = matches!(self.manner, Manner::Native(_));
            return (self.opened && native).then(|| event.raw.clone());
        }
        self.heard += 1;
        if let Some(facts) = &mut self.facts {
            facts.read_event(&event.data());
        }
        match &mut self.manner {
            Manner::Native(manner) => {
                manner.events += 1;
                let native = manner.native;
                let seen = native.classify(event);
                manner.finished |= seen.finish;
                manner.answered = seen.finish
                    || (seen.content_bytes == 0
                        && (manner.answered || ends_block(self.format, &event.data())));
                let hide_usage = manner.hide_usage;
                if !self.note(native, event, seen, hide_usage) {
                    return None;
                }
                let Manner::Native(manner) = &self.manner else { return None };
                let reframed = native.reframe(event, &manner.requested_model);
                Some(reframed.unwrap_or_else(|| event.raw.clone()))
            }
            Manner::Translated(translated) => {
                let outcome = translated.read(event);
                self.opened |= translated.has_content();
                self.ended |= translated.has_ended();
                if let Err(fault) = outcome {
                    self.give_up(fault);
                }
                None
            }
        }
    }

    /// False when the client must not see the event.
    fn note(
        &mut self,
        native: &dyn Native,
        event: &Event,
        seen: wire::codec::Seen,
        hide_usage: bool,
    ) -> bool {
        let data = event.data();
        if !is_whole(&data) {
            self.give_up(fault::upstream_invalid_response(
                &self.lane.target.instance,
                "an event is not JSON",
            ));
            return false;
        }
        self.content_bytes += seen.content_bytes as u64;
        if self.provider_id.is_none() {
            self.provider_id = native.event_id(&data);
        }
        if let Some(range) = seen.usage
            && let Some(usage) =
                native.read_usage(&data[range.clone()], self.usage.as_ref().map(|(usage, _)| usage))
        {
            self.usage = Some((usage, Bytes::copy_from_slice(&data[range])));
        }
        match seen.class {
            Class::Lifecycle => self.format != Format::Chat || chat::has_choices(&data),
            Class::Content => {
                self.opened = true;
                true
            }
            Class::Usage => !hide_usage,
            Class::Terminal => {
                self.end(event);
                true
            }
            // Before content another target may do better; after it, the provider's own words are the end.
            Class::Failed if self.opened => {
                self.failed = true;
                self.end(event);
                true
            }
            Class::Error | Class::Failed => {
                let fault = native.read_stream_error(&data, &self.lane.target.instance);
                self.give_up(fault);
                false
            }
            Class::Ignorable => self.opened,
        }
    }

    fn end(&mut self, event: &Event) {
        self.opened = true;
        self.ended = true;
        if self.format == Format::Responses {
            self.last_words = Some(Bytes::copy_from_slice(&event.data()));
        }
    }

    /// The fault as the client's dialect says it in the middle of a stream.
    pub fn farewell(&mut self, fault: &Fault) -> Bytes {
        match &mut self.manner {
            Manner::Translated(translated) => translated.fail(fault),
            Manner::Native(manner) => {
                let broken = Broken {
                    id: self.provider_id.as_deref().unwrap_or_default(),
                    model: &self.lane.target.model,
                    created: self.created,
                    sequence: manner.events,
                };
                wire::fault::event(fault, self.format, broken)
            }
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

/// An event's data is an object, whole, or the mark of the end: what is cut off must not reach the client as complete.
fn is_whole(data: &[u8]) -> bool {
    let data = data.trim_ascii();
    data.is_empty() || data == b"[DONE]" || (data.starts_with(b"{") && data.ends_with(b"}"))
}

/// Formats with blocks tell their usage behind the last one, which cannot be told from the others.
fn ends_block(format: Format, data: &[u8]) -> bool {
    let name: &[u8] = match format {
        Format::Messages => b"\"content_block_stop\"",
        Format::Responses => b"\"response.output_item.done\"",
        _ => return false,
    };
    memchr::memmem::find(data, name).is_some()
}

/// Where a slice lies in the chunk it was cut from, if it was.
fn place(chunk: &Bytes, slice: &Bytes) -> Option<Range<usize>> {
    let start = (slice.as_ptr() as usize).checked_sub(chunk.as_ptr() as usize)?;
    let end = start + slice.len();
    (end <= chunk.len()).then_some(start..end)
}
