//! Retention: deletes the oldest rows of each chain in batches and moves the start of the chain.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::clock::Timestamp;

use super::Audit;
use super::append::{self, bucket};
use super::chain::ChainRecord;
use crate::StoreError;
use crate::database::sql;

/// Maximum number of failures per run before storage is considered unavailable.
const MOST_FAILURES: u32 = 5;
/// The pause after a batch, in which other writers proceed.
const PAUSE: Duration = Duration::from_millis(10);

impl Audit {
    /// Deletes entries of calls before a time, `batch` at a time. A chain is only cut at its start: an older entry
    /// behind a newer one is deleted together with it.
    pub async fn delete_before(&self, before: Timestamp, batch: i64) -> Result<u64, StoreError> {
        let batch = batch.max(1);
        let (mut deleted, mut failures) = (0, 0);
        for chain in self.nonempty().await? {
            loop {
                match self.database.limited(self.cut(&chain, before, batch)).await {
                    Ok(count) => {
                        deleted += count;
                        if count < batch as u64 {
                            break;
                        }
                        tokio::time::sleep(PAUSE).await;
                    }
                    // Another process may be working on the chain: retry a few times.
                    Err(error @ StoreError::Unavailable(_)) if failures < MOST_FAILURES => {
                        failures += 1;
                        tracing::debug!(%error, chain, "audit retention of a chain failed, retrying");
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(deleted)
    }

    async fn nonempty(&self) -> Result<Vec<String>, StoreError> {
        let text = "SELECT chain FROM audit_chains WHERE first_sequence < length ORDER BY number";
        self.database.fetch(text, &[]).await?.iter().map(|row| row.get(0)).collect()
    }

    async fn cut(&self, chain: &str, before: Timestamp, batch: i64) -> Result<u64, StoreError> {
        const OLDEST: &str = "SELECT at, sequence, hash FROM audit WHERE chain = $1 AND sequence >= $2 \
            ORDER BY sequence LIMIT $3";
        // From the first row on: PostgreSQL keeps earlier ones in the index until they are vacuumed.
        const DELETE: &str = "DELETE FROM audit WHERE chain = $1 AND sequence >= $2 AND sequence < $3";
        let mut open = self.database.begin().await?;
        let Some(old) = append::record(&mut open, chain).await? else { return Ok(0) };
        let rows = open.fetch(OLDEST, &[chain.into(), old.first_sequence.into(), batch.into()]).await?;
        let mut new = old.clone();
        let mut counts = BTreeMap::new();
        for row in &rows {
            let at: i64 = row.get(0)?;
            if at >= before.micros() {
                break;
            }
            new.first_sequence = row.get::<i64>(1)? + 1;
            new.anchor = row.get(2)?;
            *counts.entry(bucket(at)).or_insert(0) -= 1;
        }
        if new.first_sequence == old.first_sequence {
            return Ok(0);
        }
        // A record that was tampered with must not be sealed again.
        if self.key.seal(&old) != old.seal {
            tracing::error!(chain, "audit chain record does not match its seal, keeping its rows");
            return Ok(0);
        }
        let range = [chain.into(), old.first_sequence.into(), new.first_sequence.into()];
        let deleted = open.execute(DELETE, &range).await?;
        new.seal = self.key.seal(&new);
        if append::update(&mut open, &new, &old).await? != 1 {
            return Err(append::overtaken());
        }
        append::add(&mut open, &counts).await?;
        if let Some((last, _)) = counts.last_key_value() {
            let empty = "DELETE FROM audit_counts WHERE bucket <= $1 AND entries <= 0";
            open.execute(empty, &[(*last).into()]).await?;
        }
        open.commit().await?;
        Ok(deleted)
    }

    pub(super) async fn chains(&self) -> Result<Vec<ChainRecord>, StoreError> {
        let text = sql(format!("SELECT {} FROM audit_chains ORDER BY number", ChainRecord::COLUMNS));
        self.database.fetch(text, &[]).await?.iter().map(ChainRecord::read).collect()
    }
}
