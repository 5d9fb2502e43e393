//! Forgetting: the oldest rows of each chain, a few at a time, and the place where the chain now begins.

use std::collections::BTreeMap;

use domain::clock::Timestamp;

use super::Audit;
use super::append::{self, bucket};
use super::chain::ChainRecord;
use crate::StoreError;
use crate::database::sql;

impl Audit {
    /// Forgets entries of older calls, `batch` at a time. A chain loses its beginning only: an entry that stands behind a
    /// younger one goes when that one does.
    pub async fn delete_before(&self, before: Timestamp, batch: i64) -> Result<u64, StoreError> {
        let mut deleted = 0;
        for chain in self.nonempty().await? {
            loop {
                let count = self.database.limited(self.cut(&chain, before, batch.max(1))).await?;
                deleted += count;
                if count < batch.max(1) as u64 {
                    break;
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
        // Whoever has tampered with the record is not helped by a new seal.
        if self.key.seal(&old) != old.seal {
            tracing::error!(chain, "the record of an audit chain was changed: its rows stay");
            return Ok(0);
        }
        let delete = "DELETE FROM audit WHERE chain = $1 AND sequence < $2";
        let deleted = open.execute(delete, &[chain.into(), new.first_sequence.into()]).await?;
        new.seal = self.key.seal(&new);
        if append::update(&mut open, &new, &old).await? != 1 {
            return Err(append::overtaken());
        }
        append::add(&mut open, &counts).await?;
        open.execute("DELETE FROM audit_counts WHERE entries <= 0", &[]).await?;
        open.commit().await?;
        Ok(deleted)
    }

    pub(super) async fn chains(&self) -> Result<Vec<ChainRecord>, StoreError> {
        let text = sql(format!("SELECT {} FROM audit_chains ORDER BY number", ChainRecord::COLUMNS));
        self.database.fetch(text, &[]).await?.iter().map(ChainRecord::read).collect()
    }
}
