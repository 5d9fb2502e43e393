//! Tests of tokens of configured issuers, in place of keys.

use std::time::Duration;

use domain::clock::Clock as _;
use serde_json::{Value, json};

use crate::app::{self, TestApp, TestIssuer, TestSettings};

const REVOKE: &str = "/admin/api/v1/auth/tokens/revoke";

fn now(app: &TestApp) -> i64 {
    app.clock.now().seconds()
}

fn audited(mut settings: TestSettings) -> TestSettings {
    settings.policy.audit.enabled = true;
    settings
}

#[tokio::test]
async fn a_token_is_a_caller_and_its_subject_is_recorded() {
    let issuer = TestIssuer::start();
    let rules = json!({"claims": {"user_path": "/staff/{email}", "name": "{name}"}});
    app::each_with(
        || audited(issuer.settings(rules.clone())),
        async |app| {
            let before = issuer.requests().len();
            let mut claims = issuer.claims("alice", now(&app));
            claims["email"] = json!("a@example.com");
            claims["name"] = json!("Alice");
            let token = issuer.sign(&claims);
            for _ in 0..2 {
                app.chat("openai/text").key(&token).send().await.expect_status(200);
            }
            let usage = app.receipts(2).await;
            assert_eq!(
                (&usage[0]["user_path"], &usage[0]["subject"]),
                (&json!("/staff/a@example.com"), &json!("alice"))
            );
            assert_eq!(usage[0]["auth_key_id"], usage[1]["auth_key_id"]);
            assert!(usage[0]["auth_key_id"].as_str().unwrap().starts_with("token_"));
            let log = app.get("/admin/api/v1/audit/log").send().await.expect_status(200);
            let entry = log.json()["entries"][0].clone();
            assert_eq!((&entry["auth_method"], &entry["subject"]), (&json!("token"), &json!("alice")));
            assert!(!log.text().contains(&token), "the token is not recorded");
            assert_eq!(
                issuer.requests().len() - before,
                2,
                "discovery and keys once: {:?}",
                issuer.requests()
            );
            assert_eq!(app.get("/v1/models").key(&token).send().await.status, 200);
            let admin = app.get("/admin/api/v1/providers").key(&token).refusal().await;
            assert_eq!(admin.1, "insufficient_scope");
            let missing = app.chat("openai/text").key(&issuer.token("bob", now(&app))).refusal().await;
            assert_eq!((missing.0, &*missing.1), (401, "invalid_api_key"), "the rules need an email");
        },
    )
    .await;
}

#[tokio::test]
async fn other_tokens_are_refused() {
    let (issuer, stranger) = (TestIssuer::start(), TestIssuer::start());
    app::each_with(
        || issuer.settings(json!({})),
        async |app| {
            let at = now(&app);
            let with = |changes: Value| {
                let mut claims = issuer.claims("alice", at);
                for (name, value) in changes.as_object().unwrap() {
                    claims[name] = value.clone();
                }
                issuer.sign(&claims)
            };
            app.chat("openai/text").key(&with(json!({}))).send().await.expect_status(200);
            let mut forged = stranger.claims("alice", at);
            forged["iss"] = json!(issuer.url);
            let good = with(json!({}));
            for (about, token) in [
                ("a stranger's key", stranger.sign(&forged)),
                ("an unknown issuer", stranger.token("alice", at)),
                ("another audience", with(json!({"aud": "other"}))),
                ("no audience", with(json!({"aud": []}))),
                ("expired", with(json!({"exp": at - 61}))),
                ("not yet valid", with(json!({"nbf": at + 120}))),
                ("no subject", with(json!({"sub": ""}))),
                ("a cut token", good[..good.len() - 8].to_owned()),
                ("no signature", format!("{}.", good.rsplit_once('.').unwrap().0)),
            ] {
                let refused = app.chat("openai/text").key(&token).refusal().await;
                assert_eq!((refused.0, &*refused.1), (401, "invalid_api_key"), "{about}");
            }
            app.clock.advance(Duration::from_secs(661));
            assert_eq!(
                app.chat("openai/text").key(&good).send().await.status,
                401,
                "verified before, expired now"
            );
        },
    )
    .await;
    app::each(async |app| {
        let token = issuer.token("alice", now(&app));
        assert_eq!(app.chat("openai/text").key(&token).send().await.status, 401, "no issuer is configured");
    })
    .await;
}

#[tokio::test]
async fn a_new_key_of_the_issuer_is_learnt() {
    let issuer = TestIssuer::start();
    app::each_with(
        || issuer.settings(json!({})),
        async |app| {
            issuer.rotate("first");
            let old = issuer.token("alice", now(&app));
            app.chat("openai/text").key(&old).send().await.expect_status(200);
            issuer.rotate("second");
            let token = issuer.token("alice", now(&app));
            let before = issuer.requests().len();
            assert_eq!(app.chat("openai/text").key(&token).send().await.status, 401, "asked just before");
            assert_eq!(issuer.requests().len(), before);
            app.clock.pass(Duration::from_secs(11));
            app.chat("openai/text").key(&token).send().await.expect_status(200);
            assert_eq!(app.chat("openai/text").key(&old).send().await.status, 401, "its key was withdrawn");
        },
    )
    .await;
}

#[tokio::test]
async fn limits_and_models_come_from_the_rules() {
    let issuer = TestIssuer::start();
    let rules = json!({"rate_limits": {"requests_per_minute": 1}, "allowed_models": ["openai/text"]});
    app::each_with(
        || issuer.settings(rules.clone()),
        async |app| {
            let (alice, bob) = (issuer.token("alice", now(&app)), issuer.token("bob", now(&app)));
            app.chat("openai/text").key(&alice).send().await.expect_status(200);
            // Another token of the same subject counts against the same limit.
            let again = issuer.token("alice", now(&app) + 1);
            assert_eq!(app.chat("openai/text").key(&again).refusal().await.1, "rate_limit_exceeded");
            assert_eq!(app.chat("openai/long").key(&bob).refusal().await.1, "key_model_access_denied");
        },
    )
    .await;
}

#[tokio::test]
async fn revoked_tokens_are_refused_at_once() {
    let issuer = TestIssuer::start();
    app::each_with(
        || issuer.settings(json!({})),
        async |app| {
            let with_id = |subject: &str, jti: &str| {
                let mut claims = issuer.claims(subject, now(&app));
                claims["jti"] = json!(jti);
                issuer.sign(&claims)
            };
            let status =
                async |app: &TestApp, token: &str| app.get("/v1/models").key(token).send().await.status;
            let (first, second) = (with_id("alice", "j1"), with_id("alice", "j2"));
            let bob = with_id("bob", "j3");
            let neighbour = app.neighbour().await;
            assert_eq!((status(&app, &first).await, status(&neighbour, &first).await), (200, 200));
            app.post(REVOKE, json!({"jti": "j1"})).send().await.expect_status(200);
            assert_eq!((status(&app, &first).await, status(&app, &second).await), (401, 200));
            neighbour.refresher.refresh_sessions().await.unwrap();
            assert_eq!(status(&neighbour, &first).await, 401);
            let answer = app
                .post(REVOKE, json!({"subject": "alice", "issuer": issuer.url}))
                .send()
                .await
                .expect_status(200);
            assert_eq!(
                (&answer.json()["revoked_by"], &answer.json()["value"]),
                (&json!("subject"), &json!("alice"))
            );
            assert_eq!((status(&app, &second).await, status(&app, &bob).await), (401, 200));
            app.clock.advance(Duration::from_secs(10));
            assert_eq!(status(&app, &issuer.token("alice", now(&app) + 5)).await, 200, "issued later");
            app.post(REVOKE, json!({"issuer": issuer.url})).send().await.expect_status(200);
            assert_eq!(status(&app, &bob).await, 401);
            assert_eq!(status(&app.restart().await, &bob).await, 401, "stored");
            for body in [
                json!({}),
                json!({"jti": "a", "subject": "b"}),
                json!({"issuer": "https://unknown.example"}),
                json!({"sub": "x"}),
                json!({"jti": "a", "expires_at": now(&app) - 3600}),
                json!({"jti": "a", "expires_at": -1}),
            ] {
                let status = neighbour.post(REVOKE, body.clone()).send().await.status;
                assert_eq!(status, 400, "{body}");
            }
        },
    )
    .await;
}

#[tokio::test]
async fn a_token_of_an_unknown_tenant_is_refused() {
    let issuer = TestIssuer::start();
    app::each_with(
        || issuer.settings(json!({"claims": {"tenant_id": "{org}"}})),
        async |app| {
            let mut claims = issuer.claims("alice", now(&app));
            claims["org"] = json!("acme");
            let token = issuer.sign(&claims);
            let refused = app.chat("openai/text").key(&token).refusal().await;
            assert_eq!((refused.0, &*refused.1), (403, "tenant_suspended"));
            app.post("/admin/api/v1/tenants", json!({"slug": "acme"})).send().await.expect_status(201);
            app.chat("openai/text").key(&token).send().await.expect_status(200);
        },
    )
    .await;
}
