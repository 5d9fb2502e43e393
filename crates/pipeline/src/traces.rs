//! Traces: each receipt becomes one span with GenAI attributes, sent as OTLP over HTTP in batches.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::receipt::{Receipt, TraceContext};
use egress::{Destination, Egress, Outbound};
use http::{HeaderMap, HeaderValue, Method};
use prometheus_client::metrics::counter::Counter;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::arrival::Arrival;
use crate::gateway::Gateway;

const QUEUE: usize = 4096;
const BATCH: usize = 256;
const PAUSE: Duration = Duration::from_secs(2);

/// Spans are telemetry, not accounts: when the collector is slow they are dropped and counted.
pub struct Traces {
    queue: mpsc::Sender<Value>,
    pub dropped: Counter,
}

impl Traces {
    pub fn export(&self, receipt: &Receipt) {
        if let Some(span) = span(receipt)
            && self.queue.try_send(span).is_err()
        {
            self.dropped.inc();
        }
    }
}

/// The exporter and the task that feeds the collector; the task ends when the exporter is dropped.
pub fn exporter(
    egress: Egress,
    collector: Arc<Destination>,
    service: String,
) -> (Traces, impl Future<Output = ()>) {
    let (queue, mut spans) = mpsc::channel(QUEUE);
    let send = async move {
        let mut batch = Vec::with_capacity(BATCH);
        while spans.recv_many(&mut batch, BATCH).await > 0 {
            let body = envelope(&service, std::mem::take(&mut batch));
            if let Err(reason) = post(&egress, &collector, body).await {
                tracing::warn!(reason, "traces could not be exported");
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    (Traces { queue, dropped: Counter::default() }, send)
}

async fn post(egress: &Egress, collector: &Arc<Destination>, body: Value) -> Result<(), String> {
    let headers =
        HeaderMap::from_iter([(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    let request = Outbound {
        destination: collector.clone(),
        method: Method::POST,
        path_and_query: "/v1/traces".into(),
        headers: headers.into(),
        body: vec![Bytes::from(body.to_string())].into(),
    };
    let sent = tokio::time::timeout(Duration::from_secs(10), egress.send(request)).await;
    match sent {
        Err(_) => Err("the collector did not answer in time".into()),
        Ok(Err(error)) => Err(error.reason().to_owned()),
        Ok(Ok(answer)) if answer.status.is_success() => {
            let _ = answer.body.collect(64 * 1024).await;
            Ok(())
        }
        Ok(Ok(answer)) => Err(format!("the collector answered {}", answer.status)),
    }
}

/// The caller's trace is continued; without one, a new trace begins when traces are exported.
pub fn context(gateway: &Gateway, arrival: &Arrival) -> Option<TraceContext> {
    let parent = arrival.header("traceparent").and_then(parse);
    if parent.is_none() && gateway.traces.is_none() {
        return None;
    }
    let mut random = [0u8; 24];
    gateway.entropy.fill(&mut random);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let span_id = hex(&random[..8]);
    Some(match parent {
        Some((trace_id, parent_id)) => TraceContext { trace_id, span_id, parent_id: Some(parent_id) },
        None => TraceContext { trace_id: hex(&random[8..]), span_id, parent_id: None },
    })
}

/// `00-<trace>-<parent>-<flags>`; anything else is ignored, as the standard asks.
fn parse(header: &str) -> Option<(String, String)> {
    let parts: Vec<&str> = header.trim().split('-').collect();
    let hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit()) && text.bytes().any(|b| b != b'0')
    };
    match parts.as_slice() {
        ["00", trace, parent, _flags] if hex(trace, 32) && hex(parent, 16) => {
            Some((trace.to_ascii_lowercase(), parent.to_ascii_lowercase()))
        }
        _ => None,
    }
}

pub fn traceparent(context: &TraceContext) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("00-{}-{}-01", context.trace_id, context.span_id)).ok()
}

fn span(receipt: &Receipt) -> Option<Value> {
    let trace = receipt.trace.as_ref()?;
    let start = receipt.at.micros() as i128 * 1000;
    let end = start + i128::from(receipt.duration_us) * 1000;
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let number = |key: &str, value: u64| json!({"key": key, "value": {"intValue": value.to_string()}});
    let tokens = &receipt.usage.tokens;
    let mut attributes = vec![
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.provider.name", &receipt.provider),
        text("gen_ai.request.model", &receipt.requested_model),
        text("gen_ai.response.model", &receipt.model),
        text("gen_ai.response.id", &receipt.provider_id),
        number("gen_ai.usage.input_tokens", tokens.total_input()),
        number("gen_ai.usage.output_tokens", tokens.total_output()),
        number("http.response.status_code", receipt.status.into()),
        text("http.route", &receipt.endpoint),
        text("gatehouse.request_id", &receipt.request_id),
        text("gatehouse.provider.instance", &receipt.provider_name),
        number("gatehouse.attempts", receipt.attempts.len() as u64),
        number("gatehouse.overhead_us", receipt.overhead_us),
    ];
    if let Some(first_byte) = receipt.first_byte_us {
        let seconds = first_byte as f64 / 1e6;
        attributes
            .push(json!({"key": "gen_ai.response.time_to_first_chunk", "value": {"doubleValue": seconds}}));
    }
    if let Some(code) = &receipt.error_code {
        attributes.push(text("error.type", code));
    }
    Some(json!({
        "traceId": trace.trace_id,
        "spanId": trace.span_id,
        "parentSpanId": trace.parent_id.as_deref().unwrap_or_default(),
        "name": format!("chat {}", receipt.requested_model),
        "kind": 2,
        "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": end.to_string(),
        "attributes": attributes,
        "status": if receipt.status >= 500 { json!({"code": 2}) } else { json!({}) },
    }))
}

fn envelope(service: &str, spans: Vec<Value>) -> Value {
    json!({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
        "scopeSpans": [{"scope": {"name": "gatehouse", "version": env!("CARGO_PKG_VERSION")}, "spans": spans}],
    }]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_traceparent_is_continued() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert!(parse(&format!("00-{trace}-00f067aa0ba902b7-01")).is_some());
        assert!(parse(&format!("00-{trace}-0000000000000000-01")).is_none());
        assert!(parse("00-short-00f067aa0ba902b7-01").is_none());
        assert!(parse("garbage").is_none());
    }

    #[test]
    fn a_receipt_becomes_a_span() {
        let trace = TraceContext { trace_id: "a".repeat(32), span_id: "b".repeat(16), parent_id: None };
        let receipt = Receipt { trace: Some(trace), status: 502, duration_us: 5, ..Receipt::default() };
        let span = span(&receipt).unwrap();
        assert_eq!(span["status"]["code"], 2);
        assert_eq!(span["endTimeUnixNano"], "5000");
    }
}
