//! Attribution of booked receipts to leases: the drainer adds the cost of each new receipt to the leases of its journal
//! that cover the call, in the transaction that books it.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::Nanos;
use foldhash::HashMap;
use parking_lot::Mutex;
use serde_json::json;

use super::{BudgetLeases, LeaseKey, key};
use crate::StoreError;
use crate::database::{Row, Writing};
use crate::ledger::booking::Booking;

/// The calls that count against a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseScope {
    /// `None` covers every tenant.
    pub tenant: Option<String>,
    /// The path and everything below it.
    pub user_path: String,
    /// `None` covers calls with and without a run, an empty text those without.
    pub run: Option<String>,
}

impl LeaseScope {
    fn covers(&self, user_path: &str, tenant: &str, run: &str) -> bool {
        let path = self.user_path.trim_end_matches('/');
        let below = user_path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        below
            && self.tenant.as_deref().is_none_or(|of| of == tenant)
            && self.run.as_deref().is_none_or(|of| of == run)
    }
}

/// A window on which a journal has a lease.
#[derive(Clone, Debug)]
pub(super) struct ScopedWindow {
    pub key: LeaseKey,
    pub until: Timestamp,
    pub scope: LeaseScope,
}

/// The windows on which the journals that this process drains have leases. Only the owner of a journal adds any, so that
/// those of its own are known, and those of a dead process are read once.
#[derive(Clone, Default)]
pub(super) struct LeaseScopes(Arc<Mutex<HashMap<String, JournalLeases>>>);

#[derive(Default)]
struct JournalLeases {
    windows: Vec<ScopedWindow>,
    /// Whether leases from before this process were read.
    is_complete: bool,
    /// Booked since the listener was last told.
    booked: Vec<(LeaseKey, Nanos)>,
}

impl LeaseScopes {
    pub fn add(&self, journal: &str, windows: impl Iterator<Item = ScopedWindow>) {
        let mut journals = self.0.lock();
        let known = &mut journals.entry(journal.to_owned()).or_default().windows;
        for window in windows {
            if known.iter().all(|other| other.key != window.key) {
                known.push(window);
            }
        }
    }

    pub fn forget(&self, journal: &str) {
        self.0.lock().remove(journal);
    }

    /// Forgets windows that ended before a time.
    pub fn prune(&self, before: Timestamp) {
        let mut journals = self.0.lock();
        journals.values_mut().for_each(|known| known.windows.retain(|window| window.until >= before));
    }

    fn is_complete(&self, journal: &str) -> bool {
        self.0.lock().get(journal).is_some_and(|known| known.is_complete)
    }

    fn complete(&self, journal: &str, windows: impl Iterator<Item = ScopedWindow>) {
        self.add(journal, windows);
        self.0.lock().entry(journal.to_owned()).or_default().is_complete = true;
    }

    /// The cost of new receipts by window. Of several windows of one budget, the one that opened last counts: it was
    /// opened by a reset.
    fn attribute(&self, journal: &str, bookings: &[&Booking<'_>]) -> BTreeMap<LeaseKey, Nanos> {
        let mut costs = BTreeMap::new();
        let journals = self.0.lock();
        let Some(known) = journals.get(journal).filter(|known| !known.windows.is_empty()) else {
            return costs;
        };
        let mut covering: BTreeMap<&str, &LeaseKey> = BTreeMap::new();
        for booking in bookings {
            let Some([input, output]) = booking.cost else { continue };
            covering.clear();
            let (at, path, tenant) = (booking.at, &*booking.label.user_path, &*booking.label.tenant_id);
            for window in &known.windows {
                let is_open = window.key.opened <= at && at < window.until;
                if is_open && window.scope.covers(path, tenant, &booking.run_id) {
                    let latest = covering.entry(&window.key.budget).or_insert(&window.key);
                    *latest = (*latest).max(&window.key);
                }
            }
            for key in covering.values() {
                *costs.entry((*key).clone()).or_default() += Nanos(input.saturating_add(output));
            }
        }
        costs.retain(|_, cost| *cost != Nanos::ZERO);
        costs
    }
}

impl BudgetLeases {
    /// Adds the cost of new receipts to the leases of their journal, in the transaction that books them. Call
    /// `committed` with the result once it is committed.
    pub(crate) async fn book(
        &self,
        open: &mut Writing,
        journal: &str,
        bookings: &[&Booking<'_>],
    ) -> Result<Vec<(LeaseKey, Nanos)>, StoreError> {
        // Locked in the order of `take` and `give`, which may run meanwhile.
        const BOOK: &str = "WITH own AS MATERIALIZED (SELECT l.budget, l.opened, b.cost FROM budget_leases l \
               JOIN json_to_recordset(CAST($2 AS json)) AS b(budget TEXT, opened BIGINT, cost BIGINT) \
                 USING (budget, opened) WHERE l.journal = $1 ORDER BY l.budget, l.opened FOR UPDATE OF l) \
             UPDATE budget_leases l SET booked = l.booked + o.cost FROM own o \
             WHERE l.budget = o.budget AND l.opened = o.opened AND l.journal = $1";
        if !self.are_used() || bookings.is_empty() {
            return Ok(Vec::new());
        }
        if !self.scopes.is_complete(journal) {
            let windows = read_windows(open, journal).await?;
            self.scopes.complete(journal, windows.into_iter());
        }
        let costs = self.scopes.attribute(journal, bookings);
        if costs.is_empty() {
            return Ok(Vec::new());
        }
        let cost = |(key, cost): (&LeaseKey, &Nanos)| json!({"budget": &*key.budget, "opened": key.opened.micros(), "cost": cost.0});
        let text = json!(costs.iter().map(cost).collect::<Vec<_>>()).to_string();
        open.execute(BOOK, &[journal.into(), (&text).into()]).await?;
        Ok(costs.into_iter().collect())
    }

    /// Keeps committed bookings for the listener.
    pub(crate) fn committed(&self, journal: &str, booked: Vec<(LeaseKey, Nanos)>) {
        if !booked.is_empty() {
            let mut journals = self.scopes.0.lock();
            journals.entry(journal.to_owned()).or_default().booked.extend(booked);
        }
    }

    /// The bookings since the last call.
    pub(crate) fn take_booked(&self, journal: &str) -> Vec<(LeaseKey, Nanos)> {
        let mut journals = self.scopes.0.lock();
        journals.get_mut(journal).map(|known| std::mem::take(&mut known.booked)).unwrap_or_default()
    }
}

/// The windows on which a journal has leases.
async fn read_windows(open: &mut Writing, journal: &str) -> Result<Vec<ScopedWindow>, StoreError> {
    const WINDOWS: &str = "SELECT w.budget, w.opened, w.until, w.tenant, w.user_path, w.run FROM budget_windows w \
         JOIN budget_leases l ON l.budget = w.budget AND l.opened = w.opened WHERE l.journal = $1";
    let read = |row: &Row| -> Result<ScopedWindow, StoreError> {
        let scope = LeaseScope { tenant: row.get(3)?, user_path: row.get(4)?, run: row.get(5)? };
        Ok(ScopedWindow { key: key(row)?, until: Timestamp(row.get(2)?), scope })
    };
    open.fetch(WINDOWS, &[journal.into()]).await?.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_covers_its_path_tenant_and_run() {
        let scope = |path: &str, tenant: Option<&str>, run: Option<&str>| LeaseScope {
            tenant: tenant.map(str::to_owned),
            user_path: path.to_owned(),
            run: run.map(str::to_owned),
        };
        for (scope, path, tenant, run, covers) in [
            (scope("/", None, None), "/a/b", "t", "r", true),
            (scope("/a", None, None), "/a", "", "", true),
            (scope("/a", None, None), "/ab", "", "", false),
            (scope("/a/b", None, None), "/a", "", "", false),
            (scope("/a", Some("t"), None), "/a/b", "t", "", true),
            (scope("/a", Some("t"), None), "/a/b", "u", "", false),
            (scope("/a", None, Some("")), "/a", "", "r", false),
            (scope("/a", None, Some("r")), "/a", "", "r", true),
        ] {
            assert_eq!(scope.covers(path, tenant, run), covers, "{scope:?} {path} {tenant} {run}");
        }
    }
}
