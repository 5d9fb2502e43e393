//! The facts that the simulation compares the replicas with: sums of windows, and the room that there was.

use std::collections::BTreeMap;

use domain::clock::Timestamp;
use domain::period::Anchors;

use super::{World, covers};
use crate::budgets::window::Window;

impl World {
    /// The window of a budget that contains a time: its opening and its end.
    pub(super) fn window(&self, place: usize, at: Timestamp) -> (Timestamp, Timestamp) {
        let window = Window::around(&self.budgets[place], &Anchors::default(), at);
        (window.from, window.end)
    }

    /// The windows of the budgets that a call counts against: the budget, its opening and its end.
    pub(super) fn windows(&self, path: &str, at: Timestamp) -> Vec<(usize, Timestamp, Timestamp)> {
        let places = (0..self.budgets.len()).filter(|place| covers(*place, path));
        let windows = places.map(|place| (place, self.window(place, at)));
        let windows = windows.filter(|(_, (from, _))| *from <= at);
        windows.map(|(place, (from, end))| (place, from, end)).collect()
    }

    /// Adds to what is spent or held by a call.
    pub(super) fn count(&mut self, path: &str, at: Timestamp, change: i64) {
        for (place, from, _) in self.windows(path, at) {
            if let Some(sum) = self.sums.get_mut(&(place, from.micros())) {
                *sum += change;
            }
        }
    }

    /// The sum that is spent, unbooked and held in a window, by all replicas, dead ones included.
    pub(super) fn total(&mut self, place: usize, from: Timestamp, end: Timestamp) -> i64 {
        if let Some(sum) = self.sums.get(&(place, from.micros())) {
            return *sum;
        }
        let counts = |at: Timestamp, path: &str| from <= at && at < end && covers(place, path);
        let unbooked = self.replicas.iter().flat_map(|replica| &replica.unbooked);
        let dead = self.dead.iter().flat_map(|(_, entries)| entries);
        let entries = self.tables.ledger.iter().chain(unbooked).chain(dead);
        let spent: i64 = entries.filter(|entry| counts(entry.at, &entry.path)).map(|entry| entry.cost).sum();
        let running = self.replicas.iter().flat_map(|replica| replica.running.values());
        let held: i64 = running.filter(|call| counts(call.at, call.path)).map(|call| call.worst).sum();
        self.sums.insert((place, from.micros()), spent + held);
        spent + held
    }

    pub(super) fn allow(&mut self, path: &str, at: Timestamp, more: i64) {
        for (place, from, _) in self.windows(path, at) {
            *self.allowance.entry((place, from.micros())).or_default() += more;
        }
    }

    /// A lowered amount does not concern what is spent or held already.
    pub(super) fn allow_present(&mut self, place: usize, amount: i64) {
        let (from, end) = self.window(place, self.wall());
        let above = self.total(place, from, end) - amount;
        *self.allowance.entry((place, from.micros())).or_default() += above.max(0);
    }

    pub(super) fn check_amounts(&mut self, path: &str, at: Timestamp) {
        for (place, from, end) in self.windows(path, at) {
            let allowance = self.allowance.get(&(place, from.micros())).copied().unwrap_or_default();
            let (total, amount, now) = (self.total(place, from, end), self.budgets[place].amount.0, self.now);
            assert!(total <= amount + allowance, "{place}: {total} of {amount} + {allowance} at {now}");
        }
    }

    /// Notes the room there is for every waiting call: what nobody has spent or held, without the leases of replicas that
    /// are dead or paused.
    pub(super) fn check_waiting(&mut self) {
        let mut rooms: BTreeMap<(usize, i64), i64> = BTreeMap::new();
        for replica in 0..self.replicas.len() {
            let is_stale = self.replicas[replica].version != self.version;
            for waiting in 0..self.replicas[replica].waiting.len() {
                let call = &self.replicas[replica].waiting[waiting];
                let mut least = if is_stale { i64::MIN } else { call.least_room };
                for (place, from, end) in call.windows.clone() {
                    let room = match rooms.get(&(place, from.micros())) {
                        Some(room) => *room,
                        None => {
                            let used = self.total(place, from, end) + self.stranded(place, from);
                            self.budgets[place].amount.0 - used
                        }
                    };
                    rooms.insert((place, from.micros()), room);
                    least = least.min(room);
                }
                self.replicas[replica].waiting[waiting].least_room = least;
            }
        }
    }

    /// The unused leases of replicas that cannot answer.
    pub(super) fn stranded(&self, budget: usize, from: Timestamp) -> i64 {
        let name = self.budgets[budget].lease_name();
        let silent = |journal: &str| {
            let live = self.replicas.iter().find(|replica| replica.is_alive && replica.journal == journal);
            live.is_none_or(|replica| replica.is_paused)
        };
        let rows = self.tables.leases.iter();
        let of =
            rows.filter(|((key, journal), _)| *key.budget == *name && key.opened == from && silent(journal));
        of.map(|(_, row)| (row.granted - row.booked).max(0)).sum()
    }

    /// At the end the journals of the dead are drained: their leases hold what they spent and nothing else.
    pub(super) fn finish(&mut self) {
        self.drain_dead();
        self.tables.check();
        let journals: Vec<&str> = self
            .replicas
            .iter()
            .filter(|replica| replica.is_alive)
            .map(|replica| &*replica.journal)
            .collect();
        for ((_, journal), row) in &self.tables.leases {
            assert!(journals.contains(&journal.as_str()) || row.granted == row.booked, "{journal}: {row:?}");
        }
        assert!(self.totals.stranded <= self.totals.largest_lease);
    }
}
