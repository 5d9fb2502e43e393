//! The spending of a window besides its leases: `base` is the sum in the ledger without what leases have booked. Both are
//! read in one snapshot, because the drainer writes receipts and the booked amounts of leases in one transaction.

use std::time::Duration;

use domain::clock::Timestamp;
use domain::money::Nanos;
use serde_json::json;

use super::{BudgetLeases, LeaseKey, key};
use crate::StoreError;
use crate::database::{Row, Snapshot};
use crate::ledger::Ledger;
use crate::ledger::spending::{RunSpent, Spent};

/// The spending in a time range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RangeSums {
    pub by_path: Vec<Spent>,
    /// Only if it was asked for.
    pub by_run: Option<Vec<RunSpent>>,
}

/// The stored figures of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFigures {
    pub key: LeaseKey,
    /// `None` if it is not known yet.
    pub base: Option<Nanos>,
    /// Booked under leases.
    pub booked: Nanos,
}

/// Sums of the ledger and figures of windows, from one state of the database.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerReading {
    /// In the order of the ranges.
    pub ranges: Vec<RangeSums>,
    /// Empty on SQLite.
    pub windows: Vec<WindowFigures>,
}

/// A new base, in place of the one that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseChange {
    pub key: LeaseKey,
    pub old: Option<Nanos>,
    pub new: Nanos,
}

impl Ledger {
    /// Reads the spending in time ranges, by run where the flag is set, and the figures of all windows that have not
    /// ended.
    pub async fn spending_and_windows(
        &self,
        ranges: &[(Timestamp, Timestamp, bool)],
        now: Timestamp,
    ) -> Result<LedgerReading, StoreError> {
        // Boxed, because a snapshot with its transaction is large.
        Box::pin(async {
            let mut snapshot = self.database.snapshot().await?;
            let windows = match self.leases.are_used() {
                true => figures(&mut snapshot, now).await?,
                false => Vec::new(),
            };
            let mut sums = Vec::with_capacity(ranges.len());
            for (from, until, with_runs) in ranges {
                let by_path = self.spent_in(&mut snapshot, *from, *until).await?;
                let by_run = match with_runs {
                    true => Some(self.spent_by_run_in(&mut snapshot, *from, *until).await?),
                    false => None,
                };
                sums.push(RangeSums { by_path, by_run });
            }
            snapshot.end().await?;
            Ok(LedgerReading { ranges: sums, windows })
        })
        .await
    }
}

impl BudgetLeases {
    /// The figures of all windows that have not ended.
    pub async fn figures(&self, now: Timestamp) -> Result<Vec<WindowFigures>, StoreError> {
        let mut snapshot = self.database.snapshot().await?;
        let windows = figures(&mut snapshot, now).await?;
        snapshot.end().await?;
        Ok(windows)
    }

    /// Replaces bases that have not changed since they were read.
    pub async fn set_bases(&self, changes: &[BaseChange]) -> Result<(), StoreError> {
        const SET: &str = "WITH new AS (SELECT * FROM json_to_recordset(CAST($1 AS json)) \
               AS n(budget TEXT, opened BIGINT, old BIGINT, base BIGINT)), \
             head AS MATERIALIZED (SELECT w.budget, w.opened, w.base AS now, new.old, new.base FROM budget_windows w \
               JOIN new USING (budget, opened) ORDER BY w.budget, w.opened FOR UPDATE OF w) \
             UPDATE budget_windows w SET base = h.base FROM head h \
             WHERE w.budget = h.budget AND w.opened = h.opened AND h.now IS NOT DISTINCT FROM h.old";
        if changes.is_empty() {
            return Ok(());
        }
        let change = |change: &BaseChange| {
            json!({"budget": &*change.key.budget, "opened": change.key.opened.micros(),
                "old": change.old.map(|old| old.0), "base": change.new.0})
        };
        let changes = json!(changes.iter().map(change).collect::<Vec<_>>()).to_string();
        self.database.execute(SET, &[(&changes).into()]).await.map(drop)
    }

    /// Whether this process is the one that compares the windows with the ledger now: the first to ask after the
    /// interval, by the clock of the database.
    pub async fn claim_reconciliation(&self, interval: Duration) -> Result<bool, StoreError> {
        const CLAIM: &str = "UPDATE budget_reconciliation \
             SET at = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) \
             WHERE id = 1 AND at < CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) - $1";
        let interval = i64::try_from(interval.as_micros()).unwrap_or(i64::MAX);
        Ok(self.database.execute(CLAIM, &[interval.into()]).await? == 1)
    }
}

async fn figures(snapshot: &mut Snapshot, now: Timestamp) -> Result<Vec<WindowFigures>, StoreError> {
    const FIGURES: &str = "SELECT w.budget, w.opened, w.base, CAST(COALESCE(SUM(l.booked), 0) AS BIGINT) \
         FROM budget_windows w LEFT JOIN budget_leases l ON l.budget = w.budget AND l.opened = w.opened \
         WHERE w.until > $1 GROUP BY w.budget, w.opened, w.base";
    let read = |row: &Row| -> Result<WindowFigures, StoreError> {
        let base = row.get::<Option<i64>>(2)?.map(Nanos);
        Ok(WindowFigures { key: key(row)?, base, booked: Nanos(row.get(3)?) })
    };
    snapshot.fetch(FIGURES, &[now.micros().into()]).await?.iter().map(read).collect()
}
