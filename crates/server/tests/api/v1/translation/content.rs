//! Tests of content in translated conversations: images, schemas, instructions, stop reasons.

use pipeline::policy::Policy;
use serde_json::{Value, json};

use super::is_native;
use crate::app::{self, Answer, CLIENTS, Client, TestSettings, UPSTREAMS};

/// A PNG of one pixel, 68 bytes.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR4nGNgAAIAAAUAAXpeqz8AAAAASUVORK5CYII=";

/// A request with an image, and the path of the image in it.
fn with_image(client: Client, model: &str, data: &str) -> (Value, &'static str) {
    let url = format!("data:image/png;base64,{data}");
    let mut body = client.body(model, "");
    match client {
        Client::Chat => {
            let image = json!({"type": "image_url", "image_url": {"url": url}});
            body["messages"] =
                json!([{"role": "user", "content": [{"type": "text", "text": "What?"}, image]}]);
            (body, "messages[0].content[1].image_url.url")
        }
        Client::Responses => {
            let image = json!({"type": "input_image", "image_url": url});
            body["input"] =
                json!([{"role": "user", "content": [{"type": "input_text", "text": "What?"}, image]}]);
            (body, "input[0].content[1].image_url")
        }
        Client::Messages => {
            let source = json!({"type": "base64", "media_type": "image/png", "data": data});
            let image = json!({"type": "image", "source": source});
            body["messages"] =
                json!([{"role": "user", "content": [{"type": "text", "text": "What?"}, image]}]);
            (body, "messages[0].content[1].source.data")
        }
        Client::Gemini => {
            let image = json!({"inlineData": {"mimeType": "image/png", "data": data}});
            body["contents"] = json!([{"role": "user", "parts": [{"text": "What?"}, image]}]);
            (body, "contents[0].parts[1].inlineData.data")
        }
    }
}

#[tokio::test]
async fn an_image_arrives_whole() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for client in CLIENTS {
            for upstream in UPSTREAMS {
                let model = format!("{upstream}see");
                let (body, _) = with_image(client, &model, PIXEL);
                let answer = client.send(&app, &model, false, body).send().await;
                assert_eq!(answer.status, 200, "{client:?} {model}: {}", answer.text());
                assert_eq!(client.text(&answer), "I see 1 images: image/png 68 bytes", "{client:?} {model}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn an_image_that_cannot_be_is_named() {
    let settings = || TestSettings {
        policy: Policy { body_limit: 64 << 20, ..Policy::default() },
        ..TestSettings::every_dialect()
    };
    app::each_with(settings, async |app| {
        let large = "A".repeat(28 << 20);
        for client in CLIENTS {
            for upstream in UPSTREAMS.into_iter().filter(|upstream| !is_native(client, upstream)).take(1) {
                for data in ["%%", "", &large] {
                    let model = format!("{upstream}see");
                    let (body, path) = with_image(client, &model, data);
                    let answer = client.send(&app, &model, false, body).send().await;
                    assert_eq!(answer.status, 400, "{client:?} {}: {}", data.len(), answer.text());
                    assert!(answer.text().contains(path), "{client:?} {}: {}", data.len(), answer.text());
                    if !matches!(client, Client::Messages | Client::Gemini) {
                        assert_eq!(answer.refusal().2.as_deref(), Some(path), "{client:?} {}", data.len());
                    }
                }
            }
        }
        assert!(app.upstream.requests().is_empty(), "nothing of that was sent on");
    })
    .await;
}

fn with_schema(client: Client, model: &str) -> Value {
    let schema = json!({
        "type": "object", "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
        "required": ["city", "degrees"], "additionalProperties": false,
    });
    let mut body = client.body(model, "How is the weather?");
    match client {
        Client::Chat => {
            let named = json!({"name": "weather", "schema": schema, "strict": true});
            body["response_format"] = json!({"type": "json_schema", "json_schema": named});
        }
        Client::Responses => {
            let format = json!({"type": "json_schema", "name": "weather", "schema": schema, "strict": true});
            body["text"] = json!({"format": format});
        }
        Client::Messages => {
            body["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
        }
        Client::Gemini => {
            let config = json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
            body["generationConfig"] = config;
        }
    }
    body
}

/// Models for schema tests. Older Claude models have no schema parameter, so a forced tool replaces it.
const SCHEMA_MODELS: [&str; 2] = ["anthropic/claude-3-5-sonnet~", "gemini/gemini-3-pro~"];

#[tokio::test]
async fn a_schema_is_kept_to() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for client in CLIENTS {
            for upstream in UPSTREAMS.into_iter().chain(SCHEMA_MODELS) {
                if client == Client::Messages && upstream == SCHEMA_MODELS[0] {
                    // Asked natively, that model itself refuses.
                    continue;
                }
                for stream in [false, true] {
                    let model = format!("{upstream}schema");
                    let answer = client.send(&app, &model, stream, with_schema(client, &model)).send().await;
                    assert_eq!(answer.status, 200, "{client:?} {model} {stream}: {}", answer.text());
                    let text = client.text(&answer);
                    let of = format!("{client:?} {model} {stream}: {text} in {}", answer.text());
                    let value: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{of}"));
                    assert!(value["city"].is_string() && value["degrees"].is_i64(), "{of}");
                    assert_eq!(stop_reason(client, &answer, stream), ends(client)[0], "{of}");
                }
            }
        }
    })
    .await;
}

/// The values of each format for: finished, truncated, tool call.
fn ends(client: Client) -> [&'static str; 3] {
    match client {
        Client::Chat => ["stop", "length", "tool_calls"],
        Client::Responses => ["completed", "incomplete", "completed"],
        Client::Messages => ["end_turn", "max_tokens", "tool_use"],
        Client::Gemini => ["STOP", "MAX_TOKENS", "STOP"],
    }
}

fn stop_reason(client: Client, answer: &Answer, stream: bool) -> String {
    let documents: Vec<Value> = match stream {
        true => answer.named_events().into_iter().map(|(_, data)| data).collect(),
        false => vec![answer.json()],
    };
    let pointer = match (client, stream) {
        (Client::Chat, _) => "/choices/0/finish_reason",
        (Client::Responses, true) => "/response/status",
        (Client::Responses, false) => "/status",
        (Client::Messages, true) => "/delta/stop_reason",
        (Client::Messages, false) => "/stop_reason",
        (Client::Gemini, _) => "/candidates/0/finishReason",
    };
    let said = documents.iter().rev().find_map(|document| document.pointer(pointer)?.as_str());
    said.unwrap_or_default().to_owned()
}

#[tokio::test]
async fn every_format_reports_its_stop_reason() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for client in CLIENTS {
            for upstream in UPSTREAMS {
                for (behaviour, expected) in ["text", "max-tokens", "tools"].into_iter().zip(ends(client)) {
                    for stream in [false, true] {
                        let model = format!("{upstream}{behaviour}");
                        let body = super::with_tool_and_thought(client, &model);
                        let answer = client.send(&app, &model, stream, body).send().await.expect_status(200);
                        let said = stop_reason(client, &answer, stream);
                        assert_eq!(said, expected, "{client:?} {model} {stream}: {}", answer.text());
                    }
                }
            }
        }
    })
    .await;
}

/// Instructions in every place a client has for them reach the model, in their order and before the question.
#[tokio::test]
async fn instructions_arrive_in_order() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for client in CLIENTS {
            for upstream in UPSTREAMS {
                let model = format!("{upstream}text");
                let mut body = client.body(&model, "The question.");
                match client {
                    Client::Chat => {
                        body["messages"] = json!([
                            {"role": "system", "content": "First rule."},
                            {"role": "developer", "content": "Second rule."},
                            {"role": "user", "content": "The question."},
                        ]);
                    }
                    Client::Responses => {
                        body["instructions"] = json!("First rule.");
                        body["input"] = json!([
                            {"role": "developer", "content": "Second rule."},
                            {"role": "user", "content": "The question."},
                        ]);
                    }
                    Client::Messages => {
                        let text = |text: &str| json!({"type": "text", "text": text});
                        body["system"] = json!([text("First rule."), text("Second rule.")]);
                    }
                    Client::Gemini => {
                        let parts = json!([{"text": "First rule."}, {"text": "Second rule."}]);
                        body["systemInstruction"] = json!({"parts": parts});
                    }
                }
                let answer = client.send(&app, &model, false, body).send().await;
                assert_eq!(answer.status, 200, "{client:?} {model}: {}", answer.text());
                assert!(client.text(&answer).ends_with("You said: The question."), "{}", answer.text());
                let sent: Value =
                    serde_json::from_slice(&app.upstream.requests().last().unwrap().body).unwrap();
                // What stands beside the turns is read before them, wherever a dialect writes it.
                let order = ["instructions", "system", "systemInstruction", "input", "messages", "contents"];
                let read: String = order.iter().map(|member| sent[*member].to_string()).collect();
                let places = ["First rule.", "Second rule.", "The question."].map(|text| read.find(text));
                assert!(places[0].is_some() && places.is_sorted(), "{client:?} {model}: {sent:#}");
            }
        }
    })
    .await;
}
