//! The points of Qdrant: entries as JSON, and the filters that find them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use domain::clock::Timestamp;
use serde_json::{Value, json};
use store::{KeptAnswer, NearestEntry, SemanticPurge, SemanticRow};

/// The id of the point of an entry: a UUID of the first half of its digest.
pub fn point_id(id: &str) -> String {
    let digits: String =
        id.chars().filter(char::is_ascii_hexdigit).chain(std::iter::repeat('0')).take(32).collect();
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}

/// The point of an entry.
pub fn point(row: &SemanticRow) -> Value {
    let vector: Vec<f32> = row.vector.iter().map(|component| f32::from(component.cast_signed())).collect();
    json!({
        "id": point_id(&row.id),
        "vector": vector,
        "payload": {
            "id": row.id,
            "partition": row.partition,
            "embedder": row.embedder,
            "tenant_id": row.tenant_id,
            "user_path": row.user_path,
            "paths": with_parents(&row.user_path),
            "model": row.model,
            "min_score": row.min_score,
            "expires_at": row.expires_at.micros(),
            "vector": STANDARD.encode(&row.vector),
            "facts": row.facts,
            "prompt": row.prompt,
            "head": row.answer.head,
            "body": STANDARD.encode(&row.answer.body),
        },
    })
}

/// A path and all paths above it, so that those below a path are found by a filter on one value.
fn with_parents(path: &str) -> Vec<String> {
    let parents = path.match_indices('/').skip(1).map(|(at, _)| path[..at].to_owned());
    let mut paths: Vec<String> = std::iter::once("/".to_owned()).chain(parents).collect();
    if path != "/" {
        paths.push(path.to_owned());
    }
    paths
}

/// The entries of a partition that have not expired.
pub fn partition_filter(partition: &str, embedder: &str, at: Timestamp) -> Value {
    json!({"must": [
        {"key": "partition", "match": {"value": partition}},
        {"key": "embedder", "match": {"value": embedder}},
        {"key": "expires_at", "range": {"gt": at.micros()}},
    ]})
}

/// The point of an entry, as a filter.
pub fn ids_filter(id: &str) -> Value {
    json!({"must": [{"has_id": [point_id(id)]}]})
}

/// The entries that a purge removes.
pub fn purge_filter(purge: &SemanticPurge) -> Value {
    let SemanticPurge { tenant_id, user_path, model } = purge;
    let conditions = [("tenant_id", tenant_id), ("paths", user_path), ("model", model)];
    let named = conditions.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
    let must: Vec<Value> = named.map(|(key, value)| json!({"key": key, "match": {"value": value}})).collect();
    json!({"must": must})
}

/// The entries that a search found.
pub fn read_nearest(found: &Value) -> Vec<NearestEntry> {
    let points = found.pointer("/result/points").and_then(Value::as_array);
    let read = |point: &Value| {
        let payload = point.get("payload")?;
        Some(NearestEntry {
            id: payload.get("id")?.as_str()?.to_owned(),
            prompt: payload.get("prompt")?.as_str()?.to_owned(),
            score: (point.get("score")?.as_f64()? * 1e6).round() as i64,
            min_score: payload.get("min_score")?.as_i64()?,
        })
    };
    points.into_iter().flatten().filter_map(read).collect()
}

/// The entry of a payload; `None` if it cannot be read.
pub fn read_row(payload: &Value) -> Option<SemanticRow> {
    let text = |name: &str| payload.get(name)?.as_str().map(str::to_owned);
    Some(SemanticRow {
        id: text("id")?,
        partition: text("partition")?,
        embedder: text("embedder")?,
        // Older entries do not have it.
        tenant_id: text("tenant_id").unwrap_or_default(),
        user_path: text("user_path")?,
        model: text("model")?,
        min_score: payload.get("min_score")?.as_i64()?,
        expires_at: Timestamp(payload.get("expires_at")?.as_i64()?),
        vector: STANDARD.decode(text("vector")?).ok()?,
        facts: text("facts")?,
        prompt: text("prompt")?,
        answer: KeptAnswer { head: text("head")?, body: Bytes::from(STANDARD.decode(text("body")?).ok()?) },
    })
}
