//! Rejected requests, and the field named in the fault.

use serde_json::{Value, json};

use crate::parse;

#[track_caller]
fn refused(body: Value, param: &str) {
    let fault = parse(&body).unwrap_err();
    assert_eq!((fault.status, fault.param.as_deref()), (400, Some(param)), "{body}");
    assert!(fault.message.contains(param), "{}", fault.message);
}

fn user(content: Value) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": content}]})
}

fn assistant(block: Value) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": [block]}]})
}

fn with(name: &str, value: Value) -> Value {
    let mut body = user(json!("x"));
    body[name] = value;
    body
}

#[test]
fn messages_and_their_blocks() {
    refused(json!({"messages": [{"role": "tool", "content": "x"}]}), "messages[0].role");
    refused(json!({"messages": [{"content": "x"}]}), "messages[0].role");
    refused(json!({"messages": [{"role": "user"}]}), "messages[0].content");
    refused(json!({"messages": ["x"]}), "messages[0]");
    refused(user(json!(1)), "messages[0].content");
    refused(user(json!(["x"])), "messages[0].content[0]");
    refused(user(json!([{"text": "x"}])), "messages[0].content[0].type");
    refused(user(json!([{"type": "hologram"}])), "messages[0].content[0].type");
    refused(user(json!([{"type": "text", "text": 1}])), "messages[0].content[0].text");
    refused(user(json!([{"type": "text"}])), "messages[0].content[0].text");
    refused(
        user(json!([{"type": "tool_use", "id": "a", "name": "n", "input": {}}])),
        "messages[0].content[0].type",
    );
    refused(
        user(json!([{"type": "image", "source": {"type": "fax"}}])),
        "messages[0].content[0].source.type",
    );
    refused(user(json!([{"type": "image"}])), "messages[0].content[0].source");
    refused(
        user(json!([{"type": "document", "source": {"type": "text", "data": 1}}])),
        "messages[0].content[0].source.data",
    );
    refused(
        user(json!([{"type": "text", "text": "x", "cache_control": {"type": "forever"}}])),
        "messages[0].content[0].cache_control.type",
    );
    refused(
        user(json!([{"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "2h"}}])),
        "messages[0].content[0].cache_control.ttl",
    );
    refused(assistant(json!({"type": "image", "source": {}})), "messages[1].content[0].type");
    refused(
        assistant(json!({"type": "tool_use", "id": "a", "name": "n", "input": "x"})),
        "messages[1].content[0].input",
    );
    refused(assistant(json!({"type": "thinking", "signature": "x"})), "messages[1].content[0].thinking");
}

#[test]
fn results_without_calls_and_images_too_large() {
    refused(
        user(json!([{"type": "tool_result", "tool_use_id": "gone", "content": "x"}])),
        "messages[0].content[0].tool_use_id",
    );
    refused(
        user(json!([{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "tool_use"}]}])),
        "messages[0].content[0].content[0].type",
    );
    let data = "A".repeat((20 << 20) * 4 / 3 + 8);
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    refused_quietly(user(json!([image])), "messages[0].content[0].source.data");
}

/// Like `refused`, without printing a body of many megabytes.
#[track_caller]
fn refused_quietly(body: Value, param: &str) {
    let fault = parse(&body).unwrap_err();
    assert_eq!((fault.status, fault.param.as_deref()), (400, Some(param)));
}

#[test]
fn settings() {
    refused(with("system", json!(1)), "system");
    refused(with("system", json!([{"type": "image"}])), "system[0].type");
    refused(with("tools", json!({})), "tools");
    refused(with("tools", json!([{"name": "n"}])), "tools[0].input_schema");
    refused(with("tools", json!([{"input_schema": {}}])), "tools[0].name");
    refused(with("tool_choice", json!("auto")), "tool_choice");
    refused(with("tool_choice", json!({"type": "maybe"})), "tool_choice.type");
    refused(with("tool_choice", json!({"type": "tool"})), "tool_choice.name");
    refused(with("temperature", json!(1.5)), "temperature");
    refused(with("top_p", json!("x")), "top_p");
    refused(with("top_k", json!(-1)), "top_k");
    refused(with("stop_sequences", json!("x")), "stop_sequences");
    refused(with("stop_sequences", json!(["a", 1])), "stop_sequences[1]");
    refused(with("thinking", json!({"type": "deep"})), "thinking.type");
    refused(with("thinking", json!({"type": "enabled"})), "thinking.budget_tokens");
    refused(with("output_config", json!({"effort": "huge"})), "output_config.effort");
    refused(with("output_config", json!({"format": {"type": "xml"}})), "output_config.format.type");
    refused(with("output_config", json!({"format": {"type": "json_schema"}})), "output_config.format.schema");
    refused(with("metadata", json!({"user_id": 7})), "metadata.user_id");
}
