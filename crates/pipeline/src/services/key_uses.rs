//! Uses of keys that leave no receipt, such as those in the admin API: collected in memory and written periodically.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::clock::Timestamp;
use domain::principal::Principal;
use parking_lot::Mutex;
use store::Store;

/// The last use of each key since the last write.
#[derive(Default)]
pub struct KeyUses(Mutex<HashMap<Arc<str>, Timestamp>>);

impl KeyUses {
    pub fn note(&self, principal: &Principal, now: Timestamp) {
        let Some(key) = principal.managed_key() else { return };
        let mut uses = self.0.lock();
        match uses.get_mut(&key.id) {
            Some(last) => *last = now.max(*last),
            None => drop(uses.insert(key.id.clone(), now)),
        }
    }

    /// The last use of a key that is not stored yet.
    pub fn of(&self, id: &str) -> Option<Timestamp> {
        self.0.lock().get(id).copied()
    }

    /// Stores the collected uses. After an error they are kept for the next time.
    pub async fn write(&self, store: &Store) {
        let noted: BTreeMap<String, Timestamp> = {
            let uses = self.0.lock();
            uses.iter().map(|(id, at)| (id.to_string(), *at)).collect()
        };
        if noted.is_empty() {
            return;
        }
        if let Err(error) = store.ledger().note_key_uses(&noted).await {
            return tracing::warn!(%error, "key uses could not be stored; retrying");
        }
        // Uses that were noted during the write are newer, and are kept.
        let mut uses = self.0.lock();
        uses.retain(|id, at| noted.get(&**id).is_none_or(|written| written < at));
    }
}
