//! A simulation of the lease protocol: several replicas run the real decisions against an in-memory double of the tables,
//! with kills, pauses, outages, resets, changed prices and lowered amounts. Deterministic for each seed.
//!
//! Asserted at every step: what is spent, held and unbooked in a window stays within its amount, and no call is refused
//! while there was room for it from its arrival to its refusal.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::period::{Anchors, Period};
use tokio::sync::oneshot;

use super::lease_tables::{Entry, Tables};
use super::{BudgetScope, rule, rules, scope};
use crate::budgets::index::Index;
use crate::budgets::lease_queue::LeaseOutcome;
use crate::budgets::rules::Rule;
use crate::budgets::state::{BudgetState, Check, LeaseAnswer, LeaseRequest};
use crate::budgets::window::Window;

const MILLI: u64 = 1_000;
const SECOND: u64 = 1_000_000;
const START: i64 = 7200;
const REPLICAS: usize = 4;
const WAIT: u64 = SECOND;
const PATHS: [&str; 3] = ["/a/x", "/a/y", "/b"];

/// A random number generator (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.next().is_multiple_of(count)
    }
}

/// What happens besides calls.
#[derive(Clone, Copy, Default)]
struct Trouble {
    kills: bool,
    pauses: bool,
    outages: bool,
    resets: bool,
    prices: bool,
    lowered: bool,
    /// Calls that cost more than was held for them.
    overruns: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival(usize),
    End { replica: usize, life: u64, call: u64 },
    Drive { replica: usize, life: u64 },
    Execute { replica: usize, life: u64 },
    Answer { replica: usize, life: u64 },
    Drain(usize),
    Bases,
    Rules { replica: usize, life: u64 },
    Trouble,
    Start(usize),
    Resume { replica: usize, life: u64 },
    Repaired,
}

struct Running {
    at: Timestamp,
    path: &'static str,
    worst: i64,
}

struct Waiting {
    path: &'static str,
    at: Timestamp,
    worst: i64,
    deadline: u64,
    receiver: oneshot::Receiver<LeaseOutcome>,
    /// The smallest room since the arrival.
    least_room: i64,
    /// The windows that it counts against.
    windows: Vec<(usize, Timestamp, Timestamp)>,
}

struct Replica {
    life: u64,
    journal: String,
    state: BudgetState,
    is_alive: bool,
    is_paused: bool,
    version: usize,
    running: BTreeMap<u64, Running>,
    waiting: Vec<Waiting>,
    unbooked: Vec<Entry>,
    request: Option<LeaseRequest>,
    answer: Option<Result<LeaseAnswer, ()>>,
    /// The time of the next run of its driver.
    drive_at: u64,
    /// Events that arrived while it was paused.
    held_back: Vec<Event>,
}

#[derive(Debug, Default)]
struct Totals {
    calls: u64,
    refused: u64,
    unknown: u64,
    phantom: u64,
    kills: u64,
    statements: u64,
    stranded: i64,
    largest_lease: i64,
}

struct World {
    dice: Dice,
    trouble: Trouble,
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sequence: u64,
    tables: Tables,
    is_down: bool,
    replicas: Vec<Replica>,
    /// Journals of killed replicas, with the receipts that are to be booked from them.
    dead: Vec<(String, Vec<Entry>)>,
    budgets: Vec<Rule>,
    version: usize,
    /// What is spent and held, by window, as far as it was asked for.
    sums: BTreeMap<(usize, i64), i64>,
    /// Whether the bases have to be read.
    are_bases_due: bool,
    /// By window: what facts have added beyond the amount, such as changed prices.
    allowance: BTreeMap<(usize, i64), i64>,
    totals: Totals,
}

fn covers(place: usize, path: &str) -> bool {
    place == 0 || path.starts_with("/a")
}

fn budgets() -> Vec<Rule> {
    vec![rule("/", Period::DAILY, 60_000), rule("/a", Period::from_seconds(60).unwrap(), 9_000)]
}

impl World {
    fn new(seed: u64, trouble: Trouble) -> Self {
        let mut world = Self {
            dice: Dice(seed),
            trouble,
            now: 0,
            events: BinaryHeap::new(),
            sequence: 0,
            tables: Tables::default(),
            is_down: false,
            replicas: Vec::new(),
            dead: Vec::new(),
            budgets: budgets(),
            version: 0,
            sums: BTreeMap::new(),
            are_bases_due: true,
            allowance: BTreeMap::new(),
            totals: Totals::default(),
        };
        for replica in 0..REPLICAS {
            let fresh = world.fresh(replica);
            world.replicas.push(fresh);
            world.begin(replica);
            world.push(10 * MILLI, Event::Arrival(replica));
        }
        world.push(20 * MILLI, Event::Bases);
        world.push(500 * MILLI, Event::Trouble);
        world
    }

    fn fresh(&self, replica: usize) -> Replica {
        let life = self.replicas.get(replica).map_or(0, |replica| replica.life + 1);
        let mut state = BudgetState::default();
        state.install(Some(self.index()), self.wall());
        Replica {
            life,
            journal: format!("r{replica}-{life}"),
            state,
            is_alive: true,
            is_paused: false,
            version: self.version,
            running: BTreeMap::new(),
            waiting: Vec::new(),
            unbooked: Vec::new(),
            request: None,
            answer: None,
            drive_at: u64::MAX,
            held_back: Vec::new(),
        }
    }

    fn index(&self) -> Arc<Index> {
        Arc::new(Index::new(rules(self.budgets.clone())).with_leases(true))
    }

    fn begin(&mut self, replica: usize) {
        self.schedule(replica, MILLI);
        self.push(100 * MILLI, Event::Drain(replica));
    }

    fn push(&mut self, after: u64, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((self.now + after, self.sequence, event)));
    }

    fn wall(&self) -> Timestamp {
        Timestamp(START * 1_000_000 + self.now as i64)
    }

    fn tick(&self) -> Duration {
        Duration::from_micros(self.now)
    }

    fn run(mut self, length: u64) -> Totals {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > length {
                break;
            }
            self.now = at;
            self.step(event);
            self.check_waiting();
        }
        self.totals.statements =
            self.replicas.iter().map(|replica| replica.state.lease_summary(self.tick()).statements).sum();
        self.finish();
        self.totals
    }

    fn step(&mut self, event: Event) {
        let of = |event: &Event| match event {
            Event::End { replica, life, .. }
            | Event::Drive { replica, life }
            | Event::Answer { replica, life }
            | Event::Rules { replica, life } => Some((*replica, *life)),
            _ => None,
        };
        if let Some((replica, life)) = of(&event) {
            let replica = &mut self.replicas[replica];
            if replica.life != life || !replica.is_alive {
                return;
            }
            if replica.is_paused {
                replica.held_back.push(event);
                return;
            }
        }
        match event {
            Event::Arrival(replica) => self.arrive(replica),
            Event::End { replica, call, .. } => self.end(replica, call),
            Event::Drive { replica, life } => {
                // One that was scheduled earlier replaces it.
                if self.replicas[replica].drive_at <= self.now {
                    self.replicas[replica].drive_at = u64::MAX;
                    self.drive(replica, life);
                }
            }
            Event::Execute { replica, life } => self.execute(replica, life),
            Event::Answer { replica, .. } => self.answer(replica),
            Event::Drain(replica) => self.drain(replica),
            Event::Bases => self.bases(),
            Event::Rules { replica, .. } => self.install(replica),
            Event::Trouble => self.trouble(),
            Event::Start(replica) => self.start(replica),
            Event::Resume { replica, life } => self.resume(replica, life),
            Event::Repaired => self.is_down = false,
        }
    }

    fn arrive(&mut self, replica: usize) {
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
    fn hold(
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

    fn end(&mut self, replica: usize, call: u64) {
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

    fn wake(&mut self, replica: usize) {
        self.schedule(replica, 50);
    }

    /// Runs the driver after this time, unless it runs earlier.
    fn schedule(&mut self, replica: usize, after: u64) {
        let (at, of) = (self.now + after, &mut self.replicas[replica]);
        if of.drive_at <= self.now || at < of.drive_at {
            of.drive_at = at;
            let life = of.life;
            self.push(after, Event::Drive { replica, life });
        }
    }

    /// The driver: one request at a time.
    fn drive(&mut self, replica: usize, life: u64) {
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
    fn execute(&mut self, replica: usize, life: u64) {
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

    fn answer(&mut self, replica: usize) {
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

    /// Calls whose wait has ended try again, are refused, or give up.
    fn poll_waiting(&mut self, replica: usize) {
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

    fn drain(&mut self, replica: usize) {
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

    /// Sets the bases of new windows soon, as the replicas do once they are registered.
    fn bases(&mut self) {
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

    fn install(&mut self, replica: usize) {
        let (index, wall, version) = (self.index(), self.wall(), self.version);
        let of = &mut self.replicas[replica];
        of.version = version;
        of.state.install(Some(index), wall);
        self.wake(replica);
    }

    fn trouble(&mut self) {
        let pause = self.dice.within(100 * MILLI, 900 * MILLI);
        self.push(pause, Event::Trouble);
        let Trouble { kills, pauses, outages, resets, prices, lowered, .. } = self.trouble;
        let replica = self.dice.within(0, REPLICAS as u64) as usize;
        match self.dice.within(0, 6) {
            0 if kills => self.kill(replica),
            1 if pauses && self.replicas[replica].is_alive && !self.replicas[replica].is_paused => {
                self.replicas[replica].is_paused = true;
                let life = self.replicas[replica].life;
                let length = self.dice.within(10 * MILLI, 2 * SECOND);
                self.push(length, Event::Resume { replica, life });
            }
            2 if outages && !self.is_down => {
                self.is_down = true;
                let length = self.dice.within(10 * MILLI, 2 * SECOND);
                self.push(length, Event::Repaired);
            }
            3 if resets && self.dice.one_in(4) => {
                self.budgets[0].last_reset_at = Some(self.wall());
                self.change_rules();
            }
            4 if prices => self.reprice(),
            5 if lowered && self.dice.one_in(3) => {
                let amount = self.dice.within(3_000, 12_000) as i64;
                self.allow_present(1, amount);
                self.budgets[1].amount = Nanos(amount);
                self.change_rules();
            }
            _ => {}
        }
    }

    /// Replicas hear of new rules within half a second.
    fn change_rules(&mut self) {
        self.version += 1;
        self.sums.clear();
        for replica in 0..REPLICAS {
            for waiting in 0..self.replicas[replica].waiting.len() {
                let Waiting { path, at, .. } = &self.replicas[replica].waiting[waiting];
                let windows = self.windows(path, *at);
                self.replicas[replica].waiting[waiting].windows = windows;
            }
        }
        for replica in 0..REPLICAS {
            let (life, delay) = (self.replicas[replica].life, self.dice.within(MILLI, 500 * MILLI));
            self.push(delay, Event::Rules { replica, life });
        }
    }

    /// Changes the price of a receipt in the ledger.
    fn reprice(&mut self) {
        let Some(last) = self.tables.ledger.len().checked_sub(1) else { return };
        let place = self.dice.within(last.saturating_sub(50) as u64, last as u64 + 1) as usize;
        let change = self.dice.within(0, 200) as i64 - 100;
        let entry = &mut self.tables.ledger[place];
        let before = entry.cost;
        entry.cost = (before + change).max(0);
        let (path, at, change) = (entry.path.clone(), entry.at, entry.cost - before);
        self.count(&path, at, change);
        self.are_bases_due = true;
        if change > 0 {
            self.allow(&path, at, change);
        }
    }

    /// Ends a replica at once: its calls are booked at an estimate when another one drains its journal.
    fn kill(&mut self, replica: usize) {
        let of = &mut self.replicas[replica];
        if !of.is_alive {
            return;
        }
        of.is_alive = false;
        self.totals.kills += 1;
        let mut entries = std::mem::take(&mut of.unbooked);
        let (journal, running) = (of.journal.clone(), std::mem::take(&mut of.running));
        for (number, Running { at, path, worst }) in running {
            entries.push(Entry { id: format!("{journal}-{number}"), at, path: path.to_owned(), cost: worst });
        }
        of.waiting.clear();
        let left = self.tables.own(&journal).iter().map(|own| own.left.0).max().unwrap_or_default();
        self.totals.stranded = self.totals.stranded.max(left);
        self.dead.push((journal, entries));
        let delay = self.dice.within(100 * MILLI, 3 * SECOND);
        self.push(delay, Event::Start(replica));
    }

    /// Starts another process in place of a killed one: it drains the journals that it finds.
    fn start(&mut self, replica: usize) {
        if self.is_down {
            self.push(100 * MILLI, Event::Start(replica));
            return;
        }
        self.drain_dead();
        self.replicas[replica] = self.fresh(replica);
        self.are_bases_due = true;
        self.begin(replica);
    }

    fn drain_dead(&mut self) {
        for (journal, entries) in std::mem::take(&mut self.dead) {
            self.tables.book(&journal, entries);
            self.tables.close(&journal);
        }
    }

    fn resume(&mut self, replica: usize, life: u64) {
        let of = &mut self.replicas[replica];
        if of.life != life || !of.is_alive {
            return;
        }
        of.is_paused = false;
        for event in std::mem::take(&mut of.held_back) {
            self.push(1, event);
        }
    }

    /// The window of a budget that contains a time: its opening and its end.
    fn window(&self, place: usize, at: Timestamp) -> (Timestamp, Timestamp) {
        let window = Window::around(&self.budgets[place], &Anchors::default(), at);
        (window.from, window.end)
    }

    /// The windows of the budgets that a call counts against: the budget, its opening and its end.
    fn windows(&self, path: &str, at: Timestamp) -> Vec<(usize, Timestamp, Timestamp)> {
        let places = (0..self.budgets.len()).filter(|place| covers(*place, path));
        let windows = places.map(|place| (place, self.window(place, at)));
        let windows = windows.filter(|(_, (from, _))| *from <= at);
        windows.map(|(place, (from, end))| (place, from, end)).collect()
    }

    /// Adds to what is spent or held by a call.
    fn count(&mut self, path: &str, at: Timestamp, change: i64) {
        for (place, from, _) in self.windows(path, at) {
            if let Some(sum) = self.sums.get_mut(&(place, from.micros())) {
                *sum += change;
            }
        }
    }

    /// What is spent, unbooked and held in a window, by all replicas, dead ones included.
    fn total(&mut self, place: usize, from: Timestamp, end: Timestamp) -> i64 {
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

    fn allow(&mut self, path: &str, at: Timestamp, more: i64) {
        for (place, from, _) in self.windows(path, at) {
            *self.allowance.entry((place, from.micros())).or_default() += more;
        }
    }

    /// A lowered amount does not concern what is spent or held already.
    fn allow_present(&mut self, place: usize, amount: i64) {
        let (from, end) = self.window(place, self.wall());
        let above = self.total(place, from, end) - amount;
        *self.allowance.entry((place, from.micros())).or_default() += above.max(0);
    }

    fn check_amounts(&mut self, path: &str, at: Timestamp) {
        for (place, from, end) in self.windows(path, at) {
            let allowance = self.allowance.get(&(place, from.micros())).copied().unwrap_or_default();
            let (total, amount, now) = (self.total(place, from, end), self.budgets[place].amount.0, self.now);
            assert!(total <= amount + allowance, "{place}: {total} of {amount} + {allowance} at {now}");
        }
    }

    /// Notes the room there is for every waiting call: what nobody has spent or held, without the leases of replicas that
    /// are dead or paused.
    fn check_waiting(&mut self) {
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

    /// What replicas that cannot answer have leased and do not use.
    fn stranded(&self, budget: usize, from: Timestamp) -> i64 {
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
    fn finish(&mut self) {
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

fn simulate(seeds: std::ops::Range<u64>, trouble: Trouble) {
    let mut all = Totals::default();
    for seed in seeds {
        let totals = World::new(seed, trouble).run(70 * SECOND);
        assert_eq!(totals.phantom, 0, "seed {seed}: {totals:?}");
        assert!(totals.refused > 0, "seed {seed} never reached an amount: {totals:?}");
        all.calls += totals.calls;
        all.refused += totals.refused;
        all.unknown += totals.unknown;
        all.kills += totals.kills;
        all.statements += totals.statements;
    }
    println!("{all:?}");
}

#[test]
fn calm_replicas_share_a_budget_exactly() {
    simulate(0..2, Trouble::default());
}

#[test]
fn kills_pauses_and_outages_overspend_nothing_and_refuse_nothing_that_fits() {
    simulate(10..14, Trouble { kills: true, pauses: true, outages: true, ..Trouble::default() });
}

#[test]
fn resets_prices_and_lowered_amounts_are_followed() {
    simulate(
        20..23,
        Trouble { resets: true, prices: true, lowered: true, overruns: true, ..Trouble::default() },
    );
}

#[test]
fn everything_at_once() {
    let trouble = Trouble {
        kills: true,
        pauses: true,
        outages: true,
        resets: true,
        prices: true,
        lowered: true,
        overruns: true,
    };
    simulate(30..33, trouble);
}
