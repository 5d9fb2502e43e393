//! `/admin/api/v1/console`.

use std::time::Duration;

use axum::body::Body;
use domain::clock::Timestamp;
use domain::receipt::Receipt;
use http_body_util::BodyExt as _;
use pipeline::policy::Policy;
use pipeline::services::console::{CAPACITY, Notice};
use serde_json::{Value, json};

use crate::app::{self, Call, Line, TestApp, TestSettings};

const RECENT: &str = "/admin/api/v1/console/recent";
const STREAM: &str = "/admin/api/v1/console/stream";
const A_CENTURY: Duration = Duration::from_secs(3600 * 24 * 365 * 100);

async fn recent(app: &TestApp, query: &str) -> Value {
    app.get(format!("{RECENT}?{query}")).send().await.expect_status(200).json()
}

fn ids(shown: &Value) -> Vec<u64> {
    shown["events"].as_array().unwrap().iter().map(|event| event["id"].as_u64().unwrap()).collect()
}

/// Publishes `count` events of calls that were never made.
fn settle(app: &TestApp, count: usize) {
    (0..count).for_each(|_| app.gateway.console.settled(&Receipt::default()));
}

/// A client of the stream that reads only on demand.
struct Viewer {
    body: Body,
    received: String,
}

impl Viewer {
    async fn open(call: Call<'_>) -> Self {
        let response = call.open().await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-cache");
        let mut viewer = Self { body: response.into_body(), received: String::new() };
        assert_eq!(viewer.block().await.as_deref(), Some(": open"));
        viewer
    }

    /// The next block, comments included; `None` at the end.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.received.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.received = rest;
                return Some(block);
            }
            let frame = tokio::time::timeout(Duration::from_secs(10), self.body.frame()).await;
            let frame = frame.unwrap_or_else(|_| panic!("the console is silent"))?.unwrap();
            self.received.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    }

    /// The next event: its name, id and data.
    async fn event(&mut self) -> (String, u64, Value) {
        loop {
            let block = self.block().await.unwrap_or_else(|| panic!("the stream has ended"));
            if block.starts_with(':') {
                continue;
            }
            let lines: Vec<&str> = block.lines().collect();
            let [name, id, data] = lines[..] else { panic!("not an event: {block:?}") };
            let name = name.strip_prefix("event: ").unwrap().to_owned();
            let data = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            return (name, id.strip_prefix("id: ").unwrap().parse().unwrap(), data);
        }
    }

    /// Asserts that nothing but comments is left.
    async fn expect_end(&mut self) {
        while let Some(block) = self.block().await {
            assert!(block.starts_with(':'), "{block}");
        }
    }
}

#[tokio::test]
async fn a_call_is_listed_and_streamed() {
    app::each(async |app| {
        let mut viewer = Viewer::open(app.get(STREAM)).await;
        let (id, key) = app.key(json!({"name": "a", "user_path": "/team"})).await;
        app.chat("openai/gpt-4o").key(&key).header("x-request-id", "mine-1").send().await.expect_status(200);
        app.stream("error-500").send().await;
        let answer = app.get(RECENT).send().await.expect_status(200);
        for hidden in ["How are you", &key, app::MASTER, app::UPSTREAM_KEY, "192.0.2.7"] {
            assert!(!answer.text().contains(hidden), "{hidden} in {}", answer.text());
        }
        let mut shown = answer.json();
        assert_eq!(
            (ids(&shown), &shown["last_id"], &shown["dropped"]),
            (vec![1, 2, 3], &json!(3), &json!(0))
        );
        for expected in shown["events"].as_array().unwrap() {
            let (name, id, data) = viewer.event().await;
            assert_eq!((&json!(name), &json!(id), &data), (&expected["event"], &expected["id"], expected));
        }
        assert_eq!(shown["events"][1]["request_id"], "mine-1");
        assert_eq!(shown["events"][1]["auth_key_id"], json!(id));
        for event in shown["events"].as_array_mut().unwrap() {
            for varying in ["duration_ms", "ttft_ms", "overhead_us"] {
                if let Some(figure) = event.get_mut(varying) {
                    assert!(figure.take().is_u64(), "{varying}");
                }
            }
            if event["event"] == "config" {
                event["name"].take();
            }
        }
        app::check_snapshot("console recent", &app::pretty(shown));
    })
    .await;
}

#[tokio::test]
async fn it_needs_no_accounts() {
    let policy = || Policy { accounting: false, ..Policy::default() };
    app::each_with(
        || TestSettings { policy: policy(), ..TestSettings::default() },
        async |app| {
            app.chat("text").send().await.expect_status(200);
            let shown = recent(&app, "").await;
            assert_eq!((&shown["events"][0]["status"], &shown["last_id"]), (&json!(200), &json!(1)));
        },
    )
    .await;
}

#[tokio::test]
async fn recent_is_filtered_and_read_on() {
    app::each(async |app| {
        settle(&app, 3);
        let breaker = Notice::Breaker { provider_name: "a".into(), model: "m".into(), state: "open" };
        app.gateway.console.notice(Timestamp::from_seconds(1), breaker);
        settle(&app, 2);
        for (query, expected, last_id) in [
            ("", vec![1, 2, 3, 4, 5, 6], 6),
            ("limit=2", vec![5, 6], 6),
            ("event=breaker", vec![4], 6),
            ("event=config", vec![], 6),
            ("event=request&limit=1", vec![6], 6),
            ("after=4", vec![5, 6], 6),
            ("after=1&limit=2", vec![2, 3], 3),
            ("after=0&event=request&limit=4", vec![1, 2, 3, 5], 5),
            ("after=6", vec![], 6),
        ] {
            let shown = recent(&app, query).await;
            assert_eq!((ids(&shown), &shown["last_id"]), (expected, &json!(last_id)), "{query}");
            assert_eq!(shown["dropped"], 0, "{query}");
        }
        settle(&app, CAPACITY);
        let shown = recent(&app, "after=4&limit=1").await;
        assert_eq!((ids(&shown), &shown["dropped"], &shown["last_id"]), (vec![7], &json!(2), &json!(7)));
        let shown = recent(&app, "limit=500").await;
        assert_eq!((ids(&shown).len(), &shown["dropped"]), (CAPACITY, &json!(0)));
        assert_eq!(ids(&recent(&app, "").await).len(), 100);
        // An id from before a restart: everything that is there.
        let shown = recent(&app, "after=9999&limit=500").await;
        assert_eq!((ids(&shown).len(), &shown["dropped"]), (CAPACITY, &json!(6)));
    })
    .await;
}

#[tokio::test]
async fn bad_values_are_named() {
    app::each(async |app| {
        for (path, param) in [
            (format!("{RECENT}?limit=0"), "limit"),
            (format!("{RECENT}?limit=501"), "limit"),
            (format!("{RECENT}?after=-1"), "after"),
            (format!("{RECENT}?event=requests"), "event"),
            (format!("{STREAM}?event=dropped"), "event"),
            (format!("{STREAM}?last_event_id=x"), "last_event_id"),
        ] {
            let found = app.get(&path).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{path}");
        }
        for id in ["x", "-1", "1.5", "99999999999999999999999"] {
            let found = app.get(STREAM).header("last-event-id", id).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some("Last-Event-ID".into())), "{id}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_reconnect_resumes_after_the_last_event() {
    app::each(async |app| {
        settle(&app, 5);
        let mut by_header =
            Viewer::open(app.get(format!("{STREAM}?last_event_id=1")).header("last-event-id", "3")).await;
        let mut by_query = Viewer::open(app.get(format!("{STREAM}?last_event_id=3"))).await;
        let mut new = Viewer::open(app.get(STREAM)).await;
        settle(&app, 1);
        for viewer in [&mut by_header, &mut by_query] {
            for expected in [4, 5, 6] {
                assert_eq!(viewer.event().await.1, expected);
            }
        }
        assert_eq!(new.event().await.1, 6);
        let mut from_the_start = Viewer::open(app.get(STREAM).header("last-event-id", "0")).await;
        assert_eq!(from_the_start.event().await.1, 1);
        let mut filtered = Viewer::open(app.get(format!("{STREAM}?event=config&last_event_id=0"))).await;
        app.key(json!({"name": "a"})).await;
        assert_eq!(filtered.event().await.1, 7);
    })
    .await;
}

#[tokio::test]
async fn overwritten_events_are_counted() {
    app::each(async |app| {
        settle(&app, 10);
        let mut slow = Viewer::open(app.get(STREAM).header("last-event-id", "8")).await;
        assert_eq!(slow.event().await.1, 9);
        assert_eq!(slow.event().await.1, 10);
        settle(&app, CAPACITY + 7);
        let (name, id, data) = slow.event().await;
        let told = json!({"event": "dropped", "count": 7, "total": 7, "reason": "overtaken", "next_id": 18});
        assert_eq!((&*name, id, data), ("dropped", 17, told));
        for expected in 18..18 + CAPACITY as u64 {
            let (name, id, _) = slow.event().await;
            assert_eq!((&*name, id), ("request", expected));
        }
        settle(&app, CAPACITY + 1);
        let (name, _, data) = slow.event().await;
        assert_eq!((&*name, &data["count"], &data["total"]), ("dropped", &json!(1), &json!(8)));

        let mut late = Viewer::open(app.get(STREAM).header("last-event-id", "1")).await;
        let last_id = app.gateway.console.last_id();
        let gone = last_id - CAPACITY as u64;
        let (name, id, data) = late.event().await;
        assert_eq!((&*name, id, &data["count"]), ("dropped", gone, &json!(gone - 1)));
        assert_eq!(late.event().await.1, gone + 1);

        let mut of_another_process =
            Viewer::open(app.get(STREAM).header("last-event-id", &(last_id + 1).to_string())).await;
        let (name, _, data) = of_another_process.event().await;
        assert_eq!((&*name, &data["reason"], &data["count"]), ("dropped", &json!("restarted"), &json!(gone)));
        assert_eq!(of_another_process.event().await.1, gone + 1);
    })
    .await;
}

#[tokio::test]
async fn every_replica_reports_configuration_changes() {
    app::each(async |app| {
        let neighbour = app.neighbour().await;
        let mut here = Viewer::open(app.get(STREAM)).await;
        let mut there = Viewer::open(neighbour.get(STREAM)).await;
        let (id, _) = app.key(json!({"name": "a"})).await;
        app.post(format!("/admin/api/v1/auth-keys/{id}/deactivate"), json!({}))
            .send()
            .await
            .expect_status(200);
        neighbour.refresher.refresh().await.unwrap();
        for viewer in [&mut here, &mut there] {
            for (number, action) in [(1, "create"), (2, "update")] {
                let (name, event_id, data) = viewer.event().await;
                assert_eq!((&*name, event_id), ("config", number));
                assert!(data["at"].as_str().unwrap().ends_with('Z'), "{data}");
                let revision = data["revision"].as_i64().unwrap();
                assert!(revision > 0);
                let told = json!({"id": number, "event": "config", "at": data["at"], "actor": "master",
                    "kind": "auth_key", "name": id, "action": action, "revision": revision});
                assert_eq!(data, told);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_key_that_is_revoked_or_expires_hears_no_more() {
    app::each(async |app| {
        let scopes = ["admin:console:read"];
        let (id, revoked) = app.key(json!({"name": "a", "scopes": scopes})).await;
        let body = json!({"name": "b", "scopes": scopes, "expiry": "2100-01-01T00:00:00Z"});
        let (_, expiring) = app.key(body).await;
        let mut first = Viewer::open(app.get(STREAM).key(&revoked)).await;
        let mut second = Viewer::open(app.get(STREAM).key(&expiring)).await;
        app.chat("text").send().await.expect_status(200);
        assert_eq!(first.event().await.0, "request");
        assert_eq!(second.event().await.0, "request");
        app.post(format!("/admin/api/v1/auth-keys/{id}/deactivate"), json!({}))
            .send()
            .await
            .expect_status(200);
        first.expect_end().await;
        assert_eq!(second.event().await.0, "config");
        app.clock.advance(A_CENTURY);
        app.chat("text").send().await.expect_status(200);
        second.expect_end().await;
        assert_eq!(app.get(STREAM).key(&expiring).refusal().await.0, 401);
    })
    .await;
}

#[tokio::test]
async fn silence_is_filled() {
    let policy = || Policy { stream_heartbeat: Duration::from_millis(40), ..Policy::default() };
    app::each_with(
        || TestSettings { policy: policy(), ..TestSettings::default() },
        async |app| {
            let body = json!({"name": "a", "scopes": ["admin:read"], "expiry": "2100-01-01T00:00:00Z"});
            let (_, key) = app.key(body).await;
            let mut viewer = Viewer::open(app.get(format!("{STREAM}?event=config")).key(&key)).await;
            for _ in 0..3 {
                assert_eq!(viewer.block().await.as_deref(), Some(": keep-alive"));
            }
            // What is not for this reader does not keep it company.
            settle(&app, 1);
            assert_eq!(viewer.block().await.as_deref(), Some(": keep-alive"));
            app.clock.advance(A_CENTURY);
            viewer.expect_end().await;
        },
    )
    .await;
}

#[tokio::test]
async fn a_key_with_a_path_sees_its_subtree() {
    app::each(async |app| {
        let body = json!({"name": "a", "scopes": ["inference", "admin:console:read"], "user_path": "/team"});
        let (_, key) = app.key(body).await;
        let mut viewer = Viewer::open(app.get(STREAM).key(&key)).await;
        app.chat("text").header("x-gateway-user-path", "/teams").send().await.expect_status(200);
        app.chat("text").header("x-gateway-user-path", "/team/x").send().await.expect_status(200);
        app.chat("text").anonymous().send().await.expect_status(401);
        app.chat("text").key(&key).send().await.expect_status(200);
        let shown = app.get(RECENT).key(&key).send().await.expect_status(200).json();
        let paths: Vec<&Value> =
            shown["events"].as_array().unwrap().iter().map(|event| &event["user_path"]).collect();
        assert_eq!(paths, ["/team/x", "/team"]);
        for expected in ["/team/x", "/team"] {
            assert_eq!(viewer.event().await.2["user_path"], expected);
        }
        assert_eq!(ids(&recent(&app, "").await), [1, 2, 3, 4, 5]);
    })
    .await;
}

#[tokio::test]
async fn a_stop_does_not_wait_for_open_watches() {
    app::each(async |app| {
        let listening = app.listen().await;
        let mut line = Line::open(listening.address).await;
        line.send(format!(
            "GET {STREAM} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {}\r\n\r\n",
            app::MASTER
        ))
        .await;
        line.read_until(": open").await;
        app.chat("text").send().await.expect_status(200);
        line.read_until("event: request\nid: 1\ndata: {\"id\":1,").await;
        listening.stop.send_replace(true);
        let cut = tokio::time::timeout(Duration::from_secs(2), listening.serving).await;
        assert_eq!(cut.expect("the grace period is longer than this").unwrap(), 0);
        assert!(line.receive_all().await.ends_with("0\r\n\r\n"), "the stream has an end");
    })
    .await;
}
