//! Tests of the live stream: entries as they happen, and replay after a reconnect.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::{STREAM, logging};
use crate::app::{self, Call};

struct Viewer {
    body: Body,
    received: String,
}

impl Viewer {
    async fn open(call: Call<'_>) -> Self {
        let response = call.open().await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (200, &"text/event-stream".parse().unwrap())
        );
        Self { body: response.into_body(), received: String::new() }
    }

    /// The next event: its name, id and data; `None` at the end.
    async fn event(&mut self) -> Option<(String, u64, Value)> {
        loop {
            if let Some((block, rest)) = self.received.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.received = rest;
                if block.starts_with(':') {
                    continue;
                }
                let lines: Vec<&str> = block.lines().collect();
                let [name, id, data] = lines[..] else { panic!("not an event: {block:?}") };
                let data = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
                let id = id.strip_prefix("id: ").unwrap().parse().unwrap();
                return Some((name.strip_prefix("event: ").unwrap().to_owned(), id, data));
            }
            let frame = tokio::time::timeout(Duration::from_secs(10), self.body.frame()).await;
            let frame = frame.unwrap_or_else(|_| panic!("the log is silent"))?.unwrap();
            self.received.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    }
}

#[tokio::test]
async fn entries_are_streamed_and_replayed_after_a_reconnect() {
    app::each_with(logging, async |app| {
        let scopes = json!(["inference", "admin:audit:read"]);
        let (team_id, team) = app.key(json!({"name": "t", "scopes": scopes, "user_path": "/team"})).await;
        let mut viewer = Viewer::open(app.get(STREAM)).await;
        let mut bound = Viewer::open(app.get(STREAM).key(&team)).await;
        app.chat("openai/text").header("x-request-id", "one").send().await.expect_status(200);
        app.chat("openai/text").header("x-request-id", "two").key(&team).send().await.expect_status(200);
        app.chat("openai/text").header("x-request-id", "three").key("nobody").send().await.expect_status(401);
        for (number, request) in [(1, "one"), (2, "two"), (3, "three")] {
            let (name, id, data) = viewer.event().await.unwrap();
            assert_eq!((name.as_str(), id, &data["request_id"]), ("entry", number, &json!(request)));
            assert!(
                data["data"].get("request_body").is_none() && data["data"].get("request_headers").is_none()
            );
        }
        let (_, id, data) = bound.event().await.unwrap();
        assert_eq!((id, &data["request_id"]), (2, &json!("two")), "only what is below its path");
        let mut again = Viewer::open(app.get(STREAM).header("last-event-id", "1")).await;
        assert_eq!(again.event().await.unwrap().1, 2);
        let mut stranger = Viewer::open(app.get(format!("{STREAM}?last_event_id=99"))).await;
        let (name, _, data) = stranger.event().await.unwrap();
        assert_eq!((name.as_str(), &data["reason"]), ("dropped", &json!("restarted")));
        app.post(format!("/admin/api/v1/auth-keys/{team_id}/deactivate"), json!({}))
            .send()
            .await
            .expect_status(200);
        assert!(bound.event().await.is_none(), "a key that is revoked is not told any more");
        app.http_service.app().end_feeds();
        assert!(viewer.event().await.is_none());
    })
    .await;
}

#[tokio::test]
async fn a_stream_has_the_filters_of_the_list() {
    app::each_with(logging, async |app| {
        let (key_id, key) = app.key(json!({"name": "a", "user_path": "/team/app"})).await;
        app.chat("openai/text").header("x-request-id", "plain").send().await.expect_status(200);
        app.chat("openai/error-500").header("x-request-id", "failed").send().await.expect_status(500);
        app.chat("anthropic/text").header("x-request-id", "team").key(&key).send().await.expect_status(200);
        // The last call matches every filter below, so that each stream ends there.
        let last = app.stream("openai/error-500").header("x-request-id", "last").key(&key);
        last.send().await.expect_status(500);
        for (query, expected) in [
            ("", vec!["plain", "failed", "team", "last"]),
            ("status=error", vec!["failed", "last"]),
            ("status_code=500", vec!["failed", "last"]),
            ("requested_model=openai/error-500", vec!["failed", "last"]),
            ("provider=openai", vec!["plain", "failed", "last"]),
            ("user_path=/team", vec!["team", "last"]),
            (&format!("auth_key_id={key_id}"), vec!["team", "last"]),
            ("stream=true", vec!["last"]),
            ("search=LAST", vec!["last"]),
        ] {
            let mut viewer = Viewer::open(app.get(format!("{STREAM}?last_event_id=0&{query}"))).await;
            for request in expected {
                assert_eq!(viewer.event().await.unwrap().2["request_id"], request, "{query}");
            }
        }
        let mut good = Viewer::open(app.get(format!("{STREAM}?last_event_id=0&status=ok"))).await;
        assert_eq!(good.event().await.unwrap().2["request_id"], "plain");
        assert_eq!(good.event().await.unwrap().2["request_id"], "team");
        for (query, param) in [("status=bad", "status"), ("status_code=1", "status_code")] {
            assert_eq!(app.get(format!("{STREAM}?{query}")).refusal().await.2.as_deref(), Some(param));
        }
    })
    .await;
}
