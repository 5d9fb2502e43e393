//! The lease protocol of this process: decides what is asked of the database, and applies the answers. Everything that
//! it knows is in the budget state, and time is a parameter, so that the simulation runs the same decisions.

use std::time::Duration;

use domain::money::Nanos;
use foldhash::{HashMap, HashSet};
use store::{
    BaseChange, LeaseAsk, LeaseGift, LeaseKey, LeaseNeed, LeaseScope, LeaseTaken, OwnLease, WindowFigures,
};
use tokio::sync::oneshot;

use super::{BudgetState, Reading};
use crate::budgets::BudgetScope;
use crate::budgets::lease::Lease;
use crate::budgets::lease_queue::{LeaseOutcome, LeaseQueue};
use crate::budgets::rules::Rule;
use crate::budgets::window::Window;

/// Interval at which spending rates are updated, and what is not needed is given back.
const TICK: Duration = Duration::from_millis(250);
/// Interval at which recalls of other replicas are looked for.
const POLL: Duration = Duration::from_millis(100);
/// The same while notifications arrive.
const RARE_POLL: Duration = Duration::from_secs(1);
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
    /// What is left in windows that are not in use any more.
    unused: Vec<LeaseGift>,
    /// When a lease was last recalled.
    recalled_at: Option<Duration>,
    /// Since when requests have failed.
    failing_since: Option<Duration>,
    retry: Duration,
    retry_at: Duration,
    /// Whether replicas are notified of recalls.
    pub is_notified: bool,
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
        let interval = if self.leasing.is_notified { RARE_POLL } else { POLL };
        if now >= self.leasing.polled_at + interval
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
            let interval = if leasing.is_notified { RARE_POLL } else { POLL };
            if lease.granted > Nanos::ZERO {
                at = at.min(leasing.polled_at + interval).min(leasing.ticked_at + TICK);
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

    /// Needs with what is used now. Nothing of this process may be booked until the answer to them is applied: what was
    /// booked since would be leased again.
    pub fn refresh_needs(&self, needs: &[LeaseNeed]) -> Vec<LeaseNeed> {
        let used = |need: &LeaseNeed| self.leased_by(&need.key).map_or(Nanos::ZERO, Window::used);
        needs.iter().map(|need| LeaseNeed { used: used(need), ..need.clone() }).collect()
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

    /// Has the leases read again: windows may have been dropped with their rules, the last ones, too.
    pub(super) fn schedule_resync(&mut self, was_leased: bool) {
        self.leasing.must_resync |= was_leased || self.index.as_ref().is_some_and(|index| index.is_leased());
    }

    /// The bases that differ from the sums of the ledger, less what is booked under leases. Both are from one state of the
    /// database.
    pub fn base_changes(&self, readings: &[Reading], windows: &[WindowFigures]) -> Vec<BaseChange> {
        let change = |reading: &Reading| {
            let lease = self.windows.get(reading.place)?.current.lease.as_ref()?;
            let figures = windows.iter().find(|figures| figures.key == lease.key)?;
            let new = Nanos(reading.sum.0 - figures.booked.0);
            let is_new = figures.base != Some(new) && lease.key.opened == reading.from;
            is_new.then(|| BaseChange { key: lease.key.clone(), old: figures.base, new })
        };
        readings.iter().filter_map(change).collect()
    }

    /// The sums of windows whose figures are in the database.
    pub fn window_sums(&self, readings: Vec<Reading>, windows: &[WindowFigures]) -> Vec<Reading> {
        let sum = |reading: Reading| {
            let lease = self.windows.get(reading.place)?.current.lease.as_ref()?;
            let figures = windows.iter().find(|figures| figures.key == lease.key)?;
            Some(Reading { sum: figures.base? + figures.booked, ..reading })
        };
        readings.into_iter().filter_map(sum).collect()
    }

    /// Records that these windows have a base.
    pub fn set_bases_known(&mut self, keys: &HashSet<LeaseKey>) {
        let windows = self.windows.iter_mut().flat_map(|windows| windows.each());
        for lease in windows.filter_map(|window| window.lease.as_mut()) {
            lease.has_base |= keys.contains(&lease.key);
        }
    }

    /// Reduces leases by what was booked under them.
    pub(super) fn booked_under_leases(&mut self, booked: &[(LeaseKey, Nanos)]) {
        for (key, cost) in booked {
            self.edit_lease(key, |lease| lease.granted += Nanos(-cost.0));
        }
    }

    /// Gives up what is free in the windows of these budgets: their amounts were lowered.
    pub(super) fn recall_lowered(&mut self, places: &[usize]) {
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

    /// Records whether notifications of recalls arrive; one that does has recalls read at once.
    pub fn lease_notified(&mut self, is_notified: bool) {
        self.leasing.is_notified = is_notified;
        if is_notified {
            self.leasing.polled_at = Duration::ZERO;
        }
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

    /// Sets a lease to what the database has; false if this process does not use the window.
    fn register(&mut self, own: &OwnLease) -> bool {
        let registered = self.edit_lease(&own.key, |lease| {
            lease.is_registered = true;
            lease.has_base |= own.has_base;
            (lease.granted, lease.returning) = (own.left, Nanos::ZERO);
        });
        registered.is_some()
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

    /// Windows that are used beyond their lease, and unregistered ones on the path of a waiting call.
    fn needs(&self) -> Vec<LeaseNeed> {
        let waited: HashSet<&LeaseKey> =
            self.leasing.queue.paths.iter().flat_map(|path| &path.keys).collect();
        let Some(index) = &self.index else { return Vec::new() };
        let mut needs = Vec::new();
        for (place, windows) in self.windows.iter().enumerate() {
            for window in std::iter::once(&windows.current).chain(&windows.previous) {
                let Some(lease) = &window.lease else { continue };
                let is_missing = !lease.is_registered && waited.contains(&lease.key);
                if is_missing || window.free() < Nanos::ZERO {
                    needs.push(LeaseNeed {
                        key: lease.key.clone(),
                        until: window.end,
                        scope: scope_of(index.rule(place)),
                        used: window.used(),
                    });
                }
            }
        }
        needs
    }

    fn gifts(&mut self, now: Duration) -> Vec<LeaseGift> {
        let mut gifts = std::mem::take(&mut self.leasing.unused);
        for window in self.windows.iter_mut().flat_map(|windows| windows.each()) {
            let free = window.free();
            let Some(lease) = &mut window.lease else { continue };
            if let Some(part) = lease.gift(free, now) {
                lease.give_up(part, now);
                gifts.push(LeaseGift { key: lease.key.clone(), free: lease.returning });
            }
        }
        gifts
    }

    /// Takes for waiting calls on paths that have no window in common, smallest need first, and refills of leases that
    /// are low.
    fn asks(&mut self, now: Duration) -> (Vec<LeaseAsk>, Vec<AskedPath>) {
        let mut queue = std::mem::take(&mut self.leasing.queue);
        queue.paths.sort_by_key(|path| path.smallest());
        let (mut asks, mut paths, mut asked) = (Vec::new(), Vec::new(), HashSet::default());
        for path in queue.paths.iter().filter(|path| path.retry_at <= now) {
            let number = paths.len() as i64;
            if path.keys.iter().any(|key| asked.contains(key)) {
                continue;
            }
            let (need, total) = (path.smallest(), path.total());
            let ask = |key: &LeaseKey| self.ask(key, number, need, total, path.since(key), now);
            let of_path: Option<Vec<Option<LeaseAsk>>> = path.keys.iter().map(ask).collect();
            let Some(of_path) = of_path else { continue };
            asks.extend(of_path.into_iter().flatten());
            asked.extend(path.keys.iter().cloned());
            paths.push(AskedPath { keys: path.keys.clone(), number, last: path.last() });
        }
        self.leasing.queue = queue;
        if asks.is_empty() {
            paths.clear();
        }
        let refills = self.refills(now, &asked, paths.len() as i64);
        asks.extend(refills);
        (asks, paths)
    }

    /// The request for one window of a path: `None` if nothing can be taken from it yet, `Some(None)` if enough is free.
    fn ask(
        &self,
        key: &LeaseKey,
        path: i64,
        need: Nanos,
        total: Nanos,
        since: i64,
        now: Duration,
    ) -> Option<Option<LeaseAsk>> {
        let (amount, window, lease) = self.leased_window(key)?;
        if !lease.is_registered || !lease.has_base {
            return None;
        }
        let free = window.available().0.max(0);
        let missing = need.0.saturating_sub(free);
        if missing <= 0 {
            return Some(None);
        }
        let ahead = lease.ahead(Nanos(free), now);
        // Enough for all waiting calls, unless the budget is scarce.
        let all = if ahead > Nanos::ZERO { total.0.saturating_sub(free) } else { 0 };
        let want = Nanos(missing.max(ahead.0).max(all));
        Some(Some(LeaseAsk { path, key: key.clone(), amount, need: Nanos(missing), want, since }))
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

    fn refills(&self, now: Duration, asked: &HashSet<LeaseKey>, first: i64) -> Vec<LeaseAsk> {
        let Some(index) = &self.index else { return Vec::new() };
        let windows = self.windows.iter().enumerate().map(|(place, windows)| (place, &windows.current));
        let refill = |(place, window): (usize, &Window)| {
            let lease = window.lease.as_deref().filter(|lease| !asked.contains(&lease.key))?;
            let want = lease.refill(window.free(), now)?;
            Some((index.rule(place).amount, lease.key.clone(), want))
        };
        let refills = windows.filter_map(refill).enumerate();
        refills
            .map(|(number, (amount, key, want))| {
                let path = first + number as i64;
                LeaseAsk { path, key, amount, need: Nanos::ZERO, want, since: i64::MAX }
            })
            .collect()
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
}

impl Leasing {
    /// Whether the end of a call matters at once: others wait for room, here or on other replicas.
    pub fn is_watched(&self) -> bool {
        let is_recalled = self.recalled_at.is_some_and(|at| self.ticked_at < at + RECALL);
        is_recalled || !self.queue.is_empty()
    }

    fn is_lost(&self, now: Duration) -> bool {
        self.failing_since.is_some_and(|since| now.saturating_sub(since) >= PATIENCE)
    }
}

/// The calls that count against a budget.
fn scope_of(rule: &Rule) -> LeaseScope {
    let run = match &rule.run {
        Some(run) => Some(run.to_string()),
        None if rule.policy.per_run => Some(String::new()),
        None => None,
    };
    LeaseScope { tenant: rule.key.tenant.clone(), user_path: rule.key.user_path.as_str().to_owned(), run }
}
