//! Thresholds: told once, on the console and to the webhook, signed, and again until the receiver has taken it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::resources::provider::Source;
use domain::secret::Secret;
use pipeline::spending::alerts;
use pipeline::webhooks::Webhooks;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::tight::answering;
use super::{BUDGETS, set};
use crate::house::{self, House, Wishes, question};

/// Takes what is posted and answers with the statuses it is given, 200 after that.
struct Receiver {
    url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    statuses: Arc<Mutex<Vec<u16>>>,
}

#[derive(Clone)]
struct Heard {
    head: String,
    body: String,
}

impl Heard {
    fn header(&self, name: &str) -> &str {
        let find = |line: &str| line.to_ascii_lowercase().starts_with(&format!("{name}:"));
        let line =
            self.head.lines().find(|line| find(line)).unwrap_or_else(|| panic!("{name}: {}", self.head));
        line.split_once(':').unwrap().1.trim()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

impl Receiver {
    async fn start(house: &House, statuses: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook?token=very-secret", listener.local_addr().unwrap());
        let (heard, statuses) = (Arc::default(), Arc::new(Mutex::new(statuses.to_vec())));
        let receiver = Self { url, heard: Arc::clone(&heard), statuses: Arc::clone(&statuses) };
        house.gateway.tasks.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                answer(socket, &heard, &statuses).await;
            }
        });
        receiver
    }

    fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }
}

async fn answer(mut socket: TcpStream, heard: &Mutex<Vec<Heard>>, statuses: &Mutex<Vec<u16>>) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let heard_now = Heard { head: head.to_owned(), body: body.to_owned() };
            if body.len() >= heard_now.header("content-length").parse::<usize>().unwrap() {
                heard.lock().unwrap().push(heard_now);
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

fn wishes() -> Wishes {
    Wishes { loopback_listener: true, ..Wishes::enterprise() }
}

fn sender(house: &House) -> Webhooks {
    let gateway = &house.gateway;
    let (clock, entropy) = (gateway.clock.clone(), gateway.entropy.clone());
    let trust = house.refresher.trust(Source::Admin);
    Webhooks::new(house.refresher.store().clone(), gateway.egress.clone(), clock, entropy, trust)
}

/// The secret that was made.
async fn hook(house: &House, receiver: &Receiver) -> Secret {
    let body = json!({"webhook_url": receiver.url, "thresholds": [0.5, 1.0]});
    let answer = house.put(format!("{BUDGETS}/settings"), body).send().await.expect_status(200).json();
    Secret::new(answer["webhook_secret"].as_str().unwrap())
}

/// Spends something and makes that exactly so large a part of the budget.
async fn spend(house: &House, share: f64) -> f64 {
    set(house, "/team", "monthly", 100.0).await;
    house.chat("openai/gpt-4o").header("x-gateway-user-path", "/team/a").send().await.expect_status(200);
    let spent = super::budget(house, "/team").await["spent"].as_f64().unwrap();
    set(house, "/team", "monthly", spent / share).await;
    spent
}

#[tokio::test]
async fn a_crossed_threshold_is_told_signed_and_once() {
    house::each_with(wishes, async |house| {
        let receiver = Receiver::start(&house, &[]).await;
        let secret = hook(&house, &receiver).await;
        let spent = spend(&house, 0.6).await;
        let webhooks = sender(&house);
        alerts::tell(&house.gateway, &webhooks).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 1);

        let heard = receiver.heard().remove(0);
        assert!(heard.head.starts_with("POST /hook?token=very-secret HTTP/1.1"), "{}", heard.head);
        let message = heard.json();
        assert_eq!(
            (heard.header("x-gatehouse-event"), &message["event"]),
            ("budget.threshold", &json!("budget.threshold"))
        );
        assert_eq!(message["id"], heard.header("x-gatehouse-delivery"));
        let signature = heard.header("x-gatehouse-signature");
        let seconds = signature.strip_prefix("t=").unwrap().split(',').next().unwrap().parse().unwrap();
        assert_eq!(signature, pipeline::webhooks::sign(&secret, seconds, &heard.body));
        let data = &message["data"];
        assert_eq!(
            (&data["user_path"], &data["period_label"], &data["threshold"]),
            (&json!("/team"), &json!("monthly"), &json!(0.5))
        );
        let ratio = data["usage_ratio"].as_f64().unwrap();
        assert!((ratio - 0.6).abs() < 1e-6 && data["spent"] == spent, "{data}");

        // The same again, from a replica and after a restart.
        let other = house.neighbour().await;
        alerts::tell(&other.gateway, &sender(&other)).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 0);
        let recent =
            house.get("/admin/api/v1/console/recent?event=budget").send().await.expect_status(200).json();
        assert_eq!(recent["events"].as_array().unwrap().len(), 1, "{recent}");
        assert_eq!(
            (&recent["events"][0]["user_path"], &recent["events"][0]["threshold"]),
            (&json!("/team"), &json!(0.5))
        );
    })
    .await;
}

#[tokio::test]
async fn a_budget_that_refuses_below_a_threshold_is_told() {
    house::each_with(wishes, async |house| {
        let receiver = Receiver::start(&house, &[]).await;
        hook(&house, &receiver).await;
        let webhooks = sender(&house);
        house.upstream.push(answering(10_000));
        spend(&house, 0.46).await;
        alerts::tell(&house.gateway, &webhooks).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 0);
        let mut large = question("openai/gpt-4o");
        large["max_tokens"] = json!(16_000);
        let call = house.post("/v1/chat/completions", large).header("x-gateway-user-path", "/team/a");
        assert_eq!(call.send().await.refusal().1, "budget_exceeded");
        alerts::tell(&house.gateway, &webhooks).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 2);
        let thresholds: Vec<_> =
            receiver.heard().iter().map(|heard| heard.json()["data"]["threshold"].clone()).collect();
        assert_eq!(thresholds, [json!(0.5), json!(1.0)]);
    })
    .await;
}

#[tokio::test]
async fn a_message_is_sent_again_until_it_is_taken() {
    house::each_with(wishes, async |house| {
        let receiver = Receiver::start(&house, &[500, 302, 200]).await;
        hook(&house, &receiver).await;
        spend(&house, 2.0).await;
        let webhooks = sender(&house);
        alerts::tell(&house.gateway, &webhooks).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 2, "both thresholds");
        assert_eq!(webhooks.deliver().await.unwrap(), 0, "not at once");
        house.clock.advance(Duration::from_secs(2));
        assert_eq!(webhooks.deliver().await.unwrap(), 2, "a redirect is no success, and not followed");
        house.clock.advance(Duration::from_secs(3600));
        assert_eq!(webhooks.deliver().await.unwrap(), 0);
        let mut ids: Vec<String> =
            receiver.heard().iter().map(|heard| heard.header("x-gatehouse-delivery").to_owned()).collect();
        assert_eq!(ids.len(), 4);
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 2, "the id is the message's, not the attempt's");
    })
    .await;
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_left_alone_and_so_is_one_that_fails_for_a_day() {
    house::each_with(wishes, async |house| {
        let receiver = Receiver::start(&house, &[410]).await;
        hook(&house, &receiver).await;
        let webhooks = sender(&house);
        webhooks.send("test.event", &json!({"a": 1})).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 1);
        house.clock.advance(Duration::from_secs(7200));
        assert_eq!(webhooks.deliver().await.unwrap(), 0);
        assert_eq!(receiver.heard()[0].json()["data"], json!({"a": 1}));

        *receiver.statuses.lock().unwrap() = vec![503; 100];
        webhooks.send("test.event", &json!({})).await.unwrap();
        let mut attempts = 0;
        for _ in 0..40 {
            attempts += webhooks.deliver().await.unwrap();
            house.clock.advance(Duration::from_secs(3600));
        }
        assert_eq!(attempts, 24, "hourly, for a day");
    })
    .await;
}

#[tokio::test]
async fn a_receiver_that_was_removed_hears_nothing_more() {
    house::each_with(wishes, async |house| {
        let receiver = Receiver::start(&house, &[503]).await;
        hook(&house, &receiver).await;
        let webhooks = sender(&house);
        webhooks.send("test.event", &json!({})).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 1);
        let other = Receiver::start(&house, &[503]).await;
        hook_again(&house, json!(other.url)).await;
        house.clock.advance(Duration::from_secs(7200));
        assert_eq!(webhooks.deliver().await.unwrap(), 1);
        hook_again(&house, Value::Null).await;
        house.clock.advance(Duration::from_secs(7200));
        assert_eq!(webhooks.deliver().await.unwrap(), 1);
        assert_eq!((receiver.heard().len(), other.heard().len()), (1, 1), "given up");
        assert_eq!(webhooks.deliver().await.unwrap(), 0);
    })
    .await;
}

async fn hook_again(house: &House, url: Value) {
    let body = json!({"webhook_url": url});
    house.put(format!("{BUDGETS}/settings"), body).send().await.expect_status(200);
}

#[tokio::test]
async fn a_webhook_may_not_point_inside() {
    house::each_with(Wishes::enterprise, async |house| {
        let plain = json!({"webhook_url": "http://hooks.example.com/x"});
        let refused = house.put(format!("{BUDGETS}/settings"), plain).refusal().await;
        assert_eq!(refused, (400, "invalid_parameter".into(), Some("webhook_url".into())));
        let receiver = Receiver::start(&house, &[]).await;
        let body = json!({"webhook_url": receiver.url});
        let refused = house.put(format!("{BUDGETS}/settings"), body).refusal().await;
        assert_eq!(refused, (400, "invalid_parameter".into(), Some("webhook_url".into())));
        // A name is judged when it is dialled.
        let port = receiver.url.split(':').nth(2).unwrap().split('/').next().unwrap().to_owned();
        let body = json!({"webhook_url": format!("https://localhost:{port}/hook")});
        house.put(format!("{BUDGETS}/settings"), body).send().await.expect_status(200);
        let webhooks = sender(&house);
        webhooks.send("test.event", &json!({})).await.unwrap();
        assert_eq!(webhooks.deliver().await.unwrap(), 1);
        assert!(receiver.heard().is_empty());
    })
    .await;
}
