//! Tests of `/admin/api/v1/settings`.

use http::Method;
use pipeline::policy::Policy;
use serde_json::{Value, json};

use crate::app::{self, TestApp, TestSettings};

const PATH: &str = "/admin/api/v1/settings";

async fn change(app: &TestApp, body: Value) -> Value {
    app.call(Method::PATCH, PATH).json(body).send().await.expect_status(200).json()
}

fn setting(list: &Value, name: &str) -> Value {
    let settings = list["settings"].as_array().unwrap();
    settings.iter().find(|setting| setting["name"] == name).unwrap().clone()
}

#[tokio::test]
async fn a_setting_is_changed_shown_recorded_and_removed() {
    app::each(async |app| {
        let before = app.get(PATH).send().await.expect_status(200);
        assert_eq!(before.header("etag"), Some("\"0\""));
        let level = setting(&before.json(), "log.level");
        assert_eq!(
            (&level["value"], &level["source"], &level["locked"]),
            (&json!("info"), &json!("default"), &json!(false))
        );
        let changed = change(
            &app,
            json!({"log.level": "debug", "proxy.http": "http://user:hidden@proxy:1", "cache.ttl": 60}),
        )
        .await;
        assert_eq!(setting(&changed, "log.level")["value"], "debug");
        assert_eq!(setting(&changed, "log.level")["source"], "admin");
        assert_eq!(setting(&changed, "cache.ttl")["value"], "60");
        assert_eq!(changed["restart_required"], json!(["cache.ttl", "proxy.http"]));
        let log = app.get("/admin/api/v1/changes?kind=settings&actor=master").send().await.expect_status(200);
        assert_eq!(log.json()["entries"][0]["after"]["values"]["log.level"], "debug");
        for text in [changed.to_string(), log.text()] {
            assert!(!text.contains("hidden"), "{text}");
        }
        assert_eq!(app.get("/admin/api/v1/changes?actor=nobody").send().await.json()["entries"], json!([]));
        let removed = change(&app, json!({"log.level": null})).await;
        assert_eq!(setting(&removed, "log.level")["source"], "default");
        let after = app.neighbour().await;
        let read = after.get(PATH).send().await.expect_status(200).json();
        assert_eq!(
            (&setting(&read, "cache.ttl")["value"], &read["restart_required"]),
            (&json!("60"), &json!([]))
        );
    })
    .await;
}

#[tokio::test]
async fn unknown_locked_and_invalid_settings_are_refused_and_nothing_is_stored() {
    app::each(async |app| {
        for (body, status, code, param, part) in [
            (json!({"log.levle": "debug"}), 400, "unknown_parameter", "log.levle", "log.level"),
            (json!({"LOG_LEVEL": "debug"}), 400, "unknown_parameter", "LOG_LEVEL", "log.level"),
            (json!({"server.host": "0.0.0.0"}), 409, "conflict", "server.host", "HOST in the environment"),
            (json!({"log.level": "loud"}), 400, "invalid_parameter", "log.level", "'loud' is not a level"),
            (json!({"log.level": {}}), 400, "invalid_parameter", "log.level", "text"),
            (json!({"cache.ttl": "2h", "log.level": "loud"}), 400, "invalid_parameter", "log.level", "loud"),
        ] {
            let answer =
                app.call(Method::PATCH, PATH).json(body.clone()).send().await.expect_status(status).json();
            let error = &answer["error"];
            assert_eq!((&error["code"], &error["param"]), (&json!(code), &json!(param)), "{body}: {answer}");
            assert!(error["message"].as_str().unwrap().contains(part), "{body}: {answer}");
        }
        let stale =
            app.call(Method::PATCH, PATH).header("if-match", "\"7\"").json(json!({"log.level": "debug"}));
        stale.send().await.expect_status(412);
        let list = app.get(PATH).send().await.expect_status(200).json();
        assert!(
            list["settings"].as_array().unwrap().iter().all(|setting| setting["source"] != "admin"),
            "{list}"
        );
    })
    .await;
}

/// The headers of the exporter are credentials of its endpoint.
#[tokio::test]
async fn headers_are_not_kept_for_another_endpoint() {
    app::each(async |app| {
        let (endpoint, headers) = ("telemetry.otlp_endpoint", "telemetry.otlp_headers");
        let shown = |list: &Value| setting(list, headers)["value"].clone();
        let set = change(&app, json!({endpoint: "http://one:4318", headers: "authorization=hidden"})).await;
        assert_eq!(shown(&set), "***", "those that are sent along belong to the new endpoint");
        let same = change(&app, json!({endpoint: "http://one:4318", "log.level": "debug"})).await;
        assert_eq!(shown(&same), "***");
        let moved = change(&app, json!({endpoint: "http://two:4318"})).await;
        assert_eq!(shown(&moved), "");
        change(&app, json!({headers: "authorization=hidden"})).await;
        let by_plan = json!({"changes": [{"kind": "settings", "name": "settings", "document": {endpoint: "http://three:4318"}}]});
        app.post("/admin/api/v1/config/apply", by_plan).send().await.expect_status(200);
        assert_eq!(shown(&app.get(PATH).send().await.expect_status(200).json()), "");
    })
    .await;
}

/// Replicas do not share a lock: a change that loses the race is made on the newer values.
#[tokio::test]
async fn concurrent_changes_of_replicas_are_all_stored() {
    app::each(async |app| {
        let other = app.neighbour().await;
        let (one, two) = tokio::join!(
            change(&app, json!({"log.level": "debug"})),
            change(&other, json!({"cache.ttl": "60"})),
        );
        assert_eq!(setting(&one, "log.level")["value"], "debug");
        assert_eq!(setting(&two, "cache.ttl")["value"], "60");
        let third = change(&app, json!({"proxy.http": "http://proxy:1"})).await;
        let found = (&setting(&third, "log.level")["value"], &setting(&third, "cache.ttl")["value"]);
        assert_eq!(found, (&json!("debug"), &json!("60")));
    })
    .await;
}

/// A reload replaces the settings of calls and of the server; the next request has the new ones.
#[tokio::test]
async fn replaced_settings_are_in_force_for_the_next_request() {
    app::each_with(TestSettings::default, async |app| {
        let change = |edit: fn(&mut Policy)| {
            let mut policy = Policy::clone(&app.gateway.policy);
            edit(&mut policy);
            app.gateway.policy.replace(policy).unwrap();
        };
        let chat = async || app.chat("openai/text").send().await.status;
        let audit = "/admin/api/v1/audit/log";
        assert_eq!((chat().await, app.get(audit).send().await.status), (200, 503));
        change(|policy| policy.audit.enabled = true);
        assert_eq!((chat().await, app.get(audit).send().await.status), (200, 200));
        app.receipts(2).await;
        let found = app.get(audit).send().await.expect_status(200).json();
        assert_eq!(found["total"], 1, "the call before the change is not audited");

        change(|policy| policy.body_limit = 16);
        assert_eq!(chat().await, 413);
        change(|policy| {
            policy.body_limit = 1 << 20;
            policy.models_enabled_by_default = false;
        });
        assert_ne!(chat().await, 200);
        change(|policy| policy.models_enabled_by_default = true);
        change(|policy| policy.accounting = false);
        assert_eq!(chat().await, 200);

        assert_eq!(app.get("/p/openai/v1/models").send().await.status, 200);
        change(|policy| policy.passthrough.enabled = false);
        assert_eq!(app.get("/p/openai/v1/models").send().await.status, 404);
        change(|policy| policy.cache.enabled = true);
        let cache = app.get("/admin/api/v1/cache/overview").send().await.status;
        assert_eq!(cache, 200);
    })
    .await;
}
