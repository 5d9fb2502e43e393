//! Unconditional changes of leases, which record facts: what calls under way and unbooked receipts already use, and what
//! a journal leaves behind when it is drained.

use domain::clock::Timestamp;
use domain::money::Nanos;

use super::attribution::ScopedWindow;
use super::{BudgetLeases, LeaseKey, LeaseScope, OwnLease, own_lease};
use crate::StoreError;
use crate::database::Writing;

/// The least that a lease has to cover, whatever is left in the window.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaseNeed {
    pub key: LeaseKey,
    pub until: Timestamp,
    pub scope: LeaseScope,
    /// Held by calls under way, and settled but not booked.
    pub used: Nanos,
}

impl BudgetLeases {
    /// Creates windows and the journal's leases on them where they are missing, and raises leases that cover less than
    /// is used. Repeating it changes nothing.
    pub async fn ensure(&self, journal: &str, needs: &[LeaseNeed]) -> Result<Vec<OwnLease>, StoreError> {
        let mut needs: Vec<&LeaseNeed> = needs.iter().collect();
        needs.sort_by(|one, other| one.key.cmp(&other.key));
        let work = async {
            let mut open = self.database.begin().await?;
            // Like a grant of `take`: what is leased is used already.
            open.execute("SET LOCAL synchronous_commit = on", &[]).await?;
            let mut leases = Vec::with_capacity(needs.len());
            // In the order in which `take` locks windows.
            for need in &needs {
                leases.push(ensure_one(&mut open, journal, need).await?);
            }
            open.commit().await?;
            Ok(leases)
        };
        let leases = self.database.limited(work).await?;
        let windows = needs.iter().map(|need| ScopedWindow {
            key: need.key.clone(),
            until: need.until,
            scope: need.scope.clone(),
        });
        self.scopes.add(journal, windows);
        Ok(leases)
    }

    /// Ends the leases of a journal that is fully drained: what it did not spend is free again.
    pub(crate) async fn close(&self, journal: &str) -> Result<(), StoreError> {
        const LOCK: &str = "SELECT w.budget FROM budget_windows w JOIN budget_leases l USING (budget, opened) \
             WHERE l.journal = $1 ORDER BY w.budget, w.opened FOR UPDATE OF w";
        const FREE: &str = "UPDATE budget_windows w SET leased = w.leased - (l.granted - l.booked) \
             FROM budget_leases l \
             WHERE l.budget = w.budget AND l.opened = w.opened AND l.journal = $1 AND l.granted <> l.booked";
        const END: &str =
            "UPDATE budget_leases SET granted = booked WHERE journal = $1 AND granted <> booked";
        if !self.are_used() {
            return Ok(());
        }
        let work = async {
            let mut open = self.database.begin().await?;
            for statement in [LOCK, FREE, END] {
                open.execute(statement, &[journal.into()]).await?;
            }
            open.commit().await
        };
        self.database.limited(work).await?;
        self.scopes.forget(journal);
        Ok(())
    }

    /// Deletes windows that ended before a time, with their leases.
    pub async fn prune(&self, before: Timestamp) -> Result<(), StoreError> {
        const LEASES: &str = "DELETE FROM budget_leases WHERE EXISTS (SELECT 1 FROM budget_windows w \
             WHERE w.budget = budget_leases.budget AND w.opened = budget_leases.opened AND w.until < $1)";
        const WINDOWS: &str = "DELETE FROM budget_windows WHERE until < $1";
        for statement in [LEASES, WINDOWS] {
            self.database.execute(statement, &[before.micros().into()]).await?;
        }
        self.scopes.prune(before);
        Ok(())
    }
}

async fn ensure_one(open: &mut Writing, journal: &str, need: &LeaseNeed) -> Result<OwnLease, StoreError> {
    const WINDOW: &str = "INSERT INTO budget_windows \
         (budget, opened, until, tenant, user_path, run, base, leased, wanted) \
         VALUES ($1, $2, $3, $4, $5, $6, NULL, 0, 0) ON CONFLICT (budget, opened) DO NOTHING";
    const LOCK: &str = "SELECT leased FROM budget_windows WHERE budget = $1 AND opened = $2 FOR UPDATE";
    const LEASE: &str = "INSERT INTO budget_leases (budget, opened, journal, granted, booked, answered) \
         VALUES ($1, $2, $3, 0, 0, 0) ON CONFLICT (budget, opened, journal) DO NOTHING";
    // The lease is read after the lock of the window, without which nothing but a booking changes it.
    const OWN: &str = "SELECT l.budget, l.opened, l.granted - l.booked, w.wanted, l.answered, \
           CAST(CASE WHEN w.base IS NULL THEN 0 ELSE 1 END AS BIGINT) \
         FROM budget_leases l JOIN budget_windows w USING (budget, opened) \
         WHERE l.budget = $1 AND l.opened = $2 AND l.journal = $3 FOR UPDATE OF l";
    const RAISE: &str = "UPDATE budget_leases SET granted = granted + $4 \
         WHERE budget = $1 AND opened = $2 AND journal = $3";
    const LEASED: &str = "UPDATE budget_windows SET leased = leased + $3 WHERE budget = $1 AND opened = $2";
    let (budget, opened) = (&*need.key.budget, need.key.opened.micros());
    let LeaseScope { tenant, user_path, run } = &need.scope;
    let window = [
        budget.into(),
        opened.into(),
        need.until.micros().into(),
        tenant.as_deref().into(),
        user_path.into(),
        run.as_deref().into(),
    ];
    open.execute(WINDOW, &window).await?;
    open.fetch(LOCK, &[budget.into(), opened.into()]).await?;
    let own = [budget.into(), opened.into(), journal.into()];
    open.execute(LEASE, &own).await?;
    let rows = open.fetch(OWN, &own).await?;
    let mut lease = own_lease(rows.first().ok_or(StoreError::NotFound)?)?;
    let missing = need.used.0.saturating_sub(lease.left.0);
    if missing > 0 {
        open.execute(RAISE, &[budget.into(), opened.into(), journal.into(), missing.into()]).await?;
        open.execute(LEASED, &[budget.into(), opened.into(), missing.into()]).await?;
        lease.left = need.used;
    }
    Ok(lease)
}
