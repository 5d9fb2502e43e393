//! An in-memory double of the lease tables and the ledger, with the semantics of `store::BudgetLeases`.

use std::collections::BTreeMap;

use domain::clock::Timestamp;
use domain::money::Nanos;
use store::{LeaseAsk, LeaseGift, LeaseKey, LeaseNeed, LeaseScope, LeaseTaken, OwnLease};

/// A receipt: its id, arrival, path and cost.
#[derive(Clone, Debug)]
pub struct Entry {
    pub id: String,
    pub at: Timestamp,
    pub path: String,
    pub cost: i64,
}

#[derive(Debug)]
pub struct WindowRow {
    pub until: Timestamp,
    scope: LeaseScope,
    pub base: Option<i64>,
    pub leased: i64,
    wanted: i64,
}

#[derive(Debug, Default)]
pub struct LeaseRow {
    pub granted: i64,
    pub booked: i64,
    answered: i64,
}

#[derive(Default)]
pub struct Tables {
    pub windows: BTreeMap<LeaseKey, WindowRow>,
    pub leases: BTreeMap<(LeaseKey, String), LeaseRow>,
    pub ledger: Vec<Entry>,
}

fn covers(scope: &LeaseScope, path: &str) -> bool {
    let prefix = scope.user_path.trim_end_matches('/');
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Tables {
    pub fn ensure(&mut self, journal: &str, needs: &[LeaseNeed]) -> Vec<OwnLease> {
        for LeaseNeed { key, until, scope, used } in needs {
            let window = self.windows.entry(key.clone()).or_insert_with(|| WindowRow {
                until: *until,
                scope: scope.clone(),
                base: None,
                leased: 0,
                wanted: 0,
            });
            let row = self.leases.entry((key.clone(), journal.to_owned())).or_default();
            let missing = (used.0 - (row.granted - row.booked)).max(0);
            row.granted += missing;
            window.leased += missing;
        }
        let keys: Vec<&LeaseKey> = needs.iter().map(|need| &need.key).collect();
        self.own(journal).into_iter().filter(|own| keys.contains(&&own.key)).collect()
    }

    pub fn take(&mut self, journal: &str, asks: &[LeaseAsk], share: i64) -> Vec<LeaseTaken> {
        let rests: Vec<Option<i64>> = asks
            .iter()
            .map(|ask| {
                let window = self.windows.get(&ask.key)?;
                Some(ask.amount.0 - window.base.unwrap_or(i64::MAX / 2) - window.leased)
            })
            .collect();
        let fits = |(ask, rest): (&LeaseAsk, &Option<i64>)| {
            rest.is_some_and(|rest| ask.need.0 == 0 || rest >= ask.need.0)
        };
        let is_granted = |path: i64| asks.iter().zip(&rests).filter(|(ask, _)| ask.path == path).all(fits);
        let granted: Vec<bool> = asks.iter().map(|ask| is_granted(ask.path)).collect();
        let mut taken = Vec::new();
        for ((ask, rest), is_granted) in asks.iter().zip(&rests).zip(granted) {
            let (Some(rest), Some(window)) = (*rest, self.windows.get_mut(&ask.key)) else { continue };
            let unanswered = self.leases.iter().filter(|((key, owner), row)| {
                *key == ask.key && owner != journal && row.granted > row.booked && row.answered < ask.since
            });
            let unanswered = unanswered.count() as i64;
            let got = if is_granted { ask.need.0.max(ask.want.0.min(rest / share)) } else { 0 };
            window.leased += got;
            window.wanted += i64::from(!is_granted && ask.need.0 > 0 && rest < ask.need.0);
            if got > 0 {
                self.leases.entry((ask.key.clone(), journal.to_owned())).or_default().granted += got;
            }
            taken.push(LeaseTaken {
                key: ask.key.clone(),
                is_granted,
                got: Nanos(got),
                rest: Nanos(rest - got),
                wanted: window.wanted,
                unanswered,
            });
        }
        taken
    }

    pub fn give(&mut self, journal: &str, gifts: &[LeaseGift]) {
        for LeaseGift { key, free } in gifts {
            let row = self.leases.get_mut(&(key.clone(), journal.to_owned()));
            let (Some(row), Some(window)) = (row, self.windows.get_mut(key)) else { continue };
            if row.granted - row.booked >= free.0 {
                row.granted -= free.0;
                row.answered = window.wanted;
                window.leased -= free.0;
            }
        }
    }

    pub fn own(&self, journal: &str) -> Vec<OwnLease> {
        let own = self.leases.iter().filter(|((_, owner), _)| owner == journal);
        own.map(|((key, _), row)| {
            let window = &self.windows[key];
            OwnLease {
                key: key.clone(),
                left: Nanos(row.granted - row.booked),
                wanted: window.wanted,
                answered: row.answered,
                has_base: window.base.is_some(),
            }
        })
        .collect()
    }

    pub fn recalled(&self, journal: &str) -> Vec<OwnLease> {
        self.own(journal).into_iter().filter(|own| own.wanted > own.answered).collect()
    }

    /// Books receipts under the leases of their journal.
    pub fn book(&mut self, journal: &str, entries: Vec<Entry>) -> Vec<(LeaseKey, Nanos)> {
        let mut booked: BTreeMap<LeaseKey, Nanos> = BTreeMap::new();
        for entry in entries {
            let mut covering: BTreeMap<&str, &LeaseKey> = BTreeMap::new();
            for (key, owner) in self.leases.keys() {
                let window = &self.windows[key];
                let is_open = key.opened <= entry.at && entry.at < window.until;
                if owner == journal && is_open && covers(&window.scope, &entry.path) {
                    // In the order of the windows: the one that opened last stays.
                    covering.insert(&key.budget, key);
                }
            }
            for key in covering.into_values() {
                *booked.entry(key.clone()).or_default() += Nanos(entry.cost);
            }
            self.ledger.push(entry);
        }
        for (key, cost) in &booked {
            if let Some(row) = self.leases.get_mut(&(key.clone(), journal.to_owned())) {
                row.booked += cost.0;
            }
        }
        booked.into_iter().collect()
    }

    /// Ends the leases of a drained journal.
    pub fn close(&mut self, journal: &str) {
        for ((key, owner), row) in &mut self.leases {
            if owner == journal
                && let Some(window) = self.windows.get_mut(key)
            {
                window.leased -= row.granted - row.booked;
                row.granted = row.booked;
            }
        }
    }

    /// Sets all bases from the ledger.
    pub fn reconcile(&mut self) {
        for (key, window) in &mut self.windows {
            // A window that was reset ends where the next one begins; both are read as the ledger has them.
            let within = self.ledger.iter().filter(|entry| {
                key.opened <= entry.at && entry.at < window.until && covers(&window.scope, &entry.path)
            });
            let sum: i64 = within.map(|entry| entry.cost).sum();
            let booked: i64 =
                self.leases.iter().filter(|((of, _), _)| of == key).map(|(_, row)| row.booked).sum();
            window.base = Some(sum - booked);
        }
    }

    /// The sum of a window's leases is always in the window.
    pub fn check(&self) {
        for (key, window) in &self.windows {
            let granted: i64 =
                self.leases.iter().filter(|((of, _), _)| of == key).map(|(_, row)| row.granted).sum();
            assert_eq!(window.leased, granted, "{key:?}");
        }
    }
}
