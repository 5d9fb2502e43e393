//! Tests of the journey in audit entries: the decisions about a call, in their order.

use serde_json::{Value, json};

use super::{LOG, entries};
use crate::app::{self, TestApp, TestSettings};

const EMAIL: &str = "Write to ana@example.com.";

fn settings() -> TestSettings {
    let mut settings = TestSettings { vendors: &["openai", "anthropic"], ..TestSettings::enterprise() };
    settings.policy.audit.enabled = true;
    settings.policy.cache.enabled = true;
    settings
}

/// An alias of a combo whose first target is rate limited, a budget, a guardrail and a limited key, which is returned.
async fn furnish(app: &TestApp) -> String {
    let combo = json!({"name": "sonnet-first", "selectors": ["openai/error-429", "anthropic/claude-sonnet-4-5"],
        "strategy": "primary_fallback"});
    app.post("/admin/api/v1/combos", combo).send().await.expect_status(201);
    app.put("/admin/api/v1/aliases/smart", json!({"target": "sonnet-first"})).send().await.expect_status(201);
    app.put("/admin/api/v1/budgets/%2Fsearch/daily", json!({"amount": 20})).send().await.expect_status(200);
    let pii = json!({"type": "pii_redact", "direction": "input", "config": {}});
    app.put("/admin/api/v1/guardrails/pii", pii).send().await.expect_status(201);
    let workflow = json!({"name": "search", "workflow_payload": {"guardrails": ["pii"]}});
    app.post("/admin/api/v1/workflows", workflow).send().await.expect_status(201);
    let key = json!({"name": "search-indexer", "user_path": "/search/indexer",
        "rate_limits": {"requests_per_minute": 60, "max_parallel_requests": 4}});
    app.key(key).await.1
}

fn body(model: &str, stream: bool) -> Value {
    json!({"model": model, "stream": stream, "max_tokens": 100, "messages": [{"role": "user", "content": EMAIL}]})
}

/// Replaces times and costs, which vary, after it has checked that they are numbers.
fn settle(journey: &mut Value) {
    for path in [
        "/guardrails/request_ms",
        "/budget/reserved",
        "/budget/settled",
        "/budget/released",
        "/budget/budgets/0/remaining",
        "/reply/duration_ms",
        "/reply/ttft_ms",
        "/reply/total_cost",
        "/reply/output_tokens",
        "/gateway_ms",
        "/provider_ms",
    ] {
        let value = journey.pointer_mut(path).unwrap_or_else(|| panic!("{path}"));
        assert!(value.is_number(), "{path}: {value}");
        *value = json!("[number]");
    }
    journey["caller"]["auth_key_id"] = json!("[id]");
    journey["workflow"]["id"] = json!("[id]");
    journey["caller"]["redacted_value"] = json!(journey["caller"]["redacted_value"].is_string());
}

#[tokio::test]
async fn an_entry_tells_the_journey_of_its_call() {
    app::each_with(settings, async |app| {
        let key = furnish(&app).await;
        app.post("/v1/chat/completions", body("smart", true)).key(&key).send().await.expect_status(200);
        let entry = entries(&app, 1).await.remove(0);
        let single = app.get(format!("{LOG}/{}", entry["id"].as_str().unwrap())).send().await.json();
        assert_eq!(single["auth_key_name"], "search-indexer");
        let budget = &single["journey"]["budget"];
        let figure = |name: &str| budget[name].as_f64().unwrap();
        assert!((figure("reserved") - figure("settled") - figure("released")).abs() < 1e-9, "{budget}");
        assert!(
            (budget["budgets"][0]["remaining"].as_f64().unwrap() - 20.0 + figure("reserved")).abs() < 1e-9
        );
        let attempts = single["attempts"].as_array().unwrap();
        assert_eq!((&attempts[0]["status"], &attempts[0]["retry_after_ms"]), (&json!(429), &json!(30_000)));
        assert_eq!(attempts[0]["streamed_ms"], Value::Null);
        assert_eq!(
            (&attempts[1]["status"], &attempts[1]["translated_to"]),
            (&json!(200), &json!("messages"))
        );
        for name in ["first_byte_ms", "duration_ms", "streamed_ms"] {
            assert!(attempts[1][name].is_number(), "{name}: {}", attempts[1]);
        }
        assert_eq!(single["journey"]["guardrails"]["verdicts"], single["guardrails"]);
        let mut journey = single["journey"].clone();
        settle(&mut journey);
        app::check_snapshot("audit_journey", &serde_json::to_string_pretty(&sorted(journey)).unwrap());
        assert_eq!(entry["journey"]["caller"]["redacted_value"], Value::Null, "not in lists");
    })
    .await;
}

/// With sorted members.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let sorted: std::collections::BTreeMap<_, _> = members.into_iter().collect();
            Value::Object(sorted.into_iter().map(|(name, value)| (name, sorted_member(value))).collect())
        }
        other => sorted_member(other),
    }
}

fn sorted_member(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Object(_) => sorted(value),
        other => other,
    }
}

#[tokio::test]
async fn refusals_and_hits_have_a_short_journey() {
    app::each_with(settings, async |app| {
        let chat = |model: &str| app.post("/v1/chat/completions", body(model, false));
        chat("openai/gpt-4o").send().await.expect_status(200);
        chat("openai/gpt-4o").send().await.expect_status(200);
        chat("nowhere/at-all").send().await.expect_status(404);
        chat("openai/gpt-4o").key("nobody").send().await.expect_status(401);
        let all = entries(&app, 4).await;
        let cache: Vec<&Value> = all.iter().map(|entry| &entry["journey"]["cache"]["status"]).collect();
        assert_eq!(cache, [&json!("miss"), &json!("hit-exact"), &json!("off"), &Value::Null]);
        assert_eq!(all[0]["journey"]["cache"]["reason"], "not_found");
        assert_eq!(all[1]["journey"]["cache"]["reason"], Value::Null);
        assert_eq!((&all[1]["attempts"], &all[1]["journey"]["provider_ms"]), (&json!([]), &json!(0.0)));
        let resolution = &all[0]["journey"]["resolution"];
        let expected = json!({"steps": [{"kind": "instance", "name": "openai"}], "targets": ["openai/gpt-4o"],
            "target_count": 1});
        assert_eq!(*resolution, expected);
        assert_eq!(all[0]["journey"]["reply"]["finish_reason"], "stop");
        let refused = &all[2]["journey"];
        assert_eq!((&refused["resolution"], &refused["budget"]), (&Value::Null, &Value::Null));
        assert_eq!(refused["reply"]["error_code"], "model_not_found");
        assert_eq!(all[3]["journey"], Value::Null, "nothing about callers without a key");
    })
    .await;
}

#[tokio::test]
async fn readers_of_a_subtree_do_not_see_the_budgets_above_it() {
    app::each_with(settings, async |app| {
        let key = furnish(&app).await;
        let scopes = ["admin:audit:read"];
        let (_, reader) =
            app.key(json!({"name": "reader", "user_path": "/search/indexer", "scopes": scopes})).await;
        app.post("/v1/chat/completions", body("smart", false)).key(&key).send().await.expect_status(200);
        let id = entries(&app, 1).await[0]["id"].clone();
        let shown = app.get(format!("{LOG}/{}", id.as_str().unwrap())).key(&reader).send().await.json();
        let budget = &shown["journey"]["budget"];
        assert_eq!(budget["budgets"][0]["remaining"], Value::Null, "{budget}");
        assert!(budget["settled"].is_number(), "{budget}");
    })
    .await;
}
