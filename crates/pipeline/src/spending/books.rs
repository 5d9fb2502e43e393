//! What lies under the lock: the windows of every budget, the calls under way, and those settled but not booked yet.

mod derived;

use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::resources::budget::{OnExhausted, OnTight};
use foldhash::HashMap;

use super::Occasion;
use super::alerts::Crossing;
use super::index::Index;
use super::rules::Rule;
use super::runs::Runs;
use super::window::{Turn, Window, Windows};
use derived::covering;

/// So many readings of the ledger later, somebody asks whether a receipt is in it.
const DOUBTFUL: u32 = 5;
/// For so many readings a receipt is kept whose windows are over: the clock may be put back.
const KEPT_READINGS: u32 = 300;

#[derive(Default)]
pub struct Books {
    index: Option<Arc<Index>>,
    /// As the index has its budgets.
    windows: Vec<Windows>,
    under_way: HashMap<u64, UnderWay>,
    next: u64,
    /// By the id of the receipt.
    settled: HashMap<Box<str>, Settled>,
    crossings: Vec<Crossing>,
    runs: Runs,
    /// A window has turned: the ledger has to be read.
    turned: bool,
}

struct UnderWay {
    occasion: Occasion,
    /// As the ledger will have it.
    arrived: Timestamp,
    held: Nanos,
}

struct Settled {
    occasion: Occasion,
    arrived: Timestamp,
    cost: Nanos,
    /// How often the ledger was read since.
    readings: u32,
}

/// The budget that has no room, and until when.
#[derive(Clone, Debug)]
pub struct Exceeded {
    pub rule: Rule,
    pub spent: Nanos,
    pub reserved: Nanos,
    pub worst: Nanos,
    pub end: Timestamp,
    /// What is left of the budget of the path that has least.
    pub room: Nanos,
    /// Every budget without room allows the output bound to be lowered.
    pub clamps: bool,
    /// The cheaper model to use instead, if every budget without room names one.
    pub downgrade_to: Option<String>,
}

/// How a budget stands.
#[derive(Clone, Debug)]
pub struct Status {
    pub rule: Rule,
    pub period_start: Timestamp,
    pub period_end: Timestamp,
    /// What counts: the period's start, or the reset after it.
    pub counted_from: Timestamp,
    pub spent: Nanos,
    pub reserved: Nanos,
    /// Agent runs that have a budget by this one's `per_run`.
    pub runs: usize,
}

impl Status {
    pub fn remaining(&self) -> Nanos {
        let used = self.spent + self.reserved;
        Nanos(self.rule.amount.0.saturating_sub(used.0).max(0))
    }
}

/// How a budget stands, and whether a call fits into it.
#[derive(Clone, Debug)]
pub struct Headroom {
    pub status: Status,
    pub fits: bool,
}

/// What was read of the ledger: the sum of a budget's window.
pub struct Reading {
    pub place: usize,
    pub from: Timestamp,
    pub end: Timestamp,
    pub sum: Nanos,
}

impl Books {
    /// Holds against all budgets of the path, or none.
    pub fn hold(&mut self, occasion: Occasion, worst: Option<Nanos>) -> Result<u64, Box<Exceeded>> {
        let arrived = occasion.at;
        let occasion = self.timely(occasion);
        let held = worst.unwrap_or_default();
        if worst.is_some()
            && let Some(exceeded) = self.exceeded(&occasion, held)
        {
            return Err(exceeded);
        }
        self.reserve(&occasion, held);
        self.next += 1;
        self.under_way.insert(self.next, UnderWay { occasion, arrived, held });
        Ok(self.next)
    }

    /// A budget that refuses because of what was spent is exhausted, though it may never be spent to the last cent: all
    /// thresholds up to 1.0 are crossed. What is only held comes back, and a call that does not fit into the whole amount
    /// says nothing about the budget.
    pub fn exhausted(&mut self, occasion: &Occasion, worst: Nanos) {
        let Some(index) = self.index.clone() else { return };
        let occasion = &self.timely(occasion.clone());
        for place in self.covering(occasion) {
            let Some(window) = self.windows[place].at(occasion.at) else { continue };
            let (rule, spent) = (index.rule(place), window.spent());
            if worst <= rule.amount && !room(rule, spent, worst) {
                self.crossings.extend(crossings(&index, place, window, rule.amount));
            }
        }
    }

    pub fn has_crossings(&self) -> bool {
        !self.crossings.is_empty()
    }

    /// A call that arrived in no window that is known counts in the one in force: its body took longer than two windows, or
    /// the clock was put back behind a reset.
    fn timely(&mut self, mut occasion: Occasion) -> Occasion {
        self.derive(&occasion);
        let Some(index) = self.index.clone() else { return occasion };
        let mut at = occasion.at;
        for place in self.covering(&occasion) {
            self.turn_forward(&index, place, occasion.at);
            let windows = &mut self.windows[place];
            if windows.at(occasion.at).is_none() {
                at = at.max(windows.current.from);
            }
        }
        occasion.at = at;
        occasion
    }

    pub fn extend(&mut self, number: u64, more: Nanos) -> bool {
        let Some(call) = self.under_way.get(&number) else { return true };
        let occasion = call.occasion.clone();
        if self.exceeded(&occasion, more).is_some() {
            return false;
        }
        self.reserve(&occasion, more);
        if let Some(call) = self.under_way.get_mut(&number) {
            call.held += more;
        }
        true
    }

    pub fn release(&mut self, number: u64) {
        if let Some(UnderWay { occasion, held, .. }) = self.under_way.remove(&number) {
            self.reserve(&occasion, Nanos(-held.0));
        }
    }

    /// True when a threshold was crossed.
    pub fn settle(&mut self, number: u64, receipt: &str, cost: Nanos, kept: bool) -> bool {
        let Some(UnderWay { occasion, arrived, held }) = self.under_way.remove(&number) else { return false };
        let before = self.crossings.len();
        let Some(index) = self.index.clone() else { return false };
        for place in self.covering(&occasion) {
            let Some(window) = self.windows[place].at(occasion.at) else { continue };
            window.reserved += Nanos(-held.0);
            *if kept { &mut window.unbooked } else { &mut window.unkept } += cost;
            self.crossings.extend(crossings(&index, place, window, window.spent()));
        }
        if kept && cost != Nanos::ZERO {
            self.settled.insert(receipt.into(), Settled { occasion, arrived, cost, readings: 0 });
        }
        self.crossings.len() > before
    }

    /// These receipts are in the ledger now: what was added to its sums is part of them.
    pub fn booked(&mut self, ids: &mut dyn Iterator<Item = &str>) {
        for id in ids {
            if self.settled.is_empty() {
                return;
            }
            let Some(Settled { occasion, cost, .. }) = self.settled.remove(id) else { continue };
            for place in self.covering(&occasion) {
                if let Some(window) = self.windows[place].at(occasion.at) {
                    window.unbooked += Nanos(-cost.0);
                    window.ledger += cost;
                }
            }
        }
    }

    pub fn look(
        &mut self,
        occasion: &Occasion,
        worst: Option<Nanos>,
    ) -> (Vec<Headroom>, Option<Box<Exceeded>>) {
        let Some(index) = self.index.clone() else { return (Vec::new(), None) };
        let occasion = &self.timely(occasion.clone());
        let mut rooms = Vec::new();
        for place in self.covering(occasion) {
            self.turn_forward(&index, place, occasion.at);
            let status = self.status(&index, place);
            let fits = worst.is_none_or(|worst| room(&status.rule, status.spent + status.reserved, worst));
            rooms.push(Headroom { status, fits });
        }
        let exceeded = worst.and_then(|worst| self.exceeded(occasion, worst));
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

    /// Every window turns to the wall clock, forwards or, when the clock was put back, backwards.
    pub fn turn(&mut self, now: Timestamp) {
        let Some(index) = self.index.clone() else { return };
        for place in 0..self.windows.len() {
            self.turn_to(&index, place, now);
        }
    }

    /// The windows of this path turn to the wall clock.
    pub fn turn_covering(&mut self, occasion: &Occasion, now: Timestamp) {
        let Some(index) = self.index.clone() else { return };
        for place in self.covering(occasion) {
            self.turn_to(&index, place, now);
        }
    }

    /// True once after a window has turned: then the ledger has to be read.
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

    /// A window that was just made: what is held and settled in it is known, what the ledger has is still to be read.
    fn count_current(&mut self, place: usize) {
        self.turned = true;
        let Some(index) = &self.index else { return };
        let window = &mut self.windows[place].current;
        let counts = |occasion: &Occasion| covering(index, &self.runs, occasion).contains(&place);
        for UnderWay { occasion, held, .. } in self.under_way.values() {
            if window.holds(occasion.at) && counts(occasion) {
                window.reserved += *held;
            }
        }
        for Settled { occasion, cost, .. } in self.settled.values() {
            if window.holds(occasion.at) && counts(occasion) {
                window.unbooked += *cost;
            }
        }
    }

    /// Of all budgets without room, the one that is the last to begin anew: until then no attempt succeeds.
    fn exceeded(&mut self, occasion: &Occasion, worst: Nanos) -> Option<Box<Exceeded>> {
        let index = self.index.clone()?;
        let mut found: Option<Box<Exceeded>> = None;
        let (mut least, mut clamps, mut blocks) = (Nanos(i64::MAX), true, false);
        for place in self.covering(occasion) {
            let Some(window) = self.windows[place].at(occasion.at) else { continue };
            let rule = index.rule(place);
            let (spent, reserved, end) = (window.spent(), window.reserved, window.end);
            least = least.min(Nanos(rule.amount.0.saturating_sub((spent + reserved).0)));
            if room(rule, spent + reserved, worst) {
                continue;
            }
            clamps &= rule.policy.on_tight == OnTight::Clamp;
            blocks |= rule.policy.on_exhausted == OnExhausted::Block;
            if found.as_ref().is_none_or(|known| known.end < end) {
                let downgrade_to = rule.policy.downgrade_to.clone();
                let (rule, room) = (rule.clone(), Nanos::ZERO);
                let exceeded = Exceeded { rule, spent, reserved, worst, end, room, clamps, downgrade_to };
                found = Some(Box::new(exceeded));
            }
        }
        if let Some(exceeded) = &mut found {
            (exceeded.room, exceeded.clamps) = (least, clamps);
            exceeded.downgrade_to = exceeded.downgrade_to.take().filter(|_| !blocks);
        }
        found
    }

    fn reserve(&mut self, occasion: &Occasion, amount: Nanos) {
        for place in self.covering(occasion) {
            if let Some(window) = self.windows[place].at(occasion.at) {
                window.reserved += amount;
            }
        }
    }

    /// Other rules: what is held and settled counts anew, by what each call was.
    pub fn install(&mut self, index: Option<Arc<Index>>, now: Timestamp) {
        let before = self.index.take();
        let known = std::mem::take(&mut self.windows);
        let known = known.into_iter().enumerate();
        let mut known: HashMap<_, _> = known
            .filter_map(|(place, windows)| Some((before.as_ref()?.rule(place).key.clone(), windows)))
            .collect();
        if let Some(index) = &index {
            for (place, rule) in index.rules.budgets.iter().enumerate() {
                let known = known.remove(&rule.key);
                // A call may have turned the window since somebody looked at the clock.
                let now = known.as_ref().map_or(now, |known| now.max(known.current.start));
                let mut windows = Windows::new(index.window(place, now));
                if let Some(known) = known {
                    windows.inherit(known);
                }
                windows.each().for_each(|window| {
                    (window.reserved, window.unbooked, window.told) = (Nanos::ZERO, Nanos::ZERO, 0)
                });
                self.windows.push(windows);
            }
        } else {
            self.settled.clear();
        }
        (self.index, self.runs) = (index, Runs::default());
        self.derive_for_known_calls(now);
        self.count_anew();
    }

    fn count_anew(&mut self) {
        let Some(index) = &self.index else { return };
        // What the derived budgets counted when they were made is counted with the rest.
        self.windows.iter_mut().flat_map(Windows::each).for_each(|window| {
            (window.reserved, window.unbooked) = (Nanos::ZERO, Nanos::ZERO);
        });
        let held = self.under_way.values().map(|call| (&call.occasion, call.held, Nanos::ZERO));
        let settled = self.settled.values().map(|call| (&call.occasion, Nanos::ZERO, call.cost));
        for (occasion, held, cost) in held.chain(settled) {
            for place in covering(index, &self.runs, occasion) {
                let turn = self.windows[place].turn_forward(occasion.at, || index.window(place, occasion.at));
                self.turned |= turn != Turn::Unchanged;
                if let Some(window) = self.windows[place].at(occasion.at) {
                    window.reserved += held;
                    window.unbooked += cost;
                }
            }
        }
    }

    /// The windows whose sums are to be read, once they are those of this moment.
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

    /// True when a threshold was crossed.
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
                || covering(&index, runs, &call.occasion)
                    .into_iter()
                    .any(|place| windows[place].at(call.occasion.at).is_some())
        });
        self.crossings.len() > before
    }

    /// Receipts that should have been booked by now: when and under which id.
    pub fn doubtful(&self, most: usize) -> Vec<(Timestamp, Box<str>)> {
        let doubtful = self.settled.iter().filter(|(_, call)| call.readings >= DOUBTFUL);
        doubtful.map(|(id, call)| (call.arrived, id.clone())).take(most).collect()
    }

    pub fn take_crossings(&mut self) -> Vec<Crossing> {
        std::mem::take(&mut self.crossings)
    }

    /// Could not be told yet.
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

/// The thresholds that are newly reached.
fn crossings(index: &Index, place: usize, window: &mut Window, spent: Nanos) -> Vec<Crossing> {
    let marks = index.marks(place);
    let mut found = Vec::new();
    while window.told < marks.len() && spent >= marks[window.told] {
        let threshold = index.rules.thresholds[window.told];
        found.push(Crossing { status: status(index, place, window), threshold });
        window.told += 1;
    }
    found
}
