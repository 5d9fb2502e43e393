//! The changes that other processes on the same database make: entries that they add, remove and purge.

use std::sync::Arc;
use std::time::Duration;

use domain::clock::Timestamp;
use domain::resources::auth_key::parse_digest;
use domain::user_path::UserPath;
use store::{KEPT_REMOVALS, SemanticChange, SemanticChanges, SemanticPurge, StoreError};

use super::{EntryId, SemanticCache, stored_entry};
use crate::services::response_cache::PurgeFilter;

/// The most entries and removals that are read at once.
const STEP: i64 = 100;

/// The position in the changes of other processes up to which they are applied.
#[derive(Clone, Debug)]
pub struct ChangePosition {
    embedder: String,
    position: i64,
    /// Entries and removals that are read at once: fewer after a failure, because large answers may take too long.
    step: i64,
    /// Monotonic time of the last step.
    at: Duration,
}

impl SemanticCache {
    /// The position of the last change. It is taken before the stored entries are read. `None` if no other process can
    /// change them, or all processes search the same store.
    pub async fn change_position(
        &self,
        embedder: &str,
        now: Duration,
    ) -> Result<Option<ChangePosition>, StoreError> {
        let Some(storage) = self.storage.as_ref().filter(|storage| storage.is_shared()) else {
            return Ok(None);
        };
        let position = storage.position().await?;
        Ok(Some(ChangePosition { embedder: embedder.to_owned(), position, step: STEP, at: now }))
    }

    /// Applies a part of the changes of other processes; returns whether there are more. `now` and `at` are the same time
    /// on the two clocks.
    pub async fn apply_changes(
        &self,
        position: &mut ChangePosition,
        (now, at): (Duration, Timestamp),
    ) -> Result<bool, StoreError> {
        let Some(storage) = &self.storage else { return Ok(false) };
        if now.saturating_sub(position.at) > KEPT_REMOVALS / 2 {
            // Removals may have been forgotten meanwhile.
            self.purge(&PurgeFilter::default());
            position.position = storage.position().await?;
            self.load(&position.embedder, now, at).await?;
        }
        let generation = self.generation();
        let read = storage.changes(&position.embedder, position.position, position.step).await;
        position.step = if read.is_ok() { (2 * position.step).min(STEP) } else { (position.step / 2).max(1) };
        let SemanticChanges { changes, position: reached, has_more } = read?;
        if generation != self.generation() {
            // Entries were purged here while the changes were read, which may be older: they are read again.
            return Ok(true);
        }
        changes.into_iter().for_each(|change| self.apply(change, now, at));
        (position.position, position.at) = (reached, now);
        Ok(has_more)
    }

    /// Applies a change of another process.
    pub(super) fn apply(&self, change: SemanticChange, now: Duration, at: Timestamp) {
        match change {
            SemanticChange::Put(row) => {
                if let Some(entry) = stored_entry::read(*row, now, at) {
                    self.add(Arc::new(entry), now);
                }
            }
            SemanticChange::Removed(id) => {
                if let Some(id) = parse_digest(&id) {
                    self.forget(&id);
                }
            }
            SemanticChange::Purged(SemanticPurge { tenant_id: tenant, user_path, model }) => {
                // A path that cannot be read is purged with all others.
                let user_path = user_path.and_then(|path| UserPath::parse(&path).ok());
                self.purge(&PurgeFilter { tenant, user_path, model });
            }
        }
    }

    /// Removes an entry from memory.
    fn forget(&self, id: &EntryId) {
        self.entries.invalidate(id);
        self.index.write().remove(id);
    }
}
