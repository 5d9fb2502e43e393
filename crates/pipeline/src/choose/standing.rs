//! One group in order: who of its members goes first.

use std::cmp::Ordering;

use domain::strategy::Strategy;

use super::lot::Lot;
use super::measure::{Field, Measure, best};
use super::reason::Reason;
use super::{Candidate, Circumstances, Group};

/// How often one that is not the best is asked all the same, so that a target that has recovered is found again.
const EXPLORATION: f64 = 0.05;

/// Where a member of a group stands.
pub struct Standing {
    pub member: usize,
    pub score: Option<f64>,
    pub reason: Reason,
    measure: Measure,
    /// Stands last, for it would not be admitted.
    absent: bool,
    lot: u64,
}

/// The members of a group as they are to be tried.
pub fn order<L: Candidate>(
    group: &Group<L>,
    turn: u64,
    circumstances: &Circumstances,
    lot: &mut Lot,
) -> Vec<Standing> {
    let field = Field::survey(group, circumstances);
    let mut standings = Vec::with_capacity(group.members.len());
    for (index, member) in group.members.iter().enumerate() {
        let fixed = match group.strategy {
            Strategy::PrimaryFallback | Strategy::RoundRobin => Some(Measure::place(index)),
            Strategy::Weighted => Some(Measure::drawn(member.weight, lot)),
            Strategy::Random => Some(Measure::equal(Reason::DrawnByLot)),
            Strategy::LeastLoaded | Strategy::Latency | Strategy::Cost | Strategy::Adaptive => None,
        };
        let (measure, absence) = best(&member.choice, circumstances.now, &|target| match fixed {
            Some(measure) => measure,
            None => field.measure(target, member.weight),
        });
        let absence = absence.filter(|_| group.health_aware);
        standings.push(Standing {
            member: index,
            score: measure.score,
            reason: absence.unwrap_or(measure.reason),
            measure,
            absent: absence.is_some(),
            lot: lot.draw(),
        });
    }
    standings.sort_unstable_by(Standing::compare);
    match group.strategy {
        Strategy::RoundRobin => take_turns(&mut standings, turn),
        Strategy::Latency | Strategy::Cost | Strategy::Adaptive => {
            explore(&mut standings, group.strategy, lot)
        }
        _ => {}
    }
    standings
}

impl Standing {
    fn compare(&self, other: &Self) -> Ordering {
        self.absent
            .cmp(&other.absent)
            .then_with(|| self.measure.compare(&other.measure))
            .then_with(|| self.lot.cmp(&other.lot))
    }
}

/// The round goes over those who are there, so that the neighbour of one who is not does not get its share as well.
fn take_turns(standings: &mut [Standing], turn: u64) {
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

/// Now and then lets another one go first. Never a last resort, and where cost decides only one that costs as little.
fn explore(standings: &mut [Standing], strategy: Strategy, lot: &mut Lot) {
    let (chance, pick) = (lot.fraction(), lot.draw());
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
