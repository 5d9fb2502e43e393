//! Names and who may use what they lead to.

use serde_json::json;

use super::{combo, each, put, served};
use crate::house::{House, Wishes, question};

async fn lead(house: &House, model: &str) -> String {
    let answer = house.chat(model).send().await.expect_status(200);
    answer.header("x-gateway-model").unwrap().to_owned()
}

#[tokio::test]
async fn names_lead_where_they_say() {
    each(Wishes::default, json!({}), async |house| {
        put(&house, "aliases/team/fast", json!({"target": "two/long-3"})).await;
        put(&house, "pools/both", json!({"members": ["one", "two"], "strategy": "primary_fallback"})).await;
        combo(&house, "best", &["both/text", "team/fast"]).await;
        put(&house, "aliases/default", json!({"target": "best"})).await;
        for (model, target) in [
            ("team/fast", "two/long-3"),
            ("both/text", "one/text"),
            ("best", "one/text"),
            ("default", "one/text"),
            ("two/text", "two/text"),
            ("openai_compatible/text", "one/text"),
        ] {
            assert_eq!(lead(&house, model).await, target, "{model}");
        }
        let list = house.get("/v1/models").send().await.json();
        let ids: Vec<&str> =
            list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
        for name in ["team/fast", "best", "default"] {
            assert!(ids.contains(&name), "{ids:?}");
            house.get(format!("/v1/models/{name}")).send().await.expect_status(200);
        }
        let message = house.chat("bset").send().await.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("'best'"), "{message}");
    })
    .await;
}

#[tokio::test]
async fn a_round_goes_round() {
    each(Wishes::default, json!({}), async |house| {
        put(&house, "pools/both", json!({"members": ["one", "two"]})).await;
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(lead(&house, "both/text").await);
        }
        assert_eq!(seen.iter().filter(|target| *target == "one/text").count(), 3, "{seen:?}");
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:?}");
    })
    .await;
}

#[tokio::test]
async fn a_hint_and_a_force_name_the_provider() {
    each(Wishes::default, json!({}), async |house| {
        combo(&house, "best", &["one/text", "two/text"]).await;
        let mut body = question("best");
        body["provider"] = json!("two");
        let answer = house.post("/v1/chat/completions", body).send().await;
        assert_eq!(served(&answer), (200, "two/text", "1"));

        let forced = |model: &str| house.chat(model).header("x-gateway-force-provider", "two");
        assert_eq!(served(&forced("best").send().await), (200, "two/text", "1"));
        assert_eq!(served(&forced("one/text").send().await), (200, "two/text", "1"));
        let wrong = house.chat("best").header("x-gateway-force-provider", "nowhere").refusal().await;
        assert_eq!(wrong, (400, "invalid_parameter".into(), Some("X-Gateway-Force-Provider".into())));
        let key = house.key_with(&["inference"]).await;
        assert_eq!(forced("best").key(&key).refusal().await.1, "insufficient_scope");
    })
    .await;
}

#[tokio::test]
async fn a_key_with_a_pool_stays_in_it() {
    each(Wishes::default, json!({}), async |house| {
        put(&house, "pools/only-two", json!({"members": ["two"]})).await;
        combo(&house, "best", &["one/text", "two/text"]).await;
        let (_, key) = house.key(json!({"name": "bound", "provider_pool_id": "only-two"})).await;
        for model in ["text", "best", "two/text", "openai_compatible/text"] {
            let answer = house.chat(model).key(&key).send().await;
            assert_eq!(served(&answer), (200, "two/text", "1"), "{model}: {}", answer.text());
        }
        let denied = house.chat("one/text").key(&key).refusal().await;
        assert_eq!((denied.0, denied.1.as_str()), (403, "key_provider_access_denied"));
        let mut hinted = question("text");
        hinted["provider"] = json!("one");
        let denied = house.post("/v1/chat/completions", hinted).key(&key).refusal().await;
        assert_eq!((denied.0, denied.1.as_str()), (403, "key_provider_access_denied"));
        let denied = house.get("/p/one/v1/models").key(&key).refusal().await;
        assert_eq!((denied.0, denied.1.as_str()), (403, "key_provider_access_denied"));
    })
    .await;
}

#[tokio::test]
async fn an_override_decides_who_may_use_a_model() {
    each(Wishes::default, json!({}), async |house| {
        combo(&house, "best", &["one/text", "two/text"]).await;
        put(&house, "model-overrides/one/text", json!({"enabled": true, "user_paths": ["/team"]})).await;
        put(&house, "model-overrides/two/long", json!({"enabled": false})).await;
        let at = |model: &str, path: &str| house.chat(model).header("x-gateway-user-path", path);
        assert_eq!(at("one/text", "/other").refusal().await.1, "model_access_denied");
        at("one/text", "/team/a").send().await.expect_status(200);
        // A rule holds for every target on the way.
        assert_eq!(served(&at("best", "/other").send().await), (200, "two/text", "1"));
        assert_eq!(served(&at("best", "/team").send().await), (200, "one/text", "1"));
        assert_eq!(house.chat("two/long").refusal().await.0, 403);
        let passing = house.post("/p/two/v1/chat/completions", question("long")).refusal().await;
        assert_eq!((passing.0, passing.1.as_str()), (403, "model_access_denied"));
        assert_eq!(house.get("/v1/models/two/long").refusal().await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn what_is_not_enabled_by_default_needs_an_override() {
    let policy = || pipeline::gateway::Policy { models_enabled_by_default: false, ..Default::default() };
    let wishes = || Wishes { policy: policy(), ..Wishes::default() };
    each(wishes, json!({}), async |house| {
        put(&house, "model-overrides/one/text", json!({"enabled": true})).await;
        house.chat("one/text").send().await.expect_status(200);
        assert_eq!(house.chat("two/text").refusal().await.1, "model_access_denied");
        let list = house.get("/v1/models").send().await.json();
        assert!(list["data"].as_array().unwrap().iter().all(|model| model["id"] == "one/text"), "{list}");
    })
    .await;
}

/// A caller hears of nothing that it may not use: neither by a near miss nor by what stands behind a name.
#[tokio::test]
async fn names_do_not_leak() {
    each(Wishes::default, json!({}), async |house| {
        combo(&house, "secret-best", &["two/long-3", "two/text"]).await;
        put(&house, "aliases/secret-one", json!({"target": "two/long-3"})).await;
        let (_, key) = house.key(json!({"name": "limited", "allowed_models": ["one/text"]})).await;
        for near in ["secret-bets", "secret-on", "two/lang-3"] {
            let answers = [
                house.chat(near).key(&key).send().await,
                house.get(format!("/v1/models/{near}")).key(&key).send().await,
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
        let denied = house.chat("secret-one").key(&key).send().await;
        assert_eq!(denied.status, 403);
        assert!(!denied.text().contains("two"), "{}", denied.text());
        let long = "x".repeat(1 << 20);
        let begun = house.gateway.clock.tick();
        assert_eq!(house.chat(&long).send().await.status, 404);
        assert!(house.gateway.clock.tick() - begun < std::time::Duration::from_secs(2));
    })
    .await;
}
