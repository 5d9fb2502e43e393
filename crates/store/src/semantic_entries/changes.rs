//! Changes of the semantic cache in the order in which they were committed, for the other processes on the database.

use domain::clock::Timestamp;

use super::{SemanticRow, rows};
use crate::StoreError;
use crate::change_notices::{self, ChangedData};
use crate::database::{Database, Row, Value, Writing};

/// A change that another process has made.
#[derive(Clone, Debug, PartialEq)]
pub enum SemanticChange {
    Put(Box<SemanticRow>),
    /// An entry was removed, by its id.
    Removed(String),
    Purged(SemanticPurge),
}

/// The entries that a purge removes; without a condition, all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SemanticPurge {
    /// Entries of one tenant.
    pub tenant_id: Option<String>,
    /// Entries of a user path and those below it.
    pub user_path: Option<String>,
    /// Entries of a model, by its name at the provider.
    pub model: Option<String>,
}

/// A part of the changes, and the position after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SemanticChanges {
    pub changes: Vec<SemanticChange>,
    pub position: i64,
    /// Whether there are more.
    pub has_more: bool,
}

/// Takes the next numbers, and returns the last one. Other writers wait until the transaction ends,
/// and other processes are notified then.
pub async fn take_numbers(open: &mut Writing, count: i64) -> Result<i64, StoreError> {
    const TAKE: &str = "UPDATE semantic_sequence SET value = value + $1 WHERE id = 1 RETURNING value";
    let rows = open.fetch(TAKE, &[count.into()]).await?;
    change_notices::announce(open, ChangedData::SemanticCache).await?;
    rows.first().ok_or(StoreError::NotFound)?.get(0)
}

/// Records the removal of an entry, or a purge.
pub async fn record_removal(
    open: &mut Writing,
    seq: i64,
    (at, origin): (Timestamp, &str),
    removed: &SemanticChange,
) -> Result<(), StoreError> {
    const RECORD: &str = "INSERT INTO semantic_removals (seq, at, origin, entry_id, tenant_id, user_path, model) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let none = SemanticPurge::default();
    let (id, conditions) = match removed {
        SemanticChange::Put(_) => return Ok(()),
        SemanticChange::Removed(id) => (Some(id.as_str()), &none),
        SemanticChange::Purged(conditions) => (None, conditions),
    };
    let values = [
        Value::from(seq),
        at.micros().into(),
        origin.into(),
        id.into(),
        conditions.tenant_id.as_deref().into(),
        conditions.user_path.as_deref().into(),
        conditions.model.as_deref().into(),
    ];
    open.execute(RECORD, &values).await.map(drop)
}

/// The number of the last change.
pub async fn position(database: &Database) -> Result<i64, StoreError> {
    let rows = database.fetch("SELECT value FROM semantic_sequence WHERE id = 1", &[]).await?;
    rows.first().ok_or(StoreError::NotFound)?.get(0)
}

/// The changes of other processes after a position, at most `limit` of each kind.
pub async fn after(
    database: &Database,
    embedder: &str,
    origin: &str,
    after: i64,
    limit: i64,
) -> Result<SemanticChanges, StoreError> {
    const REMOVALS: &str = "SELECT seq, entry_id, tenant_id, user_path, model FROM semantic_removals \
         WHERE seq > $1 AND seq <= $2 AND origin <> $3 ORDER BY seq LIMIT $4";
    // Everything up to this number is committed.
    let last = position(database).await?;
    if last <= after {
        return Ok(SemanticChanges { position: after, ..SemanticChanges::default() });
    }
    let entries = rows::changed(database, embedder, origin, (after, last), limit).await?;
    let values = [Value::from(after), last.into(), origin.into(), limit.into()];
    let removals = database.fetch(REMOVALS, &values).await?;
    let removals: Vec<(i64, SemanticChange)> = removals.iter().map(removal).collect::<Result<_, _>>()?;
    // A full page ends before the last change, and the other one is cut there.
    let full = |count: usize, last: Option<i64>| last.filter(|_| count as i64 == limit);
    let ends = [
        full(entries.len(), entries.last().map(|(seq, _)| *seq)),
        full(removals.len(), removals.last().map(|(seq, _)| *seq)),
    ];
    let position = ends.into_iter().flatten().min().unwrap_or(last);
    let mut changes: Vec<(i64, SemanticChange)> = removals;
    changes.extend(entries.into_iter().map(|(seq, row)| (seq, SemanticChange::Put(Box::new(row)))));
    changes.retain(|(seq, _)| *seq <= position);
    changes.sort_by_key(|(seq, _)| *seq);
    let changes = changes.into_iter().map(|(_, change)| change).collect();
    Ok(SemanticChanges { changes, position, has_more: position < last })
}

fn removal(row: &Row) -> Result<(i64, SemanticChange), StoreError> {
    let change = match row.get::<Option<String>>(1)? {
        Some(id) => SemanticChange::Removed(id),
        None => SemanticChange::Purged(SemanticPurge {
            tenant_id: row.get(2)?,
            user_path: row.get(3)?,
            model: row.get(4)?,
        }),
    };
    Ok((row.get(0)?, change))
}
