//! Test databases: a SQLite file, and a PostgreSQL database per test.

use std::sync::atomic::{AtomicU32, Ordering};

use domain::clock::Clock as _;
use domain::secret::Secret;
use sqlx::Executor as _;
use store::Backend;
use testkit::SystemClock;

pub async fn each(test: impl AsyncFn(Backend)) {
    let directory = tempfile::tempdir().unwrap();
    test(Backend::Sqlite { path: directory.path().join("gatehouse.db") }).await;
    let Some(server) = postgres() else { return };
    let name = unique_name();
    let admin = sqlx::PgPool::connect(&server).await.unwrap();
    admin.execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
    let (base, _) = server.rsplit_once('/').unwrap();
    test(Backend::Postgres { url: Secret::new(format!("{base}/{name}")) }).await;
    admin.execute(sqlx::AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).await.unwrap();
}

fn unique_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("api_{}_{}_{number}", std::process::id(), SystemClock::new().now().micros())
}

#[expect(
    clippy::disallowed_methods,
    reason = "where the test database is comes from whoever starts the tests"
)]
fn postgres() -> Option<String> {
    if let Ok(url) = std::env::var("GATEHOUSE_TEST_POSTGRES_URL") {
        return Some(url);
    }
    assert!(
        std::env::var("GATEHOUSE_TEST_SQLITE_ONLY").is_ok_and(|only| only == "1"),
        "GATEHOUSE_TEST_POSTGRES_URL is not set: run through make test"
    );
    None
}
