//! The figures by which each strategy ranks targets. A nested group is ranked by its best available target.

use std::cmp::Ordering;
use std::time::Duration;

use domain::strategy::Strategy;

use super::reason::Reason;
use super::splitmix64::SplitMix64;
use super::{Candidate, Choice, Group, SelectionContext};
use crate::routing::health::Health;

/// Attempts below which nothing is known of a target.
const FEW_TRIES: u32 = 3;
/// The rank in milliseconds of a target whose latency was never measured: behind every real one.
const UNMEASURED: f64 = 1e12;
const NANOS_PER_DOLLAR: f64 = 1e9;

/// A sort key; lower goes first.
#[derive(Clone, Copy)]
pub struct Measure {
    pub first: f64,
    pub second: f64,
    pub score: Option<f64>,
    pub reason: Reason,
}

impl Measure {
    pub fn equal(reason: Reason) -> Self {
        Self { first: 0.0, second: 0.0, score: None, reason }
    }

    pub fn place(index: usize) -> Self {
        Self { first: index as f64, ..Self::equal(Reason::Named(index)) }
    }

    /// An exponential waiting time with the weight as its rate: sorting by it draws in proportion to the weights, at
    /// every position.
    pub fn drawn(weight: f64, random: &mut SplitMix64) -> Self {
        let wait = -random.fraction().ln();
        if weight > 0.0 {
            Self { first: wait / weight, ..Self::equal(Reason::DrawnByWeight(weight)) }
        } else {
            Self { first: f64::INFINITY, second: wait, ..Self::equal(Reason::NoWeight) }
        }
    }

    pub fn compare(&self, other: &Self) -> Ordering {
        self.first.total_cmp(&other.first).then_with(|| self.second.total_cmp(&other.second))
    }
}

/// The measure of the best target in a choice; with the reason if none of them would be admitted.
pub fn best<L: Candidate>(
    choice: &Choice<L>,
    now: Duration,
    measure: &impl Fn(&L) -> Measure,
) -> (Measure, Option<Reason>) {
    let mut best: Option<(Measure, Option<Reason>)> = None;
    choice.each(&mut |target| {
        let absence = Reason::of_absence(target.health().availability(now));
        let measure = measure(target);
        let better = best.is_none_or(|(known, known_absence)| {
            let by_presence = absence.is_some().cmp(&known_absence.is_some());
            by_presence.then_with(|| measure.compare(&known)).is_lt()
        });
        if better {
            best = Some((measure, absence));
        }
    });
    best.unwrap_or((Measure::equal(Reason::Only), None))
}

/// The figures of a group that its targets are compared with.
pub struct Field<'a> {
    strategy: Strategy,
    selection: &'a SelectionContext,
    /// Milliseconds.
    best_latency: f64,
    under_way: f64,
    highest_weight: f64,
}

impl<'a> Field<'a> {
    pub fn survey<L: Candidate>(group: &Group<L>, selection: &'a SelectionContext) -> Self {
        let mut field = Self {
            strategy: group.strategy,
            selection,
            best_latency: f64::INFINITY,
            under_way: 0.0,
            highest_weight: 0.0,
        };
        if group.strategy == Strategy::Adaptive {
            for member in &group.members {
                field.highest_weight = field.highest_weight.max(member.weight);
                member.choice.each(&mut |target| {
                    let health = target.health();
                    field.under_way += f64::from(health.in_flight());
                    if let Some(latency) = millis(health)
                        && health.availability(selection.now).admits()
                    {
                        field.best_latency = field.best_latency.min(latency);
                    }
                });
            }
        }
        field
    }

    pub fn measure<L: Candidate>(&self, target: &L, weight: f64) -> Measure {
        match self.strategy {
            Strategy::LeastLoaded => {
                let calls = target.health().in_flight();
                let load = f64::from(calls);
                Measure { first: load, score: Some(load), ..Measure::equal(Reason::UnderWay(calls)) }
            }
            Strategy::Latency => {
                let (rank, reason) = latency(target.health());
                Measure { first: rank, score: millis(target.health()), ..Measure::equal(reason) }
            }
            Strategy::Cost => self.cost(target),
            _ => self.adaptive(target.health(), weight),
        }
    }

    fn cost<L: Candidate>(&self, target: &L) -> Measure {
        let (rank, _) = latency(target.health());
        match target.cost(self.selection.input_tokens, self.selection.output_tokens) {
            Some(nanos) => {
                let dollars = nanos as f64 / NANOS_PER_DOLLAR;
                let reason = Reason::Cost(dollars);
                Measure { first: nanos as f64, second: rank, score: Some(dollars), reason }
            }
            None => Measure { first: f64::INFINITY, second: rank, ..Measure::equal(Reason::Unpriced) },
        }
    }

    /// The adaptive score, 0 to 1, higher is better:
    ///
    /// `(1 − error rate)³ × best latency ÷ own latency × (1 − ½ × own share of the calls in flight) × weight ÷ highest weight`
    ///
    /// Errors weigh most, because each costs another attempt. Latency is relative to the fastest available target; an
    /// unknown one counts as the fastest, so that it gets measured. Load can at most halve a score: a target that is
    /// twice as fast under all the load is still as good. A weight of 0 makes a target the last resort.
    fn adaptive(&self, health: &Health, weight: f64) -> Measure {
        let errors = health.error_rate_at(self.selection.now);
        let latency = millis(health);
        let under_way = health.in_flight();
        let speed = latency.map_or(1.0, |own| (self.best_latency / own).min(1.0));
        let load = if self.under_way > 0.0 { f64::from(under_way) / self.under_way } else { 0.0 };
        let weight = if self.highest_weight > 0.0 { (weight / self.highest_weight).max(0.0) } else { 1.0 };
        let score = (1.0 - errors).powi(3) * speed * (1.0 - 0.5 * load) * weight;
        let (first, reason) = if weight > 0.0 {
            (-score, Reason::Score { score, errors, latency, under_way })
        } else {
            (f64::INFINITY, Reason::NoWeight)
        };
        Measure { first, second: 0.0, score: Some(score), reason }
    }
}

/// The rank by milliseconds to the first byte. Targets with few attempts go before all known ones, the least tried
/// first; targets that never answered go last, the least loaded first.
fn latency(health: &Health) -> (f64, Reason) {
    let tries = health.tries();
    if tries < FEW_TRIES {
        return (f64::from(tries) - f64::from(FEW_TRIES), Reason::Untried);
    }
    match millis(health) {
        Some(millis) => (millis, Reason::Latency(millis)),
        None => (UNMEASURED + f64::from(health.in_flight()), Reason::Unmeasured),
    }
}

fn millis(health: &Health) -> Option<f64> {
    health.latency_ewma().map(|latency| latency.as_secs_f64() * 1000.0)
}
