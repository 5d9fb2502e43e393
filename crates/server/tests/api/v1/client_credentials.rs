//! Tests of `ALLOW_CLIENT_CREDENTIALS`: calls with a provider credential of the client's own.

use serde_json::{Value, json};

use crate::app::{self, AT_UPSTREAM, Call, TestApp, TestSettings, UPSTREAM_KEY};

const OWN: &str = "sk-ant-oat01-own-credential-of-the-client";

fn settings() -> TestSettings {
    let mut settings = TestSettings { vendors: &["openai", "anthropic"], ..TestSettings::enterprise() };
    settings.policy.client_credentials = vec![format!("anthropic{AT_UPSTREAM}")];
    settings.policy.audit.enabled = true;
    settings.policy.cache.enabled = true;
    settings
}

fn question(model: &str) -> Value {
    json!({"model": model, "max_tokens": 64, "messages": [{"role": "user", "content": "How are you today?"}]})
}

/// A call with the gateway's key in its own header, and the client's credential in the usual one.
fn with_own<'a>(app: &'a TestApp, path: &str, key: &str, body: Value) -> Call<'a> {
    let call = app.post(path, body).header("x-gateway-key", key);
    call.header("authorization", &format!("Bearer {OWN}"))
}

#[tokio::test]
async fn the_clients_credential_goes_upstream_and_the_call_is_free() {
    app::each_with(settings, async |app| {
        let (id, key) = app.key(json!({"name": "developer", "user_path": "/team"})).await;
        app.put("/admin/api/v1/budgets/%2Fteam/daily", json!({"amount": 0.000001}))
            .send()
            .await
            .expect_status(200);
        let refused =
            app.post("/v1/messages", question("anthropic/claude-sonnet-4-5")).key(&key).send().await;
        assert_eq!(refused.status, 429, "the budget allows no paid call: {}", refused.text());
        for path in ["/v1/messages", "/p/anthropic/v1/messages"] {
            let model =
                if path.starts_with("/p") { "claude-sonnet-4-5" } else { "anthropic/claude-sonnet-4-5" };
            let call =
                with_own(&app, path, &key, question(model)).header("anthropic-beta", "oauth-2025-04-20");
            let answer = call.send().await.expect_status(200);
            let seen = app.upstream.requests().pop().unwrap();
            assert_eq!(seen.header("authorization"), Some(&*format!("Bearer {OWN}")), "{path}");
            assert_eq!(seen.header("anthropic-beta"), Some("oauth-2025-04-20"), "{path}");
            for name in ["x-api-key", "x-gateway-key"] {
                assert_eq!(seen.header(name), None, "{path} {name}");
            }
            if let Some(cost) = answer.header("x-gateway-cost-usd") {
                assert_eq!(cost, "0.000000000", "{path}");
            }
        }
        let receipts = app.receipts(3).await;
        for receipt in &receipts[1..] {
            assert_eq!(
                (&receipt["cost_source"], &receipt["total_cost"]),
                (&json!("client"), &json!(0.0)),
                "{receipt}"
            );
            assert_eq!((&receipt["auth_key_id"], &receipt["user_path"]), (&json!(id), &json!("/team")));
            assert!(receipt["input_tokens"].as_u64().unwrap() > 0, "{receipt}");
            assert_eq!(receipt["caveat"], Value::Null, "{receipt}");
        }
        let budgets = app.get("/admin/api/v1/budgets").send().await.expect_status(200).json();
        assert_eq!(
            (&budgets["budgets"][0]["spent"], &budgets["budgets"][0]["reserved"]),
            (&json!(0.0), &json!(0.0))
        );
        let recalculated =
            app.post("/admin/api/v1/usage/recalculate-pricing", json!({"confirmation": "recalculate"}));
        recalculated.send().await.expect_status(200);
        assert_eq!(app.receipts(3).await[1]["cost_source"], "client");
        let log = app.get("/admin/api/v1/audit/log?include_bodies=true").send().await;
        assert!(!log.text().contains(OWN) && !log.text().contains(&key), "{}", log.text());
        for entry in log.json()["entries"].as_array().unwrap_or(&Vec::new()) {
            let path = format!("/admin/api/v1/audit/log/{}", entry["id"].as_str().unwrap());
            let whole = app.get(path).send().await.expect_status(200).text();
            assert!(!whole.contains(OWN) && !whole.contains(&key), "{whole}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_stream_is_metered_for_free() {
    app::each_with(settings, async |app| {
        let mut body = question("anthropic/claude-sonnet-4-5");
        body["stream"] = json!(true);
        with_own(&app, "/v1/messages", app::MASTER, body).send().await.expect_status(200);
        let receipt = app.receipts(1).await.remove(0);
        assert_eq!(
            (&receipt["cost_source"], &receipt["total_cost"]),
            (&json!("client"), &json!(0.0)),
            "{receipt}"
        );
    })
    .await;
}

#[tokio::test]
async fn other_targets_and_routes_use_the_gateways_credential() {
    app::each_with(settings, async |app| {
        let call = with_own(&app, "/v1/messages", app::MASTER, question("openai/gpt-4o"));
        call.send().await.expect_status(200);
        let seen = app.upstream.requests().pop().unwrap();
        assert_eq!(seen.header("authorization"), Some(&*format!("Bearer {UPSTREAM_KEY}")));
        assert_eq!(app.receipts(1).await[0]["cost_source"], "model_pricing");
        // Only on these routes: elsewhere the credential in the usual header is the gateway's.
        let chat =
            with_own(&app, "/v1/chat/completions", app::MASTER, question("anthropic/claude-sonnet-4-5"));
        assert_eq!(chat.refusal().await.1, "invalid_api_key");
        // The gateway's key is always needed.
        let call = with_own(&app, "/v1/messages", "no-such-key", question("anthropic/claude-sonnet-4-5"));
        assert_eq!(call.send().await.status, 401);
        // Without a credential of its own, the header is another place for the key.
        let call = app.post("/v1/messages", question("anthropic/claude-sonnet-4-5")).anonymous();
        call.header("x-gateway-key", app::MASTER).send().await.expect_status(200);
        assert_eq!(app.upstream.requests().pop().unwrap().header("x-api-key"), Some(UPSTREAM_KEY));
    })
    .await;
}

/// Configured headers may hold credentials of the gateway.
#[tokio::test]
async fn configured_headers_are_not_sent_with_the_clients_credential() {
    let local = || TestSettings { allow_private: true, loopback_listener: true, ..settings() };
    app::each_with(local, async |app| {
        let body = json!({
            "name": "second", "type": "anthropic", "base_url": app.upstream.base_url(), "api_key": UPSTREAM_KEY,
            "headers": {"x-account-token": "of-the-gateway"}, "models": ["claude-sonnet-4-5"],
        });
        app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
        let model = "second/claude-sonnet-4-5";
        app.post("/v1/messages", question(model)).send().await.expect_status(200);
        let seen = app.upstream.requests().pop().unwrap();
        assert_eq!(seen.header("x-account-token"), Some("of-the-gateway"));
        with_own(&app, "/v1/messages", app::MASTER, question(model)).send().await.expect_status(200);
        let seen = app.upstream.requests().pop().unwrap();
        assert_eq!((seen.header("x-account-token"), seen.header("x-api-key")), (None, None));
        assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"), "headers of the vendor stay");
    })
    .await;
}

/// The address of an instance does not make it a receiver of clients' credentials.
#[tokio::test]
async fn a_credential_stays_with_the_vendors_own_address() {
    let elsewhere = || {
        let mut settings = settings();
        settings.policy.client_credentials = vec!["anthropic".to_owned()];
        settings
    };
    app::each_with(elsewhere, async |app| {
        for (path, model) in [
            ("/v1/messages", "anthropic/claude-sonnet-4-5"),
            ("/p/anthropic/v1/messages", "claude-sonnet-4-5"),
        ] {
            with_own(&app, path, app::MASTER, question(model)).send().await.expect_status(200);
            let seen = app.upstream.requests().pop().unwrap();
            assert_eq!(
                (seen.header("authorization"), seen.header("x-api-key")),
                (None, Some(UPSTREAM_KEY)),
                "{path}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn it_is_off_by_default() {
    let settings = || TestSettings { vendors: &["anthropic"], ..TestSettings::default() };
    app::each_with(settings, async |app| {
        for path in ["/v1/messages", "/p/anthropic/v1/messages"] {
            let call = with_own(&app, path, app::MASTER, question("anthropic/text"));
            assert_eq!(call.send().await.status, 401, "{path}");
        }
        assert!(app.upstream.requests().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_rejected_credential_is_the_clients_matter() {
    app::each_with(settings, async |app| {
        let call = with_own(&app, "/v1/messages", app::MASTER, question("anthropic/error-401"));
        let answer = call.send().await;
        assert_eq!(answer.status, 401, "{}", answer.text());
        assert!(!answer.text().contains(OWN), "{}", answer.text());
        // The account of the gateway is not affected.
        app.post("/v1/messages", question("anthropic/claude-sonnet-4-5")).send().await.expect_status(200);
        let status = app.get("/admin/api/v1/providers/status").send().await.expect_status(200).text();
        assert!(!status.contains("auth_failed"), "{status}");
    })
    .await;
}

#[tokio::test]
async fn explain_shows_the_credential() {
    app::each_with(settings, async |app| {
        let body = json!({
            "path": "/v1/messages",
            "headers": {"X-Gateway-Key": "gk_any", "Authorization": format!("Bearer {OWN}")},
            "body": question("anthropic/claude-sonnet-4-5"),
        });
        let answer = app.post("/admin/api/v1/explain", body).send().await.expect_status(200);
        assert!(!answer.text().contains(OWN), "{}", answer.text());
        let explanation = answer.json();
        let candidate = &explanation["candidates"][0];
        assert_eq!((&candidate["credential"], &candidate["estimated_cost"]), (&json!("client"), &json!(0.0)));
        assert_eq!(explanation["budgets"], json!([]));
        let body = json!({"path": "/v1/messages", "body": question("anthropic/claude-sonnet-4-5")});
        let usual = app.post("/admin/api/v1/explain", body).send().await.expect_status(200).json();
        assert_eq!(usual["candidates"][0].get("credential"), None);
    })
    .await;
}
