//! A token bucket that holds one minute's limit and refills continuously. It stores the used part, so that a changed
//! limit keeps what was counted.

use std::collections::VecDeque;
use std::time::Duration;

/// A token in the units of the bucket. Each microsecond refills `limit` units, so that no remainder is ever lost.
const TOKEN: u128 = 60_000_000;

#[derive(Default)]
pub struct TokenBucket {
    limit: u64,
    /// Units taken and not refilled yet; above the limit they are debt.
    used: u128,
    /// The parts of `used`, oldest first: the oldest is refilled first.
    entries: VecDeque<Entry>,
    next: u64,
    updated: Duration,
}

/// The part of one open charge, or of adjacent closed ones, that is not refilled yet.
struct Entry {
    number: u64,
    left: u128,
    open: bool,
}

/// The tokens that a call in flight has taken out of the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    number: u64,
    tokens: u64,
}

impl TokenBucket {
    pub fn refill(&mut self, now: Duration) {
        let elapsed = now.saturating_sub(self.updated).as_micros();
        self.updated = self.updated.max(now);
        let mut refill = elapsed.saturating_mul(u128::from(self.limit)).min(self.used);
        self.used -= refill;
        while let Some(entry) = self.entries.front_mut().filter(|_| refill > 0) {
            let part = entry.left.min(refill);
            entry.left -= part;
            refill -= part;
            if entry.left == 0 {
                self.entries.pop_front();
            }
        }
    }

    /// Sets the capacity and the refill per minute.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Whether any part of the limit is left. Then a call of any size is admitted, so that large ones cannot starve.
    pub fn is_open(&self) -> bool {
        self.used < self.capacity()
    }

    pub fn is_full(&self) -> bool {
        self.used == 0
    }

    pub fn charge(&mut self, tokens: u64) -> Charge {
        let number = self.add(units(tokens), true);
        Charge { number, tokens }
    }

    /// Replaces a charge by the actual consumption. A credit never exceeds what is left of the charge: otherwise tokens
    /// that were refilled meanwhile would be credited again, beyond the limit.
    pub fn correct(&mut self, charge: &mut Charge, tokens: u64) {
        if tokens > charge.tokens {
            self.add(units(tokens - charge.tokens), false);
        } else if let Some(place) = self.find(*charge) {
            let entry = &mut self.entries[place];
            let credit = units(charge.tokens - tokens).min(entry.left);
            entry.left -= credit;
            self.used -= credit;
            if entry.left == 0 {
                self.entries.remove(place);
            }
        }
        charge.tokens = tokens;
    }

    /// Closes the charge of a finished call: nothing more of it is credited.
    pub fn close(&mut self, charge: Charge) {
        let Some(place) = self.find(charge) else { return };
        self.entries[place].open = false;
        self.merge(place + 1);
        self.merge(place);
    }

    fn add(&mut self, units: u128, open: bool) -> u64 {
        self.next += 1;
        if units > 0 {
            self.used += units;
            self.entries.push_back(Entry { number: self.next, left: units, open });
            self.merge(self.entries.len() - 1);
        }
        self.next
    }

    /// Merges adjacent closed entries, so that there are at most about two per call in flight.
    fn merge(&mut self, place: usize) {
        let closed = |place: usize| self.entries.get(place).is_some_and(|entry| !entry.open);
        if place == 0 || !closed(place) || !closed(place - 1) {
            return;
        }
        if let Some(Entry { left, .. }) = self.entries.remove(place) {
            self.entries[place - 1].left += left;
        }
    }

    fn find(&self, charge: Charge) -> Option<usize> {
        self.entries.binary_search_by_key(&charge.number, |entry| entry.number).ok()
    }

    #[cfg(test)]
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Whole tokens that are left.
    pub fn remaining(&self) -> u64 {
        u64::try_from(self.capacity().saturating_sub(self.used) / TOKEN).unwrap_or(u64::MAX)
    }

    /// Whole tokens that are taken and not refilled yet.
    pub fn taken(&self) -> u64 {
        u64::try_from(self.used.div_ceil(TOKEN)).unwrap_or(u64::MAX)
    }

    pub fn until_full(&self) -> Duration {
        self.refill_time(self.used)
    }

    /// The time until the bucket is open; zero if it is.
    pub fn until_open(&self) -> Duration {
        match (self.used + 1).checked_sub(self.capacity()) {
            None | Some(0) => Duration::ZERO,
            Some(debt) => self.refill_time(debt),
        }
    }

    fn refill_time(&self, units: u128) -> Duration {
        let micros = units.div_ceil(u128::from(self.limit.max(1)));
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    fn capacity(&self) -> u128 {
        units(self.limit)
    }
}

fn units(tokens: u64) -> u128 {
    u128::from(tokens) * TOKEN
}
