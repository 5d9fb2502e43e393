//! `/admin/api/v1/audit`.

mod captured;
mod conversations;
mod journey;
mod watching;

use std::time::Duration;

use domain::clock::Clock as _;
use serde_json::{Value, json};

use crate::app::{self, TestApp, TestSettings, question};

const LOG: &str = "/admin/api/v1/audit/log";
const EXPORT: &str = "/admin/api/v1/audit/log/export";
const STREAM: &str = "/admin/api/v1/audit/log/stream";
const CONVERSATION: &str = "/admin/api/v1/audit/conversation";

fn logging() -> TestSettings {
    let mut settings = TestSettings::every_dialect();
    settings.policy.audit.enabled = true;
    settings
}

/// The audit log, oldest first, once it has exactly `count` entries.
pub(super) async fn entries(app: &TestApp, count: usize) -> Vec<Value> {
    let deadline = app.clock.tick() + Duration::from_secs(10);
    loop {
        app.drain().await.unwrap();
        let page = app.get(format!("{LOG}?limit=100&sort=timestamp")).send().await.expect_status(200).json();
        let found = page["entries"].as_array().unwrap().clone();
        assert!(found.len() <= count, "{} entries instead of {count}: {found:#?}", found.len());
        if found.len() == count {
            assert_eq!(page["total"], count);
            return found;
        }
        assert!(app.clock.tick() < deadline, "{} entries instead of {count}: {found:#?}", found.len());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_disabled_audit_log_is_reported_and_records_nothing() {
    app::each(async |app| {
        app.chat("text").send().await.expect_status(200);
        for path in [LOG, EXPORT, STREAM, CONVERSATION, "/admin/api/v1/audit/log/x"] {
            let answer = app.get(path).send().await;
            assert_eq!((answer.status, answer.refusal().1.as_str()), (503, "feature_unavailable"), "{path}");
            assert!(answer.text().contains("LOGGING_ENABLED"));
        }
        app.receipts(1).await;
        assert_eq!(app.refresher.store().audit().verify().await.unwrap().chains, 0);
    })
    .await;
}

#[tokio::test]
async fn without_usage_the_log_is_kept_all_the_same() {
    let settings = || {
        let mut settings = logging();
        settings.config.usage_enabled = false;
        settings.policy.accounting = false;
        settings
    };
    app::each_with(settings, async |app| {
        app.chat("openai/text").send().await.expect_status(200);
        let found = entries(&app, 1).await;
        assert_eq!((&found[0]["status_code"], &found[0]["auth_method"]), (&json!(200), &json!("master_key")));
        assert_eq!(app.refresher.store().ledger().count().await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn filters_and_pages_follow_the_contract() {
    app::each_with(logging, async |app| {
        let (key_id, key) = app.key(json!({"name": "a", "user_path": "/team/app"})).await;
        app.chat("openai/text").send().await.expect_status(200);
        app.stream("openai/text")
            .key(&key)
            .header("x-gateway-session-id", "s1")
            .send()
            .await
            .expect_status(200);
        app.chat("openai/error-500").send().await.expect_status(500);
        app.chat("openai/text").key("nobody").send().await.expect_status(401);
        app.post("/v1/embeddings", json!({"model": "openai/embed", "input": "x"})).send().await;
        entries(&app, 5).await;
        let count = async |query: &str| {
            let answer = app.get(format!("{LOG}?{query}")).send().await.expect_status(200).json();
            assert_eq!(
                answer["total"].as_u64(),
                answer["entries"].as_array().map(|all| all.len() as u64),
                "{query}"
            );
            assert_eq!(
                (&answer["total_is_exact"], &answer["search_truncated"]),
                (&json!(true), &json!(false))
            );
            answer["total"].as_u64().unwrap()
        };
        for (query, expected) in [
            ("", 5),
            ("requested_model=openai/text", 2),
            ("provider=openai", 4),
            ("provider=nothing", 0),
            ("method=post", 5),
            ("method=GET", 0),
            ("path=/v1/embeddings", 1),
            ("user_path=/team", 1),
            ("user_path=/tea", 0),
            ("error_type=authentication_error", 1),
            ("status_code=401", 1),
            ("status_code=200&stream=true", 1),
            ("status=error", 2),
            ("status=ok", 3),
            ("status=error&error_type=authentication_error", 1),
            ("status=error&user_path=/team", 0),
            ("status=ok&status_code=500", 0),
            ("stream=false", 4),
            ("session_id=s1", 1),
            (&format!("auth_key_id={key_id}"), 1),
            ("search=EMBED", 1),
            ("search=authentication", 1),
            ("search=%25", 0),
            ("start_date=2020-01-01&end_date=2020-01-02", 0),
            ("days=1&limit=100", 5),
        ] {
            assert_eq!(count(query).await, expected, "{query}");
        }
        for (query, param) in [
            ("days=0", "days"),
            ("limit=101", "limit"),
            ("limit=0", "limit"),
            ("offset=-1", "offset"),
            ("status_code=99", "status_code"),
            ("stream=maybe", "stream"),
            ("status=500", "status"),
            ("include_data=no", "include_data"),
            ("sort=size", "sort"),
            ("cursor=x", "cursor"),
            ("sort=duration&cursor=1_a", "cursor"),
            ("include_stats=2", "include_stats"),
            ("start_date=yesterday", "start_date"),
        ] {
            let found = app.get(format!("{LOG}?{query}")).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{query}");
        }
        let first = app.get(format!("{LOG}?limit=3")).send().await.json();
        let next = first["next"].as_str().unwrap();
        let second = app.get(format!("{LOG}?limit=3&cursor={next}")).send().await.json();
        let ids = |page: &Value| -> Vec<String> {
            page["entries"].as_array().unwrap().iter().map(|entry| entry["id"].to_string()).collect()
        };
        assert_eq!((ids(&first).len(), ids(&second).len(), second.get("next")), (3, 2, None));
        assert_eq!(ids(&app.get(format!("{LOG}?limit=2&offset=3")).send().await.json()), ids(&second));
        let uncounted = app.get(format!("{LOG}?limit=3&include_total=false")).send().await.json();
        assert_eq!((ids(&uncounted), &uncounted["next"]), (ids(&first), &first["next"]));
        assert_eq!((uncounted.get("total"), uncounted.get("total_is_exact")), (None, None));
        let csv = app.get(format!("{EXPORT}?status=error")).send().await.expect_status(200).text();
        assert_eq!(csv.lines().count(), 3, "a header and the failed calls: {csv}");
        let stats = app.get(format!("{LOG}?include_stats=true")).send().await.json()["stats"].clone();
        assert_eq!(
            (&stats["count"], &stats["errors"], &stats["by_status"]["200"]),
            (&json!(5), &json!(2), &json!(3))
        );
        assert!(
            stats["p50_ms"].as_f64().unwrap() > 0.0 && stats["p99_ms"].as_f64() >= stats["p50_ms"].as_f64()
        );
        assert_eq!(
            stats["buckets"].as_array().unwrap().iter().map(|at| at["count"].as_u64().unwrap()).sum::<u64>(),
            5
        );
    })
    .await;
}

#[tokio::test]
async fn keys_bound_to_a_path_see_only_their_subtree() {
    app::each_with(logging, async |app| {
        let scopes = json!(["inference", "admin:audit:read"]);
        let (_, team) = app.key(json!({"name": "t", "scopes": scopes, "user_path": "/team"})).await;
        app.chat("openai/text").key(&team).send().await.expect_status(200);
        app.chat("openai/text").header("x-gateway-user-path", "/other").send().await.expect_status(200);
        let all = entries(&app, 2).await;
        let (own, other) = (all[0]["id"].as_str().unwrap(), all[1]["id"].as_str().unwrap());
        assert_eq!(app.get(LOG).key(&team).send().await.json()["total"], 1);
        assert_eq!(app.get(format!("{LOG}/{own}")).key(&team).send().await.status, 200);
        assert_eq!(app.get(format!("{LOG}/{other}")).key(&team).send().await.status, 404);
        assert_eq!(app.get(format!("{CONVERSATION}?log_id={other}")).key(&team).send().await.status, 404);
        let file =
            app.get(format!("{EXPORT}?format=jsonl")).key(&team).send().await.expect_status(200).text();
        assert!(file.contains(own) && !file.contains(other), "{file}");
        let refused = app.get(format!("{LOG}?user_path=/other")).key(&team).refusal().await;
        assert_eq!(refused.1, "user_path_denied");
        assert_eq!(app.get(format!("{LOG}/{other}")).send().await.status, 200);
        assert_eq!(app.get(format!("{LOG}/nothing")).send().await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn a_list_without_data_has_everything_but_headers_and_bodies() {
    app::each_with(logging, async |app| {
        app.chat("openai/text").header("user-agent", "agent/1").send().await.expect_status(200);
        let mut whole = entries(&app, 1).await.remove(0);
        let page = app.get(format!("{LOG}?include_data=false")).send().await.expect_status(200).json();
        let data = whole["data"].as_object_mut().unwrap();
        for name in ["request_headers", "response_headers", "request_body", "response_body"] {
            assert!(data.remove(name).is_some(), "the whole entry has {name}");
        }
        assert_eq!(page["entries"], json!([whole]));
    })
    .await;
}

#[tokio::test]
async fn a_request_id_finds_the_newest_entry_that_the_reader_may_see() {
    app::each_with(logging, async |app| {
        let scopes = json!(["inference", "admin:audit:read"]);
        let (_, team) = app.key(json!({"name": "t", "scopes": scopes, "user_path": "/team"})).await;
        app.chat("openai/text").header("x-request-id", "same").key(&team).send().await.expect_status(200);
        app.chat("openai/text").header("x-request-id", "same").send().await.expect_status(200);
        let first = entries(&app, 2).await[0]["id"].as_str().unwrap().to_owned();
        // A request id that is the id of an entry does not hide the entry.
        app.chat("openai/text").header("x-request-id", &first).send().await.expect_status(200);
        let all = entries(&app, 3).await;
        let found = async |id: &str, key: Option<&str>| {
            let call = app.get(format!("{LOG}/{id}"));
            let call = if let Some(key) = key { call.key(key) } else { call };
            call.send().await.expect_status(200).json()["id"].clone()
        };
        assert_eq!(found("same", None).await, all[1]["id"]);
        assert_eq!(found("same", Some(&team)).await, all[0]["id"]);
        assert_eq!(found(&first, None).await, all[0]["id"]);
        let hidden = all[2]["id"].as_str().unwrap();
        assert_eq!(app.get(format!("{LOG}/{hidden}")).key(&team).send().await.status, 404);
        assert_eq!(app.get(format!("{LOG}/neither")).send().await.status, 404);
        assert_eq!(app.get(format!("{CONVERSATION}?log_id=same")).send().await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn an_export_is_complete_and_escapes_formulas() {
    app::each_with(logging, async |app| {
        let mut body = question("=cmd|'/c calc'!A1");
        body["messages"][0]["content"] = json!("line one\nline two");
        app.post("/v1/chat/completions", body).send().await.expect_status(404);
        app.chat("openai/text").header("user-agent", "a,\"b\"").send().await.expect_status(200);
        entries(&app, 2).await;
        let csv = app.get(EXPORT).send().await.expect_status(200);
        assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
        let text = csv.text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("id,timestamp,request_id,"), "{text}");
        assert_eq!(lines.len(), 3, "a header and two entries, nothing else: {text}");
        assert!(text.contains("\"'=cmd|'/c calc'!A1\"") && text.contains("\"a,\"\"b\"\"\""), "{text}");
        assert!(!text.contains("line one"));
        let jsonl =
            app.get(format!("{EXPORT}?format=jsonl&status_code=200")).send().await.expect_status(200).text();
        let lines: Vec<Value> = jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((lines.len(), &lines[1]), (2, &json!({"end": true, "entries": 1})));
        assert_eq!(lines[0]["data"]["request_body"]["model"], "openai/text");
        assert_eq!(app.get(format!("{EXPORT}?format=xml")).refusal().await.2.as_deref(), Some("format"));
    })
    .await;
}
