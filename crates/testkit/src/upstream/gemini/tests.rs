//! Tests of Gemini: every error, thought signatures, framing, and the bill.

use serde_json::{Value, json};

use crate::upstream::Upstream;
use crate::upstream::tests::socket::{RawResponse, ask_with, with};

const KEY: (&str, &str) = ("x-goog-api-key", "AIza-1");

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

async fn post(upstream: &Upstream, model: &str, action: &str, changes: Value) -> RawResponse {
    let body = with(&json!({"contents": [user("one two three")]}), &changes).to_string();
    ask_with(upstream, "POST", &format!("/v1beta/models/{model}:{action}"), &[KEY], &body).await
}

async fn generate_content(upstream: &Upstream, model: &str, changes: Value) -> RawResponse {
    post(upstream, model, "generateContent", changes).await
}

async fn stream(upstream: &Upstream, model: &str, changes: Value) -> RawResponse {
    post(upstream, model, "streamGenerateContent?alt=sse", changes).await
}

fn declared(more: Value) -> Value {
    json!({"tools": [{"functionDeclarations": [with(&json!({"name": "f"}), &more)]}]})
}

#[tokio::test]
async fn fields_and_limits_are_validated() {
    let upstream = Upstream::start().await;
    let config = |config: Value| json!({"generationConfig": config});
    let object =
        |more: Value| with(&json!({"type": "object", "properties": {"a": {"type": "string"}}}), &more);
    let parameters = |schema: Value| declared(json!({"parameters": schema}));
    let calling = |config: Value| json!({"toolConfig": {"functionCallingConfig": config}});
    for (model, changes, message) in [
        ("text", json!({"surprise": 1}), "Unknown name \"surprise\""),
        ("text", json!({"contents": []}), "contents is not specified"),
        ("text", json!({"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}), "valid role"),
        ("text", json!({"contents": [{"role": "user", "parts": []}]}), "must not be empty"),
        (
            "text",
            json!({"contents": [{"role": "user", "parts": [{"type": "text", "text": "x"}]}]}),
            "Unknown name \"type\"",
        ),
        ("text", json!({"contents": [{"role": "user", "parts": [{"thought": true}]}]}), "oneof"),
        (
            "text",
            json!({"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "%"}}]}]}),
            "Base64",
        ),
        (
            "text",
            json!({"contents": [user("a"), {"role": "model", "parts": [{"functionCall": {"name": "f", "args": "{}"}}]}]}),
            "args",
        ),
        ("text", config(json!({"max_tokens": 1})), "Unknown name \"maxTokens\""),
        ("text", config(json!({"temperature": 3})), "temperature"),
        ("text", config(json!({"stopSequences": ["1", "2", "3", "4", "5", "6"]})), "at most 5"),
        ("text", config(json!({"responseMimeType": "text/html"})), "response_mime_type"),
        ("text", config(json!({"responseSchema": {"type": "string"}})), "response_mime_type"),
        (
            "gemini-2.5-flash~text",
            config(json!({"thinkingConfig": {"thinkingLevel": "LOW"}})),
            "Thinking level",
        ),
        ("gemini-3-pro~text", config(json!({"thinkingConfig": {"thinkingBudget": 100}})), "Thinking budget"),
        ("gemini-3-pro~text", config(json!({"thinkingConfig": {"thinkingLevel": "HUGE"}})), "TYPE_ENUM"),
        ("text", json!({"safetySettings": [{"category": "X", "threshold": "OFF"}]}), "TYPE_ENUM"),
        ("text", calling(json!({"mode": "SOME"})), "TYPE_ENUM"),
        ("text", calling(json!({"mode": "AUTO", "allowedFunctionNames": ["f"]})), "only be set"),
        ("text", declared(json!({"name": "1f"})), "Invalid function name"),
        ("text", json!({"tools": [{"functionDeclarations": [{"name": "f"}, {"name": "f"}]}]}), "Duplicate"),
        ("text", json!({"tools": [{"function": {}}]}), "Unknown name \"function\""),
        ("text", parameters(object(json!({"additionalProperties": false}))), "additionalProperties"),
        ("text", parameters(object(json!({"properties": {"a": {"$ref": "#"}}}))), "$ref"),
        (
            "text",
            parameters(object(json!({"properties": {"a": {"type": ["string", "null"]}}}))),
            "not repeating",
        ),
        ("text", parameters(object(json!({"properties": {"a": {"type": "text"}}}))), "TYPE_ENUM"),
        ("text", parameters(object(json!({"properties": {"a": {"type": "array"}}}))), "items: missing"),
        (
            "text",
            parameters(object(json!({"properties": {"a": {"type": "string", "format": "uri"}}}))),
            "format",
        ),
        ("text", parameters(object(json!({"properties": {"a": {"type": "integer", "enum": [1]}}}))), "enum"),
        ("text", parameters(json!({"type": "OBJECT"})), "non-empty"),
        ("text", parameters(object(json!({"required": ["b"]}))), "not defined"),
    ] {
        let response = generate_content(&upstream, model, changes.clone()).await.expect_error(400);
        assert!(response.contains(message), "{changes}: {response}");
    }
    let any = json!({"type": ["object", "null"], "additionalProperties": false, "properties": {"a": {"$ref": "#/$defs/x"}}});
    for changes in [
        declared(json!({"parametersJsonSchema": any})),
        parameters(object(json!({"required": ["a"]}))),
        config(json!({"responseMimeType": "application/json", "responseJsonSchema": any})),
        json!({"system_instruction": {"parts": [{"text": "be kind"}]}}),
    ] {
        generate_content(&upstream, "text", changes).await.expect_ok();
    }
}

#[tokio::test]
async fn a_credential_is_required() {
    let upstream = Upstream::start().await;
    let body = json!({"contents": [user("hi")]}).to_string();
    let path = "/v1beta/models/gemini-3-pro%7Etext:generateContent";
    let response = ask_with(&upstream, "POST", path, &[("authorization", "Bearer x")], &body).await;
    response.expect_error(401);
    assert_eq!(response.json()["error"]["status"], "UNAUTHENTICATED");
    ask_with(&upstream, "POST", &format!("{path}?key=x"), &[], &body).await.expect_ok();
    let list = ask_with(&upstream, "GET", "/v1beta/models", &[KEY], "").await.expect_ok();
    assert!(
        list["models"]
            .as_array()
            .unwrap()
            .iter()
            .any(|model| model["name"] == "models/gemini-3-pro~parallel-tools")
    );
}

fn calls(names: &[&str]) -> Value {
    let part = |name: &&str| json!({"functionCall": {"name": name, "args": {}}});
    json!({"role": "model", "parts": names.iter().map(part).collect::<Vec<_>>()})
}

fn responses(names: &[&str]) -> Value {
    let part = |name: &&str| json!({"functionResponse": {"name": name, "response": {"result": "sunny"}}});
    json!({"role": "user", "parts": names.iter().map(part).collect::<Vec<_>>()})
}

#[tokio::test]
async fn function_responses_must_follow_their_calls() {
    let upstream = Upstream::start().await;
    for (contents, message) in [
        (json!([user("a"), calls(&["f"])]), "followed by"),
        (json!([calls(&["f"]), responses(&["f"])]), "immediately after a user turn"),
        (json!([user("a"), responses(&["f"])]), "immediately after a function call"),
        (json!([user("a"), calls(&["f"]), user("b")]), "number of function response"),
        (json!([user("a"), calls(&["f", "g"]), responses(&["f"])]), "number of function response"),
        (json!([user("a"), calls(&["f"]), responses(&["g"])]), "names match"),
    ] {
        let response =
            generate_content(&upstream, "tools", json!({"contents": contents})).await.expect_error(400);
        assert!(response.contains(message), "{contents}: {response}");
    }
    let good = json!({"contents": [user("a"), calls(&["f", "g"]), responses(&["g", "f"])]});
    let answer = generate_content(&upstream, "tools", good).await.expect_ok();
    assert_eq!(answer["candidates"][0]["content"]["parts"][0]["text"], "The tools said: sunny; sunny");
}

#[tokio::test]
async fn thought_signatures_are_verified() {
    let upstream = Upstream::start().await;
    let model = "gemini-3-pro~parallel-tools";
    let first = generate_content(&upstream, model, json!({})).await.expect_ok();
    let content = &first["candidates"][0]["content"];
    assert!(
        content["parts"][0]["thoughtSignature"].is_string()
            && content["parts"][1].get("thoughtSignature").is_none()
    );
    let answers = responses(&["get_weather", "get_weather"]);
    let again = |content: &Value| json!({"contents": [user("a"), content, answers]});
    generate_content(&upstream, model, again(content)).await.expect_ok();
    let signed = |signature: Value| {
        let mut content = content.clone();
        content["parts"][0]["thoughtSignature"] = signature;
        content
    };
    let missing = generate_content(&upstream, model, again(&signed(Value::Null))).await.expect_error(400);
    assert!(missing.contains("missing a thought_signature"), "{missing}");
    let foreign =
        generate_content(&upstream, model, again(&signed(json!("b3RoZXI=")))).await.expect_error(400);
    assert!(foreign.contains("Corrupted"), "{foreign}");
    generate_content(&upstream, model, again(&signed(json!("skip_thought_signature_validator"))))
        .await
        .expect_ok();
    generate_content(&upstream, "gemini-2.5-flash~tools", again(&signed(Value::Null))).await.expect_ok();
    let earlier = json!({"contents": [user("a"), signed(Value::Null), answers, {"role": "model", "parts": [{"text": "x"}]}, user("b")]});
    generate_content(&upstream, model, earlier).await.expect_ok();
}

#[tokio::test]
async fn stream_document_and_bill_agree() {
    let upstream = Upstream::start().await;
    let thoughts = json!({"generationConfig": {"thinkingConfig": {"includeThoughts": true}}});
    for model in [
        "text",
        "long",
        "tools",
        "parallel-tools",
        "reasoning",
        "cached",
        "empty",
        "max-tokens",
        "content-filter",
        "refusal",
    ] {
        upstream.reset();
        let whole = generate_content(&upstream, model, thoughts.clone()).await.expect_ok();
        let response = stream(&upstream, model, thoughts.clone()).await;
        assert!(response.body.ends_with("\r\n\r\n") && !response.body.contains("[DONE]"));
        let last = response.chunks().pop().unwrap();
        assert_eq!(last["candidates"][0]["finishReason"], whole["candidates"][0]["finishReason"], "{model}");
        for (usage, line) in [&whole["usageMetadata"], &last["usageMetadata"]].iter().zip(upstream.bill()) {
            let number = |name: &str| usage[name].as_u64().unwrap_or(0);
            assert_eq!(
                number("candidatesTokenCount") + number("thoughtsTokenCount"),
                line.completion_tokens,
                "{model}"
            );
            assert_eq!(number("promptTokenCount"), line.prompt_tokens, "{model}");
            assert_eq!(number("cachedContentTokenCount"), line.cached_tokens, "{model}");
            assert_eq!(number("thoughtsTokenCount"), line.reasoning_tokens, "{model}");
            assert_eq!((line.dialect.as_str(), line.finished), ("generate", true));
        }
        assert_eq!(whole["responseId"], upstream.bill()[0].id);
    }
    let listed = post(&upstream, "text", "streamGenerateContent", json!({})).await.expect_ok();
    assert!(listed.as_array().unwrap().len() > 2);
    let counted = post(&upstream, "text", "countTokens", json!({})).await.expect_ok();
    assert_eq!(counted["totalTokens"], 11);
}

#[tokio::test]
async fn failures_have_googles_shape() {
    let upstream = Upstream::start().await;
    let response = generate_content(&upstream, "error-429", json!({})).await;
    response.expect_error(429);
    assert_eq!(
        (&response.json()["error"]["code"], &response.json()["error"]["status"]),
        (&json!(429), &json!("RESOURCE_EXHAUSTED"))
    );
    for (model, events) in [("error-in-stream", 1), ("error-after-content", 4)] {
        let chunks = stream(&upstream, model, json!({})).await.chunks();
        assert_eq!(
            (chunks.len(), &chunks.last().unwrap()["error"]["status"]),
            (events, &json!("UNAVAILABLE"))
        );
    }
    let blocked = generate_content(&upstream, "content-filter", json!({})).await.expect_ok();
    assert!(blocked["candidates"][0].get("content").is_none());
    let refused = generate_content(&upstream, "refusal", json!({})).await.expect_ok();
    assert!(refused.get("candidates").is_none() && refused["promptFeedback"]["blockReason"].is_string());
}
