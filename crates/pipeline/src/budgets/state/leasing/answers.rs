//! The use of answers: grants, refusals, recalls, and leases that were read again.

use std::time::Duration;

use domain::money::Nanos;
use foldhash::HashSet;
use store::{LeaseAsk, LeaseGift, LeaseKey, LeaseTaken, OwnLease};

use super::{AskedPath, FIRST_RETRY, LeaseAnswer, LeaseRequest};
use crate::budgets::state::BudgetState;

impl BudgetState {
    /// Applies the answer to a request.
    pub fn lease_answered(&mut self, request: &LeaseRequest, answer: LeaseAnswer, now: Duration) {
        let leasing = &mut self.leasing;
        (leasing.failing_since, leasing.retry, leasing.retry_at) = (None, FIRST_RETRY, Duration::ZERO);
        match (request, answer) {
            (LeaseRequest::Resync, LeaseAnswer::Own(own)) => self.resync(&own),
            (LeaseRequest::Ensure(needs), LeaseAnswer::Own(own)) => {
                own.iter().for_each(|own| {
                    self.register(own);
                });
                // What was leased without condition may be beyond the amount: it is not used again before that is known.
                for need in needs.iter().filter(|need| need.used > Nanos::ZERO) {
                    self.edit_lease(&need.key, |lease| lease.is_overcommitted = true);
                }
            }
            (LeaseRequest::Poll, LeaseAnswer::Own(own)) => {
                for own in own {
                    self.leasing.recalled_at = Some(now);
                    self.edit_lease(&own.key, |lease| lease.recall(now));
                }
            }
            (LeaseRequest::Give(gifts), LeaseAnswer::Given) => {
                for gift in gifts {
                    self.edit_lease(&gift.key, |lease| lease.given(gift.free));
                }
            }
            (LeaseRequest::Take { asks, paths }, LeaseAnswer::Taken(taken)) => {
                self.taken(asks, paths, &taken, now)
            }
            _ => self.leasing.must_resync = true,
        }
        self.wake_waiting(now);
    }

    fn taken(&mut self, asks: &[LeaseAsk], paths: &[AskedPath], taken: &[LeaseTaken], now: Duration) {
        for taken in taken {
            let Some(ask) = asks.iter().find(|ask| ask.key == taken.key) else { continue };
            let ahead = if ask.want > ask.need { ask.want } else { Nanos::ZERO };
            // The amount may have been changed since it was asked for.
            let amount = self.leased_window(&taken.key).map_or(ask.amount, |(amount, ..)| amount);
            let rest = Nanos(taken.rest.0 + amount.0 - ask.amount.0);
            self.edit_lease(&taken.key, |lease| lease.add(taken.got, rest, ahead, now));
        }
        for path in paths {
            let of_path: Vec<LeaseTaken> =
                taken.iter().filter(|taken| path.keys.contains(&taken.key)).cloned().collect();
            let mut of_asks = asks.iter().filter(|ask| ask.path == path.number);
            if of_asks.clone().count() != of_path.len() {
                // A window was deleted; it is registered again.
                of_asks.by_ref().for_each(|ask| {
                    self.edit_lease(&ask.key, |lease| lease.is_registered = false);
                });
                continue;
            }
            let room = of_path.iter().map(|taken| {
                taken.rest.0 + self.leased_by(&taken.key).map_or(0, |window| window.free().0.max(0))
            });
            let room = Nanos(room.min().unwrap_or_default().max(0));
            let is_short = |taken: &&LeaseTaken| {
                asks.iter().any(|ask| ask.key == taken.key && ask.need > taken.rest && !taken.is_granted)
            };
            let short: Vec<&LeaseTaken> = of_path.iter().filter(is_short).collect();
            let waiting = self.leasing.queue.len();
            let Some(queue) = self.leasing.queue.path(&path.keys) else { continue };
            match short.is_empty() {
                true => queue.granted(now),
                false => queue.failed(&of_path, &short, room, path.last, now),
            }
            self.leasing.refusals += (waiting - self.leasing.queue.len()) as u64;
        }
        self.leasing.queue.sweep();
    }

    /// Sets the leases to what the database has. Nothing of this process may be booked meanwhile, and no request may be
    /// under way.
    pub fn resync(&mut self, own: &[OwnLease]) {
        self.leasing.must_resync = false;
        self.leasing.unused.clear();
        let stored: HashSet<&LeaseKey> = own.iter().map(|own| &own.key).collect();
        for lease in self
            .windows
            .iter_mut()
            .flat_map(|windows| windows.each())
            .filter_map(|window| window.lease.as_mut())
        {
            // Lost by a failover of the database: what is used is leased again.
            if lease.is_registered && !stored.contains(&lease.key) {
                tracing::warn!(budget = %lease.key.budget, "budget lease lost by the database");
                (lease.is_registered, lease.granted, lease.returning) = (false, Nanos::ZERO, Nanos::ZERO);
            }
        }
        for own in own {
            if !self.register(own) && own.left > Nanos::ZERO {
                // The window is not in use any more, nothing is held in it.
                self.leasing.unused.push(LeaseGift { key: own.key.clone(), free: own.left });
            }
        }
    }

    /// Sets a lease to what the database has; false if this process does not use the window.
    fn register(&mut self, own: &OwnLease) -> bool {
        let registered = self.edit_lease(&own.key, |lease| {
            lease.is_registered = true;
            lease.has_base |= own.has_base;
            (lease.granted, lease.returning) = (own.left, Nanos::ZERO);
        });
        registered.is_some()
    }

    /// Has the leases read again: windows may have been dropped with their rules.
    pub(in crate::budgets::state) fn schedule_resync(&mut self) {
        self.leasing.must_resync |= self.index.as_ref().is_some_and(|index| index.is_leased());
    }

    /// Reduces leases by what was booked under them.
    pub(in crate::budgets::state) fn booked_under_leases(&mut self, booked: &[(LeaseKey, Nanos)]) {
        for (key, cost) in booked {
            self.edit_lease(key, |lease| lease.granted += Nanos(-cost.0));
        }
    }

    /// Gives up what is free in the windows of these budgets: their amounts were lowered.
    pub(in crate::budgets::state) fn recall_lowered(&mut self, places: &[usize]) {
        let now = self.leasing.ticked_at;
        for place in places {
            for window in self.windows[*place].each() {
                let free = window.free();
                if let Some(lease) = window.lease.as_mut().filter(|lease| lease.is_registered) {
                    lease.recall(now);
                    lease.is_overcommitted = true;
                    lease.give_up(Nanos(free.0.max(0)), now);
                    self.leasing.recalled_at = Some(now);
                }
            }
        }
    }
}
