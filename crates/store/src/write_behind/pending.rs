//! The items waiting to be written, by id and by age, within bounds.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Queued;

/// Maximum size of all texts; beyond it the oldest items lose theirs.
const MOST_BYTES: usize = 64 << 20;
/// Maximum number of items, which are small without texts, but an outage can be long; beyond it the oldest are dropped.
const MOST: usize = 1 << 16;

/// An item with its sequence number.
pub(crate) type Aged<T> = (u64, Arc<T>);

pub(crate) struct Pending<T> {
    by_age: BTreeMap<u64, Arc<T>>,
    ages: HashMap<String, u64>,
    /// Total size of the texts.
    bytes: usize,
    next: u64,
    /// Items with a lower sequence number have no texts any more.
    stripped: u64,
    /// Number of items that lost data since the queue was last empty.
    lost: u64,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self { by_age: BTreeMap::new(), ages: HashMap::new(), bytes: 0, next: 0, stripped: 0, lost: 0 }
    }
}

impl<T: Queued> Pending<T> {
    /// Adds an item; true if data was lost for the first time since the queue was last empty.
    pub fn put(&mut self, one: T) -> bool {
        if self.get(one.id()).is_some_and(|held| !held.gives_way_to(&one)) {
            return false;
        }
        self.remove(one.id());
        let age = self.next;
        self.next += 1;
        self.bytes += one.weight();
        self.ages.insert(one.id().to_owned(), age);
        self.by_age.insert(age, Arc::new(one));
        let lost_before = self.lost;
        self.strip();
        self.forget();
        lost_before == 0 && self.lost > 0
    }

    pub fn get(&self, id: &str) -> Option<Arc<T>> {
        self.by_age.get(self.ages.get(id)?).cloned()
    }

    pub fn remove(&mut self, id: &str) -> Option<Arc<T>> {
        let age = self.ages.remove(id)?;
        let one = self.by_age.remove(&age)?;
        self.bytes -= one.weight();
        Some(one)
    }

    /// The oldest items, at least one if there is any.
    pub fn oldest(&self, most: usize, most_bytes: usize) -> Vec<Aged<T>> {
        let mut bytes = 0;
        let fits = |(_, one): &(&u64, &Arc<T>)| {
            let first = bytes == 0;
            bytes += one.weight();
            first || bytes <= most_bytes
        };
        let oldest = self.by_age.iter().take(most).take_while(fits);
        oldest.map(|(age, one)| (*age, one.clone())).collect()
    }

    /// Removes a written item, unless it was replaced meanwhile: the replacement has another sequence number.
    pub fn settle(&mut self, (age, one): &Aged<T>) {
        if self.ages.get(one.id()) == Some(age) {
            self.remove(one.id());
        }
    }

    pub fn len(&self) -> usize {
        self.by_age.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_age.is_empty()
    }

    /// Takes the number of items that lost data.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    fn strip(&mut self) {
        while self.bytes > MOST_BYTES {
            let Some((age, one)) = self.by_age.range_mut(self.stripped..).next() else { return };
            self.stripped = age + 1;
            let weight = one.weight();
            if weight == 0 {
                continue;
            }
            self.bytes -= weight;
            self.lost += 1;
            *one = Arc::new(one.without_texts());
        }
    }

    fn forget(&mut self) {
        while self.by_age.len() > MOST
            && let Some((_, one)) = self.by_age.pop_first()
        {
            self.bytes -= one.weight();
            self.ages.remove(one.id());
            self.lost += 1;
        }
    }
}
