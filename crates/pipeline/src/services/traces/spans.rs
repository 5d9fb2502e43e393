//! The spans of a call as OTLP JSON: a server span for the call, a client span for each attempt.

use domain::fault::FaultCode;
use domain::receipt::{Attempt, Receipt, TraceContext};
use serde_json::{Value, json};
use wire::response_facts::ResponseFacts;
use wire::vendors::otel_provider_name;

use super::attributes::{boolean, count, double, integer, list, text};
use super::call::{AttemptTrace, CallTrace};

const SERVER: u8 = 2;
const CLIENT: u8 = 3;

struct Span<'a> {
    context: &'a TraceContext,
    id: &'a str,
    parent: &'a str,
    name: String,
    kind: u8,
    /// Start time, in microseconds since the epoch.
    start: i64,
    end: i64,
    attributes: Vec<Value>,
    error: Option<&'a str>,
}

pub fn spans(receipt: &Receipt, trace: &CallTrace) -> Vec<Value> {
    let Some(context) = &receipt.trace else { return Vec::new() };
    let clients = receipt.attempts.iter().zip(&trace.attempts).enumerate();
    let clients = clients.map(|(index, (attempt, traced))| {
        let end = attempt_end(receipt, trace, index);
        let served = attempt.error.is_none() && index + 1 == receipt.attempts.len();
        Span {
            context,
            id: &traced.span_id,
            parent: &context.span_id,
            name: name(trace.operation, &attempt.model),
            kind: CLIENT,
            start: receipt.at.micros() + micros(traced.started.as_micros() as u64),
            end,
            attributes: attempt_attributes(receipt, trace, (index, attempt, traced), served),
            error: attempt.error.as_ref().filter(|code| **code != FaultCode::Outrun).map(FaultCode::as_str),
        }
    });
    let server = Span {
        context,
        id: &context.span_id,
        parent: context.parent_id.as_deref().unwrap_or_default(),
        name: name(trace.operation, &receipt.requested_model),
        kind: SERVER,
        start: receipt.at.micros(),
        end: receipt.at.micros() + micros(receipt.duration_us),
        attributes: call_attributes(receipt, trace),
        error: receipt.error_code.as_deref().filter(|_| receipt.status >= 500),
    };
    std::iter::once(server).chain(clients).map(Span::into_json).collect()
}

impl Span<'_> {
    fn into_json(self) -> Value {
        let nanos = |micros: i64| (i128::from(micros) * 1000).to_string();
        json!({
            "traceId": self.context.trace_id,
            "spanId": self.id,
            "parentSpanId": self.parent,
            "traceState": self.context.state.as_deref().unwrap_or_default(),
            "name": self.name,
            "kind": self.kind,
            "startTimeUnixNano": nanos(self.start),
            "endTimeUnixNano": nanos(self.end.max(self.start)),
            "attributes": self.attributes,
            "status": self.error.map_or_else(|| json!({}), |error| json!({"code": 2, "message": error})),
        })
    }
}

fn micros(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The span name `{operation} {model}`, by the GenAI semantic conventions.
fn name(operation: &str, model: &str) -> String {
    if model.is_empty() { operation.to_owned() } else { format!("{operation} {model}") }
}

/// The end of an attempt's span. The attempt of a stream is recorded when content begins, so its span lasts until the
/// next attempt or the end of the call.
fn attempt_end(receipt: &Receipt, trace: &CallTrace, index: usize) -> i64 {
    let (attempt, started) = (&receipt.attempts[index], &trace.attempts[index].started);
    let begun = micros(started.as_micros() as u64);
    let answered = receipt.at.micros() + begun + micros(attempt.duration_us);
    if !receipt.stream || attempt.status != 200 {
        return answered;
    }
    let next = trace.attempts.get(index + 1).map(|next| micros(next.started.as_micros() as u64));
    answered.max(receipt.at.micros() + next.unwrap_or(micros(receipt.duration_us)))
}

/// The type of a cache hit, `miss`, or `off` if the cache was not searched.
fn cache_result(receipt: &Receipt) -> &str {
    match &*receipt.cache_type {
        "" if receipt.cache_miss => "miss",
        "" => "off",
        hit => hit,
    }
}

fn call_attributes(receipt: &Receipt, trace: &CallTrace) -> Vec<Value> {
    let response = trace.attempts.last().map(|attempt| &attempt.response);
    let mut all = vec![
        text("gen_ai.operation.name", trace.operation),
        text("http.request.method", &receipt.method),
        text("http.route", &receipt.endpoint),
        integer("http.response.status_code", receipt.status),
        text("gatehouse.request_id", &receipt.request_id),
        text("gatehouse.user_path", &receipt.user_path),
        count("gatehouse.attempts", receipt.attempts.len() as u64),
        count("gatehouse.overhead_us", receipt.overhead_us),
        boolean("gatehouse.stream", receipt.stream),
        text("gatehouse.cache", cache_result(receipt)),
    ];
    let known = [
        ("gen_ai.provider.name", otel_provider_name(&receipt.provider)),
        ("gen_ai.request.model", &receipt.requested_model),
        ("gatehouse.provider.instance", &receipt.provider_name),
        ("gatehouse.key_id", receipt.auth_key_id.as_deref().unwrap_or_default()),
        ("gatehouse.auth_method", &receipt.auth_method),
        ("gen_ai.conversation.id", receipt.session_id.as_deref().unwrap_or_default()),
        ("client.address", &receipt.client_ip),
        ("user_agent.original", &receipt.user_agent),
        ("error.type", receipt.error_code.as_deref().unwrap_or_default()),
    ];
    all.extend(known.into_iter().filter(|(_, value)| !value.is_empty()).map(|(key, value)| text(key, value)));
    all.extend(receipt.total_cost().map(|cost| double("gatehouse.cost_usd", cost.usd())));
    all.extend(trace.parameters.iter().cloned());
    all.extend(answer_attributes(receipt, response));
    all
}

/// The attributes of an attempt. Usage is set only on the attempt that served, and on the call's span.
fn attempt_attributes(
    receipt: &Receipt,
    trace: &CallTrace,
    (index, attempt, traced): (usize, &Attempt, &AttemptTrace),
    served: bool,
) -> Vec<Value> {
    let mut all = vec![
        text("gen_ai.operation.name", trace.operation),
        text("gen_ai.provider.name", otel_provider_name(&traced.provider_type)),
        text("gatehouse.provider.instance", &attempt.provider_name),
        count("gatehouse.attempt", index as u64 + 1),
    ];
    if !attempt.model.is_empty() {
        all.push(text("gen_ai.request.model", &attempt.model));
    }
    let received_status = !matches!(
        attempt.error,
        Some(FaultCode::UpstreamUnreachable | FaultCode::UpstreamTimeout | FaultCode::Outrun)
    );
    if attempt.status != 0 && received_status {
        all.push(integer("http.response.status_code", attempt.status));
    }
    all.extend(attempt.error.as_ref().map(|code| text("error.type", code.as_str())));
    all.extend(traced.server.as_deref().into_iter().flat_map(server_attributes));
    all.extend(trace.parameters.iter().cloned());
    if served {
        all.extend(answer_attributes(receipt, Some(&traced.response)));
    }
    all
}

fn server_attributes(origin: &str) -> Vec<Value> {
    let (scheme, rest) = origin.split_once("://").unwrap_or(("https", origin));
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse::<u16>().ok()),
        _ => (rest, None),
    };
    let port = port.unwrap_or(if scheme == "http" { 80 } else { 443 });
    vec![text("server.address", host.trim_matches(['[', ']'])), integer("server.port", port)]
}

fn answer_attributes(receipt: &Receipt, response: Option<&ResponseFacts>) -> Vec<Value> {
    if receipt.provider_name.is_empty() {
        return Vec::new();
    }
    let tokens = &receipt.usage.tokens;
    let mut all = vec![
        count("gen_ai.usage.input_tokens", tokens.total_input()),
        count("gen_ai.usage.output_tokens", tokens.total_output()),
        count("gen_ai.usage.cache_read.input_tokens", tokens.cache_read),
        count("gen_ai.usage.cache_creation.input_tokens", tokens.cache_write_5m + tokens.cache_write_1h),
    ];
    if !receipt.provider_id.is_empty() {
        all.push(text("gen_ai.response.id", &receipt.provider_id));
    }
    let model = response.and_then(|response| response.model.as_deref());
    if let Some(model) = model.or((receipt.status < 400).then_some(&*receipt.model)) {
        all.push(text("gen_ai.response.model", model));
    }
    if let Some(response) = response.filter(|response| !response.finish_reasons.is_empty()) {
        all.push(list("gen_ai.response.finish_reasons", &response.finish_reasons));
    }
    let first_byte = receipt.first_byte_us.map(|micros| micros as f64 / 1e6);
    all.extend(first_byte.map(|seconds| double("gen_ai.response.time_to_first_chunk", seconds)));
    all
}

#[cfg(test)]
mod tests;
