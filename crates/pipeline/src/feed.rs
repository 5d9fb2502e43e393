//! The last few hundred events of a kind, numbered, for whoever is watching: calls pay the same however many that are.

mod bell;
mod ring;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use bell::Bell;
use ring::Ring;

pub use ring::{BITE, Batch, CAPACITY};

/// Whoever adds an event leaves it in a ring and rings a bell: nothing is formatted before somebody reads it.
pub struct Feed<T> {
    ring: Mutex<Ring<T>>,
    bell: Bell,
    closed: AtomicBool,
}

/// One event and its JSON, which is made when it is first read and then shared.
pub struct Entry<T> {
    pub id: u64,
    pub event: T,
    json: OnceLock<String>,
}

impl<T> Entry<T> {
    fn new(id: u64, event: T) -> Self {
        Self { id, event, json: OnceLock::new() }
    }

    /// On one line; `write` is asked once.
    pub fn json_by(&self, write: impl FnOnce(u64, &T) -> String) -> &str {
        self.json.get_or_init(|| write(self.id, &self.event))
    }
}

impl<T> Default for Feed<T> {
    fn default() -> Self {
        Self { ring: Mutex::default(), bell: Bell::default(), closed: AtomicBool::new(false) }
    }
}

impl<T> Feed<T> {
    /// The first event's id is the one after this: processes that follow each other do not use the same ids.
    pub fn after(before: u64) -> Self {
        Self { ring: Mutex::new(Ring::after(before)), ..Self::default() }
    }

    pub fn push(&self, event: T) {
        self.push_with(|_| event);
    }

    /// The new event may be made from the one that has to make room, when nobody else has that.
    pub fn push_with(&self, make: impl FnOnce(Option<T>) -> T) {
        self.ring.lock().push_with(make);
        self.bell.ring();
    }

    /// The newest event's id; before the first, the one after which they begin.
    pub fn last_id(&self) -> u64 {
        self.ring.lock().last_id()
    }

    /// What came after this id, oldest first, at most [`BITE`] events at a time: calls wait for this lock.
    pub fn read(&self, after: u64) -> Batch<T> {
        self.ring.lock().read(after)
    }

    /// Everything after this id that had happened when it was asked for.
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

    /// Done when there is something new, or the feed closes. Ask for it before reading, and wait for it if there was
    /// nothing to read: then nothing that happens in between is slept through.
    pub fn listen(&self) -> impl Future<Output = ()> + '_ {
        self.bell.listen()
    }

    /// The process stops: whoever watches is to leave.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.bell.wake_all();
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}
