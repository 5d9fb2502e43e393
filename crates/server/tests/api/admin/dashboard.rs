//! Tests of `/admin/api/v1/dashboard`.

use serde_json::json;

use crate::app;

const PATH: &str = "/admin/api/v1/dashboard/overview";

#[tokio::test]
async fn the_overview_has_figures_charts_tables_and_errors() {
    app::each(async |app| {
        let (_, key) = app.key(json!({"name": "team", "user_path": "/team"})).await;
        app.chat("openai/text").key(&key).send().await.expect_status(200);
        app.chat("openai/text").send().await.expect_status(200);
        app.chat("openai/no-such-model-500").send().await;
        app.receipts(3).await;
        let page = app.get(PATH).send().await.expect_status(200).json();
        assert_eq!(
            (&page["totals"]["requests"], &page["previous"]["requests"]),
            (&json!(3), &json!(0)),
            "{page}"
        );
        let names: Vec<&str> = page["series"]
            .as_array()
            .unwrap()
            .iter()
            .map(|series| series["name"].as_str().unwrap())
            .collect();
        let expected = [
            "requests",
            "errors",
            "error_rate",
            "tokens",
            "cost",
            "p50",
            "p95",
            "ttfb_p50",
            "ttfb_p95",
            "saved_cost",
        ];
        assert_eq!(names, expected);
        let points = page["periods"].as_array().unwrap().len();
        assert_eq!(points, 30);
        assert!(
            ["series", "previous_series"].iter().all(|list| page[list]
                .as_array()
                .unwrap()
                .iter()
                .all(|series| series["values"].as_array().unwrap().len() == points)),
            "{page}"
        );
        assert_eq!(page["previous_series"].as_array().unwrap().len(), expected.len());
        assert!(page["totals"]["ttfb_p95"].is_number() && page["previous"]["ttfb_p95"].is_null(), "{page}");
        assert_eq!((&page["totals"]["cache_hits"], &page["in_flight"]), (&json!(0), &json!(0)), "{page}");
        assert_eq!(page["as_of"], page["server_time"]);
        assert_eq!(page["unpriced"], json!({"models": 2, "requests": 3}), "{page}");
        assert_eq!(page["providers"][0]["calls_last_hour"].as_u64(), Some(3), "{page}");
        assert_eq!(page["providers"][0]["name"], "openai");
        let paths = page["user_paths"].as_array().unwrap();
        assert!(paths.iter().any(|path| path["user_path"] == "/team" && path["requests"] == 1), "{page}");
        let errors = page["totals"]["errors"].as_i64().unwrap();
        assert_eq!(page["recent_errors"].as_array().unwrap().len() as i64, errors, "{page}");
        app.get(format!("{PATH}?days=0")).send().await.expect_status(400);
    })
    .await;
}

#[tokio::test]
async fn an_admin_of_a_subtree_sees_its_own_figures() {
    app::each(async |app| {
        let scopes = ["inference", "admin:dashboard:read", "admin:usage:read"];
        let team = json!({"name": "team", "user_path": "/team", "scopes": scopes});
        let (_, team) = app.key(team).await;
        app.chat("openai/text").key(&team).send().await.expect_status(200);
        app.chat("openai/text").send().await.expect_status(200);
        app.receipts(2).await;
        let page = app.get(PATH).key(&team).send().await.expect_status(200).json();
        assert_eq!(page["totals"]["requests"], 1, "{page}");
        assert_eq!(page["user_paths"].as_array().unwrap().len(), 1, "{page}");
    })
    .await;
}

#[tokio::test]
async fn parts_that_the_caller_may_not_read_are_left_out() {
    app::each(async |app| {
        for (scope, has_usage, has_errors) in [
            ("admin:models:read", false, false),
            ("admin:usage:read", true, false),
            ("admin:console:read", false, true),
        ] {
            let key = app.key_with(&["admin:dashboard:read", scope]).await;
            let page = app.get(PATH).key(&key).send().await.expect_status(200).json();
            let usage = ["totals", "previous", "series", "cost_by_model", "models", "user_paths"];
            assert!(usage.iter().all(|part| page.get(part).is_some() == has_usage), "{scope}: {page}");
            assert_eq!(page.get("recent_errors").is_some(), has_errors, "{scope}: {page}");
            assert_eq!(page["providers"][0]["name"], "openai");
        }
    })
    .await;
}
