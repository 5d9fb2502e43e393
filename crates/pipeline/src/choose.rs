//! In which order the targets of a pool or combo are tried: a pure function of their live state and a seed.

mod lot;
mod measure;
#[cfg(test)]
mod properties;
mod reason;
mod standing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trace;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::strategy::Strategy;
use lot::Lot;
use reason::Reason;

use crate::health::Health;

/// A target as far as choosing goes.
pub trait Candidate {
    fn health(&self) -> &Health;

    /// Worst-case cost of this call in nano-dollars; none where no price is known.
    fn cost(&self, input_tokens: u64, output_tokens: u64) -> Option<i64>;
}

#[derive(Clone, Debug)]
pub enum Choice<L> {
    One(L),
    Among(Group<L>),
}

#[derive(Clone, Debug)]
pub struct Group<L> {
    pub name: Arc<str>,
    pub strategy: Strategy,
    /// Members that are open or cooling stand last.
    pub health_aware: bool,
    pub turn: Arc<Turn>,
    pub members: Vec<Member<L>>,
}

#[derive(Clone, Debug)]
pub struct Member<L> {
    pub weight: f64,
    pub choice: Choice<L>,
}

/// Whose turn it is in a round; carried across snapshots.
#[derive(Debug, Default)]
pub struct Turn(AtomicU64);

#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    pub now: Duration,
    pub seed: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// A real call moves the turns on; an explanation only looks.
    pub real: bool,
}

#[derive(Clone, Debug)]
pub struct Ranked<L> {
    pub choice: L,
    /// In the terms of the innermost group: calls under way, milliseconds, dollars, or the adaptive score.
    pub score: Option<f64>,
    /// Why it stands where it stands. With figures and group names in an explanation; a real call spares itself those.
    pub reason: Cow<'static, str>,
}

/// Every target once for each time it occurs, in the order in which they are to be tried.
///
/// Whether the call is real makes no difference to the order: an explanation shows what a call would meet.
pub fn rank<L: Candidate + Clone>(choice: &Choice<L>, circumstances: &Circumstances) -> Vec<Ranked<L>> {
    match choice {
        Choice::One(target) => {
            vec![Ranked { choice: target.clone(), score: None, reason: Reason::Only.in_short() }]
        }
        Choice::Among(group) => {
            let mut ranking =
                Ranking { circumstances, order: Vec::with_capacity(group.members.len()), used: Vec::new() };
            let mut lot = Lot::new(circumstances.seed);
            ranking.expand(group, &mut lot, circumstances.real, None);
            ranking.order
        }
    }
}

struct Ranking<'a, L> {
    circumstances: &'a Circumstances,
    order: Vec<Ranked<L>>,
    /// Turns of inner groups that were moved on, and what they were: the same pool may be named twice.
    used: Vec<(*const Turn, u64)>,
}

/// The groups around one, for explanations.
#[derive(Clone, Copy)]
struct Around<'a> {
    outer: Option<&'a Around<'a>>,
    name: &'a str,
    reason: Reason,
}

impl<L: Candidate + Clone> Ranking<'_, L> {
    /// `moves`: this group's turn is used. Of the groups inside, only the one that stands first uses its own: if all
    /// moved, two rounds in one another would keep step, and members would never be reached.
    fn expand(&mut self, group: &Group<L>, lot: &mut Lot, moves: bool, outer: Option<&Around<'_>>) {
        let turn = self.turn(group, moves, outer.is_some());
        let mut inner_lot = lot.fork();
        for (place, standing) in standing::order(group, turn, self.circumstances, lot).into_iter().enumerate()
        {
            let around = Around { outer, name: &group.name, reason: standing.reason };
            match &group.members[standing.member].choice {
                Choice::One(target) => self.order.push(Ranked {
                    choice: target.clone(),
                    score: standing.score,
                    reason: if self.circumstances.real {
                        standing.reason.in_short()
                    } else {
                        Cow::Owned(around.in_full())
                    },
                }),
                Choice::Among(inner) => {
                    self.expand(inner, &mut inner_lot, moves && place == 0, Some(&around));
                }
            }
        }
    }

    fn turn(&mut self, group: &Group<L>, moves: bool, inside: bool) -> u64 {
        let own = Arc::as_ptr(&group.turn);
        if let Some((_, turn)) = self.used.iter().find(|(used, _)| *used == own) {
            return *turn;
        }
        let moves = moves && group.strategy == Strategy::RoundRobin;
        let turn = group.turn.look(moves);
        if moves && inside {
            self.used.push((own, turn));
        }
        turn
    }
}

impl Around<'_> {
    fn in_full(&self) -> String {
        let here = format!("{}: {}", self.name, self.reason);
        match self.outer {
            Some(outer) => format!("{}; {here}", outer.in_full()),
            None => here,
        }
    }
}

impl Turn {
    fn look(&self, moves: bool) -> u64 {
        if moves { self.0.fetch_add(1, Ordering::Relaxed) } else { self.0.load(Ordering::Relaxed) }
    }
}

impl<L> Choice<L> {
    /// Every target in it, in the order named.
    pub fn each(&self, visit: &mut impl FnMut(&L)) {
        match self {
            Self::One(target) => visit(target),
            Self::Among(group) => group.members.iter().for_each(|member| member.choice.each(visit)),
        }
    }
}
