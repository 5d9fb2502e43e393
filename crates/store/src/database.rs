//! One SQL interface to SQLite and PostgreSQL: a pool of either, behind the few operations that this crate needs.

mod connection_thread;
pub(crate) mod sqlite;
mod writer;

use std::pin::Pin;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::types::{FromSql, ValueRef};
use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgRow, Postgres};
use sqlx::{
    Arguments as _, AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, SqlSafeStr, SqlStr,
    Transaction,
};

pub(crate) use self::connection_thread::pause;
use self::sqlite::{PooledConnection, SqlitePool, StoredRow};
pub(crate) use self::writer::Writer;
use crate::{Backend, StoreError};

const SQLITE_READERS: u32 = 2;
/// Idle time after which a reader connection is closed to free its memory.
const READER_IDLE: Duration = Duration::from_secs(60);
const POSTGRES_CONNECTIONS: u32 = 8;

/// The future of a database operation. Its type is erased, because those of the drivers are deep, and the future of every caller would
/// contain them.
pub(crate) type DatabaseFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A bound value: integer, text or bytes. Booleans are 0 and 1, times are microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Integer(Option<i64>),
    Text(Option<&'a str>),
    Bytes(&'a [u8]),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(Some(value))
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(value: Option<i64>) -> Self {
        Self::Integer(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(Some(value))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(Some(value))
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Bytes(value)
    }
}

impl<'a> From<&'a Arc<str>> for Value<'a> {
    fn from(value: &'a Arc<str>) -> Self {
        Self::Text(Some(value))
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(value: Option<&'a str>) -> Self {
        Self::Text(value)
    }
}

pub(crate) enum Row {
    Sqlite(StoredRow),
    Postgres(PgRow),
}

/// Types that a column can be read as.
pub(crate) trait ColumnValue:
    FromSql + for<'r> sqlx::Decode<'r, Postgres> + sqlx::Type<Postgres>
{
}
impl ColumnValue for i64 {}
impl ColumnValue for String {}
impl ColumnValue for Option<i64> {}
impl ColumnValue for Option<String> {}
impl ColumnValue for Vec<u8> {}

impl Row {
    pub fn get<T: ColumnValue>(&self, index: usize) -> Result<T, StoreError> {
        Ok(match self {
            Self::Sqlite(row) => {
                let missing = || StoreError::Corrupt(format!("a row has no column {index}"));
                let unreadable = |error| StoreError::Corrupt(format!("column {index} of a row: {error}"));
                let value = row.get(index).ok_or_else(missing)?;
                T::column_result(ValueRef::from(value)).map_err(unreadable)?
            }
            Self::Postgres(row) => row.try_get(index)?,
        })
    }
}

#[derive(Clone)]
pub(crate) struct Database {
    pool: Pool,
    limit: Duration,
}

#[derive(Clone)]
enum Pool {
    /// SQLite: a single writer connection, so that writers queue here instead of contending for SQLite's lock, and the
    /// long statements of the drainer are prepared once. Readers are opened on demand and closed when idle.
    Sqlite {
        writer: SqlitePool,
        readers: SqlitePool,
    },
    Postgres(PgPool),
}

/// A read transaction: all of its statements see the same state of the database.
pub(crate) struct Snapshot {
    open: OpenSnapshot,
    limit: Duration,
}

enum OpenSnapshot {
    Sqlite(PooledConnection),
    Postgres(Transaction<'static, Postgres>),
}

/// A write transaction; dropping it rolls back.
pub(crate) enum Writing {
    Sqlite(PooledConnection),
    Postgres(Transaction<'static, Postgres>),
}

/// Runs a statement on an executor of PostgreSQL; the only place that handles its argument type.
macro_rules! run {
    ($verb:ident, $sql:expr, $values:expr, $executor:expr) => {{
        let mut arguments = PgArguments::default();
        arguments.reserve($values.len(), $values.len() * 16);
        for value in $values {
            match value {
                Value::Integer(value) => arguments.add(*value),
                Value::Text(value) => arguments.add(*value),
                Value::Bytes(value) => arguments.add(*value),
            }
            .map_err(sqlx::Error::Encode)?;
        }
        sqlx::query_with($sql, arguments).$verb($executor).await?
    }};
}

impl Database {
    pub async fn open(backend: &Backend, limit: Duration) -> Result<Self, StoreError> {
        let opening = async {
            Ok(match backend {
                Backend::Sqlite { path } => open_sqlite(path, limit).await?,
                Backend::Postgres { url } => Pool::Postgres(open_postgres(url.reveal(), limit).await?),
            })
        };
        let pool = limited(limit, opening).await.map_err(|error| named(backend, error))?;
        Ok(Self { pool, limit })
    }

    pub fn name(&self) -> &'static str {
        match self.pool {
            Pool::Sqlite { .. } => "sqlite",
            Pool::Postgres(_) => "postgres",
        }
    }

    pub fn is_postgres(&self) -> bool {
        matches!(self.pool, Pool::Postgres(_))
    }

    pub async fn close(&self) {
        match &self.pool {
            Pool::Sqlite { writer, readers } => {
                readers.close().await;
                writer.close().await;
            }
            Pool::Postgres(pool) => pool.close().await,
        }
    }

    pub fn fetch<'a>(
        &'a self,
        sql: impl SqlSafeStr,
        values: &'a [Value<'a>],
    ) -> DatabaseFuture<'a, Vec<Row>> {
        let sql = sql.into_sql_str();
        Box::pin(self.limited(async move {
            Ok(match &self.pool {
                Pool::Sqlite { readers, .. } => rows(readers.fetch(sql, values).await?),
                Pool::Postgres(pool) => {
                    run!(fetch_all, sql, values, pool).into_iter().map(Row::Postgres).collect()
                }
            })
        }))
    }

    pub fn execute<'a>(&'a self, sql: impl SqlSafeStr, values: &'a [Value<'a>]) -> DatabaseFuture<'a, u64> {
        let sql = sql.into_sql_str();
        Box::pin(self.limited(async move {
            Ok(match &self.pool {
                Pool::Sqlite { writer, .. } => writer.execute(sql, values).await?,
                Pool::Postgres(pool) => run!(execute, sql, values, pool).rows_affected(),
            })
        }))
    }

    /// A pool of one PostgreSQL connection, opened on demand; `None` for SQLite.
    pub fn single_connection(&self) -> Option<PgPool> {
        let Pool::Postgres(pool) = &self.pool else { return None };
        let options = pool.connect_options().as_ref().clone();
        let single = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        Some(single.acquire_timeout(self.limit).connect_lazy_with(options))
    }

    /// Acquires all reader connections of SQLite, as long reports do.
    #[cfg(test)]
    pub async fn occupy_readers(&self) -> Vec<PooledConnection> {
        let mut held = Vec::new();
        if let Pool::Sqlite { readers, .. } = &self.pool {
            for _ in 0..SQLITE_READERS {
                held.push(readers.acquire().await.unwrap());
            }
        }
        held
    }

    /// Starts a read transaction; the first statement determines the state that all of them see.
    pub fn snapshot(&self) -> DatabaseFuture<'_, Snapshot> {
        let open = self.limited(async {
            Ok(match &self.pool {
                Pool::Sqlite { readers, .. } => OpenSnapshot::Sqlite(begin_sqlite(readers, "BEGIN").await?),
                Pool::Postgres(pool) => OpenSnapshot::Postgres(
                    begin_postgres(pool, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?,
                ),
            })
        });
        Box::pin(async { Ok(Snapshot { open: open.await?, limit: self.limit }) })
    }

    /// Starts a write transaction.
    pub fn begin(&self) -> DatabaseFuture<'_, Writing> {
        Box::pin(async {
            Ok(match &self.pool {
                Pool::Sqlite { writer, .. } => Writing::Sqlite(begin_sqlite(writer, BEGIN_SQLITE).await?),
                Pool::Postgres(pool) => Writing::Postgres(begin_postgres(pool, "BEGIN").await?),
            })
        })
    }

    /// Runs work with write transactions. On SQLite it runs on the thread of the writer connection, to which each statement would
    /// have to be handed over otherwise, with its values; it waits for nothing else then. If the operation timeout
    /// expires, the caller no longer waits, and the work goes on. On PostgreSQL, `work` limits its transactions itself.
    pub async fn on_writer<T: Send + 'static>(
        &self,
        work: impl FnOnce(Writer) -> DatabaseFuture<'static, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.pool {
            Pool::Sqlite { writer, .. } => {
                self.limited(writer.run(|connection| writer::now(work(Writer::Here(connection))))).await
            }
            Pool::Postgres(_) => work(Writer::Pool(self.clone())).await,
        }
    }

    /// Applies the operation timeout; a transaction inside is rolled back by being dropped.
    pub async fn limited<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        limited(self.limit, work).await
    }
}

/// SQLite takes its write lock at once, so that a transaction never fails halfway because of it.
const BEGIN_SQLITE: &str = "BEGIN IMMEDIATE";

impl Snapshot {
    /// Like `Database::fetch`, with the operation timeout for each statement.
    pub fn fetch<'a>(
        &'a mut self,
        sql: impl SqlSafeStr,
        values: &'a [Value<'a>],
    ) -> DatabaseFuture<'a, Vec<Row>> {
        let sql = sql.into_sql_str();
        let open = &mut self.open;
        Box::pin(limited(self.limit, async move {
            Ok(match open {
                OpenSnapshot::Sqlite(open) => rows(open.fetch(sql, values).await?),
                OpenSnapshot::Postgres(open) => {
                    run!(fetch_all, sql, values, &mut **open).into_iter().map(Row::Postgres).collect()
                }
            })
        }))
    }

    /// Ends the transaction, so that its connection can be used again at once.
    pub fn end(self) -> DatabaseFuture<'static, ()> {
        let Self { open, limit } = self;
        Box::pin(limited(limit, async {
            match open {
                OpenSnapshot::Sqlite(open) => open.finish(|open| sqlite::end(open, "ROLLBACK")).await?,
                OpenSnapshot::Postgres(open) => open.rollback().await?,
            }
            Ok(())
        }))
    }
}

impl Writing {
    pub fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    pub fn fetch<'a>(
        &'a mut self,
        sql: impl SqlSafeStr,
        values: &'a [Value<'a>],
    ) -> DatabaseFuture<'a, Vec<Row>> {
        let sql = sql.into_sql_str();
        Box::pin(async move {
            Ok(match self {
                Self::Sqlite(open) => rows(open.fetch(sql, values).await?),
                Self::Postgres(open) => {
                    run!(fetch_all, sql, values, &mut **open).into_iter().map(Row::Postgres).collect()
                }
            })
        })
    }

    pub fn execute<'a>(
        &'a mut self,
        sql: impl SqlSafeStr,
        values: &'a [Value<'a>],
    ) -> DatabaseFuture<'a, u64> {
        let sql = sql.into_sql_str();
        Box::pin(async move {
            Ok(match self {
                Self::Sqlite(open) => open.execute(sql, values).await?,
                Self::Postgres(open) => run!(execute, sql, values, &mut **open).rows_affected(),
            })
        })
    }

    /// Executes several statements without values, such as a migration.
    pub async fn script(&mut self, sql: SqlStr) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(open) => open.run(move |open| open.execute_batch(sql.as_str())).await?,
            Self::Postgres(open) => sqlx::raw_sql(sql).execute(&mut **open).await.map(|_| ())?,
        }
        Ok(())
    }

    pub fn commit(self) -> DatabaseFuture<'static, ()> {
        Box::pin(async {
            match self {
                Self::Sqlite(open) => open.finish(|open| sqlite::end(open, "COMMIT")).await?,
                Self::Postgres(open) => open.commit().await?,
            }
            Ok(())
        })
    }
}

fn rows(stored: Vec<StoredRow>) -> Vec<Row> {
    stored.into_iter().map(Row::Sqlite).collect()
}

async fn limited<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(limit, work).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::Unavailable(format!("no answer within {} ms", limit.as_millis()))),
    }
}

/// `(?, ?), (?, ?)`, numbered for PostgreSQL only: SQLite looks up numbered parameters by linear search.
pub(crate) fn placeholders(columns: usize, rows: usize, postgres: bool) -> String {
    let mut text = String::with_capacity(columns * rows * 7);
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..columns {
            if column > 0 {
                text.push_str(", ");
            }
            if postgres {
                text.push_str(&format!("${}", row * columns + column + 1));
            } else {
                text.push('?');
            }
        }
        text.push(')');
    }
    text
}

/// Marks SQL as safe; it is composed of our own texts only.
pub(crate) fn sql(text: String) -> SqlStr {
    AssertSqlSafe(Arc::<str>::from(text)).into_sql_str()
}

/// Starts a transaction, in a task of its own: if a caller is cancelled meanwhile, the transaction is started and rolled
/// back. sqlx would return the connection to the pool inside of a transaction that it does not know.
#[expect(clippy::disallowed_methods, reason = "ends by itself and needs no tracking")]
async fn begin_postgres(
    pool: &PgPool,
    statement: &'static str,
) -> Result<Transaction<'static, Postgres>, StoreError> {
    let pool = pool.clone();
    let begun = tokio::spawn(async move { pool.begin_with(statement).await });
    Ok(begun.await.map_err(|error| StoreError::Failed(error.to_string()))??)
}

/// Starts a transaction. If it cannot be, or its caller is cancelled, the connection is free again.
async fn begin_sqlite(pool: &SqlitePool, statement: &'static str) -> Result<PooledConnection, StoreError> {
    let mut connection = pool.acquire().await?;
    connection.execute(statement.into_sql_str(), &[]).await?;
    Ok(connection)
}

async fn open_sqlite(path: &std::path::Path, limit: Duration) -> Result<Pool, StoreError> {
    let refused =
        |error: std::io::Error| StoreError::Unavailable(format!("cannot open {}: {error}", path.display()));
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(refused)?;
    }
    create_private(path).map_err(refused)?;
    let writer = SqlitePool::writer(path, limit);
    // Opened now, so that a database that cannot be used is reported at the start.
    drop(writer.acquire().await?);
    let readers = SqlitePool::readers(path, limit, SQLITE_READERS, READER_IDLE);
    Ok(Pool::Sqlite { writer, readers })
}

/// Creates the database file with mode 0600; SQLite gives its side files the same mode.
fn create_private(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(|_| ())
}

/// Adds the server address to an error, but never the password, because the URL may come from various places.
fn named(backend: &Backend, error: StoreError) -> StoreError {
    let Backend::Postgres { url } = backend else { return error };
    let Ok(options) = PgConnectOptions::from_str(url.reveal()) else { return error };
    let server = format!(
        "PostgreSQL at {}:{}, database {}",
        options.get_host(),
        options.get_port(),
        options.get_database().unwrap_or_else(|| options.get_username())
    );
    match error {
        StoreError::Unavailable(reason) => StoreError::Unavailable(format!("{server}: {reason}")),
        StoreError::Failed(reason) => StoreError::Failed(format!("{server}: {reason}")),
        other => other,
    }
}

async fn open_postgres(url: &str, limit: Duration) -> Result<PgPool, StoreError> {
    let options = PgConnectOptions::from_str(url)
        .map_err(|error| StoreError::Failed(format!("the PostgreSQL URL cannot be read: {error}")))?
        .application_name("gatehouse")
        .disable_statement_logging();
    // A pool retries until its timeout and then reports only that; a separate connection yields the actual reason.
    PgConnection::connect_with(&options).await?.close().await?;
    let pool = PgPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(limit)
        .connect_with(options)
        .await?;
    Ok(pool)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use domain::secret::Secret;

    use super::*;

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "real time passes while a real socket is refused")]
    async fn a_refused_postgres_connection_fails_at_once_and_names_the_server() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let url = Secret::new(format!("postgres://user:hush@127.0.0.1:{port}/orders"));
        let started = Instant::now();
        let error = Database::open(&Backend::Postgres { url }, Duration::from_secs(5)).await.err().unwrap();
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        let text = error.to_string();
        assert!(text.contains(&format!("PostgreSQL at 127.0.0.1:{port}, database orders")), "{text}");
        assert!(text.contains("refused") && !text.contains("hush"), "{text}");
    }
}
