//! Tests of budget thresholds: reported once, on the console and by a signed webhook that is retried until it succeeds.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::secret::Secret;
use pipeline::budgets::alerts;
use pipeline::services::webhooks::{WebhookEvent, Webhooks};
use serde_json::{Value, json};
use store::StoreError;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::tight::answering;
use super::{BUDGETS, set};
use crate::app::{self, TestApp, TestSettings, question};

/// Sends the alerts that are due.
async fn send_alerts(app: &TestApp, webhooks: &Webhooks) -> Result<(), StoreError> {
    let gateway = &app.gateway;
    alerts::send(&gateway.budgets, &*gateway.clock, &gateway.console, webhooks).await
}

/// A webhook receiver that answers with the given statuses, then with 200.
pub struct Receiver {
    url: String,
    received: Arc<Mutex<Vec<ReceivedRequests>>>,
    statuses: Arc<Mutex<Vec<u16>>>,
}

#[derive(Clone)]
pub struct ReceivedRequests {
    pub head: String,
    pub body: String,
}

impl ReceivedRequests {
    pub fn header(&self, name: &str) -> &str {
        let find = |line: &str| line.to_ascii_lowercase().starts_with(&format!("{name}:"));
        let line =
            self.head.lines().find(|line| find(line)).unwrap_or_else(|| panic!("{name}: {}", self.head));
        line.split_once(':').unwrap().1.trim()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

impl Receiver {
    async fn start(app: &TestApp, statuses: &[u16]) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), app, statuses)
    }

    pub fn on(listener: TcpListener, app: &TestApp, statuses: &[u16]) -> Self {
        let url = format!("http://{}/hook?token=very-secret", listener.local_addr().unwrap());
        let (received, statuses) = (Arc::default(), Arc::new(Mutex::new(statuses.to_vec())));
        let receiver = Self { url, received: Arc::clone(&received), statuses: Arc::clone(&statuses) };
        app.gateway.tasks.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                answer(socket, &received, &statuses).await;
            }
        });
        receiver
    }

    pub fn received(&self) -> Vec<ReceivedRequests> {
        self.received.lock().unwrap().clone()
    }
}

async fn answer(mut socket: TcpStream, received: &Mutex<Vec<ReceivedRequests>>, statuses: &Mutex<Vec<u16>>) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let heard_now = ReceivedRequests { head: head.to_owned(), body: body.to_owned() };
            if body.len() >= heard_now.header("content-length").parse::<usize>().unwrap() {
                received.lock().unwrap().push(heard_now);
                break;
            }
        }
        if socket.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let status = {
        Some(statuses.lock().unwrap()).filter(|list| !list.is_empty()).map_or(200, |mut list| list.remove(0))
    };
    let reply = format!(
        "HTTP/1.1 {status} X\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    _ = socket.write_all(reply.as_bytes()).await;
}

fn settings() -> TestSettings {
    TestSettings { loopback_listener: true, ..TestSettings::enterprise() }
}

fn sender(app: &TestApp) -> Webhooks {
    app.refresher.webhooks()
}

/// Configures the webhook and returns its generated secret.
async fn hook(app: &TestApp, receiver: &Receiver) -> Secret {
    let body = json!({"webhook_url": receiver.url, "thresholds": [0.5, 1.0]});
    let answer = app.put(format!("{BUDGETS}/settings"), body).send().await.expect_status(200).json();
    Secret::new(answer["webhook_secret"].as_str().unwrap())
}

/// Makes a call and sets the budget so that the call is exactly `share` of it.
async fn spend(app: &TestApp, share: f64) -> f64 {
    set(app, "/team", "monthly", 100.0).await;
    app.chat("openai/gpt-4o").header("x-gateway-user-path", "/team/a").send().await.expect_status(200);
    let spent = super::budget(app, "/team").await["spent"].as_f64().unwrap();
    set(app, "/team", "monthly", spent / share).await;
    spent
}

#[tokio::test]
async fn a_crossed_threshold_sends_one_signed_webhook() {
    app::each_with(settings, async |app| {
        let receiver = Receiver::start(&app, &[]).await;
        let secret = hook(&app, &receiver).await;
        let spent = spend(&app, 0.6).await;
        let webhooks = sender(&app);
        send_alerts(&app, &webhooks).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 1);

        let received = receiver.received().remove(0);
        assert!(received.head.starts_with("POST /hook?token=very-secret HTTP/1.1"), "{}", received.head);
        let message = received.json();
        assert_eq!(
            (received.header("x-gatehouse-event"), &message["event"]),
            ("budget.threshold", &json!("budget.threshold"))
        );
        assert_eq!(message["id"], received.header("x-gatehouse-delivery"));
        let signature = received.header("x-gatehouse-signature");
        let seconds = signature.strip_prefix("t=").unwrap().split(',').next().unwrap().parse().unwrap();
        assert_eq!(signature, pipeline::services::webhooks::sign(&secret, seconds, &received.body));
        let data = &message["data"];
        assert_eq!(
            (&data["user_path"], &data["period_label"], &data["threshold"]),
            (&json!("/team"), &json!("monthly"), &json!(0.5))
        );
        let ratio = data["usage_ratio"].as_f64().unwrap();
        assert!((ratio - 0.6).abs() < 1e-6 && data["spent"] == spent, "{data}");

        // The same again, from a replica and after a restart.
        let other = app.neighbour().await;
        send_alerts(&other, &sender(&other)).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 0);
        let recent =
            app.get("/admin/api/v1/console/recent?event=budget").send().await.expect_status(200).json();
        assert_eq!(recent["events"].as_array().unwrap().len(), 1, "{recent}");
        assert_eq!(
            (&recent["events"][0]["user_path"], &recent["events"][0]["threshold"]),
            (&json!("/team"), &json!(0.5))
        );
    })
    .await;
}

#[tokio::test]
async fn a_refusal_below_a_threshold_sends_an_alert() {
    app::each_with(settings, async |app| {
        let receiver = Receiver::start(&app, &[]).await;
        hook(&app, &receiver).await;
        let webhooks = sender(&app);
        app.upstream.push(answering(10_000));
        spend(&app, 0.46).await;
        send_alerts(&app, &webhooks).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 0);
        let mut large = question("openai/gpt-4o");
        large["max_tokens"] = json!(16_000);
        let call = app.post("/v1/chat/completions", large).header("x-gateway-user-path", "/team/a");
        assert_eq!(call.send().await.refusal().1, "budget_exceeded");
        send_alerts(&app, &webhooks).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 2);
        let thresholds: Vec<_> =
            receiver.received().iter().map(|received| received.json()["data"]["threshold"].clone()).collect();
        assert_eq!(thresholds, [json!(0.5), json!(1.0)]);
    })
    .await;
}

#[tokio::test]
async fn a_webhook_is_retried_until_it_is_accepted() {
    app::each_with(settings, async |app| {
        let receiver = Receiver::start(&app, &[500, 302, 200]).await;
        hook(&app, &receiver).await;
        spend(&app, 2.0).await;
        let webhooks = sender(&app);
        send_alerts(&app, &webhooks).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 2, "both thresholds");
        assert_eq!(webhooks.deliver().await.unwrap(), 0, "not at once");
        app.clock.advance(Duration::from_secs(2));
        assert_eq!(webhooks.deliver().await.unwrap(), 2, "a redirect is no success, and not followed");
        app.clock.advance(Duration::from_secs(3600));
        assert_eq!(webhooks.deliver().await.unwrap(), 0);
        let mut ids: Vec<String> = receiver
            .received()
            .iter()
            .map(|received| received.header("x-gatehouse-delivery").to_owned())
            .collect();
        assert_eq!(ids.len(), 4);
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 2, "the id is the message's, not the attempt's");
    })
    .await;
}

#[tokio::test]
async fn removed_and_failing_receivers_are_given_up() {
    app::each_with(settings, async |app| {
        let receiver = Receiver::start(&app, &[410]).await;
        hook(&app, &receiver).await;
        let webhooks = sender(&app);
        webhooks
            .send(WebhookEvent::BudgetThreshold, app.gateway.clock.now(), &json!({"a": 1}))
            .await
            .unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 1);
        app.clock.advance(Duration::from_secs(7200));
        assert_eq!(webhooks.deliver().await.unwrap(), 0);
        assert_eq!(receiver.received()[0].json()["data"], json!({"a": 1}));

        *receiver.statuses.lock().unwrap() = vec![503; 100];
        webhooks.send(WebhookEvent::BudgetThreshold, app.gateway.clock.now(), &json!({})).await.unwrap();
        let mut attempts = 0;
        for _ in 0..40 {
            attempts += webhooks.deliver().await.unwrap();
            app.clock.advance(Duration::from_secs(3600));
        }
        assert_eq!(attempts, 24, "hourly, for a day");
    })
    .await;
}

#[tokio::test]
async fn a_removed_receiver_gets_no_more_webhooks() {
    app::each_with(settings, async |app| {
        let receiver = Receiver::start(&app, &[503]).await;
        hook(&app, &receiver).await;
        let webhooks = sender(&app);
        webhooks.send(WebhookEvent::BudgetThreshold, app.gateway.clock.now(), &json!({})).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 1);
        let other = Receiver::start(&app, &[503]).await;
        hook_again(&app, json!(other.url)).await;
        app.clock.advance(Duration::from_secs(7200));
        assert_eq!(webhooks.deliver().await.unwrap(), 1);
        hook_again(&app, Value::Null).await;
        app.clock.advance(Duration::from_secs(7200));
        assert_eq!(webhooks.deliver().await.unwrap(), 1);
        assert_eq!((receiver.received().len(), other.received().len()), (1, 1), "given up");
        assert_eq!(webhooks.deliver().await.unwrap(), 0);
    })
    .await;
}

async fn hook_again(app: &TestApp, url: Value) {
    let body = json!({"webhook_url": url});
    app.put(format!("{BUDGETS}/settings"), body).send().await.expect_status(200);
}

#[tokio::test]
async fn a_webhook_may_not_point_inside() {
    app::each_with(TestSettings::enterprise, async |app| {
        let plain = json!({"webhook_url": "http://hooks.example.com/x"});
        let refused = app.put(format!("{BUDGETS}/settings"), plain).refusal().await;
        assert_eq!(refused, (400, "invalid_parameter".into(), Some("webhook_url".into())));
        let receiver = Receiver::start(&app, &[]).await;
        let body = json!({"webhook_url": receiver.url});
        let refused = app.put(format!("{BUDGETS}/settings"), body).refusal().await;
        assert_eq!(refused, (400, "invalid_parameter".into(), Some("webhook_url".into())));
        // A name is judged when it is dialled.
        let port = receiver.url.split(':').nth(2).unwrap().split('/').next().unwrap().to_owned();
        let body = json!({"webhook_url": format!("https://localhost:{port}/hook")});
        app.put(format!("{BUDGETS}/settings"), body).send().await.expect_status(200);
        let webhooks = sender(&app);
        webhooks.send(WebhookEvent::BudgetThreshold, app.gateway.clock.now(), &json!({})).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 1);
        assert!(receiver.received().is_empty());
    })
    .await;
}
