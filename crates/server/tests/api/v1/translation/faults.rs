//! Tests of faults in translated calls: invalid requests, invalid responses, broken connections.

use serde_json::{Value, json};

use super::is_native;
use crate::app::{self, CLIENTS, Client, TestApp, TestSettings, UPSTREAMS};

#[tokio::test]
async fn a_stream_that_dies_ends_in_the_clients_own_error() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let mut count = 0;
        for client in CLIENTS {
            for upstream in UPSTREAMS {
                for fault in ["cut-mid-stream", "reset-mid-stream", "eof-mid-stream", "error-after-content"] {
                    if fault == "error-after-content"
                        && client == Client::Responses
                        && is_native(client, upstream)
                    {
                        // There the provider itself ends the response as failed.
                        continue;
                    }
                    let model = format!("{upstream}{fault}");
                    let answer = client.ask(&app, &model, true).send().await;
                    assert_eq!(answer.status, 200, "{client:?} {model}: {}", answer.text());
                    let text = client.text(&answer);
                    assert!(text.starts_with("Hello from the "), "{client:?} {model}: {}", answer.text());
                    client.check_broken(&answer);
                    count += 1;
                }
            }
        }
        for row in app.receipts(count).await {
            assert_eq!(row["estimated"], true, "{row:#}");
            assert!(row["status_code"].as_u64() >= Some(500), "{row:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_502() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for client in CLIENTS {
            for upstream in UPSTREAMS {
                for fault in ["html", "bad-json", "empty-body"] {
                    for stream in [false, true] {
                        let model = format!("{upstream}{fault}");
                        let answer = client.ask(&app, &model, stream).send().await;
                        let of = format!("{client:?} {model} {stream}: {} {}", answer.status, answer.text());
                        assert_eq!(answer.status, 502, "{of}");
                        let expected = if client == Client::Messages {
                            "api_error"
                        } else {
                            "upstream_invalid_response"
                        };
                        assert_eq!(client.refusal(&answer).1, expected, "{of}");
                        assert!(!answer.text().contains("<html>"), "{of}");
                    }
                }
            }
        }
    })
    .await;
}

/// Documents that are JSON and not an answer.
#[tokio::test]
async fn an_answer_of_another_kind_is_502() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for client in CLIENTS {
            for upstream in UPSTREAMS.into_iter().filter(|upstream| !is_native(client, upstream)) {
                for body in ["{}", "[]", "null", r#"{"choices":5,"output":5,"content":5,"candidates":5}"#] {
                    app.upstream.push(testkit::FaultScript::status(200, "application/json", body));
                    let answer = client.ask(&app, &format!("{upstream}text"), false).send().await;
                    assert_eq!(answer.status, 502, "{client:?} {upstream} {body}: {}", answer.text());
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn an_error_before_content_has_its_real_status() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for client in CLIENTS {
            for upstream in UPSTREAMS {
                for stream in [false, true] {
                    for (fault, expected) in [
                        ("error-in-stream", 500..600),
                        ("error-500", 500..503),
                        ("error-503", 503..504),
                        ("error-429", 429..430),
                        ("error-400", 400..401),
                        ("unauthorized", 502..503),
                    ] {
                        let model = format!("{upstream}{fault}");
                        let answer = client.ask(&app, &model, stream).send().await;
                        let of = format!("{client:?} {model} {stream}: {} {}", answer.status, answer.text());
                        assert!(expected.contains(&answer.status), "{of}");
                        client.refusal(&answer);
                        // Of 30 s, as many as are left of the cooldown that the first call began.
                        let after = answer.header("retry-after").and_then(|after| after.parse::<u64>().ok());
                        assert!(answer.status != 429 || matches!(after, Some(1..=30)), "{of}");
                    }
                }
            }
        }
    })
    .await;
}

async fn refused(app: &TestApp, client: Client, model: &str, body: Value) -> (u16, String) {
    let answer = client.send(app, model, false, body).send().await;
    let place = match client {
        Client::Messages => {
            assert_eq!(answer.anthropic_error(), "invalid_request_error", "{}", answer.text());
            answer.json()["error"]["message"].as_str().unwrap().to_owned()
        }
        Client::Gemini => answer.google_error().1.unwrap_or_default(),
        _ => answer.refusal().2.unwrap_or_default(),
    };
    (answer.status, place)
}

/// Invalid requests and the param of their fault. The Messages format has no `param`: its message names the field.
fn bad_requests(client: Client, model: &str) -> Vec<(Value, &'static str)> {
    let body = client.body(model, "hi");
    let with = |field: &str, value: Value| {
        let mut body = body.clone();
        body[field] = value;
        body
    };
    match client {
        Client::Chat => vec![
            (with("messages", json!([{"role": "wizard", "content": "hi"}])), "messages[0].role"),
            (
                with(
                    "messages",
                    json!([{"role": "user", "content": "hi"}, {"role": "user", "content": [{"type": "smell"}]}]),
                ),
                "messages[1].content[0].type",
            ),
            (
                with(
                    "messages",
                    json!([{"role": "user", "content": "hi"}, {"role": "tool", "content": "x", "tool_call_id": "c"}]),
                ),
                "messages[1]",
            ),
            (with("messages", json!([{"role": "user", "content": 5}])), "messages[0].content"),
            (with("tools", json!([{"type": "function"}])), "tools[0].function"),
        ],
        Client::Responses => vec![
            (with("input", json!([{"role": "wizard", "content": "hi"}])), "input[0].role"),
            (with("input", json!([{"type": "smell"}])), "input[0].type"),
            (
                with("input", json!([{"role": "user", "content": [{"type": "smell"}]}])),
                "input[0].content[0].type",
            ),
            (
                with("input", json!([{"type": "function_call_output", "call_id": "c", "output": "x"}])),
                "input[0]",
            ),
            (with("input", json!(5)), "input"),
        ],
        Client::Messages => vec![
            (with("messages", json!([{"role": "wizard", "content": "hi"}])), "messages[0].role"),
            (
                with("messages", json!([{"role": "user", "content": [{"type": "smell"}]}])),
                "messages[0].content[0].type",
            ),
            (
                with(
                    "messages",
                    json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}]),
                ),
                "messages[0].content[0]",
            ),
            (with("max_tokens", json!("many")), "max_tokens"),
        ],
        Client::Gemini => {
            let with = |contents: Value| json!({"contents": contents});
            vec![
                (with(json!([{"role": "wizard", "parts": [{"text": "hi"}]}])), "contents[0].role"),
                (with(json!([{"role": "user", "parts": [{"smell": "x"}]}])), "contents[0].parts[0]"),
                (with(json!([{"role": "user", "parts": 5}])), "contents[0].parts"),
                (with(json!([])), "contents"),
            ]
        }
    }
}

#[tokio::test]
async fn bad_input_is_named_by_its_path() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for client in CLIENTS {
            for upstream in UPSTREAMS.into_iter().filter(|upstream| !is_native(client, upstream)) {
                let model = format!("{upstream}text");
                for (body, path) in bad_requests(client, &model) {
                    let (status, place) = refused(&app, client, &model, body.clone()).await;
                    let named = if client == Client::Messages {
                        place.contains(path)
                    } else {
                        place.starts_with(path)
                    };
                    assert!(
                        status == 400 && named,
                        "{client:?} {model}: {status} '{place}' for '{path}' in {body}"
                    );
                }
            }
        }
        assert!(app.upstream.requests().is_empty(), "{:?}", app.upstream.requests());
    })
    .await;
}
