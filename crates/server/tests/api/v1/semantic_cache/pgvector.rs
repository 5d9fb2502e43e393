//! Tests of the semantic cache with pgvector as its store: `suites/semantic` starts a PostgreSQL that has it.

use std::time::Duration;

use pipeline::policy::SemanticMode;
use serde_json::{Value, json};
use store::Backend;

use super::{HIT, MISS, QUESTION, SIMILAR, ask, cache_headers, settings};
use crate::app::{self, SemanticStore, TestApp, TestSettings};

async fn stored(app: &TestApp, count: u64) {
    let entries = app.refresher.store().semantic_entries();
    for _ in 0..2000 {
        if entries.count().await.unwrap() == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{} entries instead of {count}", entries.count().await.unwrap());
}

#[tokio::test]
#[ignore = "needs PostgreSQL with pgvector: make suite semantic ARGS=pgvector"]
async fn similar_calls_are_answered_from_pgvector_by_every_process() {
    let settings =
        || TestSettings { semantic_store: SemanticStore::Pgvector, ..settings(SemanticMode::Serve, 0.0) };
    app::each_with(settings, async |app| {
        if let Backend::Sqlite { .. } = app.backend {
            return;
        }
        let on_path = async |app: &TestApp, path: &'static str, text: &str| {
            ask(app, text).header("x-gateway-user-path", path).send().await.expect_status(200)
        };
        let first = on_path(&app, "/a", QUESTION).await;
        assert_eq!(cache_headers(&first), MISS);
        stored(&app, 1).await;
        let other = app.neighbour().await;
        for process in [&app, &other] {
            let similar = on_path(process, "/a", SIMILAR).await;
            assert_eq!((cache_headers(&similar), &similar.body), (HIT, &first.body));
        }
        let changed = on_path(&other, "/a", "Please convert 6 km to miles.").await;
        assert_eq!(changed.header("x-cache-miss-reason"), Some("prompt_changed"));
        let elsewhere = on_path(&other, "/b", SIMILAR).await;
        assert_eq!(elsewhere.header("x-cache-miss-reason"), Some("not_found"));
        stored(&app, 3).await;
        let purge = async |body: Value| {
            let purged = app.post("/admin/api/v1/cache/purge", body).send().await.expect_status(200);
            purged.json()["purged"].as_u64().unwrap()
        };
        assert!(purge(json!({"user_path": "/a"})).await >= 2);
        stored(&app, 1).await;
        let semantic = ask(&other, SIMILAR).header("x-cache-type", "semantic");
        let gone = semantic.header("x-gateway-user-path", "/a").send().await;
        assert_eq!(cache_headers(&gone.expect_status(200)), MISS, "for the other process, too");
    })
    .await;
}
