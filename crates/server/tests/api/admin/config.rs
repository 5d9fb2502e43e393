//! Tests of `/admin/api/v1/config`: export, plan and apply.

mod budgets;
mod file_resources;
mod plan;
mod tenant_documents;

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};

use crate::app::{self, Answer, TestApp, TestSettings, UPSTREAM_KEY};

const EXPORT: &str = "/admin/api/v1/config/export";
const PLAN: &str = "/admin/api/v1/config/plan";
const APPLY: &str = "/admin/api/v1/config/apply";

fn settings() -> TestSettings {
    TestSettings { loopback_listener: true, ..TestSettings::enterprise() }
}

async fn export(app: &TestApp) -> String {
    app.get(EXPORT).send().await.expect_status(200).text()
}

async fn documents(app: &TestApp) -> Value {
    app.get(format!("{EXPORT}?format=json")).send().await.expect_status(200).json()
}

async fn plan(app: &TestApp, body: Value) -> Value {
    app.post(PLAN, body).send().await.expect_status(200).json()
}

async fn apply(app: &TestApp, body: Value) -> Answer {
    app.post(APPLY, body).send().await
}

/// The changes of a plan as action, kind and name.
fn changes(plan: &Value) -> Vec<String> {
    let text = |change: &Value, field: &str| change[field].as_str().unwrap().to_owned();
    let list = plan["changes"].as_array().unwrap().iter();
    list.map(|change| format!("{} {} {}", text(change, "action"), text(change, "kind"), text(change, "name")))
        .collect()
}

/// Replaces references to variables, as the command does.
fn expanded(value: &Value, variables: &BTreeMap<&str, &str>) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
            Some(name) => json!(variables.get(name).unwrap_or_else(|| panic!("no variable {name}"))),
            None => json!(text.replace("$${", "${")),
        },
        Value::Array(items) => items.iter().map(|item| expanded(item, variables)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), expanded(value, variables))).collect()
        }
        other => other.clone(),
    }
}

/// Creates a document of every kind. Returns a raw key.
async fn furnish(app: &TestApp) -> String {
    let second = json!({
        "name": "second", "type": "openai_compatible", "base_url": app.upstream.base_url(), "api_key": "sk-second-5678",
        "models": ["long", "text"], "headers": {"x-team": "hidden-header"}, "priority": 3, "resilience": {"max_retries": 1},
    });
    app.post("/admin/api/v1/providers", second).send().await.expect_status(201);
    // That of the environment has limits that only tests have.
    let openai = json!({"resilience": {"max_retries": 0}});
    app.put("/admin/api/v1/providers/openai", openai).send().await.expect_status(200);
    app.refresher.discover().await;
    let admin = |path: &str| format!("/admin/api/v1/{path}");
    for (path, body) in [
        (
            "pools/both",
            json!({"members": ["openai", "second"], "weights": {"second": 2.5}, "strategy": "weighted"}),
        ),
        ("combos/safe", json!({"selectors": ["second/text", "openai/text"]})),
        ("aliases/fast", json!({"target": "second/text", "description": "a: 'b' # c"})),
        ("aliases/of-combo", json!({"target": "safe"})),
        (
            "model-overrides/second%2Flong",
            json!({"enabled": false, "metadata": {"display_name": "Long", "context_window": 1000}}),
        ),
        (
            "model-pricing/second%2Ftext",
            json!({"input_per_mtok": 0.25, "output_per_mtok": 1.5, "tiers": [{"above_tokens": 1000, "input_per_mtok": 0.5}]}),
        ),
        (
            "guardrails/prompt",
            json!({"type": "system_prompt", "config": {"content": "Say ${HOME}\nand: more", "mode": "inject"}}),
        ),
        (
            "guardrails/hook",
            json!({"type": "webhook", "direction": "input", "config": {"url": "http://127.0.0.1:9/hook", "headers": {"x-secret": "hidden-hook"}}}),
        ),
        (
            "budgets/settings",
            json!({"thresholds": [0.5], "webhook_url": "http://127.0.0.1:9/alerts", "webhook_secret": "hidden-webhook-secret"}),
        ),
        ("budgets/%2Fteam/daily", json!({"amount": 2.5, "on_tight": "refuse", "child_default": 1})),
        ("budgets/%2F/7200", json!({"amount": 100})),
    ] {
        let answer = app.put(admin(path), body).send().await;
        assert!([200, 201].contains(&answer.status), "{path}: {}", answer.text());
    }
    for name in ["first", "second"] {
        let workflow = json!({"name": name, "workflow_payload": {"guardrails": ["prompt"], "features": {"cache": false}}});
        app.post(admin("workflows"), workflow).send().await.expect_status(201);
    }
    let team = json!({"name": "team", "scope": {"scope_user_path": "/team"}, "workflow_payload": {"routing": {"retries": 1}}});
    app.post(admin("workflows"), team).send().await.expect_status(201);
    let settings = json!({"log.level": "debug", "proxy.http": "http://user:hidden-proxy@proxy:1"});
    app.call(Method::PATCH, admin("settings")).json(settings).send().await.expect_status(200);
    furnish_tenant(app).await;
    let (id, _) = app.key(json!({"name": "off", "allowed_models": []})).await;
    app.post(admin(&format!("auth-keys/{id}/deactivate")), json!({})).send().await.expect_status(200);
    let limited = json!({
        "name": "limited", "description": "d", "user_path": "/team", "scopes": ["inference", "admin:usage:read"],
        "rate_limits": {"requests_per_minute": 60, "count_cached": true}, "expiry": "2999-12-31T23:59:59Z",
        "provider_pool_id": "both", "denied_models": ["*-mini"],
    });
    let (id, old) = app.key(limited).await;
    app.post(admin(&format!("auth-keys/{id}/rotate")), json!({})).send().await.expect_status(200);
    old
}

/// Creates a tenant with a document of every kind that tenants can have, most with the name of another one.
async fn furnish_tenant(app: &TestApp) {
    let admin = |path: &str| format!("/admin/api/v1/{path}?tenant_id=acme");
    let tenant = json!({"slug": "acme", "name": "Acme", "metadata": {"plan": "gold"}});
    app.post("/admin/api/v1/tenants", tenant).send().await.expect_status(201);
    let second = json!({
        "type": "openai_compatible", "base_url": app.upstream.base_url(), "api_key": "sk-acme-5678", "models": ["text"],
    });
    for (path, body) in [
        ("providers/second", second),
        ("pools/both", json!({"members": ["second", "openai"]})),
        ("combos/safe", json!({"selectors": ["openai/text", "second/text"]})),
        ("aliases/own", json!({"target": "safe"})),
        ("model-overrides/second%2Ftext", json!({"metadata": {"display_name": "Acme's"}})),
        ("model-pricing/second%2Ftext", json!({"input_per_mtok": 1, "output_per_mtok": 2})),
        (
            "guardrails/prompt",
            json!({"type": "system_prompt", "config": {"content": "Be brief.", "mode": "inject"}}),
        ),
    ] {
        app.put(admin(path), body).send().await.expect_status(201);
    }
    let workflow = json!({"name": "of acme", "workflow_payload": {"guardrails": ["prompt", "hook"]}});
    app.post(admin("workflows"), workflow).send().await.expect_status(201);
    app.key(json!({"name": "of acme", "tenant_id": "acme", "provider_pool_id": "both"})).await;
}

const SECRETS: [(&str, &str); 9] = [
    ("ACME_SECOND_API_KEY", "sk-acme-5678"),
    ("OPENAI_API_KEY", UPSTREAM_KEY),
    ("SECOND_API_KEY", "sk-second-5678"),
    ("SECOND_HEADER_X_TEAM", "hidden-header"),
    ("GUARDRAIL_HOOK_HEADER_X_SECRET", "hidden-hook"),
    ("GUARDRAIL_HOOK_URL", "http://127.0.0.1:9/hook"),
    ("BUDGET_WEBHOOK_SECRET", "hidden-webhook-secret"),
    ("BUDGET_WEBHOOK_URL", "http://127.0.0.1:9/alerts"),
    ("HTTP_PROXY", "http://user:hidden-proxy@proxy:1"),
];

#[tokio::test]
async fn an_export_applied_to_a_fresh_gateway_exports_the_same_bytes() {
    app::each_with(settings, async |source| {
        let key = furnish(&source).await;
        let (text, exported) = (export(&source).await, documents(&source).await);
        let sections: Vec<&str> = exported.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = [
            "settings",
            "tenants",
            "providers",
            "pools",
            "combos",
            "aliases",
            "model_overrides",
            "model_prices",
            "guardrails",
            "workflows",
            "budget_settings",
            "budgets",
            "auth_keys",
        ];
        assert_eq!(sections, expected);
        for (_, secret) in SECRETS {
            assert!(!text.contains(secret), "{text}");
        }
        assert_eq!(exported["workflows"]["global"]["name"], "second", "only the version in force");
        let own = &exported["tenants"]["acme"]["documents"];
        assert_eq!(
            (&own["workflows"]["global"]["name"], own.as_object().unwrap().len()),
            (&json!("of acme"), 8)
        );
        let documents = expanded(&exported, &BTreeMap::from(SECRETS));
        let fresh = || TestSettings { vendors: &[], ..settings() };
        app::each_with(fresh, async |target| {
            let planned = plan(&target, json!({"documents": documents})).await;
            assert_eq!(planned["errors"], json!([]), "{planned:#}");
            apply(&target, json!({"documents": documents})).await.expect_status(200);
            assert_eq!(export(&target).await, text);
            let again = plan(&target, json!({"documents": documents, "prune": true})).await;
            assert_eq!((&again["changes"], &again["errors"]), (&json!([]), &json!([])), "{again:#}");
            target.chat("second/text").key(&key).send().await.expect_status(200);
        })
        .await;
        let own = plan(&source, json!({"documents": documents, "prune": true})).await;
        assert_eq!((&own["changes"], &own["errors"]), (&json!([]), &json!([])), "{own:#}");
    })
    .await;
}

#[tokio::test]
async fn an_export_of_an_empty_gateway_is_empty() {
    app::each_with(
        || TestSettings { vendors: &[], ..settings() },
        async |app| {
            assert_eq!(documents(&app).await, json!({}));
            app.get(format!("{EXPORT}?format=xml")).send().await.expect_status(400);
        },
    )
    .await;
}
