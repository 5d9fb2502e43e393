//! A database that is locked or gone: chat goes on, and what it cost is booked when the database is back.

use std::time::Duration;

use serde_json::json;
use sqlx::{Connection as _, Executor as _, PgConnection, SqliteConnection};
use store::Backend;

use crate::house::{self, House, Wishes};

/// Somebody else who holds the database.
enum Holder {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Holder {
    async fn grab(backend: &Backend) -> Self {
        match backend {
            Backend::Sqlite { path } => {
                let mut connection =
                    SqliteConnection::connect(&format!("sqlite://{}", path.display())).await.unwrap();
                connection.execute("BEGIN EXCLUSIVE").await.unwrap();
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
            Self::Sqlite(mut connection) => connection.execute("ROLLBACK").await.map(drop).unwrap(),
            Self::Postgres(mut connection) => connection.execute("ROLLBACK").await.map(drop).unwrap(),
        }
    }
}

fn impatient() -> Wishes {
    Wishes { store_timeout: Duration::from_millis(1000), ..Wishes::default() }
}

async fn chat_both_ways(house: &House, key: &str) {
    house.chat("text").key(key).send().await.expect_status(200);
    let stream = house.stream("text").key(key).send().await.expect_status(200);
    assert!(stream.text().ends_with("data: [DONE]\n\n"));
}

#[tokio::test]
async fn a_locked_database_does_not_stop_chat() {
    house::each_with(impatient, async |house| {
        let (_, key) = house.key(json!({"name": "a"})).await;
        let holder = Holder::grab(&house.backend).await;
        chat_both_ways(&house, &key).await;
        assert!(house.drain().await.is_err(), "the lock is real");
        assert_eq!(house.gateway.journal.lag().records, 4, "two openings and two receipts wait");
        let refused = house.post("/admin/api/v1/auth-keys", json!({"name": "b"})).refusal().await;
        assert_eq!(refused.0, 503, "{refused:?}");
        house.get("/v1/models").key(&key).send().await.expect_status(200);
        holder.release().await;
        let rows = house.receipts(2).await;
        assert!(rows.iter().all(|row| row["status_code"] == 200 && row["estimated"] == false), "{rows:#?}");
        assert_eq!(house.gateway.journal.lag().records, 0);
    })
    .await;
}

#[tokio::test]
async fn a_closed_database_does_not_stop_chat() {
    house::each_with(impatient, async |house| {
        let (_, key) = house.key(json!({"name": "a"})).await;
        house.refresher.store().close().await;
        chat_both_ways(&house, &key).await;
        assert!(house.drain().await.is_err());
        let ready = house.get("/ready").send().await.expect_status(200).json();
        assert_eq!((&ready["status"], &ready["storage"]), (&json!("degraded"), &json!("down")));
        for path in ["/admin/api/v1/usage/log", "/admin/api/v1/auth-keys", "/admin/api/v1/changes"] {
            let found = house.get(path).refusal().await;
            assert_eq!(found.0, 503, "{path}: {found:?}");
        }
        assert_eq!(house.gateway.journal.lag().records, 4);
    })
    .await;
}
