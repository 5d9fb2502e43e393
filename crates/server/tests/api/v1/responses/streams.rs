//! Tests of response events: framing of native streams, completeness of translated ones, errors in broken ones.

use serde_json::{Value, json};
use testkit::FaultScript;

use super::{ANTHROPIC, OPENAI, PATH};
use crate::app::{self, Answer, Client, TestApp, TestSettings, UPSTREAMS, input};

async fn stream(app: &TestApp, model: &str, more: Value) -> Answer {
    let mut body = input(model, "How are you?");
    body["stream"] = json!(true);
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    app.post(PATH, body).send().await.expect_status(200)
}

/// Asserts that every event's name equals its type and that the sequence numbers have no gap.
#[track_caller]
fn check_framing(answer: &Answer) -> Vec<(String, Value)> {
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = answer.named_events();
    for (number, (name, data)) in events.iter().enumerate() {
        assert_eq!(data["type"].as_str(), Some(&**name), "{data}");
        assert_eq!(data["sequence_number"].as_u64(), Some(number as u64), "{data}");
    }
    events
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    let mut names: Vec<&str> =
        events.iter().map(|(name, _)| name.strip_prefix("response.").unwrap_or(name)).collect();
    names.dedup();
    names
}

const ONE_TEXT: [&str; 9] = [
    "created",
    "in_progress",
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
    "completed",
];

#[tokio::test]
async fn every_provider_streams_the_whole_set_of_events() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in UPSTREAMS {
            let model = format!("{upstream}text");
            let answer = stream(&app, &model, json!({})).await;
            let events = check_framing(&answer);
            assert_eq!(names(&events), ONE_TEXT, "{model}");
            Client::Responses.check_end(&answer);
            let (_, created) = &events[0];
            assert_eq!(created["response"]["status"], "in_progress");
            let (_, completed) = events.last().unwrap();
            let response = &completed["response"];
            assert_eq!(response["status"], "completed");
            // A native stream is left as the provider wrote it.
            let shown_model = if upstream.starts_with("openai") { &model["openai/".len()..] } else { &model };
            for shown in [&created["response"], response] {
                assert_eq!(shown["model"], shown_model);
                assert_eq!(shown["id"], response["id"]);
            }
            let whole = "Hello from the upstream. You said: How are you?";
            assert_eq!(Client::Responses.text(&answer), whole);
            let of = |name: &str| &events.iter().find(|(found, _)| found == name).unwrap().1;
            assert_eq!(of("response.output_text.done")["text"], whole);
            assert_eq!(response["output"][0]["content"][0]["text"], whole);
            assert_eq!(of("response.output_item.done")["item"], response["output"][0]);
            let item = of("response.output_item.added");
            assert_eq!(
                (&item["item"]["type"], &item["item"]["role"]),
                (&json!("message"), &json!("assistant"))
            );
            assert_eq!(of("response.output_text.delta")["item_id"], item["item"]["id"]);
            assert!(response["usage"]["output_tokens"].as_u64() > Some(0), "{response:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn tool_calls_and_reasoning_have_their_events() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let tool = json!({"type": "function", "name": "get_weather", "description": "Weather", "strict": false,
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}});
        for upstream in UPSTREAMS {
            let model = format!("{upstream}parallel-tools");
            let answer = stream(&app, &model, json!({"tools": [tool]})).await;
            let events = check_framing(&answer);
            Client::Responses.check_end(&answer);
            let done: Vec<&Value> = events
                .iter()
                .filter(|(name, _)| name == "response.function_call_arguments.done")
                .map(|(_, data)| data)
                .collect();
            assert_eq!(done.len(), 2, "{model}: {}", answer.text());
            let output = events.last().unwrap().1["response"]["output"].as_array().unwrap().clone();
            let calls: Vec<&Value> = output.iter().filter(|item| item["type"] == "function_call").collect();
            for ((call, done), city) in calls.iter().zip(done).zip(["Paris", "Zürich"]) {
                let deltas = events.iter().filter(|(name, data)| {
                    name == "response.function_call_arguments.delta" && data["item_id"] == done["item_id"]
                });
                let text: String = deltas.map(|(_, data)| data["delta"].as_str().unwrap()).collect();
                assert_eq!(done["arguments"], text, "{model}");
                assert_eq!(call["arguments"], text, "{model}");
                assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({"city": city}));
                assert_eq!((&call["id"], &call["name"]), (&done["item_id"], &json!("get_weather")));
                assert!(call["call_id"].as_str().is_some_and(|id| !id.is_empty()), "{call}");
            }
            assert_ne!(calls[0]["call_id"], calls[1]["call_id"]);
        }
        let reasoning = json!({"reasoning": {"effort": "low", "summary": "auto"}});
        for model in [
            format!("{ANTHROPIC}reasoning"),
            "gemini/gemini-2.5-flash~reasoning".to_owned(),
            "openai/gpt-5-mini~reasoning".to_owned(),
            "groq/deepseek-r1~reasoning".to_owned(),
        ] {
            let answer = stream(&app, &model, reasoning.clone()).await;
            let events = check_framing(&answer);
            let order = names(&events);
            assert!(order.contains(&"reasoning_summary_text.delta"), "{model}: {order:?}");
            assert!(order.contains(&"reasoning_summary_text.done"), "{model}: {order:?}");
            let output = &events.last().unwrap().1["response"]["output"];
            assert_eq!(output[0]["type"], "reasoning", "{model}");
            assert_eq!(output[0]["summary"][0]["text"].as_str().map(str::trim), Some("Let me think about that first."));
        }
    })
    .await;
}

#[tokio::test]
async fn native_events_pass_unchanged_but_for_their_framing() {
    app::each(async |app| {
        let created = r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","model":"text","output":[]}}"#;
        let delta = r#"{"type":"response.output_text.delta","sequence_number":1, "delta":"caf\u00e9","x_extra":[1.50]}"#;
        let done = r#"{"type":"response.completed","sequence_number":2,"response":{"id":"resp_1","status":"completed","model":"text","output":[],"usage":{"input_tokens":3,"output_tokens":1,"total_tokens":4}}}"#;
        app.upstream.push(FaultScript::stream([
            format!("data: {created}\r\n\r\n"),
            format!("event: response.output_text.delta\ndata: {delta}\n\n"),
            format!("data: {done}\n\n"),
        ]));
        let answer = stream(&app, "openai/text", json!({})).await;
        assert!(answer.text().contains(&format!("event: response.output_text.delta\ndata: {delta}\n\n")), "{}", answer.text());
        let events = check_framing(&answer);
        assert_eq!(names(&events), ["created", "output_text.delta", "completed"]);
        Client::Responses.check_end(&answer);
        assert_eq!(app.receipts(1).await[0]["input_tokens"], 3);
    })
    .await;
}

#[tokio::test]
async fn done_follows_every_terminal_event() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in UPSTREAMS {
            let model = format!("{upstream}max-tokens");
            let answer = stream(&app, &model, json!({"max_output_tokens": 16})).await;
            let events = check_framing(&answer);
            let (name, last) = events.last().unwrap();
            assert_eq!(
                (&**name, &last["response"]["status"]),
                ("response.incomplete", &json!("incomplete")),
                "{model}"
            );
            assert_eq!(last["response"]["incomplete_details"]["reason"], "max_output_tokens", "{model}");
            assert!(answer.text().ends_with("data: [DONE]\n\n"), "{model}");
        }
        let failed = stream(&app, &format!("{OPENAI}error-after-content"), json!({})).await;
        let events = failed.named_events();
        assert_eq!(events.last().unwrap().0, "response.failed", "the provider's own end");
        assert!(failed.text().ends_with("data: [DONE]\n\n"), "{}", failed.text());
    })
    .await;
}

#[tokio::test]
async fn a_stream_is_not_read_back_but_gone_on_from() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let (_, key) = app.key(json!({"name": "a"})).await;
        for upstream in UPSTREAMS {
            let model = format!("{upstream}text");
            let mut body = input(&model, "My name is Ada.");
            body["stream"] = json!(true);
            let answer = app.post(PATH, body).key(&key).send().await.expect_status(200);
            let id = answer.named_events().last().unwrap().1["response"]["id"].as_str().unwrap().to_owned();
            for rest in ["", "/input_items"] {
                assert_eq!(app.get(format!("{PATH}/{id}{rest}")).key(&key).refusal().await.0, 404, "{model}");
            }
            for next in [ANTHROPIC, OPENAI] {
                let mut body = input(&format!("{next}text"), "What is my name?");
                body["previous_response_id"] = json!(id);
                app.post(PATH, body).key(&key).send().await.expect_status(200);
                let requests = app.upstream.requests();
                let sent = String::from_utf8_lossy(&requests.last().unwrap().body).into_owned();
                let kept_there = sent.contains(&id);
                assert!(kept_there || sent.contains("My name is Ada."), "{model} then {next}: {sent}");
                assert!(
                    kept_there || sent.contains("You said: My name is Ada."),
                    "{model} then {next}: {sent}"
                );
                assert!(!kept_there || upstream.starts_with("openai"), "{sent}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn an_interrupted_stream_ends_with_an_error() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in UPSTREAMS {
            for fault in ["cut-mid-stream", "reset-mid-stream", "eof-mid-stream"] {
                let answer = stream(&app, &format!("{upstream}{fault}"), json!({})).await;
                Client::Responses.check_broken(&answer);
                let events = check_framing(&answer);
                assert!(
                    names(&events).contains(&"output_text.delta"),
                    "{upstream}{fault}: {}",
                    answer.text()
                );
            }
        }
        let answer = stream(&app, &format!("{ANTHROPIC}error-after-content"), json!({})).await;
        Client::Responses.check_broken(&answer);
        // A turn that failed is nothing to go on from.
        let id = answer.named_events()[0].1["response"]["id"].clone();
        let mut next = input(&format!("{ANTHROPIC}text"), "And now?");
        next["previous_response_id"] = id;
        let (_, key) = app.key(json!({"name": "a"})).await;
        assert_eq!(app.post(PATH, next).key(&key).refusal().await.0, 404);
    })
    .await;
}
