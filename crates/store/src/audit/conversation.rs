//! Conversations: finds the entries of one by response ids, by session, and by the hashes of earlier messages.

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::{Audit, AuditEntry, row};
use crate::StoreError;
use crate::database::{Value, sql};

/// A query for the entries related to an entry.
struct RelatedQuery {
    condition: &'static str,
    order: &'static str,
    text: String,
    most: i64,
    session: bool,
}

impl Audit {
    /// The entries of the conversation around `anchor`, oldest first, at most `limit`; close links are followed first.
    /// Entries that the caller may not see are not followed either.
    pub async fn conversation(
        &self,
        anchor: AuditEntry,
        limit: usize,
        visible: impl Fn(&AuditEntry) -> bool,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let mut found = BTreeMap::new();
        let mut sessions = HashSet::new();
        let mut waiting = VecDeque::from([anchor.clone()]);
        found.insert((anchor.at, anchor.id.clone()), anchor);
        'walk: while let Some(entry) = waiting.pop_front() {
            // Entries found by their session would only find the same session again.
            let known = entry.session_id.clone().is_some_and(|session| !sessions.insert(session));
            for query in related_queries(&entry, limit).into_iter().filter(|query| !(query.session && known))
            {
                for next in self.follow(&entry, &query).await? {
                    if found.len() >= limit {
                        break 'walk;
                    }
                    let key = (next.at, next.id.clone());
                    if !found.contains_key(&key) && visible(&next) {
                        found.insert(key, next.clone());
                        waiting.push_back(next);
                    }
                }
            }
        }
        self.whole(found.into_keys().map(|(_, id)| id).collect()).await
    }

    /// The entries that a lead finds, without bodies, because most of them are already known. Session names and first
    /// messages are chosen by clients and may collide, so only entries of the same key and tenant are returned.
    async fn follow(&self, from: &AuditEntry, query: &RelatedQuery) -> Result<Vec<AuditEntry>, StoreError> {
        let mut values: Vec<Value<'_>> =
            vec![(&query.text).into(), from.at.micros().into(), query.most.into()];
        let mut owner = String::new();
        for (column, text) in [("auth_key_id", &from.auth_key_id), ("tenant_id", &from.tenant_id)] {
            match text {
                Some(text) => {
                    values.push(text.into());
                    owner.push_str(&format!(" AND {column} = ${}", values.len()));
                }
                None => owner.push_str(&format!(" AND {column} IS NULL")),
            }
        }
        let text = format!(
            "SELECT {} FROM audit WHERE {}{owner} ORDER BY {} LIMIT $3",
            row::outline(),
            query.condition,
            query.order
        );
        self.database.fetch(sql(text), &values).await?.iter().map(row::read).collect()
    }

    /// The complete entries with these ids, oldest first.
    async fn whole(&self, ids: Vec<String>) -> Result<Vec<AuditEntry>, StoreError> {
        const AT_ONCE: usize = 25;
        let mut entries = Vec::with_capacity(ids.len());
        for ids in ids.chunks(AT_ONCE) {
            let places: Vec<String> = (1..=ids.len()).map(|place| format!("${place}")).collect();
            let text = format!(
                "SELECT {} FROM audit WHERE id IN ({}) ORDER BY at, id",
                row::columns(),
                places.join(", ")
            );
            let values: Vec<Value<'_>> = ids.iter().map(Value::from).collect();
            for row in self.database.fetch(sql(text), &values).await? {
                entries.push(row::read(&row)?);
            }
        }
        Ok(entries)
    }
}

fn related_queries(entry: &AuditEntry, limit: usize) -> Vec<RelatedQuery> {
    const BEFORE: &str = "at DESC, id DESC";
    const AFTER: &str = "at, id";
    let many = limit as i64;
    let audited = entry.audit.as_deref();
    let (parent, thread) = (audited.map(|audited| &audited.parent), audited.map(|audited| &audited.thread));
    let candidates = [
        (&entry.previous_response_id, "response_id = $1 AND at <= $2", BEFORE, 1),
        (&entry.response_id, "previous_response_id = $1 AND at >= $2", AFTER, many),
        (parent.unwrap_or(&None), "thread = $1 AND at < $2", BEFORE, 1),
        (thread.unwrap_or(&None), "parent = $1 AND at > $2", AFTER, many),
        (&entry.session_id, "session_id = $1 AND at <= $2", BEFORE, many),
        (&entry.session_id, "session_id = $1 AND at >= $2", AFTER, many),
    ];
    let query = |(text, condition, order, most): (&Option<String>, _, _, _)| {
        let session = std::ptr::eq(text, &entry.session_id);
        Some(RelatedQuery { condition, order, text: text.clone()?, most, session })
    };
    candidates.into_iter().filter_map(query).collect()
}
