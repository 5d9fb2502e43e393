//! Vector index in memory: partitions of int8 vectors, searched exhaustively.
//!
//! The index reads no clock: expiry compares times that the caller gives. It is bounded by entries and by bytes; when
//! it is full, the entry that was inserted or served least recently goes first.

mod partition;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::mem::size_of;
use std::time::Duration;

use foldhash::{HashMap, HashMapExt};

use crate::quantise::Quantised;
use partition::{Partition, Row};

/// Hash of everything that two requests must have in common; embeddings are compared only inside one partition.
pub type PartitionKey = [u8; 32];

/// Identity of an entry, unique in the index.
pub type EntryId = [u8; 32];

/// Bounds of a [`VectorIndex`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexLimits {
    pub max_entries: usize,
    pub max_bytes: usize,
}

/// An entry to insert.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEntry {
    pub id: EntryId,
    pub partition: PartitionKey,
    pub vector: Quantised,
    /// Time from which the entry is no longer found, on the clock of the searches.
    pub expires_at: Duration,
    /// Lowest score at which this entry may be served; 0 if it never was wrong.
    pub min_score: f32,
}

/// An entry that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    pub id: EntryId,
    /// Cosine with the query.
    pub score: f32,
    /// Lowest score at which this entry may be served, beside the configured threshold.
    pub min_score: f32,
}

impl Match {
    /// Whether the score reaches the configured threshold and the entry's own.
    pub fn reaches(&self, threshold: f32) -> bool {
        self.score >= threshold.max(self.min_score)
    }
}

/// Position of an entry: its partition and the key of its eviction order.
#[derive(Debug, Clone, Copy)]
struct Location {
    partition: PartitionKey,
    row: usize,
    /// Number of the last insertion or use; the smallest is evicted first.
    used: u64,
    expires_at: Duration,
    bytes: usize,
}

/// Bounded index of embeddings by partition.
#[derive(Debug)]
pub struct VectorIndex {
    limits: IndexLimits,
    partitions: HashMap<PartitionKey, Partition>,
    entries: HashMap<EntryId, Location>,
    by_use: BTreeMap<u64, EntryId>,
    by_expiry: BTreeSet<(Duration, EntryId)>,
    next_use: u64,
    bytes: usize,
}

impl VectorIndex {
    pub fn new(limits: IndexLimits) -> Self {
        Self {
            limits,
            partitions: HashMap::new(),
            entries: HashMap::new(),
            by_use: BTreeMap::new(),
            by_expiry: BTreeSet::new(),
            next_use: 0,
            bytes: 0,
        }
    }

    /// Inserts an entry or replaces the one with its id. Returns the ids that were evicted for it: the new id itself if
    /// the entry is larger than the index, or if its dimension differs from that of its partition.
    pub fn insert(&mut self, entry: NewEntry) -> Vec<EntryId> {
        self.remove(&entry.id);
        let bytes = entry_bytes(&entry.vector);
        let dimension = entry.vector.components.len();
        let fits_partition = self.partitions.get(&entry.partition).is_none_or(|p| p.dimension() == dimension);
        if !fits_partition || self.limits.max_entries == 0 || bytes > self.limits.max_bytes {
            return vec![entry.id];
        }
        let mut evicted = Vec::new();
        while self.entries.len() >= self.limits.max_entries || self.bytes + bytes > self.limits.max_bytes {
            let Some(oldest) = self.by_use.first_key_value().map(|(_, id)| *id) else { break };
            self.remove(&oldest);
            evicted.push(oldest);
        }
        let partition = self.partitions.entry(entry.partition).or_insert_with(|| Partition::new(dimension));
        let row = partition.push(
            &entry.vector,
            Row { id: entry.id, expires_at: entry.expires_at, min_score: entry.min_score },
        );
        let used = self.next_use();
        self.by_use.insert(used, entry.id);
        self.by_expiry.insert((entry.expires_at, entry.id));
        let location =
            Location { partition: entry.partition, row, used, expires_at: entry.expires_at, bytes };
        self.entries.insert(entry.id, location);
        self.bytes += bytes;
        evicted
    }

    /// Removes an entry; false if there is none with this id.
    pub fn remove(&mut self, id: &EntryId) -> bool {
        let Some(location) = self.entries.remove(id) else { return false };
        self.by_use.remove(&location.used);
        self.by_expiry.remove(&(location.expires_at, *id));
        self.bytes -= location.bytes;
        if let Some(partition) = self.partitions.get_mut(&location.partition) {
            if let Some(moved) = partition.swap_remove(location.row)
                && let Some(entry) = self.entries.get_mut(&moved)
            {
                entry.row = location.row;
            }
            if partition.is_empty() {
                self.partitions.remove(&location.partition);
            }
        }
        true
    }

    /// Removes the entries that have expired and returns their ids.
    pub fn remove_expired(&mut self, now: Duration) -> Vec<EntryId> {
        let expired: Vec<EntryId> =
            self.by_expiry.iter().take_while(|(at, _)| *at <= now).map(|(_, id)| *id).collect();
        for id in &expired {
            self.remove(id);
        }
        expired
    }

    pub fn clear(&mut self) {
        *self = Self::new(self.limits);
    }

    /// The entries of a partition with the highest scores, best first; at most `limit`, none that has expired. Entries
    /// below their own `min_score` are included: see [`Match::reaches`].
    pub fn search(&self, partition: &PartitionKey, query: &[f32], limit: usize, now: Duration) -> Vec<Match> {
        self.partitions.get(partition).map_or_else(Vec::new, |p| p.search(query, limit, now))
    }

    /// Marks an entry as used now, so that it is evicted after the others.
    pub fn touch(&mut self, id: &EntryId) {
        let used = self.next_use();
        if let Some(location) = self.entries.get_mut(id) {
            self.by_use.remove(&location.used);
            location.used = used;
            self.by_use.insert(used, *id);
        }
    }

    /// Raises the lowest score at which an entry may be served, after it was found wrong. Returns the value in force;
    /// `None` if there is no such entry. The value is never lowered.
    pub fn raise_min_score(&mut self, id: &EntryId, min_score: f32) -> Option<f32> {
        let location = self.entries.get(id)?;
        self.partitions.get_mut(&location.partition)?.raise_min_score(location.row, min_score)
    }

    pub fn contains(&self, id: &EntryId) -> bool {
        self.entries.contains_key(id)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Estimated memory of all entries.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn next_use(&mut self) -> u64 {
        self.next_use += 1;
        self.next_use
    }
}

/// Estimated memory of an entry: its vector, its row and its places in the three maps.
fn entry_bytes(vector: &Quantised) -> usize {
    let maps = size_of::<EntryId>() * 3 + size_of::<Location>() + size_of::<u64>() + size_of::<Duration>();
    // Hash maps and B-trees are filled to about two thirds.
    vector.components.len() + size_of::<Row>() + size_of::<f32>() + maps * 3 / 2
}
