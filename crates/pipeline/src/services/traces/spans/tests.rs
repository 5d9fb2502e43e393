//! Tests of the spans of successful, failed-over and refused calls.

use std::time::Duration;

use super::*;

fn traced(span_id: &str, started_ms: u64, response: ResponseFacts) -> AttemptTrace {
    AttemptTrace {
        span_id: span_id.repeat(16),
        started: Duration::from_millis(started_ms),
        provider_type: "xai".into(),
        server: Some("https://api.x.ai".into()),
        response,
    }
}

fn attempt(status: u16, error: Option<&str>, duration_us: u64) -> Attempt {
    let error = error.map(FaultCode::read);
    Attempt { provider_name: "mine".into(), model: "grok-9".into(), status, error, duration_us }
}

fn receipt(attempts: Vec<Attempt>) -> Receipt {
    let trace = TraceContext { trace_id: "a".repeat(32), span_id: "b".repeat(16), ..Default::default() };
    Receipt {
        trace: Some(trace),
        status: 200,
        duration_us: 50_000,
        requested_model: "fast".into(),
        model: "grok-9".into(),
        provider: "xai".into(),
        provider_name: "mine".into(),
        user_path: "/team".into(),
        auth_key_id: Some("key-1".into()),
        attempts,
        ..Receipt::default()
    }
}

fn value<'a>(span: &'a Value, key: &str) -> Option<&'a Value> {
    let found = span["attributes"].as_array().unwrap().iter().find(|entry| entry["key"] == key)?;
    found["value"].as_object().unwrap().values().next()
}

#[test]
fn a_failover_has_a_client_span_per_attempt() {
    let answered = ResponseFacts { model: Some("grok-9-0425".into()), finish_reasons: vec!["stop".into()] };
    let trace = CallTrace {
        operation: "chat",
        parameters: vec![double("gen_ai.request.temperature", 0.5)],
        attempts: vec![traced("1", 1, ResponseFacts::default()), traced("2", 20, answered)],
    };
    let failed = attempt(529, Some("overloaded"), 9_000);
    let receipt = receipt(vec![failed, attempt(200, None, 25_000)]);
    let spans = spans(&receipt, &trace);
    let [server, first, second] = spans.as_slice() else { panic!("{spans:#?}") };
    assert_eq!((&server["kind"], &server["name"]), (&json!(2), &json!("chat fast")));
    for client in [first, second] {
        assert_eq!((&client["kind"], &client["name"]), (&json!(3), &json!("chat grok-9")));
        assert_eq!(client["parentSpanId"], server["spanId"]);
        assert_eq!(value(client, "gen_ai.provider.name"), Some(&json!("x_ai")));
        assert_eq!(value(client, "server.address"), Some(&json!("api.x.ai")));
        assert_eq!(value(client, "server.port"), Some(&json!("443")));
        assert_eq!(value(client, "gen_ai.request.temperature"), Some(&json!(0.5)));
    }
    assert_eq!((first["status"]["code"].clone(), second["status"].clone()), (json!(2), json!({})));
    assert_eq!(value(first, "http.response.status_code"), Some(&json!("529")));
    assert_eq!(value(first, "error.type"), Some(&json!("overloaded")));
    assert_eq!(value(first, "gen_ai.usage.input_tokens"), None, "it consumed nothing");
    assert_eq!(
        (&first["startTimeUnixNano"], &first["endTimeUnixNano"]),
        (&json!("1000000"), &json!("10000000"))
    );
    for span in [server, second] {
        assert_eq!(value(span, "gen_ai.response.model"), Some(&json!("grok-9-0425")));
        let reasons = value(span, "gen_ai.response.finish_reasons").unwrap();
        assert_eq!(reasons["values"][0]["stringValue"], "stop");
        assert!(value(span, "gen_ai.usage.input_tokens").is_some());
    }
    assert_eq!(value(server, "gatehouse.user_path"), Some(&json!("/team")));
    assert_eq!(value(server, "gatehouse.key_id"), Some(&json!("key-1")));
    assert_eq!(value(server, "gatehouse.cache"), Some(&json!("off")));
}

#[test]
fn a_span_says_whether_the_cache_had_the_answer() {
    let trace = CallTrace { operation: "chat", parameters: Vec::new(), attempts: Vec::new() };
    let cases = [("", false, "off"), ("", true, "miss"), ("exact", false, "exact")];
    for (cache_type, cache_miss, expected) in cases {
        let receipt = Receipt { cache_type: cache_type.into(), cache_miss, ..receipt(Vec::new()) };
        assert_eq!(value(&spans(&receipt, &trace)[0], "gatehouse.cache"), Some(&json!(expected)));
    }
}

#[test]
fn a_streams_client_span_lasts_to_its_end() {
    let trace = CallTrace {
        operation: "chat",
        parameters: Vec::new(),
        attempts: vec![traced("1", 1, ResponseFacts::default())],
    };
    let receipt = Receipt { stream: true, ..receipt(vec![attempt(200, None, 4_000)]) };
    let spans = spans(&receipt, &trace);
    assert_eq!(spans[1]["endTimeUnixNano"], "50000000");
}

#[test]
fn a_refused_call_has_only_a_server_span() {
    let trace = CallTrace { operation: "embeddings", parameters: Vec::new(), attempts: Vec::new() };
    let receipt = Receipt {
        status: 404,
        error_code: Some("model_not_found".into()),
        provider_name: String::new(),
        provider: String::new(),
        requested_model: String::new(),
        ..receipt(Vec::new())
    };
    let spans = spans(&receipt, &trace);
    assert_eq!((spans.len(), &spans[0]["name"]), (1, &json!("embeddings")));
    assert_eq!(spans[0]["status"], json!({}), "the client's mistake is no error of this server");
    assert_eq!(value(&spans[0], "error.type"), Some(&json!("model_not_found")));
    assert_eq!(value(&spans[0], "gen_ai.usage.input_tokens"), None);
}

/// Fields of a receipt that the spans of a call do not contain, by reason.
const LEFT_OUT: &[(&str, &[&str])] = &[
    (
        "the request id and the trace context identify the call",
        &["id", "response_id", "previous_response_id"],
    ),
    ("`error.type` is the code; messages may quote the request", &["error_type", "error_message"]),
    (
        "a detail of the ledger",
        &["tenant_id", "run_id", "cost_source", "pricing_version", "raw_usage", "saved_cost", "unbooked"],
    ),
    ("a figure of the usage reports", &["prompt_cache_savings"]),
    ("a detail of the audit log", &["alias_used", "resumed", "workflow_version_id", "audit"]),
    ("personal data; the id of the caller is shown", &["subject"]),
    ("the process that ended before the call exports no span of it", &["interrupted"]),
    ("shown in place of a missing cache type only", &["cache_miss"]),
];

#[test]
fn a_field_is_in_the_spans_or_left_out_for_a_reason() {
    let attempts = vec![traced("1", 1, ResponseFacts::default()), traced("2", 20, ResponseFacts::default())];
    let trace = CallTrace { operation: "chat", parameters: Vec::new(), attempts };
    testkit::assert_shown_except(LEFT_OUT, |receipt| Value::from(spans(receipt, &trace)).to_string());
}
