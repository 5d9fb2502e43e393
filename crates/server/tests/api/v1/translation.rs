//! Tests of translation between all clients and models: dropped parameters are reported, billed usage is recorded,
//! faults are returned.

mod content;
mod faults;
mod streams;
mod thinking;

use pipeline::policy::Policy;
use serde_json::{Value, json};

use crate::app::{self, Answer, CLIENTS, Client, TestApp, TestSettings, UPSTREAMS};

/// Whether the upstream speaks the client's format, so that nothing is translated.
fn is_native(client: Client, upstream: &str) -> bool {
    match client {
        Client::Chat => {
            !["anthropic", "gemini", "openai/gpt-5-codex"].iter().any(|name| upstream.starts_with(name))
        }
        Client::Responses => upstream.starts_with("openai"),
        Client::Messages => upstream.starts_with("anthropic"),
        Client::Gemini => upstream.starts_with("gemini"),
    }
}

/// A request with a parameter that this upstream does not support, and the parameter's name.
fn lossy(client: Client, model: &str) -> (Value, &'static str) {
    let mut body = client.body(model, "How are you today?");
    let (field, value, name) = match client {
        Client::Chat => ("seed", json!(7), "seed"),
        Client::Responses => ("truncation", json!("auto"), "truncation"),
        Client::Messages => ("top_k", json!(5), "top_k"),
        Client::Gemini => {
            ("generationConfig", json!({"topK": 5, "maxOutputTokens": 64}), "generationConfig.topK")
        }
    };
    body[field] = value;
    (body, name)
}

/// The pairs of client and upstream that drop the parameter of `lossy`.
const LOSSES: [(Client, &str); 4] = [
    (Client::Chat, "anthropic/claude-sonnet-4-5~"),
    (Client::Responses, "anthropic/claude-sonnet-4-5~"),
    (Client::Messages, "openai/gpt-4.1~"),
    (Client::Gemini, "openai/gpt-4.1~"),
];

fn dropped(answer: &Answer) -> Vec<String> {
    let header = answer.header("x-gateway-dropped-params").unwrap_or_default();
    header.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

#[tokio::test]
async fn untranslatable_content_is_named() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for (client, upstream) in LOSSES {
            for stream in [false, true] {
                let model = format!("{upstream}text");
                let (body, name) = lossy(client, &model);
                let answer = client.send(&app, &model, stream, body).send().await.expect_status(200);
                assert_eq!(dropped(&answer), [name], "{client:?} {stream}");
            }
        }
        for client in CLIENTS {
            for upstream in UPSTREAMS {
                let model = format!("{upstream}text");
                let answer = client.ask(&app, &model, false).send().await.expect_status(200);
                assert_eq!(dropped(&answer), Vec::<String>::new(), "{client:?} {model}");
                if is_native(client, upstream) && upstream != "openai/gpt-5-codex~" {
                    let (body, _) = lossy(client, &model);
                    let answer = client.send(&app, &model, false, body).send().await.expect_status(200);
                    assert_eq!(answer.header("x-gateway-dropped-params"), None, "{client:?} {model}");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn strictly_nothing_is_dropped() {
    let settings = || TestSettings {
        policy: Policy { strict_translation: true, ..Policy::default() },
        ..TestSettings::every_dialect()
    };
    app::each_with(settings, async |app| {
        for (client, upstream) in LOSSES {
            let model = format!("{upstream}text");
            let (body, name) = lossy(client, &model);
            let answer = client.send(&app, &model, false, body).send().await;
            assert_eq!(answer.status, 400, "{client:?}: {}", answer.text());
            match client {
                Client::Messages => {
                    assert_eq!(answer.anthropic_error(), "invalid_request_error");
                    assert!(answer.text().contains(name), "{}", answer.text());
                }
                Client::Gemini => assert_eq!(answer.google_error().1.as_deref(), Some(name)),
                _ => assert_eq!(answer.refusal(), (400, "invalid_parameter".into(), Some(name.into()))),
            }
        }
        assert!(app.upstream.requests().is_empty(), "nothing of that was sent on");
        for client in CLIENTS {
            for upstream in UPSTREAMS {
                let answer = client.ask(&app, &format!("{upstream}text"), false).send().await;
                assert_eq!(answer.status, 200, "{client:?} {upstream}: {}", answer.text());
            }
        }
    })
    .await;
}

#[tokio::test]
async fn chat_clients_see_the_serving_model() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in UPSTREAMS {
            let model = format!("{upstream}text");
            let (instance, bare) = model.split_once('/').unwrap();
            let whole = Client::Chat.ask(&app, &model, false).send().await.expect_status(200);
            let body = whole.json();
            assert_eq!((&body["object"], &body["provider"]), (&json!("chat.completion"), &json!(instance)));
            assert_eq!(body["model"], bare);
            assert!(body["latency"].as_str().is_some_and(|latency| latency.ends_with("ms")), "{body:#}");
            assert_eq!(body["choices"][0]["finish_reason"], "stop");
            assert_eq!(whole.header("x-gateway-provider"), Some(instance));
            assert_eq!(whole.header("x-gateway-model"), Some(&*model));

            let stream = Client::Chat.ask(&app, &model, true).send().await.expect_status(200);
            Client::Chat.check_end(&stream);
            assert!(
                !stream.text().contains("\"prompt_tokens\""),
                "usage was not asked for: {}",
                stream.text()
            );
            let chunks = stream.named_events();
            assert_eq!(chunks[0].1["choices"][0]["delta"]["role"], "assistant", "{}", stream.text());
            let one_id = chunks.iter().all(|(_, chunk)| chunk["id"] == chunks[0].1["id"]);
            assert!(one_id && chunks[0].1["object"] == "chat.completion.chunk", "{}", stream.text());
            let finished = chunks.iter().filter(|(_, chunk)| chunk["choices"][0]["finish_reason"] == "stop");
            assert_eq!(finished.count(), 1, "{}", stream.text());
        }
    })
    .await;
}

const BEHAVIOURS: [&str; 4] = ["text", "cached", "reasoning", "parallel-tools"];

fn with_tool_and_thought(client: Client, model: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let mut body = client.body(model, "How are you today?");
    let thinks = model.ends_with("reasoning") && !model.contains("gpt-4.1") && !model.contains("llama");
    match client {
        Client::Chat => {
            body["tools"] =
                json!([{"type": "function", "function": {"name": "get_weather", "parameters": schema}}]);
            if thinks {
                body["reasoning_effort"] = json!("low");
            }
        }
        Client::Responses => {
            body["tools"] =
                json!([{"type": "function", "name": "get_weather", "parameters": schema, "strict": false}]);
            if thinks {
                body["reasoning"] = json!({"effort": "low", "summary": "auto"});
            }
        }
        Client::Messages => {
            body["tools"] = json!([{"name": "get_weather", "input_schema": schema}]);
            body["max_tokens"] = json!(4096);
            if thinks {
                body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
            }
        }
        Client::Gemini => {
            body["tools"] =
                json!([{"functionDeclarations": [{"name": "get_weather", "parametersJsonSchema": schema}]}]);
            if thinks {
                body["generationConfig"] =
                    json!({"thinkingConfig": {"includeThoughts": true, "thinkingBudget": 1024}});
            }
        }
    }
    body
}

/// Total input, cache reads, cache writes and output, as reported in the client's format.
fn reported_usage(client: Client, answer: &Answer, stream: bool) -> (u64, u64, u64, u64) {
    let documents: Vec<Value> = match stream {
        true => answer.named_events().into_iter().map(|(_, data)| data).collect(),
        false => vec![answer.json()],
    };
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let last =
        |field: &str| documents.iter().rev().find(|data| data[field].is_object()).map(|data| &data[field]);
    match client {
        Client::Chat => {
            let usage = last("usage").unwrap_or(&Value::Null);
            let details = &usage["prompt_tokens_details"];
            (
                number(&usage["prompt_tokens"]),
                number(&details["cached_tokens"]),
                number(&details["cache_write_tokens"]),
                number(&usage["completion_tokens"]),
            )
        }
        Client::Responses => {
            let document = documents.last().unwrap();
            let usage = if stream { &document["response"]["usage"] } else { &document["usage"] };
            let details = &usage["input_tokens_details"];
            (
                number(&usage["input_tokens"]),
                number(&details["cached_tokens"]),
                number(&details["cache_write_tokens"]),
                number(&usage["output_tokens"]),
            )
        }
        Client::Messages => {
            let usage = last("usage").unwrap_or(&Value::Null);
            let (read, written) =
                (number(&usage["cache_read_input_tokens"]), number(&usage["cache_creation_input_tokens"]));
            (number(&usage["input_tokens"]) + read + written, read, written, number(&usage["output_tokens"]))
        }
        Client::Gemini => {
            let usage = last("usageMetadata").unwrap_or(&Value::Null);
            let output = number(&usage["candidatesTokenCount"]) + number(&usage["thoughtsTokenCount"]);
            (number(&usage["promptTokenCount"]), number(&usage["cachedContentTokenCount"]), 0, output)
        }
    }
}

/// Checks the usage of every client with every upstream in every behaviour.
async fn check_bill(app: &TestApp, stream: bool) {
    for behaviour in BEHAVIOURS {
        for client in CLIENTS {
            for upstream in UPSTREAMS {
                check_usage(app, client, &format!("{upstream}{behaviour}"), stream).await;
            }
        }
    }
    let bill = app.upstream.bill();
    let rows = app.receipts(BEHAVIOURS.len() * CLIENTS.len() * UPSTREAMS.len()).await;
    assert_eq!(rows.len(), bill.len());
    for (row, line) in rows.iter().zip(&bill) {
        check_row(row, line);
    }
}

#[tokio::test]
async fn usage_is_the_upstreams_bill_through_every_pair() {
    app::each_with(TestSettings::every_dialect, async |app| check_bill(&app, false).await).await;
}

#[tokio::test]
async fn usage_is_the_upstreams_bill_through_every_streamed_pair() {
    app::each_with(TestSettings::every_dialect, async |app| check_bill(&app, true).await).await;
}

async fn check_usage(app: &TestApp, client: Client, model: &str, stream: bool) {
    let mut body = with_tool_and_thought(client, model);
    if stream && client == Client::Chat {
        body["stream_options"] = json!({"include_usage": true});
    }
    let answer = client.send(app, model, stream, body).send().await;
    assert_eq!(answer.status, 200, "{client:?} {model} {stream}: {}", answer.text());
    let line = app.upstream.bill().pop().unwrap();
    let (input, read, written, output) = reported_usage(client, &answer, stream);
    let of = format!("{client:?} {model} {stream}: {}", answer.text());
    assert_eq!((input, output), (line.prompt_tokens, line.completion_tokens), "{of}");
    assert_eq!(read, line.cached_tokens, "{of}");
    if matches!(client, Client::Messages | Client::Responses) {
        assert_eq!(written, line.cache_write_5m_tokens + line.cache_write_1h_tokens, "{of}");
    }
}

#[track_caller]
fn check_row(row: &Value, line: &testkit::BillLine) {
    let counts =
        ["input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens", "total_tokens"];
    let found = counts.map(|name| row[name].as_u64().unwrap());
    let billed = [
        line.prompt_tokens,
        line.completion_tokens,
        line.cached_tokens,
        line.cache_write_5m_tokens + line.cache_write_1h_tokens,
        line.prompt_tokens + line.completion_tokens,
    ];
    assert_eq!(found, billed, "{} {} {row:#}", line.dialect, line.model);
    // Anthropic does not tell how much of its output was thought.
    if line.dialect != "messages" {
        assert_eq!(row["reasoning_tokens"].as_u64(), Some(line.reasoning_tokens), "{} {row:#}", line.model);
    }
    assert_eq!((&row["estimated"], &row["model"]), (&json!(false), &json!(line.model)), "{row:#}");
    assert_eq!(row["provider_id"], line.id, "{row:#}");
}
