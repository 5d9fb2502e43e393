//! Tests of `/admin/api/v1/budgets/history`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{BUDGETS, each, set};
use crate::app::TestApp;

const DAY: Duration = Duration::from_secs(86_400);

async fn windows(app: &TestApp, query: &str) -> Vec<Value> {
    let list = app.get(format!("{BUDGETS}/history{query}")).send().await.expect_status(200).json();
    list["windows"].as_array().unwrap().clone()
}

#[tokio::test]
async fn closed_windows_have_the_amount_of_their_time_and_what_was_spent() {
    each(async |app| {
        set(&app, "/team", "daily", 5.0).await;
        set(&app, "/other", "monthly", 9.0).await;
        app.chat("openai/gpt-4o").header("x-gateway-user-path", "/team/a").send().await.expect_status(200);
        app.receipts(1).await;
        assert_eq!(windows(&app, "?user_path=/team").await, Vec::<Value>::new(), "the window is open");
        app.clock.advance(DAY);
        set(&app, "/team", "daily", 7.0).await;
        app.clock.advance(DAY);
        let found = windows(&app, "?user_path=/team&period=daily").await;
        assert_eq!(found.len(), 2, "{found:#?}");
        assert_eq!((&found[0]["amount"], &found[0]["spent"]), (&json!(7.0), &json!(0.0)));
        assert_eq!(found[1]["amount"], 5.0);
        assert!(found[1]["spent"].as_f64().unwrap() > 0.0, "{found:#?}");
        assert_eq!(found[0]["period_start"], found[1]["period_end"]);
        assert_eq!(windows(&app, "?user_path=/team&windows=1").await.len(), 1);
        assert_eq!(windows(&app, "?period=weekly").await, Vec::<Value>::new());
        for query in ["?period=yearly", "?limit=0", "?windows=0", "?offset=-1", "?user_path=.."] {
            app.get(format!("{BUDGETS}/history{query}")).send().await.expect_status(400);
        }
    })
    .await;
}

#[tokio::test]
async fn a_key_of_a_subtree_sees_its_own_windows() {
    each(async |app| {
        set(&app, "/team", "daily", 5.0).await;
        set(&app, "/other", "daily", 9.0).await;
        let key = json!({"name": "team", "user_path": "/team", "scopes": ["admin:budgets:read"]});
        let (_, key) = app.key(key).await;
        app.clock.advance(DAY);
        let list = app.get(format!("{BUDGETS}/history")).key(&key).send().await.expect_status(200).json();
        let paths =
            list["windows"].as_array().unwrap().iter().map(|window| window["user_path"].as_str().unwrap());
        assert_eq!(paths.collect::<Vec<_>>(), ["/team"]);
    })
    .await;
}

#[tokio::test]
async fn budgets_are_paged_with_their_total() {
    each(async |app| {
        for path in ["/a", "/b", "/c"] {
            set(&app, path, "daily", 5.0).await;
        }
        app.clock.advance(DAY);
        let mut paths = Vec::new();
        for offset in 0..4 {
            let query = format!("{BUDGETS}/history?limit=1&offset={offset}");
            let page = app.get(query).send().await.expect_status(200).json();
            assert_eq!(page["total"], 3, "{page}");
            let windows = page["windows"].as_array().unwrap();
            paths.extend(windows.iter().map(|window| window["user_path"].as_str().unwrap().to_owned()));
        }
        assert_eq!(paths, ["/a", "/b", "/c"]);
    })
    .await;
}
