//! Tests of streams whose provider fails in the middle and that another target continues, without gaps or repetition.

mod account;

use std::time::Duration;

use pipeline::policy::Policy;
use serde_json::{Value, json};
use testkit::{FaultScript, RESUMABLE_TEXT, TEXT_BEFORE_CALLS};

use crate::app::{self, Answer, Client, TestApp, TestSettings};

const CLIENTS: [Client; 3] = [Client::Chat, Client::Responses, Client::Messages];

/// Models named after the formats of the failing and of the continuing provider; Claude 4.5 continues from a prefilled
/// assistant message.
const PAIRS: [&str; 6] = [
    "claude-sonnet-4-5~chat-chat",
    "claude-sonnet-4-5~chat-messages",
    "claude-sonnet-4-5~messages-chat",
    "claude-sonnet-4-5~messages-messages",
    "claude-opus-4-8~chat-messages",
    "claude-opus-4-8~messages-messages",
];

fn resuming() -> TestSettings {
    let policy =
        Policy { resume_streams: true, stream_idle_timeout: Duration::from_millis(400), ..Policy::default() };
    TestSettings { policy, loopback_listener: true, ..TestSettings::default() }
}

async fn add(app: &TestApp, name: &str, kind: &str, priority: i64, models: &[&str]) {
    let body = json!({
        "name": name, "type": kind, "base_url": app.upstream.base_url(), "api_key": "sk-of-the-tests",
        "priority": priority, "models": models, "resilience": {"breaker_failures": 100},
    });
    app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
}

/// Creates four providers, two of which serve each of the pairs.
async fn furnish(app: &TestApp) {
    let serving = |first: bool, format: &str| -> Vec<&str> {
        let named = |pair: &&str| {
            let (one, other) = pair.split_once('~').and_then(|(_, pair)| pair.split_once('-')).unwrap();
            format == if first { one } else { other }
        };
        PAIRS.into_iter().filter(named).collect()
    };
    for (name, kind, first, format) in [
        ("chat-one", "openai_compatible", true, "chat"),
        ("chat-two", "openai_compatible", false, "chat"),
        ("messages-one", "anthropic", true, "messages"),
        ("messages-two", "anthropic", false, "messages"),
    ] {
        add(app, name, kind, i64::from(!first), &serving(first, format)).await;
    }
}

fn script(app: &TestApp, behaviours: &[&str]) {
    behaviours.iter().for_each(|behaviour| app.upstream.push(FaultScript::named(behaviour)));
}

async fn ask(app: &TestApp, client: Client, model: &str, behaviours: &[&str]) -> Answer {
    script(app, behaviours);
    let mut body = client.body(model, "Tell me the tale.");
    if client == Client::Chat {
        body["stream_options"] = json!({"include_usage": true});
    }
    client.send(app, model, true, body).send().await.expect_status(200)
}

/// Asserts that the stream is valid in its format: one id, blocks and events without gaps, one end.
#[track_caller]
fn check_whole(client: Client, answer: &Answer, text: &str, resumed: u32, case: &str) {
    assert_eq!(client.text(answer), text, "{case}: {}", answer.text());
    client.check_end(answer);
    let events = answer.named_events();
    let count = |kind: &str| events.iter().filter(|(name, _)| name == kind).count();
    match client {
        Client::Chat => {
            let ids: Vec<&Value> = events.iter().map(|(_, data)| &data["id"]).collect();
            assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "{case}: {ids:?}");
            let ends = events.iter().filter(|(_, data)| data["choices"][0]["finish_reason"].is_string());
            assert_eq!(ends.count(), 1, "{case}: {}", answer.text());
        }
        Client::Responses => {
            for (number, (_, data)) in events.iter().enumerate() {
                assert_eq!(data["sequence_number"], number, "{case}: {}", answer.text());
            }
            let last = &events.last().unwrap().1["response"];
            assert_eq!(last["id"], events[0].1["response"]["id"], "{case}");
            let output = last["output"].as_array().unwrap();
            assert_eq!(count("response.output_item.added"), output.len(), "{case}: {}", answer.text());
            assert_eq!(count("response.output_item.done"), output.len(), "{case}: {}", answer.text());
            let told: String = output.iter().filter_map(|item| item["content"][0]["text"].as_str()).collect();
            assert_eq!(told, text, "{case}");
        }
        _ => {
            assert_eq!((count("message_start"), count("message_delta"), count("message_stop")), (1, 1, 1));
            assert_eq!(
                count("content_block_start"),
                count("content_block_stop"),
                "{case}: {}",
                answer.text()
            );
            let starts = events.iter().filter(|(name, _)| name == "content_block_start");
            for (number, (_, data)) in starts.enumerate() {
                assert_eq!(data["index"], number, "{case}: {}", answer.text());
            }
        }
    }
    let comment = answer.text().contains(&format!(" resumed={resumed}\n"));
    assert_eq!(comment, resumed > 0, "{case}: {}", answer.text());
}

#[tokio::test]
async fn a_broken_stream_is_resumed_for_every_pair_of_formats() {
    app::each_with(resuming, async |app| {
        furnish(&app).await;
        for client in CLIENTS {
            for pair in PAIRS {
                for (death, rest) in [
                    ("resumable-cut-after-40", "resumable"),
                    ("resumable-reset-after-47", "resumable-repeat"),
                    ("resumable-eof-after-90", "resumable-restart"),
                    ("resumable-error-after-150", "resumable-repeat"),
                    ("resumable-hang-after-10", "resumable-repeat"),
                ] {
                    let case = format!("{client:?} {pair} {death} {rest}");
                    let answer = ask(&app, client, pair, &[death, rest]).await;
                    check_whole(client, &answer, RESUMABLE_TEXT, 1, &case);
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn it_may_die_at_any_character() {
    app::each_with(resuming, async |app| {
        furnish(&app).await;
        let rests = ["resumable", "resumable-repeat", "resumable-restart"];
        for place in 1..=RESUMABLE_TEXT.chars().count() {
            for number in [place, place + 3] {
                let (client, pair) = (CLIENTS[number % 3], PAIRS[(number + place / 9) % 6]);
                let rest = rests[(place / 3) % 3];
                let case = format!("{client:?} {pair} {place} {rest}");
                let answer = ask(&app, client, pair, &[&format!("resumable-cut-after-{place}"), rest]).await;
                check_whole(client, &answer, RESUMABLE_TEXT, 1, &case);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn it_may_die_more_than_once_but_not_forever() {
    app::each_with(resuming, async |app| {
        furnish(&app).await;
        for client in CLIENTS {
            for pair in PAIRS {
                let attempts = [
                    "resumable-cut-after-30",
                    "resumable-repeat-cut-after-50",
                    "resumable-reset-after-40",
                    "resumable-repeat",
                ];
                let answer = ask(&app, client, pair, &attempts).await;
                check_whole(client, &answer, RESUMABLE_TEXT, 3, &format!("{client:?} {pair}"));
                let attempts = [
                    "resumable-cut-after-30",
                    "resumable-cut-after-30",
                    "resumable-cut-after-30",
                    "resumable-cut-after-30",
                    "resumable",
                ];
                let answer = ask(&app, client, pair, &attempts).await;
                client.check_broken(&answer);
                let told = client.text(&answer);
                let count = told.chars().count();
                // Space that a provider repeats is not told again.
                assert!(
                    RESUMABLE_TEXT.starts_with(&told) && (116..=120).contains(&count),
                    "{client:?} {pair}: {told}"
                );
                app.upstream.reset();
            }
        }
    })
    .await;
}

#[tokio::test]
async fn with_one_target_the_same_target_resumes() {
    app::each_with(resuming, async |app| {
        for client in CLIENTS {
            let answer =
                ask(&app, client, "openai/gpt-4.1~resumable", &["resumable-cut-after-40", "resumable"]).await;
            check_whole(client, &answer, RESUMABLE_TEXT, 1, &format!("{client:?}"));
            let answer =
                ask(&app, client, "openai/gpt-4.1~resumable", &["resumable-cut-after-40", "error-500"]).await;
            client.check_broken(&answer);
            assert!(RESUMABLE_TEXT.starts_with(&client.text(&answer)), "{}", answer.text());
        }
    })
    .await;
}

#[tokio::test]
async fn without_the_setting_it_breaks_off() {
    let settings = || TestSettings { policy: Policy::default(), ..resuming() };
    app::each_with(settings, async |app| {
        furnish(&app).await;
        for client in CLIENTS {
            for pair in PAIRS {
                let answer = ask(&app, client, pair, &["resumable-cut-after-40"]).await;
                client.check_broken(&answer);
            }
        }
    })
    .await;
}

fn with_tools(client: Client, model: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let mut body = client.body(model, "How is the weather?");
    body["tools"] = match client {
        Client::Chat => {
            json!([{"type": "function", "function": {"name": "get_weather", "parameters": schema}}])
        }
        Client::Responses => json!([{"type": "function", "name": "get_weather", "parameters": schema}]),
        _ => json!([{"name": "get_weather", "input_schema": schema}]),
    };
    body
}

/// Id and arguments of every tool call of a stream.
fn calls(client: Client, answer: &Answer) -> Vec<(String, Value)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for (_, data) in answer.named_events() {
        match client {
            Client::Chat => {
                for delta in data["choices"][0]["delta"]["tool_calls"].as_array().into_iter().flatten() {
                    if delta["id"].is_string() {
                        assert_eq!(delta["index"], found.len());
                        found.push((text(&delta["id"]), String::new()));
                    }
                    found.last_mut().unwrap().1.push_str(&text(&delta["function"]["arguments"]));
                }
            }
            Client::Responses => {
                let item = &data["item"];
                if data["type"] == "response.output_item.done" && item["type"] == "function_call" {
                    found.push((text(&item["call_id"]), text(&item["arguments"])));
                }
            }
            _ => {
                if data["content_block"]["type"] == "tool_use" {
                    found.push((text(&data["content_block"]["id"]), String::new()));
                }
                if data["delta"]["type"] == "input_json_delta" {
                    found.last_mut().unwrap().1.push_str(&text(&data["delta"]["partial_json"]));
                }
            }
        }
    }
    found.into_iter().map(|(id, arguments)| (id, serde_json::from_str(&arguments).unwrap())).collect()
}

/// The text has twelve pieces, each call four or five.
#[tokio::test]
async fn a_call_that_is_cut_restarts_and_one_that_was_made_stays() {
    app::each_with(resuming, async |app| {
        furnish(&app).await;
        for client in CLIENTS {
            for pair in PAIRS {
                for pieces in [3, 12, 13, 15, 18, 20] {
                    let case = format!("{client:?} {pair} {pieces}");
                    script(&app, &[&format!("resumable-calls-cut-after-{pieces}-pieces"), "resumable-calls"]);
                    let body = with_tools(client, pair);
                    let answer = client.send(&app, pair, true, body).send().await.expect_status(200);
                    check_whole(client, &answer, TEXT_BEFORE_CALLS, 1, &case);
                    let calls = calls(client, &answer);
                    let cities: Vec<&Value> = calls.iter().map(|(_, arguments)| &arguments["city"]).collect();
                    assert_eq!(cities, ["Paris", "Zürich"], "{case}: {}", answer.text());
                    assert_ne!(calls[0].0, calls[1].0, "{case}");
                    let reason = ["\"finish_reason\":\"tool_calls\"", "\"stop_reason\":\"tool_use\""];
                    let told = reason.iter().any(|reason| answer.text().contains(reason));
                    assert!(told || client == Client::Responses, "{case}: {}", answer.text());
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn interrupted_reasoning_is_closed_and_not_repeated() {
    app::each_with(resuming, async |app| {
        furnish(&app).await;
        for client in CLIENTS {
            for pair in PAIRS.into_iter().filter(|pair| !pair.contains("opus")) {
                let case = format!("{client:?} {pair}");
                let answer = ask(
                    &app,
                    client,
                    pair,
                    &["resumable-reasoning-cut-after-4-pieces", "resumable-reasoning"],
                )
                .await;
                check_whole(client, &answer, RESUMABLE_TEXT, 1, &case);
                assert!(answer.text().contains("must "), "{case}: {}", answer.text());
                assert!(!answer.text().contains("first,"), "{case}: {}", answer.text());
            }
        }
    })
    .await;
}
