//! Session affinity: moves the member whose prompt cache holds the conversation of the call to the front.

use std::time::Duration;

use domain::call::Target;
use domain::strategy::Strategy;

use super::ranked_member::RankedMember;
use super::reason::Reason;
use super::{Candidate, Group, SelectionContext};
use crate::routing::health::{Availability, Health};

/// How many times as slow, or as loaded, as the best target of its group the warm one may be.
const MAX_RATIO: u32 = 2;
/// Calls in flight that the warm target may have in addition: a few calls slow no provider down.
const SPARE_CALLS: u32 = 4;

/// Moves the member with the warm target to the front, if its saving is worth the wait. The warm target is the one that
/// answered the conversation last, within five minutes. All of these must hold:
///
/// - The strategy leaves the choice open: not `primary_fallback`, whose order is a rule, and under `cost` only among
///   members of the same cost.
/// - The target is ready, and the weight of its member is not 0.
/// - Input from its prompt cache costs less than other input, or its price is not known.
/// - Its average time to the first byte is at most twice the shortest one of the ready targets in the group, as far as
///   both are known.
/// - Its calls in flight are at most four more than twice the fewest of the ready targets in the group.
pub fn prefer<L: Candidate>(group: &Group<L>, selection: &SelectionContext, standings: &mut [RankedMember]) {
    let Some(warm) = &selection.warm else { return };
    if group.strategy == Strategy::PrimaryFallback {
        return;
    }
    let is_member = |standing: &RankedMember| has_target(group, standing.member, warm, selection.now);
    let Some(place) = standings.iter().position(is_member) else { return };
    let (first, member) = (&standings[0], &standings[place]);
    let is_open = group.strategy != Strategy::Cost || member.measure.first == first.measure.first;
    if is_open && !member.absent && member.reason != Reason::NoWeight {
        standings[..=place].rotate_right(1);
        standings[0].reason = Reason::WarmCache;
    }
}

/// Whether a member of the group has the warm target, in a state in which waiting for it is worthwhile.
fn has_target<L: Candidate>(group: &Group<L>, member: usize, warm: &Target, now: Duration) -> bool {
    let mut found = false;
    group.members[member].choice.each(&mut |target| {
        found |= target.is_target(warm)
            && target.saves_cached_input()
            && is_ready(target.health(), now)
            && BestFigures::of(group, now).allow(target.health());
    });
    found
}

fn is_ready(health: &Health, now: Duration) -> bool {
    health.availability(now) == Availability::Ready
}

/// The best figures of the ready targets in a group.
struct BestFigures {
    latency: Option<Duration>,
    in_flight: u32,
}

impl BestFigures {
    fn of<L: Candidate>(group: &Group<L>, now: Duration) -> Self {
        let mut best = Self { latency: None, in_flight: u32::MAX };
        for member in &group.members {
            member.choice.each(&mut |target| {
                let health = target.health();
                if is_ready(health, now) {
                    best.in_flight = best.in_flight.min(health.in_flight());
                    best.latency = best.latency.into_iter().chain(health.latency_ewma()).min();
                }
            });
        }
        best
    }

    /// Whether a target with these figures is fast and free enough.
    fn allow(&self, health: &Health) -> bool {
        let is_fast = match (self.latency, health.latency_ewma()) {
            (Some(best), Some(own)) => own <= best.saturating_mul(MAX_RATIO),
            _ => true,
        };
        let most_calls = self.in_flight.saturating_mul(MAX_RATIO).saturating_add(SPARE_CALLS);
        is_fast && health.in_flight() <= most_calls
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{
        Target as TestTarget, among, answer, cool, group, look, member, nested, occupy, order, targets,
    };
    use super::super::{Choice, rank};
    use super::*;

    /// A dry run for a call whose conversation the target of this name answered last.
    fn warm(name: usize) -> SelectionContext {
        let (instance, provider_type, model) = (name.to_string().into(), "openai".into(), "m".into());
        SelectionContext { warm: Some(Target { instance, provider_type, model }), ..look(1) }
    }

    #[track_caller]
    fn check(choice: &Choice<TestTarget>, warm_first: bool) {
        assert_eq!(order(choice, warm(2))[0] == 2, warm_first);
    }

    #[test]
    fn the_warm_target_comes_first_under_every_strategy_that_leaves_a_choice() {
        for strategy in Strategy::ALL {
            let mut targets = targets(3);
            targets.iter_mut().for_each(|target| target.price = Some(1));
            targets.iter().zip([100, 101, 199]).for_each(|(target, millis)| answer(target, millis, 5));
            let choice = among(strategy, &targets);
            check(&choice, strategy != Strategy::PrimaryFallback);
            if strategy != Strategy::PrimaryFallback {
                let first = rank(&choice, &warm(2)).swap_remove(0);
                assert_eq!(first.reason, "fast: its prompt cache has the conversation", "{strategy:?}");
            }
        }
        let choice = among(Strategy::RoundRobin, &targets(3));
        assert_eq!(order(&choice, warm(1)), [1, 0, 2], "the others keep their order");
        assert_eq!(order(&choice, warm(7)), [0, 1, 2], "not in the group");
    }

    #[test]
    fn a_target_that_is_slow_busy_or_not_ready_has_no_precedence() {
        let group_of = |prepare: &dyn Fn(&TestTarget)| {
            let targets = targets(3);
            targets.iter().for_each(|target| answer(target, 100, 5));
            prepare(&targets[2]);
            among(Strategy::RoundRobin, &targets)
        };
        check(&group_of(&|_| {}), true);
        check(&group_of(&cool), false);
        check(&group_of(&|target| answer(target, 5_000, 30)), false);
        for (calls, warm_first) in [(4, true), (5, false)] {
            let targets = targets(3);
            let _calls = occupy(&targets[2], calls);
            check(&among(Strategy::RoundRobin, &targets), warm_first);
            let _others = [occupy(&targets[0], 1), occupy(&targets[1], 1)];
            check(&among(Strategy::RoundRobin, &targets), true);
        }
    }

    #[test]
    fn the_cache_must_save_something_and_cost_no_more() {
        let priced = |prices: [Option<i64>; 3]| {
            let mut targets = targets(3);
            targets.iter_mut().zip(prices).for_each(|(target, price)| target.price = price);
            targets
        };
        let free = priced([None, None, Some(0)]);
        check(&among(Strategy::RoundRobin, &free), false);
        check(&among(Strategy::Cost, &priced([Some(5), Some(6), Some(6)])), false);
        check(&among(Strategy::Cost, &priced([Some(6), Some(6), Some(6)])), true);
        let targets = targets(3);
        let weights = [1.0, 1.0, 0.0].into_iter();
        let members = weights.zip(&targets).map(|(weight, target)| member(weight, target)).collect();
        check(&group(Strategy::Weighted, members), false);
    }

    #[test]
    fn a_warm_target_in_an_inner_group_comes_first_in_both() {
        let targets = targets(4);
        let inner = |targets: &[TestTarget]| nested(among(Strategy::RoundRobin, targets));
        let choice = group(Strategy::RoundRobin, vec![inner(&targets[..2]), inner(&targets[2..])]);
        assert_eq!(order(&choice, warm(3)), [3, 2, 0, 1]);
        let choice = group(Strategy::PrimaryFallback, vec![inner(&targets[..2]), inner(&targets[2..])]);
        assert_eq!(order(&choice, warm(3)), [0, 1, 3, 2], "the order of the combo is a rule");
    }
}
