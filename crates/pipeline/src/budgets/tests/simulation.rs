//! A simulation of the lease protocol: several replicas run the real decisions against an in-memory double of the tables,
//! with kills, pauses, outages, resets, changed prices and lowered amounts. Deterministic for each seed.
//!
//! Asserted at every step: what is spent, held and unbooked in a window stays within its amount, and no call is refused
//! while there was room for it from its arrival to its refusal.

mod calls;
mod checks;
mod driver;
mod trouble;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use domain::clock::Timestamp;
use domain::period::Period;
use tokio::sync::oneshot;

use super::lease_tables::{Entry, Tables};
use super::{rule, rules};
use crate::budgets::index::Index;
use crate::budgets::lease_queue::LeaseOutcome;
use crate::budgets::rules::Rule;
use crate::budgets::state::{BudgetState, LeaseAnswer, LeaseRequest};

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

/// The faults and changes besides calls.
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
    /// The sums that are spent and held, by window, as far as they were asked for.
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
