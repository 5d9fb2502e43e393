//! Counts of hits that were not served, and of comparisons: collected in memory and written periodically.

use std::collections::HashMap;

use domain::clock::Timestamp;
use parking_lot::Mutex;
use store::{Ledger, SemanticChecks, StoreError, semantic_bucket};

/// Counts since the last write, by quarter hour and user path.
#[derive(Default)]
pub struct Checks(Mutex<HashMap<(Timestamp, String), SemanticChecks>>);

impl Checks {
    /// Counts a hit that is not served.
    pub fn count_shadow_hit(&self, at: Timestamp, user_path: &str) {
        self.count(at, user_path, SemanticChecks { shadow_hits: 1, ..SemanticChecks::default() });
    }

    /// Counts a comparison.
    pub fn count_recheck(&self, at: Timestamp, user_path: &str, agrees: bool) {
        let checks = SemanticChecks { shadow_hits: 0, rechecks: 1, disagreements: i64::from(!agrees) };
        self.count(at, user_path, checks);
    }

    fn count(&self, at: Timestamp, user_path: &str, checks: SemanticChecks) {
        self.0.lock().entry((semantic_bucket(at), user_path.to_owned())).or_default().add(checks);
    }

    /// Writes the counts. After an error they are kept for the next time.
    pub async fn write(&self, ledger: &Ledger) -> Result<(), StoreError> {
        let taken = std::mem::take(&mut *self.0.lock());
        if taken.is_empty() {
            return Ok(());
        }
        let sums: Vec<_> = taken.into_iter().map(|((at, path), checks)| (at, path, checks)).collect();
        let written = ledger.add_semantic_checks(&sums).await;
        if written.is_err() {
            sums.into_iter().for_each(|(at, path, checks)| self.count(at, &path, checks));
        }
        written
    }
}
