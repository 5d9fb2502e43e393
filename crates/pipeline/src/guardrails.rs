//! Guardrails: inspection of the texts of requests and answers, by the steps of the call's workflow.
//!
//! The guardrails of a step inspect the same text; their changes are combined in the order of their names, and the next
//! step inspects the result. Requests are inspected as a whole and edited in place. Answers are inspected event by event
//! on the canonical path, whole ones in the same way, so that both give the same result.

mod answer_block;
mod answer_filter;
mod answer_inspector;
mod answer_record;
mod combine;
mod compiled;
mod injection_score;
mod json_stream;
mod placeholder_restorer;
mod plan;
mod remote;
mod request;
mod sample;
mod state;
#[cfg(test)]
mod tests;
mod text_stream;

pub use answer_filter::{AnswerFilter, FilterInputs, InspectedReply, RecordedReply};
pub use answer_record::redact_recorded_request;
pub use compiled::{CompileError, CompiledGuardrail, WebhookCheck, includes_role};
pub use injection_score::Classifier;
pub use plan::{CallGuardrails, GuardrailPlan, Step, scope_key};
pub use remote::{RemoteText, RemoteVerdict, RemoteVerdicts};
pub use request::{RequestChanges, RequestInspection, RequestInspector, RequestToInspect, inspect_request};
pub use sample::{Sample, SampleFinding, TestResult};
