//! Sessions and revoked tokens. Processes keep both in memory and read what has changed since.

pub(crate) mod revocations;
#[cfg(test)]
mod tests;

use domain::clock::Timestamp;
use domain::resources::auth_key;
use domain::session::{SessionKind, SessionOwner, SessionRecord};

use crate::StoreError;
use crate::change_notices::{self, ChangedData};
use crate::database::{Database, Row, Writing};
use crate::expiry::ExpiringTable;

pub use revocations::{RevokedBy, TokenRevocation};

pub(crate) const EXPIRING: ExpiringTable =
    ExpiringTable { name: "sessions", time: "expires_at", key: "digest" };

/// The table of sessions and that of revoked tokens. Clones share the database.
#[derive(Clone)]
pub struct Sessions {
    database: Database,
}

/// The outcome of the exchange of a refresh token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefreshOutcome {
    /// It was valid, and cannot be used again.
    Exchanged(SessionRecord),
    /// It was used before: all sessions of its family have ended.
    Reused { family: String },
    /// It is unknown or expired.
    Unknown,
}

macro_rules! columns {
    () => {
        "digest, kind, family, owner, created_at, expires_at, ended_at"
    };
}

impl Sessions {
    pub(crate) fn new(database: Database) -> Self {
        Self { database }
    }

    /// The number of the newest change.
    pub async fn newest_change(&self) -> Result<i64, StoreError> {
        let rows = self.database.fetch("SELECT seq FROM session_changes WHERE id = 1", &[]).await?;
        rows.first().ok_or_else(|| StoreError::Corrupt("the session counter is missing".into()))?.get(0)
    }

    /// Cookies and access tokens that are neither expired nor ended.
    pub async fn live(&self, now: Timestamp) -> Result<Vec<SessionRecord>, StoreError> {
        const LIVE: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM sessions WHERE expires_at > $1 AND ended_at IS NULL AND kind <> 'refresh'"
        );
        let rows = self.database.fetch(LIVE, &[now.micros().into()]).await?;
        Ok(rows.iter().filter_map(read).collect())
    }

    /// Cookies and access tokens that were added or ended after this change.
    pub async fn changed_since(&self, seq: i64) -> Result<Vec<SessionRecord>, StoreError> {
        const CHANGED: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM sessions WHERE seq > $1 AND kind <> 'refresh' ORDER BY seq"
        );
        let rows = self.database.fetch(CHANGED, &[seq.into()]).await?;
        Ok(rows.iter().filter_map(read).collect())
    }

    /// Adds the sessions of a login. Beyond `most` live ones of the owner, the oldest families end.
    pub async fn add(&self, records: &[SessionRecord], most: i64) -> Result<(), StoreError> {
        self.database
            .limited(async {
                let mut open = self.database.begin().await?;
                let seq = next_change(&mut open).await?;
                for record in records {
                    insert(&mut open, record, seq).await?;
                }
                if let Some(record) = records.first() {
                    end_oldest(&mut open, &record.owner.to_text(), record.created_at, most, seq).await?;
                }
                open.commit().await
            })
            .await
    }

    /// Ends all sessions of a family.
    pub async fn end_family(&self, family: &str, now: Timestamp) -> Result<(), StoreError> {
        const END: &str =
            "UPDATE sessions SET ended_at = $2, seq = $3 WHERE family = $1 AND ended_at IS NULL";
        self.end(END, family, now).await
    }

    /// Ends all sessions of an owner.
    pub async fn end_owner(&self, owner: &SessionOwner, now: Timestamp) -> Result<(), StoreError> {
        const END: &str = "UPDATE sessions SET ended_at = $2, seq = $3 WHERE owner = $1 AND ended_at IS NULL";
        self.end(END, &owner.to_text(), now).await
    }

    async fn end(&self, sql: &'static str, name: &str, now: Timestamp) -> Result<(), StoreError> {
        self.database
            .limited(async {
                let mut open = self.database.begin().await?;
                let seq = next_change(&mut open).await?;
                open.execute(sql, &[name.into(), now.micros().into(), seq.into()]).await?;
                open.commit().await
            })
            .await
    }

    /// Uses up a refresh token, and adds the sessions that `issue` makes for its owner. Of several concurrent uses one
    /// succeeds; any other is a reuse.
    pub async fn exchange(
        &self,
        digest: &[u8; 32],
        now: Timestamp,
        issue: impl Fn(&SessionRecord) -> Vec<SessionRecord> + Sync,
    ) -> Result<RefreshOutcome, StoreError> {
        const KNOWN: &str =
            "SELECT digest FROM sessions WHERE digest = $1 AND kind = 'refresh' AND expires_at > $2";
        self.database
            .limited(async {
                // Anybody can send unknown tokens: they must not cost a write.
                let hex = auth_key::digest_hex(digest);
                if self.database.fetch(KNOWN, &[(&hex).into(), now.micros().into()]).await?.is_empty() {
                    return Ok(RefreshOutcome::Unknown);
                }
                let mut open = self.database.begin().await?;
                let outcome = exchange(&mut open, digest, now, &issue).await?;
                open.commit().await?;
                Ok(outcome)
            })
            .await
    }

    /// Deletes expired sessions in batches, with pauses for other writers.
    pub async fn expire(&self, now: Timestamp, batch: i64) -> Result<u64, StoreError> {
        EXPIRING.delete_expired(&self.database, now, batch).await
    }
}

async fn exchange(
    open: &mut Writing,
    digest: &[u8; 32],
    now: Timestamp,
    issue: &(impl Fn(&SessionRecord) -> Vec<SessionRecord> + Sync),
) -> Result<RefreshOutcome, StoreError> {
    const FIND: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM sessions WHERE digest = $1 AND kind = 'refresh' AND expires_at > $2"
    );
    const USE: &str = "UPDATE sessions SET ended_at = $2, seq = $3 WHERE digest = $1 AND ended_at IS NULL";
    const END_ACCESS: &str = "UPDATE sessions SET ended_at = $2, seq = $3 \
         WHERE family = $1 AND kind = 'access' AND ended_at IS NULL";
    const END: &str = "UPDATE sessions SET ended_at = $2, seq = $3 WHERE family = $1 AND ended_at IS NULL";
    // Taken first: the row lock of the counter serializes writers.
    let seq = next_change(open).await?;
    let hex = auth_key::digest_hex(digest);
    let rows = open.fetch(FIND, &[(&hex).into(), now.micros().into()]).await?;
    let Some(record) = rows.first().and_then(read) else { return Ok(RefreshOutcome::Unknown) };
    if open.execute(USE, &[(&hex).into(), now.micros().into(), seq.into()]).await? == 0 {
        open.execute(END, &[(&record.family).into(), now.micros().into(), seq.into()]).await?;
        return Ok(RefreshOutcome::Reused { family: record.family });
    }
    open.execute(END_ACCESS, &[(&record.family).into(), now.micros().into(), seq.into()]).await?;
    for session in issue(&record) {
        insert(open, &session, seq).await?;
    }
    Ok(RefreshOutcome::Exchanged(record))
}

/// Increments the number of changes. Called first in a transaction, so that changes become visible in order.
/// Other processes are notified when it is committed.
async fn next_change(open: &mut Writing) -> Result<i64, StoreError> {
    let rows = open.fetch("UPDATE session_changes SET seq = seq + 1 WHERE id = 1 RETURNING seq", &[]).await?;
    let row = rows.first().ok_or_else(|| StoreError::Corrupt("the session counter is missing".into()))?;
    change_notices::announce(open, ChangedData::Sessions).await?;
    row.get(0)
}

async fn insert(open: &mut Writing, record: &SessionRecord, seq: i64) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO sessions (digest, kind, family, owner, created_at, expires_at, ended_at, seq) \
         VALUES ($1, $2, $3, $4, $5, $6, NULL, $7)";
    let (digest, owner) = (auth_key::digest_hex(&record.digest), record.owner.to_text());
    let values = [
        (&digest).into(),
        record.kind.as_str().into(),
        (&record.family).into(),
        (&owner).into(),
        record.created_at.micros().into(),
        record.expires_at.micros().into(),
        seq.into(),
    ];
    open.execute(INSERT, &values).await.map(drop)
}

async fn end_oldest(
    open: &mut Writing,
    owner: &str,
    now: Timestamp,
    most: i64,
    seq: i64,
) -> Result<(), StoreError> {
    const OLD: &str = "SELECT family FROM sessions WHERE owner = $1 AND ended_at IS NULL AND expires_at > $2 \
         GROUP BY family ORDER BY MAX(created_at) DESC, family DESC LIMIT 1000 OFFSET $3";
    const END: &str = "UPDATE sessions SET ended_at = $2, seq = $3 WHERE family = $1 AND ended_at IS NULL";
    for row in open.fetch(OLD, &[owner.into(), now.micros().into(), most.into()]).await? {
        let family: String = row.get(0)?;
        open.execute(END, &[(&family).into(), now.micros().into(), seq.into()]).await?;
    }
    Ok(())
}

/// A session; `None` if its row was written by a version that this one does not understand.
fn read(row: &Row) -> Option<SessionRecord> {
    Some(SessionRecord {
        digest: auth_key::parse_digest(&row.get::<String>(0).ok()?)?,
        kind: SessionKind::parse(&row.get::<String>(1).ok()?)?,
        family: row.get(2).ok()?,
        owner: SessionOwner::parse(&row.get::<String>(3).ok()?)?,
        created_at: Timestamp(row.get(4).ok()?),
        expires_at: Timestamp(row.get(5).ok()?),
        ended_at: row.get::<Option<i64>>(6).ok()?.map(Timestamp),
    })
}
