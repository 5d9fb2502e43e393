//! A ring buffer of the last events. Readers learn how many evicted events they have missed.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Entry;

/// The number of events that are kept.
pub const CAPACITY: usize = 500;

/// The most events per read.
pub const MAX_BATCH: usize = 64;

pub struct Ring<T> {
    slots: VecDeque<Slot<T>>,
    /// The id of the newest event.
    last_id: u64,
    /// Ids up to this one belong to an earlier process.
    before: u64,
}

/// A slot of the ring. An event is moved into an `Arc` by its first reader, so that calls nobody watches do not pay for
/// it.
enum Slot<T> {
    Fresh(Option<T>),
    Shared(Arc<Entry<T>>),
}

/// The result of a read: the events, and the number of events that were missed.
pub struct Batch<T> {
    pub events: Vec<Arc<Entry<T>>>,
    pub missed: u64,
    /// Whether the position of the reader belongs to another process, so that it starts again.
    pub restarted: bool,
    /// The position to read on from.
    pub position: u64,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self::after(0)
    }
}

impl<T> Ring<T> {
    /// Starts the ids after this one.
    pub fn after(before: u64) -> Self {
        Self { slots: VecDeque::with_capacity(CAPACITY), last_id: before, before }
    }

    /// Adds an event, which may take over the buffers of the evicted one. Freeing a buffer on another thread than the
    /// one that allocated it would cost more than everything else here.
    pub fn push_with(&mut self, make: impl FnOnce(Option<T>) -> T) {
        let old = match self.make_room() {
            Some(Slot::Fresh(event)) => event,
            _ => None,
        };
        self.slots.push_back(Slot::Fresh(Some(make(old))));
        self.last_id += 1;
    }

    fn make_room(&mut self) -> Option<Slot<T>> {
        if self.slots.len() == CAPACITY { self.slots.pop_front() } else { None }
    }

    pub fn last_id(&self) -> u64 {
        self.last_id
    }

    pub fn read(&mut self, after: u64) -> Batch<T> {
        // No event has the id 0: it stands for the beginning.
        let restarted = after > self.last_id || (1..self.before).contains(&after);
        let after = if restarted { self.before } else { after.max(self.before) };
        let forgotten = self.last_id - self.slots.len() as u64;
        let missed = forgotten.saturating_sub(after);
        let start = after.max(forgotten);
        let skip = usize::try_from(start - forgotten).unwrap_or(usize::MAX);
        let wanted = (start + 1..).zip(self.slots.iter_mut().skip(skip)).take(MAX_BATCH);
        let events: Vec<_> = wanted.filter_map(|(id, slot)| slot.share(id)).collect();
        let position = events.last().map_or(start, |entry| entry.id);
        Batch { events, missed, restarted, position }
    }
}

impl<T> Slot<T> {
    fn share(&mut self, id: u64) -> Option<Arc<Entry<T>>> {
        if let Self::Fresh(event) = self
            && let Some(event) = event.take()
        {
            *self = Self::Shared(Arc::new(Entry::new(id, event)));
        }
        match self {
            Self::Shared(entry) => Some(entry.clone()),
            Self::Fresh(_) => None,
        }
    }
}
