//! The conversation that led to a Response, turn by turn.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use super::rows::{self, columns};
use super::{Responses, StoredResponse, is_id, limited};
use crate::StoreError;

const MOST_TURNS: usize = 200;
const MOST_BYTES: usize = 32 << 20;

/// Reads a chain of turns in one query; both databases know sizes without reading the texts.
const STRETCH: &str = concat!(
    "WITH RECURSIVE chain (id, previous, turn, size) AS (\
       SELECT id, previous, 1, octet_length(input) + octet_length(output) FROM responses \
       WHERE id = $1 AND expires_at > $2 \
     UNION ALL \
       SELECT r.id, r.previous, chain.turn + 1, chain.size + octet_length(r.input) + octet_length(r.output) \
       FROM chain JOIN responses r ON r.id = chain.previous \
       WHERE r.expires_at > $2 AND chain.turn < $3 \
       AND chain.size + octet_length(r.input) + octet_length(r.output) <= $4\
     ) SELECT ",
    columns!("''"),
    " FROM chain JOIN responses r ON r.id = chain.id"
);

impl Responses {
    /// The turns that led to `id`, oldest first, `id` included, without bodies. Stops at a turn that is missing,
    /// unusable, of another owner or already seen, and after 200 turns or 32 MiB of input and output, keeping the
    /// latest. If the first turn returned has a `previous`, there was more.
    pub async fn history(&self, id: &str) -> Result<Vec<StoredResponse>, StoreError> {
        let mut turns: Vec<StoredResponse> = Vec::new();
        let (mut seen, mut stretch) = (HashSet::new(), HashMap::new());
        let mut room = MOST_BYTES;
        let mut next = Some(id.to_owned()).filter(|id| is_id(id));
        while let Some(id) = next.take() {
            if turns.len() == MOST_TURNS || seen.contains(&id) {
                break;
            }
            let Some(turn) = self.turn(&id, &mut stretch, MOST_TURNS - turns.len(), room).await? else {
                break;
            };
            let size = turn.input.len() + turn.output.len();
            let another = turns.last().is_some_and(|later| later.owner != turn.owner);
            if !turn.usable || another || (size > room && !turns.is_empty()) {
                break;
            }
            room = room.saturating_sub(size);
            next.clone_from(&turn.previous);
            seen.insert(id);
            turns.push(turn);
        }
        turns.reverse();
        Ok(turns)
    }

    /// A turn: from the queue, from the turns read with an earlier one, or from storage together with those before it.
    async fn turn(
        &self,
        id: &str,
        stretch: &mut HashMap<String, StoredResponse>,
        turns: usize,
        room: usize,
    ) -> Result<Option<StoredResponse>, StoreError> {
        let now = self.0.clock.now();
        let waiting = self.0.backlog.get(id);
        if let Some(waiting) = waiting {
            let turn = StoredResponse { body: Bytes::new(), ..(*waiting).clone() };
            return Ok(Some(turn).filter(|turn| turn.expires_at > now));
        }
        if let Some(turn) = stretch.remove(id) {
            return Ok(Some(turn));
        }
        let values = [id.into(), now.micros().into(), (turns as i64).into(), (room as i64).into()];
        for row in limited(self.0.database.fetch(STRETCH, &values)).await? {
            let turn = rows::read(&row)?;
            stretch.insert(turn.id.clone(), turn);
        }
        Ok(stretch.remove(id))
    }
}
