//! Counts of hits that were not served, and of comparisons: collected in memory and written periodically.

use std::collections::HashMap;

use domain::clock::Timestamp;
use parking_lot::Mutex;
use store::{Ledger, Owner, SemanticCheckSums, SemanticChecks, StoreError, semantic_bucket};

/// A quarter hour, a tenant and a user path.
#[derive(PartialEq, Eq, Hash)]
struct CountKey {
    at: Timestamp,
    tenant_id: String,
    user_path: String,
}

/// Counts since the last write.
#[derive(Default)]
pub struct Checks(Mutex<HashMap<CountKey, SemanticChecks>>);

impl Checks {
    /// Counts a hit that is not served.
    pub fn count_shadow_hit(&self, at: Timestamp, caller: &Owner) {
        self.count(at, caller, SemanticChecks { shadow_hits: 1, ..SemanticChecks::default() });
    }

    /// Counts a comparison.
    pub fn count_recheck(&self, at: Timestamp, caller: &Owner, agrees: bool) {
        let checks = SemanticChecks { shadow_hits: 0, rechecks: 1, disagreements: i64::from(!agrees) };
        self.count(at, caller, checks);
    }

    fn count(&self, at: Timestamp, caller: &Owner, checks: SemanticChecks) {
        let tenant_id = caller.tenant.clone().unwrap_or_default();
        let key = CountKey { at: semantic_bucket(at), tenant_id, user_path: caller.user_path.clone() };
        self.0.lock().entry(key).or_default().add(checks);
    }

    /// Writes the counts. After an error they are kept for the next time.
    pub async fn write(&self, ledger: &Ledger) -> Result<(), StoreError> {
        let taken = std::mem::take(&mut *self.0.lock());
        if taken.is_empty() {
            return Ok(());
        }
        let sums = taken.into_iter().map(|(CountKey { at, tenant_id, user_path }, checks)| {
            SemanticCheckSums { at, tenant_id, user_path, checks }
        });
        let sums: Vec<SemanticCheckSums> = sums.collect();
        let written = ledger.add_semantic_checks(&sums).await;
        if written.is_err() {
            let mut counts = self.0.lock();
            for SemanticCheckSums { at, tenant_id, user_path, checks } in sums {
                counts.entry(CountKey { at, tenant_id, user_path }).or_default().add(checks);
            }
        }
        written
    }
}
