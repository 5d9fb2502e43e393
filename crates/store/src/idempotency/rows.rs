//! Idempotency keys as rows: claim, renew, answer, release.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use domain::clock::Timestamp;

use super::{Outcome, Record, Repeatable};
use crate::StoreError;
use crate::database::{Database, Value};
use crate::write_behind::Aged;

pub const RUNNING: i64 = 0;
pub const KEPT: i64 = 1;
const NOT_KEPT: i64 = 2;

/// A row without its body.
pub struct Row {
    pub fingerprint: String,
    pub claim: String,
    pub state: i64,
    pub expires_at: Timestamp,
    pub head: String,
}

pub async fn find(database: &Database, id: &str) -> Result<Option<Row>, StoreError> {
    const FIND: &str = "SELECT fingerprint, claim, state, expires_at, head FROM idempotency WHERE id = $1";
    let rows = database.fetch(FIND, &[id.into()]).await?;
    let read = |row: &crate::database::Row| {
        Ok(Row {
            fingerprint: row.get(0)?,
            claim: row.get(1)?,
            state: row.get(2)?,
            expires_at: Timestamp(row.get(3)?),
            head: row.get(4)?,
        })
    };
    rows.first().map(read).transpose()
}

pub async fn body(database: &Database, id: &str) -> Result<Option<Bytes>, StoreError> {
    const BODY: &str = "SELECT packed, body FROM idempotency WHERE id = $1 AND state = 1";
    let rows = database.fetch(BODY, &[id.into()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let (packed, body): (i64, String) = (row.get(0)?, row.get(1)?);
    if packed == 0 {
        return Ok(Some(body.into()));
    }
    let unpacked = BASE64.decode(body).map_err(|error| StoreError::Corrupt(error.to_string()))?;
    Ok(Some(unpacked.into()))
}

/// Claims a key; false if another call has it.
pub async fn claim(
    database: &Database,
    call: &Repeatable,
    released: Option<&str>,
    now: Timestamp,
    until: Timestamp,
) -> Result<bool, StoreError> {
    const CLAIM: &str = "INSERT INTO idempotency (id, fingerprint, claim, state, expires_at, head, packed, body) \
         VALUES ($1, $2, $3, 0, $4, '', 0, '') \
         ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, claim = excluded.claim, state = 0, \
         expires_at = excluded.expires_at, head = '', packed = 0, body = '' \
         WHERE idempotency.expires_at <= $5 OR (idempotency.state = 0 AND idempotency.claim = $6)";
    let values = [
        Value::from(&call.id),
        (&call.fingerprint).into(),
        (&call.token).into(),
        until.micros().into(),
        now.micros().into(),
        released.unwrap_or_default().into(),
    ];
    Ok(database.execute(CLAIM, &values).await? > 0)
}

pub async fn renew(database: &Database, calls: &[Repeatable], until: Timestamp) -> Result<(), StoreError> {
    const RENEW: &str = "UPDATE idempotency SET expires_at = $1 WHERE id = $2 AND claim = $3 AND state = 0";
    database
        .limited(async {
            let mut open = database.begin().await?;
            for call in calls {
                open.execute(RENEW, &[until.micros().into(), (&call.id).into(), (&call.token).into()])
                    .await?;
            }
            open.commit().await
        })
        .await
}

/// Writes a batch in one transaction. A stored response is not replaced, because clients may have seen it.
pub async fn write(database: &Database, batch: &[Aged<Record>], now: Timestamp) -> Result<(), StoreError> {
    const KEEP: &str = "INSERT INTO idempotency (id, fingerprint, claim, state, expires_at, head, packed, body) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, claim = excluded.claim, \
         state = excluded.state, expires_at = excluded.expires_at, head = excluded.head, \
         packed = excluded.packed, body = excluded.body \
         WHERE idempotency.state = 0 OR idempotency.expires_at <= $9";
    const RELEASE: &str = "DELETE FROM idempotency WHERE id = $1 AND claim = $2 AND state = 0";
    database
        .limited(async {
            let mut open = database.begin().await?;
            for (_, record) in batch {
                let Record { call, outcome, expires_at } = &**record;
                let nothing = (String::new(), Bytes::new());
                let (state, head, body) = match outcome {
                    Outcome::Released => {
                        open.execute(RELEASE, &[(&call.id).into(), (&call.token).into()]).await?;
                        continue;
                    }
                    Outcome::NotKept => (NOT_KEPT, &nothing.0, &nothing.1),
                    Outcome::Kept(answer) => (KEPT, &answer.head, &answer.body),
                };
                let packed = pack(body);
                let text = packed.as_deref().or_else(|| std::str::from_utf8(body).ok()).unwrap_or_default();
                let values = [
                    Value::from(&call.id),
                    (&call.fingerprint).into(),
                    (&call.token).into(),
                    state.into(),
                    expires_at.micros().into(),
                    head.into(),
                    i64::from(packed.is_some()).into(),
                    text.into(),
                    now.micros().into(),
                ];
                open.execute(KEEP, &values).await?;
            }
            open.commit().await
        })
        .await
}

/// Base64 for bodies that are not text acceptable to both databases.
fn pack(body: &[u8]) -> Option<String> {
    let plain = std::str::from_utf8(body).is_ok() && !body.contains(&0);
    (!plain).then(|| BASE64.encode(body))
}
