//! Entries of the semantic cache in the form in which they are stored.

use std::sync::Arc;
use std::time::Duration;

use domain::clock::Timestamp;
use domain::resources::auth_key::{digest_hex, parse_digest};
use semantic_cache::quantise::Quantised;
use store::SemanticRow;

use super::SemanticEntry;
use crate::services::recorded_answer::RecordedAnswer;
use crate::services::response_cache::stored_answer::StoredFacts;

/// The row of an entry. `now` and `at` are the same time on the two clocks.
pub fn row(entry: &SemanticEntry, embedder: String, now: Duration, at: Timestamp) -> Option<SemanticRow> {
    let cached = &entry.cached;
    let left = cached.expires_at.checked_sub(now)?;
    let facts = StoredFacts::of(cached);
    Some(SemanticRow {
        id: digest_hex(&entry.id),
        partition: digest_hex(&entry.partition),
        embedder,
        tenant_id: cached.tenant.clone().unwrap_or_default(),
        user_path: cached.user_path.clone(),
        model: cached.answer.target().model.to_string(),
        min_score: millionths(entry.min_score),
        expires_at: Timestamp(at.micros().saturating_add(i64::try_from(left.as_micros()).ok()?)),
        vector: entry.vector.components.iter().map(|component| component.cast_unsigned()).collect(),
        facts: serde_json::to_string(&facts).ok()?,
        prompt: entry.prompt.clone(),
        answer: cached.answer.clone().into_stored()?,
    })
}

/// A score as it is stored.
pub fn millionths(score: f32) -> i64 {
    (f64::from(score) * 1e6).round() as i64
}

/// The entry of a row; `None` if it cannot be read, or has expired.
pub fn read(row: SemanticRow, now: Duration, at: Timestamp) -> Option<SemanticEntry> {
    let left = u64::try_from(row.expires_at.micros() - at.micros()).ok().filter(|left| *left > 0)?;
    let facts: StoredFacts = serde_json::from_str(&row.facts).ok()?;
    let components = row.vector.iter().map(|component| component.cast_signed()).collect();
    let tenant = Some(row.tenant_id).filter(|tenant| !tenant.is_empty());
    let answer = RecordedAnswer::from_stored(row.answer)?;
    let cached = facts.cached(answer, tenant, row.user_path, now + Duration::from_micros(left));
    Some(SemanticEntry {
        id: parse_digest(&row.id)?,
        partition: parse_digest(&row.partition)?,
        prompt: row.prompt,
        vector: Quantised::from_components(components)?,
        min_score: (row.min_score as f64 / 1e6) as f32,
        cached: Arc::new(cached),
    })
}
