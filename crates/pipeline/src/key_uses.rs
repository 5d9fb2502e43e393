//! Uses of keys that leave no receipt, as the admin API's: gathered in memory, written now and then.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use domain::caller::Caller;
use domain::clock::Timestamp;
use parking_lot::Mutex;
use store::Store;

use crate::gateway::Gateway;

const INTERVAL: Duration = Duration::from_secs(30);

/// The last use of each key since they were written.
#[derive(Default)]
pub struct KeyUses(Mutex<HashMap<Arc<str>, Timestamp>>);

impl KeyUses {
    pub fn note(&self, caller: &Caller, now: Timestamp) {
        let Some(key) = caller.key() else { return };
        let mut uses = self.0.lock();
        match uses.get_mut(&key.id) {
            Some(last) => *last = now.max(*last),
            None => drop(uses.insert(key.id.clone(), now)),
        }
    }

    /// A use that is not in storage yet.
    pub fn of(&self, id: &str) -> Option<Timestamp> {
        self.0.lock().get(id).copied()
    }

    /// Writes what was noted. What cannot be written is kept for the next time.
    pub async fn write(&self, store: &Store) {
        let noted: BTreeMap<String, Timestamp> = {
            let uses = self.0.lock();
            uses.iter().map(|(id, at)| (id.to_string(), *at)).collect()
        };
        if noted.is_empty() {
            return;
        }
        if let Err(error) = store.ledger().note_key_uses(&noted).await {
            return tracing::warn!(%error, "the last uses of keys cannot be written yet");
        }
        let mut uses = self.0.lock();
        uses.retain(|id, at| noted.get(&**id).is_none_or(|written| written < at));
    }
}

pub async fn keep_writing(gateway: Arc<Gateway>, store: Store) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        gateway.key_uses.write(&store).await;
    }
}
