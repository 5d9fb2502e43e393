//! The vectors of entries in PostgreSQL with the extension pgvector, which finds the nearest ones.

use std::collections::HashSet;
use std::fmt::Write as _;

use domain::clock::Timestamp;
use parking_lot::Mutex;

use super::SemanticRow;
use crate::StoreError;
use crate::database::{Database, Value, Writing, sql};

/// The most dimensions that an index of pgvector has.
const INDEXED_DIMENSIONS: usize = 2000;
/// Microseconds until an index that could not be made is tried again.
const RETRY_INDEX: i64 = 600_000_000;
/// The lock of processes that create the table at the same time.
const LOCK: i64 = 0x6761_7465_7665_6374;

/// An entry near a vector, without its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct NearestEntry {
    pub id: String,
    pub prompt: String,
    /// The cosine of both vectors, in millionths.
    pub score: i64,
    /// The lowest score at which the entry may be served, in millionths.
    pub min_score: i64,
}

/// The vectors in the database.
pub struct Vectors {
    /// Whether an approximate index can be searched until enough entries of one partition are found. Without that, it
    /// would miss entries of small partitions, and none is made.
    has_iterative_scan: bool,
    /// The dimensions that have an index.
    indexed: Mutex<HashSet<usize>>,
    /// The time before which no index is made, after one could not be made.
    retry_at: Mutex<Timestamp>,
}

impl Vectors {
    /// Creates the extension and the table, unless they exist.
    pub async fn open(database: &Database) -> Result<Self, StoreError> {
        if !database.is_postgres() {
            return Err(StoreError::Failed(
                "pgvector needs PostgreSQL as storage (STORAGE_TYPE=postgres)".into(),
            ));
        }
        let version = match database.execute("CREATE EXTENSION IF NOT EXISTS vector", &[]).await {
            Ok(_) => version(database).await?,
            // It may exist although this role may not create it.
            Err(error) => match version(database).await? {
                Some(version) => Some(version),
                None => {
                    return Err(StoreError::Failed(format!(
                        "the extension `vector` (pgvector) is not in the database and could not be created: {error}. Install \
                     pgvector on the server and run `CREATE EXTENSION vector` in this database as a superuser, or set \
                     SEMANTIC_CACHE_STORE=embedded"
                    )));
                }
            },
        };
        create_table(database).await?;
        let has_iterative_scan = version.is_some_and(|version| version >= (0, 8));
        Ok(Self { has_iterative_scan, indexed: Mutex::default(), retry_at: Mutex::new(Timestamp(0)) })
    }

    /// Writes the vector of an entry.
    pub async fn put(&self, open: &mut Writing, row: &SemanticRow) -> Result<(), StoreError> {
        const PUT: &str = "INSERT INTO semantic_vectors (id, partition_key, embedder, expires_at, dimensions, embedding) \
             VALUES ($1, $2, $3, $4, $5, CAST($6 AS vector)) ON CONFLICT (id) DO UPDATE SET \
             partition_key = excluded.partition_key, embedder = excluded.embedder, expires_at = excluded.expires_at, \
             dimensions = excluded.dimensions, embedding = excluded.embedding";
        let vector = literal(row.vector.iter().map(|component| f32::from(component.cast_signed())));
        let values = [
            Value::from(&row.id),
            (&row.partition).into(),
            (&row.embedder).into(),
            row.expires_at.micros().into(),
            (row.vector.len() as i64).into(),
            (&vector).into(),
        ];
        open.execute(PUT, &values).await.map(drop)
    }

    /// Makes the index of vectors with this many dimensions, once. Without it, searches are slower; it is tried again later.
    pub async fn index(&self, database: &Database, dimensions: usize, now: Timestamp) {
        if !self.has_iterative_scan
            || dimensions > INDEXED_DIMENSIONS
            || self.indexed.lock().contains(&dimensions)
            || now < *self.retry_at.lock()
        {
            return;
        }
        let text = format!(
            "CREATE INDEX IF NOT EXISTS semantic_vectors_hnsw_{dimensions} ON semantic_vectors \
             USING hnsw ((embedding::vector({dimensions})) vector_cosine_ops) WHERE dimensions = {dimensions}"
        );
        match database.execute(sql(text), &[]).await {
            Ok(_) => _ = self.indexed.lock().insert(dimensions),
            Err(error) => {
                *self.retry_at.lock() = Timestamp(now.micros() + RETRY_INDEX);
                tracing::warn!(%error, dimensions, "index of the semantic cache could not be made; retrying later");
            }
        }
    }

    /// The entries of a partition whose vectors are nearest, best first.
    pub async fn nearest(
        &self,
        database: &Database,
        (partition, embedder): (&str, &str),
        vector: &[f32],
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<NearestEntry>, StoreError> {
        let (dimensions, literal) = (vector.len(), literal(vector.iter().copied()));
        let distance = format!("embedding::vector({dimensions}) <=> CAST($4 AS vector({dimensions}))");
        let text = format!(
            "SELECT found.id, entry.prompt, CAST(ROUND((1 - found.distance) * 1000000) AS BIGINT), entry.min_score FROM \
             (SELECT id, {distance} AS distance FROM semantic_vectors WHERE partition_key = $1 AND embedder = $2 \
             AND expires_at > $3 AND dimensions = {dimensions} ORDER BY {distance} LIMIT $5) found \
             JOIN semantic_entries entry ON entry.id = found.id ORDER BY found.distance"
        );
        let values =
            [Value::from(partition), embedder.into(), now.micros().into(), (&literal).into(), limit.into()];
        let rows = database
            .limited(async {
                let mut open = database.begin().await?;
                if self.has_iterative_scan {
                    open.execute("SET LOCAL hnsw.iterative_scan = strict_order", &[]).await?;
                }
                let rows = open.fetch(sql(text), &values).await?;
                open.commit().await?;
                Ok(rows)
            })
            .await?;
        let read = |row: &crate::database::Row| {
            Ok(NearestEntry {
                id: row.get(0)?,
                prompt: super::rows::text(row.get(1)?)?,
                score: row.get(2)?,
                min_score: row.get(3)?,
            })
        };
        rows.iter().map(read).collect()
    }
}

/// Major and minor version of the extension; `None` if it is not in the database.
async fn version(database: &Database) -> Result<Option<(u32, u32)>, StoreError> {
    let rows = database.fetch("SELECT extversion FROM pg_extension WHERE extname = 'vector'", &[]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let version: String = row.get(0)?;
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    Ok(Some((parts.next().unwrap_or(0), parts.next().unwrap_or(0))))
}

/// The rows go with their entries.
async fn create_table(database: &Database) -> Result<(), StoreError> {
    const TABLE: &str = "CREATE TABLE IF NOT EXISTS semantic_vectors (\
         id TEXT COLLATE \"C\" NOT NULL PRIMARY KEY REFERENCES semantic_entries (id) ON DELETE CASCADE, \
         partition_key TEXT COLLATE \"C\" NOT NULL, embedder TEXT COLLATE \"C\" NOT NULL, expires_at BIGINT NOT NULL, \
         dimensions BIGINT NOT NULL, embedding vector NOT NULL)";
    const INDEX: &str = "CREATE INDEX IF NOT EXISTS semantic_vectors_by_partition ON semantic_vectors (partition_key, embedder)";
    database
        .limited(async {
            let mut open = database.begin().await?;
            open.fetch("SELECT CAST(pg_advisory_xact_lock($1) AS TEXT)", &[LOCK.into()]).await?;
            open.execute(TABLE, &[]).await?;
            open.execute(INDEX, &[]).await?;
            open.commit().await
        })
        .await
}

/// A vector as pgvector reads it.
fn literal(components: impl Iterator<Item = f32>) -> String {
    let mut text = String::from("[");
    for (at, component) in components.enumerate() {
        let separator = if at == 0 { "" } else { "," };
        let _ = write!(text, "{separator}{component}");
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_written_as_lists() {
        assert_eq!(literal([1.0, -0.5, 127.0].into_iter()), "[1,-0.5,127]");
        assert_eq!(literal([].into_iter()), "[]");
    }
}
