//! Tests of reasoning state: signatures kept across tool loops, and encrypted state that only its own model receives.

use serde_json::{Value, json};

use crate::app::{self, Answer, Client, TestApp, TestSettings};

const CLAUDE: &str = "anthropic/claude-sonnet-4-5~parallel-tools";
const GEMINI: &str = "gemini/gemini-3-pro~parallel-tools";
const MARK: &str = "ghs1_";

/// A chat request of a client that supports tools and no signatures.
fn chat(model: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    json!({
        "model": model, "reasoning_effort": "low", "max_completion_tokens": 8192,
        "messages": [{"role": "user", "content": "How is the weather?"}],
        "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": schema}}],
    })
}

/// The tool calls of an assistant turn, as a plain chat client keeps them.
fn calls_of(answer: &Answer, stream: bool) -> Vec<Value> {
    if !stream {
        return answer.json()["choices"][0]["message"]["tool_calls"].as_array().unwrap().clone();
    }
    let mut calls: Vec<Value> = Vec::new();
    for (_, data) in answer.named_events() {
        for delta in data["choices"][0]["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = delta["index"].as_u64().unwrap() as usize;
            if index == calls.len() {
                let function = json!({"name": delta["function"]["name"], "arguments": ""});
                calls.push(json!({"id": delta["id"], "type": "function", "function": function}));
            }
            let so_far = calls[index]["function"]["arguments"].as_str().unwrap();
            let more = delta["function"]["arguments"].as_str().unwrap_or_default();
            calls[index]["function"]["arguments"] = json!(format!("{so_far}{more}"));
        }
    }
    calls
}

fn with_results(mut body: Value, calls: &[Value]) -> Value {
    let turns = body["messages"].as_array_mut().unwrap();
    turns.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
    for (index, call) in calls.iter().enumerate() {
        turns.push(json!({"role": "tool", "tool_call_id": call["id"], "content": format!("sun {index}")}));
    }
    body
}

fn sent(app: &TestApp) -> Value {
    serde_json::from_slice(&app.upstream.requests().last().unwrap().body).unwrap()
}

/// The signature that was sent back to the provider.
fn signature(sent: &Value) -> Option<String> {
    let found = sent["messages"][1]["content"][0]["signature"].as_str();
    let parts = sent["contents"][1]["parts"].as_array().into_iter().flatten();
    let thought = parts.filter_map(|part| part["thoughtSignature"].as_str()).next();
    found.or(thought).map(str::to_owned)
}

#[tokio::test]
async fn a_chat_clients_tool_loop_gives_signatures_back() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for model in [CLAUDE, GEMINI] {
            for stream in [false, true] {
                let answer =
                    Client::Chat.send(&app, model, stream, chat(model)).send().await.expect_status(200);
                let calls = calls_of(&answer, stream);
                assert_eq!(calls.len(), 2, "{model} {stream}: {}", answer.text());
                let next = with_results(chat(model), &calls);
                let answer = Client::Chat.send(&app, model, stream, next).send().await.expect_status(200);
                let text = Client::Chat.text(&answer);
                assert!(
                    text.starts_with("The tools said: ") && text.contains("sun 1"),
                    "{model} {stream}: {text}"
                );
                assert!(signature(&sent(&app)).is_some(), "{model} {stream}: {:#}", sent(&app));
            }
        }
        let claude = sent_to(&app, "/v1/messages");
        let blocks = claude["messages"][1]["content"].as_array().unwrap();
        let kinds: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["thinking", "tool_use", "tool_use"]);
        let results = claude["messages"][2]["content"].as_array().unwrap();
        assert_eq!(results.len(), 2, "the results of one turn are one turn: {claude:#}");
    })
    .await;
}

fn sent_to(app: &TestApp, path: &str) -> Value {
    let requests = app.upstream.requests();
    let request = requests.iter().rev().find(|request| request.path.starts_with(path)).unwrap();
    serde_json::from_slice(&request.body).unwrap()
}

#[tokio::test]
async fn signatures_are_their_owners() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let (_, mine) = app.key(json!({"name": "mine"})).await;
        let (_, theirs) = app.key(json!({"name": "theirs"})).await;
        for model in [CLAUDE, GEMINI] {
            let answer =
                app.post("/v1/chat/completions", chat(model)).key(&mine).send().await.expect_status(200);
            let next = with_results(chat(model), &calls_of(&answer, false));
            app.post("/v1/chat/completions", next.clone()).key(&mine).send().await.expect_status(200);
            let own = signature(&sent(&app)).unwrap_or_else(|| panic!("{:#}", sent(&app)));
            // The conversation goes on for others too, without what is not theirs.
            let answer = app.post("/v1/chat/completions", next).key(&theirs).send().await;
            assert_eq!(answer.status, 200, "{model}: {}", answer.text());
            assert!(!sent(&app).to_string().contains(&own), "{model}: {:#}", sent(&app));
        }
    })
    .await;
}

/// A turn of a client that keeps its own history and stores nothing, like Codex.
fn stateless(model: &str, input: Value) -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    json!({
        "model": model, "store": false, "include": ["reasoning.encrypted_content"], "input": input,
        "reasoning": {"effort": "low", "summary": "auto"}, "max_output_tokens": 8192,
        "tools": [{"type": "function", "name": "get_weather", "parameters": schema, "strict": false}],
    })
}

#[tokio::test]
async fn encrypted_reasoning_returns_only_to_its_provider() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for model in [CLAUDE, GEMINI] {
            let mut items = vec![json!({"role": "user", "content": "How is the weather?"})];
            let body = stateless(model, json!(items));
            let answer = app.post("/v1/responses", body).send().await.expect_status(200).json();
            let output = answer["output"].as_array().unwrap().clone();
            let mut reasoning = output.iter().filter(|item| item["type"] == "reasoning");
            let sealed = reasoning.find_map(|item| item["encrypted_content"].as_str());
            let sealed = sealed.unwrap_or_else(|| panic!("{model}: {answer:#}"));
            assert!(!sealed.is_empty());
            items.extend(output.iter().cloned());
            for call in output.iter().filter(|item| item["type"] == "function_call") {
                items.push(
                    json!({"type": "function_call_output", "call_id": call["call_id"], "output": "sun"}),
                );
            }
            let next = app.post("/v1/responses", stateless(model, json!(items))).send().await;
            assert_eq!(next.status, 200, "{model}: {}", next.text());
            assert!(Client::Responses.text(&next).contains("The tools said: "), "{}", next.text());
            assert!(signature(&sent(&app)).is_some(), "{model}: {:#}", sent(&app));

            for other in [
                "openai/gpt-5-mini~parallel-tools",
                "groq/llama-3.3-70b~parallel-tools",
                if model == CLAUDE { GEMINI } else { CLAUDE },
                "anthropic/claude-opus-4-8~parallel-tools",
            ] {
                let next = app.post("/v1/responses", stateless(other, json!(items))).send().await;
                assert_eq!(next.status, 200, "{model} then {other}: {}", next.text());
                let sent = sent(&app).to_string();
                assert!(!sent.contains(MARK) && !sent.contains(sealed), "{model} then {other}: {sent}");
            }
        }
    })
    .await;
}

/// Reasoning state that the gateway stores is sent only to the model that made it.
#[tokio::test]
async fn stored_reasoning_returns_only_to_its_provider() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for model in [CLAUDE, GEMINI] {
            let mut body = stateless(model, json!("How is the weather?"));
            body["store"] = json!(true);
            let first = app.post("/v1/responses", body).send().await.expect_status(200).json();
            let output = first["output"].as_array().unwrap().iter();
            let results: Vec<Value> = output
                .filter(|item| item["type"] == "function_call")
                .map(|call| json!({"type": "function_call_output", "call_id": call["call_id"], "output": "sun"}))
                .collect();
            for next in [model, "openai/gpt-5-mini~parallel-tools", "groq/llama-3.3-70b~parallel-tools"] {
                let mut body = stateless(next, json!(results));
                body["previous_response_id"] = first["id"].clone();
                let answer = app.post("/v1/responses", body).send().await;
                assert_eq!(answer.status, 200, "{model} then {next}: {}", answer.text());
                let sent = sent(&app);
                assert!(!sent.to_string().contains(MARK), "{model} then {next}: {sent:#}");
                assert_eq!(signature(&sent).is_some(), next == model, "{model} then {next}: {sent:#}");
            }
        }
    })
    .await;
}

/// A thinking block made elsewhere, shown to a client of messages, and sent back by it.
#[tokio::test]
async fn foreign_thinking_is_sealed_for_messages_clients() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let body = |model: &str| {
            json!({
                "model": model, "max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024},
                "messages": [{"role": "user", "content": "How is the weather?"}],
                "tools": [{"name": "get_weather", "input_schema": {"type": "object", "properties": {}}}],
            })
        };
        for model in [GEMINI, CLAUDE, "openai/gpt-5-codex~parallel-tools"] {
            let said = app.post("/v1/messages", body(model)).send().await.expect_status(200).json();
            let content = said["content"].as_array().unwrap();
            let results: Vec<Value> = content
                .iter()
                .filter(|block| block["type"] == "tool_use")
                .map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "sun"}))
                .collect();
            assert_eq!(results.len(), 2, "{model}: {said:#}");
            for next in [model, GEMINI, CLAUDE, "groq/llama-3.3-70b~parallel-tools"] {
                let mut body = body(next);
                let turns = body["messages"].as_array_mut().unwrap();
                turns.push(json!({"role": "assistant", "content": content}));
                turns.push(json!({"role": "user", "content": results}));
                let answer = app.post("/v1/messages", body).send().await;
                assert_eq!(answer.status, 200, "{model} then {next}: {}", answer.text());
                assert!(!sent(&app).to_string().contains(MARK), "{model} then {next}: {:#}", sent(&app));
            }
        }
    })
    .await;
}

/// Redacted thoughts have nothing to read and are given back as they came.
#[tokio::test]
async fn redacted_thinking_round_trips() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let model = "anthropic/claude-sonnet-4-5~redacted";
        let mut items = vec![json!({"role": "user", "content": "Think."})];
        let answer =
            app.post("/v1/responses", stateless(model, json!(items))).send().await.expect_status(200).json();
        items.extend(answer["output"].as_array().unwrap().iter().cloned());
        items.push(json!({"role": "user", "content": "And now?"}));
        app.post("/v1/responses", stateless(model, json!(items))).send().await.expect_status(200);
        let sent = sent(&app);
        let block = &sent["messages"][1]["content"][0];
        assert_eq!(block["type"], "redacted_thinking", "{sent:#}");
        assert!(block["data"].as_str().is_some_and(|data| !data.starts_with(MARK)), "{sent:#}");
    })
    .await;
}
