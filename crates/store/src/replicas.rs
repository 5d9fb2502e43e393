//! The processes on a PostgreSQL database: each registers itself and renews its row by heartbeats.

#[cfg(test)]
mod tests;

use std::time::Duration;

use domain::clock::Timestamp;

use crate::change_notices::{self, ChangedData};
use crate::database::{Database, Row, Value};
use crate::journal::Lag;
use crate::{Store, StoreError};

/// A replica counts as live for this time after its last heartbeat.
pub const LIVE_FOR: Duration = Duration::from_secs(5);
/// Rows of vanished replicas are kept for this time, because they name the journal that is still to be drained.
pub const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// A process on the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// The name of its journal directory, which no other process has.
    pub journal: String,
    pub host: String,
    pub pid: u32,
    pub version: String,
    pub started_at: Timestamp,
    /// True while it finishes its last calls.
    pub draining: bool,
    /// The records of its journal that the database did not have at the last heartbeat.
    pub lag: Lag,
}

/// A registered process and its last heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredReplica {
    pub replica: Replica,
    /// By the clock of the database server.
    pub heartbeat_at: Timestamp,
    /// The time since then.
    pub silent_for: Duration,
}

impl RegisteredReplica {
    pub fn is_live(&self) -> bool {
        self.silent_for < LIVE_FOR
    }
}

/// The table of replicas. Clones share the database.
#[derive(Clone)]
pub struct Replicas {
    database: Database,
}

/// The time of the database server in microseconds.
macro_rules! now {
    () => {
        "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
    };
}

impl Replicas {
    pub(crate) fn new(database: Database) -> Self {
        Self { database }
    }

    /// Whether there can be other replicas. A SQLite database belongs to one.
    pub fn is_shared(&self) -> bool {
        self.database.is_postgres()
    }

    /// Registers a replica or renews its row; returns the number of live ones, this one included.
    pub async fn beat(&self, replica: &Replica) -> Result<u32, StoreError> {
        // The statement sees the rows as they were before it, so that the own row is not counted but added.
        const BEAT: &str = concat!(
            "WITH clock AS (SELECT ",
            now!(),
            " AS now), beat AS (INSERT INTO replicas (journal, host, pid, version, started_at, heartbeat_at, draining, \
             lag_bytes, lag_records, lag_since) SELECT $1, $2, $3, $4, $5, now, $6, $7, $8, $9 FROM clock \
             ON CONFLICT (journal) DO UPDATE SET heartbeat_at = excluded.heartbeat_at, draining = excluded.draining, \
             lag_bytes = excluded.lag_bytes, lag_records = excluded.lag_records, lag_since = excluded.lag_since) \
             SELECT COUNT(*) FROM replicas, clock WHERE journal <> $1 AND heartbeat_at > now - $10"
        );
        if !self.is_shared() {
            return Ok(1);
        }
        let number = |value: u64| Value::from(i64::try_from(value).unwrap_or(i64::MAX));
        let values = [
            Value::from(&replica.journal),
            (&replica.host).into(),
            i64::from(replica.pid).into(),
            (&replica.version).into(),
            replica.started_at.micros().into(),
            i64::from(replica.draining).into(),
            number(replica.lag.bytes),
            number(replica.lag.records),
            replica.lag.oldest.map(Timestamp::micros).into(),
            number(LIVE_FOR.as_micros() as u64),
        ];
        let rows = self.database.fetch(BEAT, &values).await?;
        change_notices::announce_committed(&self.database, ChangedData::Replicas).await?;
        let others: i64 = rows.first().ok_or(StoreError::NotFound)?.get(0)?;
        Ok(u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1))
    }

    /// All registered replicas, those that started first before the others.
    pub async fn list(&self) -> Result<Vec<RegisteredReplica>, StoreError> {
        const LIST: &str = concat!(
            "SELECT journal, host, pid, version, started_at, draining, lag_bytes, lag_records, lag_since, heartbeat_at, ",
            now!(),
            " - heartbeat_at FROM replicas ORDER BY started_at, journal"
        );
        if !self.is_shared() {
            return Ok(Vec::new());
        }
        self.database.fetch(LIST, &[]).await?.iter().map(read).collect()
    }

    /// Removes the row of a replica: at its orderly stop, and when its journal was drained.
    pub async fn remove(&self, journal: &str) -> Result<(), StoreError> {
        if self.is_shared() {
            self.database.execute("DELETE FROM replicas WHERE journal = $1", &[journal.into()]).await?;
        }
        Ok(())
    }

    /// Removes the rows of replicas that vanished long ago; returns how many.
    pub async fn forget_vanished(&self) -> Result<u64, StoreError> {
        const FORGET: &str = concat!("DELETE FROM replicas WHERE heartbeat_at < ", now!(), " - $1");
        if !self.is_shared() {
            return Ok(0);
        }
        self.database.execute(FORGET, &[(KEPT_FOR.as_micros() as i64).into()]).await
    }
}

impl Store {
    pub fn replicas(&self) -> Replicas {
        Replicas::new(self.database().clone())
    }
}

fn read(row: &Row) -> Result<RegisteredReplica, StoreError> {
    let number = |index| row.get::<i64>(index).map(|value| value.max(0).unsigned_abs());
    let lag =
        Lag { bytes: number(6)?, records: number(7)?, oldest: row.get::<Option<i64>>(8)?.map(Timestamp) };
    Ok(RegisteredReplica {
        replica: Replica {
            journal: row.get(0)?,
            host: row.get(1)?,
            pid: u32::try_from(row.get::<i64>(2)?).unwrap_or_default(),
            version: row.get(3)?,
            started_at: Timestamp(row.get(4)?),
            draining: row.get::<i64>(5)? != 0,
            lag,
        },
        heartbeat_at: Timestamp(row.get(9)?),
        silent_for: Duration::from_micros(number(10)?),
    })
}
