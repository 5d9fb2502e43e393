//! Calls of the simulation: they arrive, hold or wait, end, and are booked.

use domain::clock::Timestamp;
use domain::money::Nanos;

use super::{Event, MILLI, PATHS, Running, WAIT, Waiting, World};
use crate::budgets::lease_queue::LeaseOutcome;
use crate::budgets::state::Check;
use crate::budgets::tests::lease_tables::Entry;
use crate::budgets::tests::{BudgetScope, scope};

impl World {
    pub(super) fn arrive(&mut self, replica: usize) {
        let pause = self.dice.within(5 * MILLI, 40 * MILLI);
        self.push(pause, Event::Arrival(replica));
        if !self.replicas[replica].is_alive || self.replicas[replica].is_paused {
            return;
        }
        self.totals.calls += 1;
        let path = PATHS[self.dice.within(0, 3) as usize];
        let worst =
            if self.dice.one_in(20) { self.dice.within(200, 900) } else { self.dice.within(10, 120) } as i64;
        let (at, deadline) = (self.wall(), self.now + WAIT);
        self.hold(replica, path, at, worst, deadline, i64::MAX);
    }

    /// Holds for a call, or lets it wait.
    pub(super) fn hold(
        &mut self,
        replica: usize,
        path: &'static str,
        at: Timestamp,
        worst: i64,
        deadline: u64,
        least_room: i64,
    ) {
        let (now, tick) = (self.wall(), self.tick());
        let call = BudgetScope { at, ..scope(path, 0) };
        let of = &mut self.replicas[replica];
        of.state.turn_covering(&call, now);
        match of.state.hold(call.clone(), Some(Nanos(worst)), Check::Lease) {
            Ok(number) => {
                of.running.insert(number, Running { at, path, worst });
                self.count(path, at, worst);
                let of = &self.replicas[replica];
                let (life, is_stale) = (of.life, of.version != self.version);
                if is_stale {
                    // It does not know the rules yet: what it admits counts as a fact.
                    self.allow(path, at, worst);
                }
                self.check_amounts(path, at);
                let length = self.dice.within(50 * MILLI, 600 * MILLI);
                self.push(length, Event::End { replica, life, call: number });
            }
            Err(_) => {
                if let Some(receiver) = of.state.wait_for_room(&call, Nanos(worst), tick) {
                    let windows = self.windows(path, at);
                    let call = Waiting { path, at, worst, deadline, receiver, least_room, windows };
                    self.replicas[replica].waiting.push(call);
                }
                self.wake(replica);
            }
        }
        if self.replicas[replica].state.take_lease_due() {
            self.wake(replica);
        }
    }

    pub(super) fn end(&mut self, replica: usize, call: u64) {
        let of = &mut self.replicas[replica];
        let Some(Running { at, path, worst }) = of.running.remove(&call) else { return };
        let overrun = if self.trouble.overruns && self.dice.one_in(50) { worst } else { 0 };
        let cost = self.dice.within(1, worst as u64 + 1) as i64 + overrun;
        let id = format!("{}-{call}", of.journal);
        of.state.settle(call, &id, Nanos(cost), true);
        of.unbooked.push(Entry { id, at, path: path.to_owned(), cost });
        self.count(path, at, cost - worst);
        if cost > worst {
            self.allow(path, at, cost - worst);
        }
        if self.replicas[replica].state.take_lease_due() {
            self.wake(replica);
        }
    }

    /// Calls whose wait has ended try again, are refused, or give up.
    pub(super) fn poll_waiting(&mut self, replica: usize) {
        let waiting = std::mem::take(&mut self.replicas[replica].waiting);
        for mut call in waiting {
            let outcome = match call.receiver.try_recv() {
                Ok(outcome) => Some(outcome),
                Err(_) if self.now >= call.deadline => Some(LeaseOutcome::Unknown),
                Err(_) => None,
            };
            match outcome {
                None => self.replicas[replica].waiting.push(call),
                Some(LeaseOutcome::Room) => {
                    self.hold(replica, call.path, call.at, call.worst, call.deadline, call.least_room);
                }
                Some(LeaseOutcome::Refused { .. }) => {
                    self.totals.refused += 1;
                    self.totals.phantom += u64::from(call.least_room >= call.worst);
                }
                Some(LeaseOutcome::Unknown) => self.totals.unknown += 1,
            }
        }
    }

    pub(super) fn drain(&mut self, replica: usize) {
        if !self.replicas[replica].is_alive {
            return;
        }
        self.push(100 * MILLI, Event::Drain(replica));
        let of = &mut self.replicas[replica];
        if self.is_down || of.is_paused {
            return;
        }
        let entries = std::mem::take(&mut of.unbooked);
        let ids: Vec<String> = entries.iter().map(|entry| entry.id.clone()).collect();
        let leases = self.tables.book(&of.journal, entries);
        of.state.booked(&mut ids.iter().map(String::as_str), &leases);
    }
}
