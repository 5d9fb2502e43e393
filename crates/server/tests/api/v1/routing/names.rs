//! Tests of names and of the access to their targets.

use serde_json::json;

use super::{combo, each, put, served};
use crate::app::{TestApp, TestSettings, question};

async fn lead(app: &TestApp, model: &str) -> String {
    let answer = app.chat(model).send().await.expect_status(200);
    answer.header("x-gateway-model").unwrap().to_owned()
}

#[tokio::test]
async fn names_lead_where_they_say() {
    each(TestSettings::default, json!({}), async |app| {
        put(&app, "aliases/team/fast", json!({"target": "two/long-3"})).await;
        put(&app, "pools/both", json!({"members": ["one", "two"], "strategy": "primary_fallback"})).await;
        combo(&app, "best", &["both/text", "team/fast"]).await;
        put(&app, "aliases/default", json!({"target": "best"})).await;
        for (model, target) in [
            ("team/fast", "two/long-3"),
            ("both/text", "one/text"),
            ("best", "one/text"),
            ("default", "one/text"),
            ("two/text", "two/text"),
            ("openai_compatible/text", "one/text"),
        ] {
            assert_eq!(lead(&app, model).await, target, "{model}");
        }
        let list = app.get("/v1/models").send().await.json();
        let ids: Vec<&str> =
            list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
        for name in ["team/fast", "best", "default"] {
            assert!(ids.contains(&name), "{ids:?}");
            app.get(format!("/v1/models/{name}")).send().await.expect_status(200);
        }
        let message = app.chat("bset").send().await.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("'best'"), "{message}");
    })
    .await;
}

#[tokio::test]
async fn round_robin_cycles_through_the_targets() {
    each(TestSettings::default, json!({}), async |app| {
        put(&app, "pools/both", json!({"members": ["one", "two"]})).await;
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(lead(&app, "both/text").await);
        }
        assert_eq!(seen.iter().filter(|target| *target == "one/text").count(), 3, "{seen:?}");
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:?}");
    })
    .await;
}

#[tokio::test]
async fn a_hint_and_a_force_name_the_provider() {
    each(TestSettings::default, json!({}), async |app| {
        combo(&app, "best", &["one/text", "two/text"]).await;
        let mut body = question("best");
        body["provider"] = json!("two");
        let answer = app.post("/v1/chat/completions", body).send().await;
        assert_eq!(served(&answer), (200, "two/text", "1"));

        let forced = |model: &str| app.chat(model).header("x-gateway-force-provider", "two");
        assert_eq!(served(&forced("best").send().await), (200, "two/text", "1"));
        assert_eq!(served(&forced("one/text").send().await), (200, "two/text", "1"));
        let wrong = app.chat("best").header("x-gateway-force-provider", "nowhere").refusal().await;
        assert_eq!(wrong, (400, "invalid_parameter".into(), Some("X-Gateway-Force-Provider".into())));
        let key = app.key_with(&["inference"]).await;
        assert_eq!(forced("best").key(&key).refusal().await.1, "insufficient_scope");
    })
    .await;
}

#[tokio::test]
async fn a_key_with_a_pool_stays_in_it() {
    each(TestSettings::default, json!({}), async |app| {
        put(&app, "pools/only-two", json!({"members": ["two"]})).await;
        combo(&app, "best", &["one/text", "two/text"]).await;
        let (_, key) = app.key(json!({"name": "bound", "provider_pool_id": "only-two"})).await;
        for model in ["text", "best", "two/text", "openai_compatible/text"] {
            let answer = app.chat(model).key(&key).send().await;
            assert_eq!(served(&answer), (200, "two/text", "1"), "{model}: {}", answer.text());
        }
        let denied = app.chat("one/text").key(&key).refusal().await;
        assert_eq!((denied.0, denied.1.as_str()), (403, "key_provider_access_denied"));
        let mut hinted = question("text");
        hinted["provider"] = json!("one");
        let denied = app.post("/v1/chat/completions", hinted).key(&key).refusal().await;
        assert_eq!((denied.0, denied.1.as_str()), (403, "key_provider_access_denied"));
        let denied = app.get("/p/one/v1/models").key(&key).refusal().await;
        assert_eq!((denied.0, denied.1.as_str()), (403, "key_provider_access_denied"));
    })
    .await;
}

#[tokio::test]
async fn an_override_restricts_a_model() {
    each(TestSettings::default, json!({}), async |app| {
        combo(&app, "best", &["one/text", "two/text"]).await;
        put(&app, "model-overrides/one/text", json!({"enabled": true, "user_paths": ["/team"]})).await;
        put(&app, "model-overrides/two/long", json!({"enabled": false})).await;
        let at = |model: &str, path: &str| app.chat(model).header("x-gateway-user-path", path);
        assert_eq!(at("one/text", "/other").refusal().await.1, "model_access_denied");
        at("one/text", "/team/a").send().await.expect_status(200);
        // A rule holds for every target on the way.
        assert_eq!(served(&at("best", "/other").send().await), (200, "two/text", "1"));
        assert_eq!(served(&at("best", "/team").send().await), (200, "one/text", "1"));
        assert_eq!(app.chat("two/long").refusal().await.0, 403);
        let passing = app.post("/p/two/v1/chat/completions", question("long")).refusal().await;
        assert_eq!((passing.0, passing.1.as_str()), (403, "model_access_denied"));
        assert_eq!(app.get("/v1/models/two/long").refusal().await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn disabled_models_need_an_override() {
    let policy = || pipeline::policy::Policy { models_enabled_by_default: false, ..Default::default() };
    let settings = || TestSettings { policy: policy(), ..TestSettings::default() };
    each(settings, json!({}), async |app| {
        put(&app, "model-overrides/one/text", json!({"enabled": true})).await;
        app.chat("one/text").send().await.expect_status(200);
        assert_eq!(app.chat("two/text").refusal().await.1, "model_access_denied");
        let list = app.get("/v1/models").send().await.json();
        assert!(list["data"].as_array().unwrap().iter().all(|model| model["id"] == "one/text"), "{list}");
    })
    .await;
}

/// A caller hears of nothing that it may not use: neither by a near miss nor by what stands behind a name.
#[tokio::test]
async fn names_do_not_leak() {
    each(TestSettings::default, json!({}), async |app| {
        combo(&app, "secret-best", &["two/long-3", "two/text"]).await;
        put(&app, "aliases/secret-one", json!({"target": "two/long-3"})).await;
        let (_, key) = app.key(json!({"name": "limited", "allowed_models": ["one/text"]})).await;
        for near in ["secret-bets", "secret-on", "two/lang-3"] {
            let answers = [
                app.chat(near).key(&key).send().await,
                app.get(format!("/v1/models/{near}")).key(&key).send().await,
            ];
            for answer in answers {
                let text = answer.text();
                assert_eq!(answer.status, 404, "{text}");
                assert!(
                    !["secret-best", "secret-one", "two/long-3"].iter().any(|name| text.contains(name)),
                    "{text}"
                );
            }
        }
        let denied = app.chat("secret-one").key(&key).send().await;
        assert_eq!(denied.status, 403);
        assert!(!denied.text().contains("two"), "{}", denied.text());
        let long = "x".repeat(1 << 20);
        let begun = app.gateway.clock.tick();
        assert_eq!(app.chat(&long).send().await.status, 404);
        assert!(app.gateway.clock.tick() - begun < std::time::Duration::from_secs(2));
    })
    .await;
}
