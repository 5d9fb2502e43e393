//! Tests of the pool, its threads and its statements.

use std::time::Duration;

use sqlx::SqlSafeStr as _;
use tempfile::TempDir;

use super::super::{Database, DatabaseFuture, Writer};
use super::*;
use crate::Backend;

const LIMIT: Duration = Duration::from_secs(5);

async fn database() -> (TempDir, Database) {
    let directory = tempfile::tempdir().unwrap();
    let backend = Backend::Sqlite { path: directory.path().join("store.db") };
    let database = Database::open(&backend, LIMIT).await.unwrap();
    database.execute("CREATE TABLE t (number BIGINT PRIMARY KEY, text TEXT)", &[]).await.unwrap();
    (directory, database)
}

async fn count(database: &Database) -> i64 {
    database.fetch("SELECT COUNT(*) FROM t", &[]).await.unwrap()[0].get(0).unwrap()
}

fn readers(directory: &TempDir, idle_limit: Duration) -> SqlitePool {
    SqlitePool::readers(&directory.path().join("store.db"), LIMIT, 2, idle_limit)
}

async fn nice(pool: &SqlitePool) -> i32 {
    let own = |_: &Connection| Ok(rustix::process::getpriority_process(None).unwrap());
    pool.acquire().await.unwrap().finish(own).await.unwrap()
}

#[tokio::test]
async fn only_the_writer_has_a_low_priority() {
    let (directory, _database) = database().await;
    let ours = rustix::process::getpriority_process(None).unwrap();
    let writer = SqlitePool::writer(&directory.path().join("store.db"), LIMIT);
    assert_eq!(nice(&readers(&directory, LIMIT)).await, ours);
    assert_eq!(nice(&writer).await, (ours + 5).min(19));
    assert_eq!(rustix::process::getpriority_process(None).unwrap(), ours);
}

#[tokio::test]
async fn an_idle_reader_is_closed_and_another_is_opened() {
    let (directory, _database) = database().await;
    let pool = readers(&directory, Duration::from_millis(20));
    let one = || async {
        pool.fetch("SELECT 1".into_sql_str(), &[]).await.unwrap();
        pool.0.next_id.load(Ordering::Relaxed)
    };
    assert_eq!((one().await, one().await), (1, 1), "it is used again");
    while !pool.0.idle.lock().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(one().await, 2);
}

#[tokio::test]
async fn a_transaction_that_is_dropped_is_rolled_back() {
    let (_directory, database) = database().await;
    let mut open = database.begin().await.unwrap();
    open.execute("INSERT INTO t (number) VALUES (1)", &[]).await.unwrap();
    drop(open);
    // Its caller is cancelled while it runs.
    let mut open = database.begin().await.unwrap();
    let slow = "INSERT INTO t (number) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) SELECT i FROM n";
    assert!(tokio::time::timeout(Duration::from_millis(1), open.execute(slow, &[])).await.is_err());
    drop(open);
    assert_eq!(count(&database).await, 0);
    database.execute("INSERT INTO t (number) VALUES (1)", &[]).await.unwrap();
    assert_eq!(count(&database).await, 1);
}

#[tokio::test]
async fn work_on_the_thread_of_the_writer_commits_and_rolls_back() {
    let (_directory, database) = database().await;
    for (commits, rows) in [(true, 1), (false, 1)] {
        let work = move |writer: Writer| -> DatabaseFuture<'static, String> {
            Box::pin(async move {
                let mut open = writer.begin().await?;
                open.execute("INSERT INTO t (number) VALUES ($1)", &[i64::from(commits).into()]).await?;
                if commits {
                    open.commit().await?;
                }
                writer.blocking(|| std::thread::current().name().unwrap_or_default().to_owned()).await
            })
        };
        assert_eq!(database.on_writer(work).await.unwrap(), "sqlite-writer");
        assert_eq!(count(&database).await, rows);
    }
    let waits = |_| -> DatabaseFuture<'static, ()> { Box::pin(std::future::pending()) };
    assert!(matches!(database.on_writer(waits).await, Err(StoreError::Failed(_))));
}

#[tokio::test]
async fn numbered_parameters_are_bound_by_their_numbers() {
    let (_directory, database) = database().await;
    let values = [Value::from(7), Value::from("a"), Value::from(None::<i64>)];
    let rows = database.fetch("SELECT $2, $1, $3, $2", &values).await.unwrap();
    let read = |index| rows[0].get::<Option<String>>(index);
    assert_eq!(
        (read(0), rows[0].get(1), read(2), read(3)),
        (Ok(Some("a".into())), Ok(7), Ok(None), Ok(Some("a".into())))
    );
    let rows = database.fetch("SELECT ?, ?", &values[..2]).await.unwrap();
    assert_eq!((rows[0].get(0), rows[0].get(1)), (Ok(7), Ok("a".to_owned())));
    for wrong in ["SELECT ?, ?", "SELECT $4", "SELECT $0"] {
        assert!(matches!(database.fetch(wrong, &values).await, Err(StoreError::Failed(_))), "{wrong}");
    }
}

#[tokio::test]
async fn unreadable_text_fails_where_it_is_read() {
    let (_directory, database) = database().await;
    database.execute("INSERT INTO t VALUES (1, CAST(x'ff' AS TEXT)), (2, 'b')", &[]).await.unwrap();
    let rows = database.fetch("SELECT text, number FROM t ORDER BY number", &[]).await.unwrap();
    assert!(matches!(rows[0].get::<String>(0), Err(StoreError::Corrupt(_))));
    assert!(matches!(rows[0].get::<i64>(2), Err(StoreError::Corrupt(_))));
    assert_eq!((rows[0].get(1), rows[1].get(0)), (Ok(1), Ok("b".to_owned())));
}

#[tokio::test]
async fn errors_are_classified() {
    let (directory, database) = database().await;
    database.execute("INSERT INTO t (number) VALUES (1)", &[]).await.unwrap();
    let again = database.execute("INSERT INTO t (number) VALUES (1)", &[]).await;
    assert!(matches!(again, Err(StoreError::Conflict { .. })), "{again:?}");
    let unknown = database.fetch("SELECT x FROM t", &[]).await.err().unwrap();
    assert!(matches!(&unknown, StoreError::Failed(text) if text.contains("no such column")), "{unknown:?}");
    let other = open_existing(&directory.path().join("store.db"), LIMIT).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let impatient = Backend::Sqlite { path: directory.path().join("store.db") };
    let impatient = Database::open(&impatient, Duration::from_millis(50)).await;
    let locked = match impatient {
        Ok(database) => database.begin().await.err(),
        Err(error) => Some(error),
    };
    assert!(matches!(locked, Some(StoreError::Unavailable(_))), "{locked:?}");
}

#[tokio::test]
async fn a_closed_database_is_unavailable() {
    let (directory, database) = database().await;
    count(&database).await;
    database.close().await;
    // The last connection to be closed has removed the log.
    assert!(!directory.path().join("store.db-wal").exists());
    assert!(matches!(database.fetch("SELECT 1", &[]).await, Err(StoreError::Unavailable(_))));
    assert!(matches!(database.begin().await, Err(StoreError::Unavailable(_))));
}
