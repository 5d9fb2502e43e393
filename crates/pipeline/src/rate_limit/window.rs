//! A sliding window in slots. No stretch of time as long as the window ever holds more than was admitted.

use std::collections::VecDeque;
use std::time::Duration;

/// Slots per window: they bound its memory, however much is taken.
const SLOTS: u64 = 600;

pub struct Window {
    length: u64,
    /// Oldest first, one for each slot in which something was taken.
    entries: VecDeque<Entry>,
    used: u64,
    /// Whether the next amount begins an entry, even within the slot of the last one.
    is_sealed: bool,
}

struct Entry {
    /// The last time at which something was taken in this slot. All of it expires together, a window's length later.
    last: u64,
    amount: u64,
}

impl Window {
    pub fn new(length: Duration) -> Self {
        Self { length: micros(length), entries: VecDeque::new(), used: 0, is_sealed: false }
    }

    pub fn used(&self) -> u64 {
        self.used
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Drops what has left the window.
    pub fn expire(&mut self, now: Duration) {
        let now = micros(now);
        while let Some(entry) = self.entries.pop_front_if(|entry| entry.last + self.length <= now) {
            self.used = self.used.saturating_sub(entry.amount);
        }
    }

    /// Counts an amount. Time must not go back from one call to the next.
    pub fn take(&mut self, now: Duration, amount: u64) {
        let now = micros(now);
        let width = self.length / SLOTS;
        self.used = self.used.saturating_add(amount);
        let is_sealed = std::mem::take(&mut self.is_sealed);
        match self.entries.back_mut() {
            Some(entry) if !is_sealed && entry.last / width >= now / width => {
                entry.last = entry.last.max(now);
                entry.amount = entry.amount.saturating_add(amount);
            }
            _ => self.entries.push_back(Entry { last: now, amount }),
        }
    }

    /// Keeps what is counted from now on apart from what was counted before, for [`Window::counted_since`].
    pub fn seal(&mut self) {
        self.is_sealed = true;
    }

    /// The amounts that were counted at this time or later, each with its age in microseconds.
    pub fn counted_since(&self, since: Duration, now: Duration) -> Vec<(u64, u64)> {
        let (since, now) = (micros(since), micros(now));
        let late = self.entries.iter().filter(|entry| entry.last >= since);
        late.map(|entry| (now.saturating_sub(entry.last), entry.amount)).collect()
    }

    /// Returns an amount that was taken at this time, unless it has left the window.
    pub fn give_back(&mut self, at: Duration, amount: u64) {
        let at = micros(at);
        // Units taken at `at` are in the first entry whose last addition was then or later.
        let place = self.entries.partition_point(|entry| entry.last < at);
        let Some(entry) = self.entries.get_mut(place) else { return };
        let returned = amount.min(entry.amount);
        entry.amount -= returned;
        self.used = self.used.saturating_sub(returned);
        if entry.amount == 0 {
            self.entries.remove(place);
        }
    }

    /// The time until no more than this is in the window, if nothing is added.
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
