//! The live console: the last few hundred events of this process, numbered, for whoever is watching.

mod bell;
mod call;
mod entry;
mod ring;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

use domain::clock::Timestamp;
use domain::receipt::Receipt;
use parking_lot::Mutex;

use bell::Bell;
use entry::Event;
use ring::Ring;

pub use entry::{Entry, NAMES, Notice};
pub use ring::{BITE, Batch, CAPACITY};

/// A call leaves a few words in a buffer that is there already and rings a bell: it formats nothing, and how many are
/// watching makes no difference to it.
#[derive(Default)]
pub struct Console {
    ring: Mutex<Ring>,
    bell: Bell,
    closed: AtomicBool,
}

impl Console {
    /// A call is over.
    pub fn settled(&self, receipt: &Receipt) {
        self.ring.lock().settle(receipt);
        self.bell.ring();
    }

    pub fn say(&self, at: Timestamp, notice: Notice) {
        self.ring.lock().push(Event::Said(at, Box::new(notice)));
        self.bell.ring();
    }

    /// The newest event's id; 0 before the first.
    pub fn last_id(&self) -> u64 {
        self.ring.lock().last_id()
    }

    /// What came after this id, oldest first, at most [`BITE`] events at a time: calls wait for this lock.
    pub fn read(&self, after: u64) -> Batch {
        self.ring.lock().read(after)
    }

    /// Everything after this id that had happened when it was asked for.
    pub fn read_all(&self, after: u64) -> Batch {
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

    /// Done when there is something new, or the console closes. Ask for it before reading, and wait for it if there
    /// was nothing to read: then nothing that happens in between is slept through.
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
