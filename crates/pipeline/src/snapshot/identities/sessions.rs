//! Live sessions by the digest of their value.

use std::collections::HashMap;
use std::sync::Arc;

use domain::clock::Timestamp;
use domain::session::{SessionKind, SessionOwner, SessionRecord};

/// The sessions that are in force.
#[derive(Clone, Default)]
pub struct SessionTable {
    /// The newest change that the table contains.
    pub seq: i64,
    by_digest: HashMap<[u8; 32], Arc<LiveSession>, foldhash::fast::RandomState>,
}

/// A session that has not ended. Its owner is looked up at every use.
#[derive(Debug)]
pub struct LiveSession {
    pub kind: SessionKind,
    pub family: Arc<str>,
    pub owner: SessionOwner,
    pub expires_at: Timestamp,
}

impl SessionTable {
    pub fn find(&self, digest: &[u8; 32]) -> Option<&Arc<LiveSession>> {
        self.by_digest.get(digest)
    }

    pub fn len(&self) -> usize {
        self.by_digest.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_digest.is_empty()
    }

    /// The table after these changes, without expired sessions.
    #[must_use]
    pub fn with(&self, seq: i64, changed: Vec<SessionRecord>, now: Timestamp) -> Self {
        let mut by_digest = self.by_digest.clone();
        by_digest.retain(|_, session| session.expires_at > now);
        for record in changed {
            if record.ended_at.is_some() || record.expires_at <= now {
                by_digest.remove(&record.digest);
                continue;
            }
            let SessionRecord { digest, kind, family, owner, expires_at, .. } = record;
            by_digest
                .insert(digest, Arc::new(LiveSession { kind, family: family.into(), owner, expires_at }));
        }
        Self { seq, by_digest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u8, expires_at: i64, ended_at: Option<i64>) -> SessionRecord {
        SessionRecord {
            digest: [number; 32],
            kind: SessionKind::Cookie,
            family: "f".into(),
            owner: SessionOwner::User("u".into()),
            created_at: Timestamp(0),
            expires_at: Timestamp(expires_at),
            ended_at: ended_at.map(Timestamp),
        }
    }

    #[test]
    fn ended_and_expired_sessions_leave_the_table() {
        let table = SessionTable::default();
        let table = table.with(
            1,
            vec![record(1, 100, None), record(2, 50, None), record(3, 100, None)],
            Timestamp(10),
        );
        assert_eq!((table.len(), table.seq), (3, 1));
        let table = table.with(2, vec![record(1, 100, Some(20))], Timestamp(60));
        assert!(table.find(&[1; 32]).is_none() && table.find(&[2; 32]).is_none());
        assert!(table.find(&[3; 32]).is_some());
    }
}
