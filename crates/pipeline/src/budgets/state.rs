//! The state under the budget lock: the windows of every budget, the calls in flight, and settled calls that are not
//! booked yet.

mod derived;
mod leasing;

use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::resources::budget::{OnExhausted, OnTight};
use foldhash::HashMap;
use store::LeaseKey;

use super::BudgetScope;
use super::alerts::Crossing;
use super::index::Index;
use super::rules::Rule;
use super::runs::Runs;
use super::window::{Turn, Window, Windows};
use derived::covering;
use leasing::Leasing;

pub use leasing::{LeaseAnswer, LeaseRequest, LeaseSummary};

/// Ledger reads after which an unbooked receipt is looked up.
const DOUBTFUL: u32 = 5;
/// Ledger reads for which a settled call is kept after its windows have ended, in case the clock is set back.
const KEPT_READINGS: u32 = 300;

#[derive(Default)]
pub struct BudgetState {
    index: Option<Arc<Index>>,
    /// In the order of the budgets in the index.
    windows: Vec<Windows>,
    under_way: HashMap<u64, RunningCall>,
    next: u64,
    /// By the id of the receipt.
    settled: HashMap<Box<str>, Settled>,
    crossings: Vec<Crossing>,
    runs: Runs,
    /// Whether a window has changed, so that the ledger has to be read.
    turned: bool,
    leasing: Leasing,
    /// Whether the lease protocol has something to do.
    is_lease_due: bool,
}

/// What a call has to fit into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The lease of this process, if replicas share the budget, else the amount.
    Lease,
    /// The amount, by what this process knows: while the database is away and calls are admitted nevertheless.
    Amount,
}

struct RunningCall {
    scope: BudgetScope,
    /// The arrival time as the ledger records it.
    arrived: Timestamp,
    held: Nanos,
}

struct Settled {
    scope: BudgetScope,
    arrived: Timestamp,
    cost: Nanos,
    /// Ledger reads since the call was settled.
    readings: u32,
}

/// The budget that has no room for a call, and until when.
#[derive(Clone, Debug)]
pub struct Exceeded {
    pub rule: Rule,
    pub spent: Nanos,
    pub reserved: Nanos,
    pub worst: Nanos,
    pub end: Timestamp,
    /// The smallest amount left in any budget on the path.
    pub room: Nanos,
    /// Whether every budget without room allows the output bound to be lowered.
    pub clamps: bool,
    /// The cheaper model that `rule` names; `None` if any budget without room blocks.
    pub downgrade_to: Option<String>,
}

/// The current status of a budget.
#[derive(Clone, Debug)]
pub struct Status {
    pub rule: Rule,
    pub period_start: Timestamp,
    pub period_end: Timestamp,
    /// The start of what counts: the start of the period, or a later reset.
    pub counted_from: Timestamp,
    pub spent: Nanos,
    pub reserved: Nanos,
    /// The number of agent runs with a budget derived from this one.
    pub runs: usize,
}

impl Status {
    pub fn remaining(&self) -> Nanos {
        let used = self.spent + self.reserved;
        Nanos(self.rule.amount.0.saturating_sub(used.0).max(0))
    }
}

/// The current status of a budget, and whether a call fits into it.
#[derive(Clone, Debug)]
pub struct Headroom {
    pub status: Status,
    pub fits: bool,
}

/// A window of a budget, and the sum that the ledger has for it.
pub struct Reading {
    pub place: usize,
    pub from: Timestamp,
    pub end: Timestamp,
    pub sum: Nanos,
}

impl BudgetState {
    /// Holds an amount against all budgets on the path, or against none.
    pub fn hold(
        &mut self,
        scope: BudgetScope,
        worst: Option<Nanos>,
        check: Check,
    ) -> Result<u64, Box<Exceeded>> {
        let arrived = scope.at;
        let scope = self.timely(scope);
        let held = worst.unwrap_or_default();
        if worst.is_some()
            && let Some(exceeded) = self.exceeded(&scope, held, check)
        {
            return Err(exceeded);
        }
        self.reserve(&scope, held);
        self.note_hold(&scope, held);
        self.next += 1;
        self.under_way.insert(self.next, RunningCall { scope, arrived, held });
        Ok(self.next)
    }

    /// Holds an amount in place of an earlier hold of the call, which stays if the amount does not fit.
    pub fn replace(
        &mut self,
        earlier: u64,
        scope: BudgetScope,
        worst: Option<Nanos>,
        check: Check,
    ) -> Result<u64, Box<Exceeded>> {
        let Some(call) = self.under_way.remove(&earlier) else { return self.hold(scope, worst, check) };
        self.reserve(&call.scope, Nanos(-call.held.0));
        let taken = self.hold(scope, worst, check);
        if taken.is_err() {
            self.reserve(&call.scope, call.held);
            self.under_way.insert(earlier, call);
        }
        taken
    }

    /// Reports budgets as exhausted if their spending refuses a call of this cost: all thresholds up to 1.0 are
    /// crossed, although the amount may never be spent to the last cent. Held amounts are ignored, because they may be
    /// released, as are calls larger than the whole amount, which say nothing about the budget.
    pub fn exhausted(&mut self, scope: &BudgetScope, worst: Nanos) {
        let Some(index) = self.index.clone() else { return };
        let scope = &self.timely(scope.clone());
        for place in self.covering(scope) {
            let Some(window) = self.windows[place].at(scope.at) else { continue };
            let (rule, spent) = (index.rule(place), window.spent());
            if worst <= rule.amount && !room(rule, spent, worst) {
                self.crossings.extend(crossings(&index, place, window, rule.amount));
            }
        }
    }

    pub fn has_crossings(&self) -> bool {
        !self.crossings.is_empty()
    }

    /// Moves a call that arrived outside all known windows into the current one. That happens if its body took longer
    /// than two windows, or if the clock was set back to before a reset.
    fn timely(&mut self, mut scope: BudgetScope) -> BudgetScope {
        self.derive(&scope);
        let Some(index) = self.index.clone() else { return scope };
        let mut at = scope.at;
        for place in self.covering(&scope) {
            self.turn_forward(&index, place, scope.at);
            let windows = &mut self.windows[place];
            if windows.at(scope.at).is_none() {
                at = at.max(windows.current.from);
            }
        }
        scope.at = at;
        scope
    }

    pub fn extend(&mut self, number: u64, more: Nanos, check: Check) -> bool {
        let Some(scope) = self.scope_of(number) else { return true };
        if self.exceeded(&scope, more, check).is_some() {
            return false;
        }
        self.reserve(&scope, more);
        self.note_hold(&scope, more);
        if let Some(call) = self.under_way.get_mut(&number) {
            call.held += more;
        }
        true
    }

    /// The scope of a call under way.
    pub fn scope_of(&self, number: u64) -> Option<BudgetScope> {
        self.under_way.get(&number).map(|call| call.scope.clone())
    }

    pub fn release(&mut self, number: u64) {
        if let Some(RunningCall { scope, held, .. }) = self.under_way.remove(&number) {
            self.reserve(&scope, Nanos(-held.0));
            self.is_lease_due |= self.leasing.is_watched();
        }
    }

    /// Replaces the hold by the actual cost. Returns true if a threshold was crossed.
    pub fn settle(&mut self, number: u64, receipt: &str, cost: Nanos, kept: bool) -> bool {
        let Some(RunningCall { scope, arrived, held }) = self.under_way.remove(&number) else { return false };
        let before = self.crossings.len();
        let Some(index) = self.index.clone() else { return false };
        for place in self.covering(&scope) {
            let Some(window) = self.windows[place].at(scope.at) else { continue };
            window.reserved += Nanos(-held.0);
            *if kept { &mut window.unbooked } else { &mut window.unkept } += cost;
            let is_overdrawn = window.lease.is_some() && window.free() < Nanos::ZERO;
            if let Some(lease) = &mut window.lease {
                lease.note_settled(cost);
                self.is_lease_due |= is_overdrawn || self.leasing.is_watched();
            }
            self.crossings.extend(crossings(&index, place, window, window.spent()));
        }
        if kept && cost != Nanos::ZERO {
            self.settled.insert(receipt.into(), Settled { scope, arrived, cost, readings: 0 });
        }
        self.crossings.len() > before
    }

    /// Moves the cost of booked receipts from the unbooked sums to the ledger sums, and out of the leases.
    pub fn booked(&mut self, ids: &mut dyn Iterator<Item = &str>, leases: &[(LeaseKey, Nanos)]) {
        self.booked_under_leases(leases);
        for id in ids {
            if self.settled.is_empty() {
                return;
            }
            let Some(Settled { scope, cost, .. }) = self.settled.remove(id) else { continue };
            for place in self.covering(&scope) {
                if let Some(window) = self.windows[place].at(scope.at) {
                    window.unbooked += Nanos(-cost.0);
                    window.ledger += cost;
                }
            }
        }
    }

    pub fn look(
        &mut self,
        scope: &BudgetScope,
        worst: Option<Nanos>,
    ) -> (Vec<Headroom>, Option<Box<Exceeded>>) {
        let Some(index) = self.index.clone() else { return (Vec::new(), None) };
        let scope = &self.timely(scope.clone());
        let mut rooms = Vec::new();
        for place in self.covering(scope) {
            self.turn_forward(&index, place, scope.at);
            let status = self.status(&index, place);
            let fits = worst.is_none_or(|worst| room(&status.rule, status.spent + status.reserved, worst));
            rooms.push(Headroom { status, fits });
        }
        let exceeded = worst.and_then(|worst| self.exceeded(scope, worst, Check::Amount));
        (rooms, exceeded)
    }

    pub fn statuses(&mut self, now: Timestamp) -> Vec<Status> {
        let Some(index) = self.index.clone() else { return Vec::new() };
        self.turn(now);
        let places = (0..self.windows.len()).filter(|place| index.rule(*place).run.is_none());
        places.map(|place| self.status(&index, place)).collect()
    }

    fn status(&self, index: &Index, place: usize) -> Status {
        let runs = if index.rule(place).policy.per_run { self.runs.count(place) } else { 0 };
        Status { runs, ..status(index, place, &self.windows[place].current) }
    }

    /// Turns every window to the wall clock, backwards too if the clock was set back.
    pub fn turn(&mut self, now: Timestamp) {
        let Some(index) = self.index.clone() else { return };
        for place in 0..self.windows.len() {
            self.turn_to(&index, place, now);
        }
    }

    /// Turns the windows on this path to the wall clock.
    pub fn turn_covering(&mut self, scope: &BudgetScope, now: Timestamp) {
        let Some(index) = self.index.clone() else { return };
        for place in self.covering(scope) {
            self.turn_to(&index, place, now);
        }
    }

    /// Returns whether a window has changed since the last call, so that the ledger has to be read.
    pub fn take_turned(&mut self) -> bool {
        std::mem::take(&mut self.turned)
    }

    fn turn_to(&mut self, index: &Index, place: usize, now: Timestamp) {
        let turn = self.windows[place].turn(now, || index.window(place, now));
        self.turned(place, turn);
    }

    fn turn_forward(&mut self, index: &Index, place: usize, at: Timestamp) {
        let turn = self.windows[place].turn_forward(at, || index.window(place, at));
        self.turned(place, turn);
    }

    fn turned(&mut self, place: usize, turn: Turn) {
        self.turned |= turn != Turn::Unchanged;
        if turn == Turn::New {
            self.count_current(place);
        }
    }

    /// Adds held and unbooked amounts to a new window. Its ledger sum is still to be read.
    fn count_current(&mut self, place: usize) {
        self.turned = true;
        let Some(index) = &self.index else { return };
        let window = &mut self.windows[place].current;
        let counts = |scope: &BudgetScope| covering(index, &self.runs, scope).contains(&place);
        for RunningCall { scope, held, .. } in self.under_way.values() {
            if window.holds(scope.at) && counts(scope) {
                window.reserved += *held;
            }
        }
        for Settled { scope, cost, .. } in self.settled.values() {
            if window.holds(scope.at) && counts(scope) {
                window.unbooked += *cost;
            }
        }
    }

    /// Of all budgets without room, the one whose window ends last: until then no attempt succeeds. A budget whose lease
    /// alone is too small, and that has room for all replicas, comes after the others.
    fn exceeded(&mut self, scope: &BudgetScope, worst: Nanos, check: Check) -> Option<Box<Exceeded>> {
        let index = self.index.clone()?;
        let mut found: Option<Box<Exceeded>> = None;
        let (mut min, mut clamps, mut blocks) = (Nanos(i64::MAX), true, false);
        let mut is_found_short = false;
        for place in self.covering(scope) {
            let Some(window) = self.windows[place].at(scope.at) else { continue };
            let rule = index.rule(place);
            let ((spent, reserved), end) = (window.shared_use(rule.amount), window.end);
            let left = match check {
                Check::Lease if window.lease.is_some() => window.available(),
                _ => Nanos(rule.amount.0.saturating_sub((window.spent() + window.reserved).0)),
            };
            min = min.min(left);
            if worst <= left {
                continue;
            }
            let is_short = check == Check::Amount || window.shared_left().is_none_or(|left| left < worst);
            clamps &= !is_short || rule.policy.on_tight == OnTight::Clamp;
            blocks |= is_short && rule.policy.on_exhausted == OnExhausted::Block;
            if found.as_ref().is_none_or(|known| (is_found_short, known.end) < (is_short, end)) {
                is_found_short = is_short;
                let downgrade_to = rule.policy.downgrade_to.clone();
                let (rule, room) = (rule.clone(), Nanos::ZERO);
                let exceeded = Exceeded { rule, spent, reserved, worst, end, room, clamps, downgrade_to };
                found = Some(Box::new(exceeded));
            }
        }
        if let Some(exceeded) = &mut found {
            (exceeded.room, exceeded.clamps) = (min, clamps);
            exceeded.downgrade_to = exceeded.downgrade_to.take().filter(|_| !blocks);
        }
        found
    }

    fn reserve(&mut self, scope: &BudgetScope, amount: Nanos) {
        for place in self.covering(scope) {
            if let Some(window) = self.windows[place].at(scope.at) {
                window.reserved += amount;
            }
        }
    }

    /// Counts a call in the demand for leases.
    fn note_hold(&mut self, scope: &BudgetScope, worst: Nanos) {
        if !self.index.as_ref().is_some_and(|index| index.is_leased()) {
            return;
        }
        for place in self.covering(scope) {
            let Some(window) = self.windows[place].at(scope.at) else { continue };
            let free = window.free();
            if let Some(lease) = &mut window.lease {
                self.is_lease_due |= lease.note_hold(worst, free);
            }
        }
    }

    /// Whether the lease protocol has something to do since the last call.
    pub fn take_lease_due(&mut self) -> bool {
        std::mem::take(&mut self.is_lease_due)
    }

    /// Installs new rules, and counts held and unbooked amounts again by the scope of each call.
    pub fn install(&mut self, index: Option<Arc<Index>>, now: Timestamp) {
        let before = self.index.take();
        let was_leased = before.as_ref().is_some_and(|before| before.is_leased());
        let mut lowered = Vec::new();
        let known = std::mem::take(&mut self.windows);
        let known = known.into_iter().enumerate();
        // The budget of a run has the key of its base.
        let is_base = |place: &usize| before.as_ref().is_some_and(|before| before.rule(*place).run.is_none());
        let mut known: HashMap<_, _> = known
            .filter(|(place, _)| is_base(place))
            .filter_map(|(place, windows)| Some((before.as_ref()?.rule(place).key.clone(), windows)))
            .collect();
        let amounts = before.iter().flat_map(|before| &before.rules.budgets);
        let amounts: HashMap<_, _> = amounts.map(|rule| (rule.key.clone(), rule.amount)).collect();
        if let Some(index) = &index {
            for (place, rule) in index.rules.budgets.iter().enumerate() {
                let amount = amounts.get(&rule.key).copied().unwrap_or_default();
                if rule.amount < amount {
                    lowered.push(place);
                }
                let known = known.remove(&rule.key);
                // A call may have turned the window after `now` was read.
                let now = known.as_ref().map_or(now, |known| now.max(known.current.start));
                let mut windows = Windows::new(index.window(place, now));
                if let Some(known) = known {
                    windows.inherit(known);
                }
                windows.each().for_each(|window| {
                    (window.reserved, window.unbooked, window.alerted) = (Nanos::ZERO, Nanos::ZERO, 0);
                    index.rename_lease(place, window);
                });
                self.windows.push(windows);
            }
        } else {
            self.settled.clear();
        }
        (self.index, self.runs) = (index, Runs::default());
        self.derive_for_known_calls(now);
        self.count_anew();
        self.recall_lowered(&lowered);
        self.schedule_resync(was_leased);
        self.is_lease_due = true;
    }

    fn count_anew(&mut self) {
        let Some(index) = &self.index else { return };
        // Derived budgets have counted these calls already when they were created: start again from zero.
        self.windows.iter_mut().flat_map(Windows::each).for_each(|window| {
            (window.reserved, window.unbooked) = (Nanos::ZERO, Nanos::ZERO);
        });
        let held = self.under_way.values().map(|call| (&call.scope, call.held, Nanos::ZERO));
        let settled = self.settled.values().map(|call| (&call.scope, Nanos::ZERO, call.cost));
        for (scope, held, cost) in held.chain(settled) {
            for place in covering(index, &self.runs, scope) {
                let turn = self.windows[place].turn_forward(scope.at, || index.window(place, scope.at));
                self.turned |= turn != Turn::Unchanged;
                if let Some(window) = self.windows[place].at(scope.at) {
                    window.reserved += held;
                    window.unbooked += cost;
                }
            }
        }
    }

    /// Turns all windows to `now`, and lists those whose sums are to be read.
    pub fn wanted(&mut self, now: Timestamp) -> Option<(Arc<Index>, Vec<Reading>)> {
        let index = self.index.clone()?;
        self.turn(now);
        let windows = self.windows.iter().enumerate();
        let wanted = windows.map(|(place, Windows { current, .. })| Reading {
            place,
            from: current.from,
            end: current.end,
            sum: Nanos::ZERO,
        });
        Some((index, wanted.collect()))
    }

    /// Applies the sums read from the ledger. Returns true if a threshold was crossed.
    pub fn apply(&mut self, readings: &[Reading]) -> bool {
        let before = self.crossings.len();
        let Some(index) = self.index.clone() else { return false };
        for Reading { place, from, end, sum } in readings {
            let mut windows = self.windows[*place].each();
            if let Some(window) = windows.find(|window| (window.from, window.end) == (*from, *end)) {
                window.ledger = *sum;
            }
        }
        for (place, windows) in self.windows.iter_mut().enumerate() {
            let spent = windows.current.spent();
            self.crossings.extend(crossings(&index, place, &mut windows.current, spent));
        }
        let (windows, runs) = (&mut self.windows, &self.runs);
        self.settled.retain(|_, call| {
            call.readings += 1;
            call.readings < KEPT_READINGS
                || covering(&index, runs, &call.scope)
                    .into_iter()
                    .any(|place| windows[place].at(call.scope.at).is_some())
        });
        self.crossings.len() > before
    }

    /// Arrival times and ids of receipts that should have been booked by now.
    pub fn doubtful(&self, max: usize) -> Vec<(Timestamp, Box<str>)> {
        let doubtful = self.settled.iter().filter(|(_, call)| call.readings >= DOUBTFUL);
        doubtful.map(|(id, call)| (call.arrived, id.clone())).take(max).collect()
    }

    pub fn take_crossings(&mut self) -> Vec<Crossing> {
        std::mem::take(&mut self.crossings)
    }

    /// Puts back crossings that could not be reported yet.
    pub fn give_back(&mut self, crossings: Vec<Crossing>) {
        self.crossings.splice(0..0, crossings);
    }
}

fn room(rule: &Rule, used: Nanos, worst: Nanos) -> bool {
    used.0.saturating_add(worst.0) <= rule.amount.0
}

fn status(index: &Index, place: usize, window: &Window) -> Status {
    Status {
        rule: index.rule(place).clone(),
        period_start: window.start,
        period_end: window.end,
        counted_from: window.from,
        spent: window.spent(),
        reserved: window.reserved,
        runs: 0,
    }
}

/// The thresholds that `spent` reaches for the first time in this window.
fn crossings(index: &Index, place: usize, window: &mut Window, spent: Nanos) -> Vec<Crossing> {
    let marks = index.marks(place);
    let mut found = Vec::new();
    while window.alerted < marks.len() && spent >= marks[window.alerted] {
        let threshold = index.rules.thresholds[window.alerted];
        found.push(Crossing { status: status(index, place, window), threshold });
        window.alerted += 1;
    }
    found
}
