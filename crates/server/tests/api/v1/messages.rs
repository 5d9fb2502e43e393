//! Tests of `/v1/messages`: Anthropic's API, passed through to Anthropic and translated for other providers.

use pipeline::policy::Policy;
use serde_json::{Value, json};
use testkit::FaultScript;

use crate::app::{self, Answer, Client, MASTER, TestApp, TestSettings, UPSTREAM_KEY, UPSTREAMS, message};

const PATH: &str = "/v1/messages";
const NATIVE: &str = "anthropic/claude-sonnet-4-5~";

fn last_body(app: &TestApp) -> Value {
    serde_json::from_slice(&app.upstream.requests().last().unwrap().body).unwrap()
}

#[tokio::test]
async fn anthropic_gets_every_byte_and_so_does_its_client() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let body = concat!(
            "{ \"max_tokens\":64, \"model\" :\"anthropic/claude-next\",\t\"x_unknown\": {\"b\":1,\"a\":[ 0.10 ]},\n",
            "\"messages\": [{\"role\":\"user\",\"content\":[{\"type\":\"new_kind\",\"x\":\"caf\\u00e9\"}]}],",
            "\"context_management\":{\"edits\":[]} }"
        );
        let said = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-next","content":[{"type":"newer","y":[1.50]}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4,"x":1}}"#;
        app.upstream.push(FaultScript::status(200, "application/json", said));
        let call = app.post("/v1/messages?beta=true", json!({})).body(body).anonymous();
        let call = call.header("x-api-key", MASTER).header("anthropic-version", "2023-06-01");
        let answer = call.header("anthropic-beta", "a-1,b-2").send().await.expect_status(200);
        assert_eq!(answer.text(), said.replace("claude-next", "anthropic/claude-next"));
        assert_eq!(answer.header("x-gateway-model"), Some("anthropic/claude-next"));
        let request = &app.upstream.requests()[0];
        let sent = String::from_utf8(request.body.clone()).unwrap();
        assert_eq!(sent, body.replace("anthropic/claude-next", "claude-next"));
        assert_eq!(request.header("anthropic-beta"), Some("a-1,b-2"));
        assert_eq!(request.header("x-api-key"), Some(UPSTREAM_KEY));
        assert_eq!(request.header("authorization"), None);
        assert!(!format!("{request:?}").contains(MASTER));
        let row = &app.receipts(1).await[0];
        assert_eq!((&row["input_tokens"], &row["output_tokens"]), (&json!(3), &json!(4)));
    })
    .await;
}

#[tokio::test]
async fn betas_are_anthropics_and_versions_are_optional() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in UPSTREAMS {
            let call = app.post(PATH, message(&format!("{upstream}text"), "hi"));
            call.header("anthropic-beta", "a-1").send().await.expect_status(200);
            let requests = app.upstream.requests();
            let beta = requests.last().unwrap().header("anthropic-beta");
            assert_eq!(beta.is_some(), upstream.starts_with("anthropic"), "{upstream}");
        }
    })
    .await;
}

#[track_caller]
fn check_message(body: &Value, stop: &str) {
    assert_eq!((&body["type"], &body["role"]), (&json!("message"), &json!("assistant")), "{body:#}");
    assert!(body["id"].as_str().is_some_and(|id| !id.is_empty()), "{body:#}");
    assert!(body["model"].as_str().is_some_and(|model| !model.is_empty()), "{body:#}");
    assert_eq!(body["stop_reason"], stop, "{body:#}");
    assert!(body.as_object().unwrap().contains_key("stop_sequence"), "{body:#}");
    for count in ["input_tokens", "output_tokens"] {
        assert!(body["usage"][count].as_u64() > Some(0), "{body:#}");
    }
}

#[tokio::test]
async fn every_provider_answers_with_a_message() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in UPSTREAMS {
            let model = format!("{upstream}text");
            let mut body = message(&model, "How are you?");
            body["system"] = json!([{"type": "text", "text": "Be brief."}]);
            let answer = app.post(PATH, body).send().await.expect_status(200);
            let said = answer.json();
            check_message(&said, "end_turn");
            assert_eq!(said["content"][0]["type"], "text");
            assert_eq!(
                said["content"][0]["text"], "Hello from the upstream. You said: How are you?",
                "{model}"
            );
            assert!(last_body(&app).to_string().contains("Be brief."), "{model}");
        }
        for (behaviour, stop) in [("max-tokens", "max_tokens"), ("parallel-tools", "tool_use")] {
            for upstream in UPSTREAMS {
                let mut body = message(&format!("{upstream}{behaviour}"), "How are you?");
                body["tools"] = json!([{"name": "get_weather", "input_schema": {"type": "object"}}]);
                check_message(&app.post(PATH, body).send().await.expect_status(200).json(), stop);
            }
        }
    })
    .await;
}

/// Two calls, their results in one turn, and the answer that follows.
#[tokio::test]
async fn a_tool_loop_keeps_its_ids() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in UPSTREAMS {
            let mut body = message(&format!("{upstream}parallel-tools"), "How is the weather?");
            body["tools"] = json!([{
                "name": "get_weather", "description": "Weather",
                "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            }]);
            let said = app.post(PATH, body.clone()).send().await.expect_status(200).json();
            let content = said["content"].as_array().unwrap();
            let calls: Vec<&Value> = content.iter().filter(|block| block["type"] == "tool_use").collect();
            let inputs: Vec<&Value> = calls.iter().map(|call| &call["input"]).collect();
            assert_eq!(inputs, [&json!({"city": "Paris"}), &json!({"city": "Zürich"})], "{upstream}");
            let result = |(index, call): (usize, &&Value)| {
                json!({"type": "tool_result", "tool_use_id": call["id"], "content": format!("sun {index}")})
            };
            let results: Vec<Value> = calls.iter().enumerate().map(result).collect();
            let turns = body["messages"].as_array_mut().unwrap();
            turns.push(json!({"role": "assistant", "content": content}));
            turns.push(json!({"role": "user", "content": results}));
            let answer = app.post(PATH, body).send().await.expect_status(200);
            assert_eq!(Client::Messages.text(&answer), "The tools said: sun 0; sun 1", "{upstream}");
        }
    })
    .await;
}

#[track_caller]
fn check_blocks(answer: &Answer) -> Vec<(String, Value)> {
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = answer.named_events();
    for (name, data) in &events {
        assert_eq!(data["type"].as_str(), Some(&**name), "{data}");
    }
    let order: Vec<&str> = events.iter().map(|(name, _)| &**name).filter(|name| *name != "ping").collect();
    assert_eq!(
        (order[0], order[order.len() - 2], order[order.len() - 1]),
        ("message_start", "message_delta", "message_stop")
    );
    let mut open = None;
    let mut next = 0;
    for (name, data) in &events {
        let index = data["index"].as_u64();
        match &**name {
            "content_block_start" => {
                assert_eq!((open, index), (None, Some(next)), "{}", answer.text());
                open = index;
                next += 1;
            }
            "content_block_delta" => assert!(open.is_some() && index == open, "{}", answer.text()),
            "content_block_stop" => {
                assert!(open.is_some() && index == open, "{}", answer.text());
                open = None;
            }
            _ => {}
        }
    }
    assert!(next > 0 && open.is_none(), "{}", answer.text());
    events
}

#[tokio::test]
async fn every_provider_streams_messages() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in UPSTREAMS {
            let answer =
                Client::Messages.ask(&app, &format!("{upstream}text"), true).send().await.expect_status(200);
            let events = check_blocks(&answer);
            assert_eq!(
                Client::Messages.text(&answer),
                "Hello from the upstream. You said: How are you today?"
            );
            let start = &events[0].1["message"];
            assert_eq!((&start["role"], &start["content"]), (&json!("assistant"), &json!([])), "{upstream}");
            assert!(start["usage"]["input_tokens"].is_u64(), "{start}");
            let end = &events[events.len() - 2].1;
            assert_eq!(end["delta"]["stop_reason"], "end_turn", "{upstream}");
            let line = app.upstream.bill().pop().unwrap();
            assert_eq!(
                end["usage"]["output_tokens"].as_u64(),
                Some(line.completion_tokens),
                "{upstream}: {end}"
            );

            let mut body = message(&format!("{upstream}parallel-tools"), "How is the weather?");
            body["tools"] = json!([{"name": "get_weather", "input_schema": {"type": "object"}}]);
            let answer = Client::Messages.send(&app, "", true, body).send().await.expect_status(200);
            let events = check_blocks(&answer);
            let calls = events.iter().filter(|(_, data)| data["content_block"]["type"] == "tool_use");
            let inputs: Vec<Value> = calls
                .map(|(_, call)| {
                    let deltas = events.iter().filter(|(_, data)| data["index"] == call["index"]);
                    let text: String =
                        deltas.filter_map(|(_, data)| data["delta"]["partial_json"].as_str()).collect();
                    serde_json::from_str(&text).unwrap()
                })
                .collect();
            assert_eq!(inputs, [json!({"city": "Paris"}), json!({"city": "Zürich"})], "{upstream}");
            assert_eq!(events[events.len() - 2].1["delta"]["stop_reason"], "tool_use", "{upstream}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_native_stream_passes_as_it_is() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let parts = [
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"m\",\"x\":[1.50],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"newer\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"newer_delta\",\"z\":\"\\u00e9\"}}\n\n",
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ];
        app.upstream.push(FaultScript::stream(parts));
        let answer = Client::Messages.ask(&app, &format!("{NATIVE}text"), true).send().await.expect_status(200);
        let named = parts.concat().replace("\"model\":\"m\"", &format!("\"model\":\"{NATIVE}text\""));
        assert_eq!(answer.text(), named);
        let row = &app.receipts(1).await[0];
        assert_eq!((&row["input_tokens"], &row["output_tokens"]), (&json!(3), &json!(9)), "{row:#}");
    })
    .await;
}

/// Claude Code drops the thinking blocks of turns whose `model` is not the one it asked for, and Anthropic then refuses
/// the next turn.
#[tokio::test]
async fn answers_name_the_model_that_was_asked_for() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for (number, upstream) in UPSTREAMS.into_iter().enumerate() {
            let target = format!("{upstream}text");
            let alias = format!("claude-{number}");
            let body = json!({"name": alias, "target": target});
            app.put(format!("/admin/api/v1/aliases/{alias}"), body).send().await.expect_status(201);
            for asked in [target.clone(), alias] {
                for again in [false, true] {
                    let ask = |stream: bool| {
                        let key = format!("{asked}-{stream}");
                        Client::Messages.ask(&app, &asked, stream).header("idempotency-key", &key)
                    };
                    let whole = ask(false).send().await.expect_status(200);
                    assert_eq!(whole.json()["model"], *asked, "{}", whole.text());
                    let stream = ask(true).send().await.expect_status(200);
                    let start = &stream.named_events()[0].1["message"];
                    assert_eq!(start["model"], *asked, "{start}");
                    for answer in [whole, stream] {
                        assert_eq!(answer.header("x-gateway-model"), Some(&*target));
                        assert_eq!(answer.header("idempotent-replayed").is_some(), again);
                    }
                }
            }
        }
    })
    .await;
}

/// Some servers issue ids such as `functions.get_weather:0`, which Anthropic refuses: a conversation must be able to go on
/// there, and the server that issued an id gets it back.
#[tokio::test]
async fn tool_ids_that_anthropic_refuses_are_mapped_and_restored() {
    const ID: &str = "functions.get_weather:0";
    app::each_with(TestSettings::every_dialect, async |app| {
        let call = json!({"id": ID, "type": "function", "index": 0, "function": {"name": "get_weather", "arguments": "{}"}});
        let answer = |member: &str, kind: &str| {
            json!({"id": "c1", "object": kind, "created": 1, "model": "kimi", "choices": [
                {"index": 0, member: {"role": "assistant", "content": null, "tool_calls": [call]}, "finish_reason": "tool_calls"},
            ], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
        };
        let tools = json!([{"name": "get_weather", "input_schema": {"type": "object"}}]);
        let mut first = message("groq/kimi~text", "How is the weather?");
        first["tools"] = tools.clone();
        app.upstream.push(FaultScript::status(200, "application/json", answer("message", "chat.completion").to_string()));
        let whole = Client::Messages.send(&app, "", false, first.clone()).send().await.expect_status(200);
        let chunk = answer("delta", "chat.completion.chunk");
        app.upstream.push(FaultScript::stream([format!("data: {chunk}\n\ndata: [DONE]\n\n")]));
        let stream = Client::Messages.send(&app, "", true, first.clone()).send().await.expect_status(200);
        let events = stream.named_events();
        let started = events.iter().map(|(_, data)| &data["content_block"]);
        let streamed = started.clone().find(|block| block["type"] == "tool_use").unwrap();
        let content = whole.json()["content"].clone();
        let id = content[0]["id"].as_str().unwrap_or_else(|| panic!("{content}")).to_owned();
        assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{id}");
        assert_eq!(streamed["id"], *id);

        let second = |model: &str, id: &str| {
            let mut body = first.clone();
            body["model"] = json!(model);
            let turns = body["messages"].as_array_mut().unwrap();
            let call = json!({"type": "tool_use", "id": id, "name": "get_weather", "input": {}});
            turns.push(json!({"role": "assistant", "content": [call]}));
            let result = json!({"type": "tool_result", "tool_use_id": id, "content": "sun"});
            turns.push(json!({"role": "user", "content": [result]}));
            body
        };
        app.post(PATH, second("groq/llama-3.3-70b~tools", &id)).send().await.expect_status(200);
        let sent = last_body(&app);
        assert_eq!(sent["messages"][1]["tool_calls"][0]["id"], ID, "{sent:#}");
        assert_eq!(sent["messages"][2]["tool_call_id"], ID, "{sent:#}");
        // Also where the client kept an id from before it was mapped.
        for id in [&*id, ID] {
            for path in [PATH, "/v1/messages/count_tokens"] {
                let mut body = second(&format!("{NATIVE}tools"), id);
                if path != PATH {
                    body.as_object_mut().unwrap().remove("max_tokens");
                }
                app.post(path, body).send().await.expect_status(200);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn refusals_have_anthropics_shape_and_names() {
    let settings = || TestSettings {
        policy: Policy { body_limit: 64 * 1024, ..Policy::default() },
        ..TestSettings::every_dialect()
    };
    app::each_with(settings, async |app| {
        let (_, nothing) = app.key(json!({"name": "a", "allowed_models": []})).await;
        for path in [PATH, "/v1/messages/count_tokens"] {
            let ask = |model: &str| app.post(path, message(model, "hi"));
            let large = message(&format!("{NATIVE}text"), &"x".repeat(64 * 1024));
            for (call, status, kind) in [
                (app.post(path, json!({})).body("{"), 400, "invalid_request_error"),
                (app.post(path, json!({"messages": []})), 400, "invalid_request_error"),
                (ask("anthropic/claude-sonnet-4-5~text").key("wrong"), 401, "authentication_error"),
                (ask("anthropic/claude-sonnet-4-5~text").anonymous(), 401, "authentication_error"),
                (ask("anthropic/claude-sonnet-4-5~text").key(&nothing), 403, "permission_error"),
                (app.post(path, json!({"model": "x", "provider": "nowhere", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]})), 404, "not_found_error"),
                (app.post(path, large), 413, "request_too_large"),
                (ask("anthropic/claude-sonnet-4-5~text").header("content-type", "multipart/form-data; boundary=x"), 415, "invalid_request_error"),
                (app.get(path), 405, "invalid_request_error"),
            ] {
                let answer = call.send().await;
                assert_eq!((answer.status, &*answer.anthropic_error()), (status, kind), "{path}: {}", answer.text());
            }
        }
    })
    .await;
}

#[tokio::test]
async fn failures_of_providers_have_anthropics_shape_and_names() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in UPSTREAMS {
            for (behaviour, statuses, kind) in [
                ("error-400", &[400][..], "invalid_request_error"),
                ("error-429", &[429], "rate_limit_error"),
                ("error-500", &[500, 502], "api_error"),
                ("error-503", &[503], "overloaded_error"),
                ("error-529", &[503, 529], "overloaded_error"),
                ("unauthorized", &[502], "api_error"),
                ("html", &[502], "api_error"),
                ("bad-json", &[502], "api_error"),
            ] {
                for stream in [false, true] {
                    let model = format!("{upstream}{behaviour}");
                    let answer = Client::Messages.ask(&app, &model, stream).send().await;
                    assert!(
                        statuses.contains(&answer.status),
                        "{model}: {} {}",
                        answer.status,
                        answer.text()
                    );
                    assert_eq!(answer.anthropic_error(), kind, "{model}: {}", answer.text());
                    let passed = answer.header("retry-after").is_some();
                    assert!(passed || answer.status != 429, "{model}: 429 keeps its Retry-After");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn tokens_are_counted_by_anthropic_or_estimated() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let count = async |model: &str| {
            let body =
                json!({"model": model, "messages": [{"role": "user", "content": "one two three four five"}]});
            app.post("/v1/messages/count_tokens", body).send().await.expect_status(200).json()
        };
        assert_eq!(count(&format!("{NATIVE}text")).await, json!({"input_tokens": 13}));
        let request = app.upstream.requests().pop().unwrap();
        assert_eq!(
            (&*request.path, request.header("x-api-key")),
            ("/v1/messages/count_tokens", Some(UPSTREAM_KEY))
        );
        app.upstream.reset();
        for upstream in UPSTREAMS.into_iter().filter(|upstream| *upstream != NATIVE) {
            let counted = count(&format!("{upstream}text")).await;
            assert_eq!(counted["estimated"], true, "{counted}");
            assert!((5..60).contains(&counted["input_tokens"].as_u64().unwrap()), "{counted}");
        }
        assert!(app.upstream.requests().is_empty());
    })
    .await;
}
