//! Tests of Messages: every error, signatures, and the bill.

use serde_json::{Value, json};

use crate::upstream::Upstream;
use crate::upstream::tests::socket::{RawResponse, ask_with, with};

const HEADERS: [(&str, &str); 2] = [("x-api-key", "sk-ant-1"), ("anthropic-version", "2023-06-01")];

fn base(model: &str) -> Value {
    json!({"model": model, "max_tokens": 4000, "messages": [{"role": "user", "content": "one two three"}]})
}

async fn create(upstream: &Upstream, model: &str, changes: Value) -> RawResponse {
    let body = with(&base(model), &changes).to_string();
    ask_with(upstream, "POST", "/v1/messages", &HEADERS, &body).await
}

fn tool() -> Value {
    json!([{"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}])
}

fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

fn assistant(content: Value) -> Value {
    json!({"role": "assistant", "content": content})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "f", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "sunny"})
}

#[tokio::test]
async fn a_credential_and_a_version_are_required() {
    let upstream = Upstream::start().await;
    let body = base("text").to_string();
    let [key, version] = HEADERS;
    let response = ask_with(&upstream, "POST", "/v1/messages", &[version], &body).await;
    response.expect_error(401);
    assert_eq!(
        (&response.json()["type"], &response.json()["error"]["type"]),
        (&json!("error"), &json!("authentication_error"))
    );
    let unversioned = ask_with(&upstream, "POST", "/v1/messages", &[key], &body).await.expect_error(400);
    assert_eq!(unversioned, "anthropic-version: header is required");
    let list = ask_with(&upstream, "GET", "/v1/models", &HEADERS, "").await.expect_ok();
    assert_eq!((&list["data"][0]["type"], &list["has_more"]), (&json!("model"), &json!(false)));
    assert!(upstream.bill().is_empty());
}

#[tokio::test]
async fn fields_and_limits_are_validated() {
    let upstream = Upstream::start().await;
    let mark = json!({"type": "ephemeral"});
    let marked = json!({"type": "text", "text": "a", "cache_control": mark});
    let schema =
        |schema: Value| json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}});
    let object = |more: Value| {
        with(&json!({"type": "object", "properties": {}, "additionalProperties": false}), &more)
    };
    for (model, changes, message) in [
        ("text", json!({"surprise": 1}), "surprise: Extra inputs"),
        ("text", json!({"context_management": {}}), "context_management: Extra inputs"),
        ("text", json!({"max_tokens": null}), "max_tokens: Field required"),
        ("text", json!({"max_tokens": 0}), "max_tokens"),
        ("claude-3-5-sonnet~text", json!({"max_tokens": 9000}), "8192"),
        ("text", json!({"temperature": 1.5}), "temperature"),
        ("claude-sonnet-4-5~text", json!({"temperature": 1, "top_p": 0.9}), "cannot both"),
        ("claude-opus-4-7~text", json!({"temperature": 1}), "`temperature` is deprecated"),
        ("claude-opus-5~text", json!({"top_k": 3}), "`top_k` is deprecated"),
        ("text", json!({"stop_sequences": [" "]}), "non-whitespace"),
        ("text", json!({"metadata": {"session": "x"}}), "metadata.session"),
        ("text", json!({"service_tier": "fast"}), "service_tier"),
        ("text", json!({"system": [{"type": "text", "text": ""}]}), "non-empty"),
        ("text", json!({"system": [marked, marked, marked, marked, marked]}), "Found 5"),
        (
            "text",
            json!({"system": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "2h"}}]}),
            "cache_control",
        ),
        ("claude-3-5-sonnet~text", schema(object(json!({}))), "structured outputs"),
        ("claude-opus-4-8~text", schema(json!({"type": "object", "properties": {}})), "additionalProperties"),
        (
            "claude-opus-4-8~text",
            schema(object(json!({"properties": {"n": {"type": "integer", "minimum": 1}}}))),
            "'minimum'",
        ),
        ("claude-3-7-sonnet~text", json!({"output_config": {"effort": "low"}}), "effort"),
        ("claude-opus-4-8~text", json!({"output_config": {"effort": "huge"}}), "effort"),
    ] {
        let response = create(&upstream, model, changes.clone()).await.expect_error(400);
        assert!(response.contains(message), "{changes}: {response}");
    }
    for (model, changes) in [
        ("claude-3-5-sonnet~text", json!({"temperature": 1, "top_p": 0.9})),
        (
            "claude-opus-4-8~text",
            json!({"output_config": {"effort": "low", "format": {"type": "json_schema", "schema": object(json!({}))}}}),
        ),
        ("text", json!({"system": [marked, marked, marked, marked]})),
    ] {
        create(&upstream, model, changes).await.expect_ok();
    }
    let body = with(&base("text"), &json!({"context_management": {}})).to_string();
    let headers = [HEADERS[0], HEADERS[1], ("anthropic-beta", "context-management-2025-06-27")];
    ask_with(&upstream, "POST", "/v1/messages?beta=true", &headers, &body).await.expect_ok();
}

#[tokio::test]
async fn turns_are_validated() {
    let upstream = Upstream::start().await;
    let image = |data: String| json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]);
    let hello = || user(json!("hi"));
    for (model, messages, message) in [
        ("text", json!([]), "at least one message"),
        ("text", json!([{"role": "tool", "content": "x"}]), "Unexpected role \"tool\""),
        (
            "claude-opus-4-7~text",
            json!([hello(), {"role": "system", "content": "x"}]),
            "Unexpected role \"system\"",
        ),
        ("text", json!([assistant(json!("x"))]), "first message"),
        ("claude-opus-4-8~text", json!([hello(), assistant(json!("x"))]), "prefill"),
        ("text", json!([hello(), assistant(json!("x "))]), "trailing whitespace"),
        ("text", json!([user(json!(""))]), "non-empty content"),
        ("text", json!([user(json!([{"type": "text", "text": ""}]))]), "must be non-empty"),
        ("text", json!([user(json!([{"type": "text", "text": " "}]))]), "non-whitespace"),
        (
            "text",
            json!([user(json!([{"type": "text", "text": "a", "id": 1}]))]),
            "messages.0.content.0.id: Extra",
        ),
        ("text", json!([{"role": "user", "content": "a", "name": "x"}]), "messages.0.name: Extra"),
        ("text", json!([user(json!([{"type": "image_url"}]))]), "'image_url'"),
        ("text", json!([hello(), assistant(image("AAAA".into()))]), "'image'"),
        ("text", json!([user(image("%%%".into()))]), "base64"),
        ("text", json!([user(image("A".repeat(5 * 1024 * 1024 + 4)))]), "exceeds 5 MB"),
        (
            "text",
            json!([hello(), assistant(json!([call("a.b")])), user(json!([result("a.b")]))]),
            "^[a-zA-Z0-9_-]+$",
        ),
        ("text", json!([hello(), assistant(json!([call("a")]))]), "without `tool_result`"),
        ("text", json!([hello(), assistant(json!([call("a")])), user(json!("x"))]), "without `tool_result`"),
        (
            "text",
            json!([hello(), assistant(json!([call("a"), call("b")])), user(json!([result("a")]))]),
            "immediately after: b",
        ),
        (
            "text",
            json!([
                hello(),
                assistant(json!([call("a")])),
                user(json!([{"type": "text", "text": "x"}, result("a")]))
            ]),
            "without `tool_result`",
        ),
        ("text", json!([user(json!([result("a")]))]), "unexpected `tool_use_id`"),
        (
            "text",
            json!([hello(), assistant(json!([call("a")])), user(json!([result("a"), result("a")]))]),
            "unexpected `tool_use_id`",
        ),
    ] {
        let response = create(&upstream, model, json!({"messages": messages})).await.expect_error(400);
        assert!(response.contains(message), "{messages}: {response}");
    }
    for (model, messages) in [
        ("claude-opus-4-8~text", json!([hello(), {"role": "system", "content": "x"}])),
        ("claude-3-5-sonnet~text", json!([hello(), assistant(json!("x"))])),
        (
            "text",
            json!([
                hello(),
                hello(),
                assistant(json!([call("a"), call("b")])),
                user(json!([result("b")])),
                user(json!([result("a")]))
            ]),
        ),
    ] {
        create(&upstream, model, json!({"messages": messages})).await.expect_ok();
    }
}

#[tokio::test]
async fn tools_are_validated() {
    let upstream = Upstream::start().await;
    let with_tool = |tool: Value| json!({"tools": [tool]});
    let schema = json!({"type": "object"});
    for (changes, message) in [
        (with_tool(json!({"name": "a b", "input_schema": schema})), "custom.name"),
        (with_tool(json!({"name": "a"})), "input_schema: Field required"),
        (with_tool(json!({"name": "a", "input_schema": {"type": "string"}})), "Input should be 'object'"),
        (with_tool(json!({"name": "a", "input_schema": schema, "parameters": {}})), "parameters: Extra"),
        (with_tool(json!({"type": "function", "name": "a", "function": {}})), "'function'"),
        (json!({"tools": [tool()[0], tool()[0]]}), "unique"),
        (json!({"tool_choice": {"type": "auto"}}), "while providing tools"),
        (json!({"tools": tool(), "tool_choice": {"type": "required"}}), "tool_choice"),
        (json!({"tools": tool(), "tool_choice": "auto"}), "tool_choice"),
        (json!({"tools": tool(), "tool_choice": {"type": "tool", "name": "x"}}), "not found"),
    ] {
        let response = create(&upstream, "text", changes.clone()).await.expect_error(400);
        assert!(response.contains(message), "{changes}: {response}");
    }
    create(
        &upstream,
        "text",
        json!({"tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}]}),
    )
    .await
    .expect_ok();
}

#[tokio::test]
async fn thinking_is_signed_and_verified() {
    let upstream = Upstream::start().await;
    let model = "claude-sonnet-4-5~tools";
    let thinking = json!({"type": "enabled", "budget_tokens": 2000});
    let first = create(&upstream, model, json!({"thinking": thinking, "tools": tool()})).await.expect_ok();
    let content = first["content"].as_array().unwrap();
    assert_eq!((&content[0]["type"], &content[1]["type"]), (&json!("thinking"), &json!("tool_use")));
    assert_eq!(first["stop_reason"], "tool_use");
    let answer = user(json!([result(content[1]["id"].as_str().unwrap())]));
    let again = |content: Value| json!({"thinking": thinking, "tools": tool(), "messages": [user(json!("hi")), assistant(content), answer]});
    let second = create(&upstream, model, again(json!(content))).await.expect_ok();
    assert_eq!(second["content"].as_array().unwrap().last().unwrap()["text"], "The tools said: sunny");
    let refused = create(&upstream, model, again(json!([content[1]]))).await.expect_error(400);
    assert!(refused.contains("Expected `thinking` or `redacted_thinking`"), "{refused}");
    for changes in [json!({"thinking": "other"}), json!({"signature": "other"})] {
        let altered = json!([with(&content[0], &changes), content[1]]);
        let refused = create(&upstream, model, again(altered)).await.expect_error(400);
        assert!(refused.contains("Invalid `signature` in `thinking` block"), "{refused}");
    }
    let adaptive = json!({"thinking": {"type": "adaptive"}, "tools": tool()});
    let omitted = create(&upstream, "claude-opus-4-8~tools", adaptive).await.expect_ok();
    assert_eq!(omitted["content"][0]["thinking"], "");
    let redacted =
        create(&upstream, "claude-sonnet-4-5~redacted", json!({"thinking": thinking})).await.expect_ok();
    assert_eq!(redacted["content"][0]["type"], "redacted_thinking");
}

#[tokio::test]
async fn thinking_parameters_are_validated() {
    let upstream = Upstream::start().await;
    let enabled = |budget: u64| json!({"type": "enabled", "budget_tokens": budget});
    let any = json!({"type": "any"});
    for (model, changes, message) in [
        ("text", json!({"thinking": enabled(1000)}), "1024"),
        ("text", json!({"thinking": enabled(4000)}), "must be greater than"),
        ("text", json!({"thinking": enabled(2000), "temperature": 0.5}), "`temperature` may only"),
        ("text", json!({"thinking": enabled(2000), "tools": tool(), "tool_choice": any}), "forces tool use"),
        ("claude-opus-4-7~text", json!({"thinking": enabled(2000)}), "thinking.type.enabled"),
        ("claude-3-5-sonnet~text", json!({"thinking": enabled(2000)}), "does not support thinking"),
        ("claude-sonnet-4-5~text", json!({"thinking": {"type": "adaptive"}}), "adaptive thinking"),
        ("text", json!({"thinking": {"type": "auto"}}), "thinking"),
        ("text", json!({"thinking": {"type": "disabled", "effort": 1}}), "thinking.effort"),
    ] {
        let response = create(&upstream, model, changes.clone()).await.expect_error(400);
        assert!(response.contains(message), "{changes}: {response}");
    }
}

#[tokio::test]
async fn stream_document_and_bill_agree() {
    let upstream = Upstream::start().await;
    let thinking = json!({"type": "enabled", "budget_tokens": 2000});
    for model in [
        "text",
        "long",
        "tools",
        "parallel-tools",
        "reasoning",
        "redacted",
        "cached",
        "empty",
        "stop",
        "max-tokens",
        "refusal",
    ] {
        upstream.reset();
        let changes = json!({"thinking": thinking, "stop_sequences": ["END"]});
        let whole = create(&upstream, model, changes.clone()).await.expect_ok();
        let events = create(&upstream, model, with(&changes, &json!({"stream": true}))).await.chunks();
        assert_eq!(
            (&events[0]["type"], &events.last().unwrap()["type"]),
            (&json!("message_start"), &json!("message_stop"))
        );
        let delta = &events[events.len() - 2];
        assert_eq!(delta["delta"]["stop_reason"], whole["stop_reason"], "{model}");
        for (usage, line) in [&whole["usage"], &delta["usage"]].iter().zip(upstream.bill()) {
            let number = |name: &str| usage[name].as_u64().unwrap();
            assert_eq!(number("output_tokens"), line.completion_tokens, "{model}");
            assert_eq!(number("cache_read_input_tokens"), line.cached_tokens, "{model}");
            let total = number("input_tokens")
                + number("cache_read_input_tokens")
                + number("cache_creation_input_tokens");
            assert_eq!(total, line.prompt_tokens, "{model}");
            assert_eq!(
                usage["cache_creation"]["ephemeral_5m_input_tokens"], line.cache_write_5m_tokens,
                "{model}"
            );
            assert_eq!(
                usage["cache_creation"]["ephemeral_1h_input_tokens"], line.cache_write_1h_tokens,
                "{model}"
            );
            assert_eq!(usage["output_tokens_details"]["thinking_tokens"], line.reasoning_tokens, "{model}");
            assert_eq!((line.dialect.as_str(), line.finished), ("messages", true));
        }
        assert_eq!(whole["id"], upstream.bill()[0].id);
    }
}

#[tokio::test]
async fn failures_have_anthropics_shape() {
    let upstream = Upstream::start().await;
    for (model, status, kind) in [
        ("error-529", 529, "overloaded_error"),
        ("error-429", 429, "rate_limit_error"),
        ("error-404", 404, "not_found_error"),
        ("error-500", 500, "api_error"),
    ] {
        let response = create(&upstream, model, json!({})).await;
        response.expect_error(status);
        assert_eq!(response.json()["error"]["type"], kind);
    }
    for (model, before) in [("error-in-stream", "ping"), ("error-after-content", "content_block_delta")] {
        let events = create(&upstream, model, json!({"stream": true})).await.chunks();
        let [.., other, last] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!((&last["type"], &last["error"]["type"]), (&json!("error"), &json!("overloaded_error")));
        assert_eq!(other["type"], before);
    }
}

#[tokio::test]
async fn tokens_are_counted_as_they_are_billed() {
    let upstream = Upstream::start().await;
    let body = json!({"model": "text", "system": "be kind", "messages": [user(json!("one two three"))]});
    let path = "/v1/messages/count_tokens";
    let counted = ask_with(&upstream, "POST", path, &HEADERS, &body.to_string()).await.expect_ok();
    assert_eq!(counted, json!({"input_tokens": 13}));
    let limited = with(&body, &json!({"max_tokens": 5})).to_string();
    ask_with(&upstream, "POST", path, &HEADERS, &limited).await.expect_error(400);
    assert!(upstream.bill().is_empty());
}

#[tokio::test]
async fn an_agent_writes_a_file_with_its_own_tool() {
    let upstream = Upstream::start().await;
    let path = json!({"type": "object", "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}}, "required": ["file_path", "content"]});
    let command = json!({"type": "object", "properties": {"command": {"type": "string"}, "description": {"type": "string"}, "timeout": {"type": "number"}}, "required": ["command"]});
    let tools = json!([{"name": "Bash", "input_schema": command}, {"name": "Write", "input_schema": path}]);
    let order = json!([user(
        json!([{"type": "text", "text": "<system-reminder>x</system-reminder>"}, {"type": "text", "text": "Please write the file a.txt with hello there\nand stop."}])
    )]);
    let changes = json!({"system": "Working directory: /project\nmore", "tools": tools, "messages": order});
    let answer = create(&upstream, "claude-opus-4-8~agent", changes.clone()).await.expect_ok();
    assert_eq!(
        answer["content"][0]["input"],
        json!({"file_path": "/project/a.txt", "content": "hello there"})
    );
    let shell = with(&changes, &json!({"tools": [tools[0]]}));
    let answer = create(&upstream, "agent", shell).await.expect_ok();
    let line = "printf '%s' 'hello there' > 'a.txt'";
    assert_eq!(answer["content"][0]["input"], json!({"command": line, "description": "Write the file"}));
    let id = answer["content"][0]["id"].as_str().unwrap();
    let messages = json!([order[0], assistant(answer["content"].clone()), user(json!([result(id)]))]);
    let answer = create(&upstream, "agent", with(&changes, &json!({"messages": messages}))).await.expect_ok();
    assert_eq!(answer["content"][0]["text"], "Done.");
    let untooled = create(&upstream, "agent", with(&changes, &json!({"tools": null}))).await.expect_ok();
    assert_eq!(untooled["content"][0]["type"], "text");
}
