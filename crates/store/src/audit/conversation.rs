//! Conversations: the entries that belong to one, by response ids, by session and by what was said before.

use std::collections::{BTreeMap, VecDeque};

use super::entry::AuditEntry;
use super::{Audit, row};
use crate::StoreError;
use crate::database::{Value, sql};

/// How an entry leads to others.
struct Lead {
    condition: &'static str,
    order: &'static str,
    text: String,
    most: i64,
}

impl Audit {
    /// The entries around one, oldest first, at most `limit`: nearest links first. What the caller may not see is not
    /// walked through either.
    pub async fn conversation(
        &self,
        anchor: AuditEntry,
        limit: usize,
        visible: impl Fn(&AuditEntry) -> bool,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let mut found = BTreeMap::new();
        let mut waiting = VecDeque::from([anchor.clone()]);
        found.insert((anchor.at, anchor.id.clone()), anchor);
        while let Some(entry) = waiting.pop_front() {
            for lead in leads(&entry, limit) {
                for next in self.follow(&entry, &lead).await? {
                    if found.len() >= limit {
                        return Ok(found.into_values().collect());
                    }
                    let key = (next.at, next.id.clone());
                    if !found.contains_key(&key) && is_same_owner(&entry, &next) && visible(&next) {
                        found.insert(key, next.clone());
                        waiting.push_back(next);
                    }
                }
            }
        }
        Ok(found.into_values().collect())
    }

    async fn follow(&self, from: &AuditEntry, lead: &Lead) -> Result<Vec<AuditEntry>, StoreError> {
        let text = format!(
            "SELECT {} FROM audit WHERE {} ORDER BY {} LIMIT $3",
            row::columns(),
            lead.condition,
            lead.order
        );
        let values: [Value<'_>; 3] = [(&lead.text).into(), from.at.micros().into(), lead.most.into()];
        self.database.fetch(sql(text), &values).await?.iter().map(row::read).collect()
    }
}

/// A session's name and a first message are the client's words: others may use the same.
fn is_same_owner(one: &AuditEntry, other: &AuditEntry) -> bool {
    one.auth_key_id == other.auth_key_id && one.tenant_id == other.tenant_id
}

fn leads(entry: &AuditEntry, limit: usize) -> Vec<Lead> {
    const BEFORE: &str = "at DESC, id DESC";
    const AFTER: &str = "at, id";
    let many = limit as i64;
    let candidates = [
        (&entry.previous_response_id, "response_id = $1 AND at <= $2", BEFORE, 1),
        (&entry.response_id, "previous_response_id = $1 AND at >= $2", AFTER, many),
        (&entry.parent, "thread = $1 AND at < $2", BEFORE, 1),
        (&entry.thread, "parent = $1 AND at > $2", AFTER, many),
        (&entry.session_id, "session_id = $1 AND at <= $2", BEFORE, many),
        (&entry.session_id, "session_id = $1 AND at >= $2", AFTER, many),
    ];
    let lead = |(text, condition, order, most): (&Option<String>, _, _, _)| {
        Some(Lead { condition, order, text: text.clone()?, most })
    };
    candidates.into_iter().filter_map(lead).collect()
}
