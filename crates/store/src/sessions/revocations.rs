//! Revoked tokens of issuers.

use domain::clock::Timestamp;

use super::{Sessions, next_change};
use crate::StoreError;
use crate::database::Row;
use crate::expiry::ExpiringTable;

pub(crate) const EXPIRING: ExpiringTable =
    ExpiringTable { name: "token_revocations", time: "expires_at", key: "kind, issuer, value" };

/// Tokens that are refused although their signature and times are valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRevocation {
    pub by: RevokedBy,
    /// Empty for all issuers.
    pub issuer: String,
    /// The id of the token, or the subject; empty if all tokens of the issuer are revoked.
    pub value: String,
    /// Tokens of a subject or issuer that were issued later are accepted again.
    pub revoked_at: Timestamp,
    /// The end of the tokens that it names, if it is known. The revocation is deleted afterwards.
    pub expires_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RevokedBy {
    Jti,
    Subject,
    Issuer,
}

impl RevokedBy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jti => "jti",
            Self::Subject => "subject",
            Self::Issuer => "issuer",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Jti, Self::Subject, Self::Issuer].into_iter().find(|by| by.as_str() == text)
    }
}

impl Sessions {
    /// Stores a revocation. One that exists ends at the later of both times, or never if one of them is unknown.
    pub async fn revoke_tokens(&self, revocation: &TokenRevocation) -> Result<(), StoreError> {
        const PUT: &str = "INSERT INTO token_revocations (kind, issuer, value, revoked_at, expires_at, seq) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (kind, issuer, value) DO UPDATE \
             SET revoked_at = excluded.revoked_at, seq = excluded.seq, expires_at = CASE \
             WHEN token_revocations.expires_at < excluded.expires_at THEN excluded.expires_at \
             WHEN excluded.expires_at IS NULL THEN NULL ELSE token_revocations.expires_at END";
        let TokenRevocation { by, issuer, value, revoked_at, expires_at } = revocation;
        self.database
            .limited(async {
                let mut open = self.database.begin().await?;
                let seq = next_change(&mut open).await?;
                let values = [
                    by.as_str().into(),
                    issuer.into(),
                    value.into(),
                    revoked_at.micros().into(),
                    expires_at.map(Timestamp::micros).into(),
                    seq.into(),
                ];
                open.execute(PUT, &values).await?;
                open.commit().await
            })
            .await
    }

    /// The revocations after this change.
    pub async fn revocations_since(&self, seq: i64) -> Result<Vec<TokenRevocation>, StoreError> {
        const SINCE: &str = "SELECT kind, issuer, value, revoked_at, expires_at FROM token_revocations WHERE seq > $1 ORDER BY seq";
        let rows = self.database.fetch(SINCE, &[seq.into()]).await?;
        Ok(rows.iter().filter_map(read).collect())
    }

    /// Deletes revocations whose tokens have all expired, in batches, with pauses for other writers.
    pub async fn expire_revocations(&self, now: Timestamp, batch: i64) -> Result<u64, StoreError> {
        EXPIRING.delete_expired(&self.database, now, batch).await
    }
}

fn read(row: &Row) -> Option<TokenRevocation> {
    Some(TokenRevocation {
        by: RevokedBy::parse(&row.get::<String>(0).ok()?)?,
        issuer: row.get(1).ok()?,
        value: row.get(2).ok()?,
        revoked_at: Timestamp(row.get(3).ok()?),
        expires_at: row.get::<Option<i64>>(4).ok()?.map(Timestamp),
    })
}
