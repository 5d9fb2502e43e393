//! Tests of a provider that rejects the gateway's credential: response, audit log, process log and health.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{combo, each, served};
use crate::app::{CapturedLog, TestApp, TestSettings};

fn audited() -> TestSettings {
    let mut settings = TestSettings::default();
    settings.policy.audit.enabled = true;
    settings
}

async fn attempts(app: &TestApp, request: &str) -> Vec<(String, u64, String)> {
    app.drain().await.unwrap();
    let log = app.get(format!("/admin/api/v1/audit/log?search={request}")).send().await.json();
    let attempts = log["entries"][0]["attempts"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    attempts
        .iter()
        .map(|tried| {
            (text(&tried["provider_name"]), tried["status"].as_u64().unwrap(), text(&tried["error"]))
        })
        .collect()
}

#[tokio::test]
async fn the_providers_reason_and_status_are_kept() {
    each(audited, serde_json::json!({}), async |app| {
        for (model, status, reason) in [
            ("unauthorized", 401, "(status 401): Incorrect API key provided: ***."),
            ("error-403", 403, "(status 403): The request was refused by the script."),
        ] {
            let answer = app.chat(&format!("one/{model}")).header("x-request-id", model).send().await;
            assert_eq!(answer.refusal().1, "upstream_auth_failed");
            let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.ends_with(reason), "{message}");
            let expected = vec![("one".to_owned(), status, "upstream_auth_failed".to_owned())];
            assert_eq!(attempts(&app, model).await, expected);
        }
        // Siblings: a status that the client is answered differently.
        app.chat("one/error-529").header("x-request-id", "busy").send().await.expect_status(503);
        assert!(attempts(&app, "busy").await.iter().all(|tried| tried.1 == 529));
    })
    .await;
}

#[tokio::test]
async fn a_revoked_account_is_logged_and_counted_although_another_serves() {
    each(audited, serde_json::json!({}), async |app| {
        combo(&app, "best", &["one/unauthorized", "two/text"]).await;
        let log = CapturedLog::start();
        let answer = app.chat("best").header("x-request-id", "revoked").send().await;
        assert_eq!(served(&answer), (200, "two/text", "2"));
        let warnings =
            log.lines_with(&["WARN provider rejected the gateway's credential", "request_id=\"revoked\""]);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        for part in
            ["provider=\"one\"", "model=\"unauthorized\"", "status=401", "Incorrect API key provided: ***"]
        {
            assert!(warnings[0].contains(part), "{warnings:?}");
        }
        let status = app.get("/admin/api/v1/providers/status").send().await.json();
        let one = status.as_array().unwrap().iter().find(|provider| provider["name"] == "one").unwrap();
        assert_eq!(one["models"][0]["breaker"], "closed", "{one:#}");
        assert!(one["models"][0]["error_rate"].as_f64().unwrap() > 0.0, "{one:#}");
        assert_eq!(one["models"][0]["last_error"], "upstream_auth_failed");
        let tried = attempts(&app, "revoked").await;
        assert_eq!((tried[0].1, tried[1].1), (401, 200));
    })
    .await;
}

#[tokio::test]
async fn passthrough_logs_a_rejected_credential() {
    each(TestSettings::default, serde_json::json!({}), async |app| {
        let log = CapturedLog::start();
        let body = crate::app::question("unauthorized");
        app.post("/p/one/chat/completions", body).send().await.expect_status(401);
        let warnings = log.lines_with(&[
            "WARN provider rejected the gateway's credential",
            "provider=\"one\"",
            "status=401",
        ]);
        assert_eq!(warnings.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn testing_a_provider_reports_the_reason_without_the_key() {
    each(TestSettings::default, serde_json::json!({}), async |app| {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        app.gateway.tasks.spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut head = [0; 4096];
                let _ = socket.read(&mut head).await;
                let body = r#"{"error":{"message":"The key 'own-secret-123456' was revoked."}}"#;
                let head = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close";
                let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                let _ = socket.write_all(answer.as_bytes()).await;
            }
        });
        let body = serde_json::json!({
            "name": "revoked", "type": "openai_compatible", "base_url": format!("http://{address}/v1"),
            "api_key": "own-secret-123456", "models": ["m"],
        });
        app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
        let tried = app.post("/admin/api/v1/providers/revoked/test", serde_json::json!({})).send().await.json();
        let expected = "The provider 'revoked' rejected the gateway's credential (status 401): The key '***' was revoked.";
        assert_eq!((&tried["ok"], &tried["error"]), (&false.into(), &expected.into()));
    })
    .await;
}
