//! Tests of a locked or unreachable database: chat continues, and its cost is recorded when the database is back.

use std::time::Duration;

use serde_json::json;
use sqlx::{Connection as _, Executor as _, PgConnection};
use store::Backend;

use crate::app::{self, TestApp, TestSettings};

/// Another connection that locks the database.
enum Holder {
    Sqlite(rusqlite::Connection),
    Postgres(PgConnection),
}

impl Holder {
    async fn grab(backend: &Backend) -> Self {
        match backend {
            Backend::Sqlite { path } => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.busy_timeout(Duration::from_secs(5)).unwrap();
                connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
                Self::Sqlite(connection)
            }
            Backend::Postgres { url } => {
                let mut connection = PgConnection::connect(url.reveal()).await.unwrap();
                connection
                    .execute("BEGIN; LOCK TABLE usage, documents, meta IN ACCESS EXCLUSIVE MODE")
                    .await
                    .unwrap();
                Self::Postgres(connection)
            }
        }
    }

    async fn release(self) {
        match self {
            Self::Sqlite(connection) => connection.execute_batch("ROLLBACK").unwrap(),
            Self::Postgres(mut connection) => connection.execute("ROLLBACK").await.map(drop).unwrap(),
        }
    }
}

fn impatient() -> TestSettings {
    TestSettings { store_timeout: Duration::from_secs(5), ..TestSettings::default() }
}

async fn chat_both_ways(app: &TestApp, key: &str) {
    app.chat("text").key(key).send().await.expect_status(200);
    let stream = app.stream("text").key(key).send().await.expect_status(200);
    assert!(stream.text().ends_with("data: [DONE]\n\n"));
}

#[tokio::test]
async fn a_locked_database_does_not_stop_chat() {
    app::each_with(impatient, async |app| {
        let (_, key) = app.key(json!({"name": "a"})).await;
        let holder = Holder::grab(&app.backend).await;
        chat_both_ways(&app, &key).await;
        assert!(app.drain().await.is_err(), "the lock is real");
        assert_eq!(app.gateway.journal.lag().records, 4, "two openings and two receipts wait");
        let refused = app.post("/admin/api/v1/auth-keys", json!({"name": "b"})).refusal().await;
        assert_eq!(refused.0, 503, "{refused:?}");
        app.get("/v1/models").key(&key).send().await.expect_status(200);
        holder.release().await;
        let rows = app.receipts(2).await;
        assert!(rows.iter().all(|row| row["status_code"] == 200 && row["estimated"] == false), "{rows:#?}");
        assert_eq!(app.gateway.journal.lag().records, 0);
    })
    .await;
}

#[tokio::test]
async fn a_closed_database_does_not_stop_chat() {
    app::each_with(impatient, async |app| {
        let (_, key) = app.key(json!({"name": "a"})).await;
        app.refresher.store().close().await;
        chat_both_ways(&app, &key).await;
        assert!(app.drain().await.is_err());
        let ready = app.get("/ready").send().await.expect_status(200).json();
        assert_eq!((&ready["status"], &ready["storage"]), (&json!("degraded"), &json!("down")));
        let status = app.get("/admin/api/v1/runtime/status").send().await.expect_status(200).json();
        assert_eq!(
            (&status["storage"]["state"], &status["journal"]["lag_records"]),
            (&json!("down"), &json!(4))
        );
        for path in ["/admin/api/v1/usage/log", "/admin/api/v1/auth-keys", "/admin/api/v1/changes"] {
            let found = app.get(path).refusal().await;
            assert_eq!(found.0, 503, "{path}: {found:?}");
        }
        assert_eq!(app.gateway.journal.lag().records, 4);
    })
    .await;
}
