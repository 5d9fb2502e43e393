//! A stream between two dialects: each event of the provider is read, and what it says is written for the client at once.

use bytes::{Bytes, BytesMut};
use domain::canon::{Block, Collector, Event, Reply};
use domain::fault::Fault;
use domain::usage::{Tokens, Usage};
use wire::codec::{Decoder, Renderer};
use wire::renames::Renames;
use wire::sse;

use super::ahead::Ahead;
use super::held::{Held, Told};
use super::overlap::Overlap;
use super::seam::{Break, Seam};
use crate::dispatch::{Continuity, Translation};

pub struct Translated {
    decoder: Box<dyn Decoder>,
    renderer: Box<dyn Renderer>,
    /// Kept to be used again: a stream has many events and few allocations.
    events: Vec<Event>,
    written: BytesMut,
    collector: Collector,
    content: bool,
    ended: bool,
    /// The last event ended the content, or a block of it.
    answered: bool,
    content_bytes: u64,
    usage: Option<(Usage, Bytes)>,
    /// What the end of the answer was told with: a response is repeated there whole.
    last_words: Vec<u8>,
    renames: Renames,
    /// The id of a continuation, which is then who served.
    continued_as: Option<String>,
    course: Course,
}

/// What else happens to events on their way.
enum Course {
    Straight,
    Resumable(Box<Resumable>),
    /// Nothing is written before this is joined to the stream it continues.
    Ahead(Ahead),
}

#[derive(Default)]
struct Resumable {
    held: Held,
    seam: Option<Seam>,
    /// Blocks the client is in the middle of.
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

/// What the account is told about the stream, or about its last part.
pub struct Learnt {
    pub provider_id: Option<String>,
    pub content_bytes: u64,
    pub usage: Option<(Usage, Bytes)>,
    pub last_words: Option<Bytes>,
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
            last_words: Vec::new(),
            renames: translation.renames,
            continued_as: None,
            course: match translation.continuity {
                Continuity::Single => Course::Straight,
                Continuity::Resumable => Course::Resumable(Box::default()),
                Continuity::Continuation => Course::Ahead(Ahead::default()),
            },
        }
    }

    pub fn read(&mut self, event: &sse::Event) -> Result<(), Fault> {
        let outcome = self.decoder.read(event, &mut self.events);
        self.write();
        outcome
    }

    /// The provider's body has ended.
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

    pub fn learnt(&mut self) -> Learnt {
        Learnt {
            provider_id: self.continued_as.clone().or_else(|| self.collector.so_far().id.clone()),
            content_bytes: std::mem::take(&mut self.content_bytes),
            usage: self.usage.take(),
            last_words: Some(std::mem::take(&mut self.last_words).into()),
        }
    }

    pub fn reply(&self) -> &Reply {
        self.collector.so_far()
    }

    /// Another target could go on with what was said until now.
    pub fn is_resumable(&self) -> bool {
        match &self.course {
            Course::Resumable(course) => !course.open.iter().any(|(_, kind)| *kind == Kind::Other),
            _ => false,
        }
    }

    /// The provider had said why its answer ends and only its last word is missing: the gateway says it.
    /// A continuation that ends without having said anything.
    pub fn says_nothing(&self) -> bool {
        matches!(&self.course, Course::Ahead(ahead) if !ahead.says_something)
    }

    pub fn conclude(&mut self) -> bool {
        let finished = matches!(&self.course, Course::Resumable(course) if course.finished) && !self.ended;
        if finished {
            self.tell(Event::End);
        }
        finished
    }

    /// Goes on with what another provider says. What broke off is ended as well as it can be: a thought is over, a call
    /// of which nothing was told restarts.
    pub fn join(&mut self, next: Self, overlap: Overlap, earlier: Tokens, number: u32) {
        let Course::Ahead(ahead) = next.course else { return };
        self.decoder = next.decoder;
        self.renames = next.renames;
        self.content_bytes = next.content_bytes;
        self.usage = next.usage;
        let Course::Resumable(course) = &mut self.course else { return };
        course.held = Held::default();
        let broken = course.open.iter().rev().find(|(_, kind)| *kind == Kind::Text).map(|(index, _)| *index);
        let over: Vec<u32> =
            course.open.iter().map(|(index, _)| *index).filter(|index| Some(*index) != broken).collect();
        let state = Break { broken_text: broken, next: course.next, earlier, number };
        course.seam = Some(Seam::new(self.collector.so_far(), overlap, state));
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
        match &mut self.course {
            Course::Straight => self.tell(event),
            Course::Ahead(ahead) => {
                self.ended |= matches!(event, Event::End);
                self.content |= ahead.take(event);
            }
            Course::Resumable(course) => {
                if let Event::Begin { id, .. } = &event
                    && course.seam.is_some()
                {
                    self.continued_as.clone_from(id);
                }
                for event in course.take(event) {
                    self.tell(event);
                }
            }
        }
    }

    /// Writes an event for the client.
    fn tell(&mut self, event: Event) {
        self.content |= event.is_content();
        self.collector.take(&event);
        let begun = self.written.len();
        self.renderer.write(&event, &mut self.written);
        if let Event::Finish { .. } | Event::End = event {
            self.last_words.extend_from_slice(&self.written[begun..]);
            self.ended |= matches!(event, Event::End);
        }
        if let Course::Resumable(course) = &mut self.course {
            course.note(&event);
        }
    }
}

impl Resumable {
    /// What the client may be told now.
    fn take(&mut self, event: Event) -> Vec<Event> {
        let mut told = Vec::new();
        match (self.held.take(event), &mut self.seam) {
            (Told::Nothing, _) => {}
            (Told::Event(event), None) => told.push(event),
            (Told::Event(event), Some(seam)) => seam.take(event, &mut told),
            (Told::Call(events), None) => told = events,
            (Told::Call(events), Some(seam)) => seam.call(events, &mut told),
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
