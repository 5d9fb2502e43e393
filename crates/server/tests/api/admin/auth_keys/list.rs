//! Tests of the list of keys: pages, filters, orders.

use std::time::Duration;

use serde_json::{Value, json};

use super::PATH;
use crate::app::{self, TestApp};

#[tokio::test]
async fn the_list_is_paged() {
    app::each(async |app| {
        for number in 0..5 {
            app.key(json!({"name": format!("key {number}")})).await;
        }
        let page = async |query: &str| {
            let list = app.get(format!("{PATH}?{query}")).send().await.expect_status(200).json();
            assert_eq!(list["total"], 5);
            let entries = list["entries"].as_array().unwrap().iter();
            entries.map(|key| key["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(page("limit=2").await, ["key 4", "key 3"]);
        assert_eq!(page("limit=2&offset=4").await, ["key 0"]);
        assert_eq!(page("offset=9").await, [""; 0]);
        for (query, param) in
            [("limit=0", "limit"), ("limit=201", "limit"), ("limit=x", "limit"), ("offset=-1", "offset")]
        {
            let found = app.get(format!("{PATH}?{query}")).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_cursor_continues_after_the_last_key() {
    app::each(async |app| {
        let mut ids = Vec::new();
        for number in 0..5 {
            ids.push(app.key(json!({"name": format!("key {number}")})).await.0);
        }
        let page = async |query: &str| {
            let list = app.get(format!("{PATH}?{query}")).send().await.expect_status(200).json();
            let entries = list["entries"].as_array().unwrap().iter();
            let names: Vec<String> = entries.map(|key| key["name"].as_str().unwrap().to_owned()).collect();
            (names, list["next"].as_str().map(str::to_owned))
        };
        let (names, next) = page("limit=2").await;
        assert_eq!(names, ["key 4", "key 3"]);
        let next = next.unwrap();
        app.key(json!({"name": "new"})).await;
        let (names, last) = page(&format!("limit=2&cursor={next}")).await;
        assert_eq!(names, ["key 2", "key 1"], "a new key does not shift the pages");
        let (names, end) = page(&format!("limit=2&cursor={}", last.unwrap())).await;
        assert_eq!((names.len(), end), (1, None));
        app.call(http::Method::DELETE, format!("{PATH}/{}", ids[3])).send().await.expect_status(204);
        assert_eq!(page(&format!("limit=2&cursor={next}")).await.0.len(), 2, "a deleted key ends nothing");
        for query in ["cursor=x", "cursor=.a", &format!("offset=1&cursor={next}")] {
            assert_eq!(app.get(format!("{PATH}?{query}")).refusal().await.0, 400, "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn entries_carry_the_use_of_limits_and_the_cost() {
    app::each(async |app| {
        let limits =
            json!({"requests_per_minute": 60, "tokens_per_day": 100_000, "max_parallel_requests": 4});
        let (_, limited) = app.key(json!({"name": "limited", "rate_limits": limits})).await;
        app.key(json!({"name": "idle", "expiry": "2020-01-01T00:00:00Z"})).await;
        app.chat("openai/gpt-4o").key(&limited).send().await.expect_status(200);
        app.chat("openai/gpt-4o").key(&limited).send().await.expect_status(200);
        app.receipts(2).await;
        let list = app.get(format!("{PATH}?sort=name")).send().await.expect_status(200).json();
        let (idle, limited) = (&list["entries"][0], &list["entries"][1]);
        assert_eq!((&idle["limit_use"], &idle["cost_30_days"]), (&json!({}), &Value::Null), "{idle}");
        assert!(limited["cost_30_days"].as_f64().unwrap() > 0.0, "{limited}");
        let uses = limited["limit_use"].as_object().unwrap();
        assert_eq!(uses.len(), 3, "{limited}");
        let minute = &uses["requests_per_minute"];
        assert_eq!((&minute["used"], &minute["limit"]), (&json!(2), &json!(60)));
        assert!(minute["resets_at"].as_str().unwrap().ends_with('Z'));
        assert!(uses["tokens_per_day"]["used"].as_u64().unwrap() > 0, "{limited}");
        let parallel = json!({"used": 0, "limit": 4, "resets_at": null});
        assert_eq!(uses["max_parallel_requests"], parallel);
        assert_eq!(list["counts"], json!({"all": 2, "active": 1, "ending_soon": 0, "ended": 1}));
        assert!(list["as_of"].is_string());
        let active = app.get(format!("{PATH}?active=true")).send().await.json();
        assert_eq!((&active["total"], &active["counts"]["all"]), (&json!(1), &json!(2)));
        let id = limited["id"].as_str().unwrap();
        app.put(format!("{PATH}/{id}"), limited.clone()).send().await.expect_status(200);
    })
    .await;
}

async fn names(app: &TestApp, key: &str, query: &str) -> Vec<String> {
    let list = app.get(format!("{PATH}?{query}")).key(key).send().await.expect_status(200).json();
    let entries = list["entries"].as_array().unwrap();
    assert_eq!(list["total"], entries.len(), "{query}");
    entries.iter().map(|key| key["name"].as_str().unwrap().to_owned()).collect()
}

/// Creates five keys that differ in the fields that can be filtered.
async fn furnish(app: &TestApp) {
    let keys = [
        json!({"name": "Alpha 100%", "description": "Über alles", "user_path": "/team/a", "tenant_id": "acme"}),
        json!({"name": "beta", "user_path": "/teams", "scopes": ["inference", "admin:usage:read"]}),
        json!({"name": "Gamma_1", "user_path": "/team", "expiry": "2020-01-01T00:00:00Z"}),
        json!({"name": "delta", "tenant_id": "acme", "scopes": ["admin:read"]}),
        json!({"name": "alpha", "description": "off", "user_path": "/team/a"}),
    ];
    for body in keys {
        let off = body["description"] == "off";
        let (id, _) = app.key(body).await;
        if off {
            app.post(format!("{PATH}/{id}/deactivate"), json!({})).send().await.expect_status(200);
        }
    }
}

#[tokio::test]
async fn keys_are_filtered_and_sorted() {
    app::each(async |app| {
        furnish(&app).await;
        let cases: &[(&str, &[&str])] = &[
            ("", &["alpha", "delta", "Gamma_1", "beta", "Alpha 100%"]),
            ("sort=created_at", &["Alpha 100%", "beta", "Gamma_1", "delta", "alpha"]),
            ("sort=name", &["alpha", "Alpha 100%", "beta", "delta", "Gamma_1"]),
            ("sort=-name", &["Gamma_1", "delta", "beta", "Alpha 100%", "alpha"]),
            ("search=ALPHA", &["alpha", "Alpha 100%"]),
            ("search=%C3%BCBER", &["Alpha 100%"]),
            ("search=%25", &["Alpha 100%"]),
            ("search=_", &["alpha", "delta", "Gamma_1", "beta", "Alpha 100%"]),
            ("search=a_1", &["Gamma_1"]),
            ("search=nothing", &[]),
            ("search=/team/", &["alpha", "Alpha 100%"]),
            ("search=acme", &["delta", "Alpha 100%"]),
            ("user_path=/team", &["alpha", "Gamma_1", "Alpha 100%"]),
            ("user_path=team//a/", &["alpha", "Alpha 100%"]),
            ("user_path=/", &["alpha", "delta", "Gamma_1", "beta", "Alpha 100%"]),
            ("tenant_id=acme", &["delta", "Alpha 100%"]),
            ("tenant_id=acm", &[]),
            ("enabled=true", &["delta", "Gamma_1", "beta", "Alpha 100%"]),
            ("enabled=false", &["alpha"]),
            ("active=true", &["delta", "beta", "Alpha 100%"]),
            ("active=false", &["alpha", "Gamma_1"]),
            ("active=false&enabled=true", &["Gamma_1"]),
            ("scope=inference", &["alpha", "Gamma_1", "beta", "Alpha 100%"]),
            ("scope=admin:usage:read", &["beta"]),
            ("search=alpha&user_path=/team&enabled=true&sort=name", &["Alpha 100%"]),
        ];
        for (query, expected) in cases {
            assert_eq!(names(&app, app::MASTER, query).await, *expected, "{query}");
        }
        let id = app.get(PATH).send().await.json()["entries"][0]["id"].as_str().unwrap().to_uppercase();
        assert_eq!(names(&app, app::MASTER, &format!("search={id}")).await, ["alpha"]);
        let shown = app.get(PATH).send().await.json()["entries"][1]["redacted_value"].as_str().unwrap()[..7]
            .to_owned();
        assert!(
            names(&app, app::MASTER, &format!("search={shown}")).await.contains(&"delta".to_owned()),
            "{shown}"
        );
        let long = format!("search={}", "x".repeat(201));
        for (query, param) in [
            (&*long, "search"),
            ("user_path=/a/../b", "user_path"),
            ("enabled=yes", "enabled"),
            ("active=1", "active"),
            ("scope=root", "scope"),
            ("sort=age", "sort"),
            ("sort=--name", "sort"),
        ] {
            let found = app.get(format!("{PATH}?{query}")).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some(param.into())), "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_bound_admin_lists_its_subtree() {
    app::each(async |app| {
        furnish(&app).await;
        let body = json!({"name": "lead", "scopes": ["admin:auth-keys:read"], "user_path": "/team"});
        let (_, lead) = app.key(body).await;
        assert_eq!(names(&app, &lead, "").await, ["lead", "alpha", "Gamma_1", "Alpha 100%"]);
        assert_eq!(names(&app, &lead, "user_path=/team/a").await, ["alpha", "Alpha 100%"]);
        for path in ["/", "/teams"] {
            let refused = app.get(format!("{PATH}?user_path={path}")).key(&lead).refusal().await;
            assert_eq!(refused, (403, "user_path_denied".into(), Some("user_path".into())), "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_last_used_come_first() {
    app::each(async |app| {
        let mut made = Vec::new();
        for name in ["a", "b", "c"] {
            made.push(app.key(json!({"name": name, "scopes": ["inference", "admin:usage:read"]})).await);
        }
        // One by a call, one by the admin API, one never.
        app.chat("text").key(&made[1].1).send().await.expect_status(200);
        app.receipts(1).await;
        app.clock.advance(Duration::from_secs(60));
        app.get("/admin/api/v1/usage/summary").key(&made[0].1).send().await.expect_status(200);
        assert_eq!(names(&app, app::MASTER, "sort=-last_used_at").await, ["a", "b", "c"]);
        assert_eq!(names(&app, app::MASTER, "sort=last_used_at").await, ["c", "b", "a"]);
        let list = app.get(format!("{PATH}?sort=name")).send().await.json();
        let used: Vec<bool> = list["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|key| key["last_used_at"] != Value::Null)
            .collect();
        assert_eq!(used, [true, true, false]);
    })
    .await;
}
