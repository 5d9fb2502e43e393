//! A stream on the canonical path: each event is decoded, passed through the stages and rendered for the client at once.

use bytes::{Bytes, BytesMut};
use domain::canon::{Collector, Event, Reply};
use domain::fault::Fault;
use domain::receipt::GuardrailVerdict;
use domain::usage::{Tokens, Usage};
use wire::codec::{Decoder, Renderer};
use wire::sse;

use super::response_mode::Translation;
use super::resume::Overlap;
use super::stages::Stages;
use crate::guardrails::AnswerFilter;

pub struct Translated {
    decoder: Box<dyn Decoder>,
    stages: Stages,
    filter: Option<Box<AnswerFilter>>,
    renderer: Box<dyn Renderer>,
    /// Reused for all events, to avoid allocations.
    events: Vec<Event>,
    written: BytesMut,
    /// The answer as the client sees it, before placeholders are restored.
    collector: Collector,
    content: bool,
    ended: bool,
    /// The rendered events that end the answer; in the Responses format they contain the whole response.
    final_bytes: Vec<u8>,
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
        let Translation { client, rendering, mut filter, .. } = translation;
        if let Some(filter) = &mut filter {
            filter.start_record(|| client.renderer(rendering.without_request()));
        }
        Self {
            decoder: translation.upstream.decoder(translation.decoding),
            stages: Stages::new(translation.renames, translation.continuity),
            filter,
            renderer: client.renderer(rendering),
            events: Vec::new(),
            written: BytesMut::new(),
            collector: Collector::default(),
            content: false,
            ended: false,
            final_bytes: Vec::new(),
        }
    }

    pub fn decode_event(&mut self, event: &sse::Event) -> Result<(), Fault> {
        let outcome = self.decoder.decode_event(event, &mut self.events);
        self.stages.push(&mut self.events);
        self.render().and(outcome)
    }

    /// Handles the end of the provider's body.
    pub fn close(&mut self) -> Result<(), Fault> {
        let outcome = self.decoder.close(&mut self.events);
        self.stages.push(&mut self.events);
        self.render().and(outcome)
    }

    pub fn has_content(&self) -> bool {
        self.content || self.stages.resume().has_content()
    }

    pub fn has_ended(&self) -> bool {
        self.ended || self.stages.resume().has_ended()
    }

    pub fn is_answered(&self) -> bool {
        self.stages.meter().is_answered()
    }

    pub fn take(&mut self) -> Option<Bytes> {
        (!self.written.is_empty()).then(|| self.written.split().freeze())
    }

    pub fn fail(&mut self, fault: &Fault) -> Bytes {
        self.renderer.fail(fault, &mut self.written);
        self.written.split().freeze()
    }

    pub fn account(&mut self) -> StreamAccount {
        let continued_as = self.stages.resume().provider_id().map(str::to_owned);
        let meter = self.stages.meter_mut();
        StreamAccount {
            provider_id: continued_as.or_else(|| self.collector.so_far().id.clone()),
            content_bytes: meter.take_content_bytes(),
            usage: meter.take_usage(),
            final_bytes: Some(std::mem::take(&mut self.final_bytes).into()),
        }
    }

    pub fn reply(&self) -> &Reply {
        self.collector.so_far()
    }

    /// Whether another target could continue the answer so far.
    pub fn is_resumable(&self) -> bool {
        self.stages.resume().can_continue() && self.filter.as_ref().is_none_or(|filter| filter.is_resumable())
    }

    /// Whether this is a continuation without any content so far.
    pub fn is_empty_continuation(&self) -> bool {
        self.stages.resume().is_empty_continuation()
    }

    /// Handles a provider that stopped before the end event. Returns true if the answer is complete nevertheless, and the
    /// fault of guardrails that end it.
    pub fn conclude(&mut self) -> Result<bool, Fault> {
        let ended = self.ended;
        // The decoder may hold a finish reason back until the usage arrives.
        if !ended && self.is_resumable() && self.decoder.close(&mut self.events).is_ok() {
            self.stages.push(&mut self.events);
            self.render()?;
        }
        self.stages.finish(&mut self.events);
        // Text that guardrails hold back is lost with the rest of the answer.
        self.render()?;
        Ok(self.ended && !ended)
    }

    /// Continues with the events of another provider.
    pub fn join(&mut self, next: Self, overlap: Overlap, earlier: Tokens, number: u32) -> Result<(), Fault> {
        self.decoder = next.decoder;
        if let Some(filter) = &mut self.filter {
            filter.drop_held();
        }
        let so_far = self.collector.so_far();
        self.events = self.stages.join(next.stages, so_far, overlap, earlier, number);
        self.render()
    }

    /// New bytes of the record, if that differs from what is sent.
    pub fn take_record(&mut self) -> Option<Bytes> {
        self.filter.as_mut().and_then(|filter| filter.take_record())
    }

    pub fn has_own_record(&self) -> bool {
        self.filter.as_ref().is_some_and(|filter| filter.has_own_record())
    }

    /// The event of a fault as it is recorded, if that differs from what is sent.
    pub fn recorded_fault(&mut self, fault: &Fault) -> Option<Bytes> {
        self.filter.as_mut().and_then(|filter| filter.recorded_fault(fault))
    }

    /// The verdicts of guardrails on the answer so far.
    pub fn verdicts(&self) -> Vec<GuardrailVerdict> {
        self.filter.as_ref().map(|filter| filter.verdicts()).unwrap_or_default()
    }

    /// Renders the events that have passed all stages and the guardrails; an error if these end the answer.
    fn render(&mut self) -> Result<(), Fault> {
        let mut inspected = Ok(());
        if let Some(filter) = &mut self.filter {
            inspected = filter.inspect(&mut self.events);
        }
        self.events.iter().for_each(|event| self.collector.take(event));
        if let Some(filter) = &mut self.filter {
            filter.restore(&mut self.events);
        }
        for event in self.events.drain(..) {
            self.content |= event.is_content();
            let begun = self.written.len();
            self.renderer.write(&event, &mut self.written);
            if let Event::Finish { .. } | Event::End = event {
                self.final_bytes.extend_from_slice(&self.written[begun..]);
                self.ended |= matches!(event, Event::End);
            }
        }
        inspected
    }
}

#[cfg(test)]
mod tests;
