//! Tests of plans and of their application: differences, errors by document, all or nothing, rights.

use serde_json::{Value, json};

use super::{APPLY, apply, changes, documents, export, plan, settings};
use crate::app::{self, TestApp, TestSettings};

async fn aliases(app: &TestApp) -> Vec<String> {
    let list = app.get("/admin/api/v1/aliases").send().await.expect_status(200).json();
    list.as_array().unwrap().iter().map(|alias| alias["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_plan_shows_what_differs_and_changes_nothing() {
    app::each_with(settings, async |app| {
        app.put("/admin/api/v1/aliases/fast", json!({"target": "openai/text"})).send().await.expect_status(201);
        app.put("/admin/api/v1/aliases/old", json!({"target": "openai/text"})).send().await.expect_status(201);
        let before = export(&app).await;
        let wanted = json!({
            "aliases": {"fast": {"target": "openai/long"}, "both": {"target": "pair/text"}},
            "pools": {"pair": {"members": ["openai"]}},
            "providers": {"openai": {"type": "openai", "api_key": "sk-other", "base_url": app.upstream.base_url(), "models": []}},
        });
        let planned = plan(&app, json!({"documents": wanted, "prune": true})).await;
        assert_eq!(
            changes(&planned),
            ["update provider openai", "create pool pair", "create alias both", "update alias fast", "delete alias old"]
        );
        let target = &planned["changes"][3]["fields"][0];
        assert_eq!(target, &json!({"field": "target", "before": "openai/text", "after": "openai/long"}));
        assert!(!planned.to_string().contains("sk-"), "{planned}");
        assert_eq!(planned["errors"], json!([]));
        assert_eq!(export(&app).await, before);
        let kept = plan(&app, json!({"documents": {"aliases": {"fast": {"target": "openai/text"}}}})).await;
        assert_eq!((changes(&kept).len(), &kept["unchanged"]), (0, &json!(1)), "without prune nothing is deleted");
    })
    .await;
}

#[tokio::test]
async fn errors_name_their_document_and_nothing_of_the_plan_is_applied() {
    app::each_with(settings, async |app| {
        let wanted = json!({"documents": {
            "aliases": {"good": {"target": "openai/text"}, "typo": {"tagret": "x"}},
            "guardrails": {"bad": {"type": "regex_block", "config": {"patterns": ["("]}}},
            "budgets": {"team": {"amount": 1}},
        }});
        let planned = plan(&app, wanted.clone()).await;
        let mut errors: Vec<String> = planned["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|error| {
                format!(
                    "{} {} {}",
                    error["kind"].as_str().unwrap(),
                    error["name"].as_str().unwrap(),
                    error["field"].as_str().unwrap_or("")
                )
            })
            .collect();
        errors.sort();
        errors.dedup_by_key(|error| error.split(' ').take(2).collect::<Vec<_>>().join(" "));
        let names: Vec<String> =
            errors.iter().map(|error| error.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(names, ["alias typo", "budget team", "guardrail bad"], "{planned:#}");
        let refused = apply(&app, wanted).await.expect_status(400);
        let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(
            message.starts_with("Nothing was changed.") && message.contains("alias 'typo', tagret"),
            "{message}"
        );
        assert_eq!(aliases(&app).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn a_change_keeps_absent_members_and_null_deletes() {
    app::each_with(settings, async |app| {
        let alias = json!({"target": "openai/text", "description": "kept"});
        app.put("/admin/api/v1/aliases/fast", alias).send().await.expect_status(201);
        let changed =
            json!({"changes": [{"kind": "alias", "name": "fast", "document": {"target": "openai/long"}}]});
        apply(&app, changed).await.expect_status(200);
        assert_eq!(
            documents(&app).await["aliases"]["fast"],
            json!({"target": "openai/long", "description": "kept"})
        );
        let deleted = json!({"changes": [{"kind": "alias", "name": "fast", "document": null}]});
        apply(&app, deleted.clone()).await.expect_status(200);
        assert_eq!(aliases(&app).await, Vec::<String>::new());
        let absent = plan(&app, deleted).await;
        assert_eq!(absent["errors"][0]["code"], "not_found", "{absent}");
        for body in [
            json!({"changes": [{"kind": "alais", "name": "x", "document": null}]}),
            json!({"documents": {"alias": {}}}),
            json!({"prune": true}),
            json!({"documents": {"aliases": []}}),
            json!({"documents": {"budgets": {"/a|daily": {"amount": 1}, "/a|86400": {"amount": 2}}}}),
            json!({"changes": [
                {"kind": "alias", "name": "x", "document": {"target": "openai/text"}},
                {"kind": "alias", "name": "x", "document": {"target": "openai/long"}},
            ]}),
            json!({"changes": [{"kind": "alias", "name": "x", "document": null}], "documents": {}}),
        ] {
            app.post(APPLY, body.clone()).send().await.expect_status(400);
        }
    })
    .await;
}

#[tokio::test]
async fn credentials_are_not_kept_for_another_address() {
    app::each_with(settings, async |app| {
        let lab = json!({
            "name": "lab", "type": "openai_compatible", "base_url": app.upstream.base_url(), "api_key": "sk-lab-1234",
            "headers": {"x-team": "a"},
        });
        app.post("/admin/api/v1/providers", lab).send().await.expect_status(201);
        let change = |document: Value| json!({"changes": [{"kind": "provider", "name": "lab", "document": document}]});
        apply(&app, change(json!({"priority": 2}))).await.expect_status(200);
        let kept = documents(&app).await["providers"]["lab"].clone();
        assert_eq!((&kept["api_key"], &kept["priority"]), (&json!("${LAB_API_KEY}"), &json!(2)), "{kept}");
        assert_eq!(kept["headers"]["x-team"], "${LAB_HEADER_X_TEAM}");
        apply(&app, change(json!({"base_url": "http://127.0.0.1:9/v1"}))).await.expect_status(200);
        let moved = documents(&app).await["providers"]["lab"].clone();
        assert_eq!((moved.get("api_key"), moved.get("headers")), (None, None), "{moved}");
        let whole = json!({"type": "openai_compatible", "base_url": app.upstream.base_url(), "api_key": "sk-lab-5678"});
        apply(&app, json!({"documents": {"providers": {"lab": whole}}})).await.expect_status(200);
        let elsewhere = json!({"type": "openai_compatible", "base_url": "http://127.0.0.1:9/v1"});
        apply(&app, json!({"documents": {"providers": {"lab": elsewhere}}})).await.expect_status(200);
        assert_eq!(documents(&app).await["providers"]["lab"].get("api_key"), None);
    })
    .await;
}

#[tokio::test]
async fn a_plan_is_applied_to_its_revision_only() {
    app::each_with(settings, async |app| {
        let wanted = json!({"documents": {"aliases": {"fast": {"target": "openai/text"}}}});
        let revision = plan(&app, wanted.clone()).await["revision"].clone();
        app.put("/admin/api/v1/aliases/other", json!({"target": "openai/text"}))
            .send()
            .await
            .expect_status(201);
        let stale = app.post(APPLY, wanted.clone()).header("if-match", &format!("\"{revision}\""));
        stale.send().await.expect_status(412);
        let revision = plan(&app, wanted.clone()).await["revision"].clone();
        let current = app.post(APPLY, wanted).header("if-match", &format!("\"{revision}\""));
        let applied = current.send().await.expect_status(200);
        assert_eq!(aliases(&app).await, ["fast", "other"]);
        let exported = app.get(super::EXPORT).send().await.expect_status(200);
        assert_eq!(applied.header("etag"), exported.header("etag"));
        assert_eq!(applied.header("etag"), Some(&*format!("\"{}\"", applied.json()["revision"])));
    })
    .await;
}

#[tokio::test]
async fn a_document_in_use_is_not_deleted_and_one_with_its_referrers_is() {
    app::each_with(settings, async |app| {
        let wanted = json!({"documents": {
            "pools": {"pair": {"members": ["openai"]}}, "aliases": {"both": {"target": "pair/text"}},
        }});
        apply(&app, wanted).await.expect_status(200);
        let pool = json!({"changes": [{"kind": "pool", "name": "pair", "document": null}]});
        let planned = plan(&app, pool.clone()).await;
        assert_eq!(planned["errors"][0]["message"], "'pair' is in use by alias/both.", "{planned:#}");
        apply(&app, pool).await.expect_status(409);
        assert_eq!(aliases(&app).await, ["both"]);
        apply(&app, json!({"documents": {}, "prune": true})).await.expect_status(200);
        assert_eq!(documents(&app).await.get("pools"), None);
    })
    .await;
}

#[tokio::test]
async fn applying_needs_the_scopes_of_the_documents() {
    app::each_with(settings, async |app| {
        let alias = json!({"documents": {"aliases": {"fast": {"target": "openai/text"}}}});
        let config = app.key_with(&["admin:config:write"]).await;
        let refused = app.post(APPLY, alias.clone()).key(&config).send().await.expect_status(403).json();
        assert_eq!(refused["error"]["required_scope"], "admin:aliases:write");
        let both = app.key_with(&["admin:config:write", "admin:aliases:write", "admin:auth-keys:write"]).await;
        app.post(APPLY, alias).key(&both).send().await.expect_status(200);
        let digest = "ab".repeat(32);
        let key = json!({"documents": {"auth_keys": {"root": {"name": "root", "scopes": ["admin:write"], "digest": digest}}}});
        app.post(APPLY, key).key(&both).send().await.expect_status(403);
    })
    .await;
}

#[tokio::test]
async fn budgets_need_their_capability() {
    app::each_with(
        || TestSettings { loopback_listener: true, ..TestSettings::default() },
        async |app| {
            let budget = json!({"documents": {"budgets": {"/team|daily": {"amount": 1}}}});
            assert_eq!(plan(&app, budget.clone()).await["errors"][0]["code"], "edition_restricted");
            apply(&app, budget).await.expect_status(403);
        },
    )
    .await;
}

#[tokio::test]
async fn a_plan_replays_audited_calls() {
    let audited = || {
        let mut settings = settings();
        settings.policy.audit.enabled = true;
        settings
    };
    app::each_with(audited, async |app| {
        app.put("/admin/api/v1/aliases/fast", json!({"target": "openai/text"}))
            .send()
            .await
            .expect_status(201);
        app.chat("fast").send().await.expect_status(200);
        app.receipts(1).await;
        let wanted = json!({"documents": {"aliases": {"fast": {"target": "openai/long"}}}, "replay": 10});
        let planned = plan(&app, wanted).await;
        assert_eq!(planned["replay"]["replayed"], 1, "{planned:#}");
        assert_eq!(planned["replay"]["differing"], 1, "{planned:#}");
        let key = app.key_with(&["admin:config:read"]).await;
        let body: Value = json!({"documents": {}, "replay": 10});
        app.post(super::PLAN, body).key(&key).send().await.expect_status(403);
    })
    .await;
}

#[tokio::test]
async fn references_and_masks_are_not_stored_as_secrets() {
    app::each_with(settings, async |app| {
        let before = export(&app).await;
        let lab = |secret: &str| json!({"type": "openai_compatible", "base_url": app.upstream.base_url(), "api_key": secret});
        for (documents, field) in [
            (json!({"providers": {"lab": lab("${OPENAI_API_KEY}")}}), "api_key"),
            (json!({"providers": {"lab": lab("***")}}), "api_key"),
            (json!({"budget_settings": {"webhook_secret": "${BUDGET_WEBHOOK_SECRET}"}}), "webhook_secret"),
            (json!({"settings": {"proxy.http": "${HTTP_PROXY}"}}), "proxy.http"),
            (json!({"auth_keys": {"ci": {"name": "CI", "value": "${CI_KEY_OF_THE_TEAM}"}}}), "value"),
        ] {
            let planned = plan(&app, json!({"documents": documents})).await;
            assert_eq!(planned["errors"][0]["field"], field, "{planned:#}");
            let refused = apply(&app, json!({"documents": documents})).await.expect_status(400);
            assert!(refused.text().contains(field), "{}", refused.text());
        }
        let change = json!({"changes": [{"kind": "provider", "name": "openai", "document": {"api_key": "***"}}]});
        apply(&app, change).await.expect_status(400);
        assert_eq!(export(&app).await, before);
    })
    .await;
}

#[tokio::test]
async fn a_key_with_more_rights_than_the_caller_cannot_be_replaced() {
    app::each_with(settings, async |app| {
        let (id, root) = app.key(json!({"name": "root", "scopes": ["admin:write", "inference"]})).await;
        let scopes = ["admin:config:write", "admin:auth-keys:write", "inference"];
        let caller = app.key_with(&scopes).await;
        let weaker = json!({"documents": {"auth_keys": {&id: {"name": "root", "digest": "cd".repeat(32)}}}});
        let refused = app.post(APPLY, weaker).key(&caller).send().await.expect_status(403).json();
        assert_eq!(refused["error"]["code"], "insufficient_scope", "{refused}");
        app.get("/v1/models").key(&root).send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn two_keys_do_not_have_the_same_value() {
    app::each_with(settings, async |app| {
        let (id, raw) = app.key(json!({"name": "first"})).await;
        let same = json!({"documents": {"auth_keys": {"other": {"name": "other", "value": raw}}}});
        let planned = plan(&app, same.clone()).await;
        assert_eq!(
            (&planned["errors"][0]["field"], &planned["errors"][0]["code"]),
            (&json!("digest"), &json!("conflict"))
        );
        apply(&app, same.clone()).await.expect_status(409);
        app.post(format!("/admin/api/v1/auth-keys/{id}/rotate"), json!({})).send().await.expect_status(200);
        apply(&app, same).await.expect_status(409);
        let twice = json!({"documents": {"auth_keys": {
            "x": {"name": "x", "digest": "ef".repeat(32)}, "y": {"name": "y", "digest": "ef".repeat(32)},
        }}});
        assert_eq!(plan(&app, twice).await["errors"].as_array().unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn models_of_applied_providers_are_discovered() {
    app::each_with(settings, async |app| {
        let lab = json!({"type": "openai", "base_url": app.upstream.base_url(), "api_key": "sk-lab-1234"});
        apply(&app, json!({"documents": {"providers": {"lab": lab}}})).await.expect_status(200);
        for _ in 0..200 {
            let lab = app.get("/admin/api/v1/providers/lab").send().await.expect_status(200).json();
            if lab["health"]["last_discovery_at"].is_string() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("not discovered in time");
    })
    .await;
}

#[tokio::test]
async fn absent_secrets_are_kept_and_empty_ones_cleared() {
    app::each_with(settings, async |app| {
        let lab = json!({"type": "openai_compatible", "base_url": app.upstream.base_url()});
        let mut whole = lab.clone();
        whole["api_key"] = json!("sk-lab-1234");
        whole["headers"] = json!({"x-team": "hidden"});
        apply(&app, json!({"documents": {"providers": {"lab": whole}}})).await.expect_status(200);
        let same = plan(&app, json!({"documents": {"providers": {"lab": lab}}})).await;
        assert_eq!((&same["changes"], &same["errors"]), (&json!([]), &json!([])), "{same:#}");
        let cleared = json!({"changes": [{"kind": "provider", "name": "lab", "document": {"headers": null, "api_key": null}}]});
        apply(&app, cleared).await.expect_status(200);
        let lab = documents(&app).await["providers"]["lab"].clone();
        assert_eq!((lab.get("api_key"), lab["headers"].get("x-team")), (None, None), "{lab}");

        let (id, old) = app.key(json!({"name": "ci"})).await;
        app.post(format!("/admin/api/v1/auth-keys/{id}/rotate"), json!({})).send().await.expect_status(200);
        let works = async || app.get("/v1/models").key(&old).send().await.status == 200;
        let renamed = |previous: Option<Value>| {
            let mut key = json!({"name": "renamed"});
            if let Some(previous) = previous {
                key["previous"] = previous;
            }
            json!({"documents": {"auth_keys": {&id: key}}})
        };
        apply(&app, renamed(None)).await.expect_status(200);
        assert!(works().await, "its overlap has not ended");
        apply(&app, renamed(Some(json!([])))).await.expect_status(200);
        assert!(!works().await);
    })
    .await;
}

#[tokio::test]
async fn a_setting_that_is_never_stored_is_refused_also_if_the_environment_sets_it() {
    app::each_with(settings, async |app| {
        let of = |name: &str| json!({"documents": {"settings": {name: "x"}}});
        assert_eq!(
            plan(&app, of("server.host")).await["errors"],
            json!([]),
            "it is in force without the variable"
        );
        let planned = plan(&app, of("storage.path")).await;
        assert_eq!(planned["errors"][0]["field"], "storage.path", "{planned:#}");
        apply(&app, of("storage.path")).await.expect_status(409);
    })
    .await;
}

#[tokio::test]
async fn the_guardrails_of_a_plan_have_a_limited_size() {
    app::each_with(settings, async |app| {
        let long = "x".repeat(600_000);
        let guardrail = json!({"type": "system_prompt", "config": {"content": long}});
        let two = json!({"documents": {"guardrails": {"a": guardrail, "b": guardrail}}});
        let refused = app.post(super::PLAN, two).refusal().await;
        assert_eq!((refused.0, refused.2.as_deref()), (400, Some("documents")));
    })
    .await;
}

#[tokio::test]
async fn the_configuration_is_not_that_of_one_tenant() {
    app::each_with(settings, async |app| {
        let scopes = ["admin:config:write", "admin:aliases:write"];
        app.post("/admin/api/v1/tenants", json!({"slug": "acme"})).send().await.expect_status(201);
        let (_, key) = app.key(json!({"name": "acme", "tenant_id": "acme", "scopes": scopes})).await;
        let alias = json!({"documents": {"aliases": {"fast": {"target": "openai/text"}}}});
        app.get(super::EXPORT).key(&key).send().await.expect_status(403);
        app.post(super::PLAN, alias.clone()).key(&key).send().await.expect_status(403);
        app.post(APPLY, alias).key(&key).send().await.expect_status(403);
    })
    .await;
}
