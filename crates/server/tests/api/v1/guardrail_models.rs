//! Guardrails of the type `llm_based_altering`: requests and answers of every format, what the calls of the model cost,
//! and their failures.

use pipeline::policy::Policy;
use pipeline::services::audit;
use serde_json::{Value, json};

use crate::app::{self, CLIENTS, TestApp, TestSettings};

const GUARDRAIL: &str = "/admin/api/v1/guardrails/alter";
const ENDPOINT: &str = "/internal/guardrails";

/// The text of the question after the scripted upstream has altered it.
const ALTERED: &str = "Hello from the upstream. You said: How are you today?";

/// Puts a guardrail into force for all calls.
async fn guard(app: &TestApp, direction: &str, config: Value, more: Value) {
    let mut body = json!({"type": "llm_based_altering", "direction": direction, "config": config});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let stored = app.put(GUARDRAIL, body).send().await;
    assert!(stored.status < 300, "{}", stored.text());
    let workflow = json!({"name": "w", "workflow_payload": {"guardrails": ["alter"]}});
    app.post("/admin/api/v1/workflows", workflow).send().await.expect_status(201);
}

fn config(model: &str) -> Value {
    json!({"model": model, "prompt": "Remove names."})
}

fn audited() -> TestSettings {
    let audit = audit::Rules { enabled: true, bodies: true, ..audit::Rules::default() };
    TestSettings { policy: Policy { audit, ..Policy::default() }, ..TestSettings::every_dialect() }
}

async fn audit_entries(app: &TestApp) -> Vec<Value> {
    app.drain().await.unwrap();
    let page = app.get("/admin/api/v1/audit/log?limit=100").send().await.expect_status(200).json();
    let ids =
        page["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned());
    let mut entries = Vec::new();
    for id in ids.collect::<Vec<_>>().into_iter().rev() {
        let path = format!("/admin/api/v1/audit/log/{id}");
        entries.push(app.get(path).send().await.expect_status(200).json());
    }
    entries
}

#[tokio::test]
async fn requests_of_all_formats_are_altered_before_they_are_sent() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for model in
            ["openai/gpt-4.1~text", "anthropic/claude-sonnet-4-5~text", "gemini/gemini-2.5-flash~text"]
        {
            guard(&app, "input", config(model), json!({})).await;
            for client in CLIENTS {
                for stream in [false, true] {
                    let before = app.upstream.requests().len();
                    let answer =
                        client.ask(&app, "openai/gpt-4.1~text", stream).send().await.expect_status(200);
                    let sent = app.last_upstream_request();
                    assert!(sent.contains(ALTERED), "{model} {client:?}: {sent}");
                    assert_eq!(app.upstream.requests().len(), before + 2, "one call of the model");
                    let asked = String::from_utf8(app.upstream.requests()[before].body.clone()).unwrap();
                    assert!(asked.contains("Remove names.") && asked.contains("How are you"), "{asked}");
                    assert!(client.text(&answer).ends_with(ALTERED), "{client:?}: {}", answer.text());
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn answers_of_all_formats_are_altered_whole_and_streamed() {
    app::each_with(TestSettings::every_dialect, async |app| {
        guard(&app, "output", config("openai/gpt-4.1~text"), json!({})).await;
        for client in CLIENTS {
            for upstream in ["openai/gpt-4.1~text", "anthropic/claude-sonnet-4-5~text"] {
                for stream in [false, true] {
                    let name = format!("{client:?} {upstream} {stream}");
                    let answer = client.ask(&app, upstream, stream).send().await.expect_status(200);
                    let expected = format!("Hello from the upstream. You said: {ALTERED}");
                    assert_eq!(client.text(&answer), expected, "{name}");
                    if stream {
                        client.check_end(&answer);
                    }
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn both_calls_are_booked_with_their_own_usage() {
    app::each(async |app| {
        let (id, key) = app.key(json!({"name": "k", "user_path": "/team"})).await;
        guard(&app, "both", config("openai/gpt-4o"), json!({})).await;
        let call = app.chat("openai/gpt-4.1").key(&key).header("x-gateway-user-path", "/team/a");
        call.header("x-run-id", "run-7").send().await.expect_status(200);
        let rows = app.receipts(3).await;
        let mut endpoints: Vec<&str> = rows.iter().map(|row| row["endpoint"].as_str().unwrap()).collect();
        endpoints.sort_unstable();
        assert_eq!(endpoints, [ENDPOINT, ENDPOINT, "/v1/chat/completions"]);
        let ids: std::collections::BTreeSet<&str> =
            rows.iter().map(|row| row["request_id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), 1, "the calls have the same request id: {rows:#?}");
        // By the upstream's own bill, and by the prices of the two models in nano-dollars per token.
        for line in app.upstream.bill() {
            let row = rows.iter().find(|row| row["provider_id"] == json!(line.id)).unwrap();
            let (input, output) = if line.model == "gpt-4o" { (2500, 10_000) } else { (2000, 8000) };
            assert_eq!((&row["user_path"], &row["auth_key_id"]), (&json!("/team/a"), &json!(id)), "{row:#}");
            assert_eq!(row["input_tokens"], line.prompt_tokens, "{row:#}");
            assert_eq!(row["output_tokens"], line.completion_tokens, "{row:#}");
            let cost = (row["total_cost"].as_f64().unwrap() * 1e9).round() as u64;
            assert_eq!(cost, line.prompt_tokens * input + line.completion_tokens * output, "{row:#}");
        }
        assert_eq!(app.upstream.bill().len(), 3);
    })
    .await;
}

#[tokio::test]
async fn only_texts_of_the_roles_without_the_prefix_are_altered() {
    app::each(async |app| {
        let mut settings = config("openai/text");
        settings["roles"] = json!(["user"]);
        settings["skip_content_prefix"] = json!("[public]");
        guard(&app, "input", settings, json!({})).await;
        let messages = json!([
            {"role": "system", "content": "Be brief."}, {"role": "user", "content": "I am Ann."},
            {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "[public] Hi."},
        ]);
        let body = json!({"model": "openai/text", "messages": messages});
        app.post("/v1/chat/completions", body).send().await.expect_status(200);
        let sent: Value = serde_json::from_str(&app.last_upstream_request()).unwrap();
        let contents: Vec<&str> =
            sent["messages"].as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap()).collect();
        let altered = "Hello from the upstream. You said: I am Ann.";
        assert_eq!(contents, ["Be brief.", altered, "Hello.", "[public] Hi."]);
        assert_eq!(app.upstream.requests().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn failures_follow_on_error_and_are_audited() {
    app::each_with(audited, async |app| {
        for (model, reason) in [
            ("openai/error-500", "the call of the model failed"),
            ("openai/max-tokens", "max_tokens (4096)"),
            ("openai/empty", "did not answer with a text"),
            ("openai/refusal", "did not answer with a text"),
        ] {
            for direction in ["input", "output"] {
                guard(&app, direction, config(model), json!({"on_error": "block"})).await;
                let refused = app.chat("openai/text").refusal().await;
                assert_eq!((refused.0, &*refused.1), (502, "guardrail_error"), "{model} {direction}");
                let entries = audit_entries(&app).await;
                let entry = entries.iter().rev().find(|entry| entry["path"] != ENDPOINT).unwrap();
                let verdict = &entry["guardrails"][0];
                assert_eq!(verdict["verdict"], "error", "{entry:#}");
                assert!(verdict["error"].as_str().unwrap().contains(reason), "{verdict}");
                guard(&app, direction, config(model), json!({"on_error": "allow"})).await;
                let answer = app.chat("openai/text").send().await.expect_status(200);
                assert_eq!(CLIENTS[0].text(&answer), ALTERED, "unchanged: {model} {direction}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn the_rules_of_the_caller_apply_to_the_model() {
    app::each_with(audited, async |app| {
        guard(&app, "input", config("openai/gpt-4o"), json!({})).await;
        let (_, key) = app.key(json!({"name": "k", "allowed_models": ["openai/text"]})).await;
        let refused = app.chat("openai/text").key(&key).refusal().await;
        assert_eq!((refused.0, &*refused.1), (502, "guardrail_error"));
        // One request at a time and one per minute: the calls of the gateway are not counted.
        let limits = json!({"requests_per_minute": 1, "max_parallel_requests": 1});
        let (_, key) = app.key(json!({"name": "l", "rate_limits": limits})).await;
        app.chat("openai/text").key(&key).send().await.expect_status(200);
        assert_eq!(app.chat("openai/text").key(&key).refusal().await.0, 429);
        // The calls of the model have entries of their own, without bodies.
        let entries = audit_entries(&app).await;
        let own: Vec<&Value> = entries.iter().filter(|entry| entry["path"] == ENDPOINT).collect();
        assert_eq!(own.len(), 2, "{entries:#?}");
        for entry in own {
            assert!(!entry.to_string().contains("How are you"), "{entry:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_model_is_not_asked_about_its_own_calls_and_has_their_time_limit() {
    app::each(async |app| {
        guard(&app, "both", config("openai/text"), json!({})).await;
        let scope = json!({"scope_provider_name": "openai", "scope_model": "hang"});
        let payload = json!({"routing": {"timeout_ms": 300}, "guardrails": ["alter"]});
        let body = json!({"name": "slow", "scope": scope, "workflow_payload": payload});
        app.post("/admin/api/v1/workflows", body).send().await.expect_status(201);
        app.put(GUARDRAIL, json!({"config": config("openai/hang")})).send().await.expect_status(200);
        let refused = app.chat("openai/text").refusal().await;
        assert_eq!((refused.0, &*refused.1), (502, "guardrail_error"));
        assert_eq!(app.upstream.requests().len(), 1, "only the model was asked, once");
    })
    .await;
}

#[tokio::test]
async fn unknown_models_are_refused_and_shown() {
    app::each(async |app| {
        app.refresher.discover_one(None, "openai").await;
        let body = json!({"type": "llm_based_altering", "config": config("nothing-like-it")});
        let refused = app.put(GUARDRAIL, body).refusal().await;
        assert_eq!((refused.0, refused.2.as_deref()), (400, Some("config.model")));
        let alias = |target: &str| json!({"target": target});
        app.put("/admin/api/v1/aliases/editor", alias("openai/text")).send().await;
        guard(&app, "input", config("editor"), json!({})).await;
        app.chat("openai/text").send().await.expect_status(200);
        app.call(http::Method::DELETE, "/admin/api/v1/aliases/editor").send().await.expect_status(204);
        let workflows = app.get("/admin/api/v1/workflows").send().await.expect_status(200).json();
        let version = workflows.as_array().unwrap().iter().find(|version| version["name"] == "w").unwrap();
        let error = version["error"].as_str().unwrap();
        assert!(error.contains("'alter'") && error.contains("'editor'"), "{error}");
        assert_eq!(app.chat("openai/text").refusal().await.0, 502);
        let again = json!({"name": "again", "workflow_payload": {"guardrails": ["alter"]}});
        let refused = app.post("/admin/api/v1/workflows", again).refusal().await;
        assert_eq!((refused.0, refused.2.as_deref()), (400, Some("workflow_payload.guardrails[0].ref")));
    })
    .await;
}

#[tokio::test]
async fn a_test_asks_the_model_and_an_explanation_does_not() {
    app::each(async |app| {
        guard(&app, "both", config("openai/gpt-4o"), json!({})).await;
        let body = json!({"body": app::question("openai/text")});
        let explained = app.post("/admin/api/v1/explain", body).send().await.expect_status(200).json();
        assert_eq!(explained["guardrails"]["request"][0]["verdict"], "not_asked", "{explained:#}");
        assert_eq!(app.upstream.requests().len(), 0);
        let test = format!("{GUARDRAIL}/test");
        let sample = json!({"text": "How are you today?"});
        let result = app.post(&*test, sample.clone()).send().await.expect_status(200).json();
        assert_eq!((&result["text"], &result["verdict"]["verdict"]), (&json!(ALTERED), &json!("redact")));
        assert_eq!(app.receipts(1).await[0]["endpoint"], ENDPOINT);
        let key = app.key_with(&["admin:guardrails:read"]).await;
        let result = app.post(&*test, sample).key(&key).send().await.expect_status(200).json();
        assert_eq!(
            result["verdict"]["verdict"], "error",
            "a key without inference makes no calls: {result:#}"
        );
        assert_eq!(app.upstream.requests().len(), 1);
    })
    .await;
}
