//! Tests of the Responses API: every error, the event set, the lifecycle, and the bill.

use serde_json::{Value, json};

use crate::upstream::Upstream;
use crate::upstream::tests::socket::{RawResponse, ask_with, with};

const KEY: (&str, &str) = ("authorization", "Bearer sk-1");

async fn create(upstream: &Upstream, model: &str, changes: Value) -> RawResponse {
    let body = with(&json!({"model": model, "input": "one two three"}), &changes).to_string();
    ask_with(upstream, "POST", "/v1/responses", &[KEY], &body).await
}

async fn manage(upstream: &Upstream, method: &str, path: &str) -> RawResponse {
    ask_with(upstream, method, &format!("/v1/responses/{path}"), &[KEY], "").await
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "sunny"})
}

#[tokio::test]
async fn fields_and_limits_are_validated() {
    let upstream = Upstream::start().await;
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for (model, changes, param) in [
        ("text", json!({"messages": []}), "messages"),
        ("text", json!({"max_tokens": 20}), "max_tokens"),
        ("text", json!({"input": null}), "input"),
        ("text", json!({"max_output_tokens": 15}), "max_output_tokens"),
        ("text", json!({"include": ["everything"]}), "include[0]"),
        ("text", json!({"truncation": "some"}), "truncation"),
        ("text", json!({"previous_response_id": "resp_x"}), "previous_response_id"),
        ("gpt-5-mini~text", json!({"temperature": 0.5}), "temperature"),
        ("gpt-4.1~text", json!({"reasoning": {"effort": "low"}}), "reasoning.effort"),
        ("text", json!({"reasoning": {"effort": "huge"}}), "reasoning.effort"),
        ("text", json!({"reasoning": {"budget": 1}}), "reasoning.budget"),
        (
            "text",
            json!({"text": {"format": {"type": "json_schema", "name": "a b", "schema": {}}}}),
            "text.format.name",
        ),
        (
            "text",
            json!({"text": {"format": {"type": "json_schema", "name": "a", "schema": open, "strict": true}}}),
            "text.format.schema",
        ),
        (
            "text",
            json!({"text": {"format": {"type": "json_schema", "json_schema": {}}}}),
            "text.format.json_schema",
        ),
        ("text", json!({"tools": [{"type": "function", "function": {"name": "f"}}]}), "tools[0].function"),
        (
            "text",
            json!({"tools": [{"type": "function", "name": "f", "strict": true, "parameters": open}]}),
            "tools[0].parameters",
        ),
        ("text", json!({"tools": [{"type": "mystery"}]}), "tools[0].type"),
        ("text", json!({"tool_choice": {"type": "function", "name": "f"}}), "tool_choice"),
    ] {
        let response = create(&upstream, model, changes.clone()).await;
        response.expect_error(400);
        assert_eq!(response.json()["error"]["param"], param, "{changes}");
    }
    let body = json!({"model": "text", "input": "hi"}).to_string();
    ask_with(&upstream, "POST", "/v1/responses", &[("x-api-key", "k")], &body).await.expect_error(401);
    assert!(upstream.bill().is_empty());
}

#[tokio::test]
async fn items_are_validated() {
    let upstream = Upstream::start().await;
    let message = |role: &str, content: Value| json!({"role": role, "content": content});
    let long = "x".repeat(65);
    for (input, param) in [
        (json!([{"type": "mystery"}]), "input[0].type"),
        (json!([message("tool", json!("x"))]), "input[0].role"),
        (json!([message("user", json!([{"type": "text", "text": "x"}]))]), "input[0].content[0].type"),
        (json!([message("user", json!([{"type": "output_text", "text": "x"}]))]), "input[0].content[0].type"),
        (
            json!([message("assistant", json!([{"type": "input_text", "text": "x"}]))]),
            "input[0].content[0].type",
        ),
        (
            json!([message("user", json!([{"type": "input_text", "text": "x", "more": 1}]))]),
            "input[0].content[0].more",
        ),
        (
            json!([message("user", json!([{"type": "input_image", "image_url": {"url": "x"}}]))]),
            "input[0].content[0].image_url",
        ),
        (json!([with(&message("user", json!("x")), &json!({"id": "1"}))]), "input[0].id"),
        (json!([with(&message("user", json!("x")), &json!({"name": "1"}))]), "input[0].name"),
        (json!([with(&call("a"), &json!({"id": "call_1"})), output("a")]), "input[0].id"),
        (json!([with(&call("a"), &json!({"arguments": {}})), output("a")]), "input[0].arguments"),
        (json!([call(&long), output(&long)]), "input[0].call_id"),
        (json!([call("a")]), "input"),
        (json!([output("a")]), "input"),
        (json!([call("a"), output("b")]), "input"),
        (json!([{"type": "reasoning", "id": "x", "summary": [], "encrypted_content": "y"}]), "input[0].id"),
        (
            json!([{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "y"}]),
            "input[0].encrypted_content",
        ),
    ] {
        let response = create(&upstream, "text", json!({"input": input})).await;
        response.expect_error(400);
        assert_eq!(response.json()["error"]["param"], param, "{input}");
    }
    let unknown = json!({"input": [{"type": "reasoning", "id": "rs_1", "summary": []}]});
    create(&upstream, "text", unknown).await.expect_error(404);
    let good = json!([message("developer", json!("x")), call("a"), call("b"), output("b"), output("a")]);
    let answer = create(&upstream, "tools", json!({"input": good})).await.expect_ok();
    assert_eq!(answer["output"][0]["content"][0]["text"], "The tools said: sunny; sunny");
}

#[tokio::test]
async fn encrypted_reasoning_is_verified() {
    let upstream = Upstream::start().await;
    let tools =
        json!([{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]);
    let changes = json!({"store": false, "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"}, "tools": tools});
    let first = create(&upstream, "gpt-5-mini~tools", changes.clone()).await.expect_ok();
    let items = first["output"].as_array().unwrap();
    assert_eq!((&items[0]["type"], &items[1]["type"]), (&json!("reasoning"), &json!("function_call")));
    assert_eq!(items[0]["summary"][0]["text"], "Let me think about that first. ");
    let result = output(items[1]["call_id"].as_str().unwrap());
    let again = |input: Value| with(&changes, &json!({"input": input}));
    let user = json!({"role": "user", "content": "hi"});
    create(&upstream, "gpt-5-mini~tools", again(json!([user, items[0], items[1], result]))).await.expect_ok();
    let stray = create(&upstream, "gpt-5-mini~tools", again(json!([items[0], user]))).await.expect_error(400);
    assert!(stray.contains("without its required following item"), "{stray}");
    let other = with(&items[0], &json!({"encrypted_content": "other"}));
    create(&upstream, "gpt-5-mini~tools", again(json!([user, other, items[1], result])))
        .await
        .expect_error(400);
}

#[tokio::test]
async fn the_stream_has_the_whole_event_set_in_order() {
    let upstream = Upstream::start().await;
    let asks = json!({"reasoning": {"summary": "auto"}});
    for (model, expected) in [
        (
            "text",
            vec![
                "response.output_text.delta",
                "response.output_text.done",
                "response.content_part.done",
                "response.completed",
            ],
        ),
        (
            "parallel-tools",
            vec![
                "response.function_call_arguments.delta",
                "response.function_call_arguments.done",
                "response.completed",
            ],
        ),
        (
            "reasoning",
            vec![
                "response.reasoning_summary_part.added",
                "response.reasoning_summary_text.delta",
                "response.reasoning_summary_text.done",
                "response.reasoning_summary_part.done",
            ],
        ),
        ("refusal", vec!["response.refusal.delta", "response.refusal.done"]),
        ("max-tokens", vec!["response.incomplete"]),
        ("cached", vec![]),
        ("empty", vec![]),
    ] {
        upstream.reset();
        let whole = create(&upstream, model, asks.clone()).await.expect_ok();
        let response = create(&upstream, model, with(&asks, &json!({"stream": true}))).await;
        let events = response.chunks();
        assert!(!response.body.contains("[DONE]"));
        assert!(events.iter().enumerate().all(|(index, event)| event["sequence_number"] == index), "{model}");
        let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds[..2], ["response.created", "response.in_progress"]);
        assert!(expected.iter().all(|kind| kinds.contains(kind)), "{model}: {kinds:?}");
        let last = &events.last().unwrap()["response"];
        assert_eq!(last["status"], whole["status"], "{model}");
        for (usage, line) in [&whole["usage"], &last["usage"]].iter().zip(upstream.bill()) {
            assert_eq!(usage["input_tokens"], line.prompt_tokens, "{model}");
            assert_eq!(usage["output_tokens"], line.completion_tokens, "{model}");
            assert_eq!(usage["input_tokens_details"]["cached_tokens"], line.cached_tokens, "{model}");
            assert_eq!(usage["output_tokens_details"]["reasoning_tokens"], line.reasoning_tokens, "{model}");
            assert_eq!((line.dialect.as_str(), line.finished), ("responses", true));
        }
        assert_eq!(whole["id"], upstream.bill()[0].id);
    }
    for (model, last, count) in
        [("error-in-stream", "error", 3), ("error-after-content", "response.failed", 8)]
    {
        let events = create(&upstream, model, json!({"stream": true})).await.chunks();
        assert_eq!((&events.last().unwrap()["type"], events.len()), (&json!(last), count));
        assert_eq!(events.last().unwrap()["sequence_number"], count - 1);
    }
}

#[tokio::test]
async fn a_stored_response_can_be_read_and_deleted() {
    let upstream = Upstream::start().await;
    let made = create(&upstream, "tools", json!({})).await.expect_ok();
    let id = made["id"].as_str().unwrap();
    assert_eq!(manage(&upstream, "GET", id).await.expect_ok(), made);
    let items = manage(&upstream, "GET", &format!("{id}/input_items?order=asc&limit=1")).await.expect_ok();
    assert_eq!(
        (&items["data"][0]["content"][0]["text"], &items["has_more"]),
        (&json!("one two three"), &json!(false))
    );
    manage(&upstream, "GET", &format!("{id}/input_items?limit=0")).await.expect_error(400);
    manage(&upstream, "POST", &format!("{id}/cancel")).await.expect_error(400);
    let next = |input: Value| json!({"previous_response_id": id, "input": input});
    let result = output(made["output"][0]["call_id"].as_str().unwrap());
    let answer = create(&upstream, "tools", next(json!([result]))).await.expect_ok();
    assert_eq!(answer["output"][0]["content"][0]["text"], "The tools said: sunny");
    assert_eq!(answer["usage"]["input_tokens"], 12);
    create(&upstream, "tools", next(json!("and now?"))).await.expect_error(400);
    assert_eq!(manage(&upstream, "DELETE", id).await.expect_ok()["deleted"], true);
    manage(&upstream, "GET", id).await.expect_error(404);
    create(&upstream, "text", next(json!("?"))).await.expect_error(400);
    let unstored = create(&upstream, "text", json!({"store": false})).await.expect_ok();
    manage(&upstream, "GET", unstored["id"].as_str().unwrap()).await.expect_error(404);
}

#[tokio::test]
async fn a_background_response_is_polled_or_cancelled() {
    let upstream = Upstream::start().await;
    for cancels in [false, true] {
        let made = create(&upstream, "text", json!({"background": true})).await.expect_ok();
        let id = made["id"].as_str().unwrap();
        assert_eq!(made["status"], "queued");
        assert_eq!(manage(&upstream, "GET", id).await.expect_ok()["status"], "in_progress");
        let end = if cancels {
            manage(&upstream, "POST", &format!("{id}/cancel")).await
        } else {
            manage(&upstream, "GET", id).await
        };
        let end = end.expect_ok();
        assert_eq!(end["status"], if cancels { "cancelled" } else { "completed" });
        assert_eq!(end["output"].as_array().unwrap().is_empty(), cancels);
    }
}

#[tokio::test]
async fn conversations_are_counted_and_compacted() {
    let upstream = Upstream::start().await;
    let body = json!({"model": "text", "input": "one two three", "instructions": "be kind"}).to_string();
    let counted = ask_with(&upstream, "POST", "/v1/responses/input_tokens", &[KEY], &body).await.expect_ok();
    assert_eq!(counted, json!({"object": "response.input_tokens", "input_tokens": 13}));
    let compacted = ask_with(&upstream, "POST", "/v1/responses/compact", &[KEY], &body).await.expect_ok();
    assert_eq!(compacted["object"], "response.compaction");
    assert_eq!((upstream.bill()[0].prompt_tokens, upstream.bill()[0].completion_tokens), (13, 1));
    create(&upstream, "text", json!({"input": compacted["output"]})).await.expect_ok();
    create(&upstream, "text", json!({"input": [{"type": "compaction", "encrypted_content": "x"}]}))
        .await
        .expect_error(400);
}

#[tokio::test]
async fn a_custom_tool_gets_text() {
    let upstream = Upstream::start().await;
    let tools = json!([{"type": "custom", "name": "apply_patch", "format": {"type": "text"}}]);
    let changes = json!({"tools": tools, "input": "write the file a.txt with \"b c\" please"});
    let answer = create(&upstream, "gpt-5-codex~agent", changes.clone()).await.expect_ok();
    let item = answer["output"].as_array().unwrap().last().unwrap();
    assert_eq!(item["input"], "*** Begin Patch\n*** Add File: a.txt\n+b c\n*** End Patch\n");
    let events =
        create(&upstream, "gpt-5-codex~agent", with(&changes, &json!({"stream": true}))).await.chunks();
    assert!(events.iter().any(|event| event["type"] == "response.custom_tool_call_input.done"));
}
