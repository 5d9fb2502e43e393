//! The processing of an answer before it is sent: its inspection, its record for the audit log, and the restoration of
//! placeholders, in this order.

use std::sync::Arc;

use ::guardrails::placeholder::{PlaceholderMap, ScopeKey};
use bytes::Bytes;
use domain::canon::{Event, Reply};
use domain::fault::Fault;
use domain::receipt::{GuardrailVerdict, Verdict};
use wire::codec::Renderer;

use super::answer_inspector::AnswerInspector;
use super::answer_record::AnswerRecord;
use super::placeholder_restorer::PlaceholderRestorer;
use super::plan::CallGuardrails;
use super::remote::{RemoteText, RemoteVerdicts};

/// Inspects one answer, records it and restores placeholders in it.
pub struct AnswerFilter {
    inspector: AnswerInspector,
    /// Redacts the record, if that differs from what is sent.
    record_inspector: Option<AnswerInspector>,
    /// The record of a stream, if that differs from what is sent.
    record: Option<AnswerRecord>,
    restorer: Option<PlaceholderRestorer>,
}

/// The facts about a call that its filter depends on.
pub struct FilterInputs<'a> {
    pub guardrails: Option<&'a CallGuardrails>,
    pub placeholders: Option<&'a Arc<PlaceholderMap>>,
    pub key: &'a ScopeKey,
    /// Whether the audit log has the answer.
    pub is_recorded: bool,
    /// Whether texts of the answer are JSON, because the client asked for that.
    pub is_json: bool,
}

/// A whole answer after its inspection.
pub struct InspectedReply {
    pub reply: Box<Reply>,
    pub recorded: RecordedReply,
    pub verdicts: Vec<GuardrailVerdict>,
    pub outcome: Result<(), Fault>,
}

/// The answer in the audit log.
pub enum RecordedReply {
    AsSent,
    Changed(Box<Reply>),
    /// It could not be redacted.
    Omitted,
}

impl AnswerFilter {
    pub fn new(inputs: &FilterInputs<'_>) -> Self {
        let FilterInputs { guardrails, placeholders, key, is_recorded, is_json } = *inputs;
        let (answer, record) = match guardrails {
            Some(guardrails) => (&guardrails.answer[..], &guardrails.record[..]),
            None => Default::default(),
        };
        // Restored values are not recorded.
        let differs = is_recorded && (!record.is_empty() || placeholders.is_some());
        Self {
            inspector: AnswerInspector::new(answer, key, is_json),
            record_inspector: differs.then(|| AnswerInspector::new(record, key, is_json)),
            record: None,
            restorer: placeholders.map(|map| PlaceholderRestorer::new(map.clone(), is_json)),
        }
    }

    /// Starts the record of a stream, if it differs from what is sent.
    pub fn start_record(&mut self, renderer: impl FnOnce() -> Box<dyn Renderer>) {
        self.record = self.record_inspector.take().map(|own| AnswerRecord::new(own, renderer()));
    }

    /// Inspects the events of a stream. They are replaced by those that may be sent, in which placeholders are not
    /// restored yet.
    pub fn inspect(&mut self, events: &mut Vec<Event>) -> Result<(), Fault> {
        let inspected = self.inspector.push(events);
        if let Some(record) = &mut self.record {
            record.push(events);
        }
        inspected
    }

    /// Restores placeholders in inspected events.
    pub fn restore(&mut self, events: &mut Vec<Event>) {
        if let Some(restorer) = &mut self.restorer {
            restorer.push(events);
        }
    }

    /// Whether another provider can continue the answer. JSON cannot be inspected from its middle on.
    pub fn is_resumable(&self) -> bool {
        !self.inspector.is_json()
    }

    /// Drops text that is held back: the stream broke off, and its continuation starts with this text again.
    pub fn drop_held(&mut self) {
        self.inspector.drop_held();
    }

    /// Whether the record of the stream differs from what is sent.
    pub fn has_own_record(&self) -> bool {
        self.record.is_some()
    }

    /// The bytes of the record since the last call of this function.
    pub fn take_record(&mut self) -> Option<Bytes> {
        self.record.as_mut().and_then(AnswerRecord::take)
    }

    /// The event of a fault as it is recorded: formats repeat the answer in it.
    pub fn recorded_fault(&mut self, fault: &Fault) -> Option<Bytes> {
        self.record.as_mut().map(|record| record.fail(fault))
    }

    pub fn verdicts(&self) -> Vec<GuardrailVerdict> {
        self.inspector.verdicts()
    }

    /// Inspects a whole answer.
    pub fn inspect_reply(mut self, mut reply: Box<Reply>) -> InspectedReply {
        let outcome = self.inspector.inspect_reply(&mut reply);
        self.finish_reply(reply, outcome)
    }

    /// The texts of a whole answer, for remote guardrails.
    pub fn texts(&self, reply: &mut Reply) -> Vec<RemoteText> {
        self.inspector.texts(reply)
    }

    /// Inspects a whole answer by one step. The changes of its remote guardrails come before those of the others.
    pub fn inspect_step(
        &mut self,
        step: usize,
        verdicts: RemoteVerdicts,
        reply: &mut Reply,
    ) -> Result<(), Fault> {
        self.inspector.apply_remote_verdicts(step, verdicts, reply)?;
        self.inspector.inspect_steps(step..step + 1, reply)
    }

    /// Records a whole answer whose inspection has this outcome, and restores placeholders in it.
    pub fn finish_reply(mut self, mut reply: Box<Reply>, outcome: Result<(), Fault>) -> InspectedReply {
        let verdicts = self.verdicts();
        let has_failed = verdicts.iter().any(|verdict| verdict.verdict == Verdict::Error);
        let recorded = match self.record_inspector.take() {
            // It may contain values that would have been replaced.
            _ if has_failed => RecordedReply::Omitted,
            None => RecordedReply::AsSent,
            Some(mut own) => {
                let mut recorded = reply.clone();
                match own.inspect_reply(&mut recorded) {
                    Ok(()) => RecordedReply::Changed(recorded),
                    Err(_) => RecordedReply::Omitted,
                }
            }
        };
        if let Some(restorer) = &self.restorer {
            restorer.restore_reply(&mut reply);
        }
        InspectedReply { reply, recorded, verdicts, outcome }
    }
}
