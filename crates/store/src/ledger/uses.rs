//! Last use of keys: recorded when receipts are booked, and separately for uses without a receipt.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use domain::clock::Timestamp;

use super::Ledger;
use super::booking::Booking;
use crate::StoreError;
use crate::database::{Row, Value, placeholders, sql};

pub(super) const WIDTH: usize = 2;
/// Keys per query: the size of a page of keys.
const ASKED: usize = 200;
/// Rows per statement when many keys are recorded at once.
const NOTED: usize = 100;

/// Upsert that never moves a time back, in whatever order batches arrive.
pub(super) fn upsert(values: &str) -> String {
    format!(
        "INSERT INTO key_uses (auth_key_id, last_used_at) VALUES {values} ON CONFLICT (auth_key_id) DO UPDATE \
         SET last_used_at = excluded.last_used_at WHERE excluded.last_used_at > key_uses.last_used_at"
    )
}

/// The latest use of each key in a batch, sorted by key, so that concurrent writers lock rows in the same order and
/// cannot deadlock.
pub(super) fn newest<'a>(bookings: &[&'a Booking]) -> Vec<(&'a str, i64)> {
    let mut uses: BTreeMap<&'a str, i64> = BTreeMap::new();
    for booking in bookings.iter().filter(|booking| !booking.label.auth_key_id.is_empty()) {
        let last = uses.entry(&booking.label.auth_key_id).or_insert(i64::MIN);
        *last = (*last).max(booking.at.micros());
    }
    uses.into_iter().collect()
}

pub(super) fn bind<'a>((key, at): &(&'a str, i64), values: &mut Vec<Value<'a>>) {
    values.extend([Value::from(*key), Value::from(*at)]);
}

impl Ledger {
    /// Records uses that leave no receipt.
    pub async fn note_key_uses(&self, uses: &BTreeMap<String, Timestamp>) -> Result<(), StoreError> {
        let uses: Vec<(&str, i64)> = uses.iter().map(|(key, at)| (key.as_str(), at.micros())).collect();
        for chunk in uses.chunks(NOTED) {
            let mut values = Vec::with_capacity(chunk.len() * WIDTH);
            chunk.iter().for_each(|used| bind(used, &mut values));
            let rows = placeholders(WIDTH, chunk.len(), self.database.is_postgres());
            self.database.execute(sql(upsert(&rows)), &values).await?;
        }
        Ok(())
    }

    /// The last use of these keys; keys that were never used are absent.
    pub async fn key_uses(&self, keys: &[&str]) -> Result<HashMap<String, Timestamp>, StoreError> {
        let mut uses = HashMap::with_capacity(keys.len());
        for chunk in keys.chunks(ASKED) {
            let list = placeholders(chunk.len(), 1, self.database.is_postgres());
            let text = format!("SELECT auth_key_id, last_used_at FROM key_uses WHERE auth_key_id IN {list}");
            let values: Vec<Value<'_>> = chunk.iter().map(|key| Value::from(*key)).collect();
            for row in self.database.fetch(sql(text), &values).await? {
                uses.extend([read(&row)?]);
            }
        }
        Ok(uses)
    }

    /// The last use of every key that was ever used.
    pub async fn all_key_uses(&self) -> Result<HashMap<String, Timestamp>, StoreError> {
        let rows = self.database.fetch("SELECT auth_key_id, last_used_at FROM key_uses", &[]).await?;
        rows.iter().map(read).collect()
    }
}

fn read(row: &Row) -> Result<(String, Timestamp), StoreError> {
    Ok((row.get(0)?, Timestamp(row.get(1)?)))
}
