//! Guardrails on the passthrough: bodies of known shapes are inspected, others follow `on_unreadable`.

use pipeline::policy::Policy;
use pipeline::services::audit;
use serde_json::{Value, json};

use crate::app::{self, Answer, CLIENTS, Client, TestApp, TestSettings};

const TEXT: &str = "Write to ana@example.com, and to nobody else.";
const REDACTED: &str = "Write to [EMAIL], and to nobody else.";

fn audited() -> TestSettings {
    let audit = audit::Rules { enabled: true, bodies: true, ..audit::Rules::default() };
    TestSettings { policy: Policy { audit, ..Policy::default() }, ..TestSettings::every_dialect() }
}

async fn guard(app: &TestApp, guardrail: Value) {
    let stored = app.put("/admin/api/v1/guardrails/personal", guardrail).send().await;
    assert!(stored.status < 300, "{}", stored.text());
    let workflow = json!({"name": "w", "workflow_payload": {"guardrails": ["personal"]}});
    app.post("/admin/api/v1/workflows", workflow).send().await.expect_status(201);
}

fn pii(direction: &str, config: Value) -> Value {
    json!({"type": "pii_redact", "direction": direction, "config": config})
}

/// Asks a provider in its own format, through the passthrough.
async fn ask(app: &TestApp, client: Client, stream: bool) -> Answer {
    let (path, model) = match client {
        Client::Chat => ("/p/openai/v1/chat/completions", "text"),
        Client::Responses => ("/p/openai/v1/responses", "text"),
        Client::Messages => ("/p/anthropic/v1/messages", "text"),
        Client::Gemini if stream => ("/p/gemini/v1beta/models/text:streamGenerateContent?alt=sse", "text"),
        Client::Gemini => ("/p/gemini/v1beta/models/text:generateContent", "text"),
    };
    let mut body = client.body(model, TEXT);
    if stream && client != Client::Gemini {
        body["stream"] = json!(true);
    }
    if stream && client == Client::Chat {
        body["stream_options"] = json!({"include_usage": true});
    }
    app.post(path, body).send().await
}

#[tokio::test]
async fn requests_of_all_formats_are_redacted_and_verdicts_recorded() {
    app::each_with(audited, async |app| {
        guard(&app, pii("input", json!({}))).await;
        for client in CLIENTS {
            for stream in [false, true] {
                ask(&app, client, stream).await.expect_status(200);
                let sent = app.last_upstream_request();
                assert!(sent.contains(REDACTED) && !sent.contains("ana@"), "{client:?} {stream}: {sent}");
            }
        }
        let embeddings = json!({"model": "text-embedding-3-small", "input": [TEXT]});
        app.post("/p/openai/v1/embeddings", embeddings).send().await.expect_status(200);
        assert!(app.last_upstream_request().contains(REDACTED));
        app.drain().await.unwrap();
        let page = app.get("/admin/api/v1/audit/log?limit=100").send().await.expect_status(200).json();
        let entries = page["entries"].as_array().unwrap();
        assert_eq!(entries.len(), 9);
        for entry in entries {
            let path = format!("/admin/api/v1/audit/log/{}", entry["id"].as_str().unwrap());
            let entry = app.get(path).send().await.expect_status(200).json();
            assert_eq!(entry["guardrails"][0]["verdict"], "redact", "{entry:#}");
            let text = entry.to_string();
            assert!(text.contains("[EMAIL]") && !text.contains("ana@"), "{entry:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn answers_of_all_formats_are_redacted_whole_and_streamed() {
    app::each_with(TestSettings::every_dialect, async |app| {
        guard(&app, pii("output", json!({}))).await;
        for client in CLIENTS {
            let whole = ask(&app, client, false).await.expect_status(200);
            let stream = ask(&app, client, true).await.expect_status(200);
            assert!(app.last_upstream_request().contains("ana@example.com"));
            for answer in [&whole, &stream] {
                assert!(client.text(answer).contains(REDACTED), "{client:?}: {}", answer.text());
                assert!(!answer.text().contains("ana@"), "{client:?}: {}", answer.text());
            }
            assert_eq!(client.text(&whole), client.text(&stream), "{client:?}");
            client.check_end(&stream);
        }
        // What a provider reports is booked as without guardrails.
        for row in app.receipts(8).await {
            assert!(row["output_tokens"].as_u64() > Some(0) && row["estimated"] == false, "{row:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn stored_answers_are_not_read_back_around_their_guardrails() {
    app::each_with(TestSettings::every_dialect, async |app| {
        guard(&app, pii("output", json!({}))).await;
        for path in ["responses/resp_x", "chat/completions/chatcmpl-x", "conversations/conv_x/items"] {
            let refused = app.get(format!("/p/openai/v1/{path}")).refusal().await;
            assert_eq!((refused.0, &*refused.1), (400, "guardrail_blocked"), "{path}");
        }
        assert_eq!(app.upstream.requests().len(), 0);
    })
    .await;
}

#[tokio::test]
async fn reversible_placeholders_are_restored() {
    app::each_with(TestSettings::every_dialect, async |app| {
        guard(&app, pii("input", json!({"reversible": true}))).await;
        for client in CLIENTS {
            for stream in [false, true] {
                let answer = ask(&app, client, stream).await.expect_status(200);
                assert!(app.last_upstream_request().contains("[EMAIL_"), "{client:?}");
                assert!(client.text(&answer).contains(TEXT), "{client:?} {stream}: {}", answer.text());
            }
        }
    })
    .await;
}

#[tokio::test]
async fn blocked_requests_are_not_sent_and_blocked_answers_end_in_an_error() {
    app::each_with(TestSettings::every_dialect, async |app| {
        guard(&app, pii("input", json!({"action": "block"}))).await;
        for client in CLIENTS {
            assert_eq!(ask(&app, client, false).await.status, 400, "{client:?}");
        }
        assert_eq!(app.upstream.requests().len(), 0);
        guard(&app, pii("output", json!({"action": "block"}))).await;
        for client in CLIENTS {
            assert_eq!(ask(&app, client, false).await.status, 400, "{client:?}");
            let stream = ask(&app, client, true).await.text();
            assert!(!stream.contains("ana@") && !stream.contains("[DONE]"), "{client:?}: {stream}");
            assert!(stream.contains("does not allow this answer"), "{client:?}: {stream}");
        }
        let paid =
            app.receipts(12).await.iter().filter(|row| row["output_tokens"].as_u64() > Some(0)).count();
        assert_eq!(paid, 8, "what a provider has answered is paid for");
    })
    .await;
}

#[tokio::test]
async fn other_shapes_follow_on_unreadable_and_other_calls_are_streamed() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let mut personal = pii("both", json!({}));
        guard(&app, personal.clone()).await;
        let compressed = || {
            let call = app.post("/p/openai/v1/chat/completions", Client::Chat.body("text", TEXT));
            call.header("content-encoding", "br")
        };
        let unread = compressed().send().await.text();
        assert!(!unread.contains("guardrail_blocked"), "{unread}");
        assert!(app.last_upstream_request().contains("ana@"), "passed on as it is");
        personal["on_unreadable"] = json!("block");
        app.put("/admin/api/v1/guardrails/personal", personal).send().await.expect_status(200);
        let refused = compressed().refusal().await;
        assert_eq!((refused.0, &*refused.1), (400, "guardrail_blocked"));
        for path in ["/p/openai/v1/images/generations", "/p/openai/v1/batches"] {
            let refused = app.post(path, json!({"model": "text", "prompt": TEXT})).refusal().await;
            assert_eq!((refused.0, &*refused.1), (400, "guardrail_blocked"), "{path}");
        }
        ask(&app, Client::Chat, false).await.expect_status(200);
        app.get("/p/openai/v1/models").send().await.expect_status(200);
        // A body that could be read in two ways is refused, as on `/v1`.
        let twice =
            r#"{"model":"text","messages":[],"messages":[{"role":"user","content":"ana@example.com"}]}"#;
        let call = app.call(http::Method::POST, "/p/openai/v1/chat/completions");
        let call = call.header("content-type", "application/json").body(twice);
        assert_eq!(call.refusal().await.0, 400);
        let array =
            app.post("/p/gemini/v1beta/models/text:streamGenerateContent", Client::Gemini.body("text", TEXT));
        assert_eq!(array.send().await.status, 400, "an array of documents is not inspected");
    })
    .await;
}

#[tokio::test]
async fn guardrails_of_a_model_apply_wherever_the_body_names_it() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let mut personal = pii("input", json!({}));
        personal["on_unreadable"] = json!("block");
        app.put("/admin/api/v1/guardrails/personal", personal).send().await;
        let workflow = json!({
            "name": "w", "scope": {"scope_provider_name": "openai", "scope_model": "text"},
            "workflow_payload": {"guardrails": ["personal"]},
        });
        app.post("/admin/api/v1/workflows", workflow).send().await.expect_status(201);
        let padding = "x".repeat(300_000);
        let late =
            format!(r#"{{"messages":[{{"role":"user","content":"{TEXT} {padding}"}}],"model":"text"}}"#);
        for content_type in ["application/json", "text/plain"] {
            let call = app.call(http::Method::POST, "/p/openai/v1/chat/completions");
            call.header("content-type", content_type).body(late.clone()).send().await;
            assert!(!app.last_upstream_request().contains("ana@"), "{content_type}");
        }
        let compressed = app.post("/p/openai/v1/chat/completions", Client::Chat.body("text", TEXT));
        let refused = compressed.header("content-encoding", "br").refusal().await;
        assert_eq!((refused.0, &*refused.1), (400, "guardrail_blocked"), "its model is not known");
    })
    .await;
}

#[tokio::test]
async fn a_model_alters_requests_and_held_answers() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let config = json!({"model": "openai/text", "prompt": "Remove names."});
        guard(&app, json!({"type": "llm_based_altering", "config": config})).await;
        for client in CLIENTS {
            for stream in [false, true] {
                let answer = ask(&app, client, stream).await.expect_status(200);
                let greeting = "Hello from the upstream. You said: ";
                let expected = format!("{greeting}{greeting}{greeting}{TEXT}");
                assert_eq!(client.text(&answer), expected, "{client:?} {stream}");
                if stream {
                    client.check_end(&answer);
                }
            }
        }
        let endpoints = app.receipts(24).await;
        let own = endpoints.iter().filter(|row| row["endpoint"] == "/p/{provider}").count();
        assert_eq!(own, 8);
    })
    .await;
}
