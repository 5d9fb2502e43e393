//! A stream between two dialects: each event of the provider is read, and what it says is written for the client at once.

use bytes::{Bytes, BytesMut};
use domain::canon::{Collector, Event, Reply};
use domain::fault::Fault;
use domain::usage::Usage;
use wire::codec::{Decoder, Renderer};
use wire::renames::Renames;
use wire::sse;

use crate::dispatch::Translation;

pub struct Translated {
    decoder: Box<dyn Decoder>,
    renderer: Box<dyn Renderer>,
    /// Kept to be used again: a stream has many events and few allocations.
    events: Vec<Event>,
    written: BytesMut,
    collector: Collector,
    content: bool,
    ended: bool,
    content_bytes: u64,
    usage: Option<(Usage, Bytes)>,
    /// What the end of the answer was told with: a response is repeated there whole.
    last_words: Vec<u8>,
    renames: Renames,
}

/// What the account is told about the stream.
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
            content_bytes: 0,
            usage: None,
            last_words: Vec::new(),
            renames: translation.renames,
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

    pub fn take(&mut self) -> Option<Bytes> {
        (!self.written.is_empty()).then(|| self.written.split().freeze())
    }

    pub fn fail(&mut self, fault: &Fault) -> Bytes {
        self.renderer.fail(fault, &mut self.written);
        self.written.split().freeze()
    }

    pub fn learnt(&mut self) -> Learnt {
        Learnt {
            provider_id: self.collector.so_far().id.clone(),
            content_bytes: self.content_bytes,
            usage: self.usage.take(),
            last_words: Some(std::mem::take(&mut self.last_words).into()),
        }
    }

    pub fn reply(&self) -> &Reply {
        self.collector.so_far()
    }

    fn write(&mut self) {
        for mut event in self.events.drain(..) {
            self.renames.restore(&mut event);
            self.content |= event.is_content();
            self.content_bytes += event.content_bytes() as u64;
            self.collector.take(&event);
            let begun = self.written.len();
            self.renderer.write(&event, &mut self.written);
            match event {
                Event::Usage { usage, raw } => self.usage = Some((*usage, raw)),
                Event::Finish { .. } | Event::End => {
                    self.last_words.extend_from_slice(&self.written[begun..]);
                    self.ended |= matches!(event, Event::End);
                }
                _ => {}
            }
        }
    }
}
