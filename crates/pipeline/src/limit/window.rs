//! What was taken during the last while, in slots. No stretch of time as long as the window ever holds more than was admitted.

use std::collections::VecDeque;
use std::time::Duration;

/// A window is told apart into so many slots: that bounds its memory, however much is taken.
const SLOTS: u64 = 600;

pub struct Window {
    length: u64,
    /// Oldest first, one for each slot in which something was taken.
    entries: VecDeque<Entry>,
    used: u64,
}

struct Entry {
    /// When something was last taken in this slot. All of it leaves together, a window's length later.
    last: u64,
    amount: u64,
}

impl Window {
    pub fn new(length: Duration) -> Self {
        Self { length: micros(length), entries: VecDeque::new(), used: 0 }
    }

    pub fn used(&self) -> u64 {
        self.used
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets what is out of the window by now.
    pub fn expire(&mut self, now: Duration) {
        let now = micros(now);
        while let Some(entry) = self.entries.pop_front_if(|entry| entry.last + self.length <= now) {
            self.used = self.used.saturating_sub(entry.amount);
        }
    }

    /// Time does not go back between one taking and the next.
    pub fn take(&mut self, now: Duration, amount: u64) {
        let now = micros(now);
        let width = self.length / SLOTS;
        self.used = self.used.saturating_add(amount);
        match self.entries.back_mut() {
            Some(entry) if entry.last / width >= now / width => {
                entry.last = entry.last.max(now);
                entry.amount = entry.amount.saturating_add(amount);
            }
            _ => self.entries.push_back(Entry { last: now, amount }),
        }
    }

    /// Takes back one unit that was taken at this time, unless it has left the window.
    pub fn give_back(&mut self, at: Duration) {
        let at = micros(at);
        // What was taken at `at` is in the first entry that was last added to then or later.
        let place = self.entries.partition_point(|entry| entry.last < at);
        let Some(entry) = self.entries.get_mut(place) else { return };
        entry.amount = entry.amount.saturating_sub(1);
        self.used = self.used.saturating_sub(1);
        if entry.amount == 0 {
            self.entries.remove(place);
        }
    }

    /// How long until no more than this is in the window, if nothing is added.
    pub fn until(&self, now: Duration, at_most: u64) -> Duration {
        let mut used = self.used;
        let mut leaves = 0;
        for entry in &self.entries {
            if used <= at_most {
                break;
            }
            used = used.saturating_sub(entry.amount);
            leaves = entry.last + self.length;
        }
        Duration::from_micros(leaves.saturating_sub(micros(now)))
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX / 2)
}
