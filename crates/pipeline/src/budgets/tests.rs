//! Tests of the invariant: spent and held amounts together never exceed a budget in any order of events, and the spent
//! amount is exact.

mod lease_tables;
mod simulation;

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::period::{Anchors, Period, TimeOfDay};
use domain::resources::budget::{BudgetKey, BudgetPolicy, BudgetSource, OnExhausted, OnTight};
use domain::user_path::UserPath;
use proptest::prelude::*;

use super::index::Index;
use super::rules::{Rule, Rules};
use super::state::{BudgetState, Check, Reading};
use super::{BudgetScope, Budgets, Hold};

const PATHS: [&str; 5] = ["/", "/a", "/a/b", "/a/c", "/d"];

fn key(path: &str, period: Period, tenant: Option<&str>) -> BudgetKey {
    BudgetKey { user_path: UserPath::parse(path).unwrap(), period, tenant: tenant.map(str::to_owned) }
}

fn rule(path: &str, period: Period, amount: i64) -> Rule {
    Rule::new(key(path, period, None), Nanos(amount), BudgetSource::Manual)
}

fn rules(budgets: Vec<Rule>) -> Rules {
    Rules { budgets, anchors: Anchors::default(), thresholds: vec![0.5, 1.0], closed: Vec::new() }
}

fn state(budgets: Vec<Rule>, now: i64) -> BudgetState {
    let mut state = BudgetState::default();
    state.install(Some(Arc::new(Index::new(rules(budgets)))), at(now));
    state
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_seconds(second)
}

fn scope(path: &str, second: i64) -> BudgetScope {
    BudgetScope { at: at(second), tenant: None, user_path: UserPath::parse(path).unwrap(), run: None }
}

#[track_caller]
fn check(state: &mut BudgetState, now: i64, path: &str, spent: i64, reserved: i64) {
    let statuses = state.statuses(at(now));
    let status = statuses.iter().find(|status| status.rule.key.user_path.as_str() == path).unwrap();
    assert_eq!((status.spent.0, status.reserved.0), (spent, reserved), "{path}");
}

#[test]
fn all_budgets_of_the_path_or_none() {
    let mut state = state(vec![rule("/", Period::DAILY, 100), rule("/a", Period::HOURLY, 40)], 0);
    let first = state.hold(scope("/a/b", 1), Some(Nanos(30)), Check::Lease).unwrap();
    let refused = state.hold(scope("/a", 1), Some(Nanos(11)), Check::Lease).unwrap_err();
    assert_eq!((refused.rule.key.user_path.as_str(), refused.end), ("/a", at(3600)));
    check(&mut state, 1, "/", 0, 30);
    state.hold(scope("/d", 1), Some(Nanos(70)), Check::Lease).unwrap();
    let refused = state.hold(scope("/a", 1), Some(Nanos(11)), Check::Lease).unwrap_err();
    assert_eq!(refused.end, at(86_400), "the one that begins anew last");
    state.settle(first, "r1", Nanos(5), true);
    check(&mut state, 1, "/a", 5, 0);
    check(&mut state, 1, "/", 5, 70);
    assert!(state.hold(scope("/a", 1), Some(Nanos(25)), Check::Lease).is_ok(), "exactly what is left");
    assert!(state.hold(scope("/a", 1), Some(Nanos(1)), Check::Lease).is_err());
    assert!(state.hold(scope("/a", 1), None, Check::Lease).is_ok(), "without a price nothing is held");
}

#[test]
fn a_hold_is_replaced_by_one_that_fits_and_stays_otherwise() {
    let mut state = state(vec![rule("/", Period::DAILY, 100), rule("/a", Period::HOURLY, 40)], 0);
    let earlier = state.hold(scope("/a", 1), Some(Nanos(40)), Check::Lease).unwrap();
    let refused = state.replace(earlier, scope("/a", 1), Some(Nanos(41)), Check::Lease).unwrap_err();
    assert_eq!(
        (refused.room, refused.reserved),
        (Nanos(40), Nanos::ZERO),
        "as if the earlier one were not there"
    );
    check(&mut state, 1, "/a", 0, 40);
    let second = state.replace(earlier, scope("/a", 1), Some(Nanos(35)), Check::Lease).unwrap();
    check(&mut state, 1, "/a", 0, 35);
    state.release(earlier);
    check(&mut state, 1, "/", 0, 35);
    state.release(second);
    check(&mut state, 1, "/", 0, 0);
}

#[test]
fn a_call_counts_where_it_arrived() {
    let mut state = state(vec![rule("/a", Period::HOURLY, 10)], 3590);
    let before = state.hold(scope("/a", 3599), Some(Nanos(10)), Check::Lease).unwrap();
    let after = state.hold(scope("/a", 3600), Some(Nanos(10)), Check::Lease).unwrap();
    check(&mut state, 3601, "/a", 0, 10);
    assert!(
        state.hold(scope("/a", 3598), Some(Nanos(1)), Check::Lease).is_err(),
        "late, into the full window"
    );
    state.settle(before, "r1", Nanos(10), true);
    check(&mut state, 3601, "/a", 0, 10);
    state.settle(after, "r2", Nanos(3), true);
    check(&mut state, 3601, "/a", 3, 0);
    state.booked(&mut ["r1", "r2", "other"].into_iter(), &[]);
    check(&mut state, 3601, "/a", 3, 0);
    check(&mut state, 7200, "/a", 0, 0);
}

#[test]
fn other_rules_from_before_the_turn_keep_what_is_held_after_it() {
    let mut state = state(vec![rule("/a", Period::HOURLY, 10)], 3598);
    let call = state.hold(scope("/a", 3600), Some(Nanos(10)), Check::Lease).unwrap();
    // The clock was read before the window changed.
    state.install(Some(Arc::new(Index::new(rules(vec![rule("/a", Period::HOURLY, 12)])))), at(3599));
    check(&mut state, 3601, "/a", 0, 10);
    state.settle(call, "r1", Nanos(3), true);
    check(&mut state, 3601, "/a", 3, 0);
}

#[test]
fn windows_survive_clock_jumps() {
    let mut state = state(vec![rule("/a", Period::HOURLY, 10)], 100);
    let spend = |state: &mut BudgetState, second: i64, cost: i64| {
        let number = state.hold(scope("/a", second), Some(Nanos(cost)), Check::Lease).unwrap();
        state.settle(number, &format!("r{second}"), Nanos(cost), true);
    };
    spend(&mut state, 100, 6);
    assert!(!state.take_turned());
    check(&mut state, 3700, "/a", 0, 0);
    assert!(state.take_turned(), "the ledger is read");
    check(&mut state, 101, "/a", 6, 0);
    assert!(state.take_turned(), "in both directions");
    assert!(state.hold(scope("/a", 102), Some(Nanos(5)), Check::Lease).is_err());
    // Several windows ahead and back: unbooked amounts are known, the rest is read.
    check(&mut state, 40_000, "/a", 0, 0);
    check(&mut state, 80_000, "/a", 0, 0);
    state.take_turned();
    check(&mut state, 103, "/a", 6, 0);
    assert!(state.take_turned());
    state.booked(&mut ["r100"].into_iter(), &[]);
    check(&mut state, 104, "/a", 6, 0);
    // Calls that arrive after the clock was set back count in the window of the clock.
    check(&mut state, 80_000, "/a", 0, 0);
    check(&mut state, 40_000, "/a", 0, 0);
    state.turn_covering(&scope("/a", 105), at(105));
    let (_, mut readings) = state.wanted(at(105)).unwrap();
    readings[0].sum = Nanos(6);
    state.apply(&readings);
    check(&mut state, 105, "/a", 6, 0);
    assert!(state.hold(scope("/a", 105), Some(Nanos(5)), Check::Lease).is_err());
    spend(&mut state, 106, 4);
    check(&mut state, 107, "/a", 10, 0);
}

#[test]
fn a_call_older_than_every_window_counts_in_the_one_in_force() {
    let minutely = Period::from_seconds(60).unwrap();
    let mut state = state(vec![rule("/a", minutely, 10), rule("/", Period::DAILY, 100)], 0);
    state.hold(scope("/a", 70), Some(Nanos(1)), Check::Lease).unwrap();
    state.hold(scope("/a", 130), Some(Nanos(1)), Check::Lease).unwrap();
    let late = state.hold(scope("/a", 5), Some(Nanos(9)), Check::Lease).unwrap();
    check(&mut state, 131, "/a", 0, 10);
    assert!(state.hold(scope("/a", 6), Some(Nanos(1)), Check::Lease).is_err());
    state.settle(late, "r1", Nanos(4), true);
    check(&mut state, 131, "/a", 4, 1);
    check(&mut state, 131, "/", 4, 2);
    for _ in 0..5 {
        let (_, readings) = state.wanted(at(131)).unwrap();
        state.apply(&readings);
    }
    assert_eq!(state.doubtful(9), [(at(5), "r1".into())], "under the time of its arrival");
}

#[test]
fn a_reset_excludes_calls_that_arrived_before_it() {
    let mut state = state(vec![rule("/a", Period::DAILY, 10)], 0);
    let call = state.hold(scope("/a", 5), Some(Nanos(10)), Check::Lease).unwrap();
    let reset = Rule { last_reset_at: Some(at(100)), ..rule("/a", Period::DAILY, 10) };
    state.install(Some(Arc::new(Index::new(rules(vec![reset])))), at(100));
    check(&mut state, 100, "/a", 0, 0);
    let next = state.hold(scope("/a", 101), Some(Nanos(10)), Check::Lease).unwrap();
    state.settle(call, "r1", Nanos(9), true);
    check(&mut state, 102, "/a", 0, 10);
    state.release(next);
    check(&mut state, 102, "/a", 0, 0);
}

#[test]
fn a_clock_that_is_put_back_behind_a_reset_does_not_open_the_budget() {
    let reset = Rule { last_reset_at: Some(at(100)), ..rule("/a", Period::DAILY, 10) };
    let mut state = state(vec![reset], 100);
    state.turn(at(50));
    let call = state.hold(scope("/a", 50), Some(Nanos(8)), Check::Lease).unwrap();
    check(&mut state, 51, "/a", 0, 8);
    assert!(state.hold(scope("/a", 52), Some(Nanos(8)), Check::Lease).is_err());
    state.settle(call, "r1", Nanos(5), true);
    check(&mut state, 53, "/a", 5, 0);
}

#[test]
fn other_anchors_count_each_call_anew() {
    let mut state = state(vec![rule("/a", Period::DAILY, 100)], 7 * 3600);
    let early = state.hold(scope("/a", 5 * 3600), Some(Nanos(10)), Check::Lease).unwrap();
    let late = state.hold(scope("/a", 6 * 3600), Some(Nanos(20)), Check::Lease).unwrap();
    state.settle(early, "r1", Nanos(10), true);
    let mut rules = rules(vec![rule("/a", Period::DAILY, 100)]);
    rules.anchors.daily = TimeOfDay { hour: 6, minute: 0 };
    state.install(Some(Arc::new(Index::new(rules))), at(7 * 3600));
    check(&mut state, 7 * 3600, "/a", 0, 20);
    state.settle(late, "r2", Nanos(15), true);
    check(&mut state, 7 * 3600, "/a", 15, 0);
}

#[test]
fn a_tenants_budget_is_its_own() {
    let own = Rule { key: key("/a", Period::DAILY, Some("t")), ..rule("/a", Period::DAILY, 10) };
    let mut state = state(vec![own], 0);
    let of = |tenant: Option<&str>| BudgetScope { tenant: tenant.map(Arc::from), ..scope("/a", 1) };
    state.hold(of(None), Some(Nanos(50)), Check::Lease).unwrap();
    state.hold(of(Some("u")), Some(Nanos(50)), Check::Lease).unwrap();
    assert!(state.hold(of(Some("t")), Some(Nanos(50)), Check::Lease).is_err());
    state.hold(of(Some("t")), Some(Nanos(10)), Check::Lease).unwrap();
}

#[test]
fn every_direct_child_has_a_budget_of_its_own() {
    let policy = BudgetPolicy { child_default: Some(Nanos(10)), ..BudgetPolicy::default() };
    let parent = Rule { policy, ..rule("/a", Period::DAILY, 25) };
    let rules = rules(vec![parent, rule("/a/c", Period::DAILY, 3)]);
    let mut state = BudgetState::default();
    state.install(Some(Arc::new(Index::new(rules.clone()))), at(0));
    let call = state.hold(scope("/a/b/x", 1), Some(Nanos(8)), Check::Lease).unwrap();
    assert!(state.take_turned(), "a new child's spending is read");
    let refused = state.hold(scope("/a/b", 1), Some(Nanos(3)), Check::Lease).unwrap_err();
    assert_eq!((refused.rule.key.user_path.as_str(), refused.rule.amount), ("/a/b", Nanos(10)));
    state.hold(scope("/a/d", 1), Some(Nanos(10)), Check::Lease).unwrap();
    let refused = state.hold(scope("/a/e", 1), Some(Nanos(8)), Check::Lease).unwrap_err();
    assert_eq!(refused.rule.key.user_path.as_str(), "/a", "together they are within the parent's");
    assert!(
        state.hold(scope("/a/c", 1), Some(Nanos(4)), Check::Lease).is_err(),
        "a budget of its own comes first"
    );
    state.hold(scope("/a", 1), Some(Nanos(7)), Check::Lease).unwrap();
    state.settle(call, "r1", Nanos(5), true);
    check(&mut state, 2, "/a/b", 5, 0);
    // New rules keep what the children have spent and hold.
    state.install(Some(Arc::new(Index::new(rules))), at(3));
    check(&mut state, 3, "/a/b", 5, 0);
    check(&mut state, 3, "/a/d", 0, 10);
    check(&mut state, 86_400, "/a/b", 0, 0);
}

#[test]
fn each_threshold_is_crossed_once_in_a_window() {
    let mut state = state(vec![rule("/a", Period::HOURLY, 10)], 0);
    let spend = |state: &mut BudgetState, second: i64, cost: i64| {
        let number = state.hold(scope("/a", second), None, Check::Lease).unwrap();
        state.settle(number, &format!("r{second}"), Nanos(cost), true);
        let crossings = state.take_crossings();
        crossings.iter().map(|crossing| crossing.threshold).collect::<Vec<_>>()
    };
    assert_eq!(spend(&mut state, 1, 4), [] as [f64; 0]);
    assert_eq!(spend(&mut state, 2, 1), [0.5]);
    assert_eq!(spend(&mut state, 3, 1), [] as [f64; 0]);
    assert_eq!(spend(&mut state, 4, 9), [1.0]);
    assert_eq!(spend(&mut state, 3601, 10), [0.5, 1.0]);
}

/// Asserts that a call does not fit, and reports the exhaustion.
#[track_caller]
fn refuse(state: &mut BudgetState, scope: BudgetScope, worst: i64) {
    assert!(state.hold(scope.clone(), Some(Nanos(worst)), Check::Lease).is_err());
    state.exhausted(&scope, Nanos(worst));
}

#[test]
fn a_refusal_names_the_remaining_budget_and_the_options() {
    let policy = |on_tight, on_exhausted, downgrade_to: Option<&str>| BudgetPolicy {
        on_tight,
        on_exhausted,
        downgrade_to: downgrade_to.map(str::to_owned),
        ..BudgetPolicy::default()
    };
    let cheaper = policy(OnTight::Clamp, OnExhausted::Downgrade, Some("mini"));
    let strict = policy(OnTight::Refuse, OnExhausted::Block, None);
    let mut state = state(
        vec![
            Rule { policy: strict, ..rule("/", Period::DAILY, 100) },
            Rule { policy: cheaper, ..rule("/a", Period::HOURLY, 40) },
        ],
        0,
    );
    let exceeded = state.hold(scope("/a", 1), Some(Nanos(60)), Check::Lease).unwrap_err();
    assert_eq!(
        (exceeded.room, exceeded.clamps, exceeded.downgrade_to.as_deref()),
        (Nanos(40), true, Some("mini"))
    );
    let exceeded = state.hold(scope("/a", 1), Some(Nanos(101)), Check::Lease).unwrap_err();
    assert_eq!((exceeded.room, exceeded.clamps, exceeded.downgrade_to), (Nanos(40), false, None));
}

fn in_run(run: &str, path: &str, second: i64) -> BudgetScope {
    BudgetScope { run: Some(run.into()), ..scope(path, second) }
}

#[test]
fn a_run_has_a_budget_of_its_own() {
    let policy = BudgetPolicy { per_run: true, ..BudgetPolicy::default() };
    let per_run = Rule { policy, ..rule("/a", Period::HOURLY, 10) };
    let budgets = || vec![per_run.clone(), rule("/", Period::DAILY, 100)];
    let mut state = state(budgets(), 0);
    let first = state.hold(in_run("x", "/a", 1), Some(Nanos(10)), Check::Lease).unwrap();
    let refused = state.hold(in_run("x", "/a/b", 1), Some(Nanos(1)), Check::Lease).unwrap_err();
    assert_eq!(refused.rule.run.as_deref(), Some("x"));
    let second = state.hold(in_run("y", "/a", 1), Some(Nanos(10)), Check::Lease).unwrap();
    state.hold(scope("/a", 1), Some(Nanos(10)), Check::Lease).unwrap();
    assert!(
        state.hold(scope("/a", 1), Some(Nanos(1)), Check::Lease).is_err(),
        "calls without a run share one budget"
    );
    check(&mut state, 1, "/a", 0, 10);
    check(&mut state, 1, "/", 0, 30);
    state.settle(first, "r1", Nanos(4), true);
    state.settle(second, "r2", Nanos(6), true);
    state.booked(&mut ["r1"].into_iter(), &[]);
    // New rules keep what each run has spent and holds.
    state.install(Some(Arc::new(Index::new(rules(budgets())))), at(2));
    check(&mut state, 2, "/", 10, 10);
    assert!(state.hold(in_run("y", "/a", 2), Some(Nanos(5)), Check::Lease).is_err());
    assert!(state.hold(in_run("y", "/a", 2), Some(Nanos(4)), Check::Lease).is_ok());
    assert_eq!(state.statuses(at(2)).len(), 2, "budgets of runs are not listed");
    let crossings = state.take_crossings();
    let shown: Vec<_> = crossings.iter().map(|one| (one.status.rule.run.as_deref(), one.threshold)).collect();
    assert_eq!(shown, [(Some("y"), 0.5)]);
}

#[test]
fn an_idle_run_is_forgotten_when_everything_is_booked() {
    let policy = BudgetPolicy { per_run: true, ..BudgetPolicy::default() };
    let mut state = state(vec![Rule { policy, ..rule("/a", Period::DAILY, 10) }], 0);
    let runs = |state: &mut BudgetState, now: i64| state.statuses(at(now))[0].runs;
    let call = state.hold(in_run("x", "/a", 1), Some(Nanos(10)), Check::Lease).unwrap();
    state.expire_runs(at(7200));
    assert_eq!(runs(&mut state, 7200), 1);
    state.settle(call, "r1", Nanos(4), true);
    state.booked(&mut ["r1"].into_iter(), &[]);
    state.expire_runs(at(7200));
    assert_eq!(runs(&mut state, 7200), 0);
    state.expire_runs(at(7201));
    state.take_turned();
    state.hold(in_run("z", "/a", 7202), Some(Nanos(10)), Check::Lease).unwrap();
    assert!(state.take_turned(), "a run that is new here is read from the ledger");
    assert!(state.hold(in_run("z", "/a", 7202), Some(Nanos(1)), Check::Lease).is_err());
    check(&mut state, 7202, "/a", 0, 0);
}

#[test]
fn a_refusal_for_want_of_the_rest_is_the_last_threshold() {
    let mut state = state(vec![rule("/a", Period::HOURLY, 100)], 0);
    let crossed = |state: &mut BudgetState| {
        state.take_crossings().iter().map(|crossing| crossing.threshold).collect::<Vec<_>>()
    };
    let first = state.hold(scope("/a", 1), Some(Nanos(60)), Check::Lease).unwrap();
    refuse(&mut state, scope("/a", 1), 60);
    assert_eq!(crossed(&mut state), [] as [f64; 0], "what is held may come back");
    state.settle(first, "r1", Nanos(55), true);
    assert_eq!(crossed(&mut state), [0.5]);
    refuse(&mut state, scope("/a", 2), 200);
    assert_eq!(crossed(&mut state), [] as [f64; 0], "it would be too dear at any time");
    refuse(&mut state, scope("/a", 3), 50);
    assert_eq!(crossed(&mut state), [1.0]);
    refuse(&mut state, scope("/a", 4), 50);
    assert_eq!(crossed(&mut state), [] as [f64; 0], "told once");
}

#[test]
fn a_small_budget_that_refuses_below_half_is_exhausted() {
    let mut state = state(vec![rule("/a", Period::HOURLY, 100)], 0);
    let first = state.hold(scope("/a", 1), Some(Nanos(60)), Check::Lease).unwrap();
    state.settle(first, "r1", Nanos(46), true);
    let _under_way = state.hold(scope("/a", 2), Some(Nanos(10)), Check::Lease).unwrap();
    refuse(&mut state, scope("/a", 2), 60);
    let crossings = state.take_crossings();
    let shown: Vec<_> = crossings.iter().map(|one| (one.threshold, one.status.spent.0)).collect();
    assert_eq!(shown, [(0.5, 46), (1.0, 46)]);
}

#[test]
fn racing_workers_never_overspend() {
    const AMOUNT: i64 = 1_000_000_000;
    let budgets = Arc::new(Budgets::default());
    budgets
        .state
        .lock()
        .install(Some(Arc::new(Index::new(rules(vec![rule("/a", Period::DAILY, AMOUNT)])))), at(0));
    let work = |worker: u64| {
        let mut seed = worker.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut spent = 0;
        for round in 0..300 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let worst = (seed % 3_000_000) as i64;
            let Ok(number) = budgets.state.lock().hold(scope("/a", 1), Some(Nanos(worst)), Check::Lease)
            else {
                continue;
            };
            let hold = Hold { budgets: budgets.clone(), number, kept: true, open: true };
            std::thread::yield_now();
            {
                let statuses = budgets.statuses(at(1));
                assert!(statuses[0].spent.0 + statuses[0].reserved.0 <= AMOUNT, "{statuses:?}");
            }
            if seed.is_multiple_of(5) {
                drop(hold);
            } else {
                let cost = worst - worst / 3;
                hold.settle(&format!("{worker}-{round}"), Some(Nanos(cost)));
                spent += cost;
            }
        }
        spent
    };
    let spent: i64 = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..=64).map(|worker| scope.spawn(move || work(worker))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let status = budgets.statuses(at(1)).remove(0);
    assert_eq!((status.spent.0, status.reserved.0), (spent, 0));
    assert!(spent <= AMOUNT && spent > AMOUNT * 9 / 10, "{spent}");
}

/// The reference model: records every call separately.
#[derive(Default)]
struct ReferenceModel {
    held: BTreeMap<u64, (BudgetScope, i64)>,
    settled: Vec<(BudgetScope, i64)>,
}

impl ReferenceModel {
    fn sums(&self, rule: &Rule, anchors: &Anchors, now: i64) -> (i64, i64) {
        let (start, end) = rule.key.period.around(at(now), anchors);
        let from = rule.last_reset_at.map_or(start, |reset| reset.max(start));
        let counts = |scope: &BudgetScope| {
            rule.key.user_path.covers(&scope.user_path) && from <= scope.at && scope.at < end
        };
        let spent = self.settled.iter().filter(|(scope, _)| counts(scope)).map(|(_, cost)| cost).sum();
        let held = self.held.values().filter(|(scope, _)| counts(scope)).map(|(_, held)| held).sum();
        (spent, held)
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Hold {
        path: usize,
        worst: i64,
    },
    Extend {
        which: usize,
        more: i64,
    },
    Settle {
        which: usize,
        share: i64,
    },
    Release {
        which: usize,
    },
    Book {
        which: usize,
    },
    Synchronise,
    Wait {
        seconds: i64,
    },
    /// Sets the clock backwards or forwards.
    SetClock {
        by: i64,
    },
    Amount {
        which: usize,
        amount: i64,
    },
    Reset {
        which: usize,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    let which = 0..64usize;
    prop_oneof![
        6 => (0..PATHS.len(), 0..60i64).prop_map(|(path, worst)| Operation::Hold { path, worst }),
        1 => (which.clone(), 0..40i64).prop_map(|(which, more)| Operation::Extend { which, more }),
        4 => (which.clone(), 0..=100i64).prop_map(|(which, share)| Operation::Settle { which, share }),
        1 => which.clone().prop_map(|which| Operation::Release { which }),
        3 => which.clone().prop_map(|which| Operation::Book { which }),
        2 => Just(Operation::Synchronise),
        2 => (0..2500i64).prop_map(|seconds| Operation::Wait { seconds }),
        1 => (-9000..9000i64).prop_map(|by| Operation::SetClock { by }),
        1 => (which.clone(), 1..300i64).prop_map(|(which, amount)| Operation::Amount { which, amount }),
        1 => which.prop_map(|which| Operation::Reset { which }),
    ]
}

/// The state under test, a ledger and the reference model, side by side.
struct World {
    state: BudgetState,
    rules: Rules,
    reference: ReferenceModel,
    /// Receipt, scope and cost of the calls in the journal.
    journal: Vec<(String, BudgetScope, i64)>,
    ledger: Vec<(BudgetScope, i64)>,
    now: i64,
    receipts: u64,
}

impl World {
    fn new() -> Self {
        let budgets = vec![
            rule("/", Period::DAILY, 200),
            rule("/a", Period::HOURLY, 100),
            rule("/a", Period::from_seconds(600).unwrap(), 60),
            rule("/a/b", Period::MONTHLY, 80),
        ];
        let rules = rules(budgets);
        let mut state = BudgetState::default();
        state.install(Some(Arc::new(Index::new(rules.clone()))), at(0));
        let (journal, ledger) = Default::default();
        Self { state, rules, reference: ReferenceModel::default(), journal, ledger, now: 0, receipts: 0 }
    }

    fn nth(&self, which: usize) -> Option<u64> {
        let count = self.reference.held.len();
        (count > 0).then(|| *self.reference.held.keys().nth(which % count).unwrap())
    }

    /// Sums up the ledger as `synchronise` does.
    fn readings(&mut self) -> Vec<Reading> {
        let (index, mut readings) = self.state.wanted(at(self.now)).unwrap();
        for reading in &mut readings {
            let within = |scope: &BudgetScope| reading.from <= scope.at && scope.at < reading.end;
            let of = self.ledger.iter().filter(|(scope, _)| within(scope));
            let of = of.filter(|(scope, _)| index.covering(scope).any(|place| place == reading.place));
            reading.sum = Nanos(of.map(|(_, cost)| cost).sum());
        }
        readings
    }

    fn install(&mut self) {
        self.state.install(Some(Arc::new(Index::new(self.rules.clone()))), at(self.now));
        let readings = self.readings();
        self.state.apply(&readings);
    }

    /// Performs a step, and reads the ledger if a window has changed, as the synchroniser does.
    fn act(&mut self, operation: Operation) {
        self.perform(operation);
        self.state.turn(at(self.now));
        if self.state.take_turned() {
            let readings = self.readings();
            self.state.apply(&readings);
        }
    }

    fn perform(&mut self, operation: Operation) {
        match operation {
            Operation::Hold { path, worst } => {
                let scope = scope(PATHS[path], self.now);
                if let Ok(number) = self.state.hold(scope.clone(), Some(Nanos(worst)), Check::Lease) {
                    self.reference.held.insert(number, (scope, worst));
                }
            }
            Operation::Extend { which, more } => {
                if let Some(number) = self.nth(which)
                    && self.state.extend(number, Nanos(more), Check::Lease)
                {
                    self.reference.held.get_mut(&number).unwrap().1 += more;
                }
            }
            Operation::Settle { which, share } => {
                if let Some(number) = self.nth(which) {
                    let (scope, held) = self.reference.held.remove(&number).unwrap();
                    let cost = held * share / 100;
                    self.receipts += 1;
                    let receipt = self.receipts.to_string();
                    self.state.settle(number, &receipt, Nanos(cost), true);
                    self.reference.settled.push((scope.clone(), cost));
                    self.journal.push((receipt, scope, cost));
                }
            }
            Operation::Release { which } => {
                if let Some(number) = self.nth(which) {
                    self.state.release(number);
                    self.reference.held.remove(&number);
                }
            }
            Operation::Book { which } => {
                let count = which.min(self.journal.len());
                let booked: Vec<_> = self.journal.drain(..count).collect();
                self.state.booked(&mut booked.iter().map(|(receipt, _, _)| receipt.as_str()), &[]);
                self.ledger.extend(booked.into_iter().map(|(_, scope, cost)| (scope, cost)));
            }
            Operation::Synchronise => {
                let readings = self.readings();
                self.state.apply(&readings);
            }
            Operation::Wait { seconds } => self.now += seconds,
            // Calls that arrive before a reset count in the window after it; the clock is therefore not set back that
            // far.
            Operation::SetClock { by } => {
                let resets = self.rules.budgets.iter().filter_map(|rule| rule.last_reset_at);
                let earliest = resets.max().map_or(0, |reset| reset.micros() / 1_000_000);
                self.now = (self.now + by).max(earliest);
            }
            Operation::Amount { which, amount } => {
                let place = which % self.rules.budgets.len();
                self.rules.budgets[place].amount = Nanos(amount);
                self.install();
            }
            Operation::Reset { which } => {
                let place = which % self.rules.budgets.len();
                self.rules.budgets[place].last_reset_at = Some(at(self.now));
                self.install();
            }
        }
    }
}

proptest! {
    #[test]
    fn no_order_of_things_overspends_or_miscounts(operations in proptest::collection::vec(operation(), 1..120)) {
        let mut world = World::new();
        let mut before: Vec<i64> = vec![0; world.rules.budgets.len()];
        for operation in operations {
            // Another window may have been filled before its amount was lowered.
            let lowered = matches!(operation, Operation::Amount { .. } | Operation::SetClock { .. } | Operation::Wait { .. });
            world.act(operation.clone());
            let statuses = world.state.statuses(at(world.now));
            for (place, status) in statuses.iter().enumerate() {
                let expected = world.reference.sums(&status.rule, &world.rules.anchors, world.now);
                prop_assert_eq!((status.spent.0, status.reserved.0), expected, "{:?} {:?}", operation, status);
                // Only lowering an amount can leave a budget above it; from then on its use can only fall.
                let used = status.spent.0 + status.reserved.0;
                let bound = status.rule.amount.0.max(if lowered { i64::MAX } else { before[place] });
                prop_assert!(used <= bound, "{:?} {:?}", operation, status);
                before[place] = used;
            }
        }
    }
}
