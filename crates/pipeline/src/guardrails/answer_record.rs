//! The record of a call for the audit log, where it differs from what was sent: guardrails redact it, and reversible
//! placeholders are not restored in it.

use ::guardrails::placeholder::ScopeKey;
use bytes::{Bytes, BytesMut};
use domain::call::Surface;
use domain::canon::Event;
use domain::fault::Fault;
use wire::codec::Renderer;

use super::answer_inspector::AnswerInspector;
use super::plan::Step;
use super::request::{RequestToInspect, inspect_request};

/// The events of a stream as they are recorded, rendered in the client's format.
pub struct AnswerRecord {
    inspector: AnswerInspector,
    renderer: Box<dyn Renderer>,
    written: BytesMut,
}

impl AnswerRecord {
    pub fn new(inspector: AnswerInspector, renderer: Box<dyn Renderer>) -> Self {
        Self { inspector, renderer, written: BytesMut::new() }
    }

    /// Records events. After a guardrail has failed, nothing more is recorded.
    pub fn push(&mut self, events: &[Event]) {
        let mut events = events.to_vec();
        let _ = self.inspector.push(&mut events);
        for event in &events {
            self.renderer.write(event, &mut self.written);
        }
    }

    /// The event of a fault.
    pub fn fail(&mut self, fault: &Fault) -> Bytes {
        self.renderer.fail(fault, &mut self.written);
        self.written.split().freeze()
    }

    /// The bytes since the last call of this function.
    pub fn take(&mut self) -> Option<Bytes> {
        (!self.written.is_empty()).then(|| self.written.split().freeze())
    }
}

/// The body of a request as it is recorded; `None` if a guardrail failed.
pub fn redact_recorded_request(
    steps: &[Step],
    surface: Surface,
    body: &Bytes,
    key: &ScopeKey,
) -> Option<Bytes> {
    let request = RequestToInspect {
        surface,
        body: body.clone(),
        object: None,
        history: Vec::new(),
        edits_signed: true,
        classifier: None,
    };
    inspect_request(steps, request, key).recorded_body(body).cloned()
}
