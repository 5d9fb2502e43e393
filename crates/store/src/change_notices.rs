//! Notices of committed changes to the other processes on a PostgreSQL database, by NOTIFY and LISTEN.
//!
//! A notice only says where to look: who misses one finds the change when polling.

#[cfg(test)]
mod tests;

use std::time::Duration;

use sqlx::postgres::{PgListener, PgPool};

use crate::database::{Database, Writing};
use crate::{Store, StoreError};

const CHANNEL: &str = "gatehouse_changes";
const NOTIFY: &str = "SELECT CAST(pg_notify($1, $2) AS TEXT)";
/// A connection without notices is checked at this interval: one that was cut off without a word looks like silence.
const PROBE_INTERVAL: Duration = Duration::from_secs(10);
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// The data that a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedData {
    /// Documents: keys, users, tenants, routes, budgets, settings and all others.
    Documents,
    /// Sessions and revoked tokens.
    Sessions,
    /// Entries of the semantic cache.
    SemanticCache,
    /// Budget leases: a call found no room, so that what is free in leases has to be given back.
    BudgetLeases,
    /// Heartbeats of replicas. They also show that notices arrive: a connection pooler may swallow them.
    Replicas,
}

impl ChangedData {
    pub const ALL: [Self; 5] =
        [Self::Documents, Self::Sessions, Self::SemanticCache, Self::BudgetLeases, Self::Replicas];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::Sessions => "sessions",
            Self::SemanticCache => "semantic_cache",
            Self::BudgetLeases => "budget_leases",
            Self::Replicas => "replicas",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|data| data.as_str() == text)
    }
}

/// Notifies the other processes when the transaction is committed. Does nothing on SQLite.
pub(crate) async fn announce(open: &mut Writing, data: ChangedData) -> Result<(), StoreError> {
    if open.is_postgres() {
        open.fetch(NOTIFY, &[CHANNEL.into(), data.as_str().into()]).await?;
    }
    Ok(())
}

/// Notifies the other processes of a change that is committed already. Does nothing on SQLite.
pub(crate) async fn announce_committed(database: &Database, data: ChangedData) -> Result<(), StoreError> {
    if database.is_postgres() {
        database.fetch(NOTIFY, &[CHANNEL.into(), data.as_str().into()]).await?;
    }
    Ok(())
}

/// A connection that receives notices.
pub struct ChangeListener {
    listener: PgListener,
    /// Owns the connection.
    _pool: PgPool,
}

impl ChangeListener {
    pub(crate) async fn connect(database: &Database) -> Result<Option<Self>, StoreError> {
        let Some(pool) = database.single_connection() else { return Ok(None) };
        database
            .limited(async {
                let mut listener = PgListener::connect_with(&pool).await?;
                // Reconnected by the caller, who has to look for changes that it missed.
                listener.eager_reconnect(false);
                listener.listen(CHANNEL).await?;
                Ok(Some(Self { listener, _pool: pool }))
            })
            .await
    }

    /// Waits for the next notice. After an error, another listener has to be connected.
    pub async fn next(&mut self) -> Result<ChangedData, StoreError> {
        loop {
            match tokio::time::timeout(PROBE_INTERVAL, self.listener.try_recv()).await {
                // Cancelled while it waits: bytes that were read stay in the buffer of the connection.
                Err(_) => self.probe().await?,
                Ok(Ok(Some(notice))) => match ChangedData::parse(notice.payload()) {
                    Some(data) => return Ok(data),
                    // Of a newer version.
                    None => tracing::debug!(payload = notice.payload(), "unknown change notice"),
                },
                Ok(Ok(None)) => return Err(StoreError::Unavailable("the connection was closed".into())),
                Ok(Err(error)) => return Err(error.into()),
            }
        }
    }

    async fn probe(&mut self) -> Result<(), StoreError> {
        let probe = sqlx::query("SELECT 1").execute(&mut self.listener);
        match tokio::time::timeout(PROBE_TIMEOUT, probe).await {
            Ok(answered) => Ok(answered.map(drop)?),
            Err(_) => Err(StoreError::Unavailable("the connection does not answer".into())),
        }
    }
}

impl Store {
    /// Connects to the notices of other processes; `None` on SQLite, which has none.
    pub async fn listen_for_changes(&self) -> Result<Option<ChangeListener>, StoreError> {
        ChangeListener::connect(self.database()).await
    }
}
