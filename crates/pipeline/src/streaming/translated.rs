//! A stream translated between two API formats: each event is decoded and rendered for the client at once.

use bytes::{Bytes, BytesMut};
use domain::canon::{Block, Collector, Event, Reply};
use domain::fault::Fault;
use domain::usage::{Tokens, Usage};
use wire::codec::{Decoder, Renderer};
use wire::renames::Renames;
use wire::sse;

use super::response_mode::{Continuity, Translation};
use super::resume::Overlap;
use super::resume::continuation_buffer::ContinuationBuffer;
use super::resume::continuation_joiner::{Break, ContinuationJoiner};
use super::resume::tool_call_buffer::{Released, ToolCallBuffer};

pub struct Translated {
    decoder: Box<dyn Decoder>,
    renderer: Box<dyn Renderer>,
    /// Reused for all events, to avoid allocations.
    events: Vec<Event>,
    written: BytesMut,
    collector: Collector,
    content: bool,
    ended: bool,
    /// The last event ended the content or a block of it.
    answered: bool,
    content_bytes: u64,
    usage: Option<(Usage, Bytes)>,
    /// The rendered events that end the answer; in the Responses format they contain the whole response.
    final_bytes: Vec<u8>,
    renames: Renames,
    /// The id of the continuation, which replaces the first provider's.
    continued_as: Option<String>,
    resume_mode: ResumeMode,
}

/// Handling of events for resumption.
enum ResumeMode {
    NotResumable,
    Resumable(Box<Resumable>),
    /// Events are buffered until they are joined to the stream that they continue.
    ContinuationBuffer(ContinuationBuffer),
}

#[derive(Default)]
struct Resumable {
    held: ToolCallBuffer,
    joiner: Option<ContinuationJoiner>,
    /// Blocks that are open for the client.
    open: Vec<(u32, Kind)>,
    next: u32,
    finished: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Other,
}

/// The accounting data of the stream, or of its last part.
pub struct StreamAccount {
    pub provider_id: Option<String>,
    pub content_bytes: u64,
    pub usage: Option<(Usage, Bytes)>,
    pub final_bytes: Option<Bytes>,
}

impl Translated {
    pub fn new(translation: Translation) -> Self {
        Self {
            decoder: translation.upstream.decoder(translation.decoding),
            renderer: translation.client.renderer(translation.rendering),
            events: Vec::new(),
            written: BytesMut::new(),
            collector: Collector::default(),
            content: false,
            ended: false,
            answered: false,
            content_bytes: 0,
            usage: None,
            final_bytes: Vec::new(),
            renames: translation.renames,
            continued_as: None,
            resume_mode: match translation.continuity {
                Continuity::Single => ResumeMode::NotResumable,
                Continuity::Resumable => ResumeMode::Resumable(Box::default()),
                Continuity::Continuation => ResumeMode::ContinuationBuffer(ContinuationBuffer::default()),
            },
        }
    }

    pub fn read(&mut self, event: &sse::Event) -> Result<(), Fault> {
        let outcome = self.decoder.read(event, &mut self.events);
        self.write();
        outcome
    }

    /// Handles the end of the provider's body.
    pub fn close(&mut self) -> Result<(), Fault> {
        let outcome = self.decoder.close(&mut self.events);
        self.write();
        outcome
    }

    pub fn has_content(&self) -> bool {
        self.content
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    pub fn is_answered(&self) -> bool {
        self.answered
    }

    pub fn take(&mut self) -> Option<Bytes> {
        (!self.written.is_empty()).then(|| self.written.split().freeze())
    }

    pub fn fail(&mut self, fault: &Fault) -> Bytes {
        self.renderer.fail(fault, &mut self.written);
        self.written.split().freeze()
    }

    pub fn learnt(&mut self) -> StreamAccount {
        StreamAccount {
            provider_id: self.continued_as.clone().or_else(|| self.collector.so_far().id.clone()),
            content_bytes: std::mem::take(&mut self.content_bytes),
            usage: self.usage.take(),
            final_bytes: Some(std::mem::take(&mut self.final_bytes).into()),
        }
    }

    pub fn reply(&self) -> &Reply {
        self.collector.so_far()
    }

    /// Whether another target could continue the answer so far.
    pub fn is_resumable(&self) -> bool {
        match &self.resume_mode {
            ResumeMode::Resumable(resume_mode) => {
                !resume_mode.open.iter().any(|(_, kind)| *kind == Kind::Other)
            }
            _ => false,
        }
    }

    /// Whether this is a continuation without any content so far.
    pub fn says_nothing(&self) -> bool {
        matches!(&self.resume_mode, ResumeMode::ContinuationBuffer(ahead) if !ahead.says_something)
    }

    /// Sends the end event if the provider had already sent the finish reason and only its last event is missing.
    /// Returns true in that case.
    pub fn conclude(&mut self) -> bool {
        let finished = matches!(&self.resume_mode, ResumeMode::Resumable(resume_mode) if resume_mode.finished)
            && !self.ended;
        if finished {
            self.tell(Event::End);
        }
        finished
    }

    /// Continues with the events of another provider. An open reasoning block is closed; an incomplete tool call, of
    /// which nothing was sent, is dropped.
    pub fn join(&mut self, next: Self, overlap: Overlap, earlier: Tokens, number: u32) {
        let ResumeMode::ContinuationBuffer(ahead) = next.resume_mode else { return };
        self.decoder = next.decoder;
        self.renames = next.renames;
        self.content_bytes = next.content_bytes;
        self.usage = next.usage;
        let ResumeMode::Resumable(resume_mode) = &mut self.resume_mode else { return };
        resume_mode.held = ToolCallBuffer::default();
        let broken =
            resume_mode.open.iter().rev().find(|(_, kind)| *kind == Kind::Text).map(|(index, _)| *index);
        let over: Vec<u32> =
            resume_mode.open.iter().map(|(index, _)| *index).filter(|index| Some(*index) != broken).collect();
        let state = Break { broken_text: broken, next: resume_mode.next, earlier, number };
        resume_mode.joiner = Some(ContinuationJoiner::new(self.collector.so_far(), overlap, state));
        over.into_iter().for_each(|index| self.tell(Event::Close { index }));
        ahead.events.into_iter().for_each(|event| self.pass(event));
    }

    fn write(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        for mut event in events.drain(..) {
            self.renames.restore(&mut event);
            let content_bytes = event.content_bytes() as u64;
            self.content_bytes += content_bytes;
            self.answered = matches!(event, Event::Finish { .. } | Event::Close { .. })
                || (self.answered && content_bytes == 0);
            if let Event::Usage { usage, raw } = &event {
                self.usage = Some(((**usage).clone(), raw.clone()));
            }
            self.pass(event);
        }
        self.events = events;
    }

    fn pass(&mut self, event: Event) {
        match &mut self.resume_mode {
            ResumeMode::NotResumable => self.tell(event),
            ResumeMode::ContinuationBuffer(ahead) => {
                self.ended |= matches!(event, Event::End);
                self.content |= ahead.take(event);
            }
            ResumeMode::Resumable(resume_mode) => {
                if let Event::Begin { id, .. } = &event
                    && resume_mode.joiner.is_some()
                {
                    self.continued_as.clone_from(id);
                }
                for event in resume_mode.take(event) {
                    self.tell(event);
                }
            }
        }
    }

    /// Renders an event for the client.
    fn tell(&mut self, event: Event) {
        self.content |= event.is_content();
        self.collector.take(&event);
        let begun = self.written.len();
        self.renderer.write(&event, &mut self.written);
        if let Event::Finish { .. } | Event::End = event {
            self.final_bytes.extend_from_slice(&self.written[begun..]);
            self.ended |= matches!(event, Event::End);
        }
        if let ResumeMode::Resumable(resume_mode) = &mut self.resume_mode {
            resume_mode.note(&event);
        }
    }
}

impl Resumable {
    /// The events that may be sent to the client now.
    fn take(&mut self, event: Event) -> Vec<Event> {
        let mut told = Vec::new();
        match (self.held.take(event), &mut self.joiner) {
            (Released::Nothing, _) => {}
            (Released::Event(event), None) => told.push(event),
            (Released::Event(event), Some(joiner)) => joiner.take(event, &mut told),
            (Released::Call(events), None) => told = events,
            (Released::Call(events), Some(joiner)) => joiner.call(events, &mut told),
        }
        told
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Open { index, block } => {
                self.next = self.next.max(index + 1);
                let kind = match block {
                    Block::Text => Kind::Text,
                    Block::Thinking => Kind::Thinking,
                    _ => Kind::Other,
                };
                self.open.push((*index, kind));
            }
            Event::Close { index } => self.open.retain(|(open, _)| open != index),
            Event::Finish { .. } => self.finished = true,
            _ => {}
        }
    }
}
