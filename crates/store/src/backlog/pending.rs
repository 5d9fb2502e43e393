//! What waits to be written, by id and by age, within bounds.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Waiting;

/// Of texts; beyond it the oldest lose theirs.
const MOST_BYTES: usize = 64 << 20;
/// What has no texts is small, but an outage can be long; beyond it the oldest are forgotten altogether.
const MOST: usize = 1 << 16;

/// Its number in the order of putting, and itself.
pub(crate) type Aged<T> = (u64, Arc<T>);

pub(crate) struct Pending<T> {
    by_age: BTreeMap<u64, Arc<T>>,
    ages: HashMap<String, u64>,
    /// Of the texts of all.
    bytes: usize,
    next: u64,
    /// Whoever is older than this has no texts any more.
    stripped: u64,
    /// How many lost something since storage last took all.
    lost: u64,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self { by_age: BTreeMap::new(), ages: HashMap::new(), bytes: 0, next: 0, stripped: 0, lost: 0 }
    }
}

impl<T: Waiting> Pending<T> {
    /// Answers whether something was lost for the first time since storage last took all.
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

    /// The first to be written: at least one if there is any.
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

    /// It was written; one that was put again in the meantime has another age, and stays.
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

    /// How many lost something since this was last asked.
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
