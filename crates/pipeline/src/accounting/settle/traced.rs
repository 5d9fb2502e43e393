//! Collects the data for the spans of a call; does nothing if no trace is recorded.

use domain::receipt::Attempt;
use std::time::Duration;
use wire::response_facts::ResponseFacts;

use super::Ticket;
use crate::routing::routes::Lane;
use crate::services::traces::{self, TraceHeaders};

impl Ticket {
    pub fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// A new id for the client span of an attempt.
    pub fn new_span_id(&self) -> Option<String> {
        self.is_traced().then(|| traces::new_span_id(&*self.gateway.entropy))
    }

    /// The `traceparent` and `tracestate` headers for the attempt with that span.
    pub fn trace_headers(&self, span_id: Option<&str>) -> TraceHeaders {
        let context = self.receipt().and_then(|receipt| receipt.trace.as_ref());
        context.map(|context| traces::headers(context, span_id)).unwrap_or_default()
    }

    /// Records the model and finish reasons of the last attempt's answer.
    pub fn trace_response(&mut self, response: ResponseFacts) {
        if let Some(trace) = &mut self.trace {
            trace.answered(response);
        }
    }

    pub(super) fn trace_attempt(&mut self, lane: &Lane, attempt: &Attempt, span_id: Option<String>) {
        let started = self.elapsed().saturating_sub(Duration::from_micros(attempt.duration_us));
        if let Some(trace) = &mut self.trace {
            let span_id = span_id.unwrap_or_else(|| traces::new_span_id(&*self.gateway.entropy));
            let server = lane.instance.destination.as_ref().ok().map(|destination| destination.origin());
            trace.attempted(&lane.target.provider_type, server, span_id, started);
        }
    }
}
