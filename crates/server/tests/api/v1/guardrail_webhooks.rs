//! Guardrails that ask a webhook: requests and answers of every format, whole and streamed, and its failures.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse as _;
use domain::clock::Clock as _;
use http::{HeaderMap, StatusCode, Uri};
use pipeline::policy::Policy;
use serde_json::{Value, json};

use crate::app::{self, CLIENTS, TestApp, TestSettings};

/// The requests to a webhook: headers and body.
type Asked = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// A server that answers by the last segment of the path.
struct Webhook {
    url: String,
    asked: Asked,
}

impl Webhook {
    async fn start(app: &TestApp) -> Self {
        let asked = Asked::default();
        let router = Router::new().fallback(answer).with_state(asked.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        app.gateway.tasks.spawn(async move { axum::serve(listener, router).await });
        Self { url, asked }
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

async fn answer(
    State(asked): State<Asked>,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> axum::response::Response {
    let question: Value = serde_json::from_str(&body).unwrap();
    let messages = question["messages"].as_array().unwrap().iter();
    let replaced: Vec<Value> = messages
        .map(|message| json!({"content": message["content"].as_str().unwrap().replace("How", "Who")}))
        .collect();
    asked.lock().unwrap().push((headers, question));
    match uri.path() {
        "/allow" => json!({"action": "allow"}).to_string().into_response(),
        "/block" => json!({"action": "block"}).to_string().into_response(),
        "/replace" => json!({"action": "replace", "messages": replaced}).to_string().into_response(),
        "/shout" => {
            let messages = asked.lock().unwrap().last().unwrap().1["messages"].clone();
            let messages = messages.as_array().unwrap().iter();
            let loud =
                |message: &Value| json!({"content": message["content"].as_str().unwrap().to_uppercase()});
            let loud: Vec<Value> = messages.map(loud).collect();
            json!({"action": "replace", "messages": loud}).to_string().into_response()
        }
        "/short" => json!({"action": "replace", "messages": []}).to_string().into_response(),
        "/slow" => {
            tokio::time::sleep(Duration::from_secs(5)).await;
            json!({"action": "allow"}).to_string().into_response()
        }
        "/later" => {
            tokio::time::sleep(Duration::from_millis(300)).await;
            json!({"action": "allow"}).to_string().into_response()
        }
        "/error" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        _ => "nonsense".into_response(),
    }
}

fn reachable() -> TestSettings {
    TestSettings { allow_private: true, ..TestSettings::every_dialect() }
}

/// Puts a webhook into force for all calls.
async fn guard(app: &TestApp, webhook: &Webhook, path: &str, direction: &str, more: Value) {
    let mut body = json!({
        "type": "webhook",
        "direction": direction,
        "config": {"url": format!("{}/{path}", webhook.url), "timeout_ms": 2000},
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let stored = app.put("/admin/api/v1/guardrails/ask", body).send().await;
    assert!(stored.status < 300, "{}", stored.text());
    let workflow = json!({"name": "w", "workflow_payload": {"guardrails": ["ask"]}});
    app.post("/admin/api/v1/workflows", workflow).send().await.expect_status(201);
}

#[tokio::test]
async fn requests_of_all_formats_are_changed_before_they_are_sent() {
    app::each_with(reachable, async |app| {
        let webhook = Webhook::start(&app).await;
        guard(&app, &webhook, "replace", "input", json!({})).await;
        for client in CLIENTS {
            for stream in [false, true] {
                client.ask(&app, "openai/gpt-4.1~text", stream).send().await.expect_status(200);
                let sent = app.last_upstream_request();
                assert!(sent.contains("Who are you today?") && !sent.contains("How"), "{client:?}: {sent}");
            }
        }
        let (headers, question) = webhook.asked.lock().unwrap()[0].clone();
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!((&question["subject"], &question["user_path"]), (&json!("request"), &json!("/")));
        assert_eq!(question["messages"], json!([{"role": "user", "content": "How are you today?"}]));
    })
    .await;
}

#[tokio::test]
async fn answers_of_all_formats_are_changed_whole_and_streamed() {
    app::each_with(reachable, async |app| {
        let webhook = Webhook::start(&app).await;
        guard(&app, &webhook, "replace", "output", json!({})).await;
        for client in CLIENTS {
            for upstream in ["openai/gpt-4.1~text", "anthropic/claude-sonnet-4-5~text"] {
                for stream in [false, true] {
                    let name = format!("{client:?} {upstream} {stream}");
                    let answer = client.ask(&app, upstream, stream).send().await.expect_status(200);
                    let text = client.text(&answer);
                    assert!(text.contains("Who are you") && !text.contains("How"), "{name}: {text}");
                    if stream {
                        client.check_end(&answer);
                    }
                    let sent = app.last_upstream_request();
                    assert!(!sent.contains("\"stream\":true"), "{name}: {sent}");
                }
            }
        }
        let question = webhook.asked.lock().unwrap()[0].1.clone();
        assert_eq!(
            (&question["subject"], &question["messages"][0]["role"]),
            (&json!("answer"), &json!("assistant"))
        );
    })
    .await;
}

#[tokio::test]
async fn blocked_calls_are_refused() {
    app::each_with(reachable, async |app| {
        let webhook = Webhook::start(&app).await;
        for direction in ["input", "output"] {
            guard(&app, &webhook, "block", direction, json!({})).await;
            for stream in [false, true] {
                let call = if stream { app.stream("gpt-4o") } else { app.chat("gpt-4o") };
                let refused = call.refusal().await;
                assert_eq!((refused.0, &*refused.1), (400, "guardrail_blocked"), "{direction} {stream}");
            }
        }
        // What a provider has answered is paid for, whether or not the client gets it.
        let rows = app.receipts(4).await;
        let costs: Vec<bool> = rows.iter().map(|row| row["total_cost"].as_f64() > Some(0.0)).collect();
        assert_eq!(costs, [false, false, true, true], "{rows:#?}");
    })
    .await;
}

#[tokio::test]
async fn failures_follow_on_error_in_time() {
    app::each_with(reachable, async |app| {
        let webhook = Webhook::start(&app).await;
        let hasty = |path: &str| json!({"url": format!("{}/{path}", webhook.url), "timeout_ms": 200});
        for path in ["slow", "error", "invalid", "short"] {
            for direction in ["input", "output"] {
                let more = json!({"config": hasty(path), "on_error": "block"});
                guard(&app, &webhook, path, direction, more).await;
                let begun = app.clock.tick();
                let refused = app.chat("openai/text").refusal().await;
                assert_eq!((refused.0, &*refused.1), (502, "guardrail_error"), "{path} {direction}");
                assert!(app.clock.tick() - begun < Duration::from_secs(4), "{path} {direction}");
                let more = json!({"config": hasty(path), "on_error": "allow"});
                guard(&app, &webhook, path, direction, more).await;
                app.chat("openai/text").send().await.expect_status(200);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn monitoring_changes_nothing() {
    app::each_with(reachable, async |app| {
        let webhook = Webhook::start(&app).await;
        for path in ["block", "replace", "error"] {
            guard(&app, &webhook, path, "both", json!({"mode": "monitor"})).await;
            let answer = CLIENTS[0].ask(&app, "openai/gpt-4.1~text", false).send().await.expect_status(200);
            assert!(answer.text().contains("How are you") && !answer.text().contains("Who"), "{path}");
        }
        assert_eq!(webhook.asked(), 6);
    })
    .await;
}

#[tokio::test]
async fn a_stream_gets_heartbeats_while_its_answer_is_held_back() {
    let settings = || {
        let policy = Policy { stream_heartbeat: Duration::from_millis(100), ..Policy::default() };
        TestSettings { policy, ..reachable() }
    };
    app::each_with(settings, async |app| {
        let webhook = Webhook::start(&app).await;
        guard(&app, &webhook, "later", "output", json!({})).await;
        let answer = app.stream("openai/text").send().await.expect_status(200);
        let text = answer.text();
        let end = "data: [DONE]\n\n: gatehouse model=openai/text attempts=1\n\n";
        assert!(text.starts_with(": keep-alive\n\n") && text.ends_with(end), "{text}");
        guard(&app, &webhook, "slow", "output", json!({})).await;
        let broken = app.stream("openai/text").send().await.expect_status(200).text();
        assert!(broken.contains("guardrail_error") && !broken.contains("[DONE]"), "{broken}");
    })
    .await;
}

#[tokio::test]
async fn headers_are_sent_and_never_shown() {
    app::each_with(reachable, async |app| {
        let webhook = Webhook::start(&app).await;
        let path = "/admin/api/v1/guardrails/ask";
        let config = |value: &str, path: &str| {
            json!({"url": format!("{}/{path}", webhook.url), "headers": {"x-token": value}})
        };
        let body = |config: Value| json!({"type": "webhook", "config": config});
        let secret = "very-secret-token-1234";
        let stored = app.put(path, body(config(secret, "allow"))).send().await.expect_status(201);
        assert_eq!(stored.json()["config"]["headers"], json!({"x-token": "***1234"}));
        // Sent back as it is shown, the value is kept, but not for another address.
        app.put(path, body(config("***1234", "allow"))).send().await.expect_status(200);
        let moved = app.put(path, body(config("***1234", "block"))).refusal().await;
        assert_eq!((moved.0, moved.2.as_deref()), (400, Some("config.headers.x-token")));
        let test = app.post(format!("{path}/test"), json!({"text": "How?"})).send().await.expect_status(200).json();
        assert_eq!((&test["verdict"]["verdict"], &test["changed"]), (&json!("allow"), &json!(false)));
        assert_eq!(webhook.asked.lock().unwrap()[0].0["x-token"], secret);
        let changes = app.get("/admin/api/v1/changes").send().await.expect_status(200).text();
        assert!(!changes.contains("very-secret"), "{changes}");
    })
    .await;
}

#[tokio::test]
async fn addresses_and_settings_are_checked() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for (config, param) in [
            (json!({"url": "http://127.0.0.1:9/x"}), "config.url"),
            (json!({"url": "ftp://example.com/"}), "config.url"),
            (json!({"url": "https://example.com/", "timeout_ms": 0}), "config.timeout_ms"),
            (json!({"url": "https://example.com/", "headers": {"a b": "c"}}), "config.headers.a b"),
            (json!({"url": "https://example.com/", "headers": 1}), "config.headers"),
            (json!({}), "config.url"),
        ] {
            let body = json!({"type": "webhook", "config": config});
            let refused = app.put("/admin/api/v1/guardrails/ask", body).refusal().await;
            assert_eq!((refused.0, refused.2.as_deref()), (400, Some(param)), "{config}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_explanation_calls_no_webhook() {
    app::each_with(reachable, async |app| {
        let webhook = Webhook::start(&app).await;
        guard(&app, &webhook, "block", "both", json!({})).await;
        let body = json!({"body": app::question("openai/text")});
        let explained = app.post("/admin/api/v1/explain", body).send().await.expect_status(200).json();
        assert_eq!(webhook.asked(), 0);
        assert_eq!(explained["guardrails"]["request"][0]["verdict"], "not_asked", "{explained:#}");
    })
    .await;
}

/// Puts several guardrails into force in one step.
async fn guard_in_one_step(app: &TestApp, guardrails: &[(&str, Value)]) {
    for (name, body) in guardrails {
        app.put(format!("/admin/api/v1/guardrails/{name}"), body.clone()).send().await.expect_status(201);
    }
    let names: Vec<&str> = guardrails.iter().map(|(name, _)| *name).collect();
    let workflow = json!({"name": "w", "workflow_payload": {"guardrails": names}});
    app.post("/admin/api/v1/workflows", workflow).send().await.expect_status(201);
}

#[tokio::test]
async fn changes_of_a_webhook_and_of_other_guardrails_of_its_step_are_all_made() {
    app::each_with(reachable, async |app| {
        let webhook = Webhook::start(&app).await;
        let ask = json!({"type": "webhook", "config": {"url": format!("{}/replace", webhook.url)}});
        let today = json!({"action": "sanitize", "patterns": ["today"]});
        let today = json!({"type": "regex_block", "config": today});
        guard_in_one_step(&app, &[("a-today", today.clone()), ("b-ask", ask), ("c-today", today)]).await;
        for client in CLIENTS {
            let answer = client.ask(&app, "openai/gpt-4.1~text", true).send().await.expect_status(200);
            let (sent, text) = (app.last_upstream_request(), client.text(&answer));
            for text in [&sent, &text] {
                assert!(text.contains("Who are you [REDACTED]?"), "{client:?}: {text}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn webhooks_of_one_step_cannot_replace_the_same_text() {
    app::each_with(reachable, async |app| {
        let webhook = Webhook::start(&app).await;
        let ask =
            |path: &str| json!({"type": "webhook", "config": {"url": format!("{}/{path}", webhook.url)}});
        guard_in_one_step(&app, &[("one", ask("replace")), ("two", ask("shout"))]).await;
        let refused = CLIENTS[0].ask(&app, "openai/gpt-4.1~text", false).refusal().await;
        assert_eq!((refused.0, &*refused.1), (502, "guardrail_error"));
    })
    .await;
}
