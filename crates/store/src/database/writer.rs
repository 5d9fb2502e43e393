//! Where write transactions run: from a pool, or on the thread of the SQLite connection that writes.

use std::task::{Context, Poll, Waker};

use sqlx::SqlSafeStr as _;

use super::sqlite::LocalConnection;
use super::{BEGIN_SQLITE, Database, DatabaseFuture, Writing};
use crate::StoreError;

/// Starts write transactions.
#[derive(Clone)]
pub(crate) enum Writer {
    Pool(Database),
    /// On the thread of the SQLite connection that writes.
    Here(LocalConnection),
}

impl Writer {
    pub async fn begin(&self) -> Result<Writing, StoreError> {
        match self {
            Self::Pool(database) => database.begin().await,
            Self::Here(connection) => {
                let mut open = connection.transaction();
                open.execute(BEGIN_SQLITE.into_sql_str(), &[]).await?;
                Ok(Writing::Sqlite(open))
            }
        }
    }

    /// Runs work that blocks, such as reading a file.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::Pool(_) => tokio::task::spawn_blocking(work)
                .await
                .map_err(|error| StoreError::Failed(format!("a blocking task failed: {error}"))),
            Self::Here(_) => Ok(work()),
        }
    }

    /// Applies the operation timeout, which `Database::on_writer` has applied if this is the thread of the connection.
    pub async fn limited<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match self {
            Self::Pool(database) => database.limited(work).await,
            Self::Here(_) => work.await,
        }
    }
}

/// The result of a future that waits for nothing.
pub(super) fn now<T>(mut future: DatabaseFuture<'_, T>) -> Result<T, StoreError> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(StoreError::Failed("work on the thread of a connection waited".into())),
    }
}
