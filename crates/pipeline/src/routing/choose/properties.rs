//! Property tests for any choice in any state.

use std::sync::Arc;

use domain::strategy::Strategy;
use proptest::prelude::*;
use proptest::strategy::Strategy as _;

use super::tests::{Target, among, answer, call, cool, fail, look, names, occupy, order};
use super::{Choice, Group, Member, RoundRobinCursor, rank};

/// A target in a state that is derived from random numbers.
fn any_target() -> impl proptest::strategy::Strategy<Value = Target> {
    (0u32..7, 0u32..4, 0u64..900, proptest::option::of(0i64..5), 0usize..1000).prop_map(
        |(failures, calls, millis, price, name)| {
            let target = Target { name, health: Arc::default(), price };
            answer(&target, millis, calls);
            occupy(&target, calls).into_iter().skip(1).for_each(std::mem::forget);
            fail(&target, failures.min(5));
            if failures == 6 {
                cool(&target);
            }
            target
        },
    )
}

fn any_choice() -> impl proptest::strategy::Strategy<Value = Choice<Target>> {
    any_target().prop_map(Choice::One).prop_recursive(3, 40, 6, |inner| {
        let members = proptest::collection::vec((0.0..3.0f64, inner), 1..6);
        (proptest::sample::select(&Strategy::ALL[..]), any::<bool>(), 0u64..9, members).prop_map(
            |(strategy, health_aware, turn, members)| {
                Choice::Among(Group {
                    is_configured: true,
                    calls: None,
                    name: Arc::from("any"),
                    strategy,
                    health_aware,
                    turn: Arc::new(RoundRobinCursor(turn.into())),
                    members: members.into_iter().map(|(weight, choice)| Member { weight, choice }).collect(),
                })
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// An explanation matches the call that follows; the same seed gives the same order; no target is lost or added.
    #[test]
    fn explanations_are_true(choice in any_choice(), seed in any::<u64>()) {
        let looks = [order(&choice, look(seed)), order(&choice, look(seed))];
        let ranked = rank(&choice, &call(seed));
        prop_assert_eq!(&looks[0], &looks[1]);
        prop_assert_eq!(&looks[0], &names(&ranked));
        let mut every = Vec::new();
        choice.each(&mut |target| every.push(target.name));
        let mut reached = names(&ranked);
        every.sort_unstable();
        reached.sort_unstable();
        prop_assert_eq!(every, reached);
    }

    /// In a health-aware group, no target that would be refused is ranked before one that would be admitted.
    #[test]
    fn the_absent_stand_last(
        targets in proptest::collection::vec(any_target(), 1..8),
        strategy in proptest::sample::select(&Strategy::ALL[..]),
        seed in any::<u64>(),
    ) {
        let ranked = rank(&among(strategy, &targets), &call(seed));
        let admitted: Vec<_> =
            ranked.iter().map(|ranked| ranked.choice.health.availability(call(seed).now).admits()).collect();
        prop_assert!(admitted.is_sorted_by(|one, other| one >= other), "{:?}", admitted);
    }
}
