//! The drivers of the replicas in the simulation, and the database that executes their requests.

use super::{Event, MILLI, REPLICAS, World};
use crate::budgets::state::{LeaseAnswer, LeaseRequest};

impl World {
    pub(super) fn wake(&mut self, replica: usize) {
        self.schedule(replica, 50);
    }

    /// Runs the driver after this time, unless it runs earlier.
    pub(super) fn schedule(&mut self, replica: usize, after: u64) {
        let (at, of) = (self.now + after, &mut self.replicas[replica]);
        if of.drive_at <= self.now || at < of.drive_at {
            of.drive_at = at;
            let life = of.life;
            self.push(after, Event::Drive { replica, life });
        }
    }

    /// The driver: one request at a time.
    pub(super) fn drive(&mut self, replica: usize, life: u64) {
        self.poll_waiting(replica);
        let (tick, of) = (self.tick(), &mut self.replicas[replica]);
        if of.request.is_some() {
            return;
        }
        of.request = of.state.next_lease_request(tick);
        let pause = match &of.request {
            Some(_) => None,
            None => Some(of.state.lease_pause(tick).as_micros() as u64),
        };
        match pause {
            None => {
                let latency = self.dice.within(300, 3 * MILLI);
                self.push(latency, Event::Execute { replica, life });
            }
            Some(pause) => self.schedule(replica, pause),
        }
        self.poll_waiting(replica);
    }

    /// The database executes a request, also one of a replica that is paused or was killed meanwhile.
    pub(super) fn execute(&mut self, replica: usize, life: u64) {
        let of = &mut self.replicas[replica];
        let (true, Some(request)) = (of.life == life, of.request.clone()) else { return };
        let journal = of.journal.clone();
        // Once a journal is drained, its process is gone for long.
        if !of.is_alive && self.dead.iter().all(|(dead, _)| *dead != journal) {
            return;
        }
        let answer = (!self.is_down).then(|| match &request {
            LeaseRequest::Resync => LeaseAnswer::Own(self.tables.own(&journal)),
            LeaseRequest::Ensure(needs) => {
                // Nothing is booked between this and the answer in a real process; here the leases are read again then.
                let needs = self.replicas[replica].state.refresh_needs(needs);
                self.are_bases_due = true;
                LeaseAnswer::Own(self.tables.ensure(&journal, &needs))
            }
            LeaseRequest::Give(gifts) => {
                self.tables.give(&journal, gifts);
                LeaseAnswer::Given
            }
            LeaseRequest::Take { asks, .. } => {
                LeaseAnswer::Taken(self.tables.take(&journal, asks, 2 * REPLICAS as i64))
            }
            LeaseRequest::Poll => LeaseAnswer::Own(self.tables.recalled(&journal)),
        });
        self.tables.check();
        // Around an outage an answer may get lost after the request was applied.
        let is_lost = self.trouble.outages && self.dice.one_in(200);
        self.replicas[replica].answer = Some(answer.filter(|_| !is_lost).ok_or(()));
        let granted =
            self.tables.leases.values().map(|row| row.granted - row.booked).max().unwrap_or_default();
        self.totals.largest_lease = self.totals.largest_lease.max(granted);
        let latency = self.dice.within(300, 3 * MILLI);
        self.push(latency, Event::Answer { replica, life });
    }

    pub(super) fn answer(&mut self, replica: usize) {
        let (tick, of) = (self.tick(), &mut self.replicas[replica]);
        if let (Some(request), Some(answer)) = (of.request.take(), of.answer.take()) {
            match answer {
                // What was booked between the read and its use is not part of the lease any more.
                Ok(LeaseAnswer::Own(_)) if matches!(request, LeaseRequest::Resync) => {
                    let own = self.tables.own(&of.journal);
                    of.state.lease_answered(&request, LeaseAnswer::Own(own), tick);
                }
                Ok(LeaseAnswer::Own(_)) if matches!(request, LeaseRequest::Ensure(_)) => {
                    let own = self.tables.own(&of.journal);
                    of.state.lease_answered(&request, LeaseAnswer::Own(own), tick);
                }
                Ok(answer) => of.state.lease_answered(&request, answer, tick),
                Err(()) => of.state.lease_failed(tick),
            }
        }
        let life = of.life;
        self.drive(replica, life);
    }

    /// Sets the bases of new windows soon, as the replicas do once they are registered.
    pub(super) fn bases(&mut self) {
        self.push(20 * MILLI, Event::Bases);
        if self.is_down || !std::mem::take(&mut self.are_bases_due) {
            return;
        }
        self.tables.reconcile();
        let keys = self.tables.windows.keys().cloned().collect();
        for replica in self.replicas.iter_mut().filter(|replica| replica.is_alive && !replica.is_paused) {
            replica.state.set_bases_known(&keys);
        }
    }

    pub(super) fn install(&mut self, replica: usize) {
        let (index, wall, version) = (self.index(), self.wall(), self.version);
        let of = &mut self.replicas[replica];
        of.version = version;
        of.state.install(Some(index), wall);
        self.wake(replica);
    }
}
