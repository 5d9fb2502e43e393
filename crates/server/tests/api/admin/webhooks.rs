//! `/admin/api/v1/webhooks` and the events of the configured receiver.

use std::time::Duration;

use domain::secret::Secret;
use pipeline::gateway::webhook_events;
use pipeline::services::webhooks::{ConfiguredReceiver, WebhookEvent};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::budgets::webhooks::Receiver;
use crate::app::{self, TestApp, TestSettings};

const DELIVERIES: &str = "/admin/api/v1/webhooks/deliveries";
const SECRET: &str = "whsec_0123456789abcdef";

/// Runs a test with a receiver that answers with the given statuses, then with 200.
async fn each(events: &[WebhookEvent], statuses: &[u16], test: impl AsyncFn(&TestApp, &Receiver)) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/hook?token=very-secret", listener.local_addr().unwrap());
    let settings = || TestSettings {
        webhooks: Some(ConfiguredReceiver {
            url: Secret::new(url.clone()),
            secret: Secret::new(SECRET),
            events: events.to_vec(),
        }),
        ..TestSettings::with_identity()
    };
    app::each_with(settings, async |app| {
        let listener = TcpListener::from_std(listener.try_clone().unwrap()).unwrap();
        let receiver = Receiver::on(listener, &app, statuses);
        test(&app, &receiver).await;
    })
    .await;
}

async fn report(app: &TestApp, since: i64) {
    let webhooks = app.refresher.webhooks();
    let store = app.refresher.store();
    webhook_events::report_changes(&app.gateway, store, &webhooks, since).await.unwrap();
    webhook_events::report_expiring_keys(&app.gateway, store, &webhooks).await.unwrap();
    webhooks.deliver().await.unwrap();
}

#[tokio::test]
async fn changes_and_keys_are_reported_once() {
    each(WebhookEvent::ALL, &[], async |app, receiver| {
        let since = app.gateway.snapshot().revision;
        let (id, raw) = app.key(json!({"name": "ci", "expiry": "2099-01-01T00:00:00Z"})).await;
        app.post(format!("/admin/api/v1/auth-keys/{id}/deactivate"), json!({}))
            .send()
            .await
            .expect_status(200);
        report(app, since).await;
        // The same again, as another replica does.
        report(app, since).await;
        let received = receiver.received();
        let events: Vec<&str> = received.iter().map(|request| request.header("x-gatehouse-event")).collect();
        assert_eq!(events, ["config.changed", "key.created", "config.changed", "key.revoked"]);
        let created = received[1].json();
        assert_eq!((&created["data"]["id"], &created["data"]["name"]), (&json!(id), &json!("ci")));
        assert_eq!(created["data"]["expires_at"], "2099-01-01T00:00:00.000Z");
        let changed = received[0].json();
        assert_eq!(
            (&changed["data"]["kind"], &changed["data"]["action"]),
            (&json!("auth_key"), &json!("create"))
        );
        for request in &received {
            assert!(!request.body.contains(&raw) && !request.body.contains("digest"), "{}", request.body);
            let signature = request.header("x-gatehouse-signature");
            let seconds = signature.strip_prefix("t=").unwrap().split(',').next().unwrap().parse().unwrap();
            let expected = pipeline::services::webhooks::sign(&Secret::new(SECRET), seconds, &request.body);
            assert_eq!(signature, expected);
        }
    })
    .await;
}

#[tokio::test]
async fn expiring_keys_and_failed_logins_are_reported() {
    each(&[WebhookEvent::KeyExpiring, WebhookEvent::LoginFailed], &[], async |app, receiver| {
        let soon = app.gateway.clock.now().micros() + 3 * 24 * 3600 * 1_000_000;
        let expiry = pipeline::services::webhooks::time(domain::clock::Timestamp(soon));
        let since = app.gateway.snapshot().revision;
        let (id, _) = app.key(json!({"name": "soon", "expiry": expiry})).await;
        app.key(json!({"name": "later", "expiry": "2099-01-01T00:00:00Z"})).await;
        report(app, since).await;
        report(app, since).await;
        assert_eq!(app.login("a@example.com", "a wrong password").await.status, 401);
        let storing = webhook_events::keep_storing_events(app.gateway.clone(), app.refresher.webhooks());
        let storing = app.gateway.tasks.spawn(storing);
        for _ in 0..500 {
            app.refresher.webhooks().deliver().await.unwrap();
            if receiver.received().len() == 2 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        storing.abort();
        let received = receiver.received();
        let events: Vec<Value> = received.iter().map(|request| request.json()["event"].clone()).collect();
        assert_eq!(events, ["key.expiring", "login.failed"]);
        assert_eq!(received[0].json()["data"]["id"], id);
        let data = &received[1].json()["data"];
        assert_eq!((&data["reason"], &data["email"]), (&json!("wrong_password"), &json!("a@example.com")));
    })
    .await;
}

#[tokio::test]
async fn deliveries_are_listed_and_replayed() {
    each(&[WebhookEvent::ConfigChanged], &[410], async |app, receiver| {
        let since = app.gateway.snapshot().revision;
        app.key(json!({"name": "one"})).await;
        app.key(json!({"name": "two"})).await;
        report(app, since).await;
        let list = app.get(DELIVERIES).send().await.expect_status(200);
        assert!(!list.text().contains("very-secret"), "{}", list.text());
        let entries = list.json()["entries"].clone();
        let statuses: Vec<&Value> =
            entries.as_array().unwrap().iter().map(|entry| &entry["status"]).collect();
        assert_eq!(statuses, ["delivered", "failed"], "newest first");
        let failed = entries[1]["id"].as_str().unwrap();
        let page = app.get(format!("{DELIVERIES}?limit=1")).send().await.expect_status(200).json();
        assert_eq!(page["next"], page["entries"][0]["id"]);
        let next = page["next"].as_str().unwrap();
        let page =
            app.get(format!("{DELIVERIES}?limit=1&before={next}")).send().await.expect_status(200).json();
        assert_eq!(page["entries"][0]["id"], failed);

        let replay =
            app.post(format!("{DELIVERIES}/{failed}/replay"), json!({})).send().await.expect_status(202);
        assert_eq!((&replay.json()["status"], &replay.json()["attempts"]), (&json!("pending"), &json!(0)));
        let again = app.post(format!("{DELIVERIES}/{failed}/replay"), json!({})).refusal().await;
        assert_eq!((again.0, &*again.1), (409, "conflict"));
        app.refresher.webhooks().deliver().await.unwrap();
        assert_eq!(receiver.received().len(), 3);
        assert_eq!(receiver.received()[2].header("x-gatehouse-delivery"), failed);
        let unknown = app.post(format!("{DELIVERIES}/evt_no/replay"), json!({})).refusal().await;
        assert_eq!((unknown.0, &*unknown.1), (404, "not_found"));
        let bad = app.get(format!("{DELIVERIES}?limit=0")).refusal().await;
        assert_eq!((bad.0, bad.2.as_deref()), (400, Some("limit")));
    })
    .await;
}

#[tokio::test]
async fn a_test_message_reports_the_answer() {
    each(&[WebhookEvent::KeyCreated], &[500], async |app, receiver| {
        let test = async || {
            app.post("/admin/api/v1/webhooks/test", json!({})).send().await.expect_status(200).json()
        };
        let failed = test().await;
        assert_eq!((&failed["ok"], &failed["error"]), (&json!(false), &json!("the receiver answered 500")));
        let passed = test().await;
        assert_eq!((&passed["ok"], &passed["error"]), (&json!(true), &Value::Null));
        assert_eq!(receiver.received()[1].json()["event"], "webhook.test");
        assert_eq!(receiver.received()[1].header("x-gatehouse-delivery"), passed["id"]);
        let list = app.get(DELIVERIES).send().await.expect_status(200).json();
        assert_eq!(list["entries"], json!([]), "a test is not stored");
    })
    .await;
    app::each(async |app| {
        let refused = app.post("/admin/api/v1/webhooks/test", json!({})).refusal().await;
        assert_eq!((refused.0, &*refused.1), (409, "conflict"));
    })
    .await;
}
