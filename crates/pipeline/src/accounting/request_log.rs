//! The request log, enabled by `LOG_REQUESTS`: one line per call.

use domain::receipt::Receipt;

/// Logs a call. Bodies and credentials are never included.
pub fn write(receipt: &Receipt) {
    let tokens = &receipt.usage.tokens;
    let cost = receipt.cost.map(|cost| cost.total().usd());
    tracing::info!(
        request_id = receipt.request_id,
        key = receipt.auth_key_id.as_deref().unwrap_or(&receipt.auth_method),
        client_ip = receipt.client_ip,
        method = receipt.method,
        path = receipt.endpoint,
        user_path = receipt.user_path,
        requested_model = receipt.requested_model,
        model = receipt.model,
        provider = receipt.provider_name,
        status = receipt.status,
        error_code = receipt.error_code.as_deref(),
        stream = receipt.stream,
        attempts = receipt.attempts.len(),
        total_tokens = tokens.total(),
        output_tokens = tokens.output,
        cost_usd = cost,
        duration_ms = millis(receipt.duration_us),
        first_byte_ms = receipt.first_byte_us.map(millis),
        overhead_us = receipt.overhead_us,
        "request"
    );
}

fn millis(micros: u64) -> f64 {
    micros as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    /// Fields of a receipt that its line does not contain, by reason.
    const LEFT_OUT: &[(&str, &[&str])] = &[
        ("the line has its own time", &["at"]),
        (
            "the request id identifies the call",
            &["id", "provider_id", "response_id", "previous_response_id", "trace"],
        ),
        ("another field of the line implies it", &["provider", "error_type"]),
        ("shown in place of a missing key only", &["auth_method"]),
        ("contains text of the client, or text that may quote it", &["user_agent", "error_message", "audit"]),
        ("a detail of the usage log", &["tenant_id", "session_id", "run_id", "raw_usage"]),
        (
            "a detail of the usage log about caches",
            &["cache_type", "saved_cost", "cache_miss", "prompt_cache_savings"],
        ),
        ("a detail of the ledger", &["cost_source", "pricing_version", "unbooked", "resumed", "alias_used"]),
        ("a detail of the audit log", &["workflow_version_id", "subject"]),
        ("the process that ended before the call cannot log it", &["interrupted"]),
    ];

    #[test]
    fn a_field_is_logged_or_left_out_for_a_reason() {
        testkit::assert_shown_except(LEFT_OUT, |receipt| {
            let line = Line::default();
            tracing::subscriber::with_default(line.clone(), || write(receipt));
            let text = line.0.lock();
            text.clone()
        });
    }

    /// Collects the fields of all events as text.
    #[derive(Clone, Default)]
    struct Line(Arc<Mutex<String>>);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            self.0.lock().push_str(&format!("{}={value:?} ", field.name()));
        }
    }

    impl Subscriber for Line {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn event(&self, event: &Event<'_>) {
            event.record(&mut self.clone());
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }
}
