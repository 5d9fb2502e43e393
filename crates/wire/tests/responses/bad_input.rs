//! Rejected requests, and the path named in the fault.

use serde_json::{Value, json};

use super::*;

#[track_caller]
fn refused(body: Value, param: &str) {
    let fault = parse(&body).unwrap_err();
    assert_eq!((fault.status, fault.param.as_deref()), (400, Some(param)), "{body}: {}", fault.message);
    assert!(fault.message.contains(param), "{}", fault.message);
}

#[test]
fn items_are_checked() {
    let item = |item: Value| json!({"input": [item]});
    for (value, param) in [
        (json!("text"), "input[0]"),
        (json!({}), "input[0].type"),
        (json!({"type": 5}), "input[0].type"),
        (json!({"type": "unheard_of"}), "input[0].type"),
        (json!({"type": "item_reference", "id": "msg_1"}), "input[0].type"),
        (json!({"role": "robot", "content": "x"}), "input[0].role"),
        (json!({"type": "message", "content": "x"}), "input[0].role"),
        (json!({"role": "user"}), "input[0].content"),
        (json!({"role": "user", "content": 5}), "input[0].content"),
        (json!({"role": "user", "content": ["x"]}), "input[0].content[0]"),
        (json!({"role": "user", "content": [{"text": "x"}]}), "input[0].content[0].type"),
        (json!({"role": "user", "content": [{"type": "video"}]}), "input[0].content[0].type"),
        (json!({"role": "user", "content": [{"type": "input_text"}]}), "input[0].content[0].text"),
        (json!({"role": "user", "content": [{"type": "input_image"}]}), "input[0].content[0].image_url"),
        (
            json!({"role": "user", "content": [{"type": "input_image", "image_url": {}}]}),
            "input[0].content[0].image_url",
        ),
        (json!({"role": "user", "content": [{"type": "input_file"}]}), "input[0].content[0].file_data"),
        (json!({"role": "user", "content": [{"type": "input_audio"}]}), "input[0].content[0].input_audio"),
        (json!({"type": "function_call", "name": "x", "arguments": "{}"}), "input[0].call_id"),
        (json!({"type": "function_call", "call_id": "x", "arguments": "{}"}), "input[0].name"),
        (
            json!({"type": "function_call", "call_id": "x", "name": "x", "arguments": {}}),
            "input[0].arguments",
        ),
        (json!({"type": "custom_tool_call", "call_id": "x", "name": "x"}), "input[0].input"),
        (json!({"type": "function_call_output", "call_id": "lost", "output": ""}), "input[0].call_id"),
        (json!({"type": "reasoning", "summary": [{"type": "x"}]}), "input[0].summary[0].type"),
        (json!({"type": "reasoning", "summary": [], "encrypted_content": 5}), "input[0].encrypted_content"),
    ] {
        refused(item(value), param);
    }
}

#[test]
fn options_are_checked() {
    for (name, value, param) in [
        ("input", json!([]), "input"),
        ("instructions", json!(["x"]), "instructions"),
        ("tools", json!({}), "tools"),
        ("tools", json!([{"name": "x"}]), "tools[0].type"),
        ("tools", json!([{"type": "function"}]), "tools[0].name"),
        ("tools", json!([{"type": "custom", "name": 5}]), "tools[0].name"),
        ("tools", json!([{"type": "function", "name": "x", "strict": "yes"}]), "tools[0].strict"),
        (
            "tools",
            json!([{"type": "namespace", "name": "n", "tools": [{"type": "function"}]}]),
            "tools[0].tools[0].name",
        ),
        ("tool_choice", json!("sometimes"), "tool_choice"),
        ("tool_choice", json!({"type": "function"}), "tool_choice.name"),
        ("tool_choice", json!({"type": "allowed_tools", "mode": "x"}), "tool_choice.mode"),
        ("temperature", json!("hot"), "temperature"),
        ("temperature", json!(2.5), "temperature"),
        ("top_p", json!("x"), "top_p"),
        ("max_output_tokens", json!(0), "max_output_tokens"),
        ("parallel_tool_calls", json!("x"), "parallel_tool_calls"),
        ("metadata", json!([]), "metadata"),
        ("text", json!({"format": {"type": "yaml"}}), "text.format.type"),
        ("text", json!({"format": {"type": "json_schema", "schema": {}}}), "text.format.name"),
        ("text", json!({"format": {"type": "json_schema", "name": "n"}}), "text.format.schema"),
        ("text", json!({"verbosity": 5}), "text.verbosity"),
        ("reasoning", json!("high"), "reasoning"),
        ("reasoning", json!({"effort": "huge"}), "reasoning.effort"),
        ("truncation", json!(5), "truncation"),
        ("user", json!(5), "user"),
    ] {
        let mut body = json!({"input": "x"});
        body[name] = value;
        refused(body, param);
    }
}

#[test]
fn an_image_of_more_than_20_mib_is_refused() {
    let image = |length: usize| {
        let url = format!("data:image/png;base64,{}", "A".repeat(length));
        parse(&json!({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": url}]}]}))
    };
    assert!(image(27_962_024).is_ok());
    let fault = image(28_000_000).unwrap_err();
    assert_eq!(fault.param.as_deref(), Some("input[0].content[0].image_url"));
    assert!(fault.message.contains("27962024 bytes"), "{fault}");
}
