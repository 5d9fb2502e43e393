//! Entries of the semantic cache as rows.

use bytes::Bytes;
use domain::clock::Timestamp;

use super::changes::{self, SemanticChange};
use super::vectors::Vectors;
use super::{Record, SemanticCursor, SemanticRow};
use crate::StoreError;
use crate::database::{Database, Row, Value, Writing, sql};
use crate::idempotency::KeptAnswer;
use crate::write_behind::Aged;

const COLUMNS: &str = "id, partition_key, embedder, user_path, model, min_score, expires_at, vector, facts, head, \
     prompt, body, tenant_id";

/// Writes a batch in one transaction.
pub async fn write(
    database: &Database,
    vectors: Option<&Vectors>,
    (at, origin): (Timestamp, &str),
    batch: &[Aged<Record>],
) -> Result<(), StoreError> {
    if let (Some(vectors), Some(row)) = (vectors, batch.iter().find_map(|(_, record)| record.row.as_ref())) {
        vectors.index(database, row.vector.len(), at).await;
    }
    database
        .limited(async {
            let mut open = database.begin().await?;
            let last = changes::take_numbers(&mut open, batch.len() as i64).await?;
            let first = last - batch.len() as i64 + 1;
            for (seq, (_, record)) in (first..).zip(batch) {
                match &record.row {
                    Some(row) => put(&mut open, row, seq, origin).await?,
                    None => remove(&mut open, &record.id, seq, (at, origin)).await?,
                }
                if let (Some(vectors), Some(row)) = (vectors, &record.row) {
                    vectors.put(&mut open, row).await?;
                }
            }
            open.commit().await
        })
        .await
}

async fn put(open: &mut Writing, row: &SemanticRow, seq: i64, origin: &str) -> Result<(), StoreError> {
    const PUT: &str = "INSERT INTO semantic_entries (id, partition_key, embedder, user_path, model, min_score, \
         expires_at, vector, facts, head, prompt, body, tenant_id, seq, origin) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
         ON CONFLICT (id) DO UPDATE SET partition_key = excluded.partition_key, embedder = excluded.embedder, \
         user_path = excluded.user_path, model = excluded.model, min_score = excluded.min_score, \
         expires_at = excluded.expires_at, vector = excluded.vector, facts = excluded.facts, head = excluded.head, \
         prompt = excluded.prompt, body = excluded.body, tenant_id = excluded.tenant_id, seq = excluded.seq, \
         origin = excluded.origin";
    let values = [
        Value::from(&row.id),
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
        (&row.tenant_id).into(),
        seq.into(),
        origin.into(),
    ];
    open.execute(PUT, &values).await.map(drop)
}

/// Removes an entry, and records it unless there was none.
async fn remove(
    open: &mut Writing,
    id: &str,
    seq: i64,
    recorded: (Timestamp, &str),
) -> Result<(), StoreError> {
    if open.execute("DELETE FROM semantic_entries WHERE id = $1", &[id.into()]).await? == 0 {
        return Ok(());
    }
    changes::record_removal(open, seq, recorded, &SemanticChange::Removed(id.to_owned())).await
}

/// A page of the entries of an embedder that have not expired, those that last longest first.
pub async fn page(
    database: &Database,
    embedder: &str,
    now: Timestamp,
    after: Option<&SemanticCursor>,
    limit: i64,
) -> Result<Vec<SemanticRow>, StoreError> {
    let text = format!(
        "SELECT {COLUMNS} FROM semantic_entries WHERE embedder = $1 AND expires_at > $2 \
         AND (expires_at < $3 OR (expires_at = $3 AND id > $4)) ORDER BY expires_at DESC, id LIMIT $5"
    );
    let (expires_at, id) = after.map_or((i64::MAX, ""), |after| (after.expires_at.micros(), &*after.id));
    let values = [Value::from(embedder), now.micros().into(), expires_at.into(), id.into(), limit.into()];
    database.fetch(sql(text), &values).await?.iter().map(read).collect()
}

/// The entries that other processes have written, with their numbers.
pub async fn changed(
    database: &Database,
    embedder: &str,
    origin: &str,
    (after, last): (i64, i64),
    limit: i64,
) -> Result<Vec<(i64, SemanticRow)>, StoreError> {
    let text = format!(
        "SELECT {COLUMNS}, seq FROM semantic_entries WHERE seq > $1 AND seq <= $2 AND origin <> $3 AND embedder = $4 \
         ORDER BY seq LIMIT $5"
    );
    let values = [Value::from(after), last.into(), origin.into(), embedder.into(), limit.into()];
    let rows = database.fetch(sql(text), &values).await?;
    rows.iter().map(|row| Ok((row.get(13)?, read(row)?))).collect()
}

/// The entry with an id.
pub async fn find(database: &Database, id: &str) -> Result<Option<SemanticRow>, StoreError> {
    let text = format!("SELECT {COLUMNS} FROM semantic_entries WHERE id = $1");
    database.fetch(sql(text), &[id.into()]).await?.first().map(read).transpose()
}

/// A text that is stored as bytes.
pub fn text(bytes: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(bytes).map_err(|error| StoreError::Corrupt(error.to_string()))
}

fn read(row: &Row) -> Result<SemanticRow, StoreError> {
    Ok(SemanticRow {
        id: row.get(0)?,
        partition: row.get(1)?,
        embedder: row.get(2)?,
        tenant_id: row.get(12)?,
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
