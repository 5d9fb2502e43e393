//! Last use of keys: recorded with the delta of booked receipts, and directly for uses without a receipt.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::clock::Timestamp;

use super::Ledger;
use super::booking::Booking;
use super::delta::{self, Decoder};
use crate::StoreError;
use crate::database::{Row, Snapshot, Value, placeholders, sql};

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

/// The latest use of each key in a batch, in no particular order.
pub(super) fn newest<'a>(bookings: &[&'a Booking<'_>]) -> foldhash::HashMap<&'a str, i64> {
    let mut uses = foldhash::HashMap::default();
    for booking in bookings.iter().filter(|booking| !booking.label.auth_key_id.is_empty()) {
        let last = uses.entry(&*booking.label.auth_key_id).or_insert(i64::MIN);
        *last = (*last).max(booking.at.micros());
    }
    uses
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
        let mut snapshot = self.database.snapshot().await?;
        for chunk in keys.chunks(ASKED) {
            let list = placeholders(chunk.len(), 1, self.database.is_postgres());
            let text = format!("SELECT auth_key_id, last_used_at FROM key_uses WHERE auth_key_id IN {list}");
            let values: Vec<Value<'_>> = chunk.iter().map(|key| Value::from(*key)).collect();
            for row in snapshot.fetch(sql(text), &values).await? {
                uses.extend([read(&row)?]);
            }
        }
        let keys: HashSet<&str> = keys.iter().copied().collect();
        add_waiting(snapshot, &mut uses, |key| keys.contains(key)).await?;
        Ok(uses)
    }

    /// The last use of every key that was ever used.
    pub async fn all_key_uses(&self) -> Result<HashMap<String, Timestamp>, StoreError> {
        let mut snapshot = self.database.snapshot().await?;
        let rows = snapshot.fetch("SELECT auth_key_id, last_used_at FROM key_uses", &[]).await?;
        let mut uses = rows.iter().map(read).collect::<Result<_, _>>()?;
        add_waiting(snapshot, &mut uses, |_| true).await?;
        Ok(uses)
    }
}

/// Adds the uses in waiting deltas, and ends the snapshot.
async fn add_waiting(
    mut snapshot: Snapshot,
    uses: &mut HashMap<String, Timestamp>,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<(), StoreError> {
    let deltas = delta::waiting(&mut snapshot, i64::MIN, i64::MAX).await?;
    snapshot.end().await?;
    for bytes in &deltas {
        for (key, at) in Decoder::new(bytes)?.uses {
            if is_wanted(key) {
                let last = uses.entry(key.to_owned()).or_insert(Timestamp(at));
                *last = (*last).max(Timestamp(at));
            }
        }
    }
    Ok(())
}

fn read(row: &Row) -> Result<(String, Timestamp), StoreError> {
    Ok((row.get(0)?, Timestamp(row.get(1)?)))
}
