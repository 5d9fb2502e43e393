//! Checks whether Anthropic would accept a request, as far as the request alone shows.

use std::collections::HashSet;

use serde_json::Value;
use wire::vendors::{self, ThinkingStyle};

fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        content => content.as_array().unwrap().clone(),
    }
}

fn ids<'a>(blocks: &'a [Value], kind: &str, field: &str) -> Vec<&'a str> {
    blocks.iter().filter(|block| block["type"] == kind).map(|block| block[field].as_str().unwrap()).collect()
}

/// Panics with the reason of the rejection.
#[track_caller]
pub fn check(body: &Value, model: &str) {
    messages(body, model);
    settings(body, model);
    let marks = body.to_string().matches("\"cache_control\"").count();
    assert!(marks <= 4, "{marks} cache marks");
}

#[track_caller]
fn messages(body: &Value, model: &str) {
    let rules = (vendors::find("anthropic").unwrap().rules)(model);
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "user", "the first message is the user's");
    let mut called: Vec<String> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut last = "";
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap();
        assert_ne!(role, last, "roles alternate");
        let blocks = blocks(&message["content"]);
        assert!(!blocks.is_empty(), "an empty message");
        for block in blocks.iter().filter(|block| block["type"] == "text") {
            assert!(!block["text"].as_str().unwrap().trim().is_empty(), "an empty text");
        }
        match role {
            "user" => {
                let results = ids(&blocks, "tool_result", "tool_use_id");
                let found: HashSet<&str> = results.iter().copied().collect();
                assert_eq!(found, called.iter().map(String::as_str).collect(), "results answer the calls");
                assert_eq!(found.len(), results.len(), "one result each");
                let first = blocks.iter().take_while(|block| block["type"] == "tool_result").count();
                assert_eq!(first, results.len(), "results come first");
                called.clear();
            }
            "assistant" => {
                assert!(called.is_empty(), "calls without results");
                called = ids(&blocks, "tool_use", "id").into_iter().map(str::to_owned).collect();
                for id in &called {
                    assert!(seen.insert(id.clone()), "the id {id} twice");
                    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
                    assert!(!id.is_empty() && id.bytes().all(fits), "the id {id}");
                }
                for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
                    assert!(block["input"].is_object(), "an input is an object");
                }
            }
            "system" => {
                assert!(rules.system_turns && last == "user", "a system message out of place");
                assert!(messages.get(index + 1).is_none_or(|next| next["role"] == "assistant"));
            }
            other => panic!("the role {other}"),
        }
        last = role;
    }
    assert!(called.is_empty(), "calls without results");
    assert!(rules.prefill || last != "assistant", "prefill");
}

#[track_caller]
fn settings(body: &Value, model: &str) {
    let rules = (vendors::find("anthropic").unwrap().rules)(model);
    let max_tokens = body["max_tokens"].as_u64().unwrap();
    let has = |name: &str| body.get(name).is_some();
    let thinking = body["thinking"]["type"].as_str();
    let on = matches!(thinking, Some("enabled" | "adaptive"));
    match thinking {
        Some("enabled") => {
            assert_eq!(rules.thinking, ThinkingStyle::Budget);
            let budget = body["thinking"]["budget_tokens"].as_u64().unwrap();
            assert!(budget >= 1024 && budget < max_tokens, "budget {budget} of {max_tokens}");
        }
        Some("adaptive") => assert_eq!(rules.thinking, ThinkingStyle::Adaptive),
        other => assert!(other.is_none() || other == rules.thinking_off, "thinking {other:?}"),
    }
    assert!(rules.sampling || !(has("temperature") || has("top_p") || has("top_k")), "sampling");
    assert!(!(has("temperature") && has("top_p")), "temperature with top_p");
    assert!(body["temperature"].as_f64().is_none_or(|found| (0.0..=1.0).contains(&found)));
    assert!(!on || !(has("temperature") || has("top_k")), "sampling while thinking");
    let effort = body["output_config"]["effort"].as_str();
    assert!(effort.is_none_or(|found| rules.efforts.iter().any(|effort| effort.as_str() == found)));
    let choice = body["tool_choice"]["type"].as_str();
    let forced = matches!(choice, Some("any" | "tool"));
    assert!(!forced || (rules.forced_tools && !on), "a forced tool");
    assert!(choice.is_none() || has("tools"), "a choice among no tools");
    assert!(rules.native_schema || body["output_config"].get("format").is_none(), "a schema");
    for stop in body["stop_sequences"].as_array().into_iter().flatten() {
        assert!(!stop.as_str().unwrap().trim().is_empty(), "an empty stop sequence");
    }
}
