//! SQLite: a pool of connections, each on a thread of its own.

mod statement;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};
use sqlx::SqlStr;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) use self::statement::{StoredRow, end};
use self::statement::{execute, fetch, owned};
use super::Value;
use super::connection_thread::{ConnectionThread, JobSender, OwnConnection, ThreadOptions, pause};
use crate::StoreError;

/// Number of values of a statement that takes a fraction of a millisecond.
const MANY_VALUES: usize = 400;
/// Prepared statements that a connection keeps.
const KEPT_STATEMENTS: usize = 100;
/// The write-ahead log is copied into the database when it has this many bytes.
const CHECKPOINT: i64 = 16 << 20;

/// Connections to one database, opened when they are needed.
#[derive(Clone)]
pub(super) struct SqlitePool(Arc<Pool>);

struct Pool {
    path: PathBuf,
    /// Time limit for a free connection and for a lock of another process.
    limit: Duration,
    size: u32,
    name: &'static str,
    low_priority: bool,
    /// Idle time after which a connection is closed, to free its memory.
    idle_limit: Option<Duration>,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<(u64, ConnectionThread)>>,
    next_id: AtomicU64,
    closed: AtomicBool,
}

impl SqlitePool {
    /// A single connection for all that write, on a thread of low priority, which does not delay the threads that serve
    /// calls. It stays open, because the long statements of the drainer are prepared once.
    pub fn writer(path: &Path, limit: Duration) -> Self {
        Self::new(path, limit, "sqlite-writer", 1, None)
    }

    pub fn readers(path: &Path, limit: Duration, size: u32, idle_limit: Duration) -> Self {
        Self::new(path, limit, "sqlite-reader", size, Some(idle_limit))
    }

    fn new(
        path: &Path,
        limit: Duration,
        name: &'static str,
        size: u32,
        idle_limit: Option<Duration>,
    ) -> Self {
        Self(Arc::new(Pool {
            path: path.to_owned(),
            limit,
            size,
            name,
            low_priority: idle_limit.is_none(),
            idle_limit,
            permits: Arc::new(Semaphore::new(size as usize)),
            idle: Mutex::default(),
            next_id: AtomicU64::default(),
            closed: AtomicBool::default(),
        }))
    }

    /// Waits for a free connection.
    pub async fn acquire(&self) -> Result<PooledConnection, StoreError> {
        let slot = self.slot().await?;
        Ok(PooledConnection::Remote(slot.thread.sender(), Some(slot)))
    }

    async fn slot(&self) -> Result<PoolSlot, StoreError> {
        let pool = &self.0;
        let free = tokio::time::timeout(pool.limit, Arc::clone(&pool.permits).acquire_owned()).await;
        let permit = match free {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(closed()),
            Err(_) => {
                let reason = "no database connection was free or could be opened in time";
                return Err(StoreError::Unavailable(reason.into()));
            }
        };
        if pool.closed.load(Ordering::SeqCst) {
            return Err(closed());
        }
        let idle = pool.idle.lock().pop();
        let (id, thread) = match idle {
            Some(idle) => idle,
            None => pool.open().await?,
        };
        Ok(PoolSlot { pool: Arc::clone(pool), id, thread, permit })
    }

    /// Executes a statement on a free connection and returns the number of changed rows.
    pub async fn execute(&self, sql: SqlStr, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let values = owned(values);
        self.acquire().await?.finish(move |connection| execute(connection, sql.as_str(), &values)).await
    }

    pub async fn fetch(&self, sql: SqlStr, values: &[Value<'_>]) -> Result<Vec<StoredRow>, StoreError> {
        let values = owned(values);
        self.acquire().await?.finish(move |connection| fetch(connection, sql.as_str(), &values)).await
    }

    /// Runs work on the thread of a free connection, which it is given.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(LocalConnection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let slot = self.slot().await?;
        let sender = slot.thread.sender();
        let job = move |connection: &OwnConnection| {
            let result = work(LocalConnection(Arc::clone(connection)));
            (result, slot.give_back(&connection.lock()))
        };
        sender.run(job).await
    }

    /// Closes all connections, those in use when they are given back. Waits no longer than an operation may take.
    pub async fn close(&self) {
        let pool = &self.0;
        pool.closed.store(true, Ordering::SeqCst);
        let closing = async {
            let all = pool.permits.acquire_many(pool.size).await;
            let idle = std::mem::take(&mut *pool.idle.lock());
            for (_, thread) in idle {
                thread.end().await;
            }
            drop(all);
        };
        if tokio::time::timeout(pool.limit, closing).await.is_err() {
            tracing::warn!(connections = pool.name, "closing the database timed out");
        }
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the database is closed".into())
}

impl Pool {
    async fn open(self: &Arc<Self>) -> Result<(u64, ConnectionThread), StoreError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (path, limit, pool) = (self.path.clone(), self.limit, Arc::downgrade(self));
        let options =
            ThreadOptions { name: self.name, low_priority: self.low_priority, idle: self.idle_limit };
        let may_end = move || pool.upgrade().is_none_or(|pool| pool.forget(id));
        let thread = ConnectionThread::start(options, move || open_connection(&path, limit), may_end);
        Ok((id, thread.await?))
    }

    /// Removes an idle connection; false if it is in use.
    fn forget(&self, id: u64) -> bool {
        let mut idle = self.idle.lock();
        let found = idle.iter().position(|(other, _)| *other == id).map(|index| idle.swap_remove(index));
        found.is_some()
    }
}

/// A connection in use. If it is dropped, the transaction that may be open is rolled back.
pub(crate) enum PooledConnection {
    /// On its own thread, which jobs are sent to.
    Remote(JobSender, Option<PoolSlot>),
    /// On this thread, which may block.
    Local(OwnConnection),
}

/// The connection of the thread that a job runs on.
#[derive(Clone)]
pub(crate) struct LocalConnection(OwnConnection);

impl LocalConnection {
    pub fn transaction(&self) -> PooledConnection {
        PooledConnection::Local(Arc::clone(&self.0))
    }
}

/// The part of a connection that is returned to the pool.
pub(crate) struct PoolSlot {
    pool: Arc<Pool>,
    id: u64,
    thread: ConnectionThread,
    permit: OwnedSemaphorePermit,
}

impl PooledConnection {
    pub async fn run<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::Local(connection) => Ok(work(&connection.lock())?),
            Self::Remote(sender, _) => {
                let job = |connection: &OwnConnection| {
                    let result = work(&connection.lock()).map_err(StoreError::from);
                    (result, ControlFlow::Continue(()))
                };
                sender.run(job).await
            }
        }
    }

    /// Runs the last job. The connection is free again before the caller has the result.
    pub async fn finish<T: Send + 'static>(
        mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Self::Remote(sender, slot) = &mut self else { return self.run(work).await };
        let slot = slot.take();
        let last = move |connection: &OwnConnection| {
            let connection = connection.lock();
            let result = work(&connection).map_err(StoreError::from);
            (result, slot.map_or(ControlFlow::Continue(()), |slot| slot.give_back(&connection)))
        };
        sender.run(last).await
    }

    pub async fn execute(&mut self, sql: SqlStr, values: &[Value<'_>]) -> Result<u64, StoreError> {
        if let Self::Local(connection) = self {
            let changed = execute(&connection.lock(), sql.as_str(), values)?;
            if values.len() >= MANY_VALUES {
                pause();
            }
            return Ok(changed);
        }
        let values = owned(values);
        self.run(move |connection| execute(connection, sql.as_str(), &values)).await
    }

    pub async fn fetch(&mut self, sql: SqlStr, values: &[Value<'_>]) -> Result<Vec<StoredRow>, StoreError> {
        if let Self::Local(connection) = self {
            return Ok(fetch(&connection.lock(), sql.as_str(), values)?);
        }
        let values = owned(values);
        self.run(move |connection| fetch(connection, sql.as_str(), &values)).await
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        match self {
            Self::Local(connection) => _ = roll_back(&connection.lock()),
            // A job may still be running, whose caller has been cancelled.
            Self::Remote(sender, slot) => {
                if let Some(slot) = slot.take() {
                    sender.send(|connection| slot.give_back(&connection.lock()));
                }
            }
        }
    }
}

/// Rolls the transaction back that may be open; false if the state of the connection is unknown, such as after an error of the
/// disk.
fn roll_back(connection: &Connection) -> bool {
    connection.is_autocommit() || connection.execute_batch("ROLLBACK").is_ok()
}

impl PoolSlot {
    /// Returns the connection to the pool, without a transaction. A connection whose state is unknown is closed instead,
    /// which always rolls back.
    fn give_back(self, connection: &Connection) -> ControlFlow<()> {
        if !roll_back(connection) {
            return ControlFlow::Break(());
        }
        self.pool.idle.lock().push((self.id, self.thread));
        drop(self.permit);
        ControlFlow::Continue(())
    }
}

fn open_connection(path: &Path, busy: Duration) -> rusqlite::Result<Connection> {
    let connection = open_existing(path, busy)?;
    connection.execute_batch(
        "PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; \
         PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -1024; \
         PRAGMA temp_store = MEMORY",
    )?;
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT / page)?;
    connection.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
    Ok(connection)
}

/// Opens a database that exists, without changing its settings.
pub(crate) fn open_existing(path: &Path, busy: Duration) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(busy)?;
    Ok(connection)
}

#[cfg(test)]
mod tests;
