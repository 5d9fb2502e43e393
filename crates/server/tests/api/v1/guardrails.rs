//! Tests of guardrails: their effect on calls of all formats, whole and streamed.

use pipeline::policy::Policy;
use pipeline::services::audit;
use serde_json::{Value, json};

use crate::app::{self, CLIENTS, Client, TestApp, TestSettings, UPSTREAMS};

const TEXT: &str = "Write to ana@example.com, and to nobody else.";
const REDACTED: &str = "Write to [EMAIL], and to nobody else.";

/// Creates guardrails, and a workflow for all calls that refers to them in one step.
async fn guard(app: &TestApp, guardrails: &[(&str, Value)]) {
    for (name, body) in guardrails {
        app.put(format!("/admin/api/v1/guardrails/{name}"), body.clone()).send().await.expect_status(201);
    }
    let names: Vec<&str> = guardrails.iter().map(|(name, _)| *name).collect();
    let body = json!({"name": "guarded", "workflow_payload": {"guardrails": names}});
    app.post("/admin/api/v1/workflows", body).send().await.expect_status(201);
}

fn pii(direction: &str, config: Value) -> Value {
    json!({"type": "pii_redact", "direction": direction, "config": config})
}

async fn ask(app: &TestApp, client: Client, upstream: &str, stream: bool) -> app::Answer {
    let model = format!("{upstream}text");
    client.send(app, &model, stream, client.body(&model, TEXT)).send().await
}

#[tokio::test]
async fn requests_of_all_formats_are_redacted_before_they_are_sent() {
    app::each_with(TestSettings::every_dialect, async |app| {
        guard(&app, &[("personal", pii("input", json!({})))]).await;
        for client in CLIENTS {
            for upstream in UPSTREAMS {
                ask(&app, client, upstream, false).await.expect_status(200);
                let sent = app.last_upstream_request();
                assert!(sent.contains(REDACTED) && !sent.contains("ana@"), "{client:?} {upstream}: {sent}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn answers_of_all_formats_are_redacted_whole_and_streamed() {
    app::each_with(TestSettings::every_dialect, async |app| {
        guard(&app, &[("personal", pii("output", json!({})))]).await;
        for client in CLIENTS {
            for upstream in UPSTREAMS {
                let whole = ask(&app, client, upstream, false).await.expect_status(200);
                let stream = ask(&app, client, upstream, true).await.expect_status(200);
                assert!(app.last_upstream_request().contains("ana@example.com"));
                for answer in [&whole, &stream] {
                    let text = client.text(answer);
                    assert!(text.contains(REDACTED), "{client:?} {upstream}: {text}");
                    assert!(!answer.text().contains("ana@"), "{client:?} {upstream}: {}", answer.text());
                }
                assert_eq!(client.text(&whole), client.text(&stream), "{client:?} {upstream}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_request_in_the_format_of_its_provider_is_sent_as_the_client_wrote_it() {
    app::each_with(TestSettings::every_dialect, async |app| {
        guard(&app, &[("personal", pii("both", json!({})))]).await;
        let (client, model) = (Client::Chat, "ollama/llama3~text");
        for stream in [false, true] {
            let messages = json!([{"content": TEXT, "role": "user"}]);
            let body = json!({"top_p": 1, "messages": messages, "model": model});
            let answer = client.send(&app, model, stream, body).send().await.expect_status(200);
            let sent = app.last_upstream_request();
            let expected = [r#"{"top_p":1,"messages":[{"content":""#, REDACTED, r#"","role":"user"}]"#];
            assert!(sent.contains(&expected.concat()), "{sent}");
            assert!(client.text(&answer).contains(REDACTED), "{}", answer.text());
        }
    })
    .await;
}

#[tokio::test]
async fn reversible_placeholders_are_restored_for_the_client() {
    app::each_with(TestSettings::every_dialect, async |app| {
        guard(&app, &[("personal", pii("both", json!({"reversible": true})))]).await;
        for client in CLIENTS {
            for upstream in ["openai/gpt-4.1~", "anthropic/claude-sonnet-4-5~"] {
                let mut placeholders = Vec::new();
                for stream in [false, true] {
                    let answer = ask(&app, client, upstream, stream).await.expect_status(200);
                    let sent = app.last_upstream_request();
                    assert!(!sent.contains("ana@"), "{client:?} {upstream}: {sent}");
                    let place = sent.find("[EMAIL_").unwrap();
                    placeholders.push(sent[place..place + 13].to_owned());
                    assert!(client.text(&answer).contains(TEXT), "{client:?} {upstream}: {}", answer.text());
                }
                assert_eq!(placeholders[0], placeholders[1], "stable, so that prompt caches keep working");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_blocked_request_is_not_sent_and_costs_nothing() {
    app::each(async |app| {
        guard(&app, &[("words", json!({"type": "regex_block", "config": {"patterns": ["(?i)nobody"]}}))])
            .await;
        for stream in [false, true] {
            let answer = ask(&app, Client::Chat, "openai/", stream).await.expect_status(400).json();
            assert_eq!(answer["error"]["code"], "guardrail_blocked");
            assert_eq!(answer["error"]["message"], "The guardrail 'words' does not allow this request.");
        }
        assert!(app.upstream.requests().iter().all(|request| request.method != "POST"));
        for receipt in app.receipts(2).await {
            assert_eq!(receipt["total_tokens"], 0, "{receipt}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_blocked_answer_is_paid_for() {
    app::each_with(TestSettings::every_dialect, async |app| {
        guard(&app, &[("personal", pii("output", json!({"action": "block"})))]).await;
        for (client, upstream) in
            [(Client::Chat, "openai/"), (Client::Messages, "openai/"), (Client::Chat, "anthropic/")]
        {
            let whole = ask(&app, client, upstream, false).await.expect_status(400).text();
            assert!(whole.contains("The guardrail 'personal' does not allow this answer."), "{whole}");
            assert!(!whole.contains("ana@"));
            let stream = ask(&app, client, upstream, true).await.text();
            assert!(stream.contains("The guardrail 'personal' does not allow this answer."), "{stream}");
            assert!(!stream.contains("ana@"), "{stream}");
        }
        for receipt in app.receipts(6).await {
            assert!(receipt["input_tokens"].as_u64().unwrap() > 0, "{receipt:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_inspected_is_not_asked_for() {
    app::each(async |app| {
        guard(&app, &[("personal", pii("output", json!({})))]).await;
        let mut body = Client::Chat.body("openai/text", TEXT);
        body["n"] = json!(2);
        let answer = app.post("/v1/chat/completions", body).send().await.expect_status(400).json();
        assert_eq!(answer["error"]["param"], "n");
        let mut body = Client::Responses.body("openai/text", TEXT);
        body["background"] = json!(true);
        let answer = app.post("/v1/responses", body).send().await.expect_status(400).json();
        assert_eq!(answer["error"]["param"], "background");
    })
    .await;
}

#[tokio::test]
async fn a_workflow_can_switch_guardrails_off() {
    app::each(async |app| {
        guard(&app, &[("personal", pii("both", json!({})))]).await;
        let body = json!({"name": "free", "scope": {"scope_user_path": "/free"},
            "workflow_payload": {"features": {"guardrails": false}, "guardrails": ["personal"]}});
        app.post("/admin/api/v1/workflows", body).send().await.expect_status(201);
        let call = |path: &str| {
            app.post("/v1/chat/completions", Client::Chat.body("openai/text", TEXT))
                .header("x-gateway-user-path", path)
        };
        call("/free/one").send().await.expect_status(200);
        assert!(app.last_upstream_request().contains("ana@"));
        call("/other").send().await.expect_status(200);
        assert!(!app.last_upstream_request().contains("ana@"));
    })
    .await;
}

#[tokio::test]
async fn a_guardrail_of_a_path_applies_below_it_only() {
    app::each(async |app| {
        let mut personal = pii("input", json!({}));
        personal["user_path"] = json!("/team");
        guard(&app, &[("personal", personal)]).await;
        for (path, is_redacted) in [("/team/one", true), ("/other", false)] {
            let call = app.post("/v1/chat/completions", Client::Chat.body("openai/text", TEXT));
            call.header("x-gateway-user-path", path).send().await.expect_status(200);
            assert_eq!(app.last_upstream_request().contains("[EMAIL]"), is_redacted, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn instructions_are_added_for_every_format() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let prompt = json!({"type": "system_prompt", "config": {"content": "Answer in verse."}});
        guard(&app, &[("style", prompt)]).await;
        for client in CLIENTS {
            ask(&app, client, "openai/gpt-4.1~", false).await.expect_status(200);
            assert!(app.last_upstream_request().contains("Answer in verse."), "{client:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn verdicts_are_explained() {
    app::each(async |app| {
        guard(&app, &[("personal", pii("both", json!({})))]).await;
        let body = json!({"body": Client::Chat.body("openai/text", TEXT)});
        let explanation = app.post("/admin/api/v1/explain", body).send().await.expect_status(200).json();
        let expected = json!({
            "request": [{"name": "personal", "subject": "request", "mode": "enforce", "verdict": "redact", "kinds": {"email": 1}}],
            "answer": ["personal"], "record": [],
        });
        assert_eq!(explanation["guardrails"], expected);
        assert_eq!(explanation["upstream_request"]["body"]["messages"][0]["content"], REDACTED);
        assert!(!explanation.to_string().contains("ana@"), "{explanation:#}");
    })
    .await;
}

fn logging() -> TestSettings {
    let audit = audit::Rules { enabled: true, bodies: true, headers: true, ..audit::Rules::default() };
    TestSettings { policy: Policy { audit, ..Policy::default() }, ..TestSettings::every_dialect() }
}

async fn audit_entries(app: &TestApp, count: usize) -> Vec<Value> {
    app.receipts(count).await;
    let answer = app.get("/admin/api/v1/audit/log").send().await.expect_status(200).json();
    answer["entries"].as_array().unwrap().clone()
}

#[tokio::test]
async fn the_audit_log_has_the_verdicts_and_what_was_sent() {
    app::each_with(logging, async |app| {
        guard(&app, &[("personal", pii("both", json!({"reversible": true})))]).await;
        for stream in [false, true] {
            ask(&app, Client::Chat, "openai/", stream).await.expect_status(200);
        }
        for entry in audit_entries(&app, 2).await {
            let verdicts = entry["guardrails"].as_array().unwrap();
            let shown =
                verdicts.iter().map(|verdict| (verdict["subject"].as_str(), verdict["verdict"].as_str()));
            let expected = [(Some("request"), Some("redact")), (Some("answer"), Some("allow"))];
            assert_eq!(shown.collect::<Vec<_>>(), expected);
            let data = entry["data"].to_string();
            assert!(data.contains("[EMAIL_") && !data.contains("ana@"), "{data}");
        }
    })
    .await;
}

#[tokio::test]
async fn guardrails_of_the_log_redact_records_only() {
    app::each_with(logging, async |app| {
        guard(&app, &[("personal", pii("log", json!({})))]).await;
        for stream in [false, true] {
            let answer = ask(&app, Client::Messages, "anthropic/", stream).await.expect_status(200);
            assert!(app.last_upstream_request().contains("ana@example.com"));
            assert!(Client::Messages.text(&answer).contains(TEXT));
        }
        for entry in audit_entries(&app, 2).await {
            let data = entry["data"].to_string();
            assert!(data.contains("[EMAIL]") && !data.contains("ana@"), "{data}");
        }
    })
    .await;
}

#[tokio::test]
async fn bodies_that_no_guardrail_has_seen_are_not_recorded() {
    app::each_with(logging, async |app| {
        let words =
            json!({"type": "regex_block", "direction": "input", "config": {"patterns": ["forbidden"]}});
        guard(&app, &[("personal", pii("both", json!({}))), ("words", words)]).await;
        // The step that refuses comes before the one that redacts.
        let steps = json!([{"ref": "words", "step": 1}, {"ref": "personal", "step": 2}]);
        let body = json!({"name": "in steps", "workflow_payload": {"guardrails": steps}});
        app.post("/admin/api/v1/workflows", body).send().await.expect_status(201);
        let post = |body: Value| app.post("/v1/chat/completions", body).header("idempotency-key", "once");
        let body = Client::Chat.body("openai/text", TEXT);
        post(body.clone()).send().await.expect_status(200);
        post(body).send().await.expect_status(200);
        let unknown = Client::Chat.body("a-model-of-nobody", TEXT);
        app.post("/v1/chat/completions", unknown).send().await.expect_status(404);
        let blocked = Client::Chat.body("openai/text", &format!("{TEXT} This is forbidden."));
        app.post("/v1/chat/completions", blocked).send().await.expect_status(400);
        for entry in audit_entries(&app, 4).await {
            assert!(!entry.to_string().contains("ana@"), "{entry:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_blocked_answer_without_usage_is_estimated() {
    app::each(async |app| {
        guard(&app, &[("personal", pii("output", json!({"action": "block"})))]).await;
        let body = Client::Chat.body("openai/no-usage", TEXT);
        app.post("/v1/chat/completions", body).send().await.expect_status(400);
        let receipt = app.receipts(1).await.remove(0);
        assert_eq!(
            (receipt["estimated"].as_bool(), receipt["status_code"].as_u64()),
            (Some(true), Some(400))
        );
        assert!(receipt["output_tokens"].as_u64().unwrap() > 0, "{receipt:#}");
    })
    .await;
}

#[tokio::test]
async fn earlier_turns_are_inspected_and_restored() {
    app::each_with(TestSettings::every_dialect, async |app| {
        guard(&app, &[("personal", pii("both", json!({"reversible": true})))]).await;
        let model = "anthropic/text";
        let first =
            app.post("/v1/responses", Client::Responses.body(model, TEXT)).send().await.expect_status(200);
        assert!(Client::Responses.text(&first).contains(TEXT));
        let mut body = Client::Responses.body(model, "And now?");
        body["previous_response_id"] = first.json()["id"].clone();
        app.post("/v1/responses", body).send().await.expect_status(200);
        let sent = app.last_upstream_request();
        assert!(sent.contains("[EMAIL_") && !sent.contains("ana@"), "{sent}");
    })
    .await;
}

#[tokio::test]
async fn added_instructions_are_not_shown_to_the_client() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let prompt =
            json!({"type": "system_prompt", "config": {"mode": "override", "content": "Be secretive."}});
        guard(&app, &[("style", prompt)]).await;
        for model in ["anthropic/text", "openai/text"] {
            let mut body = Client::Responses.body(model, TEXT);
            body["instructions"] = json!("Be kind.");
            let answer = app.post("/v1/responses", body).send().await.expect_status(200).json();
            assert!(app.last_upstream_request().contains("Be secretive."));
            assert_eq!(answer["instructions"], "Be kind.", "{model}");
        }
    })
    .await;
}

#[tokio::test]
async fn guardrails_can_be_switched_off_for_the_gateway() {
    let off = || TestSettings {
        policy: Policy { guardrails: false, ..Policy::default() },
        ..TestSettings::default()
    };
    app::each_with(off, async |app| {
        guard(&app, &[("personal", pii("both", json!({})))]).await;
        ask(&app, Client::Chat, "openai/", false).await.expect_status(200);
        assert!(app.last_upstream_request().contains("ana@"));
    })
    .await;
}

#[tokio::test]
async fn monitoring_changes_and_refuses_nothing() {
    app::each(async |app| {
        let mut personal = pii("both", json!({"reversible": true}));
        personal["mode"] = json!("monitor");
        let words = json!({"type": "regex_block", "mode": "monitor", "config": {"patterns": ["nobody"]}});
        guard(&app, &[("personal", personal), ("words", words)]).await;
        let mut body = Client::Chat.body("openai/text", TEXT);
        body["n"] = json!(2);
        app.post("/v1/chat/completions", body).send().await.expect_status(200);
        for stream in [false, true] {
            let answer = ask(&app, Client::Chat, "openai/", stream).await.expect_status(200);
            assert!(app.last_upstream_request().contains("ana@example.com"));
            assert!(Client::Chat.text(&answer).contains(TEXT));
        }
    })
    .await;
}
