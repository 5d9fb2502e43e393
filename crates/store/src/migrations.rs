//! Schema migrations: an embedded list, applied forward only, under a lock, when the store is opened.

use std::time::Duration;

use domain::clock::Timestamp;
use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use crate::StoreError;
use crate::database::{Database, Writing};

/// Never edited once released: a change is a new entry at the end.
const MIGRATIONS: &[(&str, &str)] = &[
    ("documents", include_str!("migrations/0001_documents.sql")),
    ("ledger", include_str!("migrations/0002_ledger.sql")),
    ("responses", include_str!("migrations/0003_responses.sql")),
    ("reports", include_str!("migrations/0004_reports.sql")),
    ("audit", include_str!("migrations/0005_audit.sql")),
    ("spending", include_str!("migrations/0006_spending.sql")),
    ("idempotency", include_str!("migrations/0007_idempotency.sql")),
    ("key_uses", include_str!("migrations/0008_key_uses.sql")),
    ("object_owners", include_str!("migrations/0009_object_owners.sql")),
    ("runs", include_str!("migrations/0010_runs.sql")),
];

/// Generous, because a table with millions of rows may have to be rewritten.
const LIMIT: Duration = Duration::from_secs(600);
const LOCK: i64 = 0x6761_7465_686f_7573;

pub(crate) async fn run(database: &Database, now: Timestamp) -> Result<(), StoreError> {
    let migrating = async {
        let mut open = database.begin().await?;
        if database.is_postgres() {
            // On SQLite, BEGIN IMMEDIATE takes the only write lock; PostgreSQL needs a lock that all starting processes
            // take.
            open.fetch("SELECT CAST(pg_advisory_xact_lock($1) AS TEXT)", &[LOCK.into()]).await?;
        }
        migrate(&mut open, database.is_postgres(), now).await?;
        open.commit().await
    };
    match tokio::time::timeout(LIMIT, migrating).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::Unavailable("the migration of the tables did not end in time".into())),
    }
}

async fn migrate(open: &mut Writing, postgres: bool, now: Timestamp) -> Result<(), StoreError> {
    open.execute(
        "CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)",
        &[],
    )
    .await?;
    let rows = open.fetch("SELECT COALESCE(MAX(version), 0) FROM migrations", &[]).await?;
    let current: i64 = rows.first().ok_or(StoreError::NotFound)?.get(0)?;
    let known = MIGRATIONS.len() as i64;
    if current > known {
        return Err(StoreError::Failed(format!(
            "its tables are of version {current}, this build knows up to {known}: run the newer build, or restore a backup"
        )));
    }
    for (index, (name, text)) in MIGRATIONS.iter().enumerate().skip(current as usize) {
        open.script(AssertSqlSafe(in_dialect(text, postgres)).into_sql_str()).await?;
        open.execute(
            "INSERT INTO migrations (version, name, applied_at) VALUES ($1, $2, $3)",
            &[(index as i64 + 1).into(), (*name).into(), now.micros().into()],
        )
        .await?;
    }
    Ok(())
}

/// Adapts SQL to the database: text must sort by bytes on both, and SQLite can store a table in its primary key.
fn in_dialect(text: &str, postgres: bool) -> String {
    let (column, clustered) = if postgres { ("TEXT COLLATE \"C\"", "") } else { ("TEXT", "WITHOUT ROWID") };
    text.replace("{TEXT}", column).replace("{CLUSTERED}", clustered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::for_each_backend;

    #[tokio::test]
    async fn a_second_run_changes_nothing_and_a_newer_database_is_refused() {
        for_each_backend(|store| async move {
            let database = store.database();
            run(database, Timestamp(1)).await.unwrap();
            let rows = database.fetch("SELECT COUNT(*) FROM migrations", &[]).await.unwrap();
            assert_eq!(rows[0].get::<i64>(0).unwrap(), MIGRATIONS.len() as i64);
            let newer = MIGRATIONS.len() as i64 + 1;
            database
                .execute(
                    "INSERT INTO migrations (version, name, applied_at) VALUES ($1, 'x', 0)",
                    &[newer.into()],
                )
                .await
                .unwrap();
            assert!(matches!(run(database, Timestamp(1)).await, Err(StoreError::Failed(_))));
        })
        .await;
    }
}
