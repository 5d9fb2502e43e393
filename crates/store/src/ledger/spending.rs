//! Ledger access for budgets: sums by path, and notifications about booked receipts.

use std::sync::{Arc, OnceLock};

use domain::clock::Timestamp;
use domain::money::Nanos;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::database::{Row, Snapshot};
use crate::ledger::booking::Booking;
use crate::ledger::leases::LeaseKey;
use crate::{Axis, Ledger, Line, Report, StoreError, UsageFilter};

/// Listener that is notified of bookings before they can be read from the ledger.
pub trait BookingListener: Send + Sync {
    /// The receipts with these ids, from the journal of this process, are booked, and these amounts are booked under its
    /// leases.
    fn booked(&self, ids: &mut dyn Iterator<Item = &str>, leases: &[(LeaseKey, Nanos)]);
}

/// Mutual exclusion of booking and reading, so that the receipts a reader adds to the sums of the ledger are neither
/// counted twice nor missed.
#[derive(Clone, Default)]
pub(crate) struct Turns(Arc<Inner>);

#[derive(Default)]
struct Inner {
    turn: Arc<Mutex<()>>,
    listener: OnceLock<Arc<dyn BookingListener>>,
}

impl Turns {
    pub async fn take(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.0.turn).lock_owned().await
    }

    pub fn tell(&self, bookings: &[Booking], leases: &[(LeaseKey, Nanos)]) {
        if let Some(listener) = self.0.listener.get() {
            listener.booked(&mut bookings.iter().map(|booking| &*booking.id), leases);
        }
    }
}

/// Spending of one tenant on exactly one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    pub user_path: String,
    /// Empty for calls without a tenant.
    pub tenant: String,
    pub cost: Nanos,
}

/// Spending of a run (`X-Run-Id`) on exactly one path for one tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSpent {
    pub run: String,
    pub spent: Spent,
    /// The arrival time of its newest call.
    pub newest: Timestamp,
}

impl Ledger {
    /// Sets the listener, once for the lifetime of the store.
    pub fn listen(&self, listener: Arc<dyn BookingListener>) {
        _ = self.turns.0.listener.set(listener);
    }

    /// While the guard is held, nothing from the journal of this process is booked.
    pub async fn hold_still(&self) -> OwnedMutexGuard<()> {
        self.turns.take().await
    }

    /// Sums by path and tenant over a time range.
    pub async fn spent(&self, from: Timestamp, until: Timestamp) -> Result<Vec<Spent>, StoreError> {
        Ok(into_spent(self.report(&spending_report(from, until)).await?))
    }

    /// Like `spent`, in the caller's snapshot.
    pub(super) async fn spent_in(
        &self,
        snapshot: &mut Snapshot,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<Spent>, StoreError> {
        Ok(into_spent(self.report_in(snapshot, &spending_report(from, until)).await?))
    }

    /// Sums by run, path and tenant over a time range; calls without a run are not included.
    pub async fn spent_by_run(&self, from: Timestamp, until: Timestamp) -> Result<Vec<RunSpent>, StoreError> {
        let rows = self.database.fetch(BY_RUN, &[from.micros().into(), until.micros().into()]).await?;
        rows.iter().map(read_run).collect()
    }

    /// Like `spent_by_run`, in the caller's snapshot.
    pub(super) async fn spent_by_run_in(
        &self,
        snapshot: &mut Snapshot,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<RunSpent>, StoreError> {
        let rows = snapshot.fetch(BY_RUN, &[from.micros().into(), until.micros().into()]).await?;
        rows.iter().map(read_run).collect()
    }

    /// True if the receipt of the call that arrived at this time is in the ledger.
    pub async fn has(&self, at: Timestamp, id: &str) -> Result<bool, StoreError> {
        const BY_KEY: &str = "SELECT COUNT(*) FROM usage WHERE at = $1 AND id = $2";
        let rows = self.database.fetch(BY_KEY, &[at.micros().into(), id.into()]).await?;
        Ok(rows.first().ok_or(StoreError::NotFound)?.get::<i64>(0)? > 0)
    }
}

const BY_RUN: &str = "SELECT run, user_path, COALESCE(tenant_id, ''), \
     CAST(SUM(input_cost + output_cost) AS BIGINT), MAX(at) FROM usage \
     WHERE run IS NOT NULL AND at >= $1 AND at < $2 AND input_cost IS NOT NULL \
     GROUP BY run, user_path, COALESCE(tenant_id, '')";

fn read_run(row: &Row) -> Result<RunSpent, StoreError> {
    let spent = Spent { user_path: row.get(1)?, tenant: row.get(2)?, cost: Nanos(row.get(3)?) };
    Ok(RunSpent { run: row.get(0)?, spent, newest: Timestamp(row.get(4)?) })
}

fn spending_report(from: Timestamp, until: Timestamp) -> Report {
    Report::of(UsageFilter::between(from, until)).by(&[Axis::UserPath, Axis::TenantId])
}

fn into_spent(lines: Vec<Line>) -> Vec<Spent> {
    let spent = |line: Line| {
        let [user_path, tenant] = <[String; 2]>::try_from(line.names).ok()?;
        Some(Spent { user_path, tenant, cost: line.figures.total_cost()? })
    };
    lines.into_iter().filter_map(spent).collect()
}

#[cfg(test)]
mod tests {
    use domain::receipt::Receipt;
    use parking_lot::Mutex;

    use super::*;
    use crate::testing::{for_each_backend, journal, journal_config, receipt};
    use crate::{Drainer, ShardId};

    #[derive(Default)]
    struct ReceivedIds(Mutex<Vec<String>>);

    impl BookingListener for ReceivedIds {
        fn booked(&self, ids: &mut dyn Iterator<Item = &str>, _: &[(LeaseKey, Nanos)]) {
            self.0.lock().extend(ids.map(str::to_owned));
        }
    }

    #[tokio::test]
    async fn sums_are_by_path_and_tenant_to_the_microsecond() {
        for_each_backend(|store| async move {
            let directory = tempfile::tempdir().unwrap();
            let journal = journal(journal_config(directory.path()));
            let received = Arc::new(ReceivedIds::default());
            store.ledger().listen(received.clone());
            const START: i64 = 1_800_000_000;
            let calls = [(0, "/a", None), (1, "/a", Some("t")), (2, "/a/b", None), (7200, "/a", None)];
            for (number, (second, path, tenant)) in calls.into_iter().enumerate() {
                let call = Receipt {
                    at: Timestamp::from_seconds(START + second),
                    user_path: path.to_owned(),
                    tenant_id: tenant.map(str::to_owned),
                    ..receipt(format!("r{number}"))
                };
                journal.close_call(&call, ShardId::SHARED).unwrap();
            }
            journal.close_call(&Receipt { cost: None, ..receipt("unpriced") }, ShardId::SHARED).unwrap();
            assert!(!store.ledger().has(Timestamp::from_seconds(START), "r0").await.unwrap());
            Drainer::new(journal.clone(), store.clone()).drain_once().await.unwrap();

            assert_eq!(*received.0.lock(), ["r0", "r1", "r2", "r3", "unpriced"]);
            assert!(store.ledger().has(Timestamp::from_seconds(START), "r0").await.unwrap());
            let sum = async |from: i64, until: i64, path: &str, tenant: &str| {
                let found = store.ledger().spent(Timestamp(from), Timestamp(until)).await.unwrap();
                let of = found.iter().filter(|spent| spent.user_path == path && spent.tenant == tenant);
                of.map(|spent| spent.cost.0).sum::<i64>()
            };
            let (start, end) = (START * 1_000_000, (START + 7201) * 1_000_000);
            assert_eq!(sum(start, end, "/a", "").await, 900_000);
            assert_eq!(sum(start + 1, end, "/a", "").await, 450_000);
            assert_eq!(sum(start, end - 1_000_000, "/a", "").await, 450_000);
            assert_eq!(sum(start, end, "/a", "t").await, 450_000);
            assert_eq!(sum(start, end, "/a/b", "").await, 450_000);
        })
        .await;
    }

    #[tokio::test]
    async fn sums_are_by_run() {
        for_each_backend(|store| async move {
            let directory = tempfile::tempdir().unwrap();
            let journal = journal(journal_config(directory.path()));
            const START: i64 = 1_800_000_000;
            let calls = [(0, "/a", Some("x")), (1, "/a", Some("x")), (2, "/b", Some("x")), (3, "/a", None)];
            for (number, (second, path, run)) in calls.into_iter().enumerate() {
                let call = Receipt {
                    at: Timestamp::from_seconds(START + second),
                    user_path: path.to_owned(),
                    run_id: run.map(str::to_owned),
                    ..receipt(format!("r{number}"))
                };
                journal.close_call(&call, ShardId::SHARED).unwrap();
            }
            Drainer::new(journal.clone(), store.clone()).drain_once().await.unwrap();
            let at = Timestamp::from_seconds;
            let mut found = store.ledger().spent_by_run(at(START), at(START + 10)).await.unwrap();
            found.sort_by(|one, other| one.spent.user_path.cmp(&other.spent.user_path));
            let sum = |path: &str, cost: i64, second: i64| RunSpent {
                run: "x".to_owned(),
                spent: Spent { user_path: path.to_owned(), tenant: String::new(), cost: Nanos(cost) },
                newest: at(START + second),
            };
            assert_eq!(found, [sum("/a", 900_000, 1), sum("/b", 450_000, 2)]);
            let later = store.ledger().spent_by_run(at(START + 1), at(START + 2)).await.unwrap();
            assert_eq!(later, [sum("/a", 450_000, 1)]);
        })
        .await;
    }

    #[tokio::test]
    async fn nothing_is_booked_while_somebody_reads() {
        for_each_backend(|store| async move {
            let directory = tempfile::tempdir().unwrap();
            let journal = journal(journal_config(directory.path()));
            journal.close_call(&receipt("a"), ShardId::SHARED).unwrap();
            let mut drainer = Drainer::new(journal, store.clone());
            let still = store.ledger().hold_still().await;
            let wait = std::time::Duration::from_millis(100);
            assert!(tokio::time::timeout(wait, drainer.drain_once()).await.is_err());
            assert_eq!(store.ledger().count().await.unwrap(), 0);
            drop(still);
            drainer.drain_all().await;
            assert_eq!(store.ledger().count().await.unwrap(), 1);
        })
        .await;
    }
}
