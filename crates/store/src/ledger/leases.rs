//! Leases on budgets that replicas share (PostgreSQL): each process takes a part of a budget's window and spends it
//! without asking again. The owner of a lease is the journal of its process, so that the receipts of a crashed process
//! and its lease have the same name.
//!
//! `leased = Σ granted` in every window, and a take succeeds only if `base + leased + need` is within the amount. The
//! total is kept in the locked row of the window: a sum over leases would be that of an older snapshot.

mod attribution;
mod base;
mod ensure;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::Nanos;
use serde_json::json;

use crate::StoreError;
use crate::change_notices::{self, ChangedData};
use crate::database::{Database, Row, sql};
use attribution::LeaseScopes;

pub use attribution::LeaseScope;
pub use base::{BaseChange, LedgerReading, RangeSums, WindowFigures};
pub use ensure::LeaseNeed;

/// A window of a budget: its name, and its start or last reset.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseKey {
    pub budget: Arc<str>,
    pub opened: Timestamp,
}

/// A request for a part of a window. All requests of one path are granted, or none.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaseAsk {
    /// Number of the path; paths of one statement have no window in common.
    pub path: i64,
    pub key: LeaseKey,
    pub amount: Nanos,
    /// The least that is of use; with 0 the request never fails and recalls nothing.
    pub need: Nanos,
    /// Granted instead of `need` where there is plenty.
    pub want: Nanos,
    /// Counts the leases of others that have not answered since `wanted` had this value.
    pub since: i64,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaseTaken {
    pub key: LeaseKey,
    /// Whether the path was granted.
    pub is_granted: bool,
    pub got: Nanos,
    /// The amount left in the window after this.
    pub rest: Nanos,
    pub wanted: i64,
    /// Leases of other journals with something left that have not answered since the value of the request.
    pub unanswered: i64,
}

/// An amount that is given back. It also answers the takes that found no room.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaseGift {
    pub key: LeaseKey,
    pub free: Nanos,
}

/// The lease of this process on a window.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnLease {
    pub key: LeaseKey,
    /// Granted and not booked.
    pub left: Nanos,
    pub wanted: i64,
    pub answered: i64,
    /// Whether the spending before the leases is known; until then nothing is granted.
    pub has_base: bool,
}

/// A lease of any process, for views.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetLease {
    pub key: LeaseKey,
    pub until: Timestamp,
    pub scope: LeaseScope,
    /// The name of the owner's journal directory.
    pub journal: String,
    pub granted: Nanos,
    pub booked: Nanos,
    /// Whether it has answered all takes that found no room.
    pub has_answered: bool,
}

/// Takes parts of windows. `head` locks the windows in one order; what it returns is current. The leases of others are
/// read as of the start of the statement: one that is seen as answered has given back before the lock. `durable` is SET
/// LOCAL for the transaction that the statement is: a grant that is used must survive a crash of the database, whatever
/// the server's default is.
const TAKE: &str = "WITH ask AS (SELECT * FROM json_to_recordset(CAST($1 AS json)) \
       AS a(path BIGINT, budget TEXT, opened BIGINT, amount BIGINT, need BIGINT, want BIGINT, since BIGINT)), \
     durable AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true) AS setting), \
     head AS MATERIALIZED (SELECT w.budget, w.opened, w.base, w.leased, w.wanted FROM durable CROSS JOIN \
       (budget_windows w JOIN ask USING (budget, opened)) \
       ORDER BY w.budget, w.opened FOR UPDATE OF w), \
     room AS (SELECT a.path, h.budget, h.opened, h.leased, h.wanted, a.need, a.want, a.since, \
         a.amount - COALESCE(h.base, 4611686018427387904) - h.leased AS rest \
       FROM head h JOIN ask a USING (budget, opened)), \
     fits AS (SELECT a.path, count(r.path) = count(*) AND bool_and(r.need = 0 OR r.rest >= r.need) AS ok \
       FROM ask a LEFT JOIN room r USING (budget, opened) GROUP BY a.path), \
     moved AS (UPDATE budget_windows w SET \
         leased = r.leased + CASE WHEN f.ok THEN GREATEST(r.need, LEAST(r.want, r.rest / $2)) ELSE 0 END, \
         wanted = r.wanted + CASE WHEN f.ok THEN 0 ELSE 1 END \
       FROM room r JOIN fits f USING (path) WHERE w.budget = r.budget AND w.opened = r.opened \
         AND (f.ok OR r.need > 0 AND r.rest < r.need) \
       RETURNING w.budget, w.opened, w.leased - r.leased AS got, w.wanted), \
     put AS (INSERT INTO budget_leases AS l (budget, opened, journal, granted, booked, answered) \
       SELECT budget, opened, $3, got, 0, 0 FROM moved WHERE got > 0 ORDER BY budget, opened \
       ON CONFLICT (budget, opened, journal) DO UPDATE SET granted = l.granted + EXCLUDED.granted) \
     SELECT r.budget, r.opened, CAST(CASE WHEN f.ok THEN 1 ELSE 0 END AS BIGINT), COALESCE(m.got, 0), r.rest, \
       COALESCE(m.wanted, r.wanted), \
       (SELECT count(*) FROM budget_leases o WHERE o.budget = r.budget AND o.opened = r.opened \
         AND o.journal <> $3 AND o.granted > o.booked AND o.answered < r.since) \
     FROM room r JOIN fits f USING (path) LEFT JOIN moved m USING (budget, opened)";

/// Access to the leases; PostgreSQL only.
#[derive(Clone)]
pub struct BudgetLeases {
    database: Database,
    scopes: LeaseScopes,
}

impl BudgetLeases {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, scopes: LeaseScopes::default() }
    }

    /// Whether budgets are shared by leases: on PostgreSQL.
    pub fn are_used(&self) -> bool {
        self.database.is_postgres()
    }

    /// Takes parts of windows for a journal, all or nothing for each path. `share` limits what is granted beyond the
    /// need: this fraction of the rest. Windows that do not exist refuse their path.
    pub async fn take(
        &self,
        journal: &str,
        asks: &[LeaseAsk],
        share: i64,
    ) -> Result<Vec<LeaseTaken>, StoreError> {
        let ask = |ask: &LeaseAsk| {
            json!({"path": ask.path, "budget": &*ask.key.budget, "opened": ask.key.opened.micros(),
                "amount": ask.amount.0, "need": ask.need.0, "want": ask.want.0, "since": ask.since})
        };
        let asks = json!(asks.iter().map(ask).collect::<Vec<_>>()).to_string();
        let values = [(&asks).into(), share.max(1).into(), journal.into()];
        let read = |row: &Row| -> Result<LeaseTaken, StoreError> {
            let (got, rest): (i64, i64) = (row.get(3)?, row.get(4)?);
            Ok(LeaseTaken {
                key: key(row)?,
                is_granted: row.get::<i64>(2)? == 1,
                got: Nanos(got),
                rest: Nanos(rest - got),
                wanted: row.get(5)?,
                unanswered: row.get(6)?,
            })
        };
        self.database.fetch(TAKE, &values).await?.iter().map(read).collect()
    }

    /// Gives back parts of a journal's leases, and answers the takes that found no room. A part that is not left any
    /// more is not given back.
    pub async fn give(&self, journal: &str, gifts: &[LeaseGift]) -> Result<(), StoreError> {
        const GIVE: &str = "WITH gift AS (SELECT * FROM json_to_recordset(CAST($1 AS json)) \
               AS g(budget TEXT, opened BIGINT, free BIGINT)), \
             head AS MATERIALIZED (SELECT w.budget, w.opened, w.leased, w.wanted FROM budget_windows w \
               JOIN gift USING (budget, opened) ORDER BY w.budget, w.opened FOR UPDATE OF w), \
             own AS MATERIALIZED (SELECT l.budget, l.opened, l.granted - l.booked AS rest FROM budget_leases l \
               JOIN head USING (budget, opened) WHERE l.journal = $2 ORDER BY l.budget, l.opened FOR UPDATE OF l), \
             back AS (UPDATE budget_leases l SET granted = l.granted - g.free, answered = h.wanted \
               FROM own o JOIN gift g USING (budget, opened) JOIN head h USING (budget, opened) \
               WHERE l.budget = o.budget AND l.opened = o.opened AND l.journal = $2 AND o.rest >= g.free \
               RETURNING l.budget, l.opened, g.free) \
             UPDATE budget_windows w SET leased = h.leased - b.free FROM back b JOIN head h USING (budget, opened) \
             WHERE w.budget = b.budget AND w.opened = b.opened";
        let gift = |gift: &LeaseGift| json!({"budget": &*gift.key.budget, "opened": gift.key.opened.micros(), "free": gift.free.0});
        let gifts = json!(gifts.iter().map(gift).collect::<Vec<_>>()).to_string();
        self.database.execute(GIVE, &[(&gifts).into(), journal.into()]).await.map(drop)
    }

    /// Tells listening replicas that a take found no room.
    pub async fn notify_wanted(&self) -> Result<(), StoreError> {
        change_notices::announce_committed(&self.database, ChangedData::BudgetLeases).await
    }

    /// The leases of a journal on windows that have not ended.
    pub async fn own(&self, journal: &str, now: Timestamp) -> Result<Vec<OwnLease>, StoreError> {
        self.read_own(journal, now, "").await
    }

    /// The leases of a journal that have not answered the takes that found no room.
    pub async fn recalled(&self, journal: &str, now: Timestamp) -> Result<Vec<OwnLease>, StoreError> {
        self.read_own(journal, now, " AND w.wanted > l.answered").await
    }

    async fn read_own(
        &self,
        journal: &str,
        now: Timestamp,
        condition: &'static str,
    ) -> Result<Vec<OwnLease>, StoreError> {
        let text = format!(
            "SELECT l.budget, l.opened, l.granted - l.booked, w.wanted, l.answered, \
               CAST(CASE WHEN w.base IS NULL THEN 0 ELSE 1 END AS BIGINT) \
             FROM budget_leases l JOIN budget_windows w USING (budget, opened) \
             WHERE l.journal = $1 AND w.until > $2{condition}"
        );
        let rows = self.database.fetch(sql(text), &[journal.into(), now.micros().into()]).await?;
        rows.iter().map(own_lease).collect()
    }

    /// The leases of all processes on windows that have not ended.
    pub async fn all(&self, now: Timestamp) -> Result<Vec<BudgetLease>, StoreError> {
        const ALL: &str = "SELECT l.budget, l.opened, w.until, w.tenant, w.user_path, w.run, l.journal, l.granted, \
               l.booked, CAST(CASE WHEN l.answered >= w.wanted THEN 1 ELSE 0 END AS BIGINT) \
             FROM budget_leases l JOIN budget_windows w ON w.budget = l.budget AND w.opened = l.opened \
             WHERE w.until > $1 ORDER BY l.journal, l.budget, l.opened";
        let read = |row: &Row| -> Result<BudgetLease, StoreError> {
            Ok(BudgetLease {
                key: key(row)?,
                until: Timestamp(row.get(2)?),
                scope: LeaseScope { tenant: row.get(3)?, user_path: row.get(4)?, run: row.get(5)? },
                journal: row.get(6)?,
                granted: Nanos(row.get(7)?),
                booked: Nanos(row.get(8)?),
                has_answered: row.get::<i64>(9)? == 1,
            })
        };
        self.database.fetch(ALL, &[now.micros().into()]).await?.iter().map(read).collect()
    }
}

fn key(row: &Row) -> Result<LeaseKey, StoreError> {
    Ok(LeaseKey { budget: row.get::<String>(0)?.into(), opened: Timestamp(row.get(1)?) })
}

fn own_lease(row: &Row) -> Result<OwnLease, StoreError> {
    Ok(OwnLease {
        key: key(row)?,
        left: Nanos(row.get(2)?),
        wanted: row.get(3)?,
        answered: row.get(4)?,
        has_base: row.get::<i64>(5)? == 1,
    })
}
