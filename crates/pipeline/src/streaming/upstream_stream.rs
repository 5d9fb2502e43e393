//! The events of a provider on their way to the client: forwarded unchanged if both use the same API format, else
//! translated.

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
use wire::codec::{AnswerReader, Broken, Class, ContentTemplate, Native};
use wire::formats::{self, chat};
use wire::response_facts::ResponseFacts;
use wire::sse::{Event, Splitter};

use super::response_mode::ResponseMode;
use super::resume::Resumable;
use super::translated::Translated;
use super::upstream_body::{UpstreamBody, interrupted};
use crate::accounting::ticket::Ticket;
use crate::call::receive::Call;
use crate::gateway::Gateway;
use crate::routing::health::Admission;
use crate::routing::routes::Deployment;
use crate::services::audit::Recording;

/// The time to wait for the end of a completed stream before its connection is closed.
const LINGER: Duration = Duration::from_secs(5);

/// The most bytes that are held back before content arrives.
const MOST_HELD: usize = 1 << 20;

pub struct UpstreamStream {
    body: Option<UpstreamBody>,
    splitter: Splitter,
    deployment: Arc<Deployment>,
    /// The client's API format.
    format: Format,
    mode: StreamMode,
    outgoing: VecDeque<Bytes>,
    /// Content has arrived. Until then events are held back, so that another target can still be tried.
    opened: bool,
    ended: bool,
    /// The stream ended with a failure that the provider itself reported.
    failed: bool,
    fault: Option<Fault>,
    usage: Option<(Usage, Bytes)>,
    provider_id: Option<String>,
    content_bytes: u64,
    /// The event that ends a response, stored for later calls.
    final_bytes: Option<Bytes>,
    created: i64,
    /// The number of complete events, not counting comments.
    events: u64,
    /// The number of bytes received from the provider.
    received: usize,
    idle_timeout: Duration,
    /// Counts the stream as in flight at the target.
    admission: Option<Admission>,
    /// The data needed to continue at another target, if enabled.
    resumable: Option<Box<Resumable>>,
    /// Records the sent bytes for the audit log.
    recording: Option<Arc<Recording>>,
    /// Model and finish reasons as reported by the provider, if the call is traced.
    facts: Option<Box<ResponseFacts>>,
}

/// The way in which events are converted to the client's format.
enum StreamMode {
    Native(NativeRelay),
    Translated(Box<Translated>),
}

struct NativeRelay {
    native: &'static dyn Native,
    hide_usage: bool,
    /// The requested model name, if the client's format repeats it.
    requested_model: Box<str>,
    /// The provider has sent a finish reason.
    finished: bool,
    /// The last event ended the content or a block of it.
    answered: bool,
    events: u64,
    template: ContentTemplate,
}

impl UpstreamStream {
    pub fn new(
        body: UpstreamBody,
        deployment: Arc<Deployment>,
        response_mode: ResponseMode,
        call: &Call,
        ticket: &Ticket,
    ) -> Self {
        let mode = match response_mode {
            ResponseMode::Native(native) => {
                let hide_usage = !call.request.include_usage;
                let repeated = call.surface == Surface::Converse(Format::Messages);
                let requested_model = call.request.model.as_deref().filter(|_| repeated);
                let requested_model = requested_model.unwrap_or_default().into();
                StreamMode::Native(NativeRelay {
                    native,
                    hide_usage,
                    requested_model,
                    finished: false,
                    answered: false,
                    events: 0,
                    template: ContentTemplate::default(),
                })
            }
            ResponseMode::Translated(translation) => {
                StreamMode::Translated(Box::new(Translated::new(*translation)))
            }
        };
        let policy = ticket.context.policy();
        let idle_timeout = policy.at(&deployment.instance.limits).idle_timeout;
        Self {
            body: Some(body),
            splitter: deployment.instance.vendor.framing.splitter(policy.event_limit),
            deployment,
            format: call.surface.format(),
            mode,
            outgoing: VecDeque::new(),
            opened: false,
            ended: false,
            failed: false,
            fault: None,
            usage: None,
            provider_id: None,
            content_bytes: 0,
            final_bytes: None,
            created: ticket.context.created(),
            events: 0,
            received: 0,
            idle_timeout,
            admission: None,
            resumable: None,
            recording: None,
            facts: ticket.records_response().then(Box::default),
        }
    }

    /// Enables resumption at another target, if the stream supports it.
    pub fn enable_resume(&mut self, resumable: impl FnOnce() -> Box<Resumable>) {
        if matches!(&self.mode, StreamMode::Translated(translated) if translated.is_resumable()) {
            self.resumable = Some(resumable());
        }
    }

    /// Sets the audit recording and adds the bytes that are already queued.
    pub fn record(&mut self, recording: Option<Arc<Recording>>) {
        let has_own_record =
            matches!(&self.mode, StreamMode::Translated(translated) if translated.has_own_record());
        if let Some(recording) = recording.as_ref().filter(|_| !has_own_record) {
            self.outgoing.iter().for_each(|bytes| recording.add(bytes));
        }
        self.recording = recording;
        self.record_own();
    }

    /// Adds to the recording what differs from the sent bytes.
    fn record_own(&mut self) {
        if let (StreamMode::Translated(translated), Some(recording)) = (&mut self.mode, &self.recording)
            && let Some(bytes) = translated.take_record()
        {
            recording.add(&bytes);
        }
    }

    fn put(&mut self, bytes: Bytes) {
        if let Some(recording) = &self.recording {
            recording.add(&bytes);
        }
        self.outgoing.push_back(bytes);
    }

    /// Queues bytes before all others.
    pub fn queue_first(&mut self, bytes: Bytes) {
        self.outgoing.push_front(bytes);
    }

    /// Whether this is a continuation that ended without content.
    pub fn is_empty_continuation(&self) -> bool {
        matches!(&self.mode, StreamMode::Translated(translated) if translated.is_empty_continuation())
    }

    pub fn has_opened(&self) -> bool {
        self.opened
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the content seems complete, so that only usage may follow.
    pub fn is_answered(&self) -> bool {
        match &self.mode {
            StreamMode::Native(mode) => mode.answered,
            StreamMode::Translated(translated) => translated.is_answered(),
        }
    }

    /// Reads up to the provider's last event, only for its usage. Nothing is sent or recorded any more.
    pub async fn read_on(&mut self, max: usize) {
        self.recording = None;
        let until = self.received.saturating_add(max);
        while !self.ended && self.received < until {
            self.advance().await;
            self.outgoing.clear();
        }
    }

    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// The bytes that are not sent yet.
    pub fn left(&self) -> impl Iterator<Item = &Bytes> {
        self.outgoing.iter()
    }

    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    pub fn fault_mut(&mut self) -> Option<&mut Fault> {
        self.fault.as_mut()
    }

    /// The number of events so far. Bytes and comments alone do not count as activity.
    pub fn events(&self) -> u64 {
        self.events
    }

    pub fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }

    pub fn keep(&mut self, admission: Admission) {
        self.admission = Some(admission);
    }

    pub fn instance(&self) -> &str {
        &self.deployment.target.instance
    }

    pub fn take(&mut self) -> Option<Bytes> {
        self.outgoing.pop_front()
    }

    pub fn give_up(&mut self, fault: Fault) {
        self.body = None;
        self.ended = true;
        let concluded = match &mut self.mode {
            StreamMode::Translated(translated) => translated.conclude(),
            StreamMode::Native(_) => Ok(false),
        };
        match concluded {
            Ok(true) => {
                self.opened = true;
                self.collect();
            }
            Ok(false) => self.fault = Some(fault),
            Err(refused) => self.fault = Some(refused),
        }
    }

    pub fn silent(&self, waited: Duration) -> Fault {
        fault::upstream_timeout(self.instance(), waited)
    }

    pub async fn advance(&mut self) {
        std::future::poll_fn(|context| self.poll_advance(context)).await;
    }

    /// Reads the next chunk from the provider. Ready after a chunk, an error or the end; otherwise the body has
    /// registered the waker.
    pub fn poll_advance(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(body) = &mut self.body else { return Poll::Ready(()) };
        match std::task::ready!(body.poll_next(context)) {
            Some(Ok(chunk)) => self.absorb(chunk),
            Some(Err(error)) => self.give_up(interrupted(&self.deployment.target.instance, &error)),
            None => self.body_ended(),
        }
        Poll::Ready(())
    }

    /// Handles the end of the body, which ends the answer in some API formats and is an interruption in others.
    fn body_ended(&mut self) {
        if let Some(event) = self.splitter.finish() {
            self.pass(&event);
        }
        if self.ended {
            return;
        }
        let outcome = match &mut self.mode {
            StreamMode::Native(mode) if mode.finished && mode.native.ends_with_the_body() => Ok(()),
            StreamMode::Native(_) => Err(fault::upstream_interrupted(&self.deployment.target.instance)),
            StreamMode::Translated(translated) => translated.close(),
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

    /// Processes a chunk. Consecutive unchanged events are forwarded as one slice of the chunk, without copying.
    fn absorb(&mut self, chunk: Bytes) {
        self.received += chunk.len();
        self.splitter.push(chunk.clone());
        let mut run: Option<Range<usize>> = None;
        while !self.ended {
            let forwarded = match self.take_content_run() {
                Some(events) => Some(events),
                None => match self.splitter.next() {
                    Ok(Some(event)) => self.inspect(&event),
                    Ok(None) => break,
                    Err(_) => {
                        self.give_up(fault::upstream_invalid_response(
                            &self.deployment.target.instance,
                            "an event is too long",
                        ));
                        break;
                    }
                },
            };
            let Some(raw) = forwarded else {
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
        // Start sending if too much is held back, so that memory stays bounded.
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

    /// Queues what the translation has rendered.
    fn collect(&mut self) {
        let StreamMode::Translated(translated) = &mut self.mode else { return };
        let has_own_record = translated.has_own_record();
        match translated.take() {
            Some(written) if has_own_record => self.outgoing.push_back(written),
            Some(written) => self.put(written),
            None => {}
        }
        if has_own_record {
            self.record_own();
        }
    }

    /// Queues the format's closing bytes after the last event of a successful answer.
    fn conclude(&mut self) {
        if let StreamMode::Native(mode) = &self.mode
            && self.ended
            && self.fault.is_none()
            && !mode.native.closing().is_empty()
        {
            self.put(Bytes::from_static(mode.native.closing()));
        }
    }

    /// Takes the next events that differ from an earlier one only in their text.
    fn take_content_run(&mut self) -> Option<Bytes> {
        let StreamMode::Native(mode) = &mut self.mode else { return None };
        // Once the model is known, an event with only content has no facts.
        if self.facts.as_ref().is_some_and(|facts| facts.model.is_none()) {
            return None;
        }
        let run = mode.template.matching_run(self.splitter.unread());
        if run.events == 0 {
            return None;
        }
        mode.answered = false;
        mode.events += run.events;
        self.events += run.events;
        self.content_bytes += run.content_bytes as u64;
        Some(self.splitter.take_unread(run.length))
    }

    /// Inspects an event. Returns the bytes to forward, if any.
    fn inspect(&mut self, event: &Event) -> Option<Bytes> {
        if event.is_comment_only() {
            let native = matches!(self.mode, StreamMode::Native(_));
            return (self.opened && native).then(|| event.raw.clone());
        }
        self.events += 1;
        if let Some(facts) = &mut self.facts {
            facts.read_event(&event.data());
        }
        match &mut self.mode {
            StreamMode::Native(mode) => {
                mode.events += 1;
                let native = mode.native;
                let seen = native.classify(event);
                mode.template.learn(event, &seen);
                mode.finished |= seen.finish;
                mode.answered = seen.finish
                    || (seen.content_bytes == 0 && (mode.answered || native.ends_block(&event.data())));
                let hide_usage = mode.hide_usage;
                if !self.note(native, event, seen, hide_usage) {
                    return None;
                }
                let StreamMode::Native(mode) = &self.mode else { return None };
                let reframed = native.reframe(event, &mode.requested_model);
                Some(reframed.unwrap_or_else(|| event.raw.clone()))
            }
            StreamMode::Translated(translated) => {
                let outcome = translated.decode_event(event);
                self.opened |= translated.has_content();
                self.ended |= translated.has_ended();
                if let Err(fault) = outcome {
                    self.give_up(fault);
                }
                None
            }
        }
    }

    /// Records the facts of an event. Returns false if it must not be forwarded.
    fn note(
        &mut self,
        native: &dyn AnswerReader,
        event: &Event,
        seen: wire::codec::Seen,
        hide_usage: bool,
    ) -> bool {
        let data = event.data();
        if !is_whole(&data) {
            self.give_up(fault::upstream_invalid_response(
                &self.deployment.target.instance,
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
            // Before content another target may still be tried; after it, the provider's own failure event ends the
            // stream.
            Class::Failed if self.opened => {
                self.failed = true;
                self.end(event);
                true
            }
            Class::Error | Class::Failed => {
                let fault = native.read_stream_error(&data, &self.deployment.target.instance);
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
            self.final_bytes = Some(Bytes::copy_from_slice(&event.data()));
        }
    }

    /// The fault as an event in the client's format.
    pub fn render_error_event(&mut self, fault: &Fault) -> Bytes {
        match &mut self.mode {
            StreamMode::Translated(translated) => translated.fail(fault),
            StreamMode::Native(mode) => {
                let broken = Broken {
                    id: self.provider_id.as_deref().unwrap_or_default(),
                    model: &self.deployment.target.model,
                    created: self.created,
                    sequence: mode.events,
                };
                formats::client(self.format).render_error_event(fault, broken)
            }
        }
    }

    /// The event of a fault as it is recorded; `sent` is the event for the client.
    pub fn recorded_error_event(&mut self, fault: &Fault, sent: &Bytes) -> Bytes {
        let own = match &mut self.mode {
            StreamMode::Translated(translated) => translated.recorded_fault(fault),
            StreamMode::Native(_) => None,
        };
        own.unwrap_or_else(|| sent.clone())
    }

    /// Reads a completed stream to the end of its body, so that the connection can be reused.
    pub fn release(&mut self, gateway: &Gateway) {
        let Some(mut body) = self.body.take() else { return };
        // The end has usually arrived already, so the body is polled once without a waker, to avoid spawning a task.
        // If it is pending, the task below polls it again and registers its own waker.
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

/// Whether an event's data is a complete object or the end marker: truncated data must not be forwarded as complete.
fn is_whole(data: &[u8]) -> bool {
    let data = data.trim_ascii();
    data.is_empty() || data == b"[DONE]" || (data.starts_with(b"{") && data.ends_with(b"}"))
}

/// The position of a slice in the chunk, if it is part of it.
fn place(chunk: &Bytes, slice: &Bytes) -> Option<Range<usize>> {
    let start = (slice.as_ptr() as usize).checked_sub(chunk.as_ptr() as usize)?;
    let end = start + slice.len();
    (end <= chunk.len()).then_some(start..end)
}
