//! The state under the budget lock: the windows of every budget, the calls in flight, and settled calls that are not
//! booked yet.

mod derived;
mod holding;
mod installing;
mod leasing;
mod ledger_sums;
mod turning;

use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::Nanos;
use foldhash::HashMap;

use super::BudgetScope;
use super::alerts::Crossing;
use super::index::Index;
use super::rules::Rule;
use super::runs::Runs;
use super::window::{Window, Windows};
use leasing::Leasing;

pub use leasing::{LeaseAnswer, LeaseRequest, LeaseSummary};

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

/// The limit that a call has to fit into.
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

    /// Whether the lease protocol has something to do since the last call.
    pub fn take_lease_due(&mut self) -> bool {
        std::mem::take(&mut self.is_lease_due)
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
