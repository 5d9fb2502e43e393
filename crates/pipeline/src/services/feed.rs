//! A numbered feed of the last few hundred events of a kind. Publishing costs a call the same, however many watchers
//! there are.

mod notifier;
mod ring;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use notifier::Notifier;
use ring::Ring;

pub use ring::{Batch, CAPACITY, MAX_BATCH};

/// Keeps events in a ring buffer and notifies watchers. Nothing is formatted before a watcher reads it.
pub struct Feed<T> {
    ring: Mutex<Ring<T>>,
    bell: Notifier,
    closed: AtomicBool,
}

/// An event and its JSON, which is rendered at the first read and then shared.
pub struct Entry<T> {
    pub id: u64,
    pub event: T,
    json: OnceLock<String>,
}

impl<T> Entry<T> {
    fn new(id: u64, event: T) -> Self {
        Self { id, event, json: OnceLock::new() }
    }

    /// The JSON on one line; `write` is called once.
    pub fn json_by(&self, write: impl FnOnce(u64, &T) -> String) -> &str {
        self.json.get_or_init(|| write(self.id, &self.event))
    }
}

impl<T> Default for Feed<T> {
    fn default() -> Self {
        Self { ring: Mutex::default(), bell: Notifier::default(), closed: AtomicBool::new(false) }
    }
}

impl<T> Feed<T> {
    /// Starts the ids after this one, so that consecutive processes do not use the same ids.
    pub fn after(before: u64) -> Self {
        Self { ring: Mutex::new(Ring::after(before)), ..Self::default() }
    }

    pub fn push(&self, event: T) {
        self.push_with(|_| event);
    }

    /// Adds an event, which may be made from the evicted one if no reader holds that.
    pub fn push_with(&self, make: impl FnOnce(Option<T>) -> T) {
        self.ring.lock().push_with(make);
        // The lock is released by now, so that a woken watcher does not wait for it.
        self.bell.ring();
    }

    /// The id of the newest event; before the first event, the id after which they start.
    pub fn last_id(&self) -> u64 {
        self.ring.lock().last_id()
    }

    /// Reads the events after this id, oldest first, at most [`MAX_BATCH`] at a time: calls wait for this lock.
    pub fn read(&self, after: u64) -> Batch<T> {
        self.ring.lock().read(after)
    }

    /// Reads everything after this id, up to the newest event at the time of the call.
    pub fn read_all(&self, after: u64) -> Batch<T> {
        let end = self.last_id();
        let mut all = self.read(after);
        while all.position < end {
            let more = self.read(all.position);
            all.missed += more.missed;
            all.position = more.position;
            all.events.extend(more.events);
        }
        all
    }

    /// Completes when there is a new event, or the feed closes. Create it before reading, and await it if there was
    /// nothing to read: then no event in between is missed.
    pub fn listen(&self) -> impl Future<Output = ()> + '_ {
        self.bell.listen()
    }

    /// Closes the feed when the process stops: watchers then leave.
    pub fn close(&self) {
        // Set before the wake-up, so that a woken watcher sees it.
        self.closed.store(true, Ordering::SeqCst);
        self.bell.wake_all();
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}
