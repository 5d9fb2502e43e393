//! Tests of documents that belong to a tenant: visibility, precedence, and the calls of the tenant's callers.

use http::Method;
use serde_json::{Value, json};

use crate::app::{self, TestApp, TestSettings};

const KEY: &str = "sk-of-the-tenant-1234";

async fn tenants(app: &TestApp) -> (String, String) {
    let mut keys = Vec::new();
    for slug in ["acme", "other"] {
        app.post("/admin/api/v1/tenants", json!({"slug": slug})).send().await.expect_status(201);
        let key = json!({"name": slug, "scopes": ["inference", "admin:write"], "tenant_id": slug});
        keys.push(app.key(key).await.1);
    }
    let other = keys.pop().unwrap();
    (keys.pop().unwrap(), other)
}

fn provider(app: &TestApp) -> Value {
    json!({"type": "openai_compatible", "base_url": app.upstream.base_url(), "api_key": KEY, "models": ["text"]})
}

fn settings() -> TestSettings {
    TestSettings { loopback_listener: true, ..TestSettings::with_identity() }
}

/// Whether the last call to the provider had the tenant's own key.
fn sends_own_key(app: &TestApp) -> bool {
    let requests = app.upstream.requests();
    requests.last().unwrap().header("authorization").is_some_and(|value| value.contains(KEY))
}

#[tokio::test]
async fn a_tenant_calls_its_own_provider_in_place_of_the_default_one() {
    app::each_with(settings, async |app| {
        let (acme, other) = tenants(&app).await;
        let path = "/admin/api/v1/providers/openai";
        let made = app.put(path, provider(&app)).key(&acme).send().await.expect_status(201).json();
        assert_eq!((&made["tenant_id"], &made["api_key_last4"]), (&json!("acme"), &json!("1234")));
        for (key, own) in [(&*acme, true), (&*other, false), (app::MASTER, false)] {
            app.chat("openai/text").key(key).send().await.expect_status(200);
            assert_eq!(sends_own_key(&app), own);
            let seen = app.get(path).key(key).send().await.expect_status(200).json();
            assert_eq!(seen["tenant_id"], if own { json!("acme") } else { Value::Null });
        }
        // That of the default tenant is called again.
        app.call(Method::DELETE, path).key(&acme).send().await.expect_status(204);
        app.chat("openai/text").key(&acme).send().await.expect_status(200);
        assert!(!sends_own_key(&app));
        let inherited = app.call(Method::DELETE, path).key(&acme).refusal().await;
        assert_eq!((inherited.0, &*inherited.1), (404, "not_found"));
    })
    .await;
}

/// A document of a tenant has nothing of the one that it replaces, above all no key.
#[tokio::test]
async fn secrets_of_the_default_tenant_are_not_inherited() {
    app::each_with(settings, async |app| {
        let (acme, _) = tenants(&app).await;
        let moved = json!({"type": "openai", "priority": 3});
        let made = app.put("/admin/api/v1/providers/openai", moved).key(&acme).send().await;
        assert_eq!(made.expect_status(201).json()["api_key_set"], false);
    })
    .await;
}

#[tokio::test]
async fn names_of_a_tenant_lead_its_calls_and_no_others() {
    app::each_with(settings, async |app| {
        let (acme, other) = tenants(&app).await;
        app.put("/admin/api/v1/aliases/fast", json!({"target": "openai/text"}))
            .send()
            .await
            .expect_status(201);
        app.put("/admin/api/v1/providers/lab", provider(&app)).key(&acme).send().await.expect_status(201);
        app.put("/admin/api/v1/aliases/fast", json!({"target": "lab/text"}))
            .key(&acme)
            .send()
            .await
            .expect_status(201);
        let pool = json!({"name": "labs", "members": ["lab"]});
        app.post("/admin/api/v1/pools", pool).key(&acme).send().await.expect_status(201);

        let called = app.chat("fast").key(&acme).send().await.expect_status(200);
        assert_eq!(called.header("x-gateway-provider"), Some("lab"));
        assert_eq!(app.chat("fast").key(&other).send().await.header("x-gateway-provider"), Some("openai"));
        app.chat("labs/text").key(&acme).send().await.expect_status(200);
        for model in ["labs/text", "lab/text"] {
            // Unknown names are models of the default provider, if it has one of that name.
            let answer = app.chat(model).key(&other).send().await;
            assert_ne!(answer.header("x-gateway-provider"), Some("lab"), "{model}");
            assert!(!sends_own_key(&app), "{model}");
        }
        let models = |key: &str| app.get("/v1/models").key(key).send();
        assert!(models(&acme).await.text().contains("lab/text"));
        assert!(!models(&other).await.text().contains("lab/text"));

        let aliases = app.get("/admin/api/v1/aliases").key(&acme).send().await.expect_status(200).json();
        let listed: Vec<_> =
            aliases.as_array().unwrap().iter().map(|alias| (&alias["name"], &alias["tenant_id"])).collect();
        assert_eq!(listed, [(&json!("fast"), &json!("acme"))]);
        let explained = json!({"body": app::question("fast")});
        let explained =
            app.post("/admin/api/v1/explain", explained).key(&acme).send().await.expect_status(200);
        assert!(explained.text().contains("lab"), "{}", explained.text());
        // The pool of the tenant needs the provider.
        let in_use = app.call(Method::DELETE, "/admin/api/v1/providers/lab").key(&acme).refusal().await;
        assert_eq!((in_use.0, &*in_use.1), (409, "conflict"));
    })
    .await;
}

#[tokio::test]
async fn guardrails_workflows_and_prices_are_those_of_the_tenant() {
    app::each_with(settings, async |app| {
        let (acme, other) = tenants(&app).await;
        let block = json!({"type": "regex", "config": {"patterns": ["Hello"], "action": "block"}});
        let refused = app.put("/admin/api/v1/guardrails/words", block).key(&acme).send().await;
        let block = match refused.status {
            201 => true,
            _ => {
                let prompt = json!({"type": "system_prompt", "config": {"content": "Be brief, acme.", "mode": "inject"}});
                app.put("/admin/api/v1/guardrails/words", prompt).key(&acme).send().await.expect_status(201);
                false
            }
        };
        let workflow = json!({"name": "w", "workflow_payload": {"guardrails": ["words"]}});
        let made = app.post("/admin/api/v1/workflows", workflow.clone()).key(&acme).send().await.expect_status(201).json();
        assert_eq!(made["tenant_id"], "acme");
        assert_eq!(app.post("/admin/api/v1/workflows", workflow).key(&other).send().await.status, 400);
        app.chat("openai/text").key(&other).send().await.expect_status(200);
        assert!(!app.last_upstream_request().contains("Be brief, acme."));
        if !block {
            app.chat("openai/text").key(&acme).send().await.expect_status(200);
            assert!(app.last_upstream_request().contains("Be brief, acme."));
        }
        let id = made["id"].as_str().unwrap();
        assert_eq!(app.get(format!("/admin/api/v1/workflows/{id}")).key(&other).send().await.status, 404);
        // The managed default stands for what the default tenant has.
        app.post("/admin/api/v1/workflows/default/activate", json!({})).key(&acme).send().await.expect_status(200);
        app.chat("openai/text").key(&acme).send().await.expect_status(200);
        assert!(!app.last_upstream_request().contains("Be brief, acme."));

        let price = json!({"input_per_mtok": 1000, "output_per_mtok": 1000});
        let path = "/admin/api/v1/model-pricing/openai/text";
        app.put(path, price).key(&acme).send().await.expect_status(201);
        assert_eq!(app.get(path).key(&acme).send().await.json()["effective"]["input_per_mtok"], 1000.0);
        assert_ne!(app.get(path).key(&other).send().await.json()["effective"]["input_per_mtok"], 1000.0);
        let exported = app.get("/admin/api/v1/model-pricing/export").key(&other).send().await.expect_status(200);
        assert_eq!(exported.json()["prices"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn admins_choose_a_tenant_and_others_only_their_own() {
    app::each_with(settings, async |app| {
        let (acme, other) = tenants(&app).await;
        let path = "/admin/api/v1/aliases/fast";
        app.put(format!("{path}?tenant_id=acme"), json!({"target": "openai/text"}))
            .send()
            .await
            .expect_status(201);
        assert_eq!(app.get(path).send().await.status, 404);
        app.get(path).key(&acme).send().await.expect_status(200);
        app.get(format!("{path}?tenant_id=acme")).key(&acme).send().await.expect_status(200);
        let denied = app.get(format!("{path}?tenant_id=acme")).key(&other).refusal().await;
        assert_eq!((denied.0, &*denied.1, denied.2.as_deref()), (403, "user_path_denied", Some("tenant_id")));
        let unknown = app.get(format!("{path}?tenant_id=nobody")).refusal().await;
        assert_eq!((unknown.0, unknown.2.as_deref()), (400, Some("tenant_id")));
        // A document that a GET returned is accepted by a PUT.
        let view = app.get(path).key(&acme).send().await.json();
        app.put(path, view).key(&acme).send().await.expect_status(200);
        let log = app.get("/admin/api/v1/changes?tenant_id=acme").send().await.expect_status(200).json();
        assert_eq!(
            (&log["entries"][0]["name"], &log["entries"][0]["tenant_id"]),
            (&json!("fast"), &json!("acme"))
        );
        let in_use = app.call(Method::DELETE, "/admin/api/v1/tenants/acme").send().await;
        assert_eq!((in_use.status, in_use.text().contains("alias/fast")), (409, true));
        // Callers confined to a user path change no documents, of whatever tenant.
        let team = json!({"name": "t", "scopes": ["admin:write"], "tenant_id": "acme", "user_path": "/team"});
        let (_, team) = app.key(team).await;
        app.get(path).key(&team).send().await.expect_status(200);
        assert_eq!(app.call(Method::DELETE, path).key(&team).refusal().await.1, "user_path_denied");
    })
    .await;
    app::each(async |app| {
        app.get("/admin/api/v1/aliases?tenant_id=anything").send().await.expect_status(200);
        let (_, key) = app.key(json!({"name": "k", "scopes": ["admin:write"], "tenant_id": "acme"})).await;
        let body = json!({"target": "openai/text"});
        assert_eq!(
            app.put("/admin/api/v1/aliases/fast", body).key(&key).refusal().await.1,
            "user_path_denied"
        );
    })
    .await;
}

#[tokio::test]
async fn documents_of_tenants_survive_a_restart_and_reach_other_replicas() {
    app::each_with(settings, async |app| {
        let (acme, _) = tenants(&app).await;
        let neighbour = app.neighbour().await;
        app.put("/admin/api/v1/providers/lab", provider(&app)).key(&acme).send().await.expect_status(201);
        neighbour.refresher.refresh().await.unwrap();
        for replica in [&neighbour, &app.restart().await] {
            replica.chat("lab/text").key(&acme).send().await.expect_status(200);
        }
    })
    .await;
}

/// How much inherited instances and pools are used is a figure of all tenants, and their key is the operator's.
#[tokio::test]
async fn a_tenant_sees_and_tests_the_use_of_its_own_providers_only() {
    app::each_with(settings, async |app| {
        let (acme, _) = tenants(&app).await;
        app.put("/admin/api/v1/providers/lab", provider(&app)).key(&acme).send().await.expect_status(201);
        let pool = json!({"name": "all", "members": ["openai"]});
        app.post("/admin/api/v1/pools", pool).send().await.expect_status(201);
        let own = json!({"name": "labs", "members": ["lab", "openai"]});
        app.post("/admin/api/v1/pools", own).key(&acme).send().await.expect_status(201);
        app.chat("all/text").send().await.expect_status(200);
        app.chat("lab/text").key(&acme).send().await.expect_status(200);

        let read = async |key: &str, path: &str| {
            app.get(format!("/admin/api/v1/{path}")).key(key).send().await.expect_status(200).json()
        };
        let named = |list: &Value, name: &str| {
            list.as_array().unwrap().iter().find(|each| each["name"] == name).unwrap().clone()
        };
        let status = read(&acme, "providers/status").await;
        let (inherited, lab) = (named(&status, "openai"), named(&status, "lab"));
        for field in ["series", "calls_last_hour", "errors_last_hour"] {
            assert!(inherited[field].is_null() && !lab[field].is_null(), "{field}");
        }
        for field in ["in_flight", "last_success_at"] {
            assert!(inherited["health"][field].is_null() && !lab["health"][field].is_null(), "{field}");
        }
        assert_eq!(lab["calls_last_hour"], 1);
        assert_eq!(named(&read(app::MASTER, "providers/status").await, "openai")["calls_last_hour"], 1);
        let pools = read(&acme, "pools").await;
        let (inherited, labs) = (named(&pools, "all"), named(&pools, "labs"));
        assert_eq!((&inherited["calls_last_hour"], &labs["calls_last_hour"]), (&Value::Null, &json!(0)));
        assert_eq!(inherited["members_status"][0]["share"], Value::Null);
        assert_eq!(read(app::MASTER, "pools/all").await["calls_last_hour"], 1);
        assert_eq!(read(&acme, "dashboard/overview").await["in_flight"], Value::Null);
        assert!(read(app::MASTER, "dashboard/overview").await["in_flight"].is_i64());

        let test = async |key: &str, name: &str| {
            app.post(format!("/admin/api/v1/providers/{name}/test"), json!({})).key(key).send().await.status
        };
        assert_eq!((test(&acme, "lab").await, test(&acme, "openai").await), (200, 403));
        assert_eq!(test(app::MASTER, "openai").await, 200);
    })
    .await;
}
