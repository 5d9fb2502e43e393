//! The lease protocol of this process: decides what is asked of the database, and applies the answers. Everything that
//! it knows is in the budget state, and time is a parameter, so that the simulation runs the same decisions.

mod answers;
mod bases;
mod requests;

use std::time::Duration;

use domain::money::Nanos;
use foldhash::HashMap;
use store::{LeaseAsk, LeaseGift, LeaseKey, LeaseNeed, LeaseTaken, OwnLease};
use tokio::sync::oneshot;

use super::BudgetState;
use crate::budgets::BudgetScope;
use crate::budgets::lease::Lease;
use crate::budgets::lease_queue::{LeaseOutcome, LeaseQueue};
use crate::budgets::window::Window;

/// Interval at which spending rates are updated, and what is not needed is given back.
const TICK: Duration = Duration::from_millis(250);
/// Interval at which recalls of other replicas are looked for.
const POLL: Duration = Duration::from_millis(100);
/// The same while notices of other replicas arrive.
const RARE_POLL: Duration = Duration::from_secs(1);
/// Time for which a notice shows that others would arrive. Every replica sends one each second.
const NOTICE_VALIDITY: Duration = Duration::from_millis(2500);
/// Pause after a request that failed; doubled with every further one.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LAST_RETRY: Duration = Duration::from_millis(100);
/// Time without an answer after which calls no longer wait for the database.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time for which the end of every call is reported after a recall.
const RECALL: Duration = Duration::from_secs(2);
/// Pause while waiting calls are blocked, such as by a window whose spending is being read.
const BLOCKED: Duration = Duration::from_millis(20);
/// The longest pause of the driver.
const REST: Duration = Duration::from_secs(1);

/// A statement for the database. There is at most one at a time.
#[derive(Clone, Debug, PartialEq)]
pub enum LeaseRequest {
    /// Read the own leases again.
    Resync,
    /// Register windows, and lease what is used already.
    Ensure(Vec<LeaseNeed>),
    Give(Vec<LeaseGift>),
    Take {
        asks: Vec<LeaseAsk>,
        paths: Vec<AskedPath>,
    },
    /// Read which leases are recalled.
    Poll,
}

/// The waiting calls that a take is for.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedPath {
    keys: Vec<LeaseKey>,
    number: i64,
    last: u64,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum LeaseAnswer {
    Own(Vec<OwnLease>),
    Given,
    Taken(Vec<LeaseTaken>),
}

/// Counters and timers of the protocol.
#[derive(Default)]
pub struct Leasing {
    queue: LeaseQueue,
    ticked_at: Duration,
    polled_at: Duration,
    must_resync: bool,
    /// The rest of windows that are not in use any more.
    unused: Vec<LeaseGift>,
    /// When a lease was last recalled.
    recalled_at: Option<Duration>,
    /// Since when requests have failed.
    failing_since: Option<Duration>,
    retry: Duration,
    retry_at: Duration,
    /// When the last notice of a replica arrived.
    noticed_at: Option<Duration>,
    pub statements: u64,
    pub waits: u64,
    pub refusals: u64,
}

/// The state of the leases of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeaseSummary {
    /// Windows with a lease.
    pub windows: usize,
    /// Granted and not booked.
    pub granted: Nanos,
    /// Of that, neither held nor settled.
    pub free: Nanos,
    pub waiting: usize,
    /// Whether the database has not answered for a while.
    pub is_failing: bool,
    pub statements: u64,
    pub waits: u64,
    pub refusals: u64,
}

impl BudgetState {
    /// Waits for room for an amount in every window on the path; `None` if there is no lease to wait for.
    pub fn wait_for_room(
        &mut self,
        scope: &BudgetScope,
        need: Nanos,
        now: Duration,
    ) -> Option<oneshot::Receiver<LeaseOutcome>> {
        let scope = self.timely(scope.clone());
        let mut keys = Vec::new();
        for place in self.covering(&scope) {
            let window = self.windows[place].at(scope.at);
            keys.extend(window.and_then(|window| window.lease.as_ref()).map(|lease| lease.key.clone()));
        }
        if keys.is_empty() {
            return None;
        }
        keys.sort();
        keys.dedup();
        let receiver = self.leasing.queue.push(keys, need);
        self.leasing.waits += 1;
        if self.leasing.is_lost(now) {
            self.leasing.queue.give_up();
        }
        Some(receiver)
    }

    /// The next request to the database, if one is due. What is given back is taken out of the leases here.
    pub fn next_lease_request(&mut self, now: Duration) -> Option<LeaseRequest> {
        self.tick_leases(now);
        self.wake_waiting(now);
        if now < self.leasing.retry_at {
            return None;
        }
        let request = self.due_request(now);
        self.leasing.statements += u64::from(request.is_some());
        request
    }

    fn due_request(&mut self, now: Duration) -> Option<LeaseRequest> {
        if self.leasing.must_resync {
            return Some(LeaseRequest::Resync);
        }
        let needs = self.needs();
        if !needs.is_empty() {
            return Some(LeaseRequest::Ensure(needs));
        }
        let gifts = self.gifts(now);
        if !gifts.is_empty() {
            return Some(LeaseRequest::Give(gifts));
        }
        let (asks, paths) = self.asks(now);
        if !asks.is_empty() {
            return Some(LeaseRequest::Take { asks, paths });
        }
        if now >= self.leasing.polled_at + self.leasing.poll_interval(now)
            && self.leases().any(|(_, lease)| lease.granted > Nanos::ZERO)
        {
            self.leasing.polled_at = now;
            return Some(LeaseRequest::Poll);
        }
        None
    }

    /// Time until the next request can be due, if nothing happens in the meantime.
    pub fn lease_pause(&self, now: Duration) -> Duration {
        let leasing = &self.leasing;
        let mut at = now + REST;
        if now < leasing.retry_at {
            return leasing.retry_at - now;
        }
        for path in &leasing.queue.paths {
            // One that could be asked for and is not waits for something else, which ends the pause.
            at = at.min(if path.retry_at > now { path.retry_at } else { now + BLOCKED });
        }
        for (window, lease) in self.leases().filter(|(_, lease)| lease.is_registered) {
            if lease.granted > Nanos::ZERO {
                at = at.min(leasing.polled_at + leasing.poll_interval(now)).min(leasing.ticked_at + TICK);
            }
            if lease.is_recalled(now) && window.free() > Nanos::ZERO {
                at = at.min(now + Duration::from_millis(5));
            }
            if lease.is_low(window.free()) {
                at = at.min(lease.next_refill());
            }
        }
        at.saturating_sub(now).max(Duration::from_millis(1))
    }

    /// Records that a request failed. Whether it was applied is not known: the leases are read again first.
    pub fn lease_failed(&mut self, now: Duration) {
        let leasing = &mut self.leasing;
        leasing.must_resync = true;
        leasing.queue.forget_rounds();
        // Others may have waited for an answer meanwhile.
        leasing.polled_at = Duration::ZERO;
        leasing.failing_since.get_or_insert(now);
        leasing.retry = (leasing.retry.max(FIRST_RETRY / 2) * 2).min(LAST_RETRY);
        leasing.retry_at = now + leasing.retry;
        if leasing.is_lost(now) {
            leasing.queue.give_up();
        }
    }

    /// Records when the last notice of a replica arrived; `None` if none can.
    pub fn notices_arrive(&mut self, at: Option<Duration>) {
        self.leasing.noticed_at = at;
    }

    /// Has recalls read with the next request.
    pub fn look_for_recalls(&mut self) {
        self.leasing.polled_at = Duration::ZERO;
    }

    pub fn lease_summary(&self, now: Duration) -> LeaseSummary {
        let Leasing { queue, statements, waits, refusals, .. } = &self.leasing;
        let mut summary = LeaseSummary {
            waiting: queue.len(),
            is_failing: self.leasing.is_lost(now),
            statements: *statements,
            waits: *waits,
            refusals: *refusals,
            ..LeaseSummary::default()
        };
        for (window, lease) in self.leases().filter(|(_, lease)| lease.is_registered) {
            summary.windows += 1;
            summary.granted += lease.granted;
            summary.free += Nanos(window.free().0.max(0));
        }
        summary
    }

    fn leases(&self) -> impl Iterator<Item = (&Window, &Lease)> {
        let windows = self.windows.iter();
        let windows = windows.flat_map(|windows| std::iter::once(&windows.current).chain(&windows.previous));
        windows.filter_map(|window| Some((window, window.lease.as_deref()?)))
    }

    fn edit_lease<T>(&mut self, key: &LeaseKey, edit: impl FnOnce(&mut Lease) -> T) -> Option<T> {
        let windows = self.windows.iter_mut().flat_map(|windows| windows.each());
        let mut leases = windows.filter_map(|window| window.lease.as_deref_mut());
        leases.find(|lease| lease.key == *key).map(edit)
    }

    fn leased_by(&self, key: &LeaseKey) -> Option<&Window> {
        self.leases().find(|(_, lease)| lease.key == *key).map(|(window, _)| window)
    }

    fn tick_leases(&mut self, now: Duration) {
        let elapsed = now.saturating_sub(self.leasing.ticked_at);
        if elapsed < TICK {
            return;
        }
        self.leasing.ticked_at = now;
        self.leasing.queue.sweep();
        let windows = self.windows.iter_mut().flat_map(|windows| windows.each());
        windows.filter_map(|window| window.lease.as_mut()).for_each(|lease| lease.tick(elapsed));
    }

    /// Wakes waiting calls that fit into what is free.
    fn wake_waiting(&mut self, now: Duration) {
        if self.leasing.queue.is_empty() {
            return;
        }
        let mut queue = std::mem::take(&mut self.leasing.queue);
        // Paths may have windows in common: what the calls of one will hold is not there for the next.
        let mut promised: HashMap<LeaseKey, i64> = HashMap::default();
        for path in &mut queue.paths {
            // A window that is gone has no limit any more; the call finds the one that replaced it.
            let free = path.keys.iter().filter_map(|key| {
                let available = self.leased_by(key)?.available().0;
                Some(available - promised.get(key).copied().unwrap_or_default())
            });
            let woken = path.wake(Nanos(free.min().unwrap_or(i64::MAX)));
            if woken > Nanos::ZERO {
                for key in &path.keys {
                    *promised.entry(key.clone()).or_default() += woken.0;
                    self.edit_lease(key, |lease| lease.promise(woken, now));
                }
            }
        }
        queue.sweep();
        self.leasing.queue = queue;
    }

    fn leased_window(&self, key: &LeaseKey) -> Option<(Nanos, &Window, &Lease)> {
        let index = self.index.as_ref()?;
        self.windows.iter().enumerate().find_map(|(place, windows)| {
            let mut each = std::iter::once(&windows.current).chain(&windows.previous);
            each.find_map(|window| {
                let lease = window.lease.as_deref().filter(|lease| lease.key == *key)?;
                Some((index.rule(place).amount, window, lease))
            })
        })
    }
}

impl Leasing {
    /// Whether the end of a call matters at once: others wait for room, here or on other replicas.
    pub fn is_watched(&self) -> bool {
        let is_recalled = self.recalled_at.is_some_and(|at| self.ticked_at < at + RECALL);
        is_recalled || !self.queue.is_empty()
    }

    /// The interval at which recalls are looked for.
    fn poll_interval(&self, now: Duration) -> Duration {
        let is_noticed = self.noticed_at.is_some_and(|at| now < at + NOTICE_VALIDITY);
        if is_noticed { RARE_POLL } else { POLL }
    }

    fn is_lost(&self, now: Duration) -> bool {
        self.failing_since.is_some_and(|since| now.saturating_sub(since) >= PATIENCE)
    }
}
