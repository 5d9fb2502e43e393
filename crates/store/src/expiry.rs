//! Deletes expired rows in bounded steps along an index, with pauses in which other writers proceed.
//!
//! A step begins at the time where the last one ended. PostgreSQL keeps deleted rows in the index until they are vacuumed;
//! a search from the beginning would read all of them again, and each step would take longer than the one before.

#[cfg(test)]
mod tests;

use std::time::Duration;

use domain::clock::Timestamp;
use sqlx::SqlStr;

use crate::StoreError;
use crate::database::{Database, Row, Writing, sql};

/// Rows of small tables that are deleted in one step.
pub(crate) const SMALL_ROWS: i64 = 1000;
/// Rows with long texts that are deleted in one step.
pub(crate) const LARGE_ROWS: i64 = 200;
/// The pause after a step.
const PAUSE: Duration = Duration::from_millis(10);

/// A table whose rows expire, and the index by which they are found.
pub(crate) struct ExpiringTable {
    pub name: &'static str,
    /// The column that is compared with the time; an index begins with it.
    pub time: &'static str,
    /// The columns of the primary key.
    pub key: &'static str,
}

impl ExpiringTable {
    /// Deletes the rows whose time is before this one, `most` in a step; returns how many. Ends early if another process
    /// deletes rows of this table.
    pub async fn delete_before(
        &self,
        database: &Database,
        before: Timestamp,
        most: i64,
    ) -> Result<u64, StoreError> {
        let (most, mut from, mut deleted) = (most.max(1), i64::MIN, 0);
        while let Some(step) = self.step(database, from, before, most).await? {
            deleted += step.deleted;
            if step.deleted < most.unsigned_abs() {
                break;
            }
            from = step.last;
            tokio::time::sleep(PAUSE).await;
        }
        Ok(deleted)
    }

    /// Deletes the rows whose time has come by `now`, as `delete_before` does.
    pub async fn delete_expired(
        &self,
        database: &Database,
        now: Timestamp,
        most: i64,
    ) -> Result<u64, StoreError> {
        self.delete_before(database, Timestamp(now.micros().saturating_add(1)), most).await
    }

    /// Deletes at most `most` rows, oldest first, from a time on; `None` if another process is at it.
    async fn step(
        &self,
        database: &Database,
        from: i64,
        before: Timestamp,
        most: i64,
    ) -> Result<Option<Step>, StoreError> {
        database
            .limited(async {
                let mut open = database.begin().await?;
                if !self.lock(&mut open).await? {
                    return Ok(None);
                }
                let values = [from.into(), before.micros().into(), most.into()];
                let rows = open.fetch(self.statement(), &values).await?;
                open.commit().await?;
                let times: Vec<i64> = rows.iter().map(|row: &Row| row.get(0)).collect::<Result<_, _>>()?;
                let last = times.iter().copied().max().unwrap_or(from);
                Ok(Some(Step { deleted: times.len() as u64, last }))
            })
            .await
    }

    /// Takes the lock of this table until the transaction ends: two processes would wait for each other's rows.
    async fn lock(&self, open: &mut Writing) -> Result<bool, StoreError> {
        const TRY: &str = "SELECT CAST(pg_try_advisory_xact_lock(1734439013, hashtext($1)) AS TEXT)";
        if !open.is_postgres() {
            return Ok(true);
        }
        let rows = open.fetch(TRY, &[self.name.into()]).await?;
        Ok(rows.first().ok_or(StoreError::NotFound)?.get::<String>(0)? == "true")
    }

    /// The time is compared again for each row, because a row may have been renewed since it was found; with a sign, so
    /// that this comparison is not taken for a reason to search by time.
    fn statement(&self) -> SqlStr {
        let Self { name, time, key } = self;
        sql(format!(
            "DELETE FROM {name} WHERE +{time} < $2 AND ({key}) IN (SELECT {key} FROM {name} \
             WHERE {time} >= $1 AND {time} < $2 ORDER BY {time} LIMIT $3) RETURNING {time}"
        ))
    }
}

struct Step {
    deleted: u64,
    /// The time of the last row.
    last: i64,
}
