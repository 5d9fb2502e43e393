//! Orders the members of one group.

use std::cmp::Ordering;

use domain::strategy::Strategy;

use super::measure::{Field, Measure, best};
use super::reason::Reason;
use super::splitmix64::SplitMix64;
use super::warm;
use super::{Candidate, Group, SelectionContext};

/// The share of calls that try another member than the best one first, so that a recovered target is found again.
const EXPLORATION: f64 = 0.05;

/// A member of a group, with its rank.
pub struct RankedMember {
    pub member: usize,
    pub score: Option<f64>,
    pub reason: Reason,
    pub(super) measure: Measure,
    /// Ranked last, because it would not be admitted.
    pub(super) absent: bool,
    random: u64,
}

/// The members of a group in the order in which they are tried.
pub fn order<L: Candidate>(
    group: &Group<L>,
    turn: u64,
    selection: &SelectionContext,
    random: &mut SplitMix64,
) -> Vec<RankedMember> {
    let field = Field::survey(group, selection);
    let mut standings = Vec::with_capacity(group.members.len());
    for (index, member) in group.members.iter().enumerate() {
        let fixed = match group.strategy {
            Strategy::PrimaryFallback | Strategy::RoundRobin => Some(Measure::place(index)),
            Strategy::Weighted => Some(Measure::drawn(member.weight, random)),
            Strategy::Random => Some(Measure::equal(Reason::DrawnByLot)),
            Strategy::LeastLoaded | Strategy::Latency | Strategy::Cost | Strategy::Adaptive => None,
        };
        let (measure, absence) = best(&member.choice, selection.now, &|target| match fixed {
            Some(measure) => measure,
            None => field.measure(target, member.weight),
        });
        let absence = absence.filter(|_| group.health_aware);
        standings.push(RankedMember {
            member: index,
            score: measure.score,
            reason: absence.unwrap_or(measure.reason),
            measure,
            absent: absence.is_some(),
            random: random.draw(),
        });
    }
    standings.sort_unstable_by(RankedMember::compare);
    match group.strategy {
        Strategy::RoundRobin => take_turns(&mut standings, turn),
        Strategy::Latency | Strategy::Cost | Strategy::Adaptive => {
            explore(&mut standings, group.strategy, random)
        }
        _ => {}
    }
    warm::prefer(group, selection, &mut standings);
    standings
}

impl RankedMember {
    fn compare(&self, other: &Self) -> Ordering {
        self.absent
            .cmp(&other.absent)
            .then_with(|| self.measure.compare(&other.measure))
            .then_with(|| self.random.cmp(&other.random))
    }
}

/// Rotates the available members among themselves: otherwise the one after an unavailable member would get its share as
/// well.
fn take_turns(standings: &mut [RankedMember], turn: u64) {
    let present = standings.partition_point(|standing| !standing.absent);
    let (present, absent) = standings.split_at_mut(present);
    for circle in [&mut *present, absent] {
        if !circle.is_empty() {
            circle.rotate_left((turn % circle.len() as u64) as usize);
        }
    }
    for (place, standing) in present.iter_mut().enumerate() {
        standing.reason = if place == 0 { Reason::ItsTurn } else { Reason::NextInRound };
    }
}

/// Occasionally moves another member to the front. Never one with weight 0, and under the cost strategy only one of
/// equal cost.
fn explore(standings: &mut [RankedMember], strategy: Strategy, random: &mut SplitMix64) {
    let (chance, pick) = (random.fraction(), random.draw());
    let Some(leader) = standings.first() else { return };
    let (price, absent) = (leader.measure.first, leader.absent);
    let eligible = standings
        .iter()
        .take_while(|standing| {
            standing.absent == absent
                && standing.reason != Reason::NoWeight
                && (strategy != Strategy::Cost || standing.measure.first == price)
        })
        .count();
    if eligible < 2 || chance > EXPLORATION {
        return;
    }
    let chosen = 1 + (pick % (eligible as u64 - 1)) as usize;
    standings[..=chosen].rotate_right(1);
    if !absent {
        standings[0].reason = Reason::Explored;
    }
}
