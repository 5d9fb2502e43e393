//! Complete answers: decoded from providers, rendered for clients.

use std::sync::Arc;

use domain::call::Format;
use domain::canon::{
    Content, CustomTool, Event, FunctionTool, Opaque, Origin, Part, Reply, StopReason, Thinking, Tool,
    ToolCall,
};
use domain::fault;
use domain::usage::{Tokens, Usage};
use serde_json::{Value, json};
use wire::formats;

use crate::{decoding, render_stream, rendering};

fn decode(body: &Value) -> Result<Reply, fault::Fault> {
    formats::upstream(Format::Chat).decode(body.to_string().as_bytes(), &mut decoding(Some("json_output")))
}

fn message(message: Value, finish: &str) -> Value {
    json!({"id": "x", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
}

#[test]
fn answers_are_read_in_all_their_shapes() {
    for (name, body) in [
        ("plain", message(json!({"role": "assistant", "content": "Hi", "refusal": null}), "stop")),
        ("empty", message(json!({"role": "assistant", "content": ""}), "length")),
        (
            "calls",
            message(
                json!({"content": null, "reasoning_content": "hm", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}, {"id": "1", "function": {"name": "g", "arguments": {"a": 1}}}, {"id": "3", "type": "custom", "custom": {"name": "h", "input": "x"}}]}),
                "stop",
            ),
        ),
        (
            "legacy",
            message(
                json!({"content": null, "function_call": {"name": "f", "arguments": "{}"}}),
                "function_call",
            ),
        ),
        (
            "pieces",
            message(
                json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hi"}]}),
                "stop",
            ),
        ),
        ("refusal", message(json!({"content": null, "refusal": "No."}), "stop")),
        (
            "details",
            message(
                json!({"content": "Hi", "reasoning": "ab", "reasoning_details": [{"type": "reasoning.text", "text": "a", "signature": "s"}, {"type": "reasoning.summary", "summary": "b"}, {"type": "reasoning.encrypted", "data": "e", "id": "rs_1", "format": "openai-responses-v1"}]}),
                "stop",
            ),
        ),
        (
            "schema",
            message(
                json!({"content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "json_output", "arguments": "{\"a\":1}"}}]}),
                "tool_calls",
            ),
        ),
    ] {
        insta::assert_debug_snapshot!(format!("reply_{name}"), decode(&body).unwrap());
    }
}

#[test]
fn invalid_answers_are_the_providers_fault() {
    for (body, code) in [
        (json!({"choices": []}), "upstream_invalid_response"),
        (json!({"nothing": 1}), "upstream_invalid_response"),
        (json!([]), "upstream_invalid_response"),
        (json!({"error": {"message": "no", "code": "model_not_found"}}), "model_not_found"),
        (json!({"object": "error", "message": "no", "code": 500}), "500"),
    ] {
        assert_eq!(decode(&body).unwrap_err().code.as_str(), code, "{body}");
    }
}

fn state(format: Format) -> Opaque {
    Opaque { origin: Origin { format, model: "claude".into() }, data: "sig".into(), whole: false, text: None }
}

fn call(name: &str, arguments: &str, custom: bool, opaque: Option<Opaque>) -> Part {
    let (id, name, arguments) = (format!("call_{name}"), name.to_owned(), arguments.to_owned());
    Content::ToolCall(ToolCall { id, name, arguments, custom, opaque }).into()
}

fn full() -> Reply {
    Reply {
        id: Some("msg_1".into()),
        model: Some("claude-x".into()),
        parts: vec![
            Content::Thinking(Thinking { text: "hm \"so\"".into(), opaque: Some(state(Format::Messages)) })
                .into(),
            Part::text("Hello\n"),
            call("look", "{\"a\":1}", false, Some(state(Format::Gemini))),
            call("patch", "{\"input\":\"*** Begin\"}", false, None),
        ],
        stop: StopReason::ToolCalls,
        usage: Some(Usage {
            tokens: Tokens {
                input: 10,
                cache_read: 5,
                cache_write_1h: 2,
                output: 7,
                reasoning: 3,
                ..Tokens::default()
            },
            ..Usage::default()
        }),
        raw_usage: "{}".into(),
    }
}

fn tools() -> Arc<[Tool]> {
    Arc::from([
        Tool::Function(FunctionTool { name: "look".into(), ..FunctionTool::default() }),
        Tool::Custom(CustomTool { name: "patch".into(), ..CustomTool::default() }),
    ])
}

#[test]
fn answers_are_written_as_clients_know_them() {
    let mut rendering = rendering(false);
    rendering.tools = tools();
    let body = formats::client(Format::Chat).render(&full(), &mut rendering);
    insta::assert_json_snapshot!("rendered", serde_json::from_slice::<Value>(&body).unwrap());
}

#[test]
fn streams_are_written_as_clients_know_them() {
    for include_usage in [false, true] {
        let mut rendering = rendering(include_usage);
        rendering.tools = tools();
        let bytes = render_stream(&full().into_events(), rendering);
        let text = std::str::from_utf8(&bytes).unwrap();
        for data in text.split_terminator("\n\n").filter_map(|event| event.strip_prefix("data: ")) {
            assert!(data == "[DONE]" || serde_json::from_str::<Value>(data).is_ok(), "{data}");
        }
        insta::assert_snapshot!(format!("rendered_stream_usage_{include_usage}"), text);
    }
}

#[test]
fn every_stop_reason_is_mapped() {
    let refusal = || Part::from(Content::Refusal("No.".into()));
    for (stop, parts, word) in [
        (StopReason::EndTurn, vec![Part::text("a")], "stop"),
        (StopReason::StopSequence(Some("x".into())), vec![], "stop"),
        (StopReason::MaxTokens, vec![], "length"),
        (StopReason::ToolCalls, vec![call("f", "{}", false, None)], "tool_calls"),
        (StopReason::ContentFilter, vec![], "content_filter"),
        (StopReason::Refusal, vec![], "content_filter"),
        (StopReason::Refusal, vec![refusal()], "stop"),
        (StopReason::PauseTurn, vec![], "stop"),
    ] {
        let reply = Reply { stop, parts, ..Reply::default() };
        let body = formats::client(Format::Chat).render(&reply, &mut rendering(false));
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["choices"][0]["finish_reason"], word, "{:?}", reply.stop);
        assert_eq!(
            body["choices"][0]["message"]["content"].is_null(),
            reply.parts.len() == 1 && word != "stop" || reply.parts == [refusal()]
        );
        let stream = render_stream(&reply.into_events(), rendering(false));
        assert!(std::str::from_utf8(&stream).unwrap().contains(&format!("\"finish_reason\":\"{word}\"")));
    }
}

#[test]
fn an_answer_that_breaks_off_has_no_clean_end() {
    let mut renderer = formats::client(Format::Chat).renderer(rendering(true));
    let mut out = bytes::BytesMut::new();
    renderer.write(&Event::Begin { id: None, model: None }, &mut out);
    renderer.fail(&fault::upstream_interrupted("acme"), &mut out);
    let text = std::str::from_utf8(&out).unwrap();
    assert!(
        text.contains("data: {\"error\":{")
            && !text.contains("[DONE]")
            && text.contains("\"model\":\"model-1\""),
        "{text}"
    );
}
