//! Tests of the strategies.

use std::sync::Arc;
use std::time::Duration;

use domain::strategy::Strategy;

use super::{
    Candidate, Choice, Group, Member, Ranked, RoundRobinCursor, SelectionContext, SelectionMode, rank,
};
use crate::routing::health::{Admission, Health};

#[derive(Clone, Debug)]
pub(super) struct Target {
    pub name: usize,
    pub health: Arc<Health>,
    /// Nano-dollars per token, for input and output alike.
    pub price: Option<i64>,
}

impl Candidate for Target {
    fn health(&self) -> &Health {
        &self.health
    }

    fn cost(&self, input_tokens: u64, output_tokens: u64) -> Option<i64> {
        self.price.map(|price| price * (input_tokens + output_tokens) as i64)
    }

    fn is_target(&self, target: &domain::call::Target) -> bool {
        *target.instance == *self.name.to_string()
    }

    /// Whether the input of a target costs anything, of which its prompt cache could save a part.
    fn saves_cached_input(&self) -> bool {
        self.price != Some(0)
    }
}

pub(super) fn targets(count: usize) -> Vec<Target> {
    (0..count).map(|name| Target { name, health: Arc::default(), price: None }).collect()
}

pub(super) fn group(strategy: Strategy, members: Vec<Member<Target>>) -> Choice<Target> {
    Choice::Among(Group {
        is_configured: true,
        calls: None,
        name: Arc::from("fast"),
        strategy,
        health_aware: true,
        turn: Arc::new(RoundRobinCursor::default()),
        members,
    })
}

pub(super) fn among(strategy: Strategy, targets: &[Target]) -> Choice<Target> {
    group(strategy, targets.iter().map(|target| member(1.0, target)).collect())
}

pub(super) fn member(weight: f64, target: &Target) -> Member<Target> {
    Member { weight, choice: Choice::One(target.clone()) }
}

pub(super) fn nested(choice: Choice<Target>) -> Member<Target> {
    Member { weight: 1.0, choice }
}

pub(super) fn call(seed: u64) -> SelectionContext {
    SelectionContext {
        now: Duration::from_secs(100),
        seed,
        input_tokens: 1000,
        output_tokens: 500,
        mode: SelectionMode::Live,
        warm: None,
    }
}

pub(super) fn look(seed: u64) -> SelectionContext {
    SelectionContext { mode: SelectionMode::DryRun, ..call(seed) }
}

pub(super) fn names(ranked: &[Ranked<Target>]) -> Vec<usize> {
    ranked.iter().map(|ranked| ranked.choice.name).collect()
}

pub(super) fn order(choice: &Choice<Target>, selection: SelectionContext) -> Vec<usize> {
    names(&rank(choice, &selection))
}

/// Counts how often each of `count` targets is ranked first, over that many seeds.
fn firsts(choice: &Choice<Target>, count: usize, seeds: u64) -> Vec<usize> {
    let mut firsts = vec![0; count];
    for seed in 0..seeds {
        firsts[order(choice, call(seed))[0]] += 1;
    }
    firsts
}

pub(super) fn answer(target: &Target, millis: u64, times: u32) {
    for _ in 0..times {
        let admission = target.health.admit(call(0).now).unwrap();
        admission.succeeded(call(0).now, Duration::from_millis(millis));
    }
}

pub(super) fn fail(target: &Target, times: u32) {
    for _ in 0..times {
        target.health.admit(call(0).now).unwrap().failed(call(0).now, "upstream_error");
    }
}

pub(super) fn occupy(target: &Target, calls: u32) -> Vec<Admission> {
    (0..calls).map(|_| target.health.admit(call(0).now).unwrap()).collect()
}

pub(super) fn cool(target: &Target) {
    target.health.cool_down(call(0).now, Duration::from_secs(5), false);
}

#[test]
fn one_is_the_only_one() {
    let ranked = rank(&Choice::One(targets(1).remove(0)), &call(1));
    assert_eq!((names(&ranked), &*ranked[0].reason), (vec![0], "the only target"));
}

#[test]
fn primary_fallback_keeps_the_order_and_puts_unavailable_targets_last() {
    let targets = targets(5);
    let choice = among(Strategy::PrimaryFallback, &targets);
    assert_eq!(order(&choice, call(7)), [0, 1, 2, 3, 4]);
    cool(&targets[0]);
    fail(&targets[2], 5);
    let ranked = rank(&choice, &look(7));
    assert_eq!(names(&ranked), [1, 3, 4, 0, 2]);
    assert_eq!(ranked[0].reason, "fast: named at place 2");
    assert_eq!(ranked[3].reason, "fast: cooling down, tried last");
    assert_eq!(ranked[4].reason, "fast: circuit breaker open, tried last");
}

#[test]
fn strategies_without_health_keep_the_order() {
    let targets = targets(3);
    cool(&targets[0]);
    let Choice::Among(mut group) = among(Strategy::PrimaryFallback, &targets) else { unreachable!() };
    group.health_aware = false;
    assert_eq!(order(&Choice::Among(group), call(7)), [0, 1, 2]);
}

#[test]
fn round_robin_is_exact() {
    let targets = targets(3);
    let choice = among(Strategy::RoundRobin, &targets);
    for round in 0..30 {
        let first = round % 3;
        let expected = [first, (first + 1) % 3, (first + 2) % 3];
        assert_eq!(order(&choice, look(round as u64)), expected, "a look");
        assert_eq!(order(&choice, look(round as u64)), expected, "moves nothing");
        assert_eq!(order(&choice, call(round as u64)), expected, "round {round}");
    }
    cool(&targets[1]);
    assert_eq!(firsts(&choice, 3, 1000), [500, 0, 500], "nobody gets the share of the absent as well");
}

#[test]
fn rounds_within_rounds_reach_everybody_evenly() {
    let targets = targets(4);
    let choice = group(
        Strategy::RoundRobin,
        vec![
            nested(among(Strategy::RoundRobin, &targets[..2])),
            nested(among(Strategy::RoundRobin, &targets[2..])),
        ],
    );
    assert_eq!(firsts(&choice, 4, 1000), [250; 4]);
}

#[test]
fn weighted_draws_in_proportion_down_to_the_last_place() {
    let targets = targets(4);
    let weights = [6.0, 3.0, 1.0, 0.0];
    let members = weights.iter().zip(&targets).map(|(&weight, target)| member(weight, target)).collect();
    let choice = group(Strategy::Weighted, members);
    let mut firsts = [0u32; 4];
    let mut second_after_0 = [0u32; 4];
    for seed in 0..10_000 {
        let order = order(&choice, call(seed));
        firsts[order[0]] += 1;
        if order[0] == 0 {
            second_after_0[order[1]] += 1;
        }
        assert_eq!(order[3], 3, "weight 0 is a last resort");
    }
    println!(
        "weighted 6:3:1:0 over 10000 seeds: first {firsts:?}, second after the first {second_after_0:?}"
    );
    // Four standard deviations of a draw of 10,000 are at most 200.
    for (drawn, expected) in firsts.iter().zip([6000u32, 3000, 1000, 0]) {
        assert!(drawn.abs_diff(expected) < 200, "{firsts:?}");
    }
    let share = f64::from(second_after_0[1]) / f64::from(firsts[0]);
    assert!((share - 0.75).abs() < 0.03, "of the rest, 3 to 1: {share}");
}

#[test]
fn weights_that_are_none_count_as_nought() {
    let targets = targets(3);
    let members = vec![member(f64::NAN, &targets[0]), member(-1.0, &targets[1]), member(0.1, &targets[2])];
    for strategy in [Strategy::Weighted, Strategy::Adaptive] {
        assert_eq!(firsts(&group(strategy, members.clone()), 3, 200), [0, 0, 200], "{strategy:?}");
    }
}

#[test]
fn random_draws_evenly() {
    let firsts = firsts(&among(Strategy::Random, &targets(4)), 4, 10_000);
    println!("random of 4 over 10000 seeds: {firsts:?}");
    assert!(firsts.iter().all(|first| first.abs_diff(2500) < 180), "{firsts:?}");
}

#[test]
fn least_loaded_counts_calls_under_way_and_draws_between_equals() {
    let targets = targets(4);
    let choice = among(Strategy::LeastLoaded, &targets);
    let _calls = [(0, 3), (1, 1), (2, 2), (3, 1)].map(|(index, calls)| occupy(&targets[index], calls));
    let ranked = rank(&choice, &look(1));
    assert_eq!(names(&ranked)[2..], [2, 0]);
    assert_eq!((ranked[3].score, &*ranked[3].reason), (Some(3.0), "fast: 3 calls under way"));
    let firsts = firsts(&choice, 4, 1000);
    assert!(firsts[1].abs_diff(500) < 70 && firsts[1] + firsts[3] == 1000, "{firsts:?}");
}

#[test]
fn latency_strategy_tries_unmeasured_targets_first() {
    let targets = targets(3);
    let choice = among(Strategy::Latency, &targets);
    answer(&targets[0], 300, 5);
    answer(&targets[1], 100, 5);
    fail(&targets[2], 2);
    assert_eq!(rank(&choice, &look(1))[0].reason, "fast: tried, for little is known of it");
    fail(&targets[2], 1);
    let ranked = rank(&choice, &look(1));
    assert_eq!(names(&ranked), [1, 0, 2], "three failures are enough to know");
    assert_eq!((ranked[0].score, &*ranked[1].reason), (Some(100.0), "fast: 300 ms to the first byte"));
}

#[test]
fn latency_explores_one_in_twenty() {
    let targets = targets(3);
    targets.iter().zip([100, 200, 300]).for_each(|(target, millis)| answer(target, millis, 5));
    let firsts = firsts(&among(Strategy::Latency, &targets), 3, 10_000);
    println!("latency over 10000 seeds: {firsts:?}");
    assert!(firsts[0].abs_diff(9500) < 90 && firsts[1].abs_diff(250) < 65, "{firsts:?}");
}

#[test]
fn a_burst_at_the_start_is_spread_over_the_unknown() {
    let targets = targets(3);
    let choice = among(Strategy::Latency, &targets);
    let mut burst = Vec::new();
    for seed in 0..30 {
        let first = &rank(&choice, &call(seed))[0].choice;
        burst.push(first.health.admit(call(seed).now).unwrap());
    }
    let loads: Vec<_> = targets.iter().map(|target| target.health.in_flight()).collect();
    assert!(loads.iter().all(|&load| (8..=12).contains(&load)), "{loads:?}");
}

#[test]
fn cost_takes_the_cheapest_then_the_faster_then_the_unpriced() {
    let mut targets = targets(4);
    targets[0].price = Some(20);
    targets[1].price = Some(10);
    targets[3].price = Some(10);
    targets.iter().zip([100, 400, 100, 200]).for_each(|(target, millis)| answer(target, millis, 5));
    let choice = among(Strategy::Cost, &targets);
    let ranked = rank(&choice, &look(1));
    assert_eq!(names(&ranked), [3, 1, 0, 2]);
    assert_eq!((ranked[0].score, &*ranked[0].reason), (Some(0.000_015), "fast: at most $0.000015"));
    assert_eq!((ranked[3].score, &*ranked[3].reason), (None, "fast: no price is known, so after the priced"));
    let firsts = firsts(&choice, 4, 1000);
    assert!(firsts[1] > 20 && firsts[1] + firsts[3] == 1000, "explored among equals only: {firsts:?}");
}

#[test]
fn adaptive_weighs_errors_latency_load_and_weight() {
    let first = |prepare: &dyn Fn(&[Target]) -> Vec<Admission>, weight: f64| {
        let targets = targets(2);
        targets.iter().for_each(|target| answer(target, 200, 20));
        let _calls = prepare(&targets);
        let choice = group(Strategy::Adaptive, vec![member(weight, &targets[0]), member(1.0, &targets[1])]);
        firsts(&choice, 2, 1000)[0]
    };
    assert!(
        first(
            &|targets| {
                fail(&targets[0], 1);
                vec![]
            },
            1.0
        ) < 80
    );
    assert!(
        first(
            &|targets| {
                answer(&targets[0], 300, 20);
                vec![]
            },
            1.0
        ) < 80
    );
    assert!(first(&|targets| occupy(&targets[0], 3), 1.0) < 80);
    assert!(first(&|_| vec![], 0.9) < 80);
    assert!(
        first(
            &|targets| {
                answer(&targets[1], 900, 20);
                occupy(&targets[0], 9)
            },
            1.0
        ) > 920
    );
    let even = first(&|_| vec![], 1.0);
    assert!(even.abs_diff(500) < 70, "{even}");
}

#[test]
fn groups_stand_by_their_best_target_that_is_there() {
    let mut targets = targets(4);
    targets.iter_mut().zip([10, 40, 20, 30]).for_each(|(target, price)| target.price = Some(price));
    let choice = group(
        Strategy::Cost,
        vec![
            nested(among(Strategy::PrimaryFallback, &targets[..2])),
            nested(among(Strategy::PrimaryFallback, &targets[2..])),
        ],
    );
    assert_eq!(order(&choice, call(1)), [0, 1, 2, 3]);
    cool(&targets[0]);
    let ranked = rank(&choice, &look(1));
    assert_eq!(names(&ranked), [2, 3, 1, 0]);
    assert_eq!(ranked[0].reason, "fast: at most $0.000030; fast: named at place 1");
    cool(&targets[1]);
    cool(&targets[2]);
    assert_eq!(order(&choice, call(1)), [3, 2, 0, 1]);
}

#[test]
fn an_empty_group_is_no_target() {
    for strategy in Strategy::ALL {
        assert!(order(&group(strategy, vec![]), call(1)).is_empty());
        assert!(order(&group(strategy, vec![nested(group(strategy, vec![]))]), call(1)).is_empty());
    }
}

/// A combo may name the same pool twice: its cursor is advanced once, and an explanation shows the same.
#[test]
fn a_pool_that_is_named_twice_has_one_turn() {
    let targets = targets(6);
    let turn = Arc::new(RoundRobinCursor::default());
    let pool = |targets: &[Target]| match among(Strategy::RoundRobin, targets) {
        Choice::Among(group) => nested(Choice::Among(Group { turn: turn.clone(), ..group })),
        one => nested(one),
    };
    let choice = group(Strategy::PrimaryFallback, vec![pool(&targets[..3]), pool(&targets[3..])]);
    for expected in [[0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3], [2, 0, 1, 5, 3, 4], [0, 1, 2, 3, 4, 5]] {
        assert_eq!(order(&choice, look(1)), expected);
        assert_eq!(order(&choice, call(1)), expected);
    }
}
