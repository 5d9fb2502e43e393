//! Tests of the contents of audit entries for each kind of call, and of what they must not contain.

use http::Method;
use serde_json::{Value, json};
use testkit::FaultScript;

use super::{LOG, entries, logging};
use crate::app::{self, MASTER, TestApp, TestSettings, UPSTREAM_KEY, question};

const OWN: &str = "an-own-secret-of-the-caller";

async fn only(app: &TestApp) -> Value {
    let entry = entries(app, 1).await.remove(0);
    let single = app.get(format!("{LOG}/{}", entry["id"].as_str().unwrap())).send().await.expect_status(200);
    let mut single = single.json();
    // Lists do not look up the key.
    if let Some(caller) = single.pointer_mut("/journey/caller/redacted_value") {
        *caller = Value::Null;
    }
    assert_eq!(single, entry);
    entry
}

#[tokio::test]
async fn a_good_answer_is_kept_whole() {
    app::each_with(logging, async |app| {
        let alias = json!({"target": "openai/gpt-4o"});
        app.put("/admin/api/v1/aliases/nick", alias).send().await.expect_status(201);
        let call = app.chat("nick").header("x-request-id", "mine").header("user-agent", "agent/1");
        let answer = call.header("x-gateway-session-id", "s").send().await.expect_status(200);
        let entry = only(&app).await;
        let expected = json!({
            "request_id": "mine", "method": "POST", "path": "/v1/chat/completions", "requested_model": "nick",
            "resolved_model": "gpt-4o", "provider": "openai", "provider_name": "openai", "alias_used": true,
            "status_code": 200, "stream": false, "auth_method": "master_key", "auth_key_id": null, "user_path": "/",
            "session_id": "s", "client_ip": "192.0.2.7", "error_type": null, "cache_type": "", "guardrails": [],
            "workflow_version_id": null, "interrupted": false,
        });
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&entry[name], value, "{name} in {entry:#}");
        }
        assert_eq!(entry["data"]["request_body"], question("nick"));
        assert_eq!(entry["data"]["response_body"], answer.json());
        assert_eq!(entry["data"]["request_headers"]["authorization"], "***");
        assert_eq!(entry["data"]["request_headers"]["user-agent"], "agent/1");
        assert_eq!(entry["data"]["response_headers"]["x-gateway-model"], "openai/gpt-4o");
        assert_eq!(entry["attempts"].as_array().unwrap().len(), 1);
        assert_eq!(entry["attempts"][0]["status"], 200);
        assert!(entry["usage"]["total_tokens"].as_u64().unwrap() > 0 && entry["ttft_ms"].is_number());
    })
    .await;
}

#[tokio::test]
async fn a_stream_is_kept_as_it_was_sent_with_its_end() {
    app::each_with(logging, async |app| {
        for (path, model) in [
            ("/v1/chat/completions", "openai/text"),
            ("/v1/chat/completions", "anthropic/text"),
            ("/v1/messages", "openai/text"),
        ] {
            let mut body = question(model);
            body["stream"] = json!(true);
            body["max_tokens"] = json!(100);
            let answer = app.post(path, body).send().await.expect_status(200);
            let all = app.refresher.store().audit();
            app.drain().await.unwrap();
            let page = app.get(format!("{LOG}?limit=1")).send().await.json();
            let entry = &page["entries"][0];
            assert_eq!(entry["data"]["response_body"], answer.without_comments(), "{path} {model}");
            assert_eq!(
                (&entry["stream"], &entry["data"]["response_truncated"]),
                (&json!(true), &json!(false))
            );
            assert!(all.verify().await.unwrap().breaks.is_empty());
        }
    })
    .await;
}

#[tokio::test]
async fn refusals_are_recorded_with_their_reason() {
    app::each_with(logging, async |app| {
        let (_, expired) = app.key(json!({"name": "e", "expiry": "2020-01-01T00:00:00Z"})).await;
        let (id, off) = app.key(json!({"name": "o"})).await;
        app.post(format!("/admin/api/v1/auth-keys/{id}/deactivate"), json!({}))
            .send()
            .await
            .expect_status(200);
        let mut answers = Vec::new();
        for key in [&*expired, &*off, "unknown-key-of-nobody"] {
            answers.push(app.chat("openai/text").key(key).send().await.expect_status(401));
        }
        answers.push(app.post("/v1/messages", json!({})).body("not json").send().await.expect_status(400));
        let all = entries(&app, 4).await;
        for (entry, answer) in all.iter().zip(&answers) {
            assert_eq!(entry["data"]["response_body"], answer.json(), "{entry:#}");
            assert_eq!(entry["status_code"], answer.status);
        }
        let reasons: Vec<&Value> = all.iter().map(|entry| &entry["data"]["error_reason"]).collect();
        assert_eq!(
            reasons,
            [&json!("expired key"), &json!("deactivated key"), &json!("unknown key"), &Value::Null]
        );
        assert_eq!(all[0]["auth_method"], Value::Null);
        assert_eq!(all[3]["data"]["request_body"], "not json");
        for (entry, key) in all.iter().zip([&*expired, &*off, "unknown-key-of-nobody"]) {
            assert!(!entry.to_string().contains(key), "{entry:#}");
        }
        app.receipts(1).await;
    })
    .await;
}

#[tokio::test]
async fn passthrough_bodies_are_recorded_in_both_directions() {
    app::each_with(logging, async |app| {
        let path = "/p/openai/v1/chat/completions?a=1&key=hidden-in-the-query";
        let answer = app.post(path, question("text")).send().await.expect_status(200);
        let entry = only(&app).await;
        assert_eq!(
            (&entry["path"], &entry["method"]),
            (&json!("/p/openai/v1/chat/completions"), &json!("POST"))
        );
        assert_eq!(entry["data"]["query"], "a=1&key=***");
        assert_eq!(entry["data"]["request_body"], question("text"));
        assert_eq!(entry["data"]["response_body"], answer.json());
        app.call(Method::GET, "/p/nobody/models").send().await.expect_status(404);
        let refused = &entries(&app, 2).await[1];
        assert_eq!(
            (&refused["method"], &refused["error_code"]),
            (&json!("GET"), &json!("provider_not_found"))
        );
        assert_eq!(refused["data"]["response_body"]["error"]["code"], "provider_not_found");
    })
    .await;
}

#[tokio::test]
async fn secrets_are_masked_in_every_recorded_field() {
    app::each_with(logging, async |app| {
        let (_, key) = app.key(json!({"name": "a"})).await;
        let said = format!("{MASTER} {UPSTREAM_KEY} {key}");
        let mut body = question("openai/text");
        body["messages"][0]["content"] = json!(said);
        let call = || app.post("/v1/chat/completions", body.clone()).key(&key);
        call().header("cookie", OWN).header("x-custom-token", OWN).header("x-note", &said).send().await;
        for path in ["/v1/chat/completions", "/p/openai/v1/chat/completions"] {
            app.upstream.push(FaultScript::status(
                400,
                "application/json",
                format!("{{\"error\":{{\"message\":\"{said}\"}}}}"),
            ));
            app.post(path, body.clone()).key(&key).send().await;
        }
        let all = entries(&app, 3).await;
        let text = json!(all).to_string();
        for secret in [MASTER, UPSTREAM_KEY, &key, OWN] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        assert_eq!(all[0]["data"]["request_headers"]["x-note"], "*** *** ***");
        assert_eq!(all[0]["data"]["request_body"]["messages"][0]["content"], "*** *** ***");
    })
    .await;
}

#[tokio::test]
async fn bodies_are_cut_and_left_out_as_asked() {
    let settings = |bodies: bool, headers: bool| {
        move || {
            let mut settings: TestSettings = logging();
            settings.policy.audit.bodies = bodies;
            settings.policy.audit.headers = headers;
            settings.policy.audit.body_limit = 1024;
            settings
        }
    };
    let long = {
        let mut body = question("openai/text");
        body["messages"][0]["content"] = json!("é".repeat(4000));
        body
    };
    app::each_with(settings(true, false), async |app| {
        app.post("/v1/chat/completions", long.clone()).send().await.expect_status(200);
        let entry = only(&app).await;
        let kept = entry["data"]["request_body"].as_str().unwrap();
        assert!((1020..=1024).contains(&kept.len()) && long.to_string().starts_with(kept), "{kept}");
        assert_eq!(entry["data"]["request_truncated"], true);
        assert_eq!(entry["data"].get("request_headers"), None);
    })
    .await;
    app::each_with(settings(false, true), async |app| {
        app.post("/v1/chat/completions", long.clone()).send().await.expect_status(200);
        let entry = only(&app).await;
        assert_eq!((entry["data"].get("request_body"), entry["data"].get("response_body")), (None, None));
        assert!(entry["data"]["request_headers"].is_object());
    })
    .await;
}

#[tokio::test]
async fn headers_are_cut_and_those_of_unknown_callers_are_not_kept() {
    app::each_with(logging, async |app| {
        let long = "v".repeat(40_000);
        let call = |key: &str| app.chat("openai/text").key(key).header("x-long", &long);
        call(MASTER).header("x-other", "kept").send().await.expect_status(200);
        let unknown = app.post("/v1/chat/completions?a=1", question("openai/text"));
        unknown.key("unknown-key").header("x-long", &long).send().await.expect_status(401);
        let all = entries(&app, 2).await;
        let headers = &all[0]["data"]["request_headers"];
        let kept = headers["x-long"].as_str().unwrap();
        assert!(kept.len() < 1100 && kept.ends_with('…'), "{}", kept.len());
        assert_eq!(headers["x-other"], "kept");
        let data = &all[1]["data"];
        assert_eq!(
            (&data["request_headers"], &data["response_headers"]),
            (&all[1]["data"]["absent"], &Value::Null)
        );
        assert!(!data.to_string().contains("a=1"), "{data:#}");
        assert!(all[1].to_string().len() < 2000, "{:#}", all[1]);
    })
    .await;
}

#[tokio::test]
async fn unknown_callers_cannot_fill_the_log() {
    app::each_with(logging, async |app| {
        for _ in 0..300 {
            app.chat("openai/text").key("unknown-key").send().await.expect_status(401);
        }
        while app.drain().await.unwrap() > 0 {}
        let page = app.get(format!("{LOG}?limit=1")).send().await.expect_status(200).json();
        let kept = page["total"].as_u64().unwrap();
        assert!((200..290).contains(&kept), "{kept}");
        let metrics = app.get("/metrics").send().await.expect_status(200).text();
        let dropped = format!("gatehouse_audit_entries_dropped_total {}", 300 - kept);
        assert!(metrics.contains(&dropped), "{dropped}");
    })
    .await;
}
