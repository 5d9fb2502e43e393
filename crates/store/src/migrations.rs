//! Schema migrations: an embedded list, applied forward only, under a lock, when the store is opened.

use std::time::Duration;

use domain::clock::Timestamp;
use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use crate::StoreError;
use crate::database::{Database, Writing};

/// The name and the text of a migration.
type Migration = (&'static str, &'static str);

/// Never edited once released: a change is a new entry at the end. Entries after `LAST_CHANGING` only add tables, columns
/// with a default and indexes, so that the version before can still read and write (`migrations/rolling_upgrade.rs`).
const MIGRATIONS: &[Migration] = &[
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
    ("document_tenants", include_str!("migrations/0011_document_tenants.sql")),
    ("rollup_deltas", include_str!("migrations/0012_rollup_deltas.sql")),
    ("response_cache", include_str!("migrations/0013_response_cache.sql")),
    ("semantic_cache", include_str!("migrations/0014_semantic_cache.sql")),
    ("prompt_cache_savings", include_str!("migrations/0015_prompt_cache_savings.sql")),
    ("sessions", include_str!("migrations/0016_sessions.sql")),
    ("tenant_documents", include_str!("migrations/0017_tenant_documents.sql")),
    ("revocation_expiry", include_str!("migrations/0018_revocation_expiry.sql")),
    ("semantic_changes", include_str!("migrations/0019_semantic_changes.sql")),
    ("semantic_tenants", include_str!("migrations/0020_semantic_tenants.sql")),
    ("audit_errors", include_str!("migrations/0021_audit_errors.sql")),
    ("budget_leases", include_str!("migrations/0022_budget_leases.sql")),
    ("replicas", include_str!("migrations/0023_replicas.sql")),
];

/// The last migration that changed or removed what an earlier version uses.
const LAST_CHANGING: &str = "audit_errors";
/// The migration that added the column `expands`.
const RECORDS_EXPANSION: &str = "replicas";
/// Generous, because a table with millions of rows may have to be rewritten.
const LIMIT: Duration = Duration::from_secs(600);
const LOCK: i64 = 0x6761_7465_686f_7573;

pub(crate) async fn run(database: &Database, now: Timestamp) -> Result<(), StoreError> {
    apply(database, MIGRATIONS, now).await
}

async fn apply(database: &Database, migrations: &[Migration], now: Timestamp) -> Result<(), StoreError> {
    let migrating = async {
        let mut open = database.begin().await?;
        if database.is_postgres() {
            // On SQLite, BEGIN IMMEDIATE takes the only write lock; PostgreSQL needs a lock that all starting processes
            // take.
            open.fetch("SELECT CAST(pg_advisory_xact_lock($1) AS TEXT)", &[LOCK.into()]).await?;
        }
        migrate(&mut open, migrations, database.is_postgres(), now).await?;
        open.commit().await
    };
    match tokio::time::timeout(LIMIT, migrating).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::Unavailable("the migration of the tables did not end in time".into())),
    }
}

async fn migrate(
    open: &mut Writing,
    migrations: &[Migration],
    postgres: bool,
    now: Timestamp,
) -> Result<(), StoreError> {
    open.execute(
        "CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)",
        &[],
    )
    .await?;
    let rows = open.fetch("SELECT COALESCE(MAX(version), 0) FROM migrations", &[]).await?;
    let current: i64 = rows.first().ok_or(StoreError::NotFound)?.get(0)?;
    let known = migrations.len() as i64;
    if current > known {
        return accept_newer(open, current, known).await;
    }
    for (index, (name, text)) in migrations.iter().enumerate().skip(current as usize) {
        open.script(AssertSqlSafe(in_dialect(text, postgres)).into_sql_str()).await?;
        open.execute(
            "INSERT INTO migrations (version, name, applied_at) VALUES ($1, $2, $3)",
            &[(index as i64 + 1).into(), (*name).into(), now.micros().into()],
        )
        .await?;
    }
    match migrations.iter().any(|(name, _)| *name == RECORDS_EXPANSION) && current < known {
        true => record_expansion(open, migrations).await,
        false => Ok(()),
    }
}

/// Accepts tables of a newer version if its migrations only added to those that this build knows, as during a rolling
/// upgrade or after its rollback.
async fn accept_newer(open: &mut Writing, current: i64, known: i64) -> Result<(), StoreError> {
    const CHANGING: &str = "SELECT COUNT(*) FROM migrations WHERE version > $1 AND expands = 0";
    let rows = open.fetch(CHANGING, &[known.into()]).await?;
    if rows.first().ok_or(StoreError::NotFound)?.get::<i64>(0)? == 0 {
        tracing::warn!(tables = current, known, "tables of a newer version, which this build can use");
        return Ok(());
    }
    Err(StoreError::Failed(format!(
        "its tables are of version {current}, this build knows up to {known}: run the newer build, or restore a backup"
    )))
}

/// Marks the migrations that only add, for builds that do not know them.
async fn record_expansion(open: &mut Writing, migrations: &[Migration]) -> Result<(), StoreError> {
    const MARK: &str = "UPDATE migrations SET expands = 1 WHERE version > $1";
    let changing = migrations.iter().rposition(|(name, _)| *name == LAST_CHANGING);
    let last = changing.map_or(0, |index| index as i64 + 1);
    open.execute(MARK, &[last.into()]).await.map(drop)
}

/// Adapts SQL to the database: text must sort by bytes on both, SQLite can store a table in its primary key, and the
/// types of bytes and of numbered rows differ.
fn in_dialect(text: &str, postgres: bool) -> String {
    let dialect = if postgres {
        [
            ("{TEXT}", "TEXT COLLATE \"C\""),
            ("{CLUSTERED}", ""),
            ("{BYTES}", "BYTEA"),
            ("{SEQUENCE}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
        ]
    } else {
        [
            ("{TEXT}", "TEXT"),
            ("{CLUSTERED}", "WITHOUT ROWID"),
            ("{BYTES}", "BLOB"),
            ("{SEQUENCE}", "INTEGER PRIMARY KEY"),
        ]
    };
    dialect.iter().fold(text.to_owned(), |text, (name, meaning)| text.replace(name, meaning))
}

#[cfg(test)]
mod rolling_upgrade;

#[cfg(test)]
mod tests {
    use sqlx::SqlStr;

    use super::*;
    use crate::database::sql;
    use crate::ledger::rollup::{TABLES, Table};
    use crate::testing::{for_each_backend, for_each_database};

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
            // Unless its migrations only add.
            let expand = "UPDATE migrations SET expands = 1 WHERE version = $1";
            database.execute(expand, &[newer.into()]).await.unwrap();
            run(database, Timestamp(1)).await.unwrap();
        })
        .await;
    }

    /// A write of the version before documents had a tenant.
    const UPSERT: &str = "INSERT INTO documents (kind, name, body, sealed, revision, created_at, updated_at, updated_by) \
         VALUES ('pool', $1, $2, '', 1, 1, 1, 'm') ON CONFLICT (kind, name) DO UPDATE SET body = excluded.body";
    const REFER: &str = "INSERT INTO document_references (kind, name, ref_kind, ref_name) \
         VALUES ('pool', $1, 'provider', 'p') ON CONFLICT (kind, name, ref_kind, ref_name) DO NOTHING";
    const RECORD: &str = "INSERT INTO changes (revision, at, actor, kind, name, action, old_body, new_body) \
         VALUES ($1, 1, 'm', 'pool', 'a', 'update', NULL, '{}')";

    async fn texts(database: &Database, query: &'static str) -> Vec<String> {
        let rows = database.fetch(query, &[]).await.unwrap();
        rows.iter().map(|row| row.get(0).unwrap()).collect()
    }

    #[tokio::test]
    async fn documents_of_the_version_before_belong_to_the_default_tenant() {
        for_each_database(|backend| async move {
            let database = Database::open(&backend, Duration::from_secs(20)).await.unwrap();
            let before = MIGRATIONS.iter().position(|(name, _)| *name == "document_tenants").unwrap();
            apply(&database, &MIGRATIONS[..before], Timestamp(1)).await.unwrap();
            database.execute(UPSERT, &["a".into(), "{}".into()]).await.unwrap();
            database.execute(REFER, &["a".into()]).await.unwrap();
            database.execute(RECORD, &[1i64.into()]).await.unwrap();

            // Up to the migration that removes the indexes of the version without tenants.
            let last = MIGRATIONS.iter().position(|(name, _)| *name == "tenant_documents").unwrap();
            apply(&database, &MIGRATIONS[..last], Timestamp(2)).await.unwrap();
            let owned =
                "SELECT name || body FROM documents WHERE tenant = '' AND kind = 'pool' ORDER BY name";
            assert_eq!(texts(&database, owned).await, ["a{}"]);

            // A process of the version before may still be running.
            for (name, body) in [("a", "{\"new\":1}"), ("b", "{}")] {
                database.execute(UPSERT, &[name.into(), body.into()]).await.unwrap();
                database.execute(REFER, &[name.into()]).await.unwrap();
            }
            database.execute(RECORD, &[2i64.into()]).await.unwrap();
            assert_eq!(texts(&database, owned).await, ["a{\"new\":1}", "b{}"]);
            let referrers = "SELECT name FROM document_references WHERE tenant = '' ORDER BY name";
            assert_eq!(texts(&database, referrers).await, ["a", "b"]);
            let actors = "SELECT actor FROM changes WHERE tenant = '' ORDER BY revision";
            assert_eq!(texts(&database, actors).await, ["m", "m"]);

            run(&database, Timestamp(3)).await.unwrap();
            let of_tenant = "INSERT INTO documents (tenant, kind, name, body, revision, created_at, updated_at, updated_by) \
                 VALUES ('acme', 'pool', 'a', '{}', 3, 3, 3, 'm')";
            database.execute(of_tenant, &[]).await.unwrap();
            database.close().await;
        })
        .await;
    }

    #[tokio::test]
    async fn a_deletion_during_the_migration_to_tenants_is_not_undone() {
        for_each_database(|backend| async move {
            let database = Database::open(&backend, Duration::from_secs(20)).await.unwrap();
            let before = MIGRATIONS.iter().position(|(name, _)| *name == "document_tenants").unwrap();
            apply(&database, &MIGRATIONS[..before], Timestamp(1)).await.unwrap();
            database.execute(UPSERT, &["a".into(), "{}".into()]).await.unwrap();

            let mut deletion = database.begin().await.unwrap();
            deletion.execute("UPDATE meta SET rev = rev + 1 WHERE id = 1", &[]).await.unwrap();
            deletion.execute("DELETE FROM documents WHERE name = 'a'", &[]).await.unwrap();
            let committing = async {
                // Time for the migration to reach the copy; if it does not, the test passes anyway.
                tokio::time::sleep(Duration::from_millis(300)).await;
                deletion.commit().await.unwrap();
            };
            let (migrated, ()) = tokio::join!(run(&database, Timestamp(2)), committing);
            migrated.unwrap();
            assert!(texts(&database, "SELECT name FROM documents").await.is_empty());
            database.close().await;
        })
        .await;
    }

    /// Writes of the version before the response cache.
    const BOOK: &str = "INSERT INTO usage (at, id, request_id, provider_id, model, provider, provider_name, endpoint, \
         user_path, auth_key_id, cache_type, status, stream, estimated, input, cache_read, cache_write_5m, cache_write_1h, \
         audio_input, output, reasoning, audio_output, cost_source, duration_us) \
         VALUES ($1, 'r', '', '', 'm', '', '', '', '/', '', '', 200, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 5)";

    fn sums_before_the_cache(table: &Table, bucket: i64) -> SqlStr {
        let added = ["saved_cost", "cache_misses", "prompt_cache_savings"];
        let names: Vec<String> = table.columns().filter(|name| !added.contains(&name.as_str())).collect();
        let value = |name: &String| match name.as_str() {
            "bucket" => bucket.to_string(),
            name if table.axes.iter().any(|axis| axis.column() == name) => "''".to_owned(),
            _ => "1".to_owned(),
        };
        let values: Vec<String> = names.iter().map(value).collect();
        sql(format!("INSERT INTO {} ({}) VALUES ({})", table.name, names.join(", "), values.join(", ")))
    }

    #[tokio::test]
    async fn rows_and_sums_of_the_version_before_the_cache_have_defaults() {
        for_each_database(|backend| async move {
            let database = Database::open(&backend, Duration::from_secs(20)).await.unwrap();
            let before = MIGRATIONS.iter().position(|(name, _)| *name == "response_cache").unwrap();
            apply(&database, &MIGRATIONS[..before], Timestamp(1)).await.unwrap();
            let write = async |number: i64| {
                database.execute(BOOK, &[number.into()]).await.unwrap();
                for table in &TABLES {
                    database.execute(sums_before_the_cache(table, number), &[]).await.unwrap();
                }
            };
            write(900).await;
            run(&database, Timestamp(2)).await.unwrap();
            // A process of the version before may still be running.
            write(1800).await;
            let count = async |table: &str, condition: &str| -> i64 {
                let query = sql(format!("SELECT COUNT(*) FROM {table} WHERE {condition}"));
                database.fetch(query, &[]).await.unwrap()[0].get(0).unwrap()
            };
            let unset = "saved_cost IS NULL AND cache_miss = 0 AND prompt_cache_savings IS NULL";
            assert_eq!(count("usage", unset).await, 2);
            for table in &TABLES {
                let unset = count(table.name, "saved_cost + cache_misses + prompt_cache_savings = 0").await;
                assert_eq!(unset, 2, "{}", table.name);
            }
            database.close().await;
        })
        .await;
    }
}
