//! The last events in order. What falls out of it is gone, and readers are told how much that was.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Entry;

/// How many events are kept.
pub const CAPACITY: usize = 500;

/// How many are handed out at a time.
pub const BITE: usize = 64;

pub struct Ring<T> {
    slots: VecDeque<Slot<T>>,
    /// The id of the newest.
    last_id: u64,
    /// Smaller ids, and this one, are of an earlier process.
    before: u64,
}

/// An event is put into shared form when the first reader comes, so that calls nobody watches do not pay for it.
enum Slot<T> {
    Fresh(Option<T>),
    Shared(Arc<Entry<T>>),
}

/// What a reader gets: the events, and how many it came too late for.
pub struct Batch<T> {
    pub events: Vec<Arc<Entry<T>>>,
    pub missed: u64,
    /// The reader named an event of another process, and starts anew.
    pub restarted: bool,
    /// Where to read on.
    pub position: u64,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self::after(0)
    }
}

impl<T> Ring<T> {
    /// The first event's id is the one after this.
    pub fn after(before: u64) -> Self {
        Self { slots: VecDeque::with_capacity(CAPACITY), last_id: before, before }
    }

    /// An event may take over the buffers of the one that has to make room. A buffer that is freed by another thread
    /// than made it costs more than all the rest of this.
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
        // Nobody has seen the event 0: it stands for the beginning.
        let restarted = after > self.last_id || (1..self.before).contains(&after);
        let after = if restarted { self.before } else { after.max(self.before) };
        let forgotten = self.last_id - self.slots.len() as u64;
        let missed = forgotten.saturating_sub(after);
        let start = after.max(forgotten);
        let skip = usize::try_from(start - forgotten).unwrap_or(usize::MAX);
        let wanted = (start + 1..).zip(self.slots.iter_mut().skip(skip)).take(BITE);
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
