//! `/admin/api/v1/explain/replay`.

use http::Method;
use serde_json::{Value, json};

use crate::admin::{audit, each_furnished_with, history};
use crate::app::{self, TestApp, TestSettings};

const PATH: &str = "/admin/api/v1/explain/replay";

fn audited() -> TestSettings {
    let mut settings = TestSettings::default();
    settings.policy.audit.enabled = true;
    settings
}

async fn replay(app: &TestApp, changes: Value) -> Value {
    app.post(PATH, json!({"changes": changes})).send().await.expect_status(200).json()
}

/// Replays changes that affect exactly one of the audited calls.
async fn difference(app: &TestApp, changes: Value) -> Value {
    let result = replay(app, changes).await;
    assert_eq!((&result["differing"], &result["complete"]), (&json!(1), &json!(true)), "{result:#}");
    assert_eq!(result["calls"].as_array().unwrap().len(), 1, "{result:#}");
    result["calls"][0].clone()
}

fn change(kind: &str, name: &str, document: Value) -> Value {
    json!({"kind": kind, "name": name, "document": document})
}

async fn set_alias(app: &TestApp, target: &str) {
    app.put("/admin/api/v1/aliases/fast", json!({"target": target})).send().await.expect_status(201);
}

/// Creates a guardrail, and a workflow for all calls that refers to it.
async fn guard(app: &TestApp, pattern: &str) {
    let words = json!({"type": "regex_block", "config": {"patterns": [pattern]}});
    app.put("/admin/api/v1/guardrails/words", words).send().await.expect_status(201);
    let workflow = json!({"name": "guarded", "workflow_payload": {"guardrails": ["words"]}});
    app.post("/admin/api/v1/workflows", workflow).send().await.expect_status(201);
}

#[tokio::test]
async fn a_redirected_alias_changes_the_route() {
    each_furnished_with(audited, async |app| {
        set_alias(&app, "openai/text").await;
        app.chat("fast").header("x-request-id", "of-the-alias").send().await.expect_status(200);
        app.chat("openai/text").send().await.expect_status(200);
        audit::entries(&app, 2).await;
        let call = difference(&app, json!([change("alias", "fast", json!({"target": "second/text"}))])).await;
        assert_eq!(
            (&call["request_id"], &call["requested_model"], &call["user_path"], &call["changed"]),
            (&json!("of-the-alias"), &json!("fast"), &json!("/"), &json!(["route"]))
        );
        let outcome = |selector: &str| {
            json!({"first": selector, "would_try": [selector], "error_code": null, "estimated_cost": null, "guardrails": []})
        };
        assert_eq!((&call["before"], &call["after"]), (&outcome("openai/text"), &outcome("second/text")));
        assert!(call["timestamp"].as_str().unwrap().ends_with('Z'), "{call}");
        let answer = app.chat("fast").send().await.expect_status(200);
        assert_eq!(answer.header("x-gateway-model"), Some("openai/text"), "the alias in force has not changed");
    })
    .await;
}

#[tokio::test]
async fn a_guardrail_that_would_block_changes_the_verdict() {
    each_furnished_with(audited, async |app| {
        guard(&app, "never said").await;
        app.chat("openai/text").send().await.expect_status(200);
        audit::entries(&app, 1).await;
        let blocking = json!({"config": {"patterns": ["(?i)TODAY"]}});
        let call = difference(&app, json!([change("guardrail", "words", blocking)])).await;
        assert_eq!(call["changed"], json!(["route", "verdict"]), "{call:#}");
        assert_eq!((&call["before"]["error_code"], &call["before"]["first"]), (&Value::Null, &json!("openai/text")));
        let after = json!({
            "first": null, "would_try": [], "error_code": "guardrail_blocked", "estimated_cost": null,
            "guardrails": [{"name": "words", "subject": "request", "verdict": "block", "kinds": {"pattern[0]": 1}}],
        });
        assert_eq!(call["after"], after);
        assert!(!call.to_string().contains("oday"), "no texts: {call}");
        app.chat("openai/text").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn a_guardrail_and_its_workflow_are_proposed_together() {
    each_furnished_with(audited, async |app| {
        app.chat("openai/text").header("x-gateway-user-path", "/team/a").send().await.expect_status(200);
        app.chat("openai/text").header("x-gateway-user-path", "/other").send().await.expect_status(200);
        audit::entries(&app, 2).await;
        let words = json!({"type": "regex_block", "config": {"patterns": ["today"]}});
        let workflow = json!({"name": "guarded", "scope": {"scope_user_path": "/team"},
            "workflow_payload": {"guardrails": ["words"]}});
        let changes = json!([change("workflow", "wf_new", workflow), change("guardrail", "words", words)]);
        let call = difference(&app, changes).await;
        assert_eq!(
            (&call["user_path"], &call["after"]["error_code"]),
            (&json!("/team/a"), &json!("guardrail_blocked"))
        );
    })
    .await;
}

#[tokio::test]
async fn versions_of_workflows_are_taken_out_of_force_and_put_back() {
    each_furnished_with(audited, async |app| {
        guard(&app, "never said").await;
        let strict = json!({"name": "strict", "workflow_payload": {"guardrails": ["words"], "routing": {"retries": 0}}});
        let strict = app.post("/admin/api/v1/workflows", strict).send().await.expect_status(201).json();
        let versions = app.get("/admin/api/v1/workflows/versions?scope_type=global").send().await.json();
        let first = versions.as_array().unwrap().iter().find(|version| version["name"] == "guarded").unwrap().clone();
        app.chat("openai/text").send().await.expect_status(200);
        audit::entries(&app, 1).await;
        let blocking = change("guardrail", "words", json!({"config": {"patterns": ["today"]}}));
        for (activation, differing) in [
            (change("workflow", strict["id"].as_str().unwrap(), Value::Null), 1),
            (change("workflow_activation", "global", Value::Null), 1),
            (change("workflow_activation", "global", json!({"active": first["id"]})), 1),
        ] {
            let result = replay(&app, json!([activation, blocking])).await;
            assert_eq!(result["differing"], differing, "{activation}: {result:#}");
            let after = &result["calls"][0]["after"];
            let is_guarded = activation["document"]["active"].is_string();
            let expected = if is_guarded { json!("guardrail_blocked") } else { Value::Null };
            assert_eq!(after["error_code"], expected, "{activation}");
        }
        // One is not in force, and the other exists already.
        for document in [Value::Null, json!({"name": "again"})] {
            let changes = [change("workflow", first["id"].as_str().unwrap(), document)];
            let refused = app.post(PATH, json!({"changes": changes})).refusal().await;
            assert_eq!(refused, (409, "conflict".into(), Some("changes[0].name".into())));
        }
    })
    .await;
}

#[tokio::test]
async fn a_price_changes_the_cost() {
    each_furnished_with(audited, async |app| {
        app.chat("openai/text").send().await.expect_status(200);
        app.chat("second/text").send().await.expect_status(200);
        audit::entries(&app, 2).await;
        let price = json!({"input_per_mtok": 1, "output_per_mtok": 2});
        let call = difference(&app, json!([change("model_price", "openai/text", price)])).await;
        assert_eq!((&call["changed"], &call["before"]["estimated_cost"]), (&json!(["cost"]), &Value::Null));
        assert!(call["after"]["estimated_cost"].as_f64().unwrap() > 0.0, "{call}");
        assert_eq!(call["before"]["first"], call["after"]["first"]);
    })
    .await;
}

#[tokio::test]
async fn deleted_and_disabled_documents_are_missed() {
    each_furnished_with(audited, async |app| {
        set_alias(&app, "second/text").await;
        app.chat("fast").send().await.expect_status(200);
        audit::entries(&app, 1).await;
        for (changed, code) in [
            (change("alias", "fast", Value::Null), "model_not_found"),
            // The alias still refers to it: such a deletion is refused, and can be replayed all the same.
            (change("provider", "second", Value::Null), "model_not_found"),
            (change("model_override", "second/text", json!({"enabled": false})), "model_access_denied"),
        ] {
            let call = difference(&app, json!([changed])).await;
            assert_eq!(
                (&call["after"]["first"], &call["after"]["error_code"]),
                (&Value::Null, &json!(code)),
                "{changed}"
            );
            assert_eq!(call["changed"], json!(["route", "verdict"]), "{changed}");
        }
        app.chat("fast").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn without_changes_nothing_differs_and_nothing_in_force_changes() {
    each_furnished_with(audited, async |app| {
        set_alias(&app, "openai/text").await;
        let pool = json!({"name": "both", "members": ["openai", "second"], "strategy": "round_robin"});
        app.post("/admin/api/v1/pools", pool.clone()).send().await.expect_status(201);
        for model in ["fast", "both/text", "both/text", "no-such-model"] {
            app.chat(model).send().await;
        }
        audit::entries(&app, 4).await;
        let in_force = app.gateway.snapshot();
        let called = app.gateway.metrics.called_targets();
        let same = json!([change("alias", "fast", json!({"target": "openai/text"})), change("pool", "both", pool)]);
        for changes in [json!([]), same] {
            let result = replay(&app, changes).await;
            let expected = json!({"examined": 4, "replayed": 4, "not_replayable": {}, "differing": 0, "complete": true, "calls": []});
            assert_eq!(result, expected);
        }
        let moved = json!({"base_url": "https://elsewhere.example/v1", "api_key": "sk-other", "models": ["text", "new"]});
        replay(&app, json!([change("provider", "second", moved), change("alias", "new", json!({"target": "second/new"}))])).await;
        let snapshot = app.gateway.snapshot();
        assert_eq!(snapshot.revision, in_force.revision);
        assert_eq!(snapshot.routes.instances["second"].provider.base_url, app.upstream.base_url());
        assert!(!snapshot.routes.names.holds("new"), "no other configuration was put in force");
        assert_eq!(app.gateway.metrics.called_targets(), called);
        let aliases: Vec<_> = history(&app, "alias").await;
        assert_eq!(aliases, [("create".to_owned(), "fast".to_owned())], "nothing was stored");
    })
    .await;
}

#[tokio::test]
async fn calls_that_cannot_be_judged_again_are_counted_by_reason() {
    let settings = || {
        let mut settings = audited();
        settings.policy.audit.body_limit = 1024;
        settings
    };
    each_furnished_with(settings, async |app| {
        let (id, key) = app.key(json!({"name": "soon gone"})).await;
        app.chat("openai/text").send().await.expect_status(200);
        let mut long = app::question("openai/text");
        long["messages"][0]["content"] = json!("x".repeat(2000));
        app.post("/v1/chat/completions", long).send().await.expect_status(200);
        app.post("/p/openai/chat/completions", app::question("text")).send().await.expect_status(200);
        app.chat("openai/text").key("nobody").send().await.expect_status(401);
        app.chat("openai/text").key(&key).send().await.expect_status(200);
        app.call(Method::DELETE, format!("/admin/api/v1/auth-keys/{id}")).send().await.expect_status(204);
        audit::entries(&app, 5).await;
        let result = replay(&app, json!([])).await;
        assert_eq!((&result["examined"], &result["replayed"]), (&json!(5), &json!(1)), "{result:#}");
        let reasons =
            json!({"body_truncated": 1, "caller_unknown": 1, "endpoint_not_explained": 1, "key_deleted": 1});
        assert_eq!(result["not_replayable"], reasons);
        let newest =
            app.post(PATH, json!({"changes": [], "limit": 1})).send().await.expect_status(200).json();
        assert_eq!((&newest["examined"], &newest["not_replayable"]), (&json!(1), &json!({"key_deleted": 1})));
    })
    .await;
}

#[tokio::test]
async fn bodies_must_be_in_the_audit_log() {
    let settings = || {
        let mut settings = audited();
        settings.policy.audit.bodies = false;
        settings
    };
    each_furnished_with(settings, async |app| {
        app.chat("openai/text").send().await.expect_status(200);
        audit::entries(&app, 1).await;
        assert_eq!(replay(&app, json!([])).await["not_replayable"], json!({"body_missing": 1}));
    })
    .await;
    app::each(async |app| {
        let off = app.post(PATH, json!({"changes": []})).refusal().await;
        assert_eq!((off.0, &*off.1), (503, "feature_unavailable"));
    })
    .await;
}

#[tokio::test]
async fn errors_name_the_field() {
    each_furnished_with(audited, async |app| {
        set_alias(&app, "openai/text").await;
        let fine = change("alias", "fast", json!({"target": "second/text"}));
        let guardrail =
            |config: Value| change("guardrail", "g", json!({"type": "regex_block", "config": config}));
        let workflow = json!({"name": "w", "workflow_payload": {"guardrails": ["missing"]}});
        for (changes, status, param) in [
            (json!([5]), 400, "changes[0]"),
            (json!([{"name": "x", "document": {}}]), 400, "changes[0].kind"),
            (json!([change("budget", "/", json!({}))]), 400, "changes[0].kind"),
            (json!([{"kind": "alias", "name": "fast"}]), 400, "changes[0].document"),
            (json!([{"kind": "alias", "name": "fast", "documnt": null}]), 400, "changes[0].documnt"),
            (json!([fine, change("alias", "new", json!({}))]), 400, "changes[1].document.target"),
            (json!([fine, fine]), 400, "changes[1].name"),
            (
                json!([change("alias", "new", json!({"target": "nowhere/at-all"}))]),
                400,
                "changes[0].document.target",
            ),
            (
                json!([change("alias", "a", json!({"name": "b", "target": "openai/text"}))]),
                400,
                "changes[0].document.name",
            ),
            (json!([change("alias", "a b", json!({"target": "openai/text"}))]), 400, "changes[0].name"),
            (json!([change("alias", "second", json!({"target": "openai/text"}))]), 409, "changes[0].name"),
            (json!([change("alias", "new", Value::Null)]), 404, "changes[0].name"),
            (json!([change("provider", "openai", Value::Null)]), 404, "changes[0].name"),
            (json!([fine, guardrail(json!({}))]), 400, "changes[1].document.config.patterns"),
            (
                json!([fine, guardrail(json!({"patterns": ["a", "("]}))]),
                400,
                "changes[1].document.config.patterns[1]",
            ),
            (
                json!([change("pool", "p", json!({"members": ["second", "nobody"]}))]),
                400,
                "changes[0].document.members[1]",
            ),
            (
                json!([change("provider", "new", json!({"type": "openai", "base_url": "ftp://x"}))]),
                400,
                "changes[0].document.base_url",
            ),
            (
                json!([change("workflow", "w", workflow)]),
                400,
                "changes[0].document.workflow_payload.guardrails[0].ref",
            ),
            (json!([change("workflow_activation", "colour=red", Value::Null)]), 404, "changes[0].name"),
            (
                json!([change("workflow_activation", "global", json!({"active": "wf_none"}))]),
                400,
                "changes[0].document.active",
            ),
        ] {
            let (found, _, named) = app.post(PATH, json!({"changes": changes})).refusal().await;
            assert_eq!((found, named.as_deref()), (status, Some(param)), "{changes}");
        }
        for limit in [0, 1001] {
            let refused = app.post(PATH, json!({"changes": [], "limit": limit})).refusal().await;
            assert_eq!((refused.0, refused.2.as_deref()), (400, Some("limit")));
        }
    })
    .await;
}

#[tokio::test]
async fn a_key_bound_to_a_path_sees_only_its_calls() {
    each_furnished_with(audited, async |app| {
        set_alias(&app, "openai/text").await;
        let scopes = json!(["inference", "admin:audit:read"]);
        let (_, team) = app.key(json!({"name": "team", "scopes": scopes, "user_path": "/team"})).await;
        app.chat("fast").key(&team).header("x-gateway-user-path", "/team/a").send().await.expect_status(200);
        app.chat("fast").header("x-gateway-user-path", "/teams").send().await.expect_status(200);
        audit::entries(&app, 2).await;
        let body = json!({"changes": [change("alias", "fast", json!({"target": "second/text"}))]});
        let own = app.post(PATH, body.clone()).key(&team).send().await.expect_status(200).json();
        assert_eq!((&own["examined"], &own["differing"]), (&json!(1), &json!(1)), "{own:#}");
        assert_eq!(own["calls"][0]["user_path"], "/team/a");
        let all = app.post(PATH, body).send().await.expect_status(200).json();
        assert_eq!((&all["examined"], &all["differing"]), (&json!(2), &json!(2)), "{all:#}");
    })
    .await;
}
