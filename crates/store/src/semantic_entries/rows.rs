//! Entries of the semantic cache as rows.

use bytes::Bytes;
use domain::clock::Timestamp;

use super::{Record, SemanticCursor, SemanticRow};
use crate::StoreError;
use crate::database::{Database, Row, Value};
use crate::idempotency::KeptAnswer;
use crate::write_behind::Aged;

/// Writes a batch in one transaction.
pub async fn write(database: &Database, batch: &[Aged<Record>]) -> Result<(), StoreError> {
    const PUT: &str = "INSERT INTO semantic_entries (id, partition_key, embedder, user_path, model, min_score, \
         expires_at, vector, facts, head, prompt, body) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (id) DO UPDATE SET partition_key = excluded.partition_key, embedder = excluded.embedder, \
         user_path = excluded.user_path, model = excluded.model, min_score = excluded.min_score, \
         expires_at = excluded.expires_at, vector = excluded.vector, facts = excluded.facts, head = excluded.head, \
         prompt = excluded.prompt, body = excluded.body";
    const REMOVE: &str = "DELETE FROM semantic_entries WHERE id = $1";
    database
        .limited(async {
            let mut open = database.begin().await?;
            for (_, record) in batch {
                let Record { id, row } = &**record;
                let Some(row) = row else {
                    open.execute(REMOVE, &[id.into()]).await?;
                    continue;
                };
                let values = [
                    Value::from(id),
                    (&row.partition).into(),
                    (&row.embedder).into(),
                    (&row.user_path).into(),
                    (&row.model).into(),
                    row.min_score.into(),
                    row.expires_at.micros().into(),
                    (&*row.vector).into(),
                    (&row.facts).into(),
                    (&row.answer.head).into(),
                    row.prompt.as_bytes().into(),
                    (&*row.answer.body).into(),
                ];
                open.execute(PUT, &values).await?;
            }
            open.commit().await
        })
        .await
}

/// A page of the entries of an embedder that have not expired, those that last longest first.
pub async fn page(
    database: &Database,
    embedder: &str,
    now: Timestamp,
    after: Option<&SemanticCursor>,
    limit: i64,
) -> Result<Vec<SemanticRow>, StoreError> {
    const PAGE: &str = "SELECT id, partition_key, embedder, user_path, model, min_score, expires_at, vector, facts, \
         head, prompt, body FROM semantic_entries WHERE embedder = $1 AND expires_at > $2 \
         AND (expires_at < $3 OR (expires_at = $3 AND id > $4)) ORDER BY expires_at DESC, id LIMIT $5";
    let (expires_at, id) = after.map_or((i64::MAX, ""), |after| (after.expires_at.micros(), &*after.id));
    let values = [Value::from(embedder), now.micros().into(), expires_at.into(), id.into(), limit.into()];
    database.fetch(PAGE, &values).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<SemanticRow, StoreError> {
    let text =
        |bytes: Vec<u8>| String::from_utf8(bytes).map_err(|error| StoreError::Corrupt(error.to_string()));
    Ok(SemanticRow {
        id: row.get(0)?,
        partition: row.get(1)?,
        embedder: row.get(2)?,
        user_path: row.get(3)?,
        model: row.get(4)?,
        min_score: row.get(5)?,
        expires_at: Timestamp(row.get(6)?),
        vector: row.get(7)?,
        facts: row.get(8)?,
        answer: KeptAnswer { head: row.get(9)?, body: Bytes::from(row.get::<Vec<u8>>(11)?) },
        prompt: text(row.get(10)?)?,
    })
}
