//! Tests of a key's lists and its pool on real calls.

use serde_json::{Value, json};

use crate::admin::each_furnished;
use crate::app::{TestApp, question};

const OK: &str = "";
const MODEL: &str = "key_model_access_denied";
const PROVIDER: &str = "key_provider_access_denied";

/// The outcome of a call: empty if it is served, else the code of a 403.
async fn outcome(app: &TestApp, key: &str, body: Value) -> String {
    let answer = app.post("/v1/chat/completions", body).key(key).send().await;
    match answer.status {
        200 => String::new(),
        403 => answer.refusal().1,
        other => panic!("{other}: {}", answer.text()),
    }
}

#[tokio::test]
async fn lists_allow_and_deny() {
    each_furnished(async |app| {
        let cases: &[(Value, &str, &str)] = &[
            // No list is no limit.
            (json!({}), "openai/text", OK),
            (
                json!({"allowed_models": null, "allowed_providers": null, "denied_models": null}),
                "second/long",
                OK,
            ),
            // An empty list is nothing, but for denials.
            (json!({"allowed_models": []}), "openai/text", MODEL),
            (json!({"allowed_providers": []}), "openai/text", PROVIDER),
            (json!({"denied_models": []}), "openai/text", OK),
            // Entries by instance, by type, by the bare model.
            (json!({"allowed_models": ["second/long"]}), "second/long", OK),
            (json!({"allowed_models": ["second/long"]}), "second/text", MODEL),
            (json!({"allowed_models": ["openai_compatible/long"]}), "second/long", OK),
            (json!({"allowed_models": ["long"]}), "second/long", OK),
            (json!({"allowed_models": ["long"]}), "openai/text", MODEL),
            // Wildcards in every list.
            (json!({"allowed_models": ["openai/*"]}), "openai/text", OK),
            (json!({"allowed_models": ["openai/*"]}), "second/text", MODEL),
            (json!({"allowed_models": ["*/te*t"]}), "second/text", OK),
            (json!({"allowed_models": ["*/te*t"]}), "second/long", MODEL),
            (json!({"allowed_providers": ["sec*"]}), "second/text", OK),
            (json!({"allowed_providers": ["sec*"]}), "openai/text", PROVIDER),
            (json!({"allowed_providers": ["*"]}), "openai/text", OK),
            (json!({"denied_models": ["l*"]}), "second/long", MODEL),
            (json!({"denied_models": ["l*"]}), "second/text", OK),
            (json!({"denied_models": ["*"]}), "openai/text", MODEL),
            // A denial wins.
            (json!({"allowed_models": ["second/*"], "denied_models": ["second/long"]}), "second/long", MODEL),
            (json!({"allowed_models": ["second/*"], "denied_models": ["second/long"]}), "second/text", OK),
            (json!({"allowed_models": ["long"], "denied_models": ["*/long"]}), "second/long", MODEL),
            // Both lists must agree.
            (
                json!({"allowed_providers": ["second"], "allowed_models": ["openai/*"]}),
                "openai/text",
                PROVIDER,
            ),
        ];
        for (lists, model, expected) in cases {
            let mut body = json!({"name": "limited"});
            body.as_object_mut().unwrap().extend(lists.as_object().unwrap().clone());
            let (_, key) = app.key(body).await;
            assert_eq!(outcome(&app, &key, question(model)).await, *expected, "{lists} {model}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_list_may_name_aliases_combos_and_pools() {
    each_furnished(async |app| {
        for (path, body) in [
            ("aliases/quick", json!({"target": "second/text"})),
            ("aliases/text-alias", json!({"target": "openai/long"})),
            ("combos/both", json!({"selectors": ["openai/text", "second/long"]})),
            ("pools/team", json!({"members": ["second"]})),
        ] {
            app.put(format!("/admin/api/v1/{path}"), body).send().await.expect_status(201);
        }
        let cases: &[(Value, &str, &str)] = &[
            (json!({"allowed_models": ["quick"]}), "quick", OK),
            (json!({"allowed_models": ["quick"]}), "second/text", MODEL),
            (json!({"allowed_models": ["both"]}), "both", OK),
            (json!({"allowed_models": ["both"]}), "quick", MODEL),
            (json!({"allowed_models": ["team/text"]}), "team/text", OK),
            (json!({"allowed_models": ["team/*"]}), "team/long", OK),
            (json!({"allowed_models": ["team/text"]}), "team/long", MODEL),
            // A pattern is for models, not for names that happen to match it.
            (json!({"allowed_models": ["te*"]}), "text-alias", MODEL),
            // Denials, providers and pools are judged on the target.
            (json!({"allowed_models": ["quick"], "denied_models": ["second/text"]}), "quick", MODEL),
            (json!({"allowed_models": ["quick"], "denied_models": ["quick"]}), "quick", OK),
            (json!({"allowed_models": ["quick"], "allowed_providers": ["openai"]}), "quick", PROVIDER),
        ];
        for (lists, model, expected) in cases {
            let mut body = json!({"name": "limited"});
            body.as_object_mut().unwrap().extend(lists.as_object().unwrap().clone());
            let (_, key) = app.key(body).await;
            assert_eq!(outcome(&app, &key, question(model)).await, *expected, "{lists} {model}");
        }
        let (_, key) = app.key(json!({"name": "listed", "allowed_models": ["quick"]})).await;
        let models = app.get("/v1/models").key(&key).send().await.expect_status(200).json();
        let ids: Vec<_> =
            models["data"].as_array().unwrap().iter().map(|model| model["id"].clone()).collect();
        assert_eq!(ids, ["quick"]);

        // Who holds a pattern for models cannot hand on a name that leads elsewhere.
        let scopes = json!(["inference", "admin:auth-keys:write"]);
        let maker = json!({"name": "maker", "scopes": scopes, "allowed_models": ["te*", "quick"]});
        let (_, maker) = app.key(maker).await;
        let make =
            |entry: &str| app.post(super::PATH, json!({"name": "x", "allowed_models": [entry]})).key(&maker);
        make("quick").send().await.expect_status(201);
        make("text").send().await.expect_status(201);
        let refused = make("text-alias").refusal().await;
        assert_eq!(refused, (403, "key_model_access_denied".into(), Some("allowed_models".into())));
    })
    .await;
}

#[tokio::test]
async fn entries_that_match_nothing_are_named_in_warnings() {
    each_furnished(async |app| {
        let body = json!({"name": "a", "allowed_models": ["openai/*", "second/text", "no-such-model"],
            "denied_models": ["gone/*"], "allowed_providers": ["openai", "nobody"]});
        let created = app.post(super::PATH, body).send().await.expect_status(201).json();
        let warned = |view: &Value| -> Vec<String> {
            let warnings = view["warnings"].as_array().unwrap().iter();
            warnings.map(|text| text.as_str().unwrap().split(" matches").next().unwrap().to_owned()).collect()
        };
        let expected =
            ["allowed_providers: 'nobody'", "allowed_models: 'no-such-model'", "denied_models: 'gone/*'"];
        assert_eq!(warned(&created), expected);
        let path = format!("{}/{}", super::PATH, created["id"].as_str().unwrap());
        assert_eq!(warned(&app.get(&path).send().await.json()), expected);
        let edit =
            json!({"allowed_models": ["second/text"], "denied_models": null, "allowed_providers": null});
        let edited = app.put(&path, edit).send().await.expect_status(200).json();
        assert_eq!(edited["warnings"], json!([]));
        assert_eq!(edited["allowed_models"], json!(["second/text"]));
    })
    .await;
}

#[tokio::test]
async fn empty_strings_mean_none() {
    each_furnished(async |app| {
        let empty = json!({"name": "a", "provider_pool_id": "", "tenant_id": "", "description": ""});
        let created = app.post(super::PATH, empty.clone()).send().await.expect_status(201).json();
        let path = format!("{}/{}", super::PATH, created["id"].as_str().unwrap());
        let edited = app.put(&path, empty).send().await.expect_status(200).json();
        for view in [created, edited] {
            assert_eq!((&view["provider_pool_id"], &view["tenant_id"]), (&Value::Null, &Value::Null));
            assert_eq!(view["description"], "");
        }
    })
    .await;
}

#[tokio::test]
async fn an_edited_list_holds_from_the_next_call_on() {
    each_furnished(async |app| {
        let (id, key) = app.key(json!({"name": "a", "allowed_models": ["second/*"]})).await;
        let edit = async |body: Value| {
            app.put(format!("{}/{id}", super::PATH), body).send().await.expect_status(200);
        };
        assert_eq!(outcome(&app, &key, question("openai/text")).await, MODEL);
        edit(json!({"allowed_models": ["openai/*"]})).await;
        assert_eq!(outcome(&app, &key, question("openai/text")).await, OK);
        assert_eq!(outcome(&app, &key, question("second/text")).await, MODEL);
        edit(json!({"allowed_models": []})).await;
        assert_eq!(outcome(&app, &key, question("openai/text")).await, MODEL);
        edit(json!({"allowed_models": null})).await;
        assert_eq!(outcome(&app, &key, question("second/text")).await, OK);
    })
    .await;
}

#[tokio::test]
async fn a_pool_binds_by_its_name() {
    each_furnished(async |app| {
        let pools = "/admin/api/v1/pools";
        app.post(pools, json!({"name": "team", "members": ["second"]})).send().await.expect_status(201);
        let (id, key) = app.key(json!({"name": "a", "provider_pool_id": "team"})).await;
        assert_eq!(outcome(&app, &key, question("text")).await, OK);
        assert_eq!(outcome(&app, &key, question("openai/text")).await, PROVIDER);
        for (provider, expected) in [("second", OK), ("openai", PROVIDER)] {
            let mut hinted = question("text");
            hinted["provider"] = json!(provider);
            assert_eq!(outcome(&app, &key, hinted).await, expected, "hint {provider}");
        }
        // The pool and the lists must agree.
        let keys = super::PATH;
        let edit = async |body: Value| app.put(format!("{keys}/{id}"), body).send().await;
        edit(json!({"allowed_providers": ["openai"]})).await.expect_status(200);
        assert_eq!(outcome(&app, &key, question("text")).await, PROVIDER);
        edit(json!({"allowed_providers": null, "provider_pool_id": null})).await.expect_status(200);
        assert_eq!(outcome(&app, &key, question("openai/text")).await, OK);

        // A key that is off holds no pool, and is not switched on again without it.
        edit(json!({"provider_pool_id": "team", "enabled": false})).await.expect_status(200);
        assert_eq!(app.call(http::Method::DELETE, format!("{pools}/team")).send().await.status, 204);
        edit(json!({"name": "b"})).await.expect_status(200);
        let refused = edit(json!({"enabled": true})).await.refusal();
        assert_eq!(refused, (400, "invalid_parameter".into(), Some("provider_pool_id".into())));
        edit(json!({"enabled": true, "provider_pool_id": null})).await.expect_status(200);
    })
    .await;
}
