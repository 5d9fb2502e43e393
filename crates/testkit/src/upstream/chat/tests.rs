//! Tests of the chat format: generations, pairing, Azure, Ollama.

use serde_json::{Value, json};

use crate::upstream::Upstream;
use crate::upstream::tests::socket::{RawResponse, ask_with, with};

const KEY: (&str, &str) = ("authorization", "Bearer sk-1");

async fn chat(upstream: &Upstream, model: &str, changes: Value) -> RawResponse {
    let base = json!({"model": model, "messages": [{"role": "user", "content": "one two three"}]});
    let body = with(&base, &changes).to_string();
    ask_with(upstream, "POST", "/v1/chat/completions", &[KEY], &body).await
}

fn conversation(more: Value) -> Value {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let mut messages = vec![
        json!({"role": "user", "content": "?"}),
        json!({"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]}),
    ];
    messages.extend(more.as_array().unwrap().clone());
    json!({"messages": messages})
}

#[tokio::test]
async fn a_generation_rejects_unsupported_fields() {
    let upstream = Upstream::start().await;
    for (model, changes, param) in [
        ("gpt-5-mini~text", json!({"max_tokens": 5}), "max_tokens"),
        ("gpt-5-mini~text", json!({"temperature": 0.5}), "temperature"),
        ("o4-mini~text", json!({"top_p": 0.5}), "top_p"),
        ("o3~text", json!({"presence_penalty": 1}), "presence_penalty"),
        ("gpt-4.1~text", json!({"reasoning_effort": "low"}), "reasoning_effort"),
        ("gpt-5~text", json!({"reasoning_effort": "enormous"}), "reasoning_effort"),
        ("gpt-4o~text", json!({"surprise": 1}), "surprise"),
        ("gpt-4o~text", json!({"top_k": 1}), "top_k"),
    ] {
        let response = chat(&upstream, model, changes.clone()).await;
        response.expect_error(400);
        assert_eq!(response.json()["error"]["param"], param, "{model} {changes}");
    }
    for (model, changes) in [
        ("gpt-5-mini~text", json!({"max_completion_tokens": 5, "temperature": 1, "reasoning_effort": "low"})),
        ("gpt-4o~text", json!({"max_tokens": 5, "temperature": 0.5, "top_p": 0.5})),
        ("llama-3~text", json!({"top_k": 1})),
        ("text", json!({"surprise": 1})),
    ] {
        chat(&upstream, model, changes).await.expect_ok();
    }
}

#[tokio::test]
async fn strict_models_reject_unknown_members() {
    let upstream = Upstream::start().await;
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let function = |function: Value| json!({"tools": [{"type": "function", "function": function}]});
    let message = |message: Value| json!({"messages": [{"role": "user", "content": "?"}, message]});
    let schema = |schema: Value| json!({"response_format": {"type": "json_schema", "json_schema": schema}});
    let image = json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]);
    for (changes, param) in [
        (function(json!({"name": "a b"})), "tools[0].function.name"),
        (function(json!({"name": "f", "extra": 1})), "tools[0].function.extra"),
        (function(json!({"name": "f", "strict": true, "parameters": open})), "tools[0].function.parameters"),
        (json!({"tools": []}), "tools"),
        (json!({"tool_choice": "auto"}), "tool_choice"),
        (json!({"stop": ["a", "b", "c", "d", "e"]}), "stop"),
        (json!({"stream_options": {"include_usage": true}}), "stream_options"),
        (json!({"response_format": {"type": "json_object"}}), "messages"),
        (schema(json!({"name": "a b", "schema": {}})), "response_format.json_schema.name"),
        (schema(json!({"name": "a", "strict": true, "schema": open})), "response_format.json_schema.schema"),
        (message(json!({"role": "user", "content": []})), "messages[1].content"),
        (message(json!({"role": "user", "content": "?", "extra": 1})), "messages[1].extra"),
        (
            message(json!({"role": "assistant", "content": "!", "reasoning_content": "x"})),
            "messages[1].reasoning_content",
        ),
        (message(json!({"role": "assistant", "content": null})), "messages[1].content"),
        (message(json!({"role": "system", "content": image})), "messages[1].content[0].type"),
        (
            message(json!({"role": "user", "content": [{"type": "text", "text": "?", "cache_control": {}}]})),
            "messages[1].content[0].cache_control",
        ),
        (
            message(json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]})),
            "messages[1].content[0].image_url.url",
        ),
    ] {
        let response = chat(&upstream, "gpt-4o~text", changes.clone()).await;
        response.expect_error(400);
        assert_eq!(response.json()["error"]["param"], param, "{changes}");
    }
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    chat(&upstream, "gpt-4o~text", schema(json!({"name": "a", "strict": true, "schema": closed})))
        .await
        .expect_ok();
    let body = json!({"model": "gpt-4o~text"}).to_string();
    ask_with(&upstream, "POST", "/v1/chat/completions", &[], &body).await.expect_error(401);
}

#[tokio::test]
async fn every_tool_call_needs_a_text_result() {
    let upstream = Upstream::start().await;
    let result = |id: &str, content: Value| json!({"role": "tool", "tool_call_id": id, "content": content});
    let image = json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]);
    for more in [
        json!([]),
        json!([result("a", json!("x"))]),
        json!([result("a", json!("x")), {"role": "user", "content": "?"}, result("b", json!("y"))]),
        json!([result("a", json!("x")), result("a", json!("y"))]),
        json!([result("a", json!("x")), result("b", image)]),
    ] {
        chat(&upstream, "gpt-4o~tools", conversation(more)).await.expect_error(400);
    }
    let good = json!([result("b", json!("x")), result("a", json!([{"type": "text", "text": "y"}]))]);
    let answer = chat(&upstream, "gpt-4o~tools", conversation(good)).await.expect_ok();
    assert_eq!(answer["choices"][0]["message"]["content"], "The tools said: x; y");
    for (id, arguments) in [("a", json!("{")), ("a", json!({})), ("x".repeat(41).as_str(), json!("{}"))] {
        let call = json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
        let messages = json!([{"role": "user", "content": "?"}, {"role": "assistant", "tool_calls": [call]}, result(id, json!("x"))]);
        chat(&upstream, "gpt-4o~tools", json!({"messages": messages})).await.expect_error(400);
    }
}

#[tokio::test]
async fn finish_reasons_match_the_ending() {
    let upstream = Upstream::start().await;
    for (model, finish) in [
        ("max-tokens", "length"),
        ("content-filter", "content_filter"),
        ("stop", "stop"),
        ("refusal", "stop"),
    ] {
        let answer = chat(&upstream, model, json!({"stop": "END"})).await.expect_ok();
        assert_eq!(answer["choices"][0]["finish_reason"], finish, "{model}");
        let events = chat(&upstream, model, json!({"stream": true})).await.chunks();
        assert!(events.iter().any(|event| event["choices"][0]["finish_reason"] == finish), "{model}");
    }
    let refused = chat(&upstream, "refusal", json!({})).await.expect_ok();
    assert_eq!(refused["choices"][0]["message"]["refusal"], "I cannot help with that.");
    let hidden = chat(&upstream, "gpt-5~reasoning", json!({})).await.expect_ok();
    assert!(hidden["choices"][0]["message"].get("reasoning_content").is_none());
    assert_eq!(
        hidden["usage"]["completion_tokens_details"]["reasoning_tokens"],
        upstream.bill().last().unwrap().reasoning_tokens
    );
    assert!(upstream.bill().last().unwrap().reasoning_tokens > 0);
}

#[tokio::test]
async fn schemas_are_satisfied_and_images_described() {
    let upstream = Upstream::start().await;
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "integer", "minimum": 3}, "list": {"type": "array", "items": {"$ref": "#/$defs/e"}},
        "left": {"type": "string"},
    }, "required": ["n", "list"], "$defs": {"e": {"enum": ["x", "y"]}}});
    let format =
        json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}});
    let answer = chat(&upstream, "gpt-4o~schema", format).await.expect_ok();
    assert_eq!(answer["choices"][0]["message"]["content"], r#"{"n":3,"list":["x"]}"#);
    let tools = json!([{"type": "function", "function": {"name": "f", "parameters": schema}}]);
    let forced = json!({"tools": tools, "tool_choice": {"type": "function", "function": {"name": "f"}}});
    let answer = chat(&upstream, "gpt-4o~schema", forced).await.expect_ok();
    let call = &answer["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!((&call["name"], &call["arguments"]), (&json!("f"), &json!(r#"{"n":3,"list":["x"]}"#)));
    let part = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let seen = chat(&upstream, "see", json!({"messages": [{"role": "user", "content": [part, part]}]}))
        .await
        .expect_ok();
    assert_eq!(
        seen["choices"][0]["message"]["content"],
        "I see 2 images: image/png 3 bytes, image/png 3 bytes"
    );
}

#[tokio::test]
async fn azure_has_its_own_path_and_credential() {
    let upstream = Upstream::start().await;
    let body = json!({"stream": true, "messages": [{"role": "user", "content": "hi"}]}).to_string();
    let path = "/openai/deployments/gpt-4o%7Etext/chat/completions";
    let versioned = format!("{path}?api-version=2024-10-21");
    let key = ("api-key", "k");
    assert_eq!(
        ask_with(&upstream, "POST", path, &[key], &body).await.expect_error(404),
        "Resource not found"
    );
    ask_with(&upstream, "POST", &versioned, &[KEY], &body).await.expect_error(401);
    let events = ask_with(&upstream, "POST", &versioned, &[key], &body).await.chunks();
    assert_eq!(
        (&events[0]["id"], &events[0]["created"], &events[0]["choices"]),
        (&json!(""), &json!(0), &json!([]))
    );
    assert_eq!(upstream.bill()[0].model, "gpt-4o~text");
    let strange = json!({"surprise": 1, "messages": [{"role": "user", "content": "hi"}]}).to_string();
    ask_with(&upstream, "POST", &versioned, &[key], &strange).await.expect_error(400);
}

#[tokio::test]
async fn ollama_rejects_unknown_fields() {
    let upstream = Upstream::start().await;
    let path = "/ollama/v1/chat/completions";
    let base = json!({"model": "text", "messages": [{"role": "user", "content": "hi"}]});
    for changes in
        [json!({"max_completion_tokens": 5}), json!({"messages": [{"role": "developer", "content": "x"}]})]
    {
        ask_with(&upstream, "POST", path, &[], &with(&base, &changes).to_string()).await.expect_error(400);
    }
    ask_with(&upstream, "POST", path, &[], &with(&base, &json!({"max_tokens": 5})).to_string())
        .await
        .expect_ok();
    let tags = ask_with(&upstream, "GET", "/ollama/api/tags", &[], "").await.expect_ok();
    assert!(tags["models"].as_array().unwrap().iter().any(|model| model["name"] == "llama3~text"));
}
