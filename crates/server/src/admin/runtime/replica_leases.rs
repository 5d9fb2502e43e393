//! The leases of each replica on budgets that replicas share, for the list of replicas.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use domain::money::Nanos;
use serde::Serialize;
use store::BudgetLease;
use utoipa::ToSchema;

use crate::admin::record;

/// Leases that are listed for a replica.
const MOST_LISTED: usize = 100;

/// The parts of shared budgets that a replica may spend without asking the database; all zero if budgets are not shared.
#[derive(Default, Serialize, ToSchema)]
pub struct ReplicaLeases {
    /// Budget windows with a lease
    pub windows: usize,
    /// US dollars that are leased and not in the ledger yet
    pub granted: f64,
    /// The 100 largest leases
    pub largest: Vec<ReplicaLease>,
}

/// A lease on the current window of a budget.
#[derive(Serialize, ToSchema)]
pub struct ReplicaLease {
    /// The path of the budget
    pub user_path: String,
    /// Null for a budget of all tenants
    pub tenant_id: Option<String>,
    /// The agent run of a budget with `per_run`; null for the calls without a run
    pub run_id: Option<String>,
    /// The start of the period, or a reset in it
    pub counted_from: String,
    pub period_end: String,
    /// US dollars that are leased and not in the ledger yet
    pub granted: f64,
    /// US dollars of this replica's calls that are in the ledger
    pub booked: f64,
}

/// Groups leases by the journal that owns them. Those that are used up or given back are left out.
pub fn by_journal(mut leases: Vec<BudgetLease>) -> BTreeMap<String, ReplicaLeases> {
    leases.retain(|lease| left(lease) != Nanos::ZERO);
    leases.sort_by_key(|lease| Reverse(left(lease)));
    let mut sums: BTreeMap<String, Nanos> = BTreeMap::new();
    let mut grouped: BTreeMap<String, ReplicaLeases> = BTreeMap::new();
    for lease in leases {
        let sum = sums.entry(lease.journal.clone()).or_default();
        *sum += left(&lease);
        let of_journal = grouped.entry(lease.journal.clone()).or_default();
        of_journal.windows += 1;
        of_journal.granted = sum.usd();
        if of_journal.largest.len() < MOST_LISTED {
            of_journal.largest.push(view(lease));
        }
    }
    grouped
}

fn left(lease: &BudgetLease) -> Nanos {
    Nanos(lease.granted.0.saturating_sub(lease.booked.0))
}

fn view(lease: BudgetLease) -> ReplicaLease {
    let (granted, booked) = (left(&lease).usd(), lease.booked.usd());
    let scope = lease.scope;
    ReplicaLease {
        user_path: scope.user_path,
        tenant_id: scope.tenant,
        run_id: scope.run.filter(|run| !run.is_empty()),
        counted_from: record::time(lease.key.opened),
        period_end: record::time(lease.until),
        granted,
        booked,
    }
}

#[cfg(test)]
mod tests {
    use domain::clock::Timestamp;
    use store::{LeaseKey, LeaseScope};

    use super::*;

    fn lease(journal: &str, number: i64, granted: i64, booked: i64) -> BudgetLease {
        BudgetLease {
            key: LeaseKey { budget: format!("/{number}|86400").into(), opened: Timestamp(0) },
            until: Timestamp(86_400_000_000),
            scope: LeaseScope { user_path: format!("/{number}"), ..LeaseScope::default() },
            journal: journal.to_owned(),
            granted: Nanos(granted),
            booked: Nanos(booked),
            has_answered: true,
        }
    }

    #[test]
    fn the_largest_leases_are_listed_and_all_are_summed() {
        let mut leases: Vec<_> =
            (1..=120).map(|number| lease("one", number, number * 1_000_000_000, 0)).collect();
        leases.push(lease("two", 1, 3_000_000_000, 2_000_000_000));
        leases.push(lease("two", 2, 5, 5));
        let grouped = by_journal(leases);
        let one = &grouped["one"];
        assert_eq!((one.windows, one.granted, one.largest.len()), (120, 7260.0, 100));
        assert_eq!((one.largest[0].user_path.as_str(), one.largest[99].granted), ("/120", 21.0));
        let two = &grouped["two"];
        assert_eq!((two.windows, two.granted, two.largest[0].booked), (1, 1.0, 2.0));
    }
}
