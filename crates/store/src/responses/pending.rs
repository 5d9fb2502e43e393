//! What waits to be written, by id and by age, within bounds.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;

use super::StoredResponse;

/// Of texts; beyond it the oldest lose theirs.
const MOST_BYTES: usize = 64 << 20;
/// A Response without texts is small, but an outage can be long; beyond it the oldest are forgotten altogether.
const MOST: usize = 1 << 16;

/// Its number in the order of putting, and itself.
pub(super) type Aged = (u64, Arc<StoredResponse>);

#[derive(Default)]
pub(super) struct Pending {
    by_age: BTreeMap<u64, Arc<StoredResponse>>,
    ages: HashMap<String, u64>,
    /// Of the texts of all.
    bytes: usize,
    next: u64,
    /// Whoever is older than this has no texts any more.
    stripped: u64,
    /// How many lost something since storage last took all.
    lost: u64,
}

impl Pending {
    /// Answers whether something was lost for the first time since storage last took all.
    pub fn put(&mut self, response: StoredResponse) -> bool {
        // Providers give ids out, and one that repeats them must not hand a response to somebody else.
        if self.get(&response.id).is_some_and(|held| held.owner != response.owner) {
            return false;
        }
        self.remove(&response.id);
        let age = self.next;
        self.next += 1;
        self.bytes += weight(&response);
        self.ages.insert(response.id.clone(), age);
        self.by_age.insert(age, Arc::new(response));
        let lost_before = self.lost;
        self.strip();
        self.forget();
        lost_before == 0 && self.lost > 0
    }

    pub fn get(&self, id: &str) -> Option<Arc<StoredResponse>> {
        self.by_age.get(self.ages.get(id)?).cloned()
    }

    pub fn remove(&mut self, id: &str) -> Option<Arc<StoredResponse>> {
        let age = self.ages.remove(id)?;
        let response = self.by_age.remove(&age)?;
        self.bytes -= weight(&response);
        Some(response)
    }

    /// The first to be written: at least one if there is any.
    pub fn oldest(&self, most: usize, most_bytes: usize) -> Vec<Aged> {
        let mut bytes = 0;
        let fits = |(_, response): &(&u64, &Arc<StoredResponse>)| {
            let first = bytes == 0;
            bytes += weight(response);
            first || bytes <= most_bytes
        };
        let oldest = self.by_age.iter().take(most).take_while(fits);
        oldest.map(|(age, response)| (*age, response.clone())).collect()
    }

    /// It was written; one that was put again in the meantime has another age, and stays.
    pub fn settle(&mut self, (age, response): &Aged) {
        if self.ages.get(&response.id) == Some(age) {
            self.remove(&response.id);
        }
    }

    pub fn len(&self) -> usize {
        self.by_age.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_age.is_empty()
    }

    /// How many lost something since this was last asked.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    fn strip(&mut self) {
        while self.bytes > MOST_BYTES {
            let Some((age, response)) = self.by_age.range_mut(self.stripped..).next() else { return };
            self.stripped = age + 1;
            let weight = weight(response);
            if weight == 0 {
                continue;
            }
            self.bytes -= weight;
            self.lost += 1;
            let (body, input, output) = (Bytes::new(), Bytes::new(), Bytes::new());
            let left = StoredResponse { body, input, output, ..(**response).clone() };
            *response = Arc::new(StoredResponse { retrievable: false, usable: false, ..left });
        }
    }

    fn forget(&mut self) {
        while self.by_age.len() > MOST
            && let Some((_, response)) = self.by_age.pop_first()
        {
            self.bytes -= weight(&response);
            self.ages.remove(&response.id);
            self.lost += 1;
        }
    }
}

fn weight(response: &StoredResponse) -> usize {
    response.body.len() + response.input.len() + response.output.len()
}
