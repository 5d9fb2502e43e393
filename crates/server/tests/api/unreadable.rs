//! Stored documents that cannot be read: each fails closed in its own scope, and nothing else stops.

use http::Method;
use serde_json::json;

use crate::house::{self, House, Wishes};

const KEYS: &str = "/admin/api/v1/auth-keys";

async fn damage(house: &House, kind: &str, name: &str) {
    house
        .sql(&format!("UPDATE documents SET body = '{{\"oops' WHERE kind = '{kind}' AND name = '{name}'"))
        .await;
}

/// Documents of one kind are compiled again when one of them changes.
async fn touch_routes(house: &House) {
    house.put("/admin/api/v1/aliases/touched", json!({"target": "openai/text"})).send().await;
    house.call(Method::DELETE, "/admin/api/v1/aliases/touched").send().await.expect_status(204);
}

async fn readiness(house: &House) -> (u16, String, String) {
    let answer = house.get("/ready").anonymous().send().await;
    let body = answer.json();
    let word = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    (answer.status, word("status"), word("configuration"))
}

fn degraded() -> (u16, String, String) {
    (200, "degraded".into(), "degraded".into())
}

fn ok() -> (u16, String, String) {
    (200, "ok".into(), "ok".into())
}

#[tokio::test]
async fn an_unreadable_document_does_not_stop_revocations() {
    house::each(async |house| {
        let replica = house.neighbour().await;
        let (damaged_id, damaged) = house.key(json!({"name": "damaged"})).await;
        let (id, key) = house.key(json!({"name": "revoked"})).await;
        replica.refresher.refresh().await.unwrap();
        assert_eq!(readiness(&house).await, ok());

        damage(&house, "auth_key", &damaged_id).await;
        // Another process changed it: what follows the log reads it again.
        house
            .sql(&format!(
                "INSERT INTO changes (revision, at, actor, kind, name, action) \
             VALUES ((SELECT rev + 1 FROM meta WHERE id = 1), 0, 'x', 'auth_key', '{damaged_id}', 'update')"
            ))
            .await;
        house.sql("UPDATE meta SET rev = rev + 1 WHERE id = 1").await;
        house.post(format!("{KEYS}/{id}/deactivate"), json!({})).send().await.expect_status(200);
        replica.refresher.refresh().await.unwrap();

        for house in [&house, &replica] {
            assert_eq!(house.chat("text").key(&key).refusal().await.0, 401, "a revoked key");
            assert_eq!(house.chat("text").key(&damaged).refusal().await.0, 401, "a key that cannot be read");
            assert_eq!(readiness(house).await, degraded());
        }
        assert_eq!(house.get(format!("{KEYS}/{damaged_id}")).refusal().await.0, 409);
        house.call(Method::DELETE, format!("{KEYS}/{damaged_id}")).send().await.expect_status(204);
        assert_eq!(readiness(&house).await, ok());
    })
    .await;
}

#[tokio::test]
async fn an_unreadable_override_disables_its_model_and_names_are_skipped() {
    house::each(async |house| {
        let names = [
            ("model-overrides/openai/text", "model_override", "openai/text", json!({"enabled": true})),
            ("aliases/quick", "alias", "quick", json!({"target": "openai/other"})),
            ("pools/both", "pool", "both", json!({"members": ["openai"]})),
            ("providers/second", "provider", "second", json!({"type": "openai", "api_key": "sk-2"})),
        ];
        for (path, _, _, body) in &names {
            let put = house.put(format!("/admin/api/v1/{path}"), body.clone()).send().await;
            assert_eq!(put.status, 201, "{path}: {}", put.text());
        }
        house.chat("openai/text").send().await.expect_status(200);
        for (_, kind, name, _) in &names {
            damage(&house, kind, name).await;
        }
        touch_routes(&house).await;
        assert_eq!(readiness(&house).await, degraded());
        assert_eq!(house.chat("openai/text").refusal().await.1, "model_access_denied");
        house.chat("openai/long").send().await.expect_status(200);
        let listed = house.get("/v1/models").send().await.expect_status(200).text();
        for name in ["\"quick\"", "\"both\"", "\"second/"] {
            assert!(!listed.contains(name), "{name}: {listed}");
        }
        let replica = house.neighbour().await;
        assert_eq!(readiness(&replica).await, degraded(), "also after a start");
        assert_eq!(replica.chat("openai/text").refusal().await.1, "model_access_denied");

        for (path, ..) in &names {
            house.call(Method::DELETE, format!("/admin/api/v1/{path}")).send().await.expect_status(204);
        }
        assert_eq!(readiness(&house).await, ok());
        house.chat("openai/text").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn an_unreadable_budget_refuses_the_calls_of_its_scope() {
    house::each_with(Wishes::enterprise, async |house| {
        let budgets = "/admin/api/v1/budgets";
        for path in ["%2Fteam%2Fa", "%2Fteam%2Fb"] {
            let put = house.put(format!("{budgets}/{path}/daily"), json!({"amount": 100}));
            put.send().await.expect_status(200);
        }
        damage(&house, "budget", "/team/a|86400").await;
        let touched = house.put(format!("{budgets}/%2Fteam%2Fb/daily"), json!({"amount": 90}));
        touched.send().await.expect_status(200);
        let (id, key) = house.key(json!({"name": "revoked"})).await;
        house.post(format!("{KEYS}/{id}/deactivate"), json!({})).send().await.expect_status(200);
        assert_eq!(house.chat("text").key(&key).refusal().await.0, 401);

        let at = async |path: &str| house.chat("text").header("x-gateway-user-path", path).send().await;
        let refused = at("/team/a/x").await.refusal();
        assert_eq!((refused.0, &*refused.1), (503, "budget_check_failed"));
        for path in ["/team/b", "/team", "/"] {
            at(path).await.expect_status(200);
        }
        assert_eq!(readiness(&house).await, degraded());
        let again = house.put(format!("{budgets}/%2Fteam%2Fa/daily"), json!({"amount": 100}));
        again.send().await.expect_status(200);
        at("/team/a/x").await.expect_status(200);
        assert_eq!(readiness(&house).await, ok());

        // Without settings it is not known when a budget begins anew.
        house
            .put(format!("{budgets}/settings"), json!({"daily_reset_hour": 3}))
            .send()
            .await
            .expect_status(200);
        damage(&house, "budget_settings", "settings").await;
        let replica = house.neighbour().await;
        let call = replica.chat("text").header("x-gateway-user-path", "/team/b");
        assert_eq!(call.refusal().await.0, 503);
        replica.chat("text").send().await.expect_status(200);
        replica.put(format!("{budgets}/settings"), json!({})).send().await.expect_status(200);
        let call = replica.chat("text").header("x-gateway-user-path", "/team/b");
        call.send().await.expect_status(200);
    })
    .await;
}
